//! Runs: what ran when, how it ended, and what it left for those who ask later.
//!
//! Law: a run is `running` exactly while the process that began it is alive. One that has neither ended nor a living
//! process is `interrupted`, which is found out by looking and never written down.

use std::io;
use std::path::PathBuf;

use crate::{Outcome, Recipe, RunStatus, StoreError, Tally};

/// A run. The default is one that begins: no task has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunRecord {
    /// Its name, `YYYYMMDD-HHMMSS-xxxx`.
    pub id: String,
    /// The name of the workflow.
    pub workflow: String,
    /// The file of the workflow; empty where there is none.
    pub file: PathBuf,
    /// When it began, in seconds since 1970.
    pub started: i64,
    /// When it ended, in seconds since 1970.
    pub ended: Option<i64>,
    /// Its status.
    pub status: RunStatus,
    /// The number of its tasks.
    pub tasks: u64,
    /// Tasks that ran.
    pub executed: u64,
    /// Tasks that were remembered, without those that were found to be equal to something remembered.
    pub reused: u64,
    /// Tasks that failed.
    pub failed: u64,
    /// Where its outputs are; empty where there are none.
    pub outputs: PathBuf,
    /// The command that began it, argument by argument.
    pub command: Vec<String>,
    /// The machine that it ran on; empty where that is not known.
    pub host: String,
    /// Who ran it; empty where that is not known.
    pub user: String,
    /// Why it ended before everything was done; empty where it did not, or the status says everything.
    pub reason: String,
}

impl RunRecord {
    /// Whether a text can be the name of a run. It becomes the name of folders, so it has letters, digits, `-` and `_`
    /// only.
    pub fn is_name(id: &str) -> bool {
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '-' || sign == '_';
        !id.is_empty() && id.chars().all(is_plain)
    }
}

/// A task of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTask {
    /// Its address, such as `segment.watershed[3-1]`.
    pub address: String,
    /// Its recipe.
    pub recipe: Recipe,
    /// What became of it.
    pub state: Outcome,
    /// When it began, in nanoseconds since the start of the run.
    pub started: u64,
    /// How long it took, in nanoseconds.
    pub wall: u64,
}

/// What a person meant by the name of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundRun {
    /// This one.
    One(Box<RunRecord>),
    /// There is none of that name.
    None,
    /// Several begin like that; these.
    Several(Vec<String>),
}

impl FoundRun {
    /// What `text` means among runs whose names begin with it: the one that has that very name, or the only one.
    pub fn among(text: &str, mut runs: Vec<RunRecord>) -> FoundRun {
        if let Some(position) = runs.iter().position(|run| run.id == text) {
            runs = vec![runs.swap_remove(position)];
        }
        match runs.len() {
            0 => FoundRun::None,
            1 => runs
                .pop()
                .map_or(FoundRun::None, |run| FoundRun::One(Box::new(run))),
            _ => FoundRun::Several(runs.into_iter().map(|run| run.id).collect()),
        }
    }
}

/// Keeps the list of runs.
pub trait Runs: Send + Sync {
    /// Begins a run: from now on it is listed, its process counts as alive, and its folders on this machine may be
    /// used.
    fn begin_run(&self, run: &RunRecord) -> Result<(), StoreError>;

    /// Ends a run, now, with a reason if there is more to say than its status.
    fn end_run(
        &self,
        id: &str,
        status: RunStatus,
        counts: Tally,
        reason: &str,
    ) -> Result<(), StoreError>;

    /// The latest runs, the last one first.
    fn runs(&self, limit: usize) -> Result<Vec<RunRecord>, StoreError>;

    /// The run that a person means: `last`, a whole id, or the beginning of exactly one.
    fn find_run(&self, text: &str) -> Result<FoundRun, StoreError>;

    /// Whether the process that began a run is still there.
    fn is_alive(&self, run: &str) -> bool;

    /// Adds tasks to a run that was begun; they are listed in the order in which they were added.
    fn put_run_tasks(&self, run: &str, tasks: &[RunTask]) -> Result<(), StoreError>;

    /// Notes tasks of a run that have ended, for those who ask before it has ended, or after it was interrupted: then
    /// they are its tasks, in the order in which they ended. It costs little, and nothing is made durable.
    fn note_run_tasks(&self, run: &str, tasks: &[RunTask]) -> Result<(), StoreError>;

    /// The tasks of a run; none where there is no such run.
    fn run_tasks(&self, run: &str) -> Result<Vec<RunTask>, StoreError>;

    /// The tasks at this address in the runs of the same workflow that began before this one: run and task, the last one
    /// first. At most `runs` runs are looked at.
    fn tasks_before(
        &self,
        run: &str,
        address: &str,
        runs: usize,
    ) -> Result<Vec<(String, RunTask)>, StoreError>;
}

/// Notes that runs leave: bytes under the name of a run and a name of their own.
pub trait Attachments: Send + Sync {
    /// A note that a run has left.
    fn attachment(&self, run: &str, name: &str) -> io::Result<Vec<u8>>;

    /// Whether a run has left a note of this name.
    fn has_attachment(&self, run: &str, name: &str) -> bool;

    /// Whether a run has left any note.
    fn has_attachments(&self, run: &str) -> bool;

    /// Writes a note of a run, in the place of what was there.
    fn attach(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Adds to a note of a run.
    fn add_to_attachment(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Removes a note of a run; that there is none is no error.
    fn remove_attachment(&self, run: &str, name: &str) -> io::Result<()>;

    /// Where a note is, for messages.
    fn attachment_place(&self, run: &str, name: &str) -> PathBuf;
}
