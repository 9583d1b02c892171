//! Files that people name and that are read whole: workflows, data, studies, tables, descriptors.
//!
//! Law: at most [`MOST_BYTES`] of a file are read, whatever it is; one that has more is refused, and takes no more
//! memory than that. A pipe is read as a file is, so that a shell may write one on the fly.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use crate::Error;
use crate::load::no_file;

/// The most bytes that such a file may have: 256 MiB.
pub(crate) const MOST_BYTES: u64 = 256 << 20;

/// The bytes of a file that the user has named.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let read = File::open(path).and_then(|file| read_at_most(file, MOST_BYTES));
    let bytes = read.map_err(|source| match source.kind() {
        ErrorKind::NotFound => no_file(path),
        ErrorKind::IsADirectory => Error::usage(
            format!("`{}` is a folder, not a file", path.display()),
            None,
        ),
        _ => Error::io("cannot read", path, source),
    })?;
    bytes.ok_or_else(|| {
        Error::usage(
            format!(
                "`{}` has more than {} MiB, the most that a file of this kind may have",
                path.display(),
                MOST_BYTES >> 20
            ),
            Some("check the path; a table of samples or of data can be divided".to_owned()),
        )
    })
}

/// The text of a file that the user has named.
pub(crate) fn read_text(path: &Path) -> Result<String, Error> {
    String::from_utf8(read(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::usage(
            format!("`{}` is not UTF-8 text (byte {at})", path.display()),
            None,
        )
    })
}

/// The bytes of a file whose path a record has; none where it is not a regular file, or is too large.
pub(crate) fn read_noted(path: &Path) -> Vec<u8> {
    let read = || read_at_most(File::open(path)?, MOST_BYTES);
    match path.is_file() {
        true => read().ok().flatten().unwrap_or_default(),
        false => Vec::new(),
    }
}

/// All bytes of a file; `None` if there are more than `most`.
fn read_at_most(file: File, most: u64) -> io::Result<Option<Vec<u8>>> {
    let size = file.metadata()?.len();
    if size > most {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_limit_and_not_beyond() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        let read = |path: &Path, most| read_at_most(File::open(path).unwrap(), most).unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4), None);
        // It says that it has none, and never ends.
        assert_eq!(read(Path::new("/dev/zero"), 1 << 16), None);
        assert_eq!(read(Path::new("/dev/null"), 0).unwrap(), b"");
    }

    #[test]
    fn a_large_file_is_refused_with_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        // With nothing in it, it takes no room.
        File::create(&path)
            .unwrap()
            .set_len(MOST_BYTES + 1)
            .unwrap();
        let message = read_text(&path).unwrap_err().to_string();
        assert!(message.contains("has more than 256 MiB"), "{message}");
    }
}
