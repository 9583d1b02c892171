//! Graphs of native operations: failures stay where they happen, memory stays within its budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use headwater::graph::{
    Array, Context, ElementType, External, Identity, NewTask, Operation, OperationError, Outputs,
    Scalar, ScalarType, Signature, Source, TaskGraph, TaskId, Type, Value, value_digest,
};
use headwater::native::run_graph_with;
use headwater::native::{Backoff, Capacity, Options};
use headwater::runs::FailureKind;
use headwater::{NativeRun, StorePlace, open_store, run_graph};

/// An operation with inputs `a`, `b`, … and a parameter `n` that gives `value`.
fn operation(
    name: &str,
    inputs: &[&str],
    input_type: &Type,
    output_type: Type,
    run: impl Fn(&[Value], i64, &mut Context) -> Result<Value, OperationError> + Send + Sync + 'static,
) -> Operation {
    let mut signature = Signature::new(name, "1")
        .output("value", output_type)
        .parameter("n", ScalarType::Int, None);
    for input in inputs {
        signature = signature.input(input, input_type.clone());
    }
    let body = move |inputs: &[Value],
                     parameters: &[Scalar],
                     context: &mut Context|
          -> Result<Outputs, OperationError> {
        let Some(Scalar::Int(number)) = parameters.first() else {
            return Err(OperationError::Failed("no n".to_owned()));
        };
        run(inputs, *number, context).map(|value| vec![value])
    };
    Operation::native(signature, body)
}

fn add(
    graph: &mut TaskGraph,
    operation: &Arc<Operation>,
    number: i64,
    inputs: &[Source],
) -> TaskId {
    let operation = graph.operation(operation);
    let inputs: Vec<(u16, Source)> = (0..).zip(inputs.iter().cloned()).collect();
    let new = NewTask {
        operation,
        parameters: &[Scalar::Int(number)],
        inputs: &inputs,
        address: "",
    };
    graph.add(&new).expect("it fits").0
}

fn product(task: TaskId) -> Source {
    Source::Product { task, port: 0 }
}

fn int(run: &NativeRun, task: TaskId) -> i64 {
    match run.output(task).map(Vec::as_slice) {
        Some([Value::Int(number)]) => *number,
        other => panic!("expected a number, found {other:?}"),
    }
}

/// Divides 100 by its input; panics for 0, as careless code does.
fn divide() -> Arc<Operation> {
    let run = |inputs: &[Value], number: i64, _: &mut Context| match inputs {
        [Value::Int(given)] if *given == 7 => Err(OperationError::Input {
            port: "a".to_owned(),
            message: "not 7".to_owned(),
        }),
        [Value::Int(given)] => Ok(Value::Int(100 / *given + number)),
        _ => Err(OperationError::Failed("no number".to_owned())),
    };
    Arc::new(operation("divide", &["a"], &Type::Int, Type::Int, run))
}

fn given(graph: &mut TaskGraph, number: i64) -> Source {
    let value = Value::Int(number);
    graph.external(External {
        identity: Identity::Value(value_digest(&value)),
        value,
    })
}

#[test]
fn a_panic_fails_its_own_task_only() {
    let divide = divide();
    for workers in [1, 4] {
        let mut graph = TaskGraph::new();
        let mut pairs = Vec::new();
        for number in [5, 0, 10, 7, 20] {
            let source = given(&mut graph, number);
            let first = add(&mut graph, &divide, 0, &[source]);
            let second = add(&mut graph, &divide, 1, &[product(first)]);
            pairs.push((number, first, second));
        }
        let wanted: Vec<TaskId> = pairs.iter().map(|(_, _, second)| *second).collect();
        let run = run_graph(graph, &wanted, workers, None).expect("the run goes on");
        assert_eq!(
            (run.counts.executed, run.counts.failed, run.counts.blocked),
            (6, 2, 2)
        );
        for (number, first, second) in pairs {
            let failure = run
                .failures
                .iter()
                .find(|(task, _)| *task == first)
                .map(|(_, failure)| failure);
            match number {
                0 => {
                    let failure = failure.expect("it panicked");
                    assert_eq!(failure.kind, FailureKind::Panicked);
                    assert!(
                        failure.message.contains("divide by zero"),
                        "{}",
                        failure.message
                    );
                }
                7 => {
                    let failure = failure.expect("it refused");
                    assert_eq!(
                        (failure.kind, failure.message.as_str()),
                        (FailureKind::Operation, "input `a`: not 7")
                    );
                }
                _ => assert_eq!(int(&run, second), 100 / (100 / number) + 1),
            }
        }
        assert_eq!(run.failures.len(), 2, "what is blocked has not failed");
    }
}

#[test]
fn a_native_operation_that_takes_too_long_is_abandoned() {
    let (release, told) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );
    let (waits, tells) = (Arc::clone(&release), Arc::clone(&told));
    let mut slow = operation("slow", &[], &Type::Any, Type::Int, move |_, _, context| {
        // It does not look at the flag before it is let go, so nobody can have waited for its end.
        while !waits.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        tells.store(context.cancel.is_cancelled(), Ordering::SeqCst);
        Ok(Value::Int(1))
    });
    slow.signature.timeout = Some(Duration::from_millis(20));
    let (slow, divide) = (Arc::new(slow), divide());
    let mut graph = TaskGraph::new();
    let late = add(&mut graph, &slow, 0, &[]);
    let after = add(&mut graph, &divide, 0, &[product(late)]);
    let source = given(&mut graph, 50);
    let other = add(&mut graph, &divide, 0, &[source]);
    let run = run_graph(graph, &[after, other], 1, None).expect("the run ends");
    assert_eq!(
        (run.counts.executed, run.counts.failed, run.counts.blocked),
        (1, 1, 1)
    );
    assert_eq!(int(&run, other), 2);
    let (task, failure) = &run.failures[0];
    assert_eq!((*task, failure.kind), (late, FailureKind::TimedOut));
    release.store(true, Ordering::SeqCst);
    while !told.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
}

#[test]
fn a_native_operation_is_tried_again() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let flaky = Arc::new(operation(
        "flaky",
        &[],
        &Type::Any,
        Type::Int,
        move |_, _, _| match counted.fetch_add(1, Ordering::SeqCst) {
            0 => Err(OperationError::Failed("not yet".to_owned())),
            1 => panic!("not yet either"),
            number => Ok(Value::Int(number as i64)),
        },
    ));
    let mut graph = TaskGraph::new();
    let task = add(&mut graph, &flaky, 0, &[]);
    let pause = Duration::from_millis(1);
    let options = Options {
        capacity: Capacity::cores(1),
        retries: 2,
        backoff: Backoff {
            first: pause,
            longest: pause,
        },
        ..Options::default()
    };
    let run = run_graph_with(graph, &[task], options, None).expect("the run ends");
    assert_eq!(
        (int(&run, task), run.counts.executed, run.counts.failed),
        (2, 1, 0)
    );
    assert!(run.failures.is_empty());
}

/// Bytes of an image here: 8 MiB.
const IMAGE: usize = 8 << 20;

fn image(byte: u8) -> Value {
    Value::Array(
        Array::new(ElementType::U8, &[IMAGE as u64], &vec![byte; IMAGE]).expect("an array"),
    )
}

fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::Array(array) => array.bytes(),
        other => panic!("expected an array, found {}", other.value_type()),
    }
}

/// A tree over `leaves` images: each leaf is made, each pair is added up, the last one is summed to a number.
fn tree(leaves: i64) -> (TaskGraph, TaskId) {
    let make = Arc::new(operation(
        "make",
        &[],
        &Type::Any,
        Type::Array,
        |_, number, _| Ok(image(number as u8)),
    ));
    let plus = Arc::new(operation(
        "plus",
        &["a", "b"],
        &Type::Array,
        Type::Array,
        |inputs, _, _| {
            let sum: Vec<u8> = bytes(&inputs[0])
                .iter()
                .zip(bytes(&inputs[1]))
                .map(|(a, b)| a.wrapping_add(*b))
                .collect();
            Ok(Value::Array(
                Array::new(ElementType::U8, &[IMAGE as u64], &sum).expect("an array"),
            ))
        },
    ));
    let total = Arc::new(operation(
        "total",
        &["a"],
        &Type::Array,
        Type::Int,
        |inputs, _, _| {
            Ok(Value::Int(
                bytes(&inputs[0]).iter().map(|byte| i64::from(*byte)).sum(),
            ))
        },
    ));
    let mut graph = TaskGraph::new();
    let mut level: Vec<TaskId> = (0..leaves)
        .map(|number| add(&mut graph, &make, number, &[]))
        .collect();
    while level.len() > 1 {
        let pairs = level.chunks(2).collect::<Vec<_>>();
        level = pairs
            .iter()
            .map(|pair| add(&mut graph, &plus, 0, &[product(pair[0]), product(pair[1])]))
            .collect();
    }
    let last = add(&mut graph, &total, 0, &[product(level[0])]);
    (graph, last)
}

#[test]
fn a_budget_of_two_images_finishes() {
    let leaves = 16;
    let expected = (0..leaves).sum::<i64>() * IMAGE as i64;
    for (cores, remembering) in [(1, false), (2, false), (2, true)] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = StorePlace {
            url: folder.path().to_str().map(str::to_owned),
            read_only: false,
            ..StorePlace::default()
        };
        let store = remembering.then(|| open_store(&place, folder.path()).expect("a store"));
        let (graph, last) = tree(leaves);
        let tasks = graph.len();
        let options = Options {
            capacity: Capacity {
                memory: Some(2 * IMAGE as u64),
                ..Capacity::cores(cores)
            },
            ..Options::default()
        };
        let run = run_graph_with(
            graph,
            &[last],
            options,
            store.map(|store| (store, "budget")),
        );
        let run = run.expect("the run ends");
        assert_eq!(
            int(&run, last),
            expected,
            "{cores} cores, remembering: {remembering}"
        );
        assert_eq!((run.counts.executed, run.counts.failed), (tasks, 0));
    }
}

#[test]
fn products_in_memory_are_remembered_too() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = StorePlace {
        url: folder.path().to_str().map(str::to_owned),
        read_only: false,
        ..StorePlace::default()
    };
    let run = |name: &str| {
        let store = open_store(&place, folder.path()).expect("a store");
        let (graph, last) = tree(2);
        let recipe = graph.recipe(last);
        let run = run_graph(graph, &[last], 2, Some((store, name))).expect("the run ends");
        (run.counts.executed, recipe)
    };
    let (first, recipe) = run("first");
    assert_eq!((first, run("second")), (4, (0, recipe)));
}
