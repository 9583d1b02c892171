//! Where outputs are, what they are called, and where their items come from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::interrupt::signal;
use crate::place::{Place, contents, delivered, read};
use crate::protect::until;

const LAYOUT: &str = r#"
headwater: 1
workflow: layout
inputs: {file: file, power: int}
parameters: {word: {type: text, default: of}}
stages:
  name:
    iterate: cross(file, power)
    tasks: [{op: name, in: {file: file, power: power}, params: {word: $word}, out: {text: text, size: size}}]
  all:
    wait: all
    tasks: [{op: all, in: {texts: text}, out: {folder: folder}}]
outputs: {text: text, size: size, folder: folder, original: file}
operations:
  name:
    shell: |
      echo "$(cat {in.file}) to the power" {param.word} {in.power} > {out.text}
      wc -c < {out.text} > {out.size}
    inputs: {file: file, power: int}
    params: {word: text}
    outputs: {text: {type: file, path: named.md}, size: {type: int, path: size}}
  all:
    shell: mkdir -p {out.folder}/sub; cat {in.texts} > {out.folder}/sub/all.txt; printf '#!/bin/sh\n' > {out.folder}/run; chmod +x {out.folder}/run
    inputs: {texts: list of file}
    outputs: {folder: {type: directory, path: everything}}
"#;

fn layout() -> Place {
    let place = Place::with_flow(LAYOUT);
    place.write("in/a, b.txt", "ab");
    place.write("in/c.txt", "c");
    place.write(
        "data.yaml",
        "inputs: {file: in/*.txt, power: [1, 2, 3]}\nparameters: {word: number}\n",
    );
    place
}

#[test]
fn every_item_is_found_under_its_index() {
    let place = layout();
    let report = place.run(&["--inputs", "data.yaml"], 0).counts(7, 7, 0, 0);
    let folder = report.folder();
    let names: BTreeSet<PathBuf> = contents(&folder).into_keys().collect();
    let expected = [
        "folder/run",
        "folder/sub/all.txt",
        "inputs.yaml",
        "original/0.txt",
        "original/1.txt",
        "outputs.csv",
        "report.html",
        "text/0-0.md",
        "text/0-1.md",
        "text/0-2.md",
        "text/1-0.md",
        "text/1-1.md",
        "text/1-2.md",
        "trace.tsv",
    ];
    assert_eq!(names, expected.iter().map(PathBuf::from).collect());
    assert_eq!(
        read(&folder.join("text/1-2.md")),
        "c to the power number 3\n"
    );
    assert_eq!(read(&folder.join("original/0.txt")), "ab");
    let mode = fs::metadata(folder.join("folder/run"))
        .expect("a file")
        .permissions()
        .mode();
    assert_ne!(mode & 0o100, 0, "an executable file stays executable");

    let table = read(&folder.join("outputs.csv"));
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(
        rows[0],
        "output,index,path,value,missing,from file,from power,value of file,value of power"
    );
    for row in [
        "text,1-2,text/1-2.md,,0,1,2,in/c.txt,3",
        "size,0-1,,25,0,0,1,\"in/a, b.txt\",2",
        "original,1,original/1.txt,,0,1,,in/c.txt,",
    ] {
        assert!(rows.contains(&row), "`{row}` in\n{table}");
    }
    assert_eq!(rows.len(), 1 + 6 + 6 + 1 + 2);

    assert_eq!(
        fs::read_link(place.last()).expect("a link"),
        Path::new(report.0["run"].as_str().expect("a name"))
    );
    assert_eq!(
        fs::canonicalize(place.last()).expect("it leads somewhere"),
        fs::canonicalize(&folder).expect("a folder")
    );

    let trace = report.trace();
    assert_eq!(trace.len(), 7);
    for row in &trace {
        assert_eq!(row["state"], "executed");
        assert_eq!(row["recipe"].len(), 64);
        let seconds = |column: &str| {
            row[column]
                .parse::<f64>()
                .unwrap_or_else(|_| panic!("{column} in {row:?}"))
        };
        assert!(
            seconds("wall_seconds") > 0.0
                && seconds("start_seconds") >= 0.0
                && seconds("cpu_seconds") >= 0.0
        );
        let peak: u64 = row["peak_bytes"].parse().expect("a number");
        assert!(peak > 100_000 && peak < 100_000_000, "{row:?}");
    }
}

#[test]
fn the_saved_data_give_the_same_run_again() {
    let place = layout();
    let first = place
        .run(&["--inputs", "data.yaml", "--set", "word=this"], 0)
        .counts(7, 7, 0, 0);
    let saved = first.folder().join("inputs.yaml");
    // It does not depend on patterns, on the place it is read from or on `--set`.
    place.write("in/another.txt", "more");
    fs::copy(&saved, place.path("elsewhere.yaml")).expect("a copy");
    fs::remove_file(place.path("data.yaml")).expect("removed");
    for data in [saved.to_str().expect("UTF-8"), "elsewhere.yaml"] {
        let again = place.run(&["--inputs", data], 0).counts(7, 0, 7, 0);
        assert_eq!(delivered(&again.folder()), delivered(&first.folder()));
        assert_eq!(read(&again.folder().join("inputs.yaml")), read(&saved));
    }
}

const ROUNDS: &str = r#"
headwater: 1
workflow: rounds
inputs: {text: text}
stages:
  split:
    tasks: [{op: split, in: {text: text}, out: {parts: parts, number: number}}]
  each:
    tasks: [{op: each, in: {part: parts}, out: {loud: loud}}]
  gather:
    wait: {per: text}
    tasks: [{op: join, in: {parts: loud}, out: {joined: joined}}]
  all:
    wait: all
    tasks: [{op: join, in: {parts: loud}, out: {joined: everything}}]
  whole:
    tasks: [{op: join, in: {parts: parts}, out: {joined: whole}}]
outputs: {parts: parts, number: number, loud: loud, joined: joined, everything: everything, whole: whole}
operations:
  split:
    shell: |
      mkdir parts
      set -- $TEXT
      for word; do n=$((n + 1)); printf "$word" > parts/$n.part; done
      echo $# > {out.number}
    inputs: {text: text}
    env: {TEXT: "{in.text}"}
    outputs: {parts: {type: file, glob: "parts/*.part"}, number: {type: int, path: number}}
  each:
    command: [tr, a-z, A-Z]
    stdin: "{in.part}"
    stdout: loud.txt
    inputs: {part: file}
    outputs: {loud: {type: file, path: loud.txt}}
  join:
    shell: cat {in.parts} < /dev/null > {out.joined}
    inputs: {parts: list of file}
    outputs: {joined: {type: file, path: joined.txt}}
"#;

#[test]
fn a_list_of_unknown_length_is_iterated_and_gathered() {
    let place = Place::with_flow(ROUNDS);
    place.write(
        "data.yaml",
        "inputs: {text: [the river, '', down to the sea]}\n",
    );
    let plan = place.run(&["--inputs", "data.yaml", "--dry-run"], 0);
    let open: Vec<&str> = plan.0["open"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|name| name.as_str())
        .collect();
    assert!(
        open.contains(&"each") && !open.contains(&"split"),
        "{open:?}"
    );

    let report = place.run(&["--inputs", "data.yaml"], 0);
    let loud: Vec<(String, String)> = report
        .files("loud")
        .iter()
        .map(|(index, path)| (index.clone(), read(path)))
        .collect();
    let wanted = [
        ("0-0", "THE"),
        ("0-1", "RIVER"),
        ("2-0", "DOWN"),
        ("2-1", "TO"),
        ("2-2", "THE"),
        ("2-3", "SEA"),
    ];
    assert_eq!(
        loud,
        wanted.map(|(index, text)| (index.to_owned(), text.to_owned()))
    );
    assert_eq!(report.texts("everything"), ["THERIVERDOWNTOTHESEA"]);
    assert_eq!(report.texts("whole"), ["theriver", "", "downtothesea"]);
    let joined = report.files("joined");
    assert_eq!(read(&joined["0"]), "THERIVER");
    assert_eq!(read(&joined["2"]), "DOWNTOTHESEA");
    assert_eq!(report.values("number")["2"], 4);
    let parts = report.folder().join("parts");
    assert_eq!(read(&parts.join("2/3.part")), "sea");
    let loud = |state: &str| {
        let tasks = report.tasks(state).into_iter();
        tasks.filter(|task| task.starts_with("each.")).count()
    };
    // "the" is there twice.
    assert_eq!((loud("executed"), loud("cut-off")), (5, 1));

    let again = place.run(&["--inputs", "data.yaml"], 0);
    assert_eq!(again.number("executed"), 0, "{:?}", again.tasks("executed"));
    assert_eq!(delivered(&again.folder()), delivered(&report.folder()));
    // With everything known, the plan is exact from the beginning.
    let plan = place.run(&["--inputs", "data.yaml", "--dry-run"], 0);
    assert_eq!(plan.number("to_execute"), 0);
}

const PATIENTS: &str = r#"
headwater: 1
workflow: patients
inputs: {patient: text, scan: file, note: {type: text, optional: true}}
stages:
  read:
    tasks: [{op: read, in: {scan: scan, patient: patient, note: note}, out: {line: line}}]
  noted:
    tasks: [{op: shout, in: {note: note}, out: {loud: loud}}]
  each:
    wait: {per: patient}
    tasks: [{op: join, in: {lines: line}, out: {text: by_patient}}]
  all:
    wait: all
    tasks: [{op: join, in: {lines: line}, out: {text: all}}]
outputs: {line: line, loud: loud, by_patient: by_patient, all: all}
operations:
  read:
    shell: echo {in.patient} "$(cat {in.scan})" {in.note} > {out.line}
    inputs: {scan: file, patient: text, note: {type: text, optional: true}}
    outputs: {line: {type: file, path: line.txt}}
  shout:
    shell: echo {in.note} | tr a-z A-Z > {out.loud}
    inputs: {note: text}
    outputs: {loud: {type: text, path: loud}}
  join:
    shell: cat {in.lines} > {out.text}
    inputs: {lines: list of file}
    outputs: {text: {type: file, path: joined.txt}}
"#;

#[test]
fn rows_pair_and_groups_gather() {
    let place = Place::with_flow(PATIENTS);
    for scan in ["s0", "s1", "s2", "s3"] {
        place.write(&format!("scans/{scan}.dat"), scan);
    }
    let csv = "patient,scan,note\nann,scans/s0.dat,good\nbob,scans/s1.dat,\nann,scans/s2.dat,\"a, b\"\nbob,scans/s3.dat,\n";
    place.write("data.csv", csv);
    let report = place.run(&["--inputs", "data.csv"], 0);
    assert_eq!(
        report.texts("line"),
        ["ann s0 good\n", "bob s1\n", "ann s2 a, b\n", "bob s3\n"]
    );
    assert_eq!(
        report.values("loud"),
        BTreeMap::from([
            ("0".to_owned(), "GOOD".into()),
            ("2".to_owned(), "A, B".into())
        ])
    );
    assert_eq!(
        report.texts("by_patient"),
        ["ann s0 good\nann s2 a, b\n", "bob s1\nbob s3\n"]
    );
    assert_eq!(
        report.texts("all"),
        ["ann s0 good\nbob s1\nann s2 a, b\nbob s3\n"]
    );

    // The same as rows in YAML, and as it was saved.
    let saved = read(&report.folder().join("inputs.yaml"));
    place.write("saved.yaml", &saved);
    let again = place.run(&["--inputs", "saved.yaml"], 0);
    assert_eq!(again.number("executed"), 0, "{saved}");
    assert_eq!(delivered(&again.folder()), delivered(&report.folder()));
    place.write(
        "rows.yaml",
        "rows:\n  - {patient: ann, scan: scans/s0.dat, note: good}\n  - {patient: bob, scan: scans/s1.dat}\n",
    );
    let fewer = place.run(&["--inputs", "rows.yaml"], 0);
    assert_eq!(fewer.texts("by_patient"), ["ann s0 good\n", "bob s1\n"]);
    assert_eq!(
        fewer.number("executed"),
        3,
        "two groups of one and the whole"
    );
}

#[test]
fn an_absent_optional_input_leaves_its_outputs_out() {
    let place = Place::with_flow(PATIENTS);
    place.write("a.dat", "scan");
    place.write("data.yaml", "inputs: {patient: ann, scan: a.dat}\n");
    let report = place.run(&["--inputs", "data.yaml"], 0);
    assert_eq!(report.texts("line"), ["ann scan\n"]);
    assert!(report.values("loud").is_empty());
}

const FOLDERS: &str = r#"
headwater: 1
workflow: folders
inputs: {folder: directory}
stages:
  make:
    tasks: [{op: sorted, in: {folder: folder}, out: {folder: sorted}}]
  use:
    tasks: [{op: list, in: {folder: sorted}, out: {listing: listing}}]
outputs: {sorted: sorted, listing: listing}
operations:
  sorted:
    shell: |
      mkdir -p {out.folder}/deep
      for f in {in.folder}/*.txt; do sort "$f" > {out.folder}/deep/$(basename "$f"); done
      : > {out.folder}/empty
    inputs: {folder: directory}
    outputs: {folder: {type: directory, path: result}}
  list:
    shell: cd {in.folder} && cat deep/*.txt > ../listing && find . -type f -o -type l | sort >> ../listing
    inputs: {folder: directory}
    outputs: {listing: {type: file, path: listing}}
"#;

#[test]
fn folders_go_in_and_out() {
    let place = Place::with_flow(FOLDERS);
    place.write("in/a.txt", "2\n1\n");
    place.write("in/b.txt", "4\n3\n");
    place.write("data.yaml", "inputs: {folder: in}\n");
    let run = |executed: usize| {
        place
            .run(&["--inputs", "data.yaml"], 0)
            .counts(2, executed, 2 - executed, 0)
    };
    let report = run(2);
    let wanted = "1\n2\n3\n4\n./deep/a.txt\n./deep/b.txt\n./empty\n";
    assert_eq!(report.texts("listing"), [wanted]);
    assert_eq!(read(&report.folder().join("sorted/deep/b.txt")), "3\n4\n");
    assert_eq!(read(&report.folder().join("sorted/empty")), "");
    let again = run(0);
    assert_eq!(delivered(&again.folder()), delivered(&report.folder()));
    // A change of one file in the folder is a change of the folder; the second stage reads it from the store.
    place.write("in/b.txt", "5\n3\n");
    assert_eq!(run(2).texts("listing"), [wanted.replace('4', "5")]);
    let flow = FOLDERS.replace("| sort >>", "| sort -r >>");
    place.write("flow.yaml", &flow);
    assert_eq!(
        run(1).texts("listing"),
        ["1\n2\n3\n5\n./empty\n./deep/b.txt\n./deep/a.txt\n"]
    );
}

#[test]
fn a_run_is_listed_and_shown() {
    let place = layout();
    let report = place.run(&["--inputs", "data.yaml"], 0);
    place.run(&["--inputs", "data.yaml"], 0);
    let runs = place.headwater(&["runs", "ls", "--json"]).ended(0).report();
    let runs = runs.0["runs"].as_array().expect("a list").clone();
    assert_eq!(runs.len(), 2);
    let of = |key: &str| {
        runs.iter()
            .map(|run| run[key].as_u64().expect("a number"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (of("executed"), of("reused")),
        (vec![0, 7], vec![7, 0]),
        "the newest comes first"
    );
    assert_eq!(runs[0]["status"], "done");
    let name = report.0["run"].as_str().expect("a name");
    for text in [name, &name[..name.len() - 1]] {
        let shown = place
            .headwater(&["runs", "show", text, "--json"])
            .ended(0)
            .report();
        assert_eq!(shown.0["run"], name);
        assert_eq!(shown.0["task_list"].as_array().map(Vec::len), Some(7));
    }
    place
        .headwater(&["runs", "show", "2"])
        .ended(2)
        .says(&["could be any of", name]);
    let shown = place.headwater(&["runs", "show", "last"]).ended(0).stdout;
    assert!(shown.contains("7: 0 executed, 7 reused"), "{shown}");
    let listed = place
        .headwater(&["runs", "show", "last", "--tasks"])
        .ended(0)
        .stdout;
    assert_eq!(listed.matches(" reused    ").count(), 7, "{listed}");
}

#[test]
fn the_plain_report_says_where_things_are() {
    let place = layout();
    let ran = place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml"])
        .ended(0);
    let run = fs::read_link(place.last()).expect("a link");
    let run = run.display();
    for line in [
        format!("run {run}: 7 tasks, 7 executed, 0 reused, "),
        format!("  folder: outputs/{run}/folder\n"),
        format!("  text: 6 files in outputs/{run}/text/\n"),
        format!("  size: 6 values in outputs/{run}/outputs.csv\n"),
    ] {
        assert!(ran.stdout.contains(&line), "`{line}` in\n{}", ran.stdout);
    }
    assert!(
        !ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'),
        "no colours without a terminal"
    );
}

/// A task that says that it runs and then waits, and a study of it.
fn waiting() -> Place {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: waiting
inputs: {item: int}
parameters: {p: {type: float, range: [0.0, 1.0], default: 0.5}}
stages:
  only:
    tasks: [{op: wait, in: {item: item}, params: {p: $p}, out: {y: y}}]
outputs: {y: y}
operations:
  wait:
    shell: |
      touch "$TMPDIR/ready"
      while ! test -e "$TMPDIR/go"; do sleep 0.01; done
      echo {param.p} > {out.y}
    inputs: {item: int}
    params: {p: float}
    outputs: {y: {type: float, path: y}}
"#,
    );
    place.write("data.yaml", "inputs: {item: 1}\n");
    place.write(
        "study.yaml",
        "headwater: 1\nstudy: waiting\nworkflow: flow.yaml\ninputs: {item: 1}\nobjective: y\nmethod: {moat: {trajectories: 2, bootstrap: 0}}\n",
    );
    place
}

#[test]
fn two_commands_do_not_write_to_one_folder_at_once() {
    let run = ["run", "flow.yaml", "--inputs", "data.yaml", "-o"];
    let study = ["study", "run", "study.yaml", "-o"];
    for first in [&run[..], &study] {
        let place = waiting();
        std::os::unix::fs::symlink("out", place.path("link")).expect("a link");
        let child = in_its_task(&place, &[first, &["out"]].concat());
        let refused = |command: &[&str], folder: &str| {
            place
                .headwater(&[command, &[folder]].concat())
                .ended(2)
                .says(&["another command is writing to the folder", folder, "-o"]);
        };
        let plan = ["study", "plan", "study.yaml", "-o"];
        for second in [&run[..], &study, &plan] {
            refused(second, "out");
        }
        refused(&run, "link");
        refused(&study, "./out/../out");
        fs::write(place.side().join("go"), "").expect("a file");
        let output = child.wait_with_output().expect("it can be waited for");
        crate::place::Ran::from(output).ended(0);
        // It has ended: what it wrote is there, and is not written over.
        place
            .headwater(&[&run[..], &["out"]].concat())
            .ended(2)
            .says(&["is not empty"]);
        place.headwater(&[&run[..], &["other"]].concat()).ended(0);
        if first == study {
            place
                .headwater(&["study", "report", "study.yaml", "-o", "out"])
                .ended(0);
        }
    }
}

/// Starts a command of `waiting`, and waits until its task runs.
fn in_its_task(place: &Place, command: &[&str]) -> std::process::Child {
    let mut child = place.start(command);
    until(&mut child, || place.side().join("ready").exists());
    child
}

#[test]
fn a_command_that_was_killed_goes_on_in_its_folder() {
    let run = ["run", "flow.yaml", "--inputs", "data.yaml", "-o", "out"];
    let study = ["study", "run", "study.yaml", "-o", "out"];
    let ends = [libc::SIGKILL, libc::SIGINT];
    let cases = ends.map(|end| [(end, &run[..]), (end, &study)]);
    for (end, command) in cases.into_iter().flatten() {
        let place = waiting();
        let mut child = in_its_task(&place, command);
        signal(&child, end);
        child.wait().expect("it has ended");
        assert!(place.path("out/trace.tsv").exists());
        fs::write(place.side().join("go"), "").expect("a file");
        // What somebody has put there since is not touched, and nor is the rest, whatever it is called.
        for letter in [
            "letter.txt",
            "report.html.notes",
            "failures.txt.d/letter",
            "y.tar.gz",
        ] {
            let written = place.write(&format!("out/{letter}"), "dear reader");
            let refused = place.headwater(command).ended(2);
            let named = letter.split('/').next().expect("a name");
            let named = format!("`{named}` is not from that");
            refused.says(&["did not finish", &named, "-o"]);
            assert_eq!(read(&written), "dear reader");
            assert!(place.path("out/trace.tsv").exists());
            fs::remove_file(&written).expect("a file");
            let _ = fs::remove_dir(place.path("out/failures.txt.d"));
        }
        place.headwater(command).ended(0);
        assert!(!place.path("out/.unfinished").exists());
        // It has finished: what it wrote is not written over.
        let refused = place.headwater(command).ended(2);
        refused.says(&["is not empty"]);
    }
}

/// What comes into the folder while a command goes on, a file or a link, is neither written over nor followed, and it is
/// not taken for the command's own when that is given again.
#[test]
fn what_comes_into_the_folder_during_a_run_stays() {
    let run = ["run", "flow.yaml", "--inputs", "data.yaml", "-o", "out"];
    let study = ["study", "run", "study.yaml", "-o", "out"];
    let cases = [
        (&run[..], "outputs.csv", false),
        (&run, "outputs.csv", true),
        (&study, "results.json", false),
        (&study, "samples.csv", true),
    ];
    for (command, name, is_link) in cases {
        let place = waiting();
        let own = place.write("own.txt", "dear reader");
        let child = in_its_task(&place, command);
        let there = place.path("out").join(name);
        if is_link {
            std::os::unix::fs::symlink("../own.txt", &there).expect("a link");
        } else {
            fs::write(&there, "dear reader").expect("a file");
        }
        fs::write(place.side().join("go"), "").expect("a file");
        let output = child.wait_with_output().expect("it can be waited for");
        let said = format!("out/{name}` already exists");
        crate::place::Ran::from(output)
            .ended(2)
            .says(&[&said, "give the command again"]);
        assert_eq!(
            (read(&own), read(&there)),
            ("dear reader".to_owned(), "dear reader".to_owned())
        );
        let named = format!("`{name}` is not from that");
        place.headwater(command).ended(2).says(&[&named]);
        fs::remove_file(&there).expect("it is there");
        let runs = place.headwater(&["runs", "ls"]).ended(0);
        assert!(!runs.stdout.contains("running"), "{}", runs.stdout);
        place.headwater(command).ended(0);
    }
}

/// Of the files that a killed command was going to write, those that it had not reached are somebody else's.
#[test]
fn a_killed_command_leaves_the_names_free_that_it_had_not_reached() {
    let command = ["run", "flow.yaml", "--inputs", "data.yaml", "-o", "out"];
    let place = waiting();
    let mut child = in_its_task(&place, &command);
    signal(&child, libc::SIGKILL);
    child.wait().expect("it has ended");
    fs::write(place.side().join("go"), "").expect("a file");
    for name in [
        "failures.txt",
        "report.html",
        "outputs.csv",
        ".trace.tsv-1-2",
    ] {
        let written = place.write(&format!("out/{name}"), "dear reader");
        let named = format!("`{name}` is not from that");
        place.headwater(&command).ended(2).says(&[&named]);
        assert_eq!(read(&written), "dear reader");
        fs::remove_file(&written).expect("it is there");
    }
    place.headwater(&command).ended(0);
}

/// A file that the user puts in the place of one that a killed command had written is the user's.
#[test]
fn what_takes_the_place_of_a_written_file_stays() {
    let command = ["run", "flow.yaml", "--inputs", "data.yaml", "-o", "out"];
    let place = waiting();
    let mut child = in_its_task(&place, &command);
    signal(&child, libc::SIGKILL);
    child.wait().expect("it has ended");
    fs::write(place.side().join("go"), "").expect("a file");
    let own = place.write("out/inputs.yaml", "dear reader");
    let refused = place.headwater(&command).ended(2);
    refused.says(&["`inputs.yaml` is not from that"]);
    assert_eq!(read(&own), "dear reader");
    fs::remove_file(&own).expect("it is there");
    place.headwater(&command).ended(0);
}

#[test]
fn a_command_does_not_write_into_the_folder_of_another() {
    let place = waiting();
    std::os::unix::fs::symlink("out", place.path("link")).expect("a link");
    let run = ["run", "flow.yaml", "--inputs", "data.yaml", "-o"];
    let study = ["study", "run", "study.yaml", "-o"];
    let child = in_its_task(&place, &[&run[..], &["out"]].concat());
    for second in [&run[..], &study] {
        for folder in ["out/inner", "link/deep/inner", "other/../out/inner"] {
            let refused = place.headwater(&[second, &[folder]].concat()).ended(2);
            refused.says(&["another command is writing to the folder", folder, "-o"]);
        }
    }
    assert!(!place.path("out/inner").exists() && !place.path("out/deep").exists());
    fs::write(place.side().join("go"), "").expect("a file");
    // Beside it there is room for others.
    place.headwater(&[&run[..], &["beside"]].concat()).ended(0);
    let output = child.wait_with_output().expect("it can be waited for");
    crate::place::Ran::from(output).ended(0);
    // Nobody writes to it now, and folders in it are nobody's.
    let inner = [&run[..], &["out/inner"]].concat();
    place.headwater(&inner).ended(0);
}

#[test]
fn a_folder_that_nothing_was_written_to_is_not_left_behind() {
    let place = waiting();
    place.write("wrong.yaml", "inputs: {item: [1, 2], other: 3}\n");
    let run = ["run", "flow.yaml", "--inputs", "wrong.yaml", "-o", "a/b"];
    place.headwater(&run).ended(2);
    let study = [
        "study",
        "run",
        "study.yaml",
        "--set",
        "objective=none",
        "-o",
        "a/b",
    ];
    place.headwater(&study).ended(2);
    assert!(!place.path("a").exists());
}

/// Killed when everything is written and nobody has heard of it, the same command goes on in the same folder.
#[test]
fn a_kill_before_the_report_is_shown_leaves_a_folder_to_go_on_in() {
    let place = layout();
    let command = ["run", "flow.yaml", "--inputs", "data.yaml", "-o", "out"];
    // A pipe that is full: what would be shown has to wait.
    let (unread, mut full) = std::io::pipe().expect("a pipe");
    std::io::Write::write_all(&mut full, &[b'x'; 1 << 16]).expect("so much fits");
    let mut child = (place.command(&command).stdout(full))
        .spawn()
        .expect("it starts");
    until(&mut child, || {
        let runs = place.headwater(&["runs", "ls"]);
        runs.stdout.contains("done")
    });
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    drop(unread);
    let mut before = delivered(&place.path("out"));
    assert!(before.remove(Path::new(".unfinished")).is_some());
    let again = place.headwater(&command).ended(0);
    assert!(again.stdout.contains("0 executed"), "{}", again.stdout);
    assert_eq!(delivered(&place.path("out")), before);
    assert!(!place.path("out/.unfinished").exists());
}

/// What lies in the store without being the store's goes with the next command.
#[test]
fn results_do_not_go_into_the_store() {
    let place = layout();
    place.run(&["--inputs", "data.yaml"], 0);
    std::os::unix::fs::symlink(place.path(".headwater"), place.path("link")).expect("a link");
    for folder in [".headwater/staging/x", ".headwater", "link/work/x"] {
        place
            .headwater(&["run", "flow.yaml", "--inputs", "data.yaml", "-o", folder])
            .ended(2)
            .says(&["is in the store", "give a folder elsewhere with -o"]);
    }
}

/// A command that did not succeed is given again when the cause is gone, in the same folder.
#[test]
fn a_command_that_failed_goes_on_in_its_folder() {
    let place = Place::with_flow(
        "
headwater: 1
workflow: fragile
parameters: {p: {type: int, default: 1, range: [1, 4], step: 1}}
stages:
  work:
    tasks: [{op: work, params: {p: $p}, out: {y: y}}]
outputs: {y: y}
operations:
  work:
    shell: |
      test -e \"$TMPDIR/mended\"
      echo {param.p} > {out.y}
    params: {p: int}
    outputs: {y: {type: float, path: y}}
",
    );
    place.write(
        "study.yaml",
        "headwater: 1\nstudy: s\nworkflow: flow.yaml\nobjective: y\nmethod: {moat: {trajectories: 2, levels: 4}}\n",
    );
    let run = ["run", "flow.yaml", "-o", "out"];
    let study = ["study", "run", "study.yaml", "-o", "answer"];
    let mended = place.side().join("mended");
    for command in [&run[..], &study] {
        let _ = fs::remove_file(&mended);
        place.headwater(command).ended(1);
        place.headwater(command).ended(1);
        fs::write(&mended, "").expect("a file");
        place.headwater(command).ended(0);
        // It has succeeded: what it wrote is not written over.
        let refused = place.headwater(command).ended(2);
        refused.says(&["is not empty"]);
        place.headwater(&["products", "gc", "--max", "0"]).ended(0);
        fs::remove_dir_all(place.path(".headwater")).expect("a store");
    }
}
