//! Folders that are there as long as somebody needs them.
//!
//! Law: the folder goes with its owner, whatever is in it.

use std::fs;
use std::path::PathBuf;

/// A folder that goes with this.
#[derive(Debug)]
pub(crate) struct Temporary(pub(crate) PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // It is there only if something was written.
        let _ = fs::remove_dir_all(&self.0);
    }
}
