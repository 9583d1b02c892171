//! Tasks that run in the manager itself: those that must not run elsewhere, and those that no node can do.
//!
//! Law: they run as they would on one machine, on threads of their own, so that the manager goes on.

use std::sync::{Arc, mpsc};

use headwater_execute::{Execution, Hand, Order};
use headwater_graph::{Failure, FailureKind, Operation, Outputs, Recipe, Scalar, TaskId, Value};

use crate::manager::reception::Event;

/// A task with everything that it needs.
pub(crate) struct OwnTask {
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
    /// When the run began.
    pub(crate) origin: std::time::Instant,
    pub(crate) operation: Arc<Operation>,
    pub(crate) recipe: Recipe,
    pub(crate) inputs: Vec<Value>,
    pub(crate) parameters: Vec<Scalar>,
    pub(crate) timeout: Option<core::time::Duration>,
}

/// What became of one.
pub(crate) struct OwnEnd {
    pub(crate) execution: Execution,
    pub(crate) result: Result<Outputs, Failure>,
}

impl OwnTask {
    /// Runs it on a thread of its own, which tells how it ended.
    pub(crate) fn start(self, hand: &Arc<Hand>, events: &mpsc::Sender<Event>) {
        let (hand, own) = (Arc::clone(hand), events.clone());
        let (task, attempt, origin) = (self.task, self.attempt, self.origin);
        let begun = std::thread::Builder::new()
            .name("headwater-own".to_owned())
            .spawn(move || {
                let end = self.run(&hand);
                let _ = own.send(Event::Own(Box::new(end)));
            });
        if let Err(error) = begun {
            let message = format!("no thread for it: {error}");
            let end = OwnEnd {
                execution: Execution {
                    task,
                    attempt,
                    started: origin.elapsed(),
                    elapsed: Default::default(),
                    usage: Default::default(),
                },
                result: Err(Failure::new(FailureKind::NotStarted, message)),
            };
            let _ = events.send(Event::Own(Box::new(end)));
        }
    }

    fn run(self, hand: &Hand) -> OwnEnd {
        let order = Order {
            operation: &self.operation,
            recipe: &self.recipe,
            inputs: self.inputs,
            parameters: &self.parameters,
            timeout: self.timeout,
        };
        let ran = hand.run(order, &|| ());
        let changed = || {
            Failure::new(
                FailureKind::Input,
                "what it reads was changed while it ran".to_owned(),
            )
        };
        OwnEnd {
            execution: Execution {
                task: self.task,
                attempt: self.attempt,
                started: ran.began.duration_since(self.origin),
                elapsed: ran.elapsed,
                usage: ran.usage,
            },
            result: ran
                .result
                .map_err(|failure| failure.unwrap_or_else(changed)),
        }
    }
}
