//! `ARCHITECTURE.md` and the crates that exist.
//!
//! Law: the page names every crate folder, written `crates/NAME`, and names none that is not there. The files and
//! folders that it names in backticks exist: `crates/…` from the root, and `NAME.rs` in the crate of its section, or in
//! any crate where the section is of none.

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
    let mut section = PREFIX.to_owned();
    for (index, line) in page.text.lines().enumerate() {
        if line.starts_with('#') {
            section = format!("{PREFIX}{}", names(line).next().unwrap_or_default());
        }
        for path in paths(line) {
            // Crates that are not there are told above, once each.
            let crate_is_gone = names(path)
                .next()
                .is_some_and(|name| !existing.contains(name));
            if !crate_is_gone && !is_there(workspace, path, &section) {
                problems.push(Problem::new(
                    PAGE,
                    index + 1,
                    format!("`{path}` does not exist"),
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

/// What stands in backticks on a line and is a path: of the sources, or the name of a Rust file.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|text| {
        let is_plain = !text.contains([' ', '*', '<', '…']);
        is_plain && (text.starts_with(PREFIX) || text.ends_with(".rs"))
    })
}

/// Whether a path names a file or folder: from the root, or a file somewhere in the section's crates.
fn is_there(workspace: &Workspace, path: &str, section: &str) -> bool {
    let folder = format!("{}/", path.trim_end_matches('/'));
    let file = format!("/{path}");
    workspace.files.iter().any(|known| {
        let from_root = known.path == path || known.path.starts_with(&folder);
        from_root || (known.path.starts_with(section) && known.path.ends_with(&file))
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
    fn files_on_the_page_exist() {
        page(
            "`crates/graph` `crates/flow/src` `crates/flow/src/lib.rs` `lib.rs` `crates/…`",
            &[],
        );
        page(
            "`crates/graph`\n`crates/flow/src/gone.rs` `gone.rs`, gone.rs",
            &[
                "ARCHITECTURE.md:2: `crates/flow/src/gone.rs` does not exist",
                "ARCHITECTURE.md:2: `gone.rs` does not exist",
            ],
        );
        // A section is about its own crate.
        page(
            "### `crates/flow`\n`lib.rs`",
            &["ARCHITECTURE.md:1: `crates/graph` is not mentioned"],
        );
        page(
            "`crates/flow`\n### `crates/graph`\n`lib.rs`\n## All\n`lib.rs`",
            &["ARCHITECTURE.md:3: `lib.rs` does not exist"],
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
