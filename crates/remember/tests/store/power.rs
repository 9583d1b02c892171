//! Loss of power at any moment: what was acknowledged is there, and what is there is whole.
//!
//! A child keeps products, and what it does to its files is recorded by a small library (`recorder.c`) that is loaded
//! before the C library. Then for every prefix of what was recorded three states of the disk are made:
//!
//! 1. everything up to there has reached the disk;
//! 2. only what was synchronised has: the bytes of a file as they were when the file, or the whole file system, was
//!    last synchronised, and the names in a folder as they were when the folder, or the whole file system, was last
//!    synchronised. A file that never was is empty, a folder that never was has nothing in it;
//! 3. something between the two, as real disks leave it: each file and each folder is in one of these states, chosen
//!    by numbers that follow from the length of the prefix.
//!
//! The memory that SQLite maps (`-shm`) is left out: it is no part of what
//! is remembered, and SQLite makes it anew. The states differ in what the disk has; the law is the same for all: the
//! store opens and speaks of no damage, each record it has is right and has its objects, everything whose
//! acknowledgement is on the disk is there, and after everything was kept again everything is there.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{keep_in, recipe, record, run, scratch};
use headwater_graph::{Digest, Mode, ObjectSource, Pending, PendingObject, Recipe, Store};
use headwater_remember::Writer;

const RECORDER: &str = include_str!("recorder.c");

/// How many products are submitted before everything has to be kept.
const BATCHES: [u64; 6] = [1, 2, 1, 12, 1, 3];
const COUNT: u64 = 20;
/// The product with so many objects that the whole file system is synchronised for them.
const LARGE: u64 = 9;

fn contents(number: u64) -> Vec<u8> {
    let sizes = [10, 1, 700, 5_000, 20_000, 40_000];
    number
        .to_le_bytes()
        .into_iter()
        .cycle()
        .take(sizes[number as usize % 6])
        .collect()
}

/// Every fourth product has its value in the record, the others have an object.
fn product(number: u64) -> Pending {
    let bytes = contents(number);
    let digest = Digest::of(&bytes);
    let mut record = record(number);
    let output = &mut record.outputs[0].1;
    (output.digest, output.size) = (digest, bytes.len() as u64);
    if number.is_multiple_of(4) {
        output.inline = Some(bytes.into());
        output.encoding = None;
        return Pending {
            record,
            objects: Vec::new(),
        };
    }
    output.encoding = Some(digest);
    let mut objects = vec![bytes];
    if number == LARGE {
        objects.extend((0..40).map(|part| format!("part {part}").into_bytes()));
    }
    let pending = |bytes: Vec<u8>| PendingObject {
        digest: Digest::of(&bytes),
        source: ObjectSource::Bytes(bytes),
    };
    Pending {
        record,
        objects: objects.into_iter().map(pending).collect(),
    }
}

/// The part of the child: keeps all products, and notes durably what is acknowledged.
#[test]
fn child() {
    let Ok(folder) = std::env::var("HEADWATER_RECORD_FOLDER") else {
        return;
    };
    let folder = PathBuf::from(folder);
    let mut notes = fs::File::create(folder.join("acknowledged")).unwrap();
    let sync_folder = || fs::File::open(&folder).unwrap().sync_all().unwrap();
    sync_folder();
    let store = headwater_remember::open(&folder.join("store"), Mode::ReadWrite).unwrap();
    store.begin_run(&run("run")).unwrap();
    let acknowledge = move |tickets: &[u64]| {
        let lines: String = tickets.iter().map(|ticket| format!("{ticket}\n")).collect();
        notes.write_all(lines.as_bytes()).unwrap();
        notes.sync_data().unwrap();
    };
    // The callback is called by one thread.
    let acknowledge = Mutex::new(acknowledge);
    let writer = Writer::start(
        Arc::clone(&store),
        Box::new(move |tickets| {
            let acknowledge = &mut *acknowledge.lock().unwrap();
            acknowledge(tickets);
        }),
    );
    let mut number = 0;
    for batch in BATCHES {
        for _ in 0..batch {
            let mut pending = product(number);
            // Some come as files.
            if let Some(object) = pending.objects.first_mut()
                && number % 4 == 1
            {
                let path = store.run_folders("run").staging.join(number.to_string());
                fs::write(&path, contents(number)).unwrap();
                object.source = ObjectSource::Staged(path);
            }
            writer.submit(pending);
            number += 1;
        }
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    store.remove_staging("run").unwrap();
    drop(store);
}

/// One recorded call.
#[derive(Debug)]
enum Call {
    Create(PathBuf, u64),
    Write(u64, usize, Vec<u8>),
    Truncate(u64, usize),
    Rename(PathBuf, PathBuf),
    Link(PathBuf, PathBuf),
    Unlink(PathBuf),
    MakeFolder(PathBuf),
    RemoveFolder(PathBuf),
    Sync(PathBuf, u64),
    SyncAll,
}

fn read_log(mut log: &[u8], folder: &Path) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut take = |count: usize| {
        let (taken, rest) = log.split_at_checked(count)?;
        log = rest;
        Some(taken.to_vec())
    };
    while let Some(kind) = take(1) {
        let mut number = |count: usize| {
            let mut bytes = take(count).unwrap();
            bytes.resize(8, 0);
            u64::from_le_bytes(bytes.try_into().unwrap())
        };
        let (inode, value) = (number(8), number(8) as usize);
        let lengths = [number(4), number(4), number(4)].map(|length| length as usize);
        let mut path = |length: usize| {
            let text = String::from_utf8(take(length).unwrap()).unwrap();
            let path = Path::new(&text);
            path.strip_prefix(folder).unwrap_or(path).to_owned()
        };
        let (first, second) = (path(lengths[0]), path(lengths[1]));
        let data = take(lengths[2]).unwrap();
        if first.to_string_lossy().ends_with("-shm") {
            continue;
        }
        calls.push(match kind[0] {
            1 => Call::Create(first, inode),
            2 => Call::Write(inode, value, data),
            3 => Call::Truncate(inode, value),
            4 => Call::Rename(first, second),
            5 => Call::Link(first, second),
            6 => Call::Unlink(first),
            7 => Call::MakeFolder(first),
            8 => Call::RemoveFolder(first),
            9 => Call::Sync(first, inode),
            10 => Call::SyncAll,
            other => panic!("{other}"),
        });
    }
    calls
}

/// What is under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    Folder,
    File(usize),
}

#[derive(Debug, Default, Clone)]
struct Contents {
    now: Vec<u8>,
    safe: Vec<u8>,
}

/// A disk: what was written to it, and what of that is safe.
#[derive(Debug, Default)]
struct Disk {
    names: BTreeMap<PathBuf, Node>,
    /// By folder.
    safe_names: HashMap<PathBuf, BTreeMap<PathBuf, Node>>,
    files: Vec<Contents>,
    by_inode: HashMap<u64, usize>,
}

impl Disk {
    fn apply(&mut self, call: &Call) {
        match call {
            Call::Create(path, inode) => {
                self.by_inode.insert(*inode, self.files.len());
                self.names
                    .insert(path.clone(), Node::File(self.files.len()));
                self.files.push(Contents::default());
            }
            Call::Write(inode, at, data) => {
                let file = &mut self.files[self.by_inode[inode]].now;
                file.resize(file.len().max(at + data.len()), 0);
                file[*at..at + data.len()].copy_from_slice(data);
            }
            Call::Truncate(inode, length) => {
                self.files[self.by_inode[inode]].now.resize(*length, 0);
            }
            Call::Rename(from, to) => {
                let node = self.names[from];
                assert_ne!(node, Node::Folder, "folders are not renamed");
                // Renaming to another name of the same file does nothing.
                if self.names.get(to) != Some(&node) {
                    self.names.remove(from);
                    self.names.insert(to.clone(), node);
                }
            }
            Call::Link(from, to) => {
                let node = self.names[from];
                self.names.insert(to.clone(), node);
            }
            Call::Unlink(path) | Call::RemoveFolder(path) => {
                self.names.remove(path);
            }
            Call::MakeFolder(path) => {
                self.names.insert(path.clone(), Node::Folder);
                self.safe_names.remove(path);
            }
            Call::Sync(path, inode) => match self.names.get(path) {
                None if !path.as_os_str().is_empty() => {}
                Some(Node::File(_)) => {
                    let file = &mut self.files[self.by_inode[inode]];
                    file.safe.clone_from(&file.now);
                }
                Some(Node::Folder) | None => self.sync_folder(path),
            },
            Call::SyncAll => {
                for file in &mut self.files {
                    file.safe.clone_from(&file.now);
                }
                let mut folders: Vec<PathBuf> = self.names.keys().cloned().collect();
                folders.retain(|path| self.names[path] == Node::Folder);
                folders.push(PathBuf::new());
                for folder in folders {
                    self.sync_folder(&folder);
                }
            }
        }
    }

    fn sync_folder(&mut self, folder: &Path) {
        self.safe_names
            .insert(folder.to_owned(), self.names_in(folder));
    }

    fn names_in(&self, folder: &Path) -> BTreeMap<PathBuf, Node> {
        self.names
            .iter()
            .filter(|(path, _)| path.parent() == Some(folder))
            .map(|(path, node)| (path.clone(), *node))
            .collect()
    }

    /// Everything, in order, folders before what is in them.
    fn written(&self) -> State {
        self.names
            .iter()
            .map(|(path, node)| match node {
                Node::Folder => (path.clone(), None),
                Node::File(file) => (path.clone(), Some(self.files[*file].now.clone())),
            })
            .collect()
    }

    /// What is there if of each file and each folder only what is safe has remained, unless it `has_all`.
    fn safe(&self, has_all: impl Fn(&[u8]) -> bool) -> State {
        let mut state = State::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let mut names = self.safe_names.get(&folder).cloned().unwrap_or_default();
            if has_all(folder.as_os_str().as_encoded_bytes()) {
                names = self.names_in(&folder);
            }
            for (path, node) in names {
                let contents = match node {
                    Node::Folder => {
                        folders.push(path.clone());
                        None
                    }
                    Node::File(file) if has_all(&file.to_le_bytes()) => {
                        Some(self.files[file].now.clone())
                    }
                    Node::File(file) => Some(self.files[file].safe.clone()),
                };
                state.insert(path, contents);
            }
        }
        state
    }
}

/// Files with their contents, and folders.
type State = BTreeMap<PathBuf, Option<Vec<u8>>>;

fn fingerprint(state: &State) -> Digest {
    let mut all = Vec::new();
    for (path, contents) in state {
        let kind = u8::from(contents.is_some());
        let contents = contents.as_deref().unwrap_or_default();
        all.extend_from_slice(format!("{}\0{kind}{}\0", path.display(), contents.len()).as_bytes());
        all.extend_from_slice(contents);
    }
    Digest::of(&all)
}

/// Makes the state and checks what a store makes of it.
fn check(what: &str, state: &State) {
    let folder = scratch();
    for (path, contents) in state {
        let path = folder.path().join(path);
        match contents {
            None => fs::create_dir(&path).unwrap(),
            Some(contents) => fs::write(&path, contents).unwrap(),
        }
    }
    let root = folder.path().join("store");
    let notes = fs::read_to_string(folder.path().join("acknowledged")).unwrap_or_default();
    let acknowledged: Vec<u64> = notes
        .split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
        .map(|line| line.parse().unwrap())
        .collect();
    let store = Arc::new(
        headwater_remember::open(&root, Mode::ReadWrite)
            .unwrap_or_else(|error| panic!("{what}: refused: {error}")),
    );
    let served = |store: &dyn Store| {
        let recipes: Vec<Recipe> = (0..COUNT).map(recipe).collect();
        let mut served = HashSet::new();
        for (number, found) in (0..COUNT).zip(store.fetch(&recipes).unwrap()) {
            let Some(found) = found else { continue };
            let product = product(number);
            assert_eq!(found, product.record, "{what}");
            for object in &product.objects {
                assert!(store.path(&object.digest).is_some(), "{what}: {number}");
                let bytes = store.read(&object.digest).unwrap();
                assert_eq!(ObjectSource::Bytes(bytes), object.source, "{what}");
            }
            served.insert(number);
        }
        assert_eq!(store.take_damage(), [""; 0], "{what}");
        served
    };
    let first = served(&**store);
    for ticket in acknowledged {
        assert!(
            first.contains(&ticket),
            "{what}: {ticket} was acknowledged and is lost"
        );
    }
    keep_in(&store, (0..COUNT).map(product)).1.unwrap();
    assert_eq!(served(&**store).len() as u64, COUNT, "{what}");
    drop(store);
    let store = headwater_remember::open(&root, Mode::ReadOnly).unwrap();
    assert_eq!(served(&*store).len() as u64, COUNT, "{what}");
}

/// Compiles the recorder; `None` where there is no compiler.
fn recorder(folder: &Path) -> Option<PathBuf> {
    let (source, library) = (folder.join("recorder.c"), folder.join("recorder.so"));
    fs::write(&source, RECORDER).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .args(["-ldl", "-lpthread"])
        .output()
        .ok()?;
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    Some(library)
}

#[test]
fn every_moment_of_a_run_may_be_the_last() {
    let folder = scratch();
    let Some(library) = recorder(folder.path()) else {
        println!("skipped: there is no C compiler `cc`, which the recorder of writes needs");
        return;
    };
    let recorded = folder.path().join("recorded");
    let log = folder.path().join("log");
    fs::create_dir(&recorded).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["power::child", "--exact", "--test-threads=1"])
        .env("LD_PRELOAD", library)
        .env("HEADWATER_RECORD_FOLDER", &recorded)
        .env("HEADWATER_RECORD_LOG", &log)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let calls = read_log(&fs::read(&log).unwrap(), &recorded);

    let mut disk = Disk::default();
    let mut seen = HashSet::new();
    let mut states = Vec::new();
    for (position, call) in calls.iter().enumerate() {
        disk.apply(call);
        let drawn = |bytes: &[u8]| {
            let mut all = position.to_le_bytes().to_vec();
            all.extend_from_slice(bytes);
            Digest::of(&all).0[0].is_multiple_of(2)
        };
        for (name, state) in [
            ("written", disk.written()),
            ("safe", disk.safe(|_| false)),
            ("mixed", disk.safe(drawn)),
        ] {
            if seen.insert(fingerprint(&state)) {
                states.push((format!("{name} after {position}, {}", brief(call)), state));
            }
        }
    }
    is_what_is_there(&disk, &recorded);
    let syncs = calls
        .iter()
        .filter(|call| matches!(call, Call::Sync(..)))
        .count();
    let all = calls
        .iter()
        .filter(|call| matches!(call, Call::SyncAll))
        .count();
    assert!(
        calls.len() > 200 && syncs > 30 && all >= 2,
        "{} calls, {syncs} and {all} synchronisations: is everything recorded?",
        calls.len()
    );
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((what, state)) = states.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(what, state);
                }
            });
        }
    });
    println!("{} calls, {} states", calls.len(), states.len());
}

fn brief(call: &Call) -> String {
    match call {
        Call::Write(inode, at, data) => format!("write of {} at {at} to {inode}", data.len()),
        other => format!("{other:?}"),
    }
}

/// What was recorded has to explain what the child has left; else the test would prove nothing.
fn is_what_is_there(disk: &Disk, recorded: &Path) {
    fn walk(folder: &Path, root: &Path, found: &mut State) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().to_owned();
            if metadata.is_dir() {
                found.insert(name, None);
                walk(&path, root, found);
            } else if metadata.size() < 1 << 24 {
                found.insert(name, Some(fs::read(&path).unwrap()));
            }
        }
    }
    let mut found = State::new();
    walk(recorded, recorded, &mut found);
    found.retain(|path, _| !path.to_string_lossy().ends_with("-shm"));
    let written = disk.written();
    let names = |state: &State| state.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&written));
    assert!(found == written, "contents differ");
}
