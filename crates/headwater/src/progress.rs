//! How far a run is: written by the workers, read by whoever shows it.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_enact::{Enactment, Start};
use headwater_execute::{Execution, Failure, FailureKind, Finished, Observer};
use headwater_graph::{Recipe, TaskId};

use headwater_enact::State;

/// How far one stage is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StageSnapshot {
    /// Its name.
    pub name: Arc<str>,
    /// Tasks that have to run, as far as is known.
    pub planned: usize,
    /// Tasks that have ended, well or not.
    pub ended: usize,
    /// Tasks that failed.
    pub failed: usize,
    /// Tasks that cannot run, because something before them failed.
    pub blocked: usize,
    /// Tasks that run now.
    pub running: usize,
}

/// How far the run is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// By stage, in the order of the file.
    pub stages: Vec<StageSnapshot>,
    /// Tasks that need not run.
    pub reused: usize,
    /// Tasks that cannot run any more.
    pub blocked: usize,
    /// Since the first task could start.
    pub elapsed: Duration,
    /// Lines about failures since the last snapshot was taken.
    pub news: Vec<String>,
    /// The run has ended.
    pub over: bool,
}

#[derive(Debug, Default)]
struct Inner {
    snapshot: Snapshot,
    began: Option<Instant>,
    failures: usize,
}

/// So many failures are told as they happen.
const MOST_NEWS: usize = 10;

/// A place where a run says how far it is. Clones are the same place.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Mutex<Inner>>);

impl Progress {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is. The news are handed out once.
    pub fn snapshot(&self) -> Snapshot {
        let mut inner = self.lock();
        if let Some(began) = inner.began {
            inner.snapshot.elapsed = began.elapsed();
        }
        let news = std::mem::take(&mut inner.snapshot.news);
        Snapshot {
            news,
            ..inner.snapshot.clone()
        }
    }

    pub(crate) fn begin(&self, names: &[Arc<str>], enactment: &Enactment) {
        let mut inner = self.lock();
        let stage = |name: &Arc<str>| StageSnapshot {
            name: Arc::clone(name),
            ..StageSnapshot::default()
        };
        inner.snapshot.stages = names.iter().map(stage).collect();
        inner.began = Some(Instant::now());
        update(&mut inner.snapshot, enactment);
    }

    /// Has a line shown with the next snapshot.
    pub fn tell(&self, line: &str) {
        self.lock().snapshot.news.push(line.to_owned());
    }

    /// Says that the run is over, whether it ever began or not.
    pub fn finish(&self) {
        self.lock().snapshot.over = true;
    }
}

fn update(snapshot: &mut Snapshot, enactment: &Enactment) {
    for (stage, (planned, unsettled)) in snapshot
        .stages
        .iter_mut()
        .zip(enactment.coordinator().stage_progress())
    {
        stage.planned = planned;
        stage.ended = planned - unsettled;
    }
    for (task, _) in enactment.blocked().iter().skip(snapshot.blocked) {
        let stage = enactment.coordinator().stage(*task);
        if let Some(stage) = stage.and_then(|stage| snapshot.stages.get_mut(stage)) {
            stage.blocked += 1;
        }
    }
    snapshot.blocked = enactment.blocked().len();
    snapshot.reused = enactment.counts().reused();
}

/// Where a task stands; one that the engine added (reading a file) goes by the first task that it is for.
pub(crate) fn address_of(enactment: &Enactment, task: TaskId) -> String {
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

/// A task that failed for good.
#[derive(Debug, Clone)]
pub(crate) struct SeenFailure {
    pub(crate) task: TaskId,
    pub(crate) failure: Failure,
    pub(crate) attempts: u32,
}

/// Hears what the workers do: keeps the progress, the trace and the failures.
pub(crate) struct Listener {
    pub(crate) progress: Progress,
    pub(crate) trace: Mutex<Option<Box<dyn Write + Send>>>,
    pub(crate) failures: Mutex<Vec<SeenFailure>>,
    pub(crate) tasks: Mutex<Vec<Ran>>,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Executed,
    Restored,
    Failed,
    Retried,
    Cancelled,
}

impl Ending {
    /// In a word of the trace.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Ending::Executed => "executed",
            Ending::Restored => "restored",
            Ending::Failed => "failed",
            Ending::Retried => "retried",
            Ending::Cancelled => "cancelled",
        }
    }

    /// Whether the task is not tried again.
    pub(crate) fn is_final(self) -> bool {
        matches!(self, Ending::Executed | Ending::Restored | Ending::Failed)
    }
}

/// An execution, times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ran {
    pub(crate) task: TaskId,
    pub(crate) ending: Ending,
    /// Since the run began.
    pub(crate) started: u64,
    pub(crate) wall: u64,
    pub(crate) cpu: u64,
    /// Bytes; 0 where they are not known.
    pub(crate) peak: u64,
}

pub(crate) const TRACE_HEADER: &str =
    "task\tstate\tattempt\tstart_seconds\twall_seconds\tcpu_seconds\tpeak_bytes\trecipe";

impl Observer for Listener {
    fn started(&self, enactment: &Enactment, start: &Start) {
        if let Some(stage) = enactment.coordinator().stage(start.task)
            && let Some(stage) = self.progress.lock().snapshot.stages.get_mut(stage)
        {
            stage.running += 1;
        }
    }

    fn compared(&self, enactment: &Enactment) {
        update(&mut self.progress.lock().snapshot, enactment);
    }

    fn returned(&self, enactment: &Enactment, task: TaskId) {
        let mut inner = self.progress.lock();
        let stage = enactment.coordinator().stage(task);
        if let Some(stage) = stage.and_then(|stage| inner.snapshot.stages.get_mut(stage)) {
            stage.running = stage.running.saturating_sub(1);
        }
        update(&mut inner.snapshot, enactment);
    }

    fn finished(&self, enactment: &Enactment, execution: &Execution, how: &Finished<'_>) {
        let task = execution.task;
        let stage = enactment.coordinator().stage(task);
        let implicit = enactment.graph().operation_at(task).signature.implicit;
        if implicit && matches!(how, Finished::Success(_)) {
            let mut inner = self.progress.lock();
            if let Some(stage) = stage.and_then(|stage| inner.snapshot.stages.get_mut(stage)) {
                stage.running = stage.running.saturating_sub(1);
                update(&mut inner.snapshot, enactment);
            }
            return;
        }
        let address = address_of(enactment, task);
        let ending = outcome(enactment, task, how);
        {
            let mut inner = self.progress.lock();
            let stage = stage.and_then(|stage| inner.snapshot.stages.get_mut(stage));
            if let Some(stage) = stage {
                stage.running = stage.running.saturating_sub(1);
                stage.failed += usize::from(ending == Ending::Failed);
            }
            update(&mut inner.snapshot, enactment);
            if let Finished::Failure(failure) = how
                && ending != Ending::Cancelled
            {
                let again = if ending == Ending::Retried {
                    "; it is tried again"
                } else {
                    ""
                };
                inner.failures += 1;
                // Of a flood of failures the first ones tell enough.
                if inner.failures <= MOST_NEWS {
                    inner
                        .snapshot
                        .news
                        .push(format!("task `{address}`: {}{again}", failure.message));
                } else if inner.failures == MOST_NEWS + 1 {
                    inner
                        .snapshot
                        .news
                        .push("more tasks fail; they are listed at the end".to_owned());
                }
            }
        }
        if let (Finished::Failure(failure), Ending::Failed) = (how, ending) {
            let seen = SeenFailure {
                task,
                failure: (*failure).clone(),
                attempts: execution.attempt + 1,
            };
            self.failures
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(seen);
        }
        let nanoseconds =
            |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let ran = Ran {
            task,
            ending,
            started: nanoseconds(execution.started),
            wall: nanoseconds(execution.elapsed),
            cpu: nanoseconds(execution.usage.cpu),
            peak: peak(execution),
        };
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(ran);
        if let Some(trace) = self
            .trace
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_mut()
        {
            let recipe = enactment.graph().recipe(task);
            trace_line(
                trace,
                &address,
                ending.name(),
                execution,
                execution.started,
                &recipe,
            );
        }
    }
}

/// How a task ended.
pub(crate) fn outcome(enactment: &Enactment, task: TaskId, how: &Finished<'_>) -> Ending {
    match (how, enactment.coordinator().state(task)) {
        (Finished::Success(_), _) if enactment.coordinator().is_restored(task) => Ending::Restored,
        (Finished::Success(_), _) => Ending::Executed,
        (Finished::Failure(_), State::Failed) => Ending::Failed,
        (Finished::Failure(failure), _) if failure.kind == FailureKind::Cancelled => {
            Ending::Cancelled
        }
        (Finished::Failure(_), _) => Ending::Retried,
    }
}

/// The most memory that a task took, if that is its own.
fn peak(execution: &Execution) -> u64 {
    if execution.usage.peak_reliable {
        execution.usage.peak_memory
    } else {
        0
    }
}

/// Writes what became of a task into a trace.
pub(crate) fn trace_line(
    trace: &mut dyn Write,
    address: &str,
    state: &str,
    execution: &Execution,
    started: Duration,
    recipe: &Recipe,
) {
    let peak = peak(execution);
    // A trace that cannot be written is no reason to stop the run.
    let _ = writeln!(
        trace,
        "{address}\t{state}\t{}\t{:.6}\t{:.6}\t{:.6}\t{peak}\t{recipe}",
        execution.attempt,
        started.as_secs_f64(),
        execution.elapsed.as_secs_f64(),
        execution.usage.cpu.as_secs_f64(),
    );
}
