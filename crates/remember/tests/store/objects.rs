//! Objects: bytes come back as they were, or not at all.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use crate::common::{Case, bytes, pending, record, run, staged};
use headwater_graph::{Digest, Mark, Mode, ObjectSource, Pending, PendingObject, StoreError};

fn digest(number: u64) -> Digest {
    Digest::of(&bytes(number))
}

fn object_path(case: &Case, digest: &Digest) -> PathBuf {
    let hex = digest.hex();
    case.root().join("objects").join(&hex[..2]).join(&hex[2..])
}

/// Replaces the contents of a read-only file, keeping the file.
fn overwrite(path: &std::path::Path, contents: &[u8]) {
    fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    fs::write(path, contents).unwrap();
}

#[test]
fn few_and_many_objects_of_both_kinds_are_kept() {
    // One by one below the limit, with one synchronisation for all above it.
    for count in [3, 60] {
        let case = Case::new();
        case.store.begin_run(&run("run")).unwrap();
        let of_both_kinds = |number: u64| {
            if number % 4 < 2 {
                staged(&*case.store, "run", number)
            } else {
                pending(number)
            }
        };
        case.keep((0..count).map(of_both_kinds));
        for number in 0..count {
            assert_eq!(case.store.read(&digest(number)).unwrap(), bytes(number));
            let path = case.store.path(&digest(number)).unwrap();
            assert_eq!(path, object_path(&case, &digest(number)));
            case.store.verify_object(&digest(number)).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o444);
        }
        case.store.remove_staging("run").unwrap();
        assert_eq!(case.store.read(&digest(0)).unwrap(), bytes(0));
    }
}

#[test]
fn a_staged_file_becomes_the_object_and_keeps_its_path() {
    let case = Case::new();
    case.store.begin_run(&run("run")).unwrap();
    let pending = staged(&*case.store, "run", 0);
    let path = case.store.run_folders("run").staging.join("0");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    case.keep([pending]);
    let (one, other) = (
        fs::metadata(&path).unwrap(),
        fs::metadata(object_path(&case, &digest(0))).unwrap(),
    );
    assert_eq!(one.ino(), other.ino());
    assert_eq!(
        one.mode() & 0o777,
        0o555,
        "what could be executed still can"
    );
    // What was brought in has left nothing behind.
    let left = fs::read_dir(case.root().join("staging")).unwrap().flatten();
    let incoming = left.filter(|entry| entry.file_name().to_str().unwrap().starts_with("incoming"));
    let files: usize = incoming
        .filter_map(|entry| fs::read_dir(entry.path()).ok())
        .map(Iterator::count)
        .sum();
    assert_eq!(files, 0);
}

#[test]
fn a_file_with_other_names_is_copied_and_left_alone() {
    let case = Case::new();
    let theirs = case.folder.path().join("theirs");
    fs::write(&theirs, bytes(0)).unwrap();
    let second = case.folder.path().join("second");
    fs::hard_link(&theirs, &second).unwrap();
    let link = case.folder.path().join("link");
    std::os::unix::fs::symlink(&theirs, &link).unwrap();
    for (number, path) in [(0, second), (1, link)] {
        let object = PendingObject {
            digest: digest(number),
            source: ObjectSource::Staged(path),
        };
        let _ = fs::remove_file(object_path(&case, &digest(0)));
        case.keep([Pending {
            record: record(number),
            objects: vec![object],
        }]);
        fs::write(&theirs, "changed by its owner").unwrap();
        assert_eq!(case.store.read(&digest(number)).unwrap(), bytes(number));
        fs::write(&theirs, bytes(number)).unwrap();
    }
    assert_eq!(fs::metadata(&theirs).unwrap().mode() & 0o200, 0o200);
}

#[test]
fn a_file_of_another_file_system_is_copied() {
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else {
        return;
    };
    let case = Case::new();
    let path = elsewhere.path().join("file");
    fs::write(&path, bytes(0)).unwrap();
    let object = PendingObject {
        digest: digest(0),
        source: ObjectSource::Staged(path),
    };
    case.keep([Pending {
        record: record(0),
        objects: vec![object],
    }]);
    assert_eq!(case.store.read(&digest(0)).unwrap(), bytes(0));
    assert!(case.store.path(&digest(0)).is_some());
}

#[test]
fn what_is_no_file_is_refused() {
    let case = Case::new();
    let source = ObjectSource::Staged(case.folder.path().to_owned());
    let (tickets, closed) = case.try_keep([Pending {
        record: record(0),
        objects: vec![PendingObject {
            digest: digest(0),
            source,
        }],
    }]);
    assert_eq!(tickets, [0; 0]);
    assert!(
        closed
            .unwrap_err()
            .to_string()
            .ends_with("it is not a regular file")
    );
    assert_eq!(case.store.known(&[record(0).recipe]).unwrap(), [None]);
}

#[test]
fn a_damaged_object_is_set_aside_and_can_be_made_anew() {
    for read in [
        |case: &Case| case.store.read(&digest(0)).map(|_| ()),
        |case: &Case| case.store.verify_object(&digest(0)).map(|_| ()),
    ] {
        let case = Case::new();
        case.keep([pending(0)]);
        let mut wrong = bytes(0);
        wrong[17] ^= 1;
        overwrite(&object_path(&case, &digest(0)), &wrong);
        let error = read(&case).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        assert_eq!(
            error.to_string(),
            format!("object {} is damaged", digest(0))
        );
        assert_eq!(
            fs::read(case.root().join("objects/damaged").join(digest(0).hex())).unwrap(),
            wrong
        );
        assert_eq!(case.store.take_damage(), [format!("object {}", digest(0))]);
        assert!(matches!(read(&case), Err(StoreError::Missing(_))));
        assert_eq!(case.store.path(&digest(0)), None);
        case.keep([pending(0)]);
        read(&case).unwrap();
    }
}

#[test]
fn an_object_of_the_wrong_size_has_no_path_and_is_replaced() {
    let case = Case::new();
    case.keep([pending(0)]);
    overwrite(&object_path(&case, &digest(0)), b"torn");
    assert_eq!(case.store.path(&digest(0)), None);
    case.keep([pending(0)]);
    assert_eq!(case.store.read(&digest(0)).unwrap(), bytes(0));
}

#[test]
fn a_left_over_under_the_name_of_an_object_is_not_trusted() {
    let case = Case::new();
    let path = object_path(&case, &digest(0));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    // Of the right size, as after a power failure: only the list of durable objects tells.
    fs::write(&path, vec![1; bytes(0).len()]).unwrap();
    assert_eq!(case.store.path(&digest(0)), None);
    case.keep([pending(0)]);
    assert_eq!(case.store.read(&digest(0)).unwrap(), bytes(0));
}

#[test]
fn a_deleted_object_is_missing_and_can_be_made_anew() {
    let case = Case::new();
    case.keep([pending(0)]);
    fs::remove_dir_all(object_path(&case, &digest(0)).parent().unwrap()).unwrap();
    assert_eq!(case.store.path(&digest(0)), None);
    assert!(
        matches!(case.store.read(&digest(0)), Err(StoreError::Missing(missing)) if missing == digest(0))
    );
    case.keep([pending(0)]);
    assert_eq!(case.store.read(&digest(0)).unwrap(), bytes(0));
}

#[test]
fn a_reader_reports_damage_and_moves_nothing() {
    let case = Case::new();
    case.keep([pending(0)]);
    overwrite(&object_path(&case, &digest(0)), b"wrong");
    let reader = case.open(Mode::ReadOnly);
    assert!(matches!(
        reader.read(&digest(0)),
        Err(StoreError::Damaged { .. })
    ));
    assert!(object_path(&case, &digest(0)).exists());
}

#[test]
fn good_bytes_take_the_place_of_changed_ones() {
    let case = Case::new();
    case.store.begin_run(&run("run")).unwrap();
    for again in [pending(0), staged(&*case.store, "run", 0)] {
        case.keep([pending(0)]);
        let path = object_path(&case, &digest(0));
        let mut wrong = bytes(0);
        wrong[0] ^= 1;
        overwrite(&path, &wrong);
        case.keep([again]);
        assert_eq!(case.store.path(&digest(0)), Some(path.clone()));
        assert_eq!(fs::read(&path).unwrap(), bytes(0));
        assert_eq!(case.store.take_damage(), [""; 0]);
    }
    // Where the staged file is the object, there are no good bytes to be had.
    let path = object_path(&case, &digest(0));
    let mut wrong = bytes(0);
    wrong[0] ^= 1;
    overwrite(&path, &wrong);
    let shared = PendingObject {
        digest: digest(0),
        source: ObjectSource::Staged(case.store.run_folders("run").staging.join("0")),
    };
    case.keep([Pending {
        record: record(0),
        objects: vec![shared],
    }]);
    assert_eq!(case.store.path(&digest(0)), None);
}

/// What a file looks like now.
fn looked(path: &std::path::Path) -> Mark {
    let found = fs::metadata(path).unwrap();
    Mark::new(
        (found.dev(), found.ino()),
        found.len(),
        (found.mtime(), found.mtime_nsec()),
        (found.ctime(), found.ctime_nsec()),
    )
}

/// A product with a staged file that was digested just now.
fn digested(case: &Case, number: u64) -> (Pending, PathBuf) {
    let mut pending = staged(&*case.store, "run", number);
    let ObjectSource::Staged(path) = pending.objects[0].source.clone() else {
        panic!("it is staged");
    };
    pending.objects[0].source = ObjectSource::Digested(path.clone(), looked(&path));
    (pending, path)
}

/// Gives the products to a writer; the tickets that were acknowledged, those that were given up, and whether there was
/// any trouble.
fn written(case: &Case, products: Vec<Pending>) -> (Vec<u64>, Vec<u64>, bool) {
    use std::sync::{Arc, Mutex};
    let (kept, left) = (
        Arc::new(Mutex::new(Vec::new())),
        Arc::new(Mutex::new(Vec::new())),
    );
    let tell = |list: &Arc<Mutex<Vec<u64>>>| {
        let list = Arc::clone(list);
        Box::new(move |tickets: &[u64]| list.lock().unwrap().extend(tickets))
    };
    let store = Arc::clone(&case.store);
    let writer = headwater_remember::Writer::start_within(store, tell(&kept), tell(&left), 1 << 20);
    for product in products {
        writer.submit(product);
    }
    let trouble = writer.close().is_err();
    let (kept, left) = (kept.lock().unwrap().clone(), left.lock().unwrap().clone());
    (kept, left, trouble)
}

#[test]
fn a_file_that_changed_after_it_was_digested_is_refused() {
    // Another size, the same size, the same size and time; taken away, and something else in its place.
    let changes = [
        "append", "write", "set back", "remove", "pipe", "folder", "link",
    ];
    for change in changes {
        let case = Case::new();
        case.store.begin_run(&run("run")).unwrap();
        let (bad, path) = digested(&case, 0);
        let (good, _) = digested(&case, 2);
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let mut contents = bytes(0);
        match change {
            "append" => contents.push(b'x'),
            _ => contents[0] ^= 1,
        }
        match change {
            "append" | "write" | "set back" => overwrite(&path, &contents),
            _ => fs::remove_file(&path).unwrap(),
        }
        match change {
            "pipe" => {
                let made = std::process::Command::new("mkfifo").arg(&path).status();
                assert!(made.unwrap().success());
            }
            "folder" => fs::create_dir(&path).unwrap(),
            "link" => std::os::unix::fs::symlink("/etc/passwd", &path).unwrap(),
            _ => {}
        }
        if change == "set back" {
            let file = fs::File::options().write(true).open(&path).unwrap();
            let times = fs::FileTimes::new().set_modified(time);
            file.set_times(times).unwrap();
        }
        assert_eq!(
            written(&case, vec![bad, good]),
            (vec![1], vec![0], false),
            "{change}"
        );
        assert!(case.store.path(&digest(0)).is_none(), "{change}");
        assert_eq!(case.store.read(&digest(2)).unwrap(), bytes(2));
        // The same again, made anew.
        match change {
            "folder" => fs::remove_dir(&path).unwrap(),
            "pipe" | "link" => fs::remove_file(&path).unwrap(),
            _ => {}
        }
        let (good, _) = digested(&case, 0);
        assert_eq!(written(&case, vec![good]), (vec![0], vec![], false));
        assert_eq!(case.store.read(&digest(0)).unwrap(), bytes(0));
    }
}

#[test]
fn what_was_made_again_takes_the_place_of_what_was_refused() {
    let case = Case::new();
    case.store.begin_run(&run("run")).unwrap();
    let (bad, path) = digested(&case, 0);
    fs::rename(&path, path.with_extension("bad")).unwrap();
    let mut bad = bad;
    bad.objects[0].source = ObjectSource::Digested(
        path.with_extension("bad"),
        looked(&path.with_extension("bad")),
    );
    overwrite(&path.with_extension("bad"), b"something else");
    let (good, _) = digested(&case, 0);
    let (kept, left, trouble) = written(&case, vec![bad, good]);
    assert!(!trouble && left.is_empty(), "{left:?}");
    assert_eq!(
        kept,
        [0, 1],
        "both speak of the same bytes, which are there"
    );
    assert_eq!(case.store.read(&digest(0)).unwrap(), bytes(0));
}

#[test]
fn an_object_is_listed_as_it_looked_when_it_was_digested() {
    let case = Case::new();
    case.store.begin_run(&run("run")).unwrap();
    let (pending, path) = digested(&case, 0);
    // Another mode and another name are no change.
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    case.keep([pending]);
    assert!(case.store.path(&digest(0)).is_some());
    let mut contents = bytes(0);
    contents[0] ^= 1;
    overwrite(&path, &contents);
    assert!(case.store.path(&digest(0)).is_none(), "it is read first");
}
