//! Operations that change their inputs where they lie: only what nobody else can need is changed, and no result
//! depends on it.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headwater::graph::{
    Array, Context, External, FileValue, Identity, NewTask, Operation, OperationError, Outputs,
    Scalar, ScalarType, Signature, Source, TaskGraph, TaskId, Type, Value, value_digest,
};
use headwater::native::run_graph_with;
use headwater::native::{Backoff, Capacity, Options};
use headwater::{NativeRun, StorePlace, open_store, run_graph};
use proptest::prelude::*;

/// How long vectors are here.
const LENGTH: usize = 64;

/// What an update found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Update {
    number: i64,
    /// The first element before.
    first: i64,
    alone: bool,
    /// Where the vector lay before and after.
    before: usize,
    after: usize,
}

/// What operations tell.
#[derive(Debug, Default)]
struct Told {
    updates: Mutex<Vec<Update>>,
    /// What was looked at, by number.
    seen: Mutex<BTreeMap<i64, Vec<i64>>>,
    /// The numbers of tasks that have failed once.
    failed: Mutex<HashSet<i64>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Told {
    fn updates(&self) -> Vec<Update> {
        let mut updates = locked(&self.updates).clone();
        updates.sort_by_key(|update| update.number);
        updates
    }
}

fn vector(number: i64) -> Vec<i64> {
    (0..LENGTH as i64).map(|place| number + place).collect()
}

fn array(numbers: &[i64]) -> Value {
    Value::Array(Array::of_elements(&[numbers.len() as u64], numbers).expect("a vector"))
}

fn numbers(value: &Value) -> Result<&[i64], OperationError> {
    let array = match value {
        Value::Array(array) => array.elements::<i64>(),
        _ => None,
    };
    array.ok_or_else(|| OperationError::Failed(format!("expected integers, found {value:?}")))
}

/// Waits a little, or not at all: the order of things is not to be counted on.
fn dawdle(number: i64) {
    static CALLS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let calls = CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let mixed = (calls ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
    if mixed > 7 {
        std::thread::sleep(Duration::from_micros(mixed * 10));
    }
}

/// Changes the vector of `value`, and notes where it lay.
fn change(
    told: &Told,
    number: i64,
    value: &mut Value,
    change: impl FnOnce(&mut [i64]),
) -> Result<(), OperationError> {
    let Value::Array(array) = value else {
        return Err(OperationError::Failed("no vector".to_owned()));
    };
    let (alone, before) = (array.is_alone(), array.bytes().as_ptr().addr());
    let Some(elements) = array.elements_mut::<i64>() else {
        return Err(OperationError::Failed("no integers".to_owned()));
    };
    let first = elements[0];
    change(elements);
    let after = array.bytes().as_ptr().addr();
    locked(&told.updates).push(Update {
        number,
        first,
        alone,
        before,
        after,
    });
    Ok(())
}

/// An operation with a parameter `n` and a body that owns its inputs, which are called `a`, `b`, …
fn operation(
    signature: Signature,
    run: impl Fn(Vec<Value>, i64) -> Result<Outputs, OperationError> + Send + Sync + 'static,
) -> Arc<Operation> {
    let signature = signature.parameter("n", ScalarType::Int, None);
    let body = move |inputs: Vec<Value>, parameters: &[Scalar], _: &mut Context| {
        let Some(Scalar::Int(number)) = parameters.first() else {
            return Err(OperationError::Failed("no n".to_owned()));
        };
        dawdle(*number);
        run(inputs, *number)
    };
    Arc::new(Operation::native_owned(signature, body))
}

/// A vector that begins at `n`.
fn make() -> Arc<Operation> {
    let signature = Signature::new("make", "1").output("value", Type::Array);
    operation(signature, |_, number| Ok(vec![array(&vector(number))]))
}

fn update_signature() -> Signature {
    Signature::new("update", "1")
        .input("a", Type::Array)
        .in_place("a")
        .output("value", Type::Array)
}

/// Adds `n` to every element, where it lies.
fn update_as(signature: Signature, told: &Arc<Told>) -> Arc<Operation> {
    let told = Arc::clone(told);
    operation(signature, move |mut inputs, number| {
        let add = |elements: &mut [i64]| elements.iter_mut().for_each(|element| *element += number);
        change(&told, number, &mut inputs[0], add)?;
        inputs.truncate(1);
        Ok(inputs)
    })
}

fn update(told: &Arc<Told>) -> Arc<Operation> {
    update_as(update_signature(), told)
}

/// A copy of a vector.
fn copy() -> Arc<Operation> {
    let signature = Signature::new("copy", "1")
        .input("a", Type::Array)
        .output("value", Type::Array);
    operation(signature, |inputs, _| Ok(vec![array(numbers(&inputs[0])?)]))
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

fn given(graph: &mut TaskGraph, value: Value) -> Source {
    graph.external(External {
        identity: Identity::Value(value_digest(&value)),
        value,
    })
}

fn output(run: &NativeRun, task: TaskId) -> Vec<i64> {
    assert!(run.failures.is_empty(), "{:?}", run.failures);
    let outputs = run.output(task).expect("it ran");
    numbers(&outputs[0]).expect("integers").to_vec()
}

fn place_of(folder: &tempfile::TempDir) -> StorePlace {
    StorePlace {
        url: folder.path().to_str().map(str::to_owned),
        read_only: false,
        ..StorePlace::default()
    }
}

fn check_in_place(updates: &[Update]) {
    for update in updates {
        assert!(update.alone && update.before == update.after, "{update:?}");
        assert_eq!(update.before, updates[0].before);
    }
}

#[test]
fn a_chain_of_updates_works_on_one_vector() {
    for workers in [1, 2, 3, 4].repeat(25) {
        let told = Arc::default();
        let (make, update) = (make(), update(&told));
        let mut graph = TaskGraph::new();
        let mut last = add(&mut graph, &make, 1000, &[]);
        for number in 1..=6 {
            last = add(&mut graph, &update, number, &[product(last)]);
        }
        let run = run_graph(graph, &[last], workers, None).expect("the run ends");
        assert_eq!(output(&run, last), vector(1021));
        let updates = told.updates();
        assert_eq!(updates.len(), 6);
        check_in_place(&updates);
    }
}

#[test]
fn updates_with_a_time_out_or_with_files_beside_work_in_place_too() {
    let timed = {
        let mut signature = update_signature();
        signature.timeout = Some(Duration::from_secs(600));
        signature
    };
    let filed = update_signature().input("b", Type::File);
    for (signature, files) in [(timed, false), (filed, true)] {
        let told = Arc::default();
        let (make, update) = (make(), update_as(signature, &told));
        let mut graph = TaskGraph::new();
        let file = given(
            &mut graph,
            Value::File(Arc::new(FileValue::of_bytes(*b"a file"))),
        );
        let mut last = add(&mut graph, &make, 0, &[]);
        for number in 1..=3 {
            let inputs = [product(last), file.clone()];
            let count = 1 + usize::from(files);
            last = add(&mut graph, &update, number, &inputs[..count]);
        }
        let run = run_graph(graph, &[last], 2, None).expect("the run ends");
        assert_eq!(output(&run, last), vector(6));
        assert_eq!(told.updates().len(), 3);
        check_in_place(&told.updates());
    }
}

#[test]
fn other_readers_see_what_was_made_whatever_the_order() {
    for workers in [1, 2, 3, 4].repeat(50) {
        let told = Arc::default();
        let (make, update, copy) = (make(), update(&told), copy());
        let mut graph = TaskGraph::new();
        let made = add(&mut graph, &make, 7, &[]);
        // The same call again is the same node.
        assert_eq!(add(&mut graph, &make, 7, &[]), made);
        let readers: Vec<(TaskId, i64)> = (0..6)
            .map(|number| match number % 2 {
                0 => (add(&mut graph, &update, number, &[product(made)]), number),
                _ => (add(&mut graph, &copy, number, &[product(made)]), 0),
            })
            .collect();
        let wanted: Vec<TaskId> = readers.iter().map(|(task, _)| *task).collect();
        let run = run_graph(graph, &wanted, workers, None).expect("the run ends");
        for (task, difference) in readers {
            assert_eq!(output(&run, task), vector(7 + difference));
        }
        let updates = told.updates();
        assert!(updates.iter().all(|update| update.first == 7));
        let alone = updates.iter().filter(|update| update.alone).count();
        assert!(alone <= 1, "one of them was the last: {updates:?}");
    }
}

#[test]
fn what_is_wanted_or_given_is_never_changed() {
    for workers in [1, 4].repeat(25) {
        let told = Arc::default();
        let (make, update) = (make(), update(&told));
        let mut graph = TaskGraph::new();
        let value = array(&vector(100));
        let source = given(&mut graph, value.clone());
        let first = add(&mut graph, &update, 1, &[source]);
        let made = add(&mut graph, &make, 5, &[]);
        let second = add(&mut graph, &update, 2, &[product(made)]);
        let third = add(&mut graph, &update, 3, &[product(second)]);
        let wanted = [made, first, second, third];
        let run = run_graph(graph, &wanted, workers, None).expect("the run ends");
        assert_eq!(numbers(&value), Ok(&vector(100)[..]));
        for (task, first) in [(first, 101), (made, 5), (second, 7), (third, 10)] {
            assert_eq!(output(&run, task), vector(first));
        }
        assert!(told.updates().iter().all(|update| !update.alone));
    }
}

#[test]
fn an_update_that_is_tried_again_finds_what_it_found_before() {
    for (retries, alone) in [(1, vec![false, true]), (2, vec![false, false])] {
        let told: Arc<Told> = Arc::default();
        let (make, heard) = (make(), Arc::clone(&told));
        let flaky = operation(update_signature(), move |mut inputs, number| {
            let add = |elements: &mut [i64]| {
                elements.iter_mut().for_each(|element| *element += number);
            };
            change(&heard, number, &mut inputs[0], add)?;
            if locked(&heard.failed).insert(number) {
                return Err(OperationError::Failed("not yet".to_owned()));
            }
            Ok(inputs)
        });
        let mut graph = TaskGraph::new();
        let made = add(&mut graph, &make, 40, &[]);
        let last = add(&mut graph, &flaky, 2, &[product(made)]);
        let pause = Duration::from_millis(1);
        let options = Options {
            capacity: Capacity::cores(2),
            retries,
            backoff: Backoff {
                first: pause,
                longest: pause,
            },
            ..Options::default()
        };
        let run = run_graph_with(graph, &[last], options, None).expect("the run ends");
        assert_eq!(output(&run, last), vector(42));
        assert_eq!((run.counts.executed, run.counts.recomputed), (2, 0));
        let updates = locked(&told.updates).clone();
        assert!(updates.iter().all(|update| update.first == 40));
        let found: Vec<bool> = updates.iter().map(|update| update.alone).collect();
        assert_eq!(found, alone, "on the last attempt nobody else can need it");
    }
}

#[test]
fn an_update_that_fails_leaves_others_what_they_read() {
    for workers in [1, 2, 4].repeat(20) {
        let (make, copy) = (make(), copy());
        let breaks = operation(update_signature(), |mut inputs, _| {
            change(&Told::default(), 0, &mut inputs[0], |elements| {
                elements.fill(0);
            })?;
            panic!("half way");
        });
        let mut graph = TaskGraph::new();
        let made = add(&mut graph, &make, 3, &[]);
        let alone = add(&mut graph, &make, 4, &[]);
        let broken = [made, alone].map(|made| add(&mut graph, &breaks, 0, &[product(made)]));
        let after = add(&mut graph, &copy, 0, &[product(broken[0])]);
        let read = add(&mut graph, &copy, 0, &[product(made)]);
        let wanted = [broken[0], broken[1], after, read];
        let run = run_graph(graph, &wanted, workers, None).expect("the run ends");
        let failed: Vec<TaskId> = run.failures.iter().map(|(task, _)| *task).collect();
        assert_eq!((&failed[..], run.counts.blocked), (&broken[..], 1));
        let outputs = run.output(read).expect("it ran");
        assert_eq!(numbers(&outputs[0]), Ok(&vector(3)[..]));
    }
}

#[test]
fn a_store_keeps_what_was_made() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let makes = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&makes);
    let signature = Signature::new("make", "1")
        .output("value", Type::Array)
        .keep("value", true);
    let make = operation(signature, move |_, number| {
        *locked(&counted) += 1;
        Ok(vec![array(&vector(number))])
    });
    let (update, copy) = (update(&Arc::default()), copy());
    let build = || {
        let mut graph = TaskGraph::new();
        let made: Vec<TaskId> = (0..20)
            .map(|number| add(&mut graph, &make, 100 * number, &[]))
            .collect();
        (graph, made)
    };
    let store = || open_store(&place_of(&folder), folder.path()).expect("a store");

    let (mut graph, made) = build();
    let mut wanted = Vec::new();
    for made in made {
        let first = add(&mut graph, &update, 1, &[product(made)]);
        wanted.push(add(&mut graph, &update, 2, &[product(first)]));
    }
    let run = run_graph(graph, &wanted, 2, Some((store(), "first"))).expect("the run ends");
    for (number, task) in wanted.iter().enumerate() {
        assert_eq!(output(&run, *task), vector(100 * number as i64 + 3));
    }
    assert_eq!(*locked(&makes), 20);

    let (mut graph, made) = build();
    let copies: Vec<TaskId> = made
        .iter()
        .map(|made| add(&mut graph, &copy, 0, &[product(*made)]))
        .collect();
    let run = run_graph(graph, &copies, 2, Some((store(), "second"))).expect("the run ends");
    for (number, task) in copies.iter().enumerate() {
        assert_eq!(output(&run, *task), vector(100 * number as i64));
    }
    assert_eq!(*locked(&makes), 20, "they came from the store");
}

/// A step of a random graph; numbers say which of the earlier vectors are read, counted from the last.
#[derive(Debug, Clone)]
enum Step {
    Make,
    Update(usize),
    /// Adds the second one to the first one, which is changed.
    Accumulate(usize, usize),
    /// Adds two, and changes both.
    Exchange(usize, usize),
    /// Hands on what it was given.
    Hand(usize),
    /// Adds up a list, the first item of which is changed.
    Sum(Vec<usize>),
}

/// The operations of random graphs. Some tasks fail the first time, after they have changed what they were given.
struct Operations {
    make: Arc<Operation>,
    update: Arc<Operation>,
    accumulate: Arc<Operation>,
    exchange: Arc<Operation>,
    hand: Arc<Operation>,
    sum: Arc<Operation>,
    look: Arc<Operation>,
}

/// Whether a task with this number fails the first time.
fn stumbles(number: i64) -> bool {
    number % 7 == 3
}

fn plus(into: &mut [i64], from: &[i64]) {
    for (into, from) in into.iter_mut().zip(from) {
        *into = into.wrapping_mul(3).wrapping_add(*from);
    }
}

impl Operations {
    fn new(told: &Arc<Told>) -> Operations {
        let stumbling = |told: &Arc<Told>, number: i64| {
            if stumbles(number) && locked(&told.failed).insert(number) {
                Err(OperationError::Failed("stumbled".to_owned()))
            } else {
                Ok(())
            }
        };
        let two = |name: &str| {
            Signature::new(name, "1")
                .input("a", Type::Array)
                .input("b", Type::Array)
                .in_place("a")
                .output("value", Type::Array)
        };
        let heard = Arc::clone(told);
        let update = operation(update_signature(), move |mut inputs, number| {
            change(&heard, number, &mut inputs[0], |elements| {
                elements.iter_mut().for_each(|element| *element += number);
            })?;
            stumbling(&heard, number)?;
            Ok(inputs)
        });
        let heard = Arc::clone(told);
        let accumulate = operation(two("accumulate"), move |mut inputs, number| {
            let other = inputs.pop().unwrap_or_default();
            let from = numbers(&other)?;
            change(&heard, number, &mut inputs[0], |into| plus(into, from))?;
            stumbling(&heard, number)?;
            Ok(inputs)
        });
        let heard = Arc::clone(told);
        let signature = two("exchange").in_place("b").output("other", Type::Array);
        let exchange = operation(signature, move |mut inputs, number| {
            let mut second = inputs.pop().unwrap_or_default();
            let mut first = inputs.pop().unwrap_or_default();
            let before = numbers(&first)?.to_vec();
            let other = numbers(&second)?.to_vec();
            change(&heard, number, &mut first, |into| plus(into, &other))?;
            change(&heard, number, &mut second, |into| plus(into, &before))?;
            stumbling(&heard, number)?;
            // In the order of their names: `other`, `value`.
            Ok(vec![second, first])
        });
        let heard = Arc::clone(told);
        let signature = Signature::new("sum", "1")
            .input("a", Type::Array.list())
            .in_place("a")
            .output("value", Type::Array);
        let sum = operation(signature, move |mut inputs, number| {
            let Some(Value::List(mut items)) = inputs.pop() else {
                return Err(OperationError::Failed("no list".to_owned()));
            };
            // The list itself was put together for this task.
            let items = Arc::get_mut(&mut items).ok_or(OperationError::Cancelled)?;
            let Some((first, rest)) = items.split_first_mut() else {
                return Err(OperationError::Failed("an empty list".to_owned()));
            };
            for item in rest {
                let from = numbers(item)?;
                change(&heard, number, first, |into| plus(into, from))?;
            }
            stumbling(&heard, number)?;
            Ok(vec![std::mem::take(first)])
        });
        let hand = Signature::new("hand", "1")
            .input("a", Type::Array)
            .output("value", Type::Array);
        let heard = Arc::clone(told);
        let mut look = Signature::new("look", "1")
            .input("a", Type::Array)
            .output("value", Type::Int);
        look.pure = false;
        Operations {
            make: make(),
            update,
            accumulate,
            exchange,
            hand: operation(hand, |inputs, _| Ok(inputs)),
            sum,
            look: operation(look, move |inputs, number| {
                locked(&heard.seen).insert(number, numbers(&inputs[0])?.to_vec());
                Ok(vec![Value::Int(number)])
            }),
        }
    }
}

/// One vector of a random graph: where it comes from, and what it is when everything is computed in order.
type Vectors = Vec<(Source, Vec<i64>)>;

/// Adds the steps to a graph, and computes what they make, with copies.
fn build(steps: &[Step], operations: &Operations, graph: &mut TaskGraph) -> Vectors {
    let mut vectors: Vectors = Vec::new();
    let start = add(graph, &operations.make, 1, &[]);
    vectors.push((product(start), vector(1)));
    for (number, step) in (2..).zip(steps) {
        let at = |back: usize| vectors[vectors.len() - 1 - back % vectors.len()].clone();
        let mut other = None;
        let (task, port, result) = match step {
            Step::Make => (add(graph, &operations.make, number, &[]), 0, vector(number)),
            Step::Update(a) => {
                let (source, value) = at(*a);
                let value = value.iter().map(|element| element + number).collect();
                (add(graph, &operations.update, number, &[source]), 0, value)
            }
            Step::Accumulate(a, b) => {
                let ((a, mut value), (b, from)) = (at(*a), at(*b));
                plus(&mut value, &from);
                (
                    add(graph, &operations.accumulate, number, &[a, b]),
                    0,
                    value,
                )
            }
            Step::Exchange(a, b) => {
                let ((a, first), (b, second)) = (at(*a), at(*b));
                let (mut value, mut exchanged) = (first.clone(), second.clone());
                plus(&mut value, &second);
                plus(&mut exchanged, &first);
                other = Some(exchanged);
                (add(graph, &operations.exchange, number, &[a, b]), 1, value)
            }
            Step::Hand(a) => {
                let (source, value) = at(*a);
                (add(graph, &operations.hand, 0, &[source]), 0, value)
            }
            Step::Sum(items) => {
                let items: Vec<(Source, Vec<i64>)> = items.iter().map(|item| at(*item)).collect();
                let mut value = items[0].1.clone();
                items[1..]
                    .iter()
                    .for_each(|(_, from)| plus(&mut value, from));
                let sources: Vec<Source> = items.into_iter().map(|(source, _)| source).collect();
                let list = Source::List(Arc::new(sources));
                (add(graph, &operations.sum, number, &[list]), 0, value)
            }
        };
        if let Some(other) = other {
            vectors.push((Source::Product { task, port: 0 }, other));
        }
        vectors.push((Source::Product { task, port }, result));
    }
    vectors
}

fn step() -> impl Strategy<Value = Step> {
    // Mostly recent ones: chains are what is changed in place.
    let recent = || prop_oneof![4 => Just(0_usize), 2 => 0..3_usize, 1 => 0..10_usize];
    prop_oneof![
        1 => Just(Step::Make),
        5 => recent().prop_map(Step::Update),
        3 => (recent(), recent()).prop_map(|(a, b)| Step::Accumulate(a, b)),
        2 => (recent(), recent()).prop_map(|(a, b)| Step::Exchange(a, b)),
        1 => recent().prop_map(Step::Hand),
        1 => proptest::collection::vec(recent(), 1..4).prop_map(Step::Sum),
    ]
}

/// How a random graph is run.
#[derive(Debug, Clone)]
struct Manner {
    workers: u64,
    stored: bool,
    memory: Option<u64>,
    retries: u32,
    /// Which vectors are asked for, and which are looked at, one bit each.
    wanted: u64,
    looked: u64,
}

fn manner() -> impl Strategy<Value = Manner> {
    // A store is slow to open.
    let stored = proptest::bool::weighted(0.2);
    let memory = proptest::option::of(600..6000_u64);
    let sparse = || (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a & b);
    (1..5_u64, stored, memory, 0..3_u32, sparse(), sparse()).prop_map(
        |(workers, stored, memory, retries, wanted, looked)| Manner {
            workers,
            stored,
            memory,
            retries,
            wanted,
            looked,
        },
    )
}

/// Runs the steps and compares everything that came of them with what copies give; says how many updates had their
/// vector alone.
fn check(steps: &[Step], manner: &Manner) -> Result<usize, TestCaseError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let told: Arc<Told> = Arc::default();
    let operations = Operations::new(&told);
    // With a store, a second run has to find what the first one kept.
    for name in ["first", "second"]
        .iter()
        .take(1 + usize::from(manner.stored))
    {
        let mut graph = TaskGraph::new();
        let vectors = build(steps, &operations, &mut graph);
        let bit = |bits: u64, place: usize| bits >> (place % 64) & 1 == 1;
        let mut wanted = Vec::new();
        for (place, (source, _)) in vectors.iter().enumerate() {
            let Source::Product { task, .. } = source else {
                continue;
            };
            if bit(manner.wanted, place) || place + 1 == vectors.len() {
                wanted.push(*task);
            }
            if bit(manner.looked, place) {
                let look = &operations.look;
                wanted.push(add(
                    &mut graph,
                    look,
                    place as i64,
                    std::slice::from_ref(source),
                ));
            }
        }
        let pause = Duration::from_micros(100);
        let options = Options {
            capacity: Capacity {
                memory: manner.memory,
                ..Capacity::cores(manner.workers)
            },
            retries: manner.retries,
            backoff: Backoff {
                first: pause,
                longest: pause,
            },
            ..Options::default()
        };
        locked(&told.seen).clear();
        let store = manner.stored.then(|| {
            let store = open_store(&place_of(&folder), folder.path()).expect("a store");
            (store, *name)
        });
        let run = run_graph_with(graph, &wanted, options, store).expect("the run ends");
        let sound = run.failures.is_empty();
        prop_assert!(sound || manner.retries == 0, "{:?}", run.failures);
        for (place, (source, expected)) in vectors.iter().enumerate() {
            let Source::Product { task, port } = source else {
                continue;
            };
            if let Some(outputs) = run.output(*task) {
                let found = numbers(&outputs[usize::from(*port)]).expect("integers");
                prop_assert_eq!(found, &expected[..], "vector {} was delivered", place);
            } else {
                let missing = sound && !manner.stored && wanted.contains(task);
                prop_assert!(!missing, "vector {} is missing", place);
            }
            let seen = locked(&told.seen).get(&(place as i64)).cloned();
            if let Some(seen) = seen {
                prop_assert_eq!(&seen, expected, "vector {} was looked at", place);
            } else {
                prop_assert!(!sound || !bit(manner.looked, place), "{} unseen", place);
            }
        }
    }
    Ok(told.updates().iter().filter(|update| update.alone).count())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_result_depends_on_what_is_changed_in_place(
        steps in proptest::collection::vec(step(), 1..25),
        manner in manner(),
    ) {
        check(&steps, &manner)?;
    }
}

#[test]
fn random_graphs_do_change_vectors_in_place() {
    let mut steps = vec![Step::Update(0), Step::Hand(0), Step::Accumulate(0, 0)];
    steps.extend([Step::Make, Step::Exchange(0, 1), Step::Exchange(0, 1)]);
    steps.extend([Step::Make, Step::Sum(vec![0, 1]), Step::Update(0)]);
    let manner = Manner {
        workers: 1,
        stored: false,
        memory: None,
        retries: 0,
        wanted: 0,
        looked: 0,
    };
    let alone = check(&steps, &manner).expect("everything is right");
    assert!(alone >= 5, "{alone}");
}
