//! Nothing is computed twice: not downstream of a change that changed nothing, not within a run, and not by
//! two runs at once.

use std::collections::BTreeSet;

use crate::place::{Place, delivered};

/// `clean` drops comments, so that a comment in its input changes nothing downstream.
const CHAIN: &str = r#"
headwater: 1
workflow: chain
inputs: {text: file}
stages:
  clean:
    tasks: [{op: clean, in: {text: text}, out: {text: cleaned}}]
  count:
    tasks: [{op: count, in: {text: cleaned}, out: {number: lines}}]
  frame:
    tasks: [{op: frame, in: {text: lines}, out: {text: framed}}]
outputs: {framed: framed}
operations:
  clean:
    shell: |
      echo clean >> "$TMPDIR/log"
      grep -v '^#' {in.text} > {out.text}
    inputs: {text: file}
    outputs: {text: {type: file, path: cleaned.txt}}
  count:
    shell: |
      echo count >> "$TMPDIR/log"
      wc -l < {in.text} > {out.number}
    inputs: {text: file}
    outputs: {number: {type: file, path: number.txt}}
  frame:
    shell: |
      echo frame >> "$TMPDIR/log"
      echo "[$(cat {in.text})]" > {out.text}
    inputs: {text: file}
    outputs: {text: {type: file, path: framed.txt}}
"#;

fn chain() -> Place {
    let place = Place::with_flow(CHAIN);
    place.write("data.yaml", "inputs: {text: text.txt}\n");
    place.write("text.txt", "one\ntwo\n");
    place
}

fn states(place: &Place, code: i32) -> Vec<(String, String)> {
    let report = place.run(&["--inputs", "data.yaml"], code);
    let row = |row: std::collections::BTreeMap<String, String>| {
        (row["task"].clone(), row["state"].clone())
    };
    let rows: BTreeSet<(String, String)> = report.trace().into_iter().map(row).collect();
    rows.into_iter().collect()
}

fn told(states: &[(String, String)]) -> Vec<String> {
    states
        .iter()
        .map(|(task, state)| format!("{task} {state}"))
        .collect()
}

#[test]
fn a_change_that_changes_nothing_downstream_costs_nothing_there() {
    let place = chain();
    let first = place.run(&["--inputs", "data.yaml"], 0).counts(3, 3, 0, 0);
    assert_eq!(first.texts("framed"), ["[2]\n"]);
    place.write("text.txt", "# a remark\none\ntwo\n");
    assert_eq!(
        told(&states(&place, 0)),
        [
            "clean.clean executed",
            "count.count cut-off",
            "frame.frame cut-off"
        ]
    );
    assert_eq!(place.told("log"), ["clean", "count", "frame", "clean"]);
    // The new recipes are known by now.
    let again = place.run(&["--inputs", "data.yaml"], 0).counts(3, 0, 3, 0);
    assert_eq!(again.number("cut_off"), 0);
    assert_eq!(again.texts("framed"), ["[2]\n"]);
    // One more line, and it goes all the way.
    place.write("text.txt", "# a remark\none\ntwo\nthree\n");
    let changed = place.run(&["--inputs", "data.yaml"], 0).counts(3, 3, 0, 0);
    assert_eq!(changed.texts("framed"), ["[3]\n"]);
}

/// The cut may come late: two other lines are as many as before.
#[test]
fn what_differs_runs_until_nothing_differs_any_more() {
    let place = chain();
    place.run(&["--inputs", "data.yaml"], 0);
    place.write("text.txt", "three\nfour\n");
    assert_eq!(
        told(&states(&place, 0)),
        [
            "clean.clean executed",
            "count.count executed",
            "frame.frame cut-off"
        ]
    );
}

/// What the plan can know without running anything, it knows.
#[test]
fn a_read_only_run_is_cut_off_as_well() {
    let place = chain();
    place.run(&["--inputs", "data.yaml"], 0);
    place.write("text.txt", "# a remark\none\ntwo\n");
    for _ in 0..2 {
        let report = place.run(&["--inputs", "data.yaml", "--read-only"], 0);
        assert_eq!(
            (report.number("executed"), report.number("cut_off")),
            (1, 2)
        );
        assert_eq!(report.texts("framed"), ["[2]\n"]);
    }
}

/// Two items with the same contents, made from different things: one of them is worked on.
#[test]
fn equal_work_within_a_run_is_done_once() {
    let place = Place::with_flow(CHAIN);
    place.write("data.yaml", "inputs: {text: [a.txt, b.txt, c.txt]}\n");
    place.write("a.txt", "# a\none\n");
    place.write("b.txt", "# b\none\n");
    place.write("c.txt", "# c\nthree\n");
    let report = place.run(&["--inputs", "data.yaml", "-j", "3"], 0);
    // Three are cleaned; of two equal ones one is counted; all three counts are equal.
    assert_eq!(
        (report.number("executed"), report.number("cut_off")),
        (6, 3)
    );
    let mut log = place.told("log");
    log.sort();
    assert_eq!(log, ["clean", "clean", "clean", "count", "count", "frame"]);
    assert_eq!(report.texts("framed"), ["[1]\n", "[1]\n", "[1]\n"]);
}

/// An equal task that fails does not take the others with it unseen: each is tried and named.
#[test]
fn equal_tasks_that_fail_are_all_named() {
    let flow = CHAIN.replace("wc -l < {in.text} > {out.number}", "exit 3");
    let place = Place::with_flow(&flow);
    place.write("data.yaml", "inputs: {text: [a.txt, b.txt]}\n");
    place.write("a.txt", "# a\none\n");
    place.write("b.txt", "# b\none\n");
    let report = place.run(&["--inputs", "data.yaml"], 1);
    assert_eq!(report.tasks("failed"), ["count.count[0]", "count.count[1]"]);
    assert_eq!(report.number("blocked"), 2);
}

/// Forty items through two stages, slow enough for two runs to meet.
const SLOW: &str = r#"
headwater: 1
workflow: slow
inputs: {item: int}
stages:
  first:
    tasks: [{op: first, in: {item: item}, out: {file: half}}]
  second:
    tasks: [{op: second, in: {file: half}, out: {file: whole}}]
outputs: {whole: whole}
operations:
  first:
    shell: |
      echo first[{in.item}] >> "$TMPDIR/log"
      sleep 0.05
      echo "item "{in.item} > {out.file}
    inputs: {item: int}
    outputs: {file: {type: file, path: half.txt}}
  second:
    shell: |
      echo "second[$(cat {in.file})]" >> "$TMPDIR/log"
      sleep 0.05
      tr a-z A-Z < {in.file} > {out.file}
    inputs: {file: file}
    outputs: {file: {type: file, path: whole.txt}}
"#;

#[test]
fn two_runs_at_once_make_each_product_once() {
    let place = Place::with_flow(SLOW);
    let items = |range: std::ops::Range<usize>| {
        let items: Vec<String> = range.map(|item| item.to_string()).collect();
        format!("inputs: {{item: [{}]}}\n", items.join(", "))
    };
    place.write("one.yaml", &items(0..30));
    place.write("two.yaml", &items(10..40));
    let start =
        |data: &str| place.start(&["run", "flow.yaml", "--inputs", data, "--json", "-j", "4"]);
    let runs = [start("one.yaml"), start("two.yaml")];
    let reports = runs.map(|run| {
        let output = run.wait_with_output().expect("it ends");
        assert!(output.status.success());
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("a report")
    });
    let log = place.told("log");
    let different: BTreeSet<&String> = log.iter().collect();
    assert_eq!(log.len(), different.len(), "something was made twice");
    assert_eq!(log.len(), 80);
    let number = |key: &str| -> u64 {
        let numbers = reports.iter().map(|report| report[key].as_u64());
        numbers.map(|number| number.expect("a number")).sum()
    };
    assert_eq!(
        (number("tasks"), number("executed"), number("reused")),
        (120, 80, 40)
    );
    // Each has all of its own outputs, and they are those of a run of its own.
    for (report, data) in reports.iter().zip(["one.yaml", "two.yaml"]) {
        let alone = Place::with_flow(SLOW);
        alone.write("data.yaml", &place.read(data));
        let alone = alone.run(&["--inputs", "data.yaml", "-j", "8"], 0);
        let folder = std::path::Path::new(report["folder"].as_str().expect("a folder"));
        assert_eq!(delivered(folder), delivered(&alone.folder()));
    }
}

/// Of two runs that need the same, the one that makes it is killed: the other makes it.
#[test]
fn a_killed_run_leaves_its_work_to_others() {
    let flow = SLOW.replace("sleep 0.05", "sleep 0.5");
    let place = Place::with_flow(&flow);
    place.write("data.yaml", "inputs: {item: [0, 1, 2, 3]}\n");
    let arguments = [
        "run",
        "flow.yaml",
        "--inputs",
        "data.yaml",
        "--json",
        "-j",
        "4",
    ];
    let mut first = place.start(&arguments);
    while place.told("log").len() < 4 {
        assert!(first.try_wait().expect("a child").is_none());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let second = place.start(&arguments);
    first.kill().expect("it is killed");
    first.wait().expect("it is gone");
    let output = second.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["executed"], 8);
}

/// A number, sorted, and framed by a command that changes on the way.
const TURNS: &str = r#"
headwater: 1
workflow: turns
inputs: {text: file}
parameters: {n: {type: int, default: 1}}
stages:
  a: [{op: a, in: {text: text}, params: {n: $n}, out: {text: x}}]
  b: [{op: b, in: {text: x}, out: {text: y}}]
  c: [{op: c, in: {text: y}, out: {text: z}}]
outputs: {z: z}
operations:
  a:
    command: [sh, a.sh, "{in.text}", "{param.n}", "{out.text}"]
    uses: [a.sh]
    inputs: {text: file}
    params: {n: int}
    outputs: {text: {type: file, path: o.txt}}
  b: {shell: "sort -r {in.text} > {out.text}", inputs: {text: file}, outputs: {text: {type: file, path: o.txt}}}
  c: {shell: "cat {in.text} > {out.text}", inputs: {text: file}, outputs: {text: {type: file, path: o.txt}}}
"#;

/// `b` of the last run is equal to what `b` was with another script. That script is no part of how it came to be.
#[test]
fn what_is_equal_to_a_product_keeps_its_own_history() {
    let place = Place::with_flow(TURNS);
    place.write("data.yaml", "inputs: {text: text.txt}\n");
    place.write("text.txt", "one\n");
    let plain = "cp $1 $3; echo $2 >> $3\n";
    place.write("a.sh", plain);
    let run = |set: &str| place.run(&["--inputs", "data.yaml", "--set", set], 0);
    run("n=1");
    place.write("a.sh", "cp $1 $3; echo 2 >> $3\n");
    run("n=1");
    place.write("a.sh", plain);
    let changed = TURNS.replace("cat {in.text}", "cat -v {in.text}");
    place.write("flow.yaml", &changed);
    let before = run("n=1").0["run"].as_str().unwrap().to_owned();
    let last = run("n=2");
    assert_eq!(last.ran(), ["a.a", "c.c"], "`b` is cut off");

    let told = |arguments: &[&str]| place.headwater(arguments).ended(0).stdout;
    for text in [
        told(&["explain", "last", "c.c"]),
        told(&["explain", "last", "b.b"]),
        told(&["runs", "diff", &before, "last"]),
    ] {
        assert!(text.contains("parameter `n`: 1 -> 2"), "{text}");
        assert!(!text.contains("a.sh"), "{text}");
    }

    // From the output to what it was made from, step by step.
    let task = |name: &str| {
        let shown = told(&["explain", "last", name, "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        shown["recipe"].as_str().unwrap().to_owned()
    };
    let show = |recipe: &str| told(&["products", "show", recipe]);
    let (a, b) = (task("a.a"), task("b.b"));
    assert!(show(&task("c.c")).contains(&b[..12]));
    let cut_off = show(&b);
    assert!(
        cut_off.contains(&format!("output `text` of product {}", &a[..12])),
        "{cut_off}"
    );
    assert!(cut_off.contains("to be equal to product"), "{cut_off}");
    assert!(show(&a).contains("parameters n = 2"));

    // Also from the side of those that are compared with it later.
    run("n=3");
    let text = told(&["explain", "last", "c.c"]);
    assert!(text.contains("parameter `n`: 2 -> 3"), "{text}");
    assert!(!text.contains("a.sh"), "{text}");
}
