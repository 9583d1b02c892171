//! A store in memory (`--store memory:`): everything works as with a folder, and nothing is left.

use std::fs;

use crate::place::{Place, delivered};

/// The command with a store in memory.
fn run(place: &Place, command: &[&str], folder: &str) -> crate::place::Ran {
    let arguments = [command, &["--store", "memory:", "-o", folder]].concat();
    place.headwater(&arguments).ended(0)
}

/// What lies where programs find temporary files.
fn left(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.side()).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names
        .filter(|name| name.starts_with("headwater-"))
        .collect()
}

#[test]
fn the_examples_give_the_same_and_leave_nothing() {
    let (place, _) = crate::examples::example("words");
    let flow = ["run", "words/words.yaml", "--inputs", "words/inputs.yaml"];
    let (first, second) = (
        run(&place, &flow, "memory"),
        place.headwater(&[&flow[..], &["-o", "folder"]].concat()),
    );
    second.ended(0);
    assert!(!first.stdout.contains(" 0 executed"), "{}", first.stdout);
    let outputs = |folder: &str| {
        let mut files = delivered(&place.path(folder));
        files.retain(|path, _| path.extension().is_none_or(|it| it != "yaml"));
        files
    };
    assert_eq!(outputs("memory"), outputs("folder"));
    assert_eq!(left(&place), [""; 0]);
}

#[test]
fn a_study_runs_in_memory() {
    let place =
        crate::study_run::studied(crate::study_run::LINE, "100", "{moat: {trajectories: 6}}");
    run(&place, &["study", "run", "study.yaml"], "memory");
    let folder = place.headwater(&["study", "run", "study.yaml", "-o", "folder"]);
    folder.ended(0);
    let samples = |folder: &str| place.read(&format!("{folder}/samples.csv"));
    assert_eq!(samples("memory"), samples("folder"));
    assert_eq!(left(&place), [""; 0]);
    // A plan finds nothing, since nothing is kept.
    let plan = ["study", "plan", "study.yaml", "--store", "memory:"];
    place.headwater(&plan).ended(0);
}

#[test]
fn a_limit_on_disk_holds_in_memory() {
    let place = Place::with_flow(crate::disk::LETTERS);
    place.write("data.yaml", "inputs: {letter: [a, b, c]}\n");
    let flow = ["run", "flow.yaml", "--inputs", "data.yaml"];
    run(&place, &[&flow[..], &["--disk", "3MB"]].concat(), "out");
    let small = [&flow[..], &["--disk", "1MB", "--store", "memory:"]].concat();
    place.headwater(&small).ended(1).says(&["does not fit"]);
}
