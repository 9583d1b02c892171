//! What of a store lies on this machine, wherever the store itself is: folders in which the tasks of a run work, files on
//! their way in, logs, and the cache of digests of the user's files.
//!
//! Law: nothing here is shared with other machines, and nothing of it is remembered. A path from here is given to those
//! who start programs, and to nobody else.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::{Digest, DirectoryValue, Mark, StoreError};

/// Where the files of one run lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolders {
    /// Where its tasks work. It is made and removed by whoever runs them.
    pub work: PathBuf,
    /// Where it puts files that are to become objects. It exists from [`begin_run`](crate::Runs::begin_run) on.
    pub staging: PathBuf,
    /// Where it keeps what its programs printed.
    pub logs: PathBuf,
}

/// A file of the user, as it was when its bytes were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileDigest {
    /// BLAKE3 of its bytes.
    pub digest: Digest,
    /// What it looked like then: who sees another mark later cannot rely on the digest.
    pub mark: Mark,
    /// Its mode, without the kind of file.
    pub mode: u32,
}

/// The part of a store that lies on this machine.
pub trait Local: Send + Sync {
    /// Where the files of a run lie.
    fn run_folders(&self, run: &str) -> RunFolders;

    /// The folders that a task must not be able to reach: there lie the objects of others.
    fn sheltered(&self) -> Vec<PathBuf>;

    /// Whether a file is on its way in: it lies in the staging folder of a run.
    fn is_staged(&self, path: &Path) -> bool;

    /// Whether a path lies in the store, under a name that means nothing to people.
    fn is_inside(&self, path: &Path) -> bool;

    /// Whether a file is that of an object.
    fn is_object(&self, path: &Path) -> bool;

    /// Removes the staging folder of a run of this process. Staged paths are no longer valid; objects are not touched.
    fn remove_staging(&self, run: &str) -> Result<(), StoreError>;

    /// The runs whose tasks work in a folder here, or have worked.
    fn work_folders(&self) -> Vec<String>;

    /// Removes the folder in which the tasks of a run have worked.
    fn remove_work_folder(&self, run: &str) -> io::Result<()>;

    /// The runs that may have logs, with the folders that these are in.
    fn log_folders(&self) -> Vec<(String, PathBuf)>;

    /// For those who write logs to count their bytes: a count that only grows.
    fn logged(&self) -> Arc<AtomicU64>;

    /// Whether there is anything in a folder of a run.
    fn has_entries(&self, folder: &Path) -> bool;

    /// The digests of files of the user, in their order, read by this number of threads where they are not in the cache;
    /// an error is that of the first file that has one.
    fn digest_files(
        &self,
        paths: &[PathBuf],
        threads: usize,
    ) -> Result<Vec<FileDigest>, StoreError>;

    /// The digest of one file.
    fn digest_file(&self, path: &Path) -> Result<FileDigest, StoreError> {
        let mut answer = self.digest_files(std::slice::from_ref(&path.to_owned()), 1)?;
        answer.pop().ok_or_else(|| StoreError::Io {
            what: format!("cannot read {}", path.display()),
            source: io::ErrorKind::NotFound.into(),
        })
    }

    /// The value of a directory of the user, and the digests of its files in their order. Empty folders are not part of
    /// it.
    fn digest_directory(
        &self,
        path: &Path,
    ) -> Result<(DirectoryValue, Vec<FileDigest>), StoreError>;
}
