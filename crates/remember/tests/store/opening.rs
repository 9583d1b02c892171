//! Opening stores: new ones, absent ones, those of other formats, and what the dead have left; the list of runs.

use std::fs;
use std::path::Path;

use crate::common::{Case, keep_in, pending, recipe, record, run};
use headwater_graph::Store;
use headwater_graph::{Fault, FoundRun, Mode, Outcome, RunStatus, RunTask, StoreError, Tally};

#[test]
fn a_new_store_is_ignored_by_git_and_knows_its_folders() {
    let case = Case::new();
    assert!(headwater_remember::is_store(&case.root()));
    assert_eq!(case.store.place(), case.root());
    assert_eq!(
        fs::read_to_string(case.root().join(".gitignore")).unwrap(),
        "*\n"
    );
    assert_eq!(
        case.store.run_folders("a").staging,
        case.root().join("staging/a")
    );
    assert_eq!(case.store.run_folders("a").work, case.root().join("work/a"));
    assert_eq!(
        case.store.run_folders("a").logs,
        case.root().join("runs/a/logs")
    );
}

#[test]
fn an_absent_store_can_be_read_and_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("absent");
    assert!(!headwater_remember::is_store(&root));
    let store = headwater_remember::open(&root, Mode::ReadOnly).unwrap();
    assert_eq!(store.known(&[recipe(1)]).unwrap(), [None]);
    assert_eq!(store.fetch(&[recipe(1)]).unwrap(), [None]);
    assert_eq!(store.path(&record(1).outputs[0].1.digest), None);
    assert_eq!(store.runs(10).unwrap(), []);
    assert_eq!(store.find_run("last").unwrap(), FoundRun::None);
    let file = folder.path().join("file");
    fs::write(&file, "text").unwrap();
    assert_eq!(store.digest_file(&file).unwrap().mark.size, 4);
    assert!(matches!(
        store.register(&[record(1)]),
        Err(StoreError::ReadOnly)
    ));
    assert!(!root.exists());
}

#[test]
fn a_read_only_store_sees_everything_and_changes_nothing() {
    let case = Case::new();
    case.keep([pending(1)]);
    let reader = case.open(Mode::ReadOnly);
    assert_eq!(reader.fetch(&[recipe(1)]).unwrap(), [Some(record(1))]);
    for refused in [
        reader.register(&[record(2)]),
        reader.begin_run(&run("a")),
        reader.end_run("a", RunStatus::Done, Tally::default(), ""),
        reader.put_run_tasks("a", &[]),
    ] {
        assert!(matches!(refused, Err(StoreError::ReadOnly)), "{refused:?}");
    }
    // What is written later is seen as well.
    case.keep([pending(2)]);
    assert_eq!(reader.known(&[recipe(2)]).unwrap(), [Some(2)]);
}

#[test]
fn a_store_of_another_format_is_refused_in_words() {
    let case = Case::new();
    let database = case.root().join("records.sqlite");
    rusqlite::Connection::open(&database)
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    // Beside a journal of this format another number would be damage.
    fs::remove_file(case.root().join("records.journal")).unwrap();
    for mode in [Mode::ReadWrite, Mode::ReadOnly] {
        let error = headwater_remember::open(&case.root(), mode).unwrap_err();
        let expected = format!(
            "the store at {} has format 99; this program reads format 2",
            database.display()
        );
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.fault(), Fault::User);
        assert!(error.hint().is_some());
    }
}

#[test]
fn a_journal_of_another_format_is_not_used_to_make_a_database() {
    let Case { folder, store } = Case::new();
    drop(store);
    let root = folder.path().join(".headwater");
    let journal = root.join("records.journal");
    let mut bytes = fs::read(&journal).unwrap();
    bytes[3] = 99;
    fs::write(&journal, bytes).unwrap();
    fs::write(root.join("records.sqlite"), "text ".repeat(1000)).unwrap();
    let error = headwater_remember::open(&root, Mode::ReadWrite).unwrap_err();
    assert!(
        matches!(error, StoreError::Format { found: 99, .. }),
        "{error}"
    );
}

#[test]
fn beside_a_journal_of_another_format_no_database_is_made() {
    let Case { folder, store } = Case::new();
    let root = folder.path().join(".headwater");
    keep_in(&store, [pending(2)]).1.unwrap();
    drop(store);
    let (database, journal) = (root.join("records.sqlite"), root.join("records.journal"));
    let mut bytes = fs::read(&journal).unwrap();
    for at in 0..bytes.len() - 3 {
        if &bytes[at..at + 3] == b"HwJ" {
            bytes[at + 3] = 99;
        }
    }
    fs::write(&journal, bytes).unwrap();
    fs::write(&database, "").unwrap();
    for mode in [Mode::ReadWrite, Mode::ReadOnly, Mode::ReadWrite] {
        let error = headwater_remember::open(&root, mode).unwrap_err();
        assert!(
            matches!(error, StoreError::Format { found: 99, .. }),
            "{error}"
        );
    }
    assert_eq!(fs::read(&database).unwrap(), b"");
    fs::remove_file(&database).unwrap();
    for mode in [Mode::ReadWrite, Mode::ReadOnly] {
        let error = headwater_remember::open(&root, mode).unwrap_err();
        assert!(
            matches!(error, StoreError::Format { found: 99, .. }),
            "{error}"
        );
    }
    assert!(!database.exists());
}

#[test]
fn a_store_read_only_says_that_its_database_is_gone() {
    let Case { folder, store } = Case::new();
    let root = folder.path().join(".headwater");
    keep_in(&store, [pending(2)]).1.unwrap();
    drop(store);
    fs::remove_file(root.join("records.sqlite")).unwrap();
    assert!(headwater_remember::is_store(&root));
    let store = headwater_remember::open(&root, Mode::ReadOnly).unwrap();
    assert_eq!(store.known(&[recipe(2)]).unwrap(), [None]);
    let damage = store.take_damage();
    assert!(
        damage.len() == 1
            && damage[0].ends_with(
                "it is rebuilt from the journal when a command opens the store for writing"
            ),
        "{damage:?}"
    );
    let store = headwater_remember::open(&root, Mode::ReadWrite).unwrap();
    assert_eq!(store.known(&[recipe(2)]).unwrap(), [Some(2)]);
}

#[test]
fn a_file_that_is_no_database_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let text = "text ".repeat(1000);
    fs::write(folder.path().join("records.sqlite"), &text).unwrap();
    let store = headwater_remember::open(folder.path(), Mode::ReadOnly).unwrap();
    assert_eq!(store.known(&[recipe(1)]).unwrap(), [None]);
    let damage = store.take_damage();
    assert!(
        damage.len() == 1 && damage[0].contains("nothing of it is used"),
        "{damage:?}"
    );
    assert_eq!(
        fs::read_to_string(folder.path().join("records.sqlite")).unwrap(),
        text
    );
    let store = headwater_remember::open(folder.path(), Mode::ReadWrite).unwrap();
    assert_eq!(store.known(&[recipe(1)]).unwrap(), [None]);
    let damage = store.take_damage();
    assert!(
        damage.len() == 1 && damage[0].contains("it was made anew"),
        "{damage:?}"
    );
    assert_eq!(
        fs::read_to_string(folder.path().join("damaged/1/records.sqlite")).unwrap(),
        text
    );
}

#[test]
fn many_may_make_one_store_at_once() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let folder = &folder;
            scope.spawn(move || {
                let store = headwater_remember::open(&folder.path().join("store"), Mode::ReadWrite)
                    .unwrap();
                store.register(&[record(number)]).unwrap();
            });
        }
    });
    let store = headwater_remember::open(&folder.path().join("store"), Mode::ReadOnly).unwrap();
    let recipes: Vec<_> = (0..8).map(recipe).collect();
    assert!(store.known(&recipes).unwrap().iter().all(Option::is_some));
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn left_overs_of_the_dead_are_removed_and_the_living_are_left_alone() {
    let case = Case::new();
    let other = case.open(Mode::ReadWrite);
    case.store.begin_run(&run("alive")).unwrap();
    other.begin_run(&run("dead")).unwrap();
    for id in ["alive", "dead"] {
        fs::write(case.store.run_folders(id).staging.join("file"), "bytes").unwrap();
        fs::create_dir_all(case.store.run_folders(id).work).unwrap();
    }
    drop(other);
    drop(case.open(Mode::ReadOnly));
    assert!(
        case.store.run_folders("dead").staging.exists(),
        "a reader removes nothing"
    );
    drop(case.open(Mode::ReadWrite));
    assert_eq!(names(&case.root().join("staging")), ["alive", "alive.lock"]);
    assert!(
        case.store
            .run_folders("alive")
            .staging
            .join("file")
            .exists()
    );
    assert!(
        case.store.run_folders("dead").work.exists(),
        "the work of a dead run may be looked at"
    );
    case.store.remove_staging("alive").unwrap();
    case.store.remove_staging("alive").unwrap();
    assert_eq!(names(&case.root().join("staging")), [""; 0]);
}

#[test]
fn a_run_goes_from_running_to_its_end() {
    let case = Case::new();
    let mut begun = run("20260101-000000-00aa");
    case.store.begin_run(&begun).unwrap();
    assert_eq!(case.store.runs(10).unwrap(), [begun.clone()]);
    let counts = Tally {
        tasks: 9,
        executed: 4,
        reused: 3,
        failed: 2,
        ..Tally::default()
    };
    case.store
        .end_run(&begun.id, RunStatus::Failed, counts, "")
        .unwrap();
    let ended = case.store.runs(10).unwrap().remove(0);
    assert!(ended.ended.is_some_and(|ended| ended > begun.started));
    (begun.ended, begun.status) = (ended.ended, RunStatus::Failed);
    (begun.tasks, begun.executed, begun.reused, begun.failed) = (9, 4, 3, 2);
    assert_eq!(ended, begun);
    let unknown = case
        .store
        .end_run("absent", RunStatus::Done, counts, "")
        .unwrap_err()
        .to_string();
    assert!(unknown.ends_with("there is no run `absent`"), "{unknown}");
}

#[test]
fn a_run_without_its_process_is_interrupted() {
    let case = Case::new();
    let other = case.open(Mode::ReadWrite);
    other.begin_run(&run("a")).unwrap();
    other.begin_run(&run("b")).unwrap();
    other
        .end_run("b", RunStatus::Done, Tally::default(), "")
        .unwrap();
    let statuses = |store: &dyn Store| {
        store
            .runs(10)
            .unwrap()
            .iter()
            .map(|run| run.status)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        statuses(&*case.store),
        [RunStatus::Done, RunStatus::Running]
    );
    drop(other);
    assert_eq!(
        statuses(&*case.store),
        [RunStatus::Done, RunStatus::Interrupted]
    );
    assert_eq!(
        statuses(&*case.open(Mode::ReadOnly)),
        [RunStatus::Done, RunStatus::Interrupted]
    );
}

#[test]
fn runs_are_found_by_what_people_type() {
    let case = Case::new();
    for id in ["20260101-1", "20260101-12", "20260102-3"] {
        case.store.begin_run(&run(id)).unwrap();
    }
    let found = |text: &str| match case.store.find_run(text).unwrap() {
        FoundRun::One(run) => vec![run.id],
        FoundRun::None => Vec::new(),
        FoundRun::Several(ids) => ids,
    };
    for (text, expected) in [
        ("last", vec!["20260102-3"]),
        ("20260102", vec!["20260102-3"]),
        ("20260101-1", vec!["20260101-1"]),
        ("20260101", vec!["20260101-1", "20260101-12"]),
        ("2027", vec![]),
        ("%", vec![]),
    ] {
        assert_eq!(found(text), expected, "{text}");
    }
    assert_eq!(case.store.runs(2).unwrap().len(), 2);
}

#[test]
fn names_that_are_no_names_and_names_taken_are_refused() {
    let case = Case::new();
    for id in ["", "../a", "a/b", "a.lock"] {
        assert!(case.store.begin_run(&run(id)).is_err(), "{id}");
    }
    case.store.begin_run(&run("a")).unwrap();
    case.store
        .end_run("a", RunStatus::Done, Tally::default(), "")
        .unwrap();
    case.store.remove_staging("a").unwrap();
    assert!(case.store.begin_run(&run("a")).is_err());
    assert_eq!(
        names(&case.root().join("staging")),
        [""; 0],
        "a run that was not begun has no folder"
    );
}

#[test]
fn the_tasks_of_a_run_are_listed_as_they_were_put() {
    let case = Case::new();
    case.store.begin_run(&run("a")).unwrap();
    let states = [
        Outcome::Executed,
        Outcome::Reused,
        Outcome::Failed,
        Outcome::Blocked,
    ];
    let tasks: Vec<RunTask> = (0..100)
        .map(|number| RunTask {
            address: format!("stage.task[{number}]"),
            recipe: recipe(number),
            state: states[number as usize % 4],
            started: number * 10,
            wall: u64::MAX - number,
        })
        .collect();
    let (first, rest) = tasks.split_at(33);
    case.store.put_run_tasks("a", first).unwrap();
    case.store.put_run_tasks("a", &[]).unwrap();
    case.store.put_run_tasks("a", rest).unwrap();
    assert_eq!(case.store.run_tasks("a").unwrap(), tasks);
    assert_eq!(case.store.run_tasks("b").unwrap(), []);
    assert!(case.store.put_run_tasks("b", first).is_err());
}

/// A store that came from elsewhere: what it sweeps and locks has to be in its own folder.
#[test]
fn a_store_with_a_part_that_lies_elsewhere_is_refused_and_nothing_there_is_touched() {
    for part in ["staging", "work", "objects", "objects.lock", "lock"] {
        let case = Case::new();
        let root = case.root();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir(elsewhere.path().join("folder")).unwrap();
        fs::write(elsewhere.path().join("file"), "precious").unwrap();
        let target = if part.ends_with("lock") {
            elsewhere.path().join("file")
        } else {
            elsewhere.path().to_owned()
        };
        let copy = elsewhere.path().join("copy");
        fs::create_dir(&copy).unwrap();
        for name in ["records.sqlite", "records.journal"] {
            let _ = fs::copy(root.join(name), copy.join(name));
        }
        std::os::unix::fs::symlink(&target, copy.join(part)).unwrap();
        for mode in [Mode::ReadWrite, Mode::ReadOnly] {
            let Err(error) = headwater_remember::open(&copy, mode) else {
                panic!("{part} is a link");
            };
            assert_eq!(error.fault(), Fault::User);
            assert!(error.to_string().contains(part), "{error}");
        }
        let file = fs::read_to_string(elsewhere.path().join("file")).unwrap();
        assert_eq!(file, "precious", "{part}");
        assert!(elsewhere.path().join("folder").is_dir(), "{part}");
    }
    // The folder as a whole may be a link.
    let case = Case::new();
    case.keep([pending(1)]);
    let beside = tempfile::tempdir().unwrap();
    let link = beside.path().join("link");
    std::os::unix::fs::symlink(case.root(), &link).unwrap();
    let linked = headwater_remember::open(&link, Mode::ReadWrite).unwrap();
    assert_eq!(linked.fetch(&[recipe(1)]).unwrap(), [Some(record(1))]);
}

/// The name of a run is the name of folders in the store.
#[test]
fn a_run_whose_name_is_a_path_is_damage() {
    let case = Case::new();
    case.store.begin_run(&run("a")).unwrap();
    case.store.begin_run(&run("b")).unwrap();
    let connection = rusqlite::Connection::open(case.root().join("records.sqlite")).unwrap();
    let changed = connection.execute("UPDATE runs SET id = '../../b' WHERE id = 'b'", []);
    assert_eq!(changed.unwrap(), 1);
    let store = case.open(Mode::ReadOnly);
    let names: Vec<String> = store
        .runs(10)
        .unwrap()
        .into_iter()
        .map(|run| run.id)
        .collect();
    assert_eq!(names, ["a"]);
    assert_eq!(store.find_run("../../b").unwrap(), FoundRun::None);
    assert!(store.take_damage()[0].contains("the record of run `../../b`"));
}
