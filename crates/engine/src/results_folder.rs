//! A folder that results are written to, by one command at a time.
//!
//! Law: while a command writes its results into a folder, every other one that would write to it, or to a folder in
//! it, is refused before it has done any work, however the folder is spelled. The lock is one of the kernel's on the
//! folder itself: it ends with the process, however that ends. Where the kernel cannot lock a folder, as on some
//! network file systems, nobody is refused. A folder that was made and not used is removed again.
//!
//! Nothing is written over, and nothing behind a link, also where somebody else puts files into the folder meanwhile.
//! Right before a command writes a file it says so in `.unfinished`, and afterwards what the file looks like, or of one
//! that grows which file it is; the list goes when everything is written. So a folder that was left in the middle is known as such, and so are the files that
//! the command wrote: these, and no others, make room for the same command when it is given again. One that looks
//! otherwise than it did is somebody else's by now.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use headwater_graph::text::{from_line, on_a_line};

use crate::{Error, whole};

/// The file that says which files are being written.
const UNFINISHED: &str = ".unfinished";

/// Its first line; what was claimed follows, a line each.
const HEADER: &str = "headwater 1: the command that writes these files has not finished\n";

/// What is going to be written, by its path from the folder.
#[derive(Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// A file that grows in its place.
    File(PathBuf),
    /// A file that has a hidden name until it is whole, as `whole::write` gives it.
    Whole(PathBuf),
    /// A folder, which may stay empty.
    Folder(PathBuf),
}

impl Claim {
    fn path(&self) -> &Path {
        match self {
            Claim::File(path) | Claim::Whole(path) | Claim::Folder(path) => path,
        }
    }

    /// Its line in the list; none where its name is no text. Without a claim such a file is in the way, and stays.
    fn line(&self) -> Option<String> {
        let kind = match self {
            Claim::File(_) => "file",
            Claim::Whole(_) => "whole",
            Claim::Folder(_) => "folder",
        };
        let path = on_a_line(self.path().to_str()?);
        Some(format!("{kind} {path}\n"))
    }

    fn of_line(line: &str) -> Option<Claim> {
        let (kind, path) = line.split_once(' ')?;
        let claim = match kind {
            "file" => Claim::File,
            "whole" => Claim::Whole,
            "folder" => Claim::Folder,
            _ => return None,
        };
        (!path.is_empty() && path != UNFINISHED).then(|| claim(PathBuf::from(from_line(path))))
    }
}

/// What a command has claimed, by path.
#[derive(Debug, Default)]
struct Claims {
    claims: BTreeMap<PathBuf, Claim>,
    /// What its files looked like when they had been written.
    made: HashMap<PathBuf, Appearance>,
    /// Which files are those that grow in their places.
    begun: HashMap<PathBuf, Origin>,
}

/// Which file it is, whatever its bytes are by now: another one in its place was made at another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin {
    inode: u64,
    /// When it was made, in nanoseconds since 1970; 0 where the file system does not know.
    born: u128,
}

impl Origin {
    fn of(found: &fs::Metadata) -> Origin {
        let born = found.created().ok();
        let born = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        Origin {
            inode: found.ino(),
            born: born.map_or(0, |born| born.as_nanos()),
        }
    }

    /// Its line in the list, for the file at this path.
    fn line(&self, path: &Path) -> Option<String> {
        let path = on_a_line(path.to_str()?);
        Some(format!("begun {} {} {path}\n", self.inode, self.born))
    }

    fn of_line(line: &str) -> Option<(PathBuf, Origin)> {
        let mut words = line.strip_prefix("begun ")?.splitn(3, ' ');
        let origin = Origin {
            inode: words.next()?.parse().ok()?,
            born: words.next()?.parse().ok()?,
        };
        Some((PathBuf::from(from_line(words.next()?)), origin))
    }
}

/// What a file looks like, in numbers: another one in its place does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Appearance {
    inode: u64,
    size: u64,
    /// Nanoseconds since 1970.
    modified: i128,
}

impl Appearance {
    fn of(found: &fs::Metadata) -> Appearance {
        Appearance {
            inode: found.ino(),
            size: found.len(),
            modified: i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec()),
        }
    }

    /// Its line in the list, for the file at this path.
    fn line(&self, path: &Path) -> Option<String> {
        let path = on_a_line(path.to_str()?);
        let Appearance {
            inode,
            size,
            modified,
        } = self;
        Some(format!("made {inode} {size} {modified} {path}\n"))
    }

    fn of_line(line: &str) -> Option<(PathBuf, Appearance)> {
        let mut words = line.strip_prefix("made ")?.splitn(4, ' ');
        let look = Appearance {
            inode: words.next()?.parse().ok()?,
            size: words.next()?.parse().ok()?,
            modified: words.next()?.parse().ok()?,
        };
        Some((PathBuf::from(from_line(words.next()?)), look))
    }
}

/// A folder that this command may write to until this is dropped.
#[derive(Debug)]
pub struct ResultsFolder {
    path: PathBuf,
    /// Those that were made for it, the innermost first.
    made: Vec<PathBuf>,
    lock: Option<File>,
    claimed: Mutex<Claimed>,
}

/// What this command writes.
#[derive(Debug, Default)]
struct Claimed {
    /// The list of it, once there is any.
    list: Option<File>,
    /// What this command has written it may also replace.
    known: HashSet<Claim>,
}

impl ResultsFolder {
    /// Makes the folder if it is not there, and keeps others out.
    pub fn take(path: &Path) -> Result<ResultsFolder, Error> {
        ResultsFolder::lock(path, File::try_lock)
    }

    /// The same for one that has to be empty, but for what a command has left that did not finish.
    pub fn take_empty(path: &Path) -> Result<ResultsFolder, Error> {
        if path.exists() && !path.is_dir() {
            return Err(Error::usage(
                format!("`{}` is a file, not a folder", path.display()),
                Some("give a new folder with -o, or leave -o out".to_owned()),
            ));
        }
        let folder = ResultsFolder::take(path)?;
        let is_empty = |path| !fs::read_dir(path).is_ok_and(|mut found| found.next().is_some());
        if is_empty(path) {
            return Ok(folder);
        }
        // Without a lock the command that is not finished may still be there.
        let left = folder.lock.as_ref().and_then(|_| unfinished(path));
        let Some(left) = left else {
            return Err(Error::usage(
                format!("the folder `{}` is not empty", path.display()),
                Some("give a new one with -o, or leave -o out".to_owned()),
            ));
        };
        let found = found_below(path, &left)?;
        if let Some(other) = found.others.first() {
            return Err(Error::usage(
                format!(
                    "the folder `{}` was left by a command that did not finish, but `{}` is not from that",
                    path.display(),
                    other.display()
                ),
                Some("move that elsewhere, or give a new folder with -o".to_owned()),
            ));
        }
        found.remove(path)?;
        Ok(folder)
    }

    /// Makes the folder, and waits for nobody: only a command that has taken it is in the way.
    pub fn visit(path: &Path) -> Result<ResultsFolder, Error> {
        ResultsFolder::lock(path, File::try_lock_shared)
    }

    fn lock(
        path: &Path,
        lock: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<ResultsFolder, Error> {
        let cannot = |source| Error::io("cannot make folder", path, source);
        let real = resolved(path);
        let absent = real.ancestors().take_while(|folder| !folder.exists());
        let absent: Vec<PathBuf> = absent.map(Path::to_path_buf).collect();
        let mut taken = ResultsFolder {
            path: path.to_owned(),
            made: Vec::new(),
            lock: None,
            claimed: Mutex::default(),
        };
        // Whoever takes a folder that this one is in finds it empty before this one is made, and has locked it then; or
        // is kept out by these until it is not empty any more.
        let mut outer = Vec::new();
        let folders: Vec<&Path> = real.ancestors().collect();
        for folder in folders.into_iter().rev() {
            if absent.iter().any(|absent| absent == folder) {
                match fs::create_dir(folder) {
                    Ok(()) => taken.made.insert(0, folder.to_owned()),
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(cannot(error)),
                }
            }
            let is_it = folder == real;
            let locked = if is_it {
                locked(folder, &lock)
            } else {
                locked(folder, File::try_lock_shared)
            };
            match locked {
                Ok(file) if is_it => taken.lock = file,
                Ok(file) => outer.extend(file),
                Err(Taken) => {
                    // It is somebody else's now, whoever has made it.
                    taken.made.clear();
                    let inside = if is_it {
                        String::new()
                    } else {
                        format!(", which `{}` is in", path.display())
                    };
                    let folder = if is_it { path } else { folder };
                    return Err(Error::usage(
                        format!(
                            "another command is writing to the folder `{}`{inside}",
                            folder.display()
                        ),
                        Some(
                            "give another folder with -o, or leave -o out; or wait until that command has ended"
                                .to_owned(),
                        ),
                    ));
                }
            }
        }
        if real.is_dir() {
            Ok(taken)
        } else {
            Err(cannot(io::ErrorKind::NotADirectory.into()))
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says what is written next. What is there already, and not from this command, is refused, and so is what lies
    /// behind a link: it would be written elsewhere.
    pub fn claim(&self, claims: impl IntoIterator<Item = Claim>) -> Result<(), Error> {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        let mut looked_at = HashSet::new();
        for claim in claims {
            let path = claim.path();
            let folder = match claim {
                Claim::Folder(_) => Some(path),
                Claim::File(_) | Claim::Whole(_) => path.parent(),
            };
            if let Some(folder) = folder.filter(|folder| !looked_at.contains(*folder)) {
                self.refuse_links(folder)?;
                looked_at.insert(folder.to_owned());
            }
            if claimed.known.contains(&claim) {
                continue;
            }
            let there = fs::symlink_metadata(self.path.join(path));
            let is_folder =
                |found: &fs::Metadata| matches!(claim, Claim::Folder(_)) && found.is_dir();
            if there.is_ok_and(|found| !is_folder(&found)) {
                return Err(self.is_there(path));
            }
            text.extend(claim.line());
            claimed.known.insert(claim);
        }
        let path = self.path.join(UNFINISHED);
        let cannot = |source| Error::io("cannot write", &path, source);
        if claimed.list.is_none() {
            text.insert_str(0, HEADER);
            let mut options = File::options();
            let list = options.create_new(true).append(true).open(&path);
            claimed.list = Some(list.map_err(cannot)?);
        }
        let list = claimed.list.as_mut();
        list.map_or(Ok(()), |list| list.write_all(text.as_bytes()))
            .map_err(cannot)
    }

    /// Says that a file that was claimed and grows in its place has been made, by its path from here.
    pub fn begun(&self, path: &Path) {
        let found = fs::symlink_metadata(self.path.join(path)).ok();
        let line = found.and_then(|found| Origin::of(&found).line(path));
        self.note(&line.unwrap_or_default());
    }

    /// Says that files are written, by their paths from here. One of which this cannot be said counts as begun.
    pub fn made<'p>(&self, paths: impl IntoIterator<Item = &'p Path>) {
        let line = |path: &Path| {
            let found = fs::symlink_metadata(self.path.join(path)).ok()?;
            Appearance::of(&found).line(path)
        };
        self.note(&paths.into_iter().filter_map(line).collect::<String>());
    }

    fn note(&self, text: &str) {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = &mut claimed.list {
            let _ = list.write_all(text.as_bytes());
        }
    }

    /// Writes a file, whole, by its path from here, and tells where it is.
    pub fn write(&self, name: impl Into<PathBuf>, bytes: &[u8]) -> Result<PathBuf, Error> {
        let name = name.into();
        let path = self.path.join(&name);
        self.claim([Claim::Whole(name.clone())])?;
        let folder = path.parent().unwrap_or(&self.path);
        fs::create_dir_all(folder)
            .map_err(|source| Error::io("cannot make folder", folder, source))?;
        whole::write(&path, bytes)?;
        self.made([&*name]);
        Ok(path)
    }

    fn is_there(&self, path: &Path) -> Error {
        Error::usage(
            format!(
                "`{}` already exists where the results are to be written",
                self.path.join(path).display()
            ),
            Some(
                "move it elsewhere, and give the command again: what is remembered is not made again"
                    .to_owned(),
            ),
        )
    }

    /// Refuses a folder, by its path from here, that is a link or lies behind one.
    fn refuse_links(&self, folder: &Path) -> Result<(), Error> {
        let mut at = self.path.clone();
        for part in folder.components() {
            at.push(part);
            if at.is_symlink() {
                return Err(Error::usage(
                    format!(
                        "`{}` is a link, and outputs are to be written there",
                        at.display()
                    ),
                    Some("take the link away, and give the command again".to_owned()),
                ));
            }
        }
        Ok(())
    }

    /// Everything is written.
    fn finish(&self) {
        let _ = fs::remove_file(self.path.join(UNFINISHED));
    }
}

/// An error if a folder for results is in the folder of a store, which removes what it does not list.
pub fn refuse_in_store(path: &Path, store: &Path) -> Result<(), Error> {
    if !resolved(path).starts_with(resolved(store)) {
        return Ok(());
    }
    Err(Error::usage(
        format!(
            "the folder `{}` is in the store `{}`, which keeps only what is its own",
            path.display(),
            store.display()
        ),
        Some("give a folder elsewhere with -o, or leave -o out".to_owned()),
    ))
}

/// A folder in which everything is written. It counts as finished when this is dropped, which whoever reports the
/// results does last: killed before, the same command may be given again.
#[derive(Debug)]
pub struct Finishing(ResultsFolder);

impl Finishing {
    /// All results are in this folder.
    pub fn new(folder: ResultsFolder) -> Finishing {
        Finishing(folder)
    }
}

impl Drop for Finishing {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Somebody else has locked it.
struct Taken;

/// Locks a folder, if it can be locked.
fn locked(
    folder: &Path,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<Option<File>, Taken> {
    let Ok(opened) = File::open(folder) else {
        // Who may not list a folder may still write to it.
        return Ok(None);
    };
    loop {
        match lock(&opened) {
            Ok(()) => return Ok(Some(opened)),
            Err(TryLockError::WouldBlock) => return Err(Taken),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
}

/// The path without links and without `..`, of a folder of which only the beginning may be there.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = path.ancestors().find(|folder| folder.exists());
    let there = there.unwrap_or(&path);
    let mut real = fs::canonicalize(there).unwrap_or_else(|_| there.to_owned());
    let mut goes_back = false;
    for part in path.strip_prefix(there).unwrap_or(&path).components() {
        match part {
            Component::ParentDir => {
                goes_back = true;
                real.pop();
            }
            part => real.push(part),
        }
    }
    // What comes after may be there, and be a link.
    if goes_back { resolved(&real) } else { real }
}

/// What a command that did not finish has said that it writes, if there was one.
fn unfinished(folder: &Path) -> Option<Claims> {
    let path = folder.join(UNFINISHED);
    if !fs::symlink_metadata(&path).ok()?.is_file() {
        return None;
    }
    let text = fs::read_to_string(&path).ok()?;
    let Some(names) = text.strip_prefix(HEADER) else {
        // It was killed when it began to write this.
        return HEADER.starts_with(&text).then(Claims::default);
    };
    // What comes after the last end of a line was not written to its end, nor the file that it is about.
    let whole = names.rfind('\n').map_or("", |end| &names[..end]);
    // Any other letter may be part of a name, also one that ends a line elsewhere.
    let claims = whole.split('\n').filter_map(Claim::of_line);
    Some(Claims {
        claims: claims
            .map(|claim| (claim.path().to_owned(), claim))
            .collect(),
        // Of what was written twice, the last time counts.
        made: whole.split('\n').filter_map(Appearance::of_line).collect(),
        begun: whole.split('\n').filter_map(Origin::of_line).collect(),
    })
}

/// What is in a folder, by paths from there.
#[derive(Default)]
struct Found {
    /// Files that were claimed.
    claimed: Vec<PathBuf>,
    /// Folders that lead to those, the outer ones first.
    folders: Vec<PathBuf>,
    others: Vec<PathBuf>,
}

/// Looks through a folder. Links are not followed.
fn found_below(folder: &Path, claims: &Claims) -> Result<Found, Error> {
    let mut found = Found::default();
    let mut waiting = vec![PathBuf::new()];
    while let Some(inner) = waiting.pop() {
        let path = folder.join(&inner);
        let cannot = |source| Error::io("cannot read folder", &path, source);
        for entry in fs::read_dir(&path).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let name = inner.join(entry.file_name());
            let is_folder = entry.file_type().map_err(cannot)?.is_dir();
            let leads_on = || {
                let next = claims.claims.range(name.clone()..).next();
                next.is_some_and(|(path, _)| path.starts_with(&name))
            };
            let is_as_made = |made: &Appearance| {
                entry
                    .metadata()
                    .is_ok_and(|now| Appearance::of(&now) == *made)
            };
            let is_the_same =
                |begun: &Origin| entry.metadata().is_ok_and(|now| Origin::of(&now) == *begun);
            let is_own = match claims.made.get(&name) {
                Some(made) => is_as_made(made),
                None => claims.begun.get(&name).is_none_or(is_the_same),
            };
            if !is_folder && is_own && is_claimed(&name, claims) {
                found.claimed.push(name);
            } else if is_folder && leads_on() {
                found.folders.push(name.clone());
                waiting.push(name);
            } else if name != Path::new(UNFINISHED) {
                found.others.push(name);
            }
        }
    }
    found.others.sort();
    Ok(found)
}

/// Whether this was said to be written as a file, by its name or while it had a hidden one.
fn is_claimed(path: &Path, claims: &Claims) -> bool {
    match claims.claims.get(path) {
        Some(Claim::File(_) | Claim::Whole(_)) => true,
        // A file of that name is somebody else's.
        Some(Claim::Folder(_)) => false,
        None => {
            let name = path.file_name().and_then(|name| name.to_str());
            let shown = name
                .and_then(whole::shown)
                .map(|name| path.with_file_name(name));
            let claim = shown.and_then(|path| claims.claims.get(&path));
            matches!(claim, Some(Claim::Whole(_)))
        }
    }
}

impl Found {
    /// Removes what was claimed, and last the file that says what was.
    fn remove(&self, folder: &Path) -> Result<(), Error> {
        let remove = |name: &Path, how: fn(&Path) -> io::Result<()>| {
            let path = folder.join(name);
            how(&path).map_err(|source| Error::io("cannot remove", &path, source))
        };
        for name in &self.claimed {
            remove(name, |path| fs::remove_file(path))?;
        }
        for name in self.folders.iter().rev() {
            remove(name, |path| fs::remove_dir(path))?;
        }
        remove(Path::new(UNFINISHED), |path| fs::remove_file(path))
    }
}

impl Drop for ResultsFolder {
    fn drop(&mut self) {
        // Where nothing was written there is nothing to finish.
        let entries = fs::read_dir(&self.path).map(|entries| entries.take(2).count());
        if entries.is_ok_and(|count| count == 1) && unfinished(&self.path).is_some() {
            self.finish();
        }
        for folder in &self.made {
            // One that has something in it stays.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_once_however_it_is_spelled() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("out");
        let taken = ResultsFolder::take_empty(&path).unwrap();
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for spelled in [&path, &link, &scratch.path().join("./out/../out/")] {
            let error = ResultsFolder::take_empty(spelled).unwrap_err();
            let message = error.to_string();
            assert!(message.contains("another command is writing"), "{message}");
            ResultsFolder::visit(spelled).unwrap_err();
        }
        assert!(taken.path().is_dir());
        drop(taken);
        assert!(!path.exists(), "it was made and not used");
        // It has to be there to be linked to.
        fs::create_dir(&path).unwrap();
        let taken = ResultsFolder::take(&link).unwrap();
        fs::write(path.join("result"), "").unwrap();
        drop(taken);
        assert!(path.join("result").exists());
        let message = ResultsFolder::take_empty(&path).unwrap_err().to_string();
        assert!(message.ends_with("is not empty"), "{message}");
        let visits = [ResultsFolder::visit(&path), ResultsFolder::visit(&link)];
        assert!(visits.iter().all(Result::is_ok));
        ResultsFolder::take(&path).unwrap_err();
    }

    #[test]
    fn another_file_in_the_place_of_one_that_grew_is_somebody_elses() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("out");
        let trace = path.join("trace.tsv");
        let leave = || {
            let taken = ResultsFolder::take_empty(&path).unwrap();
            taken.claim([Claim::File("trace.tsv".into())]).unwrap();
            fs::write(&trace, "head").unwrap();
            taken.begun(Path::new("trace.tsv"));
            fs::write(&trace, "head and lines").unwrap();
        };
        leave();
        // It has grown, and is the same file.
        leave();
        fs::remove_file(&trace).unwrap();
        fs::write(&trace, "notes of a week").unwrap();
        let message = ResultsFolder::take_empty(&path).unwrap_err().to_string();
        assert!(message.ends_with("is not from that"), "{message}");
        assert_eq!(fs::read_to_string(&trace).unwrap(), "notes of a week");
    }

    /// What was claimed makes room, and nothing goes if something else is there.
    #[test]
    fn what_an_unfinished_command_wrote_makes_room() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("out");
        let write = |name: &str| {
            let path = path.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        let leave = || {
            let taken = ResultsFolder::take_empty(&path).unwrap();
            let claim = |names: &[&str], kind: fn(PathBuf) -> Claim| {
                taken.claim(names.iter().map(|name| kind(PathBuf::from(name))))
            };
            claim(&["trace.tsv"], Claim::File).unwrap();
            claim(&["report.html"], Claim::Whole).unwrap();
            let claimed = ["y/0.tar.gz", "y/1/5.png", "z/any/thing", "deep/a/b"];
            claim(&claimed, Claim::File).unwrap();
            claim(&["none"], Claim::Folder).unwrap();
            claim(&["two\nlines", "carriage\r"], Claim::File).unwrap();
            let written = ["trace.tsv", ".report.html-12-3", "y/0.tar.gz", "y/1/5.png"];
            written.into_iter().for_each(write);
            let named_oddly = ["two\nlines", "carriage\r"];
            (["z/any/thing", "deep/a/b"].into_iter().chain(named_oddly)).for_each(write);
            fs::create_dir_all(path.join("none")).unwrap();
        };
        leave();
        for other in [
            "letter",
            "y/letter.txt",
            "y/01.png",
            "y/0.tar.gz.mine",
            "trace.tsv.bak",
            "z/any/other",
            "none/mine",
            "carriage",
            "two",
            "lines",
            ".report.html-1-x",
            ".report.html--",
            ".trace.tsv-1-2",
            "deep/b",
        ] {
            write(other);
            let message = ResultsFolder::take_empty(&path).unwrap_err().to_string();
            let named = format!("`{other}` is not from that");
            assert!(message.ends_with(&named), "{message}");
            assert!(path.join("trace.tsv").exists() && path.join("z/any/thing").exists());
            fs::remove_file(path.join(other)).unwrap();
        }
        // Nor does a file that stands where a folder was to be.
        fs::remove_dir(path.join("none")).unwrap();
        write("none");
        let message = ResultsFolder::take_empty(&path).unwrap_err().to_string();
        assert!(message.ends_with("`none` is not from that"), "{message}");
        fs::remove_file(path.join("none")).unwrap();
        // A link is no folder that leads on, wherever it leads to.
        fs::remove_dir_all(path.join("deep")).unwrap();
        std::os::unix::fs::symlink(scratch.path(), path.join("deep")).unwrap();
        ResultsFolder::take_empty(&path).unwrap_err();
        fs::remove_file(path.join("deep")).unwrap();
        leave();
        let taken = ResultsFolder::take_empty(&path).unwrap();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        // Nothing was written: nothing is left, and the folder was there before.
        taken.claim([Claim::File("trace.tsv".into())]).unwrap();
        drop(taken);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        // Killed when the first words were written, and in the middle of a name.
        for text in ["", "headwater 1: the", &format!("{HEADER}file trace.ts")] {
            fs::write(path.join(UNFINISHED), text).unwrap();
            drop(ResultsFolder::take_empty(&path).unwrap());
            assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        }
        // A file of somebody else that is called like that.
        fs::write(path.join(UNFINISHED), "my list\n").unwrap();
        let message = ResultsFolder::take_empty(&path).unwrap_err().to_string();
        assert!(message.ends_with("is not empty"), "{message}");
        // Finished is not unfinished.
        fs::remove_file(path.join(UNFINISHED)).unwrap();
        let taken = ResultsFolder::take_empty(&path).unwrap();
        taken.write("trace.tsv", b"rows").unwrap();
        taken.finish();
        drop(taken);
        let message = ResultsFolder::take_empty(&path).unwrap_err().to_string();
        assert!(message.ends_with("is not empty"), "{message}");
    }

    #[test]
    fn outputs_are_not_written_behind_a_link() {
        let scratch = tempfile::tempdir().unwrap();
        let taken = ResultsFolder::take_empty(&scratch.path().join("out")).unwrap();
        fs::create_dir(taken.path().join("y")).unwrap();
        std::os::unix::fs::symlink(scratch.path(), taken.path().join("z")).unwrap();
        for free in ["a", "y/a", "y/deep/a", "new/deep/a"] {
            taken.write(free, b"").unwrap();
        }
        taken.claim([Claim::Folder("y/none".into())]).unwrap();
        for behind in ["z/a", "z/deep/a", "z/out/y/b"] {
            let error = taken.write(behind, b"").unwrap_err();
            assert!(error.to_string().contains("is a link"), "{error}");
        }
        let error = taken.claim([Claim::Folder("z".into())]).unwrap_err();
        assert!(error.to_string().contains("is a link"), "{error}");
    }

    /// Also what comes into the folder while the command goes on, and it outlives a kill of the command.
    #[test]
    fn what_somebody_else_puts_there_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("out");
        let taken = ResultsFolder::take_empty(&path).unwrap();
        taken.write("mine", b"1").unwrap();
        taken.write("mine", b"2").unwrap();
        assert_eq!(fs::read(path.join("mine")).unwrap(), b"2");
        fs::create_dir(path.join("folder")).unwrap();
        fs::write(path.join("folder/theirs"), "3").unwrap();
        std::os::unix::fs::symlink("nowhere", path.join("link")).unwrap();
        let inner = Claim::File("folder/theirs".into());
        taken.claim([Claim::Folder("folder".into())]).unwrap();
        for claim in [
            inner,
            Claim::Whole("link".into()),
            Claim::File("folder".into()),
        ] {
            let message = taken.claim([claim]).unwrap_err().to_string();
            assert!(message.contains("already exists"), "{message}");
        }
        drop(taken);
        let refused = |named: &str| {
            let message = ResultsFolder::take_empty(&path).unwrap_err().to_string();
            let named = format!("`{named}` is not from that");
            assert!(message.ends_with(&named), "{message}");
        };
        refused("folder/theirs");
        assert_eq!(fs::read(path.join("folder/theirs")).unwrap(), b"3");
        fs::remove_dir_all(path.join("folder")).unwrap();
        fs::remove_file(path.join("link")).unwrap();
        // Neither is what takes the place of a file that was written, by another file or by other bytes.
        fs::write(path.join("other"), "2").unwrap();
        fs::rename(path.join("other"), path.join("mine")).unwrap();
        refused("mine");
        fs::remove_file(path.join("mine")).unwrap();
        drop(ResultsFolder::take_empty(&path).unwrap());
    }

    #[test]
    fn a_folder_in_one_that_is_taken_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let outer = scratch.path().join("outer");
        let taken = ResultsFolder::take_empty(&outer).unwrap();
        for inner in ["outer/a", "outer/a/b", "none/../outer/a"] {
            let inner = scratch.path().join(inner);
            for refused in [
                ResultsFolder::take_empty(&inner),
                ResultsFolder::visit(&inner),
            ] {
                let message = refused.unwrap_err().to_string();
                assert!(message.contains("another command is writing"), "{message}");
                assert!(message.contains(", which `"), "{message}");
            }
        }
        assert_eq!(fs::read_dir(&outer).unwrap().count(), 0);
        drop(taken);
        let inner = ResultsFolder::take_empty(&outer.join("a")).unwrap();
        let beside = ResultsFolder::take_empty(&outer.join("b")).unwrap();
        let message = ResultsFolder::take_empty(&outer).unwrap_err().to_string();
        assert!(message.ends_with("is not empty"), "{message}");
        drop(beside);
        drop(inner);
        assert!(!outer.exists());
    }

    #[test]
    fn what_was_made_and_not_used_is_removed_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let deep = scratch.path().join("a/b/c");
        drop(ResultsFolder::take(&deep).unwrap());
        assert!(!scratch.path().join("a").exists());
        fs::create_dir(scratch.path().join("a")).unwrap();
        let taken = ResultsFolder::take(&deep).unwrap();
        fs::write(scratch.path().join("a/b/kept"), "").unwrap();
        drop(taken);
        assert!(!deep.exists() && scratch.path().join("a/b/kept").exists());
        let file = scratch.path().join("file");
        fs::write(&file, "").unwrap();
        let message = ResultsFolder::take_empty(&file).unwrap_err().to_string();
        assert!(message.ends_with("is a file, not a folder"), "{message}");
    }
}
