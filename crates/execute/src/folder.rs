//! Work folders: what a program finds, and what is taken from it afterwards.
//!
//! Law: a program sees its inputs under the names of its ports, never under the names that the files had.
//! What it leaves is collected only from below its folder; a link that leads out of it is refused, and so is what
//! is neither a file nor a folder, since reading a pipe or a device would never end. What was
//! collected is read-only before anybody else sees it. Whether a file may be executed is said by its value,
//! not by the object that holds its bytes: programs and data with the same bytes share one.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use headwater_graph::{
    Collect, CommandOutput, ContentHasher, Digest, DirectoryEntry, DirectoryValue, FileValue,
    Handle, Scalar, Type, Value,
};

use crate::pattern::files_matching;
use crate::render::Filled;
use crate::watch::Watched;

/// Something that went wrong with a file, with its name.
#[derive(Debug)]
pub(crate) struct FolderError(pub(crate) String);

pub(crate) fn said(what: &str, path: &Path, error: &io::Error) -> FolderError {
    FolderError(format!("{what} `{}`: {error}", path.display()))
}

/// Lays out one input; the text that stands for it in arguments.
pub(crate) fn link_input(
    folder: &Path,
    port: &str,
    extension: Option<&str>,
    value: &Value,
    keep_name: bool,
    watched: &Watched,
) -> Result<Filled, FolderError> {
    let named = |stem: &str, file: Option<&FileValue>| match (
        file.and_then(|file| file.name.as_deref()),
        extension,
    ) {
        (Some(name), _) if keep_name => format!("{stem}/{name}"),
        (_, Some(extension)) => format!("{stem}.{extension}"),
        (_, None) => stem.to_owned(),
    };
    Ok(match value {
        Value::Null => Filled::Nothing,
        Value::File(file) => {
            let name = named(port, Some(file));
            link_file(file, file.executable, &below(folder, &name)?, watched)?;
            Filled::One(name)
        }
        Value::Directory(directory) => {
            link_directory(directory, &folder.join(port), watched)?;
            Filled::One(port.to_owned())
        }
        Value::List(items) => {
            let files = items
                .iter()
                .any(|item| matches!(item, Value::File(_) | Value::Directory(_)));
            if files {
                make_folder(&folder.join(port))?;
            }
            let mut names = Vec::with_capacity(items.len());
            for (position, item) in items.iter().enumerate() {
                match item {
                    Value::File(file) => {
                        let name = named(&format!("{port}/{position}"), Some(file));
                        link_file(file, file.executable, &below(folder, &name)?, watched)?;
                        names.push(name);
                    }
                    Value::Directory(directory) => {
                        let name = format!("{port}/{position}");
                        link_directory(directory, &folder.join(&name), watched)?;
                        names.push(name);
                    }
                    other => names.push(scalar_text(port, other)?),
                }
            }
            Filled::Several(names)
        }
        other => Filled::One(scalar_text(port, other)?),
    })
}

fn scalar_text(port: &str, value: &Value) -> Result<String, FolderError> {
    let scalar = value.as_scalar().map(|scalar| scalar.to_string());
    scalar.ok_or_else(|| {
        FolderError(format!(
            "input `{port}`: a program cannot be given a {}",
            value.value_type()
        ))
    })
}

fn make_folder(path: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(path).map_err(|error| said("cannot make folder", path, &error))
}

/// Makes a name for a file, without copying it unless its object has another mode than it. A file of the user
/// has the mode that the user gave it.
fn link_file(
    file: &FileValue,
    executable: bool,
    at: &Path,
    watched: &Watched,
) -> Result<(), FolderError> {
    if let Some(parent) = at.parent().filter(|_| file.name.is_some()) {
        make_folder(parent)?;
    }
    match &file.handle {
        Handle::Path(path) if !watched.has(path) && !has_mode(path, executable)? => {
            fs::copy(path, at).map_err(|error| said("cannot copy", path, &error))?;
            set_mode(at, executable)
        }
        Handle::Path(path) | Handle::Named { path, .. } => {
            symlink(path, at).map_err(|error| said("cannot link", at, &error))
        }
        Handle::Memory(bytes) => {
            fs::write(at, bytes).map_err(|error| said("cannot write", at, &error))?;
            if executable {
                set_mode(at, executable)?;
            }
            Ok(())
        }
        Handle::Stored => Err(FolderError(format!(
            "the contents {} are not here",
            file.digest.short()
        ))),
    }
}

/// The mode of what tasks made.
fn sealed(executable: bool) -> u32 {
    if executable { 0o555 } else { 0o444 }
}

/// Whether a file on disk is a program exactly if it should be one.
fn has_mode(path: &Path, executable: bool) -> Result<bool, FolderError> {
    let found = fs::metadata(path).map_err(|error| said("cannot look at", path, &error))?;
    Ok(found.mode() & 0o111 == sealed(executable) & 0o111)
}

fn set_mode(path: &Path, executable: bool) -> Result<(), FolderError> {
    fs::set_permissions(path, fs::Permissions::from_mode(sealed(executable)))
        .map_err(|error| said("cannot set the mode of", path, &error))
}

fn link_directory(
    directory: &DirectoryValue,
    at: &Path,
    watched: &Watched,
) -> Result<(), FolderError> {
    // A folder of its own even for a folder of the user: what a program puts beside its inputs stays here.
    make_folder(at)?;
    for entry in directory.entries.iter() {
        let path = below(at, &entry.path)?;
        if let Some(parent) = path.parent() {
            make_folder(parent)?;
        }
        // Programs that look for files in a folder often pass over links, so products get another name; the
        // user's files can be written to and get none.
        match &entry.file.handle {
            Handle::Path(from)
                if directory.path.is_none()
                    && has_mode(from, entry.executable)?
                    && fs::hard_link(from, &path).is_ok() => {}
            _ => link_file(&entry.file, entry.executable, &path, watched)?,
        }
    }
    Ok(())
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

/// Makes a folder of scripts and other files look like the workflow's own.
pub(crate) fn link_used(folder: &Path, name: &str, path: &Path) -> Result<(), FolderError> {
    let at = below(folder, name)?;
    if let Some(parent) = at.parent().filter(|parent| *parent != folder) {
        make_folder(parent)?;
    }
    symlink(path, &at).map_err(|error| said("cannot link", &at, &error))
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
            for entry in value.entries.iter() {
                seal(&place.join(&*entry.path))?;
            }
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
            seal(&place)?;
            Ok(Value::File(Arc::new(FileValue {
                executable: metadata.mode() & 0o100 != 0,
                ..file_value(&place)?
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

/// Makes a collected file read-only; it stays a program if it is one.
fn seal(path: &Path) -> Result<(), FolderError> {
    let seal = || -> io::Result<()> {
        let found = fs::metadata(path)?;
        let mode = found.mode() & 0o7777;
        let wanted = sealed(mode & 0o100 != 0);
        if mode == wanted {
            return Ok(());
        }
        if found.nlink() > 1 {
            // Its other names may be somebody's who goes on writing.
            let copy = beside(path);
            fs::copy(path, &copy)?;
            fs::rename(&copy, path)?;
        }
        fs::set_permissions(path, fs::Permissions::from_mode(wanted))
    };
    seal().map_err(|error| said("cannot make read-only", path, &error))
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
                    let held = fs::hard_link(&target, &new)
                        .or_else(|_| fs::copy(&target, &new).map(drop))
                        .and_then(|()| fs::rename(&new, &path));
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
    let (digest, size) = digest(path).map_err(|error| said("cannot read", path, &error))?;
    Ok(FileValue {
        digest,
        size,
        name: None,
        executable: false,
        handle: Handle::Path(path.into()),
    })
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

fn digest(path: &Path) -> io::Result<(Digest, u64)> {
    let mut file = fs::File::open(path)?;
    let size = file.metadata()?.size();
    let mut hasher = ContentHasher::new();
    let mut buffer = vec![
        0;
        usize::try_from(size)
            .unwrap_or(usize::MAX)
            .clamp(1, 1 << 18)
    ];
    let mut total = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((hasher.finish(), total)),
            count => {
                hasher.update(&buffer[..count]);
                total += count as u64;
            }
        }
    }
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
                let file = file_value(&path)?;
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
/// program.
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

fn copy_file(file: &FileValue, executable: bool, to: &Path) -> io::Result<()> {
    let _ = fs::remove_file(to);
    // The mode of an object is read-only, and may be that of another file with the same bytes.
    let mode = if executable { 0o777 } else { 0o666 };
    let create = || {
        let mut options = fs::File::options();
        options.write(true).create_new(true).mode(mode).open(to)
    };
    match &file.handle {
        // Between two files this has the kernel copy, which clones blocks where the file system can.
        Handle::Path(path) | Handle::Named { path, .. } => {
            let mut from = fs::File::open(path)?;
            io::copy(&mut from, &mut create()?).map(drop)
        }
        Handle::Memory(bytes) => create()?.write_all(bytes),
        Handle::Stored => Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the contents are not here",
        )),
    }
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

    /// What is laid out for a file on disk with this mode, whose value says whether it is a program: whether
    /// it is a link, and the mode that a program sees.
    fn laid_out(on_disk: u32, executable: bool, is_users: bool) -> (bool, u32) {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, at) = (folder.path().join("from"), folder.path().join("at"));
        fs::write(&from, "bytes").expect("a file");
        let mode = fs::Permissions::from_mode(on_disk);
        fs::set_permissions(&from, mode).expect("a mode");
        let file = FileValue {
            executable,
            ..file_value(&from).expect("a value")
        };
        let mut watched = Watched::default();
        if is_users {
            watched.add(&Value::File(Arc::new(file.clone())));
        }
        link_file(&file, executable, &at, &watched).expect("a name for it");
        assert_eq!(fs::read(&at).expect("its bytes"), b"bytes");
        let mode = |path: &Path| fs::metadata(path).expect("a file").mode() & 0o777;
        assert_eq!(mode(&from), on_disk, "what is on disk stays as it is");
        (at.is_symlink(), mode(&at))
    }

    #[test]
    fn the_value_says_whether_a_product_is_a_program() {
        assert_eq!(laid_out(0o444, false, false), (true, 0o444));
        assert_eq!(laid_out(0o555, true, false), (true, 0o555));
        assert_eq!(laid_out(0o555, false, false), (false, 0o444));
        assert_eq!(laid_out(0o444, true, false), (false, 0o555));
        assert_eq!(laid_out(0o544, true, false), (false, 0o555));
    }

    #[test]
    fn a_file_of_the_user_is_linked_with_the_mode_it_has() {
        for mode in [0o644, 0o755, 0o555, 0o444] {
            assert_eq!(laid_out(mode, false, true), (true, mode));
        }
    }

    #[test]
    fn what_is_in_memory_becomes_a_program_if_it_is_one() {
        let folder = tempfile::tempdir().expect("a folder");
        for executable in [false, true] {
            let file = FileValue {
                digest: Digest::of(b"bytes"),
                size: 5,
                name: None,
                executable,
                handle: Handle::Memory(b"bytes".as_slice().into()),
            };
            let at = folder.path().join(executable.to_string());
            link_file(&file, executable, &at, &Watched::default()).expect("a file");
            let copy = folder.path().join(format!("{executable}-copy"));
            copy_value(&Value::File(Arc::new(file)), &copy).expect("a copy");
            for path in [at, copy] {
                let mode = fs::metadata(&path).expect("a file").mode();
                assert_eq!(mode & 0o100 != 0, executable, "{}", path.display());
            }
        }
    }
}
