//! What became of a task, in one word that everybody uses.

use std::fmt;

/// What became of a task in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// It ran.
    Executed,
    /// It was remembered.
    Reused,
    /// It ran and failed.
    Failed,
    /// Something that it needs failed.
    Blocked,
    /// It was new, but what it would have read was not: the product of an equal task was taken.
    CutOff,
    /// It was remembered, but its bytes were gone and needed: it ran again.
    Restored,
}

impl Outcome {
    /// All of them. The position is the number in stores, and stays.
    pub const ALL: [Outcome; 6] = [
        Outcome::Executed,
        Outcome::Reused,
        Outcome::Failed,
        Outcome::Blocked,
        Outcome::CutOff,
        Outcome::Restored,
    ];

    /// Its name, in traces, lists and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Executed => "executed",
            Outcome::Reused => "reused",
            Outcome::Failed => "failed",
            Outcome::Blocked => "blocked",
            Outcome::CutOff => "cut-off",
            Outcome::Restored => "restored",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// What became of one attempt at a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Attempt {
    /// It was the last one, and this became of the task.
    Last(Outcome),
    /// It failed, and the task is tried again.
    Retried,
    /// It was ended on demand.
    Cancelled,
}

impl Attempt {
    /// Its name, in traces.
    pub fn name(self) -> &'static str {
        match self {
            Attempt::Last(outcome) => outcome.name(),
            Attempt::Retried => "retried",
            Attempt::Cancelled => "cancelled",
        }
    }

    /// What became of the task, if it was the last attempt at it.
    pub fn last(self) -> Option<Outcome> {
        match self {
            Attempt::Last(outcome) => Some(outcome),
            Attempt::Retried | Attempt::Cancelled => None,
        }
    }

    /// Whether the task failed with it for good.
    pub fn failed(self) -> bool {
        self == Attempt::Last(Outcome::Failed)
    }

    /// Whether it gave what it was to give.
    pub fn is_well(self) -> bool {
        matches!(self, Attempt::Last(Outcome::Executed | Outcome::Restored))
    }
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunStatus {
    /// Its process is at it.
    #[default]
    Running,
    /// Everything that was wanted is there.
    Done,
    /// Some of its tasks failed.
    Failed,
    /// Somebody stopped it.
    Cancelled,
    /// Its process ended without a word.
    Interrupted,
}

impl RunStatus {
    /// All of them.
    pub const ALL: [RunStatus; 5] = [
        RunStatus::Running,
        RunStatus::Done,
        RunStatus::Failed,
        RunStatus::Cancelled,
        RunStatus::Interrupted,
    ];

    /// Its name, in stores, lists and JSON.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Done => "done",
            RunStatus::Failed => "failed",
            RunStatus::Cancelled => "cancelled",
            RunStatus::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}
