//! Figures that have to agree: what a run says of its tasks, wherever it says it.

use std::fs;

use headwater_imaging::Plane;
use headwater_imaging::files::write_png;
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
    let left = format!(", {} not reached\n", report["left"]);
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

/// The seconds of processor time that a study has spent and saved, as its run notes them.
fn processor_time(place: &Place, store: &str, run: &Value) -> (f64, f64) {
    let run = run.as_str().expect("a run");
    let noted = place.read(&format!("{store}/runs/{run}/study.json"));
    let noted: Value = serde_json::from_str(&noted).expect("JSON");
    let tasks = noted["facts"]["tasks"].as_array().expect("tasks");
    let sum = |key: &str| -> f64 {
        let seconds = tasks
            .iter()
            .map(|task| task[key].as_f64().expect("seconds"));
        seconds.sum()
    };
    (sum("cpu_seconds"), sum("saved_seconds"))
}

/// The tile has images for examples, and the reference is made at the default parameters: both are tasks beside those of
/// the sets.
#[test]
fn a_study_and_the_same_study_again_count_the_same() {
    let (place, folder) = example("nuclei");
    let pixels = (0..256).map(|at| match (at / 64 + at % 16 / 4) % 2 {
        0 => [90, 60, 140],
        _ => [225, 205, 230],
    });
    let tile: Plane<[u8; 3]> = Plane::new(16, 16, pixels.collect()).expect("a tile");
    let png = write_png(tile.view()).expect("a PNG");
    fs::write(folder.join("tissue.png"), png).expect("a file");
    for (study, method) in [
        ("moat", "moat: {trajectories: 4, levels: 20}"),
        ("vbd", "vbd: {samples: 8}"),
        (
            "two-phase",
            "two-phase: {screen: {moat: {trajectories: 2}}, keep: 2, then: {vbd: {samples: 4}}}",
        ),
        ("until", "moat: {trajectories: 16}\nuntil: {ci: 0.001}"),
    ] {
        let text = format!(
            "headwater: 1\nstudy: {study}\nworkflow: nuclei.yaml\ninputs: {{tile: tissue.png, reference: {{output: mask, at: \
             default}}}}\nparameters: [G1, G2, MinSize]\nobjective: dice\nmethod:\n  {method}\n"
        );
        fs::write(folder.join("study.yaml"), text).expect("a file");
        let store = format!("{study}.store");
        let run = || {
            let arguments = [
                "study",
                "run",
                "nuclei/study.yaml",
                "--json",
                "--store",
                &store,
            ];
            place.headwater(&arguments).ended(0).report().0
        };
        let (first, second) = (run(), run());
        let counts = [&first["counts"], &second["counts"]];
        for counts in counts {
            let all: u64 = COUNTS.iter().map(|key| number(counts, key)).sum();
            assert_eq!(all, number(counts, "distinct"), "{study}: {counts}");
        }
        for key in ["tasks", "distinct"] {
            assert_eq!(counts[0][key], counts[1][key], "{study}: {key}");
        }
        let distinct = &counts[1]["distinct"];
        assert_eq!(&counts[1]["reused"], distinct, "{study}: {second}");
        // What the run notes of itself says the same, and so does what it wrote down of each task.
        let shown = ["runs", "show", "--json", "--store", &store];
        let shown = place.headwater(&shown).ended(0).report().0;
        assert_eq!(&shown["tasks"], distinct, "{study}");
        adds_up(&shown);
        let difference = ["explain", "last", "--json", "--store", &store];
        let difference = place.headwater(&difference).ended(0).report().0;
        assert_eq!(&difference["same"], distinct, "{study}: {difference}");
        for only in ["only_first", "only_second"] {
            let only = difference[only].as_array().expect("a list");
            assert!(only.is_empty(), "{study}: {only:?}");
        }
        // All that is asked for took as much, whether it was made now or then.
        let noted = |report: &Value| processor_time(&place, &store, &report["run"]);
        let ((spent, saved), (nothing, all)) = (noted(&first), noted(&second));
        assert!(
            nothing == 0.0 && spent > 0.0,
            "{study}: {nothing} and {spent}"
        );
        assert!(
            (spent + saved - all).abs() < 1e-6 * all,
            "{study}: {spent} + {saved}, {all}"
        );
    }
}

/// A line of `runs ls` adds up where tasks were cut off or blocked.
#[test]
fn a_line_of_the_list_of_runs_adds_up() {
    let place = failing();
    place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml"])
        .ended(1);
    let text = place.headwater(&["runs", "ls"]).ended(0).stdout;
    let (head, line) = text.split_once('\n').expect("two lines");
    assert!(head.ends_with("failed  other"), "{text}");
    let numbers: Vec<u64> = line
        .split_whitespace()
        .rev()
        .map_while(|word| word.parse().ok())
        .collect();
    let (told, all) = numbers.split_at(4);
    assert_eq!(told.iter().sum::<u64>(), all[0], "{text}");
}
