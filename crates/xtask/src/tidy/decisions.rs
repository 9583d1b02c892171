//! The numbers of the decision records.
//!
//! Law: the files in `docs/adr` are `NNNN-title.md`, numbered from 0001 without a gap and without a double, so that
//! a number names one decision for ever.

use super::Problem;
use crate::workspace::Workspace;

/// Where the records are.
const FOLDER: &str = "docs/adr/";

/// The records that break the numbering.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut numbered = Vec::new();
    for file in &workspace.files {
        let Some(name) = file.path.strip_prefix(FOLDER) else {
            continue;
        };
        match number(name) {
            Some(number) => numbered.push((number, &file.path)),
            None => problems.push(Problem::new(
                &file.path,
                1,
                "not the name of a decision record",
                "rename it to `NNNN-title.md`",
            )),
        }
    }
    numbered.sort();
    let mut last = 0;
    for (number, path) in numbered {
        if number == last {
            problems.push(Problem::new(
                path,
                1,
                format!("the number {number:04} is given twice"),
                "give it the next free number",
            ));
        } else if number != last + 1 {
            problems.push(Problem::new(
                path,
                1,
                format!("the number {:04} is missing before {number:04}", last + 1),
                format!("give it the number {:04}", last + 1),
            ));
        }
        last = number;
    }
    problems
}

/// The number in a name `NNNN-title.md`.
fn number(name: &str) -> Option<u32> {
    let (digits, title) = name.strip_suffix(".md")?.split_once('-')?;
    let well_formed = digits.len() == 4
        && digits.bytes().all(|digit| digit.is_ascii_digit())
        && !title.is_empty();
    if !well_formed {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::check;

    #[track_caller]
    fn records(names: &[&str], expected: &[&str]) {
        let paths: Vec<String> = names
            .iter()
            .map(|name| format!("docs/adr/{name}"))
            .collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        expect(&check(&example::files(&files)), expected);
    }

    #[test]
    fn numbers_have_no_gaps_and_no_doubles() {
        records(&[], &[]);
        records(&["0001-a.md", "0002-b.md"], &[]);
        records(
            &["0001-a.md", "0003-b.md"],
            &["docs/adr/0003-b.md:1: the number 0002 is missing before 0003"],
        );
        records(
            &["0002-a.md"],
            &["docs/adr/0002-a.md:1: the number 0001 is missing before 0002"],
        );
        records(
            &["0001-a.md", "0001-b.md"],
            &["docs/adr/0001-b.md:1: the number 0001 is given twice"],
        );
    }

    #[test]
    fn names_have_a_form() {
        for name in ["1-a.md", "0001.md", "0001-.md", "notes.md", "0001-a.txt"] {
            let problem = format!("docs/adr/{name}:1: not the name of a decision record");
            records(&[name], &[&problem]);
        }
    }
}
