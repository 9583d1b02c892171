//! What people ask: lists of products, what came before, what versions stand for.

use std::sync::Arc;

use crate::common::{Case, pending, recipe, record, run};
use headwater_graph::{FoundProduct, Mode, Outcome, ProductFilter, ProductRecord, RunTask};

fn parts(texts: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(label, text): &(&str, &str)| ((*label).to_owned(), (*text).to_owned());
    texts.iter().map(owned).collect()
}

#[test]
fn what_versions_stand_for_is_noted_and_kept() {
    let case = Case::new();
    let one = parts(&[("shell", "echo 1\n\necho 2"), ("env A", ""), ("tool", "é")]);
    let two = parts(&[]);
    let versions: Vec<(Arc<str>, _)> = vec![
        ("command-1".into(), one.clone()),
        ("command-2".into(), two.clone()),
    ];
    case.store.note_versions(&versions).unwrap();
    case.store.note_versions(&versions).unwrap();
    let again = case.open(Mode::ReadOnly);
    assert_eq!(again.version_parts("command-1").unwrap(), Some(one));
    assert_eq!(again.version_parts("command-2").unwrap(), Some(two));
    assert_eq!(again.version_parts("command-3").unwrap(), None);
    assert!(again.note_versions(&versions).is_err(), "it is read-only");
    // A version that is a version of records as well has one number for both.
    let changed = parts(&[("pure", "false")]);
    case.keep([pending(1)]);
    let versions: Vec<(Arc<str>, _)> = vec![
        ("1".into(), changed.clone()),
        ("command-2".into(), changed.clone()),
    ];
    case.store.note_versions(&versions).unwrap();
    assert_eq!(
        case.store.version_parts("1").unwrap(),
        Some(changed.clone())
    );
    assert_eq!(
        case.store.version_parts("command-2").unwrap(),
        Some(changed),
        "the latest counts"
    );
    assert_eq!(case.store.fetch(&[recipe(1)]).unwrap(), [Some(record(1))]);
}

#[test]
fn the_sign_between_texts_does_no_harm_inside_them() {
    let case = Case::new();
    let versions: Vec<(Arc<str>, _)> = vec![("1".into(), parts(&[("a\0b", "c\0"), ("d", "e")]))];
    case.store.note_versions(&versions).unwrap();
    assert_eq!(
        case.store.version_parts("1").unwrap(),
        Some(parts(&[("a\u{2400}b", "c\u{2400}"), ("d", "e")]))
    );
}

fn made_by(number: u64, run: &str) -> ProductRecord {
    ProductRecord {
        run: run.into(),
        ..record(number)
    }
}

fn numbers(records: &[ProductRecord]) -> Vec<u64> {
    records.iter().map(|record| record.wall).collect()
}

#[test]
fn products_come_newest_first_by_operation_and_run() {
    let case = Case::new();
    for number in 0..9 {
        let run = if number < 5 { "early" } else { "late" };
        case.store.register(&[made_by(number, run)]).unwrap();
    }
    let ask = |operation: Option<&str>, run: Option<&str>, limit| {
        let filter = ProductFilter {
            operation: operation.map(str::to_owned),
            run: run.map(str::to_owned),
            limit,
        };
        numbers(&case.store.products(&filter).unwrap())
    };
    assert_eq!(ask(None, None, 100), [8, 7, 6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(ask(None, None, 2), [8, 7]);
    let operation = Some("test/operation-1");
    assert_eq!(ask(operation, None, 100), [7, 4, 1]);
    assert_eq!(ask(None, Some("early"), 3), [4, 3, 2]);
    assert_eq!(ask(operation, Some("late"), 100), [7]);
    assert_eq!(ask(Some("test/operation"), None, 100), [0; 0]);
    assert_eq!(ask(None, Some("other"), 100), [0; 0]);
    let last = made_by(7, "late");
    let before = |limit| numbers(&case.store.products_before(&last, limit).unwrap());
    assert_eq!(before(100), [4, 1]);
    assert_eq!(before(1), [4]);
    let first = made_by(4, "early");
    assert_eq!(
        numbers(&case.store.products_before(&first, 100).unwrap()),
        [0; 0],
        "those of its own run do not count, nor later ones"
    );
}

#[test]
fn a_product_is_found_by_the_beginning_of_its_recipe() {
    let case = Case::new();
    for number in 0..64 {
        case.store.register(&[record(number)]).unwrap();
    }
    let find = |digits: &str| case.store.find_product(digits).unwrap();
    for number in 0..64 {
        let hex = recipe(number).hex();
        let expected = FoundProduct::One {
            asked: recipe(number),
            record: Box::new(record(number)),
        };
        for length in [12, 16, 20, 64] {
            assert_eq!(find(&hex[..length]), expected, "{number} {length}");
        }
    }
    let several = find(&recipe(0).hex()[..1]);
    let mut expected: Vec<_> = (0..64)
        .map(recipe)
        .filter(|other| other.hex()[..1] == recipe(0).hex()[..1])
        .collect();
    expected.sort();
    assert_eq!(several, FoundProduct::Several(expected));
    for nothing in ["", "x", "000000000000", &"0".repeat(64)] {
        assert_eq!(find(nothing), FoundProduct::None, "{nothing}");
    }
}

#[test]
fn what_stood_at_an_address_before() {
    let case = Case::new();
    let task = |number: u64, address: &str| RunTask {
        address: address.to_owned(),
        recipe: recipe(number),
        state: Outcome::Executed,
        started: 0,
        wall: number,
    };
    let begin = |id: &str, workflow: &str, tasks: &[RunTask]| {
        let mut begun = run(id);
        begun.workflow = workflow.to_owned();
        case.store.begin_run(&begun).unwrap();
        case.store.put_run_tasks(id, tasks).unwrap();
    };
    begin("a", "flow", &[task(1, "s.t[0]"), task(2, "s.t[1]")]);
    begin("b", "other", &[task(3, "s.t[0]")]);
    begin("c", "flow", &[task(4, "s.t[0]")]);
    begin("d", "flow", &[task(5, "s.t[0]")]);
    begin("e", "flow", &[task(6, "s.t[0]")]);
    let before = |run: &str, address: &str, runs| {
        let found = case.store.tasks_before(run, address, runs).unwrap();
        let plain = |(run, task): (String, RunTask)| (run, task.wall);
        found.into_iter().map(plain).collect::<Vec<_>>()
    };
    let pair = |run: &str, number| (run.to_owned(), number);
    assert_eq!(before("d", "s.t[0]", 9), [pair("c", 4), pair("a", 1)]);
    assert_eq!(before("d", "s.t[0]", 1), [pair("c", 4)]);
    assert_eq!(before("d", "s.t[1]", 9), [pair("a", 2)]);
    assert_eq!(before("a", "s.t[0]", 9), []);
    assert_eq!(before("none", "s.t[0]", 9), []);
}

#[test]
fn where_there_is_no_store_there_is_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = headwater_remember::open(&folder.path().join("none"), Mode::ReadOnly).unwrap();
    let filter = ProductFilter {
        operation: None,
        run: None,
        limit: 1,
    };
    assert_eq!(store.products(&filter).unwrap(), []);
    assert_eq!(store.find_product("ab").unwrap(), FoundProduct::None);
    assert_eq!(store.version_parts("1").unwrap(), None);
    assert_eq!(store.products_before(&record(1), 1).unwrap(), []);
    assert_eq!(store.tasks_before("a", "b", 1).unwrap(), []);
}
