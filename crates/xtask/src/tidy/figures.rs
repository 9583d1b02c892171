//! The figures of the documents.
//!
//! Law: the tables of figures in README.md, docs/figures.md and docs/peers.md are those that `cargo xtask figures` makes
//! of docs/figures.json; nobody types a figure.

use super::Problem;
use crate::figures::{self, SOURCE};
use crate::workspace::Workspace;

/// The documents whose figures are not those of the source.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let text = |path: &str| {
        let file = workspace.files.iter().find(|file| file.path == path)?;
        Some(file.text.as_str())
    };
    let Some(source) = text(SOURCE) else {
        return Vec::new();
    };
    let figures = match figures::parse(source) {
        Ok(figures) => figures,
        Err(failure) => {
            return vec![Problem::new(
                SOURCE,
                1,
                first_line(&failure.to_string()),
                "measure anew with `cargo xtask bench all --json`",
            )];
        }
    };
    let mut problems = Vec::new();
    for document in figures::documents() {
        let Some(old) = text(document) else {
            continue;
        };
        let what = match figures::renewed(document, old, &figures) {
            Ok(new) if new == old => continue,
            Ok(_) => format!("its figures are not those of `{SOURCE}`"),
            Err(failure) => first_line(&failure.to_string()),
        };
        problems.push(Problem::new(document, 1, what, "run `cargo xtask figures`"));
    }
    problems
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::example::{expect, files};
    use super::check;
    use crate::figures;

    const SOURCE: &str =
        r#"{"headwater": "0.1.0", "date": "2026-01-02", "machine": "2 cores", "benches": []}"#;

    #[test]
    fn documents_show_what_was_measured() {
        let old = "<!-- figures: from here on made by `cargo xtask figures` -->\n<!-- figures: up to here -->\n";
        let made = figures::renewed("README.md", old, &figures::parse(SOURCE).unwrap()).unwrap();
        let with = |text: &str| files(&[("docs/figures.json", SOURCE), ("README.md", text)]);
        expect(&check(&with(&made)), &[]);
        let typed = made.replace("2 cores", "64 cores");
        expect(
            &check(&with(&typed)),
            &["README.md:1: its figures are not those of `docs/figures.json`"],
        );
        expect(
            &check(&with("no marks")),
            &["README.md:1: `README.md` has no line"],
        );
        expect(
            &check(&files(&[("docs/figures.json", "{"), ("README.md", &made)])),
            &["docs/figures.json:1: `docs/figures.json` cannot be read"],
        );
    }
}
