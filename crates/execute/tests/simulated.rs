//! The worker threads beside the simulator.
//!
//! Law: both ask the same coordinator. With one worker nothing depends on time, so both start the same tasks in the same
//! order, and leave each task where the other does.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headwater_enact::{
    Capacity, Done, Enactment, NothingRemembered, Options, Start, State, World, simulate,
};
use headwater_execute::{Executor, Folders, Observer, PoolError, Round, Threads};
use headwater_graph::{
    Context, NewTask, Operation, OperationError, Outputs, Scalar, ScalarType, Signature, Source,
    TaskGraph, TaskId, Type, Value,
};

/// Bytes that a task makes.
const BYTES: usize = 1000;

/// Every 23rd task fails.
fn fails(number: i64) -> bool {
    number % 23 == 22
}

/// What a task makes: bytes of one number.
fn made(number: i64) -> Outputs {
    vec![Value::Bytes(vec![number as u8; BYTES].into())]
}

/// An operation of so many inputs.
fn operation(inputs: usize) -> Arc<Operation> {
    let mut signature = Signature::new(&format!("op{inputs}"), "1")
        .output("bytes", Type::Bytes)
        .parameter("number", ScalarType::Int, None);
    for input in 0..inputs {
        signature = signature.input(&format!("in{input}"), Type::Bytes);
    }
    // What says how much memory it needs is started alone. Others may be started several at once, if they turn out to be
    // quick, and then the order would depend on time.
    signature.resources.0.insert("memory".into(), BYTES as u64);
    let run = |_: &[Value], parameters: &[Scalar], _: &mut Context| match parameters {
        [Scalar::Int(number)] if !fails(*number) => Ok(made(*number)),
        _ => Err(OperationError::Failed("it was to fail".to_owned())),
    };
    Arc::new(Operation::native(signature, run))
}

/// A graph of `tasks` tasks, each of which reads up to three that came before; every fifth one is wanted.
fn graph(tasks: u32, seed: u64) -> (TaskGraph, Vec<TaskId>) {
    let mut graph = TaskGraph::new();
    let operations: Vec<_> = (0..4)
        .map(|inputs| graph.operation(&operation(inputs)))
        .collect();
    let mut random = seed;
    let mut next = |below: u32| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as u32 % below
    };
    for number in 0..tasks {
        let inputs = if number < 4 { 0 } else { next(4) };
        let sources: Vec<(u16, Source)> = (0..inputs)
            .map(|port| {
                let task = TaskId(next(number));
                (port as u16, Source::Product { task, port: 0 })
            })
            .collect();
        let new = NewTask {
            operation: operations[inputs as usize],
            parameters: &[Scalar::Int(i64::from(number))],
            inputs: &sources,
            address: "",
        };
        graph.add(&new).expect("it fits");
    }
    let wanted = graph.ids().filter(|task| task.0 % 5 == 4).collect();
    (graph, wanted)
}

/// The number of a task.
fn number(enactment: &Enactment, task: TaskId) -> i64 {
    match enactment.graph().parameters(task) {
        [Scalar::Int(number)] => *number,
        other => panic!("{other:?}"),
    }
}

/// Tasks that take a second each, and make what the real ones make.
struct Virtual;

impl World for Virtual {
    fn run(&mut self, enactment: &Enactment, start: &Start) -> Done {
        let number = number(enactment, start.task);
        Done {
            duration: Duration::from_secs(1),
            outputs: (!fails(number)).then(|| made(number)),
            memory: BYTES as u64,
        }
    }

    fn bring_back(&mut self, _: &Enactment, _: TaskId, _: u64) -> Option<u64> {
        Some(BYTES as u64)
    }
}

/// Hears which tasks start.
#[derive(Default)]
struct Starts(Mutex<Vec<TaskId>>);

impl Observer for Starts {
    fn started(&self, _: &Enactment, start: &Start) {
        self.0.lock().unwrap().push(start.task);
    }
}

fn run(
    folder: &Path,
    workers: usize,
    enactment: &mut Enactment,
    starts: &Starts,
) -> Result<(), PoolError> {
    let folders = Folders::below(folder);
    let mut threads = Threads::new(workers);
    let ran = threads.run(Round::new(enactment, starts, &folders));
    threads.clear();
    ran
}

fn states(enactment: &Enactment) -> Vec<State> {
    let tasks = enactment.graph().ids();
    tasks
        .map(|task| enactment.coordinator().state(task))
        .collect()
}

#[test]
fn invariant_6_worker_threads_start_what_the_simulator_starts() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..20 {
        // Without a limit, and with one that has outputs written out.
        for memory in [None, Some(6 * BYTES as u64)] {
            let options = Options {
                capacity: Capacity {
                    memory,
                    ..Capacity::cores(1)
                },
                ..Options::default()
            };
            let opened = || {
                let (graph, wanted) = graph(200, seed);
                let mut enactment = Enactment::of_graph(graph, options.clone());
                enactment
                    .open_graph(&wanted, &mut NothingRemembered)
                    .unwrap();
                enactment
            };
            let mut simulated = opened();
            let trace = simulate(&mut simulated, &mut Virtual, &mut NothingRemembered).unwrap();
            let expected: Vec<TaskId> = trace.tasks.iter().map(|done| done.task).collect();
            assert!(expected.len() > 20, "seed {seed}: {}", expected.len());

            let mut real = opened();
            let starts = Starts::default();
            let scratch = folder.path().join(format!("{seed}-{}", memory.is_some()));
            let ran = run(&scratch, 1, &mut real, &starts);
            ran.expect("the run ends");
            assert_eq!(
                starts.0.into_inner().unwrap(),
                expected,
                "seed {seed}, {memory:?}"
            );
            assert_eq!(states(&real), states(&simulated), "seed {seed}, {memory:?}");
            assert_eq!(real.counts(), simulated.counts());

            // With more workers the order is another, and what becomes of each task is not.
            let mut several = opened();
            let ran = run(&scratch, 3, &mut several, &Starts::default());
            ran.expect("the run ends");
            assert_eq!(
                states(&several),
                states(&simulated),
                "seed {seed}, {memory:?}"
            );
        }
    }
}
