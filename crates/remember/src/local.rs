//! What of the store lies on this machine for the sake of running tasks: all of it, since the store is a folder.
//!
//! Law: the folders of a run are beneath the folder of the store. Files on their way in lie on the file system of the
//! objects, so that they become objects without a copy.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use headwater_graph::{DirectoryValue, FileDigest, Local, RunFolders, StoreError};

use crate::beneath::Kind;
use crate::store::FolderStore;

impl Local for FolderStore {
    fn run_folders(&self, run: &str) -> RunFolders {
        let root = self.beneath();
        RunFolders {
            work: root.at("work").join(run),
            staging: root.at("staging").join(run),
            logs: root.at("runs").join(run).join("logs"),
        }
    }

    fn sheltered(&self) -> Vec<PathBuf> {
        vec![self.beneath().at("objects")]
    }

    fn is_staged(&self, path: &Path) -> bool {
        path.starts_with(self.beneath().at("staging"))
    }

    fn is_inside(&self, path: &Path) -> bool {
        path.starts_with(self.root())
    }

    fn is_object(&self, path: &Path) -> bool {
        path.starts_with(self.beneath().at("objects"))
    }

    fn remove_staging(&self, run: &str) -> Result<(), StoreError> {
        self.release_run(run)
    }

    fn work_folders(&self) -> Vec<String> {
        let listed = self.beneath().list("work").unwrap_or_default();
        listed
            .into_iter()
            .filter_map(|(name, _)| name.into_string().ok())
            .collect()
    }

    fn remove_work_folder(&self, run: &str) -> io::Result<()> {
        self.beneath().remove_all(Path::new("work").join(run))
    }

    fn log_folders(&self) -> Vec<(String, PathBuf)> {
        let listed = self.beneath().list("runs").unwrap_or_default();
        listed
            .into_iter()
            .filter(|(_, kind)| *kind == Kind::Folder)
            .filter_map(|(name, _)| name.into_string().ok())
            .map(|run| {
                let logs = self.run_folders(&run).logs;
                (run, logs)
            })
            .collect()
    }

    fn logged(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.logged)
    }

    fn has_entries(&self, folder: &Path) -> bool {
        let below = folder.strip_prefix(self.root()).ok();
        let listed = below.and_then(|name| self.beneath().list(name).ok());
        listed.is_some_and(|entries| !entries.is_empty())
    }

    fn digest_files(
        &self,
        paths: &[PathBuf],
        threads: usize,
    ) -> Result<Vec<FileDigest>, StoreError> {
        self.cached_digests(paths, threads)
    }

    fn digest_directory(
        &self,
        path: &Path,
    ) -> Result<(DirectoryValue, Vec<FileDigest>), StoreError> {
        crate::directory::digest(self, path)
    }
}
