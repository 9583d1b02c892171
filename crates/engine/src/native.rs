//! Running a graph of native operations, without files: for programs that build their own graphs.
//!
//! ```
//! use std::sync::Arc;
//!
//! use headwater::graph::{
//!     Context, NewTask, Operation, OperationError, Outputs, Scalar, ScalarType, Signature, Source, TaskGraph, Type,
//!     Value,
//! };
//!
//! fn square(_: &[Value], parameters: &[Scalar], _: &mut Context) -> Result<Outputs, OperationError> {
//!     match parameters {
//!         [Scalar::Int(number)] => Ok(vec![Value::Int(number * number)]),
//!         _ => Err(OperationError::Failed("`number` is no number".to_owned())),
//!     }
//! }
//!
//! fn add(inputs: &[Value], _: &[Scalar], _: &mut Context) -> Result<Outputs, OperationError> {
//!     match inputs {
//!         [Value::Int(a), Value::Int(b)] => Ok(vec![Value::Int(a + b)]),
//!         _ => Err(OperationError::Failed("not two numbers".to_owned())),
//!     }
//! }
//!
//! let number = Signature::new("example/square", "1")
//!     .parameter("number", ScalarType::Int, None)
//!     .output("square", Type::Int);
//! let pair = Signature::new("example/add", "1")
//!     .input("a", Type::Int)
//!     .input("b", Type::Int)
//!     .output("sum", Type::Int);
//! let square = Arc::new(Operation::native(number, square));
//! let add = Arc::new(Operation::native(pair, add));
//!
//! let mut graph = TaskGraph::new();
//! let (square, add) = (graph.operation(&square), graph.operation(&add));
//! let mut squares = Vec::new();
//! for (port, number) in [(0, 3), (1, 3)] {
//!     let parameters = &[Scalar::Int(number)];
//!     let (task, _) = graph.add(&NewTask { operation: square, parameters, inputs: &[], address: "" })?;
//!     squares.push((port, Source::Product { task, port: 0 }));
//! }
//! let (sum, _) = graph.add(&NewTask { operation: add, parameters: &[], inputs: &squares, address: "" })?;
//!
//! let run = headwater::run_graph(graph, &[sum], 2, None)?;
//! assert_eq!(run.output(sum), Some(&vec![Value::Int(18)]));
//! assert_eq!(run.counts.executed, 2); // 3 was squared once
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::keep::StoreKeeper;
use crate::places::Places;
use crate::temporary::Temporary;
use crate::{Error, budget};
pub use headwater_enact::{Backoff, Capacity, Options, Parallelism};
use headwater_enact::{Counts, Enactment};
use headwater_execute::{
    CommandSettings, Execution, Failure, Finished, Keeper, NothingKept, Observer, Pool, Stop,
};
use headwater_graph::{Operation, Outputs, TaskGraph, TaskId};
use headwater_remember::Store;

/// More threads than this help nobody.
const MOST_WORKERS: usize = 4096;

/// What is told of a task that ended well: its operation, and how long it took.
pub type Heard<'a> = &'a (dyn Fn(&Arc<Operation>, Duration) + Send + Sync);

/// What goes on around a run.
pub struct Surroundings<'a> {
    /// Whether it is to end early.
    pub stop: &'a Stop,
    /// Where the files of programs lie while it goes on; by default in a folder that goes with the run.
    pub places: Option<&'a Places>,
    /// Who hears of tasks that ended well.
    pub heard: Heard<'a>,
}

/// Hears of failures; the last attempt of a task counts.
struct Failures<'a> {
    seen: Mutex<BTreeMap<TaskId, Failure>>,
    heard: Heard<'a>,
}

impl Observer for Failures<'_> {
    fn finished(&self, enactment: &Enactment, execution: &Execution, how: &Finished<'_>) {
        let seen = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Finished::Failure(failure) = how {
            seen().insert(execution.task, (*failure).clone());
            return;
        }
        if execution.attempt > 0 {
            seen().remove(&execution.task);
        }
        let operation = enactment.graph().operation_at(execution.task);
        (self.heard)(operation, execution.elapsed);
    }
}

/// What came of it. Files among the outputs are there as long as this is.
#[derive(Debug)]
pub struct NativeRun {
    /// How many tasks stand where.
    pub counts: Counts,
    /// The outputs of the wanted tasks that ran, sorted by task.
    pub outputs: Vec<(TaskId, Arc<Outputs>)>,
    /// The tasks that failed, sorted, and why.
    pub failures: Vec<(TaskId, Failure)>,
    /// The graph, and where each task stands.
    pub enactment: Enactment,
    /// Where files among the outputs lie.
    _files: Temporary,
}

impl NativeRun {
    /// The graph that was run.
    pub fn graph(&self) -> &TaskGraph {
        self.enactment.graph()
    }

    /// The outputs of a wanted task that ran.
    pub fn output(&self, task: TaskId) -> Option<&Outputs> {
        let place = self
            .outputs
            .binary_search_by_key(&task, |(task, _)| *task)
            .ok()?;
        Some(&self.outputs[place].1)
    }
}

/// Runs `wanted` and what it needs on `workers` threads; with a store, products are looked up and kept.
pub fn run_graph(
    graph: TaskGraph,
    wanted: &[TaskId],
    workers: usize,
    store: Option<(Arc<Store>, &str)>,
) -> Result<NativeRun, Error> {
    let options = Options {
        capacity: Capacity::cores(workers as u64),
        ..Options::default()
    };
    run_graph_with(graph, wanted, options, store)
}

/// As [`run_graph`], on as many threads as `options` has cores, and within its other limits.
pub fn run_graph_with(
    graph: TaskGraph,
    wanted: &[TaskId],
    options: Options,
    store: Option<(Arc<Store>, &str)>,
) -> Result<NativeRun, Error> {
    let around = Surroundings {
        stop: &Stop::default(),
        places: None,
        heard: &|_, _| {},
    };
    run_graph_in(graph, wanted, options, store, &around)
}

/// As [`run_graph_with`], in given surroundings.
pub fn run_graph_in(
    graph: TaskGraph,
    wanted: &[TaskId],
    options: Options,
    store: Option<(Arc<Store>, &str)>,
    around: &Surroundings<'_>,
) -> Result<NativeRun, Error> {
    crate::limits::check_environment()?;
    let remembers = store.is_some();
    let workers = usize::try_from(options.capacity.cores)
        .unwrap_or(usize::MAX)
        .min(MOST_WORKERS);
    let memory = options.capacity.memory;
    budget::keep_to(memory);
    let mut options = Options {
        remembers,
        compares: remembers,
        ..options
    };
    if remembers {
        options.capacity.aside += budget::aside(memory);
    }
    let mut enactment = Enactment::of_graph(graph, options);
    let scratch = Temporary(crate::temporary::fresh());
    let nowhere = |name: &str| -> PathBuf { scratch.0.join(name) };
    let mut deliver = wanted.to_vec();
    deliver.sort_unstable();
    deliver.dedup();
    let pool = Pool {
        workers,
        commands: match around.places {
            Some(places) => places.commands(Arc::default()),
            None => CommandSettings {
                work: nowhere("work"),
                staging: nowhere("staging"),
                logs: nowhere("logs"),
                logged: Arc::default(),
                environment: headwater_execute::inherited_environment(),
                temporary: nowhere("staging"),
                watched: Arc::default(),
                sheltered: vec![nowhere("staging")],
            },
        },
        scratch: nowhere("spilled"),
        stop: around.stop.clone(),
        files: Some(Arc::new(headwater_execute::PlainFiles)),
        deliver,
    };
    let failures = Failures {
        seen: Mutex::default(),
        heard: around.heard,
    };
    let mut run = |keeper: &mut dyn Keeper| -> Result<_, Error> {
        enactment
            .open_graph(wanted, keeper)
            .map_err(|error| Error::Open(vec![error]))?;
        Ok(pool.run(&mut enactment, keeper, &failures, remembers)?)
    };
    let outputs = match store {
        None => run(&mut NothingKept)?,
        Some((store, run_name)) => {
            let room = budget::for_store(memory);
            let mut keeper = StoreKeeper::within(store, run_name, None, room);
            let outputs = run(&mut keeper);
            // Whatever was finished becomes durable, however the run ended.
            let closed = keeper.close().map_err(|error| Error::Pool(error.into()));
            let outputs = outputs?;
            closed?;
            outputs
        }
    };
    let failures = failures
        .seen
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .into_iter()
        .collect();
    Ok(NativeRun {
        counts: enactment.counts(),
        outputs,
        failures,
        enactment,
        _files: scratch,
    })
}
