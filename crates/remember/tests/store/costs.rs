//! What executions have cost.

use std::sync::Arc;

use crate::common::{Case, record};
use headwater_graph::Store;
use headwater_graph::{Cost, Digest, Mode, ProductRecord, StoredOutput};

fn output(size: u64) -> StoredOutput {
    StoredOutput {
        digest: Digest::of(&size.to_le_bytes()),
        size,
        inline: None,
        encoding: None,
    }
}

fn made(number: u64, version: &str, run: &str, wall: u64) -> ProductRecord {
    ProductRecord {
        operation: "a/b".into(),
        version: version.into(),
        run: run.into(),
        wall,
        peak_memory: 0,
        outputs: vec![("mask".into(), output(100)), ("count".into(), output(8))],
        ..record(number)
    }
}

fn ask(store: &dyn Store, operations: &[(&str, &str)]) -> Vec<Option<Cost>> {
    let operations: Vec<(Arc<str>, Arc<str>)> = operations
        .iter()
        .map(|(operation, version)| (Arc::from(*operation), Arc::from(*version)))
        .collect();
    store.costs(&operations).unwrap()
}

#[test]
fn costs_are_told_by_operation_and_version() {
    let case = Case::new();
    let mut records = vec![
        made(0, "1", "early", 10),
        made(1, "1", "early", 1000),
        made(2, "2", "late", 7),
        made(3, "1", "late", 30),
        made(4, "1", "late", 50),
    ];
    records[1].outputs = vec![("mask".into(), output(301))];
    records[3].peak_memory = 4096;
    for record in &records {
        case.store.register(std::slice::from_ref(record)).unwrap();
    }
    let one = Cost {
        executions: 4,
        wall: 40,
        output_bytes: (3 * 108 + 301) / 4,
        peak_memory: Some(4096),
        runs: vec!["late".into(), "early".into()],
    };
    let two = Cost {
        executions: 1,
        wall: 7,
        output_bytes: 108,
        peak_memory: None,
        runs: vec!["late".into()],
    };
    let questions = [
        ("a/b", "2"),
        ("a/b", "3"),
        ("a/b", "1"),
        ("late", "1"),
        ("c", "1"),
    ];
    let expected = [Some(two), None, Some(one), None, None];
    assert_eq!(ask(&*case.store, &questions), expected);
    assert_eq!(ask(&*case.open(Mode::ReadOnly), &questions), expected);
    assert_eq!(ask(&*case.store, &[]), []);
}

#[test]
fn a_store_that_is_not_there_knows_no_costs() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent");
    let store = headwater_remember::open(&absent, Mode::ReadOnly).unwrap();
    assert_eq!(ask(&*store, &[("a/b", "1"), ("c", "1")]), [None, None]);
    drop(store);
    assert!(!absent.exists(), "reading made a store");
}

#[test]
fn only_the_latest_executions_count() {
    let case = Case::new();
    let records: Vec<ProductRecord> = (0..1500)
        .map(|number| made(number, "1", "run", if number < 500 { 1 } else { 9 }))
        .collect();
    // One call has the records in the order of their recipes; the old ones have to come first.
    case.store.register(&records[..500]).unwrap();
    case.store.register(&records[500..]).unwrap();
    let found = ask(&*case.store, &[("a/b", "1")]);
    let cost = found[0].as_ref().unwrap();
    assert_eq!((cost.executions, cost.wall), (1000, 9));
}

#[test]
fn damaged_rows_are_left_out() {
    let case = Case::new();
    let records: Vec<ProductRecord> = (0..3).map(|number| made(number, "1", "run", 5)).collect();
    case.store.register(&records).unwrap();
    let database = rusqlite::Connection::open(case.root().join("records.sqlite")).unwrap();
    database
        .execute(
            "UPDATE products SET wall = 999999 WHERE recipe = ?",
            [&records[1].recipe.0[..]],
        )
        .unwrap();
    drop(database);
    let found = ask(&*case.store, &[("a/b", "1")]);
    let cost = found[0].as_ref().unwrap();
    assert_eq!((cost.executions, cost.wall), (2, 5));
}
