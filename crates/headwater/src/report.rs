//! What is asked of a run, and what it comes to.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_enact::{Counts, Parallelism};
use headwater_execute::Failure;
use headwater_graph::{Diagnostic, Index, Value};

use crate::StorePlace;

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
    /// Cores; `None`: those of this machine.
    pub cores: Option<usize>,
    /// Bytes for running tasks and live products.
    pub memory: Option<u64>,
    /// Other counters: gpu, a licence.
    pub resources: BTreeMap<Arc<str>, u64>,
    /// Which kinds of parallelism are on.
    pub parallelism: Parallelism,
    /// How often a failed task is tried again, unless its operation says otherwise.
    pub retries: u32,
    /// Start nothing more after the first failure.
    pub fail_fast: bool,
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
    /// How long it took.
    pub seconds: f64,
    /// By name.
    pub outputs: BTreeMap<Arc<str>, Vec<OutputItem>>,
    /// Tasks that failed, in the order in which they did.
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
}

impl RunReport {
    /// Whether everything that was wanted is there.
    pub fn succeeded(&self) -> bool {
        self.failures.is_empty() && self.errors.is_empty() && !self.stopped
    }
}
