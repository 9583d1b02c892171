//! A run that is killed again and again ends as one that was left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;

use headwater::StorePlace;
use headwater::graph::Recipe;

use crate::place::{Place, delivered};

/// A hundred items through two stages. A command tells `$TMPDIR/log` when it runs.
const FLOW: &str = r#"
headwater: 1
workflow: long
inputs: {item: int}
stages:
  first:
    tasks: [{op: first, in: {item: item}, out: {file: half}}]
  second:
    tasks: [{op: second, in: {file: half}, out: {file: whole}}]
outputs: {whole: whole}
operations:
  first:
    shell: |
      echo first[{in.item}] >> "$TMPDIR/log"
      sleep 0.01
      echo "item "{in.item} > {out.file}
    inputs: {item: int}
    outputs: {file: {type: file, path: half.txt}}
  second:
    shell: |
      read -r word item < {in.file}
      echo "second[$item]" >> "$TMPDIR/log"
      sleep 0.01
      echo "$word $item is whole" > {out.file}
    inputs: {file: file}
    outputs: {file: {type: file, path: whole.txt}}
"#;

const ITEMS: usize = 100;
const KILLS: usize = 10;
const COMMAND: [&str; 7] = [
    "run",
    "flow.yaml",
    "--inputs",
    "data.yaml",
    "-j",
    "2",
    "--json",
];

fn long_run() -> Place {
    let place = Place::with_flow(FLOW);
    let items: Vec<String> = (0..ITEMS).map(|item| item.to_string()).collect();
    place.write(
        "data.yaml",
        &format!("inputs: {{item: [{}]}}\n", items.join(", ")),
    );
    place
}

/// What a command writes to the log, by the recipe of its task.
fn names_by_recipe(place: &Place) -> BTreeMap<Recipe, String> {
    let report = place
        .headwater(&["runs", "show", "--json"])
        .ended(0)
        .report();
    let tasks = report.0["task_list"]
        .as_array()
        .expect("a list of tasks")
        .clone();
    tasks
        .iter()
        .map(|task| {
            let recipe = task["recipe"]
                .as_str()
                .expect("a recipe")
                .parse()
                .expect("a recipe");
            let address = task["task"].as_str().expect("an address");
            let (stage, index) = address.split_once('[').expect("an index");
            let stage = stage.split('.').next().expect("a stage");
            (recipe, format!("{stage}[{index}"))
        })
        .collect()
}

/// The names of the tasks that the store has a record of.
fn remembered(place: &Place, names: &BTreeMap<Recipe, String>) -> BTreeSet<String> {
    let url = place.path(".headwater").to_str().map(str::to_owned);
    let store = headwater::open_store(
        &StorePlace {
            url,
            read_only: true,
            ..StorePlace::default()
        },
        place.root(),
    )
    .expect("the store opens");
    let recipes: Vec<Recipe> = names.keys().copied().collect();
    let known = store.known(&recipes).expect("the store answers");
    let found = recipes
        .iter()
        .zip(known)
        .filter(|(_, known)| known.is_some());
    found.map(|(recipe, _)| names[recipe].clone()).collect()
}

/// Waits until the log has so many lines; `false` if the run ended before.
fn reaches(place: &Place, child: &mut Child, lines: usize) -> bool {
    loop {
        if place.told("log").len() >= lines {
            return true;
        }
        if child
            .try_wait()
            .expect("the run can be waited for")
            .is_some()
        {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn ten_kills_leave_no_trace_in_the_outputs() {
    let undisturbed = long_run();
    let wanted =
        undisturbed
            .headwater(&COMMAND)
            .ended(0)
            .report()
            .counts(2 * ITEMS, 2 * ITEMS, 0, 0);
    let names = names_by_recipe(&undisturbed);
    assert_eq!(names.len(), 2 * ITEMS);
    assert_eq!(undisturbed.told("log").len(), 2 * ITEMS);

    let place = long_run();
    // Spread over the run, each at a random place of its part of it.
    let mut random: u64 = 20_070_502;
    let mut next = |below: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let part = 2 * ITEMS / KILLS;
    // How much of the log there was when these names were found in the store.
    let mut found: Vec<(usize, BTreeSet<String>)> = Vec::new();
    for kill in 0..KILLS {
        let lines = kill * part + next(part - 1);
        let mut child = place.start(&COMMAND);
        assert!(
            reaches(&place, &mut child, lines),
            "the run ended before line {lines}"
        );
        child.kill().expect("SIGKILL");
        child.wait().expect("it ends");
        let names = if place.path(".headwater").exists() {
            remembered(&place, &names)
        } else {
            BTreeSet::new()
        };
        found.push((place.told("log").len(), names));
    }
    let last = place.headwater(&COMMAND).ended(0).report();

    assert_eq!(delivered(&last.folder()), delivered(&wanted.folder()));
    let log = place.told("log");
    for (length, names) in &found {
        // A command that was on its way when the engine was killed may have said so after we looked, but
        // then it has no record.
        let again: Vec<&String> = log[*length..]
            .iter()
            .filter(|name| names.contains(*name))
            .collect();
        assert!(
            again.is_empty(),
            "executed although there was a record: {again:?}"
        );
    }
    let (_, at_last) = &found[KILLS - 1];
    assert!(
        !at_last.is_empty(),
        "something must have been kept before the last kill"
    );
    // The journal may have been ahead of the records that were looked at.
    assert!(last.number("reused") >= at_last.len());
    assert_eq!(last.number("executed") + last.number("reused"), 2 * ITEMS);
}
