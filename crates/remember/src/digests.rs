//! Digests of files, and the cache that saves reading them again.
//!
//! Law: a digest is that of the contents the file had at some moment during the call. A remembered digest is used only
//! for a file with the same path, size, inode and times of modification and change, and neither used nor remembered
//! for a file that changed within the last two seconds: clocks of file systems are coarse, and a second change could
//! leave all of these as they were.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use headwater_graph::{
    ContentHasher, Digest, FileDigest, Mark, Mode, SEGMENT, SegmentDigest, SegmentHasher, Store,
    StoreError,
};
use rusqlite::{Connection, OptionalExtension};

use crate::disk::cannot;
use crate::objects::open_regular;
use crate::store::FolderStore;

/// Bytes read at once: large enough for the hasher to use all lanes of the processor, small enough for its cache.
const BUFFER: usize = 1 << 18;
/// Files of so many bytes are read by several threads; it takes a few segments to be worth starting them.
const LARGE: u64 = 8 * SEGMENT;
/// How often a file that changes while it is read is read again.
const ATTEMPTS: usize = 3;
/// How old a change must be, in nanoseconds.
const SETTLED: i128 = 2_000_000_000;

/// What tells one state of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    size: i64,
    inode: i64,
    modified: i64,
    changed: i64,
    /// No part of what the cache compares: it may be another after the machine was started again.
    device: u64,
    mode: u32,
}

impl State {
    fn of(found: &Metadata) -> State {
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(rest);
        State {
            size: found.size().cast_signed(),
            inode: found.ino().cast_signed(),
            modified: nanoseconds(found.mtime(), found.mtime_nsec()),
            changed: nanoseconds(found.ctime(), found.ctime_nsec()),
            device: found.dev(),
            mode: found.mode() & 0o777,
        }
    }

    /// That this is the digest of a file which looks like this.
    fn with(&self, digest: Digest) -> FileDigest {
        FileDigest {
            digest,
            mark: Mark {
                device: self.device,
                inode: self.inode.cast_unsigned(),
                size: self.size.cast_unsigned(),
                modified: self.modified,
                changed: self.changed,
            },
            mode: self.mode,
        }
    }

    /// Whether the last change was long enough ago. A time of modification in the future was set on purpose; the time
    /// of change cannot be set.
    fn is_settled(&self, now: i128) -> bool {
        now - i128::from(self.changed) >= SETTLED
            && (now - i128::from(self.modified)).abs() >= SETTLED
    }
}

/// A file whose digest is wanted.
struct Wanted {
    absolute: PathBuf,
    state: State,
}

fn now() -> i128 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}

fn state_of(path: &Path) -> Result<State, StoreError> {
    let found = fs::metadata(path).map_err(cannot("find", path))?;
    if !found.is_file() {
        return Err(cannot("read", path)(io::Error::other(
            "it is not a regular file",
        )));
    }
    Ok(State::of(&found))
}

/// Reads a file with so many threads; gives its digest and the state that it belongs to.
fn read_file(
    path: &Path,
    threads: usize,
    buffer: &mut Vec<u8>,
) -> Result<(Digest, State), StoreError> {
    let reading = cannot("read", path);
    let mut attempt = || -> io::Result<Option<(Digest, State)>> {
        let file = open_regular(path)?;
        let before = State::of(&file.metadata()?);
        let size = before.size.cast_unsigned();
        let digest = if threads > 1 && size >= LARGE {
            read_segments(&file, size, threads)?
        } else {
            read_through(&file, size, buffer)?
        };
        let after = State::of(&file.metadata()?);
        Ok(digest
            .filter(|_| before == after)
            .map(|digest| (digest, before)))
    };
    for _ in 0..ATTEMPTS {
        match attempt() {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => {}
            Err(error) => return Err(reading(error)),
        }
    }
    Err(reading(io::Error::other("it keeps changing")))
}

/// What reading a file gave: its digest, and the state that it belongs to.
type ReadFile = Result<(Digest, State), StoreError>;

/// Reads these of the files, in their order: many side by side, a large one by all threads together.
fn read_files(
    paths: &[PathBuf],
    positions: Vec<usize>,
    threads: usize,
    is_large: impl Fn(usize) -> bool,
) -> Vec<(usize, ReadFile)> {
    let (large, small): (Vec<usize>, Vec<usize>) = positions
        .into_iter()
        .partition(|position| is_large(*position));
    let mut read = in_parallel(threads, &small, |position, buffer| {
        read_file(&paths[position], 1, buffer)
    });
    let mut buffer = Vec::new();
    for position in large {
        let digested = read_file(&paths[position], threads, &mut buffer);
        read.push((position, digested));
    }
    read.sort_by_key(|(position, _)| *position);
    read
}

/// The digests of files, without a cache.
pub(crate) fn digest_anew(
    paths: &[PathBuf],
    threads: usize,
) -> Result<Vec<FileDigest>, StoreError> {
    let states: Result<Vec<State>, StoreError> = paths.iter().map(|path| state_of(path)).collect();
    let states = states?;
    let is_large = |position: usize| states[position].size.cast_unsigned() >= LARGE;
    let read = read_files(paths, (0..paths.len()).collect(), threads, is_large);
    let digest = |(_, read): (usize, ReadFile)| read.map(|(digest, state)| state.with(digest));
    read.into_iter().map(digest).collect()
}

/// As much as there is room for; less only at the end of the file.
fn fill(file: &File, room: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < room.len() {
        match file.read_at(&mut room[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The digest of a file from its beginning to its end; `None` if it is not as long as it should be.
fn read_through(file: &File, size: u64, buffer: &mut Vec<u8>) -> io::Result<Option<Digest>> {
    let room = usize::try_from(size).unwrap_or(BUFFER).saturating_add(1);
    let room = room.min(BUFFER);
    if buffer.len() < room {
        buffer.resize(room, 0);
    }
    let mut hasher = ContentHasher::new();
    let mut length = 0;
    loop {
        let count = fill(file, &mut buffer[..room], length)?;
        hasher.update(&buffer[..count]);
        length += count as u64;
        if count < room || length > size {
            return Ok((length == size).then(|| hasher.finish()));
        }
    }
}

/// The digest of a large file, of which each thread takes one segment after the other. Files are read and not
/// mapped: one that somebody cuts off meanwhile is short, and not a signal.
fn read_segments(file: &File, size: u64, threads: usize) -> io::Result<Option<Digest>> {
    let positions: Vec<usize> = (0..usize::try_from(size.div_ceil(SEGMENT)).unwrap_or(0)).collect();
    let segment = |position: usize, buffer: &mut Vec<u8>| -> io::Result<Option<SegmentDigest>> {
        let start = position as u64 * SEGMENT;
        let length = usize::try_from(SEGMENT.min(size - start)).unwrap_or(0);
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        if fill(file, &mut buffer[..length], start)? < length {
            return Ok(None);
        }
        let mut hasher = SegmentHasher::new(position as u64);
        hasher.update(&buffer[..length]);
        Ok(Some(hasher.finish()))
    };
    let mut read = in_parallel(threads, &positions, segment);
    read.sort_unstable_by_key(|(position, _)| *position);
    let segments: io::Result<Option<Vec<SegmentDigest>>> =
        read.into_iter().map(|(_, segment)| segment).collect();
    Ok(segments?.and_then(|segments| Digest::of_segments(&segments)))
}

fn look_up(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<Option<Digest>> {
    let State {
        size,
        inode,
        modified,
        changed,
        ..
    } = wanted.state;
    connection
        .prepare_cached(
            "SELECT digest FROM digests
             WHERE path = ? AND size = ? AND inode = ? AND modified = ? AND changed = ?",
        )?
        .query_row(
            (
                wanted.absolute.as_os_str().as_bytes(),
                size,
                inode,
                modified,
                changed,
            ),
            |row| {
                Ok(<[u8; 32]>::try_from(row.get_ref(0)?.as_blob()?)
                    .ok()
                    .map(Digest))
            },
        )
        .optional()
        .map(Option::flatten)
}

impl FolderStore {
    /// See [`Local::digest_files`](headwater_graph::Local::digest_files). The cache is asked once and told once.
    pub(crate) fn cached_digests(
        &self,
        paths: &[PathBuf],
        threads: usize,
    ) -> Result<Vec<FileDigest>, StoreError> {
        self.digest_files_at(paths, threads, now())
    }

    fn digest_files_at(
        &self,
        paths: &[PathBuf],
        threads: usize,
        now: i128,
    ) -> Result<Vec<FileDigest>, StoreError> {
        let mut wanted = Vec::with_capacity(paths.len());
        for path in paths {
            let absolute = std::path::absolute(path).map_err(cannot("find", path))?;
            wanted.push(Wanted {
                state: state_of(path)?,
                absolute,
            });
        }
        let mut answer: Vec<Option<(Digest, State)>> = self
            .remembered(&wanted, now)?
            .into_iter()
            .zip(&wanted)
            .map(|(digest, wanted)| digest.map(|digest| (digest, wanted.state)))
            .collect();
        let missing: Vec<usize> = (0..paths.len())
            .filter(|position| answer[*position].is_none())
            .collect();
        let is_large = |position: usize| wanted[position].state.size.cast_unsigned() >= LARGE;
        let read = read_files(paths, missing, threads, is_large);
        let mut learned = Vec::new();
        for (position, digested) in read {
            let (digest, state) = digested?;
            answer[position] = Some((digest, state));
            if state.is_settled(now) {
                learned.push((position, digest, state));
            }
        }
        self.remember(&wanted, &learned)?;
        Ok(answer
            .into_iter()
            .flatten()
            .map(|(digest, state)| state.with(digest))
            .collect())
    }

    fn remembered(&self, wanted: &[Wanted], now: i128) -> Result<Vec<Option<Digest>>, StoreError> {
        let is_settled = |wanted: &Wanted| wanted.state.is_settled(now);
        match self.database() {
            // Outputs of tasks are always too young: they should not cost a look-up each.
            Some(database) if wanted.iter().any(is_settled) => database.read(|connection| {
                let ask = |wanted| {
                    if is_settled(wanted) {
                        look_up(connection, wanted)
                    } else {
                        Ok(None)
                    }
                };
                wanted.iter().map(ask).collect()
            }),
            _ => Ok(vec![None; wanted.len()]),
        }
    }

    fn remember(
        &self,
        wanted: &[Wanted],
        learned: &[(usize, Digest, State)],
    ) -> Result<(), StoreError> {
        let Some(database) = self.database() else {
            return Ok(());
        };
        if learned.is_empty() || self.mode() == Mode::ReadOnly {
            return Ok(());
        }
        database.note(|transaction| {
            let mut insert = transaction
                .prepare_cached("INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?, ?, ?)")?;
            for (position, digest, state) in learned {
                let State {
                    size,
                    inode,
                    modified,
                    changed,
                    ..
                } = *state;
                let path = wanted[*position].absolute.as_os_str().as_bytes();
                insert.execute((path, size, inode, modified, changed, &digest.0[..]))?;
            }
            Ok(())
        })
    }
}

/// Does a piece of work for each item, with as many threads as given, in any order. Each thread has a buffer that the
/// work may leave as it likes.
fn in_parallel<T: Send>(
    threads: usize,
    items: &[usize],
    work: impl Fn(usize, &mut Vec<u8>) -> T + Sync,
) -> Vec<(usize, T)> {
    let next = AtomicUsize::new(0);
    let share = || {
        let (mut done, mut buffer) = (Vec::new(), Vec::new());
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*item, work(*item, &mut buffer)));
        }
        done
    };
    let others = threads.min(items.len()).saturating_sub(1);
    if others == 0 {
        return share();
    }
    std::thread::scope(|scope| {
        // A machine that gives no more threads has those that there are do it all.
        let thread = |_| std::thread::Builder::new().spawn_scoped(scope, share).ok();
        let handles: Vec<_> = (0..others).map_while(thread).collect();
        let mut done = share();
        for handle in handles {
            match handle.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use headwater_graph::Local as _;

    struct Case {
        folder: tempfile::TempDir,
        store: FolderStore,
    }

    impl Case {
        fn new() -> Case {
            let folder = tempfile::tempdir().unwrap();
            let store = FolderStore::open(&folder.path().join("store"), Mode::ReadWrite).unwrap();
            Case { folder, store }
        }

        fn write(&self, name: &str, text: &str) -> PathBuf {
            let path = self.folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        }

        /// The digest as it would be given so much later.
        fn after(&self, wait: Duration, path: &Path) -> Digest {
            let later = now() + i128::try_from(wait.as_nanos()).unwrap();
            self.store
                .digest_files_at(&[path.to_owned()], 1, later)
                .unwrap()[0]
                .digest
        }

        /// Replaces what the cache says, so that a test sees whether it was asked.
        fn poison(&self) -> usize {
            let poison = |transaction: &rusqlite::Transaction<'_>| {
                transaction.execute("UPDATE digests SET digest = ?", [&[7u8; 32][..]])
            };
            self.store.writable().unwrap().note(poison).unwrap()
        }
    }

    const LATER: Duration = Duration::from_secs(3);
    const POISON: Digest = Digest([7; 32]);

    #[test]
    fn a_settled_file_is_read_once() {
        let case = Case::new();
        let path = case.write("a", "one");
        assert_eq!(case.after(LATER, &path), Digest::of(b"one"));
        assert_eq!(case.poison(), 1);
        assert_eq!(case.after(LATER, &path), POISON);
    }

    #[test]
    fn a_recent_file_is_neither_remembered_nor_trusted() {
        let case = Case::new();
        let path = case.write("a", "one");
        assert_eq!(case.after(Duration::ZERO, &path), Digest::of(b"one"));
        assert_eq!(case.poison(), 0, "too young to be remembered");
        case.after(LATER, &path);
        assert_eq!(case.poison(), 1);
        assert_eq!(
            case.after(Duration::from_secs(1), &path),
            Digest::of(b"one"),
            "too young to be trusted"
        );
    }

    #[test]
    fn a_changed_file_of_the_same_size_and_time_is_read_again() {
        let case = Case::new();
        let path = case.write("a", "one");
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        case.after(LATER, &path);
        case.poison();
        std::thread::sleep(Duration::from_millis(20));
        case.write("a", "two");
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(modified)
            .unwrap();
        assert_eq!(case.after(LATER, &path), Digest::of(b"two"));
    }

    #[test]
    fn a_replaced_file_is_read_again() {
        let case = Case::new();
        let path = case.write("a", "one");
        case.after(LATER, &path);
        case.poison();
        fs::rename(case.write("b", "two"), &path).unwrap();
        assert_eq!(case.after(LATER, &path), Digest::of(b"two"));
    }

    #[test]
    fn many_files_come_in_their_order_with_any_number_of_threads() {
        let case = Case::new();
        let texts: Vec<String> = (0..50).map(|number| "x".repeat(number * 7919)).collect();
        let paths: Vec<PathBuf> = texts
            .iter()
            .enumerate()
            .map(|(number, text)| case.write(&number.to_string(), text))
            .collect();
        let expected: Vec<FileDigest> = (paths.iter().zip(&texts))
            .map(|(path, text)| state_of(path).unwrap().with(Digest::of(text.as_bytes())))
            .collect();
        for threads in [0, 1, 3, 100] {
            assert_eq!(
                case.store.digest_files(&paths, threads).unwrap(),
                expected,
                "{threads} threads"
            );
        }
        assert_eq!(
            case.store
                .digest_files_at(&paths, 2, now() + SETTLED * 2)
                .unwrap(),
            expected
        );
        assert_eq!(case.poison(), 50);
        let cached = case
            .store
            .digest_files_at(&paths, 2, now() + SETTLED * 2)
            .unwrap();
        assert!(cached.iter().all(|file| file.digest == POISON));
    }

    #[test]
    fn a_large_file_has_the_same_digest_with_any_number_of_threads() {
        let case = Case::new();
        let bytes: Vec<u8> = (0..LARGE + SEGMENT + 77)
            .map(|at| (at % 251) as u8)
            .collect();
        for length in [LARGE - 1, LARGE, LARGE + 1, LARGE + SEGMENT + 77] {
            let bytes = &bytes[..length as usize];
            let path = case.folder.path().join("large");
            fs::write(&path, bytes).unwrap();
            for threads in [1, 2, 5] {
                let paths = [path.clone()];
                let digested = case.store.digest_files(&paths, threads).unwrap();
                let expected = state_of(&path).unwrap().with(Digest::of(bytes));
                assert_eq!(digested, [expected], "{threads} threads");
                assert_eq!(expected.mark.size, length);
            }
        }
    }

    #[test]
    fn a_file_that_is_not_as_long_as_it_said_has_no_digest() {
        let case = Case::new();
        let path = case.write("a", &"x".repeat(9 << 20));
        let file = File::open(path).unwrap();
        let size = file.metadata().unwrap().len();
        for (said, right) in [(size, true), (size + 1, false), (size + SEGMENT, false)] {
            let mut buffer = Vec::new();
            let through = read_through(&file, said, &mut buffer).unwrap();
            let segments = read_segments(&file, said, 2).unwrap();
            assert_eq!((through.is_some(), segments.is_some()), (right, right));
        }
        let mut buffer = Vec::new();
        assert_eq!(read_through(&file, size - 1, &mut buffer).unwrap(), None);
    }

    #[test]
    fn what_is_no_file_is_an_error_that_names_it() {
        let case = Case::new();
        for (path, expected) in [("absent", "cannot find `"), (".", "cannot read `")] {
            let error = case
                .store
                .digest_file(&case.folder.path().join(path))
                .unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_time_of_modification_in_the_future_does_not_hinder() {
        let state = State {
            size: 0,
            inode: 0,
            modified: 50_000_000_000,
            changed: 1_000_000_000,
            device: 0,
            mode: 0,
        };
        assert!(state.is_settled(3_000_000_000));
        assert!(!state.is_settled(2_999_999_999));
        assert!(!state.is_settled(49_000_000_000));
    }
}
