//! The bytes that a process of the crew has, by digest: in memory, and in files of this machine.
//!
//! Law: what is given out under a digest has been compared with it, or was made here. When memory is short the oldest bytes
//! go to a file. Files that are somebody else's are only named here, and stay.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headwater_graph::{
    Aligned, Digest, Handle, Identity, Owner, StoredOutput, Value, decode, decode_shared, encode,
};

/// Bytes, wherever they are.
#[derive(Clone)]
enum Place {
    Memory(Owner),
    /// The shelf's own file goes with it.
    File {
        path: Arc<Path>,
        own: bool,
    },
}

#[derive(Default)]
struct State {
    places: HashMap<Digest, Place>,
    /// What is in memory, the oldest first; some may be gone.
    order: VecDeque<Digest>,
    memory: u64,
}

/// Bytes by digest.
pub(crate) struct Shelf {
    /// Files of its own are here; made when it is needed.
    folder: PathBuf,
    /// At most this many bytes stay in memory.
    most: u64,
    number: AtomicU64,
    state: Mutex<State>,
}

/// What is known of a value on the shelf.
pub(crate) struct Shelved {
    pub(crate) output: StoredOutput,
    /// What it is by content.
    pub(crate) contents: Identity,
    /// The objects that it consists of, with their sizes.
    pub(crate) objects: Vec<(Digest, u64)>,
}

/// Bytes to be sent.
pub(crate) enum Bytes {
    Memory(Owner),
    File(fs::File, u64),
}

impl Shelf {
    /// An empty one.
    pub(crate) fn new(folder: PathBuf, most: u64) -> Shelf {
        Shelf {
            folder,
            most,
            number: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has(&self, digest: &Digest) -> bool {
        self.state().places.contains_key(digest)
    }

    /// Takes in bytes that have this digest.
    pub(crate) fn put(&self, digest: Digest, bytes: Owner) {
        let length = (*bytes).as_ref().len() as u64;
        let mut state = self.state();
        if state.places.contains_key(&digest) {
            return;
        }
        state.places.insert(digest, Place::Memory(bytes));
        state.order.push_back(digest);
        state.memory += length;
        let mut leaving = Vec::new();
        while state.memory > self.most && state.order.len() > 1 {
            let Some(oldest) = state.order.pop_front() else {
                break;
            };
            if let Some(Place::Memory(bytes)) = state.places.get(&oldest) {
                leaving.push((oldest, Arc::clone(bytes)));
                state.memory -= (**bytes).as_ref().len() as u64;
            }
        }
        drop(state);
        for (digest, bytes) in leaving {
            // What finds no room on the disk stays in memory.
            if let Ok(path) = self.write((*bytes).as_ref()) {
                self.at_file(digest, path.into(), true);
            }
        }
    }

    /// Takes in a file that has this digest, is not written to any more, and belongs to somebody else.
    pub(crate) fn adopt(&self, digest: Digest, path: &Path) {
        let mut state = self.state();
        state.places.entry(digest).or_insert_with(|| Place::File {
            path: path.into(),
            own: false,
        });
    }

    fn at_file(&self, digest: Digest, path: Arc<Path>, own: bool) {
        let before = {
            let mut state = self.state();
            let place = Place::File { path, own };
            match state.places.get_mut(&digest) {
                Some(known) => Some(std::mem::replace(known, place)),
                // Nobody wants it any more.
                None => Some(place),
            }
        };
        if let Some(before) = before {
            remove(before);
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        crate::make_private(&self.folder)?;
        let path = self.folder.join(number.to_string());
        let written = fs::File::create_new(&path).and_then(|mut file| {
            file.write_all(bytes)?;
            file.set_permissions(fs::Permissions::from_mode(0o444))
        });
        if written.is_err() {
            let _ = fs::remove_file(&path);
        }
        written.map(|()| path)
    }

    /// The bytes in memory, lying so that an array in them can be used where it is.
    pub(crate) fn owner(&self, digest: &Digest) -> Option<Owner> {
        let place = self.state().places.get(digest).cloned()?;
        match place {
            Place::Memory(owner) => Some(owner),
            Place::File { path, .. } => {
                let file = fs::File::open(&path).ok()?;
                let length = file.metadata().ok()?.len();
                Some(Arc::new(Aligned::read(file, length).ok()?))
            }
        }
    }

    /// A file with the bytes.
    pub(crate) fn path(&self, digest: &Digest) -> Option<Arc<Path>> {
        let place = self.state().places.get(digest).cloned()?;
        match place {
            Place::File { path, .. } => Some(path),
            Place::Memory(owner) => {
                let path: Arc<Path> = self.write((*owner).as_ref()).ok()?.into();
                let mut state = self.state();
                let place = state.places.get_mut(digest)?;
                if let Place::Memory(_) = place {
                    *place = Place::File {
                        path: Arc::clone(&path),
                        own: true,
                    };
                    state.memory -= (*owner).as_ref().len() as u64;
                    return Some(path);
                }
                // Somebody else was quicker.
                let Place::File { path: other, .. } = place else {
                    return None;
                };
                let other = Arc::clone(other);
                drop(state);
                let _ = fs::remove_file(&path);
                Some(other)
            }
        }
    }

    /// Puts a value on the shelf: its encoding, if that is large, and its files.
    pub(crate) fn shelve(&self, value: &Value) -> io::Result<Shelved> {
        let contents = Identity::of(value);
        let digest = match &contents {
            Identity::File(digest) | Identity::Directory(digest) | Identity::Value(digest) => {
                *digest
            }
            Identity::Name(_) => return Err(io::Error::other("it is known by its name alone")),
        };
        let output = StoredOutput::of(value, digest);
        let (mut objects, mut trouble) = (Vec::new(), None);
        value.for_each_file(&mut |file| {
            match &file.handle {
                Handle::Path(path) => self.adopt(file.digest, path),
                Handle::Memory(bytes) => self.put(file.digest, Arc::new(Arc::clone(bytes))),
                // It came here with an input.
                Handle::Stored => {}
                Handle::Named { .. } => trouble = Some("a file is known by its name alone"),
            }
            objects.push((file.digest, file.size));
        });
        if let Some(trouble) = trouble {
            return Err(io::Error::other(trouble));
        }
        if let Some(encoding) = output.encoding {
            objects.push((encoding, output.size));
            if !self.has(&encoding) {
                self.put(encoding, Arc::new(Aligned::of(&encode(value))?));
            }
        }
        Ok(Shelved {
            output,
            contents,
            objects,
        })
    }

    /// The value that an output is, if it is here. Its files are said to be stored.
    pub(crate) fn value(&self, output: &StoredOutput) -> Option<Value> {
        match (&output.inline, &output.encoding) {
            (Some(bytes), _) => decode(bytes).ok(),
            (None, Some(digest)) => decode_shared(&self.owner(digest)?).ok(),
            (None, None) => None,
        }
    }

    /// A file with the bytes that has this mode: the user's own, or one of the shelf.
    pub(crate) fn path_with_mode(&self, digest: &Digest, mode: u32) -> Option<Arc<Path>> {
        let path = self.path(digest)?;
        let has = fs::metadata(&path).ok()?.permissions().mode() & 0o777;
        if has != mode {
            let is_own = matches!(
                self.state().places.get(digest),
                Some(Place::File { own: true, .. })
            );
            if !is_own {
                // Somebody else's keeps its mode: a copy takes its place here.
                let copy: Arc<Path> = self.write(&fs::read(&path).ok()?).ok()?.into();
                fs::set_permissions(&copy, fs::Permissions::from_mode(mode)).ok()?;
                self.at_file(*digest, Arc::clone(&copy), true);
                return Some(copy);
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).ok()?;
        }
        Some(path)
    }

    /// The bytes, to be sent.
    pub(crate) fn open(&self, digest: &Digest) -> Option<Bytes> {
        let place = self.state().places.get(digest).cloned()?;
        match place {
            Place::Memory(owner) => Some(Bytes::Memory(owner)),
            Place::File { path, .. } => {
                let file = fs::File::open(&path).ok()?;
                let length = file.metadata().ok()?.len();
                Some(Bytes::File(file, length))
            }
        }
    }

    /// Lets go of bytes.
    pub(crate) fn forget(&self, digests: &[Digest]) {
        let mut state = self.state();
        let mut gone = Vec::new();
        for digest in digests {
            if let Some(place) = state.places.remove(digest) {
                if let Place::Memory(owner) = &place {
                    state.memory -= (**owner).as_ref().len() as u64;
                }
                gone.push(place);
            }
        }
        if state.order.len() > 2 * state.places.len() + 1024 {
            let State { places, order, .. } = &mut *state;
            order.retain(|digest| matches!(places.get(digest), Some(Place::Memory(_))));
        }
        drop(state);
        gone.into_iter().for_each(remove);
    }

    /// Lets go of everything.
    pub(crate) fn clear(&self) {
        let state = std::mem::take(&mut *self.state());
        state.places.into_values().for_each(remove);
        let _ = fs::remove_dir(&self.folder);
    }
}

fn remove(place: Place) {
    if let Place::File { path, own: true } = place {
        let _ = fs::remove_file(path);
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(byte: u8, length: usize) -> (Digest, Owner) {
        let bytes = vec![byte; length];
        (Digest::of(&bytes), Arc::new(bytes))
    }

    #[test]
    fn what_finds_no_room_in_memory_is_in_files_and_comes_back_equal() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().join("shelf");
        let shelf = Shelf::new(own.clone(), 2_500);
        let all: Vec<_> = (0..10).map(|byte| bytes(byte, 1_000)).collect();
        for (digest, owner) in &all {
            shelf.put(*digest, Arc::clone(owner));
        }
        assert!(shelf.state().memory <= 2_500);
        let files = || fs::read_dir(&own).expect("a folder").count();
        assert_eq!(files(), 8);
        for (digest, owner) in &all {
            let found = shelf.owner(digest).expect("it is there");
            assert_eq!((*found).as_ref(), (**owner).as_ref());
            let path = shelf.path(digest).expect("a file");
            assert_eq!(fs::read(path).expect("it is there"), (**owner).as_ref());
        }
        assert_eq!((files(), shelf.state().memory), (10, 0));
        let digests: Vec<_> = all.iter().map(|(digest, _)| *digest).collect();
        shelf.forget(&digests[..4]);
        assert_eq!(files(), 6);
        assert!(!shelf.has(&digests[0]) && shelf.has(&digests[4]));
        drop(shelf);
        assert!(!own.exists());
    }

    #[test]
    fn files_of_others_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("input");
        fs::write(&path, "input").expect("a file");
        let digest = Digest::of(b"input");
        let shelf = Shelf::new(folder.path().join("shelf"), 10);
        shelf.adopt(digest, &path);
        assert_eq!(shelf.path(&digest).as_deref(), Some(&*path));
        shelf.clear();
        assert!(path.exists() && !shelf.has(&digest));
    }
}
