//! What is asked of a run, and what it comes to.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_enact::{Counts, Parallelism};
use headwater_execute::{Failure, shell_quote};
use headwater_graph::{Diagnostic, Index, Value};
use headwater_remember::RunStatus;

use crate::text::printable;
use crate::{Limits, StorePlace};

/// What to run, and how.
#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    /// The workflow file.
    pub flow: PathBuf,
    /// The data file.
    pub inputs: Option<PathBuf>,
    /// `NAME=VALUE` for parameters; they win over the data file.
    pub settings: Vec<String>,
    /// Which store.
    pub store: StorePlace,
    /// What it may take, and how it deals with failures.
    pub limits: Limits,
    /// Which kinds of parallelism are on.
    pub parallelism: Parallelism,
    /// Where outputs go; `None`: `outputs/<run>` in the current folder.
    pub outputs: Option<PathBuf>,
    /// The command line, for the record.
    pub command: Vec<String>,
}

/// An output as it was delivered.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivered {
    /// A file or folder.
    Path(PathBuf),
    /// A single value.
    Value(Value),
}

/// One item of an output.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputItem {
    /// Its index path.
    pub index: Index,
    /// Where or what it is.
    pub what: Delivered,
    /// The workflow inputs it was made from.
    pub from: Vec<(Arc<str>, Index)>,
    /// What people call it by: the values of the inputs behind it and of their rows, as far as there is one.
    pub values: Vec<(Arc<str>, String)>,
    /// How many items are missing from the lists that it was made from.
    pub missing: usize,
}

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
    pub(crate) fn made_from(&self) -> Option<String> {
        named(&self.from)
    }

    /// The command that runs it again alone.
    pub(crate) fn again(&self) -> Option<String> {
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
pub(crate) fn named(values: &[(Arc<str>, String)]) -> Option<String> {
    let pairs = values.iter().map(|(input, value)| {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{input}={}", crate::page::text::cut(&value, 200))
    });
    let pairs: Vec<String> = pairs.collect();
    (!pairs.is_empty()).then(|| pairs.join(", "))
}

/// What a run came to.
#[derive(Debug)]
pub struct RunReport {
    /// Its name.
    pub run: String,
    /// The name of the workflow.
    pub workflow: Arc<str>,
    /// How many tasks stand where.
    pub counts: Counts,
    /// How many tasks were not come to, because it was stopped or ended with the first failure.
    pub left: usize,
    /// How long it took.
    pub seconds: f64,
    /// By name.
    pub outputs: BTreeMap<Arc<str>, Vec<OutputItem>>,
    /// Tasks that failed, in the order of the workflow.
    pub failures: Vec<FailedTask>,
    /// What went wrong in stages that could only be planned while the run was under way.
    pub errors: Vec<String>,
    /// Things worth telling.
    pub notes: Vec<String>,
    /// Warnings about the files.
    pub diagnostics: Vec<(PathBuf, String, Vec<Diagnostic>)>,
    /// Where the outputs are.
    pub folder: PathBuf,
    /// It was stopped before it was done.
    pub stopped: bool,
    /// The page that tells all this, if it could be written.
    pub report: Option<PathBuf>,
}

impl RunReport {
    /// How it ended.
    pub fn status(&self) -> RunStatus {
        match (self.stopped, self.succeeded()) {
            (true, _) => RunStatus::Cancelled,
            (false, true) => RunStatus::Done,
            (false, false) => RunStatus::Failed,
        }
    }

    /// Whether everything that was wanted is there.
    pub fn succeeded(&self) -> bool {
        let clean = self.counts.failed == 0 && self.counts.blocked == 0;
        clean && self.failures.is_empty() && self.errors.is_empty() && !self.stopped
    }
}
