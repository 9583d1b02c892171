//! Settings of study files: what they change, and how their mistakes are told.

use headwater_flow::{
    Levels, Method, Setting, StudyFile, StudyText, StudyValue, mutate, read_study_with,
    read_workflow, render, resolve,
};
use headwater_graph::{Diagnostic, Scalar};

const STUDY: &str = "headwater: 1
study: s
workflow: w.yaml
inputs: {tile: a.png}
parameters:
  B: {range: [210, 240], step: 10}
objective: score
method:
  moat: {trajectories: 40, levels: grid}
";

#[track_caller]
fn with_of(study: &str, settings: &[&str]) -> StudyFile {
    let read = read_study_with(&StudyText::new(study, settings));
    let errors: Vec<&Diagnostic> = read.diagnostics.iter().filter(|f| f.is_error()).collect();
    assert!(errors.is_empty(), "{settings:?}: {errors:?}");
    read.value.expect("a study without mistakes has a value")
}

#[track_caller]
fn with(settings: &[&str]) -> StudyFile {
    with_of(STUDY, settings)
}

/// What is told of a study and settings, as people see it.
fn told_of(study: &str, settings: &[&str]) -> String {
    let text = StudyText::new(study, settings);
    let read = read_study_with(&text);
    assert_eq!(read.value.is_none(), read.has_errors());
    let parts = text.sort(read.diagnostics);
    let shown = parts.iter().map(|part| {
        let file = match part.setting {
            None => "study.yaml",
            Some(_) => "--set",
        };
        render(&part.diagnostics, file, &part.text, false)
    });
    shown.collect()
}

#[track_caller]
fn told(setting: &str, expected: &str) {
    assert_eq!(
        told_of(STUDY, &[setting]),
        expected.trim_start(),
        "{setting}"
    );
}

#[test]
fn a_setting_takes_the_place_of_a_value() {
    let file = with(&["method.moat.trajectories=80"]);
    let Method::Moat(moat) = &file.method else {
        panic!("the method is still moat");
    };
    assert_eq!((moat.trajectories, moat.levels), (80, Levels::Grid));
    assert_eq!(&*with(&["objective=other"]).objective.value, "other");
    assert_eq!(&*with(&["study = t"]).name.value, "t");
    assert_eq!(with(&["seed=7", "seed=8"]).seed, 8, "the last one counts");
}

#[test]
fn a_setting_adds_what_is_not_there() {
    assert_eq!(with(&["seed=7"]).seed, 7);
    let until = |settings: &[&str]| with(settings).until.map(|until| until.ci);
    assert_eq!(until(&["until.ci=0.02"]), Some(0.02));
    assert_eq!(until(&["until={ci: 0.1}"]), Some(0.1));
    assert_eq!(until(&["until=ci: 0.1"]), Some(0.1), "YAML of any style");
    let file = with(&["parameters.G1.value=40", "parameters.G2="]);
    let [b, g1, g2] = file.parameters.overrides() else {
        panic!("there are three");
    };
    assert!(matches!(b.setting, Setting::Range { range: Some(_), .. }));
    assert_eq!((&*g1.name.value, &*g2.name.value), ("G1", "G2"));
    assert!(matches!(&g1.setting, Setting::Fixed(value) if value.value == Scalar::Int(40)));
    assert!(matches!(g2.setting, Setting::Range { range: None, .. }));
    // Nothing is as good as an empty mapping.
    let study = STUDY.replace("moat: {trajectories: 40, levels: grid}", "moat:");
    let file = with_of(&study, &["method.moat.trajectories=3"]);
    assert_eq!(file.method.evaluations(1), Some(6));
}

#[test]
fn a_setting_replaces_a_whole_mapping() {
    let file = with(&["method={vbd: {samples: 128, second-order: true}}"]);
    assert_eq!(file.method.evaluations(2), Some(768));
    let file = with(&["method={vbd: {samples: 128}}", "method.vbd.samples=256"]);
    assert_eq!(file.method.evaluations(2), Some(1024));
    let file = with(&["parameters.B={value: 220}"]);
    assert!(!file.parameters.names_studied());
    let file = with(&["inputs={tile: b.png, reference: {output: mask}}"]);
    assert!(matches!(file.inputs[1].value, StudyValue::Reference(_)));
}

#[test]
fn keys_with_dots_stand_in_quotes() {
    let file = with(&["parameters.\"a.b\".value=3", "parameters. 'c.d' .value = x"]);
    let names: Vec<&str> = file
        .parameters
        .overrides()
        .iter()
        .map(|one| &*one.name.value)
        .collect();
    assert_eq!(names, ["B", "a.b", "c.d"]);
}

#[test]
fn settings_work_on_json() {
    let study = r#"{"headwater": 1, "study": "s", "workflow": "w.yaml", "objective": "y", "method": {"moat": null}}"#;
    let file = with_of(study, &["method.moat={\"trajectories\": 5}", "seed=1"]);
    assert_eq!((file.method.evaluations(1), file.seed), (Some(10), 1));
}

#[test]
fn misspelt_keys_are_told_with_what_was_meant() {
    told(
        "method.moat.trajectory=2",
        "
error: `moat` has no field `trajectory`
 --> --set:1:13
  |
1 | method.moat.trajectory=2
  |             ^^^^^^^^^^
  = help: did you mean `trajectories`?
",
    );
    told(
        "metod.moat.trajectories=2",
        "
error: a study file has no field `metod`
 --> --set:1:1
  |
1 | metod.moat.trajectories=2
  | ^^^^^
  = help: did you mean `method`?
",
    );
}

#[test]
fn values_are_checked_like_those_of_the_file() {
    told(
        "method.moat.trajectories=many",
        "
error: expected a whole number from 1 on, found `many`
 --> --set:1:26
  |
1 | method.moat.trajectories=many
  |                          ^^^^
",
    );
    told(
        "until={ci: 0.05, width: 3}",
        "
error: `until` has no field `width`
 --> --set:1:18
  |
1 | until={ci: 0.05, width: 3}
  |                  ^^^^^
  = help: its only field is `ci`
",
    );
    told(
        "method={vbd: {samples: 100}}",
        "
note: 100 is no power of two; Sobol' points are evenly spread only for one
 --> --set:1:24
  |
1 | method={vbd: {samples: 100}}
  |                        ^^^
  = help: write `samples: 64` or `samples: 128`, or take another sampler
",
    );
    told(
        "seed=",
        "
error: expected a whole number, 0 or more, found nothing
 --> --set:1:6
  |
1 | seed=
  |      ^
",
    );
}

#[test]
fn the_syntax_of_settings_is_told() {
    let form = "  = help: a setting is PATH=VALUE, where the path has keys with dots between them: `method.vbd.samples=400`\n";
    let one = |setting: &str, message: &str, column: usize, carets: usize| {
        let (before, under) = (" ".repeat(column - 1), "^".repeat(carets));
        told(
            setting,
            &format!(
                "error: {message}\n --> --set:1:{column}\n  |\n1 | {setting}\n  | {before}{under}\n{form}"
            ),
        );
    };
    one("seed", "`seed` has no `=`", 1, 4);
    one("=7", "a key is missing here", 1, 1);
    one("method..samples=7", "a key is missing here", 8, 1);
    one("method.=7", "a key is missing here", 8, 1);
    one("\"a=7", "the quote `\"` in this path does not end", 1, 4);
    told(
        "until={ci: 0.1",
        "
error: this `{` is never closed
 --> --set:1:7
  |
1 | until={ci: 0.1
  |       ^
  = help: add the missing `}`
",
    );
    assert!(told_of(STUDY, &[""]).contains("has no `=`"));
    let deep = format!("{}=1", vec!["a"; 100].join("."));
    assert!(told_of(STUDY, &[&deep]).contains("more than 64 levels deep"));
    let deep = format!("a={}1{}", "[".repeat(63), "]".repeat(63));
    assert!(told_of(STUDY, &[&deep]).contains("more than 64 levels deep"));
}

#[test]
fn paths_lead_through_mappings() {
    told(
        "objective.name=dice",
        "
error: `objective` is `score` in this study, so there is no `name` in it
 --> --set:1:1
  |
1 | objective.name=dice
  | ^^^^^^^^^
  = help: write `--set 'objective=dice'`
",
    );
    let listed = STUDY.replace("\n  B: {range: [210, 240], step: 10}", " [B, G1]");
    assert_eq!(
        told_of(&listed, &["parameters.G1.value=40"]),
        "error: `parameters` is a list in this study, so there is no `G1` in it
 --> --set:1:1
  |
1 | parameters.G1.value=40
  | ^^^^^^^^^^
  = help: replace it as a whole: `--set 'parameters={G1: {value: 40}}'`
"
    );
    with_of(&listed, &["parameters={G1: {value: 40}}"]);
    // What would not be right where it is put is not advised.
    let told = told_of(&listed, &["parameters.\"a.b\".values=1, 2"]);
    assert!(
        told.contains("`--set 'parameters={a.b: {values: VALUE}}'`"),
        "{told}"
    );
    let told = told_of("- a\n", &["seed=1"]);
    assert!(
        told.contains("the study file is a list, and has no keys"),
        "{told}"
    );
}

#[test]
fn what_excludes_each_other_is_told_in_the_setting() {
    told(
        "method.vbd.samples=128",
        "
error: `vbd` and `moat` exclude each other, and this study has `moat`
 --> --set:1:8
  |
1 | method.vbd.samples=128
  |        ^^^
  = help: replace them as a whole: `--set 'method={vbd: {samples: 128}}'`
",
    );
    told(
        "parameters.B.value=220",
        "
error: `value` and `range` exclude each other, and this study has `range`
 --> --set:1:14
  |
1 | parameters.B.value=220
  |              ^^^^^
  = help: replace them as a whole: `--set 'parameters.B={value: 220}'`
",
    );
    // What the messages advise is right.
    with(&["method={vbd: {samples: 128}}", "parameters.B={value: 220}"]);
}

#[test]
fn mistakes_of_the_file_and_of_settings_are_told_apart() {
    let study = STUDY.replace("objective: score", "objectiv: score");
    let told = told_of(&study, &["seed=x", "until.ci=0.1", "method.moat.levels=3"]);
    let places: Vec<&str> = told.lines().filter(|line| line.contains("-->")).collect();
    assert_eq!(
        places,
        [" --> study.yaml:7:1", " --> --set:1:6", " --> --set:1:20"]
    );
    // A setting that cannot be read may have brought what is missing.
    let study = STUDY.replace("objective: score\n", "");
    assert_eq!(told_of(&study, &["objective"]).matches("error:").count(), 1);
}

/// What is found out later has its place in the setting too.
#[test]
fn names_in_settings_are_looked_up_in_the_workflow() {
    let workflow = "headwater: 1
workflow: w
inputs: {tile: file}
parameters:
  B: {type: int, range: [210, 240], step: 10, default: 220}
  G1: {type: int, range: [5, 80], step: 5, default: 40}
stages:
  only:
    - {op: only, in: {tile: tile}, params: {b: $B, g: $G1}, out: {score: score}}
outputs: {score: score}
operations:
  only:
    command: [a, \"{in.tile}\", \"{param.b}\", \"{param.g}\"]
    inputs: {tile: file}
    params: {b: int, g: int}
    outputs: {score: {type: float, path: score}}
";
    let read = read_workflow(workflow, &mutate::registry());
    assert!(!read.has_errors(), "{:?}", read.diagnostics);
    let workflow = read.value.expect("it is right").workflow;
    let text = StudyText::new(STUDY, &["seed=7", "parameters.G11.value=40"]);
    let study = read_study_with(&text)
        .value
        .expect("the names are not known yet");
    let found = resolve(&study, &workflow, &[]);
    let parts = text.sort(found.diagnostics);
    assert_eq!(parts.len(), 2);
    assert_eq!(
        (parts[0].setting, &parts[0].diagnostics[..]),
        (None, &[][..])
    );
    assert_eq!(parts[0].text, STUDY);
    let part = &parts[1];
    assert_eq!(
        (part.setting, &*part.text),
        (Some(1), "parameters.G11.value=40")
    );
    let span = part.diagnostics[0].span.expect("a place");
    assert_eq!(
        (span.line, span.column, &part.text[span.start..span.end]),
        (1, 12, "G11")
    );
    assert_eq!(
        part.diagnostics[0].hint.as_deref(),
        Some("did you mean `G1`?")
    );
}

/// What is said of a value is said of the one that counts.
#[test]
fn a_value_that_was_replaced_is_not_spoken_of() {
    let study = "headwater: 1
study: s
workflow: w.yaml
objective: y
method: {vbd: {samples: 100}}
";
    assert!(told_of(study, &[]).contains("100 is no power of two"));
    assert_eq!(told_of(study, &["method.vbd.samples=512"]), "");
}
