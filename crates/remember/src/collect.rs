//! Taking bytes away when they are too many.
//!
//! Law: records stay; bytes may go and are made anew when they are needed. What is worth least goes first:
//! `(time to make − time to read) × (1 + reads) / size`, and among equals what was used longest ago. What a run that is
//! alive has made or used stays, whatever the limit.
//!
//! Two steps. First the rows of what goes are removed, in one durable transaction. Then every file that has the name
//! of an object and no row is removed. A crash in between, or before, leaves files that no row names; the second step
//! of the next collection removes them like all others.
//!
//! Why nothing is taken away that somebody relies on:
//!
//! - *Somebody uses an object.* A path is given out after a transaction has written down the use, and only if there was
//!   a row (`FolderStore::paths`). Transactions that write come one after the other. If the use came first, the collection
//!   sees it, and also that the run is alive: its claim was made before. If the collection came first, the row is gone,
//!   and so the object counts as absent. Who is alive is found out inside the transaction, so that no run can use
//!   something between the two.
//! - *Somebody places an object.* From before the look whether it is there until its row is committed `objects.lock` is
//!   held, shared (`FolderStore::keep`). Both steps here hold it exclusively: so a row that the look has found is still there
//!   at the commit; and a file without a row is not on its way to one, but left over. No file is judged by its age.
//!   Step two takes the lock for a few files at a time, so that those who place may pass in between, and looks for
//!   their rows once more each time.
//! - *Somebody reads an object without asking for its path.* The file is open or not found; both are fine.
//!
//! A run with a limit on disk makes room for what it was asked for, at the cost of its own intermediates if need be
//! ([`FolderStore::make_room`]). It names what has to stay, since it knows that by digest. What other runs with a limit hold
//! is known by digest, too (see `shares`): a hold is written down before the look whether the object is there, and both
//! are transactions as above. What all others use is known by time alone. So a run is never held up by what a dead one
//! has used a moment before, nor by what it has made itself and no other has asked for.
//!
//! A use that could not be written down, because the disk is full, is not seen. Then a task may find an input missing.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;

use headwater_graph::{Collected, Costs, Digest, Rates, StoreError};
use rusqlite::{Connection, OptionalExtension};

use crate::beneath::{Kind, Root};
use crate::claims;
use crate::disk::cannot;
use crate::object_rows::{add_up_objects, object_name};
use crate::objects::DAMAGED;
use crate::shares::{add_held, give_up, with_share};
use crate::store::{FolderStore, INCOMING};

/// Seconds by which the beginning of a run and the use of an object may be out of step.
const SLACK: i64 = 1;
/// Files removed while others wait. Removing one takes a millisecond on some disks.
const AT_ONCE: usize = 32;

/// An object that may have to go.
#[derive(Debug)]
pub(crate) struct Candidate {
    digest: Digest,
    size: u64,
    score: f64,
    used: i64,
}

impl Candidate {
    /// One of which is known how long its slowest maker took, in nanoseconds, how often it was read, and when it was last
    /// used.
    pub(crate) fn new(
        digest: Digest,
        size: u64,
        rates: &Rates,
        (wall, reads): (u64, u64),
        used: i64,
    ) -> Candidate {
        Candidate {
            digest,
            size,
            score: score(rates, wall, reads, size),
            used,
        }
    }

    /// Who goes first.
    fn order(&self, other: &Candidate) -> Ordering {
        self.score
            .total_cmp(&other.score)
            .then(self.used.cmp(&other.used))
            .then(self.digest.cmp(&other.digest))
    }
}

/// What an object is worth per byte.
fn score(rates: &Rates, wall: u64, reads: u64, size: u64) -> f64 {
    let saved = wall as f64 * 1e-9 - rates.seconds_to_read(size);
    saved * (1.0 + reads as f64) / size.max(1) as f64
}

impl FolderStore {
    /// Brings the bytes of objects down to `max`, or as near as `needed` and other runs that are alive allow. What the
    /// runs of this store itself use is not protected unless `needed` says so: they know by digest what they need.
    /// Gives what went.
    /// A run with a share gives up what `needed` does not name.
    pub(crate) fn make_room(
        &self,
        run: &str,
        max: u64,
        needed: &dyn Fn(&Digest) -> bool,
    ) -> Result<(Collected, Vec<Digest>), StoreError> {
        let database = self.writable()?;
        let rates = self.rates();
        let lock = self.removing()?;
        let (collected, gone) = database.write(|transaction, _| {
            Ok(match self.protected(transaction, Whose::Others)? {
                Ok(protected) => {
                    give_up(transaction, run, needed)?;
                    let (collected, going) = plan(transaction, &rates, &protected, max, needed)?;
                    strike_all(transaction, &going)?;
                    Ok((collected, going))
                }
                Err(error) => Err(error),
            })
        })??;
        drop(lock);
        self.remove_unlisted(&gone)?;
        Ok((collected, gone))
    }

    /// Which of these objects are listed, and so take no more room when they are made once more.
    pub(crate) fn listed_among(&self, digests: &[Digest]) -> HashSet<Digest> {
        let unlisted = self.unlisted(digests).unwrap_or_else(|_| digests.to_vec());
        let unlisted: HashSet<Digest> = unlisted.into_iter().collect();
        let listed = digests.iter().filter(|digest| !unlisted.contains(*digest));
        listed.copied().collect()
    }

    /// Brings the bytes of objects down to `max`, or as near as live runs allow. With `dry_run` nothing is changed.
    pub(crate) fn collect(&self, max: u64, dry_run: bool) -> Result<Collected, StoreError> {
        let Some(database) = self.database() else {
            return Ok(Collected::default());
        };
        let rates = self.rates();
        if dry_run {
            let planned = database.read(|connection| {
                Ok(match self.protected(connection, Whose::All)? {
                    Ok(protected) => Ok(plan(connection, &rates, &protected, max, &|_| false)?.0),
                    Err(error) => Err(error),
                })
            })?;
            return planned;
        }
        let database = self.writable()?;
        let lock = self.removing()?;
        let collected = database.write(|transaction, _| {
            let protected = match self.protected(transaction, Whose::All)? {
                Ok(protected) => protected,
                Err(error) => return Ok(Err(error)),
            };
            let (collected, going) = plan(transaction, &rates, &protected, max, &|_| false)?;
            strike_all(transaction, &going)?;
            Ok(Ok(collected))
        })??;
        drop(lock);
        self.sweep_objects()?;
        Ok(collected)
    }

    /// The bytes of all objects.
    pub(crate) fn object_bytes(&self) -> Result<u64, StoreError> {
        let Some(database) = self.database() else {
            return Ok(0);
        };
        database.read(add_up_objects)
    }

    /// What those of these runs that are alive protect: by time, or by digest where they have a share.
    fn protected(
        &self,
        connection: &Connection,
        whose: Whose,
    ) -> rusqlite::Result<Result<Protected, StoreError>> {
        let alive = match claims::alive(self.beneath()) {
            Ok(alive) => alive,
            Err(error) => return Ok(Err(error)),
        };
        let with_share = with_share(connection)?;
        let mut held = HashSet::new();
        let mut since = i64::MAX;
        for (run, claimed) in alive {
            if run.starts_with(INCOMING) {
                // A writer; what it places is safe by the lock, and what its runs use by theirs.
                continue;
            }
            if whose == Whose::Others && self.has_claimed(&run) {
                continue;
            }
            if with_share.contains(&run) {
                add_held(connection, &run, &mut held)?;
                continue;
            }
            let started: Option<i64> = connection
                .prepare_cached("SELECT started FROM runs WHERE id = ?")?
                .query_row([&run], |row| row.get(0))
                .optional()?;
            since = since.min(claimed).min(started.unwrap_or(claimed));
        }
        let since = since.saturating_sub(SLACK);
        Ok(Ok(Protected { since, held }))
    }

    /// Removes the files that have the name of an object and no row, and those that were set aside.
    fn sweep_objects(&self) -> Result<(), StoreError> {
        self.sweep_unlisted()?;
        let root = self.beneath();
        for (name, _) in list(root, Path::new(DAMAGED))? {
            remove(root, &Path::new(DAMAGED).join(name))?;
        }
        Ok(())
    }

    /// Removes the files that have the name of an object and no row: a process that was killed has left them.
    pub(crate) fn sweep_unlisted(&self) -> Result<(), StoreError> {
        for (name, _) in list(self.beneath(), Path::new("objects"))? {
            if let Some(first) = name.to_str().filter(|name| name.len() == 2) {
                self.sweep_folder(first)?;
            }
        }
        Ok(())
    }

    fn sweep_folder(&self, first: &str) -> Result<(), StoreError> {
        let named = |(name, _): &(OsString, Kind)| {
            format!("{first}{}", name.to_str()?).parse::<Digest>().ok()
        };
        let folder = Path::new("objects").join(first);
        let files = list(self.beneath(), &folder)?;
        let files: Vec<Digest> = files.iter().filter_map(named).collect();
        self.remove_unlisted(&files)
    }

    /// Removes the files of those objects that have no row.
    fn remove_unlisted(&self, digests: &[Digest]) -> Result<(), StoreError> {
        for some in self.unlisted(digests)?.chunks(AT_ONCE) {
            let _lock = self.removing()?;
            // Some may have got a row since.
            for digest in self.unlisted(some)? {
                remove(self.beneath(), &object_name(&digest))?;
            }
        }
        Ok(())
    }

    fn unlisted(&self, digests: &[Digest]) -> Result<Vec<Digest>, StoreError> {
        self.writable()?.read(|connection| {
            let mut row = connection.prepare_cached("SELECT 1 FROM objects WHERE digest = ?")?;
            let mut without = Vec::new();
            for digest in digests {
                if !row.exists([&digest.0[..]])? {
                    without.push(*digest);
                }
            }
            Ok(without)
        })
    }
}

/// What runs that are alive rely on.
struct Protected {
    /// Everything that was used since the oldest of those began that have no share; `i64::MAX` where there is none.
    since: i64,
    /// What those hold that have one.
    held: HashSet<Digest>,
}

/// Whose runs protect what they use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    All,
    /// All but those of this store itself.
    Others,
}

fn strike_all(connection: &Connection, going: &[Digest]) -> rusqlite::Result<()> {
    let mut remove = connection.prepare_cached("DELETE FROM objects WHERE digest = ?")?;
    for digest in going {
        remove.execute([&digest.0[..]])?;
    }
    Ok(())
}

/// What has to go so that no more than `max` bytes are left; objects that are protected stay, and those that are
/// needed.
fn plan(
    connection: &Connection,
    rates: &Rates,
    protected: &Protected,
    max: u64,
    needed: &dyn Fn(&Digest) -> bool,
) -> rusqlite::Result<(Collected, Vec<Digest>)> {
    let mut planned = Planned::default();
    let mut statement =
        connection.prepare_cached("SELECT digest, size, wall, reads, used FROM objects")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let number = |column: usize| row.get::<_, i64>(column).map(i64::cast_unsigned);
        let (size, wall, reads, used) = (number(1)?, number(2)?, number(3)?, row.get(4)?);
        // A row whose name is damaged names no file.
        let Ok(digest) = <[u8; 32]>::try_from(row.get_ref(0)?.as_blob()?) else {
            planned.left += u128::from(size);
            continue;
        };
        let digest = Digest(digest);
        let is_protected = used >= protected.since || protected.held.contains(&digest);
        let candidate = Candidate::new(digest, size, rates, (wall, reads), used);
        planned.add(candidate, is_protected || needed(&digest));
    }
    Ok(planned.choose(max))
}

/// A collection, before it is known what goes.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    collected: Collected,
    /// Bytes of all objects. Damaged rows may say anything.
    left: u128,
    candidates: Vec<Candidate>,
}

impl Planned {
    /// Counts an object, which may go unless it is protected.
    pub(crate) fn add(&mut self, candidate: Candidate, is_protected: bool) {
        self.left += u128::from(candidate.size);
        if is_protected {
            self.collected.protected = self.collected.protected.saturating_add(candidate.size);
        } else {
            self.candidates.push(candidate);
        }
    }

    /// What goes so that no more than `max` bytes are left: what is worth least first.
    pub(crate) fn choose(mut self, max: u64) -> (Collected, Vec<Digest>) {
        self.candidates.sort_unstable_by(Candidate::order);
        let (mut collected, mut left) = (self.collected, self.left);
        let mut going = Vec::new();
        for candidate in self.candidates {
            if left <= u128::from(max) {
                break;
            }
            left -= u128::from(candidate.size);
            collected.bytes = collected.bytes.saturating_add(candidate.size);
            collected.objects += 1;
            going.push(candidate.digest);
        }
        collected.left = u64::try_from(left).unwrap_or(u64::MAX);
        (collected, going)
    }
}

fn list(root: &Root, folder: &Path) -> Result<Vec<(OsString, Kind)>, StoreError> {
    root.list(folder).map_err(cannot("list", &root.at(folder)))
}

fn remove(root: &Root, name: &Path) -> Result<(), StoreError> {
    root.remove_all(name)
        .map_err(cannot("remove", &root.at(name)))
}
