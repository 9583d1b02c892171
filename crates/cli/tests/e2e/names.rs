//! `identity: name`: what a file is called stands for what is in it, and nobody looks into it.

use std::fs;

use crate::place::Place;

/// Counts the lines of each text; IDENTITY is filled in.
const FLOW: &str = r#"
headwater: 1
workflow: names
inputs: {text: {type: file, identity: IDENTITY}}
stages:
  count:
    tasks: [{op: count, in: {text: text}, out: {lines: lines}}]
outputs: {lines: lines}
operations:
  count:
    shell: echo counted >> "$TMPDIR/log"; wc -l < {in.text} > {out.lines}
    inputs: {text: file}
    outputs: {lines: {type: int, path: lines}}
"#;

const RUN: [&str; 2] = ["--inputs", "data.yaml"];

fn place(identity: &str) -> Place {
    let place = Place::with_flow(&FLOW.replace("IDENTITY", identity));
    place.write("data.yaml", "inputs: {text: texts/*.txt}\n");
    place.write("texts/a.txt", "1\n");
    place.write("texts/b.txt", "1\n");
    place
}

fn lines(report: &crate::place::Report) -> Vec<u64> {
    let values = report.values("lines");
    values.values().filter_map(|value| value.as_u64()).collect()
}

#[test]
fn two_names_are_two_tasks_and_one_content_is_one() {
    let by_name = place("name");
    assert_eq!(lines(&by_name.run(&RUN, 0)), [1, 1]);
    assert_eq!(by_name.told("log").len(), 2);
    by_name.run(&RUN, 0).counts(2, 0, 2, 0);
    let by_content = place("content");
    assert_eq!(lines(&by_content.run(&RUN, 0)), [1, 1]);
    assert_eq!(by_content.told("log").len(), 1);
}

#[test]
fn a_changed_file_of_the_same_name_is_reused_by_name_and_never_by_content() {
    let by_name = place("name");
    by_name.run(&RUN, 0).counts(2, 2, 0, 0);
    by_name.write("texts/a.txt", "1\n2\n3\n");
    let again = by_name.run(&RUN, 0).counts(2, 0, 2, 0);
    assert_eq!(lines(&again), [1, 1], "that is what the user declared");
    fs::rename(by_name.path("texts/a.txt"), by_name.path("texts/c.txt")).expect("another name");
    let renamed = by_name.run(&RUN, 0).counts(2, 1, 1, 0);
    assert_eq!(lines(&renamed), [1, 3]);

    let by_content = place("content");
    by_content.run(&RUN, 0);
    by_content.write("texts/a.txt", "1\n2\n3\n");
    let again = by_content.run(&RUN, 0);
    assert_eq!(lines(&again), [3, 1]);
    assert_eq!(again.number("executed"), 1);
}

/// The name is what the data file says: relative to it, wherever it lies.
#[test]
fn the_name_space_goes_with_the_data_file() {
    let place = place("name");
    place.run(&RUN, 0).counts(2, 2, 0, 0);
    for name in ["data.yaml", "texts/a.txt", "texts/b.txt"] {
        let text = place.read(name);
        place.write(&format!("elsewhere/{name}"), &text);
    }
    let there = ["--inputs", "elsewhere/data.yaml"];
    place.run(&there, 0).counts(2, 0, 2, 0);
    place.write(
        "single.yaml",
        "inputs: {text: [texts/b.txt, texts/a.txt]}\n",
    );
    let single = ["--inputs", "single.yaml"];
    place.run(&single, 0).counts(2, 0, 2, 0);
    place.write("rows.csv", "text\ntexts/b.txt\n./texts/a.txt\n");
    let rows = ["--inputs", "rows.csv"];
    place.run(&rows, 0).counts(2, 1, 1, 0);
}

/// A file that cannot be read is no hindrance as long as nobody has to read it.
#[test]
fn nobody_looks_into_a_file_to_plan() {
    for (identity, code) in [("name", 0), ("content", 1)] {
        let place = place(identity);
        fs::remove_file(place.path("texts/a.txt")).expect("removed");
        // A regular file whose first byte nobody may read, not even root.
        std::os::unix::fs::symlink("/proc/self/mem", place.path("texts/a.txt")).expect("a link");
        let dry = ["run", "flow.yaml", "--dry-run", "--inputs", "data.yaml"];
        let ran = place.headwater(&dry).ended(code);
        assert_eq!(ran.stderr.contains("cannot read"), code != 0, "{ran:?}");
    }
}

/// Lists, folders, and names that count, each known by its name.
const KINDS: &str = r#"
headwater: 1
workflow: kinds
inputs:
  several: {type: list of file, identity: name}
  folder: {type: directory, identity: name}
  one: {type: file, identity: name}
stages:
  join:
    tasks: [{op: join, in: {texts: several}, out: {text: joined}}]
  each:
    tasks: [{op: show, in: {text: several}, out: {text: shown}}]
  walk:
    tasks: [{op: walk, in: {folder: folder}, out: {text: walked, same: same}}]
  link:
    tasks: [{op: link, in: {text: one}, out: {text: linked}}]
outputs: {joined: joined, shown: shown, walked: walked, same: same, linked: linked}
operations:
  join:
    shell: cat {in.texts} > {out.text}
    inputs: {texts: list of file}
    outputs: {text: {type: file, path: text}}
  show:
    shell: echo {in.text} > {out.text}
    inputs: {text: {type: file, keep_name: true}}
    outputs: {text: {type: file, path: shown}}
  walk:
    shell: cat {in.folder}/*.txt > {out.text}; cp -R {in.folder} {out.same}
    inputs: {folder: directory}
    outputs: {text: {type: file, path: text}, same: {type: directory, path: same}}
  link:
    shell: cp -P {in.text} {out.text}
    inputs: {text: file}
    outputs: {text: {type: file, path: linked}}
"#;

#[test]
fn lists_and_folders_have_names_too() {
    let place = Place::with_flow(KINDS);
    place.write(
        "data.yaml",
        "inputs: {several: [[a.txt, b.txt]], folder: folder, one: a.txt}\n",
    );
    for name in ["a", "b", "folder/a", "folder/b"] {
        place.write(&format!("{name}.txt"), &format!("{name}\n"));
    }
    let first = place.run(&RUN, 0).counts(5, 5, 0, 0);
    assert_eq!(first.texts("joined"), ["a\nb\n"]);
    assert_eq!(first.texts("shown"), ["text/a.txt\n", "text/b.txt\n"]);
    assert_eq!(first.texts("walked"), ["folder/a\nfolder/b\n"]);
    assert_eq!(first.texts("linked"), ["a\n"]);
    for name in ["a", "b", "folder/a", "folder/c"] {
        place.write(&format!("{name}.txt"), "changed\n");
    }
    let second = place.run(&RUN, 0).counts(5, 0, 5, 0);
    for output in ["joined", "walked", "linked"] {
        assert_eq!(second.texts(output), first.texts(output));
    }
    place.write(
        "data.yaml",
        "inputs: {several: [[b.txt, a.txt]], folder: ./folder, one: b.txt}\n",
    );
    let third = place.run(&RUN, 0).counts(5, 3, 2, 0);
    assert_eq!(third.texts("joined"), ["changed\nchanged\n"]);
    assert_eq!(third.texts("linked"), ["changed\n"]);
}

#[test]
fn a_number_has_no_name() {
    let place = Place::with_flow(
        "headwater: 1\nworkflow: w\ninputs:\n  n: {type: int, identity: name}\nstages:\n  s:\n    \
         - {op: show, in: {n: n}, out: {t: t}}\noperations:\n  show:\n    shell: echo {in.n} > {out.t}\n    \
         inputs: {n: int}\n    outputs: {t: file}\n",
    );
    place.headwater(&["check", "flow.yaml"]).ended(2).says(&[
        "flow.yaml:4:18",
        "`identity` is for files, and `n` is of type int",
    ]);
}
