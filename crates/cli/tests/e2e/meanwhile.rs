//! A run that has not ended: what is known of it while it goes on, and after it was killed.

use std::process::Child;
use std::time::Duration;

use serde_json::Value;

use crate::place::Place;

/// One evaluation after the other; the third goes on until somebody allows it to end.
const FLOW: &str = r#"
headwater: 1
workflow: slow
parameters:
  a: {type: float, range: [0, 1], default: 0}
stages:
  work:
    tasks: [{op: work, params: {a: $a}, out: {y: y}}]
outputs: {y: y}
operations:
  work:
    shell: |
      echo {param.a} >> "$TMPDIR/log"
      if test "$(wc -l < "$TMPDIR/log")" -ge 3; then
        while ! test -e "$TMPDIR/go"; do sleep 0.01; done
      fi
      echo {param.a} > {out.y}
    params: {a: float}
    outputs: {y: {type: float, path: y}}
"#;

const STUDY: &str = "
headwater: 1
study: slow-study
workflow: flow.yaml
objective: y
method: {moat: {trajectories: 8, levels: 8}}
";

/// A study in the middle of its third evaluation.
fn in_the_middle() -> (Place, Child) {
    let place = Place::with_flow(FLOW);
    place.write("study.yaml", STUDY);
    let mut child = place.start(&["study", "run", "study.yaml", "-j", "1", "--json"]);
    while place.told("log").len() < 3 {
        let ended = child.try_wait().expect("it can be waited for");
        assert!(ended.is_none(), "the study ended");
        std::thread::sleep(Duration::from_millis(1));
    }
    (place, child)
}

/// What the last run looks like.
fn shown(place: &Place) -> Value {
    let shown = place.headwater(&["runs", "show", "--json"]).ended(0);
    shown.report().0
}

#[test]
fn the_tasks_of_a_study_are_listed_as_they_end() {
    let (place, mut child) = in_the_middle();
    let check = |status: &str, when: &str| {
        // A task that has just ended is listed a moment later.
        let object = loop {
            let object = shown(&place);
            assert_eq!(object["status"], status);
            if object["executed"] == 2 {
                break object;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let tasks = object["task_list"].as_array().expect("a list");
        assert_eq!(tasks.len(), 2);
        let address = tasks[0]["task"].as_str().expect("an address");
        assert!(address.starts_with("work.work"), "{address}");
        let text = place.headwater(&["runs", "show"]).ended(0).stdout;
        let counted = format!("2 executed {when}, 0 failed");
        assert!(text.contains(&counted), "{text}");
        let all = place.headwater(&["runs", "ls", "--json"]).ended(0);
        assert_eq!(all.report().0["runs"][0]["tasks"], 2, "{}", all.stdout);
        let listed = place.headwater(&["runs", "show", "--tasks"]).ended(0);
        assert!(listed.stdout.contains(address), "{}", listed.stdout);
        let why = place.headwater(&["explain", "last", address]).ended(0);
        assert!(why.stdout.contains(address), "{}", why.stdout);
    };
    check("running", "so far");
    // What was finished is kept a moment later.
    let kept = || place.headwater(&["products", "ls"]).ended(0).stdout;
    while kept().matches("work").count() < 2 {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    check("interrupted", "before it ended");
    place.write("side/go", "");
    let again = ["study", "run", "study.yaml", "-j", "1", "--json"];
    place.headwater(&again).ended(0);
    let object = shown(&place);
    assert_eq!(object["status"], "done");
    let tasks = object["task_list"].as_array().expect("a list");
    let reused = tasks.iter().filter(|task| task["state"] == "reused");
    assert_eq!(reused.count(), 2, "{object}");
}

/// Whoever and wherever it was.
#[test]
fn a_run_says_who_ran_it_and_where() {
    let (place, mut child) = in_the_middle();
    let object = shown(&place);
    for name in ["host", "user"] {
        let found = object[name].as_str().unwrap_or_default();
        assert!(!found.is_empty(), "{name} in {object}");
    }
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
}

/// What cannot be written is said before anything is recorded, or is recorded as what it was.
#[test]
fn no_run_that_failed_looks_alive() {
    let place = Place::with_flow(FLOW);
    place.write("side/go", "");
    place.write("study.yaml", STUDY);
    place.write("file", "mine");
    for command in [
        &["run", "flow.yaml", "-o", "file"][..],
        &["study", "run", "study.yaml", "-o", "file"],
        &["run", "flow.yaml", "-o", "file/below"],
    ] {
        let refused = place.headwater(command);
        assert!(matches!(refused.code, Some(1 | 2)), "{:?}", refused.code);
        assert_eq!(place.read("file"), "mine");
    }
    let listed = place.headwater(&["runs", "ls", "--json"]).ended(0);
    for status in ["running", "interrupted"] {
        assert!(!listed.stdout.contains(status), "{}", listed.stdout);
    }
}
