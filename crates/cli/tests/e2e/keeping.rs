//! What is kept of intermediates, and what that means for the next run.

use std::fs;
use std::path::PathBuf;

use crate::place::{Place, contents, read};

/// A large intermediate, and a small result that depends on a parameter.
const FLOW: &str = r#"
headwater: 1
workflow: keeping
inputs: {seed: int}
parameters: {lines: {type: int, default: 3}}
stages:
  make:
    tasks: [{op: make, in: {seed: seed}, out: {file: large, note: note}}]
  cut:
    tasks: [{op: cut, in: {file: large}, params: {lines: $lines}, out: {file: short}}]
  read:
    tasks: [{op: copy, in: {file: note}, out: {file: copied}}]
outputs: {short: short, copied: copied}
operations:
  make:
    shell: |
      echo make >> "$TMPDIR/log"
      seq {in.seed} 60000 > {out.file}
      echo made > {out.note}
    inputs: {seed: int}
    outputs:
      file: {type: file, path: large.txt KEEP}
      note: {type: file, path: note.txt}
  cut:
    shell: |
      echo cut >> "$TMPDIR/log"
      head -n {param.lines} {in.file} > {out.file}
    inputs: {file: file}
    params: {lines: int}
    outputs: {file: {type: file, path: short.txt}}
  copy:
    shell: |
      echo copy >> "$TMPDIR/log"
      cat {in.file} > {out.file}
    inputs: {file: file}
    outputs: {file: {type: file, path: copied.txt}}
"#;

fn place(keep: &str) -> Place {
    let place = Place::with_flow(&FLOW.replace(" KEEP", keep));
    place.write("data.yaml", "inputs: {seed: 1}\n");
    place
}

/// Bytes of the objects in the store.
fn object_bytes(place: &Place) -> u64 {
    let folder = place.path(".headwater/objects");
    let mut bytes = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("damaged") {
            for object in fs::read_dir(path).expect("a folder") {
                bytes += object.expect("an entry").metadata().expect("a file").len();
            }
        }
    }
    bytes
}

#[test]
fn an_output_that_is_not_to_be_kept_is_made_again_when_it_is_needed() {
    let place = place(", keep: false");
    place.run(&["--inputs", "data.yaml"], 0).counts(3, 3, 0, 0);
    assert!(object_bytes(&place) < 1000, "{}", object_bytes(&place));
    // Nothing changed: nobody needs it.
    place.run(&["--inputs", "data.yaml"], 0).counts(3, 0, 3, 0);
    // The last parameter changed: it is needed, and the plan says so.
    let arguments = ["--inputs", "data.yaml", "--set", "lines=5"];
    let plan = place.run(&[&arguments[..], &["--dry-run"]].concat(), 0);
    let to_run = plan.0["to_run"].as_array().expect("a list").clone();
    let planned: Vec<&str> = to_run
        .iter()
        .filter_map(|task| task["task"].as_str())
        .collect();
    assert_eq!(planned, ["make.make", "cut.cut"]);
    let report = place.run(&arguments, 0);
    assert_eq!(report.tasks("restored"), ["make.make"]);
    assert_eq!(report.tasks("executed"), ["cut.cut"]);
    assert_eq!(report.number("recomputed"), 1);
    assert_eq!(report.texts("short"), ["1\n2\n3\n4\n5\n"]);
}

/// Only the outputs that are needed have to be there: the note is, though the large file beside it is not.
#[test]
fn an_output_is_brought_back_without_the_one_beside_it() {
    let place = place(", keep: false");
    place.run(&["--inputs", "data.yaml"], 0);
    let flow = place
        .read("flow.yaml")
        .replace("cat {in.file} >", "cat {in.file} {in.file} >");
    place.write("flow.yaml", &flow);
    let report = place.run(&["--inputs", "data.yaml"], 0).counts(3, 1, 2, 0);
    assert_eq!(report.texts("copied"), ["made\nmade\n"]);
    assert_eq!(
        place
            .told("log")
            .iter()
            .filter(|line| *line == "make")
            .count(),
        1
    );
}

#[test]
fn an_output_that_is_to_be_kept_is() {
    let place = place(", keep: true");
    place.run(&["--inputs", "data.yaml"], 0);
    assert!(object_bytes(&place) > 300_000);
    let report = place.run(&["--inputs", "data.yaml", "--set", "lines=5"], 0);
    report.counts(3, 1, 2, 0);
}

#[test]
fn a_limit_on_disk_holds() {
    let place = place(", keep: true");
    let limit = 100_000;
    let report = place.run(&["--inputs", "data.yaml", "--disk", &limit.to_string()], 0);
    assert_eq!(report.texts("short"), ["1\n2\n3\n"]);
    assert!(object_bytes(&place) <= limit);
    // What does not fit is made again when it is needed.
    let arguments = [
        "--inputs",
        "data.yaml",
        "--set",
        "lines=5",
        "--disk",
        "100kB",
    ];
    let report = place.run(&arguments, 0);
    assert_eq!(report.number("recomputed"), 1);
    assert!(object_bytes(&place) <= limit);
}

/// What earlier runs have left makes room for what is made now.
#[test]
fn a_limit_on_disk_takes_from_what_nobody_uses() {
    let place = place(", keep: true");
    for seed in 1..4 {
        place.write("data.yaml", &format!("inputs: {{seed: {seed}}}\n"));
        let report = place.run(&["--inputs", "data.yaml", "--disk", "800kB"], 0);
        assert_eq!(read(&report.files("short")[""]).lines().count(), 3);
        assert!(object_bytes(&place) <= 800_000);
        assert!(object_bytes(&place) > 300_000, "the latest is kept");
    }
}

#[test]
fn what_was_asked_for_and_does_not_fit_fails_the_run() {
    let flow = FLOW.replace(
        "outputs: {short: short,",
        "outputs: {large: large, short: short,",
    );
    let place = Place::with_flow(&flow.replace(" KEEP", ""));
    place.write("data.yaml", "inputs: {seed: 1}\n");
    let ran = place.headwater(&[
        "run",
        "flow.yaml",
        "--inputs",
        "data.yaml",
        "--disk",
        "100kB",
    ]);
    ran.ended(1).says(&[
        "does not fit into the 100000 bytes that --disk allows",
        "raise --disk",
    ]);
    assert!(object_bytes(&place) <= 100_000);
    let report = place.run(&["--inputs", "data.yaml", "--disk", "1MB"], 0);
    assert_eq!(read(&report.files("large")[""]).lines().count(), 60_000);
}

/// What may not be written to keeps its logs as well.
#[test]
fn nothing_is_collected_from_a_store_that_is_read_only() {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: loud
stages:
  only:
    tasks: [{op: speak, out: {made: made}}]
outputs: {made: made}
operations:
  speak:
    shell: "echo loud; echo made > {out.made}"
    outputs: {made: {type: file, path: made.txt}}
"#,
    );
    place.run(&[], 0);
    let left = || {
        let mut found = contents(&place.path(".headwater"));
        // What SQLite puts beside its files when it reads them.
        found.retain(|name, _| {
            !name.starts_with("records.sqlite-shm") && !name.starts_with("records.sqlite-wal")
        });
        found
    };
    let before = left();
    let is_log = |name: &PathBuf| name.components().any(|part| part.as_os_str() == "logs");
    assert!(before.keys().any(is_log), "{before:?}");
    let collect = ["products", "gc", "--max", "0", "--read-only"];
    place.headwater(&collect).ended(2);
    assert_eq!(left(), before);
}
