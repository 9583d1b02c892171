//! What is asked of a run, and what it comes to.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_enact::Parallelism;
use headwater_engine::deliver::OutputItem;
use headwater_engine::results_folder::Finishing;
use headwater_engine::{DataSource, Setting, WorkflowSource};
use headwater_graph::{Diagnostic, FailedTask, RunStatus, Tally};

/// What to run, and how.
#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    /// The workflow.
    pub flow: WorkflowSource,
    /// Its data.
    pub inputs: Option<DataSource>,
    /// Values of parameters; they win over the data.
    pub settings: Vec<Setting>,
    /// Which kinds of parallelism are on.
    pub parallelism: Parallelism,
    /// Where outputs go.
    pub outputs: Destination,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// Whether the folder of the results counts as unfinished until the report is dropped, for who reports to somebody:
    /// killed before that, the same command goes on in it.
    pub holds_folder: bool,
}

/// Where the outputs of a run go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Destination {
    /// Into a folder of its own: `outputs/<run>` in the folder of the site.
    #[default]
    Outputs,
    /// Into this folder, which has to be new or empty.
    Folder(PathBuf),
    /// To the program, as values; there are no files, nor a report. Files that the run has made stay in the store.
    Values,
}

/// What a run came to.
#[derive(Debug)]
pub struct RunReport {
    /// Its name.
    pub run: String,
    /// The name of the workflow.
    pub workflow: Arc<str>,
    /// How many tasks stand where.
    pub counts: Tally,
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
    /// Where the outputs are; empty where they are given as values.
    pub folder: PathBuf,
    /// It was stopped before it was done.
    pub stopped: bool,
    /// The page that tells all this, if it could be written.
    pub report: Option<PathBuf>,
    /// The folder of the outputs, if it was asked to hold it: it counts as finished when this is dropped.
    pub finishing: Option<Finishing>,
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
