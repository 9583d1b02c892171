//! Files whose bytes are known to be right, and what they looked like then.
//!
//! Law: a file is taken for what its digest says only if it looks as it did when it was digested, or is digested
//! again now. What a file looks like is its device, inode, size, and times of modification and change; the time of
//! change cannot be set by anybody, but another name or another mode changes it too, so a different one is a reason
//! to read the file and not yet a finding. One whose time of modification differs at the end of a task was written to
//! while the task read it, and having the right bytes again by then does not help the task.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use headwater_graph::{ContentHasher, Digest, Mark};

use crate::system::{is_in_memory, open_to_read};

/// How often a file that changes while it is read is read again.
const ATTEMPTS: usize = 3;
/// Clocks of file systems are coarse: two changes within a tick give the same time. Ticks are at most this long.
const TICK: Duration = Duration::from_millis(20);
/// Larger files stay in the list: they are given by links. Smaller ones are read whenever they are given.
const STAYS: u64 = 1 << 20;

/// What a file looks like whose metadata were asked for.
pub(crate) fn mark_of(found: &Metadata) -> Mark {
    Mark::new(
        (found.dev(), found.ino()),
        found.len(),
        (found.mtime(), found.mtime_nsec()),
        (found.ctime(), found.ctime_nsec()),
    )
}

/// What the file at `path` looks like, links followed.
pub(crate) fn mark_at(path: &Path) -> io::Result<Mark> {
    Ok(mark_of(&fs::metadata(path)?))
}

/// What a file looked like when a task was given it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    mark: Mark,
    /// Whether it may be executed, and by whom.
    executable: u32,
}

impl Look {
    /// As it is now.
    pub(crate) fn at(path: &Path) -> io::Result<Look> {
        let found = fs::metadata(path)?;
        Ok(Look {
            mark: mark_of(&found),
            executable: found.mode() & 0o111,
        })
    }

    /// Whether it may be executed.
    pub(crate) fn is_program(&self) -> bool {
        self.executable != 0
    }

    /// Its device and inode.
    pub(crate) fn identity(&self) -> (u64, u64) {
        (self.mark.device, self.mark.inode)
    }

    /// Whether it was written to or replaced since, or made a program, whatever its bytes are now: they may have been
    /// others in between.
    pub(crate) fn was_changed(&self, path: &Path) -> bool {
        Look::at(path).map_or(true, |now| {
            !self.mark.has_contents_of(&now.mark) || self.executable != now.executable
        })
    }
}

/// Whether a file shows when somebody writes to it: in memory (tmpfs), what is written by way of a mapping does not.
pub(crate) fn shows_writes(path: &Path) -> bool {
    /// By device, since there are few.
    static KNOWN: Mutex<BTreeMap<u64, bool>> = Mutex::new(BTreeMap::new());
    let Ok(found) = fs::metadata(path) else {
        return true;
    };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known
        .entry(found.dev())
        .or_insert_with(|| !is_in_memory(path))
}

/// Whether another change from now on shows.
fn is_settled(mark: &Mark) -> bool {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i128::try_from(now.as_nanos()).unwrap_or(0) - i128::from(mark.changed)
        > TICK.as_nanos().cast_signed()
}

/// The digest of a file, and the mark that belongs to it.
pub(crate) fn read_digest(path: &Path) -> io::Result<(Digest, Mark)> {
    for _ in 0..ATTEMPTS {
        if let Some(found) = digest_open(&mut open_to_read(path)?)? {
            return Ok(found);
        }
    }
    Err(io::Error::other("it keeps changing"))
}

/// The digest of an open file that was not read yet; `None` if it changed meanwhile.
fn digest_open(file: &mut File) -> io::Result<Option<(Digest, Mark)>> {
    let before = mark_of(&file.metadata()?);
    let room = usize::try_from(before.size).unwrap_or(usize::MAX);
    let mut buffer = vec![0; room.clamp(1, 1 << 18)];
    let mut hasher = ContentHasher::new();
    hasher.update_from(file, &mut buffer, |_| ())?;
    let after = mark_of(&file.metadata()?);
    Ok((before == after).then(|| (hasher.finish(), after)))
}

/// What is known of a file.
#[derive(Debug, Clone, Copy)]
struct Proof {
    digest: Digest,
    mark: Mark,
    /// A change after it was looked at would have given another mark.
    settled: bool,
}

/// How far tasks are kept from writing to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shelter {
    /// They cannot: its mark without the time of change is enough.
    Sheltered,
    /// They can, and may set the time of modification back.
    Open,
}

/// Files whose bytes are known to be right. There is one list in a process, because its runs share stores and files;
/// a file is known by its inode, whatever names it has.
#[derive(Debug, Default)]
pub struct Proven(Mutex<HashMap<(u64, u64), Proof>>);

static PROVEN: LazyLock<Proven> = LazyLock::new(Proven::default);

impl Proven {
    /// The list of this process.
    pub fn here() -> &'static Proven {
        &PROVEN
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(u64, u64), Proof>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file with this mark has these bytes.
    pub(crate) fn learn(&self, digest: Digest, mark: Mark) {
        let proof = Proof {
            digest,
            mark,
            settled: is_settled(&mark),
        };
        self.lock().insert((mark.device, mark.inode), proof);
    }

    /// What a file looked like when its bytes were found to have this digest; it is read if nobody knows, and `None` if
    /// they are others. What is known of a small file is given once.
    pub fn take(&self, path: &Path, digest: &Digest) -> Option<Mark> {
        let now = mark_at(path).ok()?;
        let key = (now.device, now.inode);
        let mut list = self.lock();
        let known = list.get(&key).filter(|known| known.digest == *digest);
        let Some(mark) = known.map(|known| known.mark) else {
            drop(list);
            return read_digest(path)
                .ok()
                .filter(|(found, _)| found == digest)
                .map(|(_, mark)| mark);
        };
        if now.size <= STAYS {
            list.remove(&key);
        }
        Some(mark)
    }

    /// Whether the file at `path` has `size` bytes with this digest, as far as can be told without reading a file that
    /// looks as it did.
    pub(crate) fn holds(&self, path: &Path, digest: &Digest, size: u64, shelter: Shelter) -> bool {
        let Ok(now) = mark_at(path) else {
            return false;
        };
        if now.size != size {
            return false;
        }
        let key = (now.device, now.inode);
        let known = self.lock().get(&key).copied();
        let is_known = match known.filter(|known| known.digest == *digest) {
            Some(known) => match shelter {
                Shelter::Sheltered => known.mark.has_contents_of(&now),
                Shelter::Open => known.mark == now && known.settled && shows_writes(path),
            },
            // Nobody has read it in this process. It comes from a store, which has just looked at it; a small one may
            // have been changed since, and is read where tasks can do that.
            None if shelter == Shelter::Sheltered && size <= STAYS => true,
            None if size > STAYS
                && (shelter == Shelter::Sheltered || is_settled(&now) && shows_writes(path)) =>
            {
                self.learn(*digest, now);
                true
            }
            None => false,
        };
        is_known || self.reads(path, digest)
    }

    /// Reads a file and says whether it has this digest.
    fn reads(&self, path: &Path, digest: &Digest) -> bool {
        match read_digest(path) {
            Ok((found, mark)) if found == *digest => {
                self.learn(found, mark);
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;

    use super::*;

    struct Case {
        folder: tempfile::TempDir,
        proven: Proven,
    }

    impl Case {
        fn new() -> Case {
            Case::in_folder(tempfile::tempdir().expect("a folder"))
        }

        fn in_folder(folder: tempfile::TempDir) -> Case {
            fs::write(folder.path().join("file"), "right").expect("a file");
            let case = Case {
                folder,
                proven: Proven::default(),
            };
            let (digest, mark) = read_digest(&case.path()).expect("it can be read");
            assert_eq!(digest, Digest::of(b"right"));
            case.proven.learn(digest, mark);
            case
        }

        fn path(&self) -> std::path::PathBuf {
            self.folder.path().join("file")
        }

        fn holds(&self, shelter: Shelter) -> bool {
            let digest = Digest::of(b"right");
            self.proven.holds(&self.path(), &digest, 5, shelter)
        }
    }

    #[test]
    fn a_write_of_the_same_size_with_the_time_set_back_is_found_where_tasks_may_write() {
        let case = Case::new();
        assert!(case.holds(Shelter::Open));
        let before = fs::metadata(case.path()).and_then(|found| found.modified());
        fs::write(case.path(), "wrong").expect("a write");
        let times = FileTimes::new().set_modified(before.expect("a time"));
        let file = File::options().write(true).open(case.path());
        file.and_then(|file| file.set_times(times)).expect("a time");
        assert!(!case.holds(Shelter::Open));
    }

    #[test]
    fn another_name_or_mode_is_no_change() {
        let case = Case::new();
        fs::hard_link(case.path(), case.folder.path().join("other")).expect("a link");
        assert!(case.holds(Shelter::Sheltered) && case.holds(Shelter::Open));
    }

    /// A file in memory looks the same after somebody has written to it by way of a mapping.
    #[test]
    fn a_write_to_a_mapped_file_in_memory_is_found_where_tasks_may_write() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
            eprintln!("skipped: there are no files in memory here");
            return;
        };
        let case = Case::in_folder(folder);
        let file = File::options().read(true).write(true).open(case.path());
        let file = file.expect("a file");
        let before = || {
            std::thread::sleep(2 * TICK);
            assert!(case.holds(Shelter::Open));
        };
        crate::system::write_mapped(&file, b'w', before);
        assert!(!case.holds(Shelter::Open));
    }

    #[test]
    fn an_append_and_a_missing_file_are_changes() {
        let case = Case::new();
        fs::write(case.path(), "right and more").expect("a write");
        assert!(!case.holds(Shelter::Sheltered) && !case.holds(Shelter::Open));
        fs::remove_file(case.path()).expect("removed");
        assert!(!case.holds(Shelter::Sheltered) && !case.holds(Shelter::Open));
    }

    #[test]
    fn what_a_small_file_looked_like_is_told_once() {
        let case = Case::new();
        let digest = Digest::of(b"right");
        let other = Digest::of(b"other");
        assert_eq!(case.proven.take(&case.path(), &other), None);
        let before = mark_at(&case.path()).ok();
        fs::write(case.path(), "wrong").expect("a write");
        assert_eq!(case.proven.take(&case.path(), &digest), before);
        assert_eq!(case.proven.take(&case.path(), &digest), None);
        assert!(
            !case.holds(Shelter::Open),
            "it is read if nothing is known of it"
        );
    }
}
