//! Where the files of the records are, and who may use them.
//!
//! Law: whoever writes records holds a share of the file `records.lock`; whoever replaces the database holds all of it.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_graph::StoreError;

use crate::beneath::{Access, Root};
use crate::connections::{Identity, identity};
use crate::disk::{cannot, wait_for};
use crate::journal::Journal;
use crate::schema::FORMAT;

/// What the file of the database is called.
pub(crate) const DATABASE: &str = "records.sqlite";

/// Where the files of the records are.
#[derive(Debug, Clone)]
pub(crate) struct RecordsPlace {
    pub(crate) root: Arc<Root>,
    pub(crate) path: PathBuf,
    pub(crate) journal: Journal,
}

impl RecordsPlace {
    /// The files of the store in this folder.
    pub(crate) fn of(root: &Arc<Root>) -> RecordsPlace {
        RecordsPlace {
            root: Arc::clone(root),
            path: root.at(DATABASE),
            journal: Journal::of(root),
        }
    }

    /// Waits for as long as it takes: to make a large database anew takes minutes, and the kernel lets go of the locks
    /// of the dead.
    fn lock(&self, lock: impl Fn(&File) -> io::Result<()>) -> Result<File, StoreError> {
        let path = self.root.at("records.lock");
        let file = (self.root.file("records.lock", Access::Lock)).map_err(cannot("make", &path))?;
        wait_for(&file, lock).map_err(cannot("lock", &path))?;
        Ok(file)
    }

    /// Keeps the database from being replaced, until the answer is dropped.
    pub(crate) fn share(&self) -> Result<File, StoreError> {
        self.lock(File::lock_shared)
    }

    /// Keeps everybody from writing, until the answer is dropped.
    pub(crate) fn own(&self) -> Result<File, StoreError> {
        self.lock(File::lock)
    }

    /// An error where the journal is of another format, so that nothing can be made from it or put beside it.
    pub(crate) fn check_format(&self) -> Result<(), StoreError> {
        match self.journal.format().filter(|format| *format != FORMAT) {
            None => Ok(()),
            Some(found) => Err(StoreError::Format {
                path: self.journal.path().to_owned(),
                found,
                wanted: FORMAT,
            }),
        }
    }

    /// Whether the database is still the file that was opened. One that is gone altogether was not replaced.
    pub(crate) fn is_current(&self, opened: Option<Identity>) -> Result<bool, StoreError> {
        let found = identity(&self.path)?;
        Ok(found.is_none() || found == opened)
    }
}
