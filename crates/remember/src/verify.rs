//! Reading everything: every object whatever its times say, every record.
//!
//! Law: what is listed is read whole. A wrong object is set aside and reported; one that is not there loses its row and
//! is reported, unless somebody has taken it away in due form meanwhile. In a store that is only read nothing is
//! changed. A damaged record is treated as whoever fetches it would treat it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use headwater_graph::{Digest, Mode, Store, StoreError, Verified};

use crate::database::Database;
use crate::lock::locked;
use crate::object_rows::{Seen, listed};
use crate::objects::total;
use crate::store::FolderStore;

/// How an object stands.
enum Stands {
    Right(Seen),
    Damaged,
    Missing,
    Collected,
}

impl FolderStore {
    /// Reads all objects, so many at once, and all records. `progress` is told the bytes that were read and those of
    /// all objects, from any thread.
    pub(crate) fn verify_all(
        &self,
        threads: usize,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Verified, StoreError> {
        let Some(database) = self.database() else {
            return Ok(Verified::default());
        };
        // A page that nobody asks for can be damaged for long.
        database.read(|connection| {
            let found: String =
                connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
            if found == "ok" {
                return Ok(());
            }
            let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            Err(rusqlite::Error::SqliteFailure(corrupt, Some(found)))
        })?;
        let objects = list(database)?;
        let all = total(objects.iter().map(|(_, seen)| seen.size));
        let (next, done, stop) = (
            AtomicUsize::new(0),
            AtomicU64::new(0),
            AtomicBool::new(false),
        );
        let found: Mutex<Result<Verified, StoreError>> = Mutex::new(Ok(Verified::default()));
        let work = || {
            let mut piece =
                |bytes: u64| progress(done.fetch_add(bytes, Ordering::Relaxed) + bytes, all);
            while !stop.load(Ordering::Relaxed) {
                let Some((digest, seen)) = objects.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return;
                };
                let stands = self.stands(digest, seen, &mut piece);
                let mut found = locked(&found);
                match (&mut *found, stands) {
                    (Ok(found), Ok(stands)) => add(found, digest, stands),
                    (Ok(_), Err(error)) => {
                        stop.store(true, Ordering::Relaxed);
                        *found = Err(error);
                    }
                    (Err(_), _) => {}
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(objects.len()) {
                // A machine that gives no more threads has those that there are do it all.
                if (std::thread::Builder::new().spawn_scoped(scope, work)).is_err() {
                    break;
                }
            }
            work();
        });
        let mut verified = std::mem::replace(&mut *locked(&found), Ok(Verified::default()))?;
        verified.damaged.sort_unstable();
        verified.missing.sort_unstable();
        (verified.records, verified.damaged_records) = self.verify_records()?;
        Ok(verified)
    }

    fn stands(
        &self,
        digest: &Digest,
        known: &Seen,
        piece: &mut dyn FnMut(u64),
    ) -> Result<Stands, StoreError> {
        let is_writable = self.mode() == Mode::ReadWrite;
        match self.look_at(digest, Some(known.size), piece) {
            Ok(seen) => {
                if is_writable && seen != *known {
                    self.saw(digest, &seen)?;
                }
                Ok(Stands::Right(seen))
            }
            Err(StoreError::Damaged { .. }) => {
                if is_writable {
                    self.strike(digest, known)?;
                }
                Ok(Stands::Damaged)
            }
            Err(StoreError::Missing(_)) => {
                let was_listed = if is_writable {
                    self.strike(digest, known)?
                } else {
                    self.is_listed(digest, known)?
                };
                Ok(if was_listed {
                    Stands::Missing
                } else {
                    Stands::Collected
                })
            }
            Err(error) => Err(error),
        }
    }

    fn is_listed(&self, digest: &Digest, known: &Seen) -> Result<bool, StoreError> {
        self.database().map_or(Ok(false), |database| {
            let now = database.read(|connection| listed(connection, digest))?;
            Ok(now.is_some_and(|(seen, _)| seen == *known))
        })
    }
}

/// Counts an object.
fn add(found: &mut Verified, digest: &Digest, stands: Stands) {
    match stands {
        Stands::Right(seen) => {
            found.objects += 1;
            found.bytes = found.bytes.saturating_add(seen.size);
        }
        Stands::Damaged => {
            found.objects += 1;
            found.damaged.push(*digest);
        }
        Stands::Missing => found.missing.push(*digest),
        Stands::Collected => {}
    }
}

/// All objects that are listed.
fn list(database: &Database) -> Result<Vec<(Digest, Seen)>, StoreError> {
    let rows = database.read(|connection| {
        connection
            .prepare_cached("SELECT size, inode, modified, digest FROM objects")?
            .query_map([], |row| {
                let digest = <[u8; 32]>::try_from(row.get_ref(3)?.as_blob()?).ok();
                Ok(digest.map(Digest).zip(Some(Seen::from_row(row)?)))
            })?
            .collect::<rusqlite::Result<Vec<_>>>()
    })?;
    Ok(rows.into_iter().flatten().collect())
}
