//! The engine behind a sequence: one graph that grows, run round by round.
//!
//! Law: a round runs what was asked for and what that needs, nothing else, and no task twice. What a task made stays in
//! memory as long as an item that somebody can still name is that product, or a call that has not run reads it. A round
//! costs what it runs, however many calls were made before.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use headwater_derive::{CallId, ItemId, Program};
use headwater_enact::{
    Capacity, Enactment, NothingRemembered, Options, PlanError, State, nanoseconds,
};
use headwater_engine::fetch::{Presence, StoreFetcher};
use headwater_engine::places::take_damage;
use headwater_engine::run::About;
use headwater_engine::temporary::Temporary;
use headwater_engine::{Error, Run, StorePlace, budget, open_store};
use headwater_execute::{Execution, Fetch, Finished, Observer, Ports, Watched, read_written_out};
use headwater_graph::{
    DirectoryEntry, DirectoryValue, Failure, FileValue, Handle, Operation, Recipe, RunStatus,
    Source, Store, TaskGraph, TaskId, Value,
};

use super::SequenceError;
use crate::error::{FailedCall, Unavailable};
use crate::options::{KeptIn, SequenceOptions};
use crate::pending::{Change, Pending};

/// What is known of a task that ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct EndedTask {
    /// In nanoseconds since the sequence began.
    pub(crate) started: u64,
    pub(crate) wall: u64,
    /// The bytes of its outputs.
    pub(crate) sizes: Vec<u64>,
    /// How often it was tried before.
    pub(crate) retries: u32,
}

/// Hears how tasks end; the last attempt counts.
#[derive(Debug, Default)]
struct HeardOfCalls(Mutex<(HashMap<TaskId, EndedTask>, BTreeMap<TaskId, Failure>)>);

impl HeardOfCalls {
    fn with<T>(
        &self,
        use_it: impl FnOnce(&mut HashMap<TaskId, EndedTask>, &mut BTreeMap<TaskId, Failure>) -> T,
    ) -> T {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (ended, failures) = &mut *heard;
        use_it(ended, failures)
    }
}

impl Observer for HeardOfCalls {
    fn finished(&self, _: &Enactment, execution: &Execution, how: &Finished<'_>) {
        self.with(|ended, failures| {
            let sizes = match how {
                Finished::Success(outputs) => {
                    failures.remove(&execution.task);
                    outputs.iter().map(Value::size).collect()
                }
                Finished::Failure(failure) => {
                    failures.insert(execution.task, (*failure).clone());
                    Vec::new()
                }
            };
            let told = EndedTask {
                started: nanoseconds(execution.started),
                wall: nanoseconds(execution.elapsed),
                sizes,
                retries: execution.attempt,
            };
            ended.insert(execution.task, told);
        });
    }
}

/// A product that cannot be had is made again so often at most in one round, and once more.
const TURNS: usize = 3;

/// A graph that grows, and everything that is needed to run it.
pub(crate) struct Engine {
    pub(crate) enactment: Enactment,
    run: Run,
    kept_in: KeptIn,
    /// What digests files where nothing is remembered.
    digests: Option<Arc<dyn Store>>,
    heard: HeardOfCalls,
    memory: Option<u64>,
    watched: Arc<Watched>,
    current: PathBuf,
    pub(crate) name: String,
    /// By task: the first call that is it.
    first_calls: Vec<CallId>,
    pending: Pending,
    /// By item: the task whose outputs are kept for it.
    kept_for: Vec<Option<TaskId>>,
    /// Items that have changed since the last round, or whose handles are gone.
    changed: Vec<ItemId>,
    /// Tasks that are called for what they do, and that nobody has planned yet.
    impure: Vec<TaskId>,
    failed: BTreeMap<TaskId, Arc<FailedCall>>,
    /// What operations are called, by name.
    labels: HashMap<Arc<str>, Arc<str>>,
    /// Labels that are taken.
    taken: HashSet<Arc<str>>,
    /// Why it cannot go on, if it cannot.
    broken: Option<String>,
    /// How many values were copied to go with the report.
    saved: usize,
    /// What was found damaged in the store.
    damage: Vec<String>,
}

impl Engine {
    pub(crate) fn new(options: SequenceOptions) -> Engine {
        let SequenceOptions {
            mode: _,
            store,
            executor,
            memory,
            stop,
            name,
            retries,
        } = options;
        let remembers = store.remembers();
        let mut limits = Options {
            capacity: Capacity {
                memory,
                ..Capacity::cores(executor.cores() as u64)
            },
            retries,
            remembers,
            compares: remembers,
            ..Options::default()
        };
        if remembers {
            limits.capacity.aside += budget::aside(memory);
        }
        budget::keep_to(memory);
        let mut run = Run::new(executor, &stop);
        run.count_from_beginning();
        Engine {
            enactment: Enactment::of_graph(TaskGraph::new(), limits),
            run,
            kept_in: store,
            digests: None,
            heard: HeardOfCalls::default(),
            memory,
            watched: Arc::default(),
            current: std::env::current_dir().unwrap_or_default(),
            name: name.unwrap_or_else(program_name),
            first_calls: Vec::new(),
            pending: Pending::default(),
            kept_for: Vec::new(),
            changed: Vec::new(),
            impure: Vec::new(),
            failed: BTreeMap::new(),
            labels: HashMap::new(),
            taken: HashSet::new(),
            broken: None,
            saved: 0,
            damage: Vec::new(),
        }
    }

    /// The name of the run: no other has it.
    pub(crate) fn run_name(&self) -> &str {
        self.run.name()
    }

    /// When it began.
    pub(crate) fn began(&self) -> Instant {
        self.run.began()
    }

    /// What people call a call: the last part of the name of its operation (all of it, if another operation is called
    /// that already), and its number.
    pub(crate) fn address(&self, call: CallId, task: TaskId) -> String {
        let operation = &self.graph().operation_at(task).signature.name;
        format!("{}[{}]", self.label(operation), call.0)
    }

    /// What people call an operation.
    pub(crate) fn label<'a>(&'a self, operation: &'a str) -> &'a str {
        self.labels.get(operation).map_or(operation, |label| label)
    }

    /// The address of a task: that of the first call that is it.
    pub(crate) fn task_address(&self, task: TaskId) -> String {
        self.address(self.first_call(task), task)
    }

    /// Why this machine can never run an operation, if it cannot.
    pub(crate) fn refuses(&self, operation: &Operation) -> Option<PlanError> {
        self.enactment.coordinator().refuses(operation)
    }

    pub(crate) fn graph(&self) -> &TaskGraph {
        self.enactment.graph()
    }

    pub(crate) fn current(&self) -> &Path {
        &self.current
    }

    pub(crate) fn node(&self) -> Option<&str> {
        self.run.executor().node()
    }

    /// The store in which products are remembered, opened if it is not yet, and the run begun.
    fn remembering(&mut self) -> Result<Option<Arc<dyn Store>>, Error> {
        if !self.run.remembers()
            && !self.run.is_ended()
            && let Some(store) = self.kept_in.open(&self.current)?
        {
            self.run
                .live_in(&store, store.mode() == headwater_graph::Mode::ReadOnly);
            self.run.begin(About {
                workflow: self.name.clone(),
                command: std::env::args().collect(),
                ..About::default()
            })?;
            self.run.keep_in(&store, None, self.memory);
        }
        Ok(self.run.store().cloned())
    }

    /// A store that digests files: the one in which products are remembered, or one that goes with the sequence.
    pub(crate) fn digests(&mut self) -> Result<Arc<dyn Store>, Error> {
        if let Some(store) = self.remembering()? {
            return Ok(store);
        }
        if self.digests.is_none() {
            let place = StorePlace {
                url: Some(self.run.scratch().join("digests").display().to_string()),
                read_only: false,
                ..StorePlace::default()
            };
            std::fs::create_dir_all(self.run.scratch())
                .map_err(|source| Error::io("cannot make folder", self.run.scratch(), source))?;
            self.digests = Some(open_store(&place, &self.current)?);
        }
        match &self.digests {
            Some(store) => Ok(Arc::clone(store)),
            None => Err(Error::Failed("files cannot be digested".to_owned())),
        }
    }

    /// Notes files of the user, which nobody may change while tasks read them.
    pub(crate) fn watch(&mut self, note: impl FnOnce(&mut Watched)) {
        note(Arc::make_mut(&mut self.watched));
    }

    /// Takes note of a call that was made.
    pub(crate) fn called(&mut self, call: CallId, task: TaskId, written: &[ItemId]) {
        let signature = &self.enactment.graph().operation_at(task).signature;
        let pure = signature.pure;
        if !self.labels.contains_key(&signature.name) {
            let name = Arc::clone(&signature.name);
            let short: Arc<str> = name.rsplit('/').next().unwrap_or(&name).into();
            let label = if self.taken.contains(&short) {
                Arc::clone(&name)
            } else {
                short
            };
            self.taken.insert(Arc::clone(&label));
            self.labels.insert(name, label);
        }
        if task.index() == self.first_calls.len() {
            self.first_calls.push(call);
            if !pure {
                self.impure.push(task);
            }
        }
        let graph = self.enactment.graph();
        self.pending.called(graph, task, pure);
        for item in written {
            self.pending.is_now(graph, *item, Some(task));
        }
        self.changed.extend_from_slice(written);
    }

    /// The first call that is this task.
    pub(crate) fn first_call(&self, task: TaskId) -> CallId {
        self.first_calls[task.index()]
    }

    /// Takes note of items that nobody can name any more.
    pub(crate) fn gone(&mut self, items: Vec<ItemId>) {
        let graph = self.enactment.graph();
        items
            .iter()
            .for_each(|item| self.pending.is_now(graph, *item, None));
        self.changed.extend(items);
    }

    /// Runs what is asked for: products, and at the end all calls that are made for what they do.
    pub(crate) fn ask(
        &mut self,
        program: &Program,
        live: &dyn Fn(ItemId) -> bool,
        requested: &[(TaskId, u16)],
        everything: bool,
    ) -> Result<(), Error> {
        if let Some(broken) = &self.broken {
            return Err(Error::Failed(broken.clone()));
        }
        self.remembering()?;
        let mut wanted: Vec<TaskId> = requested.iter().map(|(task, _)| *task).collect();
        let admitted = self.enactment.coordinator().admitted();
        if everything {
            let coordinator = self.enactment.coordinator();
            let idle =
                |task: &TaskId| task.index() >= admitted || coordinator.state(*task) == State::Idle;
            wanted.extend(std::mem::take(&mut self.impure).into_iter().filter(idle));
        }
        wanted.sort_unstable();
        wanted.dedup();
        let opened = match self.run.keeper() {
            Some(keeper) => self.enactment.ask(&wanted, requested, keeper),
            None => self
                .enactment
                .ask(&wanted, requested, &mut NothingRemembered),
        };
        opened.map_err(|error| self.breaks(Error::Open(vec![error])))?;
        self.end_remembered(admitted);
        self.keep_items(program, live);
        wanted.iter().for_each(|task| self.enactment.hold(*task));
        let mut ran = Ok(());
        for turn in 0..TURNS {
            // What was made and cannot be had is made again: some was remembered and is gone, and some turned out to
            // be equal to something that is.
            let lost = self.lost(requested);
            if turn > 0 && (lost.is_empty() || self.run.is_stopping()) {
                break;
            }
            ran = self.make_again(&lost);
            self.close(&wanted);
            ran = ran.and_then(|()| self.run());
            self.note_failures();
            if ran.is_err() {
                break;
            }
        }
        // Whoever asked takes what it wants before the next round.
        wanted.iter().for_each(|task| self.enactment.let_go(*task));
        ran.map_err(|error| self.breaks(error))
    }

    /// The sequence cannot go on after this.
    fn breaks(&mut self, error: Error) -> Error {
        self.broken = Some(error.to_string());
        error
    }

    fn run(&mut self) -> Result<(), Error> {
        headwater_engine::limits::check_environment()?;
        self.run.watch(Arc::clone(&self.watched));
        Ok(self.run.round(&mut self.enactment, &self.heard, &[])?)
    }

    /// New tasks that are remembered need nothing; what others read is kept until they are planned.
    fn end_remembered(&mut self, admitted: usize) {
        let graph = self.enactment.graph();
        for position in admitted..graph.len() {
            let task = TaskId(position as u32);
            if self.enactment.coordinator().state(task) == State::Known {
                self.pending.planned(graph, task);
            }
        }
        self.keep_inputs();
    }

    /// Does what is to be done about what pending tasks read.
    fn keep_inputs(&mut self) {
        for change in self.pending.changes() {
            match change {
                Change::Keep(task) => {
                    for input in inputs(self.enactment.graph(), task) {
                        self.enactment.hold(input);
                    }
                }
                Change::LetGo(task) => {
                    for input in inputs(self.enactment.graph(), task) {
                        self.enactment.let_go(input);
                    }
                }
            }
        }
    }

    /// Keeps what items that somebody can name are, and nothing for others.
    fn keep_items(&mut self, program: &Program, live: &dyn Fn(ItemId) -> bool) {
        self.kept_for.resize(program.items(), None);
        for item in std::mem::take(&mut self.changed) {
            let now = match program.source(item) {
                Some(Source::Product { task, port }) if live(item) => {
                    // The program may ask for it later, when it has been made long since.
                    self.enactment.request(*task, *port);
                    Some(*task)
                }
                _ => None,
            };
            let before = std::mem::replace(&mut self.kept_for[item.index()], now);
            if let Some(task) = now {
                self.enactment.hold(task);
            }
            if let Some(task) = before {
                self.enactment.let_go(task);
            }
        }
        self.run.executor_mut().tidy(&mut self.enactment);
    }

    /// The tasks that have ended well, but whose outputs that are asked for are nowhere.
    fn lost(&mut self, requested: &[(TaskId, u16)]) -> Vec<TaskId> {
        let mut tasks = Vec::new();
        let mut asked: Vec<(Recipe, Ports)> = Vec::new();
        for (task, port) in requested.iter().copied() {
            let state = self.enactment.coordinator().state(task);
            if matches!(state, State::Done | State::Known) && !self.is_at_hand(task, port) {
                tasks.push(task);
                asked.push((self.enactment.stored_as(task), Ports::These(vec![port])));
            }
        }
        let present = match self.run.keeper() {
            Some(keeper) if !tasks.is_empty() => keeper.eager_fetcher().present(&asked, true),
            _ => vec![Presence::Gone; tasks.len()],
        };
        let pure = |task: TaskId| self.enactment.graph().operation_at(task).signature.pure;
        let missing = tasks.into_iter().zip(present);
        let missing = missing.filter(|(task, presence)| presence.is_gone() && pure(*task));
        let mut missing: Vec<TaskId> = missing.map(|(task, _)| task).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// Has lost products made again.
    fn make_again(&mut self, lost: &[TaskId]) -> Result<(), Error> {
        for task in lost {
            let told = match self.run.keeper() {
                Some(keeper) => self.enactment.lost(*task, keeper),
                None => self.enactment.lost(*task, &mut NothingRemembered),
            };
            told.map_err(|error| Error::Open(vec![error]))?;
        }
        Ok(())
    }

    /// The plan keeps what planned tasks read: `wanted`, and whatever leads there and has to run.
    fn close(&mut self, wanted: &[TaskId]) {
        let graph = self.enactment.graph();
        let mut seen = HashSet::new();
        let mut waiting: Vec<TaskId> = wanted.to_vec();
        while let Some(task) = waiting.pop() {
            let state = self.enactment.coordinator().state(task);
            if state.is_settled() || !seen.insert(task) {
                continue;
            }
            self.pending.planned(graph, task);
            graph.for_each_input_task(task, |input| waiting.push(input));
        }
        self.keep_inputs();
    }

    /// Notes why tasks failed.
    fn note_failures(&mut self) {
        let failures = self.heard.with(|_, failures| std::mem::take(failures));
        for (task, failure) in failures {
            if self.enactment.coordinator().state(task) != State::Failed
                || self.failed.contains_key(&task)
            {
                continue;
            }
            let operation = &self.enactment.graph().operation_at(task).signature.name;
            let failed = FailedCall {
                call: self.first_call(task),
                address: self.task_address(task),
                operation: Arc::clone(operation),
                failure,
                attempts: self.ended(task).unwrap_or_default().retries + 1,
                blocked: 0,
            };
            self.failed.insert(task, Arc::new(failed));
        }
    }

    /// Counts the tasks that could not run because of others that failed.
    pub(crate) fn count_blocked(&mut self) {
        for (_, cause) in self.enactment.blocked() {
            if let Some(failed) = self.failed.get_mut(cause) {
                Arc::make_mut(failed).blocked += 1;
            }
        }
    }

    /// The failure because of which a task has no outputs.
    pub(crate) fn failure(&self, task: TaskId) -> Option<&Arc<FailedCall>> {
        let coordinator = self.enactment.coordinator();
        match coordinator.state(task) {
            State::Failed => self.failed.get(&task),
            State::Blocked => self.failed.get(&coordinator.cause(task)?),
            _ => None,
        }
    }

    /// The calls that failed, in order.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &Arc<FailedCall>> {
        self.failed.values()
    }

    /// How a task ended.
    pub(crate) fn ended(&self, task: TaskId) -> Option<EndedTask> {
        self.heard.with(|ended, _| ended.get(&task).cloned())
    }

    /// An output that was asked for in the last round, of an item that a call wrote.
    pub(crate) fn product(
        &mut self,
        item: &str,
        writer: CallId,
        task: TaskId,
        port: u16,
    ) -> Result<Value, SequenceError> {
        if let Some(cause) = self.failure(task) {
            return Err(SequenceError::Unavailable(Box::new(Unavailable {
                item: item.to_owned(),
                writer: self.address(writer, task),
                cause: Arc::clone(cause),
            })));
        }
        if !self.has_ended_well(task) {
            return Err(SequenceError::Stopped {
                item: item.to_owned(),
            });
        }
        let value = self.at_hand(task, port).or_else(|| {
            let fetcher = self.run.keeper()?.eager_fetcher();
            let recipe = self.enactment.stored_as(task);
            let fetched = fetcher.fetch(&recipe, &Ports::These(vec![port]))?;
            fetcher.brought(fetched.output(port)?)
        });
        value.ok_or_else(|| SequenceError::Gone {
            item: item.to_owned(),
        })
    }

    /// Whether a task has outputs, wherever they are.
    pub(crate) fn has_ended_well(&self, task: TaskId) -> bool {
        let state = self.enactment.coordinator().state(task);
        matches!(state, State::Done | State::Known)
    }

    /// An output that can be given as it is: files that are kept move on their way to the store, so those are asked for
    /// there.
    pub(crate) fn at_hand(&self, task: TaskId, port: u16) -> Option<Value> {
        let here = self.run.executor().output(task, port).or_else(|| {
            let outputs = read_written_out(&self.run.executor().written_out(task)?)?;
            outputs.into_iter().nth(usize::from(port))
        })?;
        (!self.moves(task, &here)).then_some(here)
    }

    /// Whether [`at_hand`](Self::at_hand) would give something.
    fn is_at_hand(&self, task: TaskId, port: u16) -> bool {
        match self.run.executor().output(task, port) {
            Some(here) => !self.moves(task, &here),
            // What has files is never written out.
            None => self.run.executor().written_out(task).is_some(),
        }
    }

    /// Whether an output moves on its way to the store.
    fn moves(&self, task: TaskId, output: &Value) -> bool {
        let pure = self.enactment.graph().operation_at(task).signature.pure;
        self.remembers() && pure && has_files(output)
    }

    /// A value with its files in the folder that goes with the report: where they are now goes with the run.
    pub(crate) fn saved(&mut self, value: Value) -> Option<Value> {
        if !self.remembers() {
            return Some(value);
        }
        self.saved += 1;
        let folder = self.run.scratch().join("files");
        std::fs::create_dir_all(&folder).ok()?;
        let to = folder.join(self.saved.to_string());
        headwater_execute::copy_value(&value, &to).ok()?;
        Some(match value {
            Value::File(file) => Value::File(Arc::new(FileValue {
                handle: Handle::Path(to.into()),
                ..(*file).clone()
            })),
            Value::Directory(directory) => {
                let entry = |entry: &DirectoryEntry| DirectoryEntry {
                    file: FileValue {
                        handle: Handle::Path(to.join(&*entry.path).into()),
                        ..entry.file.clone()
                    },
                    ..entry.clone()
                };
                Value::Directory(DirectoryValue {
                    entries: directory.entries.iter().map(entry).collect(),
                    path: Some(to.as_path().into()),
                    name: directory.name,
                })
            }
            other => other,
        })
    }

    /// Things worth telling.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = self.damage.clone();
        let limit = "`SequenceOptions::memory`";
        let coordinator = self.enactment.coordinator();
        notes.extend(budget::told(coordinator, self.memory, limit));
        notes
    }

    /// The file with the outputs of a task, if they are not in memory because that was short.
    pub(crate) fn written_out(&self, task: TaskId, port: u16) -> Option<PathBuf> {
        match self.run.executor().output(task, port) {
            Some(_) => None,
            None => self.run.executor().written_out(task),
        }
    }

    /// The bytes that an output takes, where that is known.
    pub(crate) fn size(&self, task: TaskId, port: u16) -> Option<u64> {
        let sizes = self.ended(task)?.sizes;
        sizes.get(usize::from(port)).copied()
    }

    /// An output as it lies in memory, if it does.
    pub(crate) fn in_memory(&self, task: TaskId, port: u16) -> Option<Value> {
        self.run.executor().output(task, port)
    }

    /// Whether products are remembered.
    pub(crate) fn remembers(&self) -> bool {
        self.kept_in.remembers()
    }

    /// Whether somebody asked to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.run.is_stopping()
    }

    /// Makes everything durable and ends the run. Gives back its name, and who brings products back.
    pub(crate) fn end(
        &mut self,
        write: &dyn Fn(&Engine, &Run),
    ) -> Result<(Option<String>, Option<StoreFetcher>), Error> {
        let Some(store) = self.run.store().cloned() else {
            return Ok((None, None));
        };
        let fetcher = self.run.keeper().map(|keeper| keeper.resting_fetcher());
        let closed = self.run.close();
        write(self, &self.run);
        self.damage = take_damage(&*store).collect();
        self.conclude(self.run.is_stopping() || closed.is_err());
        closed?;
        Ok((self.run.listed().map(str::to_owned), fetcher))
    }

    /// Says how the run ended.
    fn conclude(&mut self, stopped: bool) {
        let counts = self.enactment.counts();
        let status = match (stopped, counts.failed) {
            (true, _) => RunStatus::Cancelled,
            (false, 0) => RunStatus::Done,
            (false, _) => RunStatus::Failed,
        };
        self.run.end(status, counts, self.failed.is_empty());
    }

    /// The folder of files that are not in a store, for whoever outlives the engine.
    pub(crate) fn take_scratch(&mut self) -> Temporary {
        self.run.take_scratch()
    }
}

impl Drop for Engine {
    /// A sequence that is dropped before its end keeps what it has made.
    fn drop(&mut self) {
        if !self.run.is_ended() {
            self.conclude(true);
        }
    }
}

/// The tasks that a task reads, each as often as it does.
fn inputs(graph: &TaskGraph, task: TaskId) -> Vec<TaskId> {
    let mut inputs = Vec::new();
    graph.for_each_input_task(task, |input| inputs.push(input));
    inputs
}

pub(crate) fn has_files(value: &Value) -> bool {
    let mut found = false;
    value.for_each_file(&mut |_| found = true);
    found
}

fn program_name() -> String {
    let program = std::env::args_os().next().map(PathBuf::from);
    let stem = program.as_deref().and_then(Path::file_stem);
    stem.map_or_else(
        || "sequence".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}
