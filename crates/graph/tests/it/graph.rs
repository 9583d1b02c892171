//! The task graph: hash-consing, and what it refuses.

use std::sync::Arc;

use headwater_graph::{
    External, GraphError, Identity, NewTask, Operation, Scalar, ScalarType, Signature, Source,
    TaskGraph, TaskId, Type, Value, value_digest,
};

use crate::support::operation;

struct Bench {
    graph: TaskGraph,
    make: u32,
    join: u32,
    impure: u32,
    record: u32,
}

fn text(content: &str) -> External {
    let value = Value::Text(content.into());
    External {
        identity: Identity::Value(value_digest(&value)),
        value,
    }
}

fn bench() -> Bench {
    let mut graph = TaskGraph::new();
    let mut add = |signature: Signature| graph.operation(&Arc::new(operation(signature)));
    let make = add(Signature::new("make", "1")
        .input("from", Type::Text)
        .output("image", Type::Image)
        .output("count", Type::Int)
        .parameter("size", ScalarType::Int, None));
    let mut optional = Signature::new("join", "1")
        .input("images", Type::Image.list())
        .input("scale", Type::Float)
        .output("image", Type::Image);
    optional.inputs[1].optional = true;
    let join = add(optional);
    let mut now = Signature::new("now", "1").output("time", Type::Text);
    now.pure = false;
    let impure = add(now);
    let record = add(Signature::new("record", "1")
        .input("fields", Type::Record)
        .output("x", Type::Any));
    Bench {
        graph,
        make,
        join,
        impure,
        record,
    }
}

impl Bench {
    fn make(&mut self, from: &str, size: i64) -> (TaskId, bool) {
        let source = self.graph.external(text(from));
        let (inputs, parameters) = ([(0, source)], [Scalar::Int(size)]);
        let new = NewTask {
            operation: self.make,
            parameters: &parameters,
            inputs: &inputs,
            address: "",
        };
        self.graph.add(&new).unwrap()
    }

    fn refuse(
        &mut self,
        operation: u32,
        parameters: &[Scalar],
        inputs: &[(u16, Source)],
    ) -> String {
        let before = self.graph.len();
        let new = NewTask {
            operation,
            parameters,
            inputs,
            address: "",
        };
        let error = self.graph.add(&new).unwrap_err();
        assert_eq!(self.graph.len(), before, "what is refused is not added");
        error.to_string()
    }
}

#[test]
fn adding_a_task_twice_gives_the_same_node() {
    let mut bench = bench();
    assert_eq!(bench.make("a", 1), (TaskId(0), true));
    assert_eq!(bench.make("a", 1), (TaskId(0), false));
    assert_eq!(bench.make("b", 1), (TaskId(1), true));
    assert_eq!(bench.make("a", 2), (TaskId(2), true));
    assert_eq!(bench.graph.len(), 3);
    let recipe = bench.graph.recipe(TaskId(1));
    assert_eq!(bench.graph.find(&recipe), Some(TaskId(1)));
    assert_eq!(bench.graph.parameters(TaskId(2)), [Scalar::Int(2)]);
}

#[test]
fn an_impure_task_is_never_shared() {
    let mut bench = bench();
    let mut add = |address: &str| {
        let new = NewTask {
            operation: bench.impure,
            parameters: &[],
            inputs: &[],
            address,
        };
        bench.graph.add(&new).unwrap().0
    };
    assert_ne!(add("stage.now[0]"), add("stage.now[1]"));
}

/// The address of a pure task does not count.
#[test]
fn a_pure_task_is_shared_wherever_it_stands() {
    let mut bench = bench();
    let source = bench.graph.external(text("a"));
    let mut add = |address: &str| {
        let (inputs, parameters) = ([(0, source.clone())], [Scalar::Int(1)]);
        let new = NewTask {
            operation: bench.make,
            parameters: &parameters,
            inputs: &inputs,
            address,
        };
        bench.graph.add(&new).unwrap().0
    };
    assert_eq!(add("p[0]"), add("q[3-1]"));
}

#[test]
fn the_same_operation_has_one_position() {
    let mut graph = TaskGraph::new();
    let one: Arc<Operation> = Arc::new(operation(Signature::new("a", "1")));
    let same = Arc::new(operation(Signature::new("a", "1")));
    let newer = Arc::new(operation(Signature::new("a", "2")));
    assert_eq!(
        (
            graph.operation(&one),
            graph.operation(&newer),
            graph.operation(&same)
        ),
        (0, 1, 0)
    );
    assert_eq!(graph.operations().len(), 2);
}

#[test]
fn type_errors_name_the_ports() {
    let mut bench = bench();
    let (made, _) = bench.make("a", 1);
    let count = Source::Product {
        task: made,
        port: 0,
    };
    let list = Source::List(Arc::new(vec![count]));
    assert_eq!(
        bench.refuse(bench.join, &[], &[(0, list)]),
        "port `images` of `join` takes `image`, but port `count` of `make` gives `int`"
    );
    let image = Source::Product {
        task: made,
        port: 1,
    };
    assert_eq!(
        bench.refuse(bench.join, &[], &[(0, image.clone())]),
        "port `images` of `join` takes `list of image`, but port `image` of `make` gives `image`"
    );
    let list = Source::List(Arc::new(vec![image.clone()]));
    assert_eq!(
        bench.refuse(bench.make, &[Scalar::Int(1)], &[(0, list)]),
        "port `from` of `make` takes `text`, but a list is bound to it"
    );
}

#[test]
fn ports_are_bound_once_each_in_order() {
    let mut bench = bench();
    let source = bench.graph.external(text("a"));
    let list = Source::List(Arc::new(Vec::new()));
    assert_eq!(
        bench.refuse(bench.make, &[Scalar::Int(1)], &[]),
        "input `from` of `make` is not bound"
    );
    let both = [(0, source.clone()), (0, source.clone())];
    let message = "the inputs of `make` are not given once each, in the order of its ports";
    assert_eq!(bench.refuse(bench.make, &[Scalar::Int(1)], &both), message);
    let beyond = [(0, source.clone()), (7, source.clone())];
    assert_eq!(
        bench.refuse(bench.make, &[Scalar::Int(1)], &beyond),
        message
    );
    let wrong_order = [(1, source.clone()), (0, list.clone())];
    assert_eq!(
        bench.refuse(bench.join, &[], &wrong_order),
        "input `images` of `join` is not bound"
    );
    // The optional one may be left out.
    let new = NewTask {
        operation: bench.join,
        parameters: &[],
        inputs: &[(0, list)],
        address: "",
    };
    assert!(bench.graph.add(&new).is_ok());
}

#[test]
fn parameters_have_their_declared_type() {
    let mut bench = bench();
    let source = bench.graph.external(text("a"));
    let inputs = [(0, source)];
    let wrong = "parameter `size` of `make` is not of its declared type";
    assert_eq!(
        bench.refuse(bench.make, &[Scalar::Float(1.0)], &inputs),
        wrong
    );
    assert_eq!(
        bench.refuse(bench.make, &[], &inputs),
        "`make` has 1 parameters, but 0 values are given"
    );
    let two = [Scalar::Int(1), Scalar::Int(2)];
    assert_eq!(
        bench.refuse(bench.make, &two, &inputs),
        "`make` has 1 parameters, but 2 values are given"
    );
    let surplus = bench.refuse(bench.impure, &[Scalar::Int(1)], &[]);
    assert_eq!(surplus, "`now` has 0 parameters, but 1 values are given");
}

#[test]
fn not_a_number_is_refused() {
    let mut graph = TaskGraph::new();
    let signature = Signature::new("op", "1").parameter("x", ScalarType::Float, None);
    let operation = graph.operation(&Arc::new(operation(signature)));
    let mut add = |number: f64| {
        let parameters = [Scalar::Float(number)];
        graph.add(&NewTask {
            operation,
            parameters: &parameters,
            inputs: &[],
            address: "",
        })
    };
    assert!(matches!(add(f64::NAN), Err(GraphError::Parameter { .. })));
    assert_eq!(add(0.0).unwrap(), (TaskId(0), true));
    assert_eq!(add(-0.0).unwrap(), (TaskId(0), false));
}

#[test]
fn sources_have_to_be_there() {
    let mut bench = bench();
    let (made, _) = bench.make("a", 1);
    let message = "an input of `join` names a task or a port that is not in the graph";
    for source in [
        Source::Product {
            task: TaskId(9),
            port: 0,
        },
        Source::Product {
            task: made,
            port: 9,
        },
        Source::External(9),
    ] {
        let list = Source::List(Arc::new(vec![source]));
        assert_eq!(bench.refuse(bench.join, &[], &[(0, list)]), message);
    }
}

#[test]
fn records_are_sorted_by_key() {
    let mut bench = bench();
    let source = bench.graph.external(text("a"));
    let record = |keys: [&str; 2]| {
        Source::Record(Arc::new(
            keys.map(|key| (Arc::from(key), source.clone())).to_vec(),
        ))
    };
    let message = "port `fields` of `record` takes `record`, but a record is bound to it or its keys are not in order";
    assert_eq!(
        bench.refuse(bench.record, &[], &[(0, record(["b", "a"]))]),
        message
    );
    assert_eq!(
        bench.refuse(bench.record, &[], &[(0, record(["a", "a"]))]),
        message
    );
    let new = NewTask {
        operation: bench.record,
        parameters: &[],
        inputs: &[(0, record(["a", "b"]))],
        address: "",
    };
    assert!(bench.graph.add(&new).is_ok());
}

#[test]
fn inputs_come_before_their_readers() {
    let mut bench = bench();
    let (one, _) = bench.make("a", 1);
    let (two, _) = bench.make("b", 1);
    let image = |task| Source::Product { task, port: 1 };
    let list = Source::List(Arc::new(vec![image(two), image(one), image(two)]));
    let new = NewTask {
        operation: bench.join,
        parameters: &[],
        inputs: &[(0, list)],
        address: "",
    };
    let (join, _) = bench.graph.add(&new).unwrap();
    let mut read = Vec::new();
    bench
        .graph
        .for_each_input_task(join, |task| read.push(task));
    assert_eq!(read, [two, one, two]);
    assert!(read.iter().all(|task| *task < join));
}
