//! Questions to the database.
//!
//! Law: values reach SQL as parameters. What is written into the text of a question is a constant of the program, in
//! capitals, or one of the few parts listed here, which are `&'static str` or numbers by their type.

use super::Problem;
use crate::workspace::Workspace;

/// The words that questions begin with.
const VERBS: [&str; 11] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "PRAGMA", "CREATE", "DROP", "ALTER",
    "ATTACH", "VACUUM",
];

/// Parts of questions that are chosen from fixed texts.
const CHOSEN: [(&str, &str); 8] = [
    ("crates/remember/src/connections.rs", "cache"),
    ("crates/remember/src/connections.rs", "synchronous"),
    ("crates/remember/src/lookup.rs", "columns"),
    ("crates/remember/src/lookup.rs", "name"),
    ("crates/remember/src/queries.rs", "condition"),
    ("crates/remember/src/rebuild.rs", "columns"),
    ("crates/remember/src/rebuild.rs", "key"),
    ("crates/remember/src/rebuild.rs", "table"),
];

/// The questions with something else put in.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    let files = workspace.rust_files();
    for file in files.filter(|file| file.path.starts_with("crates/remember/src/")) {
        for (at, text) in questions(&file.text) {
            let line = file.text[..at].matches('\n').count() + 1;
            for part in parts(text) {
                let is_constant = part.starts_with(|sign: char| sign.is_ascii_uppercase())
                    && part == part.to_uppercase();
                if !is_constant && !CHOSEN.contains(&(file.path.as_str(), part)) {
                    problems.push(Problem::new(
                        &file.path,
                        line,
                        format!("`{{{part}}}` in the text of a question to the database"),
                        "give the value as a parameter, `?`; a fixed text is a constant",
                    ));
                }
            }
        }
    }
    problems
}

/// The texts in quotes that begin with a verb of SQL, and where.
fn questions(source: &str) -> impl Iterator<Item = (usize, &str)> {
    source.match_indices('"').filter_map(|(at, _)| {
        let text = &source[at + 1..];
        let start = text.trim_start();
        let is_question = VERBS.iter().any(|verb| {
            start
                .strip_prefix(verb)
                .is_some_and(|rest| rest.starts_with(char::is_whitespace))
        });
        let end = text.find('"').unwrap_or(text.len());
        is_question.then_some((at, &text[..end]))
    })
}

/// What stands in braces.
fn parts(question: &str) -> impl Iterator<Item = &str> {
    let after = question.split('{').skip(1);
    after.filter_map(|rest| Some(rest.split_once('}')?.0))
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::check;

    #[track_caller]
    fn source(path: &str, text: &str, expected: &[&str]) {
        expect(&check(&example::files(&[(path, text)])), expected);
    }

    #[test]
    fn a_value_in_the_text_of_a_question_is_found() {
        source(
            "crates/remember/src/runs.rs",
            "fn f(name: &str) {\n    ask(&format!(\"SELECT a FROM b WHERE c = '{name}'\"));\n    ask(&format!(\n        \"DELETE FROM b WHERE c = {}\", name));\n}",
            &[
                "crates/remember/src/runs.rs:2: `{name}` in the text of a question",
                "crates/remember/src/runs.rs:4: `{}` in the text of a question",
            ],
        );
        source(
            "crates/remember/src/runs.rs",
            "ask(&format!(\"SELECT a FROM b\n    WHERE c = {table}\"));",
            &["crates/remember/src/runs.rs:1: `{table}` in the text"],
        );
    }

    #[test]
    fn parameters_and_constants_are_free() {
        for text in [
            "ask(\"SELECT a FROM b WHERE c = ?\", [name])",
            "ask(&format!(\"SELECT {COLUMNS} FROM b LIMIT {PART}\"))",
            "say(format!(\"selected {name}\"))",
        ] {
            source("crates/remember/src/runs.rs", text, &[]);
        }
        let text = "format!(\"SELECT {key}, {columns} FROM {table}\")";
        source("crates/remember/src/rebuild.rs", text, &[]);
    }
}
