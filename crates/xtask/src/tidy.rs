//! `cargo xtask tidy`: the rules of the source tree that a machine can check.
//!
//! Law: each rule is a pure function from the [`Workspace`] to a list of [`Problem`]s, in a file of its own; all rules
//! run and all problems are shown, each with where it is, what it is and what to do. The test `tidy_is_clean` at the
//! end of this file makes the rules part of `cargo test`.

mod architecture;
mod circles;
mod decisions;
mod dependencies;
mod edges;
mod escaping;
mod figures;
mod functions;
mod invariants;
mod leftovers;
mod licences;
mod links;
mod messages;
mod paths;
mod plain;
mod purity;
mod questions;
mod shape;
mod unsafety;

use std::fmt;
use std::process::ExitCode;

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

/// A place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// The file, relative to the root.
    file: String,
    /// The line, from 1.
    line: usize,
    /// What is wrong.
    what: String,
    /// What to do about it.
    fix: String,
}

impl Problem {
    /// A problem at a line of a file.
    fn new(file: &str, line: usize, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Problem {
            file: file.to_owned(),
            line,
            what: what.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem {
            file,
            line,
            what,
            fix,
        } = self;
        write!(out, "{file}:{line}: {what}; {fix}")
    }
}

/// Every rule.
const RULES: &[fn(&Workspace) -> Vec<Problem>] = &[
    edges::check,
    circles::check,
    dependencies::check,
    purity::check,
    shape::check,
    functions::check,
    leftovers::check,
    architecture::check,
    paths::check,
    decisions::check,
    invariants::check,
    escaping::check,
    figures::check,
    links::check,
    messages::check,
    plain::check,
    unsafety::check,
    questions::check,
    licences::check,
];

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    if let Some(argument) = arguments.first() {
        return Err(Failure::usage(format!(
            "`tidy` takes no arguments, not `{argument}`"
        )));
    }
    let problems = check(&Workspace::read(&process::root())?);
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => {
            eprintln!("tidy: clean");
            Ok(ExitCode::SUCCESS)
        }
        1 => {
            eprintln!("tidy: 1 problem");
            Ok(ExitCode::FAILURE)
        }
        count => {
            eprintln!("tidy: {count} problems");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// All problems of the workspace, sorted by place.
fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems: Vec<Problem> = RULES.iter().flat_map(|rule| rule(workspace)).collect();
    problems.sort();
    problems
}

/// What the tests of the rules share.
#[cfg(test)]
mod example {
    use super::Problem;
    use crate::workspace::{SourceFile, Workspace};

    /// A workspace of these files and no packages.
    pub(super) fn files(files: &[(&str, &str)]) -> Workspace {
        let files = files
            .iter()
            .map(|(path, text)| SourceFile {
                path: (*path).to_owned(),
                text: (*text).to_owned(),
            })
            .collect();
        Workspace {
            files,
            ..Workspace::default()
        }
    }

    /// Asserts that the problems begin with these texts, one each.
    #[track_caller]
    pub(super) fn expect(problems: &[Problem], expected: &[&str]) {
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let same = shown.len() == expected.len()
            && shown
                .iter()
                .zip(expected)
                .all(|(problem, start)| problem.starts_with(start));
        assert!(same, "found {shown:#?}\nexpected {expected:#?}");
    }
}

#[cfg(test)]
mod tests {
    use super::{Problem, check};
    use crate::process;
    use crate::workspace::Workspace;

    #[test]
    fn a_problem_says_where_what_and_what_to_do() {
        let problem = Problem::new("a.rs", 3, "it is late", "hurry");
        assert_eq!(problem.to_string(), "a.rs:3: it is late; hurry");
    }

    #[test]
    fn tidy_is_clean() {
        let problems = check(&Workspace::read(&process::root()).unwrap());
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(shown.is_empty(), "\n{}", shown.join("\n"));
    }
}
