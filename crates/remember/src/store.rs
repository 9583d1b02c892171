//! A store: one folder, opened for reading or for both reading and writing.
//!
//! Law: a store opened with [`Mode::ReadOnly`] changes no record and no object and makes no folder; where there is
//! no store it is an empty one. Any number of processes may have one store open at once. What is in the folder of a
//! store is its own: a store that came from elsewhere cannot make us write or remove anything outside by a link.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use headwater_graph::{Leases, Mode, Rates, Store, StoreError};

use crate::beneath::{Kind, Root};
use crate::claims::{self, LiveClaim};
use crate::clock::now;
use crate::damage::Damage;
use crate::database::Database;
use crate::disk::{cannot, network_file_system, sync_names};
use crate::journal::JOURNAL;
use crate::leases::KernelLeases;
use crate::lock::locked;
use crate::place::{DATABASE, RecordsPlace};
use crate::worth::Meter;

/// A folder of records and objects.
#[derive(Debug)]
pub(crate) struct FolderStore {
    root: Arc<Root>,
    mode: Mode,
    /// `None` where there is no store and none may be made.
    database: Option<Database>,
    /// The runs of this process.
    runs: Mutex<HashMap<String, LiveClaim>>,
    /// Where this store puts objects until they have their name.
    incoming: Mutex<Option<LiveClaim>>,
    next_name: AtomicU64,
    damage: Damage,
    /// When the latest run of this process began, in seconds since 1970; `i64::MIN` before the first.
    latest_run: AtomicI64,
    meter: Meter,
    /// Bytes of objects that were made durable.
    pub(crate) written: Arc<AtomicU64>,
    /// Bytes of logs that runs of this process have kept.
    pub(crate) logged: Arc<AtomicU64>,
    /// The bytes of all objects when they were last counted, and which file and version of the database that was.
    pub(crate) counted: Mutex<Option<((u64, i64), u64)>>,
}

impl FolderStore {
    /// Opens the store whose folder is `root` (usually named `.headwater`). With [`Mode::ReadWrite`] it is made if it
    /// is not there, and what dead processes have left in `staging/` is removed.
    pub(crate) fn open(root: &Path, mode: Mode) -> Result<FolderStore, StoreError> {
        let path = std::path::absolute(root).map_err(cannot("find", root))?;
        if let Some(kind) = network_file_system(&path)? {
            return Err(StoreError::NetworkFileSystem { path, kind });
        }
        if mode == Mode::ReadWrite {
            std::fs::create_dir_all(&path).map_err(cannot("make", &path))?;
        }
        let root = Arc::new(Root::open(&path).map_err(cannot("open", &path))?);
        check_own(&root)?;
        let place = RecordsPlace::of(&root);
        let damage = Damage::default();
        let database = match mode {
            Mode::ReadWrite => Some(open_or_create(place, &damage)?),
            Mode::ReadOnly if root.is_file(DATABASE) => {
                Some(Database::open_read_only(place, Arc::clone(&damage))?)
            }
            Mode::ReadOnly => {
                place.check_format()?;
                if place.journal.has_entries()? {
                    locked(&damage).push(format!(
                        "the record database `{}` is missing, so nothing can be reused now; it is rebuilt \
                         from the journal when a command opens the store for writing",
                        place.path.display()
                    ));
                }
                None
            }
        };
        Ok(FolderStore {
            root,
            mode,
            database,
            runs: Mutex::default(),
            incoming: Mutex::default(),
            next_name: AtomicU64::new(0),
            damage,
            latest_run: AtomicI64::new(i64::MIN),
            meter: Meter::default(),
            written: Arc::default(),
            logged: Arc::default(),
            counted: Mutex::default(),
        })
    }

    /// Whether there is a store in this folder, or what one can be made from again.
    pub(crate) fn is_at(root: &Path) -> bool {
        let is_file = |name| {
            root.join(name)
                .symlink_metadata()
                .is_ok_and(|it| it.is_file())
        };
        is_file(DATABASE) || is_file(JOURNAL)
    }

    /// Its folder.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Its folder, for whoever opens, makes or removes something in it.
    pub(crate) fn beneath(&self) -> &Arc<Root> {
        &self.root
    }

    /// Removes the staging folder of a run of this process. Staged paths are no longer valid; objects are not touched.
    pub(crate) fn release_run(&self, run: &str) -> Result<(), StoreError> {
        let claim = locked(&self.runs).remove(run);
        claim.map_or(Ok(()), LiveClaim::release)
    }

    /// Adds to what [`Store::take_damage`] reports.
    pub(crate) fn note_damage(&self, what: String) {
        locked(&self.damage).push(what);
    }

    /// The database, unless there is none.
    pub(crate) fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// The database, for those who want to change it.
    pub(crate) fn writable(&self) -> Result<&Database, StoreError> {
        match (&self.database, self.mode) {
            (Some(database), Mode::ReadWrite) => Ok(database),
            _ => Err(StoreError::ReadOnly),
        }
    }

    /// Makes a run of this process known to be alive. Its places have been checked.
    pub(crate) fn claim_run(&self, run: &str) -> Result<(), StoreError> {
        let claim = LiveClaim::take(&self.root, run)?;
        self.latest_run.fetch_max(now(), Ordering::Relaxed);
        locked(&self.runs).insert(run.to_owned(), claim);
        Ok(())
    }

    /// When the latest run of this process began.
    pub(crate) fn latest_run(&self) -> Option<i64> {
        let latest = self.latest_run.load(Ordering::Relaxed);
        (latest != i64::MIN).then_some(latest)
    }

    /// What reading and writing cost here.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// What writing and reading cost in this store.
    pub(crate) fn measured_rates(&self) -> Rates {
        let (rates, is_due) = self.meter.rates(self.database());
        if is_due {
            self.keep_rates();
        }
        rates
    }

    /// Writes the rates down, if something was measured and the store may be written to.
    fn keep_rates(&self) {
        if let Ok(database) = self.writable() {
            self.meter.keep(database);
        }
    }

    /// Whether a run was begun by this process and is not over.
    pub(crate) fn has_claimed(&self, run: &str) -> bool {
        locked(&self.runs).contains_key(run)
    }

    /// A name beneath the folder that nobody else uses, on the file system of the objects.
    pub(crate) fn incoming_name(&self) -> Result<PathBuf, StoreError> {
        let number = self.next_name.fetch_add(1, Ordering::Relaxed);
        let mut incoming = locked(&self.incoming);
        let claim = match &mut *incoming {
            Some(claim) => claim,
            none => none.insert(LiveClaim::take(&self.root, &unique_name())?),
        };
        Ok(claim.folder().join(number.to_string()))
    }
}

impl Store for FolderStore {
    fn mode(&self) -> Mode {
        self.mode
    }

    fn place(&self) -> PathBuf {
        self.root().to_owned()
    }

    fn exists(&self) -> bool {
        FolderStore::is_at(self.root())
    }

    fn leases(&self) -> Result<Box<dyn Leases>, StoreError> {
        if self.mode == Mode::ReadOnly {
            return Err(StoreError::ReadOnly);
        }
        Ok(Box::new(KernelLeases::open(&self.root)?))
    }

    fn take_damage(&self) -> Vec<String> {
        locked(&self.damage).take()
    }
}

impl Drop for FolderStore {
    fn drop(&mut self) {
        self.keep_rates();
        if let Some(claim) = locked(&self.incoming).take() {
            // What cannot be removed now is swept by the next one to open the store.
            let _ = claim.release();
        }
    }
}

fn open_or_create(place: RecordsPlace, damage: &Damage) -> Result<Database, StoreError> {
    let root = Arc::clone(&place.root);
    // Two processes that make one store at once would both find it empty.
    let _gate = claims::gate(&root)?;
    let is_new = !root.is_file(DATABASE);
    let database = Database::open(place, Arc::clone(damage))?;
    for folder in ["objects", "staging"] {
        root.make_folder(folder)
            .map_err(cannot("make", &root.at(folder)))?;
    }
    if is_new {
        root.write(".gitignore", b"*\n")
            .map_err(cannot("write", &root.at(".gitignore")))?;
        root.sync_folder("")
            .map_err(cannot("synchronise", root.path()))?;
        if let Some(parent) = root.path().parent() {
            sync_names(parent).map_err(cannot("synchronise", parent))?;
        }
    }
    claims::sweep(&root)?;
    Ok(database)
}

/// The parts of a store that have parts of their own, and whether those are folders. What is in the others is looked
/// at when it is used.
const PARTS: [(&str, Kind); 2] = [("objects", Kind::Folder), ("leases", Kind::File)];

/// An error if a part of a store is a link, a pipe or the like. None of it would be followed; but who has such a store
/// is told at once, and which part it is.
fn check_own(root: &Root) -> Result<(), StoreError> {
    let refused = |name: &Path| {
        Err(StoreError::NotOwn {
            path: root.at(name),
        })
    };
    // Whoever uses a folder that cannot be listed finds out what is wrong with it.
    for (name, kind) in root.list("").unwrap_or_default() {
        if kind == Kind::Other {
            return refused(Path::new(&name));
        }
    }
    for (part, expected) in PARTS {
        for (name, kind) in root.list(part).unwrap_or_default() {
            // Other files somebody may have left there; they are nobody's concern.
            let is_part = name.len() == 2 || name == "damaged";
            if kind == Kind::Other || (is_part && kind != expected) {
                return refused(&Path::new(part).join(name));
            }
        }
    }
    Ok(())
}

/// How the names of claims begin that are not runs. The names of runs begin with a date.
pub(crate) const INCOMING: &str = "incoming-";

/// A name for a claim that is not a run: no two stores that are open at once, in any process, share one.
fn unique_name() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    format!("{INCOMING}{}-{now:x}-{number}", std::process::id())
}
