//! Who is alive, and what the dead have left behind.
//!
//! Law: a claim is a folder below `staging/` with a lock file beside it; its owner is alive exactly as long as the
//! lock is held. The kernel lets go of a lock when a process ends, however it ends, so nobody has to look for
//! process numbers, which may be given to others or belong to another container. Claims are made and swept only while
//! the gate, the file `lock` of the store, is held: a claim being made is never taken for a dead one.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_graph::StoreError;

use crate::beneath::{Access, Kind, Root, is_planted};
use crate::disk::{cannot, wait_for};

/// A folder that belongs to somebody who is alive.
#[derive(Debug)]
pub(crate) struct LiveClaim {
    root: Arc<Root>,
    name: String,
    _lock: File,
}

impl LiveClaim {
    /// Claims a name, with an empty or existing folder.
    pub(crate) fn take(root: &Arc<Root>, name: &str) -> Result<LiveClaim, StoreError> {
        let _gate = gate(root)?;
        let (folder, lock_name) = (folder_name(name), lock_name(name));
        root.make_folder("staging")
            .map_err(cannot("make", &root.at("staging")))?;
        let lock =
            (root.file(&lock_name, Access::Lock)).map_err(cannot("make", &root.at(&lock_name)))?;
        hold(&lock).map_err(cannot("lock", &root.at(&lock_name)))?;
        root.make_folder(&folder)
            .map_err(cannot("make", &root.at(&folder)))?;
        Ok(LiveClaim {
            root: Arc::clone(root),
            name: name.to_owned(),
            _lock: lock,
        })
    }

    /// Its folder, as it is called beneath that of the store.
    pub(crate) fn folder(&self) -> PathBuf {
        folder_name(&self.name)
    }

    /// Removes the folder and gives up the claim.
    pub(crate) fn release(self) -> Result<(), StoreError> {
        remove(&self.root, &self.name)
    }
}

/// Those who only look whether a lock is held hold it themselves for a moment; an owner outlasts them.
fn hold(lock: &File) -> io::Result<()> {
    let end = Instant::now() + Duration::from_secs(2);
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(TryLockError::WouldBlock) => return Err(io::Error::other("it is in use")),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Waits for the gate; it opens again when the file is dropped.
pub(crate) fn gate(root: &Root) -> Result<File, StoreError> {
    let gate = root
        .file("lock", Access::Lock)
        .map_err(cannot("make", &root.at("lock")))?;
    wait_for(&gate, File::lock).map_err(cannot("lock", &root.at("lock")))?;
    Ok(gate)
}

fn folder_name(name: &str) -> PathBuf {
    Path::new("staging").join(name)
}

fn lock_name(name: &str) -> PathBuf {
    Path::new("staging").join(format!("{name}.lock"))
}

/// Whether the owner of a claim is alive. Who cannot be asked is: dead is only whose lock is gone, free, or not a lock
/// but something that was put in its place.
pub(crate) fn is_alive(root: &Root, name: &str) -> bool {
    match root.file(lock_name(name), Access::Read) {
        Ok(lock) => lock.try_lock_shared().is_err(),
        Err(error) => is_asked_in_vain(&error),
    }
}

/// Whether an error at opening a lock says nothing about its owner.
fn is_asked_in_vain(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::NotFound && !is_planted(error)
}

/// The names of all claims whose owner is alive, with the seconds since 1970 at which they were made.
pub(crate) fn alive(root: &Root) -> Result<Vec<(String, i64)>, StoreError> {
    let mut alive = Vec::new();
    for (file_name, _) in list(root)? {
        let Some(name) = file_name
            .to_str()
            .and_then(|name| name.strip_suffix(".lock"))
        else {
            continue;
        };
        if !is_alive(root, name) {
            continue;
        }
        // One that is gone by now has ended.
        if let Ok(found) = root.metadata(lock_name(name)) {
            alive.push((name.to_owned(), found.mtime()));
        }
    }
    Ok(alive)
}

fn list(root: &Root) -> Result<Vec<(OsString, Kind)>, StoreError> {
    root.list("staging")
        .map_err(cannot("list", &root.at("staging")))
}

/// Removes what the dead have left below `staging/`. The caller holds the gate.
pub(crate) fn sweep(root: &Root) -> Result<(), StoreError> {
    for (file_name, _) in list(root)? {
        // Every claim has a name in plain letters; anything else was put there by somebody else.
        let Some(name) = file_name.to_str() else {
            continue;
        };
        let name = name.strip_suffix(".lock").unwrap_or(name);
        if !is_alive(root, name) {
            remove(root, name)?;
        }
    }
    Ok(())
}

/// Removes what is left of a claim. The lock file goes last, so that the folder never stands there without one.
fn remove(root: &Root, name: &str) -> Result<(), StoreError> {
    for left in [folder_name(name), lock_name(name)] {
        root.remove_all(&left)
            .map_err(cannot("remove", &root.at(&left)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn root(folder: &tempfile::TempDir) -> Arc<Root> {
        Arc::new(Root::open(folder.path()).unwrap())
    }

    #[test]
    fn a_claim_lives_as_long_as_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let root = &root(&folder);
        assert!(!is_alive(root, "a"));
        let claim = LiveClaim::take(root, "a").unwrap();
        assert!(is_alive(root, "a"));
        drop(claim);
        assert!(!is_alive(root, "a"));
    }

    #[test]
    fn who_cannot_be_asked_is_alive() {
        // As where the process has too many files open already, or the disk cannot be read.
        for code in [libc::EMFILE, libc::ENFILE, libc::EIO, libc::EACCES] {
            assert!(is_asked_in_vain(&io::Error::from_raw_os_error(code)));
        }
        assert!(!is_asked_in_vain(&io::ErrorKind::NotFound.into()));
    }

    #[test]
    fn what_stands_in_the_place_of_a_lock_holds_nobody_up_and_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let root = &root(&folder);
        drop(LiveClaim::take(root, "a").unwrap());
        let (lock, target) = (root.at(lock_name("a")), elsewhere.path().join("held"));
        fs::remove_file(&lock).unwrap();
        let held = File::create(&target).unwrap();
        held.lock().unwrap();
        std::os::unix::fs::symlink(&target, &lock).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.at("staging/b")).unwrap();
        assert!(!is_alive(root, "a"));
        assert_eq!(alive(root).unwrap(), []);
        sweep(root).unwrap();
        assert_eq!(fs::read_dir(root.at("staging")).unwrap().count(), 0);
        assert!(target.exists());
    }

    #[test]
    fn only_the_dead_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let root = &root(&folder);
        let alive = LiveClaim::take(root, "alive").unwrap();
        let dead = LiveClaim::take(root, "dead").unwrap();
        for claim in [&alive, &dead] {
            fs::write(root.at(claim.folder()).join("file"), "bytes").unwrap();
        }
        drop(dead);
        fs::create_dir(root.at("staging/without-lock")).unwrap();
        fs::write(root.at("staging/without-folder.lock"), "").unwrap();
        sweep(root).unwrap();
        let mut left: Vec<_> = fs::read_dir(root.at("staging"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["alive", "alive.lock"]);
        assert!(root.at(alive.folder()).join("file").exists());
        alive.release().unwrap();
        assert_eq!(fs::read_dir(root.at("staging")).unwrap().count(), 0);
    }

    #[test]
    fn a_name_is_claimed_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = root(&folder);
        let _claim = LiveClaim::take(&root, "a").unwrap();
        let second = LiveClaim::take(&root, "a").unwrap_err().to_string();
        assert!(
            second.ends_with("staging/a.lock`: it is in use"),
            "{second}"
        );
    }
}
