//! How tasks end, and who hears of it.

use std::time::Duration;

use headwater_enact::{Enactment, Start};
use headwater_graph::{Failure, Outputs, TaskId};

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
