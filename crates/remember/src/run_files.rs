//! The notes that a run leaves in the store beside its record, for those who ask later.
//!
//! Law: all of it is reached beneath the folder of the store. A note is a regular file, which is replaced as a whole or
//! added to; what was planted in its place is an error for who wants to read it, and is not there for who writes it.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use headwater_graph::{Attachments, StoreError};

use crate::beneath::{Access, Kind};
use crate::disk::cannot;
use crate::store::FolderStore;

/// The most bytes that a note may have: 1 GiB. The summary of the largest study has a third of that.
const MOST_BYTES: u64 = 1 << 30;

/// Where the notes of a run are.
fn folder(run: &str) -> PathBuf {
    Path::new("runs").join(run)
}

impl FolderStore {
    /// An error if something stands where a new run is to have its folders, whose paths are given to others.
    pub(crate) fn check_places(&self, run: &str) -> Result<(), StoreError> {
        let places = [
            Path::new("work").join(run),
            folder(run),
            folder(run).join("logs"),
        ];
        for place in places {
            let path = self.beneath().at(&place);
            match self.beneath().kind(&place) {
                Ok(None | Some(Kind::Folder)) => {}
                Ok(Some(Kind::File | Kind::Other)) => return Err(StoreError::NotOwn { path }),
                Err(error) => return Err(cannot("find", &path)(error)),
            }
        }
        Ok(())
    }
}

impl Attachments for FolderStore {
    fn attachment(&self, run: &str, name: &str) -> io::Result<Vec<u8>> {
        self.beneath().read(folder(run).join(name), MOST_BYTES)
    }

    fn has_attachment(&self, run: &str, name: &str) -> bool {
        self.beneath().is_file(folder(run).join(name))
    }

    fn attach(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.beneath().make_folders(folder(run))?;
        self.beneath().write(folder(run).join(name), bytes)
    }

    fn add_to_attachment(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
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

    fn remove_attachment(&self, run: &str, name: &str) -> io::Result<()> {
        self.beneath().remove_file(folder(run).join(name))
    }

    fn has_attachments(&self, run: &str) -> bool {
        matches!(self.beneath().kind(folder(run)), Ok(Some(Kind::Folder)))
    }

    fn attachment_place(&self, run: &str, name: &str) -> PathBuf {
        self.beneath().at(folder(run).join(name))
    }
}
