//! What the tests of the store share.
//!
//! Law: everything made here follows from a number, so that two processes can speak of the same product.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use headwater_graph::{
    Digest, Mode, ObjectSource, Pending, PendingObject, ProductRecord, Recipe, RunRecord, Scalar,
    Store, StoredOutput,
};
use headwater_remember::Writer;

/// A store in a temporary folder.
pub(crate) struct Case {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: Arc<dyn Store>,
}

impl Case {
    pub(crate) fn new() -> Case {
        let folder = tempfile::tempdir().unwrap();
        let store =
            headwater_remember::open(&folder.path().join(".headwater"), Mode::ReadWrite).unwrap();
        Case { folder, store }
    }

    /// Takes the journal away, so that what is damaged cannot be had from it.
    pub(crate) fn forget_journal(&self) {
        std::fs::remove_file(self.root().join("records.journal")).unwrap();
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join(".headwater")
    }

    pub(crate) fn open(&self, mode: Mode) -> Arc<dyn Store> {
        headwater_remember::open(&self.root(), mode).unwrap()
    }

    /// Keeps products and returns the tickets that were acknowledged.
    pub(crate) fn keep(&self, pending: impl IntoIterator<Item = Pending>) -> Vec<u64> {
        let (tickets, closed) = self.try_keep(pending);
        closed.unwrap();
        tickets
    }

    pub(crate) fn try_keep(
        &self,
        pending: impl IntoIterator<Item = Pending>,
    ) -> (Vec<u64>, Result<(), headwater_graph::StoreError>) {
        keep_in(&self.store, pending)
    }
}

/// A folder in memory where there is one: tests that synchronise thousands of times need not wait for a disk.
pub(crate) fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Copies a folder with all that is in it.
pub(crate) fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Keeps products in a store and returns the tickets that were acknowledged.
pub(crate) fn keep_in(
    store: &Arc<dyn Store>,
    pending: impl IntoIterator<Item = Pending>,
) -> (Vec<u64>, Result<(), headwater_graph::StoreError>) {
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&acknowledged);
    let acknowledge = move |tickets: &[u64]| seen.lock().unwrap().extend_from_slice(tickets);
    let writer = Writer::start(Arc::clone(store), Box::new(acknowledge));
    for pending in pending {
        writer.submit(pending);
    }
    let closed = writer.close();
    let tickets = acknowledged.lock().unwrap().clone();
    (tickets, closed)
}

/// Checks that what a store says of these products is right, and gives those that it knows.
pub(crate) fn check_right(store: &dyn Store, numbers: std::ops::Range<u64>) -> Vec<u64> {
    let recipes: Vec<Recipe> = numbers.clone().map(recipe).collect();
    store.known(&recipes).unwrap();
    let mut served = Vec::new();
    for (number, found) in numbers.zip(store.fetch(&recipes).unwrap()) {
        let Some(found) = found else { continue };
        assert_eq!(found, record(number), "a wrong record is served");
        served.push(number);
    }
    served
}

/// The same, where nobody else is at the store: what is there is also known.
pub(crate) fn check_served(store: &dyn Store, numbers: std::ops::Range<u64>) -> Vec<u64> {
    let served = check_right(store, numbers);
    let recipes: Vec<Recipe> = served.iter().copied().map(recipe).collect();
    let known = store.known(&recipes).unwrap();
    assert!(
        known.iter().all(Option::is_some),
        "something is not known and yet there"
    );
    served
}

pub(crate) fn recipe(number: u64) -> Recipe {
    Recipe(Digest::of(&number.to_le_bytes()).0)
}

/// The bytes of the object of a product; neighbours share one.
pub(crate) fn bytes(number: u64) -> Vec<u8> {
    (number / 2)
        .to_le_bytes()
        .repeat(500 + number as usize % 2000 / 2)
}

pub(crate) fn record(number: u64) -> ProductRecord {
    let bytes = bytes(number);
    let output = StoredOutput {
        digest: Digest::of(&bytes),
        size: bytes.len() as u64,
        inline: None,
        encoding: Some(Digest::of(&bytes)),
    };
    ProductRecord {
        recipe: recipe(number),
        content: None,
        operation: format!("test/operation-{}", number % 3).into(),
        version: "1".into(),
        parameters: vec![("number".into(), Scalar::Int(number.cast_signed()))],
        inputs: vec![("in".into(), format!("{}:out", recipe(number / 4)))],
        outputs: vec![("out".into(), output)],
        wall: number,
        cpu: u64::MAX - number,
        peak_memory: 1 << 40,
        run: "run".into(),
        time: -1,
    }
}

/// A product whose object is in memory.
pub(crate) fn pending(number: u64) -> Pending {
    let bytes = bytes(number);
    let object = PendingObject {
        digest: Digest::of(&bytes),
        source: ObjectSource::Bytes(bytes),
    };
    Pending {
        record: record(number),
        objects: vec![object],
    }
}

/// A product whose object is a staged file.
pub(crate) fn staged(store: &dyn Store, run: &str, number: u64) -> Pending {
    let path = store.run_folders(run).staging.join(number.to_string());
    let bytes = bytes(number);
    std::fs::write(&path, &bytes).unwrap();
    let object = PendingObject {
        digest: Digest::of(&bytes),
        source: ObjectSource::Staged(path),
    };
    Pending {
        record: record(number),
        objects: vec![object],
    }
}

pub(crate) fn run(id: &str) -> RunRecord {
    RunRecord {
        id: id.to_owned(),
        workflow: "flow".to_owned(),
        file: "folder/flow.yaml".into(),
        started: 1_767_225_600,
        tasks: 7,
        outputs: "outputs/a".into(),
        command: vec![
            "headwater".to_owned(),
            "run".to_owned(),
            String::new(),
            "a b\n".to_owned(),
        ],
        ..RunRecord::default()
    }
}
