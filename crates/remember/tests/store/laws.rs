//! The laws of stores: what everybody who uses a store relies on, whatever is behind it.
//!
//! Law: each test here runs on every store that there is. They are the promises of `docs/crash-contract.md` that need no
//! disk, and those of the traits in `headwater_graph`. A new kind of store is added to `stores` of the
//! test program, and passes.

use std::collections::HashSet;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use headwater_graph::{
    Alias, Array, Collected, Digest, FoundProduct, FoundRun, Image, Mark, Mode, ObjectPlace,
    ObjectSource, Outcome, Pending, PendingObject, ProductFilter, ProductRecord, Recipe, RunRecord,
    RunStatus, RunTask, Store, StoreEntry, StoreError, Tally, Value, decode_shared, value_digest,
};

use crate::common::{bytes, keep_in, pending, recipe, record, run, staged};

/// Runs a law on each of them.
fn on_each(law: impl Fn(&Arc<dyn Store>)) {
    for (kind, store, _folder) in crate::stores() {
        eprintln!("store: {kind}");
        law(&store);
    }
}

fn digest(number: u64) -> Digest {
    Digest::of(&bytes(number))
}

fn alias(from: u64, to: u64) -> Alias {
    Alias {
        recipe: recipe(from),
        target: recipe(to),
        run: "run".into(),
        time: 5,
    }
}

/// Registers records one after the other: within a batch there is no order.
fn register(store: &dyn Store, records: &[ProductRecord]) {
    for record in records {
        store.register(std::slice::from_ref(record)).unwrap();
    }
}

fn fetch(store: &dyn Store, number: u64) -> Option<ProductRecord> {
    store.fetch(&[recipe(number)]).unwrap().pop().unwrap()
}

fn task(number: u8) -> RunTask {
    RunTask {
        address: format!("stage.task[{number}]"),
        recipe: Recipe([number; 32]),
        state: Outcome::Executed,
        started: u64::from(number),
        wall: 7,
    }
}

/// Acknowledged means: there, with all its bytes, for everybody.
#[test]
fn what_is_acknowledged_is_there_with_its_bytes() {
    on_each(|store| {
        let (tickets, closed) = keep_in(store, (0..20).map(pending));
        closed.unwrap();
        assert_eq!(tickets.len(), 20);
        for number in 0..20 {
            assert_eq!(fetch(&**store, number), Some(record(number)));
            assert_eq!(store.read(&digest(number)).unwrap(), bytes(number));
        }
        let recipes: Vec<Recipe> = (0..22).map(recipe).collect();
        let known = store.known(&recipes).unwrap();
        assert_eq!(known[19], Some(19));
        assert_eq!(known[20..], [None, None]);
        assert_eq!(store.has(&[digest(3), digest(99)]), [true, false]);
        let products = store.products_of(&recipes).unwrap();
        assert_eq!((products[4], products[21]), (Some(recipe(4)), None));
        assert_eq!(store.makers_of(&recipes).unwrap(), ["run".into()]);
        assert!(store.times(&[recipe(2)]).unwrap()[0].is_some_and(|times| times.wall == 2));
    });
}

/// Who makes a product once more changes nothing, unless it came out differently: then the latest is what is there.
#[test]
fn a_recipe_has_one_record() {
    on_each(|store| {
        keep_in(store, [pending(1)]).1.unwrap();
        let again = ProductRecord {
            run: "later".into(),
            ..record(1)
        };
        register(&**store, std::slice::from_ref(&again));
        assert_eq!(fetch(&**store, 1), Some(record(1)));
        let different = ProductRecord {
            outputs: record(8).outputs,
            ..again
        };
        register(&**store, std::slice::from_ref(&different));
        assert_eq!(fetch(&**store, 1), Some(different));
        let all = ProductFilter {
            operation: None,
            run: None,
            limit: 10,
        };
        assert_eq!(store.count_products(&all).unwrap(), 1);
    });
}

/// What is not what its name says is never served, whether that is found out sooner or later.
#[test]
fn wrong_bytes_are_never_served() {
    on_each(|store| {
        let mut wrong = pending(1);
        wrong.objects[0].source = ObjectSource::Bytes(b"other".to_vec());
        let kept = store.keep(&[StoreEntry::Product(wrong)]);
        let refused = kept.is_ok_and(|left_out| !left_out.is_empty());
        let read = store.read(&digest(1));
        assert!(read.is_err(), "{read:?}");
        assert!(refused || store.verify_object(&digest(1)).is_err());
    });
}

/// A product whose file somebody wrote to is given up; the others of its batch are kept.
#[test]
fn a_file_that_changed_on_its_way_in_is_refused() {
    on_each(|store| {
        store.begin_run(&run("run")).unwrap();
        let mut changed = staged(&**store, "run", 2);
        let ObjectSource::Staged(path) = changed.objects[0].source.clone() else {
            panic!("it is staged");
        };
        fs::write(&path, "other bytes").unwrap();
        let mark = Mark::new((0, 0), 0, (0, 0), (0, 0));
        changed.objects[0].source = ObjectSource::Digested(path, mark);
        let good = staged(&**store, "run", 4);
        let batch = [StoreEntry::Product(changed), StoreEntry::Product(good)];
        let left_out = store.keep(&batch).unwrap();
        assert!(
            matches!(left_out.as_slice(), [(0, StoreError::Damaged { .. })]),
            "{left_out:?}"
        );
        assert_eq!(fetch(&**store, 2), None);
        assert_eq!(store.read(&digest(4)).unwrap(), bytes(4));
    });
}

/// Whatever becomes of the file that an object was made from, the object stays.
#[test]
fn objects_outlive_the_files_they_came_from() {
    on_each(|store| {
        store.begin_run(&run("run")).unwrap();
        keep_in(store, [staged(&**store, "run", 6)]).1.unwrap();
        store.remove_staging("run").unwrap();
        assert!(!store.run_folders("run").staging.exists());
        assert_eq!(store.read(&digest(6)).unwrap(), bytes(6));
    });
}

/// Programs get files that they cannot write to, and nothing of the bytes has to be read to have a part of them.
#[test]
fn objects_are_files_and_ranges_too() {
    on_each(|store| {
        keep_in(store, [pending(8)]).1.unwrap();
        let path = store.path(&digest(8)).unwrap();
        assert!(store.is_object(&path) && store.is_inside(&path) && !store.is_staged(&path));
        assert_eq!(fs::read(&path).unwrap(), bytes(8));
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o222, 0, "{mode:o}");
        let all = bytes(8);
        let end = all.len() as u64;
        assert_eq!(store.read_range(&digest(8), 3..11).unwrap(), all[3..11]);
        assert_eq!(
            store.read_range(&digest(8), end - 2..end + 9).unwrap(),
            all[all.len() - 2..]
        );
        let behind = store.read_range(&digest(8), end..end + 9).unwrap();
        assert!(behind.is_empty());
        assert!(store.read_range(&digest(77), 0..1).is_err());
        assert!(matches!(
            store.read(&digest(77)),
            Err(StoreError::Missing(_))
        ));
        assert_eq!(store.path(&digest(77)), None);
    });
}

/// An array comes out of a store where it was read to: aligned, and without a copy.
#[test]
fn arrays_are_shared_with_what_was_read() {
    on_each(|store| {
        let numbers: Vec<f64> = (0..1000).map(f64::from).collect();
        let array = Array::of_vec(&[10, 100], numbers).unwrap();
        let image = Image {
            array: array.clone(),
            channels: "grey".into(),
        };
        for (number, value) in [
            (31, Value::Array(array)),
            (32, Value::Image(Arc::new(image))),
            (33, Value::Text("no array".into())),
        ] {
            let pending = Pending {
                objects: vec![PendingObject {
                    digest: value_digest(&value),
                    source: ObjectSource::Encoding(value.clone()),
                }],
                ..pending(number)
            };
            keep_in(store, [pending]).1.unwrap();
            let owner = store.share(&value_digest(&value)).unwrap();
            let read = decode_shared(&owner).unwrap();
            assert_eq!(read, value);
            let found = match &read {
                Value::Array(array) => array,
                Value::Image(image) => &image.array,
                _ => continue,
            };
            let (all, place) = ((*owner).as_ref().as_ptr_range(), found.bytes().as_ptr());
            assert!(all.contains(&place) && place.addr() % 64 == 0);
        }
        assert!(matches!(
            store.share(&digest(77)),
            Err(StoreError::Missing(_))
        ));
    });
}

/// Where objects are is said without moving them; a path is there for the asking.
#[test]
fn places_are_known_before_paths_are_asked_for() {
    on_each(|store| {
        let pending = pending(41);
        let (here, nowhere) = (pending.objects[0].digest, digest(78));
        keep_in(store, [pending]).1.unwrap();
        let places = store.places(&[nowhere, here]);
        assert_eq!(places[0], ObjectPlace::Missing);
        assert_ne!(places[1], ObjectPlace::Missing);
        let path = store.path(&here).unwrap();
        if let ObjectPlace::Here(place) = &places[1] {
            assert_eq!(*place, path);
        }
        let bytes = fs::read(path).unwrap();
        assert_eq!(Digest::of(&bytes), here);
    });
}

/// A product is known under all its names, of which one step leads to it.
#[test]
fn aliases_lead_to_products() {
    on_each(|store| {
        let batch = [
            StoreEntry::Alias(alias(11, 1)),
            StoreEntry::Product(pending(1)),
            StoreEntry::Alias(alias(12, 11)),
            StoreEntry::Alias(alias(13, 99)),
            StoreEntry::Alias(alias(1, 1)),
        ];
        let left_out = store.keep(&batch).unwrap();
        assert!(matches!(left_out.as_slice(), [(3, _)]), "{left_out:?}");
        for number in [1, 11, 12] {
            assert_eq!(fetch(&**store, number), Some(record(1)), "{number}");
        }
        assert_eq!(fetch(&**store, 13), None);
        let found = store.aliases(&[recipe(1), recipe(12), recipe(13)]).unwrap();
        let target = |alias: &Option<Alias>| alias.as_ref().map(|alias| alias.target);
        let targets: Vec<Option<Recipe>> = found.iter().map(target).collect();
        assert_eq!(targets, [None, Some(recipe(1)), None]);
        // A product of its own counts more.
        keep_in(store, [pending(11)]).1.unwrap();
        assert_eq!(fetch(&**store, 11), Some(record(11)));
    });
}

/// Equal inputs are found whatever their recipes are.
#[test]
fn products_are_found_by_content_key() {
    on_each(|store| {
        let with_key = |number, key| ProductRecord {
            content: Some(recipe(key)),
            ..record(number)
        };
        register(&**store, &[with_key(1, 50), with_key(2, 50), record(3)]);
        let found = store.equal(&[recipe(50), recipe(3), recipe(51)]).unwrap();
        assert_eq!(found, [Some(with_key(2, 50)), Some(record(3)), None]);
    });
}

/// A product is leased to one maker at a time; a lease ends when it is dropped.
#[test]
fn a_key_has_one_holder() {
    on_each(|store| {
        let first = store.leases().unwrap();
        let second = store.leases().unwrap();
        assert!(!first.undisturbed() && !second.undisturbed());
        let held = first.take(&[recipe(1), recipe(2)]).unwrap();
        assert!(second.take(&[recipe(2)]).is_none());
        assert!(first.take(&[recipe(1)]).is_none());
        assert!(
            second.take(&[recipe(3), recipe(1)]).is_none(),
            "all or none"
        );
        let other = second.take(&[recipe(3)]).unwrap();
        drop(held);
        assert!(second.take(&[recipe(1), recipe(2)]).is_some());
        drop(other);
        assert!(first.take(&[recipe(3), recipe(3)]).is_some());
    });
}

/// A run is running while its process has it, and interrupted if it has neither ended nor a process.
#[test]
fn a_run_stands_as_it_is() {
    on_each(|store| {
        store.begin_run(&run("20260101-000000-aaaa")).unwrap();
        store.begin_run(&run("20260102-000000-bbbb")).unwrap();
        assert!(store.is_alive("20260101-000000-aaaa"));
        assert!(store.run_folders("20260101-000000-aaaa").staging.is_dir());
        let counts = Tally {
            tasks: 3,
            executed: 2,
            reused: 1,
            ..Tally::default()
        };
        let (first, second) = ("20260101-000000-aaaa", "20260102-000000-bbbb");
        store
            .end_run(first, RunStatus::Failed, counts, "why")
            .unwrap();
        store.remove_staging(first).unwrap();
        let standing = |id: &str| match store.find_run(id).unwrap() {
            FoundRun::One(run) => (run.status, run.executed, run.reason.clone()),
            other => panic!("{other:?}"),
        };
        assert_eq!(standing(first), (RunStatus::Failed, 2, "why".to_owned()));
        assert_eq!(standing("last"), (RunStatus::Running, 0, String::new()));
        store.remove_staging(second).unwrap();
        assert_eq!(standing(second).0, RunStatus::Interrupted);
        assert!(!store.is_alive(second));
        let all: Vec<String> = store
            .runs(9)
            .unwrap()
            .into_iter()
            .map(|run| run.id)
            .collect();
        assert_eq!(all, [second, first]);
        assert!(
            matches!(store.find_run("2026").unwrap(), FoundRun::Several(ids) if ids.len() == 2)
        );
        assert_eq!(store.find_run("2027").unwrap(), FoundRun::None);
        assert!(
            store
                .end_run("absent", RunStatus::Done, counts, "")
                .is_err()
        );
        for name in ["", "../a", "a/b", first] {
            let wrong = RunRecord {
                id: name.to_owned(),
                ..run("a")
            };
            assert!(store.begin_run(&wrong).is_err(), "{name}");
        }
    });
}

/// Tasks are told as they end, and as a list in the end.
#[test]
fn tasks_of_a_run_are_listed() {
    on_each(|store| {
        for id in ["a", "b"] {
            store.begin_run(&run(id)).unwrap();
        }
        store.note_run_tasks("a", &[task(2)]).unwrap();
        store.note_run_tasks("a", &[task(1)]).unwrap();
        assert_eq!(store.run_tasks("a").unwrap(), [task(2), task(1)]);
        store.put_run_tasks("a", &[task(1), task(2)]).unwrap();
        store.put_run_tasks("a", &[task(3)]).unwrap();
        assert_eq!(store.run_tasks("a").unwrap(), [task(1), task(2), task(3)]);
        assert_eq!(store.run_tasks("absent").unwrap(), []);
        let before = store.tasks_before("b", "stage.task[2]", 5).unwrap();
        assert_eq!(before, [("a".to_owned(), task(2))]);
        assert_eq!(store.tasks_before("a", "stage.task[2]", 5).unwrap(), []);
    });
}

/// Notes are whole: what was written last, or what was added to it.
#[test]
fn attachments_are_replaced_and_added_to() {
    on_each(|store| {
        store.begin_run(&run("a")).unwrap();
        assert!(!store.has_attachment("a", "note"));
        let missing = store.attachment("a", "note").unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        store.attach("a", "note", b"one").unwrap();
        store.attach("a", "note", b"two").unwrap();
        store.add_to_attachment("a", "note", b", three").unwrap();
        store.add_to_attachment("a", "other", b"new").unwrap();
        assert_eq!(store.attachment("a", "note").unwrap(), b"two, three");
        assert!(store.has_attachments("a") && !store.has_attachments("b"));
        store.remove_attachment("a", "note").unwrap();
        store.remove_attachment("a", "note").unwrap();
        assert!(!store.has_attachment("a", "note") && store.has_attachment("a", "other"));
    });
}

fn object_of(number: u64, size: usize, wall: u64) -> Pending {
    let bytes = vec![number as u8; size];
    let digest = Digest::of(&bytes);
    Pending {
        record: ProductRecord {
            wall,
            outputs: Vec::new(),
            ..record(number)
        },
        objects: vec![PendingObject {
            digest,
            source: ObjectSource::Bytes(bytes),
        }],
    }
}

/// Records stay; bytes go, those first that are cheap to make again for their size.
#[test]
fn collection_takes_bytes_and_no_records() {
    on_each(|store| {
        let seconds = |count: u64| count * 1_000_000_000;
        let products = [
            object_of(1, 1000, seconds(9)),
            object_of(2, 1000, seconds(1)),
        ];
        let digests: Vec<Digest> = products.iter().map(|it| it.objects[0].digest).collect();
        keep_in(store, products).1.unwrap();
        assert_eq!(store.object_bytes().unwrap(), 2000);
        let dry = store.collect(1500, true).unwrap();
        assert_eq!(store.object_bytes().unwrap(), 2000, "nothing was changed");
        let done = store.collect(1500, false).unwrap();
        let expected = Collected {
            objects: 1,
            bytes: 1000,
            left: 1000,
            protected: 0,
        };
        assert_eq!((dry, done), (expected, expected));
        assert_eq!(store.has(&digests), [true, false]);
        assert!(fetch(&**store, 2).is_some());
        assert_eq!(store.path(&digests[1]), None);
        assert!(matches!(
            store.read(&digests[1]),
            Err(StoreError::Missing(_))
        ));
    });
}

/// What a run that is alive has made or asked for stays, whoever collects.
#[test]
fn live_runs_keep_their_bytes() {
    on_each(|store| {
        let live = RunRecord {
            started: 0,
            ..run("live")
        };
        store.begin_run(&live).unwrap();
        let product = object_of(1, 1000, 1);
        let digest = product.objects[0].digest;
        keep_in(store, [product]).1.unwrap();
        assert_eq!(store.collect(0, false).unwrap().protected, 1000);
        assert_eq!(store.has(&[digest]), [true]);
        // With a share it is what the run holds.
        store.take_share("live", &[]).unwrap();
        store.hold("live", &[digest]).unwrap();
        assert_eq!(store.collect(0, false).unwrap().left, 1000);
        store.give_up("live", &|_| false).unwrap();
        assert_eq!(store.collect(0, false).unwrap().left, 0);
    });
}

/// Of several runs with a limit no two are admitted to the same room.
#[test]
fn runs_are_admitted_one_after_the_other() {
    on_each(|store| {
        for id in ["a", "b"] {
            store.begin_run(&run(id)).unwrap();
            store.take_share(id, &[]).unwrap();
        }
        assert!(store.admit("a", 600, 1000).unwrap().1);
        let (load, fits) = store.admit("b", 600, 1000).unwrap();
        assert_eq!((load.bytes(), fits), (600, false));
        store.set_arriving("a", 100).unwrap();
        assert!(store.admit("b", 600, 1000).unwrap().1);
        store.set_waits("b", true).unwrap();
        let neighbours = store.neighbours("a").unwrap();
        assert_eq!(neighbours.len(), 1);
        assert!(neighbours[0].waits && neighbours[0].held == Some(0));
        let product = object_of(1, 500, 1);
        let digest = product.objects[0].digest;
        keep_in(store, [product]).1.unwrap();
        assert_eq!(store.listed_bytes(&[digest]).unwrap(), 500);
        assert_eq!(
            store.listed_among(&[digest, Digest([7; 32])]),
            HashSet::from([digest])
        );
        let (collected, gone) = store.make_room("a", 0, &|_| false).unwrap();
        assert_eq!((collected.left, gone), (0, vec![digest]));
    });
}

/// People find products by what they know of them.
#[test]
fn people_find_products() {
    on_each(|store| {
        let by = |number, run: &str| ProductRecord {
            run: run.into(),
            operation: "op".into(),
            ..record(number)
        };
        register(&**store, &[by(1, "a"), by(2, "b"), by(3, "b"), record(4)]);
        let filter = |operation: Option<&str>, run: Option<&str>, limit| ProductFilter {
            operation: operation.map(str::to_owned),
            run: run.map(str::to_owned),
            limit,
        };
        let recipes = |filter: &ProductFilter| -> Vec<Recipe> {
            store
                .products(filter)
                .unwrap()
                .iter()
                .map(|it| it.recipe)
                .collect()
        };
        assert_eq!(
            recipes(&filter(Some("op"), None, 2)),
            [recipe(3), recipe(2)]
        );
        assert_eq!(recipes(&filter(Some("op"), Some("a"), 9)), [recipe(1)]);
        assert_eq!(
            store.count_products(&filter(Some("op"), None, 2)).unwrap(),
            3
        );
        let before = store.products_before(&by(3, "b"), 9).unwrap();
        assert_eq!(before, [by(1, "a")]);
        let digits = &recipe(4).hex()[..12];
        let found = store.find_product(digits).unwrap();
        assert!(matches!(found, FoundProduct::One { asked, .. } if asked == recipe(4)));
        for nothing in ["", "xyz", "0123456789abcdef0123"] {
            assert_eq!(store.find_product(nothing).unwrap(), FoundProduct::None);
        }
        let parts = vec![("template".to_owned(), "echo".to_owned())];
        store.note_versions(&[("v".into(), parts.clone())]).unwrap();
        assert_eq!(store.version_parts("v").unwrap(), Some(parts));
        assert_eq!(store.version_parts("w").unwrap(), None);
    });
}

/// What earlier executions cost is known by operation and version.
#[test]
fn costs_are_those_of_earlier_executions() {
    on_each(|store| {
        let of = |number, wall| ProductRecord {
            operation: "op".into(),
            version: "2".into(),
            wall,
            ..record(number)
        };
        register(&**store, &[of(1, 10), of(2, 30), of(3, 20), record(4)]);
        let asked = [("op".into(), "2".into()), ("op".into(), "3".into())];
        let costs = store.costs(&asked).unwrap();
        let median = costs[0].as_ref().map(|cost| (cost.executions, cost.wall));
        assert_eq!((median, costs[1].is_none()), (Some((3, 20)), true));
        assert!((store.expected_reads("op") - 1.0).abs() < 1e-9);
        store.note_habits(&[("op".into(), 3, 7)]).unwrap();
        assert!((store.expected_reads("op") - 2.0).abs() < 1e-9);
        assert!(store.rates().write > 0.0);
    });
}

/// The digest of a file goes with what the file looked like when it was read.
#[test]
fn files_of_the_user_are_digested_with_their_marks() {
    on_each(|store| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/file");
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(&path, "bytes").unwrap();
        let found = store.digest_file(&path).unwrap();
        assert_eq!(found.digest, Digest::of(b"bytes"));
        assert_eq!(found.mark.size, 5);
        let (value, files) = store.digest_directory(folder.path()).unwrap();
        assert_eq!(value.entries.len(), 1);
        assert_eq!(files, [found]);
        fs::write(&path, "other").unwrap();
        let other = store.digest_file(&path).unwrap();
        assert_ne!((other.digest, other.mark), (found.digest, found.mark));
        assert!(store.digest_file(&folder.path().join("absent")).is_err());
        assert!(store.digest_file(folder.path()).is_err());
    });
}

/// Reading everything finds everything right, and says how much that is.
#[test]
fn everything_can_be_verified() {
    on_each(|store| {
        keep_in(store, [pending(0), pending(2)]).1.unwrap();
        let verified = store.verify(2, &|_, _| ()).unwrap();
        let size = (bytes(0).len() + bytes(2).len()) as u64;
        assert_eq!(
            (verified.objects, verified.bytes, verified.records),
            (2, size, 2)
        );
        assert!(verified.damaged.is_empty() && verified.missing.is_empty());
        assert_eq!(store.take_damage(), [""; 0]);
        assert!(store.exists());
        assert_eq!(store.mode(), Mode::ReadWrite);
    });
}

/// Objects of another store come in by themselves, and only if they are what their name says.
#[test]
fn objects_of_another_store_are_brought() {
    on_each(|store| {
        let (right, wrong) = (bytes(3), bytes(4));
        let (mut first, mut second) = (&right[..], &right[..]);
        let mut objects: [(Digest, &mut dyn Read); 2] =
            [(digest(3), &mut first), (Digest::of(&wrong), &mut second)];
        let left_out = store.bring(&mut objects).unwrap();
        assert_eq!(left_out.len(), 1);
        assert!(matches!(left_out[0], (1, StoreError::Damaged { .. })));
        assert_eq!(store.has(&[digest(3), Digest::of(&wrong)]), [true, false]);
        assert_eq!(store.read(&digest(3)).unwrap(), right);
        // No record names it: it may go.
        store.collect(0, false).unwrap();
        assert_eq!(store.has(&[digest(3)]), [false]);
    });
}
