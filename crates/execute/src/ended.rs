//! How tasks end, and who hears of it.

use std::path::PathBuf;
use std::time::Duration;

use headwater_enact::{Enactment, Start};
use headwater_graph::{Outputs, TaskId};

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
    pub(crate) fn new(kind: FailureKind, message: String) -> Failure {
        Failure {
            kind,
            message,
            command: None,
            folder: None,
            stderr: String::new(),
        }
    }
}

/// What a task used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Processor time, of all its threads and processes.
    pub cpu: Duration,
    /// Peak memory in bytes; 0 where it is not known.
    pub peak_memory: u64,
    /// Whether that is the task's own.
    pub peak_reliable: bool,
}

/// A task that ended.
#[derive(Debug, Clone)]
pub struct Execution {
    /// Which.
    pub task: TaskId,
    /// How often it was tried before.
    pub attempt: u32,
    /// When it began, since the run began.
    pub started: Duration,
    /// How long it took.
    pub elapsed: Duration,
    /// What it used.
    pub usage: Usage,
}

/// How a task ended.
#[derive(Debug)]
pub enum Finished<'a> {
    /// With outputs.
    Success(&'a Outputs),
    /// Without; if it `will_retry` it is tried again.
    Failure(&'a Failure),
}

/// Hears what happens, from any thread, under the pool's lock: be quick.
pub trait Observer: Send + Sync {
    /// A task begins.
    fn started(&self, _enactment: &Enactment, _start: &Start) {}
    /// A task ended, for now or for good (`enactment.coordinator().state(task)` tells).
    fn finished(&self, _enactment: &Enactment, _execution: &Execution, _how: &Finished<'_>) {}
    /// A started task did not run after all: another run is at it, or has done it.
    fn returned(&self, _enactment: &Enactment, _task: TaskId) {}
    /// Tasks were compared; some may have turned out not to be new.
    fn compared(&self, _enactment: &Enactment) {}
}
