//! How errors begin and end.
//!
//! Law: the message of an error stands after `error: ` and before a hint: it begins with a small letter or with what it
//! is about, names that in backticks, and has no full stop.

use super::Problem;
use crate::workspace::Workspace;

/// Names that are written with a capital letter.
const NAMES: [&str; 8] = [
    "CSV", "JSON", "Parquet", "PNG", "JPEG", "TIFF", "UTF-8", "YAML",
];

/// The messages of errors that are written otherwise.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in workspace.rust_files() {
        for (line, message) in messages(&file.text) {
            let mut wrong = |what: &str, fix: &str| {
                let what = format!("the message \"{message}\" {what}");
                problems.push(Problem::new(&file.path, line, what, fix));
            };
            let named = NAMES.iter().any(|name| message.starts_with(name));
            if message.starts_with(|first: char| first.is_uppercase()) && !named {
                wrong(
                    "begins with a capital letter",
                    "write it small, or add its first word to the names in `messages.rs`",
                );
            }
            if message.ends_with('.') {
                wrong("ends with a full stop", "leave it out");
            }
            // Between backticks it is code, and code may have quotes.
            let words: String = message.split('`').step_by(2).collect();
            if words.contains("'{") || words.contains("\\\"{") {
                wrong("has a name in quotes", "put it in backticks");
            }
        }
    }
    problems
}

/// The texts in `#[error("…")]`, with their lines.
fn messages(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("#[error(") {
        rest = after;
        let Some(begun) = after.trim_start().strip_prefix('"') else {
            continue;
        };
        let mut escaped = false;
        let end = begun.find(|letter| {
            let is_end = letter == '"' && !escaped;
            escaped = letter == '\\' && !escaped;
            is_end
        });
        if let Some(end) = end {
            let place = text.len() - begun.len();
            let line = text[..place].matches('\n').count() + 1;
            found.push((line, &begun[..end]));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::check;

    #[track_caller]
    fn source(text: &str, expected: &[&str]) {
        expect(
            &check(&example::files(&[("crates/a/src/b.rs", text)])),
            expected,
        );
    }

    #[test]
    fn messages_of_another_style_are_found() {
        source(
            "enum E {\n    #[error(\"No such file\")]\n    A,\n    #[error(\n        \"it is gone.\"\n    )]\n    B,\n    #[error(\"no file '{0}'\")]\n    C(String),\n}\n",
            &[
                "crates/a/src/b.rs:2: the message \"No such file\" begins with a capital letter; write it small",
                "crates/a/src/b.rs:5: the message \"it is gone.\" ends with a full stop; leave it out",
                "crates/a/src/b.rs:8: the message \"no file '{0}'\" has a name in quotes; put it in backticks",
            ],
        );
    }

    #[test]
    fn the_style_and_names_are_free() {
        source(
            "#[error(\"`{name}` is \\\"gone\\\"; see the manual\")]\n#[error(\"{0}\")]\n#[error(\"PNG files end early\")]\n#[error(transparent)]\n",
            &[],
        );
    }
}
