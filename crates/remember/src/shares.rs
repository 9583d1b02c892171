//! Runs that have a limit on disk, and what each of them holds.
//!
//! Law: a run with a share is protected from others by digest, not by time: what it holds stays, and nothing else does
//! on its account. It has written down that it holds an object before it looks whether the object is there. Until it
//! has a share it is protected by time as all runs are, so that there is no moment in which it is not.
//!
//! What is about to be placed is added to the share in the transaction that has counted all objects and all shares: so
//! all runs with a limit see the same sum, and admit one after the other. The rows of objects are added up anew only if
//! something was written since, by whomever; SQLite knows (`data_version`). Triggers would keep a sum as well, but a
//! store that has any is refused.
//!
//! The tables are made for the first run that has a limit. Nobody else reads or writes them, and a store in which
//! nobody had a limit has none. They are no part of the journal: in a database that was made anew no run has a share,
//! and those that go on are protected by time again.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;

use headwater_graph::{Digest, Load, Neighbour, StoreError};
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::claims;
use crate::lock::locked;
use crate::object_rows::add_up_objects;
use crate::place::DATABASE;
use crate::store::{FolderStore, INCOMING};

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS shares (
    run      TEXT PRIMARY KEY,
    arriving INTEGER NOT NULL,     -- bytes of objects that it is about to place
    waits    INTEGER NOT NULL      -- whether it waits for room
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS holds (
    run    TEXT NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (run, digest)
) WITHOUT ROWID;
";

/// Whether there are shares at all.
fn has_shares(connection: &Connection) -> rusqlite::Result<bool> {
    let mut table =
        connection.prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = 'shares'")?;
    table.exists([])
}

/// The runs that have a share.
pub(crate) fn with_share(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    if !has_shares(connection)? {
        return Ok(HashSet::new());
    }
    let mut rows = connection.prepare_cached("SELECT run FROM shares")?;
    rows.query_map([], |row| row.get(0))?.collect()
}

/// Adds the objects that a run holds.
pub(crate) fn add_held(
    connection: &Connection,
    run: &str,
    held: &mut HashSet<Digest>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("SELECT digest FROM holds WHERE run = ?")?;
    let mut rows = statement.query([run])?;
    while let Some(row) = rows.next()? {
        if let Ok(digest) = <[u8; 32]>::try_from(row.get_ref(0)?.as_blob()?) {
            held.insert(Digest(digest));
        }
    }
    Ok(())
}

/// A run gives up those of its objects that it does not need.
pub(crate) fn give_up(
    connection: &Connection,
    run: &str,
    needed: &dyn Fn(&Digest) -> bool,
) -> rusqlite::Result<()> {
    if !has_shares(connection)? {
        return Ok(());
    }
    let mut held = HashSet::new();
    add_held(connection, run, &mut held)?;
    let mut remove = connection.prepare_cached("DELETE FROM holds WHERE run = ? AND digest = ?")?;
    for digest in held.iter().filter(|digest| !needed(digest)) {
        remove.execute((run, &digest.0[..]))?;
    }
    Ok(())
}

fn insert_held(connection: &Connection, run: &str, digests: &[Digest]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT OR IGNORE INTO holds VALUES (?, ?)")?;
    for digest in digests {
        insert.execute((run, &digest.0[..]))?;
    }
    Ok(())
}

impl FolderStore {
    /// Gives a run of this process a share. From now on others may take away what it does not hold.
    pub(crate) fn take_share(&self, run: &str, held: &[Digest]) -> Result<(), StoreError> {
        self.writable()?.note(|transaction| {
            transaction.execute_batch(TABLES)?;
            for other in with_share(transaction)? {
                if !claims::is_alive(self.beneath(), &other) {
                    remove_share(transaction, &other)?;
                }
            }
            transaction
                .prepare_cached("INSERT OR REPLACE INTO shares VALUES (?, 0, 0)")?
                .execute([run])?;
            insert_held(transaction, run, held)
        })
    }

    /// A run with a share holds these objects, too.
    pub(crate) fn hold(&self, run: &str, digests: &[Digest]) -> Result<(), StoreError> {
        self.writable()?.note(|transaction| {
            if has_shares(transaction)? {
                insert_held(transaction, run, digests)?;
            }
            Ok(())
        })
    }

    /// What takes room, for a run that has a share.
    pub(crate) fn load(&self, run: &str) -> Result<Load, StoreError> {
        self.writable()?
            .note(|transaction| self.count_load(transaction, run))
    }

    /// A run is about to place `arriving` bytes in all, if the whole is no more than `most` then. Gives what takes room,
    /// and whether they are admitted. No two runs are admitted at once.
    pub(crate) fn admit(
        &self,
        run: &str,
        arriving: u64,
        most: u64,
    ) -> Result<(Load, bool), StoreError> {
        self.writable()?.note(|transaction| {
            let load = self.count_load(transaction, run)?;
            let fits = load.bytes().saturating_add(arriving) <= most;
            if fits {
                set_arriving(transaction, run, arriving)?;
            }
            Ok((load, fits))
        })
    }

    /// How many bytes a run is about to place: fewer than it was admitted with, since some are there.
    pub(crate) fn set_arriving(&self, run: &str, arriving: u64) -> Result<(), StoreError> {
        self.writable()?
            .note(|transaction| set_arriving(transaction, run, arriving))
    }

    /// A run waits for room, or does no longer.
    pub(crate) fn set_waits(&self, run: &str, waits: bool) -> Result<(), StoreError> {
        self.writable()?.note(|transaction| {
            if has_shares(transaction)? {
                transaction
                    .prepare_cached("UPDATE shares SET waits = ? WHERE run = ?")?
                    .execute((waits, run))?;
            }
            Ok(())
        })
    }

    /// A run gives up those of its objects that it does not need; others may take them away.
    pub(crate) fn give_up(
        &self,
        run: &str,
        needed: &dyn Fn(&Digest) -> bool,
    ) -> Result<(), StoreError> {
        self.writable()?
            .note(|transaction| give_up(transaction, run, needed))
    }

    /// The shares of runs that have died end. What they were about to place is no longer expected.
    pub(crate) fn end_dead_shares(&self) -> Result<(), StoreError> {
        self.writable()?.note(|transaction| {
            for run in with_share(transaction)? {
                if !claims::is_alive(self.beneath(), &run) {
                    remove_share(transaction, &run)?;
                }
            }
            Ok(())
        })
    }

    /// The other runs that are alive, by name.
    pub(crate) fn neighbours(&self, own: &str) -> Result<Vec<Neighbour>, StoreError> {
        let alive = claims::alive(self.beneath())?;
        let mut names: Vec<String> = alive.into_iter().map(|(run, _)| run).collect();
        names.retain(|run| run != own && !run.starts_with(INCOMING));
        names.sort_unstable();
        let Some(database) = self.database() else {
            return Ok(Vec::new());
        };
        database.read(|connection| {
            let has_shares = has_shares(connection)?;
            names
                .iter()
                .map(|run| {
                    let waits: Option<bool> = if has_shares {
                        connection
                            .prepare_cached("SELECT waits FROM shares WHERE run = ?")?
                            .query_row([run], |row| row.get(0))
                            .optional()?
                    } else {
                        None
                    };
                    let held = match waits {
                        Some(_) => Some(held_bytes(connection, run)?),
                        None => None,
                    };
                    Ok(Neighbour {
                        run: run.clone(),
                        held,
                        waits: waits.unwrap_or(false),
                    })
                })
                .collect()
        })
    }

    /// The bytes of those of these objects that are listed.
    pub(crate) fn listed_bytes(&self, digests: &[Digest]) -> Result<u64, StoreError> {
        self.writable()?.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT size FROM objects WHERE digest = ?")?;
            let mut bytes = 0_u64;
            for digest in digests {
                let size: Option<i64> = statement
                    .query_row([&digest.0[..]], |row| row.get(0))
                    .optional()?;
                bytes = bytes.saturating_add(size.unwrap_or(0).cast_unsigned());
            }
            Ok(bytes)
        })
    }

    /// Adds up what takes room.
    fn count_load(&self, connection: &Connection, own: &str) -> rusqlite::Result<Load> {
        let mut load = Load {
            objects: self.count_objects(connection)?,
            ..Load::default()
        };
        if !has_shares(connection)? {
            return Ok(load);
        }
        let mut statement = connection.prepare_cached("SELECT run, arriving FROM shares")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (run, arriving): (String, i64) = (row.get(0)?, row.get(1)?);
            if run == own {
                continue;
            }
            // What a dead run was about to place may be there already, without rows.
            load.has_dead |= !claims::is_alive(self.beneath(), &run);
            load.arriving = load.arriving.saturating_add(arriving.cast_unsigned());
        }
        Ok(load)
    }

    /// The bytes of all objects, counted anew if something was written since they were last. What the connection itself
    /// changes does not count as written: it only ever takes single objects off the list that are damaged.
    fn count_objects(&self, connection: &Connection) -> rusqlite::Result<u64> {
        let version = connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get::<_, i64>(0))?;
        // A database that was made anew counts its versions anew.
        let file = self
            .beneath()
            .metadata(DATABASE)
            .map_or(0, |found| found.ino());
        let mut counted = locked(&self.counted);
        if let Some((before, bytes)) = *counted
            && before == (file, version)
        {
            return Ok(bytes);
        }
        let bytes = add_up_objects(connection)?;
        *counted = Some(((file, version), bytes));
        Ok(bytes)
    }
}

fn set_arriving(transaction: &Transaction<'_>, run: &str, bytes: u64) -> rusqlite::Result<()> {
    if has_shares(transaction)? {
        transaction
            .prepare_cached("UPDATE shares SET arriving = ? WHERE run = ?")?
            .execute((i64::try_from(bytes).unwrap_or(i64::MAX), run))?;
    }
    Ok(())
}

fn remove_share(transaction: &Transaction<'_>, run: &str) -> rusqlite::Result<()> {
    for question in [
        "DELETE FROM shares WHERE run = ?",
        "DELETE FROM holds WHERE run = ?",
    ] {
        transaction.prepare_cached(question)?.execute([run])?;
    }
    Ok(())
}

fn held_bytes(connection: &Connection, run: &str) -> rusqlite::Result<u64> {
    let bytes: Option<i64> = connection
        .prepare_cached(
            "SELECT sum(size) FROM holds JOIN objects USING (digest) WHERE holds.run = ?",
        )?
        .query_row([run], |row| row.get(0))?;
    Ok(bytes.unwrap_or(0).cast_unsigned())
}
