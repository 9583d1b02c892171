//! Who is making what, so that nothing is made twice at once.
//!
//! Law: a key is leased to at most one holder at a time, in all processes that use the store. A lease ends when it is
//! dropped, or when its process ends, however it ends: it is a lock of the kernel on one byte of a file in `leases/`.
//! Those files have no contents but a counter, so that there is nothing to clean up. Taking never waits, and takes all
//! keys or none.
//!
//! A lease says nothing about what is remembered: who gets one has to look once more whether somebody has finished the
//! work since the last look, unless [`KernelLeases::undisturbed`] says that there was nobody. Leases save work and guard
//! nothing: where the kernel cannot lock, they are given all the same, and at worst a product is made twice.
//!
//! The byte of a key is told by its first 63 bits, so that two keys share one as good as never; if they do, the second
//! counts as held, and is free again soon. The kernel keeps the locks of a file in a list that it walks from end to
//! end: with 10,000 held in one file a lease costs 250 µs, with 100 it costs 1 µs. Products wait for the disk by the
//! ten thousand when tasks are small, therefore there are many files, and the last byte of a key tells which. They are
//! opened when they are first needed. The locks belong to the open file (`F_OFD_SETLK`), not to the process as
//! those of old did: two [`KernelLeases`] exclude each other within one process too. To one open file the kernel says yes
//! twice, therefore each [`KernelLeases`] has a list of its own as well: a byte is listed before it is locked, and unlocked
//! before it is taken off the list. In each file the first bytes are set aside; those of the first file are used:
//!
//! | bytes | what |
//! | --- | --- |
//! | 0–7 | how often the leases were opened, little-endian |
//! | 8 | locked for the moment in which somebody opens |
//! | 9 | locked, shared, by everybody who has them open |

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use headwater_graph::{Lease, Leases, Recipe, StoreError};

use crate::beneath::{Access, Root};
use crate::disk::cannot;
use crate::lock::locked;

/// How many files there are. Each needs a descriptor, of which a process often may have no more than 1024.
const FILES: usize = 128;
/// Where the bytes of keys begin.
const RESERVED: i64 = 64;
const OPENING: i64 = 8;
const PRESENCE: i64 = 9;

/// The leases that one engine takes.
#[derive(Debug)]
pub(crate) struct KernelLeases {
    shared: Arc<Shared>,
    /// Nobody else had them open when they were opened here.
    alone: bool,
    /// What the counter was then.
    count: u64,
}

/// The place of a key: a file and a byte in it.
type KeyPlace = (usize, i64);

#[derive(Debug)]
struct Shared {
    root: Arc<Root>,
    first: File,
    /// `None` where a file cannot be opened.
    others: [OnceLock<Option<File>>; FILES - 1],
    /// Bytes that are locked here, or about to be.
    held: Mutex<HashSet<KeyPlace>>,
}

impl Shared {
    fn file(&self, number: usize) -> Option<&File> {
        match number.checked_sub(1) {
            None => Some(&self.first),
            Some(other) => self
                .others
                .get(other)?
                .get_or_init(|| open(&self.root, number).ok())
                .as_ref(),
        }
    }

    /// Locks or unlocks; says whether somebody else is in the way.
    fn is_refused(&self, (file, byte): KeyPlace, kind: libc::c_int) -> bool {
        self.file(file).is_some_and(|file| {
            lock(file, libc::F_OFD_SETLK, kind, byte).is_err_and(|error| is_conflict(&error))
        })
    }
}

fn name(number: usize) -> PathBuf {
    Path::new("leases").join(format!("{number:02x}"))
}

/// Opens a file, whose bytes are locked and, of the first one, written.
fn open(root: &Root, number: usize) -> io::Result<File> {
    let name = name(number);
    let file = root.file(&name, Access::Lock)?;
    if file.metadata()?.nlink() <= 1 {
        return Ok(file);
    }
    // It has another name, outside perhaps, where nothing may be written. Whoever has the old one open finds at worst
    // that a product is made twice.
    root.fresh_file(&name)?;
    root.file(&name, Access::Lock)
}

/// The right to make a product, until it is dropped.
#[derive(Debug)]
#[must_use = "a lease ends when it is dropped"]
struct HeldLease {
    shared: Arc<Shared>,
    places: Vec<KeyPlace>,
}

impl KernelLeases {
    /// Opens the leases of a store that may be written to.
    pub(crate) fn open(root: &Arc<Root>) -> Result<KernelLeases, StoreError> {
        root.make_folder("leases")
            .map_err(cannot("make", &root.at("leases")))?;
        let path = root.at(name(0));
        let file = open(root, 0).map_err(cannot("open", &path))?;
        let enter = || -> io::Result<(bool, u64)> {
            lock(&file, libc::F_OFD_SETLKW, libc::F_WRLCK, OPENING)?;
            let alone = is_free(&file, PRESENCE)?;
            lock(&file, libc::F_OFD_SETLK, libc::F_RDLCK, PRESENCE)?;
            let count = read_count(&file)?.wrapping_add(1);
            file.write_all_at(&count.to_le_bytes(), 0)?;
            lock(&file, libc::F_OFD_SETLK, libc::F_UNLCK, OPENING)?;
            Ok((alone, count))
        };
        let (alone, count) = enter().map_err(cannot("lock", &path))?;
        let shared = Shared {
            root: Arc::clone(root),
            first: file,
            others: [const { OnceLock::new() }; FILES - 1],
            held: Mutex::default(),
        };
        Ok(KernelLeases {
            shared: Arc::new(shared),
            alone,
            count,
        })
    }
}

impl Leases for KernelLeases {
    fn take(&self, keys: &[Recipe]) -> Option<Lease> {
        let mut places: Vec<KeyPlace> = keys.iter().map(place_of).collect();
        // A task whose content key is its recipe names one key twice.
        places.sort_unstable();
        places.dedup();
        let mut held = locked(&self.shared.held);
        if places.iter().any(|place| held.contains(place)) {
            return None;
        }
        held.extend(&places);
        drop(held);
        let refused = places
            .iter()
            .position(|place| self.shared.is_refused(*place, libc::F_WRLCK));
        let Some(position) = refused else {
            return Some(Box::new(HeldLease {
                shared: Arc::clone(&self.shared),
                places,
            }));
        };
        let mut held = locked(&self.shared.held);
        for place in places.drain(position..) {
            held.remove(&place);
        }
        drop(held);
        // Those before it are given back.
        drop(HeldLease {
            shared: Arc::clone(&self.shared),
            places,
        });
        None
    }

    fn undisturbed(&self) -> bool {
        self.alone && read_count(&self.shared.first).is_ok_and(|count| count == self.count)
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        for place in &self.places {
            // Unlocking is refused to nobody.
            self.shared.is_refused(*place, libc::F_UNLCK);
        }
        let mut held = locked(&self.shared.held);
        for place in &self.places {
            held.remove(place);
        }
    }
}

/// The byte that stands for a key.
fn place_of(key: &Recipe) -> KeyPlace {
    let mut first = [0; 8];
    first.copy_from_slice(&key.0[..8]);
    let byte = (u64::from_be_bytes(first) >> 1).cast_signed();
    (usize::from(key.0[31]) % FILES, byte.max(RESERVED))
}

fn read_count(file: &File) -> io::Result<u64> {
    let mut count = [0; 8];
    match file.read_exact_at(&mut count, 0) {
        // A new file is empty.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        read => read.map(|()| u64::from_le_bytes(count)),
    }
}

/// What the kernel is told of a lock on one byte.
fn one_byte(kind: libc::c_int, byte: i64) -> libc::flock {
    // SAFETY: the structure is plain numbers, for all of which zero is a value; the process number has to be zero.
    let mut wanted: libc::flock = unsafe { std::mem::zeroed() };
    wanted.l_type = kind as libc::c_short;
    wanted.l_whence = libc::SEEK_SET as libc::c_short;
    wanted.l_start = byte;
    wanted.l_len = 1;
    wanted
}

/// Locks or unlocks one byte.
fn lock(file: &File, command: libc::c_int, kind: libc::c_int, byte: i64) -> io::Result<()> {
    let wanted = one_byte(kind, byte);
    loop {
        // SAFETY: the descriptor is open and the structure lives for the whole call, which only reads it.
        if unsafe { libc::fcntl(file.as_raw_fd(), command, &raw const wanted) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Whether nobody else has locked a byte in any way.
fn is_free(file: &File, byte: i64) -> io::Result<bool> {
    let mut wanted = one_byte(libc::F_WRLCK, byte);
    // SAFETY: the descriptor is open and the structure lives for the whole call, which fills it in.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut wanted) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(libc::c_int::from(wanted.l_type) == libc::F_UNLCK)
}

/// Whether a lock was refused because somebody has it.
fn is_conflict(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_off_the_bytes_that_are_set_aside() {
        let mut key = Recipe([0; 32]);
        assert_eq!(place_of(&key), (0, RESERVED));
        key.0[7] = 0xFF;
        assert_eq!(place_of(&key), (0, 0x7F));
        assert_eq!(place_of(&Recipe([0xFF; 32])), (FILES - 1, i64::MAX));
    }
}
