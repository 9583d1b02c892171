//! The examples of the user guide are right.

use headwater_flow::{DataFormat, mutate, read_data, read_study, read_workflow, render, resolve};

const GUIDE: &str = include_str!("../../../docs/workflow-files.md");

const STUDIES: &str = include_str!("../../../docs/study-files.md");

/// The blocks of one language.
fn blocks(language: &str) -> Vec<&'static str> {
    blocks_of(GUIDE, language)
}

fn blocks_of(page: &'static str, language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}");
    let pieces = page.split(opening.as_str()).skip(1);
    // What follows the language in its line is for those who run the page.
    let bodies = pieces.filter_map(|piece| piece.split_once('\n'));
    bodies
        .map(|(_, body)| body.split("```").next().unwrap_or(""))
        .collect()
}

#[test]
fn workflows_have_no_mistakes() {
    let workflows: Vec<&str> = blocks("yaml")
        .into_iter()
        .filter(|block| block.starts_with("headwater: 1"))
        .collect();
    assert!(!workflows.is_empty());
    for text in workflows {
        let read = read_workflow(text, &mutate::registry());
        assert_eq!(read.diagnostics, [], "{text}");
    }
}

#[test]
fn operations_have_no_mistakes() {
    let operations: Vec<&str> = blocks("yaml")
        .into_iter()
        .filter(|block| block.starts_with("operations:"))
        .collect();
    assert!(!operations.is_empty());
    for text in operations {
        let whole = format!("headwater: 1\nworkflow: guide\nstages: {{}}\n{text}");
        let read = read_workflow(&whole, &mutate::registry());
        assert_eq!(read.diagnostics, [], "{text}");
    }
}

#[test]
fn data_files_have_no_mistakes() {
    let (_, guide) = GUIDE
        .split_once("## Data files")
        .expect("the guide has this section");
    let data: Vec<&str> = blocks("yaml")
        .into_iter()
        .filter(|block| guide.contains(block))
        .collect();
    assert_eq!(data.len(), 2);
    for text in data {
        assert_eq!(read_data(text, DataFormat::Yaml).diagnostics, [], "{text}");
    }
    for text in blocks("csv") {
        assert_eq!(read_data(text, DataFormat::Csv).diagnostics, [], "{text}");
    }
}

#[test]
fn the_message_shown_is_the_message_given() {
    let text = blocks("yaml")[0]
        .replace("op: sort", "op: srot")
        .replace("[sorted, lines]", "[sorted, line]");
    let read = read_workflow(&text, &mutate::registry());
    assert_eq!(
        render(&read.diagnostics, "words.yaml", &text, false),
        blocks("text")[0]
    );
}

#[test]
fn studies_have_no_mistakes() {
    let studies = blocks_of(STUDIES, "yaml");
    assert_eq!(studies.len(), 6);
    for text in studies {
        assert_eq!(read_study(text).diagnostics, [], "{text}");
    }
}

#[test]
fn the_descriptor_can_be_studied() {
    let descriptor = blocks_of(STUDIES, "json")[0];
    let read = read_workflow(descriptor, &mutate::registry());
    assert_eq!(read.diagnostics, []);
    let workflow = read.value.expect("it is right").workflow;
    let study = read_study(
        "headwater: 1\nstudy: s\nworkflow: d.json\ninputs: {tissue: a.png}\nobjective: nuclei\n\
         parameters: {size: {range: [2, 40]}, threshold: {values: [200, 220]}}\nmethod: {moat: }\n",
    );
    let study = study.value.expect("it is right");
    assert_eq!(resolve(&study, &workflow, &[]).diagnostics, []);
}
