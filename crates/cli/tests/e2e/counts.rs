//! Figures that have to agree: what a run says of its tasks, wherever it says it.

use std::fs;

use serde_json::Value;

use crate::examples::example;
use crate::place::Place;

/// Item 0 fails, and says a lot; the others are well. `second` needs `first`.
const FLOW: &str = r#"
headwater: 1
workflow: "failing"
inputs: {item: int}
stages:
  first:
    tasks: [{op: tool, in: {item: item}, out: {made: made}}]
  second:
    tasks: [{op: copy, in: {item: made}, out: {made: done}}]
outputs: {done: done}
operations:
  tool:
    shell: |
      # one
      # two
      # three
      # four
      # five
      # six
      # seven
      # eight
      # nine
      # ten
      if test {in.item} -eq 0; then
        for line in 1 2 3 4 5 6 7 8 9 10 11; do echo "line $line" >&2; done
        printf 'the \033[31mcause\033[0m\a\n' >&2
        exit 7
      fi
      echo {in.item} > {out.made}
    inputs: {item: int}
    outputs: {made: {type: int, path: made.txt}}
  copy:
    shell: echo {in.item} > {out.made}
    inputs: {item: int}
    outputs: {made: {type: int, path: made.txt}}
"#;

fn failing() -> Place {
    let place = Place::with_flow(FLOW);
    place.write("data.yaml", "inputs: {item: [0, 1, 2, 3]}\n");
    place
}

fn number(object: &Value, key: &str) -> u64 {
    object[key]
        .as_u64()
        .unwrap_or_else(|| panic!("`{key}` in {object}"))
}

const COUNTS: [&str; 6] = ["executed", "reused", "cut_off", "failed", "blocked", "left"];

/// Every task stands in one place.
#[track_caller]
fn adds_up(object: &Value) {
    let all: u64 = COUNTS.iter().map(|key| number(object, key)).sum();
    assert_eq!(all, number(object, "tasks"), "{object}");
}

fn shown(place: &Place) -> Value {
    let ran = place.headwater(&["runs", "show", "--json"]).ended(0);
    ran.report().0
}

#[test]
fn a_run_that_ends_with_the_first_failure_adds_up() {
    let place = failing();
    let run = [
        "run",
        "flow.yaml",
        "--inputs",
        "data.yaml",
        "--fail-fast",
        "-j",
        "1",
        "--json",
    ];
    let report = place.headwater(&run).ended(1).report().0;
    assert_eq!(
        (number(&report, "failed"), number(&report, "tasks")),
        (1, 8)
    );
    assert!(number(&report, "left") > 0, "{report}");
    adds_up(&report);
    let object = shown(&place);
    adds_up(&object);
    COUNTS
        .iter()
        .for_each(|key| assert_eq!(object[key], report[key], "{key}"));
    let stages = object["stages"].as_array().expect("stages");
    stages.iter().for_each(adds_up);
    for key in COUNTS.iter().chain(&["tasks"]) {
        let sum: u64 = stages.iter().map(|stage| number(stage, key)).sum();
        assert_eq!(sum, number(&object, key), "{key}");
    }
    let text = place.headwater(&["runs", "show"]).ended(0).stdout;
    let left = format!(", {} not come to\n", report["left"]);
    assert!(text.contains(&left) && text.contains("  left  "), "{text}");
    assert_eq!(object["seconds"], report["seconds"]);
}

#[test]
fn the_end_of_what_a_failed_task_said_is_shown_and_acts_on_no_terminal() {
    let place = failing();
    let ran = place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml"])
        .ended(1);
    let text = place.headwater(&["runs", "show"]).ended(0).stdout;
    for said in [&ran.stderr, &text] {
        assert!(
            said.contains("    the \\u{1b}[31mcause\\u{1b}[0m\\u{7}\n"),
            "{said}"
        );
        assert!(!said.contains(['\u{1b}', '\u{7}']), "{said}");
    }
    for part in [
        "  from:    item=0\n",
        "  command: ",
        "  folder:  ",
        "  again:   ",
        "  1 task could not run because of it",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("# ten"), "{text}");
}

#[test]
fn helpers_are_drawn_and_not_counted() {
    let (place, _) = example("nuclei");
    let flow = [
        "run",
        "nuclei/nuclei.yaml",
        "--inputs",
        "nuclei/inputs.yaml",
    ];
    let with = |more: &[&'static str]| [&flow[..], more].concat();
    let dry = place
        .headwater(&with(&["--dry-run", "--json"]))
        .ended(0)
        .report()
        .0;
    for (key, of) in [("tasks", "tasks"), ("to_execute", "to_execute")] {
        let stages = dry["stages"].as_array().expect("stages");
        let sum: u64 = stages.iter().map(|stage| number(stage, of)).sum();
        assert_eq!(sum, number(&dry, key), "{dry}");
    }
    assert_eq!(
        dry["to_run"].as_array().map(Vec::len),
        Some(number(&dry, "to_execute") as usize)
    );
    let report = place.headwater(&with(&["--json"])).ended(0).report().0;
    adds_up(&report);
    place.headwater(&["dag", "last", "-o", "run.mmd"]).ended(0);
    let drawn = place.read("run.mmd");
    assert!(drawn.contains("split"), "{drawn}");
    assert!(!drawn.contains("not ended"), "{drawn}");

    // One that fails is told as a failure, beside the tasks.
    fs::write(place.path("nuclei/tissue.png"), "no picture").expect("a file");
    let metrics = ["--json", "--progress", "json", "--metrics", "run.prom"];
    let ran = place.headwater(&with(&metrics)).ended(1);
    let report = ran.report().0;
    assert_eq!(report["failures"].as_array().map(Vec::len), Some(1));
    let tasks = number(&report, "tasks");
    assert_eq!(
        (number(&report, "failed"), number(&report, "blocked")),
        (1, tasks)
    );
    let object = shown(&place);
    COUNTS
        .iter()
        .for_each(|key| assert_eq!(object[key], report[key], "{key}"));
    let events = ran.stderr.lines().map(serde_json::from_str::<Value>);
    let events: Vec<Value> = events.map(|event| event.expect("an event")).collect();
    let progress = events.iter().rfind(|event| event["event"] == "progress");
    let stages = |object: &Value, key: &str| -> u64 {
        let stages = object["stages"].as_array().expect("stages");
        stages.iter().map(|stage| number(stage, key)).sum()
    };
    for object in [progress.expect("progress"), &object] {
        assert_eq!(stages(object, "tasks"), tasks, "{object}");
        assert_eq!(stages(object, "blocked"), tasks, "{object}");
        assert_eq!(stages(object, "failed"), 0, "{object}");
    }
    let told: f64 = place
        .read("run.prom")
        .lines()
        .filter(|line| line.starts_with("headwater_tasks{"))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum();
    assert_eq!(told, tasks as f64);
}
