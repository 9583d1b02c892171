//! Large studies that are run again: an earlier run has noted which tasks they have.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::examples::example;
use crate::place::{Place, Report, contents, read};
use crate::study_run::{count, results};

/// A screening of nuclei on two tiny tiles, with more tasks than small studies have.
fn large() -> Place {
    on_tiles("16x16", "[one.png, two.png]")
}

fn on_tiles(size: &str, tiles: &str) -> Place {
    let (place, _) = example("nuclei");
    for (name, seed) in [("one", "3"), ("two", "4")] {
        let tile = format!("nuclei/{name}.png");
        let arguments = [
            "imaging", "synth", "-o", &tile, "--size", size, "--seed", seed,
        ];
        place.headwater(&arguments).ended(0);
    }
    let study = place.read("nuclei/moat.yaml");
    let study = study
        .replace("tissue.png", tiles)
        .replace("trajectories: 40", "trajectories: 200");
    place.write("nuclei/study.yaml", &study);
    place
}

fn run(place: &Place, folder: &str) -> Report {
    let arguments = ["study", "run", "nuclei/study.yaml", "--json", "-o", folder];
    place.headwater(&arguments).ended(0).report()
}

fn runs(place: &Place) -> PathBuf {
    place.path(".headwater/runs")
}

/// The notes of rounds that runs have left.
fn notes(place: &Place) -> Vec<PathBuf> {
    let found = contents(&runs(place)).into_keys();
    let is_note = |name: &PathBuf| name.to_string_lossy().contains("/round-");
    let found = found.filter(is_note);
    found.map(|name| runs(place).join(name)).collect()
}

/// What a run tells: its report, its trace, its tasks, and what it notes for those who ask later.
fn told(place: &Place, report: &Report) -> (Value, String, Value, BTreeMap<String, Vec<u8>>) {
    let id = report.0["run"].as_str().expect("an id").to_owned();
    let mut summary = report.0.clone();
    for name in ["run", "seconds", "started", "folder", "files"] {
        summary.as_object_mut().expect("an object").remove(name);
    }
    let shown = place.headwater(&["runs", "show", &id, "--json"]).ended(0);
    let tasks = shown.report().0["task_list"].clone();
    assert!(tasks.as_array().expect("a list").len() >= 10_000);
    let notes = ["dag.json", "externals.tsv", "makers.tsv", "shared.tsv"];
    let notes = notes.map(|name| {
        let bytes = fs::read(runs(place).join(&id).join(name));
        (name.to_owned(), bytes.expect("a note"))
    });
    let trace = read(&report.folder().join("trace.tsv"));
    (summary, trace, tasks, notes.into())
}

#[test]
fn a_large_study_again_tells_what_it_would_tell_if_nothing_had_been_noted() {
    let place = large();
    let first = run(&place, "first");
    assert!(count(&first, "executed") > 0);
    let [note] = notes(&place).try_into().expect("one note");
    let second = run(&place, "second");
    assert_eq!(count(&second, "executed"), 0);
    // Who puts the graph together again notes it again.
    assert_eq!(notes(&place), std::slice::from_ref(&note));
    let second_told = told(&place, &second);
    fs::remove_file(&note).expect("a note");
    let third = run(&place, "third");
    assert_eq!(notes(&place).len(), 1);
    let third_told = told(&place, &third);
    assert_eq!(second_told.0, third_told.0);
    assert!(second_told == third_told, "trace, tasks or notes differ");
    assert!(results(&first.folder()) == results(&second.folder()));
    assert!(results(&first.folder()) == results(&third.folder()));
    let diff = ["runs", "diff", "last~1", "last", "--json"];
    let diff = place.headwater(&diff).ended(0).report();
    assert_eq!(diff.0["different"], 0, "{}", diff.0);
}

#[test]
fn a_damaged_note_of_a_study_is_not_used() {
    let place = large();
    let first = run(&place, "first");
    let [note] = notes(&place).try_into().expect("one note");
    let mut bytes = fs::read(&note).expect("a note");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&note, bytes).expect("a note");
    let second = run(&place, "second");
    assert_eq!(count(&second, "executed"), 0);
    assert_eq!(notes(&place).len(), 2);
    assert!(results(&first.folder()) == results(&second.folder()));
}

#[test]
fn what_a_noted_study_needs_and_is_gone_is_made_again() {
    // What is smaller has no file of its own in the store.
    let place = on_tiles("136x136", "one.png");
    let first = run(&place, "first");
    assert_eq!(notes(&place).len(), 1);
    let objects = place.path(".headwater/objects");
    for name in contents(&objects).into_keys() {
        fs::remove_file(objects.join(name)).expect("an object");
    }
    let second = run(&place, "second");
    assert!(count(&second, "executed") > 0);
    assert!(results(&first.folder()) == results(&second.folder()));
}

#[test]
fn a_noted_study_of_other_tiles_is_another() {
    let place = large();
    let first = run(&place, "first");
    let other = place.path("nuclei/two.png");
    fs::copy(place.path("nuclei/one.png"), other).expect("a tile");
    let second = run(&place, "second");
    assert!(results(&first.folder()) != results(&second.folder()));
    assert_eq!(notes(&place).len(), 2);
}

#[test]
fn what_a_noted_study_delivers_is_delivered_again() {
    let place = large();
    run(&place, "first");
    let deliver = |folder: &str| {
        let study = ["study", "run", "nuclei/study.yaml", "--json"];
        let arguments = [&study[..], &["--deliver", "dice", "-o", folder]].concat();
        let report = place.headwater(&arguments).ended(0).report();
        assert_eq!(count(&report, "executed"), 0);
        place.read(&format!("{folder}/dice/values.csv"))
    };
    assert_eq!(deliver("second"), deliver("third"));
}
