//! Looking at a run: the file for Prometheus, progress for programs, `runs show` and the trace.
//!
//! Nothing here asks what was said when: only what is said last, or that it is said at all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Child;
use std::time::Duration;

use serde_json::Value;

use crate::place::{Place, Ran};
use crate::study_run::{LINE, studied};

/// Item 1 fails at its first attempt, item 2 always; `second` needs `first`.
const FLOW: &str = r#"
headwater: 1
workflow: "mixed"
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
      if test {in.item} -eq 2 -a ! -e "$TMPDIR/luck"; then echo "no luck" >&2; exit 7; fi
      if test {in.item} -eq 1 -a ! -e "$TMPDIR/once"; then touch "$TMPDIR/once"; exit 3; fi
      echo {in.item} > {out.made}
    inputs: {item: int}
    outputs: {made: {type: int, path: made.txt}}
  copy:
    shell: echo {in.item} > {out.made}
    inputs: {item: int}
    outputs: {made: {type: int, path: made.txt}}
"#;

const RUN: [&str; 6] = [
    "run",
    "flow.yaml",
    "--inputs",
    "data.yaml",
    "--retries",
    "1",
];

fn mixed() -> Place {
    let place = Place::with_flow(FLOW);
    place.write("data.yaml", "inputs: {item: [0, 1, 2, 3]}\n");
    place
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&RUN[..], more].concat()
}

/// Takes a label apart from the rest: `name="value"` with what is escaped in it.
fn label(text: &str) -> (String, String, &str) {
    let (name, rest) = text.split_once("=\"").expect("a label");
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    assert!(
        name.chars().all(plain) && !name.is_empty(),
        "label `{name}`"
    );
    let mut value = String::new();
    let mut letters = rest.char_indices();
    loop {
        match letters.next().expect("the value of a label ends") {
            (place, '"') => return (name.to_owned(), value, &rest[place + 1..]),
            (_, '\\') => match letters.next().expect("something escaped").1 {
                'n' => value.push('\n'),
                letter @ ('\\' | '"') => value.push(letter),
                other => panic!("`\\{other}` in a label"),
            },
            (_, letter) => value.push(letter),
        }
    }
}

/// Reads the text format 0.0.4 strictly: by name and labels, what each sample says.
fn samples(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with('\n'));
    let mut found = BTreeMap::new();
    let mut families: BTreeSet<String> = BTreeSet::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let help = line
            .strip_prefix("# HELP ")
            .expect("a family begins with help");
        let (family, words) = help.split_once(' ').expect("words");
        assert!(
            !words.is_empty() && family.starts_with("headwater_"),
            "{line}"
        );
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(family.chars().all(plain), "{family}");
        assert!(families.insert(family.to_owned()), "{family} comes twice");
        let kind = lines.next().expect("a type");
        let kind = kind.strip_prefix(&format!("# TYPE {family} ")).expect(kind);
        assert!(matches!(kind, "gauge" | "counter"), "{kind}");
        assert_eq!(kind == "counter", family.ends_with("_total"), "{family}");
        let mut count = 0;
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            count += 1;
            let mut rest = line.strip_prefix(family).expect(line);
            let mut labels = BTreeMap::new();
            if let Some(inner) = rest.strip_prefix('{') {
                rest = inner;
                loop {
                    let (name, value, after) = label(rest);
                    assert_eq!(labels.insert(name, value), None, "{line}");
                    rest = &after[1..];
                    match &after[..1] {
                        "," => {}
                        "}" => break,
                        other => panic!("`{other}` after a label of {line}"),
                    }
                }
            }
            let value = rest.strip_prefix(' ').expect(line);
            let value: f64 = value.parse().expect(line);
            let labels: Vec<String> = labels.iter().map(|(a, b)| format!("{a}={b}")).collect();
            let key = format!("{family} {}", labels.join(" "));
            assert_eq!(found.insert(key, value), None, "{line} comes twice");
        }
        assert!(count > 0, "{family} has no samples");
    }
    found
}

fn metrics(place: &Place, name: &str) -> BTreeMap<String, f64> {
    samples(&place.read(name))
}

#[track_caller]
fn says(samples: &BTreeMap<String, f64>, expected: &[(&str, f64)]) {
    for (key, value) in expected {
        assert_eq!(samples.get(*key), Some(value), "{key} in {samples:#?}");
    }
}

/// Every line of stderr as an object with an event.
#[track_caller]
fn events(ran: &Ran) -> Vec<Value> {
    let event = |line: &str| -> Value {
        let object: Value = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("`{line}` is no JSON: {error}"));
        assert!(object["event"].is_string(), "{line}");
        object
    };
    ran.stderr.lines().map(event).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|one| one["event"].as_str())
        .collect()
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|one| one["event"] == kind).collect()
}

#[test]
fn metrics_say_where_every_task_stands() {
    let place = mixed();
    place.headwater(&with(&["--metrics", "run.prom"])).ended(1);
    let found = metrics(&place, "run.prom");
    says(
        &found,
        &[
            ("headwater_over ", 1.0),
            ("headwater_status status=failed", 1.0),
            ("headwater_status status=running", 0.0),
            ("headwater_tasks stage=first state=executed", 3.0),
            ("headwater_tasks stage=first state=failed", 1.0),
            ("headwater_tasks stage=first state=reused", 0.0),
            ("headwater_tasks stage=second state=executed", 3.0),
            ("headwater_tasks stage=second state=blocked", 1.0),
            ("headwater_tasks stage=second state=waiting", 0.0),
            ("headwater_tasks stage=second state=running", 0.0),
        ],
    );
    let info = found
        .keys()
        .find(|key| key.starts_with("headwater_run_info "));
    let info = info.expect("what run it is");
    assert!(
        info.contains("workflow=mixed") && info.contains("version="),
        "{info}"
    );
    assert!(found["headwater_task_seconds_total stage=first"] > 0.0);
    assert!(found["headwater_start_time_seconds "] > 1e9);
    assert!(found["headwater_elapsed_seconds "] > 0.0);

    // What is remembered is said to be; there is nothing besides the file.
    fs::write(place.side().join("luck"), "").expect("a file");
    place.headwater(&with(&["--metrics", "run.prom"])).ended(0);
    let found = metrics(&place, "run.prom");
    says(
        &found,
        &[
            ("headwater_status status=done", 1.0),
            ("headwater_tasks stage=first state=executed", 1.0),
            ("headwater_tasks stage=first state=reused", 3.0),
            ("headwater_tasks stage=second state=executed", 1.0),
            ("headwater_tasks stage=second state=reused", 3.0),
        ],
    );
    let beside = fs::read_dir(place.root()).expect("a folder");
    let names: Vec<String> = beside
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name.contains("prom"))
        .collect();
    assert_eq!(names, ["run.prom"]);
}

#[test]
fn metrics_that_cannot_be_written_are_told_before_anything_starts() {
    let place = mixed();
    for wrong in ["none/run.prom", "."] {
        let ran = place.headwater(&with(&["--metrics", wrong])).ended(2);
        ran.says(&["cannot write metrics to `", "--metrics"]);
        let study = ["study", "run", "study.yaml", "--metrics", wrong];
        place
            .headwater(&study)
            .ended(2)
            .says(&["cannot write metrics to `"]);
    }
    assert!(!place.path(".headwater").exists() && !place.path("outputs").exists());
}

#[test]
fn metrics_of_a_run_that_never_began_say_so() {
    let place = mixed();
    place.write("flow.yaml", "headwater: 1\nworkflow: {}\n");
    place.headwater(&with(&["--metrics", "run.prom"])).ended(2);
    let found = metrics(&place, "run.prom");
    says(
        &found,
        &[
            ("headwater_status status=failed", 1.0),
            ("headwater_over ", 1.0),
        ],
    );
}

#[test]
fn every_line_of_progress_is_an_event() {
    let place = mixed();
    let ran = place.headwater(&with(&["--progress", "json"])).ended(1);
    let all = events(&ran);
    assert!(ran.stdout.starts_with("run "), "{}", ran.stdout);
    assert_eq!(all[0]["event"], "start");
    assert_eq!(all[0]["workflow"], "mixed");
    assert_eq!(all[0]["study"], Value::Null);
    let failed = of(&all, "failed");
    let told: BTreeSet<String> = failed
        .iter()
        .map(|one| format!("{} {} {}", one["task"], one["message"], one["again"]))
        .collect();
    assert_eq!(
        told.into_iter().collect::<Vec<_>>(),
        [
            r#""first.tool[1]" "ended with exit code 3" true"#,
            r#""first.tool[2]" "ended with exit code 7" false"#,
            r#""first.tool[2]" "ended with exit code 7" true"#,
        ]
    );
    let last = *of(&all, "progress").last().expect("progress");
    assert_eq!((&last["planned"], &last["ended"]), (&8.into(), &8.into()));
    assert!(
        last["elapsed_seconds"].is_f64() && last["rate"].is_f64() && last["left_seconds"] == 0.0
    );
    let stage = |place: usize, name: &str| last["stages"][place][name].as_u64();
    let names = [
        "tasks", "waiting", "running", "executed", "reused", "failed", "blocked",
    ];
    let numbers = |place: usize| names.map(|name| stage(place, name).expect(name));
    assert_eq!(numbers(0), [4, 0, 0, 3, 0, 1, 0]);
    assert_eq!(numbers(1), [4, 0, 0, 3, 0, 0, 1]);
    let end = all.last().expect("an end");
    assert_eq!(end["event"], "end");
    assert_eq!(
        (&end["status"], &end["exit"]),
        (&"failed".into(), &1.into())
    );
    assert_eq!((&end["executed"], &end["blocked"]), (&6.into(), &1.into()));
    assert_eq!(end["run"], all[0]["run"]);
}

#[test]
fn progress_and_the_result_go_to_different_streams() {
    let place = mixed();
    fs::write(place.side().join("luck"), "").expect("a file");
    let ran = place
        .headwater(&with(&["--progress", "json", "--json"]))
        .ended(0);
    let all = events(&ran);
    let report = ran.report().counts(8, 8, 0, 0);
    assert_eq!(all.last().expect("an end")["run"], report.0["run"]);
    // Without the flag it is quiet, as ever; with another one it talks.
    let quiet = place.headwater(&with(&["--json"])).ended(0);
    assert_eq!(quiet.stderr, "");
    assert_eq!(
        place
            .headwater(&with(&["--progress", "none"]))
            .ended(0)
            .stderr,
        ""
    );
    place.headwater(&with(&["--progress", "some"])).ended(2);
}

#[test]
fn mistakes_are_events_too() {
    let place = mixed();
    place.write("flow.yaml", &FLOW.replace("op: copy", "op: cpoy"));
    let ran = place.headwater(&with(&["--progress", "json"])).ended(2);
    let all = events(&ran);
    assert_eq!(kinds(&all), ["diagnostic", "error", "end"]);
    assert!(
        all[0]["message"].as_str().expect("words").contains("cpoy"),
        "{}",
        all[0]
    );
    assert_eq!(
        (&all[0]["severity"], &all[0]["line"]),
        (&"error".into(), &9.into())
    );
    assert_eq!(
        (&all[2]["status"], &all[2]["exit"]),
        (&"failed".into(), &2.into())
    );

    let missing = ["run", "none.yaml", "--progress", "json"];
    let all = events(&place.headwater(&missing).ended(2));
    assert_eq!(kinds(&all), ["error", "end"]);
    assert!(
        all[0]["message"]
            .as_str()
            .expect("words")
            .contains("none.yaml")
    );

    place.write("flow.yaml", FLOW);
    let dry = place
        .headwater(&with(&["--progress", "json", "--dry-run"]))
        .ended(0);
    let all = events(&dry);
    assert_eq!(all.last().expect("an end")["status"], "done");
    assert!(!of(&all, "note").is_empty());

    let wrong = ["study", "run", "none.yaml", "--progress", "json", "--json"];
    let ran = place.headwater(&wrong).ended(2);
    assert_eq!(kinds(&events(&ran)), ["error", "end"]);
}

#[test]
fn of_a_flood_of_failures_the_first_are_events() {
    let place = mixed();
    place.write(
        "flow.yaml",
        &FLOW.replace("{in.item} -eq 2", "{in.item} -ge 2"),
    );
    let items: Vec<String> = (2..20).map(|item| item.to_string()).collect();
    place.write(
        "data.yaml",
        &format!("inputs: {{item: [{}]}}\n", items.join(", ")),
    );
    let run = [
        "run",
        "flow.yaml",
        "--inputs",
        "data.yaml",
        "--progress",
        "json",
    ];
    let all = events(&place.headwater(&run).ended(1));
    assert_eq!(of(&all, "failed").len(), 10);
    let notes = of(&all, "note");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0]["message"]
            .as_str()
            .expect("words")
            .contains("more tasks fail")
    );
    assert_eq!(all.last().expect("an end")["failed"], 18);
}

#[test]
fn a_study_tells_its_answer_and_its_evaluations() {
    let place = studied(LINE, "[1, 2]", "{moat: {trajectories: 4}}");
    let command = [
        "study",
        "run",
        "study.yaml",
        "--progress",
        "json",
        "--json",
        "--metrics",
        "study.prom",
    ];
    let ran = place.headwater(&command).ended(0);
    let all = events(&ran);
    assert_eq!(
        (&all[0]["event"], &all[0]["study"]),
        (&"start".into(), &"line".into())
    );
    let last = *of(&all, "progress").last().expect("progress");
    let result = ran.report();
    let evaluations = last["evaluations"]["planned"].as_u64().expect("a number");
    assert_eq!(evaluations, 32, "4 trajectories of 4 sets, for 2 items");
    assert_eq!(last["evaluations"]["evaluated"], evaluations);
    assert_eq!(last["evaluations"]["failed"], 0);
    let answer = &last["answer"];
    assert_eq!(
        (&answer["index"], &answer["evaluated"]),
        (&"mu*".into(), &evaluations.into())
    );
    assert_eq!(answer["sizes"][0]["parameter"], "a");
    assert_eq!(answer["sizes"].as_array().map(Vec::len), Some(3));
    let end = all.last().expect("an end");
    assert_eq!(
        (&end["event"], &end["status"]),
        (&"end".into(), &"done".into())
    );
    assert_eq!(end["run"], all[0]["run"]);
    assert_eq!(end["folder"], result.0["folder"]);

    let found = metrics(&place, "study.prom");
    let evaluations = evaluations as f64;
    let executed = |stage: &str| found[&format!("headwater_tasks stage={stage} state=executed")];
    says(
        &found,
        &[
            ("headwater_evaluations state=planned", evaluations),
            ("headwater_evaluations state=evaluated", evaluations),
            ("headwater_phase ", 1.0),
            ("headwater_status status=done", 1.0),
            ("headwater_tasks stage=first state=failed", 0.0),
        ],
    );
    let all_executed = executed("first") + executed("last");
    assert_eq!(all_executed, end["executed"].as_f64().expect("a number"));

    // Again: everything is remembered, and every task stands in the trace.
    let again = place.headwater(&command).ended(0);
    let all = events(&again);
    let last = *of(&all, "progress").last().expect("progress");
    let reused = |stage: usize| last["stages"][stage]["reused"].as_u64().expect("a number");
    let end = all.last().expect("an end");
    assert_eq!(Some(reused(0) + reused(1)), end["tasks"].as_u64());
    let trace = again.report().trace();
    assert_eq!(Some(trace.len() as u64), end["tasks"].as_u64());
    assert!(
        trace
            .iter()
            .all(|row| row["state"] == "reused" && !row["operation"].is_empty())
    );
}

#[test]
fn failed_evaluations_are_counted() {
    let flow = LINE.replace(
        "echo $(({in.tens}",
        "test {param.b} -ne 4; echo $(({in.tens}",
    );
    let place = studied(&flow, "1", "{table: sets.csv}");
    place.write("sets.csv", "a,b,c\n1,4,1\n1,5,1\n2,4,1\n");
    let command = [
        "study",
        "run",
        "study.yaml",
        "--progress",
        "json",
        "--metrics",
        "study.prom",
    ];
    let all = events(&place.headwater(&command).ended(1));
    assert_eq!(of(&all, "failed").len(), 2);
    let last = *of(&all, "progress").last().expect("progress");
    assert_eq!(last["evaluations"]["failed"], 2);
    assert_eq!(last["evaluations"]["evaluated"], 1);
    assert_eq!(last["answer"], Value::Null);
    let found = metrics(&place, "study.prom");
    says(
        &found,
        &[
            ("headwater_evaluations state=failed", 2.0),
            ("headwater_tasks stage=last state=failed", 2.0),
            ("headwater_tasks stage=last state=executed", 1.0),
            ("headwater_status status=failed", 1.0),
        ],
    );
}

/// Item 0 is quick, item 1 goes on for ever; both tell that they run.
const SLOW: &str = r#"
headwater: 1
workflow: slow
inputs: {item: int}
stages:
  work:
    tasks: [{op: work, in: {item: item}, out: {file: file}}]
outputs: {file: file}
operations:
  work:
    shell: |
      echo {in.item} > {out.file}
      if test {in.item} -eq 1; then echo running >> "$TMPDIR/log"; exec sleep 1000; fi
    inputs: {item: int}
    outputs: {file: {type: file, path: file.txt}}
"#;

fn in_the_middle(more: &[&str]) -> (Place, Child) {
    let place = Place::with_flow(SLOW);
    place.write("data.yaml", "inputs: {item: [0, 1, 2]}\n");
    let command = [
        &["run", "flow.yaml", "--inputs", "data.yaml", "-j", "1"],
        more,
    ]
    .concat();
    let mut child = place.start(&command);
    while place.told("log").is_empty() {
        let ended = child.try_wait().expect("it can be waited for");
        assert!(ended.is_none(), "the run ended");
        std::thread::sleep(Duration::from_millis(1));
    }
    (place, child)
}

fn interrupt(child: &Child) {
    let process = libc::pid_t::try_from(child.id()).expect("a process number");
    // SAFETY: a plain system call; the child has not been waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(process, libc::SIGINT) }, 0);
}

#[test]
fn a_run_that_was_stopped_says_so_everywhere() {
    let (place, child) = in_the_middle(&["--metrics", "run.prom", "--progress", "json"]);
    let shown = place.headwater(&["runs", "show"]).ended(0).stdout;
    assert!(shown.contains("status    running"), "{shown}");
    assert!(shown.contains("1 executed so far, 0 failed"), "{shown}");
    says(&metrics(&place, "run.prom"), &[("headwater_over ", 0.0)]);
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().expect("it ends")).ended(1);
    let all = events(&ran);
    let notes = of(&all, "note");
    assert!(
        notes[0]["message"]
            .as_str()
            .expect("words")
            .starts_with("stopping")
    );
    assert_eq!(all.last().expect("an end")["status"], "cancelled");
    let found = metrics(&place, "run.prom");
    says(
        &found,
        &[
            ("headwater_status status=cancelled", 1.0),
            ("headwater_tasks stage=work state=executed", 1.0),
            ("headwater_tasks stage=work state=waiting", 2.0),
            ("headwater_tasks stage=work state=running", 0.0),
        ],
    );
    assert_eq!(all.last().expect("an end")["left"], 2);
    let shown = place.headwater(&["runs", "show"]).ended(0).stdout;
    for part in [
        "status    cancelled",
        "tasks     3: 1 executed, 0 reused, 0 failed, 2 not reached",
        "left",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    place.headwater(&["dag", "last", "-o", "run.mmd"]).ended(0);
    let drawn = place.read("run.mmd");
    assert!(drawn.contains("1 executed, 2 not ended"), "{drawn}");
    assert_eq!(drawn.matches("not ended").count(), 3, "{drawn}");
    assert!(!drawn.contains("1 task"), "{drawn}");
}

#[test]
fn a_run_that_was_killed_is_shown_as_interrupted() {
    let (place, mut child) = in_the_middle(&["--json"]);
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    let shown = place.headwater(&["runs", "show"]).ended(0).stdout;
    for part in [
        "status    interrupted",
        "the same command continues it",
        "started   20",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(!shown.contains("\nended "), "{shown}");
    let all = place.headwater(&["runs", "show", "--tasks"]).ended(0);
    assert!(
        all.stdout.contains("the same command continues it"),
        "{}",
        all.stdout
    );
    let listed = place.headwater(&["runs", "ls"]).ended(0).stdout;
    let row: Vec<&str> = listed
        .lines()
        .nth(1)
        .expect("a run")
        .split_whitespace()
        .collect();
    assert_eq!(row[2..], ["interrupted", "3", "-", "-", "-"]);
    let object = place
        .headwater(&["runs", "show", "--json"])
        .ended(0)
        .report()
        .0;
    assert_eq!(object["status"], "interrupted");
    assert_eq!(
        (&object["executed"], &object["left"]),
        (&Value::from(1), &Value::Null)
    );
    let folder = object["folder"].as_str().expect("a folder");
    let trace = fs::read_to_string(format!("{folder}/trace.tsv")).expect("a trace");
    assert!(trace.starts_with("task\tstate\t"), "{trace}");
    assert_eq!(object["task_list"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_run_at_a_glance() {
    let place = mixed();
    let report = place.headwater(&with(&["--json"])).ended(1).report();
    let shown = place.headwater(&["runs", "show"]).ended(0).stdout;
    let lines: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let has = |words: &[&str]| lines.iter().any(|line| line.starts_with(words));
    for words in [
        &["status", "failed"][..],
        &[
            "tasks",
            "8:",
            "6",
            "executed,",
            "0",
            "reused,",
            "1",
            "failed,",
            "1",
            "not",
            "run",
        ],
        &[
            "stage", "tasks", "executed", "reused", "failed", "blocked", "task", "time",
        ],
        &["first", "4", "3", "0", "1", "0"],
        &["second", "4", "3", "0", "0", "1"],
        &["took", "start", "slowest", "tasks"],
        &[
            "failed:",
            "task",
            "`first.tool[2]`:",
            "ended",
            "with",
            "exit",
            "code",
            "7",
        ],
        &["it", "said:"],
        &["no", "luck"],
        &["trace"],
        &["failures"],
        &["work"],
    ] {
        assert!(has(words), "{words:?} in {shown}");
    }
    let folder = report.folder();
    let name = folder
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    assert!(
        has(&["trace", &format!("outputs/{name}/trace.tsv")]),
        "{shown}"
    );
    assert!(has(&["outputs", &format!("outputs/{name}")]), "{shown}");

    let object = place
        .headwater(&["runs", "show", "--json"])
        .ended(0)
        .report()
        .0;
    assert_eq!(object["task_list"].as_array().map(Vec::len), Some(8));
    assert_eq!(object["slowest"].as_array().map(Vec::len), Some(7));
    assert_eq!(object["stages"][1]["blocked"], 1);
    assert_eq!(object["failures"].as_array().map(Vec::len), Some(1));
    assert!(object["files"]["trace"].is_string());

    // When the outputs are gone there is still what was recorded.
    fs::remove_dir_all(&folder).expect("removed");
    fs::remove_dir_all(place.path(".headwater/work")).expect("removed");
    let shown = place.headwater(&["runs", "show"]).ended(0).stdout;
    assert!(shown.contains(" (gone)\n"), "{shown}");
    let failed = "\nfailed: task `first.tool[2]`: ended with exit code 7";
    assert!(shown.contains(failed), "{shown}");
}

#[test]
fn many_tasks_do_not_flood_the_terminal() {
    let place = mixed();
    fs::write(place.side().join("luck"), "").expect("a file");
    let items: Vec<String> = (0..60).map(|item| item.to_string()).collect();
    place.write(
        "data.yaml",
        &format!("inputs: {{item: [{}]}}\n", items.join(", ")),
    );
    place.headwater(&with(&["--json"])).ended(0);
    let shown = place.headwater(&["runs", "show"]).ended(0).stdout;
    assert!(shown.lines().count() < 35, "{shown}");
    assert!(shown.contains("slowest tasks"), "{shown}");
    let rows = |shown: &str| {
        let rows = shown
            .lines()
            .filter(|line| line.contains(".tool[") || line.contains(".copy["));
        rows.count()
    };
    assert_eq!(rows(&shown), 10);
    let listed = place
        .headwater(&["runs", "show", "--tasks"])
        .ended(0)
        .stdout;
    assert_eq!(rows(&listed), 120);
    // Remembered ones are listed, too: their addresses are what `explain` asks for.
    place.headwater(&with(&["--json"])).ended(0);
    let listed = place
        .headwater(&["runs", "show", "last", "--tasks"])
        .ended(0)
        .stdout;
    assert_eq!(rows(&listed), 120);
    assert!(listed.contains("reused    first.tool[0]"), "{listed}");
}

#[test]
fn a_study_at_a_glance() {
    let place = studied(LINE, "1", "{moat: {trajectories: 2}}");
    place
        .headwater(&["study", "run", "study.yaml", "--json"])
        .ended(0);
    let shown = place.headwater(&["runs", "show"]).ended(0).stdout;
    for part in [
        "study.yaml",
        "status    done",
        "\nfirst ",
        "\nlast ",
        "report ",
        "results ",
        "trace ",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[test]
fn the_trace_has_every_task_and_every_attempt() {
    let place = mixed();
    let header = "task\tstate\tattempt\tstart_seconds\twall_seconds\tcpu_seconds\tpeak_bytes\trecipe\tstage\t\
                  operation\terror";
    let attempts = |report: &crate::place::Report| {
        let text = fs::read_to_string(report.folder().join("trace.tsv")).expect("a trace");
        assert_eq!(text.lines().next(), Some(header));
        let mut states: BTreeMap<String, usize> = BTreeMap::new();
        for row in report.trace() {
            *states.entry(row["state"].clone()).or_default() += 1;
        }
        states
    };
    let states = |pairs: &[(&str, usize)]| -> BTreeMap<String, usize> {
        pairs
            .iter()
            .map(|(state, count)| ((*state).to_owned(), *count))
            .collect()
    };
    let report = place.headwater(&with(&["--json"])).ended(1).report();
    let found = attempts(&report);
    assert_eq!(
        found,
        states(&[
            ("blocked", 1),
            ("executed", 6),
            ("failed", 1),
            ("retried", 2)
        ])
    );
    assert_eq!(found.values().sum::<usize>() - 2, report.number("tasks"));
    let trace = report.trace();
    let row = |task: &str, state: &str| {
        let mut rows = trace
            .iter()
            .filter(|row| row["task"] == task && row["state"] == state);
        rows.next().expect("a row").clone()
    };
    let failed = row("first.tool[2]", "failed");
    assert_eq!(
        (&*failed["stage"], &*failed["operation"]),
        ("first", "tool")
    );
    assert_eq!(
        (&*failed["attempt"], &*failed["error"]),
        ("1", "ended with exit code 7")
    );
    assert_eq!(
        row("first.tool[1]", "retried")["error"],
        "ended with exit code 3"
    );
    assert_eq!(row("first.tool[1]", "executed")["error"], "");
    assert_eq!(row("second.copy[2]", "blocked")["stage"], "second");

    fs::write(place.side().join("luck"), "").expect("a file");
    let again = place.headwater(&with(&["--json"])).ended(0).report();
    let found = attempts(&again);
    assert_eq!(found, states(&[("executed", 2), ("reused", 6)]));
    assert_eq!(found.values().sum::<usize>(), again.number("tasks"));
    assert!(
        again
            .trace()
            .iter()
            .all(|row| !row["operation"].is_empty() && !row["stage"].is_empty())
    );
}

#[test]
fn a_file_of_a_user_is_not_overwritten_by_metrics() {
    let place = mixed();
    for file in ["flow.yaml", "data.yaml"] {
        let text = place.read(file);
        let ran = place.headwater(&with(&["--metrics", file])).ended(2);
        ran.says(&[
            "already exists and has no metrics of Headwater",
            "name another file with --metrics",
        ]);
        assert_eq!(place.read(file), text);
    }
    assert!(!place.path("outputs").exists());
    // A file of an earlier run is.
    for _ in 0..2 {
        place.headwater(&with(&["--metrics", "run.prom"])).ended(1);
        assert!(place.read("run.prom").starts_with("# HELP headwater_"));
    }
    let place = studied(LINE, "[0]", "{moat: {trajectories: 2, levels: 4}}");
    let text = place.read("study.yaml");
    place
        .headwater(&["study", "run", "study.yaml", "--metrics", "study.yaml"])
        .ended(2)
        .says(&["has no metrics of Headwater"]);
    assert_eq!(place.read("study.yaml"), text);
}

#[cfg(target_os = "linux")]
/// A command whose results go to a full disk.
fn to_a_full_disk(place: &Place, arguments: &[&str]) -> Ran {
    let full = fs::File::options().write(true).open("/dev/full");
    let mut command = place.command(arguments);
    command.stdout(full.expect("Linux has it"));
    Ran::from(command.output().expect("headwater can be started"))
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_cannot_be_written_are_a_failure() {
    let place = mixed();
    place.write("data.yaml", "inputs: {item: [0]}\n");
    let once = ["run", "flow.yaml", "--inputs", "data.yaml"];
    place.headwater(&once).ended(0);
    let commands: [&[&str]; 11] = [
        &["run", "flow.yaml", "--inputs", "data.yaml", "--json"],
        &["run", "flow.yaml", "--inputs", "data.yaml", "--dry-run"],
        &["dag", "flow.yaml"],
        &["dag", "last", "--json"],
        &["runs", "ls"],
        &["runs", "show"],
        &["completions", "bash"],
        &["man", "run"],
        &["schema", "workflow"],
        &["check", "flow.yaml", "--json"],
        &["run", "--help"],
    ];
    for arguments in commands {
        let ran = to_a_full_disk(&place, arguments).ended(1);
        let ran = ran.says(&["error: cannot write to stdout: "]);
        assert_eq!(ran.stderr.matches("cannot write").count(), 1);
    }
    // A mistake stays a mistake.
    to_a_full_disk(&place, &["check", "none.yaml", "--json"])
        .ended(2)
        .says(&["cannot write to stdout: ", "none.yaml"]);
    // The last event knows of it.
    let ran = to_a_full_disk(&place, &[&once[..], &["--progress", "json"]].concat()).ended(1);
    let events: Vec<Value> = (ran.stderr.lines())
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let [.., error, end] = &events[..] else {
        panic!("{events:?}");
    };
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|message| message.starts_with("cannot write to stdout"))
    );
    assert_eq!((&end["event"], &end["exit"]), (&"end".into(), &1.into()));
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let place = mixed();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = place.command(&["completions", "bash"]);
    let output = command.stdout(writer).output().expect("it starts");
    let ran = Ran::from(output).ended(0);
    assert_eq!(ran.stderr, "");
}
