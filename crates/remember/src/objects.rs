//! Bytes by digest: placing, finding and verifying them.
//!
//! Law: what is under the name of a digest is complete and is never written to. An object counts as durable only if
//! the table `objects` lists it and the file is there with its size. One that is not what its name says is moved
//! aside, never repaired and never served.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use headwater_graph::{ContentHasher, Digest, Objects, StoreError};
use rusqlite::{Connection, OptionalExtension};

use crate::disk::{cannot, sync_file_system, sync_folder};
use crate::keep::{ObjectSource, PendingObject};
use crate::store::{Mode, Store};

/// Above this many files one synchronisation of the whole file system is cheaper than one for each.
const MANY: usize = 16;

/// What a file looked like when it was known to be right. Its time of change is no part of that: another link to the
/// file, such as one among the outputs of a run, changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) size: u64,
    pub(crate) inode: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i64,
}

impl Seen {
    pub(crate) fn of(found: &fs::Metadata) -> Seen {
        let modified = found.mtime().wrapping_mul(1_000_000_000);
        Seen {
            size: found.len(),
            inode: found.ino(),
            modified: modified.wrapping_add(found.mtime_nsec()),
        }
    }
}

/// What became of the objects of a batch.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    /// Objects that are durable now and have to be listed as such.
    pub(crate) durable: Vec<(Digest, Seen)>,
    /// Objects whose bytes could not be had.
    pub(crate) refused: HashMap<Digest, StoreError>,
}

fn known_size(connection: &Connection, digest: &Digest) -> rusqlite::Result<Option<u64>> {
    connection
        .prepare_cached("SELECT size FROM objects WHERE digest = ?")?
        .query_row([&digest.0[..]], |row| row.get::<_, i64>(0))
        .optional()
        .map(|size| size.map(i64::cast_unsigned))
}

/// Whether a file of this size is there.
fn has_size(path: &Path, size: u64) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == size)
}

/// Where an object has its place in the store of this folder.
pub(crate) fn object_path(root: &Path, digest: &Digest) -> PathBuf {
    let hex = digest.hex();
    let (folder, name) = hex.split_at(2);
    root.join("objects").join(folder).join(name)
}

impl Store {
    /// Where an object has its place.
    fn object_path(&self, digest: &Digest) -> PathBuf {
        object_path(self.root(), digest)
    }

    /// Makes objects durable under their names; those that are so already cost a look-up each.
    pub(crate) fn place<'a>(
        &self,
        objects: impl Iterator<Item = &'a PendingObject>,
    ) -> Result<Placed, StoreError> {
        let mut placed = Placed::default();
        let mut incoming = Vec::new();
        for object in self.not_durable(objects)? {
            match self.bring_in(&object.source) {
                Ok(path) => incoming.push((object.digest, path)),
                Err(error) => {
                    placed.refused.insert(object.digest, error);
                }
            }
        }
        if incoming.is_empty() {
            return Ok(placed);
        }
        if incoming.len() > MANY {
            sync_file_system(self.root())?;
        } else {
            for (_, path) in &incoming {
                File::open(path)
                    .and_then(|file| file.sync_all())
                    .map_err(cannot("synchronise", path))?;
            }
        }
        let mut touched = BTreeSet::new();
        for (digest, path) in incoming {
            let name = self.object_path(&digest);
            self.give_name(&path, &name, &mut touched)?;
            let found = fs::symlink_metadata(&name).map_err(cannot("find", &name))?;
            placed.durable.push((digest, Seen::of(&found)));
        }
        if touched.len() > MANY {
            sync_file_system(self.root())?;
        } else {
            for folder in &touched {
                sync_folder(folder)?;
            }
        }
        Ok(placed)
    }

    /// The objects, each once, that are not known to be durable.
    fn not_durable<'a>(
        &self,
        objects: impl Iterator<Item = &'a PendingObject>,
    ) -> Result<Vec<&'a PendingObject>, StoreError> {
        let mut wanted: Vec<&PendingObject> = objects.collect();
        if wanted.is_empty() {
            return Ok(wanted);
        }
        wanted.sort_by_key(|object| object.digest);
        wanted.dedup_by_key(|object| object.digest);
        let sizes = self.writable()?.read(|connection| {
            wanted
                .iter()
                .map(|object| known_size(connection, &object.digest))
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let mut sizes = sizes.into_iter();
        wanted.retain(|object| match sizes.next().flatten() {
            Some(size) => !has_size(&self.object_path(&object.digest), size),
            None => true,
        });
        Ok(wanted)
    }

    /// Brings bytes to a read-only file of our own beside the objects; returns its path.
    fn bring_in(&self, source: &ObjectSource) -> Result<PathBuf, StoreError> {
        let path = self.incoming_path()?;
        let brought = match source {
            ObjectSource::Bytes(bytes) => {
                let write = || -> io::Result<()> {
                    let mut file = File::create(&path)?;
                    file.write_all(bytes)?;
                    file.set_permissions(Permissions::from_mode(0o444))
                };
                write().map_err(cannot("write", &path))
            }
            ObjectSource::Staged(staged) => {
                link_or_copy(staged, &path).map_err(cannot("store", staged))
            }
        };
        match brought {
            Ok(()) => Ok(path),
            Err(error) => {
                // On a full disk the beginning of an object would only take room away from others.
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }

    fn give_name(
        &self,
        path: &Path,
        name: &Path,
        touched: &mut BTreeSet<PathBuf>,
    ) -> Result<(), StoreError> {
        let folder = name.parent().unwrap_or(self.root());
        if let Err(error) = fs::rename(path, name) {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(cannot("make", name)(error));
            }
            fs::create_dir_all(folder).map_err(cannot("make", folder))?;
            fs::rename(path, name).map_err(cannot("make", name))?;
            touched.insert(self.root().join("objects"));
        }
        // Renaming to another name of the same file does nothing at all; then the first name is still there.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(cannot("remove", path)(error));
            }
            _ => {}
        }
        touched.insert(folder.to_owned());
        Ok(())
    }

    /// Reads an object piece by piece and checks it; gives its path. For large ones that are used as files.
    pub fn verify_object(&self, digest: &Digest) -> Result<PathBuf, StoreError> {
        let path = self.object_path(digest);
        let mut file = self.open_object(digest, &path)?;
        let mut hasher = ContentHasher::new();
        let mut buffer = vec![0; 1 << 20];
        loop {
            match file.read(&mut buffer).map_err(cannot("read", &path))? {
                0 => break,
                count => hasher.update(&buffer[..count]),
            }
        }
        if hasher.finish() == *digest {
            Ok(path)
        } else {
            Err(self.set_aside(digest, &path, &file))
        }
    }

    fn open_object(&self, digest: &Digest, path: &Path) -> Result<File, StoreError> {
        File::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Missing(*digest),
            _ => cannot("open", path)(error),
        })
    }

    /// Moves away what was read from `path` and found wrong.
    fn set_aside(&self, digest: &Digest, path: &Path, read: &File) -> StoreError {
        self.note_damage(format!("object {digest}"));
        let is_same = || -> io::Result<bool> {
            let (seen, now) = (read.metadata()?, fs::symlink_metadata(path)?);
            Ok((seen.dev(), seen.ino()) == (now.dev(), now.ino()))
        };
        // Meanwhile another process may have put a good one there.
        if self.mode() == Mode::ReadWrite && is_same().unwrap_or(false) {
            let folder = self.root().join("objects").join("damaged");
            let moved = fs::create_dir_all(&folder)
                .and_then(|()| fs::rename(path, folder.join(digest.hex())));
            if let Err(error) = moved {
                return cannot("set aside the damaged object", path)(error);
            }
        }
        StoreError::Damaged {
            what: format!("object {digest}"),
        }
    }
}

impl Objects for Store {
    fn path(&self, digest: &Digest) -> Option<PathBuf> {
        let size = self
            .database()?
            .read(|connection| known_size(connection, digest))
            .ok()??;
        let path = self.object_path(digest);
        has_size(&path, size).then_some(path)
    }

    fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let path = self.object_path(digest);
        let mut file = self.open_object(digest, &path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(cannot("read", &path))?;
        if Digest::of(&bytes) == *digest {
            Ok(bytes)
        } else {
            Err(self.set_aside(digest, &path, &file))
        }
    }
}

/// Brings a staged file to `path`, read-only. A file that has no other name is linked: the staged
/// path and the object are then the same file. One with other names may be somebody's, who may write to it and would
/// not want it read-only; such a file, and any that cannot be linked, is copied.
fn link_or_copy(staged: &Path, path: &Path) -> io::Result<()> {
    let found = fs::metadata(staged)?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let executable = found.mode() & 0o111;
    if found.nlink() == 1 && !fs::symlink_metadata(staged)?.is_symlink() {
        fs::set_permissions(staged, Permissions::from_mode(0o444 | executable))?;
        if fs::hard_link(staged, path).is_ok() {
            return Ok(());
        }
    }
    fs::copy(staged, path)?;
    fs::set_permissions(path, Permissions::from_mode(0o444 | executable))
}
