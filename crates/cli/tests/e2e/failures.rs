//! A task that fails says why and how to run it again, and stops nothing but what needs it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::place::{Place, Report};

/// A workflow of one stage with one task of the operation `tool`; its items come from `item`.
fn one(operation: &str) -> Place {
    let place = Place::with_flow(&format!(
        "headwater: 1\nworkflow: one\ninputs: {{item: text}}\nstages:\n  work:\n    \
         tasks: [{{op: tool, in: {{item: item}}, out: {{made: made}}}}]\n\
         outputs: {{made: made}}\noperations:\n  tool:\n    inputs: {{item: text}}\n{operation}"
    ));
    place.write("data.yaml", "inputs: {item: thing}\n");
    place
}

fn run(place: &Place, code: i32) -> Report {
    place.run(&["--inputs", "data.yaml"], code)
}

/// The only failure: its message.
#[track_caller]
fn message(report: &Report) -> String {
    let failures = report.failures();
    assert_eq!(failures.len(), 1, "{failures:?}");
    report.message("work.tool")
}

const FAILS: &str = r#"    shell: |
      echo some words
      echo "no luck with" {in.item} >&2
      echo "$GREETING" > seen.txt
      cat > input.txt
      test -f "$TMPDIR/luck" || exit 7
      echo lucky > {out.made}
    stdin: "text for {in.item}"
    env: {GREETING: "hello world"}
    outputs: {made: {type: file, path: made.txt}}
"#;

#[test]
fn a_failure_is_told_with_everything_needed_to_look_into_it() {
    let place = one(FAILS);
    let ran = place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml"])
        .ended(1)
        .says(&[
            "task `work.tool`: ended with exit code 7",
            "command: /bin/sh -e -c ",
            "it said:\n    no luck with thing",
            "folder:  ",
            ".again.sh",
        ]);
    assert!(
        ran.stdout.contains("0 executed, 0 reused, 1 failed"),
        "{}",
        ran.stdout
    );

    let report = run(&place, 1).counts(1, 0, 0, 1);
    let described = fs::read_to_string(report.folder().join("failures.txt")).expect("a file");
    for part in [
        "task `work.tool`: ended with exit code 7",
        "no luck with thing",
        ".again.sh",
    ] {
        assert!(described.contains(part), "{described}");
    }
    let failure = &report.failures()["work.tool"];
    assert_eq!(failure["stderr"], "no luck with thing\n");
    assert_eq!(failure["attempts"], 1);
    assert_eq!(failure["command"][0], "/bin/sh");
    let folder = Path::new(failure["folder"].as_str().expect("a folder"));
    assert_eq!(
        fs::read_to_string(folder.join("seen.txt")).expect("its file"),
        "hello world\n"
    );
    assert_eq!(
        fs::read_to_string(folder.join(".stdout")).expect("its output"),
        "some words\n"
    );
    assert_eq!(
        fs::read_to_string(folder.join(".stderr")).expect("its words"),
        "no luck with thing\n"
    );

    // The script runs it again alone: with its input and its environment, from anywhere.
    fs::remove_file(folder.join("seen.txt")).expect("removed");
    fs::remove_file(folder.join("input.txt")).expect("removed");
    let again = || {
        let mut command = Command::new("sh");
        command
            .arg(folder.join(".again.sh"))
            .current_dir("/")
            .env("GREETING", "another");
        command.output().expect("sh can be started")
    };
    let output = again();
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stderr, b"no luck with thing\n");
    assert_eq!(
        fs::read_to_string(folder.join("seen.txt")).expect("its file"),
        "hello world\n"
    );
    assert_eq!(
        fs::read_to_string(folder.join("input.txt")).expect("its file"),
        "text for thing"
    );
    fs::write(place.side().join("luck"), "").expect("luck");
    assert_eq!(again().status.code(), Some(0));
    assert_eq!(
        fs::read_to_string(folder.join("made.txt")).expect("its output"),
        "lucky\n"
    );

    // A failure is not remembered.
    assert_eq!(run(&place, 0).counts(1, 1, 0, 0).texts("made"), ["lucky\n"]);
    place.headwater(&["runs", "ls"]).ended(0);
}

const BRANCHES: &str = r#"
headwater: 1
workflow: branches
inputs: {item: int}
stages:
  first:
    tasks: [{op: pick, in: {item: item}, out: {file: picked}}]
  second:
    tasks:
      - {op: copy, in: {file: picked}, out: {file: copied}}
      - {op: copy, name: again, in: {file: copied}, out: {file: twice}}
  total:
    wait: all
    tasks: [{op: join, in: {files: twice}, out: {file: total}}]
  some:
    wait: all
    tolerate: 1
    tasks: [{op: join, in: {files: twice}, out: {file: some}}]
outputs: {picked: picked, twice: twice, total: total, some: some}
operations:
  pick:
    shell: test {in.item} != 2 -o -e "$TMPDIR/luck"; echo {in.item} > {out.file}
    inputs: {item: int}
    outputs: {file: {type: file, path: picked.txt}}
  copy:
    command: [cp, "{in.file}", "{out.file}"]
    inputs: {file: file}
    outputs: {file: {type: file, path: copied.txt}}
  join:
    shell: cat {in.files} > {out.file}
    inputs: {files: list of file}
    outputs: {file: {type: file, path: joined.txt}}
"#;

#[test]
fn a_failed_item_keeps_its_place_and_stops_only_its_descendants() {
    let place = Place::with_flow(BRANCHES);
    place.write("data.yaml", "inputs: {item: [0, 1, 2, 3]}\n");
    let report = run(&place, 1);
    let indices = ["0", "1", "3"];
    for output in ["picked", "twice"] {
        assert_eq!(
            report.files(output).keys().collect::<Vec<_>>(),
            indices,
            "{output}"
        );
        assert_eq!(report.texts(output), ["0\n", "1\n", "3\n"]);
    }
    assert_eq!(report.files("total").len(), 0);
    assert_eq!(report.texts("some"), ["0\n1\n3\n"]);
    assert_eq!(report.tasks("failed"), ["first.pick[2]"]);
    assert_eq!(
        report.tasks("blocked"),
        ["second.again[2]", "second.copy[2]", "total.join"]
    );
    assert_eq!(report.failures()["first.pick[2]"]["blocked"], 3);
    // A copy of a copy is the same computation on the same contents.
    assert_eq!(
        (report.number("executed"), report.number("cut_off")),
        (7, 3)
    );

    let ran = place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml"])
        .ended(1);
    ran.says(&["first.pick[2]", "3 tasks could not run because of it"]);

    fs::write(place.side().join("luck"), "").expect("luck");
    let report = run(&place, 0);
    assert_eq!(report.texts("total"), ["0\n1\n2\n3\n"]);
    assert_eq!(report.texts("some"), ["0\n1\n2\n3\n"]);
    // `total` and `some` are the same computation now.
    assert_eq!(
        (report.number("executed"), report.number("cut_off")),
        (3, 1),
        "{:?}",
        report.tasks("executed")
    );
}

#[test]
fn fail_fast_starts_nothing_more() {
    let place = Place::with_flow(BRANCHES);
    place.write("data.yaml", "inputs: {item: [2, 0, 1, 3, 4, 5]}\n");
    let arguments = ["--inputs", "data.yaml", "--fail-fast", "-j", "1"];
    let report = place.run(&arguments, 1);
    assert_eq!((report.number("failed"), report.number("executed")), (1, 0));
    let report = place.run(
        &[
            "--inputs",
            "data.yaml",
            "--fail-fast",
            "--keep-going",
            "-j",
            "1",
        ],
        1,
    );
    assert_eq!(
        (
            report.number("failed"),
            report.number("executed") + report.number("cut_off")
        ),
        (1, 16),
        "the last of the two counts"
    );
}

#[test]
fn a_failed_task_is_tried_again_as_often_as_it_may() {
    let flaky = "    shell: |\n      echo try >> \"$TMPDIR/tries\"\n      test $(wc -l < \"$TMPDIR/tries\") -ge 3\n      \
                 echo done > {out.made}\n    outputs: {made: {type: file, path: made}}\n";
    let place = one(&format!("{flaky}    retries: 2\n"));
    let report = run(&place, 0).counts(1, 1, 0, 0);
    assert_eq!(place.told("tries").len(), 3);
    assert_eq!(
        (
            report.tasks("retried").len(),
            report.tasks("executed").len()
        ),
        (2, 1)
    );

    let place = one(&format!("{flaky}    retries: 1\n"));
    let report = run(&place, 1).counts(1, 0, 0, 1);
    assert_eq!(place.told("tries").len(), 2);
    assert_eq!(report.failures()["work.tool"]["attempts"], 2);

    let place = one(flaky);
    place
        .run(&["--inputs", "data.yaml", "--retries", "2"], 0)
        .counts(1, 1, 0, 0);
}

#[test]
fn a_timeout_ends_the_program_and_its_children() {
    let place = one(
        "    shell: |\n      sleep 1000 &\n      echo $$ $! > \"$TMPDIR/processes\"\n      wait\n    \
         outputs: {made: {type: file, path: made}}\n    timeout: 300ms\n",
    );
    let report = run(&place, 1);
    assert!(
        message(&report).contains("still running after 300ms, so it was ended"),
        "{}",
        message(&report)
    );
    let processes = place.told("processes");
    assert_eq!(processes.len(), 1);
    for process in processes[0].split_whitespace() {
        assert!(
            crate::interrupt::is_gone(process),
            "process {process} is still there"
        );
    }
}

/// A tool that leaves something behind, and what is said about it.
#[track_caller]
fn refused(operation: &str, words: &[&str]) {
    let place = one(operation);
    let report = run(&place, 1).counts(1, 0, 0, 1);
    let message = message(&report);
    for word in words {
        assert!(message.contains(word), "`{message}` should say `{word}`");
    }
    assert!(!message.contains("panicked"), "{message}");
}

#[test]
fn a_missing_program_is_told() {
    refused(
        "    command: [no-such-program, x]\n    outputs: {made: {type: file, path: made}}\n",
        &["program `no-such-program` not found", "PATH"],
    );
    refused(
        "    command: [./no-such-script.sh]\n    outputs: {made: {type: file, path: made}}\n",
        &["no-such-script.sh", "not found"],
    );
}

#[test]
fn a_command_line_that_is_too_long_is_told_shortly() {
    let place = one(
        "    command: [echo, \"{in.item}\"]\n    stdout: made\n    outputs: {made: {type: file, path: made}}\n",
    );
    place.write(
        "data.yaml",
        &format!("inputs: {{item: {}}}\n", "x".repeat(300_000)),
    );
    let ran = place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml"])
        .ended(1);
    let ran = ran.says(&[
        "program `echo` cannot be started",
        "listfile",
        "300,016 bytes in all",
    ]);
    assert!(
        ran.stderr.len() < 5000,
        "{} bytes of talk",
        ran.stderr.len()
    );
}

#[test]
fn outputs_that_are_not_as_declared_are_refused() {
    let with = |script: &str, output: &str| {
        format!("    shell: |\n      {script}\n    outputs: {{made: {{{output}}}}}\n")
    };
    let file = "type: file, path: made.txt";
    refused(
        &with("touch maid.txt", file),
        &["output `made` is missing", "`made.txt`", "maid.txt"],
    );
    refused(
        &with("mkdir made.txt", file),
        &["made.txt", "a folder, not a file"],
    );
    refused(
        &with("touch made.txt", "type: directory, path: made.txt"),
        &["made.txt", "not a folder"],
    );
    refused(
        &with("echo many > made.txt", "type: int, path: made.txt"),
        &["`many`", "not", "int"],
    );
    refused(
        &with("echo 1.5 > made.txt", "type: int, path: made.txt"),
        &["`1.5`", "int"],
    );
    refused(
        &with("echo nan > made.txt", "type: float, path: made.txt"),
        &["`nan`"],
    );
    refused(
        &with("printf '\\377' > made.txt", "type: text, path: made.txt"),
        &["made.txt"],
    );
    refused(
        &with("ln -s /etc/passwd made.txt", file),
        &["`made.txt`", "leads out of the work folder"],
    );
    refused(
        &with(
            "ln -s ../../../../../../../../../../../../etc/passwd made.txt",
            file,
        ),
        &["leads out of the work folder"],
    );
    refused(
        &with("ln -s /etc/passwd a; ln -s a made.txt", file),
        &["leads out of the work folder"],
    );
    refused(&with("ln -s nothing made.txt", file), &["made.txt"]);
    refused(
        &with("mkdir d; ln -s /etc/passwd d/x", "type: directory, path: d"),
        &["`x`", "link"],
    );
    refused(
        &with(
            "mkdir d; ln -s /etc/passwd d/x.txt",
            "type: file, glob: 'd/*.txt'",
        ),
        &["leads out of the work folder"],
    );
}

#[test]
fn a_link_to_an_input_or_to_the_own_folder_is_an_output() {
    let place = Place::with_flow(
        "headwater: 1\nworkflow: links\ninputs: {file: file}\nstages:\n  work:\n    \
         tasks: [{op: tool, in: {file: file}, out: {same: same, own: own}}]\n\
         outputs: {same: same, own: own}\noperations:\n  tool:\n    inputs: {file: file}\n    \
         shell: ln -s {in.file} same; echo own > x; ln -s x own\n    \
         outputs: {same: {type: file, path: same}, own: {type: file, path: own}}\n",
    );
    let file = place.write("a.txt", "some text\n");
    place.write("data.yaml", "inputs: {file: a.txt}\n");
    let report = run(&place, 0);
    assert_eq!(report.texts("same"), ["some text\n"]);
    assert_eq!(report.texts("own"), ["own\n"]);
    fs::write(&file, "changed\n").expect("the input is still the user's");
    assert_eq!(report.texts("same"), ["some text\n"]);
}

#[test]
fn an_optional_output_may_be_missing_and_scalars_are_read() {
    let place = Place::with_flow(
        "headwater: 1\nworkflow: scalars\nstages:\n  work:\n    \
         tasks: [{op: tool, out: {i: i, f: f, b: b, t: t, none: none}}]\n  use:\n    \
         tasks: [{op: use, in: {i: i, t: t, none: none}, out: {said: said}}]\n\
         outputs: {i: i, f: f, b: b, t: t, none: none, said: said}\noperations:\n  tool:\n    \
         shell: echo ' -12 ' > i; echo 2.5e-3 > f; echo true > b; printf ' two words\\n\\n' > t\n    outputs:\n      \
         i: {type: int, path: i}\n      f: {type: float, path: f}\n      b: {type: bool, path: b}\n      \
         t: {type: text, path: t}\n      none: {type: file, path: none, optional: true}\n  use:\n    \
         inputs: {i: int, t: text, none: {type: file, optional: true}}\n    \
         shell: echo {in.i} {in.t} [{in.none}] > {out.said}\n    outputs: {said: {type: text, path: said}}\n",
    );
    let report = place.run(&[], 0).counts(2, 2, 0, 0);
    assert_eq!(report.values("i")[""], -12);
    assert_eq!(report.values("f")[""], 0.0025);
    assert_eq!(report.values("b")[""], true);
    assert_eq!(report.values("t")[""], " two words\n");
    assert_eq!(report.values("none")[""], serde_json::Value::Null);
    assert_eq!(report.values("said")[""], "-12  two words\n []");
    place.run(&[], 0).counts(2, 0, 2, 0);
}

#[test]
fn many_failures_are_counted_and_the_first_are_shown() {
    let place = one(
        "    shell: echo {in.item} >&2; exit 3\n    outputs: {made: {type: file, path: made}}\n",
    );
    place.write("data.yaml", "inputs: {item: [a, b, c, d, e, f, g, h]}\n");
    let ran = place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml", "-j", "1"])
        .ended(1);
    ran.says(&["work.tool[0]", "and 3 more failures"]);
    assert_eq!(run(&place, 1).counts(8, 0, 0, 8).failures().len(), 8);
}
