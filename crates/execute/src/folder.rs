//! Work folders: what is taken from them when a program has ended.
//!
//! Law: what a program leaves is collected only from below its folder; a link that leads out of it is refused, and so
//! is what is neither a file nor a folder, since reading a pipe or a device would never end. What was collected is
//! read-only, has no other name and is open for writing nowhere before it is digested, so that its digest is that of
//! the bytes that everybody sees; what it looked like then is remembered (`proof`).

use std::fs;
use std::io::{self, Read as _, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use headwater_graph::{
    Collect, CommandOutput, Digest, DirectoryEntry, DirectoryValue, FileValue, Handle, Scalar,
    Type, Value,
};

use crate::pattern::files_matching;
use crate::proof::{Proven, Shelter, read_digest, shows_writes};
use crate::system::{copy_regular, is_open_for_writing, open_to_read};

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

/// Takes one output out of a work folder. `is_input` knows the real paths of inputs, `stage` gives a fresh
/// place to move files to.
pub(crate) fn collect(
    folder: &Path,
    port: &str,
    output: &CommandOutput,
    path: &str,
    is_input: &dyn Fn(&Path) -> bool,
    laid_out: &dyn Fn(&str) -> bool,
    stage: &mut dyn FnMut() -> PathBuf,
) -> Result<Value, FolderError> {
    let take = |path: &Path, wanted: &Type, stage: &mut dyn FnMut() -> PathBuf| {
        take(folder, path, wanted, is_input, stage)
    };
    match &output.collect {
        Collect::Glob(pattern) => {
            let mut items = Vec::new();
            for found in matches(folder, pattern)? {
                // What was put there for the program is not what it made.
                let name = found.strip_prefix(folder).unwrap_or(&found);
                if laid_out(&name.to_string_lossy()) {
                    continue;
                }
                items.push(take(
                    &found,
                    output.output_type.element().unwrap_or(&Type::File),
                    stage,
                )?);
            }
            Ok(Value::List(items.into()))
        }
        Collect::Path(_) => {
            let found = below(folder, path)?;
            match fs::symlink_metadata(&found) {
                Ok(_) => take(&found, &output.output_type, stage),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if output.optional {
                        return Ok(Value::Null);
                    }
                    Err(FolderError(format!(
                        "output `{port}` is missing: the program left no `{path}`{}",
                        left(folder)
                    )))
                }
                Err(error) => Err(said("cannot look at", &found, &error)),
            }
        }
    }
}

/// What a folder holds, for a message.
fn left(folder: &Path) -> String {
    let hidden = |name: &String| name.starts_with('.');
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.retain(|name| !hidden(name));
    names.sort();
    match names.as_slice() {
        [] => String::new(),
        names if names.len() > 8 => format!(" (it left {}, …)", names[..8].join(", ")),
        names => format!(" (the folder holds {})", names.join(", ")),
    }
}

fn matches(folder: &Path, pattern: &str) -> Result<Vec<PathBuf>, FolderError> {
    below(folder, pattern)?;
    files_matching(folder, pattern)
        .map_err(|error| FolderError(format!("pattern `{pattern}`: {error}")))
}

fn take(
    folder: &Path,
    path: &Path,
    wanted: &Type,
    is_input: &dyn Fn(&Path) -> bool,
    stage: &mut dyn FnMut() -> PathBuf,
) -> Result<Value, FolderError> {
    let link = fs::symlink_metadata(path)
        .map_err(|error| said("cannot look at", path, &error))?
        .is_symlink();
    // A folder on the way may be a link too; nothing is ever moved out of a folder that is not ours.
    let nested = path.parent() != Some(folder);
    if link || nested {
        let real = fs::canonicalize(path).map_err(|error| said("cannot follow", path, &error))?;
        let home =
            fs::canonicalize(folder).map_err(|error| said("cannot look at", folder, &error))?;
        // A program may give an input back by a link to it; inputs are links themselves.
        if !real.starts_with(&home) && !is_input(&real) {
            let name = path.strip_prefix(folder).unwrap_or(path);
            return Err(FolderError(format!(
                "output `{}` is a link that leads out of the work folder",
                name.display()
            )));
        }
    }
    let metadata = fs::metadata(path).map_err(|error| said("cannot look at", path, &error))?;
    match wanted {
        Type::Directory if metadata.is_dir() => {
            let place = stage();
            if !link {
                copy_inputs(path, is_input).map_err(|error| said("cannot copy", path, &error))?;
            }
            move_to(path, &place, link, is_input)?;
            let value = directory_value(&place).inspect_err(|_| {
                // Whoever looks into the folder of the failed task should find it there.
                let _ = fs::rename(&place, path);
            })?;
            Ok(Value::Directory(value))
        }
        Type::Directory => Err(FolderError(format!("`{}` is not a folder", path.display()))),
        _ if metadata.is_dir() => Err(FolderError(format!(
            "`{}` is a folder, not a file",
            path.display()
        ))),
        // Reading a pipe would wait for ever.
        _ if !metadata.is_file() => Err(FolderError(format!(
            "`{}` is not a regular file",
            path.display()
        ))),
        Type::File => {
            let place = stage();
            move_to(path, &place, link, is_input)?;
            Ok(Value::File(Arc::new(FileValue {
                executable: metadata.mode() & 0o100 != 0,
                ..staged_value(&place)?
            })))
        }
        other => scalar(path, other),
    }
}

fn scalar(path: &Path, wanted: &Type) -> Result<Value, FolderError> {
    let text = fs::read_to_string(path).map_err(|error| said("cannot read", path, &error))?;
    let Some(scalar_type) = wanted.scalar() else {
        return Err(FolderError(format!("a program cannot give a {wanted}")));
    };
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let trimmed = if *wanted == Type::Text {
        text
    } else {
        text.trim()
    };
    let shown: String = trimmed.chars().take(60).collect();
    Scalar::parse(trimmed, scalar_type)
        .map(Value::from)
        .ok_or_else(|| {
            FolderError(format!(
                "`{}` holds `{shown}`, which is not {scalar_type}",
                path.display()
            ))
        })
}

fn move_to(
    path: &Path,
    place: &Path,
    link: bool,
    is_input: &dyn Fn(&Path) -> bool,
) -> Result<(), FolderError> {
    if let Some(parent) = place.parent() {
        make_folder(parent)?;
    }
    if !link && fs::rename(path, place).is_ok() {
        return Ok(());
    }
    copy_tree(path, place, is_input)
}

/// Makes a collected file read-only, and one that nobody can write to by another name or by an open file; it stays a
/// program if it is one.
fn seal(path: &Path) -> io::Result<()> {
    let found = fs::metadata(path)?;
    let mode = found.mode() & 0o7777;
    let wanted = sealed(mode & 0o100 != 0);
    // Its other names may be somebody's who goes on writing, and so may whatever the program has left running.
    let is_shared = found.nlink() > 1 || is_open_for_writing(&open_to_read(path)?);
    if is_shared {
        let copy = beside(path);
        fs::copy(path, &copy)?;
        fs::rename(&copy, path)?;
    }
    if mode != wanted || is_shared {
        fs::set_permissions(path, fs::Permissions::from_mode(wanted))?;
    }
    Ok(())
}

/// A collected file by its contents; whether it is a program is said elsewhere. What it looks like is remembered.
pub(crate) fn staged_value(path: &Path) -> Result<FileValue, FolderError> {
    seal(path).map_err(|error| said("cannot make read-only", path, &error))?;
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

/// A name in the same folder that nobody else uses: it is made from the file's own, since other workers put
/// files into the same folder at the same time.
fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".headwater-new-");
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

/// Replaces links to inputs below `folder` by copies: a program that copies a folder copies its links.
fn copy_inputs(folder: &Path, is_input: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let path = entry.path();
        if kind.is_dir() {
            copy_inputs(&path, is_input)?;
        } else if kind.is_symlink()
            && let Ok(real) = fs::canonicalize(&path)
            && real.is_file()
            && is_input(&real)
        {
            fs::remove_file(&path)?;
            fs::copy(&real, &path)?;
        }
    }
    Ok(())
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
                    let new = beside(&path);
                    // A file of its own: another name for it would be one for what is stored.
                    let held = copy_regular(&target, &new).and_then(|()| fs::rename(&new, &path));
                    if held.is_err() {
                        let _ = fs::remove_file(&new);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Copies a file or a folder. Links to inputs become files; any other link is refused like one that was found in the
/// place itself, since following it could lead out of the folder, or round in circles.
fn copy_tree(from: &Path, to: &Path, is_input: &dyn Fn(&Path) -> bool) -> Result<(), FolderError> {
    let wrong = |error: io::Error| said("cannot copy", from, &error);
    if !fs::metadata(from).map_err(wrong)?.is_dir() {
        return fs::copy(from, to).map(drop).map_err(wrong);
    }
    make_folder(to)?;
    for entry in fs::read_dir(from).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(wrong)?);
        let is_kept = if kind.is_symlink() {
            fs::canonicalize(&path).is_ok_and(|real| real.is_file() && is_input(&real))
        } else {
            kind.is_dir() || kind.is_file()
        };
        if !is_kept {
            return Err(not_kept(&entry.file_name().to_string_lossy(), kind));
        }
        copy_tree(&path, &to.join(entry.file_name()), is_input)?;
    }
    Ok(())
}

/// Why something in an output folder cannot be kept.
fn not_kept(name: &str, kind: fs::FileType) -> FolderError {
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

/// The files below a folder, sorted bytewise.
fn directory_value(root: &Path) -> Result<DirectoryValue, FolderError> {
    let mut entries = Vec::new();
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
            } else if !kind.is_file() {
                return Err(not_kept(&name, kind));
            } else {
                let mode = fs::metadata(&path)
                    .map_err(|error| said("cannot look at", &path, &error))?
                    .permissions()
                    .mode();
                let file = staged_value(&path)?;
                entries.push(DirectoryEntry {
                    path: name.into(),
                    executable: mode & 0o100 != 0,
                    file,
                });
            }
        }
    }
    entries.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    // Whoever reads it finds the same, be it just made or remembered: a folder of its own with these files.
    Ok(DirectoryValue {
        entries: entries.into(),
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
    fn files_of_one_folder_get_different_names_beside_them() {
        let (one, other) = (Path::new("staging/0/1"), Path::new("staging/0/2"));
        assert_ne!(beside(one), beside(other));
        assert_eq!(beside(one).parent(), one.parent());
    }
}
