//! A store that somebody has put things into: none of it leads outside, and nobody waits at a pipe.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::common::{Case, bytes, check_served, copy_tree, keep_in, pending, record, run};
use headwater_graph::Store;
use headwater_graph::{Digest, Fault, Mode, StoreError};

fn digest(number: u64) -> Digest {
    Digest::of(&bytes(number))
}

fn object_path(case: &Case, number: u64) -> PathBuf {
    let hex = digest(number).hex();
    case.root().join("objects").join(&hex[..2]).join(&hex[2..])
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A folder of the user's.
struct Outside(tempfile::TempDir);

impl Outside {
    fn new() -> Outside {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "precious").unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        // Called as objects, leases and claims are.
        for number in 0..8 {
            fs::write(folder.path().join(&digest(number).hex()[2..]), "precious").unwrap();
            fs::write(folder.path().join(digest(number).hex()), "precious").unwrap();
            fs::write(folder.path().join(format!("{number:02x}")), "precious").unwrap();
        }
        fs::write(folder.path().join("a.lock"), "precious").unwrap();
        Outside(folder)
    }

    #[track_caller]
    fn is_untouched(&self, case: &str) {
        let mut count = 0;
        for entry in fs::read_dir(self.0.path()).unwrap() {
            let path = entry.unwrap().path();
            count += 1;
            if path.is_file() {
                assert_eq!(fs::read_to_string(&path).unwrap(), "precious", "{case}");
            }
        }
        let model = Outside::new();
        assert_eq!(
            count,
            fs::read_dir(model.0.path()).unwrap().count(),
            "{case}"
        );
    }
}

/// Puts something in the place of an object; what is there then is told.
type Plant = fn(&Path, &Path);

const PLANTS: [(&str, Plant); 5] = [
    ("pipe", |path, _| pipe(path)),
    ("link to a file", |path, outside| {
        symlink(outside.join("file"), path).unwrap();
    }),
    ("link to nothing", |path, _| {
        symlink("nowhere", path).unwrap();
    }),
    ("socket", |path, _| drop(UnixListener::bind(path).unwrap())),
    ("folder", |path, _| {
        fs::create_dir(path).unwrap();
        fs::write(path.join("file"), "").unwrap();
    }),
];

#[test]
fn what_stands_in_the_place_of_an_object_is_damage_and_is_made_again() {
    for (what, plant) in PLANTS {
        let outside = Outside::new();
        let case = Case::new();
        case.keep([pending(0), pending(2), pending(4), pending(6)]);
        let planted = [0, 2, 4].map(|number| object_path(&case, number));
        for path in &planted {
            fs::remove_file(path).unwrap();
            // The path of a socket may not be long.
            let short = case.folder.path().join("s");
            plant(&short, outside.0.path());
            fs::rename(short, path).unwrap();
        }
        let only_read = case.open(Mode::ReadOnly);
        assert_eq!(only_read.paths(&[digest(0)]), [None], "{what}");
        let found = only_read.verify(2, &|_, _| ()).unwrap();
        assert_eq!(found.damaged.len(), 3, "{what}");
        assert!(planted[0].symlink_metadata().is_ok(), "{what}");

        assert_eq!(case.store.paths(&[digest(0)]), [None], "{what}");
        let error = case.store.read(&digest(2)).unwrap_err();
        assert!(
            matches!(error, StoreError::Damaged { .. }),
            "{what}: {error}"
        );
        let found = case.store.verify(2, &|_, _| ()).unwrap();
        assert_eq!(found.damaged, [digest(4)], "{what}");
        assert!(case.store.take_damage().len() >= 3, "{what}");
        // They were set aside, the things themselves.
        let aside = case.root().join("objects/damaged");
        assert_eq!(fs::read_dir(&aside).unwrap().count(), 3, "{what}");

        // Once more, while the damaged one of before is there, and nobody has noticed.
        fs::rename(aside.join(digest(0).hex()), &planted[0]).unwrap();
        fs::create_dir_all(aside.join(digest(0).hex()).join("in the way")).unwrap();
        case.keep([pending(0), pending(2), pending(4)]);
        for number in [0, 2, 4, 6] {
            let path = object_path(&case, number);
            assert_eq!(case.store.read(&digest(number)).unwrap(), bytes(number));
            assert_eq!(case.store.paths(&[digest(number)]), [Some(path)], "{what}");
        }
        case.store.collect(0, false).unwrap();
        assert_eq!(fs::read_dir(&aside).unwrap().count(), 0, "{what}");
        outside.is_untouched(what);
    }
}

/// What a store does, with everything that it opens, makes and removes; errors are as good as any other answer.
fn use_all(store: &Arc<dyn Store>) -> Vec<StoreError> {
    let mut errors = Vec::new();
    let mut note = |answer: Result<(), StoreError>| errors.extend(answer.err());
    let leases = store.leases();
    note(
        leases
            .as_ref()
            .map(drop)
            .map_err(|error| StoreError::Database(error.to_string())),
    );
    if let Ok(leases) = leases {
        for number in 0..128 {
            drop(leases.take(&[crate::common::recipe(number)]));
        }
    }
    note(store.begin_run(&run("a")));
    let _ = store.attach("a", "note", b"new");
    let _ = store.add_to_attachment("a", "note", b"new");
    let _ = store.attachment("a", "file");
    note(keep_in(store, (0..8).map(pending)).1);
    store.paths(&[0, 2, 4, 6].map(digest));
    note(store.verify(1, &|_, _| ()).map(drop));
    note(store.remove_staging("a"));
    note(store.collect(0, false).map(drop));
    for name in store.work_folders() {
        let _ = store.remove_work_folder(&name);
    }
    errors
}

#[test]
fn a_link_below_a_part_of_a_store_is_followed_by_nothing() {
    let hex = digest(0).hex();
    let parts = [
        "objects/damaged",
        &format!("objects/{}", &hex[..2]),
        "leases/00",
        "leases/01",
        "staging/a",
        "staging/a.lock",
        "work/a",
        "runs/a",
        "runs/a/logs",
        "runs/a/note",
        "damaged/1",
        "objects",
        "leases",
        "staging",
        "work",
        "runs",
        "lock",
        "objects.lock",
        "objects.gate",
        "records.lock",
        "records.journal",
        "records.rebuild",
        "records.sqlite-wal",
        "records.sqlite-shm",
        "records.sqlite-journal",
        ".gitignore",
    ];
    for part in parts {
        let model = Case::new();
        model.keep([pending(0), pending(2)]);
        // An object that is damaged, so that something has to be set aside.
        fs::remove_file(object_path(&model, 2)).unwrap();
        fs::create_dir(object_path(&model, 2)).unwrap();
        let is_file = [
            "lock",
            "gate",
            "leases/00",
            "leases/01",
            "note",
            "journal",
            "-wal",
            "-shm",
        ];
        let target = if is_file.iter().any(|end| part.ends_with(end)) {
            "file"
        } else {
            ""
        };
        let plant = |root: &Path, outside: &Outside| {
            let link = root.join(part);
            let _ = fs::remove_file(&link).or_else(|_| fs::remove_dir_all(&link));
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(outside.0.path().join(target), &link).unwrap();
        };
        // It was there when the store was opened.
        let outside = Outside::new();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        copy_tree(&model.root(), &root);
        plant(&root, &outside);
        match headwater_remember::open(&root, Mode::ReadOnly) {
            Ok(store) => {
                store.paths(&[digest(0), digest(2)]);
                store.verify(1, &|_, _| ()).unwrap();
                let _ = store.attachment("a", "note").unwrap_err();
            }
            Err(error) => is_told(&error, part),
        }
        match headwater_remember::open(&root, Mode::ReadWrite) {
            Ok(store) => drop(use_all(&Arc::new(store))),
            Err(error) => is_told(&error, part),
        }
        outside.is_untouched(part);

        // It came later.
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("store");
        copy_tree(&model.root(), &root);
        let store = headwater_remember::open(&root, Mode::ReadWrite).unwrap();
        plant(&root, &outside);
        drop(use_all(&store));
        drop(store);
        outside.is_untouched(part);
        // Without it the store is as good as ever.
        let _ = fs::remove_file(root.join(part));
        let store = headwater_remember::open(&root, Mode::ReadWrite).unwrap();
        keep_in(&store, (0..8).map(pending)).1.unwrap();
        assert_eq!(check_served(&*store, 0..8), (0..8).collect::<Vec<_>>());
    }
}

#[track_caller]
fn is_told(error: &StoreError, part: &str) {
    assert!(
        matches!(error, StoreError::NotOwn { .. }),
        "{part}: {error}"
    );
    assert_eq!(error.fault(), Fault::User);
    assert!(error.to_string().contains(part), "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn a_file_that_has_another_name_outside_is_not_written_to() {
    let files = [
        "lock",
        "objects.lock",
        "objects.gate",
        "records.lock",
        "leases/00",
        "leases/07",
    ];
    for part in files {
        let outside = Outside::new();
        let case = Case::new();
        let path = case.root().join(part);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        fs::hard_link(outside.0.path().join("file"), &path).unwrap();
        let store = Arc::new(case.open(Mode::ReadWrite));
        let errors = use_all(&store);
        assert!(errors.is_empty(), "{part}: {errors:?}");
        outside.is_untouched(part);
    }
}

/// SQLite writes to all of its files, also for those who only read.
#[test]
fn a_file_of_the_database_that_has_another_name_outside_is_refused() {
    for part in [
        "records.sqlite",
        "records.sqlite-wal",
        "records.sqlite-shm",
        "records.sqlite-journal",
    ] {
        for mode in [Mode::ReadWrite, Mode::ReadOnly] {
            let outside = Outside::new();
            let case = Case::new();
            case.keep([pending(0)]);
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("store");
            copy_tree(&case.root(), &root);
            let _ = fs::remove_file(root.join(part));
            fs::hard_link(outside.0.path().join("file"), root.join(part)).unwrap();
            let opened = headwater_remember::open(&root, mode);
            if let Ok(store) = opened {
                use_all(&Arc::new(store));
            }
            outside.is_untouched(part);
        }
    }
}

/// SQLite removes the file that a journal of several databases names. No database of a store is one of several.
#[test]
fn a_journal_that_names_a_file_does_not_have_it_removed() {
    let outside = Outside::new();
    let case = Case::new();
    case.keep([pending(0)]);
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    copy_tree(&case.root(), &root);
    for log in ["records.sqlite-wal", "records.sqlite-shm"] {
        let _ = fs::remove_file(root.join(log));
    }
    let victim = outside.0.path().join("file");
    let name = victim.to_str().unwrap().as_bytes();
    // A header without pages, the page of the name, the name, its length and sum, and the mark of such a journal.
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    for number in [0_u32, 0, 0, 512, 4096] {
        journal.extend(number.to_be_bytes());
    }
    journal.resize(512, 0);
    journal.extend(((0x4000_0000_u32 / 4096) + 1).to_be_bytes());
    journal.extend(name);
    let sum = name
        .iter()
        .fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
    journal.extend((name.len() as u32).to_be_bytes());
    journal.extend(sum.to_be_bytes());
    journal.extend([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    fs::write(root.join("records.sqlite-journal"), &journal).unwrap();
    for mode in [Mode::ReadOnly, Mode::ReadWrite] {
        is_told(
            &headwater_remember::open(&root, mode).unwrap_err(),
            "records.sqlite-journal",
        );
    }
    outside.is_untouched("journal");
    fs::remove_file(root.join("records.sqlite-journal")).unwrap();
    let store = headwater_remember::open(&root, Mode::ReadWrite).unwrap();
    let found = store.fetch(&[crate::common::recipe(0)]).unwrap();
    assert_eq!(found, [Some(record(0))]);
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A file that is long because it is one hole takes neither time nor room, whatever it stands for.
#[test]
fn a_file_of_a_terabyte_that_is_a_hole_is_not_read_through() {
    let case = Case::new();
    case.keep((0..4).map(pending));
    let root = case.root().to_owned();
    // As they are while it is open, with the log of the database.
    let names: Vec<PathBuf> = (files(&root).iter())
        .map(|path| path.strip_prefix(&root).unwrap().to_owned())
        .collect();
    assert!(names.contains(&"records.sqlite-wal".into()), "{names:?}");
    for name in &names {
        for keeps in [true, false] {
            let what = format!("{}, its beginning kept: {keeps}", name.display());
            let copy = case.folder.path().join("copy");
            copy_tree(&root, &copy);
            let path = copy.join(name);
            if !keeps {
                fs::remove_file(&path).unwrap();
            }
            let mut options = fs::OpenOptions::new();
            let planted = options.write(true).create(true).truncate(false).open(&path);
            planted.unwrap().set_len(1 << 40).unwrap();
            let store = headwater_remember::open(&copy, Mode::ReadWrite).map(Arc::new);
            let store = store.unwrap_or_else(|error| panic!("{what}: {error}"));
            store.verify(1, &|_, _| ()).unwrap();
            let (_, kept) = keep_in(&store, (0..4).map(pending));
            kept.unwrap_or_else(|error| panic!("{what}: {error}"));
            for number in [0, 2] {
                let read = store.read(&digest(number));
                assert_eq!(read.unwrap(), bytes(number), "{what}");
            }
            drop(store);
            let store = headwater_remember::open(&copy, Mode::ReadWrite).unwrap();
            store.verify(1, &|_, _| ()).unwrap();
            drop(store);
            fs::remove_dir_all(&copy).unwrap();
        }
    }
}
