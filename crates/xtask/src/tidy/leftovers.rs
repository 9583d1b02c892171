//! Macros that mark unfinished work.
//!
//! Law: code that is in the tree is finished: none of these macros stands in any Rust file, tests included.

use super::Problem;
use crate::code::tokens;
use crate::workspace::Workspace;

/// The macros, each with what to do instead.
const REFUSED: [(&str, &str); 3] = [
    ("todo", "write the code, or leave the feature out"),
    ("unimplemented", "write the code, or return an error"),
    ("dbg", "remove it, or write to the log"),
];

/// The places that call one of the macros.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in workspace.rust_files() {
        let tokens = tokens(&file.text);
        for (index, token) in tokens.iter().enumerate() {
            let Some((name, fix)) = REFUSED.iter().find(|(name, _)| *name == token.text) else {
                continue;
            };
            let after = |distance: usize| tokens.get(index + distance).map(|token| token.text);
            // `todo != x` compares a variable.
            if after(1) == Some("!") && after(2) != Some("=") {
                problems.push(Problem::new(
                    &file.path,
                    token.line,
                    format!("`{name}!` is left over"),
                    *fix,
                ));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::check;

    #[track_caller]
    fn source(text: &str, expected: &[&str]) {
        expect(
            &check(&example::files(&[("crates/a/tests/b.rs", text)])),
            expected,
        );
    }

    #[test]
    fn leftovers_are_found() {
        source(
            "fn f() {\n    todo!()\n}\nfn g() { unimplemented!(\"x\"); std::dbg!(1); }",
            &[
                "crates/a/tests/b.rs:2: `todo!` is left over",
                "crates/a/tests/b.rs:4: `unimplemented!` is left over",
                "crates/a/tests/b.rs:4: `dbg!` is left over",
            ],
        );
    }

    #[test]
    fn comments_texts_and_variables_are_free() {
        source("// todo!()\nlet todo = \"dbg!(1)\"; if todo != x {}", &[]);
    }
}
