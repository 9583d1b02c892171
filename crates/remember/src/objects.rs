//! Bytes by digest: placing, finding and verifying them.
//!
//! Law: what is under the name of a digest is complete and is never written to. An object counts as durable only if
//! the table `objects` lists it and the file is there as it was listed. One that is not what its name says is moved
//! aside, never repaired and never served; and so is what was put in its place and is no file at all.
//!
//! A path is given out only for a file that looks as it did when it was last known to be right; any other is read
//! first. In a store that may be written to it is given out only after the use was written down, which keeps the
//! object from being collected for as long as the run lives that asked (see `collect`). An object that was made or
//! used since the latest run of this store began is safe already, and not counted again: reads are counted once per
//! run.
//!
//! Files get and lose the names of objects only while the lock `objects.lock` is held: shared by those who place
//! objects, until the rows are committed; exclusively by those who take a file away. The latter hold `objects.gate`
//! while they wait, and the former pass through it: otherwise many who place would keep out for ever who removes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use headwater_graph::{
    Aligned, ContentHasher, Digest, Mark, Mode, ObjectPlace, ObjectSource, Objects, Owner,
    PendingObject, Store, StoreEntry, StoreError, encode_to,
};

use crate::beneath::{Access, Root, is_planted};
use crate::clock::now;
use crate::disk::{cannot, user, wait_for};
use crate::object_rows::{Seen, listed, mark_of, object_name};
use crate::store::FolderStore;

/// Above this many files one synchronisation of the whole file system is cheaper than one for each.
const MANY: usize = 16;
/// An object of more bytes is checked before it is read into memory.
const WHOLE: u64 = 1 << 28;
/// Bytes read at once.
const PIECE: usize = 1 << 20;

/// A file beside the objects: what it is to be called, what it is called, and what it looks like, if that is known.
pub(crate) type Incoming = (Digest, PathBuf, Option<Seen>);

/// What became of the objects of a batch.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    /// Objects that are durable now and have to be listed as such.
    pub(crate) durable: Vec<(Digest, Seen)>,
    /// Objects that were durable before, and are used again.
    pub(crate) present: Vec<Digest>,
    /// Objects whose bytes could not be had.
    pub(crate) refused: HashMap<Digest, StoreError>,
}

/// Whether nothing has to be done for an object: its file is there as it was listed, or it is the very file that is
/// staged, for which there is no other to be had.
fn is_placed(root: &Root, name: &Path, listed: &Seen, source: &ObjectSource) -> bool {
    let Ok(found) = root.metadata(name) else {
        return false;
    };
    let is_staged = || match source {
        ObjectSource::Bytes(_) | ObjectSource::Encoding(_) => false,
        ObjectSource::Staged(staged) | ObjectSource::Digested(staged, _) => fs::metadata(staged)
            .is_ok_and(|staged| (staged.dev(), staged.ino()) == (found.dev(), found.ino())),
    };
    found.is_file() && (Seen::of(&found) == *listed || (found.len() == listed.size && is_staged()))
}

/// What a file of this size looks like, if its contents have this digest.
fn contents_are(file: io::Result<File>, size: u64, digest: &Digest) -> Option<Seen> {
    let mut file = file.ok()?;
    let before = Seen::of(&file.metadata().ok()?);
    if before.size != size {
        return None;
    }
    let mut hasher = ContentHasher::new();
    let mut buffer = vec![0; PIECE];
    let read = hasher.update_from(&mut file, &mut buffer, |_| ());
    read.ok()?;
    let after = Seen::of(&file.metadata().ok()?);
    (hasher.finish() == *digest && before == after).then_some(after)
}

/// Sizes added up. Damaged rows may say anything, and then it is as much as can be said.
pub(crate) fn total(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.fold(0, u64::saturating_add)
}

/// Whether a file of this user has a mode in which its owner cannot read it.
fn is_shut(found: &fs::Metadata) -> bool {
    found.uid() == user() && found.mode() & 0o400 == 0
}

/// Where objects are that were found not to be what their name says.
pub(crate) const DAMAGED: &str = "objects/damaged";

impl FolderStore {
    /// Held by those who give files the names of objects, until the rows are committed.
    pub(crate) fn placing(&self) -> Result<File, StoreError> {
        drop(self.lock_file("objects.gate", File::lock_shared)?);
        self.lock_file("objects.lock", File::lock_shared)
    }

    /// Held by those who take files away: nobody is between giving a file its name and listing it.
    pub(crate) fn removing(&self) -> Result<File, StoreError> {
        let _gate = self.lock_file("objects.gate", File::lock)?;
        self.lock_file("objects.lock", File::lock)
    }

    fn lock_file(
        &self,
        name: &str,
        lock: impl Fn(&File) -> io::Result<()>,
    ) -> Result<File, StoreError> {
        let path = self.beneath().at(name);
        let file = (self.beneath().file(name, Access::Lock)).map_err(cannot("make", &path))?;
        wait_for(&file, lock).map_err(cannot("lock", &path))?;
        Ok(file)
    }

    /// Where an object has its place.
    pub(crate) fn object_path(&self, digest: &Digest) -> PathBuf {
        self.beneath().at(object_name(digest))
    }

    /// Makes objects durable under their names; those that are so already cost a look-up each. The caller holds the
    /// lock of [`FolderStore::placing`] until it has listed them.
    pub(crate) fn place<'a>(
        &self,
        objects: impl Iterator<Item = &'a PendingObject>,
    ) -> Result<Placed, StoreError> {
        let start = Instant::now();
        let mut placed = Placed::default();
        let mut incoming = Vec::new();
        let all: Vec<&PendingObject> = objects.collect();
        for object in self.not_durable(&all, &mut placed)? {
            let brought = self.bring_in(object).or_else(|error| {
                // The same may be there a second time, made again because somebody wrote to the first.
                let same = |other: &&&PendingObject| {
                    other.digest == object.digest && other.source != object.source
                };
                let others = all.iter().filter(same);
                let mut others = others.map(|other| self.bring_in(other));
                others.find(Result::is_ok).unwrap_or(Err(error))
            });
            match brought {
                Ok((name, seen)) => incoming.push((object.digest, name, seen)),
                Err(error) => {
                    placed.refused.insert(object.digest, error);
                }
            }
        }
        if !incoming.is_empty() {
            self.place_incoming(incoming, &mut placed)?;
            let bytes = total(placed.durable.iter().map(|(_, seen)| seen.size));
            self.meter()
                .wrote(placed.durable.len(), bytes, start.elapsed());
            self.written.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(placed)
    }

    /// Makes files beside the objects durable and gives them the names of objects.
    pub(crate) fn place_incoming(
        &self,
        incoming: Vec<Incoming>,
        placed: &mut Placed,
    ) -> Result<(), StoreError> {
        let root = self.beneath();
        let sync_all = || {
            let synced = root.sync_file_system();
            synced.map_err(cannot("synchronise the file system of", root.path()))
        };
        if incoming.len() > MANY {
            sync_all()?;
        } else {
            for (_, name, _) in &incoming {
                (root.file(name, Access::Read))
                    .and_then(|file| file.sync_all())
                    .map_err(cannot("synchronise", &root.at(name)))?;
            }
        }
        let mut touched = BTreeSet::new();
        for (digest, incoming, seen) in incoming {
            let name = object_name(&digest);
            self.give_name(&incoming, &name, &mut touched)?;
            let seen = match seen {
                // One that was written to since does not look like this, and is read before it is given out.
                Some(seen) => seen,
                None => {
                    let found = root
                        .metadata(&name)
                        .map_err(cannot("find", &root.at(&name)))?;
                    Seen::of(&found)
                }
            };
            placed.durable.push((digest, seen));
        }
        if touched.len() > MANY {
            sync_all()?;
        } else {
            for folder in &touched {
                (root.sync_folder(folder)).map_err(cannot("synchronise", &root.at(folder)))?;
            }
        }
        Ok(())
    }

    /// Copies bytes of elsewhere to a read-only file of our own beside the objects, if they have this digest.
    pub(crate) fn copy_in(
        &self,
        digest: &Digest,
        bytes: &mut dyn Read,
    ) -> Result<PathBuf, StoreError> {
        let (root, name) = (self.beneath(), self.incoming_name()?);
        let mut hasher = ContentHasher::new();
        let written = write_object(root, &name, |file| {
            let mut piece = vec![0; PIECE];
            loop {
                let count = match bytes.read(&mut piece) {
                    Ok(0) => return Ok(()),
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
                hasher.update(&piece[..count]);
                file.write_all(&piece[..count])?;
            }
        });
        let copied = match written {
            Ok(()) if hasher.finish() == *digest => return Ok(name),
            Ok(()) => StoreError::Damaged {
                what: format!("object {digest}"),
            },
            Err(error) => cannot("copy object", Path::new(&digest.hex()))(error),
        };
        let _ = root.remove_file(&name);
        Err(copied)
    }

    /// The objects, each once, that are not known to be durable.
    fn not_durable<'a>(
        &self,
        objects: &[&'a PendingObject],
        placed: &mut Placed,
    ) -> Result<Vec<&'a PendingObject>, StoreError> {
        let mut wanted: Vec<&PendingObject> = objects.to_vec();
        if wanted.is_empty() {
            return Ok(wanted);
        }
        wanted.sort_by_key(|object| object.digest);
        wanted.dedup_by_key(|object| object.digest);
        let known = self.writable()?.read(|connection| {
            wanted
                .iter()
                .map(|object| listed(connection, &object.digest))
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let mut known = known.into_iter();
        wanted.retain(|object| match known.next().flatten() {
            Some((seen, _))
                if is_placed(
                    self.beneath(),
                    &object_name(&object.digest),
                    &seen,
                    &object.source,
                ) =>
            {
                placed.present.push(object.digest);
                false
            }
            Some((seen, _)) => {
                // In a store that was copied, all files look changed. What somebody may be reading is not replaced
                // by the same.
                let name = object_name(&object.digest);
                let right = contents_are(
                    self.beneath().file(&name, Access::Read),
                    seen.size,
                    &object.digest,
                );
                let is_right = right.is_some();
                placed
                    .durable
                    .extend(right.map(|seen| (object.digest, seen)));
                !is_right
            }
            None => true,
        });
        Ok(wanted)
    }

    /// Brings bytes to a read-only file of our own beside the objects. Gives its name and, if it was digested before,
    /// what it looks like as long as nobody writes to it.
    fn bring_in(&self, object: &PendingObject) -> Result<(PathBuf, Option<Seen>), StoreError> {
        let (root, name) = (self.beneath(), self.incoming_name()?);
        let path = root.at(&name);
        let writing = |written: io::Result<()>| written.map(|()| None);
        let brought = match &object.source {
            ObjectSource::Bytes(bytes) => {
                writing(write_object(root, &name, |file| file.write_all(bytes)))
                    .map_err(cannot("write", &path))
            }
            ObjectSource::Encoding(value) => {
                writing(write_object(root, &name, |file| encode_to(value, file)))
                    .map_err(cannot("write", &path))
            }
            ObjectSource::Staged(staged) => {
                writing(link_or_copy(staged, root, &name)).map_err(cannot("store", staged))
            }
            ObjectSource::Digested(staged, looked) => {
                self.bring_digested(object, staged, looked, &name)
            }
        };
        match brought {
            Ok(seen) => Ok((name, seen)),
            Err(error) => {
                // On a full disk the beginning of an object would only take room away from others.
                let _ = root.remove_file(&name);
                Err(error)
            }
        }
    }

    /// Brings in a file that was digested when it looked like this, if it still is what it was.
    fn bring_digested(
        &self,
        object: &PendingObject,
        staged: &Path,
        looked: &Mark,
        name: &Path,
    ) -> Result<Option<Seen>, StoreError> {
        let root = self.beneath();
        let finding = |found: io::Result<fs::Metadata>| found.map_err(cannot("find", staged));
        let damaged = || {
            let what = format!("`{}`, written to after it was made", staged.display());
            self.note_damage(what.clone());
            StoreError::Damaged { what }
        };
        // Somebody may also have taken it away, or put something else in its place.
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let before = match fs::symlink_metadata(staged) {
            Ok(found) if found.is_file() => found,
            Ok(_) => return Err(damaged()),
            Err(error) if is_gone(&error) => return Err(damaged()),
            Err(error) => return finding(Err(error)).map(|_| None),
        };
        let is_right = mark_of(&before) == *looked
            || contents_are(open_regular(staged), looked.size, &object.digest).is_some();
        if !is_right {
            return Err(damaged());
        }
        match link_or_copy(staged, root, name) {
            Err(_) if !staged.is_file() => return Err(damaged()),
            linked => linked.map_err(cannot("store", staged))?,
        }
        // What was written before or during a copy is in it; a link shows it as well.
        let (after, brought) = (fs::symlink_metadata(staged), finding(root.metadata(name))?);
        let Ok(after) = after else {
            return Err(damaged());
        };
        let seen = Seen::of(&before);
        if Seen::of(&after) != seen || brought.len() != seen.size {
            return Err(damaged());
        }
        let is_link = brought.ino() == seen.inode && brought.dev() == before.dev();
        Ok(Some(if is_link { seen } else { Seen::of(&brought) }))
    }

    fn give_name(
        &self,
        incoming: &Path,
        name: &Path,
        touched: &mut BTreeSet<PathBuf>,
    ) -> Result<(), StoreError> {
        let root = self.beneath();
        let path = root.at(name);
        let folder = name.parent().unwrap_or(Path::new("objects"));
        if let Err(error) = root.rename(incoming, name) {
            match error.kind() {
                io::ErrorKind::NotFound => {
                    (root.make_folders(folder)).map_err(cannot("make", &root.at(folder)))?;
                    touched.insert(PathBuf::from("objects"));
                }
                // A folder is nobody's object.
                io::ErrorKind::IsADirectory => {
                    put_aside(root, name).map_err(cannot("set aside", &path))?;
                }
                _ => return Err(cannot("make", &path)(error)),
            }
            (root.rename(incoming, name)).map_err(cannot("make", &path))?;
        }
        // Renaming to another name of the same file does nothing at all; then the first name is still there.
        (root.remove_file(incoming)).map_err(cannot("remove", &root.at(incoming)))?;
        touched.insert(folder.to_owned());
        Ok(())
    }

    /// How long an object is, if that is listed.
    fn listed_size(&self, digest: &Digest) -> Option<u64> {
        let listed = self
            .database()?
            .read(|connection| listed(connection, digest));
        listed.ok().flatten().map(|(seen, _)| seen.size)
    }

    /// Reads an object and checks it; tells how many bytes each piece had. Gives what the file looks like, which is
    /// now known to be right. One of another size than is known is not read: it may be of any length.
    pub(crate) fn look_at(
        &self,
        digest: &Digest,
        size: Option<u64>,
        piece: &mut dyn FnMut(u64),
    ) -> Result<Seen, StoreError> {
        let start = Instant::now();
        let path = self.object_path(digest);
        let mut file = self.open_object(digest)?;
        let seen = |file: &File| file.metadata().map(|found| Seen::of(&found));
        let before = seen(&file).map_err(cannot("find", &path))?;
        if size.is_some_and(|size| size != before.size) {
            return Err(self.set_aside(digest, Some(&file)));
        }
        let mut hasher = ContentHasher::new();
        let mut buffer = vec![0; PIECE];
        match hasher.update_from(&mut file, &mut buffer, |count| piece(count as u64)) {
            Ok(()) => {}
            // A bad place on the disk is damage as well.
            Err(error) if error.raw_os_error() == Some(libc::EIO) => {
                return Err(self.set_aside(digest, Some(&file)));
            }
            Err(error) => return Err(cannot("read", &path)(error)),
        }
        // One that is written to meanwhile is not to be trusted, whatever was read.
        let after = seen(&file).map_err(cannot("find", &path))?;
        if hasher.finish() != *digest || before != after {
            return Err(self.set_aside(digest, Some(&file)));
        }
        self.meter().read(after.size, start.elapsed());
        Ok(after)
    }

    /// Writes down what a file that is right looks like.
    pub(crate) fn saw(&self, digest: &Digest, seen: &Seen) -> Result<(), StoreError> {
        self.writable()?.note(|transaction| {
            transaction
                .prepare_cached(
                    "UPDATE objects SET size = ?, inode = ?, modified = ? WHERE digest = ?",
                )?
                .execute((
                    seen.size.cast_signed(),
                    seen.inode.cast_signed(),
                    seen.modified,
                    &digest.0[..],
                ))
                .map(|_| ())
        })
    }

    /// Takes an object off the list that is not there as it was listed; says whether it was still listed like that.
    pub(crate) fn strike(&self, digest: &Digest, listed: &Seen) -> Result<bool, StoreError> {
        self.writable()?.note(|transaction| {
            let changed = transaction
                .prepare_cached(
                    "DELETE FROM objects WHERE digest = ? AND size = ? AND inode = ? AND modified = ?",
                )?
                .execute((
                    &digest.0[..],
                    listed.size.cast_signed(),
                    listed.inode.cast_signed(),
                    listed.modified,
                ))?;
            Ok(changed > 0)
        })
    }

    /// What is listed of objects, after writing down that they are used.
    fn use_listed(&self, digests: &[Digest]) -> Result<Vec<Option<Seen>>, StoreError> {
        let Some(database) = self.database() else {
            return Ok(vec![None; digests.len()]);
        };
        let listed = database.read(|connection| {
            digests
                .iter()
                .map(|digest| listed(connection, digest))
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        // Among those that a run of this store has made or used already, most of which are asked for again and again.
        let since = self.latest_run();
        let is_safe = |used: i64| since.is_some_and(|since| used >= since);
        let mut fresh: Vec<Digest> = digests
            .iter()
            .zip(&listed)
            .filter(|(_, listed)| listed.is_some_and(|(_, used)| !is_safe(used)))
            .map(|(digest, _)| *digest)
            .collect();
        let mut answer: Vec<Option<Seen>> = listed
            .into_iter()
            .map(|listed| listed.map(|(seen, _)| seen))
            .collect();
        if self.mode() == Mode::ReadOnly || fresh.is_empty() {
            return Ok(answer);
        }
        fresh.sort_unstable();
        fresh.dedup();
        let gone = database.note(|transaction| {
            let mut update = transaction.prepare_cached(
                "UPDATE objects SET reads = reads + 1, used = max(used, ?) WHERE digest = ?",
            )?;
            let mut gone = HashSet::new();
            for digest in &fresh {
                if update.execute((now(), &digest.0[..]))? == 0 {
                    gone.insert(*digest);
                }
            }
            Ok(gone)
        });
        // On a full disk nothing can be written down. To make everything anew would not help; and who collects there
        // has to find room for that first.
        let gone = gone.unwrap_or_default();
        for (digest, answer) in digests.iter().zip(&mut answer) {
            if gone.contains(digest) {
                *answer = None;
            }
        }
        Ok(answer)
    }

    /// The path of an object, if the file is right.
    fn checked_path(&self, digest: &Digest, listed: &Seen) -> Option<PathBuf> {
        let path = self.object_path(digest);
        let found = self.beneath().metadata(object_name(digest)).ok();
        let is_right = |found: fs::Metadata| {
            found.is_file() && Seen::of(&found) == *listed && !is_shut(&found)
        };
        if found.is_some_and(is_right) {
            return Some(path);
        }
        match self.look_at(digest, Some(listed.size), &mut |_| ()) {
            Ok(seen) => {
                // What cannot be written down is found out again next time.
                let _ = self.saw(digest, &seen);
                Some(path)
            }
            Err(error) => {
                if matches!(error, StoreError::Missing(_) | StoreError::Damaged { .. }) {
                    let _ = self.strike(digest, listed);
                }
                None
            }
        }
    }

    fn open_object(&self, digest: &Digest) -> Result<File, StoreError> {
        let name = object_name(digest);
        let opened = self.beneath().file(&name, Access::Read);
        opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Missing(*digest),
            // In its place, not on the way there.
            _ if is_planted(&error) && self.beneath().metadata(&name).is_ok() => {
                self.set_aside(digest, None)
            }
            // Somebody has taken the right to read it away, and it is ours.
            io::ErrorKind::PermissionDenied if self.is_shut(&name) => self.set_aside(digest, None),
            _ => cannot("open", &self.object_path(digest))(error),
        })
    }

    /// Whether an object of this user has a mode in which its owner cannot read it.
    fn is_shut(&self, name: &Path) -> bool {
        let found = self.beneath().metadata(name);
        found.is_ok_and(|found| is_shut(&found))
    }

    /// Moves away what was read as an object and found wrong, or what is in its place and is no file.
    fn set_aside(&self, digest: &Digest, read: Option<&File>) -> StoreError {
        self.note_damage(format!("object {digest}"));
        let name = object_name(digest);
        let is_same = || -> io::Result<bool> {
            let now = self.beneath().metadata(&name)?;
            let Some(read) = read else {
                return Ok(!now.is_file() || is_shut(&now));
            };
            let seen = read.metadata()?;
            Ok((seen.dev(), seen.ino()) == (now.dev(), now.ino()))
        };
        if self.mode() == Mode::ReadOnly {
            return StoreError::Damaged {
                what: format!("object {digest}"),
            };
        }
        let _lock = match self.removing() {
            Ok(lock) => lock,
            Err(error) => return error,
        };
        // Meanwhile another process may have put a good one there.
        if is_same().unwrap_or(false)
            && let Err(error) = put_aside(self.beneath(), &name)
        {
            return cannot("set aside the damaged object", &self.object_path(digest))(error);
        }
        StoreError::Damaged {
            what: format!("object {digest}"),
        }
    }
}

impl FolderStore {
    /// The bytes of an object as `read` gets them from its file and about this length, verified.
    fn read_by<B: AsRef<[u8]>>(
        &self,
        digest: &Digest,
        read: impl FnOnce(&File, u64) -> io::Result<B>,
    ) -> Result<B, StoreError> {
        let start = Instant::now();
        let path = self.object_path(digest);
        let file = self.open_object(digest)?;
        let length = file.metadata().map_or(0, |found| found.len());
        if length > WHOLE {
            // Whatever was put there takes no memory before it is known to be right.
            self.look_at(digest, self.listed_size(digest), &mut |_| ())?;
        }
        // A hole of any length may have been put there since; then it is not what it should be.
        let bytes = read(&file, length).map_err(cannot("read", &path))?;
        if Digest::of(bytes.as_ref()) == *digest {
            self.meter()
                .read(bytes.as_ref().len() as u64, start.elapsed());
            // Whether it is listed does not matter here: what was read is right.
            let _ = self.use_listed(std::slice::from_ref(digest));
            Ok(bytes)
        } else {
            Err(self.set_aside(digest, Some(&file)))
        }
    }
}

impl Objects for FolderStore {
    fn keep(&self, batch: &[StoreEntry]) -> Result<Vec<(usize, StoreError)>, StoreError> {
        self.keep_batch(batch)
    }

    fn bring(
        &self,
        objects: &mut [(Digest, &mut dyn Read)],
    ) -> Result<Vec<(usize, StoreError)>, StoreError> {
        self.bring_batch(objects)
    }

    fn has(&self, digests: &[Digest]) -> Vec<bool> {
        self.paths(digests).iter().map(Option::is_some).collect()
    }

    fn places(&self, digests: &[Digest]) -> Vec<ObjectPlace> {
        let place = |path: Option<PathBuf>| path.map_or(ObjectPlace::Missing, ObjectPlace::Here);
        self.paths(digests).into_iter().map(place).collect()
    }

    fn paths(&self, digests: &[Digest]) -> Vec<Option<PathBuf>> {
        let Ok(listed) = self.use_listed(digests) else {
            return vec![None; digests.len()];
        };
        let mut listed = listed.into_iter();
        digests
            .iter()
            .map(|digest| self.checked_path(digest, &listed.next()??))
            .collect()
    }

    fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.read_by(digest, |mut file, _| {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        })
    }

    fn share(&self, digest: &Digest) -> Result<Owner, StoreError> {
        Ok(Arc::new(self.read_by(digest, |file, length| {
            Aligned::read(file, length)
        })?))
    }

    fn read_range(&self, digest: &Digest, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let missing = || StoreError::Missing(*digest);
        let path = self.path(digest).ok_or_else(missing)?;
        let mut file = self.open_object(digest)?;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(range.start))
            .and_then(|_| {
                let length = range.end.saturating_sub(range.start);
                file.take(length).read_to_end(&mut bytes)
            })
            .map_err(cannot("read", &path))?;
        Ok(bytes)
    }

    fn verify_object(&self, digest: &Digest) -> Result<(), StoreError> {
        self.look_at(digest, self.listed_size(digest), &mut |_| ())?;
        Ok(())
    }

    fn set_aside_at(&self, digest: &Digest) -> Option<i64> {
        let name = Path::new(DAMAGED).join(digest.hex());
        Some(self.beneath().metadata(name).ok()?.ctime())
    }

    fn written(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }
}

/// Moves what is under the name of an object to those that are damaged.
fn put_aside(root: &Root, name: &Path) -> io::Result<()> {
    let whole: String = (name.components().skip(1))
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    let aside = Path::new(DAMAGED).join(whole);
    root.make_folder(DAMAGED)?;
    root.rename(name, &aside).or_else(|_| {
        // A folder there would be in the way.
        root.remove_all(&aside)?;
        root.rename(name, &aside)
    })
}

/// Writes a file of our own, read-only in the end.
fn write_object(
    root: &Root,
    name: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = root.file(name, Access::New)?;
    write(&mut file)?;
    file.set_permissions(Permissions::from_mode(0o444))
}

/// Opens a file to be read, if it is one: nobody waits for the other end of a pipe.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let file = options
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Brings a staged file to a name in the store, read-only. A file that has no other name is linked: the staged
/// path and the object are then the same file. One with other names may be somebody's, who may write to it and would
/// not want it read-only; such a file, and any that cannot be linked, is copied.
fn link_or_copy(staged: &Path, root: &Root, name: &Path) -> io::Result<()> {
    let found = fs::metadata(staged)?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let executable = found.mode() & 0o111;
    if found.nlink() == 1 && !fs::symlink_metadata(staged)?.is_symlink() {
        fs::set_permissions(staged, Permissions::from_mode(0o444 | executable))?;
        if root.link_from(staged, name).is_ok() {
            return Ok(());
        }
    }
    let mut copy = root.file(name, Access::New)?;
    io::copy(&mut open_regular(staged)?, &mut copy)?;
    copy.set_permissions(Permissions::from_mode(0o444 | executable))
}

#[cfg(test)]
mod tests {
    use std::fs::TryLockError;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_removes_gets_a_turn_among_those_who_place() {
        let folder = tempfile::tempdir().unwrap();
        let store = FolderStore::open(&folder.path().join(".headwater"), Mode::ReadWrite).unwrap();
        let first = store.placing().unwrap();
        let (tell, told) = mpsc::channel();
        std::thread::scope(|scope| {
            let remover = tell.clone();
            scope.spawn(|| {
                let tell = remover;
                let lock = store.removing().unwrap();
                tell.send("removed").unwrap();
                drop(lock);
            });
            let gate = File::open(store.root().join("objects.gate")).unwrap();
            while !matches!(gate.try_lock_shared(), Err(TryLockError::WouldBlock)) {
                gate.unlock().unwrap();
                std::thread::yield_now();
            }
            scope.spawn(|| {
                let tell = tell;
                let lock = store.placing().unwrap();
                tell.send("placed").unwrap();
                drop(lock);
            });
            // Enough for who does not wait.
            let early = told.recv_timeout(Duration::from_millis(50));
            drop(first);
            early.unwrap_err();
            let order: Vec<_> = told.iter().collect();
            assert_eq!(order, ["removed", "placed"]);
        });
    }
}
