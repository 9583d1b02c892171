//! A task that failed, in words.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use headwater_execute::Failure;
use headwater_graph::text::shell_quote;
use headwater_graph::text::{cut, printable};

/// A task that failed.
#[derive(Debug, Clone)]
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

    /// Everything a person needs: which task, why, its command, the end of what it said, where its folder is
    /// and how to run it again alone. The first line is the whole in short. Control characters are shown, not given on:
    /// what a program said must not act on the terminal that it is read on.
    pub fn description(&self) -> String {
        let failure = &self.failure;
        let mut out = format!("task `{}`: {}", self.address, failure.message);
        if self.attempts > 1 {
            let _ = write!(out, " (tried {} times)", self.attempts);
        }
        if let Some(from) = self.made_from() {
            let _ = write!(out, "\n  from:    {from}");
        }
        if let Some(command) = &failure.command {
            let words: Vec<String> = command.iter().map(|word| shell_quote(word)).collect();
            let _ = write!(out, "\n  command: {}", words.join(" "));
        }
        let lines: Vec<&str> = failure.stderr.lines().collect();
        if !lines.is_empty() {
            out.push_str("\n  it said:");
            for line in &lines[lines.len().saturating_sub(12)..] {
                let _ = write!(out, "\n    {line}");
            }
        }
        if let Some(folder) = &failure.folder {
            let _ = write!(out, "\n  folder:  {}", folder.display());
        }
        if let Some(again) = self.again() {
            let _ = write!(out, "\n  again:   {again}");
        }
        match self.blocked {
            0 => {}
            1 => out.push_str("\n  1 task could not run because of it"),
            several => {
                let _ = write!(out, "\n  {several} tasks could not run because of it");
            }
        }
        printable(&out).into_owned()
    }
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
