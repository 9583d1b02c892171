//! The engine behind a sequence: one graph that grows, run round by round.
//!
//! Law: a round runs what was asked for and what that needs, nothing else, and no task twice. What a task made stays in
//! memory as long as an item that somebody can still name is that product, or a call that has not run reads it. A round
//! costs what it runs, however many calls were made before.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use headwater_derive::{CallId, ItemId, Program};
use headwater_enact::{Capacity, Enactment, Options, State};
use headwater_execute::{
    Execution, Failure, Fetch, Finished, Keeper, Observer, PoolError, Ports, Stop, Watched,
};
use headwater_graph::{Recipe, Source, TaskGraph, TaskId, Value};
use headwater_remember::Store;

use super::error::{FailedCall, Unavailable};
use super::executor::{Executor, Folders, Round};
use super::options::SequenceOptions;
use super::record::Recording;
use super::{SequenceError, address};
use crate::fetch::StoreFetcher;
use crate::run::Places;
use crate::{Error, StoreKeeper, StorePlace, budget, open_store};

/// A folder that goes with this.
#[derive(Debug)]
pub(super) struct Temporary(pub(super) PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // It is there only if something was written.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What is known of a task that ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Ended {
    /// In nanoseconds since the sequence began.
    pub(super) started: u64,
    pub(super) wall: u64,
    /// The bytes of its outputs.
    pub(super) sizes: Vec<u64>,
}

/// Hears how tasks end; the last attempt counts.
#[derive(Debug, Default)]
struct Heard(Mutex<(HashMap<TaskId, Ended>, BTreeMap<TaskId, Failure>)>);

impl Heard {
    fn with<T>(
        &self,
        use_it: impl FnOnce(&mut HashMap<TaskId, Ended>, &mut BTreeMap<TaskId, Failure>) -> T,
    ) -> T {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (ended, failures) = &mut *heard;
        use_it(ended, failures)
    }
}

impl Observer for Heard {
    fn finished(&self, _: &Enactment, execution: &Execution, how: &Finished<'_>) {
        let nanoseconds =
            |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
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
            let told = Ended {
                started: nanoseconds(execution.started),
                wall: nanoseconds(execution.elapsed),
                sizes,
            };
            ended.insert(execution.task, told);
        });
    }
}

/// An open store.
struct Remembering {
    store: Arc<Store>,
    keeper: StoreKeeper,
    recording: Recording,
}

/// A graph that grows, and everything that is needed to run it.
pub(super) struct Engine {
    pub(super) enactment: Enactment,
    executor: Box<dyn Executor>,
    place: Option<StorePlace>,
    remembering: Option<Remembering>,
    /// What digests files where nothing is remembered.
    digests: Option<Arc<Store>>,
    folders: Folders,
    scratch: Temporary,
    heard: Heard,
    stop: Stop,
    memory: Option<u64>,
    watched: Arc<Watched>,
    current: PathBuf,
    pub(super) name: String,
    pub(super) began: Instant,
    /// By task: the first call that is it.
    first_calls: Vec<CallId>,
    /// By task that has been taken in: whether nobody has asked for it yet, so that what it reads is kept for it.
    open: Vec<bool>,
    /// By item: the task whose outputs are kept for it.
    kept_for: Vec<Option<TaskId>>,
    /// Items that have changed since the last round, or whose handles are gone.
    changed: Vec<ItemId>,
    impure: Vec<TaskId>,
    failed: BTreeMap<TaskId, Arc<FailedCall>>,
}

impl Engine {
    pub(super) fn new(options: SequenceOptions) -> Engine {
        let SequenceOptions {
            mode: _,
            store,
            executor,
            memory,
            stop,
            name,
            retries,
        } = options;
        let remembers = store.is_some();
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
        let run = crate::identifier::new_run();
        let scratch = std::env::temp_dir().join(format!("headwater-{}-{run}", std::process::id()));
        let within = |name: &str| scratch.join(name);
        Engine {
            enactment: Enactment::of_graph(TaskGraph::new(), limits),
            executor,
            place: store,
            remembering: None,
            digests: None,
            folders: Folders {
                work: within("work"),
                staging: within("staging"),
                logs: within("logs"),
            },
            scratch: Temporary(scratch),
            heard: Heard::default(),
            stop,
            memory,
            watched: Arc::default(),
            current: std::env::current_dir().unwrap_or_default(),
            name: name.unwrap_or_else(program_name),
            began: Instant::now(),
            first_calls: Vec::new(),
            open: Vec::new(),
            kept_for: Vec::new(),
            changed: Vec::new(),
            impure: Vec::new(),
            failed: BTreeMap::new(),
        }
    }

    pub(super) fn graph(&self) -> &TaskGraph {
        self.enactment.graph()
    }

    pub(super) fn current(&self) -> &Path {
        &self.current
    }

    pub(super) fn node(&self) -> Option<&str> {
        self.executor.node()
    }

    /// The store in which products are remembered, opened if it is not yet, and the run begun.
    fn remembering(&mut self) -> Result<Option<&mut Remembering>, Error> {
        if self.remembering.is_none()
            && let Some(place) = &self.place
        {
            let store = open_store(place, &self.current)?;
            let recording = Recording::begin(&store, &self.name, place.read_only)?;
            let places = Places::new(&store, recording.run(), place.read_only);
            let commands = places.commands(Arc::default());
            self.folders = Folders {
                work: commands.work,
                staging: commands.temporary,
                logs: commands.logs,
            };
            let room = budget::for_store(self.memory);
            let keeper = StoreKeeper::within(Arc::clone(&store), recording.run(), None, room);
            self.remembering = Some(Remembering {
                store,
                keeper,
                recording,
            });
        }
        Ok(self.remembering.as_mut())
    }

    /// A store that digests files: the one in which products are remembered, or one that goes with the sequence.
    pub(super) fn digests(&mut self) -> Result<Arc<Store>, Error> {
        if let Some(remembering) = self.remembering()? {
            return Ok(Arc::clone(&remembering.store));
        }
        if self.digests.is_none() {
            let place = StorePlace {
                url: Some(self.scratch.0.join("digests").display().to_string()),
                read_only: false,
            };
            std::fs::create_dir_all(&self.scratch.0)
                .map_err(|source| Error::io("cannot make folder", &self.scratch.0, source))?;
            self.digests = Some(open_store(&place, &self.current)?);
        }
        match &self.digests {
            Some(store) => Ok(Arc::clone(store)),
            None => Err(Error::Failed("files cannot be digested".to_owned())),
        }
    }

    /// Files of the user, which nobody may change while tasks read them.
    pub(super) fn watch(&mut self, value: &Value) {
        Arc::make_mut(&mut self.watched).add(value);
    }

    /// Takes note of a call that was made.
    pub(super) fn called(&mut self, call: CallId, task: TaskId, pure: bool, written: &[ItemId]) {
        if task.index() == self.first_calls.len() {
            self.first_calls.push(call);
            if !pure {
                self.impure.push(task);
            }
        }
        self.changed.extend_from_slice(written);
    }

    /// The first call that is this task.
    pub(super) fn first_call(&self, task: TaskId) -> CallId {
        self.first_calls[task.index()]
    }

    /// Takes note of items that nobody can name any more.
    pub(super) fn gone(&mut self, items: Vec<ItemId>) {
        self.changed.extend(items);
    }

    /// Runs what is asked for: products, and at the end all calls that are made for what they do.
    pub(super) fn ask(
        &mut self,
        program: &Program,
        live: &dyn Fn(ItemId) -> bool,
        requested: &[(TaskId, u16)],
        everything: bool,
    ) -> Result<(), Error> {
        self.remembering()?;
        let mut wanted: Vec<TaskId> = requested.iter().map(|(task, _)| *task).collect();
        if everything {
            wanted.extend_from_slice(&self.impure);
        }
        wanted.sort_unstable();
        wanted.dedup();
        let taken_in = self.open.len();
        let open_error = |error| Error::Open(vec![error]);
        match &mut self.remembering {
            Some(remembering) => self
                .enactment
                .ask(&wanted, requested, &mut remembering.keeper)
                .map_err(open_error)?,
            None => self
                .enactment
                .ask(&wanted, requested, &mut headwater_enact::NothingRemembered)
                .map_err(open_error)?,
        }
        self.keep_inputs(taken_in);
        self.keep_items(program, live);
        wanted.iter().for_each(|task| self.enactment.hold(*task));
        self.recompute_lost(requested)?;
        let planned = self.close(&wanted);
        let ran = self.run();
        self.note_failures(&planned);
        ran?;
        // Whoever asked takes what it wants before the next round.
        wanted.iter().for_each(|task| self.enactment.let_go(*task));
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        let files: Option<Arc<dyn headwater_graph::ReadFile>> = match &self.remembering {
            Some(remembering) => Some(Arc::new(remembering.keeper.resting_fetcher())),
            None => None,
        };
        let keeper = self.remembering.as_mut();
        let keeper = keeper.map(|remembering| &mut remembering.keeper as &mut dyn Keeper);
        self.executor.run(Round {
            enactment: &mut self.enactment,
            keeper,
            observer: &self.heard,
            stop: &self.stop,
            folders: &self.folders,
            files,
            watched: Arc::clone(&self.watched),
        })?;
        Ok(())
    }

    /// Keeps what new tasks read, until they have run.
    fn keep_inputs(&mut self, taken_in: usize) {
        for position in taken_in..self.enactment.graph().len() {
            let task = TaskId(position as u32);
            let state = self.enactment.coordinator().state(task);
            let is_open = !matches!(state, State::Known);
            self.open.push(is_open);
            if is_open {
                for input in inputs(self.enactment.graph(), task) {
                    self.enactment.hold(input);
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
        self.executor.tidy(&mut self.enactment);
    }

    /// What is remembered, but whose bytes are gone, is made again.
    fn recompute_lost(&mut self, requested: &[(TaskId, u16)]) -> Result<(), Error> {
        let Some(remembering) = &mut self.remembering else {
            return Ok(());
        };
        let is_known = |task: &TaskId| self.enactment.coordinator().state(*task) == State::Known;
        let (tasks, wanted): (Vec<TaskId>, Vec<(Recipe, Ports)>) = requested
            .iter()
            .filter(|(task, _)| is_known(task))
            .map(|(task, port)| {
                let recipe = self.enactment.stored_as(*task);
                (*task, (recipe, Ports::These(vec![*port])))
            })
            .unzip();
        if tasks.is_empty() {
            return Ok(());
        }
        let present = remembering.keeper.eager_fetcher().present(&wanted);
        for (task, present) in tasks.into_iter().zip(present) {
            if !present {
                self.enactment
                    .lost(task, &mut remembering.keeper)
                    .map_err(|error| Error::Open(vec![error]))?;
            }
        }
        Ok(())
    }

    /// The open tasks that this round plans: `wanted`, and what leads there. What they read is kept for them by the plan
    /// from now on.
    fn close(&mut self, wanted: &[TaskId]) -> Vec<TaskId> {
        let mut planned: Vec<TaskId> = Vec::new();
        let mut pending: Vec<TaskId> = wanted.to_vec();
        while let Some(task) = pending.pop() {
            if !std::mem::replace(&mut self.open[task.index()], false) {
                continue;
            }
            planned.push(task);
            for input in inputs(self.enactment.graph(), task) {
                self.enactment.let_go(input);
                pending.push(input);
            }
        }
        planned
    }

    /// Notes why tasks failed.
    fn note_failures(&mut self, planned: &[TaskId]) {
        for task in planned.iter().copied() {
            if self.enactment.coordinator().state(task) != State::Failed {
                continue;
            }
            let call = self.first_call(task);
            let operation = self.enactment.graph().operation_at(task);
            let failure = self.heard.with(|_, failures| failures.get(&task).cloned());
            let failed = FailedCall {
                call,
                address: address(&operation.signature.name, call),
                operation: Arc::clone(&operation.signature.name),
                failure: failure.unwrap_or_else(unheard),
            };
            self.failed.insert(task, Arc::new(failed));
        }
    }

    /// The failure because of which a task has no outputs.
    pub(super) fn failure(&self, task: TaskId) -> Option<&Arc<FailedCall>> {
        let coordinator = self.enactment.coordinator();
        match coordinator.state(task) {
            State::Failed => self.failed.get(&task),
            State::Blocked => self.failed.get(&coordinator.cause(task)?),
            _ => None,
        }
    }

    /// The calls that failed, in order.
    pub(super) fn failed(&self) -> impl Iterator<Item = &Arc<FailedCall>> {
        self.failed.values()
    }

    /// How a task ended.
    pub(super) fn ended(&self, task: TaskId) -> Option<Ended> {
        self.heard.with(|ended, _| ended.get(&task).cloned())
    }

    /// An output that was asked for in the last round.
    pub(super) fn product(
        &mut self,
        item: &str,
        task: TaskId,
        port: u16,
    ) -> Result<Value, SequenceError> {
        if let Some(cause) = self.failure(task) {
            let call = self.first_call(task);
            let operation = &self.enactment.graph().operation_at(task).signature.name;
            return Err(SequenceError::Unavailable(Box::new(Unavailable {
                item: item.to_owned(),
                writer: address(operation, call),
                cause: Arc::clone(cause),
            })));
        }
        if !matches!(
            self.enactment.coordinator().state(task),
            State::Done | State::Known
        ) {
            return Err(SequenceError::Stopped {
                item: item.to_owned(),
            });
        }
        let here = self.executor.output(task, port);
        let pure = self.enactment.graph().operation_at(task).signature.pure;
        let value = match (here, &self.remembering) {
            // Files move on their way to the store.
            (Some(value), Some(_)) if pure && has_files(&value) => None,
            (here, _) => here,
        };
        let value = value.or_else(|| {
            let fetcher = self.remembering.as_ref()?.keeper.eager_fetcher();
            let recipe = self.enactment.stored_as(task);
            let fetched = fetcher.fetch(&recipe, &Ports::These(vec![port]))?;
            fetched.outputs.into_iter().nth(usize::from(port))
        });
        value.ok_or_else(|| {
            let message = format!("`{item}` was made, but its bytes are gone from the store");
            Error::Failed(message).into()
        })
    }

    /// The bytes that an output takes, where that is known.
    pub(super) fn size(&self, task: TaskId, port: u16) -> Option<u64> {
        let sizes = self.ended(task)?.sizes;
        sizes.get(usize::from(port)).copied()
    }

    /// An output as it lies in memory, if it does.
    pub(super) fn in_memory(&self, task: TaskId, port: u16) -> Option<Value> {
        self.executor.output(task, port)
    }

    /// Whether products are remembered.
    pub(super) fn remembers(&self) -> bool {
        self.place.is_some()
    }

    /// Whether somebody asked to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop.is_stopping()
    }

    /// Makes everything durable and ends the run. Gives back what files lie in, the run, and who brings products back.
    pub(super) fn end(
        &mut self,
        write: &dyn Fn(&Engine, &Recording, &Store),
    ) -> Result<(Option<String>, Option<StoreFetcher>), Error> {
        let Some(remembering) = self.remembering.take() else {
            return Ok((None, None));
        };
        let Remembering {
            store,
            keeper,
            mut recording,
        } = remembering;
        let fetcher = keeper.resting_fetcher();
        let closed = keeper.close();
        write(self, &recording, &store);
        let stopped = self.stop.is_stopping() || closed.is_err();
        recording.end(&store, self.enactment.counts(), stopped);
        closed.map_err(|error| Error::Pool(PoolError::Keeper(error)))?;
        Ok((Some(recording.run().to_owned()), Some(fetcher)))
    }

    /// The folder of files that are not in a store, for whoever outlives the engine.
    pub(super) fn take_scratch(&mut self) -> Temporary {
        std::mem::replace(&mut self.scratch, Temporary(PathBuf::new()))
    }
}

impl Drop for Engine {
    /// A sequence that is dropped before its end keeps what it has made.
    fn drop(&mut self) {
        if let Some(remembering) = self.remembering.take() {
            let Remembering {
                store,
                keeper,
                mut recording,
            } = remembering;
            let _ = keeper.close();
            recording.end(&store, self.enactment.counts(), true);
        }
    }
}

/// The tasks that a task reads, each as often as it does.
fn inputs(graph: &TaskGraph, task: TaskId) -> Vec<TaskId> {
    let mut inputs = Vec::new();
    graph.for_each_input_task(task, |input| inputs.push(input));
    inputs
}

pub(super) fn has_files(value: &Value) -> bool {
    let mut found = false;
    value.for_each_file(&mut |_| found = true);
    found
}

fn unheard() -> Failure {
    Failure {
        kind: headwater_execute::FailureKind::Operation,
        message: "no reason is known".to_owned(),
        command: None,
        folder: None,
        stderr: String::new(),
    }
}

fn program_name() -> String {
    let program = std::env::args_os().next().map(PathBuf::from);
    let stem = program.as_deref().and_then(Path::file_stem);
    stem.map_or_else(
        || "sequence".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}
