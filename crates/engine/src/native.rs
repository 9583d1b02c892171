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
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::temporary::Temporary;
use crate::{Error, Run, budget};
pub use headwater_enact::{Backoff, Capacity, Options, Parallelism};
use headwater_enact::{Enactment, NothingRemembered};
use headwater_execute::{Execution, Finished, Observer, Stop, Threads};
use headwater_graph::{Failure, Operation, Outputs, Store, Tally, TaskGraph, TaskId};

/// More threads than this help nobody.
const MOST_WORKERS: usize = 4096;

/// What is told of a task that ended well: its operation, and how long it took.
pub type HearOfTask<'a> = &'a (dyn Fn(&Arc<Operation>, Duration) + Send + Sync);

/// Hears of failures; the last attempt of a task counts.
struct Failures<'a> {
    seen: Mutex<BTreeMap<TaskId, Failure>>,
    heard: HearOfTask<'a>,
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
    pub counts: Tally,
    /// The outputs of the wanted tasks that ran, sorted by task.
    pub outputs: Vec<(TaskId, Arc<Outputs>)>,
    /// The tasks that failed, sorted, and why.
    pub failures: Vec<(TaskId, Failure)>,
    /// The graph, and where each task stands.
    pub enactment: Enactment,
    /// Where files among the outputs lie, if nowhere else.
    files: Option<Temporary>,
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
    store: Option<(Arc<dyn Store>, &str)>,
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
    store: Option<(Arc<dyn Store>, &str)>,
) -> Result<NativeRun, Error> {
    let workers = usize::try_from(options.capacity.cores).unwrap_or(usize::MAX);
    let name = store.as_ref().map_or("", |(_, name)| name).to_owned();
    let threads = Threads::new(workers.min(MOST_WORKERS));
    let mut run = Run::named(name, threads, &Stop::default());
    if let Some((store, _)) = store {
        run.keep_in(&store, None, options.capacity.memory);
    }
    let heard: HearOfTask<'_> = &|_, _| {};
    let mut ran = run_graph_in(&mut run, graph, wanted, options, heard)?;
    ran.files = Some(run.take_scratch());
    Ok(ran)
}

/// As [`run_graph_with`], as part of a run.
pub fn run_graph_in(
    run: &mut Run,
    graph: TaskGraph,
    wanted: &[TaskId],
    options: Options,
    heard: HearOfTask<'_>,
) -> Result<NativeRun, Error> {
    crate::limits::check_environment()?;
    let remembers = run.remembers();
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
    let mut deliver = wanted.to_vec();
    deliver.sort_unstable();
    deliver.dedup();
    let failures = Failures {
        seen: Mutex::default(),
        heard,
    };
    let opened = match run.keeper() {
        Some(keeper) => enactment.open_graph(wanted, keeper),
        None => enactment.open_graph(wanted, &mut NothingRemembered),
    };
    let ran = opened
        .map_err(|error| Error::Open(vec![error]))
        .and_then(|()| Ok(run.round(&mut enactment, &failures, &deliver)?));
    // Whatever was finished becomes durable, however it ended.
    let closed = run.close();
    ran?;
    closed?;
    let outputs = run.made(&deliver);
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
        files: None,
    })
}
