//! What a program is given: its inputs and the files that it uses, laid out in its work folder.
//!
//! Law: a program sees its inputs under the names of its ports, never under the names that the files had, and the
//! bytes that it sees are those that its recipe speaks of. Nothing that it does to them reaches anybody else: small
//! files are copies, whose bytes are digested on the way; larger ones share blocks, or are read-only in a mount
//! namespace of its own. What is given by a link all the same is compared when the program has ended. Whether a file
//! may be executed is said by its value, not by the object that holds its bytes: programs and data with the same
//! bytes share one.

use std::collections::HashMap;
use std::fs::{self, File, FileTimes, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use headwater_graph::{
    ContentHasher, Digest, DirectoryValue, Failure, FailureKind, FileValue, Handle, UsedFile, Value,
};

use crate::folder::{FolderError, below, make_folder, said, sealed, set_mode};
use crate::proof::{Look, Proven, Shelter, mark_of, shows_writes};
use crate::protect::Allowance;
use crate::render::Filled;
use crate::spawn::{Namespace, Over};
use crate::system::{open_to_read, share_blocks};
use crate::watch::{Spoiled, Trouble, Watched, changed};

/// From this size in bytes on, the file system is asked to share the blocks of a file.
const WORTH_SHARING: u64 = 64 << 10;
/// Where files of the user are mounted, in the folder of a task.
const GIVEN: &str = ".given";
/// Bytes copied at once.
const PIECE: usize = 1 << 18;

/// A file that a task got by a link.
#[derive(Debug)]
struct Linked {
    /// What it is called in messages.
    name: String,
    path: PathBuf,
    digest: Digest,
    size: u64,
    executable: bool,
    is_product: bool,
}

/// What one task is given.
pub(crate) struct Giving<'a> {
    folder: &'a Path,
    watched: &'a Watched,
    inputs: &'a [Value],
    allowance: Allowance,
    /// Folders that no task writes to.
    sheltered: &'a [PathBuf],
    /// What the program sees read-only.
    mounts: Namespace,
    /// With what they looked like when they were given.
    linked: Vec<(Linked, Look)>,
    /// The files of the user that are given by a link, with what they looked like then.
    users: Vec<(PathBuf, Look)>,
    /// By inode, the files that stand where something is mounted, and what that is.
    stand_ins: HashMap<u64, PathBuf>,
    /// What links lead to that stand for files of the user, and those files.
    given: HashMap<PathBuf, PathBuf>,
    port: String,
    trouble: Option<Trouble>,
}

/// Why a file was not given.
enum Refusal {
    /// Its bytes are not those that were promised.
    Other,
    Folder(FolderError),
}

impl From<FolderError> for Refusal {
    fn from(error: FolderError) -> Refusal {
        Refusal::Folder(error)
    }
}

impl<'a> Giving<'a> {
    pub(crate) fn new(
        folder: &'a Path,
        inputs: &'a [Value],
        watched: &'a Watched,
        allowance: Allowance,
        sheltered: &'a [PathBuf],
    ) -> Giving<'a> {
        Giving {
            folder,
            watched,
            inputs,
            allowance,
            sheltered,
            mounts: Namespace::default(),
            linked: Vec::new(),
            users: Vec::new(),
            stand_ins: HashMap::new(),
            given: HashMap::new(),
            port: String::new(),
            trouble: None,
        }
    }

    /// What is wrong with what was to be given, where that is why it was not.
    pub(crate) fn take_trouble(&mut self) -> Option<Trouble> {
        self.trouble.take()
    }

    /// Lays out one input; the text that stands for it in arguments.
    pub(crate) fn input(
        &mut self,
        port: &str,
        extension: Option<&str>,
        value: &Value,
        keep_name: bool,
    ) -> Result<Filled, FolderError> {
        port.clone_into(&mut self.port);
        let named = |stem: &str, file: &FileValue| match (file.name.as_deref(), extension) {
            (Some(name), _) if keep_name => format!("{stem}/{name}"),
            (_, Some(extension)) => format!("{stem}.{extension}"),
            (_, None) => stem.to_owned(),
        };
        let folder = self.folder;
        Ok(match value {
            Value::Null => Filled::Nothing,
            Value::File(file) => {
                let name = named(port, file);
                self.file(file, file.executable, &below(folder, &name)?)?;
                Filled::One(name)
            }
            Value::Directory(directory) => {
                self.directory(directory, &folder.join(port))?;
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
                            let name = named(&format!("{port}/{position}"), file);
                            self.file(file, file.executable, &below(folder, &name)?)?;
                            names.push(name);
                        }
                        Value::Directory(directory) => {
                            let name = format!("{port}/{position}");
                            self.directory(directory, &folder.join(&name))?;
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

    /// Makes the files that an operation uses look like the workflow's own: all of them copies or none, so that a
    /// program finds them beside each other whatever it follows.
    pub(crate) fn used(&mut self, files: &[UsedFile]) -> Result<(), FolderError> {
        let size = |file: &UsedFile| {
            let found = fs::metadata(&file.path);
            found.map_or(u64::MAX, |found| found.len())
        };
        let sizes: Vec<u64> = files.iter().map(size).collect();
        // Where one of them cannot be given as it was by a link, all are copied.
        let rather = self.allowance.copies_rather();
        let is_other = |file: &UsedFile| {
            let found = fs::metadata(&file.path);
            let is_program = found.is_ok_and(|found| found.mode() & 0o100 != 0);
            let shows = !rather || shows_writes(&file.path);
            is_program != file.executable || !shows
        };
        let copies = self.allowance.copies_all(sizes.iter().copied()) || files.iter().any(is_other);
        for (file, size) in files.iter().zip(sizes) {
            let at = below(self.folder, &file.name)?;
            if let Some(parent) = at.parent().filter(|parent| *parent != self.folder) {
                make_folder(parent)?;
            }
            let given = if copies {
                let mode = sealed(file.executable);
                copy(&file.path, &at, mode, Some((&file.digest, size)))
            } else {
                let linked = Linked {
                    name: file.name.to_string(),
                    path: file.path.to_path_buf(),
                    digest: file.digest,
                    size,
                    executable: file.executable,
                    is_product: false,
                };
                self.link(linked, &at)
            };
            given.map_err(|refusal| match refusal {
                Refusal::Folder(error) => error,
                Refusal::Other => {
                    let message = format!(
                        "`{}`, which the operation uses, changed since the run began",
                        file.name
                    );
                    self.refuse(message)
                }
            })?;
        }
        Ok(())
    }

    fn refuse(&mut self, message: String) -> FolderError {
        let failure = Failure::new(FailureKind::Input, message.clone());
        self.trouble = Some(Trouble::Changed(failure));
        FolderError(message)
    }

    fn file(&mut self, file: &FileValue, executable: bool, at: &Path) -> Result<(), FolderError> {
        if let Some(parent) = at.parent().filter(|_| file.name.is_some()) {
            make_folder(parent)?;
        }
        self.give(file, executable, at, false)
    }

    fn directory(&mut self, directory: &DirectoryValue, at: &Path) -> Result<(), FolderError> {
        // A folder of its own even for a folder of the user: what a program puts beside its inputs stays here.
        make_folder(at)?;
        for entry in directory.entries.iter() {
            let path = below(at, &entry.path)?;
            if let Some(parent) = path.parent() {
                make_folder(parent)?;
            }
            self.give(&entry.file, entry.executable, &path, true)?;
        }
        Ok(())
    }

    /// Gives a file under this name. Where it is one of a folder it is a file for those who look through the folder:
    /// programs often pass over links there.
    fn give(
        &mut self,
        file: &FileValue,
        executable: bool,
        at: &Path,
        in_folder: bool,
    ) -> Result<(), FolderError> {
        let path = match &file.handle {
            Handle::Path(path) | Handle::Named { path, .. } => path,
            Handle::Memory(bytes) => {
                fs::write(at, bytes).map_err(|error| said("cannot write", at, &error))?;
                return if executable {
                    set_mode(at, executable)
                } else {
                    Ok(())
                };
            }
            Handle::Stored => {
                return Err(FolderError(format!(
                    "the contents {} are not here",
                    file.digest.short()
                )));
            }
        };
        let given = if self.watched.has(path) {
            self.users_file(file, path, at, in_folder.then_some(executable))
        } else {
            self.product(file, path, executable, at, in_folder)
        };
        given.map_err(|refusal| match refusal {
            Refusal::Folder(error) => error,
            Refusal::Other if self.watched.has(path) => {
                self.refuse(format!("`{}` changed since the run began", path.display()))
            }
            Refusal::Other => {
                let message = format!("`{}` is no longer what was made", self.port);
                self.trouble = Some(Trouble::Spoiled(Spoiled {
                    path: path.to_path_buf(),
                    digest: file.digest,
                    message: message.clone(),
                }));
                FolderError(message)
            }
        })
    }

    /// A file of the user keeps the mode that the user gave it. Of one in a folder it is known whether it may be
    /// executed, since that is a part of what the folder is.
    fn users_file(
        &mut self,
        file: &FileValue,
        path: &Path,
        at: &Path,
        executable: Option<bool>,
    ) -> Result<(), Refusal> {
        let is_named = matches!(file.handle, Handle::Named { .. });
        // Of a file that is known by its name only the mark is known.
        if is_named && !self.watched.is_as_it_was(file, path, self.shelter()) {
            return Err(Refusal::Other);
        }
        let found = fs::metadata(path).map_err(|_| Refusal::Other)?;
        // As it was when the run began, whatever somebody has made of it since.
        let mode = (self.watched.mode(path)).unwrap_or(found.mode() & 0o777);
        if executable.is_some_and(|executable| executable != (mode & 0o100 != 0)) {
            return Err(Refusal::Other);
        }
        if self.copies(file.size, path) {
            let wanted = (!is_named).then_some((&file.digest, file.size));
            return copy(path, at, mode, wanted);
        }
        if !self.watched.is_as_it_was(file, path, self.shelter())
            || found.mode() & 0o111 != mode & 0o111
        {
            return Err(Refusal::Other);
        }
        if self.shares(file.size, path, at, mode)? {
            return if self.watched.is_as_it_was(file, path, self.shelter()) {
                Ok(())
            } else {
                Err(Refusal::Other)
            };
        }
        if executable.is_some() && !self.allowance.mounts {
            // Whatever that takes: programs that look through a folder pass over links.
            let wanted = (!is_named).then_some((&file.digest, file.size));
            return copy(path, at, mode, wanted);
        }
        let look = Look::at(path).map_err(|_| Refusal::Other)?;
        self.users.push((path.to_path_buf(), look));
        let link = |to: &Path| {
            symlink(to, at).map_err(|error| Refusal::from(said("cannot link", at, &error)))
        };
        if !self.allowance.mounts {
            return link(path);
        }
        if executable.is_some() {
            // Programs that look through a folder pass over links.
            self.mounts.read_only.push(path.to_path_buf());
            return self.stand_in(path, look, at.to_path_buf());
        }
        // By its own name the program cannot write to it; and it reads this file, whatever gets its name meanwhile. It
        // may remove and rename the link, as it could not what something is mounted on.
        self.mounts.read_only.push(path.to_path_buf());
        let given = self.folder.join(GIVEN);
        make_folder(&given)?;
        let stand_in = given.join(self.given.len().to_string());
        self.stand_in(path, look, stand_in.clone())?;
        self.given.insert(stand_in.clone(), path.to_path_buf());
        link(&stand_in)
    }

    /// An empty file on which another one is mounted.
    fn stand_in(&mut self, path: &Path, look: Look, at: PathBuf) -> Result<(), Refusal> {
        let made = OpenOptions::new().write(true).create_new(true).open(&at);
        let inode = made.and_then(|file| file.metadata()).map(|file| file.ino());
        let inode = inode.map_err(|error| said("cannot write", &at, &error))?;
        self.stand_ins.insert(inode, path.to_path_buf());
        self.mounts.over.push(Over {
            file: path.to_path_buf(),
            at,
            identity: look.identity(),
        });
        Ok(())
    }

    fn product(
        &mut self,
        file: &FileValue,
        path: &Path,
        executable: bool,
        at: &Path,
        in_folder: bool,
    ) -> Result<(), Refusal> {
        let found = fs::metadata(path).map_err(|_| Refusal::Other)?;
        let mode = sealed(executable);
        // An object may have the mode of another file with the same bytes.
        let has_mode = found.mode() & 0o111 == mode & 0o111;
        if self.copies(file.size, path) || !has_mode {
            return copy(path, at, mode, Some((&file.digest, file.size)));
        }
        let linked = Linked {
            name: self.port.clone(),
            path: path.to_path_buf(),
            digest: file.digest,
            size: file.size,
            executable,
            is_product: true,
        };
        if self.allowance.shares && file.size >= WORTH_SHARING {
            if !holds(&linked, self.shelter()) {
                return Err(Refusal::Other);
            }
            if self.shares(file.size, path, at, mode)? {
                return if holds(&linked, self.shelter()) {
                    Ok(())
                } else {
                    Err(Refusal::Other)
                };
            }
        }
        if in_folder {
            self.link_in_folder(linked, at)
        } else {
            self.link(linked, at)
        }
    }

    /// Whether a task gets a copy of a file: it is small, or nobody could see afterwards whether it was written to.
    fn copies(&mut self, size: u64, path: &Path) -> bool {
        self.allowance.copies(size) || self.allowance.copies_rather() && !shows_writes(path)
    }

    fn shelter(&self) -> Shelter {
        if self.allowance.mounts {
            Shelter::Sheltered
        } else {
            Shelter::Open
        }
    }

    /// Whether the file at `at` shares the blocks of another one now; it is there only then.
    fn shares(&self, size: u64, path: &Path, at: &Path, mode: u32) -> Result<bool, Refusal> {
        if !self.allowance.shares || size < WORTH_SHARING {
            return Ok(false);
        }
        let (from, to) = open_both(path, at)?;
        if !share_blocks(&from, &to) {
            fs::remove_file(at).map_err(|error| said("cannot remove", at, &error))?;
            return Ok(false);
        }
        let finished = from
            .metadata()
            .and_then(|found| finish_copy(&found, &to, mode));
        finished.map_err(|error| said("cannot write", at, &error))?;
        Ok(true)
    }

    /// Looks at a file that is given by a link, and remembers to look again. Gives what it looks like.
    fn watch(&mut self, linked: Linked) -> Result<Look, Refusal> {
        if !holds(&linked, self.shelter()) {
            return Err(Refusal::Other);
        }
        let look = Look::at(&linked.path).map_err(|_| Refusal::Other)?;
        // Somebody may have made it a program since it was looked at whether it is one.
        if look.is_program() != linked.executable {
            return Err(Refusal::Other);
        }
        self.linked.push((linked, look));
        Ok(look)
    }

    fn link(&mut self, linked: Linked, at: &Path) -> Result<(), Refusal> {
        let path = linked.path.clone();
        self.watch(linked)?;
        if self.allowance.mounts && !self.sheltered.iter().any(|folder| path.starts_with(folder)) {
            self.mounts.read_only.push(path.clone());
        }
        symlink(&path, at).map_err(|error| said("cannot link", at, &error).into())
    }

    /// A file of a folder: an empty one on which the other is mounted, another name for it, or a copy.
    fn link_in_folder(&mut self, linked: Linked, at: &Path) -> Result<(), Refusal> {
        let path = linked.path.clone();
        if self.allowance.mounts {
            let look = self.watch(linked)?;
            return self.stand_in(&path, look, at.to_path_buf());
        }
        if fs::hard_link(&path, at).is_ok() {
            // After the link, which changes the time of change.
            return self.watch(linked).map(drop);
        }
        let wanted = Some((&linked.digest, linked.size));
        copy(&path, at, sealed(linked.executable), wanted)
    }

    /// The mounts that the program needs, if any.
    pub(crate) fn namespace(&self) -> Namespace {
        let mut mounts = self.mounts.clone();
        if self.allowance.mounts && !(self.linked.is_empty() && mounts.is_empty()) {
            let there = |folder: &&PathBuf| folder.is_dir();
            mounts
                .read_only
                .extend(self.sheltered.iter().filter(there).cloned());
        }
        mounts
    }

    /// Gives the folder back as it is without mounts: a file on which something was mounted becomes a link to that,
    /// wherever the program has moved it to, and a link to what was mounted becomes one to the file itself. Nothing is
    /// left that was put there for the mounts: it would be collected with whatever is beside it.
    pub(crate) fn unmount(&self) -> Result<(), FolderError> {
        if self.stand_ins.is_empty() {
            return Ok(());
        }
        self.unmount_below(self.folder)?;
        if !self.given.is_empty() {
            for stand_in in self.given.keys() {
                // The program may have removed it; what it has put there itself stays.
                if fs::symlink_metadata(stand_in).is_ok_and(|found| found.is_symlink()) {
                    let _ = fs::remove_file(stand_in);
                }
            }
            let _ = fs::remove_dir(self.folder.join(GIVEN));
        }
        Ok(())
    }

    fn unmount_below(&self, folder: &Path) -> Result<(), FolderError> {
        let wrong = |error: io::Error| said("cannot read", folder, &error);
        let entries = match fs::read_dir(folder) {
            // The program has shut it: nothing in it can be collected, and so no stand-in either.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            entries => entries.map_err(wrong)?,
        };
        for entry in entries {
            let entry = entry.map_err(wrong)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(wrong)?);
            if kind.is_dir() {
                self.unmount_below(&path)?;
            } else if kind.is_file()
                && let Ok(found) = entry.metadata()
                && found.len() == 0
                && let Some(target) = self.stand_ins.get(&found.ino())
            {
                relink(target, &path)?;
            } else if kind.is_symlink()
                && let Some(target) = fs::read_link(&path).ok().and_then(|to| self.given.get(&to))
            {
                relink(target, &path)?;
            }
        }
        Ok(())
    }

    /// Looks when the task has ended, however it did, at what it could have written to.
    pub(crate) fn after(&self) -> (Option<Failure>, Vec<Spoiled>) {
        let mut message = None;
        let mut spoiled = Vec::new();
        for value in self.inputs {
            value.for_each_file(&mut |file| {
                if let Some(path) = file.handle.path()
                    && self.watched.has(path)
                    && !self.watched.is_as_it_was(file, path, self.shelter())
                {
                    message.get_or_insert(changed(&format!("`{}`", path.display())));
                }
            });
        }
        for (path, look) in &self.users {
            if look.was_changed(path) {
                message.get_or_insert(changed(&format!("`{}`", path.display())));
            }
        }
        for (linked, look) in &self.linked {
            let is_right = holds(linked, self.shelter());
            if is_right && !look.was_changed(&linked.path) {
                continue;
            }
            let said = if linked.is_product {
                changed_by_task(&format!("`{}`", linked.name))
            } else {
                changed_by_task(&format!("`{}`, which the operation uses,", linked.name))
            };
            if linked.is_product && !is_right {
                spoiled.push(Spoiled {
                    path: linked.path.clone(),
                    digest: linked.digest,
                    message: said.clone(),
                });
            }
            message.get_or_insert(said);
        }
        let failure = message.map(|message| Failure::new(FailureKind::Input, message));
        (failure, spoiled)
    }
}

/// Puts a link in the place of what is there, also in a folder that the program has made read-only.
fn relink(target: &Path, at: &Path) -> Result<(), FolderError> {
    let relink = || fs::remove_file(at).and_then(|()| symlink(target, at));
    let linked = relink().or_else(|error| match (error.kind(), at.parent()) {
        (io::ErrorKind::PermissionDenied, Some(folder)) => {
            fs::set_permissions(folder, Permissions::from_mode(0o700))?;
            relink()
        }
        _ => Err(error),
    });
    linked.map_err(|error| said("cannot link", at, &error))
}

fn holds(linked: &Linked, shelter: Shelter) -> bool {
    Proven::here().holds(&linked.path, &linked.digest, linked.size, shelter)
}

/// The same of what only tasks can reach, and the one that ended need not be the one that wrote.
fn changed_by_task(what: &str) -> String {
    format!(
        "{what} changed while the task ran: it was written to, by this task or another; inputs are only there to be read"
    )
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

/// Opens a file to be read and makes another to be written.
fn open_both(from: &Path, to: &Path) -> Result<(File, File), Refusal> {
    let source = open_to_read(from).map_err(|error| match error.kind() {
        // Gone, or something else in its place.
        io::ErrorKind::NotFound | io::ErrorKind::Other => Refusal::Other,
        _ => said("cannot read", from, &error).into(),
    })?;
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to);
    let made = made.map_err(|error| said("cannot write", to, &error))?;
    Ok((source, made))
}

/// Gives a copy its mode, and the time of its original: programs compare the times of files.
fn finish_copy(original: &Metadata, to: &File, mode: u32) -> io::Result<()> {
    let times = FileTimes::new().set_modified(original.modified()?);
    to.set_times(times)?;
    to.set_permissions(Permissions::from_mode(mode))
}

/// Copies a file. Where its digest and size are known, the copy has them.
fn copy(from: &Path, to: &Path, mode: u32, wanted: Option<(&Digest, u64)>) -> Result<(), Refusal> {
    let (mut source, mut made) = open_both(from, to)?;
    let writing = |error: io::Error| said("cannot write", to, &error);
    let found = source
        .metadata()
        .map_err(|error| said("cannot look at", from, &error))?;
    if !found.is_file() || wanted.is_some_and(|(_, size)| size != found.len()) {
        return Err(Refusal::Other);
    }
    let before = mark_of(&found);
    let room = usize::try_from(found.len()).unwrap_or(PIECE);
    let mut buffer = vec![0; room.saturating_add(1).min(PIECE)];
    let mut hasher = ContentHasher::new();
    loop {
        let count = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(said("cannot read", from, &error).into()),
        };
        if wanted.is_some() {
            hasher.update(&buffer[..count]);
        }
        made.write_all(&buffer[..count]).map_err(writing)?;
        if (count as u64) == before.size && count < buffer.len() {
            // All of it at once, as most files are.
            break;
        }
    }
    let is_right = match wanted {
        Some((digest, _)) => hasher.finish() == *digest,
        None => source
            .metadata()
            .is_ok_and(|found| mark_of(&found) == before),
    };
    if !is_right {
        return Err(Refusal::Other);
    }
    finish_copy(&found, &made, mode).map_err(|error| writing(error).into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::folder::{copy_value, file_value};
    use crate::protect::Protection;

    /// What is laid out for a file on disk with this mode, whose value says whether it is a program: the mode that a
    /// program sees. Nothing that it does there reaches the file on disk.
    fn laid_out(on_disk: u32, executable: bool, is_users: bool) -> u32 {
        let folder = tempfile::tempdir().expect("a folder");
        let work = folder.path().join("work");
        fs::create_dir(&work).expect("a folder");
        let (from, at) = (folder.path().join("from"), work.join("at"));
        fs::write(&from, "bytes").expect("a file");
        fs::set_permissions(&from, Permissions::from_mode(on_disk)).expect("a mode");
        let file = FileValue {
            executable,
            ..file_value(&from).expect("a value")
        };
        let value = Value::File(Arc::new(file));
        let mut watched = Watched::default();
        if is_users {
            watched.add(&value);
        }
        let inputs = [value];
        let allowance = Protection::from_environment().allowance();
        let mut giving = Giving::new(&work, &inputs, &watched, allowance, &[]);
        let filled = giving.input("at", None, &inputs[0], false);
        assert_eq!(filled.expect("a name for it").texts(), ["at"]);
        assert_eq!(fs::read(&at).expect("its bytes"), b"bytes");
        let mode = |path: &Path| fs::metadata(path).expect("a file").mode() & 0o777;
        assert_eq!(mode(&from), on_disk, "what is on disk stays as it is");
        let time = |path: &Path| fs::metadata(path).and_then(|found| found.modified());
        assert_eq!(time(&from).expect("a time"), time(&at).expect("a time"));
        let seen = mode(&at);
        fs::set_permissions(&at, Permissions::from_mode(0o600)).expect("a mode");
        fs::write(&at, "wrong").expect("a write");
        assert_eq!(fs::read(&from).expect("its bytes"), b"bytes");
        assert_eq!(giving.after(), (None, Vec::new()));
        seen
    }

    #[test]
    fn the_value_says_whether_a_product_is_a_program() {
        for on_disk in [0o444, 0o555, 0o544] {
            assert_eq!(laid_out(on_disk, false, false), 0o444);
            assert_eq!(laid_out(on_disk, true, false), 0o555);
        }
    }

    #[test]
    fn a_file_of_the_user_is_given_with_the_mode_it_has() {
        for mode in [0o644, 0o755, 0o555, 0o444] {
            assert_eq!(laid_out(mode, false, true), mode);
        }
    }

    #[test]
    fn bytes_that_are_not_those_of_the_digest_are_not_given() {
        for is_users in [false, true] {
            let folder = tempfile::tempdir().expect("a folder");
            let from = folder.path().join("from");
            fs::write(&from, "right").expect("a file");
            let value = Value::File(Arc::new(file_value(&from).expect("a value")));
            let mut watched = Watched::default();
            if is_users {
                watched.add(&value);
            }
            fs::write(&from, "wrong").expect("a write");
            let (work, inputs) = (folder.path().join("work"), [value]);
            fs::create_dir(&work).expect("a folder");
            let allowance = Protection::from_environment().allowance();
            let mut giving = Giving::new(&work, &inputs, &watched, allowance, &[]);
            let error = giving.input("at", None, &inputs[0], false);
            let message = error.expect_err("it is another").0;
            match giving.take_trouble() {
                Some(Trouble::Spoiled(spoiled)) if !is_users => assert_eq!(spoiled.path, from),
                Some(Trouble::Changed(_)) if is_users => {}
                _ => panic!("{message}"),
            }
        }
    }

    #[test]
    fn what_is_in_memory_becomes_a_program_if_it_is_one() {
        let folder = tempfile::tempdir().expect("a folder");
        for executable in [false, true] {
            let name = executable.to_string();
            let file = FileValue {
                digest: Digest::of(b"bytes"),
                size: 5,
                name: None,
                executable,
                handle: Handle::Memory(b"bytes".as_slice().into()),
            };
            let inputs = [Value::File(Arc::new(file))];
            let watched = Watched::default();
            let allowance = Protection::from_environment().allowance();
            let mut giving = Giving::new(folder.path(), &inputs, &watched, allowance, &[]);
            giving
                .input(&name, None, &inputs[0], false)
                .expect("a file");
            let copy = folder.path().join(format!("{executable}-copy"));
            copy_value(&inputs[0], &copy).expect("a copy");
            for path in [folder.path().join(name), copy] {
                let mode = fs::metadata(&path).expect("a file").mode();
                assert_eq!(mode & 0o100 != 0, executable, "{}", path.display());
            }
        }
    }
}
