//! `ARCHITECTURE.md` and the crates that exist.
//!
//! Law: the page names every crate folder, written `crates/NAME`, and names none that is not there.

use std::collections::BTreeSet;

use super::Problem;
use crate::workspace::Workspace;

/// The page.
const PAGE: &str = "ARCHITECTURE.md";

/// How a crate is named on it.
const PREFIX: &str = "crates/";

/// The crates missing from the page, and the names on it that are no crate.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let Some(page) = workspace.file(PAGE) else {
        return vec![Problem::new(
            PAGE,
            1,
            "the page is missing",
            "write it: a bird's-eye view and a section for each crate",
        )];
    };
    let existing: BTreeSet<&str> = workspace
        .files
        .iter()
        .filter_map(|file| file.in_crate())
        .filter(|(_, rest)| *rest == "Cargo.toml")
        .map(|(folder, _)| folder)
        .collect();
    let mut named = BTreeSet::new();
    let mut problems = Vec::new();
    for (index, line) in page.text.lines().enumerate() {
        for name in names(line) {
            // Once per name: a crate that is gone is often named many times.
            if named.insert(name) && !existing.contains(name) {
                problems.push(Problem::new(
                    PAGE,
                    index + 1,
                    format!("`{PREFIX}{name}` does not exist"),
                    "correct the name or remove the passage",
                ));
            }
        }
    }
    for folder in existing.difference(&named) {
        problems.push(Problem::new(
            PAGE,
            1,
            format!("`{PREFIX}{folder}` is not mentioned"),
            "add a section that says what it holds",
        ));
    }
    problems
}

/// The crates that a line names.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices(PREFIX).filter_map(|(at, _)| {
        let rest = &line[at + PREFIX.len()..];
        let end = rest
            .find(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '-' || sign == '_'))
            .unwrap_or(rest.len());
        // A plural such as `crates/*` or `crates/<name>` names none in particular.
        (end > 0).then(|| &rest[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::check;

    #[track_caller]
    fn page(text: &str, expected: &[&str]) {
        let workspace = example::files(&[
            ("ARCHITECTURE.md", text),
            ("crates/flow/Cargo.toml", ""),
            ("crates/flow/src/lib.rs", ""),
            ("crates/graph/Cargo.toml", ""),
        ]);
        expect(&check(&workspace), expected);
    }

    #[test]
    fn the_page_and_the_folders_agree() {
        page(
            "All in `crates/*`.\n[graph](crates/graph/src/lib.rs), `crates/flow`.",
            &[],
        );
        page(
            "`crates/graph`",
            &["ARCHITECTURE.md:1: `crates/flow` is not mentioned"],
        );
        page(
            "`crates/graph` `crates/flow`\n`crates/gone`\n`crates/gone`",
            &["ARCHITECTURE.md:2: `crates/gone` does not exist"],
        );
    }

    #[test]
    fn the_page_is_there() {
        expect(
            &check(&example::files(&[])),
            &["ARCHITECTURE.md:1: the page is missing"],
        );
    }
}
