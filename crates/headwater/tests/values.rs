//! Workflows, data and studies as values of a program: the same runs as with files, and arrays without a copy.

use std::path::Path;
use std::sync::{Arc, Mutex};

use headwater::graph::{
    Array, Context, Operation, OperationError, Outputs, Recipe, Registry, Scalar, ScalarType,
    Signature, Type, Value, Workflow,
};
use headwater::runs::Delivered;
use headwater::sequence::{CallState, Item, Mode, Sequence, procedure};
use headwater::{
    Data, DataSource, Destination, Document, Error, Progress, RunReport, RunRequest, Setting, Site,
    Stop, StorePlace, StudyRunRequest, StudySource, WorkflowSource,
};

const FLOW: &str = "\
headwater: 1
workflow: scaled
inputs: {numbers: array, label: {type: text, optional: true}}
parameters: {factor: {type: float, default: 2.0, range: [0, 4], step: 1}}
stages:
  scale:
    tasks: [{op: test/scale, in: {numbers: numbers}, params: {factor: $factor}, out: {scaled: scaled, sum: sum}}]
outputs: {scaled: scaled, sum: sum}
";

/// Where the operation saw the first byte of its array, and put that of its result.
type Seen = Arc<Mutex<Vec<(usize, usize)>>>;

fn libraries(seen: &Seen) -> Registry {
    let signature = Signature::new("scale", "1")
        .input("numbers", Type::Array)
        .parameter("factor", ScalarType::Float, None)
        .output("scaled", Type::Array)
        .output("sum", Type::Float);
    let seen = Arc::clone(seen);
    let scale = move |inputs: &[Value], parameters: &[Scalar], _: &mut Context| {
        let ([Value::Array(array)], [Scalar::Float(factor)]) = (inputs, parameters) else {
            return Err(OperationError::Failed("no array".to_owned()));
        };
        let numbers = array.elements::<f64>().unwrap_or_default();
        let scaled: Vec<f64> = numbers.iter().map(|number| number * factor).collect();
        let sum = scaled.iter().sum();
        let scaled = Array::of_vec(array.shape(), scaled).expect("as many as before");
        let places = (
            array.bytes().as_ptr().addr(),
            scaled.bytes().as_ptr().addr(),
        );
        seen.lock().expect("no panic").push(places);
        Ok(vec![Value::Array(scaled), Value::Float(sum)]) as Result<Outputs, OperationError>
    };
    let mut libraries = Registry::new();
    libraries
        .register(Some("test"), Operation::native(signature, scale))
        .expect("a new name");
    libraries
}

fn numbers(from: i32) -> Array {
    let numbers = (0..1000).map(|number| f64::from(number + from)).collect();
    Array::of_vec(&[10, 100], numbers).expect("a thousand")
}

fn request(data: Data) -> RunRequest {
    RunRequest {
        flow: WorkflowSource::text(FLOW),
        inputs: Some(data.into()),
        outputs: Destination::Values,
        ..RunRequest::default()
    }
}

fn arrays(report: &RunReport) -> Vec<&Array> {
    let items = report.outputs["scaled"].iter();
    let arrays = items.map(|item| match &item.what {
        Delivered::Value(Value::Array(array)) => array,
        other => panic!("no array: {other:?}"),
    });
    arrays.collect()
}

/// What is in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    names.map(|name| name.expect("a text")).collect()
}

/// The operation reads the bytes of the program, and the program gets those of the operation.
#[test]
fn arrays_come_and_go_without_a_copy() {
    let folder = tempfile::tempdir().expect("a folder");
    let seen = Seen::default();
    let (progress, stop) = (Progress::default(), Stop::default());
    let site = Site::new(folder.path())
        .with_libraries(libraries(&seen))
        .with_progress(&progress)
        .with_stop(&stop);
    let mine = [numbers(0), numbers(5)];
    let report = site
        .run(&request(Data::new().items("numbers", mine.clone())))
        .expect("it runs");
    assert!(report.succeeded(), "{report:?}");
    assert_eq!(progress.snapshot().tally.executed, 2);
    let mut given: Vec<usize> = mine
        .iter()
        .map(|array| array.bytes().as_ptr().addr())
        .collect();
    let results = arrays(&report);
    let mut got: Vec<usize> = results
        .iter()
        .map(|array| array.bytes().as_ptr().addr())
        .collect();
    assert_eq!(
        results[1].elements::<f64>().expect("numbers")[999],
        2.0 * 1004.0
    );
    let (mut read, mut made): (Vec<_>, Vec<_>) = seen.lock().expect("no panic").drain(..).unzip();
    for places in [&mut given, &mut got, &mut read, &mut made] {
        places.sort_unstable();
    }
    assert_eq!(read, given);
    assert_eq!(made, got);
    // Nothing lies about but the store; what is remembered is equal, and not computed again.
    assert_eq!(names(folder.path()), [".headwater"]);
    let again = site
        .run(&request(Data::new().items("numbers", mine)))
        .expect("it runs");
    assert_eq!((again.counts.executed, again.counts.reused), (0, 2));
    assert_eq!(arrays(&again), results);
    // Who has stopped it gets nothing more.
    stop.gently();
    let stopped = site
        .run(&request(Data::new().item("numbers", numbers(9))))
        .expect("it ends");
    assert!(
        stopped.stopped && stopped.counts.executed == 0,
        "{stopped:?}"
    );
}

fn recipes(site: &Site, request: &RunRequest) -> Vec<(String, Recipe)> {
    let plan = site.dry_run(request).expect("it can be planned");
    assert_eq!(plan.tasks, 1);
    plan.to_run
}

/// Law: a file and a value that say the same give the same recipes.
#[test]
fn files_texts_and_values_are_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let count = |inputs: &[Value], _: &[Scalar], _: &mut Context| {
        Ok(vec![Value::Int(inputs.len() as i64)]) as Result<Outputs, OperationError>
    };
    let signature = Signature::new("count", "1")
        .input("file", Type::File)
        .input("number", Type::Int)
        .parameter("factor", ScalarType::Float, None)
        .output("count", Type::Int);
    let mut libraries = Registry::new();
    libraries
        .register(Some("test"), Operation::native(signature, count))
        .expect("a new name");
    let site = Site::new(folder.path()).with_libraries(libraries.clone());
    let flow = "\
headwater: 1
workflow: counted
inputs: {file: file, number: int}
parameters: {factor: float}
stages:
  count:
    tasks: [{op: test/count, in: {file: file, number: number}, params: {factor: $factor}, out: {count: count}}]
outputs: {count: count}
";
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a file");
    };
    write("flow.yaml", flow);
    write("some.txt", "some");
    let data = "inputs: {file: some.txt, number: 7}\nparameters: {factor: 3}\n";
    write("data.yaml", data);
    let by_files = RunRequest {
        flow: "flow.yaml".into(),
        inputs: Some("data.yaml".into()),
        ..RunRequest::default()
    };
    let expected = recipes(&site, &by_files);
    let by_texts = RunRequest {
        flow: WorkflowSource::text(flow),
        inputs: Some(DataSource::Document(Document::Text(data.to_owned()))),
        ..RunRequest::default()
    };
    assert_eq!(recipes(&site, &by_texts), expected);
    let read = headwater_flow::read_workflow(flow, &libraries);
    let workflow: Workflow = read.value.expect("it has no mistakes").workflow;
    let by_values = RunRequest {
        flow: workflow.into(),
        inputs: Some(
            Data::new()
                .item("file", "some.txt")
                .item("number", 7)
                .into(),
        ),
        settings: vec![Setting::new("factor", 3.0)],
        ..RunRequest::default()
    };
    assert_eq!(recipes(&site, &by_values), expected);
    let rows = Data::new().rows(["file", "number"], [["some.txt".into(), 7.into()]]);
    let by_rows = RunRequest {
        inputs: Some(rows.parameter("factor", 3.0).into()),
        ..by_values
    };
    let (_, recipe) = &recipes(&site, &by_rows)[0];
    assert_eq!(*recipe, expected[0].1);
}

/// The words of an error, with those of all mistakes that it lists.
fn words(error: &Error) -> String {
    format!("{error:?}")
}

#[test]
fn mistakes_in_values_are_told_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = Site::new(folder.path()).with_libraries(libraries(&Seen::default()));
    let refused = |request: &RunRequest, expected: &[&str]| {
        let error = site.run(request).expect_err("it is wrong");
        let words = words(&error);
        for expected in expected {
            assert!(words.contains(expected), "{words}");
        }
        assert_eq!(error.fault(), headwater::graph::Fault::User);
    };
    refused(
        &request(Data::new().item("numbers", 7)),
        &["(data)", "expected array, found `7`"],
    );
    refused(
        &request(Data::new().item("nubmers", numbers(0))),
        &["no input `nubmers`", "did you mean `numbers`?"],
    );
    refused(
        &request(
            Data::new()
                .item("numbers", numbers(0))
                .item("label", numbers(0)),
        ),
        &["expected text, found array"],
    );
    let rows = Data::new().rows(["numbers"], [[numbers(0).into()]]);
    refused(
        &request(rows.item("label", "x")),
        &["the data has rows and single inputs"],
    );
    let set = |setting: Setting| RunRequest {
        settings: vec![setting],
        ..request(Data::new().item("numbers", numbers(0)))
    };
    refused(
        &set(Setting::new("fatcor", 1.0)),
        &["setting `fatcor`", "did you mean `factor`?"],
    );
    refused(
        &set(Setting::new("numbers", 1.0)),
        &["is an input: give it with the data"],
    );
    refused(
        &RunRequest {
            flow: WorkflowSource::text("headwater: 1\nworkflow: wrong\nstagse: {}\n"),
            ..RunRequest::default()
        },
        &["(workflow):3:1", "did you mean `stages`?"],
    );
    let read = headwater_flow::read_workflow(FLOW, &libraries(&Seen::default()));
    let mut workflow = read.value.expect("it has no mistakes").workflow;
    workflow.stages[0].tasks[0].operation = "test/sclae".into();
    refused(
        &RunRequest {
            flow: workflow.into(),
            ..RunRequest::default()
        },
        &["(workflow)", "test/sclae", "test/scale"],
    );
    // None of it made a store.
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

/// A store in memory that a program has open remembers for all that is done with it.
#[test]
fn an_open_store_in_memory_remembers() {
    let folder = tempfile::tempdir().expect("a folder");
    let memory = StorePlace {
        url: Some("memory:".to_owned()),
        read_only: false,
        ..StorePlace::default()
    };
    let new = Site::new(folder.path())
        .with_store(memory)
        .with_libraries(libraries(&Seen::default()));
    let request = request(Data::new().item("numbers", numbers(0)));
    let executed = |site: &Site| site.run(&request).expect("it runs").counts.executed;
    assert_eq!((executed(&new), executed(&new)), (1, 1));
    let store = new.open_store().expect("a store");
    let site = new.with_open_store(Arc::clone(&store));
    assert_eq!((executed(&site), executed(&site)), (1, 0));
    assert_eq!(store.runs(10).expect("runs").len(), 2);

    // Calls of a program are remembered there, too.
    let calls = || {
        let square = procedure("test/square", "1")
            .reads::<i64>("number")
            .writes::<i64>("square")
            .run(|(number,): (i64,), _| Ok((number * number,)));
        let options = site.sequence(Mode::Restrictive).expect("options");
        let mut sequence = Sequence::with(options);
        let three = sequence.give(3);
        let mut nine: Item<i64> = sequence.item();
        sequence
            .submit(&square, (&three, &mut nine))
            .expect("a call");
        let report = sequence.end().expect("it ends");
        let nine = report.value(&nine).expect("a number");
        (nine, report.count(CallState::Executed))
    };
    assert_eq!(calls(), (9, 1));
    assert_eq!(calls(), (9, 0));
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

/// A study whose workflow and data are values, with another seed than its text says.
#[test]
fn studies_are_given_as_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = Site::new(folder.path()).with_libraries(libraries(&Seen::default()));
    let study = "\
headwater: 1
study: factors
workflow: given
objective: sum
method: {moat: {trajectories: 3, levels: 4}}
";
    let request = StudyRunRequest {
        study: StudySource {
            workflow: Some(WorkflowSource::text(FLOW)),
            data: Some(Data::new().item("numbers", numbers(0)).into()),
            settings: vec![Setting::new("method.moat.trajectories", 2)],
            ..StudySource::text(study)
        },
        ..StudyRunRequest::default()
    };
    let done = site.run_study(&request).expect("it runs");
    assert!(done.succeeded(), "{:?}", done.errors);
    let phase = &done.summary.phases[0];
    assert_eq!(&*phase.parameters[0].name, "factor");
    assert!(phase.pooled.sizes()[0].0.is_some_and(|size| size > 0.0));
    let (summary, page) = site
        .report_study(&headwater::StudyReportRequest {
            study: request.study.document.clone(),
            ..Default::default()
        })
        .expect("a report");
    assert_eq!(summary.study, "factors");
    assert!(page.is_file());
    // Data that does not fit is refused where the study names nothing.
    let wrong = StudyRunRequest {
        study: StudySource {
            data: Some(Data::new().item("nubmers", numbers(0)).into()),
            ..request.study
        },
        ..StudyRunRequest::default()
    };
    let error = site.run_study(&wrong).expect_err("it is wrong");
    let words = words(&error);
    assert!(words.contains("the data has data for `nubmers`"), "{words}");
}
