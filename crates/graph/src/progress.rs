//! How far a run is, as plain data: what an engine writes, and what terminals, metrics and events are made of.
//!
//! Law: what is said here is display only; nothing is decided by it.

use core::time::Duration;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::Tally;
use crate::text::printable;

/// What run it is, once that is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFacts {
    /// Its name.
    pub run: String,
    /// The name of the workflow.
    pub workflow: String,
    /// The name of the study, where it is one.
    pub study: Option<String>,
    /// When it began, in seconds since 1970.
    pub started: i64,
    /// How many cores it uses.
    pub cores: usize,
    /// Where its outputs go.
    pub folder: PathBuf,
}

/// What memory is taken for, as the engine counts it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemorySnapshot {
    /// Bytes of products in memory.
    pub products: u64,
    /// Bytes promised to tasks that run.
    pub promised: u64,
    /// Bytes that both may take together; `None`: any.
    pub limit: Option<u64>,
}

/// Something to be reported while a run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// In words.
    Line(String),
    /// A task failed.
    Failed {
        /// Its address.
        task: String,
        /// Why, in one line.
        message: String,
        /// Whether it is tried again.
        again: bool,
    },
}

impl fmt::Display for News {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            News::Line(line) => out.write_str(&printable(line)),
            News::Failed {
                task,
                message,
                again,
            } => {
                let again = if *again { "; it is tried again" } else { "" };
                let (task, message) = (printable(task), printable(message));
                write!(out, "task `{task}`: {message}{again}")
            }
        }
    }
}

/// How far one stage is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StageSnapshot {
    /// Its name.
    pub name: Arc<str>,
    /// How many of its tasks stand where, as far as is known. In a study it is over all rounds; tasks of the round that
    /// goes on are counted as they end, and all others when it has ended.
    pub tally: Tally,
    /// Tasks that run now.
    pub running: usize,
    /// How long tasks ran, all attempts together.
    pub spent: Duration,
}

impl StageSnapshot {
    /// A stage of which nothing is known yet.
    pub fn named(name: Arc<str>) -> StageSnapshot {
        StageSnapshot {
            name,
            ..StageSnapshot::default()
        }
    }

    /// Tasks that have to run and do not run yet.
    pub fn waiting(&self) -> usize {
        self.tally.left().saturating_sub(self.running)
    }
}

/// How far the evaluations of a study are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StudySnapshot {
    /// Which phase, counted from 1; 0 before the first.
    pub phase: usize,
    /// How many phases there are.
    pub phases: usize,
    /// What the phase does, in words.
    pub method: String,
    /// Evaluations of the phase, as far as they are meant to be made now: sets times items.
    pub evaluations: usize,
    /// Those that have a value.
    pub evaluated: usize,
    /// Those that failed.
    pub failed: usize,
}

/// How far a run is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// What run it is, once that is known.
    pub facts: Option<Arc<RunFacts>>,
    /// How many tasks stand where: of the graph that runs now, which is one round of a study.
    pub tally: Tally,
    /// Tasks that run now.
    pub running: usize,
    /// By stage, in the order of the file.
    pub stages: Vec<StageSnapshot>,
    /// What else there is to say of a study.
    pub study: Option<StudySnapshot>,
    /// Since the first task of the graph that runs now could start.
    pub elapsed: Duration,
    /// Since the run began.
    pub age: Duration,
    /// What memory is taken for.
    pub memory: MemorySnapshot,
    /// Bytes that were written to the store.
    pub written: u64,
    /// What there is to report since the last snapshot was taken.
    pub news: Vec<News>,
    /// The run has ended.
    pub over: bool,
}

/// An answer of a study that is not final.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveAnswer {
    /// What the sizes are: `mu*` or `ST`.
    pub index: &'static str,
    /// How many evaluations it is from.
    pub evaluated: usize,
    /// By falling size: the parameter, its size, half the width of the interval.
    pub sizes: Vec<(Arc<str>, f64, Option<f64>)>,
}

/// Somebody who can say what the answer of a study looks like so far.
pub trait Answers: fmt::Debug + Send + Sync {
    /// What the values that are there say. It costs as much as the analysis of the whole design: not to be asked for
    /// all the time. `None` where there are no indices, or nothing is known yet.
    fn answer(&self) -> Option<LiveAnswer>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_neither_running_nor_ended() {
        let stage = StageSnapshot {
            tally: Tally {
                tasks: 20,
                planned: 15,
                failed: 1,
                blocked: 2,
                executed: 4,
                cut_off: 3,
                reused: 5,
                ..Tally::default()
            },
            running: 3,
            ..StageSnapshot::named("blur".into())
        };
        assert_eq!((stage.waiting(), stage.tally.ended()), (2, 10));
    }

    #[test]
    fn news_in_words() {
        let failed = |again| News::Failed {
            task: "a.b[0]".to_owned(),
            message: "ended with exit code 1".to_owned(),
            again,
        };
        assert_eq!(
            failed(false).to_string(),
            "task `a.b[0]`: ended with exit code 1"
        );
        assert!(
            failed(true)
                .to_string()
                .ends_with("code 1; it is tried again")
        );
    }
}
