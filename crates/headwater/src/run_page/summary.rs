//! What a run came to, as its report tells it.
//!
//! Law: a summary is small however many tasks a run has: what stands once for each task is counted, joined or left out
//! with its number. It is written and read as JSON, and the page is a function of it.

use serde::{Deserialize, Serialize};

use crate::dag::Diagram;

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RunEnd {
    /// Everything that was wanted is there.
    #[default]
    Done,
    /// Something failed.
    Failed,
    /// It was stopped before it was done.
    Stopped,
}

/// How many tasks stand where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunTotals {
    /// All of them.
    pub(crate) tasks: usize,
    /// Those that ran.
    pub(crate) executed: usize,
    /// Those that need not run: they were remembered, or led only to what was.
    pub(crate) reused: usize,
    /// Those that need not run, because an equal one was there.
    pub(crate) cut_off: usize,
    /// Those that failed, and helpers that did.
    pub(crate) failed: usize,
    /// Those that could not run because of that.
    pub(crate) blocked: usize,
    /// Times that a task ran again, because what it had made was gone.
    pub(crate) recomputed: usize,
}

impl RunTotals {
    /// Those whose products are there.
    pub(crate) fn done(&self) -> usize {
        self.executed + self.reused + self.cut_off
    }

    /// Those that the run did not come to.
    pub(crate) fn left(&self) -> usize {
        self.tasks
            .saturating_sub(self.done() + self.failed + self.blocked)
    }
}

/// What became of all tasks of one definition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunTaskRow {
    /// The name of its stage.
    pub(crate) stage: String,
    /// Its name in the stage.
    pub(crate) task: String,
    /// Whether they only prepare data for others; such tasks are not counted.
    #[serde(default)]
    pub(crate) helper: bool,
    /// How many there are.
    pub(crate) tasks: usize,
    /// Those that ran.
    pub(crate) executed: usize,
    /// Those of them that ran only because what they had made was gone.
    pub(crate) restored: usize,
    /// Those that were remembered.
    pub(crate) reused: usize,
    /// Those that were equal to one that was there.
    pub(crate) cut_off: usize,
    /// Those that failed.
    pub(crate) failed: usize,
    /// Those that could not run because of that.
    pub(crate) blocked: usize,
    /// Seconds that all executions took, failed attempts with them.
    pub(crate) seconds: f64,
    /// Seconds of processor time of all executions.
    pub(crate) cpu_seconds: f64,
    /// Seconds of the longest execution.
    pub(crate) longest: f64,
    /// The most bytes of memory that one took, where that is known.
    pub(crate) peak_memory: Option<u64>,
    /// Seconds of processor time that it took to make, when they were made, what need not be made; absent where that is not
    /// known of all.
    #[serde(default)]
    pub(crate) saved_seconds: Option<f64>,
}

impl RunTaskRow {
    /// `stage.task`.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.stage, self.task)
    }

    /// Those that need not run.
    pub(crate) fn spared(&self) -> usize {
        self.reused + self.cut_off
    }

    /// Those that the run did not come to.
    pub(crate) fn left(&self) -> usize {
        let known = self.executed + self.spared() + self.failed + self.blocked;
        self.tasks.saturating_sub(known)
    }

    /// The seconds of processor time that those took when they were made that need not run, where that is known of all.
    pub(crate) fn seconds_saved(&self) -> Option<f64> {
        match self.spared() {
            0 => Some(0.0),
            _ => self.saved_seconds,
        }
    }
}

/// An execution, or several that are too short to be drawn one by one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunBar {
    /// In which lane.
    pub(crate) lane: usize,
    /// The row of the task that took most of it.
    pub(crate) row: usize,
    /// Seconds from the beginning of the run.
    pub(crate) start: f64,
    /// And when the last of them ended.
    pub(crate) end: f64,
    /// Seconds of it that executions took.
    pub(crate) seconds: f64,
    /// How many executions.
    pub(crate) executions: usize,
    /// Whether some of them are of other tasks.
    pub(crate) mixed: bool,
    /// How many of them did not come to an end: they failed, were tried again or were stopped.
    pub(crate) failed: usize,
    /// The address of the task, if it is one.
    pub(crate) address: Option<String>,
}

/// What was running when.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunTimeline {
    /// Seconds from the beginning of the run until the last execution ended.
    pub(crate) seconds: f64,
    /// How many ran side by side at most.
    pub(crate) lanes: usize,
    /// All executions.
    pub(crate) executions: usize,
    /// By lane, then by time.
    pub(crate) bars: Vec<RunBar>,
}

/// One execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunExecution {
    /// The address of the task.
    pub(crate) address: String,
    /// What became of it.
    pub(crate) state: String,
    /// Seconds from the beginning of the run.
    pub(crate) start: f64,
    /// Seconds that it took.
    pub(crate) seconds: f64,
    /// Seconds of processor time.
    pub(crate) cpu_seconds: f64,
    /// The most bytes of memory that it took, where that is known.
    pub(crate) peak_memory: Option<u64>,
}

/// A task that failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunFailure {
    /// Its address.
    pub(crate) address: String,
    /// Why, in one line.
    pub(crate) message: String,
    /// Its command, as a shell would take it.
    pub(crate) command: Option<String>,
    /// How often it was tried.
    pub(crate) attempts: u32,
    /// How many tasks could not run because of it.
    pub(crate) blocked: usize,
    /// The end of what it wrote to standard error.
    pub(crate) stderr: String,
    /// Where its files are.
    pub(crate) folder: Option<String>,
    /// The command that runs it again alone.
    pub(crate) again: Option<String>,
    /// What the inputs behind it are called.
    #[serde(default)]
    pub(crate) from: Option<String>,
}

/// An item of an output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunOutputItem {
    /// Its index path.
    pub(crate) index: String,
    /// Where it is, from the folder of the outputs.
    pub(crate) path: Option<String>,
    /// The same as a link.
    pub(crate) link: Option<String>,
    /// What it is, if it is a single value.
    pub(crate) value: Option<String>,
    /// What the inputs behind it are called.
    #[serde(default)]
    pub(crate) from: Option<String>,
    /// How many items are missing from the lists that it was made from.
    #[serde(default)]
    pub(crate) missing: usize,
}

/// An output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunOutput {
    /// Its name.
    pub(crate) name: String,
    /// How many items it has.
    pub(crate) items: usize,
    /// The first of them.
    pub(crate) shown: Vec<RunOutputItem>,
}

/// An input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunInput {
    /// Its name.
    pub(crate) name: String,
    /// How many items it has.
    pub(crate) items: usize,
    /// What the first of them are called.
    pub(crate) shown: Vec<String>,
}

/// A parameter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunParameter {
    /// Its name.
    pub(crate) name: String,
    /// Its value in this run.
    pub(crate) value: String,
    /// Where that came from.
    pub(crate) from: String,
}

/// What a run came to: all that its report shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunSummary {
    /// The name of the run.
    pub(crate) run: String,
    /// The name of the workflow.
    pub(crate) workflow: String,
    /// Its file.
    pub(crate) file: String,
    /// The command that started the run, word by word.
    pub(crate) command: Vec<String>,
    /// When it began, in seconds since 1970.
    pub(crate) started: i64,
    /// How long it took.
    pub(crate) seconds: f64,
    /// On how many cores.
    pub(crate) cores: usize,
    /// How it ended.
    pub(crate) end: RunEnd,
    /// How many tasks stand where.
    pub(crate) totals: RunTotals,
    /// What became of them, by definition, in the order of the workflow.
    pub(crate) tasks: Vec<RunTaskRow>,
    /// The workflow, with what became of its tasks.
    pub(crate) graph: Diagram,
    /// What was running when.
    pub(crate) timeline: RunTimeline,
    /// The executions that took longest, the longest first.
    pub(crate) slowest: Vec<RunExecution>,
    /// The first tasks that failed, in the order of the workflow.
    pub(crate) failures: Vec<RunFailure>,
    /// How many failed in all.
    pub(crate) failed: usize,
    /// What went wrong besides.
    pub(crate) errors: Vec<String>,
    /// Things worth telling.
    pub(crate) notes: Vec<String>,
    /// The outputs, by name.
    pub(crate) outputs: Vec<RunOutput>,
    /// The inputs, in the order of the workflow.
    pub(crate) inputs: Vec<RunInput>,
    /// The parameters, in the order of the workflow.
    pub(crate) parameters: Vec<RunParameter>,
    /// What links to outputs begin with, as seen from the page; `None`: there are no links.
    pub(crate) links: Option<String>,
}
