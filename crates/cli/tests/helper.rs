//! A program that cannot be started once more to be its own helper names another one: this test is such a program.

use headwater::graph::Registry;
use headwater::{Host, RunRequest, Site, WorkflowSource};

const FLOW: &str = "\
headwater: 1
workflow: parents
stages:
  ask:
    tasks: [{op: ask, out: {name: name}}]
outputs: {name: name}
operations:
  ask:
    shell: cat /proc/$PPID/comm > {out.name}
    outputs: {name: {type: text, path: name}}
";

/// In one test, since there is one helper for the whole process.
#[test]
fn the_command_is_the_helper_of_a_program_that_names_it() {
    let helper = env!("CARGO_BIN_EXE_headwater").into();
    headwater::init_with(Host {
        libraries: Registry::new(),
        helper: Some(helper),
    })
    .expect("the command can be the helper");
    let folder = tempfile::tempdir().expect("a folder");
    let request = RunRequest {
        flow: WorkflowSource::text(FLOW),
        ..RunRequest::default()
    };
    let report = Site::new(folder.path()).run(&request).expect("it runs");
    assert!(report.succeeded(), "{report:?}");
    // What a program was started by is the helper, and its peak of memory is its own.
    let name = std::fs::read_to_string(report.folder.join("outputs.csv")).expect("a table");
    assert!(name.contains("headwater"), "{name}");
    let trace = std::fs::read_to_string(report.folder.join("trace.tsv")).expect("a trace");
    let row = trace.lines().nth(1).expect("a task");
    let peak = row.split('\t').nth(6).expect("a peak");
    assert_ne!(peak.parse::<u64>().ok(), Some(0), "{trace}");
}
