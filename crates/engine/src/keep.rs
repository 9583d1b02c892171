//! Between the engine and the store: products go in, products come back.
//!
//! Law: a product is looked up before its task runs and handed to the store when it has run; the engine
//! never waits for a disk, except to bring something back that is no longer in memory.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use headwater_enact::{Recall, nanoseconds};
use headwater_execute::{Execution, Fetch, Keeper, KeeperError, Made, Ports, Proven, Stop};
use headwater_graph::{
    Alias, Digest, FileValue, Handle, Identity, Lease, Leases, ObjectSource, Outputs, Pending,
    PendingObject, Port, ProductRecord, Recipe, Store, StoredOutput, TaskGraph, TaskId, Value,
    decode, value_digest,
};
use headwater_remember::Writer;

use crate::details::details;
use crate::fetch::StoreFetcher;
use crate::lock::locked;
use crate::notes::{self, Lost, LostProduct};
use crate::progress::Progress;
use crate::room::Needs;
use crate::stash::{Message, OnItsWay, Order, Stash};
use crate::thrift::{Habits, Limit, Thrift};

/// How long a run that waits for others sleeps.
const WAIT: Duration = Duration::from_millis(20);
/// So often a run makes products again that somebody wrote to.
const MADE_AGAIN: u32 = 2;

/// What is on its way to the store, and what became of it.
#[derive(Debug, Default)]
struct Backlog {
    /// At most so many bytes of values wait to be looked at; the engine waits for the disk beyond that.
    most: u64,
    state: Mutex<BacklogState>,
    room: Condvar,
}

#[derive(Debug, Default)]
struct BacklogState {
    bytes: u64,
    error: Option<String>,
}

impl Backlog {
    /// Waits for room; an error if the store has stopped taking anything.
    fn enter(&self, bytes: u64) -> Result<(), KeeperError> {
        let mut state = locked(&self.state);
        loop {
            if let Some(error) = &state.error {
                return Err(KeeperError::Refused(error.clone()));
            }
            if state.bytes == 0 || state.bytes.saturating_add(bytes) <= self.most {
                state.bytes += bytes;
                return Ok(());
            }
            state = self
                .room
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn leave(&self, bytes: u64, error: Option<String>) {
        let mut state = locked(&self.state);
        state.bytes = state.bytes.saturating_sub(bytes);
        if state.error.is_none() {
            state.error = error;
        }
        self.room.notify_all();
    }
}

fn memory(outputs: &Outputs) -> u64 {
    outputs.iter().map(Value::memory).sum()
}

/// Keeps products in a store.
pub struct StoreKeeper {
    store: Arc<dyn Store>,
    backlog: Arc<Backlog>,
    run: Arc<str>,
    sender: Option<mpsc::SyncSender<Order>>,
    thread: Option<JoinHandle<Result<(), String>>>,
    read_only: bool,
    leases: Option<Arc<dyn Leases>>,
    stash: Arc<Mutex<Stash>>,
    habits: Arc<Habits>,
    /// What the run needs, where disk is limited.
    needs: Option<Arc<Mutex<Needs>>>,
    /// The outputs, by operation.
    ports: Vec<Option<Arc<[Port]>>>,
    /// What was said to the last question about tasks: by task that was asked about, the nanoseconds of processor time
    /// that making its product took.
    processor_times: Vec<Option<u64>>,
    /// That is the answer to the next question, too.
    is_foreseen: bool,
    time: i64,
    /// How often products were made again because somebody wrote to them.
    made_again: u32,
    /// Ends waiting for other runs.
    stop: Stop,
    /// What was asked for by name stays in memory, for whoever asked.
    holds_wanted: bool,
}

impl StoreKeeper {
    /// Keeps the products of `run` in `store`, whose objects may take at most `disk` bytes.
    pub fn new(store: Arc<dyn Store>, run: &str, disk: Option<u64>) -> StoreKeeper {
        StoreKeeper::within(store, run, disk, crate::budget::STORE)
    }

    /// As [`new`](Self::new); values on their way to the disk take at most `room` bytes of memory, or are alone.
    pub fn within(store: Arc<dyn Store>, run: &str, disk: Option<u64>, room: u64) -> StoreKeeper {
        let read_only = store.mode() == headwater_graph::Mode::ReadOnly;
        let (sender, receiver) = mpsc::sync_channel::<Order>(4096);
        let own = Arc::clone(&store);
        // Half is for what waits to be looked at, half for what is being written.
        let backlog = Arc::new(Backlog {
            most: room / 2,
            ..Backlog::default()
        });
        let shared = Arc::clone(&backlog);
        let stash = Arc::new(Mutex::new(Stash::default()));
        let own_stash = Arc::clone(&stash);
        let habits = Arc::new(Habits::default());
        let own_habits = Arc::clone(&habits);
        let needs = (disk.is_some() && !read_only).then(|| {
            let needs = Needs::new(Arc::clone(&store), run.into());
            Arc::new(Mutex::new(needs))
        });
        let limit = disk.zip(needs.clone()).map(|(most, needs)| Limit {
            most,
            needs,
            run: run.into(),
            room: None,
        });
        let thread = std::thread::Builder::new().name("headwater-keeper".to_owned());
        let work = move || {
            if read_only {
                keep_nothing(&receiver)
            } else {
                keep_all(own, &receiver, &shared, &own_stash, &own_habits, limit)
            }
        };
        // Without leases two runs may make a product twice; that is all.
        let leases = (!read_only).then(|| store.leases().ok()).flatten();
        StoreKeeper {
            store,
            backlog,
            run: run.into(),
            sender: Some(sender),
            thread: thread.spawn(work).ok(),
            read_only,
            leases: leases.map(Arc::from),
            stash,
            habits,
            needs,
            ports: Vec::new(),
            processor_times: Vec::new(),
            is_foreseen: false,
            time: crate::identifier::now(),
            made_again: 0,
            stop: Stop::default(),
            holds_wanted: false,
        }
    }

    /// Keeps outputs that were asked for by name in memory, too, as they were made: who asked gets them without a copy.
    pub fn holds_wanted(&mut self) {
        self.holds_wanted = true;
    }

    /// Has it reported at once if the run waits for others.
    pub fn tells(&self, progress: &Progress) {
        locked(&self.stash).progress = Some(progress.clone());
    }

    /// Whoever says stop does not have to wait for other runs.
    pub fn ends_with(&mut self, stop: &Stop) {
        self.stop = stop.clone();
    }

    /// For each task of a graph, whether it is remembered. The next question is taken to be about the same tasks, before
    /// anything has run, and gets the same answer.
    pub fn look_up(&mut self, graph: &TaskGraph) -> Vec<bool> {
        let tasks: Vec<TaskId> = graph.ids().collect();
        let known = self.known(graph, &tasks);
        self.is_foreseen = true;
        known
    }

    /// The processor time, in nanoseconds, of what was found to be remembered when it was last asked about tasks, in the
    /// order of these.
    pub fn take_processor_times(&mut self) -> Vec<Option<u64>> {
        std::mem::take(&mut self.processor_times)
    }

    /// Waits until everything is durable.
    pub fn close(mut self) -> Result<(), KeeperError> {
        drop(self.sender.take());
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(KeeperError::Refused(error)),
            Some(Err(_)) => Err(KeeperError::Stopped),
            None => Err(KeeperError::Closed),
        }
    }

    /// Waits until everything that was handed over is durable; `false` if something could not be kept.
    pub fn is_durable(&self) -> bool {
        let (sender, receiver) = mpsc::channel();
        let flush = self
            .sender
            .as_ref()
            .map(|orders| orders.send(Order::Flush(sender)));
        matches!(flush, Some(Ok(()))) && matches!(receiver.recv(), Ok(Ok(())))
    }

    /// Brings back what is durable, or stashed; it does not keep the keeper from closing.
    pub fn resting_fetcher(&self) -> StoreFetcher {
        StoreFetcher {
            store: Arc::clone(&self.store),
            sender: None,
            stash: Arc::clone(&self.stash),
            leases: None,
            habits: Arc::clone(&self.habits),
            run: Arc::clone(&self.run),
            needs: self.needs.clone(),
        }
    }

    /// Whether products that this run has made may be gone because somebody wrote to them, since the last call. It is
    /// said a few times at most: what is written to again and again cannot be made.
    pub fn take_spoiled(&mut self) -> bool {
        // Whether a file is what was made shows when it is placed.
        let fetcher = self.eager_fetcher();
        let _ = fetcher.pass();
        if std::mem::take(&mut locked(&self.stash).has_files) {
            let _ = fetcher.flush();
        }
        // Nothing runs now and nothing is leased, so that nobody waits for this run while it waits for others.
        while !fetcher.may_go_on() && !self.stop.is_stopping() {
            std::thread::sleep(WAIT);
        }
        let mut stash = locked(&self.stash);
        let is_put_off = std::mem::take(&mut stash.is_put_off);
        let spoiled = std::mem::take(&mut stash.spoiled);
        self.made_again += u32::from(spoiled);
        is_put_off || (spoiled && self.made_again <= MADE_AGAIN)
    }

    /// Brings back what is kept or on its way, and gives out leases.
    pub fn eager_fetcher(&self) -> StoreFetcher {
        StoreFetcher {
            sender: self.sender.clone(),
            leases: self.leases.clone(),
            ..self.resting_fetcher()
        }
    }

    /// What is to be known of a task that ended well, without its outputs.
    fn record(&self, graph: &TaskGraph, execution: &Execution, made: &Made) -> ProductRecord {
        let task = execution.task;
        let details = details(graph, task);
        ProductRecord {
            recipe: graph.recipe(task),
            content: made.key.filter(|key| *key != graph.recipe(task)),
            operation: details.operation,
            version: details.version,
            parameters: details.parameters,
            inputs: details.inputs,
            outputs: Vec::new(),
            wall: nanoseconds(execution.elapsed),
            cpu: nanoseconds(execution.usage.cpu),
            peak_memory: if execution.usage.peak_reliable {
                execution.usage.peak_memory
            } else {
                0
            },
            run: Arc::clone(&self.run),
            time: self.time + i64::try_from(execution.started.as_secs()).unwrap_or(0),
        }
    }

    fn ports(&mut self, graph: &TaskGraph, task: TaskId) -> Arc<[Port]> {
        let position = graph.operation_index(task) as usize;
        if self.ports.len() <= position {
            self.ports.resize(position + 1, None);
        }
        let ports = || graph.operation_at(task).signature.outputs.clone().into();
        Arc::clone(self.ports[position].get_or_insert_with(ports))
    }
}

/// Answers, and keeps nothing.
fn keep_nothing(receiver: &mpsc::Receiver<Order>) -> Result<(), String> {
    for order in receiver {
        match order {
            Order::Flush(reply) => {
                let _ = reply.send(Ok(()));
            }
            Order::Pass(reply) => {
                let _ = reply.send(());
            }
            Order::GoOn(reply) => {
                let _ = reply.send(true);
            }
            Order::Keep(_) | Order::Known(..) | Order::Alias(_) => {}
        }
    }
    Ok(())
}

/// Tells those who wait for room when the thread ends, however it ends.
struct Gone<'a>(&'a Backlog);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        let error = "the thread that keeps products is gone".to_owned();
        self.0.leave(0, Some(error));
    }
}

/// A word about a product that was made again from the same and is not what it was.
fn differs(before: &ProductRecord, record: &ProductRecord) -> Option<String> {
    let read = |record: &ProductRecord| record.content.unwrap_or(record.recipe);
    if read(before) != read(record) {
        // What it reads is not what it was, so that it may well give something else.
        return None;
    }
    let changed: Vec<&str> = before
        .outputs
        .iter()
        .zip(&record.outputs)
        .filter(|((_, before), (_, now))| before.digest != now.digest)
        .map(|((port, _), _)| &**port)
        .collect();
    (!changed.is_empty()).then(|| {
        format!(
            "operation `{}` was run again to restore what was gone, and its output `{}` is not what it was: \
             results that were made from the old one are still reused, and `headwater explain` and `headwater runs \
             diff` name them; if it cannot give the same twice, say `pure: false`, or `keep: true` for that output",
            record.operation,
            changed.join("`, `")
        )
    })
}

/// Whether bytes of a product were found damaged and set aside after it was made.
fn was_damaged(store: &dyn Store, product: &ProductRecord) -> bool {
    let set_aside = |digest: &Digest| {
        let at = store.set_aside_at(digest);
        at.is_some_and(|at| at >= product.time)
    };
    product.outputs.iter().any(|(_, output)| {
        let mut damaged = output.encoding.as_ref().is_some_and(set_aside);
        if let Some(value) = output
            .inline
            .as_deref()
            .and_then(|bytes| decode(bytes).ok())
        {
            value.for_each_file(&mut |file| damaged |= set_aside(&file.digest));
        }
        damaged
    })
}

/// Why a product had to be made again.
fn lost(store: &dyn Store, run: &str, before: Option<ProductRecord>) -> LostProduct {
    let reason = match &before {
        None => Lost::NotKept,
        Some(before) if was_damaged(store, before) => Lost::Damaged,
        Some(before) if *before.run == *run => Lost::NotKept,
        Some(_) => Lost::Gone,
    };
    LostProduct {
        reason,
        made: before.map(|before| (before.run, before.time, before.wall)),
    }
}

/// Notes that a product had to be made again, and whether it is what it was. Before its record is replaced, so that it is
/// known whatever ends this process.
fn note_restored(store: &dyn Store, record: &ProductRecord, stash: &Mutex<Stash>) {
    let before = store.fetch(&[record.recipe]);
    let before = before.ok().and_then(|mut found| found.pop()?);
    let note = before.as_ref().and_then(|before| differs(before, record));
    locked(stash).notes.extend(note);
    let reason = lost(store, &record.run, before);
    notes::add_restored(store, &record.run, &record.recipe, &reason);
}

/// Leases and recipes by the ticket of the product that they are for. They end when it is durable.
type Tickets = Arc<Mutex<HashMap<u64, (Option<Lease>, Recipe)>>>;

/// The outputs of a product as its record will give them back, without those that are not kept; `None` where files are
/// among them, since those move on their way.
fn on_its_way(record: &ProductRecord, outputs: &Outputs, dropped: &[usize]) -> Option<OnItsWay> {
    let mut has_files = false;
    let keep = |(position, value): (usize, &Value)| {
        if dropped.contains(&position) {
            Value::Null
        } else {
            value.for_each_file(&mut |_| has_files = true);
            value.clone()
        }
    };
    let outputs: Outputs = outputs.iter().enumerate().map(keep).collect();
    (!has_files).then(|| OnItsWay {
        operation: Arc::clone(&record.operation),
        outputs: Arc::new(outputs),
        dropped: dropped.into(),
    })
}

fn keep_all(
    store: Arc<dyn Store>,
    receiver: &mpsc::Receiver<Order>,
    backlog: &Backlog,
    stash: &Arc<Mutex<Stash>>,
    habits: &Arc<Habits>,
    limit: Option<Limit>,
) -> Result<(), String> {
    let _gone = Gone(backlog);
    let needs = limit.as_ref().map(|limit| Arc::clone(&limit.needs));
    let mut thrift = Thrift::new(Arc::clone(&store), Arc::clone(habits), limit);
    let tickets = Tickets::default();
    let (held, own_stash) = (Arc::clone(&tickets), Arc::clone(stash));
    // Durable or given up, a product is not on its way any more, and somebody else may make it.
    let ended = move |tickets: &[u64]| {
        if let Some(needs) = &needs {
            locked(needs).durable(tickets);
        }
        let mut held = locked(&held);
        let ended = tickets.iter().filter_map(|ticket| held.remove(ticket));
        let recipes: Vec<Recipe> = ended.map(|(_, recipe)| recipe).collect();
        drop(held);
        let mut stash = locked(&own_stash);
        let given = recipes
            .iter()
            .filter_map(|recipe| stash.on_their_way.remove(recipe));
        let given: Vec<OnItsWay> = given.collect();
        drop(stash);
        drop(given);
    };
    let room = backlog.most;
    let (acknowledge, own_stash) = (ended.clone(), Arc::clone(stash));
    let given_up = move |tickets: &[u64]| {
        ended(tickets);
        locked(&own_stash).spoiled = true;
    };
    let (acknowledge, given_up) = (Box::new(acknowledge), Box::new(given_up));
    let writer = Writer::start_within(Arc::clone(&store), acknowledge, given_up, room);
    let mut next_ticket = 0;
    let mut trouble = None;
    for order in receiver {
        match order {
            Order::Keep(message) => {
                let Message {
                    mut record,
                    outputs,
                    ports,
                    mut made,
                } = *message;
                let lease = made.lease.take();
                let kept = stored_outputs(&mut record, &outputs, &ports, &made, &*store);
                if let Some(mut objects) = kept {
                    if made.again {
                        note_restored(&*store, &record, stash);
                    }
                    let flush = || {
                        let _ = writer.flush();
                    };
                    let is_file = |(_, object): &(usize, PendingObject)| {
                        matches!(object.source, ObjectSource::Digested(..))
                    };
                    if objects.iter().any(is_file) {
                        locked(stash).has_files = true;
                    }
                    let chosen = thrift.choose(&record, &ports, &made, &mut objects, &flush);
                    let dropped = chosen.as_deref().unwrap_or_default();
                    if let Some(product) = on_its_way(&record, &outputs, dropped) {
                        let products = &mut locked(stash).on_their_way;
                        products.insert(record.recipe, product);
                    }
                    if let Some(note) = thrift.take_put_off() {
                        let mut stash = locked(stash);
                        (stash.is_put_off, stash.waits) = (true, true);
                        if let (Some(note), Some(progress)) = (&note, &stash.progress) {
                            progress.tell(note);
                        }
                        stash.notes.extend(note);
                    }
                    let stay = thrift.hand_over(next_ticket, &outputs);
                    match chosen {
                        Ok(dropped) if dropped.is_empty() => {}
                        Ok(_) => {
                            let is_small = outputs.iter().all(|value| value.memory() < 4096);
                            if stay && is_small {
                                // Files that are not kept are still there for this run.
                                let products = &mut locked(stash).products;
                                products.insert(record.recipe, Arc::clone(&outputs));
                            }
                        }
                        Err(error) => trouble = trouble.or(Some(error)),
                    }
                    // Nobody else submits, so the number of the ticket is known beforehand.
                    locked(&tickets).insert(next_ticket, (lease, record.recipe));
                    let objects = objects.into_iter().map(|(_, object)| object).collect();
                    next_ticket = writer.submit(Pending { record, objects }) + 1;
                }
                let error = trouble.clone().or_else(|| writer.failed());
                if error.is_some() {
                    // What was not kept is never acknowledged.
                    locked(&tickets).clear();
                    locked(stash).on_their_way.clear();
                }
                backlog.leave(memory(&outputs), error);
            }
            Order::Known(pending, mut made) => {
                if made.again {
                    note_restored(&*store, &pending.record, stash);
                }
                locked(&tickets).insert(next_ticket, (made.lease.take(), pending.record.recipe));
                next_ticket = writer.submit(*pending) + 1;
                if let Some(error) = writer.failed() {
                    locked(&tickets).clear();
                    trouble = trouble.or(Some(error));
                }
            }
            Order::Alias(alias) => next_ticket = writer.alias(alias) + 1,
            Order::Pass(reply) => {
                let _ = reply.send(());
            }
            Order::GoOn(reply) => {
                let flush = || {
                    let _ = writer.flush();
                };
                let may_go_on = thrift.may_go_on(&flush);
                if may_go_on {
                    locked(stash).waits = false;
                }
                let _ = reply.send(may_go_on);
            }
            Order::Flush(reply) => {
                let flushed = writer.flush().map_err(|error| error.to_string());
                let _ = reply.send(match &trouble {
                    Some(error) => Err(error.clone()),
                    None => flushed,
                });
            }
        }
    }
    let closed = writer.close().map_err(|error| error.to_string());
    if locked(stash).is_put_off {
        // Who was stopped does not wait, and has not made it again.
        let error = "an output found no room under --disk beside what other runs hold".to_owned();
        trouble = trouble.or(Some(error));
    }
    let over = thrift.close();
    match trouble {
        Some(error) => Err(error),
        None => {
            locked(stash).notes.extend(over);
            closed
        }
    }
}

/// Writes the outputs into the record; gives the objects that they consist of, each with the position of its
/// output. `None` if a file is gone.
fn stored_outputs(
    record: &mut ProductRecord,
    outputs: &Outputs,
    ports: &[Port],
    made: &Made,
    store: &dyn Store,
) -> Option<Vec<(usize, PendingObject)>> {
    let mut all = Vec::new();
    let mut objects = Vec::new();
    for (position, (port, value)) in ports.iter().zip(outputs).enumerate() {
        let digest = match made.contents.get(position) {
            Some(Identity::Value(digest)) => *digest,
            _ => value_digest(value),
        };
        let output = stored(value, digest, store, &mut objects)?;
        record.outputs.push((Arc::clone(&port.name), output));
        all.extend(objects.drain(..).map(|object| (position, object)));
    }
    Some(all)
}

/// What the record says of a value; the objects that it consists of are appended. `None` if a file is gone.
fn stored(
    value: &Value,
    digest: Digest,
    store: &dyn Store,
    objects: &mut Vec<PendingObject>,
) -> Option<StoredOutput> {
    collect_objects(value, store, objects)?;
    let output = StoredOutput::of(value, digest);
    if output.encoding.is_some() {
        objects.push(PendingObject {
            digest,
            source: ObjectSource::Encoding(value.clone()),
        });
    }
    Some(output)
}

fn collect_objects(
    value: &Value,
    store: &dyn Store,
    objects: &mut Vec<PendingObject>,
) -> Option<()> {
    let source = |file: &FileValue| {
        Some(Some(match &file.handle {
            Handle::Path(path) if store.is_staged(path) => {
                // One that somebody has written to since is not what was made, and is refused where it is placed.
                let looked = Proven::here().take(path, &file.digest)?;
                ObjectSource::Digested(path.to_path_buf(), looked)
            }
            Handle::Path(path) if store.is_object(path) => return Some(None),
            // Somebody else's file: it is copied, never linked. One that is gone or another by now leaves
            // the product unkept.
            Handle::Path(path) => {
                let bytes = std::fs::read(path).ok()?;
                (Digest::of(&bytes) == file.digest).then_some(ObjectSource::Bytes(bytes))?
            }
            // Nobody knows what is in it, so there is no digest to keep it under. Tasks look into what they
            // pass on, so none comes here.
            Handle::Named { .. } => return None,
            Handle::Memory(bytes) => ObjectSource::Bytes(bytes.to_vec()),
            // It is in the store already.
            Handle::Stored => return Some(None),
        }))
    };
    let mut whole = Some(());
    value.for_each_file(&mut |file| match source(file) {
        Some(Some(source)) => objects.push(PendingObject {
            digest: file.digest,
            source,
        }),
        Some(None) => {}
        None => whole = None,
    });
    whole
}

impl Recall for StoreKeeper {
    fn known(&mut self, graph: &TaskGraph, tasks: &[TaskId]) -> Vec<bool> {
        if std::mem::take(&mut self.is_foreseen) && self.processor_times.len() == tasks.len() {
            return self.processor_times.iter().map(Option::is_some).collect();
        }
        // Implicit and impure tasks are not remembered; asking would only cost time.
        let asked = |task: &TaskId| {
            let signature = &graph.operation_at(*task).signature;
            signature.pure && !signature.implicit
        };
        let recipes: Vec<Recipe> = tasks
            .iter()
            .filter(|task| asked(task))
            .map(|task| graph.recipe(*task))
            .collect();
        // A store that cannot be read remembers nothing.
        let mut known = self
            .store
            .times(&recipes)
            .unwrap_or_else(|_| vec![None; recipes.len()])
            .into_iter();
        let times = tasks.iter().map(|task| {
            if asked(task) {
                known.next().flatten().map(|times| times.cpu)
            } else {
                None
            }
        });
        self.processor_times = times.collect();
        self.processor_times.iter().map(Option::is_some).collect()
    }

    fn outputs(&mut self, _: &TaskGraph, _: TaskId, recipe: &Recipe) -> Option<Outputs> {
        self.eager_fetcher().described(recipe)
    }

    fn equal(&mut self, graph: &TaskGraph, task: TaskId, target: &Recipe) {
        let recipe = graph.recipe(task);
        if self.read_only {
            locked(&self.stash).aliases.insert(recipe, *target);
            return;
        }
        let alias = Alias {
            recipe,
            target: *target,
            run: Arc::clone(&self.run),
            time: crate::identifier::now(),
        };
        // A thread that is gone is told of by the next product.
        if let Some(sender) = &self.sender {
            let _ = sender.send(Order::Alias(alias));
        }
    }
}

/// Whether there are outputs that were asked for by name, and none that is a file: files are where the store has them.
fn is_wanted_whole(outputs: &Outputs, wanted: &Ports) -> bool {
    let mut has_files = false;
    for value in outputs {
        value.for_each_file(&mut |_| has_files = true);
    }
    !has_files && (0..outputs.len()).any(|port| wanted.has(port))
}

impl Keeper for StoreKeeper {
    fn keep(
        &mut self,
        graph: &TaskGraph,
        execution: &Execution,
        outputs: &Arc<Outputs>,
        made: Made,
    ) -> Result<(), KeeperError> {
        let task = execution.task;
        if self.read_only {
            let products = &mut locked(&self.stash).products;
            products.insert(graph.recipe(task), Arc::clone(outputs));
            return Ok(());
        }
        if self.holds_wanted && is_wanted_whole(outputs, &made.wanted) {
            let products = &mut locked(&self.stash).products;
            products.insert(graph.recipe(task), Arc::clone(outputs));
        }
        let record = self.record(graph, execution, &made);
        let ports = self.ports(graph, task);
        self.backlog.enter(memory(outputs))?;
        let sender = self.sender.as_ref().ok_or(KeeperError::Closed)?;
        sender
            .send(Order::Keep(Box::new(Message {
                record,
                outputs: Arc::clone(outputs),
                ports,
                made,
            })))
            .map_err(|_| {
                self.backlog.leave(memory(outputs), None);
                KeeperError::Stopped
            })
    }

    fn keep_made(
        &mut self,
        graph: &TaskGraph,
        execution: &Execution,
        outputs: &[StoredOutput],
        placed_objects: Vec<(Digest, PathBuf)>,
        made: Made,
    ) -> Result<(), KeeperError> {
        if self.read_only {
            return Ok(());
        }
        let mut record = self.record(graph, execution, &made);
        let ports = self.ports(graph, execution.task);
        let names = ports.iter().map(|port| Arc::clone(&port.name));
        record.outputs = names.zip(outputs.iter().cloned()).collect();
        let placed = |(digest, path)| PendingObject {
            digest,
            source: ObjectSource::Staged(path),
        };
        let objects = placed_objects.into_iter().map(placed).collect();
        let sender = self.sender.as_ref().ok_or(KeeperError::Closed)?;
        let order = Order::Known(Box::new(Pending { record, objects }), made);
        sender.send(order).map_err(|_| KeeperError::Stopped)
    }

    fn fetcher(&self) -> Arc<dyn Fetch> {
        Arc::new(self.eager_fetcher())
    }
}
