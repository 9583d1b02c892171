//! Files that are whole or not there.
//!
//! Law: at the path stands what stood there before, or all of the new; whose fault it is if it cannot be written is told.

use std::io::Write as _;
use std::path::Path;

use headwater_remember::tables::{self, TableError};

use crate::Error;

/// Writes a file, in the place of what was there.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    tables::replace_file(path, |file| Ok(file.write_all(bytes)?))
        .map_err(|error| unwritten(path, error))
}

/// A file or a table that could not be written: for want of room, or because it cannot be written like that.
pub(crate) fn unwritten(path: &Path, error: TableError) -> Error {
    match error {
        TableError::Io { source, .. } => Error::io("cannot write", path, source),
        other => Error::usage(other.to_string(), other.hint().map(str::to_owned)),
    }
}
