//! Between the engine and the store: products go in, products come back.
//!
//! Law: a product is looked up before its task runs and handed to the store when it has run; the engine
//! never waits for a disk, except to bring something back.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

use headwater_enact::Recall;
use headwater_execute::{Execution, Fetch, Keeper, KeeperError};
use headwater_graph::{
    Digest, FileValue, Handle, Identity, Known, Objects, Outputs, ProductRecord, ReadFile, Recipe,
    Records, Source, StoredOutput, TaskGraph, TaskId, Value, decode, encode, value_digest,
};
use headwater_remember::{ObjectSource, Pending, PendingObject, Store, Writer};

/// Values up to this size live in the record.
const INLINE: usize = 16 * 1024;

/// A product on its way: the record without its outputs, and the outputs.
type Message = (ProductRecord, Arc<Outputs>, Arc<[Arc<str>]>);

enum Order {
    Keep(Box<Message>),
    Flush(mpsc::Sender<Result<(), String>>),
}

/// Products of a run that may not write to its store.
type Stash = Arc<Mutex<HashMap<Recipe, Arc<Outputs>>>>;

/// At most so many bytes of values wait to be written; the engine waits for the disk beyond that.
const BACKLOG: u64 = 256 << 20;

/// What is on its way to the store, and what became of it.
#[derive(Debug, Default)]
struct Backlog {
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
                return Err(KeeperError(error.clone()));
            }
            if state.bytes == 0 || state.bytes + bytes <= BACKLOG {
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
    store: Arc<Store>,
    backlog: Arc<Backlog>,
    run: Arc<str>,
    sender: Option<mpsc::SyncSender<Order>>,
    thread: Option<JoinHandle<Result<(), String>>>,
    read_only: bool,
    /// What was made while the store may not be written to.
    stash: Stash,
    /// Names of the outputs, by operation.
    ports: Vec<Option<Arc<[Arc<str>]>>>,
    time: i64,
}

impl StoreKeeper {
    /// Keeps the products of `run` in `store`.
    pub fn new(store: Arc<Store>, run: &str) -> StoreKeeper {
        let read_only = store.mode() == headwater_remember::Mode::ReadOnly;
        let (sender, receiver) = mpsc::sync_channel::<Order>(4096);
        let own = Arc::clone(&store);
        let backlog = Arc::new(Backlog::default());
        let shared = Arc::clone(&backlog);
        let thread = std::thread::Builder::new().name("headwater-keeper".to_owned());
        let thread = thread
            .spawn(move || keep_all(own, &receiver, read_only, &shared))
            .ok();
        StoreKeeper {
            store,
            backlog,
            run: run.into(),
            sender: Some(sender),
            thread,
            read_only,
            stash: Stash::default(),
            ports: Vec::new(),
            time: crate::identifier::now(),
        }
    }

    /// Waits until everything is durable.
    pub fn close(mut self) -> Result<(), KeeperError> {
        drop(self.sender.take());
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(KeeperError(error)),
            Some(Err(_)) | None => Err(KeeperError(
                "the thread that keeps products is gone".to_owned(),
            )),
        }
    }

    /// Brings back what is durable, or stashed; it does not keep the keeper from closing.
    pub(crate) fn resting_fetcher(&self) -> StoreFetcher {
        StoreFetcher {
            store: Arc::clone(&self.store),
            sender: None,
            stash: Arc::clone(&self.stash),
        }
    }

    fn port_names(&mut self, graph: &TaskGraph, task: TaskId) -> Arc<[Arc<str>]> {
        let position = graph.operation_index(task) as usize;
        if self.ports.len() <= position {
            self.ports.resize(position + 1, None);
        }
        let names = || {
            graph
                .operation_at(task)
                .signature
                .outputs
                .iter()
                .map(|port| Arc::clone(&port.name))
                .collect()
        };
        Arc::clone(self.ports[position].get_or_insert_with(names))
    }
}

fn keep_all(
    store: Arc<Store>,
    receiver: &mpsc::Receiver<Order>,
    read_only: bool,
    backlog: &Backlog,
) -> Result<(), String> {
    if read_only {
        for order in receiver {
            if let Order::Flush(reply) = order {
                let _ = reply.send(Ok(()));
            }
        }
        return Ok(());
    }
    let places = Places {
        objects: store.root().join("objects"),
        staging: store.root().join("staging"),
    };
    let writer = Writer::start(store, Box::new(|_| {}));
    for order in receiver {
        match order {
            Order::Keep(message) => {
                let (mut record, outputs, ports) = *message;
                let mut objects = Vec::new();
                let kept: Option<Vec<_>> = ports
                    .iter()
                    .zip(outputs.iter())
                    .map(|(port, value)| {
                        Some((Arc::clone(port), stored(value, &places, &mut objects)?))
                    })
                    .collect();
                if let Some(kept) = kept {
                    record.outputs = kept;
                    writer.submit(Pending { record, objects });
                }
                backlog.leave(memory(&outputs), writer.failed());
            }
            Order::Flush(reply) => {
                let _ = reply.send(writer.flush().map_err(|error| error.to_string()));
            }
        }
    }
    writer.close().map_err(|error| error.to_string())
}

/// What the record says of a value; the objects that it consists of are appended. `None` if a file is gone.
fn stored(
    value: &Value,
    places: &Places,
    objects: &mut Vec<PendingObject>,
) -> Option<StoredOutput> {
    collect_objects(value, places, objects)?;
    let encoding = encode(value);
    let size = match value {
        Value::File(file) => file.size,
        Value::Directory(directory) => directory.entries.iter().map(|entry| entry.file.size).sum(),
        _ => encoding.len() as u64,
    };
    let digest = value_digest(value);
    if encoding.len() <= INLINE {
        return Some(StoredOutput {
            digest,
            size,
            inline: Some(encoding.into()),
            encoding: None,
        });
    }
    let name = Digest::of(&encoding);
    objects.push(PendingObject {
        digest: name,
        source: ObjectSource::Bytes(encoding),
    });
    Some(StoredOutput {
        digest,
        size,
        inline: None,
        encoding: Some(name),
    })
}

/// Which files belong to the store.
struct Places {
    objects: PathBuf,
    staging: PathBuf,
}

fn collect_objects(value: &Value, places: &Places, objects: &mut Vec<PendingObject>) -> Option<()> {
    let source = |file: &FileValue| {
        Some(Some(match &file.handle {
            Handle::Path(path) if path.starts_with(&places.staging) => {
                // One that somebody has written to since is not what was made.
                let size = std::fs::metadata(path).ok()?.len();
                (size == file.size).then(|| ObjectSource::Staged(path.to_path_buf()))?
            }
            Handle::Path(path) if path.starts_with(&places.objects) => return Some(None),
            // Somebody else's file: it is copied, never linked. One that is gone or another by now leaves
            // the product unkept.
            Handle::Path(path) => {
                let bytes = std::fs::read(path).ok()?;
                (Digest::of(&bytes) == file.digest).then_some(ObjectSource::Bytes(bytes))?
            }
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

/// An identity as text, for the record.
pub(crate) fn identity_text(identity: &Identity) -> String {
    match identity {
        Identity::File(digest) => format!("file:{digest}"),
        Identity::Directory(digest) => format!("directory:{digest}"),
        Identity::Value(digest) => format!("value:{digest}"),
        Identity::Name(name) => format!("name:{name}"),
    }
}

/// A source as text, for the record.
fn describe(graph: &TaskGraph, source: &Source) -> String {
    match source {
        Source::Product { task, port } => {
            let signature = &graph.operation_at(*task).signature;
            let output = &signature.outputs[usize::from(*port)].name;
            if !signature.implicit {
                return format!("{}:{output}", graph.recipe(*task).hex());
            }
            // It has no record: what it reads stands here.
            let parameters = signature.parameters.iter().zip(graph.parameters(*task));
            let parameters =
                parameters.map(|(declared, value)| format!("{}={value}", declared.name));
            let inputs = graph.inputs(*task).iter().map(|(port, source)| {
                let port = &signature.inputs[usize::from(*port)].name;
                format!("{port}={}", describe(graph, source))
            });
            let fields: Vec<String> = parameters.chain(inputs).collect();
            format!("{}({}):{output}", signature.name, fields.join(", "))
        }
        Source::External(position) => identity_text(&graph.external_at(*position).identity),
        Source::List(sources) => {
            let parts: Vec<String> = sources
                .iter()
                .map(|source| describe(graph, source))
                .collect();
            format!("[{}]", parts.join(", "))
        }
        Source::Record(fields) => {
            let parts: Vec<String> = fields
                .iter()
                .map(|(key, source)| format!("{key}={}", describe(graph, source)))
                .collect();
            format!("{{{}}}", parts.join(", "))
        }
    }
}

impl Recall for StoreKeeper {
    fn known(&mut self, graph: &TaskGraph, tasks: &[TaskId]) -> Vec<bool> {
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
            .known(&recipes)
            .unwrap_or_else(|_| vec![None; recipes.len()])
            .into_iter();
        tasks
            .iter()
            .map(|task| asked(task) && known.next().flatten().is_some())
            .collect()
    }

    fn outputs(&mut self, graph: &TaskGraph, task: TaskId) -> Option<Outputs> {
        self.fetcher().fetch(&graph.recipe(task))
    }
}

impl Keeper for StoreKeeper {
    fn keep(
        &mut self,
        graph: &TaskGraph,
        execution: &Execution,
        outputs: &Arc<Outputs>,
    ) -> Result<(), KeeperError> {
        let task = execution.task;
        if self.read_only {
            locked(&self.stash).insert(graph.recipe(task), Arc::clone(outputs));
            return Ok(());
        }
        let signature = &graph.operation_at(task).signature;
        let nanoseconds =
            |duration: std::time::Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let record = ProductRecord {
            recipe: graph.recipe(task),
            content: None,
            operation: Arc::clone(&signature.name),
            version: Arc::clone(&signature.version),
            parameters: signature
                .parameters
                .iter()
                .zip(graph.parameters(task))
                .map(|(declared, value)| (Arc::clone(&declared.name), value.clone()))
                .collect(),
            inputs: graph
                .inputs(task)
                .iter()
                .map(|(port, source)| {
                    (
                        Arc::clone(&signature.inputs[usize::from(*port)].name),
                        describe(graph, source),
                    )
                })
                .collect(),
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
        };
        let ports = self.port_names(graph, task);
        self.backlog.enter(memory(outputs))?;
        let sender = self
            .sender
            .as_ref()
            .ok_or_else(|| KeeperError("closed".to_owned()))?;
        sender
            .send(Order::Keep(Box::new((record, Arc::clone(outputs), ports))))
            .map_err(|_| {
                KeeperError(
                    "the thread that keeps products has stopped; is the disk full?".to_owned(),
                )
            })
    }

    fn fetcher(&self) -> Arc<dyn Fetch> {
        Arc::new(StoreFetcher {
            sender: self.sender.clone(),
            ..self.resting_fetcher()
        })
    }
}

/// Brings products back from a store.
#[derive(Clone)]
pub(crate) struct StoreFetcher {
    store: Arc<Store>,
    sender: Option<mpsc::SyncSender<Order>>,
    stash: Stash,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StoreFetcher {
    fn record(&self, recipe: &Recipe) -> Option<ProductRecord> {
        self.store.fetch(std::slice::from_ref(recipe)).ok()?.pop()?
    }

    fn value(&self, output: &StoredOutput) -> Option<Value> {
        let value = match (&output.inline, &output.encoding) {
            (Some(bytes), _) => decode(bytes).ok()?,
            (None, Some(digest)) => decode(&self.store.read(digest).ok()?).ok()?,
            (None, None) => return None,
        };
        self.located(value)
    }

    /// The value with the places of its files; `None` if one of them is gone.
    fn located(&self, value: Value) -> Option<Value> {
        let file = |file: &FileValue| {
            let path = self.store.path(&file.digest)?;
            Some(FileValue {
                handle: Handle::Path(path.into()),
                ..file.clone()
            })
        };
        Some(match value {
            Value::File(found) => Value::File(Arc::new(file(&found)?)),
            Value::Directory(directory) => {
                let entries: Option<Vec<_>> = directory
                    .entries
                    .iter()
                    .map(|entry| {
                        let file = file(&entry.file)?;
                        Some(headwater_graph::DirectoryEntry {
                            path: Arc::clone(&entry.path),
                            executable: entry.executable,
                            file,
                        })
                    })
                    .collect();
                Value::Directory(headwater_graph::DirectoryValue {
                    entries: entries?.into(),
                    path: None,
                })
            }
            Value::List(items) => {
                let items: Option<Vec<Value>> = items
                    .iter()
                    .map(|item| self.located(item.clone()))
                    .collect();
                Value::List(items?.into())
            }
            Value::Record(fields) => {
                let fields: Option<_> = fields
                    .iter()
                    .map(|(name, field)| Some((Arc::clone(name), self.located(field.clone())?)))
                    .collect();
                Value::Record(Arc::new(fields?))
            }
            other => other,
        })
    }
}

impl Fetch for StoreFetcher {
    fn fetch(&self, recipe: &Recipe) -> Option<Outputs> {
        if let Some(outputs) = locked(&self.stash).get(recipe) {
            return Some(outputs.to_vec());
        }
        let record = self.record(recipe).or_else(|| {
            // It may still be on its way.
            let (sender, receiver) = mpsc::channel();
            self.sender.as_ref()?.send(Order::Flush(sender)).ok()?;
            // Another product may be in trouble; this one may be there all the same.
            let _: Result<(), String> = receiver.recv().ok()?;
            self.record(recipe)
        })?;
        record
            .outputs
            .iter()
            .map(|(_, output)| self.value(output))
            .collect()
    }
}

impl ReadFile for StoreFetcher {
    fn read_file(&self, file: &FileValue) -> Result<Vec<u8>, headwater_graph::OperationError> {
        match &file.handle {
            Handle::Stored => self
                .store
                .read(&file.digest)
                .map_err(|error| headwater_graph::OperationError::Failed(error.to_string())),
            _ => headwater_execute::PlainFiles.read_file(file),
        }
    }
}
