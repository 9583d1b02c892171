//! How far a run is: written by the workers, read by whoever shows it; and the trace.
//!
//! Law: what is said here is display only; nothing is decided by it. A row of the trace is one line, whatever stands in
//! its cells.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_enact::{Enactment, Start, State, nanoseconds};
use headwater_execute::{Execution, Failure, FailureKind, Finished, Observer};
use headwater_graph::text::{acts, printable};
use headwater_graph::{Attempt, Outcome, Recipe, TaskId};

use crate::ledger::Ledger;
use crate::trace::Trace;

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

impl MemorySnapshot {
    /// What an enactment counts.
    pub fn of(enactment: &Enactment) -> MemorySnapshot {
        let coordinator = enactment.coordinator();
        let limit = coordinator.memory_for_tasks();
        MemorySnapshot {
            products: coordinator.memory_held(),
            promised: coordinator.memory_promised(),
            limit: (limit < u64::MAX).then_some(limit),
        }
    }
}

/// Something to be told while a run goes on.
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

impl std::fmt::Display for News {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
    /// All its tasks, as far as is known.
    pub tasks: usize,
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
    /// Tasks that ran and ended well, each counted once.
    pub executed: usize,
    /// Tasks that were new, but equal to something that was there.
    pub cut_off: usize,
    /// How long tasks ran, all attempts together.
    pub spent: Duration,
}

impl StageSnapshot {
    /// Tasks that have to run and have not ended.
    fn open(&self) -> usize {
        self.planned.saturating_sub(self.ended)
    }

    /// Tasks that have to run and do not run yet.
    pub fn waiting(&self) -> usize {
        self.open().saturating_sub(self.running)
    }

    /// Tasks that need not run: they are remembered, or only led to what is.
    pub fn reused(&self) -> usize {
        let others = self.open() + self.executed + self.cut_off + self.failed + self.blocked;
        self.tasks.saturating_sub(others)
    }
}

/// How far the run is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// What run it is, once that is known.
    pub facts: Option<Arc<RunFacts>>,
    /// By stage, in the order of the file.
    pub stages: Vec<StageSnapshot>,
    /// Tasks that need not run.
    pub reused: usize,
    /// Tasks that cannot run any more.
    pub blocked: usize,
    /// Since the first task could start.
    pub elapsed: Duration,
    /// Since the run began.
    pub age: Duration,
    /// What memory is taken for.
    pub memory: MemorySnapshot,
    /// Bytes that were written to the store.
    pub written: u64,
    /// What there is to tell since the last snapshot was taken.
    pub news: Vec<News>,
    /// The run has ended.
    pub over: bool,
}

#[derive(Debug, Default)]
struct Inner {
    snapshot: Snapshot,
    clock: Clock,
    began: Option<Instant>,
    shown: FailureNews,
    /// So many tasks of the graph have been counted.
    counted: usize,
    /// By task, whether it ended well before.
    done: Vec<bool>,
}

/// Since when a run goes on, and what it has written.
#[derive(Debug, Default)]
pub struct Clock(Option<(Instant, Arc<AtomicU64>)>);

impl Clock {
    /// From when, and where it is counted what is written.
    pub fn start(began: Instant, written: Arc<AtomicU64>) -> Clock {
        Clock(Some((began, written)))
    }

    /// Its age, and the bytes.
    pub fn read(&self) -> (Duration, u64) {
        self.0.as_ref().map_or_else(Default::default, |clock| {
            (clock.0.elapsed(), clock.1.load(Ordering::Relaxed))
        })
    }
}

/// So many failures are told as they happen.
const MOST_NEWS: usize = 10;

/// What is told when there are more.
const MORE_FAIL: &str = "more tasks fail; they are listed at the end";

/// What is told when there are more that may yet succeed.
const MORE_RETRIED: &str = "more tasks are tried again";

/// Which failures are shown as they happen: the first few are enough.
#[derive(Debug, Default)]
pub struct FailureNews {
    /// Tasks that failed, and attempts that were tried again.
    failures: usize,
    retried: usize,
}

impl FailureNews {
    /// What is shown of an attempt that failed, if anything is. What is tried again may succeed, and is not listed at
    /// the end then.
    pub fn of(
        &mut self,
        again: bool,
        address: impl FnOnce() -> String,
        message: &str,
    ) -> Option<News> {
        let (count, more) = if again {
            (&mut self.retried, MORE_RETRIED)
        } else {
            (&mut self.failures, MORE_FAIL)
        };
        *count += 1;
        match (*count).cmp(&(MOST_NEWS + 1)) {
            std::cmp::Ordering::Less => Some(News::Failed {
                task: address(),
                message: message.to_owned(),
                again,
            }),
            std::cmp::Ordering::Equal => Some(News::Line(more.to_owned())),
            std::cmp::Ordering::Greater => None,
        }
    }
}

/// A place where a run says how far it is. Clones are the same place.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Mutex<Inner>>);

impl Progress {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is. The news are handed out once.
    pub fn snapshot(&self) -> Snapshot {
        let news = std::mem::take(&mut self.lock().snapshot.news);
        Snapshot {
            news,
            ..self.look()
        }
    }

    /// How far it is; news are left for [`snapshot`](Self::snapshot).
    pub fn look(&self) -> Snapshot {
        let mut inner = self.lock();
        if let Some(began) = inner.began {
            inner.snapshot.elapsed = began.elapsed();
        }
        let (age, written) = inner.clock.read();
        Snapshot {
            age,
            written,
            ..inner.snapshot.clone()
        }
    }

    /// Says what run it is.
    pub fn about(&self, facts: RunFacts, clock: Clock) {
        let mut inner = self.lock();
        inner.snapshot.facts = Some(Arc::new(facts));
        inner.clock = clock;
    }

    /// The first task may start.
    pub fn begin(&self, names: &[Arc<str>], enactment: &Enactment) {
        let mut inner = self.lock();
        let stage = |name: &Arc<str>| StageSnapshot {
            name: Arc::clone(name),
            ..StageSnapshot::default()
        };
        inner.snapshot.stages = names.iter().map(stage).collect();
        inner.began = Some(Instant::now());
        inner.update(enactment);
    }

    /// Has a line shown with the next snapshot.
    pub fn tell(&self, line: &str) {
        self.lock().snapshot.news.push(News::Line(line.to_owned()));
    }

    /// Says that the run is over, whether it ever began or not.
    pub fn finish(&self) {
        self.lock().snapshot.over = true;
    }
}

impl Inner {
    fn stage(&mut self, enactment: &Enactment, task: TaskId) -> Option<&mut StageSnapshot> {
        // Helpers are no part of any figure, also where they stand in a stage.
        if enactment.graph().operation_at(task).signature.implicit {
            return None;
        }
        let stage = enactment.coordinator().stage(task)?;
        self.snapshot.stages.get_mut(stage)
    }

    fn update(&mut self, enactment: &Enactment) {
        for (stage, found) in self
            .snapshot
            .stages
            .iter_mut()
            .zip(enactment.coordinator().stage_progress())
        {
            stage.planned = found.planned;
            stage.ended = found.planned - found.unsettled;
            stage.cut_off = found.cut_off;
        }
        // The graph only grows.
        let fresh = self.counted as u32..enactment.graph().len() as u32;
        for task in fresh.map(TaskId) {
            if let Some(stage) = self.stage(enactment, task) {
                stage.tasks += 1;
            }
        }
        self.counted = enactment.graph().len();
        for (task, _) in enactment.blocked().iter().skip(self.snapshot.blocked) {
            if let Some(stage) = self.stage(enactment, *task) {
                stage.blocked += 1;
            }
        }
        self.snapshot.blocked = enactment.blocked().len();
        self.snapshot.reused = enactment.counts().reused();
        self.snapshot.memory = MemorySnapshot::of(enactment);
    }

    /// An attempt of a task ended.
    fn ended(&mut self, enactment: &Enactment, execution: &Execution, state: Attempt) {
        let place = execution.task.index();
        let mut first = false;
        if state.is_well() {
            if self.done.len() <= place {
                self.done
                    .resize(enactment.graph().len().max(place + 1), false);
            }
            first = !std::mem::replace(&mut self.done[place], true);
        }
        if let Some(stage) = self.stage(enactment, execution.task) {
            stage.running = stage.running.saturating_sub(1);
            stage.failed += usize::from(state.failed());
            stage.executed += usize::from(first);
            stage.spent += execution.elapsed;
        }
        self.update(enactment);
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
/// that failed is told among the failures.
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

/// Hears what the workers do: keeps the progress, the trace and the failures.
pub struct RunListener {
    /// How far it is.
    pub progress: Progress,
    /// The names of the stages.
    pub stages: Vec<Arc<str>>,
    /// What was done, line by line.
    pub trace: Mutex<Option<Trace>>,
    /// What failed.
    pub failures: Mutex<Vec<SeenFailure>>,
    /// What ran.
    pub tasks: Mutex<Vec<Ran>>,
    /// Where tasks are noted as they end.
    pub ledger: Arc<Ledger>,
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

impl Observer for RunListener {
    fn started(&self, enactment: &Enactment, start: &Start) {
        let mut inner = self.progress.lock();
        if let Some(stage) = inner.stage(enactment, start.task) {
            stage.running += 1;
        }
        inner.snapshot.memory = MemorySnapshot::of(enactment);
    }

    fn compared(&self, enactment: &Enactment) {
        self.progress.lock().update(enactment);
    }

    fn returned(&self, enactment: &Enactment, task: TaskId) {
        let mut inner = self.progress.lock();
        if let Some(stage) = inner.stage(enactment, task) {
            stage.running = stage.running.saturating_sub(1);
        }
        inner.update(enactment);
    }

    fn finished(&self, enactment: &Enactment, execution: &Execution, how: &Finished<'_>) {
        let task = execution.task;
        let implicit = enactment.graph().operation_at(task).signature.implicit;
        if implicit && matches!(how, Finished::Success(_)) {
            self.progress.lock().update(enactment);
            return;
        }
        let address = address_of(enactment, task);
        let state = attempt(enactment, task, how);
        {
            let mut inner = self.progress.lock();
            inner.ended(enactment, execution, state);
            if let Finished::Failure(failure) = how
                && state != Attempt::Cancelled
            {
                // Of a flood of failures the first ones tell enough.
                let again = state == Attempt::Retried;
                if let Some(news) = inner.shown.of(again, || address.clone(), &failure.message) {
                    inner.snapshot.news.push(news);
                }
            }
        }
        if let Finished::Failure(failure) = how
            && state.failed()
        {
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
        let ran = Ran {
            task,
            state,
            started: nanoseconds(execution.started),
            wall: nanoseconds(execution.elapsed),
            cpu: nanoseconds(execution.usage.cpu),
            peak: peak(execution),
        };
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(ran);
        if let Some(outcome) = state.last() {
            (self.ledger).ended(enactment, execution, outcome, || address.clone());
        }
        if let Some(trace) = self
            .trace
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_mut()
        {
            let stage = enactment.coordinator().stage(task);
            let stage = stage.and_then(|stage| self.stages.get(stage));
            let row = TraceRow {
                task: &address,
                state,
                stage: stage.map_or("", |name| name),
                operation: &enactment.graph().operation_at(task).signature.name,
                recipe: enactment.graph().recipe(task),
                ran: Some((execution, execution.started)),
                error: why(how),
            };
            row.write(trace);
        }
    }
}

/// Why an attempt failed.
pub fn why<'a>(how: &'a Finished<'_>) -> &'a str {
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

/// The most memory that a task took, if that is its own.
fn peak(execution: &Execution) -> u64 {
    if execution.usage.peak_reliable {
        execution.usage.peak_memory
    } else {
        0
    }
}

/// What a trace says of a task, or of one attempt at it.
pub struct TraceRow<'a> {
    /// Its address.
    pub task: &'a str,
    /// How it ended.
    pub state: Attempt,
    /// Its stage.
    pub stage: &'a str,
    /// Its operation.
    pub operation: &'a str,
    /// What it computes.
    pub recipe: Recipe,
    /// How it ran, and when it began; `None` where it did not run.
    pub ran: Option<(&'a Execution, Duration)>,
    /// Why it failed.
    pub error: &'a str,
}

impl TraceRow<'_> {
    /// Writes it; a trace that cannot be written is no reason to stop the run.
    pub fn write(&self, trace: &mut Trace) {
        let _ = trace.line(&self.line());
    }

    /// There may be a row for each of a million tasks that did not run, so it is put together in one text.
    fn line(&self) -> String {
        let mut line = String::with_capacity(192);
        line.push_str(&cell(self.task));
        line.push('\t');
        line.push_str(self.state.name());
        // Writing to a text does not fail.
        let _ = match self.ran {
            None => write!(line, "\t0\t\t\t\t\t"),
            Some((execution, started)) => write!(
                line,
                "\t{}\t{:.6}\t{:.6}\t{:.6}\t{}\t",
                execution.attempt,
                started.as_secs_f64(),
                execution.elapsed.as_secs_f64(),
                execution.usage.cpu.as_secs_f64(),
                peak(execution),
            ),
        };
        let _ = write!(line, "{}", self.recipe);
        for text in [self.stage, self.operation, self.error] {
            line.push('\t');
            line.push_str(&cell(text));
        }
        line
    }
}

/// A text without tabs, line ends, other control characters and those that turn the order of text round: these, and the
/// backslash, become `\\t`, `\\n`, `\\r`, `\\u{1b}`, `\\u{202e}` and `\\\\`.
fn cell(text: &str) -> Cow<'_, str> {
    let is_shown = |sign: char| sign.is_control() || acts(sign);
    if !text.contains(|sign: char| sign == '\\' || is_shown(sign)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            sign if is_shown(sign) => out.extend(sign.escape_default()),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TRACE_HEADER;

    #[test]
    fn a_row_of_the_trace_is_one_line_with_the_columns_of_the_header() {
        let columns = TRACE_HEADER.split('\t').count();
        let row = TraceRow {
            task: "a.b[0]",
            state: Attempt::Retried,
            stage: "a\tb",
            operation: "tool",
            recipe: Recipe([0; 32]),
            ran: None,
            error: "one\r\ntwo \\ three\u{1b}[0m\u{202e}",
        };
        let line = row.line();
        assert_eq!(line.split('\t').count(), columns);
        assert_eq!(line.lines().count(), 1);
        assert!(
            line.ends_with("\ta\\tb\ttool\tone\\r\\ntwo \\\\ three\\u{1b}[0m\\u{202e}"),
            "{line}"
        );
    }

    #[test]
    fn every_task_of_a_stage_stands_in_one_place() {
        let stage = StageSnapshot {
            tasks: 20,
            planned: 12,
            ended: 7,
            failed: 1,
            blocked: 2,
            running: 3,
            executed: 4,
            cut_off: 3,
            ..StageSnapshot::default()
        };
        assert_eq!((stage.waiting(), stage.reused()), (2, 5));
        let all = stage.waiting() + stage.running + stage.reused() + stage.executed;
        assert_eq!(
            all + stage.cut_off + stage.failed + stage.blocked,
            stage.tasks
        );
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

    #[test]
    fn what_is_tried_again_is_not_announced_as_failing() {
        let mut news = FailureNews::default();
        let mut of = |again| news.of(again, || "a.b".to_owned(), "no");
        let retried: Vec<News> = (0..30).filter_map(|_| of(true)).collect();
        assert_eq!(retried.len(), MOST_NEWS + 1);
        assert_eq!(retried[MOST_NEWS], News::Line(MORE_RETRIED.to_owned()));
        let failed: Vec<News> = (0..30).filter_map(|_| of(false)).collect();
        assert_eq!(failed.len(), MOST_NEWS + 1);
        assert_eq!(failed[MOST_NEWS], News::Line(MORE_FAIL.to_owned()));
    }

    #[test]
    fn looking_leaves_the_news() {
        let progress = Progress::default();
        progress.tell("a line");
        assert_eq!(progress.look().news.len(), 1);
        assert_eq!(progress.snapshot().news, [News::Line("a line".to_owned())]);
        assert!(progress.snapshot().news.is_empty());
    }
}
