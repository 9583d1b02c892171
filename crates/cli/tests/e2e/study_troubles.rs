//! Studies in which something goes wrong: failed evaluations, kills, signals, values that are no numbers, mistakes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use serde_json::Value;

use crate::place::{Place, Ran, Report, contents};
use crate::study_run::{LINE, answer, count, index, near, results, rows, run, studied, study_file};

/// The line, broken where b is 7 until a marker lies there.
fn broken() -> String {
    LINE.replace(
        "echo $(({in.tens}",
        "if test {param.b} -eq 7 -a ! -e \"$TMPDIR/mended\"; then echo \"no \"{param.b} >&2; exit 3; fi\n      echo $(({in.tens}",
    )
}

#[test]
fn failed_evaluations_are_left_out_and_run_again_when_their_cause_is_gone() {
    let place = studied(&broken(), "100", "{moat: {trajectories: 15}}");
    let told = place.headwater(&["study", "run", "study.yaml"]).ended(1);
    let first = run(&place, &[], 1);
    let sets = rows(&first, "samples.csv");
    let failed: Vec<usize> = (0..sets.len())
        .filter(|set| sets[*set]["b"] == "7")
        .collect();
    assert_eq!(sets.len(), 60);
    assert!(
        (2..=9).contains(&failed.len()),
        "about one in twenty: {failed:?}"
    );
    for (set, row) in sets.iter().enumerate() {
        assert_eq!(row["y"].is_empty(), failed.contains(&set), "{row:?}");
    }
    // Said in words, ...
    let lost = format!("{} of 60 evaluations", failed.len());
    let again = "the same command runs them again";
    for text in [
        &*lost,
        again,
        "effects left out",
        &*format!("`last.sum[{}]`", failed[0]),
    ] {
        assert!(told.stdout.contains(text), "{text}: {}", told.stdout);
    }
    assert!(
        told.stderr.contains("ended with exit code 3"),
        "{}",
        told.stderr
    );
    // ... to scripts, ...
    assert_eq!(first.number("failed"), failed.len());
    let named = first.0["failures"].as_array().expect("a list");
    let named: Vec<usize> = named
        .iter()
        .map(|failure| failure["set"].as_u64().expect("a set") as usize)
        .collect();
    assert_eq!(named, failed);
    // ... and in the results, which know the indices nevertheless.
    let found = answer(&first);
    for phase in [&first.0["phases"][0], &found] {
        assert_eq!(phase["evaluations"]["failed"], failed.len(), "{phase}");
        assert_eq!(phase["evaluations"]["done"], 60 - failed.len(), "{phase}");
    }
    assert_eq!(found["failed"][0]["set"], failed[0]);
    let indices = &found;
    near(&index(indices, "mu_star"), &[190.0, 19.0, 0.0], 1e-9);
    let (used, lost) = (index(indices, "used"), index(indices, "lost"));
    assert!(
        used.iter()
            .zip(&lost)
            .all(|(used, lost)| used + lost == 15.0),
        "{indices}"
    );
    assert!(lost.iter().sum::<f64>() >= failed.len() as f64, "{indices}");
    let listed = place.read(&format!(
        "outputs/{}/failures.txt",
        first.0["run"].as_str().unwrap()
    ));
    assert_eq!(
        listed.matches("it said:\n    no 7").count(),
        count(&first, "failed")
    );

    fs::write(place.side().join("mended"), "").expect("a file");
    let before = place.told("log").len();
    let mended = run(&place, &[], 0);
    let executed = count(&mended, "executed");
    assert_eq!(executed, count(&first, "failed"), "only those that failed");
    assert_eq!(place.told("log").len() - before, executed);
    assert_eq!(mended.number("evaluated"), 60);
    assert_eq!(count(&mended, "failed"), 0);
    // As if nothing had ever failed.
    let other = studied(&broken(), "100", "{moat: {trajectories: 15}}");
    fs::write(other.side().join("mended"), "").expect("a file");
    assert_eq!(
        results(&mended.folder()),
        results(&run(&other, &[], 0).folder())
    );
}

/// The answer of a study with failures is the same for any number of workers, and knows nothing of the run.
#[test]
fn failures_leave_no_trace_of_the_run_in_the_results() {
    let flow = broken().replace("exit 3", "echo many > {out.y}; exit 0");
    let mut found = Vec::new();
    for jobs in ["1", "3"] {
        let place = studied(&flow, "[100, 1]", "{vbd: {samples: 8}}");
        let report = run(&place, &["-j", jobs], 1);
        assert!(report.number("failed") > 0);
        let again = run(&place, &["-j", jobs], 1);
        assert_eq!(results(&report.folder()), results(&again.folder()));
        found.push(results(&report.folder()));
    }
    assert!(found[0] == found[1]);
}

/// The line, with a gate: once so many commands have begun, each next one waits until it is told to go.
fn held() -> String {
    LINE.replace(
        ">> \"$TMPDIR/log\"",
        ">> \"$TMPDIR/log\"\n      if test ! -e \"$TMPDIR/go\" && test $(wc -l < \"$TMPDIR/log\") -gt 30; then echo held >> \"$TMPDIR/held\"; while test ! -e \"$TMPDIR/go\"; do sleep 0.02; done; fi",
    )
}

const HELD: [&str; 6] = ["study", "run", "study.yaml", "--json", "-j", "2"];

/// A study in the middle: two commands wait, and whatever else began is done and remembered; so many are.
fn in_the_middle() -> (Place, Child, usize) {
    let place = studied(&held(), "100", "{moat: {trajectories: 15}}");
    let mut child = place.start(&HELD);
    loop {
        assert!(
            child.try_wait().expect("it can be waited for").is_none(),
            "it ended"
        );
        if place.told("held").len() == 2 {
            let plan = place
                .headwater(&["study", "plan", "study.yaml", "--json"])
                .ended(0);
            let remembered = plan.report().number("reused");
            if remembered + 2 == place.told("log").len() {
                return (place, child, remembered);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs the rest: of what was told before, the two that waited run again and nothing else does.
fn the_rest(place: &Place, remembered: usize) -> Report {
    fs::write(place.side().join("go"), "").expect("a file");
    let before: BTreeSet<String> = place.told("log").into_iter().collect();
    let rest = run(place, &[], 0);
    assert_eq!(count(&rest, "reused"), remembered);
    assert_eq!(
        count(&rest, "executed"),
        count(&rest, "distinct") - remembered
    );
    let log = place.told("log");
    let after = &log[before.len()..];
    assert_eq!(after.len(), count(&rest, "executed"));
    assert_eq!(
        after.iter().filter(|line| before.contains(*line)).count(),
        2
    );
    let undisturbed = studied(&held(), "100", "{moat: {trajectories: 15}}");
    fs::write(undisturbed.side().join("go"), "").expect("a file");
    let whole = run(&undisturbed, &[], 0);
    assert_eq!(results(&rest.folder()), results(&whole.folder()));
    rest
}

#[test]
fn a_killed_study_goes_on_where_it_was() {
    let (place, mut child, remembered) = in_the_middle();
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    let rest = the_rest(&place, remembered);
    let again = run(&place, &[], 0);
    assert_eq!(count(&again, "executed"), 0);
    assert_eq!(count(&again, "reused"), count(&again, "distinct"));
    assert_eq!(results(&again.folder()), results(&rest.folder()));
}

#[test]
fn a_stopped_study_says_so_and_keeps_what_is_done() {
    let (place, child, remembered) = in_the_middle();
    let process = libc::pid_t::try_from(child.id()).expect("a process number");
    // SAFETY: a plain system call; the child has not been waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(process, libc::SIGINT) }, 0);
    let ran = Ran::from(child.wait_with_output().expect("it ends"))
        .ended(1)
        .says(&["stopping", "finished work is kept"]);
    let report = ran.report();
    assert_eq!(report.0["stopped"], true);
    assert_eq!(
        report.0["failures"],
        serde_json::json!([]),
        "stopped is not failed"
    );
    assert_eq!(count(&report, "executed"), remembered);
    assert!(count(&report, "left") > 0);
    assert_eq!(
        report.number("evaluated")
            + rows(&report, "samples.csv")
                .iter()
                .filter(|row| row["y"].is_empty())
                .count(),
        60
    );
    let runs = place.headwater(&["runs", "ls"]).ended(0).stdout;
    assert!(runs.contains("cancelled"), "{runs}");
    the_rest(&place, remembered);
}

/// One task: a number made of the parameters a and b by a command.
fn odd(command: &str, method: &str) -> Place {
    let flow = format!(
        "headwater: 1
workflow: odd
inputs: {{item: int}}
parameters:
  a: {{type: int, range: [0, 19], step: 1, default: 3}}
  b: {{type: int, range: [0, 19], step: 1, default: 4}}
stages:
  only:
    tasks: [{{op: odd, in: {{item: item}}, params: {{a: $a, b: $b}}, out: {{y: y}}}}]
outputs: {{y: y}}
operations:
  odd:
    shell: |
      {command}
    inputs: {{item: int}}
    params: {{a: int, b: int}}
    outputs: {{y: {{type: float, path: y}}}}
"
    );
    studied(&flow, "100", method)
}

#[test]
fn a_value_that_is_no_number_is_a_failed_evaluation() {
    let command = "if test {param.a} -gt 16; then echo nan; elif test {param.a} -lt 2; then echo inf; else echo {param.b}; fi > {out.y}";
    let place = odd(command, "{moat: {trajectories: 10}}");
    let report = run(&place, &[], 1);
    let mut failed = 0;
    for row in rows(&report, "samples.csv") {
        let a: i64 = row["a"].parse().expect("a number");
        if (2..=16).contains(&a) {
            assert_eq!(row["y"].parse::<f64>(), row["b"].parse(), "{row:?}");
        } else {
            assert_eq!(row["y"], "", "{row:?}");
            failed += 1;
        }
    }
    assert!(failed > 0);
    assert_eq!(report.number("failed"), failed);
    let first = report.0["failures"][0]["message"].as_str().expect("a text");
    assert!(first.contains("holds `"), "{first}");
    near(&index(&answer(&report), "mu_star"), &[0.0, 19.0], 1e-9);
}

#[test]
fn where_every_evaluation_fails_there_is_nothing_but_their_story() {
    for method in ["{moat: {trajectories: 3}}", "{vbd: {samples: 4}}"] {
        let place = odd("echo never >&2; exit 7", method);
        let told = place
            .headwater(&["study", "run", "study.yaml", "-o", "told"])
            .ended(1);
        assert!(
            told.stdout.contains("9 of 9 evaluations")
                || told.stdout.contains("16 of 16 evaluations"),
            "{}",
            told.stdout
        );
        assert!(place.read("told/failures.txt").contains("never"));
        let report = run(&place, &[], 1);
        assert_eq!(report.number("evaluated"), 0);
        let indices = answer(&report);
        let sizes = indices.get("mu_star").or(indices.get("ST"));
        assert_eq!(sizes, Some(&serde_json::json!([null, null])), "{indices}");
    }
    // Of two phases the second has nothing to go on with, and the first is told as ever.
    let method =
        "{two-phase: {screen: {moat: {trajectories: 3}}, keep: 1, then: {vbd: {samples: 4}}}}";
    let place = odd("echo never >&2; exit 7", method);
    let told = place
        .headwater(&["study", "run", "study.yaml", "-o", "told"])
        .ended(1)
        .says(&["the screening gives no effects"]);
    assert!(
        told.stdout.contains("9 of 9 evaluations"),
        "{}",
        told.stdout
    );
    assert!(place.read("told/failures.txt").contains("never"));
    let report = run(&place, &[], 1);
    assert_eq!(report.0["phases"].as_array().map(Vec::len), Some(1));
    assert!(
        report.0["errors"][0]
            .as_str()
            .is_some_and(|error| error.contains("no effects"))
    );
}

#[test]
fn an_objective_that_never_changes_has_no_variance() {
    let place = odd("echo 5 > {out.y}", "{vbd: {samples: 8}}");
    let told = place.headwater(&["study", "run", "study.yaml"]).ended(0);
    assert!(
        told.stdout.contains("the same value in all evaluations"),
        "{}",
        told.stdout
    );
    let report = run(&place, &[], 0);
    let indices = answer(&report);
    for name in ["S1", "S1_conf", "ST", "ST_conf"] {
        assert_eq!(indices[name], serde_json::json!([null, null]), "{indices}");
    }
    assert_eq!(indices["constant"], true, "{indices}");
    // Whatever is asked of it, it is as sure as it gets.
    let until = run(
        &place,
        &["--set", "until.ci=0.1", "--set", "method.vbd.samples=9"],
        0,
    );
    assert_eq!(until.0["phases"][0]["groups"], 9);

    let moat = odd("echo 5 > {out.y}", "{moat: {trajectories: 4}}");
    let report = run(&moat, &[], 0);
    let indices = answer(&report);
    for name in ["mu", "mu_star", "sigma", "mu_star_conf"] {
        assert_eq!(indices[name], serde_json::json!([0.0, 0.0]), "{indices}");
    }
    let text = fs::read_to_string(report.folder().join("results.json")).expect("results");
    assert!(!text.contains("NaN") && !text.contains("-0.0"), "{text}");
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let place = studied(LINE, "100", "{moat: {trajectories: 2}}");
    place.write("full/mine.txt", "mine");
    let cases: [(&[&str], &[&str]); 7] = [
        (
            &["--set", "method.moat.trajectory=3"],
            &["did you mean `trajectories`?", "--set:1:13"],
        ),
        (
            &["--deliver", "mask"],
            &["the workflow has no output `mask`", "y, tens"],
        ),
        (&["-o", "full"], &["is not empty", "-o"]),
        (
            &["--buckets", "rtma", "--reuse", "none"],
            &["--reuse", "help: "],
        ),
        (
            &["--buckets", "rtma", "--reuse", "stage"],
            &["--reuse", "help: "],
        ),
        (&["--bucket-size", "3"], &["--buckets"]),
        (&["--set", "objective=z"], &["`z`", "--set:1:11"]),
    ];
    for (arguments, expected) in cases {
        let mut all = vec!["study", "run", "study.yaml"];
        all.extend(arguments);
        let ran = place.headwater(&all).ended(2).says(expected);
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
    // A file where a folder is to be.
    place
        .headwater(&["study", "run", "study.yaml", "-o", "full/mine.txt"])
        .ended(2)
        .says(&["mine.txt` is a file", "help: "]);
    assert_eq!(place.read("full/mine.txt"), "mine");
    assert!(place.told("log").is_empty());
    assert!(!place.path("outputs").exists());
    assert!(!place.path(".headwater").exists(), "no store is made");
    // Known when the data are looked at.
    place
        .headwater(&["study", "run", "study.yaml", "--set", "inputs.item=[]"])
        .ended(2)
        .says(&["there is nothing to study: `item` has no items", "help: "]);
    assert!(!place.path("outputs").exists());
}

/// How many instances there are differs from set to set: such a study is refused in words.
#[test]
fn lists_that_depend_on_what_varies_are_refused() {
    let place = Place::with_flow(
        "headwater: 1
workflow: lists
inputs: {item: int}
parameters: {a: {type: int, range: [0, 19], step: 1, default: 3}}
stages:
  some:
    tasks: [{op: some, in: {item: item}, params: {a: $a}, out: {parts: part}}]
  each:
    tasks: [{op: each, in: {part: part}, out: {size: size}}]
outputs: {y: size}
operations:
  some:
    shell: for i in 1 2 {param.a}; do echo $i > part-$i; done
    inputs: {item: int}
    params: {a: int}
    outputs: {parts: {type: file, glob: 'part-*'}}
  each:
    shell: wc -c < {in.part} > {out.size}
    inputs: {part: file}
    outputs: {size: {type: int, path: size}}
",
    );
    place.write("study.yaml", &study_file("1", "{moat: {trajectories: 2}}"));
    place
        .headwater(&["study", "run", "study.yaml"])
        .ended(2)
        .says(&[
            "study.yaml:5:12",
            "stage `some`",
            "depends on parameters that vary",
            "help: ",
        ]);
    assert!(!place.path("outputs").exists());
}

#[test]
fn without_leave_to_write_a_study_runs_and_remembers_nothing() {
    let place = studied(LINE, "100", "{moat: {trajectories: 2}}");
    let first = run(&place, &["--read-only"], 0);
    assert!(!place.path(".headwater").exists(), "no store is made");
    assert_eq!(first.number("evaluated"), 8);
    let ran = place.told("log").len();
    assert_eq!(count(&first, "executed"), ran);
    // What a store remembers is used, and the store stays as it is.
    let kept = run(&place, &[], 0);
    assert_eq!(results(&kept.folder()), results(&first.folder()));
    let store = || {
        let mut files = contents(&place.path(".headwater"));
        files.retain(|name, _| {
            let name = name.to_string_lossy();
            !name.ends_with("-shm") && !name.ends_with("-wal")
        });
        files
    };
    let before = store();
    let read = run(&place, &["--read-only"], 0);
    assert_eq!(count(&read, "executed"), 0);
    let larger = run(
        &place,
        &["--read-only", "--set", "method.moat.trajectories=3"],
        0,
    );
    assert_eq!(larger.number("evaluated"), 12);
    assert!(store() == before, "the store stays as it is");
    assert!(Path::new(&larger.folder()).join("samples.csv").exists());
    let _: Value = answer(&larger);
}

/// With --fail-fast nothing more is started, be it of the same phase or of the next one.
#[test]
fn the_first_failure_ends_a_study_that_is_to_fail_fast() {
    let method =
        "{two-phase: {screen: {moat: {trajectories: 15}}, keep: 1, then: {vbd: {samples: 4}}}}";
    let place = studied(&broken(), "100", method);
    let report = run(&place, &["--fail-fast", "-j", "1"], 1);
    assert_eq!(report.0["phases"].as_array().map(Vec::len), Some(1));
    assert_eq!(count(&report, "failed"), 1);
    assert!(count(&report, "left") > 0);
    let told = place.told("log").len();
    assert_eq!(told, count(&report, "executed") + 1);
}

#[test]
fn what_is_tried_again_and_succeeds_is_not_announced_as_failing() {
    let command = "mine=\"$TMPDIR/\"{param.a}-{param.b}; if ! test -e \"$mine\"; then touch \"$mine\"; exit 3; fi; echo 1 > {out.y}";
    let place = odd(command, "{moat: {trajectories: 10}}");
    let command = ["study", "run", "study.yaml", "--retries", "1"];
    let told = place.headwater(&command).ended(0).stderr;
    assert!(told.contains("it is tried again"), "{told}");
    assert!(told.contains("more tasks are tried again"), "{told}");
    assert!(!told.contains("more tasks fail"), "{told}");
}

/// The folder of a task is not what its words are about.
#[test]
fn equal_failures_are_told_once_though_each_names_its_folder() {
    let place = odd(
        "echo \"no luck in $PWD\" >&2; exit 3",
        "{moat: {trajectories: 4}}",
    );
    let report = run(&place, &[], 1);
    let page = fs::read_to_string(report.folder().join("report.html")).expect("a report");
    let told = page.matches("it said:").count();
    let alike = page.matches("failed for the same reason").count();
    assert_eq!((told, alike), (1, 1), "{page}");
}
