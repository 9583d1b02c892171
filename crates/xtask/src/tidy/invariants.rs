//! The invariants of the design and the tests that carry their numbers.
//!
//! Law: for each number below there is a function whose name begins with `invariant_N_`. Whether it is a good test
//! no machine can say; that nobody removes it unnoticed, this one can.

use super::Problem;
use crate::code::tokens;
use crate::workspace::Workspace;

/// The invariants that have a test.
const INVARIANTS_TESTED: [u32; 7] = [1, 2, 3, 4, 5, 6, 7];

/// Where the list stands, for the message.
const LIST_FILE: &str = "crates/xtask/src/tidy/invariants.rs";

/// The invariants without a test.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    INVARIANTS_TESTED
        .into_iter()
        .filter(|number| !is_tested(workspace, &format!("invariant_{number}_")))
        .map(|number| {
            Problem::new(
                LIST_FILE,
                1,
                format!("invariant {number} has no test"),
                format!("write a test `fn invariant_{number}_…` in the crate that keeps it"),
            )
        })
        .collect()
}

/// Whether a function under `crates/` has a name that begins so.
fn is_tested(workspace: &Workspace, start: &str) -> bool {
    workspace
        .rust_files()
        // Most files have none; the search in the raw text spares them the reading of tokens.
        .filter(|file| file.in_crate().is_some() && file.text.contains(start))
        .any(|file| {
            tokens(&file.text)
                .windows(2)
                .any(|pair| pair[0].text == "fn" && pair[1].text.starts_with(start))
        })
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::{INVARIANTS_TESTED, check};

    #[test]
    fn every_number_needs_a_function() {
        let all: String = INVARIANTS_TESTED
            .iter()
            .map(|number| format!("fn invariant_{number}_holds() {{}}\n"))
            .collect();
        let source = |text: &str, expected: &[&str]| {
            expect(
                &check(&example::files(&[("crates/a/tests/b.rs", text)])),
                expected,
            );
        };
        source(&all, &[]);
        let missing = "crates/xtask/src/tidy/invariants.rs:1: invariant 2 has no test";
        source(
            &all.replace("fn invariant_2_", "// fn invariant_2_"),
            &[missing],
        );
        source(&all.replace("invariant_2_", "invariant_22_"), &[missing]);
        source(&all.replace("invariant_2_", "variant_2_"), &[missing]);
    }
}
