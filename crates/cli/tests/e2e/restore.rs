//! Intermediates that are gone: nothing runs for them until somebody needs them, and then only what makes them.

use std::fs;

use crate::place::{Place, contents, delivered};

/// A chain of three files and a last task with a parameter; `side` shares the first file.
const CHAIN: &str = r#"
headwater: 1
workflow: chain
inputs: {start: int}
parameters: {last: {type: int, default: 1}}
stages:
  one:
    - {op: one, in: {start: start}, out: {file: one}}
  two:
    - {op: add, in: {file: one}, params: {word: two}, out: {file: two}}
  three:
    - {op: add, in: {file: two}, params: {word: three}, out: {file: three}}
  side:
    - {op: add, in: {file: one}, params: {word: side}, out: {file: side}}
  last:
    - {op: last, in: {file: three}, params: {number: $last}, out: {file: text}}
outputs: [text, side]
operations:
  one:
    shell: echo one {in.start} > {out.file}
    inputs: {start: int}
    outputs: {file: {path: made, keep: true}}
  add:
    shell: cat {in.file} > {out.file}; echo {param.word} >> {out.file}
    inputs: {file: file}
    params: {word: text}
    outputs: {file: {path: made, keep: true}}
  last:
    shell: cat {in.file} > {out.file}; echo {param.number} >> {out.file}
    inputs: {file: file}
    params: {number: int}
    outputs: {file: {path: made}}
"#;

const ALL: [&str; 5] = ["last.last", "one.one", "side.add", "three.add", "two.add"];

fn chain() -> Place {
    let place = Place::with_flow(CHAIN);
    place.write("data.yaml", "inputs: {start: 1}\n");
    place
}

/// A dry run says that exactly these tasks would run, and a run executes exactly them.
#[track_caller]
fn runs(place: &Place, last: i64, executed: &[&str]) {
    let set = format!("last={last}");
    let arguments = ["--inputs", "data.yaml", "--set", &set];
    let plan = place.run(&[&arguments[..], &["--dry-run"]].concat(), 0);
    let listed = plan.0["to_run"].as_array().expect("a list of tasks").iter();
    let mut announced: Vec<&str> = listed
        .map(|task| task["task"].as_str().expect("an address"))
        .collect();
    announced.sort_unstable();
    assert_eq!(announced, executed, "announced for {last}");
    assert_eq!(plan.number("to_execute"), executed.len());
    let report = place.run(&arguments, 0);
    assert_eq!(report.ran(), executed, "executed for {last}");
    assert_eq!(report.number("executed"), executed.len());
    let text = format!("one 1\ntwo\nthree\n{last}\n");
    assert_eq!(report.texts("text"), [text]);
    assert_eq!(report.texts("side"), ["one 1\nside\n"]);
}

/// Removes the objects with these texts; each of them is there.
#[track_caller]
fn lose(place: &Place, texts: &[&str]) {
    let objects = place.path(".headwater/objects");
    let mut lost = 0;
    for (name, bytes) in contents(&objects) {
        if texts.iter().any(|text| text.as_bytes() == bytes) {
            fs::remove_file(objects.join(name)).expect("removed");
            lost += 1;
        }
    }
    assert_eq!(lost, texts.len(), "{texts:?}");
}

const ONE: &str = "one 1\n";
const TWO: &str = "one 1\ntwo\n";
const THREE: &str = "one 1\ntwo\nthree\n";

#[test]
fn intermediates_gone_and_nothing_changed_costs_nothing() {
    let place = chain();
    runs(&place, 1, &ALL);
    lose(&place, &[ONE, TWO, THREE]);
    runs(&place, 1, &[]);
}

#[test]
fn intermediates_kept_and_the_last_parameter_changed_costs_one_task() {
    let place = chain();
    runs(&place, 1, &ALL);
    runs(&place, 2, &["last.last"]);
    runs(&place, 1, &[]);
}

#[test]
fn intermediates_gone_and_the_last_parameter_changed_costs_the_chain_to_them() {
    let place = chain();
    runs(&place, 1, &ALL);
    lose(&place, &[ONE, TWO, THREE]);
    runs(&place, 2, &["last.last", "one.one", "three.add", "two.add"]);
    // They are back.
    runs(&place, 3, &["last.last"]);
    // Only what is missing is made again.
    lose(&place, &[THREE]);
    runs(&place, 4, &["last.last", "three.add"]);
    lose(&place, &[ONE, THREE]);
    runs(&place, 5, &["last.last", "three.add"]);
    lose(&place, &[TWO]);
    runs(&place, 6, &["last.last"]);
}

/// Damage is met with a word and a repair, whatever is damaged.
#[test]
fn what_is_damaged_is_told_and_made_again() {
    let place = chain();
    runs(&place, 1, &ALL);
    let output = |report: &crate::place::Report| delivered(&report.folder());
    let before = output(&place.run(&["--inputs", "data.yaml"], 0));
    // Other bytes of the same length in the object of the result.
    let (object, bytes) = contents(&place.path(".headwater/objects"))
        .into_iter()
        .find(|(_, bytes)| before.values().any(|text| text == bytes))
        .expect("the result");
    let object = place.path(".headwater/objects").join(object);
    // It is hard-linked to what was delivered, which is not to change with it.
    fs::remove_file(&object).expect("removed");
    fs::write(&object, vec![b'x'; bytes.len()]).expect("written");
    let noted = |executed: usize| {
        let report = place.run(&["--inputs", "data.yaml"], 0);
        assert_eq!(report.number("executed"), executed);
        report.0["notes"].to_string()
    };
    assert!(noted(1).contains("damaged in the store: object "));
    // Whoever asks is told so.
    let lost = ["last.last", "side.add"].map(|task| {
        let why = place.headwater(&["explain", "last", task, "--json"]);
        why.ended(0).report().0["lost"].clone()
    });
    assert!(lost.iter().any(|lost| *lost == "damaged"), "{lost:?}");
    // The first page of the database.
    let database = place.path(".headwater/records.sqlite");
    let mut pages = fs::read(&database).expect("a database");
    pages[..4096].fill(0);
    fs::write(&database, pages).expect("written");
    assert!(noted(0).contains("damaged in the store: the record database"));
    assert_eq!(output(&place.run(&["--inputs", "data.yaml"], 0)), before);
}

/// An operation that says that it is pure, and is not: `roll` gives something else each time.
const ROLL: &str = r#"
headwater: 1
workflow: roll
inputs: {start: int}
stages:
  roll: [{op: roll, in: {start: start}, out: {file: rolled}}]
  use: [{op: use, in: {file: rolled}, out: {file: used}}]
outputs: [rolled, used]
operations:
  roll:
    shell: head -c 16 /dev/urandom | od -An -tx1 > {out.file}
    inputs: {start: int}
    outputs: {file: {path: made}}
  use:
    shell: (echo used; cat {in.file}) > {out.file}
    inputs: {file: file}
    outputs: {file: {path: made}}
"#;

/// Products that no longer fit each other are told for as long as they are there; and who is not to blame is not blamed.
#[test]
fn what_came_out_different_is_told_again_and_again() {
    let place = Place::with_flow(ROLL);
    place.write("data.yaml", "inputs: {start: 1}\n");
    let run = || place.run(&["--inputs", "data.yaml"], 0);
    let told = |arguments: &[&str]| place.headwater(arguments).ended(0).stdout;
    let first = run();
    let [rolled, used] = ["rolled", "used"].map(|output| first.texts(output).remove(0));
    for task in ["roll.roll", "use.use"] {
        let text = told(&["explain", "last", task]);
        assert!(!text.contains("does not fit"), "{text}");
    }

    lose(&place, &[&rolled]);
    let second = run();
    assert_eq!(second.ran(), ["roll.roll"]);
    let notes = second.0["notes"].to_string();
    assert!(notes.contains("operation `roll` was run again"), "{notes}");
    assert_eq!(
        second.texts("used"),
        std::slice::from_ref(&used),
        "it is reused"
    );
    // Not only when it happens.
    run();
    let text = told(&["explain", "last", "use.use"]);
    assert!(
        text.contains("But it does not fit what it was made from"),
        "{text}"
    );
    assert!(
        text.contains("`use.use` was made from an earlier version of `roll.roll`"),
        "{text}"
    );
    let text = told(&["runs", "diff"]);
    assert!(
        text.contains("`use.use` was made from an earlier version of `roll.roll`"),
        "{text}"
    );
    let text = told(&["explain", "last", "roll.roll"]);
    assert!(!text.contains("does not fit"), "{text}");

    // Both are made again: `use` reads something else, and so gives something else.
    let rolled = second.texts("rolled").remove(0);
    lose(&place, &[&rolled, &used]);
    let third = run();
    assert_eq!(third.ran(), ["roll.roll", "use.use"]);
    let notes = third.0["notes"].to_string();
    assert!(notes.contains("operation `roll`"), "{notes}");
    assert!(!notes.contains("operation `use`"), "{notes}");
    let text = told(&["explain", "last", "use.use"]);
    assert!(!text.contains("does not fit"), "they fit again: {text}");
}

/// A check names what it is about, and sets nothing aside that is not there.
#[test]
fn a_check_names_the_products_of_what_is_missing() {
    let place = chain();
    runs(&place, 1, &ALL);
    lose(&place, &[THREE]);
    let checked = place.headwater(&["products", "verify"]).ended(1);
    let line = checked
        .stdout
        .lines()
        .find(|line| line.starts_with("missing"));
    let line = line.expect("a missing object");
    assert!(
        line.contains("output `file` of product") && line.contains("as `three.add`"),
        "{line}"
    );
    assert!(!checked.stderr.contains("set aside"), "{}", checked.stderr);
}
