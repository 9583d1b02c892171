//! Verifying: a path stands for right bytes, and everything can be read at once.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use crate::common::{Case, bytes, pending, recipe};
use headwater_graph::{Digest, Mode, Verified};

fn digest(number: u64) -> Digest {
    Digest::of(&bytes(number))
}

fn object_path(case: &Case, number: u64) -> PathBuf {
    let hex = digest(number).hex();
    case.root().join("objects").join(&hex[..2]).join(&hex[2..])
}

fn set_aside(case: &Case, number: u64) -> PathBuf {
    case.root()
        .join("objects/damaged")
        .join(digest(number).hex())
}

/// Changes a byte; the file looks as before only where its time is put back.
fn damage(path: &Path, hide: bool) {
    let before = fs::metadata(path).unwrap();
    let mut wrong = fs::read(path).unwrap();
    wrong[17] ^= 1;
    fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    fs::write(path, wrong).unwrap();
    let time = if hide {
        before.modified().unwrap()
    } else {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1)
    };
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

fn rows(case: &Case) -> i64 {
    rusqlite::Connection::open(case.root().join("records.sqlite"))
        .unwrap()
        .query_row("SELECT count(*) FROM objects", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn a_path_is_given_only_for_right_bytes() {
    let case = Case::new();
    case.keep([pending(0), pending(2), pending(4)]);
    damage(&object_path(&case, 0), false);
    fs::remove_file(object_path(&case, 4)).unwrap();
    let asked = [digest(0), digest(2), digest(4), digest(6)];
    assert_eq!(
        case.open(Mode::ReadOnly).paths(&asked),
        [None, Some(object_path(&case, 2)), None, None]
    );
    assert!(object_path(&case, 0).exists(), "a reader moves nothing");
    assert_eq!(
        case.store.paths(&asked),
        [None, Some(object_path(&case, 2)), None, None]
    );
    assert_eq!(case.store.take_damage(), [format!("object {}", digest(0))]);
    assert!(set_aside(&case, 0).exists() && !object_path(&case, 0).exists());
    assert_eq!(rows(&case), 1, "what is gone is not listed");
    case.keep([pending(0), pending(4)]);
    assert!(case.store.paths(&asked)[..3].iter().all(Option::is_some));
}

#[test]
fn a_file_that_looks_different_is_read_once() {
    let case = Case::new();
    case.keep([pending(0)]);
    let path = object_path(&case, 0);
    // Another file with the same bytes, as after a copy of the whole store.
    let copy = case.folder.path().join("copy");
    fs::copy(&path, &copy).unwrap();
    fs::rename(&copy, &path).unwrap();
    assert_eq!(case.store.path(&digest(0)), Some(path.clone()));
    let inode: i64 = rusqlite::Connection::open(case.root().join("records.sqlite"))
        .unwrap()
        .query_row("SELECT inode FROM objects", [], |row| row.get(0))
        .unwrap();
    assert_eq!(inode.cast_unsigned(), fs::metadata(&path).unwrap().ino());
    // From now on it is trusted by its looks, for better or worse; reading it all tells.
    damage(&path, true);
    assert_eq!(case.store.path(&digest(0)), Some(path.clone()));
    assert_eq!(
        case.store.verify(1, &|_, _| ()).unwrap().damaged,
        [digest(0)]
    );
    assert_eq!(case.store.path(&digest(0)), None);
}

#[test]
fn another_name_of_the_file_changes_nothing() {
    let case = Case::new();
    case.keep([pending(0)]);
    let path = object_path(&case, 0);
    fs::hard_link(&path, case.folder.path().join("delivered")).unwrap();
    damage(&path, true);
    // It is not read again, or it would be found wrong: only the time of change is another.
    assert_eq!(case.store.path(&digest(0)), Some(path));
}

#[test]
fn everything_is_read_and_everything_wrong_is_told() {
    for threads in [0, 1, 4] {
        let case = Case::new();
        case.keep((0..20).map(pending));
        damage(&object_path(&case, 0), true);
        damage(&object_path(&case, 6), false);
        fs::remove_file(object_path(&case, 8)).unwrap();
        // Collected in due form: no row, no file, nothing to tell.
        let connection = rusqlite::Connection::open(case.root().join("records.sqlite")).unwrap();
        connection
            .execute("DELETE FROM objects WHERE digest = ?", [&digest(12).0[..]])
            .unwrap();
        fs::remove_file(object_path(&case, 12)).unwrap();
        case.forget_journal();
        let zeros = "UPDATE products SET details = zeroblob(length(details)) WHERE wall IN (3, 7)";
        assert_eq!(connection.execute(zeros, []).unwrap(), 2);

        let mut damaged = vec![digest(0), digest(6)];
        damaged.sort();
        let right = [2, 4, 10, 14, 16, 18];
        let expected = Verified {
            objects: 8,
            bytes: right.iter().map(|number| bytes(*number).len() as u64).sum(),
            records: 20,
            damaged,
            missing: vec![digest(8)],
            damaged_records: 2,
        };
        let all: u64 = [0, 2, 4, 6, 8, 10, 14, 16, 18]
            .iter()
            .map(|number| bytes(*number).len() as u64)
            .sum();
        // One that only reads finds the same and changes nothing.
        for store in [&case.open(Mode::ReadOnly), &case.store] {
            let seen = Mutex::new(Vec::new());
            let verified = store
                .verify(threads, &|done, of| seen.lock().unwrap().push((done, of)))
                .unwrap();
            assert_eq!(verified, expected);
            let seen = seen.into_inner().unwrap();
            assert!(seen.iter().all(|(done, of)| done <= of && *of == all));
            let last = seen.iter().map(|(done, _)| *done).max();
            assert_eq!(last, Some(all - bytes(8).len() as u64));
            let mut damage = store.take_damage();
            damage.sort();
            assert_eq!(damage.len(), 4);
        }
        assert!(set_aside(&case, 0).exists() && set_aside(&case, 6).exists());
        assert_eq!(
            case.store.known(&[recipe(3), recipe(5)]).unwrap(),
            [None, Some(5)]
        );
        // What was wrong is dealt with.
        let verified = case.store.verify(threads, &|_, _| ()).unwrap();
        let expected = Verified {
            objects: 6,
            records: 18,
            damaged: Vec::new(),
            missing: Vec::new(),
            damaged_records: 0,
            ..expected
        };
        assert_eq!(verified, expected);
    }
}

#[test]
fn a_record_without_a_legible_recipe_is_counted() {
    let case = Case::new();
    case.keep([pending(0), pending(2), pending(4)]);
    let connection = rusqlite::Connection::open(case.root().join("records.sqlite")).unwrap();
    for (recipe, wall) in [("x'00'", 2), ("'text'", 4)] {
        let change = format!("UPDATE products SET recipe = {recipe} WHERE wall = {wall}");
        assert_eq!(connection.execute(&change, []).unwrap(), 1);
    }
    let verified = case.store.verify(1, &|_, _| ()).unwrap();
    assert_eq!((verified.records, verified.damaged_records), (3, 2));
}

#[test]
fn nothing_is_verified_where_there_is_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for mode in [Mode::ReadOnly, Mode::ReadWrite] {
        let store = headwater_remember::open(&folder.path().join(".headwater"), mode).unwrap();
        assert_eq!(store.verify(4, &|_, _| ()).unwrap(), Verified::default());
    }
}
