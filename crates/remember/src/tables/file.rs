//! A file that is whole or not there.
//!
//! Law: at the path stands what stood there before, or all that was written; never a part of it, whatever happens
//! meanwhile. When the call returns well, it is durable.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::TableError;
use crate::disk::sync_names;

/// Tells apart the temporary files of one process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Writes a file beside its place under a hidden name, makes it durable and puts it in its place, where it replaces
/// what was there.
pub fn replace_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), TableError>,
) -> Result<(), TableError> {
    let cannot = |source| TableError::Io {
        what: format!("cannot write `{}`", path.display()),
        source,
    };
    let Some(name) = path.file_name() else {
        return Err(cannot(std::io::ErrorKind::InvalidInput.into()));
    };
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let hidden = folder.join(format!(
        ".{}-{}-{}",
        name.to_string_lossy(),
        std::process::id(),
        NUMBER.fetch_add(1, Ordering::Relaxed)
    ));
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&hidden)
        .map_err(cannot)?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let done = write(&mut out).and_then(|()| {
        out.flush().map_err(cannot)?;
        out.get_ref().sync_all().map_err(cannot)?;
        fs::rename(&hidden, path).map_err(cannot)
    });
    if let Err(error) = done {
        let _ = fs::remove_file(&hidden);
        return Err(match error {
            TableError::Io { source, .. } => cannot(source),
            other => other,
        });
    }
    sync_names(folder).map_err(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_failure_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        replace_file(&path, |out| Ok(out.write_all(b"one")?)).unwrap();
        let error = replace_file(&path, |out| {
            out.write_all(b"two")?;
            Err(TableError::Names("no".to_owned()))
        });
        assert_eq!(error.unwrap_err().to_string(), "no");
        assert_eq!(fs::read(&path).unwrap(), b"one");
        replace_file(&path, |out| Ok(out.write_all(b"three")?)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert_eq!(names(folder.path()), ["table.csv"]);
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("absent/table.csv");
        let error = replace_file(&path, |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("absent/table.csv"), "{error}");
        fs::create_dir(folder.path().join("taken")).unwrap();
        let taken = replace_file(&folder.path().join("taken"), |_| Ok(())).unwrap_err();
        assert!(taken.to_string().contains("taken"), "{taken}");
        assert_eq!(names(folder.path()), ["taken"]);
    }
}
