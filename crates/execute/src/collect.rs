//! What is taken from a work folder when its program has ended.
//!
//! Law: outputs are taken only from below the folder; a link that leads out of it is refused, and so is what is neither a
//! file nor a folder, since reading a pipe or a device would never end. Everything is looked at before anything is moved,
//! and if something cannot be taken all the same, the rest is put back: the folder of a failed task is as the program left
//! it. Two outputs may be the same file, or one may be in another; each gets its own copy.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_graph::text::on_a_line;
use headwater_graph::{Collect, CommandOutput, FileValue, Scalar, Type, Value};

use crate::folder::{
    FolderError, below, directory_value, files_below, holds_mount, make_folder, not_kept, said,
    staged_value,
};
use crate::pattern::files_matching;
use crate::system::open_to_read;

/// A number, a truth value or the like in a file takes at most this many bytes, with the white space around it.
const LONGEST_SCALAR: u64 = 4096;

/// An output that a program is to leave.
pub(crate) struct Wanted<'a> {
    /// The port that it is for.
    pub(crate) port: &'a str,
    /// How it is collected; without that it is nothing.
    pub(crate) output: Option<&'a CommandOutput>,
    /// Where it is, if it is at one place.
    pub(crate) path: &'a str,
}

/// A work folder whose program has ended.
pub(crate) struct Collecting<'a> {
    /// The folder.
    pub(crate) folder: &'a Path,
    /// Knows the real paths of inputs.
    pub(crate) is_input: &'a dyn Fn(&Path) -> bool,
    /// Knows the names of what was put there for the program.
    pub(crate) laid_out: &'a dyn Fn(&str) -> bool,
}

/// What was found for an output.
enum Found {
    Value(Value),
    One(Item),
    Several(Vec<Item>),
}

/// A file or folder that is to be taken.
struct Item {
    path: PathBuf,
    /// Where it is in truth.
    real: PathBuf,
    is_link: bool,
    is_folder: bool,
    executable: bool,
}

/// Something that was moved, and can be put back.
struct Moved {
    from: PathBuf,
    to: PathBuf,
    mode: u32,
}

impl Collecting<'_> {
    /// Takes all outputs out of the folder; `stage` gives fresh places to move files to.
    pub(crate) fn collect(
        &self,
        wanted: &[Wanted<'_>],
        stage: &mut dyn FnMut() -> PathBuf,
    ) -> Result<Vec<Value>, FolderError> {
        let found: Result<Vec<Found>, FolderError> =
            wanted.iter().map(|wanted| self.find(wanted)).collect();
        let found = found?;
        let items: Vec<&Item> = found.iter().flat_map(Found::items).collect();
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by(|a, b| items[*a].real.cmp(&items[*b].real));
        // Whatever is below a folder comes after it, before anything that is not.
        let mut shared = vec![false; items.len()];
        let mut outer: Option<usize> = None;
        for place in order {
            match outer.filter(|outer| items[place].real.starts_with(&items[*outer].real)) {
                Some(outer) => (shared[outer], shared[place]) = (true, true),
                None => outer = Some(place),
            }
        }
        let mut moved = Vec::new();
        let mut copies = shared.into_iter();
        // First what is copied: afterwards it may be somewhere else.
        let mut places: Vec<Option<PathBuf>> = Vec::with_capacity(items.len());
        let mut taken = || {
            let mut later = Vec::new();
            for (number, item) in items.iter().enumerate() {
                let is_shared = copies.next().unwrap_or(true);
                let place = stage();
                if let Some(parent) = place.parent() {
                    make_folder(parent)?;
                }
                if item.is_link || is_shared {
                    self.copy_tree(&item.path, &place)?;
                } else {
                    later.push(number);
                }
                places.push(Some(place));
            }
            for number in later {
                let (item, Some(place)) = (items[number], &places[number]) else {
                    continue;
                };
                self.move_to(item, place, &mut moved)?;
            }
            let mut values = places.iter().zip(&items).map(|(place, item)| {
                let place = place.as_deref().unwrap_or(&item.path);
                taken_value(item, place)
            });
            values.by_ref().collect::<Result<Vec<Value>, FolderError>>()
        };
        let taken = taken();
        let taken = taken.inspect_err(|_| {
            // Whoever looks into the folder of the failed task should find it there.
            for Moved { from, to, mode } in moved.iter().rev() {
                let back = fs::rename(to, from);
                let _ = back.and_then(|()| set_mode(from, *mode));
            }
        })?;
        let mut taken = taken.into_iter();
        let values = found.iter().map(|found| match found {
            Found::Value(value) => value.clone(),
            Found::One(_) => taken.next().unwrap_or_default(),
            Found::Several(items) => Value::List(taken.by_ref().take(items.len()).collect()),
        });
        Ok(values.collect())
    }

    /// What there is for an output; nothing is moved.
    fn find(&self, wanted: &Wanted<'_>) -> Result<Found, FolderError> {
        let Some(output) = wanted.output else {
            return Ok(Found::Value(Value::Null));
        };
        match &output.collect {
            Collect::Glob(pattern) => {
                let element = output.output_type.element().unwrap_or(&Type::File);
                let mut items = Vec::new();
                let mut scalars = Vec::new();
                for found in matches(self.folder, pattern)? {
                    // What was put there for the program is not what it made.
                    let name = found.strip_prefix(self.folder).unwrap_or(&found);
                    if (self.laid_out)(&name.to_string_lossy()) {
                        continue;
                    }
                    match self.look(&found, element)? {
                        Found::Value(value) => scalars.push(value),
                        Found::One(item) => items.push(item),
                        Found::Several(_) => {}
                    }
                }
                Ok(if matches!(element, Type::File | Type::Directory) {
                    Found::Several(items)
                } else {
                    Found::Value(Value::List(scalars.into()))
                })
            }
            Collect::Path(_) => {
                let found = below(self.folder, wanted.path)?;
                match fs::symlink_metadata(&found) {
                    Ok(_) => self.look(&found, &output.output_type),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        if output.optional {
                            return Ok(Found::Value(Value::Null));
                        }
                        Err(FolderError(format!(
                            "output `{}` is missing: the program left no `{}`{}",
                            wanted.port,
                            wanted.path,
                            left(self.folder)
                        )))
                    }
                    Err(error) => Err(said("cannot look at", &found, &error)),
                }
            }
        }
    }

    /// Whether what is at this place is what is wanted.
    fn look(&self, path: &Path, wanted: &Type) -> Result<Found, FolderError> {
        let is_link = fs::symlink_metadata(path)
            .map_err(|error| said("cannot look at", path, &error))?
            .is_symlink();
        let real = fs::canonicalize(path).map_err(|error| said("cannot follow", path, &error))?;
        let home = fs::canonicalize(self.folder)
            .map_err(|error| said("cannot look at", self.folder, &error))?;
        // A folder on the way may be a link too; nothing is ever moved out of a folder that is not ours. A program may
        // give an input back by a link to it; inputs are links themselves.
        if !real.starts_with(&home) && !(self.is_input)(&real) {
            let name = path.strip_prefix(self.folder).unwrap_or(path);
            return Err(FolderError(format!(
                "output `{}` is a link that leads out of the work folder",
                name.display()
            )));
        }
        let metadata = fs::metadata(path).map_err(|error| said("cannot look at", path, &error))?;
        let item = |is_folder| {
            Found::One(Item {
                path: path.to_owned(),
                real: real.clone(),
                is_link,
                is_folder,
                executable: metadata.mode() & 0o100 != 0,
            })
        };
        let readable = |path: &Path| {
            let opened = open_to_read(path).map(drop);
            opened.map_err(|error| said("cannot read", path, &error))
        };
        match wanted {
            Type::Directory if metadata.is_dir() => {
                if holds_mount(&real) {
                    return Err(FolderError(format!(
                        "something is mounted in the output folder `{}`: unmount it before the program ends",
                        path.display()
                    )));
                }
                let files = files_below(&real, &|path| self.leads_to_input(path))?;
                files.iter().try_for_each(|(path, _)| readable(path))?;
                Ok(item(true))
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
            Type::File => readable(path).map(|()| item(false)),
            other => scalar(path, other, metadata.len()).map(Found::Value),
        }
    }

    fn move_to(
        &self,
        item: &Item,
        place: &Path,
        moved: &mut Vec<Moved>,
    ) -> Result<(), FolderError> {
        let path = &item.path;
        let mode = fs::metadata(path).map_err(|error| said("cannot look at", path, &error))?;
        if item.is_folder {
            self.copy_inputs(path)
                .map_err(|error| said("cannot copy", path, &error))?;
        }
        if fs::rename(path, place).is_err() {
            return self.copy_tree(path, place);
        }
        moved.push(Moved {
            from: path.clone(),
            to: place.to_owned(),
            mode: mode.mode() & 0o7777,
        });
        Ok(())
    }

    /// Whether a link leads to the file of an input.
    fn leads_to_input(&self, link: &Path) -> bool {
        fs::canonicalize(link).is_ok_and(|real| real.is_file() && (self.is_input)(&real))
    }

    /// Replaces links to inputs below `folder` by copies: a program that copies a folder copies its links.
    fn copy_inputs(&self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let path = entry.path();
            if kind.is_dir() {
                self.copy_inputs(&path)?;
            } else if kind.is_symlink()
                && let Ok(real) = fs::canonicalize(&path)
                && real.is_file()
                && (self.is_input)(&real)
            {
                fs::remove_file(&path)?;
                fs::copy(&real, &path)?;
            }
        }
        Ok(())
    }

    /// Copies a file or a folder. Links to inputs become files; any other link is refused like one that was found in the
    /// place itself, since following it could lead out of the folder, or round in circles.
    fn copy_tree(&self, from: &Path, to: &Path) -> Result<(), FolderError> {
        let wrong = |error: io::Error| said("cannot copy", from, &error);
        if !fs::metadata(from).map_err(wrong)?.is_dir() {
            return fs::copy(from, to).map(drop).map_err(wrong);
        }
        make_folder(to)?;
        for entry in fs::read_dir(from).map_err(wrong)? {
            let entry = entry.map_err(wrong)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(wrong)?);
            let is_kept = if kind.is_symlink() {
                self.leads_to_input(&path)
            } else {
                kind.is_dir() || kind.is_file()
            };
            if !is_kept {
                return Err(not_kept(&entry.file_name().to_string_lossy(), kind));
            }
            self.copy_tree(&path, &to.join(entry.file_name()))?;
        }
        Ok(())
    }
}

impl Found {
    fn items(&self) -> &[Item] {
        match self {
            Found::Value(_) => &[],
            Found::One(item) => std::slice::from_ref(item),
            Found::Several(items) => items,
        }
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// The value of what was taken, from where it is now.
fn taken_value(item: &Item, place: &Path) -> Result<Value, FolderError> {
    if item.is_folder {
        return directory_value(place).map(Value::Directory);
    }
    Ok(Value::File(Arc::new(FileValue {
        executable: item.executable,
        ..staged_value(place)?
    })))
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

fn scalar(path: &Path, wanted: &Type, size: u64) -> Result<Value, FolderError> {
    let Some(scalar_type) = wanted.scalar() else {
        return Err(FolderError(format!("a program cannot give a {wanted}")));
    };
    if *wanted != Type::Text && size > LONGEST_SCALAR {
        return Err(FolderError(format!(
            "`{}` has {size} bytes, which is too much for one value of type {scalar_type}",
            path.display()
        )));
    }
    let text = fs::read_to_string(path).map_err(|error| said("cannot read", path, &error))?;
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
                "`{}` holds `{}`, which is not {scalar_type}",
                path.display(),
                on_a_line(&shown)
            ))
        })
}
