//! A product that was brought back in part and then had to leave memory does not come back with nulls.
use std::path::Path;
use std::sync::Arc;

use headwater::graph::{
    Context, NewTask, Operation, OperationError, Outputs, Scalar, ScalarType, Signature, Source,
    TaskGraph, TaskId, Type, Value,
};
use headwater::native::run_graph_with;
use headwater::native::{Capacity, Options};
use headwater::{NativeRun, StorePlace, open_store};

fn op(
    name: &str,
    inputs: &[&str],
    outputs: &[&str],
    memory: u64,
    run: impl Fn(&[Value], i64) -> Outputs + Send + Sync + 'static,
) -> Arc<Operation> {
    let mut signature = Signature::new(name, "1").parameter("n", ScalarType::Int, None);
    for output in outputs {
        signature = signature.output(output, Type::Any);
    }
    for input in inputs {
        signature = signature.input(input, Type::Any);
    }
    if memory > 0 {
        signature.resources.0.insert("memory".into(), memory);
    }
    let body = move |inputs: &[Value],
                     parameters: &[Scalar],
                     _: &mut Context|
          -> Result<Outputs, OperationError> {
        let Some(Scalar::Int(n)) = parameters.first() else {
            panic!()
        };
        Ok(run(inputs, *n))
    };
    Arc::new(Operation::native(signature, body))
}

fn add(graph: &mut TaskGraph, operation: &Arc<Operation>, n: i64, inputs: &[Source]) -> TaskId {
    let operation = graph.operation(operation);
    let inputs: Vec<(u16, Source)> = (0..).zip(inputs.iter().cloned()).collect();
    let new = NewTask {
        operation,
        parameters: &[Scalar::Int(n)],
        inputs: &inputs,
        address: "",
    };
    graph.add(&new).unwrap().0
}

fn p(task: TaskId, port: u16) -> Source {
    Source::Product { task, port }
}

fn bytes(byte: u8) -> Value {
    Value::Bytes(vec![byte; 40_000].into())
}

fn go(folder: &Path, n: i64, name: &str) -> NativeRun {
    const BUDGET: u64 = 1 << 20;
    let pair = op("pair", &[], &["p0", "p1"], 0, |_, _| {
        vec![bytes(0x10), bytes(0x11)]
    });
    let f = op("f", &["a"], &["v"], 0, |inputs, _| {
        assert!(!matches!(inputs[0], Value::Null), "f was given null");
        vec![bytes(0x22)]
    });
    let one = op("one", &["a"], &["v"], 0, |_, n| vec![Value::Int(n)]);
    let two = op("two", &["a", "b"], &["v"], 0, |_, n| vec![Value::Int(n)]);
    let q = op("q", &["a"], &["v"], BUDGET, |_, n| vec![Value::Int(n)]);
    let q0 = op("q0", &[], &["v"], BUDGET, |_, n| vec![Value::Int(n)]);
    let all = op("all", &["a", "b", "c"], &["v"], 0, |_, n| {
        vec![Value::Int(n)]
    });
    let mut graph = TaskGraph::new();
    let x = add(&mut graph, &pair, 0, &[]);
    let y = add(&mut graph, &f, 0, &[p(x, 1)]);
    let r1 = add(&mut graph, &one, n, &[p(x, 0)]);
    let mut last = add(&mut graph, &q0, n, &[]);
    for k in 0..4 {
        last = add(&mut graph, &q, n * 10 + k, &[p(last, 0)]);
    }
    let z = add(&mut graph, &two, n + 100, &[p(y, 0), p(last, 0)]);
    let r2 = add(&mut graph, &all, n, &[p(x, 0), p(last, 0), p(z, 0)]);
    let place = StorePlace {
        url: Some(folder.join("store").display().to_string()),
        ..StorePlace::default()
    };
    let store = open_store(&place, folder).unwrap();
    let mut capacity = Capacity::cores(1);
    capacity.memory = Some(BUDGET);
    let options = Options {
        capacity,
        ..Options::default()
    };
    run_graph_with(graph, &[r1, r2], options, Some((store, name))).unwrap()
}

fn forget(folder: &Path, byte: u8) -> usize {
    let mut gone = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gone += forget(&path, byte);
        } else if std::fs::read(&path)
            .unwrap()
            .windows(64)
            .any(|w| w.iter().all(|b| *b == byte))
        {
            std::fs::remove_file(&path).unwrap();
            gone += 1;
        }
    }
    gone
}

#[test]
fn nulls_do_not_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = go(folder.path(), 1, "first");
    assert!(run.failures.is_empty(), "{:?}", run.failures);
    let objects = folder.path().join("store/objects");
    assert_eq!(forget(&objects, 0x11), 1);
    assert_eq!(forget(&objects, 0x22), 1);
    let run = go(folder.path(), 2, "second");
    assert!(
        run.failures.is_empty(),
        "{:?} {:?}",
        run.failures,
        run.counts
    );
}
