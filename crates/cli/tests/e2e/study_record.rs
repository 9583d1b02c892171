//! What is told of a study after it ran, and the order and limits that its workflow asks for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::examples::example;
use crate::place::{Place, Report};
use crate::study_run::{LINE, count, rows, run, studied};

/// The tasks of the latest run: their states, by address.
fn told(place: &Place) -> BTreeMap<String, String> {
    let shown = place
        .headwater(&["runs", "show", "last", "--json"])
        .ended(0);
    let tasks = shown.report().0["task_list"].clone();
    let tasks = tasks.as_array().expect("a list").clone();
    let text = |task: &Value, name: &str| task[name].as_str().expect("a text").to_owned();
    let pairs = tasks
        .iter()
        .map(|task| (text(task, "task"), text(task, "state")));
    let found: BTreeMap<String, String> = pairs.collect();
    assert_eq!(found.len(), tasks.len(), "each address stands there once");
    found
}

fn in_state(told: &BTreeMap<String, String>, state: &str) -> usize {
    told.values().filter(|found| *found == state).count()
}

/// The set and the rest of the index of an address.
fn position(address: &str) -> (Option<usize>, String) {
    let index = address.split_once('[').expect("an index").1;
    let index = index.strip_suffix(']').expect("its end");
    let (set, item) = index.split_once('-').unwrap_or((index, ""));
    (set.parse().ok(), item.to_owned())
}

#[test]
fn tasks_go_by_the_first_set_that_asks_for_them() {
    let flow = LINE.replace(
        "echo $((10 * {param.a}",
        "if test {param.a} -eq 4; then exit 9; fi\n      echo $((10 * {param.a}",
    );
    let place = studied(&flow, "[100, 7]", "{table: sets.csv}");
    place.write("sets.csv", "a,b\n1,1\n1,2\n3,1\n4,1\n1,1\n3,3\n");
    let report = run(&place, &["-j", "2"], 1);
    let list = place.headwater(&["runs", "ls"]).ended(0).stdout;
    let line = list.lines().nth(1).expect("a run");
    let words: Vec<&str> = line.split_whitespace().collect();
    let expected = ["study", "line", "failed", "16", "12", "0", "2", "2"];
    assert_eq!(words[1..], expected, "{list}");
    let found = told(&place);
    let addresses: BTreeSet<&str> = found.keys().map(String::as_str).collect();
    let expected = [
        "first.tens[0-0]",
        "first.tens[0-1]",
        "first.tens[2-0]",
        "first.tens[2-1]",
        "first.tens[3-0]",
        "first.tens[3-1]",
        "last.sum[0-0]",
        "last.sum[0-1]",
        "last.sum[1-0]",
        "last.sum[1-1]",
        "last.sum[2-0]",
        "last.sum[2-1]",
        "last.sum[3-0]",
        "last.sum[3-1]",
        "last.sum[5-0]",
        "last.sum[5-1]",
    ];
    assert_eq!(addresses, BTreeSet::from(expected));
    assert_eq!(found["first.tens[3-0]"], "failed");
    assert_eq!(found["last.sum[3-1]"], "blocked");
    assert_eq!(in_state(&found, "executed"), count(&report, "executed"));
    // They are listed set after set.
    let shown = ["runs", "show", "last", "--tasks"];
    let shown = place.headwater(&shown).ended(0).stdout;
    let at = |address: &str| shown.find(address).unwrap_or_else(|| panic!("{shown}"));
    assert!(at("first.tens[0-0]") < at("last.sum[0-0]"), "{shown}");
    assert!(at("last.sum[0-0]") < at("first.tens[2-0]"), "{shown}");

    let explained = |address: &str| {
        place
            .headwater(&["explain", "last", address])
            .ended(0)
            .stdout
    };
    assert!(explained("last.sum[1-1]").contains("executed"));
    let failed = explained("first.tens[3-0]");
    assert!(
        failed.contains("exit code 9") && failed.contains("folder:"),
        "{failed}"
    );
    let blocked = explained("last.sum[3-0]");
    assert!(blocked.contains("first.tens[3-0]"), "{blocked}");
    // A failed task is told with its folder, which is there.
    let failures = place.read(&format!(
        "outputs/{}/failures.txt",
        report.0["run"].as_str().expect("a run")
    ));
    assert!(failures.contains("task `first.tens[3-1]`"), "{failures}");
    for line in failures.lines() {
        if let Some(folder) = line.trim().strip_prefix("folder:") {
            assert!(std::path::Path::new(folder.trim()).is_dir(), "{folder}");
        }
    }
    // Another set that asks for it will do.
    let shared = explained("last.sum[4-0]");
    let first = "task       last.sum[0-0], the same as `last.sum[4-0]`\n";
    assert!(shared.starts_with(first), "{shared}");
    // Where the number of the set is wrong, there is a hint.
    place
        .headwater(&["explain", "last", "last.sum[99-0]"])
        .ended(2)
        .says(&[
            "has no task `last.sum[99-0]`",
            "in a study a task has the name of the first set that asks for it",
        ]);
}

/// Later prefixes and phases list what they add, each task once.
#[test]
fn all_rounds_of_a_run_are_in_its_record() {
    let method =
        "{two-phase: {screen: {moat: {trajectories: 9}}, keep: 2, then: {vbd: {samples: 9}}}}";
    let place = studied(LINE, "100", method);
    let report = run(&place, &["--set", "until.ci=0.0001"], 0);
    assert_eq!(
        report.0["phases"][0]["groups"], 8,
        "effects of a sum are sure"
    );
    assert_eq!(report.0["phases"][1]["groups"], 9);
    let found = told(&place);
    let executed = count(&report, "executed");
    assert_eq!(found.len(), count(&report, "distinct"));
    assert_eq!(in_state(&found, "executed"), executed);
    assert_eq!(place.told("log").len(), executed);
    let screened = rows(&report, "screen-samples.csv").len();
    assert_eq!(screened, 8 * 4);
    // The sets of the second phase come after all that the screening might have had.
    let sets: BTreeSet<usize> = found
        .keys()
        .filter_map(|address| position(address).0)
        .collect();
    assert!(sets.iter().any(|set| *set < screened), "{sets:?}");
    assert!(sets.iter().all(|set| *set < 32 || *set >= 36), "{sets:?}");
    assert!(sets.iter().all(|set| *set < 36 + 9 * 4), "{sets:?}");
}

/// What examples add to a run goes by the sets that they show.
#[test]
fn examples_are_told_as_the_sets_that_they_show() {
    let (place, _) = example("nuclei");
    place
        .headwater(&[
            "imaging",
            "synth",
            "-o",
            "nuclei/small.png",
            "--size",
            "128x128",
        ])
        .ended(0);
    let study = place
        .read("nuclei/moat.yaml")
        .replace("tissue.png", "small.png");
    place.write("nuclei/study.yaml", &study);
    let ran = place.headwater(&[
        "study",
        "run",
        "nuclei/study.yaml",
        "--json",
        "--set",
        "method.moat.trajectories=2",
    ]);
    let report: Report = ran.ended(0).report();
    let found = told(&place);
    assert_eq!(in_state(&found, "executed"), count(&report, "executed"));
    assert_eq!(found.len(), count(&report, "distinct"));
    let sets = rows(&report, "samples.csv");
    let value = |row: &BTreeMap<String, String>| row["dice"].parse::<f64>().expect("a number");
    let values: Vec<f64> = sets.iter().map(value).collect();
    let first = |wanted: f64| values.iter().position(|value| *value == wanted);
    let best = first(values.iter().copied().fold(f64::MIN, f64::max));
    let worst = first(values.iter().copied().fold(f64::MAX, f64::min));
    let overlays: Vec<Option<usize>> = found
        .iter()
        .filter(|(address, state)| address.starts_with("show.") && *state == "executed")
        .map(|(address, _)| position(address).0)
        .collect();
    assert!(!overlays.is_empty(), "{found:?}");
    for set in overlays {
        assert!(set.is_none() || set == best || set == worst, "{set:?}");
    }
}

/// Commands of one stage that fail if they meet, and of another that fail if the first has not been there.
fn ruled(rules: &str) -> Place {
    let flow = LINE
        .replace(
            "      echo tens",
            "      mkdir \"$TMPDIR/busy\"; sleep 0.01; rmdir \"$TMPDIR/busy\"\n      echo tens",
        )
        .replace("  first:\n", &format!("  first:\n    {rules}\n"));
    studied(&flow, "100", "{vbd: {samples: 4}}")
}

#[test]
fn limits_of_a_stage_hold_in_every_mode() {
    for reuse in ["none", "stage", "chain", "graph", "content"] {
        let place = ruled("concurrency: 1");
        let report = run(&place, &["-j", "4", "--reuse", reuse], 0);
        assert_eq!(report.number("evaluated"), 20, "{reuse}");
    }
    // Without a limit they do meet, or this test would prove nothing.
    let place = ruled("concurrency: 8");
    run(&place, &["-j", "4", "--reuse", "none"], 1);
    place
        .headwater(&["study", "run", "study.yaml", "--buckets", "rtma"])
        .ended(2)
        .says(&[
            "stage `first` has `concurrency`",
            "help: leave --buckets out",
        ]);
}

/// A stage that takes its data from nobody waits for another one, set by set.
#[test]
fn a_stage_comes_after_another_set_by_set() {
    let flow = LINE
        .replace(
            "  last:\n    tasks: [{op: sum, in: {tens: tens}, params: {b: $b, c: $c}, out: {y: sum}}]",
            "  side:\n    tasks: [{op: side, in: {item: item}, params: {a: $a}, out: {y: side}}]
  last:
    after: [side]
    tasks: [{op: sum, in: {tens: tens}, params: {b: $b, c: $c}, out: {y: sum}}]
  both:
    tasks: [{op: both, in: {one: sum, other: side}, out: {y: both}}]",
        )
        .replace("outputs: {y: sum,", "outputs: {y: both,")
        .replace(
            "operations:\n",
            "operations:
  side:
    shell: |
      sleep 0.01
      echo side {param.a} >> \"$TMPDIR/log\"
      echo {param.a} > {out.y}
    inputs: {item: int}
    params: {a: int}
    outputs: {y: {type: int, path: y}}
  both:
    shell: echo $(({in.one} + {in.other})) > {out.y}
    inputs: {one: int, other: int}
    outputs: {y: {type: int, path: y}}
",
        );
    for reuse in ["none", "content"] {
        let place = studied(&flow, "100", "{moat: {trajectories: 3}}");
        let report = run(&place, &["-j", "3", "--reuse", reuse], 0);
        assert_eq!(report.number("evaluated"), 12);
        let log = place.told("log");
        for (position, line) in log.iter().enumerate() {
            let words: Vec<&str> = line.split(' ').collect();
            if let ["sum", tens, ..] = words[..] {
                let a = (tens.parse::<i64>().expect("a number") - 100) / 10;
                let before = &log[..position];
                assert!(
                    before.contains(&format!("side {a}")),
                    "{reuse}: {line} in {log:?}"
                );
            }
        }
    }
}
