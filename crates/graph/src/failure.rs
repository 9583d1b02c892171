//! Why a task failed: one type from whoever runs it to whoever reports it.
//!
//! Law: what a program said must not act on the terminal that it is read on: control characters are shown, not passed
//! on, in every text that is made here.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::text::{cut, printable, shell_quote};

/// Why a task failed, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// A program ended with another code than 0.
    Exit(i32),
    /// A program was ended by a signal.
    Signal(i32),
    /// It took longer than it may.
    TimedOut,
    /// It was stopped on demand.
    Cancelled,
    /// A native operation panicked.
    Panicked,
    /// A native operation said no.
    Operation,
    /// It could not be started.
    NotStarted,
    /// An output is missing or not what it should be.
    Output,
    /// An input is no longer what it was.
    Input,
}

impl FailureKind {
    /// Its name, in files; a code or a signal comes after it.
    fn name(self) -> (&'static str, Option<i32>) {
        match self {
            FailureKind::Exit(code) => ("exit", Some(code)),
            FailureKind::Signal(number) => ("signal", Some(number)),
            FailureKind::TimedOut => ("timed-out", None),
            FailureKind::Cancelled => ("cancelled", None),
            FailureKind::Panicked => ("panicked", None),
            FailureKind::Operation => ("operation", None),
            FailureKind::NotStarted => ("not-started", None),
            FailureKind::Output => ("output", None),
            FailureKind::Input => ("input", None),
        }
    }

    /// The kind that a text means, as it is displayed.
    pub fn parse(text: &str) -> Option<FailureKind> {
        let (name, number) = match text.split_once(' ') {
            Some((name, number)) => (name, number.parse().ok()?),
            None => (text, 0),
        };
        let known = [
            FailureKind::Exit(number),
            FailureKind::Signal(number),
            FailureKind::TimedOut,
            FailureKind::Cancelled,
            FailureKind::Panicked,
            FailureKind::Operation,
            FailureKind::NotStarted,
            FailureKind::Output,
            FailureKind::Input,
        ];
        known.into_iter().find(|kind| kind.name().0 == name)
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            (name, Some(number)) => write!(out, "{name} {number}"),
            (name, None) => out.write_str(name),
        }
    }
}

/// Why a task failed, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// In one word.
    pub kind: FailureKind,
    /// In one line.
    pub message: String,
    /// The program and its arguments.
    pub command: Option<Vec<String>>,
    /// Where its files are.
    pub folder: Option<PathBuf>,
    /// The end of what it wrote to standard error.
    pub stderr: String,
}

impl Failure {
    /// A failure of which there is no more to say.
    pub fn new(kind: FailureKind, message: String) -> Failure {
        Failure {
            kind,
            message,
            command: None,
            folder: None,
            stderr: String::new(),
        }
    }

    /// The command as a shell would take it.
    pub fn command_line(&self) -> Option<String> {
        let words = self.command.as_ref()?.iter().map(|word| shell_quote(word));
        Some(words.collect::<Vec<_>>().join(" "))
    }
}

/// A task that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTask {
    /// `stage.task[index]`.
    pub address: String,
    /// Why.
    pub failure: Failure,
    /// How often it was tried.
    pub attempts: u32,
    /// How many tasks could not run because of it.
    pub blocked: usize,
    /// What people call it by: the values of the inputs behind it and of their rows, as far as there is one.
    pub from: Vec<(Arc<str>, String)>,
}

/// What there is to say of a task that failed, in lines that are set in as they belong together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailureLines {
    /// Which task, and why: the whole in short.
    pub head: String,
    /// What it was made from.
    pub from: Vec<String>,
    /// Its command.
    pub command: Vec<String>,
    /// The end of what it said, with a heading.
    pub said: Vec<String>,
    /// Where its folder is, how to run it again alone, and what could not run because of it.
    pub last: Vec<String>,
}

/// The last lines of what a task said are shown, at most this many.
const MOST_SAID: usize = 12;

impl FailedTask {
    /// `sample=w07, table=raw/w07.csv`.
    pub fn made_from(&self) -> Option<String> {
        named(&self.from)
    }

    /// The command that runs it again alone.
    pub fn again(&self) -> Option<String> {
        let folder = self.failure.folder.as_ref();
        let folder = folder.filter(|_| self.failure.command.is_some())?;
        let script = folder.join(".again.sh").display().to_string();
        Some(format!("sh {}", shell_quote(&script)))
    }

    /// Everything a person needs, in parts.
    pub fn lines(&self) -> FailureLines {
        let failure = &self.failure;
        let tried = match self.attempts {
            0 | 1 => String::new(),
            several => format!(" (tried {several} times)"),
        };
        let head = format!("task `{}`: {}{tried}", self.address, failure.message);
        let from = self.made_from().map(|from| format!("  from:    {from}"));
        let command = failure.command_line();
        let command = command.map(|command| format!("  command: {command}"));
        let all: Vec<&str> = failure.stderr.lines().collect();
        let end = &all[all.len().saturating_sub(MOST_SAID)..];
        let mut said: Vec<String> = end.iter().map(|line| format!("    {line}")).collect();
        if !said.is_empty() {
            said.insert(0, "  it said:".to_owned());
        }
        let folder = failure.folder.as_ref();
        let folder = folder.map(|folder| format!("  folder:  {}", folder.display()));
        let again = self.again().map(|again| format!("  again:   {again}"));
        let blocked = match self.blocked {
            0 => None,
            1 => Some("  1 task could not run because of it".to_owned()),
            several => Some(format!("  {several} tasks could not run because of it")),
        };
        FailureLines {
            head: printable(&head).into_owned(),
            from: shown(from),
            command: shown(command),
            said: shown(said),
            last: shown([folder, again, blocked].into_iter().flatten()),
        }
    }

    /// Everything a person needs: which task, why, its command, the end of what it said, where its folder is
    /// and how to run it again alone. The first line is the whole in short.
    pub fn description(&self) -> String {
        let FailureLines {
            head,
            from,
            command,
            said,
            last,
        } = self.lines();
        let rest = [from, command, said, last].into_iter().flatten();
        let lines: Vec<String> = std::iter::once(head).chain(rest).collect();
        lines.join("\n")
    }
}

/// Texts as lines that do nothing to a terminal.
fn shown(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut lines = Vec::new();
    for text in texts {
        lines.extend(printable(&text).split('\n').map(str::to_owned));
    }
    lines
}

/// Values by input, in one line; `None` if there are none.
pub fn named(values: &[(Arc<str>, String)]) -> Option<String> {
    let pairs = values.iter().map(|(input, value)| {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{input}={}", cut(&value, 200))
    });
    let pairs: Vec<String> = pairs.collect();
    (!pairs.is_empty()).then(|| pairs.join(", "))
}

/// Failures of one task definition with the same message and the same last words, the first of each kind first. The
/// folder of a task is not what its words are about.
pub fn alike(failures: &[FailedTask]) -> Vec<Vec<&FailedTask>> {
    let mut kinds: Vec<Vec<&FailedTask>> = Vec::new();
    let mut places = HashMap::new();
    for failed in failures {
        let definition = failed.address.split('[').next().unwrap_or_default();
        let folder = failed.failure.folder.as_ref();
        let folder = folder.map(|folder| folder.display().to_string());
        let said = match folder.filter(|folder| !folder.is_empty()) {
            Some(folder) => failed.failure.stderr.replace(&folder, ""),
            None => failed.failure.stderr.clone(),
        };
        let place = *places
            .entry((definition, &failed.failure.message, said))
            .or_insert(kinds.len());
        match kinds.get_mut(place) {
            Some(kind) => kind.push(failed),
            None => kinds.push(vec![failed]),
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_as_they_were_written() {
        for kind in [
            FailureKind::Exit(3),
            FailureKind::Signal(9),
            FailureKind::TimedOut,
            FailureKind::Input,
        ] {
            assert_eq!(FailureKind::parse(&kind.to_string()), Some(kind));
        }
        assert_eq!(FailureKind::parse("exit x"), None);
        assert_eq!(FailureKind::parse("bad luck"), None);
    }

    #[test]
    fn a_description_has_everything_that_a_person_needs() {
        let failed = FailedTask {
            address: "a.b[1]".to_owned(),
            failure: Failure {
                command: Some(vec![
                    "sh".to_owned(),
                    "-c".to_owned(),
                    "one\ntwo".to_owned(),
                ]),
                folder: Some("/w/1".into()),
                stderr: (0..20).map(|line| format!("{line}\u{1b}\n")).collect(),
                ..Failure::new(FailureKind::Exit(1), "ended with exit code 1".to_owned())
            },
            attempts: 2,
            blocked: 1,
            from: vec![("sample".into(), "w 07".to_owned())],
        };
        let lines = failed.lines();
        assert_eq!(lines.said.len(), 1 + MOST_SAID);
        assert_eq!(lines.said.last().map(String::as_str), Some("    19\\u{1b}"));
        assert_eq!(lines.command, ["  command: sh -c 'one", "two'"]);
        assert_eq!(lines.last.len(), 3);
        let text = failed.description();
        let head = "task `a.b[1]`: ended with exit code 1 (tried 2 times)\n  from:    sample=w 07\n  command: ";
        assert!(text.starts_with(head), "{text}");
        assert!(
            text.ends_with("  1 task could not run because of it"),
            "{text}"
        );
    }
}
