//! Collecting: what is worth least goes first, what is in use stays, and nothing is lost but bytes.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{Case, bytes, pending, recipe, record, run};
use headwater_graph::{Collected, Digest, Mode, StoreError};
use headwater_remember::Writer;

fn digest(number: u64) -> Digest {
    Digest::of(&bytes(number))
}

fn object_path(case: &Case, digest: &Digest) -> PathBuf {
    let hex = digest.hex();
    case.root().join("objects").join(&hex[..2]).join(&hex[2..])
}

fn execute(case: &Case, change: &str, arguments: impl rusqlite::Params) {
    let connection = rusqlite::Connection::open(case.root().join("records.sqlite")).unwrap();
    connection.execute(change, arguments).unwrap();
}

/// Sets what is known of an object.
fn set(case: &Case, number: u64, seconds: i64, reads: i64, used: i64) {
    execute(
        case,
        "UPDATE objects SET wall = ?, reads = ?, used = ? WHERE digest = ?",
        (seconds * 1_000_000_000, reads, used, &digest(number).0[..]),
    );
}

fn get(case: &Case, number: u64, column: &str) -> i64 {
    let connection = rusqlite::Connection::open(case.root().join("records.sqlite")).unwrap();
    connection
        .query_row(
            &format!("SELECT {column} FROM objects WHERE digest = ?"),
            [&digest(number).0[..]],
            |row| row.get(0),
        )
        .unwrap()
}

fn size(number: u64) -> u64 {
    bytes(number).len() as u64
}

/// The objects of which files are there, among those of the first even numbers.
fn files(case: &Case, count: u64) -> Vec<u64> {
    (0..count)
        .map(|number| 2 * number)
        .filter(|number| object_path(case, &digest(*number)).exists())
        .collect()
}

#[test]
fn what_is_worth_least_goes_first() {
    let case = Case::new();
    // Even numbers: neighbours share their object.
    case.keep((0..5).map(|number| pending(2 * number)));
    // Seconds to make, reads, when used; all of nearly the same size.
    set(&case, 0, 10, 0, 1);
    set(&case, 2, 10, 9, 1);
    set(&case, 4, 50, 0, 1);
    set(&case, 6, 10, 0, 0);
    set(&case, 8, 0, 50, 1);
    let all = [0, 2, 4, 6, 8];
    let total: u64 = all.iter().map(|number| size(*number)).sum();
    assert_eq!(case.store.object_bytes().unwrap(), total);
    // Reading takes time, so that what took none to make is worth less than nothing. Of equals (0 is a little
    // smaller than 6 and so worth a little more), the rest by what they save.
    let order = [8, 6, 0, 4, 2];
    let mut left = total;
    for (gone, number) in order.iter().enumerate() {
        let expected = Collected {
            objects: 1,
            bytes: size(*number),
            left: left - size(*number),
            protected: 0,
        };
        let reader = case.open(Mode::ReadOnly);
        for store in [&*case.store, &*reader] {
            assert_eq!(store.collect(left - 1, true).unwrap(), expected);
        }
        assert!(matches!(
            reader.collect(left - 1, false),
            Err(StoreError::ReadOnly)
        ));
        assert_eq!(files(&case, 5).len(), 5 - gone);
        assert_eq!(case.store.collect(left - 1, false).unwrap(), expected);
        left -= size(*number);
        assert!(!object_path(&case, &digest(*number)).exists());
        assert_eq!(case.store.path(&digest(*number)), None);
        assert_eq!(case.store.object_bytes().unwrap(), left);
    }
    assert_eq!(files(&case, 5), [0; 0]);
    // Records stay, and what is made anew is there again.
    let recipes: Vec<_> = all.iter().map(|number| recipe(*number)).collect();
    assert!(
        case.store
            .known(&recipes)
            .unwrap()
            .iter()
            .all(Option::is_some)
    );
    assert_eq!(case.store.fetch(&[recipe(4)]).unwrap(), [Some(record(4))]);
    case.keep([pending(4)]);
    assert_eq!(case.store.read(&digest(4)).unwrap(), bytes(4));
    assert_eq!(case.store.take_damage(), [""; 0]);
}

#[test]
fn of_equals_the_one_used_longest_ago_goes() {
    let case = Case::new();
    // Equal sizes: the numbers differ by a multiple of the cycle of sizes.
    case.keep([pending(0), pending(2000), pending(4000)]);
    for (number, used) in [(0, 3), (2000, 1), (4000, 2)] {
        set(&case, number, 10, 0, used);
    }
    for expected in [2000, 4000, 0] {
        let left = case.store.object_bytes().unwrap();
        case.store.collect(left - 1, false).unwrap();
        assert!(!object_path(&case, &digest(expected)).exists());
        assert_eq!(case.store.object_bytes().unwrap(), left - size(expected));
    }
}

#[test]
fn what_a_live_run_made_or_used_stays() {
    let case = Case::new();
    case.keep((0..4).map(|number| pending(2 * number)));
    for number in [0, 2, 4, 6] {
        set(&case, number, 10, 0, 1000);
    }
    let mut begun = run("run");
    begun.started = 5000;
    let engine = case.open(Mode::ReadWrite);
    engine.begin_run(&begun).unwrap();
    // It uses one, by path or by reading, and makes one anew that was there.
    assert!(engine.path(&digest(0)).is_some());
    engine.read(&digest(2)).unwrap();
    case.keep([pending(4)]);
    let protected = size(0) + size(2) + size(4);
    let expected = Collected {
        objects: 1,
        bytes: size(6),
        left: protected,
        protected,
    };
    assert_eq!(case.store.collect(0, true).unwrap(), expected);
    assert_eq!(case.store.collect(0, false).unwrap(), expected);
    assert_eq!(files(&case, 4), [0, 2, 4]);
    // What was used before it began, be it for a moment, is not its concern.
    set(&case, 0, 10, 0, 4998);
    set(&case, 2, 10, 0, 5000);
    assert_eq!(case.store.collect(0, false).unwrap().bytes, size(0));
    // When it has ended, or its process has, it protects nothing.
    engine.remove_staging("run").unwrap();
    assert_eq!(case.store.collect(0, false).unwrap().left, 0);
    assert_eq!(files(&case, 4), [0; 0]);
}

/// A run that makes room says what it needs; what it has merely used may go, and so may what a dead run used a moment
/// ago. What another run uses may not.
#[test]
fn a_run_makes_room_at_its_own_cost() {
    let case = Case::new();
    case.keep((0..4).map(|number| pending(2 * number)));
    let dead = case.open(Mode::ReadWrite);
    dead.begin_run(&run("dead")).unwrap();
    assert!(dead.path(&digest(0)).is_some());
    drop(dead);
    case.store.begin_run(&run("own")).unwrap();
    for number in [2, 4] {
        assert!(case.store.path(&digest(number)).is_some());
    }
    let needs = |asked: &Digest| *asked == digest(4);
    let other = case.open(Mode::ReadWrite);
    other.begin_run(&run("other")).unwrap();
    set(&case, 6, 10, 0, 4_000_000_000);
    for number in [0, 2, 4] {
        set(&case, number, 10, 0, 1000);
    }
    let (collected, mut gone) = case.store.make_room("own", 0, &needs).unwrap();
    gone.sort_unstable();
    let mut expected = [digest(0), digest(2)];
    expected.sort_unstable();
    assert_eq!(gone, expected);
    assert_eq!(collected.left, size(4) + size(6));
    assert_eq!(files(&case, 4), [4, 6]);
    other.remove_staging("other").unwrap();
    // As a dead run leaves it: used this very moment.
    set(&case, 6, 10, 0, 4_000_000_000);
    let (collected, _) = case.store.make_room("own", 0, &needs).unwrap();
    assert_eq!(collected.left, size(4));
    let listed = case.store.listed_among(&[digest(2), digest(4)]);
    assert_eq!(listed.into_iter().collect::<Vec<_>>(), [digest(4)]);
}

/// A run with a limit says by digest what it holds; until it has, it is protected by time.
#[test]
fn a_run_with_a_share_protects_what_it_holds_and_nothing_else() {
    let case = Case::new();
    case.keep((0..3).map(|number| pending(2 * number)));
    for number in [0, 2, 4] {
        set(&case, number, 10, 0, 4_000_000_000);
    }
    let other = case.open(Mode::ReadWrite);
    other.begin_run(&run("other")).unwrap();
    assert_eq!(case.store.collect(0, true).unwrap().objects, 0);
    other.take_share("other", &[digest(0)]).unwrap();
    other.hold("other", &[digest(2)]).unwrap();
    assert_eq!(case.store.collect(0, true).unwrap().objects, 1);
    other
        .give_up("other", &|asked| *asked == digest(2))
        .unwrap();
    let all = size(0) + size(2) + size(4);
    assert_eq!(other.load("other").unwrap().objects, all);
    case.store.collect(0, false).unwrap();
    assert_eq!(files(&case, 3), [2]);
    assert_eq!(other.load("other").unwrap().objects, size(2));
    // What one is about to place counts for others, and after its death until somebody has looked for what it left.
    case.store.begin_run(&run("own")).unwrap();
    case.store.take_share("own", &[]).unwrap();
    assert!(other.admit("other", 100, size(2) + 100).unwrap().1);
    assert!(!case.store.admit("own", 1, size(2) + 100).unwrap().1);
    drop(other);
    let load = case.store.load("own").unwrap();
    assert!(load.has_dead && load.arriving == 100, "{load:?}");
    case.store.end_dead_shares().unwrap();
    assert!(case.store.admit("own", 1, size(2) + 100).unwrap().1);
    // A new database has no shares, and all is counted as before.
    execute(&case, "DROP TABLE shares", []);
    assert_eq!(case.store.load("own").unwrap().bytes(), size(2));
}

#[test]
fn a_run_that_is_not_listed_yet_protects_since_its_claim() {
    let case = Case::new();
    case.keep([pending(0), pending(2)]);
    set(&case, 0, 10, 0, 1000);
    set(&case, 2, 10, 0, i64::MAX);
    let engine = case.open(Mode::ReadWrite);
    engine.begin_run(&run("run")).unwrap();
    execute(&case, "DELETE FROM runs", []);
    assert_eq!(case.store.collect(0, false).unwrap().left, size(2));
}

#[test]
fn uses_are_counted_once_per_run() {
    let case = Case::new();
    case.keep([pending(0), pending(2)]);
    for _ in 0..3 {
        set(&case, 0, 10, get(&case, 0, "reads"), 1000);
        let store = case.open(Mode::ReadWrite);
        store
            .begin_run(&run(&format!("run-{}", get(&case, 0, "reads"))))
            .unwrap();
        for _ in 0..3 {
            assert!(store.path(&digest(0)).is_some());
            store.read(&digest(0)).unwrap();
        }
    }
    assert_eq!(get(&case, 0, "reads"), 3);
    assert!(get(&case, 0, "used") > 1_700_000_000);
    assert_eq!(get(&case, 2, "reads"), 0);
    // Without a run each counts, but within one question only once.
    case.store.paths(&[digest(0), digest(0)]);
    case.store.paths(&[digest(0)]);
    assert_eq!(get(&case, 0, "reads"), 5);
    // Those who may not write count nothing.
    assert!(case.open(Mode::ReadOnly).path(&digest(0)).is_some());
    assert_eq!(get(&case, 0, "reads"), 5);
}

#[test]
fn files_that_no_row_names_are_removed() {
    let case = Case::new();
    case.keep([pending(0), pending(2)]);
    // As after a crash between the two steps, and before a commit.
    execute(
        &case,
        "DELETE FROM objects WHERE digest = ?",
        [&digest(0).0[..]],
    );
    let stray = object_path(&case, &Digest::of(b"stray"));
    fs::create_dir_all(stray.parent().unwrap()).unwrap();
    fs::write(&stray, "stray").unwrap();
    let other = case.root().join("objects/README");
    fs::write(&other, "not an object").unwrap();
    let damaged = case.root().join("objects/damaged");
    fs::create_dir_all(&damaged).unwrap();
    fs::write(damaged.join(digest(8).hex()), "wrong").unwrap();

    let everything = || {
        [
            stray.clone(),
            object_path(&case, &digest(0)),
            damaged.join(digest(8).hex()),
        ]
        .map(|path| path.exists())
    };
    assert_eq!(case.store.path(&digest(0)), None);
    let collected = case.store.collect(u64::MAX, true).unwrap();
    assert_eq!(everything(), [true; 3]);
    assert_eq!(collected, case.store.collect(u64::MAX, false).unwrap());
    assert_eq!((collected.objects, collected.left), (0, size(2)));
    assert_eq!(everything(), [false; 3]);
    assert!(other.exists());
    assert!(case.store.path(&digest(2)).is_some());
    // Where there is no store, there is nothing to collect.
    let nothing = headwater_remember::open(&case.root().join("none"), Mode::ReadOnly).unwrap();
    assert_eq!(nothing.collect(0, true).unwrap(), Collected::default());
    assert_eq!(nothing.object_bytes().unwrap(), 0);
}

/// Two stores place objects over and over, some of them the same, while a third takes away what it may.
#[test]
fn a_collection_never_takes_what_a_commit_speaks_of() {
    let case = Case::new();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let collector = scope.spawn(|| {
            let store = case.open(Mode::ReadWrite);
            let mut removed = 0;
            while !stop.load(Ordering::Relaxed) {
                removed += store.collect(0, false).unwrap().objects;
            }
            removed
        });
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let case = &case;
                scope.spawn(move || place_again_and_again(case, writer))
            })
            .collect();
        let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        stop.store(true, Ordering::Relaxed);
        let removed = collector.join().unwrap();
        for ended in ended {
            ended.unwrap();
        }
        assert!(removed > 0, "the test has to see something");
    });
}

fn place_again_and_again(case: &Case, writer: u64) {
    let store = Arc::new(case.open(Mode::ReadWrite));
    let own = (1..5).map(|number| 2000 * number + 2 + 2 * writer);
    let numbers: Vec<u64> = (0..4).map(|number| 2 * number).chain(own.clone()).collect();
    let digests: Vec<Digest> = numbers.iter().map(|number| digest(*number)).collect();
    for round in 0..60 {
        // What is made while the run lives is safe.
        let id = format!("run-{writer}-{round}");
        let mut begun = run(&id);
        begun.started = i64::MAX;
        store.begin_run(&begun).unwrap();
        // Those of its own are left from long ago, and may go until they are made again.
        for number in own.clone() {
            set(case, number, 1, 0, 0);
        }
        let keeper = Writer::start(Arc::clone(&store), Box::new(|_| {}));
        for number in &numbers {
            keeper.submit(pending(*number));
        }
        keeper.close().unwrap();
        for (path, digest) in store.paths(&digests).into_iter().zip(&digests) {
            let path = path.expect("it was committed, and the run is alive");
            assert_eq!(Digest::of(&fs::read(path).unwrap()), *digest);
        }
        store.remove_staging(&id).unwrap();
    }
    assert_eq!(store.take_damage(), [""; 0]);
}

#[test]
fn sizes_that_damage_has_made_huge_do_not_overflow() {
    let case = Case::new();
    case.keep((0..3).map(|number| pending(2 * number)));
    let connection = rusqlite::Connection::open(case.root().join("records.sqlite")).unwrap();
    for size in [i64::MAX, -1] {
        connection
            .execute("UPDATE objects SET size = ?", [size])
            .unwrap();
        assert_eq!(case.store.object_bytes().unwrap(), u64::MAX);
        let verified = case.open(Mode::ReadOnly).verify(1, &|_, _| ()).unwrap();
        assert_eq!(verified.objects, 3);
        assert_eq!(case.store.collect(0, true).unwrap().bytes, u64::MAX);
    }
    assert_eq!(case.store.collect(0, false).unwrap().objects, 3);
}
