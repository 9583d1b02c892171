//! Stage descriptors as workflows.

use std::sync::Arc;

use headwater_flow::{Method, mutate, read_descriptor, read_study, read_workflow, resolve};
use headwater_graph::{Binding, Context, Kind, Operation, Registry, ScalarType, Type};

const SEGMENTATION: &str = include_str!("../fixtures/segmentation.json");

fn read(registry: &Registry) -> headwater_flow::WorkflowFile {
    let found = read_descriptor(SEGMENTATION, registry);
    assert_eq!(found.diagnostics, []);
    found.value.expect("a file without mistakes has a value")
}

#[test]
fn a_descriptor_is_a_workflow_of_one_stage() {
    let file = read(&Registry::new());
    let workflow = &file.workflow;
    assert_eq!(&*workflow.name, "Segmentation");
    let inputs: Vec<(&str, &Type)> = workflow
        .inputs
        .iter()
        .map(|input| (&*input.name, &input.input_type))
        .collect();
    assert_eq!(inputs, [("normalized_rt", &Type::File)]);
    assert_eq!(&*workflow.outputs[0].name, "segmented_rt");
    let parameters: Vec<&str> = workflow
        .parameters
        .iter()
        .map(|parameter| &*parameter.name)
        .collect();
    assert_eq!(
        parameters,
        [
            "blue",
            "green",
            "red",
            "T1",
            "T2",
            "reconConnectivity",
            "G1",
            "fillHolesConnectivity",
            "minSize",
            "maxSize",
            "G2",
            "minSizePl",
            "watershedConnectivity",
            "minSizeSeg",
            "maxSizeSeg"
        ]
    );
    assert_eq!(workflow.parameters[0].scalar_type, ScalarType::Int);
    assert_eq!(workflow.parameters[3].scalar_type, ScalarType::Float);
    assert_eq!(workflow.parameters[0].default, None);
    let default = workflow.parameters[4].default.as_ref();
    assert_eq!(default.map(ToString::to_string).as_deref(), Some("4.0"));
    assert_eq!(workflow.stages.len(), 1);
    let tasks = &workflow.stages[0].tasks;
    let names: Vec<&str> = tasks.iter().map(|task| &*task.name).collect();
    let expected: Vec<String> = (1..=7)
        .map(|number| format!("segmentNucleiStg{number}"))
        .collect();
    assert_eq!(names, expected);
    assert_eq!(
        &*tasks[0].operation,
        "nscale/HistologicalEntities.segmentNucleiStg1"
    );
    assert_eq!(
        tasks[6].parameters.get("fillHolesConnectivity"),
        Some(&Binding::Parameter("fillHolesConnectivity".into()))
    );
    assert_eq!(file.placeholders.len(), 7);
}

#[test]
fn what_is_passed_on_is_not_waited_for() {
    let file = read(&Registry::new());
    let tasks = &file.workflow.stages[0].tasks;
    let reads =
        |task: usize| -> Vec<&str> { tasks[task].inputs.values().map(|name| &**name).collect() };
    assert_eq!(reads(1), ["bgr"]);
    assert_eq!(reads(3), ["cores"]);
    assert_eq!(reads(4), ["difference", "rbc", "seeds"]);
    assert_eq!(reads(5), ["bgr", "found"]);
}

#[test]
fn its_operations_are_placeholders_that_do_not_run() {
    let file = read(&Registry::new());
    let operation = file
        .operations
        .iter()
        .find(|operation| operation.signature.name.ends_with("Stg1"))
        .expect("the first function is declared");
    assert!(operation.signature.pure);
    assert!(
        operation
            .signature
            .parameters
            .iter()
            .filter(|one| one.scalar_type == ScalarType::Int)
            .all(|one| one.truncate)
    );
    let Kind::Native(run) = &operation.kind else {
        panic!("a placeholder is no program");
    };
    let error = run
        .run(&[], &[], &mut Context::default())
        .expect_err("nothing runs it");
    assert_eq!(
        error.to_string(),
        "a stage descriptor names `nscale/HistologicalEntities.segmentNucleiStg1`, and there is nothing that runs it"
    );
}

#[test]
fn a_library_that_has_the_operation_is_used() {
    let placeholder = read(&Registry::new()).operations.remove(0);
    let mut registry = Registry::new();
    let name = Arc::clone(&placeholder.signature.name);
    let own = Operation::native(
        placeholder.signature,
        |_: &[headwater_graph::Value], _: &[headwater_graph::Scalar], _: &mut Context| {
            Ok(Vec::new())
        },
    );
    registry.register(None, own).expect("it is the only one");
    let file = read(&registry);
    assert_eq!(file.placeholders.len(), 6);
    assert!(!file.placeholders.contains(&name));
}

#[test]
fn wherever_a_workflow_is_read() {
    let found = read_workflow(SEGMENTATION, &mutate::registry());
    assert_eq!(found.diagnostics, []);
    let file = found.value.expect("it is right");
    let study = read_study(
        "headwater: 1
study: plan
workflow: segmentation.json
inputs: {normalized_rt: \"tiles/*.png\"}
parameters:
  blue: {range: [210, 240], step: 10}
  green: {range: [210, 240], step: 10}
  red: {range: [210, 240], step: 10}
  G1: {range: [5, 80], step: none}
  reconConnectivity: {values: [4, 8]}
  fillHolesConnectivity: {value: 4}
  minSize: {value: 11}
  maxSize: {value: 1000}
  G2: {value: 45}
  minSizePl: {value: 30}
  watershedConnectivity: {value: 8}
  minSizeSeg: {value: 21}
  maxSizeSeg: {value: 1000}
objective: segmented_rt
method: {moat: {trajectories: 40}}
",
    );
    assert_eq!(study.diagnostics, []);
    let study = study.value.expect("it is right");
    let resolved = resolve(&study, &file.workflow, &[]);
    assert_eq!(resolved.diagnostics, []);
    let resolved = resolved.value.expect("it is right");
    assert_eq!(resolved.studied.len(), 5);
    assert_eq!(resolved.fixed.len(), 10);
    assert!(matches!(study.method, Method::Moat(_)));
    assert_eq!(study.method.evaluations(resolved.studied.len()), Some(240));
}

#[test]
fn regions_need_not_be_listed() {
    let text = r#"{"name": "S", "tasks": [{"call": "blur",
        "args": [{"name": "r", "type": "dr", "io": "input"}, {"name": "kernel", "type": "float_array"}],
        "intertask_args": [{"name": "a", "type": "mat", "io": "output"}]}]}"#;
    let found = read_descriptor(text, &Registry::new());
    assert_eq!(found.diagnostics, []);
    let workflow = found.value.expect("it is right").workflow;
    let types: Vec<String> = workflow
        .inputs
        .iter()
        .map(|input| format!("{}: {}", input.name, input.input_type))
        .collect();
    assert_eq!(types, ["r: file", "kernel: list of float"]);
    assert_eq!(&*workflow.stages[0].tasks[0].operation, "blur");
}
