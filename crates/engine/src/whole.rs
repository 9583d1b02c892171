//! Files that are whole or not there.
//!
//! Law: at the path stands what stood there before, or all that was written; never a part of it, whatever happens
//! meanwhile. When the call returns well, it is durable.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_remember::sync_names;

use crate::Error;

/// Tells apart the temporary files of one process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Writes a file, in the place of what was there: beside it under a hidden name, made durable, and then renamed.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes).map_err(|source| Error::io("cannot write", path, source))
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let hidden = folder.join(hidden(&name.to_string_lossy()));
    let mut file = File::create_new(&hidden)?;
    let done = (file.write_all(bytes))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&hidden, path));
    if done.is_err() {
        let _ = fs::remove_file(&hidden);
    }
    done.and_then(|()| sync_names(folder))
}

/// The hidden name of a file until it is whole.
fn hidden(name: &str) -> String {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!(".{name}-{}-{number}", std::process::id())
}

/// The name behind a hidden one.
pub fn shown(hidden: &str) -> Option<&str> {
    let (name, number) = hidden.strip_prefix('.')?.rsplit_once('-')?;
    let (name, process) = name.rsplit_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(number) && is_number(process)).then_some(name)
}

/// Where something goes that is written once more under this name: to `output`, a file or a folder, or into the folder
/// `beside`. A file whose beginning `is_ours` does not know is not overwritten; the folder is there afterwards.
pub fn again(
    name: &str,
    output: Option<&Path>,
    beside: &Path,
    current: &Path,
    is_ours: fn(&[u8]) -> bool,
) -> Result<PathBuf, Error> {
    let mut path = current.join(output.unwrap_or(&beside.join(name)));
    if path.is_dir() {
        path.push(name);
    }
    let begins_well = || {
        let mut beginning = Vec::new();
        let file = File::open(&path).ok().filter(|_| path.is_file());
        let read = file.and_then(|file| file.take(4096).read_to_end(&mut beginning).ok());
        read.is_some() && is_ours(&beginning)
    };
    if path.exists() && !begins_well() {
        return Err(Error::usage(
            format!("`{}` already exists and is not a report", path.display()),
            Some("name another file with -o".to_owned()),
        ));
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .map_err(|source| Error::io("cannot make folder", folder, source))?;
    }
    Ok(path)
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
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        write(&path, b"one").unwrap();
        write(&path, b"three").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert_eq!(names(folder.path()), ["table.csv"]);
        assert_eq!(shown(&hidden("a-1.csv")), Some("a-1.csv"));
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("absent/table.csv");
        let error = write(&path, b"").unwrap_err().to_string();
        assert!(error.contains("absent/table.csv"), "{error}");
        fs::create_dir(folder.path().join("taken")).unwrap();
        let taken = write(&folder.path().join("taken"), b"").unwrap_err();
        assert!(taken.to_string().contains("taken"), "{taken}");
        assert_eq!(names(folder.path()), ["taken"]);
    }
}
