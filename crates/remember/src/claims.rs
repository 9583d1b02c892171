//! Who is alive, and what the dead have left behind.
//!
//! Law: a claim is a folder below `staging/` with a lock file beside it; its owner is alive exactly as long as the
//! lock is held. The kernel lets go of a lock when a process ends, however it ends, so nobody has to look for
//! process numbers, which may be given to others or belong to another container. Claims are made and swept only while
//! the gate, the file `lock` of the store, is held: a claim being made is never taken for a dead one.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use headwater_graph::StoreError;

use crate::disk::cannot;

/// A folder that belongs to somebody who is alive.
#[derive(Debug)]
pub(crate) struct Claim {
    folder: PathBuf,
    lock_path: PathBuf,
    _lock: File,
}

impl Claim {
    /// Claims a name, with an empty or existing folder.
    pub(crate) fn take(root: &Path, name: &str) -> Result<Claim, StoreError> {
        let _gate = gate(root)?;
        let staging = root.join("staging");
        let folder = staging.join(name);
        let lock_path = lock_path(root, name);
        fs::create_dir_all(&staging).map_err(cannot("make", &staging))?;
        let lock = File::create(&lock_path).map_err(cannot("make", &lock_path))?;
        hold(&lock).map_err(cannot("lock", &lock_path))?;
        fs::create_dir_all(&folder).map_err(cannot("make", &folder))?;
        Ok(Claim {
            folder,
            lock_path,
            _lock: lock,
        })
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the folder and gives up the claim.
    pub(crate) fn release(self) -> Result<(), StoreError> {
        // The lock file goes last, so that the folder never stands there without one.
        remove_folder(&self.folder)?;
        remove_file(&self.lock_path)
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
pub(crate) fn gate(root: &Path) -> Result<File, StoreError> {
    let path = root.join("lock");
    let gate = File::create(&path).map_err(cannot("make", &path))?;
    gate.lock().map_err(cannot("lock", &path))?;
    Ok(gate)
}

fn lock_path(root: &Path, name: &str) -> PathBuf {
    root.join("staging").join(format!("{name}.lock"))
}

/// Whether the owner of a claim is alive. Who cannot be asked is: dead is only whose lock is gone or free.
pub(crate) fn is_alive(root: &Path, name: &str) -> bool {
    match File::open(lock_path(root, name)) {
        Ok(lock) => lock.try_lock_shared().is_err(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// The names of all claims whose owner is alive, with the seconds since 1970 at which they were made.
pub(crate) fn alive(root: &Path) -> Result<Vec<(String, i64)>, StoreError> {
    let staging = root.join("staging");
    let mut alive = Vec::new();
    let listed = match fs::read_dir(&staging) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(alive),
        listed => listed.map_err(cannot("list", &staging))?,
    };
    for entry in listed {
        let entry = entry.map_err(cannot("list", &staging))?;
        let file_name = entry.file_name();
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
        if let Ok(found) = entry.metadata() {
            alive.push((name.to_owned(), found.mtime()));
        }
    }
    Ok(alive)
}

/// Removes what the dead have left below `staging/`. The caller holds the gate.
pub(crate) fn sweep(root: &Path) -> Result<(), StoreError> {
    let staging = root.join("staging");
    let listed = match fs::read_dir(&staging) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        listed => listed.map_err(cannot("list", &staging))?,
    };
    for entry in listed {
        let entry = entry.map_err(cannot("list", &staging))?;
        let file_name = entry.file_name();
        // Every claim has a name in plain letters; anything else was put there by somebody else.
        let Some(name) = file_name.to_str() else {
            continue;
        };
        let name = name.strip_suffix(".lock").unwrap_or(name);
        if !is_alive(root, name) {
            remove_folder(&staging.join(name))?;
            remove_file(&lock_path(root, name))?;
        }
    }
    Ok(())
}

/// Removes a folder with all that is in it, if it is there.
fn remove_folder(folder: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(cannot("remove", folder)(error))
        }
        _ => Ok(()),
    }
}

fn remove_file(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot("remove", path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_lives_as_long_as_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert!(!is_alive(root, "a"));
        let claim = Claim::take(root, "a").unwrap();
        assert!(is_alive(root, "a"));
        drop(claim);
        assert!(!is_alive(root, "a"));
    }

    #[test]
    fn who_cannot_be_asked_is_alive() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        drop(Claim::take(root, "a").unwrap());
        let lock = lock_path(root, "a");
        fs::remove_file(&lock).unwrap();
        // A link to itself can be opened by nobody.
        std::os::unix::fs::symlink(&lock, &lock).unwrap();
        assert!(is_alive(root, "a"));
        sweep(root).unwrap();
        assert!(root.join("staging/a").exists());
        fs::remove_file(&lock).unwrap();
        assert!(!is_alive(root, "a"));
    }

    #[test]
    fn only_the_dead_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let alive = Claim::take(root, "alive").unwrap();
        let dead = Claim::take(root, "dead").unwrap();
        for claim in [&alive, &dead] {
            fs::write(claim.folder().join("file"), "bytes").unwrap();
        }
        drop(dead);
        fs::create_dir(root.join("staging/without-lock")).unwrap();
        fs::write(root.join("staging/without-folder.lock"), "").unwrap();
        sweep(root).unwrap();
        let mut left: Vec<_> = fs::read_dir(root.join("staging"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["alive", "alive.lock"]);
        assert!(alive.folder().join("file").exists());
        alive.release().unwrap();
        assert_eq!(fs::read_dir(root.join("staging")).unwrap().count(), 0);
    }

    #[test]
    fn a_name_is_claimed_once() {
        let folder = tempfile::tempdir().unwrap();
        let _claim = Claim::take(folder.path(), "a").unwrap();
        let second = Claim::take(folder.path(), "a").unwrap_err().to_string();
        assert!(
            second.ends_with("staging/a.lock`: it is in use"),
            "{second}"
        );
    }
}
