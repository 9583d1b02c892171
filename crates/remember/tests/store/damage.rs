//! Damage: whatever becomes of the files, the store opens, serves no wrong record, and has everything again after
//! everything was kept again; what the journal still has need not be kept again.
//!
//! The damage is done to copies of one store, page by page. Bytes are flipped at places that follow from numbers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::common::{
    Case, bytes, check_served, copy_tree, keep_in, pending, recipe, record, run, scratch,
};
use headwater_graph::Store;
use headwater_graph::{Digest, Mode, Outcome, RunStatus, RunTask, StoreError, Tally};

/// Products in the store that is damaged.
const COUNT: u64 = 60;
const PAGE: usize = 4096;

/// The store that is copied: with the log copied into the database, and with the log as a crash leaves it.
struct Model {
    _folder: tempfile::TempDir,
    whole: PathBuf,
    with_log: PathBuf,
}

fn model() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| {
        let folder = scratch();
        let (whole, with_log) = (folder.path().join("whole"), folder.path().join("with-log"));
        let store = headwater_remember::open(&whole, Mode::ReadWrite).unwrap();
        store.begin_run(&run("run")).unwrap();
        // Several commits, so that the log has several.
        for start in (0..COUNT).step_by(10) {
            keep_in(&store, (start..start + 10).map(pending)).1.unwrap();
        }
        let tasks: Vec<RunTask> = (0..COUNT)
            .map(|number| RunTask {
                address: format!("stage.task[{number}]"),
                recipe: recipe(number),
                state: Outcome::Executed,
                started: number,
                wall: number,
            })
            .collect();
        store.put_run_tasks("run", &tasks).unwrap();
        store
            .end_run("run", RunStatus::Done, Tally::default(), "")
            .unwrap();
        copy_tree(&whole, &with_log);
        let _ = fs::remove_file(with_log.join("records.sqlite-shm"));
        drop(store);
        let log = fs::metadata(whole.join("records.sqlite-wal")).map_or(0, |found| found.len());
        assert_eq!(log, 0, "everything is in the database");
        Model {
            _folder: folder,
            whole,
            with_log,
        }
    })
}

/// A copy of a store that may be damaged.
struct Patient {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Patient {
    fn of(model: &Path) -> Patient {
        let folder = scratch();
        let root = folder.path().join("store");
        copy_tree(model, &root);
        Patient {
            _folder: folder,
            root,
        }
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.root.join(name);
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
    }

    /// Opens it, looks everything up, keeps everything again, and opens it once more; returns what was known at first
    /// and what was said about damage.
    fn survives(&self, what: &str) -> (Vec<u64>, Vec<String>) {
        let open = |mode| {
            headwater_remember::open(&self.root, mode)
                .unwrap_or_else(|error| panic!("{what}: refused: {error}"))
        };
        let reader = open(Mode::ReadOnly);
        check_served(&*reader, 0..COUNT);
        drop(reader);
        let store = Arc::new(open(Mode::ReadWrite));
        let known = check_served(&**store, 0..COUNT);
        let damage = store.take_damage();
        // The lists of runs may have lost something, but they can be asked for.
        let runs = store.runs(10).unwrap();
        assert!(runs.len() <= 1, "{what}: {runs:?}");
        store.run_tasks("run").unwrap();
        store.begin_run(&run("next")).unwrap();
        let (tickets, closed) = keep_in(&store, (0..COUNT).map(pending));
        closed.unwrap_or_else(|error| panic!("{what}: not kept again: {error}"));
        assert_eq!(tickets.len() as u64, COUNT, "{what}");
        store
            .end_run("next", RunStatus::Done, Tally::default(), "")
            .unwrap();
        let complete = |store: &dyn Store| {
            assert_eq!(check_served(store, 0..COUNT).len() as u64, COUNT, "{what}");
            for number in 0..COUNT {
                let digest = Digest::of(&bytes(number));
                assert!(store.path(&digest).is_some(), "{what}: {number}");
                assert_eq!(store.read(&digest).unwrap(), bytes(number), "{what}");
            }
        };
        complete(&**store);
        drop(store);
        complete(&*open(Mode::ReadWrite));
        complete(&*open(Mode::ReadOnly));
        (known, damage)
    }
}

fn pages() -> usize {
    let length = fs::metadata(model().whole.join("records.sqlite"))
        .unwrap()
        .len() as usize;
    assert!(
        length > 15 * PAGE && length.is_multiple_of(PAGE),
        "{length}"
    );
    length / PAGE
}

fn all() -> Vec<u64> {
    (0..COUNT).collect()
}

/// Numbers that look random and follow from a seed.
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut count = seed << 32;
    move || {
        count += 1;
        let digest = Digest::of(&count.to_le_bytes());
        u64::from_le_bytes(digest.0[..8].try_into().unwrap())
    }
}

#[test]
fn a_store_without_damage_is_left_alone() {
    for model in [&model().whole, &model().with_log] {
        let (known, damage) = Patient::of(model).survives("nothing");
        assert_eq!(known, all());
        assert_eq!(damage, [""; 0]);
    }
}

#[test]
fn a_page_of_zeros_costs_no_record() {
    let mut noticed = 0;
    for page in 0..pages() {
        let patient = Patient::of(&model().whole);
        patient.change("records.sqlite", |bytes| {
            bytes[page * PAGE..][..PAGE].fill(0);
        });
        let (known, damage) = patient.survives(&format!("page {page} zeroed"));
        assert_eq!(known, all(), "page {page}");
        noticed += usize::from(!damage.is_empty());
    }
    assert!(noticed > pages() / 3, "{noticed} of {}", pages());
}

#[test]
fn a_torn_page_makes_no_wrong_record() {
    for page in 0..pages() {
        let patient = Patient::of(&model().whole);
        patient.change("records.sqlite", |bytes| {
            bytes[page * PAGE + PAGE / 2..][..PAGE / 2].fill(0);
        });
        let (known, damage) = patient.survives(&format!("page {page} torn"));
        assert!(
            known == all() || damage.is_empty(),
            "page {page}: made anew, and yet incomplete"
        );
    }
}

#[test]
fn flipped_bytes_make_no_wrong_record() {
    for seed in 0..4 {
        for page in 0..pages() {
            let mut random = random(seed * 1000 + page as u64);
            let patient = Patient::of(&model().whole);
            patient.change("records.sqlite", |bytes| {
                for _ in 0..1 << (2 * seed) {
                    let at = page * PAGE + random() as usize % PAGE;
                    bytes[at] ^= (random() as u8).max(1);
                }
            });
            patient.survives(&format!("page {page}, seed {seed}"));
        }
    }
}

#[test]
fn every_byte_of_the_marks_may_flip() {
    // The number of the format, the application, the size of a page, the encoding of text and so on.
    for at in 0..100 {
        let patient = Patient::of(&model().whole);
        patient.change("records.sqlite", |bytes| bytes[at] ^= 0x41);
        let (known, _) = patient.survives(&format!("byte {at}"));
        assert_eq!(known, all(), "byte {at}");
    }
}

#[test]
fn a_shorter_database_costs_no_record() {
    for length in [0, 1, 99, 100, 5000, 3 * PAGE, 9 * PAGE + 7] {
        let patient = Patient::of(&model().whole);
        patient.change("records.sqlite", |bytes| bytes.truncate(length));
        let (known, damage) = patient.survives(&format!("{length} bytes left"));
        assert_eq!(known, all(), "{length}");
        assert!(!damage.is_empty(), "{length}");
    }
    let patient = Patient::of(&model().whole);
    fs::remove_file(patient.root.join("records.sqlite")).unwrap();
    assert_eq!(patient.survives("no database").0, all());
}

#[test]
fn a_damaged_log_costs_no_record() {
    let name = "records.sqlite-wal";
    let length = fs::metadata(model().with_log.join(name)).unwrap().len() as usize;
    assert!(length > 20 * PAGE, "{length}");
    // Not a multiple of anything in the file.
    for at in (0..length).step_by(6007) {
        let cut = Patient::of(&model().with_log);
        cut.change(name, |bytes| bytes.truncate(at));
        assert_eq!(cut.survives(&format!("log cut at {at}")).0, all(), "{at}");
        let zeroed = Patient::of(&model().with_log);
        zeroed.change(name, |bytes| {
            let end = (at + 3000).min(length);
            bytes[at..end].fill(0);
        });
        assert_eq!(
            zeroed.survives(&format!("log zeroed at {at}")).0,
            all(),
            "{at}"
        );
    }
}

#[test]
fn a_damaged_journal_costs_nothing() {
    let name = "records.journal";
    let length = fs::metadata(model().whole.join(name)).unwrap().len() as usize;
    for at in (0..length).step_by(length / 8) {
        let cut = Patient::of(&model().whole);
        cut.change(name, |bytes| bytes.truncate(at));
        let (known, damage) = cut.survives(&format!("journal cut at {at}"));
        assert_eq!(known, all());
        assert!(
            damage.len() == 1 && damage[0].contains("written anew from the database"),
            "{damage:?}"
        );
        // It is as good as before.
        fs::remove_file(cut.root.join("records.sqlite")).unwrap();
        assert_eq!(cut.survives("then the database").0, all());
        let zeroed = Patient::of(&model().whole);
        zeroed.change(name, |bytes| bytes[at..][..100.min(length - at)].fill(0));
        assert_eq!(zeroed.survives(&format!("journal zeroed at {at}")).0, all());
    }
    let gone = Patient::of(&model().whole);
    fs::remove_file(gone.root.join(name)).unwrap();
    assert_eq!(gone.survives("no journal").0, all());
}

#[test]
fn what_neither_database_nor_journal_has_is_made_again() {
    let patient = Patient::of(&model().whole);
    fs::remove_file(patient.root.join("records.sqlite")).unwrap();
    patient.change("records.journal", |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle..middle + 10].fill(0);
    });
    let (known, _) = patient.survives("no database, and a hole in the journal");
    let lost = COUNT - known.len() as u64;
    assert!(lost <= 1, "a hole of ten bytes costs an entry: {lost}");
    let patient = Patient::of(&model().whole);
    fs::remove_file(patient.root.join("records.sqlite")).unwrap();
    fs::remove_file(patient.root.join("records.journal")).unwrap();
    let (known, damage) = patient.survives("neither database nor journal");
    assert_eq!(known, [0; 0]);
    assert_eq!(damage, [""; 0], "it is a new store");
}

#[test]
fn without_a_journal_what_can_be_read_of_the_database_is_kept() {
    let mut least = usize::MAX;
    let mut runs = 0;
    for page in 0..pages() {
        let patient = Patient::of(&model().whole);
        fs::remove_file(patient.root.join("records.journal")).unwrap();
        patient.change("records.sqlite", |bytes| {
            bytes[page * PAGE..][..PAGE].fill(0);
        });
        let store = headwater_remember::open(&patient.root, Mode::ReadWrite).unwrap();
        let known = check_served(&*store, 0..COUNT);
        runs += store.runs(10).unwrap().len();
        drop(store);
        // The first page tells where the others are.
        if page > 0 {
            least = least.min(known.len());
        }
        patient.survives(&format!("page {page} zeroed, no journal"));
    }
    assert!(
        runs > pages() / 2,
        "the list of runs is brought over as well: {runs}"
    );
    assert!(least < COUNT as usize, "some page held records");
}

#[test]
fn a_damaged_object_is_made_again() {
    let digest = Digest::of(&bytes(8));
    let hex = digest.hex();
    let name = format!("objects/{}/{}", &hex[..2], &hex[2..]);
    let changes: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.truncate(10),
        Vec::clear,
        |bytes| bytes.fill(0),
        |bytes| bytes[7] ^= 1,
    ];
    for change in changes {
        let patient = Patient::of(&model().whole);
        let path = patient.root.join(&name);
        fs::remove_file(&path).unwrap();
        let mut wrong = bytes(8);
        change(&mut wrong);
        fs::write(&path, wrong).unwrap();
        let store = headwater_remember::open(&patient.root, Mode::ReadWrite).unwrap();
        assert!(matches!(
            store.read(&digest),
            Err(StoreError::Damaged { .. })
        ));
        assert_eq!(store.path(&digest), None);
        assert_eq!(check_served(&*store, 0..COUNT), all(), "records stay");
        drop(store);
        patient.survives("an object");
    }
}

#[test]
fn objects_that_the_journal_does_not_list_are_read_before_they_are() {
    let patient = Patient::of(&model().whole);
    fs::remove_file(patient.root.join("records.journal")).unwrap();
    patient.change("records.sqlite", |bytes| bytes[..PAGE].fill(0));
    let (good, bad) = (Digest::of(&bytes(8)), Digest::of(&bytes(10)));
    let hex = bad.hex();
    patient.change(&format!("objects/{}/{}", &hex[..2], &hex[2..]), |bytes| {
        bytes[0] ^= 1;
    });
    let store = headwater_remember::open(&patient.root, Mode::ReadWrite).unwrap();
    assert!(store.path(&good).is_some());
    assert_eq!(store.path(&bad), None);
}

#[test]
fn others_who_have_the_old_database_open_go_over_to_the_new_one() {
    let patient = Patient::of(&model().whole);
    let first = headwater_remember::open(&patient.root, Mode::ReadWrite).unwrap();
    let second = headwater_remember::open(&patient.root, Mode::ReadWrite).unwrap();
    let reader = headwater_remember::open(&patient.root, Mode::ReadOnly).unwrap();
    for store in [&*first, &*second, &*reader] {
        assert_eq!(check_served(store, 0..COUNT), all());
    }
    // Only what is not in anybody's cache is missed; a new store has none.
    patient.change("records.sqlite", |bytes| bytes[PAGE..].fill(0));
    let third = headwater_remember::open(&patient.root, Mode::ReadWrite).unwrap();
    assert_eq!(check_served(&*third, 0..COUNT), all());
    assert_eq!(third.take_damage().len(), 1);
    for (store, number) in [(&first, COUNT), (&third, COUNT + 1), (&second, COUNT + 2)] {
        keep_in(store, [pending(number)]).1.unwrap();
    }
    for store in [&*first, &*second, &*third, &*reader] {
        assert_eq!(check_served(store, 0..COUNT + 3).len() as u64, COUNT + 3);
    }
    drop((first, second));
    keep_in(&third, [pending(COUNT + 3)]).1.unwrap();
    drop(third);
    let store = headwater_remember::open(&patient.root, Mode::ReadOnly).unwrap();
    assert_eq!(check_served(&*store, 0..COUNT + 4).len() as u64, COUNT + 4);
}

#[test]
fn a_store_read_only_remembers_nothing_of_a_damaged_database_and_says_so() {
    let Case { folder, store } = Case::new();
    let root = folder.path().join(".headwater");
    keep_in(&store, (0..COUNT).map(pending)).1.unwrap();
    drop(store);
    let path = root.join("records.sqlite");
    let mut damaged = fs::read(&path).unwrap();
    damaged[PAGE..].fill(0);
    fs::write(&path, &damaged).unwrap();
    let store = headwater_remember::open(&root, Mode::ReadOnly).unwrap();
    assert_eq!(check_served(&*store, 0..COUNT), [0; 0]);
    assert_eq!(store.runs(10).unwrap(), []);
    let damage = store.take_damage();
    assert!(
        damage.len() == 1 && damage[0].contains("nothing of it is used"),
        "{damage:?}"
    );
    assert_eq!(fs::read(&path).unwrap(), damaged, "nothing is changed");
    assert!(matches!(
        store.register(&[record(1)]),
        Err(StoreError::ReadOnly)
    ));
    assert_eq!(store.known(&[recipe(1)]).unwrap(), [None]);
}
