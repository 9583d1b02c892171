//! What a run leaves in the store beside its record: notes for those who ask later, and folders to work in.
//!
//! Law: all of it is reached beneath the folder of the store. A note is a regular file, which is replaced as a whole or
//! added to; what was planted in its place is an error for who wants to read it, and is not there for who writes it.

use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use headwater_graph::{Digest, StoreError};

use crate::beneath::{Access, Kind};
use crate::objects::DAMAGED;
use crate::store::Store;

/// The most bytes that a note may have: 1 GiB. The summary of the largest study has a third of that.
const MOST_BYTES: u64 = 1 << 30;

/// Where the notes of a run are.
fn folder(run: &str) -> PathBuf {
    Path::new("runs").join(run)
}

impl Store {
    /// A note that a run has left.
    pub fn run_file(&self, run: &str, name: &str) -> io::Result<Vec<u8>> {
        self.beneath().read(folder(run).join(name), MOST_BYTES)
    }

    /// Whether a run has left a note of this name.
    pub fn has_run_file(&self, run: &str, name: &str) -> bool {
        self.beneath().is_file(folder(run).join(name))
    }

    /// Writes a note of a run, in the place of what was there.
    pub fn write_run_file(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.beneath().make_folders(folder(run))?;
        self.beneath().write(folder(run).join(name), bytes)
    }

    /// Adds to a note of a run.
    pub fn add_to_run_file(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let name = folder(run).join(name);
        let mut file = match self.beneath().file(&name, Access::Append) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.beneath().make_folders(folder(run))?;
                self.beneath().file(&name, Access::New)?
            }
            opened => opened?,
        };
        file.write_all(bytes)
    }

    /// Removes a note of a run; that there is none is no error.
    pub fn remove_run_file(&self, run: &str, name: &str) -> io::Result<()> {
        self.beneath().remove_file(folder(run).join(name))
    }

    /// Whether there is anything in the folder in which the tasks of a run work, or in that of what they printed.
    pub fn has_entries(&self, path: &Path) -> bool {
        let below = path.strip_prefix(self.root()).ok();
        let listed = below.and_then(|name| self.beneath().list(name).ok());
        listed.is_some_and(|entries| !entries.is_empty())
    }

    /// The names of all folders in which tasks of runs work, or have worked.
    pub fn work_folders(&self) -> Vec<String> {
        let listed = self.beneath().list("work").unwrap_or_default();
        listed
            .into_iter()
            .filter_map(|(name, _)| name.into_string().ok())
            .collect()
    }

    /// Removes a folder in which the tasks of a run have worked.
    pub fn remove_work_folder(&self, name: &str) -> io::Result<()> {
        self.beneath().remove_all(Path::new("work").join(name))
    }

    /// When an object was found damaged and set aside, in seconds since 1970; `None` if it was not, or is gone since.
    pub fn set_aside_at(&self, digest: &Digest) -> Option<i64> {
        let name = Path::new(DAMAGED).join(digest.hex());
        Some(self.beneath().metadata(name).ok()?.ctime())
    }

    /// An error if something stands where a new run is to have its folders, whose paths are given to others.
    pub(crate) fn check_places(&self, run: &str) -> Result<(), StoreError> {
        let places = [
            Path::new("work").join(run),
            folder(run),
            folder(run).join("logs"),
        ];
        for place in places {
            if !matches!(self.beneath().kind(&place), Ok(None | Some(Kind::Folder))) {
                let path = self.beneath().at(place);
                return Err(StoreError::NotOwn { path });
            }
        }
        Ok(())
    }
}
