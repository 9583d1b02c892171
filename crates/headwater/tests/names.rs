//! Files that are known by their names: a task that passes one on has looked into it before it is kept.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use headwater::graph::{
    Context, Digest, DirectoryEntry, DirectoryValue, External, FileValue, Handle, Identity,
    NewTask, Operation, OperationError, Outputs, Scalar, Signature, Source, TaskGraph, TaskId,
    Type, Value, decode,
};
use headwater::{NativeRun, StorePlace, open_store, run_graph};
use headwater_graph::Store;

/// Gives back what it gets.
fn pass_on() -> Arc<Operation> {
    let signature = Signature::new("pass-on", "1")
        .input("given", Type::Any)
        .output("same", Type::Any);
    let run = |inputs: &[Value],
               _: &[Scalar],
               _: &mut Context|
     -> Result<Outputs, OperationError> { Ok(inputs.to_vec()) };
    Arc::new(Operation::native(signature, run))
}

fn graph_of(value: Value) -> (TaskGraph, TaskId) {
    let mut graph = TaskGraph::new();
    let source: Source = graph.external(External {
        identity: Identity::of(&value),
        value,
    });
    let operation = graph.operation(&pass_on());
    let new = NewTask {
        operation,
        parameters: &[],
        inputs: &[(0, source)],
        address: "",
    };
    let (task, _) = graph.add(&new).expect("it fits");
    (graph, task)
}

fn store_in(folder: &Path) -> Arc<dyn Store> {
    let place = StorePlace {
        url: folder.join("store").to_str().map(str::to_owned),
        read_only: false,
        ..StorePlace::default()
    };
    open_store(&place, folder).expect("a store")
}

/// Runs the task that passes `value` on, and gives what came out and what the store has of it.
fn passed_on(folder: &Path, value: Value) -> (NativeRun, Option<Value>, Value) {
    let store = store_in(folder);
    let (graph, task) = graph_of(value);
    let recipe = graph.recipe(task);
    let run = run_graph(graph, &[task], 1, Some((Arc::clone(&store), "run"))).expect("it ends");
    let made = run.output(task).map(|outputs| outputs[0].clone());
    let record = store
        .fetch(&[recipe])
        .expect("records")
        .pop()
        .flatten()
        .expect("it is remembered");
    let bytes = record.outputs[0].1.inline.clone().expect("a small value");
    let kept = decode(&bytes).expect("a value");
    kept.for_each_file(&mut |file| {
        let bytes = store.read(&file.digest).expect("the object is there");
        assert_eq!(Digest::of(&bytes), file.digest, "under its own digest");
    });
    (run, made, kept)
}

fn digests(value: &Value) -> Vec<Digest> {
    let mut found = Vec::new();
    value.for_each_file(&mut |file| found.push(file.digest));
    found
}

#[test]
fn what_is_passed_on_is_kept_under_the_digest_of_its_contents() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a"), "apple").expect("a file");
    fs::write(path("b"), "berry").expect("a file");
    let known = |name: &str| FileValue::known_by_name(name, &path(name), 5);
    let file = |name: &str| Value::File(Arc::new(known(name)));
    let (apple, berry) = (Digest::of(b"apple"), Digest::of(b"berry"));
    let directory = Value::Directory(DirectoryValue {
        entries: [DirectoryEntry {
            path: "b".into(),
            executable: false,
            file: known("b"),
        }]
        .into(),
        path: Some(folder.path().into()),
        name: Some("folder".into()),
    });
    let list = Value::List([file("b"), directory.clone(), file("a")].into());
    for (value, expected) in [
        (file("a"), vec![apple]),
        (directory, vec![berry]),
        (list, vec![berry, berry, apple]),
    ] {
        let (run, made, kept) = passed_on(folder.path(), value.clone());
        assert_eq!(run.counts.executed, 1);
        let made = made.expect("it ran");
        assert_eq!(digests(&made), expected);
        assert!(!made.is_known_by_name());
        assert_eq!(digests(&kept), expected);
        let (graph, task) = graph_of(value);
        let again = run_graph(graph, &[task], 1, Some((store_in(folder.path()), "again")));
        assert_eq!(again.expect("it ends").counts.executed, 0);
    }
}

/// The name says what is in the file; where the user is wrong about that, the store still holds what it says.
#[test]
fn a_changed_file_of_the_same_name_is_what_it_was() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a");
    let value = || Value::File(Arc::new(FileValue::known_by_name("a", &path, 5)));
    fs::write(&path, "apple").expect("a file");
    let (run, ..) = passed_on(folder.path(), value());
    assert_eq!(run.counts.executed, 1);
    fs::write(&path, "berry").expect("a file");
    let (run, made, kept) = passed_on(folder.path(), value());
    assert_eq!((run.counts.executed, made), (0, None));
    assert_eq!(digests(&kept), [Digest::of(b"apple")]);
    let renamed = Value::File(Arc::new(FileValue::known_by_name("b", &path, 5)));
    let (run, _, kept) = passed_on(folder.path(), renamed);
    assert_eq!(run.counts.executed, 1);
    assert_eq!(digests(&kept), [Digest::of(b"berry")]);
    assert!(matches!(&kept, Value::File(file) if matches!(file.handle, Handle::Stored)));
}
