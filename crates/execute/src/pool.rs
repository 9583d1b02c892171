//! Worker threads that ask the coordinator for work.
//!
//! Law: everything the coordinator is told happens under one lock, and every thread that finds nothing to
//! do sleeps until something has changed. A worker runs one task at a time (or a batch of quick ones, one
//! after the other), so as many tasks run as there are workers; a worker that runs a program is asleep
//! meanwhile. A body has to itself what its operation changes where it lies, unless somebody else can still need it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_enact::{Action, Enactment, Ending, OpenError, Start, Time};
use headwater_graph::{
    Failure, FailureKind, Identity, Lease, Operation, Outputs, ReadFile, Recipe, Scalar, Signature,
    TaskId, Value,
};

use crate::command::CommandSettings;
use crate::ended::{Execution, Finished, Observer};
use crate::hand::{Hand, Order, Ran};
use crate::held::{Held, speaks_of_files, spill, unspill, written_out};
use crate::keeper::{AsRecall, Fetch, Fetched, Keeper, KeeperError, LeaseAnswer, Made, Ports};
use crate::stop::Stop;
use crate::watch::Spoiled;

/// How the threads run.
pub(crate) struct Pool {
    /// How many.
    pub(crate) workers: usize,
    /// What programs get.
    pub(crate) commands: CommandSettings,
    /// Where outputs are written out to when memory is short; made when it is needed.
    pub(crate) scratch: PathBuf,
    /// When to stop.
    pub(crate) stop: Stop,
    /// Gets at files for native operations.
    pub(crate) files: Option<Arc<dyn ReadFile>>,
}

/// What stays in memory between two rounds of one enactment: outputs that the coordinator believes are here.
pub(crate) struct Session {
    held: Held,
    failed_folders: HashMap<TaskId, PathBuf>,
    /// How often tasks were put back because something they read was not what was made.
    spoiled: HashMap<TaskId, u32>,
    began: Instant,
}

impl Session {
    /// Nothing yet; times are counted from then, and outputs of tasks in `deliver` stay until they are taken.
    pub(crate) fn new(began: Instant, deliver: &[TaskId]) -> Session {
        Session {
            held: Held::new(deliver),
            failed_folders: HashMap::new(),
            spoiled: HashMap::new(),
            began,
        }
    }

    /// The outputs of a task, if they are in memory; they no longer are.
    pub(crate) fn take(&mut self, task: TaskId) -> Option<Arc<Outputs>> {
        self.held.remove(task)
    }

    /// An output of a task, if it is in memory.
    pub(crate) fn output(&self, task: TaskId, port: u16) -> Option<Value> {
        self.held.output(task, port)
    }

    /// The file in the `scratch` folder of the pool that has the outputs of a task, if they were written out because
    /// memory was short; see [`read_written_out`](crate::read_written_out).
    pub(crate) fn written_out(task: TaskId, scratch: &Path) -> Option<PathBuf> {
        written_out(scratch, task)
    }

    /// Drops what nobody needs in memory any more.
    pub(crate) fn tidy(&mut self, enactment: &mut Enactment) {
        let mut released = Vec::new();
        enactment.take_released(&mut released);
        for task in released {
            drop(self.held.release(task));
        }
    }
}

struct State<'a> {
    enactment: &'a mut Enactment,
    keeper: &'a mut dyn Keeper,
    session: &'a mut Session,
    error: Option<PoolError>,
    asleep: usize,
    /// Used again and again.
    shared: Vec<(TaskId, TaskId)>,
    released: Vec<TaskId>,
}

struct Shared<'a> {
    state: Mutex<State<'a>>,
    changed: Condvar,
    observer: &'a dyn Observer,
    pool: &'a Pool,
    hand: Hand,
    fetcher: Arc<dyn Fetch>,
    began: Instant,
    remembers: bool,
    compares: bool,
}

/// A run that could not go on.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// A worker panicked outside of any task.
    #[error("the engine stopped because of a bug of its own; finished work is kept")]
    Panicked,
    /// A later round does not fit the data or the machine.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is nobody who could go on.
    #[error("{0}")]
    Nodes(String),
    /// Products cannot be kept.
    #[error("products can no longer be kept: {0}")]
    Keeper(#[from] KeeperError),
}

/// A task with everything it needs.
struct Job {
    start: Start,
    recipe: Recipe,
    key: Option<Recipe>,
    operation: Arc<Operation>,
    inputs: Vec<Value>,
    parameters: Vec<Scalar>,
}

/// What became of a job.
enum JobEnd {
    /// It ran.
    Ran {
        execution: Execution,
        /// Few tasks fail, and what became of each is moved about.
        result: Result<Arc<Outputs>, Box<Failure>>,
        contents: Vec<Identity>,
        lease: Option<Lease>,
        /// Products that are not what was made.
        spoiled: Vec<Spoiled>,
    },
    /// Somebody else is at it.
    Busy(TaskId),
    /// Somebody else has done it.
    Found(TaskId, Vec<Identity>),
    /// A product that it reads is not what was made, and has to be made again first.
    Spoiled(Box<(Execution, Vec<Spoiled>)>),
}

impl Pool {
    /// Runs until everything has ended; the enactment has been opened. What an earlier round of it has left in memory is
    /// in the session, and what this one leaves is there afterwards. What it wrote out stays in `scratch`, for whoever
    /// ends the session to remove.
    pub(crate) fn run(
        &self,
        session: &mut Session,
        enactment: &mut Enactment,
        keeper: &mut dyn Keeper,
        observer: &dyn Observer,
        remembers: bool,
    ) -> Result<(), PoolError> {
        session.tidy(enactment);
        let began = session.began;
        let fetcher = keeper.fetcher();
        let compares = enactment.coordinator().compares();
        let shared = Shared {
            state: Mutex::new(State {
                enactment,
                keeper,
                session,
                error: None,
                asleep: 0,
                shared: Vec::new(),
                released: Vec::new(),
            }),
            changed: Condvar::new(),
            observer,
            pool: self,
            hand: Hand::of(
                &self.commands,
                &self.scratch,
                &self.stop,
                self.files.clone(),
                Arc::clone(&fetcher),
            ),
            fetcher,
            began,
            remembers,
            compares,
        };
        std::thread::scope(|scope| {
            for number in 1..self.workers.max(1) {
                let worker = std::thread::Builder::new().name(format!("headwater-worker-{number}"));
                // Without a thread the others do the work.
                let _ = worker.spawn_scoped(scope, || shared.work_or_break());
            }
            shared.work_or_break();
        });
        shared.hand.clean_up();
        let state = shared
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        match state.error {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl<'a> Shared<'a> {
    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        // A panic under the lock is a bug of ours; the others still end in order.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        Time::default() + self.began.elapsed()
    }

    /// Works; a panic outside of any task ends the run, not the program.
    fn work_or_break(&self) {
        if catch_unwind(AssertUnwindSafe(|| self.work())).is_err() {
            self.lock().error = Some(PoolError::Panicked);
            self.changed.notify_all();
        }
    }

    fn work(&self) {
        let mut batch: Vec<Start> = Vec::new();
        let mut jobs: Vec<Job> = Vec::new();
        let mut ended: Vec<JobEnd> = Vec::new();
        let mut garbage: Vec<Arc<Outputs>> = Vec::new();
        let mut state = self.lock();
        loop {
            if matches!(state.error, Some(PoolError::Panicked)) {
                // What the dead worker was doing never ends.
                return;
            }
            if self.pool.stop.is_stopping() || state.error.is_some() {
                state.enactment.stop();
            }
            match state.enactment.next(self.now()) {
                Action::Start(start) => {
                    batch.clear();
                    batch.push(start);
                    state
                        .enactment
                        .ride_along(start.task, self.pool.workers, &mut batch);
                    self.prepare(&mut state, &batch, &mut jobs, &mut garbage);
                    self.wake(&state);
                    drop(state);
                    garbage.clear();
                    for job in jobs.drain(..) {
                        ended.push(self.run(job));
                    }
                    state = self.lock();
                    for ended in ended.drain(..) {
                        self.finish(&mut state, ended, &mut garbage);
                    }
                    self.wake(&state);
                }
                Action::Materialise(task) => {
                    let recipe = state.enactment.stored_as(task);
                    let ports = state
                        .enactment
                        .ports_read(task)
                        .map_or(Ports::All, Ports::These);
                    drop(state);
                    let outputs = unspill(&self.pool.scratch, task)
                        .map(Fetched::from)
                        .or_else(|| {
                            self.remembers
                                .then(|| self.fetcher.fetch(&recipe, &ports))
                                .flatten()
                        });
                    state = self.lock();
                    self.materialised(&mut state, task, outputs);
                    self.pass_on(&mut state, &mut garbage);
                    self.wake(&state);
                }
                Action::Spill(task) => {
                    // What lacks an output, or has files, could not be brought back as it is.
                    let whole = !state.session.held.is_incomplete(task);
                    let outputs = state.session.held.get(task).filter(|_| whole).cloned();
                    drop(state);
                    let written = outputs.is_some_and(|outputs| self.spill(task, &outputs));
                    state = self.lock();
                    if written {
                        garbage.extend(state.session.held.release(task));
                    }
                    state.enactment.spilled(task, written);
                    self.wake(&state);
                }
                Action::Compare => {
                    state = self.compare(state, &mut garbage);
                    self.wake(&state);
                }
                Action::Wait(until) => {
                    if !garbage.is_empty() {
                        // What was let go has to be gone before anybody counts on its memory.
                        drop(state);
                        garbage.clear();
                        state = self.lock();
                        continue;
                    }
                    state.asleep += 1;
                    state = self.sleep(state, until);
                    state.asleep -= 1;
                }
                Action::Finished => {
                    // Everybody else has to hear that it is over.
                    self.changed.notify_all();
                    return;
                }
            }
        }
    }

    fn wake(&self, state: &State<'_>) {
        if state.asleep > 0 {
            self.changed.notify_all();
        }
    }

    fn sleep<'b>(
        &'b self,
        state: MutexGuard<'b, State<'a>>,
        until: Option<Time>,
    ) -> MutexGuard<'b, State<'a>> {
        // A wish to stop comes from a signal handler, which cannot wake anybody: look up now and then.
        let longest = Duration::from_millis(100);
        let pause = until.map_or(longest, |until| {
            Duration::from_nanos(until.0.saturating_sub(self.now().0)).min(longest)
        });
        let waited = self
            .changed
            .wait_timeout(state, pause.max(Duration::from_micros(50)));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn prepare(
        &self,
        state: &mut State<'_>,
        batch: &[Start],
        jobs: &mut Vec<Job>,
        garbage: &mut Vec<Arc<Outputs>>,
    ) {
        for start in batch {
            let graph = state.enactment.graph();
            if let Some(incomplete) = state.session.held.incomplete_input(graph, start.task) {
                // It was brought back for readers that needed less of it.
                self.observer.started(state.enactment, start);
                self.put_back(state, start.task, Ending::Busy);
                self.lost(state, incomplete);
                self.pass_on(state, garbage);
                continue;
            }
            let key = state.enactment.runs_under(start.task);
            let graph = state.enactment.graph();
            // The coordinator starts a task only when its inputs are here.
            let inputs = state
                .session
                .held
                .inputs(graph, start.task)
                .unwrap_or_default();
            jobs.push(Job {
                start: *start,
                recipe: graph.recipe(start.task),
                key,
                operation: Arc::clone(graph.operation_at(start.task)),
                inputs,
                parameters: graph.parameters(start.task).to_vec(),
            });
            self.observer.started(state.enactment, start);
            if let Some(folder) = state.session.failed_folders.remove(&start.task) {
                self.hand.discard(folder);
            }
        }
    }

    /// Finds out which of the tasks that could start are equal to something that is there.
    fn compare<'b>(
        &'b self,
        mut state: MutexGuard<'b, State<'a>>,
        garbage: &mut Vec<Arc<Outputs>>,
    ) -> MutexGuard<'b, State<'a>> {
        let mut tasks = Vec::new();
        state.enactment.take_comparisons(&mut tasks);
        let unidentified = state.enactment.unidentified(&tasks);
        if !unidentified.is_empty() {
            let recipes: Vec<Recipe> = unidentified
                .iter()
                .map(|task| state.enactment.stored_as(*task))
                .collect();
            drop(state);
            let contents = self.fetcher.contents(&recipes);
            state = self.lock();
            for (task, contents) in unidentified.into_iter().zip(contents) {
                if let Some(contents) = contents {
                    state.enactment.identify(task, contents);
                }
            }
        }
        let keys: Vec<Option<Recipe>> = tasks
            .iter()
            .map(|task| state.enactment.content_key(*task))
            .collect();
        let unknown = |(task, key): (&TaskId, &Option<Recipe>)| {
            key.filter(|key| state.enactment.leader(*task, key).is_none())
        };
        let asked: Vec<Recipe> = tasks.iter().zip(&keys).filter_map(unknown).collect();
        let mut found = HashMap::new();
        if !asked.is_empty() {
            drop(state);
            let answers = self.fetcher.equal(&asked);
            state = self.lock();
            let answers = asked.into_iter().zip(answers);
            found.extend(answers.filter_map(|(key, answer)| Some((key, answer?))));
        }
        for (task, key) in tasks.into_iter().zip(keys) {
            let State {
                enactment, keeper, ..
            } = &mut *state;
            let found = key.and_then(|key| found.get(&key).cloned());
            if let Err(error) = enactment.compared(task, key, found, &mut AsRecall(*keeper)) {
                state.error.get_or_insert(error.into());
            }
        }
        self.pass_on(&mut state, garbage);
        self.observer.compared(state.enactment);
        state
    }

    /// Does with outputs in memory what the coordinator decided: some now belong to equal tasks, too, and
    /// some are no longer needed.
    fn pass_on(&self, state: &mut State<'_>, garbage: &mut Vec<Arc<Outputs>>) {
        let State {
            enactment,
            session,
            shared,
            released,
            ..
        } = state;
        let held = &mut session.held;
        enactment.take_shared(shared);
        for (task, from) in shared.drain(..) {
            held.share(task, from);
        }
        enactment.take_released(released);
        for task in released.drain(..) {
            // Dropped by this worker after it has let go of the lock.
            garbage.extend(held.release(task));
        }
    }

    /// Lets go of what a body may change where it lies, as far as nobody else can need it: unless a product is still
    /// on its way to the store, or two inputs are the same one, the body then has it alone.
    fn give_away(&self, task: TaskId, signature: &Signature) {
        let mut state = self.lock();
        let State {
            enactment, session, ..
        } = &mut *state;
        let held = &mut session.held;
        let mut inputs = Vec::new();
        for (port, source) in enactment.graph().inputs(task) {
            if signature.inputs[usize::from(*port)].in_place {
                source.for_each_task(&mut |input| inputs.push(input));
            }
        }
        inputs.retain(|input| !held.is_wanted(*input));
        enactment.take_inputs(task, &mut inputs);
        let given: Vec<_> = inputs.iter().map(|input| held.remove(*input)).collect();
        drop(state);
        drop(given);
    }

    fn run(&self, job: Job) -> JobEnd {
        let Job {
            start,
            recipe,
            key,
            operation,
            inputs,
            parameters,
        } = job;
        let mut lease = None;
        let signature = &operation.signature;
        if self.remembers && signature.pure && !signature.implicit && !start.brief {
            match self.fetcher.claim(&recipe, key.as_ref(), start.restoring) {
                LeaseAnswer::Granted(granted) => lease = granted,
                LeaseAnswer::Busy => return JobEnd::Busy(start.task),
                LeaseAnswer::Made(contents) => return JobEnd::Found(start.task, contents),
            }
        }
        let order = Order {
            operation: &operation,
            recipe: &recipe,
            inputs,
            parameters: &parameters,
            timeout: start.timeout,
        };
        let Ran {
            result,
            began,
            elapsed,
            usage,
            spoiled,
        } = self
            .hand
            .run(order, &|| self.give_away(start.task, signature));
        let execution = Execution {
            task: start.task,
            attempt: start.attempt,
            started: began.duration_since(self.began),
            elapsed,
            usage,
        };
        let result = match result {
            Ok(outputs) => Ok(outputs),
            Err(Some(failure)) => Err(Box::new(failure)),
            Err(None) => return JobEnd::Spoiled(Box::new((execution, spoiled))),
        };
        let contents = match &result {
            Ok(outputs) if self.compares => outputs.iter().map(Identity::of).collect(),
            _ => Vec::new(),
        };
        JobEnd::Ran {
            execution,
            result: result.map(Arc::new),
            contents,
            lease,
            spoiled,
        }
    }

    /// A task that was started did not run.
    fn put_back(&self, state: &mut State<'_>, task: TaskId, outcome: Ending) {
        let now = self.now();
        let State {
            enactment, keeper, ..
        } = state;
        if let Err(error) = enactment.finished(task, outcome, &[], now, &mut AsRecall(*keeper)) {
            state.error.get_or_insert(error.into());
        }
        self.observer.returned(state.enactment, task);
    }

    fn finish(&self, state: &mut State<'_>, ended: JobEnd, garbage: &mut Vec<Arc<Outputs>>) {
        let (execution, result, contents, lease, spoiled) = match ended {
            JobEnd::Ran {
                execution,
                result,
                contents,
                lease,
                spoiled,
            } => (execution, result, contents, lease, spoiled),
            JobEnd::Spoiled(put_back) => {
                let (execution, spoiled) = *put_back;
                let task = execution.task;
                let times = state.session.spoiled.entry(task).or_default();
                *times += 1;
                if *times <= MADE_AGAIN {
                    self.put_back(state, task, Ending::Busy);
                    self.make_again(state, task, &spoiled, garbage);
                    return self.pass_on(state, garbage);
                }
                // Whoever changes it will do so again.
                let message = spoiled.first().map(|spoiled| spoiled.message.clone());
                let failure = Failure::new(FailureKind::Input, message.unwrap_or_default());
                (execution, Err(Box::new(failure)), Vec::new(), None, spoiled)
            }
            JobEnd::Busy(task) => return self.put_back(state, task, Ending::Busy),
            JobEnd::Found(task, contents) => {
                state.enactment.identify(task, contents);
                self.put_back(state, task, Ending::Found);
                return self.pass_on(state, garbage);
            }
        };
        let task = execution.task;
        let now = self.now();
        let State {
            enactment,
            keeper,
            session,
            ..
        } = state;
        let told = match &result {
            Ok(outputs) => {
                let signature = &enactment.graph().operation_at(task).signature;
                let kept = !signature.implicit && signature.pure;
                if self.compares {
                    enactment.identify(task, contents.clone());
                }
                // A task that was brought back was not compared before it ran. Its record takes the place of an
                // older one, which must not lose its content key.
                let again = enactment.coordinator().is_made_again(task);
                let key = match enactment.compared_by(task).copied() {
                    None if again && self.compares && kept => enactment.content_key(task),
                    compared => compared,
                };
                let made = Made {
                    contents,
                    key,
                    lease,
                    again,
                    wanted: Ports::These(enactment.requested_ports(task)),
                };
                if kept
                    && let Err(error) = keeper.keep(enactment.graph(), &execution, outputs, made)
                {
                    state.error.get_or_insert(error.into());
                }
                let memory = measure(enactment, task, outputs);
                session.held.put(task, Arc::clone(outputs));
                let outcome = Ending::Success {
                    memory,
                    elapsed: execution.elapsed,
                };
                enactment.finished(task, outcome, outputs, now, &mut AsRecall(*keeper))
            }
            Err(failure) => {
                if let Some(folder) = &failure.folder {
                    state.session.failed_folders.insert(task, folder.clone());
                }
                let outcome = match failure.kind {
                    FailureKind::Cancelled if self.pool.stop.is_stopping() => Ending::Cancelled,
                    FailureKind::Cancelled => Ending::Fatal,
                    // A program that is not there will not be there in a second either.
                    // Nor will a file that somebody wrote to be what it was.
                    FailureKind::NotStarted | FailureKind::Input => Ending::Fatal,
                    _ => Ending::Failure,
                };
                enactment.finished(task, outcome, &[], now, &mut AsRecall(*keeper))
            }
        };
        if let Err(error) = told {
            state.error.get_or_insert(error.into());
        }
        let how = match &result {
            Ok(outputs) => Finished::Success(outputs),
            Err(failure) => Finished::Failure(failure),
        };
        self.observer.finished(state.enactment, &execution, &how);
        if !spoiled.is_empty() {
            self.make_again(state, task, &spoiled, garbage);
        }
        self.pass_on(state, garbage);
        // Others have the outputs by now, if only the garbage: nothing large is dropped here.
    }

    fn materialised(&self, state: &mut State<'_>, task: TaskId, fetched: Option<Fetched>) {
        // A record of an operation that had other outputs then is no use now.
        let ports = state
            .enactment
            .graph()
            .operation_at(task)
            .signature
            .outputs
            .len();
        match fetched.filter(|fetched| fetched.outputs.len() == ports) {
            Some(Fetched { outputs, absent }) => {
                let memory = measure(state.enactment, task, &outputs);
                state.session.held.put(task, Arc::new(outputs));
                state.session.held.lacks(task, absent);
                state.enactment.materialised(task, memory);
            }
            None => self.lost(state, task),
        }
    }

    fn lost(&self, state: &mut State<'_>, task: TaskId) {
        let State {
            enactment, keeper, ..
        } = state;
        if let Err(error) = enactment.lost(task, &mut AsRecall(*keeper)) {
            state.error.get_or_insert(error.into());
        }
    }

    /// Has products made again that `reader` reads and that are not what was made, wherever their files come from: an
    /// item of a list is that of the task that made the list. What is not in memory is found changed when it is
    /// brought back.
    fn make_again(
        &self,
        state: &mut State<'_>,
        reader: TaskId,
        spoiled: &[Spoiled],
        garbage: &mut Vec<Arc<Outputs>>,
    ) {
        let is_spoiled = |path: &Path| spoiled.iter().any(|spoiled| *spoiled.path == *path);
        let graph = state.enactment.graph();
        let lost = state.session.held.holders(graph, reader, &is_spoiled);
        for task in lost {
            self.lost(state, task);
            // What is being written out stays until that is over.
            if !state.enactment.coordinator().state(task).is_settled() {
                garbage.extend(state.session.held.remove(task));
            }
        }
    }

    /// Writes outputs to a file, unless they speak of files, whose places would be forgotten.
    fn spill(&self, task: TaskId, outputs: &Outputs) -> bool {
        !outputs.iter().any(speaks_of_files) && spill(&self.pool.scratch, task, outputs).is_ok()
    }
}

/// At most this often a product is made again for one reader.
const MADE_AGAIN: u32 = 2;

/// Outputs smaller than this make no difference to a limit on memory.
const SMALL: u64 = 64 << 10;

/// The bytes that outputs take in memory; the coordinator is told those of each, where they are not all alike.
fn measure(enactment: &mut Enactment, task: TaskId, outputs: &Outputs) -> u64 {
    let memory = outputs.iter().map(Value::memory).sum();
    let told = |value: &Value| value.size() >= SMALL && value.size() != memory;
    if outputs.iter().any(told) {
        enactment.measured(task, outputs.iter().map(Value::size).collect());
    }
    memory
}
