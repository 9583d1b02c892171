//! A wish to stop ends what is left; where nothing is left, it ends nothing.

use std::fs;

use headwater::{RunReport, RunRequest, Site, Stop};

const FLOW: &str = "\
headwater: 1
workflow: small
stages:
  only:
    tasks: [{op: say, out: {word: word}}]
outputs: {word: word}
operations:
  say:
    shell: echo hello > {out.word}
    outputs: {word: {type: file, path: word.txt}}
";

#[test]
fn a_run_that_has_everything_is_not_stopped() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("flow.yaml"), FLOW).expect("a workflow");
    let request = RunRequest {
        flow: "flow.yaml".into(),
        ..RunRequest::default()
    };
    let run = |stop: &Stop| -> RunReport {
        let site = Site::new(folder.path()).with_stop(stop);
        site.run(&request).expect("it ends")
    };
    let asked = Stop::default();
    asked.gently();
    let report = run(&asked);
    assert!(report.stopped && report.left == 1, "{report:?}");
    assert!(run(&Stop::default()).succeeded());
    let report = run(&asked);
    assert!(!report.stopped && report.succeeded(), "{report:?}");
    assert!(!report.folder.join(".unfinished").exists());
}
