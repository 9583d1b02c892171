//! What a run would do and what it came to: `headwater run`.
//!
//! Law: tasks are counted under the same names wherever they are counted.

use std::collections::BTreeMap;

use headwater_graph::Tally;
use serde::Serialize;
use serde_json::Value;

use super::{DiagnosticJson, Entries};

/// How many tasks stand where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskCountsJson {
    /// All of them.
    pub tasks: usize,
    /// Those that ran.
    pub executed: usize,
    /// Those that were remembered.
    pub reused: usize,
    /// Those that were new, but read the same contents as others.
    pub cut_off: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those that could not run because others failed.
    pub blocked: usize,
    /// Those that were not reached; null where that is not known.
    pub left: Option<usize>,
}

impl TaskCountsJson {
    /// From a tally; how many are left is said by who knows whether the tally has all tasks.
    pub fn of(tally: &Tally, left: Option<usize>) -> TaskCountsJson {
        TaskCountsJson {
            tasks: tally.tasks,
            executed: tally.executed,
            reused: tally.reused,
            cut_off: tally.cut_off,
            failed: tally.failed,
            blocked: tally.blocked,
            left,
        }
    }
}

/// What a run came to: `headwater run`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunJson {
    /// Its name.
    pub run: String,
    /// The name of the workflow.
    pub workflow: String,
    /// How it ended.
    pub status: &'static str,
    /// How many tasks stand where.
    #[serde(flatten)]
    pub counts: TaskCountsJson,
    /// Tasks that were run again because what they had made was gone.
    pub recomputed: usize,
    /// How long it took.
    pub seconds: f64,
    /// Whether it was stopped before it was done.
    pub stopped: bool,
    /// Where the outputs are.
    pub folder: String,
    /// The page for people; null where it could not be written.
    pub report: Option<String>,
    /// The outputs of the workflow, by name.
    pub outputs: BTreeMap<String, Vec<OutputItemJson>>,
    /// Tasks that failed, in the order of the workflow.
    pub failures: Vec<FailedTaskJson>,
    /// What went wrong besides.
    pub errors: Vec<String>,
    /// Things worth telling.
    pub notes: Vec<String>,
    /// What the readers of the files said.
    pub diagnostics: Vec<DiagnosticJson>,
}

/// An item of an output.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutputItemJson {
    /// Its index path.
    pub index: String,
    /// Where or what it is.
    #[serde(flatten)]
    pub what: DeliveredJson,
    /// The inputs that it was made from, and their values.
    pub from: Entries<String>,
    /// How many items are missing from the lists that it was made from.
    pub missing: usize,
}

/// An output as it was delivered: under `path` or under `value`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveredJson {
    /// A file or folder.
    Path(String),
    /// A boolean, a number or a text; null for a number that is not finite.
    Value(Value),
}

/// A task that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailedTaskJson {
    /// `stage.task[index]`.
    pub task: String,
    /// Why, in one line.
    pub message: String,
    /// The program and its arguments; null where there is no program.
    pub command: Option<Vec<String>>,
    /// Where its files are.
    pub folder: Option<String>,
    /// The end of what it wrote to standard error.
    pub stderr: String,
    /// How often it was tried.
    pub attempts: u32,
    /// How many tasks could not run because of it.
    pub blocked: usize,
    /// The inputs behind it, and their values.
    pub from: Entries<String>,
}

/// The last event of a run of a workflow or a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EndEventJson {
    /// Always `end`.
    pub event: &'static str,
    /// How it ended.
    pub status: &'static str,
    /// The exit code of the command.
    pub exit: u8,
    /// The run.
    pub run: String,
    /// Where the outputs are.
    pub folder: String,
    /// How long it took.
    pub seconds: f64,
    /// How many tasks stand where.
    #[serde(flatten)]
    pub counts: TaskCountsJson,
}

/// What a run would do: `headwater run --dry-run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DryRunJson {
    /// The name of the workflow.
    pub workflow: String,
    /// All tasks that are known before anything runs.
    pub tasks: usize,
    /// Those that would run, at most.
    pub to_execute: usize,
    /// Those that are remembered.
    pub reused: usize,
    /// Those that are new, but read the same contents as others.
    pub cut_off: usize,
    /// What would be brought back from the store.
    pub restore: RestoreJson,
    /// By stage.
    pub stages: Vec<StagePlanJson>,
    /// Stages of which more tasks may come while it runs.
    pub open: Vec<String>,
    /// The tasks that would run.
    pub to_run: Vec<TaskToRunJson>,
    /// Things worth telling.
    pub notes: Vec<String>,
    /// What the readers of the files said.
    pub diagnostics: Vec<DiagnosticJson>,
}

/// Products that would be brought back from the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RestoreJson {
    /// How many.
    pub products: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// What a stage would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StagePlanJson {
    /// Its name.
    pub stage: String,
    /// Its tasks.
    pub tasks: usize,
    /// Those that would run.
    pub to_execute: usize,
}

/// A task that would run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskToRunJson {
    /// Its address.
    pub task: String,
    /// Its recipe, in hexadecimal digits.
    pub recipe: String,
}
