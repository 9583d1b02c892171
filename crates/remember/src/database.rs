//! Connections to the record database, and the three ways of using it.
//!
//! Law: [`Database::read`] sees one consistent state and waits for nobody. [`Database::write`] is all or nothing, and
//! durable when it returns. [`Database::note`] is all or nothing too, but a power failure may undo it: it is for what
//! costs nothing to lose.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use headwater_graph::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::schema::{APPLICATION, CHECKPOINT_PAGES, FORMAT, TABLES};

/// How long to wait for another process that is writing. Its groups take fractions of a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// A database error as the engine sees it.
pub(crate) fn refused(error: rusqlite::Error) -> StoreError {
    StoreError::Database(error.to_string())
}

/// Locks, also after a panic elsewhere: transactions roll back while unwinding, so nothing is left half-done.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names that have a number in the table `names`, for the one connection that makes them.
#[derive(Debug, Default)]
pub(crate) struct Interned(HashMap<Arc<str>, i64>);

impl Interned {
    /// The number of a name, given one if it has none.
    pub(crate) fn number(
        &mut self,
        transaction: &Transaction<'_>,
        text: &Arc<str>,
    ) -> rusqlite::Result<i64> {
        if let Some(number) = self.0.get(text) {
            return Ok(*number);
        }
        transaction
            .prepare_cached("INSERT OR IGNORE INTO names (text) VALUES (?)")?
            .execute([&**text])?;
        let number = transaction
            .prepare_cached("SELECT id FROM names WHERE text = ?")?
            .query_row([&**text], |row| row.get(0))?;
        self.0.insert(Arc::clone(text), number);
        Ok(number)
    }
}

#[derive(Debug)]
struct WriteHalf {
    /// Taken first. SQLite makes its connections wait for each other by sleeping, which wastes time among threads.
    turn: Mutex<()>,
    durable: Mutex<(Connection, Interned)>,
    notes: Mutex<Connection>,
}

/// The record database of one store.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    /// Nobody can write to it, so that it is read without the files that readers and writers share.
    immutable: bool,
    idle: Mutex<Vec<Connection>>,
    writing: Option<WriteHalf>,
}

impl Database {
    /// Opens for reading and writing; makes the tables if there are none.
    pub(crate) fn open(path: &Path) -> Result<Database, StoreError> {
        let durable = connect(path, "FULL", 32_768)?;
        if is_new(path, &durable)? {
            create(&durable).map_err(refused)?;
        }
        let notes = connect(path, "NORMAL", 2_048)?;
        let writing = WriteHalf {
            turn: Mutex::default(),
            durable: Mutex::new((durable, Interned::default())),
            notes: Mutex::new(notes),
        };
        Ok(Database {
            path: path.to_owned(),
            immutable: false,
            idle: Mutex::default(),
            writing: Some(writing),
        })
    }

    /// Opens for reading only.
    pub(crate) fn open_read_only(path: &Path) -> Result<Database, StoreError> {
        let mut database = Database {
            path: path.to_owned(),
            immutable: false,
            idle: Mutex::default(),
            writing: None,
        };
        let asked = |database: &Database| -> rusqlite::Result<Connection> {
            let connection = database.reader()?;
            connection.query_row("PRAGMA user_version", [], |_| Ok(()))?;
            Ok(connection)
        };
        let connection = match asked(&database) {
            Err(error) if cannot_share(&error) && log_is_empty(path) => {
                database.immutable = true;
                asked(&database)
            }
            answer => answer,
        };
        let connection = connection.map_err(refused)?;
        if is_new(path, &connection)? {
            return Err(StoreError::Format {
                path: path.to_owned(),
                found: 0,
                wanted: FORMAT,
            });
        }
        locked(&database.idle).push(connection);
        Ok(database)
    }

    fn reader(&self) -> rusqlite::Result<Connection> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = if self.immutable {
            flags |= OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable_address(&self.path), flags)?
        } else {
            Connection::open_with_flags(&self.path, flags)?
        };
        connection.busy_timeout(PATIENCE)?;
        connection.execute_batch("PRAGMA cache_size = -16384")?;
        Ok(connection)
    }

    /// Reads one consistent state.
    pub(crate) fn read<T>(
        &self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let idle = locked(&self.idle).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.reader().map_err(refused)?,
        };
        let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)
            .map_err(refused)?;
        let answer = ask(&transaction).map_err(refused);
        transaction.finish().map_err(refused)?;
        locked(&self.idle).push(connection);
        answer
    }

    /// Changes the database; durable when it returns.
    pub(crate) fn write<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>, &mut Interned) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let writing = self.writing.as_ref().ok_or(StoreError::ReadOnly)?;
        let _turn = locked(&writing.turn);
        let mut guard = locked(&writing.durable);
        let (connection, interned) = &mut *guard;
        let answer = transact(connection, |transaction| change(transaction, interned));
        if answer.is_err() {
            // Numbers given in a transaction that was undone name nothing.
            interned.0.clear();
        }
        answer.map_err(refused)
    }

    /// Changes the database in a way that a power failure may undo.
    pub(crate) fn note<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let writing = self.writing.as_ref().ok_or(StoreError::ReadOnly)?;
        let _turn = locked(&writing.turn);
        let connection = locked(&writing.notes);
        transact(&connection, change).map_err(refused)
    }
}

fn transact<T>(
    connection: &Connection,
    change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    // Immediate: a transaction that begins by reading cannot wait for its turn to write later on.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let answer = change(&transaction)?;
    transaction.commit()?;
    Ok(answer)
}

/// A connection with so many KiB of cache.
fn connect(path: &Path, synchronous: &str, cache: u32) -> Result<Connection, StoreError> {
    let settings = || {
        let connection = Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.execute_batch(&format!(
            "PRAGMA synchronous = {synchronous};
             PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};
             PRAGMA journal_size_limit = 268435456;
             PRAGMA cache_size = -{cache};"
        ))?;
        Ok(connection)
    };
    settings().map_err(refused)
}

/// Whether there are no tables yet. An error where the database is of another format or not ours.
fn is_new(path: &Path, connection: &Connection) -> Result<bool, StoreError> {
    let number = |question: &str| {
        connection
            .query_row(question, [], |row| row.get::<_, i64>(0))
            .map_err(refused)
    };
    let found = number("PRAGMA user_version")?;
    let tables = number("SELECT count(*) FROM sqlite_master")?;
    if tables == 0 && found == 0 {
        return Ok(true);
    }
    if number("PRAGMA application_id")? != APPLICATION {
        return Err(StoreError::Database(format!(
            "`{}` was not made by Headwater",
            path.display()
        )));
    }
    if found == FORMAT {
        Ok(false)
    } else {
        Err(StoreError::Format {
            path: path.to_owned(),
            found,
            wanted: FORMAT,
        })
    }
}

fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    transact(connection, |transaction| {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", FORMAT)
    })
}

/// Whether the files that readers and writers share could not be made, as in a folder that cannot be written to.
fn cannot_share(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
    )
}

/// Whether everything that was ever written is in the database file itself.
fn log_is_empty(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).map_or(true, |found| found.len() == 0)
}

/// The address under which SQLite opens a file that never changes.
fn immutable_address(path: &Path) -> String {
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                address.push(char::from(*byte));
            }
            other => {
                // Writing to a string cannot fail.
                let _ = write!(address, "%{other:02X}");
            }
        }
    }
    address.push_str("?immutable=1");
    address
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let database = Database::open(&folder.path().join("records.sqlite")).unwrap();
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
    }

    #[test]
    fn reading_goes_on_while_something_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("records.sqlite")).unwrap();
        database
            .write(|transaction, interned| {
                interned.number(transaction, &"first".into())?;
                assert_eq!(count(&database), 0);
                Ok(())
            })
            .unwrap();
        assert_eq!(count(&database), 1);
    }

    #[test]
    fn a_database_in_an_odd_folder_is_read_as_immutable() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("50% of? a#b é");
        std::fs::create_dir(&odd).unwrap();
        let path = odd.join("records.sqlite");
        let written = Database::open(&path).unwrap();
        written
            .write(|transaction, interned| interned.number(transaction, &"first".into()))
            .unwrap();
        drop(written);
        let database = Database {
            path,
            immutable: true,
            idle: Mutex::default(),
            writing: None,
        };
        assert_eq!(count(&database), 1);
    }

    #[test]
    fn a_database_of_another_program_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.sqlite");
        Connection::open(&path)
            .unwrap()
            .execute_batch("CREATE TABLE t (x); PRAGMA user_version = 1")
            .unwrap();
        for opened in [Database::open(&path), Database::open_read_only(&path)] {
            let message = opened.unwrap_err().to_string();
            assert!(
                message.ends_with("records.sqlite` was not made by Headwater"),
                "{message}"
            );
        }
    }
}
