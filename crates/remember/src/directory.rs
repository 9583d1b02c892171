//! The value of a directory: its files, sorted, each with its digest.
//!
//! Law: two directories with the same files under the same paths have equal values, wherever they lie and however
//! they are stored. Links are followed as long as they stay inside; one that leads out, nowhere or in a circle is an
//! error, because then the value would depend on something that is not in the directory.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use headwater_graph::{
    DirectoryEntry, DirectoryValue, FileDigest, FileValue, Handle, Local, StoreError,
};

use crate::disk::cannot;

/// A file that was found: path below the directory, where it is, whether it may be executed.
struct Found {
    relative: String,
    path: PathBuf,
    executable: bool,
}

/// The value of a directory, whose files are digested by `files`. Empty folders are not part of it.
pub(crate) fn digest(
    files: &dyn Local,
    path: &Path,
) -> Result<(DirectoryValue, Vec<FileDigest>), StoreError> {
    let (absolute, found) = list(path)?;
    let paths: Vec<PathBuf> = found.iter().map(|found| found.path.clone()).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let digests = files.digest_files(&paths, threads)?;
    let entry = |(found, file): (Found, &FileDigest)| DirectoryEntry {
        path: found.relative.into(),
        executable: found.executable,
        file: FileValue {
            digest: file.digest,
            size: file.mark.size,
            name: None,
            executable: false,
            handle: Handle::Path(found.path.into()),
        },
    };
    let entries = found.into_iter().zip(&digests).map(entry).collect();
    let value = DirectoryValue {
        entries,
        path: Some(absolute.into()),
        name: None,
    };
    Ok((value, digests))
}

/// A directory that is known by its logical name: its files are listed, and nobody looks into them.
pub fn named_directory(path: &Path, name: &str) -> Result<DirectoryValue, StoreError> {
    let (absolute, found) = list(path)?;
    let entry = |found: Found| {
        let size = fs::metadata(&found.path).map_err(cannot("examine", &found.path))?;
        let logical = format!("{name}/{}", found.relative);
        Ok(DirectoryEntry {
            file: FileValue::known_by_name(&logical, &found.path, size.size()),
            path: found.relative.into(),
            executable: found.executable,
        })
    };
    let entries: Result<Vec<DirectoryEntry>, StoreError> = found.into_iter().map(entry).collect();
    Ok(DirectoryValue {
        entries: entries?.into(),
        path: Some(absolute.into()),
        name: Some(name.into()),
    })
}

/// The absolute path of a directory and the files below it, sorted.
fn list(path: &Path) -> Result<(PathBuf, Vec<Found>), StoreError> {
    let absolute = std::path::absolute(path).map_err(cannot("find", path))?;
    let root = fs::canonicalize(path).map_err(cannot("find", path))?;
    let mut walk = Walk {
        root: &root,
        above: vec![root.clone()],
        found: Vec::new(),
    };
    walk.folder(&absolute, "")?;
    let mut found = walk.found;
    found.sort_unstable_by(|one, other| one.relative.as_bytes().cmp(other.relative.as_bytes()));
    Ok((absolute, found))
}

struct Walk<'a> {
    root: &'a Path,
    /// The real paths of the folders that lead to the current one.
    above: Vec<PathBuf>,
    found: Vec<Found>,
}

fn refuse<T>(path: &Path, why: &str) -> Result<T, StoreError> {
    Err(cannot("take in", path)(io::Error::other(why.to_owned())))
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, relative: &str) -> Result<(), StoreError> {
        for entry in fs::read_dir(folder).map_err(cannot("list", folder))? {
            let entry = entry.map_err(cannot("list", folder))?;
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else {
                return refuse(&path, "its name is not UTF-8");
            };
            let below = if relative.is_empty() {
                name
            } else {
                format!("{relative}/{name}")
            };
            let kind = entry.file_type().map_err(cannot("examine", &path))?;
            let found = fs::metadata(&path).map_err(cannot("follow", &path))?;
            if kind.is_symlink()
                && !fs::canonicalize(&path).is_ok_and(|real| real.starts_with(self.root))
            {
                return refuse(&path, "it is a link that leads out of the directory");
            }
            if found.is_dir() {
                let real = fs::canonicalize(&path).map_err(cannot("follow", &path))?;
                if self.above.contains(&real) {
                    return refuse(&path, "it is a link to a folder that contains it");
                }
                self.above.push(real);
                self.folder(&path, &below)?;
                self.above.pop();
            } else if found.is_file() {
                let executable = found.mode() & 0o100 != 0;
                self.found.push(Found {
                    relative: below,
                    path,
                    executable,
                });
            } else {
                return refuse(&path, "it is neither a file nor a folder");
            }
        }
        Ok(())
    }
}
