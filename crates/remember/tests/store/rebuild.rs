//! Making anew: what a database that is made anew still knows, and when it has to be made anew.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::{Case, bytes, check_right, copy_tree, keep_in, pending, recipe, record, run};
use headwater_graph::{Alias, Digest, Mode, Outcome, RunRecord, RunStatus, RunTask, Store, Tally};
use headwater_remember::Writer;

/// Where in a file these bytes are.
fn places(path: &Path, wanted: &[u8]) -> Vec<usize> {
    let bytes = fs::read(path).unwrap();
    bytes
        .windows(wanted.len())
        .enumerate()
        .filter(|(_, found)| *found == wanted)
        .map(|(at, _)| at)
        .collect()
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_flipped_byte_of_a_name_costs_no_record() {
    let Case { folder, store } = Case::new();
    let root = folder.path().join(".headwater");
    keep_in(&store, (0..6).map(pending)).1.unwrap();
    drop(store);
    let name = b"test/operation-0";
    let places = places(&root.join("records.sqlite"), name);
    assert!(places.len() >= 2, "in the table and in its index");
    let mut remade = 0;
    for (number, at) in places.into_iter().enumerate() {
        for verify in [false, true] {
            let copy = folder.path().join(format!("{number}-{verify}"));
            copy_tree(&root, &copy);
            flip(&copy.join("records.sqlite"), at + 5);
            let store = headwater_remember::open(&copy, Mode::ReadWrite).unwrap();
            if verify {
                store.verify(1, &|_, _| ()).unwrap();
            }
            assert_eq!(check_right(&*store, 0..6), [0, 1, 2, 3, 4, 5]);
            remade += store
                .take_damage()
                .iter()
                .filter(|what| what.contains("it was made anew"))
                .count();
            drop(store);
            let store = headwater_remember::open(&copy, Mode::ReadWrite).unwrap();
            assert_eq!(check_right(&*store, 0..6), [0, 1, 2, 3, 4, 5]);
            assert_eq!(store.take_damage(), [""; 0], "it is dealt with");
        }
    }
    assert_eq!(remade, 2, "once by fetching and once by verifying");
}

#[test]
fn a_mended_row_keeps_its_number() {
    let case = Case::new();
    case.keep((0..4).map(pending));
    let connection = rusqlite::Connection::open(case.root().join("records.sqlite")).unwrap();
    let numbers = || -> Vec<(i64, Vec<u8>)> {
        connection
            .prepare("SELECT id, recipe FROM products ORDER BY id")
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    };
    let before = numbers();
    // One is not found under its recipe by now, and is seen only when everything is read.
    for change in [
        "wall = 99 WHERE wall = 1",
        "prefix = 7, wall = 99 WHERE wall = 2",
    ] {
        let change = format!("UPDATE products SET {change}");
        assert_eq!(connection.execute(&change, []).unwrap(), 1);
    }
    let verified = case.store.verify(1, &|_, _| ()).unwrap();
    assert_eq!((verified.records, verified.damaged_records), (4, 2));
    assert_eq!(case.store.take_damage().len(), 2);
    assert_eq!(numbers(), before);
    let recipes: Vec<_> = (0..4).map(recipe).collect();
    assert!(
        case.store
            .fetch(&recipes)
            .unwrap()
            .iter()
            .all(Option::is_some)
    );
    assert_eq!(case.store.verify(1, &|_, _| ()).unwrap().damaged_records, 0);
}

fn keep_alias(store: &Arc<dyn Store>, number: u64, target: u64) {
    let writer = Writer::start(Arc::clone(store), Box::new(|_| ()));
    writer.alias(Alias {
        recipe: recipe(number),
        target: recipe(target),
        run: "run".into(),
        time: 7,
    });
    writer.close().unwrap();
}

#[test]
fn an_alias_of_an_alias_comes_back() {
    let Case { folder, store } = Case::new();
    let root = folder.path().join(".headwater");
    keep_in(&store, [pending(3)]).1.unwrap();
    keep_alias(&store, 100, 3);
    keep_alias(&store, 101, 100);
    let check = |store: &dyn Store, what: &str| {
        let found = store.fetch(&[recipe(100), recipe(101)]).unwrap();
        assert_eq!(found, [Some(record(3)), Some(record(3))], "{what}");
    };
    check(&*store, "as they were written");
    drop(store);
    let database = root.join("records.sqlite");
    fs::remove_file(&database).unwrap();
    let store = headwater_remember::open(&root, Mode::ReadWrite).unwrap();
    check(&*store, "from the journal");
    drop(store);
    fs::remove_file(root.join("records.journal")).unwrap();
    rusqlite::Connection::open(&database)
        .unwrap()
        .execute_batch("DROP INDEX products_by_content")
        .unwrap();
    let store = headwater_remember::open(&root, Mode::ReadWrite).unwrap();
    check(&*store, "from the database");
}

#[test]
fn what_live_runs_use_is_not_collected_after_a_rebuild() {
    let Case { folder, store } = Case::new();
    let root = folder.path().join(".headwater");
    keep_in(&store, [pending(2)]).1.unwrap();
    drop(store);
    // As if everything had been made long ago: the journal says so too.
    let database = root.join("records.sqlite");
    let change = |sql: &str| {
        let connection = rusqlite::Connection::open(&database).unwrap();
        connection.execute_batch(sql).unwrap();
    };
    change("UPDATE objects SET used = 1000");
    fs::remove_file(root.join("records.journal")).unwrap();
    let user = headwater_remember::open(&root, Mode::ReadWrite).unwrap();
    let mut alive = run("alive");
    alive.started = i64::MAX;
    user.begin_run(&alive).unwrap();
    let path = user.path(&Digest::of(&bytes(2))).unwrap();
    change("DROP INDEX products_by_content");
    let other = headwater_remember::open(&root, Mode::ReadWrite).unwrap();
    assert_eq!(other.take_damage().len(), 1);
    assert_eq!(other.collect(0, false).unwrap().objects, 0);
    assert!(path.exists());
}

/// Where and by whom a run was run stands in a table that a store of an earlier version does not have.
#[test]
fn who_ran_it_and_why_it_ended_is_known_and_not_asked_of_earlier_stores() {
    let case = Case::new();
    let database = case.root().join("records.sqlite");
    let change = |what: &str| {
        let connection = rusqlite::Connection::open(&database).unwrap();
        connection.execute_batch(what).unwrap();
    };
    let begin = |id: &str| {
        let run = RunRecord {
            host: "here".to_owned(),
            user: "somebody".to_owned(),
            ..run(id)
        };
        case.store.begin_run(&run).unwrap();
    };
    let known = |store: &dyn Store| {
        let runs = store.runs(9).unwrap().into_iter();
        let told = runs.map(|run| [run.id, run.host, run.user, run.reason].join(" "));
        told.collect::<Vec<_>>()
    };
    begin("first");
    assert_eq!(known(&*case.store), ["first here somebody "]);
    change("DROP TABLE circumstances");
    assert_eq!(known(&*case.store), ["first   "]);
    let end = |id: &str| {
        let counts = Tally::default();
        case.store.end_run(id, RunStatus::Failed, counts, "no room")
    };
    end("first").unwrap();
    begin("second");
    end("second").unwrap();
    let all = ["second here somebody no room", "first   "];
    assert_eq!(known(&*case.store), all);
    // It is brought over when the database is made anew.
    let Case { folder, store } = case;
    drop(store);
    let root = folder.path().join(".headwater");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection
        .execute_batch("DROP INDEX products_by_prefix")
        .unwrap();
    drop(connection);
    let store = headwater_remember::open(&root, Mode::ReadWrite).unwrap();
    assert_eq!(store.take_damage().len(), 1, "it was made anew");
    assert_eq!(known(&*store), all);
}

/// Until a run has its list, its tasks are those that were noted.
#[test]
fn tasks_that_were_noted_are_told_until_there_is_a_list() {
    let case = Case::new();
    case.store.begin_run(&run("a")).unwrap();
    let task = |number: u64, address: &str| RunTask {
        address: address.to_owned(),
        recipe: recipe(number),
        state: Outcome::Executed,
        started: number,
        wall: 7,
    };
    let noted = [task(1, "one[0]"), task(2, "a\tb\\n\nc\\")];
    assert_eq!(case.store.run_tasks("a").unwrap(), []);
    case.store.note_run_tasks("a", &noted[..1]).unwrap();
    case.store.note_run_tasks("a", &noted[1..]).unwrap();
    assert_eq!(case.store.run_tasks("a").unwrap(), noted);
    // A process that is killed may leave half a line.
    case.store
        .add_to_attachment("a", "tasks", b"executed\t1\t1\t00")
        .unwrap();
    assert_eq!(case.store.run_tasks("a").unwrap(), noted);
    let all = [task(3, "x"), task(1, "one[0]")];
    case.store.put_run_tasks("a", &all).unwrap();
    assert_eq!(case.store.run_tasks("a").unwrap(), all);
    assert!(!case.store.has_attachment("a", "tasks"));
}
