//! What is heard of the tasks of a run while it goes on.
//!
//! Law: whatever runs, a workflow or a round of a study, is heard by one [`Listener`]: it keeps the progress, the trace,
//! the ledger, and what ran and failed.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_enact::{Enactment, Start, State, nanoseconds};
use headwater_execute::{Execution, Finished, Observer};
use headwater_graph::{Attempt, FailedTask, Failure, FailureKind, Outcome, TaskId};

use crate::Progress;
use crate::ledger::Ledger;
use crate::lock::locked;
use crate::trace::{Trace, TraceRow, peak};

/// What tasks are called.
pub trait Naming: Sync {
    /// The address of a task; one that the engine added goes by the first task that it is for.
    fn address(&self, enactment: &Enactment, task: TaskId) -> String;

    /// The position of its stage, if it has one.
    fn stage(&self, enactment: &Enactment, task: TaskId) -> Option<usize>;
}

/// What the tasks of a workflow are called.
#[derive(Debug, Clone, Copy)]
pub struct InWorkflow;

impl Naming for InWorkflow {
    fn address(&self, enactment: &Enactment, task: TaskId) -> String {
        address_of(enactment, task)
    }

    fn stage(&self, enactment: &Enactment, task: TaskId) -> Option<usize> {
        enactment.coordinator().stage(task)
    }
}

/// Where a task stands; one that the engine added (reading a file) goes by the first task that it is for.
pub fn address_of(enactment: &Enactment, task: TaskId) -> String {
    if let Some(address) = enactment.address(task) {
        return address.text;
    }
    match enactment.coordinator().first_reader(task) {
        Some(reader) if enactment.address(reader).is_some() => {
            format!("{} (reading)", address_of(enactment, reader))
        }
        // Readers come later in the graph, so this ends.
        Some(reader) => address_of(enactment, reader),
        None => enactment
            .graph()
            .operation_at(task)
            .signature
            .name
            .to_string(),
    }
}

/// What became of a task; `None` if nothing did, or it is a helper of the engine. These are no part of any figure; one
/// that failed is reported among the failures.
pub fn fate(enactment: &Enactment, task: TaskId) -> Option<Outcome> {
    let implicit = enactment.graph().operation_at(task).signature.implicit;
    let coordinator = enactment.coordinator();
    match coordinator.state(task) {
        _ if implicit => None,
        State::Done if coordinator.is_restored(task) => Some(Outcome::Restored),
        State::Done => Some(Outcome::Executed),
        State::Known if coordinator.is_cut_off(task) => Some(Outcome::CutOff),
        State::Known | State::Idle => Some(Outcome::Reused),
        State::Failed => Some(Outcome::Failed),
        State::Blocked => Some(Outcome::Blocked),
        // It has ended once, and was to be made again when the run was stopped.
        _ if coordinator.is_made_again(task) => Some(Outcome::Executed),
        _ => None,
    }
}

/// A task that failed for good.
#[derive(Debug, Clone)]
pub struct SeenFailure {
    /// Which.
    pub task: TaskId,
    /// Why.
    pub failure: Failure,
    /// How often it was tried.
    pub attempts: u32,
}

/// An execution, times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Ran {
    /// Which task.
    pub task: TaskId,
    /// How it ended.
    pub state: Attempt,
    /// Since the run began.
    pub started: u64,
    /// How long it took.
    pub wall: u64,
    /// How much of a processor.
    pub cpu: u64,
    /// Bytes; 0 where they are not known.
    pub peak: u64,
}

/// What failed, for those who report it; `from` says what people call a task by.
pub fn failed_tasks(
    enactment: &Enactment,
    naming: &dyn Naming,
    seen: &[SeenFailure],
    from: &dyn Fn(TaskId) -> Vec<(Arc<str>, String)>,
) -> Vec<FailedTask> {
    let mut blocked: BTreeMap<TaskId, usize> = BTreeMap::new();
    for (task, cause) in enactment.blocked() {
        if !enactment.graph().operation_at(*task).signature.implicit {
            *blocked.entry(*cause).or_default() += 1;
        }
    }
    let failed = |seen: &SeenFailure| FailedTask {
        address: naming.address(enactment, seen.task),
        failure: seen.failure.clone(),
        attempts: seen.attempts,
        blocked: blocked.get(&seen.task).copied().unwrap_or(0),
        from: from(seen.task),
    };
    seen.iter().map(failed).collect()
}

/// What was heard.
#[derive(Debug, Default)]
pub struct Heard {
    /// What ran, every attempt, in the order in which they ended.
    pub ran: Vec<Ran>,
    /// What failed for good.
    pub failures: Vec<SeenFailure>,
}

/// Hears what the workers do.
pub struct Listener<'a> {
    /// How far it is.
    pub progress: &'a Progress,
    /// What tasks are called.
    pub naming: &'a dyn Naming,
    /// The names of the stages.
    pub stages: &'a [Arc<str>],
    /// What was done, line by line.
    pub trace: &'a Mutex<Trace>,
    /// Where tasks are noted as they end.
    pub ledger: &'a Ledger,
    /// What was heard so far.
    pub heard: Mutex<Heard>,
}

impl Listener<'_> {
    /// The stage that a task is counted in. Helpers are no part of any figure, also where they stand in a stage.
    fn counted_in(&self, enactment: &Enactment, task: TaskId) -> Option<usize> {
        let implicit = enactment.graph().operation_at(task).signature.implicit;
        (!implicit).then(|| self.naming.stage(enactment, task))?
    }

    /// What was heard; failures in the order of the graph, not of arrival.
    pub fn into_heard(self) -> Heard {
        let mut heard = (self.heard.into_inner()).unwrap_or_else(PoisonError::into_inner);
        heard.failures.sort_by_key(|seen| seen.task);
        heard
    }
}

impl Observer for Listener<'_> {
    fn started(&self, enactment: &Enactment, start: &Start) {
        let stage = self.counted_in(enactment, start.task);
        self.progress.started(enactment, stage);
    }

    fn compared(&self, enactment: &Enactment) {
        self.progress.update(enactment);
    }

    fn returned(&self, enactment: &Enactment, task: TaskId) {
        let stage = self.counted_in(enactment, task);
        self.progress.returned(enactment, stage);
    }

    fn finished(&self, enactment: &Enactment, execution: &Execution, how: &Finished<'_>) {
        let task = execution.task;
        let state = attempt(enactment, task, how);
        let counted_in = self.counted_in(enactment, task);
        self.progress.ended(enactment, counted_in, execution, state);
        let signature = &enactment.graph().operation_at(task).signature;
        if signature.implicit && state.is_well() {
            return;
        }
        let address = OnceCell::new();
        let address = || address.get_or_init(|| self.naming.address(enactment, task));
        {
            let mut heard = locked(&self.heard);
            heard.ran.push(Ran {
                task,
                state,
                started: nanoseconds(execution.started),
                wall: nanoseconds(execution.elapsed),
                cpu: nanoseconds(execution.usage.cpu),
                peak: peak(execution),
            });
            if let Finished::Failure(failure) = how
                && state.failed()
            {
                heard.failures.push(SeenFailure {
                    task,
                    failure: (*failure).clone(),
                    attempts: execution.attempt + 1,
                });
            }
        }
        if let Finished::Failure(failure) = how
            && state != Attempt::Cancelled
        {
            let again = state == Attempt::Retried;
            (self.progress).failed(again, || address().clone(), &failure.message);
        }
        if let Some(outcome) = state.last() {
            (self.ledger).ended(enactment, execution, outcome, || address().clone());
        }
        let row = TraceRow {
            task: address(),
            state,
            stage: (self.naming.stage(enactment, task))
                .and_then(|stage| self.stages.get(stage))
                .map_or("", |name| name),
            operation: &signature.name,
            recipe: enactment.graph().recipe(task),
            ran: Some((execution, execution.started)),
            error: why(how),
        };
        row.write(&mut locked(self.trace));
    }
}

/// Why an attempt failed.
fn why<'a>(how: &'a Finished<'_>) -> &'a str {
    match how {
        Finished::Success(_) => "",
        Finished::Failure(failure) => &failure.message,
    }
}

/// How an attempt at a task ended.
pub fn attempt(enactment: &Enactment, task: TaskId, how: &Finished<'_>) -> Attempt {
    let coordinator = enactment.coordinator();
    match (how, coordinator.state(task)) {
        (Finished::Success(_), _) if coordinator.is_restored(task) => {
            Attempt::Last(Outcome::Restored)
        }
        (Finished::Success(_), _) => Attempt::Last(Outcome::Executed),
        (Finished::Failure(_), State::Failed) => Attempt::Last(Outcome::Failed),
        (Finished::Failure(failure), _) if failure.kind == FailureKind::Cancelled => {
            Attempt::Cancelled
        }
        (Finished::Failure(_), _) => Attempt::Retried,
    }
}
