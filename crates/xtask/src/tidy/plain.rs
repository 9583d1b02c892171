//! Words that slow readers down for whom English is a second language.
//!
//! Law: what users read has none of the phrases below: the guide, help texts, and whatever a crate of the product prints.
//! The word list in CONTRIBUTING.md has more of them, which a machine cannot tell from their usual sense.

use super::Problem;
use crate::workspace::{SourceFile, Workspace};

/// Phrases, and the usual words for them.
const HARD: [(&str, &str); 9] = [
    ("is told", "`is reported` or `is shown`"),
    ("are told", "`are reported` or `are shown`"),
    ("be told", "`be reported`, `be known` or `be distinguished`"),
    ("so many", "`N`, `at most N` or `this number of`"),
    ("not come to", "`not reached`"),
    ("never came to be", "`was never made`"),
    ("for want of", "`because … is missing`"),
    ("is there already", "`already exists`"),
    ("sure to be there", "`certain`"),
];

/// Pages that are written by programs, from figures of earlier runs.
const WRITTEN: [&str; 2] = ["docs/figures.md", "docs/peers.md"];

/// The places where users would read such a phrase.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &workspace.files {
        let lines = file.text.lines().enumerate();
        for (number, line) in lines.filter(|(_, line)| is_read(file, line)) {
            for (phrase, plain) in HARD {
                if line.contains(phrase) {
                    let what = format!("\"{phrase}\" is hard to read");
                    let fix = format!("write {plain}");
                    problems.push(Problem::new(&file.path, number + 1, what, fix));
                }
            }
        }
    }
    problems
}

/// Whether users read a line: of a page all of it, of a source what is no comment, and of arguments their help.
fn is_read(file: &SourceFile, line: &str) -> bool {
    let path = file.path.as_str();
    let is_page = |name: &str| name.ends_with(".md") && !name.contains('/');
    if let Some(name) = path.strip_prefix("docs/") {
        return is_page(name) && !WRITTEN.contains(&path);
    }
    let Some((folder, rest)) = file.in_crate() else {
        return path == "README.md";
    };
    // Phrases have spaces, which nothing but texts and comments of a source has between letters.
    let is_help = folder == "cli" && rest.starts_with("src/arguments");
    let is_product = !matches!(folder, "bench" | "xtask");
    let is_comment = line.trim_start().starts_with("//");
    is_product && rest.starts_with("src/") && rest.ends_with(".rs") && (is_help || !is_comment)
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::check;

    #[test]
    fn what_users_read_is_plain() {
        let files = [
            (
                "docs/page.md",
                "It is told at the end.\n\nIt is reported.\n",
            ),
            ("docs/adr/0001-x.md", "It is told.\n"),
            ("docs/figures.md", "It is told.\n"),
            ("README.md", "At most so many.\n"),
            ("crates/cli/src/arguments/a.rs", "/// At most so many\n"),
            (
                "crates/engine/src/a.rs",
                "// so many\nlet text = \"3 not come to\";\n",
            ),
            (
                "crates/engine/tests/a.rs",
                "let text = \"3 not come to\";\n",
            ),
        ];
        expect(
            &check(&example::files(&files)),
            &[
                "docs/page.md:1: \"is told\" is hard to read; write `is reported` or `is shown`",
                "README.md:1: \"so many\" is hard to read; write `N`, `at most N`",
                "crates/cli/src/arguments/a.rs:1: \"so many\" is hard to read",
                "crates/engine/src/a.rs:2: \"not come to\" is hard to read; write `not reached`",
            ],
        );
    }
}
