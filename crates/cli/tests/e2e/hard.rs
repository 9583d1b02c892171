//! Reuse where bytes are gone, contents differ from what they were, and memory or disk is short.

use std::fs;
use std::path::Path;

use crate::place::{Place, read};

fn flow(text: &str) -> Place {
    Place::with_flow(text)
}

/// `make` gives other contents each time it runs, unless it is told what to give.
const CHANGING: &str = r#"
headwater: 1
workflow: changing
parameters: {what: {type: text, default: ""}, number: {type: int, default: 1}}
stages:
  a: [{op: make, params: {what: $what}, out: {x: x}}]
  b: [{op: use, in: {x: x}, params: {number: $number}, out: {y: y}}]
outputs: {y: y}
operations:
  make:
    shell: "if [ -z {param.what} ]; then date +%s%N | tee \"$TMPDIR/made\" > {out.x}; else echo {param.what} > {out.x}; fi"
    params: {what: text}
    outputs: {x: {type: file, path: x.txt, keep: false}}
  use:
    shell: "cat {in.x} > {out.y}; echo {param.number} >> {out.y}"
    inputs: {x: file}
    params: {number: int}
    outputs: {y: {type: file, path: y.txt}}
"#;

/// What was made from the new contents is not taken for what would be made from the old ones.
#[test]
fn a_product_is_known_by_what_it_was_made_from() {
    let place = flow(CHANGING);
    place.run(&[], 0);
    let old = place.told("made")[0].clone();
    // `make` is restored and gives something else, which is said.
    let report = place.run(&["--set", "number=2"], 0);
    let new = place.told("made")[0].clone();
    assert_ne!(old, new);
    assert_eq!(report.texts("y"), [format!("{new}\n2\n")]);
    assert!(
        report.0["notes"]
            .to_string()
            .contains("`x` is not what it was")
    );
    // Another way to the old contents.
    let report = place.run(&["--set", "number=2", "--set", &format!("what={old}")], 0);
    assert_eq!(report.texts("y"), [format!("{old}\n2\n")]);
}

/// What it was equal to is gone, and it is made anew: that is what is delivered.
#[test]
fn a_cut_off_task_whose_bytes_are_gone_is_made_and_delivered() {
    let text = CHANGING
        .replace(r#"if [ -z {param.what} ]; then date +%s%N | tee \"$TMPDIR/made\" > {out.x}; else echo {param.what} > {out.x}; fi"#, "echo same > {out.x}; : {param.what}")
        .replace("echo {param.number} >> {out.y}", "date +%s%N >> {out.y}; : {param.number}");
    let place = flow(&text);
    place.run(&[], 0);
    let gone = place.headwater(&["products", "gc", "--max", "0", "--json"]);
    gone.ended(0);
    let report = place.run(&["--set", "what=other"], 0);
    assert_eq!(report.texts("y").len(), 1);
    assert!(report.texts("y")[0].starts_with("same\n"));
}

/// How many items a list has is in its record.
#[test]
fn a_list_whose_files_are_gone_is_not_made_for_its_length() {
    let place = flow(
        r#"
headwater: 1
workflow: lists
stages:
  a: [{op: split, out: {parts: parts}}]
  b: [{op: use, in: {x: parts}, out: {y: y}}]
outputs: {y: y}
operations:
  split:
    shell: "for i in 1 2 3; do echo part $i > p$i.txt; done"
    outputs: {parts: {type: file, glob: "p*.txt", keep: false}}
  use:
    shell: "cat {in.x} > {out.y}; echo used >> {out.y}"
    inputs: {x: file}
    outputs: {y: {type: file, path: y.txt}}
"#,
    );
    place.run(&[], 0).counts(4, 4, 0, 0);
    place.run(&[], 0).counts(4, 0, 4, 0);
}

/// Products that consist of files and of values, none of which are kept, and memory for one task.
#[test]
fn little_memory_and_nothing_kept_comes_to_an_end() {
    let place = flow(
        r#"
headwater: 1
workflow: narrow
stages:
  a:
    - {op: make, name: m1, params: {v: 1}, out: {f: f1, t: t1}}
    - {op: make, name: m2, params: {v: 2}, out: {f: f2, t: t2}}
  b: [{op: use, in: {f: f1, g: f2, t: t1, u: t2}, out: {y: y}}]
outputs: {y: y}
operations:
  make:
    shell: "echo file {param.v} > {out.f}; seq 2000 > {out.t}"
    params: {v: int}
    outputs: {f: {type: file, path: f.txt, keep: false}, t: {type: text, path: t.txt, keep: false}}
    resources: {memory: 64MiB}
  use:
    shell: "cat {in.f} {in.g} > {out.y}"
    inputs: {f: file, g: file, t: text, u: text}
    outputs: {y: {type: file, path: y.txt}}
    resources: {memory: 1MiB}
"#,
    );
    let report = place.run(&["--memory", "64MiB", "--disk", "10MB", "-j", "2"], 0);
    assert_eq!(report.texts("y"), ["file 1\nfile 2\n"]);
    assert!(
        report.number("recomputed") <= 2,
        "{:?}",
        report.0["recomputed"]
    );
}

fn object_bytes(place: &Place) -> u64 {
    fn below(folder: &Path) -> u64 {
        let entries = fs::read_dir(folder).expect("a folder");
        let size = |path: &Path| {
            if path.is_dir() {
                below(path)
            } else {
                fs::metadata(path).expect("a file").len()
            }
        };
        entries
            .map(|entry| size(&entry.expect("an entry").path()))
            .sum()
    }
    below(&place.path(".headwater/objects"))
}

const MEGABYTES: &str = r#"
headwater: 1
workflow: disk
inputs: {n: int}
parameters: {v: {type: text, default: a}}
stages:
  a: [{op: make, in: {n: n}, params: {v: $v}, out: {x: x}}]
outputs: {x: x}
operations:
  make:
    shell: "(echo {param.v} {in.n}; head -c 1000000 /dev/zero) > {out.x}"
    inputs: {n: int}
    params: {v: text}
    outputs: {x: {type: file, path: x.txt}}
"#;

#[test]
fn old_outputs_make_room_for_as_many_new_ones() {
    let place = flow(MEGABYTES);
    place.write(
        "data.yaml",
        "inputs: {n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n",
    );
    let arguments = ["--inputs", "data.yaml", "--disk", "10500kB"];
    place.run(&arguments, 0);
    // At once: a run with a limit keeps its distance from the one before by itself.

    let report = place.run(&[&arguments[..], &["--set", "v=b"]].concat(), 0);
    assert_eq!(report.files("x").len(), 10);
    for path in report.files("x").values() {
        assert!(read(path).starts_with("b "));
    }
    assert!(object_bytes(&place) <= 10_500_000);
}

#[test]
fn the_files_of_a_list_count_for_the_limit_on_disk() {
    let text = MEGABYTES
        .replace("inputs: {n: int}\nparameters", "parameters")
        .replace("in: {n: n}, ", "")
        .replace("    inputs: {n: int}\n", "")
        .replace(
            "(echo {param.v} {in.n}; head -c 1000000 /dev/zero) > {out.x}",
            "for i in 1 2 3; do (echo {param.v} $i; head -c 1000000 /dev/zero) > p$i; done",
        )
        .replace("path: x.txt", "glob: \"p*\"");
    let place = flow(&text);
    place
        .headwater(&["run", "flow.yaml", "--disk", "1MB"])
        .ended(1)
        .says(&["does not fit into the 1000000 bytes that --disk allows"]);
    assert!(object_bytes(&place) <= 1_000_000);
}

/// Equal work is planned once, and when it fails it is tried by one after the other.
#[test]
fn a_plan_counts_equal_work_once() {
    let place = flow(
        r#"
headwater: 1
workflow: equal
inputs: {n: int}
parameters: {p: {type: int, default: 1}}
stages:
  a: [{op: make, in: {n: n}, out: {x: x}}]
  b: [{op: use, in: {x: x}, params: {p: $p}, out: {y: y}}]
outputs: {y: y}
operations:
  make:
    shell: "echo same > {out.x}; : {in.n}"
    inputs: {n: int}
    outputs: {x: {type: file, path: x.txt}}
  use:
    shell: "echo {param.p} >> $TMPDIR/log; cat {in.x} > {out.y}"
    inputs: {x: file}
    params: {p: int}
    outputs: {y: {type: file, path: y.txt}}
"#,
    );
    place.write("data.yaml", "inputs: {n: [1, 2, 3, 4]}\n");
    place.run(&["--inputs", "data.yaml"], 0);
    let arguments = ["--inputs", "data.yaml", "--set", "p=2"];
    let plan = place.run(&[&arguments[..], &["--dry-run"]].concat(), 0);
    assert_eq!((plan.number("to_execute"), plan.number("cut_off")), (1, 3));
    let report = place.run(&arguments, 0);
    assert_eq!(
        (report.number("executed"), report.number("cut_off")),
        (1, 3)
    );
    assert_eq!(place.told("log"), ["1", "2"]);
}

/// Intermediates that are dear to make leave room for the outputs.
#[test]
fn intermediates_leave_room_for_outputs() {
    let text = MEGABYTES
        .replace("  a: [{op: make, in: {n: n}, params: {v: $v}, out: {x: x}}]", "  a: [{op: make, in: {n: n}, params: {v: $v}, out: {x: m}}]\n  b: [{op: cut, in: {m: m}, out: {x: x}}]")
        .replace("path: x.txt}}", "path: x.txt, keep: true}}\n  cut:\n    shell: \"head -c 500000 {in.m} > {out.x}\"\n    inputs: {m: file}\n    outputs: {x: {type: file, path: x.txt}}");
    let place = flow(&text);
    place.write("data.yaml", "inputs: {n: [1, 2, 3, 4, 5, 6, 7, 8]}\n");
    let report = place.run(&["--inputs", "data.yaml", "--disk", "9MB"], 0);
    assert_eq!(report.files("x").len(), 8);
    assert!(object_bytes(&place) <= 9_000_000);
}

/// A store that was copied: every file looks changed, and none is.
#[test]
fn a_copied_store_serves_as_the_first_one_did() {
    let place = flow(MEGABYTES);
    place.write("data.yaml", "inputs: {n: [1, 2, 3]}\n");
    place.run(&["--inputs", "data.yaml"], 0);
    let copied = std::process::Command::new("cp")
        .args(["-r", ".headwater", "copy"])
        .current_dir(place.root())
        .status();
    assert!(copied.expect("cp").success());
    let run = |value: &str| {
        place.run(
            &["--inputs", "data.yaml", "--store", "copy", "--set", value],
            0,
        )
    };
    run("v=a").counts(3, 0, 3, 0);
    run("v=b").counts(3, 3, 0, 0);
}
