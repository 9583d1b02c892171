//! One run, from request to report.
//!
//! Law: giving the same request again continues where the last one stopped; a failed task stops only what
//! needs it; whatever was finished is kept, however the run ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use headwater_enact::{
    Backoff, Capacity, Counts, Enactment, Expander, OpenError, Options, Parallelism, State,
};
use headwater_execute::{CommandSettings, Failure, Keeper, Pool, PoolError, Stop};
use headwater_graph::{Diagnostic, Index, Recipe, Registry, TaskId, Value};
use headwater_remember::{RunCounts, RunRecord, RunStatus, RunTask, Store, TaskState};

use crate::deliver::Deliverer;
use crate::keep::StoreFetcher;
use crate::progress::{Listener, TRACE_HEADER};
use crate::{Error, Loaded, Progress, StoreKeeper, StorePlace};

/// What to run, and how.
#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    /// The workflow file.
    pub flow: PathBuf,
    /// The data file.
    pub inputs: Option<PathBuf>,
    /// `NAME=VALUE` for parameters; they win over the data file.
    pub settings: Vec<String>,
    /// Which store.
    pub store: StorePlace,
    /// Cores; `None`: those of this machine.
    pub cores: Option<usize>,
    /// Bytes for running tasks and live products.
    pub memory: Option<u64>,
    /// Other counters: gpu, a licence.
    pub resources: BTreeMap<Arc<str>, u64>,
    /// Which kinds of parallelism are on.
    pub parallelism: Parallelism,
    /// How often a failed task is tried again, unless its operation says otherwise.
    pub retries: u32,
    /// Start nothing more after the first failure.
    pub fail_fast: bool,
    /// Where outputs go; `None`: `outputs/<run>` in the current folder.
    pub outputs: Option<PathBuf>,
    /// The command line, for the record.
    pub command: Vec<String>,
}

/// An output as it was delivered.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivered {
    /// A file or folder.
    Path(PathBuf),
    /// A single value.
    Value(Value),
}

/// One item of an output.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputItem {
    /// Its index path.
    pub index: Index,
    /// Where or what it is.
    pub what: Delivered,
    /// The workflow inputs it was made from.
    pub from: Vec<(Arc<str>, Index)>,
}

/// A task that failed.
#[derive(Debug, Clone)]
pub struct FailedTask {
    /// `stage.task[index]`.
    pub address: String,
    /// Why.
    pub failure: Failure,
    /// How often it was tried.
    pub attempts: u32,
    /// How many tasks could not run because of it.
    pub blocked: usize,
}

/// What a run came to.
#[derive(Debug)]
pub struct RunReport {
    /// Its name.
    pub run: String,
    /// The name of the workflow.
    pub workflow: Arc<str>,
    /// How many tasks stand where.
    pub counts: Counts,
    /// How long it took.
    pub seconds: f64,
    /// By name.
    pub outputs: BTreeMap<Arc<str>, Vec<OutputItem>>,
    /// Tasks that failed, in the order in which they did.
    pub failures: Vec<FailedTask>,
    /// What went wrong in stages that could only be planned while the run was under way.
    pub errors: Vec<String>,
    /// Things worth telling.
    pub notes: Vec<String>,
    /// Warnings about the files.
    pub diagnostics: Vec<(PathBuf, String, Vec<Diagnostic>)>,
    /// Where the outputs are.
    pub folder: PathBuf,
    /// It was stopped before it was done.
    pub stopped: bool,
}

impl RunReport {
    /// Whether everything that was wanted is there.
    pub fn succeeded(&self) -> bool {
        self.failures.is_empty() && self.errors.is_empty() && !self.stopped
    }
}

/// What a stage would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagePlan {
    /// Its name.
    pub name: Arc<str>,
    /// Its tasks.
    pub tasks: usize,
    /// Those that would run.
    pub execute: usize,
}

/// What a run would do.
#[derive(Debug)]
pub struct DryRun {
    /// The name of the workflow.
    pub workflow: Arc<str>,
    /// All tasks that are known before anything runs.
    pub tasks: usize,
    /// Those that would run.
    pub execute: usize,
    /// By stage.
    pub stages: Vec<StagePlan>,
    /// The tasks that would run: address and recipe.
    pub to_run: Vec<(String, Recipe)>,
    /// Stages whose tasks depend on what others make; more may come.
    pub open: Vec<Arc<str>>,
    /// Notes.
    pub notes: Vec<String>,
    /// Warnings about the files.
    pub diagnostics: Vec<(PathBuf, String, Vec<Diagnostic>)>,
}

struct Prepared {
    loaded: Loaded,
    store: Arc<Store>,
    enactment: Enactment,
    saved: String,
    diagnostics: Vec<(PathBuf, String, Vec<Diagnostic>)>,
    cores: usize,
}

fn machine_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The memory of this machine in bytes.
fn machine_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    line.split_whitespace()
        .nth(1)?
        .parse::<u64>()
        .ok()
        .map(|kilobytes| kilobytes * 1024)
}

fn prepare(
    request: &RunRequest,
    libraries: &Registry,
    place: &StorePlace,
    current: &Path,
) -> Result<Prepared, Error> {
    // Mistakes in the files are told before a store is made.
    let parsed = crate::load::parse(&request.flow, libraries)?;
    let data = crate::data::bind(
        &parsed.workflow,
        libraries,
        request.inputs.as_deref(),
        &request.settings,
    )?;
    let store = crate::open_store(place, current)?;
    let loaded = parsed.with_versions(libraries, &store)?;
    let data = data.identify(&store, machine_cores())?;
    let cores = request.cores.unwrap_or_else(machine_cores);
    let open = |error| OpenError::Shape(error);
    let expander = Expander::new(
        &loaded.workflow,
        &loaded.registry,
        &data.data_set,
        &data.parameters,
    )
    .map_err(|errors| loaded.mistakes(&errors.into_iter().map(open).collect::<Vec<_>>()))?;
    let options = Options {
        parallelism: request.parallelism,
        capacity: Capacity {
            cores: cores as u64,
            memory: request.memory.or_else(machine_memory),
            others: request.resources.clone(),
        },
        retries: request.retries,
        backoff: Backoff::default(),
        fail_fast: request.fail_fast,
        remembers: true,
    };
    let enactment = Enactment::of_workflow(expander, options);
    let mut diagnostics = vec![(
        loaded.file.clone(),
        loaded.text.clone(),
        loaded.diagnostics.clone(),
    )];
    if let Some(file) = &request.inputs {
        diagnostics.push((file.clone(), data.text, data.diagnostics));
    }
    Ok(Prepared {
        loaded,
        store,
        enactment,
        saved: data.saved,
        diagnostics,
        cores,
    })
}

/// What `request` would do; nothing is executed and nothing is written.
pub fn dry_run(
    request: &RunRequest,
    libraries: &Registry,
    current: &Path,
) -> Result<DryRun, Error> {
    let place = StorePlace {
        read_only: true,
        ..request.store.clone()
    };
    let mut prepared = prepare(request, libraries, &place, current)?;
    let mut keeper = StoreKeeper::new(Arc::clone(&prepared.store), "");
    let opened = prepared
        .enactment
        .open(&mut keeper)
        .map_err(|error| prepared.loaded.mistakes(&[error]));
    let opened = opened.and_then(|()| {
        while recompute_lost(&mut prepared.enactment, &mut keeper)?
            || recompute_lost_inputs(&mut prepared.enactment, &mut keeper)?
        {}
        Ok(())
    });
    let closed = keeper.close();
    opened?;
    closed.map_err(|error| Error::Pool(error.into()))?;
    let enactment = &mut prepared.enactment;
    let notes = enactment.take_notes();
    let counts = enactment.counts();
    let workflow = &prepared.loaded.workflow;
    let mut stages: Vec<StagePlan> = workflow
        .stages
        .iter()
        .map(|stage| StagePlan {
            name: Arc::clone(&stage.name),
            tasks: 0,
            execute: 0,
        })
        .collect();
    let mut to_run = Vec::new();
    for task in enactment.graph().ids() {
        if let Some(stage) = enactment.coordinator().stage(task) {
            stages[stage].tasks += 1;
            if !matches!(
                enactment.coordinator().state(task),
                State::Known | State::Idle
            ) {
                stages[stage].execute += 1;
                let address = enactment
                    .address(task)
                    .map(|address| address.text)
                    .unwrap_or_default();
                to_run.push((address, enactment.graph().recipe(task)));
            }
        }
    }
    let open = enactment
        .expander()
        .map(|expander| expander.open_stages())
        .unwrap_or_default();
    let name = |stage: &usize| Arc::clone(&workflow.stages[*stage].name);
    Ok(DryRun {
        workflow: Arc::clone(&workflow.name),
        tasks: counts.tasks,
        execute: counts.planned,
        open: open.iter().map(name).collect(),
        stages,
        to_run,
        notes,
        diagnostics: prepared.diagnostics,
    })
}

/// Runs `request` until everything has ended or `stop` is asked for.
pub fn run(
    request: &RunRequest,
    libraries: &Registry,
    current: &Path,
    progress: &Progress,
    stop: &Stop,
) -> Result<RunReport, Error> {
    let began = Instant::now();
    let mut prepared = prepare(request, libraries, &request.store, current)?;
    let store = Arc::clone(&prepared.store);
    if !request.store.read_only {
        tidy_work(&store);
    }
    let run = crate::identifier::new_run();
    let folder = match &request.outputs {
        Some(folder) => current.join(folder),
        None => current.join("outputs").join(&run),
    };
    if request.outputs.is_some()
        && fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some())
    {
        return Err(Error::usage(
            format!("the folder `{}` is not empty", folder.display()),
            Some("give a new one with -o, or leave -o out".to_owned()),
        ));
    }
    let mut keeper = StoreKeeper::new(Arc::clone(&store), &run);
    // Everything that can be wrong with the data is found here, before anything is written.
    let opened = prepared
        .enactment
        .open(&mut keeper)
        .map_err(|error| prepared.loaded.mistakes(&[error]));
    if let Err(error) = opened.and_then(|()| recompute_lost(&mut prepared.enactment, &mut keeper)) {
        let _ = keeper.close();
        return Err(error);
    }
    let read_only = request.store.read_only;
    let record = RunRecord {
        id: run.clone(),
        workflow: prepared.loaded.workflow.name.to_string(),
        file: std::path::absolute(&request.flow).unwrap_or_else(|_| request.flow.clone()),
        started: crate::identifier::now(),
        ended: None,
        status: RunStatus::Running,
        tasks: prepared.enactment.counts().tasks as u64,
        executed: 0,
        reused: 0,
        failed: 0,
        outputs: folder.clone(),
        command: request.command.clone(),
    };
    if !read_only {
        store.begin_run(&record)?;
    }
    fs::create_dir_all(&folder)
        .map_err(|source| Error::io("cannot make folder", &folder, source))?;
    write(&folder.join("inputs.yaml"), prepared.saved.as_bytes())?;
    let places = Places::new(&store, &run, read_only);
    let fetcher = keeper.resting_fetcher();
    let executed = execute(&mut prepared, &mut keeper, progress, stop, &places, &folder);
    let kept = keeper.close();
    let listener = executed.and_then(|listener| match kept {
        Ok(()) => Ok(listener),
        Err(error) => Err(Error::Pool(PoolError::Keeper(error))),
    });
    let report = listener.and_then(|listener| {
        finish(
            &mut prepared,
            request,
            &listener,
            &fetcher,
            &run,
            folder,
            stop,
        )
    });
    let mut report = report.inspect_err(|_| {
        let counts = prepared.enactment.counts();
        end_run(&store, read_only, &run, RunStatus::Failed, counts);
    })?;
    report.seconds = began.elapsed().as_secs_f64();
    let status = if report.stopped {
        RunStatus::Cancelled
    } else if report.succeeded() {
        RunStatus::Done
    } else {
        RunStatus::Failed
    };
    end_run(&store, read_only, &report.run, status, report.counts);
    // The folders of failed tasks are to be looked at.
    if let Some(temporary) = places.temporary.filter(|_| report.failures.is_empty()) {
        let _ = fs::remove_dir_all(temporary);
    }
    Ok(report)
}

/// Folders of failed tasks are kept for so many runs.
const RUNS_KEPT: usize = 10;

/// Removes the work folders of runs that nobody will look into any more.
fn tidy_work(store: &Store) {
    let Ok(entries) = fs::read_dir(store.root().join("work")) else {
        return;
    };
    // All of it before the runs are read: a run is listed before its folder is made, not after.
    let entries: Vec<fs::DirEntry> = entries.flatten().collect();
    let Ok(runs) = store.runs(usize::MAX >> 1) else {
        return;
    };
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let place = runs.iter().position(|run| run.id == name);
        let kept = place.is_some_and(|place| match runs[place].status {
            RunStatus::Running => true,
            RunStatus::Failed | RunStatus::Cancelled => place < RUNS_KEPT,
            RunStatus::Done | RunStatus::Interrupted => false,
        });
        if !kept {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Where the files of a run lie while it goes on: in the store, or elsewhere if that is read-only.
struct Places {
    work: PathBuf,
    staging: PathBuf,
    logs: PathBuf,
    temporary: Option<PathBuf>,
}

impl Places {
    fn new(store: &Store, run: &str, read_only: bool) -> Places {
        if read_only {
            let folder = std::env::temp_dir().join(format!("headwater-{run}"));
            let place = |name: &str| folder.join(name);
            return Places {
                work: place("work"),
                staging: place("staging"),
                logs: place("logs"),
                temporary: Some(folder),
            };
        }
        Places {
            work: store.work_folder(run),
            staging: store.staging_folder(run),
            logs: store.run_folder(run).join("logs"),
            temporary: None,
        }
    }
}

fn end_run(store: &Store, read_only: bool, run: &str, status: RunStatus, counts: Counts) {
    if !read_only {
        let counts = RunCounts {
            tasks: counts.tasks as u64,
            executed: counts.executed as u64,
            reused: counts.reused() as u64,
            failed: counts.failed as u64,
        };
        // The products are safe already; a list of runs that is out of date is shown as interrupted.
        let _ = store.end_run(run, status, counts);
        let _ = store.remove_staging(run);
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    fs::write(path, bytes).map_err(|source| Error::io("cannot write", path, source))
}

fn execute(
    prepared: &mut Prepared,
    keeper: &mut StoreKeeper,
    progress: &Progress,
    stop: &Stop,
    places: &Places,
    folder: &Path,
) -> Result<Listener, Error> {
    let trace_path = folder.join("trace.tsv");
    let trace = fs::File::create(&trace_path)
        .map_err(|source| Error::io("cannot write", &trace_path, source))?;
    let mut trace: Box<dyn std::io::Write + Send> = Box::new(BufWriter::new(trace));
    writeln!(trace, "{TRACE_HEADER}")
        .map_err(|source| Error::io("cannot write", &trace_path, source))?;
    let listener = Listener {
        progress: progress.clone(),
        trace: Mutex::new(Some(trace)),
        failures: Mutex::new(Vec::new()),
        tasks: Mutex::new(Vec::new()),
    };
    let names: Vec<Arc<str>> = prepared
        .loaded
        .workflow
        .stages
        .iter()
        .map(|stage| Arc::clone(&stage.name))
        .collect();
    progress.begin(&names, &prepared.enactment);
    let pool = Pool {
        workers: prepared.cores,
        commands: CommandSettings {
            work: places.work.clone(),
            staging: places.staging.join("files"),
            logs: places.logs.clone(),
            environment: headwater_execute::inherited_environment(),
        },
        scratch: places.staging.join("spilled"),
        stop: stop.clone(),
        files: Some(Arc::new(keeper.resting_fetcher())),
        deliver: Vec::new(),
    };
    let mut ran = pool.run(&mut prepared.enactment, keeper, &listener, true);
    // Outputs that only a later round asked for may turn out to be gone from the store.
    while ran.is_ok() && !stop.is_stopping() && recompute_lost(&mut prepared.enactment, keeper)? {
        ran = pool.run(&mut prepared.enactment, keeper, &listener, true);
    }
    progress.finish();
    ran?;
    Ok(listener)
}

/// Wanted outputs that are remembered, but whose bytes are gone or damaged, have to be made again. Tells
/// whether there were any.
fn recompute_lost(enactment: &mut Enactment, keeper: &mut StoreKeeper) -> Result<bool, Error> {
    let mut wanted: BTreeSet<TaskId> = BTreeSet::new();
    for requested in enactment.requested() {
        requested.source.for_each_task(&mut |task| {
            wanted.insert(task);
        });
    }
    forget_lost(enactment, keeper, wanted)
}

/// The same for what the tasks that have to run read. A run finds out when it gets there; a plan says so
/// beforehand.
fn recompute_lost_inputs(
    enactment: &mut Enactment,
    keeper: &mut StoreKeeper,
) -> Result<bool, Error> {
    let mut read: BTreeSet<TaskId> = BTreeSet::new();
    let graph = enactment.graph();
    for task in graph
        .ids()
        .filter(|task| !enactment.coordinator().state(*task).is_settled())
    {
        graph.for_each_input_task(task, |input| {
            read.insert(input);
        });
    }
    forget_lost(enactment, keeper, read)
}

fn forget_lost(
    enactment: &mut Enactment,
    keeper: &mut StoreKeeper,
    tasks: BTreeSet<TaskId>,
) -> Result<bool, Error> {
    let fetcher = keeper.fetcher();
    let mut any = false;
    for task in tasks {
        let known = enactment.coordinator().state(task) == State::Known;
        if known && fetcher.fetch(&enactment.graph().recipe(task)).is_none() {
            enactment
                .lost(task, keeper)
                .map_err(|error| Error::Open(vec![error]))?;
            any = true;
        }
    }
    Ok(any)
}

fn finish(
    prepared: &mut Prepared,
    request: &RunRequest,
    listener: &Listener,
    fetcher: &StoreFetcher,
    run: &str,
    folder: PathBuf,
    stop: &Stop,
) -> Result<RunReport, Error> {
    let failures = failures(prepared, listener);
    record_tasks(prepared, listener, run, request.store.read_only)?;
    let outputs = deliver(prepared, fetcher, &folder)?;
    write(
        &folder.join("outputs.csv"),
        table(&outputs, &folder).as_bytes(),
    )?;
    link_last(&folder, request);
    let enactment = &mut prepared.enactment;
    let errors = enactment.errors().iter().map(ToString::to_string).collect();
    Ok(RunReport {
        run: run.to_owned(),
        workflow: Arc::clone(&prepared.loaded.workflow.name),
        counts: enactment.counts(),
        seconds: 0.0,
        outputs,
        failures,
        errors,
        notes: enactment.take_notes(),
        diagnostics: std::mem::take(&mut prepared.diagnostics),
        folder,
        stopped: stop.is_stopping(),
    })
}

fn failures(prepared: &Prepared, listener: &Listener) -> Vec<FailedTask> {
    let mut blocked: BTreeMap<TaskId, usize> = BTreeMap::new();
    let enactment = &prepared.enactment;
    for (_, cause) in enactment.blocked() {
        *blocked.entry(*cause).or_default() += 1;
    }
    let mut seen = listener
        .failures
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    // In the order of the workflow, not of arrival.
    seen.sort_by_key(|seen| seen.task);
    seen.iter()
        .map(|seen| FailedTask {
            address: enactment
                .address(seen.task)
                .map(|address| address.text)
                .unwrap_or_default(),
            failure: seen.failure.clone(),
            attempts: seen.attempts,
            blocked: blocked.get(&seen.task).copied().unwrap_or(0),
        })
        .collect()
}

/// Says in the trace and in the store what became of every task.
fn record_tasks(
    prepared: &Prepared,
    listener: &Listener,
    run: &str,
    read_only: bool,
) -> Result<(), Error> {
    let enactment = &prepared.enactment;
    let ran: BTreeMap<TaskId, (u64, u64)> = {
        let tasks = listener
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tasks
            .iter()
            .map(|(task, started, wall)| (*task, (*started, *wall)))
            .collect()
    };
    let mut trace = listener
        .trace
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let mut rows = Vec::new();
    for task in enactment
        .graph()
        .ids()
        .filter(|task| enactment.coordinator().stage(*task).is_some())
    {
        let state = match enactment.coordinator().state(task) {
            State::Done => TaskState::Executed,
            State::Known | State::Idle => TaskState::Reused,
            State::Failed => TaskState::Failed,
            State::Blocked => TaskState::Blocked,
            _ => continue,
        };
        let address = enactment
            .address(task)
            .map(|address| address.text)
            .unwrap_or_default();
        let (started, wall) = ran.get(&task).copied().unwrap_or((0, 0));
        if let Some(trace) = trace.as_mut().filter(|_| !ran.contains_key(&task)) {
            let _ = writeln!(
                trace,
                "{address}\t{state}\t0\t\t\t\t\t{}",
                enactment.graph().recipe(task)
            );
        }
        rows.push(RunTask {
            address,
            recipe: enactment.graph().recipe(task),
            state,
            started,
            wall,
        });
    }
    if let Some(mut trace) = trace.take() {
        let _ = trace.flush();
    }
    if !read_only {
        prepared.store.put_run_tasks(run, &rows)?;
    }
    Ok(())
}

fn deliver(
    prepared: &Prepared,
    fetcher: &StoreFetcher,
    folder: &Path,
) -> Result<BTreeMap<Arc<str>, Vec<OutputItem>>, Error> {
    let mut deliverer = Deliverer {
        folder,
        registry: &prepared.loaded.registry,
        fetcher,
        last: None,
    };
    let wanted = prepared.loaded.workflow.wanted();
    let mut outputs: BTreeMap<Arc<str>, Vec<OutputItem>> = wanted
        .iter()
        .map(|output| (Arc::clone(&output.name), Vec::new()))
        .collect();
    let data: BTreeMap<&Arc<str>, &Arc<str>> = wanted
        .iter()
        .map(|output| (&output.name, &output.data))
        .collect();
    for requested in prepared.enactment.requested() {
        let name = data.get(&requested.output).map_or("", |data| data);
        if let Some(item) = deliverer.deliver(&prepared.enactment, requested, name)? {
            outputs
                .entry(Arc::clone(&requested.output))
                .or_default()
                .push(item);
        }
    }
    outputs
        .values_mut()
        .for_each(|items| items.sort_by(|a, b| a.index.cmp(&b.index)));
    Ok(outputs)
}

/// All outputs as a table: a row per item, with what it was made from.
fn table(outputs: &BTreeMap<Arc<str>, Vec<OutputItem>>, folder: &Path) -> String {
    let sources: BTreeSet<&Arc<str>> = outputs
        .values()
        .flatten()
        .flat_map(|item| item.from.iter().map(|(input, _)| input))
        .collect();
    let mut out = String::from("output,index,path,value");
    for source in &sources {
        let _ = write!(out, ",{}", quoted(&format!("from {source}")));
    }
    out.push('\n');
    for (name, items) in outputs {
        for item in items {
            let (path, value) = match &item.what {
                Delivered::Path(path) => (
                    path.strip_prefix(folder)
                        .unwrap_or(path)
                        .to_string_lossy()
                        .into_owned(),
                    String::new(),
                ),
                Delivered::Value(value) => (
                    String::new(),
                    value
                        .as_scalar()
                        .map(|scalar| scalar.to_string())
                        .unwrap_or_default(),
                ),
            };
            let _ = write!(
                out,
                "{},{},{},{}",
                quoted(name),
                item.index,
                quoted(&path),
                quoted(&value)
            );
            for source in &sources {
                let from = item.from.iter().filter(|(input, _)| input == *source);
                let indices: Vec<String> = from
                    .map(|(_, index)| {
                        if index.0.is_empty() {
                            "all".to_owned()
                        } else {
                            index.to_string()
                        }
                    })
                    .collect();
                let _ = write!(out, ",{}", indices.join(" "));
            }
            out.push('\n');
        }
    }
    out
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// `outputs/last` points to the newest run.
fn link_last(folder: &Path, request: &RunRequest) {
    if request.outputs.is_some() {
        return;
    }
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return;
    };
    let last = parent.join("last");
    let is_ours = fs::symlink_metadata(&last).map_or(true, |metadata| metadata.is_symlink());
    if is_ours {
        let fresh = parent.join(format!(".last-{}", name.to_string_lossy()));
        if std::os::unix::fs::symlink(name, &fresh).is_ok() && fs::rename(&fresh, &last).is_err() {
            let _ = fs::remove_file(&fresh);
        }
    }
}
