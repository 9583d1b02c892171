//! Paths that exist on one machine only.
//!
//! Law: the tree means the same on every machine, so no text file holds an absolute path into somebody's folders.
//! The same words inside a longer path (`store/work/7`) or an address are something else.

use super::Problem;
use crate::workspace::Workspace;

/// The starts of such paths; written in parts so that this file passes its own rule.
const REFUSED: [&str; 3] = [
    concat!("/", "work/"),
    concat!("/", "root/"),
    concat!("/", "home/"),
];

/// The lines that hold such a path.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &workspace.files {
        for (index, line) in file.text.lines().enumerate() {
            for start in REFUSED {
                if line.match_indices(start).any(|(at, _)| begins(line, at)) {
                    problems.push(Problem::new(
                        &file.path,
                        index + 1,
                        format!("the machine path `{start}…`"),
                        "use a path relative to the file, or a temporary folder in tests",
                    ));
                }
            }
        }
    }
    problems
}

/// Whether a path begins here rather than going on.
fn begins(line: &str, at: usize) -> bool {
    let goes_on = |sign: char| sign.is_alphanumeric() || "._-~$*/})>]".contains(sign);
    !line[..at].chars().next_back().is_some_and(goes_on)
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::{REFUSED, check};

    #[test]
    fn machine_paths_are_found() {
        for start in REFUSED {
            for line in [
                format!("{start}x"),
                format!("see `{start}x`"),
                format!("(\"{start}x\")"),
                format!("a={start}x"),
            ] {
                let text = format!("first\n{line}\n");
                let problem = format!("notes.md:2: the machine path `{start}…`");
                expect(&check(&example::files(&[("notes.md", &text)])), &[&problem]);
            }
        }
    }

    #[test]
    fn parts_of_other_paths_are_free() {
        for start in REFUSED {
            for before in ["store", "{folder}", "..", "https://example.org", "~"] {
                let text = format!("{before}{start}x\n");
                expect(&check(&example::files(&[("notes.md", &text)])), &[]);
            }
        }
    }
}
