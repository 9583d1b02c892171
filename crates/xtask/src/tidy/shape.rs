//! The shape of a Rust file: it opens with its law, and it stays short.
//!
//! Law: a reader learns in the first lines what a file is for, and can read it in one sitting.

use super::Problem;
use crate::workspace::{SourceFile, Workspace};

/// The module doc begins in one of this many lines.
const OPENING: usize = 3;

/// No file has more lines than this.
const LONGEST: usize = 1000;

/// The Rust files without a module doc or with too many lines.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in workspace.rust_files() {
        if needs_doc(file) && !has_doc(file) {
            problems.push(Problem::new(
                &file.path,
                1,
                "no module doc",
                format!("open the file with `//!` in its first {OPENING} lines and state its law"),
            ));
        }
        let lines = file.text.lines().count();
        if lines > LONGEST {
            problems.push(Problem::new(
                &file.path,
                LONGEST + 1,
                format!("{lines} lines, above {LONGEST}"),
                "give each noun a file of its own",
            ));
        }
    }
    problems
}

/// Whether the file is a source or a test of a crate.
fn needs_doc(file: &SourceFile) -> bool {
    file.in_crate()
        .is_some_and(|(_, rest)| rest.starts_with("src/") || rest.starts_with("tests/"))
}

/// Whether a module doc begins in the first lines.
fn has_doc(file: &SourceFile) -> bool {
    file.text
        .lines()
        .take(OPENING)
        .any(|line| line.starts_with("//!"))
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::{LONGEST, check};

    #[test]
    fn a_file_opens_with_its_doc() {
        let no_doc = "crates/a/src/b.rs:1: no module doc";
        let source = |text: &str, expected: &[&str]| {
            expect(
                &check(&example::files(&[("crates/a/src/b.rs", text)])),
                expected,
            );
        };
        source("//! Doc.\n", &[]);
        source("#![cfg(unix)]\n\n//! Doc.\n", &[]);
        source("fn f() {}\n", &[no_doc]);
        source("\n\n\n//! Doc.\n", &[no_doc]);
        source("", &[no_doc]);
    }

    #[test]
    fn tests_need_a_doc_and_other_files_do_not() {
        let workspace = example::files(&[
            ("crates/a/tests/b.rs", "fn f() {}"),
            ("crates/a/build.rs", "fn main() {}"),
            ("crates/a/src/b.txt", "text"),
        ]);
        expect(
            &check(&workspace),
            &["crates/a/tests/b.rs:1: no module doc"],
        );
    }

    #[test]
    fn a_file_stays_short() {
        let text = |lines: usize| format!("//! Doc.\n{}", "\n".repeat(lines - 1));
        let check = |lines, expected: &[&str]| {
            expect(
                &check(&example::files(&[("crates/a/src/b.rs", &text(lines))])),
                expected,
            );
        };
        check(LONGEST, &[]);
        check(
            LONGEST + 1,
            &["crates/a/src/b.rs:1001: 1001 lines, above 1000"],
        );
    }
}
