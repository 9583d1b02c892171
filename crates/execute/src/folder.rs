//! Files and folders that a program has left, as values.
//!
//! Law: a file that was collected is read-only, has no other name and is open for writing nowhere before it is digested,
//! so that its digest is that of the bytes that everybody sees; what it looked like then is remembered (`proof`).

use std::fs;
use std::io::{self, Read as _, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_graph::{Digest, DirectoryEntry, DirectoryValue, FileValue, Handle, Value};

use crate::proof::{Proven, Shelter, read_digest, shows_writes};
use crate::system::{copy_regular, is_open_for_writing, mount_of, open_to_read};

/// Files up to this size are read to see whether they are what they should be, however they look.
const READ_AT_ONCE: u64 = 1 << 20;

/// Something that went wrong with a file, with its name.
#[derive(Debug)]
pub(crate) struct FolderError(pub(crate) String);

pub(crate) fn said(what: &str, path: &Path, error: &io::Error) -> FolderError {
    FolderError(format!("{what} `{}`: {error}", path.display()))
}

pub(crate) fn make_folder(path: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(path).map_err(|error| said("cannot make folder", path, &error))
}

/// The mode of what tasks made.
pub(crate) fn sealed(executable: bool) -> u32 {
    if executable { 0o555 } else { 0o444 }
}

pub(crate) fn set_mode(path: &Path, executable: bool) -> Result<(), FolderError> {
    fs::set_permissions(path, fs::Permissions::from_mode(sealed(executable)))
        .map_err(|error| said("cannot set the mode of", path, &error))
}

/// `folder`/`name`, if `name` stays below `folder`.
pub(crate) fn below(folder: &Path, name: &str) -> Result<PathBuf, FolderError> {
    let path = Path::new(name);
    let stays = !name.is_empty()
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if stays {
        Ok(folder.join(path))
    } else {
        Err(FolderError(format!(
            "`{name}` leads out of the work folder"
        )))
    }
}

/// Makes a collected file read-only, and one that nobody can write to by another name or by an open file; it stays a
/// program if it is one. A copy is made in `scratch`, a folder of our own: what a program has filled may hold any name.
fn seal(path: &Path, scratch: &Path) -> io::Result<()> {
    let found = fs::metadata(path)?;
    let mode = found.mode() & 0o7777;
    let wanted = sealed(mode & 0o100 != 0);
    // Its other names may be somebody's who goes on writing, and so may whatever the program has left running.
    let is_shared = found.nlink() > 1 || is_open_for_writing(&open_to_read(path)?);
    if is_shared {
        let copy = copy_to_fresh(path, scratch)?;
        fs::rename(&copy, path).inspect_err(|_| {
            let _ = fs::remove_file(&copy);
        })?;
    }
    if mode != wanted || is_shared {
        fs::set_permissions(path, fs::Permissions::from_mode(wanted))?;
    }
    Ok(())
}

/// A collected file by its contents; whether it is a program is said elsewhere. What it looks like is remembered.
pub(crate) fn staged_value(path: &Path) -> Result<FileValue, FolderError> {
    staged_value_by(path, path.parent().unwrap_or(Path::new(".")))
}

fn staged_value_by(path: &Path, scratch: &Path) -> Result<FileValue, FolderError> {
    seal(path, scratch).map_err(|error| said("cannot make read-only", path, &error))?;
    let (digest, mark) = read_digest(path).map_err(|error| said("cannot read", path, &error))?;
    Proven::here().learn(digest, mark);
    Ok(value_of(path, digest, mark.size))
}

fn value_of(path: &Path, digest: Digest, size: u64) -> FileValue {
    FileValue {
        digest,
        size,
        name: None,
        executable: false,
        handle: Handle::Path(path.into()),
    }
}

/// Copies a file to a new one in a folder, under a name that nothing there has. It is never one that was there before.
fn copy_to_fresh(path: &Path, folder: &Path) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let copy = folder.join(format!(".headwater-new-{}-{number}", std::process::id()));
        match copy_regular(path, &copy) {
            Ok(()) => return Ok(copy),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let _ = fs::remove_file(&copy);
                return Err(error);
            }
        }
    }
}

/// Makes a folder that is kept independent of `temporary`: links that lead there become files.
pub(crate) fn hold_links(folder: &Path, temporary: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => hold_links(&path, temporary),
            Ok(kind) if kind.is_symlink() => {
                let target = fs::read_link(&path).ok();
                if let Some(target) = target.filter(|target| target.starts_with(temporary)) {
                    // The failure is reported anyway; a link that stays is no worse than before.
                    // A file of its own: another name for it would be one for what is stored.
                    if let Ok(new) = copy_to_fresh(&target, folder)
                        && fs::rename(&new, &path).is_err()
                    {
                        let _ = fs::remove_file(&new);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Removes a folder with all that is in it, also where a program has taken away the right to write to parts of it. Where a
/// program has mounted something in it, nothing is removed: that may be somebody's.
pub fn remove_tree(folder: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    if holds_mount(folder) {
        return Err(io::ErrorKind::CrossesDevices.into());
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_tree(folder);
            fs::remove_dir_all(folder)
        }
        removed => removed,
    }
}

/// Whether something is mounted on a folder or below it: on another folder, or on a file.
pub(crate) fn holds_mount(folder: &Path) -> bool {
    let Ok(mount) = mount_of(folder.parent().unwrap_or(folder)) else {
        return false;
    };
    is_of_another(folder, true, mount)
}

fn is_of_another(path: &Path, is_folder: bool, mount: u64) -> bool {
    // What cannot be looked at is not removed either.
    if mount_of(path).is_ok_and(|found| found != mount) {
        return true;
    }
    let entries = is_folder.then(|| fs::read_dir(path)).into_iter().flatten();
    entries.flatten().flatten().any(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_of_another(&entry.path(), is_folder, mount)
    })
}

/// Lets the owner do everything in a folder and those below; links are not followed.
fn open_tree(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_tree(&entry.path());
        }
    }
}

/// Why something in an output folder cannot be kept.
pub(crate) fn not_kept(name: &str, kind: fs::FileType) -> FolderError {
    let what = if kind.is_symlink() {
        "a link"
    } else {
        "neither a file nor a folder"
    };
    FolderError(format!(
        "the output folder holds `{name}`, which is {what}; only files can be kept"
    ))
}

/// A file by its contents; whether it is a program is said elsewhere.
pub(crate) fn file_value(path: &Path) -> Result<FileValue, FolderError> {
    let (digest, mark) = read_digest(path).map_err(|error| said("cannot read", path, &error))?;
    Ok(value_of(path, digest, mark.size))
}

/// The value as it is known by its contents: files that are known by a logical name are looked into. What a
/// task makes goes into a store, where contents are all that counts.
pub(crate) fn known_by_contents(value: Value) -> Result<Value, FolderError> {
    if !value.is_known_by_name() {
        return Ok(value);
    }
    let file = |file: &FileValue| match &file.handle {
        Handle::Named { path, .. } => Ok(FileValue {
            name: file.name.clone(),
            ..file_value(path)?
        }),
        _ => Ok(file.clone()),
    };
    Ok(match value {
        Value::Directory(directory) => {
            let entry = |entry: &DirectoryEntry| {
                Ok(DirectoryEntry {
                    file: file(&entry.file)?,
                    ..entry.clone()
                })
            };
            let entries: Result<Vec<_>, FolderError> =
                directory.entries.iter().map(entry).collect();
            Value::Directory(DirectoryValue {
                entries: entries?.into(),
                path: directory.path,
                name: None,
            })
        }
        Value::File(found) => Value::File(Arc::new(file(&found)?)),
        Value::List(items) => {
            let items: Result<Vec<Value>, FolderError> =
                items.iter().cloned().map(known_by_contents).collect();
            Value::List(items?.into())
        }
        Value::Record(fields) => {
            let field = |(name, field): (&Arc<str>, &Value)| {
                Ok((Arc::clone(name), known_by_contents(field.clone())?))
            };
            let fields: Result<_, FolderError> = fields.iter().map(field).collect();
            Value::Record(Arc::new(fields?))
        }
        other => other,
    })
}

/// A file below a folder: where it is, and its name from there.
pub(crate) type Below = (PathBuf, String);

/// The files below a folder, sorted bytewise by name; nothing is changed. Of links only those that are accepted may be
/// there, and nothing that is neither a file nor a folder.
pub(crate) fn files_below(
    root: &Path,
    accepts: &dyn Fn(&Path) -> bool,
) -> Result<Vec<Below>, FolderError> {
    let mut files = Vec::new();
    let mut pending = vec![(root.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = pending.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| said("cannot read", &folder, &error))? {
            let entry = entry.map_err(|error| said("cannot read", &folder, &error))?;
            let path = entry.path();
            let Some(name) = entry
                .file_name()
                .to_str()
                .map(|name| format!("{prefix}{name}"))
            else {
                return Err(FolderError(format!(
                    "`{}` has a name that is not UTF-8",
                    path.display()
                )));
            };
            let kind = entry
                .file_type()
                .map_err(|error| said("cannot look at", &path, &error))?;
            if kind.is_dir() {
                pending.push((path, format!("{name}/")));
            } else if kind.is_file() || kind.is_symlink() && accepts(&path) {
                files.push((path, name));
            } else {
                return Err(not_kept(&name, kind));
            }
        }
    }
    files.sort_by(|a, b| a.1.as_bytes().cmp(b.1.as_bytes()));
    Ok(files)
}

/// The value of a folder that was collected. What is beside it is our own.
pub(crate) fn directory_value(root: &Path) -> Result<DirectoryValue, FolderError> {
    let scratch = root.parent().unwrap_or(Path::new("."));
    let entry = |(path, name): Below| {
        let mode = fs::metadata(&path)
            .map_err(|error| said("cannot look at", &path, &error))?
            .permissions()
            .mode();
        Ok(DirectoryEntry {
            path: name.into(),
            executable: mode & 0o100 != 0,
            file: staged_value_by(&path, scratch)?,
        })
    };
    let files = files_below(root, &|_| false)?.into_iter();
    let entries: Result<Vec<DirectoryEntry>, FolderError> = files.map(entry).collect();
    // Whoever reads it finds the same, be it just made or remembered: a folder of its own with these files.
    Ok(DirectoryValue {
        entries: entries?.into(),
        path: None,
        name: None,
    })
}

/// Copies a file or directory value to `to`: a clone of the blocks where the file system can, else a copy; never
/// another name for an object, which whoever has the copy could change. An existing file is replaced. The copy has
/// the mode of any new file of this process: what its umask leaves of read and write for all, and of execute for a
/// program. A file whose bytes are not those of the value is not copied: the error is of the kind `InvalidData`.
pub fn copy_value(value: &Value, to: &Path) -> io::Result<()> {
    match value {
        Value::File(file) => copy_file(file, file.executable, to),
        Value::Directory(directory) => {
            fs::create_dir_all(to)?;
            for entry in directory.entries.iter() {
                let path = below(to, &entry.path).map_err(|error| io::Error::other(error.0))?;
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent)?;
                }
                copy_file(&entry.file, entry.executable, &path)?;
            }
            Ok(())
        }
        _ => Err(io::Error::other("neither a file nor a directory")),
    }
}

/// Copies a file if its bytes are those that the value speaks of; else the error is of the kind `InvalidData`.
fn copy_proven(path: &Path, file: &FileValue, to: &mut fs::File) -> io::Result<()> {
    let changed = || io::Error::new(io::ErrorKind::InvalidData, "it is no longer what was made");
    if file.size <= READ_AT_ONCE {
        let mut bytes = Vec::new();
        open_to_read(path)?.read_to_end(&mut bytes)?;
        return if Digest::of(&bytes) == file.digest {
            to.write_all(&bytes)
        } else {
            Err(changed())
        };
    }
    let shelter = if shows_writes(path) {
        Shelter::Sheltered
    } else {
        Shelter::Open
    };
    let holds = || Proven::here().holds(path, &file.digest, file.size, shelter);
    if !holds() {
        return Err(changed());
    }
    // Between two files this has the kernel copy, which clones blocks where the file system can.
    io::copy(&mut open_to_read(path)?, to)?;
    if holds() { Ok(()) } else { Err(changed()) }
}

fn copy_file(file: &FileValue, executable: bool, to: &Path) -> io::Result<()> {
    let _ = fs::remove_file(to);
    // The mode of an object is read-only, and may be that of another file with the same bytes.
    let mode = if executable { 0o777 } else { 0o666 };
    let create = || {
        let mut options = fs::File::options();
        options.write(true).create_new(true).mode(mode).open(to)
    };
    let copied = match &file.handle {
        Handle::Path(path) => copy_proven(path, file, &mut create()?),
        Handle::Named { path, .. } => {
            let mut from = open_to_read(path)?;
            io::copy(&mut from, &mut create()?).map(drop)
        }
        Handle::Memory(bytes) => create()?.write_all(bytes),
        Handle::Stored => {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the contents are not here",
            ));
        }
    };
    copied.inspect_err(|_| {
        // Half a file would be taken for a result.
        let _ = fs::remove_file(to);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_has_put_under_our_names_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, path) = (folder.path(), folder.path().join("made"));
        fs::write(&path, "made").expect("a file");
        let first = copy_to_fresh(&path, root).expect("a copy");
        let name = first
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        let number: u64 = name
            .rsplit('-')
            .next()
            .and_then(|number| number.parse().ok())
            .expect("a number");
        fs::write(root.join("precious"), "precious").expect("a file");
        for ahead in 1..4 {
            let planted = name.replace(&format!("-{number}"), &format!("-{}", number + ahead));
            std::os::unix::fs::symlink(root.join("precious"), root.join(planted)).expect("a link");
        }
        let second = copy_to_fresh(&path, root).expect("a copy");
        assert_eq!(fs::read(second).expect("the copy"), b"made");
        assert_eq!(
            fs::read(root.join("precious")).expect("the file"),
            b"precious"
        );
    }
}
