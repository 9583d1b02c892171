//! Every mistake a file can have: where it is reported, what is said, and what to do about it.
//!
//! The cases stand in `tests/mistakes/`: after a line `####` the text of a file (`␀` for the character 0),
//! then one line `>>>> LINE:COLUMN message => hint` for each diagnostic. `UPDATE_CASES=1 cargo test` writes
//! down what is found; read the difference before you keep it.

use std::path::PathBuf;

use headwater_flow::{
    DataFormat, mutate, read_data, read_descriptor, read_programs, read_study, read_workflow,
    resolve,
};
use headwater_graph::{Diagnostic, Severity};

fn line(diagnostic: &Diagnostic) -> String {
    let span = diagnostic
        .span
        .expect("every mistake of a file has a place");
    let severity = match diagnostic.severity {
        Severity::Error => String::new(),
        other => format!("{other}: "),
    };
    let message = &diagnostic.message;
    let hint = diagnostic.hint.as_ref().map(|hint| format!(" => {hint}"));
    let hint = hint.unwrap_or_default();
    format!(
        ">>>> {}:{} {severity}{message}{hint}\n",
        span.line, span.column
    )
}

#[track_caller]
fn check(file: &str, read: impl Fn(&str) -> Vec<Diagnostic>) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/mistakes")
        .join(file);
    let cases = std::fs::read_to_string(&path).expect("the cases are there");
    let (about, cases) = cases.split_once("####\n").expect("a case begins with ####");
    let mut found = about.to_owned();
    let mut wrong = Vec::new();
    for case in cases.split("####\n") {
        let end = case.find(">>>> ").unwrap_or(case.len());
        let text = case[..end].replace('␀', "\0");
        let lines: String = read(&text).iter().map(line).collect();
        if lines != case[end..] {
            wrong.push(format!(
                "{}\nexpected\n{}found\n{lines}",
                &case[..end],
                &case[end..]
            ));
        }
        found.push_str(&format!("####\n{}{lines}", &case[..end]));
    }
    if std::env::var_os("UPDATE_CASES").is_some() {
        std::fs::write(&path, found).expect("the cases can be written");
    } else {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

fn check_workflow(file: &str) {
    let registry = mutate::registry();
    check(file, |text| read_workflow(text, &registry).diagnostics);
}

#[test]
fn the_file_as_a_whole() {
    check_workflow("file.txt");
}

#[test]
fn inputs_of_the_workflow() {
    check_workflow("inputs.txt");
}

#[test]
fn parameters_of_the_workflow() {
    check_workflow("parameters.txt");
}

#[test]
fn stages_and_tasks() {
    check_workflow("stages.txt");
}

#[test]
fn operations_of_the_file() {
    check_workflow("operations.txt");
}

#[test]
fn operations_alone() {
    let registry = mutate::registry();
    check("programs.txt", |text| {
        read_programs(text, &registry).diagnostics
    });
}

#[test]
fn yaml_itself() {
    check_workflow("yaml.txt");
}

#[test]
fn data_files() {
    check("data.txt", |text| {
        read_data(text, DataFormat::Yaml).diagnostics
    });
}

#[test]
fn csv_files() {
    check("csv.txt", |text| {
        read_data(text, DataFormat::Csv).diagnostics
    });
}

#[test]
fn study_files() {
    check("study.txt", |text| read_study(text).diagnostics);
}

/// The workflow of these cases stands before the first of them.
#[test]
fn studies_against_their_workflow() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes/resolve.txt");
    let cases = std::fs::read_to_string(file).expect("the cases are there");
    let (about, _) = cases.split_once("####\n").expect("a case begins with ####");
    let (_, workflow) = about
        .split_once("\n\n")
        .expect("the workflow follows an empty line");
    let read = read_workflow(workflow, &mutate::registry());
    let workflow = read.value.expect("the workflow is right").workflow;
    check("resolve.txt", |text| {
        let study = read_study(text);
        let mut found = study.diagnostics;
        if let Some(study) = &study.value {
            found.extend(resolve(study, &workflow, &[]).diagnostics);
        }
        found
    });
}

#[test]
fn stage_descriptors() {
    let registry = mutate::registry();
    check("descriptor.txt", |text| {
        read_descriptor(text, &registry).diagnostics
    });
}

#[test]
fn rows_with_too_many_names() {
    let rows: String = (0..=1000)
        .map(|number| format!("  - {{c{number}: 1}}\n"))
        .collect();
    let read = read_data(&format!("rows:\n{rows}"), DataFormat::Yaml);
    let found: Vec<String> = read.diagnostics.iter().map(line).collect();
    assert_eq!(
        found,
        [">>>> 1002:6 these rows name more than 1000 different inputs\n"]
    );
}
