//! The work of a node: units come in, are provided with what they read, run, and what became of each task goes out.
//!
//! Law: units are begun in the order in which they came, as far as there are cores for them and their inputs are here. Bytes
//! for the next unit come while others run. What a task reads was compared with its digest; what it makes stays here until
//! the manager says that nobody wants it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use headwater_execute::{
    Fetch, Fetched, Folders, Hand, Order, PlainFiles, Ports, Stop, Watched, inputs_of, version_said,
};
use headwater_graph::{
    CommandTemplate, Digest, Failure, FailureKind, FileValue, Handle, Identity, Kind, Operation,
    OperationError, Outputs, PartError, Rates, ReadFile, ReadSeek, Recipe, Registry, StoredOutput,
    TaskId, Value, VersionSource, decode,
};

use crate::message::{Assignment, MadeObject, MadeTask, RanFor, ToManager};
use crate::objects::Puller;
use crate::shelf::{Bytes, Shelf, Shelved};

/// Encodings up to this size may be lists of files.
const LIST: u64 = 4 << 20;
/// Threads that have bytes come.
const FETCHERS: usize = 2;

/// A unit and the versions of its life here.
struct Job {
    assignment: Assignment,
}

#[derive(Default)]
struct Queue {
    /// Units whose inputs may have to come.
    arrived: VecDeque<Job>,
    /// Units that are being provided for.
    fetching: HashSet<u64>,
    /// Those of them that were asked back meanwhile.
    asked_back: HashSet<u64>,
    ready: VecDeque<Job>,
    free: u64,
    closed: bool,
    /// Units of an earlier connection mean nothing to a later one.
    life: u64,
}

/// What all threads of a node share.
pub(crate) struct Desk {
    queue: Mutex<Queue>,
    wake: Condvar,
    pub(crate) shelf: Arc<Shelf>,
    puller: Mutex<Arc<Puller>>,
    libraries: Arc<Registry>,
    hand: Hand,
    folders: Folders,
    stop: Stop,
    /// The node's own folder.
    scratch: PathBuf,
    /// A folder that the manager sees, too.
    shared: Mutex<Option<PathBuf>>,
    rates: Mutex<Option<Rates>>,
    out: Mutex<Option<mpsc::Sender<ToManager>>>,
    placed: AtomicU64,
    /// Programs whose version was looked at: what is wrong with it, if something is.
    versions: Mutex<HashMap<Arc<str>, Option<String>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of outputs that were put on the shelf.
#[derive(Default)]
struct Kept {
    outputs: Vec<StoredOutput>,
    contents: Vec<Identity>,
    objects: Vec<MadeObject>,
}

/// Gets at files that are on the shelf.
pub(crate) struct Files(pub(crate) Arc<Shelf>);

impl Files {
    fn located(&self, file: &FileValue) -> Option<FileValue> {
        let handle = match &file.handle {
            Handle::Stored => Handle::Path(self.0.path(&file.digest)?),
            other => other.clone(),
        };
        Some(FileValue {
            handle,
            ..file.clone()
        })
    }

    fn missing(file: &FileValue) -> OperationError {
        OperationError::Failed(format!("file {} is not on this node", file.digest.short()))
    }
}

impl ReadFile for Files {
    fn read_file(&self, file: &FileValue) -> Result<Vec<u8>, OperationError> {
        if let (Handle::Stored, Some(owner)) = (&file.handle, self.0.owner(&file.digest)) {
            return Ok((*owner).as_ref().to_vec());
        }
        PlainFiles.read_file(&self.located(file).ok_or_else(|| Files::missing(file))?)
    }

    fn open_file(&self, file: &FileValue) -> Result<Box<dyn ReadSeek>, OperationError> {
        PlainFiles.open_file(&self.located(file).ok_or_else(|| Files::missing(file))?)
    }
}

impl Fetch for Files {
    fn fetch(&self, _: &Recipe, _: &Ports) -> Option<Fetched> {
        None
    }

    fn brought(&self, value: Value) -> Option<Value> {
        value.with_files(&mut |file| self.located(file))
    }
}

impl Desk {
    pub(crate) fn new(
        scratch: &Path,
        folders: &Folders,
        shelf: Arc<Shelf>,
        puller: Arc<Puller>,
        libraries: Arc<Registry>,
        cores: u64,
        stop: &Stop,
    ) -> Desk {
        let files = Arc::new(Files(Arc::clone(&shelf)));
        let reader: Arc<dyn ReadFile> = Arc::clone(&files) as Arc<dyn ReadFile>;
        Desk {
            queue: Mutex::new(Queue {
                free: cores,
                ..Queue::default()
            }),
            wake: Condvar::new(),
            shelf,
            puller: Mutex::new(puller),
            libraries,
            hand: Hand::new(folders, Arc::default(), stop, reader, files),
            folders: folders.clone(),
            stop: stop.clone(),
            scratch: scratch.to_path_buf(),
            shared: Mutex::default(),
            rates: Mutex::default(),
            out: Mutex::default(),
            placed: AtomicU64::new(0),
            versions: Mutex::default(),
        }
    }

    /// The manager has taken this node into its crew.
    pub(crate) fn joined(
        &self,
        out: mpsc::Sender<ToManager>,
        puller: Arc<Puller>,
        shared: Option<PathBuf>,
        rates: Option<Rates>,
    ) {
        *locked(&self.out) = Some(out);
        *locked(&self.puller) = puller;
        *locked(&self.shared) = shared;
        *locked(&self.rates) = rates;
    }

    /// The connection to the manager is gone: what has not begun is not done, and nobody hears of what ends.
    pub(crate) fn left(&self) {
        *locked(&self.out) = None;
        let mut queue = locked(&self.queue);
        queue.life += 1;
        queue.arrived.clear();
        queue.ready.clear();
    }

    fn say(&self, message: ToManager) {
        if let Some(out) = &*locked(&self.out) {
            // A connection that is gone is noticed by whoever reads it.
            let _ = out.send(message);
        }
    }

    /// Takes in a unit.
    pub(crate) fn arrived(&self, assignment: Assignment) {
        let is_complete = self.lacks(&assignment).is_empty();
        let mut queue = locked(&self.queue);
        let job = Job { assignment };
        if is_complete {
            queue.ready.push_back(job);
        } else {
            queue.arrived.push_back(job);
        }
        self.wake.notify_all();
    }

    /// Gives a unit back, if it has not begun.
    pub(crate) fn retract(&self, unit: u64) {
        let mut queue = locked(&self.queue);
        let is_it = |job: &Job| job.assignment.unit == unit;
        let Queue { arrived, ready, .. } = &mut *queue;
        for jobs in [arrived, ready] {
            if let Some(place) = jobs.iter().position(is_it) {
                jobs.remove(place);
                return self.say(ToManager::Returned(unit));
            }
        }
        if queue.fetching.contains(&unit) {
            queue.asked_back.insert(unit);
        }
    }

    /// Ends the threads when what they are at has ended.
    pub(crate) fn close(&self) {
        locked(&self.queue).closed = true;
        self.wake.notify_all();
    }

    /// Works until the desk is closed.
    pub(crate) fn work(&self, cores: u64) {
        std::thread::scope(|scope| {
            for _ in 0..FETCHERS {
                scope.spawn(|| self.fetch_all());
            }
            for _ in 1..cores.max(1) {
                scope.spawn(|| self.run_all(cores));
            }
            self.run_all(cores);
        });
        self.hand.clean_up();
    }

    fn wait<'a>(&self, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        self.wake
            .wait(queue)
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn fetch_all(&self) {
        let mut queue = locked(&self.queue);
        loop {
            if queue.closed {
                return;
            }
            let Some(job) = queue.arrived.pop_front() else {
                queue = self.wait(queue);
                continue;
            };
            let unit = job.assignment.unit;
            let life = queue.life;
            queue.fetching.insert(unit);
            drop(queue);
            let missing = self.provide(&job.assignment);
            queue = locked(&self.queue);
            queue.fetching.remove(&unit);
            let asked_back = queue.asked_back.remove(&unit);
            if queue.life != life {
                continue;
            }
            if !missing.is_empty() {
                self.say(ToManager::Missing {
                    unit,
                    digests: missing,
                });
            } else if asked_back {
                self.say(ToManager::Returned(unit));
            } else {
                queue.ready.push_back(job);
                self.wake.notify_all();
            }
        }
    }

    /// Digests that a unit needs and that are not here, as far as that is known.
    fn lacks(&self, assignment: &Assignment) -> Vec<Digest> {
        let mut lacks = Vec::new();
        let mut need = |digest: &Digest| {
            if !self.shelf.has(digest) {
                lacks.push(*digest);
            }
        };
        for given in assignment.part.given() {
            match (&given.output.encoding, &given.output.inline) {
                (Some(encoding), _) => need(encoding),
                (None, Some(bytes)) => {
                    // Most values are no files, and that shows without decoding them.
                    if let Ok(value) = decode(bytes) {
                        value.for_each_file(&mut |file| need(&file.digest));
                    }
                }
                (None, None) => {}
            }
            if given.output.encoding.is_some() && given.output.size <= LIST {
                for digest in self.files_of(&given.output) {
                    need(&digest);
                }
            }
        }
        for operation in assignment.part.operations() {
            operation
                .used_files()
                .iter()
                .for_each(|file| need(&file.digest));
        }
        lacks
    }

    /// The files in an encoding that is here.
    fn files_of(&self, output: &StoredOutput) -> Vec<Digest> {
        let mut digests = Vec::new();
        let owner = output
            .encoding
            .as_ref()
            .and_then(|encoding| self.shelf.owner(encoding));
        if let Some(value) = owner.and_then(|owner| decode((*owner).as_ref()).ok()) {
            value.for_each_file(&mut |file| digests.push(file.digest));
        }
        digests
    }

    /// Has everything come that a unit needs. Gives what cannot be had.
    fn provide(&self, assignment: &Assignment) -> Vec<Digest> {
        let puller = Arc::clone(&locked(&self.puller));
        // What is in a list is known when the list is here.
        for _ in 0..2 {
            let lacks = self.lacks(assignment);
            let missing: Vec<Digest> = lacks
                .into_iter()
                .filter(|digest| !puller.bring(digest, &self.shelf))
                .collect();
            if !missing.is_empty() {
                return missing;
            }
        }
        Vec::new()
    }

    fn run_all(&self, cores: u64) {
        let mut queue = locked(&self.queue);
        loop {
            if queue.closed {
                return;
            }
            let free = queue.free;
            let fits = |job: &Job| job.assignment.cores.clamp(1, cores) <= free;
            // One that needs many cores is not overtaken for ever.
            let Some(job) = queue
                .ready
                .front()
                .is_some_and(fits)
                .then(|| queue.ready.pop_front())
            else {
                queue = self.wait(queue);
                continue;
            };
            let Some(job) = job else {
                continue;
            };
            let taken = job.assignment.cores.clamp(1, cores);
            queue.free -= taken;
            drop(queue);
            self.run(&job.assignment);
            queue = locked(&self.queue);
            queue.free += taken;
            self.wake.notify_all();
        }
    }

    fn run(&self, assignment: &Assignment) {
        let unit = assignment.unit;
        let graph = assignment.part.graph(
            &self.libraries,
            &mut |operation| self.program(operation),
            &mut |given| self.shelf.value(&given.output),
        );
        let graph = match graph {
            Ok(graph) => graph,
            Err(PartError::Missing(_)) => {
                let digests = self.lacks(assignment);
                return self.say(ToManager::Missing { unit, digests });
            }
            Err(error) => {
                let reason = error.to_string();
                return self.say(ToManager::Declined { unit, reason });
            }
        };
        let own = match self.own_hand(assignment) {
            Ok(own) => own,
            Err(digests) => return self.say(ToManager::Missing { unit, digests }),
        };
        let hand = own.as_ref().unwrap_or(&self.hand);
        let mut made: Vec<Option<Arc<Outputs>>> = vec![None; graph.len()];
        for task in graph.ids() {
            let place = task.index();
            let product = |task: TaskId, port: u16| {
                let outputs: &Arc<Outputs> = made[task.index()].as_ref()?;
                outputs.get(usize::from(port)).cloned()
            };
            // What reads a task that failed is not run.
            let Some(inputs) = inputs_of(&graph, task, &product) else {
                continue;
            };
            let operation = graph.operation_at(task);
            let recipe = graph.recipe(task);
            let order = Order {
                operation,
                recipe: &recipe,
                inputs,
                parameters: graph.parameters(task),
                timeout: assignment.timeouts.get(place).copied().flatten(),
            };
            let ran = hand.run(order, &|| ());
            let time = RanFor {
                elapsed: ran.elapsed,
                usage: ran.usage,
                ago: Duration::ZERO,
            };
            let wanted = assignment.wanted.get(place).map_or(&[][..], Vec::as_slice);
            let ended = match ran.result {
                Ok(outputs) => self
                    .keep(operation, &outputs, wanted, ran.elapsed)
                    .inspect(|_| made[place] = Some(Arc::new(outputs))),
                Err(Some(failure)) => Err(failure),
                Err(None) => Err(Failure::new(
                    FailureKind::Input,
                    "what it reads was changed on its node".to_owned(),
                )),
            };
            let place = place as u32;
            self.say(match ended {
                Ok(Kept {
                    outputs,
                    contents,
                    objects,
                }) => ToManager::Made(Box::new(MadeTask {
                    unit,
                    task: place,
                    ran: time,
                    outputs,
                    contents,
                    objects,
                })),
                Err(failure) => ToManager::Failed {
                    unit,
                    task: place,
                    ran: time,
                    failure: Box::new(failure),
                },
            });
        }
        if let Some(own) = &own {
            own.clean_up();
        }
        self.say(ToManager::Ended(unit));
    }

    /// What runs a unit that reads files of the user, which have the mode that they have where they come from; `None` where it
    /// reads none. An error names those that cannot be had so.
    fn own_hand(&self, assignment: &Assignment) -> Result<Option<Hand>, Vec<Digest>> {
        if assignment.modes.is_empty() {
            return Ok(None);
        }
        let mut watched = Watched::default();
        for (digest, mode) in &assignment.modes {
            let path = self.shelf.path_with_mode(digest, *mode);
            let path = path.ok_or_else(|| vec![*digest])?;
            watched.add(&Value::File(Arc::new(FileValue {
                digest: *digest,
                size: fs::metadata(&path).map_or(0, |found| found.len()),
                name: None,
                executable: false,
                handle: Handle::Path(path),
            })));
        }
        let mut folders = self.folders.clone();
        folders.work.push(assignment.unit.to_string());
        let files = Arc::new(Files(Arc::clone(&self.shelf)));
        let reader: Arc<dyn ReadFile> = Arc::clone(&files) as Arc<dyn ReadFile>;
        Ok(Some(Hand::new(
            &folders,
            Arc::new(watched),
            &self.stop,
            reader,
            files,
        )))
    }

    /// A program as it is here: the files that it uses are on the shelf, and its version is the one that is wanted.
    fn program(&self, mut operation: Operation) -> Result<Operation, PartError> {
        let name = Arc::clone(&operation.signature.name);
        let Kind::Command(template) = &mut operation.kind else {
            return Ok(operation);
        };
        if !template.used_files.is_empty() {
            let template = Arc::make_mut(template);
            for file in &mut template.used_files {
                let path = self.shelf.path(&file.digest);
                file.path = path.ok_or_else(|| PartError::Missing(Arc::clone(&name)))?;
            }
        }
        let wrong = self.version_trouble(&operation.signature.version, || {
            version_of(template, &operation.signature, &self.scratch)
        });
        match wrong {
            None => Ok(operation),
            Some(here) => Err(PartError::Version {
                name,
                here: here.into(),
                there: Arc::clone(&operation.signature.version),
            }),
        }
    }

    fn version_trouble(
        &self,
        wanted: &Arc<str>,
        version: impl FnOnce() -> Option<Result<Arc<str>, String>>,
    ) -> Option<String> {
        if let Some(known) = locked(&self.versions).get(wanted) {
            return known.clone();
        }
        let trouble = match version() {
            None => None,
            Some(Ok(here)) if here == *wanted => None,
            Some(Ok(here)) => Some(here.to_string()),
            Some(Err(reason)) => Some(format!("none, its version command {reason}")),
        };
        locked(&self.versions).insert(Arc::clone(wanted), trouble.clone());
        trouble
    }

    /// Puts outputs on the shelf, and those that are wanted or worth it into the folder that the manager sees.
    fn keep(
        &self,
        operation: &Operation,
        outputs: &Outputs,
        wanted: &[u16],
        elapsed: Duration,
    ) -> Result<Kept, Failure> {
        let signature = &operation.signature;
        let rates = *locked(&self.rates);
        let shared = locked(&self.shared).clone();
        let mut kept = Kept::default();
        for (position, (port, value)) in signature.outputs.iter().zip(outputs).enumerate() {
            let position = position as u16;
            let failed = |error: io::Error| {
                Failure::new(
                    FailureKind::Output,
                    format!("output `{}` cannot be kept on its node: {error}", port.name),
                )
            };
            let Shelved {
                output,
                contents,
                objects,
            } = self.shelf.shelve(value).map_err(failed)?;
            let is_worth =
                |rates: Rates| rates.worth_keeping(1.0, elapsed.as_secs_f64(), output.size);
            let is_kept = match port.keep {
                _ if wanted.contains(&position) => true,
                _ if signature.implicit => false,
                Some(keep) => keep && rates.is_some(),
                None => rates.is_some_and(is_worth),
            };
            let shared = shared.as_deref().filter(|_| is_kept);
            for (digest, size) in objects {
                let placed = shared.map(|folder| self.place(folder, &digest));
                kept.objects.push(MadeObject {
                    output: position,
                    digest,
                    size,
                    placed: placed.transpose().map_err(failed)?,
                });
            }
            kept.outputs.push(output);
            kept.contents.push(contents);
        }
        Ok(kept)
    }

    /// Writes what is on the shelf into the shared folder, durably.
    fn place(&self, folder: &Path, digest: &Digest) -> io::Result<PathBuf> {
        let number = self.placed.fetch_add(1, Ordering::Relaxed);
        let folder = folder.join((number / 1000).to_string());
        fs::create_dir_all(&folder)?;
        let path = folder.join(number.to_string());
        let mut file = fs::File::create_new(&path)?;
        match self.shelf.open(digest) {
            Some(Bytes::Memory(bytes)) => file.write_all((*bytes).as_ref())?,
            Some(Bytes::File(mut from, _)) => drop(io::copy(&mut from, &mut file)?),
            None => return Err(io::ErrorKind::NotFound.into()),
        }
        file.set_permissions(fs::Permissions::from_mode(0o444))?;
        file.sync_all()?;
        Ok(path)
    }

    /// Lets go of everything that a run has left here.
    pub(crate) fn clear(&self) {
        self.shelf.clear();
    }

    /// Ends what runs.
    pub(crate) fn cancel(&self) {
        self.stop.now();
    }
}

/// The version that a program has here; `None` where its text says it, so that it is the same everywhere.
fn version_of(
    template: &CommandTemplate,
    signature: &headwater_graph::Signature,
    folder: &Path,
) -> Option<Result<Arc<str>, String>> {
    let Some(VersionSource::Command(command)) = &template.version else {
        return None;
    };
    let _ = fs::create_dir_all(folder);
    let said = version_said(command, template.threads, folder);
    Some(said.map(|said| template.version_for(signature, Some(&said))))
}
