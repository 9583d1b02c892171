//! Parts of a graph: what arrives in another process is what was sent.

use std::sync::Arc;

use headwater_graph::wire::{WireReader, WireWriter};
use headwater_graph::{
    Collect, CommandInput, CommandOutput, CommandTemplate, Digest, External, Given, Giver,
    GraphPart, Identity, Invocation, Kind, NewTask, Operation, Part, PartError, Placeholder,
    Registry, Scalar, ScalarType, Signature, Source, StoredOutput, TaskGraph, TaskId, Text, Type,
    UsedFile, Value, decode, encode, value_digest,
};

use crate::support::{operation, registry};

fn stored(value: &Value) -> StoredOutput {
    StoredOutput {
        digest: value_digest(value),
        size: 1,
        inline: Some(encode(value).into()),
        encoding: None,
    }
}

/// Everything that is given is a text, so that a part can be made a graph anywhere.
struct Texts;

impl Giver for Texts {
    fn product(&mut self, task: TaskId, port: u16) -> Option<(Identity, StoredOutput)> {
        let value = Value::Text(format!("{task}:{port}").into());
        Some((Identity::of(&value), stored(&value)))
    }

    fn external(&mut self, _: u32, external: &External) -> Option<StoredOutput> {
        Some(stored(&external.value))
    }
}

fn text(graph: &mut TaskGraph, content: &str) -> Source {
    let value = Value::Text(content.into());
    graph.external(External {
        identity: Identity::of(&value),
        value,
    })
}

fn product(task: TaskId, port: u16) -> Source {
    Source::Product { task, port }
}

fn signatures() -> Vec<Signature> {
    vec![
        Signature::new("make", "1")
            .input("from", Type::Text)
            .output("count", Type::Int)
            .output("text", Type::Text)
            .parameter("size", ScalarType::Float, None),
        Signature::new("join", "2")
            .input("all", Type::Any.list())
            .optional_input("more", Type::Record)
            .output("text", Type::Text),
    ]
}

/// A program with everything that a program can say.
fn program() -> Operation {
    let literal = |text: &str| Part::Literal(text.into());
    let template = CommandTemplate {
        invocation: Invocation::Arguments(vec![
            Text(vec![literal("tool")]),
            Text(vec![
                literal("--in="),
                Part::Placeholder(Placeholder::Input("in".into())),
            ]),
            Text(vec![Part::Placeholder(Placeholder::Threads)]),
        ]),
        inputs: [(
            "in".into(),
            CommandInput {
                extension: Some("txt".into()),
            },
        )]
        .into(),
        outputs: [(
            "out".into(),
            CommandOutput {
                collect: Collect::Glob("*.txt".into()),
                output_type: Type::File.list(),
                optional: true,
            },
        )]
        .into(),
        environment: [("LANG".into(), Text(vec![literal("C")]))].into(),
        threads: headwater_graph::Threads::Inherit,
        stdin: None,
        stdout: Some(Text(vec![Part::Placeholder(Placeholder::Output(
            "out".into(),
        ))])),
        stderr: None,
        version: Some(headwater_graph::VersionSource::Command(vec![
            "tool".into(),
            "-v".into(),
        ])),
        uses: vec!["scripts/**".into()],
        used_files: vec![UsedFile {
            name: "scripts/a".into(),
            path: std::path::Path::new("scripts/a").into(),
            digest: Digest::of(b"a script"),
            executable: true,
        }],
    };
    let mut signature = Signature::new("tool", "command-1")
        .input("in", Type::Text)
        .output("out", Type::File.list())
        .parameter("n", ScalarType::Int, Some(Scalar::Int(3)));
    signature.timeout = Some(core::time::Duration::from_millis(1500));
    signature.retries = Some(2);
    signature.resources.0.insert("gpu".into(), 1);
    Operation {
        signature,
        kind: Kind::Command(Arc::new(template)),
    }
}

/// make → join(list of both outputs and a text, record) → make, and a program beside them.
fn graph() -> (TaskGraph, Vec<TaskId>) {
    let mut graph = TaskGraph::new();
    let mut operations = signatures().into_iter().map(operation);
    let mut next = || Arc::new(operations.next().expect("an operation"));
    let (make, join) = (next(), next());
    let make = graph.operation(&make);
    let join = graph.operation(&join);
    let tool = graph.operation(&Arc::new(program()));
    let size = [Scalar::Float(0.5)];
    let a = text(&mut graph, "a");
    let add = |graph: &mut TaskGraph, operation, parameters: &[Scalar], inputs: &[_]| {
        let new = NewTask {
            operation,
            parameters,
            inputs,
            address: "",
        };
        graph.add(&new).expect("it fits").0
    };
    let first = add(&mut graph, make, &size, &[(0, a.clone())]);
    let list = Source::List(Arc::new(vec![
        product(first, 0),
        product(first, 1),
        a.clone(),
    ]));
    let record = Source::Record(Arc::new(vec![
        ("x".into(), product(first, 1)),
        ("y".into(), a.clone()),
    ]));
    let second = add(&mut graph, join, &[], &[(0, list), (1, record)]);
    let third = add(&mut graph, make, &size, &[(0, product(second, 0))]);
    let fourth = add(
        &mut graph,
        tool,
        &[Scalar::Int(4)],
        &[(0, product(third, 1))],
    );
    (graph, vec![first, second, third, fourth])
}

fn sent(part: &GraphPart) -> GraphPart {
    let mut writer = WireWriter::new();
    part.write(&mut writer);
    let mut reader = WireReader::new(&writer.bytes);
    let read = GraphPart::read(&mut reader).expect("it was written");
    assert_eq!(reader.end(), Ok(()));
    read
}

fn made(part: &GraphPart, libraries: &Registry) -> Result<TaskGraph, PartError> {
    let value = |given: &Given| decode(given.output.inline.as_deref()?).ok();
    part.graph(libraries, &mut Ok, &mut { value })
}

#[test]
fn tasks_have_the_same_recipes_whatever_is_cut() {
    let (graph, tasks) = graph();
    let libraries = registry(signatures());
    for first in 0..tasks.len() {
        for last in first..tasks.len() {
            let cut = &tasks[first..=last];
            let part = GraphPart::of(&graph, cut, &mut Texts).expect("all of it can travel");
            let arrived = sent(&part);
            assert_eq!(arrived, part);
            let there = made(&arrived, &libraries).expect("a graph");
            let wanted: Vec<_> = cut.iter().map(|task| graph.recipe(*task)).collect();
            let found: Vec<_> = there.ids().map(|task| there.recipe(task)).collect();
            assert_eq!(found, wanted, "{first}..={last}");
            assert!(part.recipes().eq(wanted.iter()));
        }
    }
}

#[test]
fn a_program_travels_whole() {
    let (graph, tasks) = graph();
    let part = sent(&GraphPart::of(&graph, &tasks[3..], &mut Texts).expect("it can travel"));
    let there = made(&part, &Registry::new()).expect("no library is needed");
    let (sent, Kind::Command(template)) = (program(), &there.operation_at(TaskId(0)).kind) else {
        panic!("it is no program any more");
    };
    assert_eq!(there.operation_at(TaskId(0)).signature, sent.signature);
    let Kind::Command(wanted) = sent.kind else {
        panic!("it was one");
    };
    assert_eq!(*template, wanted);
}

#[test]
fn what_is_another_operation_there_is_refused_by_name() {
    let (graph, tasks) = graph();
    let part = GraphPart::of(&graph, &tasks, &mut Texts).expect("it can travel");
    let unknown = made(&part, &Registry::new()).map(|_| ());
    assert_eq!(unknown, Err(PartError::Unknown("make".into())));
    let mut changed = signatures();
    changed[1].version = "3".into();
    let other = made(&part, &registry(changed)).map(|_| ());
    let expected = PartError::Version {
        name: "join".into(),
        here: "3".into(),
        there: "2".into(),
    };
    assert_eq!(other, Err(expected));
    // A port of another name is another computation, though the version is the same.
    let mut renamed = signatures();
    renamed[0] = Signature::new("make", "1")
        .input("of", Type::Text)
        .output("count", Type::Int)
        .output("text", Type::Text)
        .parameter("size", ScalarType::Float, None);
    let renamed = made(&part, &registry(renamed)).map(|_| ());
    assert_eq!(renamed, Err(PartError::Recipe("make".into())));
}

#[test]
fn what_cannot_travel_makes_no_part() {
    struct Nothing;
    impl Giver for Nothing {
        fn product(&mut self, _: TaskId, _: u16) -> Option<(Identity, StoredOutput)> {
            None
        }
        fn external(&mut self, _: u32, _: &External) -> Option<StoredOutput> {
            None
        }
    }
    let (graph, tasks) = graph();
    assert_eq!(GraphPart::of(&graph, &tasks, &mut Nothing), None);
    let mut graph = TaskGraph::new();
    let mut impure = Signature::new("now", "1").output("time", Type::Text);
    impure.pure = false;
    let now = graph.operation(&Arc::new(operation(impure)));
    let new = NewTask {
        operation: now,
        parameters: &[],
        inputs: &[],
        address: "now",
    };
    let (task, _) = graph.add(&new).expect("it fits");
    assert_eq!(GraphPart::of(&graph, &[task], &mut Texts), None);
}

#[test]
fn no_bytes_make_it_panic() {
    let (graph, tasks) = graph();
    let part = GraphPart::of(&graph, &tasks, &mut Texts).expect("it can travel");
    let mut writer = WireWriter::new();
    part.write(&mut writer);
    let libraries = registry(signatures());
    let read = |bytes: &[u8]| {
        if let Ok(part) = GraphPart::read(&mut WireReader::new(bytes)) {
            let _ = made(&part, &libraries);
        }
    };
    for end in 0..writer.bytes.len() {
        read(&writer.bytes[..end]);
    }
    for place in 0..writer.bytes.len() {
        for byte in [0, 1, 2, 0x7f, 0x80, 0xff] {
            let mut bytes = writer.bytes.clone();
            bytes[place] = byte;
            read(&bytes);
        }
    }
}
