//! Files of tasks beside a store in memory.
//!
//! Law: all of them are in the folder that the store was given, and nobody finds them again after it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use headwater_graph::{DirectoryValue, FileDigest, Local, RunFolders, StoreError};

use super::MemoryStore;
use crate::digests::digest_anew;
use crate::directory;
use crate::disk::cannot;

/// The names of the folders in a folder.
fn folders_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// Removes a folder; that there is none is no error.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

impl Local for MemoryStore {
    fn run_folders(&self, run: &str) -> RunFolders {
        RunFolders {
            work: self.folder.join("work").join(run),
            staging: self.folder.join("staging").join(run),
            logs: self.folder.join("runs").join(run).join("logs"),
        }
    }

    fn sheltered(&self) -> Vec<PathBuf> {
        vec![self.folder.join("objects")]
    }

    fn is_staged(&self, path: &Path) -> bool {
        path.starts_with(self.folder.join("staging"))
    }

    fn is_inside(&self, path: &Path) -> bool {
        path.starts_with(&self.folder)
    }

    fn is_object(&self, path: &Path) -> bool {
        path.starts_with(self.folder.join("objects"))
    }

    fn remove_staging(&self, run: &str) -> Result<(), StoreError> {
        let mut state = self.state();
        state.alive.remove(run);
        state.shares.remove(run);
        let staging = self.run_folders(run).staging;
        remove(&staging).map_err(cannot("remove", &staging))
    }

    fn work_folders(&self) -> Vec<String> {
        folders_in(&self.folder.join("work"))
    }

    fn remove_work_folder(&self, run: &str) -> io::Result<()> {
        remove(&self.run_folders(run).work)
    }

    fn log_folders(&self) -> Vec<(String, PathBuf)> {
        let runs = folders_in(&self.folder.join("runs")).into_iter();
        runs.map(|run| {
            let logs = self.run_folders(&run).logs;
            (run, logs)
        })
        .collect()
    }

    fn logged(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.logged)
    }

    fn has_entries(&self, folder: &Path) -> bool {
        fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
    }

    fn digest_files(
        &self,
        paths: &[PathBuf],
        threads: usize,
    ) -> Result<Vec<FileDigest>, StoreError> {
        digest_anew(paths, threads)
    }

    fn digest_directory(
        &self,
        path: &Path,
    ) -> Result<(DirectoryValue, Vec<FileDigest>), StoreError> {
        directory::digest(self, path)
    }
}
