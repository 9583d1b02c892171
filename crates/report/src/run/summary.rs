//! What a run came to, as its report tells it.
//!
//! Law: a summary is small however many tasks a run has: what stands once for each task is counted, joined or left out
//! with its number. It is written and read as JSON, and the page is a function of it.

use headwater_draw::Diagram;
use headwater_graph::text::cut;
use headwater_graph::{FailedTask, Tally};
use serde::{Deserialize, Serialize};

use crate::counted::OfRun;

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunEnd {
    /// Everything that was wanted is there.
    #[default]
    Done,
    /// Something failed.
    Failed,
    /// It was stopped before it was done.
    Stopped,
}

/// What became of all tasks of one definition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTaskRow {
    /// The name of its stage.
    pub stage: String,
    /// Its name in the stage.
    pub task: String,
    /// Whether they only prepare data for others; such tasks are not counted.
    #[serde(default)]
    pub helper: bool,
    /// How many of them stand where.
    #[serde(flatten, with = "OfRun")]
    pub tally: Tally,
    /// Seconds that all executions took, failed attempts with them.
    pub seconds: f64,
    /// Seconds of processor time of all executions.
    pub cpu_seconds: f64,
    /// Seconds of the longest execution.
    pub longest: f64,
    /// The most bytes of memory that one took, where that is known.
    pub peak_memory: Option<u64>,
    /// Seconds of processor time that it took to make, when they were made, what need not be made; absent where that is not
    /// known of all.
    #[serde(default)]
    pub saved_seconds: Option<f64>,
}

impl RunTaskRow {
    /// `stage.task`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.stage, self.task)
    }

    /// The seconds of processor time that those took when they were made that need not run, where that is known of all.
    pub fn seconds_saved(&self) -> Option<f64> {
        match self.tally.spared() {
            0 => Some(0.0),
            _ => self.saved_seconds,
        }
    }
}

/// An execution, or several that are too short to be drawn one by one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunBar {
    /// In which lane.
    pub lane: usize,
    /// The row of the task that took most of it.
    pub row: usize,
    /// Seconds from the beginning of the run.
    pub start: f64,
    /// And when the last of them ended.
    pub end: f64,
    /// Seconds of it that executions took.
    pub seconds: f64,
    /// How many executions.
    pub executions: usize,
    /// Whether some of them are of other tasks.
    pub mixed: bool,
    /// How many of them did not come to an end: they failed, were tried again or were stopped.
    pub failed: usize,
    /// The address of the task, if it is one.
    pub address: Option<String>,
}

/// What was running when.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTimeline {
    /// Seconds from the beginning of the run until the last execution ended.
    pub seconds: f64,
    /// How many ran side by side at most.
    pub lanes: usize,
    /// All executions.
    pub executions: usize,
    /// By lane, then by time.
    pub bars: Vec<RunBar>,
}

/// One execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunExecution {
    /// The address of the task.
    pub address: String,
    /// What became of it.
    pub state: String,
    /// Seconds from the beginning of the run.
    pub start: f64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Seconds of processor time.
    pub cpu_seconds: f64,
    /// The most bytes of memory that it took, where that is known.
    pub peak_memory: Option<u64>,
}

/// A task that failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFailure {
    /// Its address.
    pub address: String,
    /// Why, in one line.
    pub message: String,
    /// Its command, as a shell would take it.
    pub command: Option<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// How many tasks could not run because of it.
    pub blocked: usize,
    /// The end of what it wrote to standard error.
    pub stderr: String,
    /// Where its files are.
    pub folder: Option<String>,
    /// The command that runs it again alone.
    pub again: Option<String>,
    /// What the inputs behind it are called.
    #[serde(default)]
    pub from: Option<String>,
}

/// At most this many lines, and letters, of what a failed task said are shown.
const TAIL: (usize, usize) = (20, 4000);

impl RunFailure {
    /// What a page shows of a task that failed.
    pub fn of(failed: &FailedTask) -> RunFailure {
        let told = &failed.failure;
        RunFailure {
            address: failed.address.clone(),
            message: told.message.clone(),
            command: told.command_line().map(|words| cut(&words, TAIL.1)),
            attempts: failed.attempts,
            blocked: failed.blocked,
            stderr: tail(&told.stderr),
            folder: told
                .folder
                .as_ref()
                .map(|folder| folder.display().to_string()),
            again: failed.again(),
            from: failed.made_from(),
        }
    }
}

/// The end of a text.
fn tail(text: &str) -> String {
    let (lines, letters) = TAIL;
    let text = text.trim_end();
    let line = text.rmatch_indices('\n').nth(lines - 1);
    let text = line.map_or(text, |(place, _)| &text[place + 1..]);
    let letter = text.char_indices().rev().nth(letters - 1);
    match letter {
        Some((place, _)) if place > 0 => format!("…{}", &text[place..]),
        _ => text.to_owned(),
    }
}

/// An item of an output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunOutputItem {
    /// Its index path.
    pub index: String,
    /// Where it is, from the folder of the outputs.
    pub path: Option<String>,
    /// The same as a link.
    pub link: Option<String>,
    /// What it is, if it is a single value.
    pub value: Option<String>,
    /// What the inputs behind it are called.
    #[serde(default)]
    pub from: Option<String>,
    /// How many items are missing from the lists that it was made from.
    #[serde(default)]
    pub missing: usize,
}

/// An output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunOutput {
    /// Its name.
    pub name: String,
    /// How many items it has.
    pub items: usize,
    /// The first of them.
    pub shown: Vec<RunOutputItem>,
}

/// An input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunInput {
    /// Its name.
    pub name: String,
    /// How many items it has.
    pub items: usize,
    /// What the first of them are called.
    pub shown: Vec<String>,
}

/// A parameter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunParameter {
    /// Its name.
    pub name: String,
    /// Its value in this run.
    pub value: String,
    /// Where that came from.
    pub from: String,
}

/// What a run came to: all that its report shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The name of the run.
    pub run: String,
    /// The name of the workflow.
    pub workflow: String,
    /// Its file.
    pub file: String,
    /// The command that started the run, word by word.
    pub command: Vec<String>,
    /// When it began, in seconds since 1970.
    pub started: i64,
    /// How long it took.
    pub seconds: f64,
    /// On how many cores.
    pub cores: usize,
    /// How it ended.
    pub end: RunEnd,
    /// How many tasks stand where.
    #[serde(with = "OfRun")]
    pub totals: Tally,
    /// What became of them, by definition, in the order of the workflow.
    pub tasks: Vec<RunTaskRow>,
    /// The workflow, with what became of its tasks.
    pub graph: Diagram,
    /// What was running when.
    pub timeline: RunTimeline,
    /// The executions that took longest, the longest first.
    pub slowest: Vec<RunExecution>,
    /// The first tasks that failed, in the order of the workflow.
    pub failures: Vec<RunFailure>,
    /// How many failed in all.
    pub failed: usize,
    /// What went wrong besides.
    pub errors: Vec<String>,
    /// Things worth telling.
    pub notes: Vec<String>,
    /// The outputs, by name.
    pub outputs: Vec<RunOutput>,
    /// The inputs, in the order of the workflow.
    pub inputs: Vec<RunInput>,
    /// The parameters, in the order of the workflow.
    pub parameters: Vec<RunParameter>,
    /// What links to outputs begin with, as seen from the page; `None`: there are no links.
    pub links: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_is_bounded_in_lines_and_letters() {
        assert_eq!(tail("one\ntwo\n"), "one\ntwo");
        assert_eq!(tail(""), "");
        let many: String = (0..100).map(|line| format!("{line}\n")).collect();
        assert_eq!(tail(&many).lines().count(), 20);
        assert!(tail(&many).starts_with("80\n"));
        let long = "é".repeat(5000);
        assert_eq!(tail(&long).chars().count(), 4001);
        assert_eq!(tail(&"é".repeat(4000)).chars().count(), 4000);
    }
}
