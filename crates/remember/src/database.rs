//! The record database of a store: the three ways of using it, the journal beside it, and what happens to damage.
//!
//! Law: [`Database::read`] sees one consistent state and waits for nobody. [`Database::write`] is all or nothing, and
//! durable when it returns; [`Database::keep`] is the same for what the journal has to hold as well, which is there
//! before the commit. [`Database::note`] is all or nothing too, but a power failure may undo it: it is for what costs
//! nothing to lose.
//!
//! A database that turns out to be damaged is replaced by one that is made from the journal, and what was asked is
//! asked again; therefore a question may be put more than once and must begin anew each time. Whoever writes holds a share
//! of the file `records.lock`, and looks whether the file it has open is still the one at the path; whoever replaces
//! the file holds all of the lock. Nobody ever writes to a database that was set aside, nor to the journal on its
//! behalf.

use std::fs::File;
use std::sync::{Arc, Mutex};

use headwater_graph::StoreError;
use rusqlite::{Connection, Transaction};

use crate::connections::{Connections, Interned, Trouble, Unopened, identity, is_busy, refused};
use crate::damage::Damage;
use crate::journal::{Batch, Journal};
use crate::lock::locked;
use crate::place::RecordsPlace;
use crate::rebuild::{self, catch_up, note_length, seen_length};

/// How often a damaged database is replaced before what was asked is given up: once, and a little more where damage
/// goes on.
const REPLACEMENTS: usize = 4;

/// The record database of one store.
#[derive(Debug)]
pub(crate) struct Database {
    place: RecordsPlace,
    writable: bool,
    damage: Damage,
    current: Mutex<Arc<Connections>>,
}

impl Database {
    /// Opens for reading and writing; makes the tables if there are none, and makes it anew if it is damaged.
    pub(crate) fn open(place: RecordsPlace, damage: Damage) -> Result<Database, StoreError> {
        let connections = open_whole(&place, &damage)?;
        Ok(Database {
            place,
            writable: true,
            damage,
            current: Mutex::new(Arc::new(connections)),
        })
    }

    /// Opens for reading only. A damaged database remembers nothing.
    pub(crate) fn open_read_only(
        place: RecordsPlace,
        damage: Damage,
    ) -> Result<Database, StoreError> {
        let connections = match Connections::open_read_only(&place.path, place.journal.format()) {
            Ok(connections) => connections,
            Err(Unopened::Refused(error)) => return Err(error),
            Err(Unopened::Damaged(reason)) => nothing(&place, &damage, &reason),
        };
        Ok(Database {
            place,
            writable: false,
            damage,
            current: Mutex::new(Arc::new(connections)),
        })
    }

    /// Reads one consistent state.
    pub(crate) fn read<T>(
        &self,
        mut ask: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.whole(|connections| connections.read(&mut ask))
    }

    /// Changes the database; durable when it returns.
    pub(crate) fn write<T>(
        &self,
        mut change: impl FnMut(&Transaction<'_>, &mut Interned) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.whole(|connections| {
            connections.write(
                || self.enter(connections),
                |transaction, interned| Ok(change(transaction, interned)?),
            )
        })
    }

    /// Changes the database and appends to the journal what the change consists of; both are durable when it returns.
    pub(crate) fn keep<T>(
        &self,
        batch: &Batch,
        mut change: impl FnMut(&Transaction<'_>, &mut Interned) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.whole(|connections| {
            connections.write(
                || self.enter(connections),
                |transaction, interned| {
                    catch_up(&self.place, &self.damage, transaction, interned)?;
                    let answer = change(transaction, interned)?;
                    // Last, so that a change that fails leaves no entry. If the commit fails, the journal is ahead,
                    // and the next one to write takes over what it says.
                    note_length(transaction, self.place.journal.append(batch)?)?;
                    Ok(answer)
                },
            )
        })
    }

    /// Changes the database in a way that a power failure may undo.
    pub(crate) fn note<T>(
        &self,
        mut change: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.whole(|connections| connections.note(|| self.enter(connections), &mut change))
    }

    /// The journal beside it.
    pub(crate) fn journal(&self) -> &Journal {
        &self.place.journal
    }

    /// For those who have begun a transaction: nobody replaces the database until they are done.
    fn enter(&self, connections: &Connections) -> Result<File, Trouble> {
        let share = self.place.share()?;
        if self.place.is_current(connections.identity())? {
            Ok(share)
        } else {
            Err(Trouble::Moved)
        }
    }

    /// Does something with connections to the database that is there now; if that is damaged, with its replacement.
    fn whole<T>(
        &self,
        mut attempt: impl FnMut(&Connections) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        let mut replaced = 0;
        loop {
            let connections = self.current()?;
            let error = match attempt(&connections) {
                Ok(answer) => return Ok(answer),
                Err(Trouble::Moved) => continue,
                Err(Trouble::Store(error)) => return Err(error),
                Err(Trouble::Sqlite(error)) => error,
            };
            if self.writable && is_busy(&error) {
                // Whoever has the old database may be waiting for one that is being made anew.
                drop(self.place.share()?);
            }
            if !self.place.is_current(connections.identity())? && !connections.is_settled() {
                continue;
            }
            if replaced == REPLACEMENTS || !connections.is_damage(&error) {
                return Err(refused(&self.place.path, &error));
            }
            replaced += 1;
            let reason = error.to_string();
            let other = if self.writable {
                rebuild::replace(&self.place, connections.identity(), &reason, &self.damage)?;
                open_whole(&self.place, &self.damage)?
            } else {
                nothing(&self.place, &self.damage, &reason)
            };
            self.put(&connections, other);
        }
    }

    /// Connections to the file that is at the path.
    fn current(&self) -> Result<Arc<Connections>, StoreError> {
        let connections = Arc::clone(&*locked(&self.current));
        if connections.is_settled() || self.place.is_current(connections.identity())? {
            return Ok(connections);
        }
        let other = if self.writable {
            open_whole(&self.place, &self.damage)?
        } else {
            match Connections::open_read_only(&self.place.path, self.place.journal.format()) {
                Ok(other) => other,
                Err(Unopened::Refused(error)) => return Err(error),
                Err(Unopened::Damaged(reason)) => nothing(&self.place, &self.damage, &reason),
            }
        };
        self.put(&connections, other);
        Ok(Arc::clone(&*locked(&self.current)))
    }

    /// Uses other connections from now on, unless somebody else has put others there meanwhile.
    fn put(&self, old: &Arc<Connections>, other: Connections) {
        let mut current = locked(&self.current);
        let unused = if Arc::ptr_eq(&current, old) {
            std::mem::replace(&mut *current, Arc::new(other))
        } else {
            Arc::new(other)
        };
        drop(current);
        drop(unused);
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // The last connection to a database removes the log at its path; that has to be its own. Where the lock
        // cannot be had SQLite's own look at the path has to do.
        let share = self.writable.then(|| self.place.share().ok()).flatten();
        *locked(&self.current) = Arc::new(Connections::empty(&self.place.path));
        drop(share);
    }
}

/// Connections by which nothing is remembered, and a word about it.
fn nothing(place: &RecordsPlace, damage: &Damage, reason: &str) -> Connections {
    locked(damage).push(format!(
        "the record database `{}` ({reason}): nothing of it is used; it is made anew when the store is next opened for writing",
        place.path.display()
    ));
    Connections::empty(&place.path)
}

/// Opens a database that is whole and has seen all of the journal, made anew if need be.
fn open_whole(place: &RecordsPlace, damage: &Damage) -> Result<Connections, StoreError> {
    let mut last = String::new();
    // A database that was just made is whole; a few more attempts are for what others do meanwhile.
    for _ in 0..4 {
        let share = place.share()?;
        let before = identity(&place.path)?;
        let reason = match open_once(place, damage) {
            Ok(connections) => return Ok(connections),
            Err(Unopened::Refused(error)) => return Err(error),
            Err(Unopened::Damaged(reason)) => reason,
        };
        drop(share);
        rebuild::replace(place, before, &reason, damage)?;
        last = reason;
    }
    Err(StoreError::Database(format!(
        "`{}` is damaged again and again: {last}",
        place.path.display()
    )))
}

fn open_once(place: &RecordsPlace, damage: &Damage) -> Result<Connections, Unopened> {
    rebuild::sweep(place).map_err(Unopened::Refused)?;
    let has_entries = place.journal.has_entries().map_err(Unopened::Refused)?;
    if identity(&place.path).map_err(Unopened::Refused)?.is_none() {
        place.check_format().map_err(Unopened::Refused)?;
        if has_entries {
            return Err(Unopened::Damaged("it is gone".to_owned()));
        }
    }
    let connections = Connections::open(&place.path, place.journal.format(), !has_entries)?;
    let caught_up = || -> Result<(), Trouble> {
        let length = place.journal.length()?;
        let seen = connections.read(seen_length)?;
        if length.is_some() && length == seen {
            return Ok(());
        }
        connections.write(
            || Ok(()),
            |transaction, interned| catch_up(place, damage, transaction, interned),
        )
    };
    match caught_up() {
        Ok(()) => Ok(connections),
        Err(Trouble::Sqlite(error)) if connections.is_damage(&error) => {
            Err(Unopened::Damaged(error.to_string()))
        }
        Err(Trouble::Sqlite(error)) => Err(Unopened::Refused(refused(&place.path, &error))),
        Err(Trouble::Store(error)) => Err(Unopened::Refused(error)),
        Err(Trouble::Moved) => Err(Unopened::Damaged("it was replaced".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beneath::Root;

    fn open(folder: &std::path::Path) -> Database {
        let root = Arc::new(Root::open(folder).unwrap());
        Database::open(RecordsPlace::of(&root), Damage::default()).unwrap()
    }

    fn count(database: &Database) -> i64 {
        database
            .read(|connection| {
                connection.query_row("SELECT count(*) FROM names", [], |row| row.get(0))
            })
            .unwrap()
    }

    #[test]
    fn a_failed_change_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let database = open(folder.path());
        let name: Arc<str> = "first".into();
        let failed = database.write(|transaction, interned| {
            interned.number(transaction, &name)?;
            transaction.execute("INSERT INTO absent VALUES (1)", [])
        });
        assert!(matches!(failed, Err(StoreError::Database(_))), "{failed:?}");
        assert_eq!(count(&database), 0);
        // The number given in vain is not remembered either.
        database
            .write(|transaction, interned| interned.number(transaction, &name))
            .unwrap();
        assert_eq!(count(&database), 1);
        let told = locked(&database.damage).take();
        assert_eq!(told, [""; 0], "a mistake is no damage");
    }

    #[test]
    fn who_writes_waits_for_who_makes_it_anew() {
        let folder = tempfile::tempdir().unwrap();
        let database = open(folder.path());
        let own = database.place.own().unwrap();
        std::thread::scope(|scope| {
            let written = scope.spawn(|| {
                database.write(|transaction, interned| interned.number(transaction, &"a".into()))
            });
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!written.is_finished());
            drop(own);
            written.join().unwrap().unwrap();
        });
        assert_eq!(count(&database), 1);
    }

    #[test]
    fn reading_goes_on_while_something_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let database = open(folder.path());
        database
            .write(|transaction, interned| {
                interned.number(transaction, &"first".into())?;
                assert_eq!(count(&database), 0);
                Ok(())
            })
            .unwrap();
        assert_eq!(count(&database), 1);
    }
}
