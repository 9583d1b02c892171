//! Files to start from: they are read without a mistake, but for what only their user knows.

use headwater_flow::{
    DataFormat, Dependency, StarterFile, WorkflowFile, library_of, mutate, read_data,
    read_descriptor, read_study, read_workflow, resolve, starter_study, starter_workflow, study_of,
};
use headwater_graph::Registry;

const SEGMENTATION: &str = include_str!("../fixtures/segmentation.json");

#[track_caller]
fn workflow(text: &str) -> WorkflowFile {
    let read = read_workflow(text, &mutate::registry());
    assert_eq!(read.diagnostics, [], "{text}");
    read.value.expect("there are no mistakes")
}

#[test]
fn a_workflow_to_start_from_is_read_without_a_word() {
    let files = starter_workflow("words").expect("a name");
    let paths: Vec<&str> = files.iter().map(|file| &*file.path).collect();
    assert_eq!(paths[..2], ["words.yaml", "words-data.yaml"]);
    let file = workflow(&files[0].text);
    assert_eq!(&*file.workflow.name, "words");
    assert_eq!(read_data(&files[1].text, DataFormat::Yaml).diagnostics, []);
    for text in &files[2..] {
        assert!(text.path.starts_with("words-texts/") && text.text.lines().count() > 1);
    }
    // What it points to is there.
    for file in &files {
        assert!(!file.text.contains('@'), "{}", file.text);
    }
}

#[test]
fn a_study_to_start_from_is_read_without_a_word() {
    let files = starter_study("first").expect("a name");
    let read = read_study(&files[0].text);
    assert_eq!(read.diagnostics, []);
    let study = read.value.expect("no mistakes");
    assert_eq!(&*study.workflow.value, files[1].path);
    let resolved = resolve(&study, &workflow(&files[1].text).workflow, &[]);
    assert_eq!(resolved.diagnostics, []);
    assert_eq!(resolved.value.expect("no mistakes").studied.len(), 4);
}

#[test]
fn a_study_of_a_workflow_says_what_is_missing_and_nothing_else() {
    let files = starter_workflow("words").expect("a name");
    let file = workflow(&files[0].text);
    let text = study_of("s", "my flow.yaml", &file, &Registry::new()).expect("it can be studied");
    let study = read_study(&text);
    assert_eq!(study.diagnostics, [], "{text}");
    let study = study.value.expect("no mistakes");
    assert_eq!(&*study.workflow.value, "my flow.yaml");
    assert_eq!(&*study.objective.value, "different");
    let found = resolve(&study, &file.workflow, &[]).diagnostics;
    let messages: Vec<&str> = found.iter().map(|found| &*found.message).collect();
    assert_eq!(
        messages,
        ["input `text` has no value, and the workflow needs one"]
    );
    let span = found[0].span.expect("a place");
    let line = text.lines().nth(span.line as usize - 1);
    assert!(line.is_some_and(|line| line.starts_with("  text:")));
}

#[test]
fn values_that_look_like_comments_and_lines_stay_values() {
    let file = workflow(
        r##"
headwater: 1
workflow: w
parameters:
  p: {type: choice, values: ["a\nb: c", "# d", "e: {f"], default: "# d"}
  "true": {type: float, range: [0, 1], default: 0.5}
stages: {s: [{op: o, params: {p: $p, x: $true}, out: {n: n}}]}
operations: {o: {shell: "echo {param.p} {param.x} > {out.n}", params: {p: text, x: float}, outputs: {n: float}}}
"##,
    );
    let text = study_of("null", "w.yaml", &file, &Registry::new()).expect("it can be studied");
    let study = read_study(&text);
    assert_eq!(study.diagnostics, [], "{text}");
    let study = study.value.expect("no mistakes");
    assert_eq!(&*study.name.value, "null");
    let resolved = resolve(&study, &file.workflow, &[]);
    assert_eq!(resolved.diagnostics, [], "{text}");
    let studied = resolved.value.expect("no mistakes").studied;
    let names: Vec<&str> = studied.iter().map(|found| &*found.name).collect();
    assert_eq!(names, ["p", "true"]);
}

fn library(text: &str) -> (String, Vec<StarterFile>) {
    let read = read_descriptor(text, &Registry::new());
    assert_eq!(read.diagnostics, []);
    let file = read.value.expect("no mistakes");
    library_of(text, &file, &Dependency::Version("1.2.3".to_owned()))
}

#[test]
fn a_descriptor_becomes_a_library() {
    let (package, files) = library(SEGMENTATION);
    assert_eq!(package, "nscale-operations");
    let find = |path: &str| {
        let found = files.iter().find(|file| file.path == path);
        &*found.unwrap_or_else(|| panic!("no {path}")).text
    };
    assert!(find("Cargo.toml").contains("headwater = \"1.2.3\"\n"));
    assert_eq!(find("stage.json"), SEGMENTATION);
    insta::assert_snapshot!("library-root", find("src/lib.rs"));
    insta::assert_snapshot!("library-operation", find("src/segment_nuclei_stg1.rs"));
    insta::assert_snapshot!("library-data", find("data.yaml"));
    let below = |path: &str| !path.starts_with('/') && !path.contains("..");
    assert!(files.iter().all(|file| below(&file.path)));
}

#[test]
fn names_become_identifiers_that_are_distinct() {
    let descriptor = r#"{"name": "größe", "tasks": [
        {"call": "match", "args": [{"name": "type", "type": "int"}, {"name": "Type", "type": "int"}],
         "intertask_args": [{"name": "a-b", "type": "mat", "io": "output"}, {"name": "a_b", "type": "mat", "io": "output"}]},
        {"call": "::one::main", "args": []},
        {"call": "::two::Main", "args": []},
        {"call": "::two::2d", "args": []}
    ]}"#;
    let (package, files) = library(descriptor);
    assert_eq!(package, "gr-e-operations");
    let sources: Vec<&str> = files.iter().map(|file| &*file.path).collect();
    assert_eq!(
        sources[4..8],
        [
            "src/match_.rs",
            "src/main_2.rs",
            "src/x2d.rs",
            "src/main_3.rs"
        ]
    );
    let text = &files[4].text;
    for line in [
        "pub type_: i64,",
        "pub type_2: i64,",
        "pub a_b: Array,",
        "pub a_b_2: Array,",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}
