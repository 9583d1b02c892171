//! A file with every field, and what becomes of it.

use core::time::Duration;
use std::sync::Arc;

use headwater_flow::{Read, WorkflowFile, mutate, read_workflow};
use headwater_graph::{
    Binding, Collect, CommandTemplate, Input, Invocation, Kind, Operation, OutputBinding,
    Parameter, Part, Placeholder, Port, Scalar, ScalarType, Stage, Strategy, Text, Tolerance, Type,
    VersionSource, Wait,
};

fn read() -> WorkflowFile {
    let Read { value, diagnostics } =
        read_workflow(include_str!("../fixtures/full.yaml"), &mutate::registry());
    let errors: Vec<_> = diagnostics
        .iter()
        .filter(|found| found.is_error())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    value.expect("there are no errors")
}

fn literal(text: &str) -> Part {
    Part::Literal(text.into())
}

fn text(parts: Vec<Part>) -> Text {
    Text(parts)
}

#[test]
fn names_inputs_and_outputs() {
    let workflow = read().workflow;
    assert_eq!(&*workflow.name, "everything");
    let input = |name: &str, input_type, optional| Input {
        name: name.into(),
        input_type,
        optional,
    };
    assert_eq!(
        workflow.inputs,
        [
            input("tile", Type::Image, false),
            input("scan", Type::File, false),
            input("reference", Type::Image, true),
            input("subjects", Type::File.list(), false),
            input("gain", Type::Float, false),
        ]
    );
    let output = |name: &str, data: &str| OutputBinding {
        name: name.into(),
        data: data.into(),
    };
    assert_eq!(
        workflow.outputs,
        [
            output("mask", "nuclei"),
            output("other", "other"),
            output("sheets", "sheet"),
            output("each", "sheet-per-scan"),
            output("score", "score"),
            output("tiles", "tiles"),
        ]
    );
}

#[test]
fn parameters() {
    let parameter = |name: &str, scalar_type| Parameter {
        name: name.into(),
        scalar_type,
        default: None,
        range: None,
        step: None,
        values: Vec::new(),
    };
    let words = ["fast", "exact"].map(|word| Scalar::Text(word.into()));
    assert_eq!(
        read().workflow.parameters,
        [
            Parameter {
                default: Some(Scalar::Int(220)),
                range: Some((210.0, 240.0)),
                step: Some(10.0),
                ..parameter("B", ScalarType::Int)
            },
            Parameter {
                default: Some(Scalar::Float(5.0)),
                range: Some((2.5, 7.5)),
                step: Some(0.5),
                ..parameter("T1", ScalarType::Float)
            },
            Parameter {
                range: Some((2.5, 7.5)),
                ..parameter("T2", ScalarType::Float)
            },
            Parameter {
                default: Some(Scalar::Int(4)),
                values: vec![Scalar::Int(4), Scalar::Int(8)],
                ..parameter("Conn", ScalarType::Int)
            },
            Parameter {
                values: words.to_vec(),
                ..parameter("Mode", ScalarType::Text)
            },
            Parameter {
                default: Some(Scalar::Bool(false)),
                ..parameter("Deep", ScalarType::Bool)
            },
            Parameter {
                default: Some(Scalar::Text("$5".into())),
                ..parameter("Label", ScalarType::Text)
            },
            parameter("Count", ScalarType::Int),
        ]
    );
}

#[test]
fn stages_and_tasks() {
    let workflow = read().workflow;
    let names: Vec<&str> = workflow.stages.iter().map(|stage| &*stage.name).collect();
    assert_eq!(
        names,
        [
            "normalize",
            "segment",
            "reorient",
            "collect",
            "per-tile",
            "last"
        ]
    );
    let stage = |name: &str| -> &Stage {
        &workflow.stages[workflow.stage_index(name).expect("it is there")]
    };

    let normalize = &stage("normalize").tasks[0];
    assert_eq!(
        (&*normalize.name, &*normalize.operation),
        ("normalize", "imaging/normalize")
    );
    assert_eq!(normalize.inputs["image"], "tile".into());
    assert_eq!(normalize.outputs["image"], "normalized".into());

    let segment = stage("segment");
    assert_eq!(segment.concurrency, Some(2));
    let names: Vec<&str> = segment.tasks.iter().map(|task| &*task.name).collect();
    assert_eq!(names, ["first", "second"]);
    let first = &segment.tasks[0].parameters;
    assert_eq!(first["blue"], Binding::Parameter("B".into()));
    assert_eq!(
        first["mode"],
        Binding::Literal(Scalar::Text("$literal".into()))
    );
    assert_eq!(first["deep"], Binding::Literal(Scalar::Bool(true)));
    assert_eq!(
        segment.tasks[1].parameters["blue"],
        Binding::Literal(Scalar::Int(7))
    );

    let reorient = stage("reorient");
    let crossed = ["scan", "gain"].map(|name| Strategy::Name(name.into()));
    assert_eq!(reorient.iterate, Some(Strategy::Cross(crossed.to_vec())));
    assert_eq!(reorient.after, ["segment".into()] as [Arc<str>; 1]);
    assert_eq!(stage("collect").wait, Wait::All);
    assert_eq!(stage("collect").tolerate, Some(Tolerance::Percent(5.0)));
    assert_eq!(stage("per-tile").wait, Wait::Per("scan".into()));
    assert_eq!(stage("per-tile").tolerate, Some(Tolerance::Count(2)));
    assert_eq!(
        stage("last").wait,
        Wait::Stages(vec!["segment".into(), "reorient".into()])
    );
}

fn template(operation: &Operation) -> &CommandTemplate {
    match &operation.kind {
        Kind::Command(template) => template,
        Kind::Native(_) => panic!("operations of files are commands"),
    }
}

#[test]
fn a_command() {
    let file = read();
    let operation = &file.operations[0];
    let signature = &operation.signature;
    assert_eq!((&*signature.name, &*signature.version), ("reorient", ""));
    assert_eq!(
        signature.inputs,
        [
            Port {
                optional: true,
                ..Port::new("gain", Type::Float)
            },
            Port {
                keep_name: true,
                ..Port::new("image", Type::File)
            },
        ]
    );
    assert_eq!(
        signature.outputs,
        [
            Port::new("image", Type::File),
            Port {
                keep: Some(false),
                ..Port::new("log", Type::File)
            },
            Port {
                optional: true,
                ..Port::new("score", Type::Float)
            },
            Port {
                keep: Some(true),
                ..Port::new("tiles", Type::Directory.list())
            },
        ]
    );
    let declared: Vec<_> = signature
        .parameters
        .iter()
        .map(|found| (&*found.name, found.scalar_type))
        .collect();
    assert_eq!(
        declared,
        [
            ("angle", ScalarType::Float),
            ("label", ScalarType::Text),
            ("turns", ScalarType::Int)
        ]
    );
    assert_eq!(signature.parameters[2].default, Some(Scalar::Int(3)));
    assert!(signature.parameters[2].truncate);
    assert!(signature.pure && !signature.implicit);
    assert_eq!(
        (signature.resources.cores(), signature.resources.memory()),
        (2, 3 << 29)
    );
    assert_eq!(signature.resources.0.get("gpu"), Some(&1));
    assert_eq!(signature.timeout, Some(Duration::from_secs(5400)));
    assert_eq!(signature.retries, Some(2));

    let template = template(operation);
    let place = |placeholder| Part::Placeholder(placeholder);
    let image = || place(Placeholder::Input("image".into()));
    assert_eq!(
        template.invocation,
        Invocation::Arguments(vec![
            text(vec![literal("tool")]),
            text(vec![
                literal("--angle="),
                place(Placeholder::Parameter("angle".into()))
            ]),
            text(vec![literal("-t")]),
            text(vec![place(Placeholder::Threads)]),
            text(vec![image()]),
            text(vec![place(Placeholder::Output("image".into()))]),
            text(vec![literal("{x}")]),
            text(vec![literal("5")]),
            text(vec![literal("true")]),
        ])
    );
    assert_eq!(
        template.inputs["image"].extension.as_deref(),
        Some("nii.gz")
    );
    assert_eq!(template.inputs["gain"].extension, None);
    let path = |parts| Collect::Path(text(parts));
    let turns = place(Placeholder::Parameter("turns".into()));
    assert_eq!(
        template.outputs["image"].collect,
        path(vec![literal("result-"), turns, literal(".nii")])
    );
    assert_eq!(
        template.outputs["log"].collect,
        path(vec![literal("log.log")])
    );
    assert_eq!(
        template.outputs["tiles"].collect,
        Collect::Glob("parts/*".into())
    );
    assert_eq!(
        template.outputs["tiles"].output_type,
        Type::Directory.list()
    );
    assert!(template.outputs["score"].optional);
    assert_eq!(
        template.environment["OMP_NUM_THREADS"],
        text(vec![literal("1")])
    );
    let gain = place(Placeholder::Input("gain".into()));
    assert_eq!(
        template.environment["TITLE"],
        text(vec![literal("gain "), gain])
    );
    assert_eq!(template.stdin, Some(text(vec![image()])));
    assert_eq!(
        template.stdout,
        Some(text(vec![place(Placeholder::Output("log".into()))]))
    );
    assert_eq!(template.stderr, Some(text(vec![literal("errors.txt")])));
    let command = ["tool", "--version"].map(Arc::from).to_vec();
    assert_eq!(template.version, Some(VersionSource::Command(command)));
    assert_eq!(
        template.uses,
        ["scripts/**", "lib/helper.py"].map(Arc::from)
    );
    assert!(template.used_files.is_empty());
}

#[test]
fn a_script_and_an_impure_command() {
    let file = read();
    let collect = template(&file.operations[1]);
    let place = |placeholder| Part::Placeholder(placeholder);
    assert_eq!(
        collect.invocation,
        Invocation::Shell(text(vec![
            literal("cat "),
            place(Placeholder::Input("files".into())),
            literal(" | awk '{print $1}' > "),
            place(Placeholder::Output("sheet".into())),
            literal("\nfor f in $(cat "),
            place(Placeholder::ListFile("extra".into())),
            literal("); do echo \"${f}\"; done\n"),
        ]))
    );
    assert_eq!(collect.version, Some(VersionSource::Text("1.10".into())));
    assert_eq!(
        collect.outputs["sheet"].collect,
        Collect::Path(text(vec![literal("sheet")]))
    );
    let notify = &file.operations[2];
    assert!(!notify.signature.pure);
    assert_eq!(template(notify).inputs.len(), 0);
}

#[test]
fn json_is_read_as_well() {
    let read = read_workflow(include_str!("../fixtures/text.json"), &mutate::registry());
    assert_eq!(read.diagnostics, []);
    let file = read.value.expect("there are no errors");
    assert_eq!(file.workflow.stages.len(), 2);
    assert_eq!(file.operations[1].signature.outputs[0].port_type, Type::Int);
}

#[test]
fn anchors_stand_for_what_they_mark() {
    let read = read_workflow(
        include_str!("../fixtures/anchors.yaml"),
        &mutate::registry(),
    );
    assert_eq!(read.diagnostics, []);
    let file = read.value.expect("there are no errors");
    assert_eq!(file.workflow.inputs[1].input_type, Type::File);
    assert_eq!(
        file.operations[0].signature.outputs[0].port_type,
        Type::File
    );
}

#[test]
fn line_ends_and_byte_order_mark_change_nothing() {
    let text = include_str!("../fixtures/full.yaml");
    let plain = read();
    for other in [text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
        let read = read_workflow(&other, &mutate::registry());
        let file = read.value.expect("there are no errors");
        assert_eq!(file.workflow, plain.workflow);
        let span = read.diagnostics[0].span.expect("it has a place");
        assert_eq!(&other[span.start..span.end], "reference");
        assert_eq!((span.line, span.column), (8, 3));
    }
}
