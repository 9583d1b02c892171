//! What earlier runs were: `headwater runs`.
//!
//! Law: what a run has not counted because it did not end of itself is null, not zero.

use serde::Serialize;

use super::{Entries, TaskCountsJson};

/// Earlier runs: `headwater runs ls`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunListJson {
    /// The last one first.
    pub runs: Vec<RunRecordJson>,
}

/// What is recorded of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunRecordJson {
    /// Its name.
    pub run: String,
    /// The name of the workflow.
    pub workflow: String,
    /// The name of the study; null where it is no run of one.
    pub study: Option<String>,
    /// The file of the workflow; null where there is none.
    pub file: Option<String>,
    /// How it stands.
    pub status: String,
    /// When it began, in seconds since 1970.
    pub started: i64,
    /// When it ended, in seconds since 1970.
    pub ended: Option<i64>,
    /// How many tasks it has.
    pub tasks: u64,
    /// Those that ran.
    pub executed: Option<u64>,
    /// Those that were remembered.
    pub reused: Option<u64>,
    /// Those that failed.
    pub failed: Option<u64>,
    /// Where its outputs are; null where there are none.
    pub folder: Option<String>,
    /// The command that began it, argument by argument.
    pub command: Vec<String>,
    /// The machine that it ran on; null where that was not written down.
    pub host: Option<String>,
    /// Who ran it; null where that was not written down.
    pub user: Option<String>,
    /// Why it ended before everything was done; null where it did not.
    pub reason: Option<String>,
}

/// An earlier run with its tasks: `headwater runs show`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunOverviewJson {
    /// What is recorded of it. Of a run that has not ended, the tasks are counted that have.
    #[serde(flatten)]
    pub record: RunRecordJson,
    /// Tasks that were new, but read the same contents as others.
    pub cut_off: Option<u64>,
    /// Tasks that could not run because others failed.
    pub blocked: Option<u64>,
    /// Tasks that were not reached; null also where the run has not noted its figures, as sequences do not.
    pub left: Option<u64>,
    /// How long it took, or, where it has not noted that, when its last task ended.
    pub seconds: Option<f64>,
    /// By stage.
    pub stages: Vec<RunStageJson>,
    /// The tasks that ran longest, longest first.
    pub slowest: Vec<RunTaskJson>,
    /// The failures in words, several lines each.
    pub failures: Vec<String>,
    /// The files that are still there: what each is, and where.
    pub files: Entries<String>,
    /// All tasks.
    pub task_list: Vec<RunTaskJson>,
}

/// What became of the tasks of a stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunStageJson {
    /// Its name.
    pub stage: String,
    /// How many tasks stand where.
    #[serde(flatten)]
    pub counts: TaskCountsJson,
    /// How long its tasks ran, all together.
    pub task_seconds: f64,
}

/// A task of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunTaskJson {
    /// Its address.
    pub task: String,
    /// What became of it.
    pub state: String,
    /// Its recipe, in hexadecimal digits.
    pub recipe: String,
    /// When it began, in seconds since the start of the run.
    pub start_seconds: f64,
    /// How long it took.
    pub seconds: f64,
}

/// Where the page of a run was written: `headwater runs report`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunPageJson {
    /// The run.
    pub run: String,
    /// The page.
    pub report: String,
}
