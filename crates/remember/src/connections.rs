//! Connections to one database file, and what their errors mean.
//!
//! Law: a file is used only if it is a database of this format, with the tables it was given. Whether an error is a
//! sign of damage is decided here alone: bytes that SQLite or a column's type gives away are damage, and what could
//! also have another reason is damage only if SQLite's own check of the whole file says so. SQLite opens its files by
//! their paths: they are regular files, it follows no link, and it is kept from removing a file of another's.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use headwater_graph::StoreError;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, Transaction, TransactionBehavior, ffi};

use crate::disk::{cannot, is_full_at, is_writable};
use crate::lock::locked;
use crate::schema::{APPLICATION, CHECKPOINT_PAGES, FORMAT, TABLES};

/// How long to wait for another process that is writing. Its groups take fractions of a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why something could not be done with these connections.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// SQLite says no.
    Sqlite(Error),
    /// Another file is at its place by now.
    Moved,
    /// Anything else.
    Store(StoreError),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Sqlite(error)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Trouble {
        Trouble::Store(error)
    }
}

/// Why a file could not be opened as a database of this store.
#[derive(Debug)]
pub(crate) enum Unopened {
    /// It is damaged; in words.
    Damaged(String),
    /// It is not for us, or cannot be had.
    Refused(StoreError),
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

/// What tells one file from another under the same path.
pub(crate) type Identity = (u64, u64);

/// The file that is at a path now; `None` where there is none.
pub(crate) fn identity(path: &Path) -> Result<Option<Identity>, StoreError> {
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok(Some((found.dev(), found.ino()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("find", path)(error)),
    }
}

#[derive(Debug)]
struct WriteHalf {
    /// Taken first. SQLite makes its connections wait for each other by sleeping, which wastes time among threads.
    turn: Mutex<()>,
    durable: Mutex<(Connection, Interned)>,
    notes: Mutex<Connection>,
}

/// How readers get at the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Beside others.
    Shared,
    /// Nobody can write to the file, so that it is read without the files that readers and writers share.
    Immutable,
    /// There is no file that could be read: nothing is remembered.
    Empty,
}

/// Connections to one file.
#[derive(Debug)]
pub(crate) struct Connections {
    path: PathBuf,
    identity: Option<Identity>,
    kind: Kind,
    idle: Mutex<Vec<Connection>>,
    writing: Option<WriteHalf>,
}

impl Connections {
    /// Opens for reading and writing; makes the tables if there are none. `witness` is the format of the journal: if
    /// that is ours, a database that seems not to be was damaged; and so was an empty one if it should not be.
    pub(crate) fn open(
        path: &Path,
        witness: Option<i64>,
        may_be_empty: bool,
    ) -> Result<Connections, Unopened> {
        let real = own_files(path).map_err(Unopened::Refused)?;
        let durable = connect(&real, "FULL", 32_768).map_err(|error| unopened(path, error))?;
        if is_new(path, &durable, witness)? {
            if !may_be_empty {
                return Err(Unopened::Damaged("it is empty".to_owned()));
            }
            create(&durable).map_err(|error| unopened(path, error))?;
        }
        // A file may say of itself that it can only be written by versions of SQLite to come.
        if durable.is_readonly("main").unwrap_or(false) && is_writable(path) {
            return Err(Unopened::Damaged(
                "it says that it cannot be written".to_owned(),
            ));
        }
        let notes = connect(&real, "NORMAL", 2_048).map_err(|error| unopened(path, error))?;
        let writing = WriteHalf {
            turn: Mutex::default(),
            durable: Mutex::new((durable, Interned::default())),
            notes: Mutex::new(notes),
        };
        Ok(Connections {
            path: path.to_owned(),
            identity: identity(path).map_err(Unopened::Refused)?,
            kind: Kind::Shared,
            idle: Mutex::default(),
            writing: Some(writing),
        })
    }

    /// Opens for reading only.
    pub(crate) fn open_read_only(
        path: &Path,
        witness: Option<i64>,
    ) -> Result<Connections, Unopened> {
        own_files(path).map_err(Unopened::Refused)?;
        let mut connections = Connections {
            path: path.to_owned(),
            identity: identity(path).map_err(Unopened::Refused)?,
            kind: Kind::Shared,
            idle: Mutex::default(),
            writing: None,
        };
        let asked = |connections: &Connections| -> rusqlite::Result<Connection> {
            let connection = connections.reader()?;
            connection.query_row("PRAGMA user_version", [], |_| Ok(()))?;
            Ok(connection)
        };
        let connection = match asked(&connections) {
            Err(error) if cannot_share(&error) && log_is_empty(path) => {
                connections.kind = Kind::Immutable;
                asked(&connections)
            }
            answer => answer,
        };
        let connection = connection.map_err(|error| unopened(path, error))?;
        if is_new(path, &connection, witness)? {
            return Err(Unopened::Damaged("it is empty".to_owned()));
        }
        locked(&connections.idle).push(connection);
        Ok(connections)
    }

    /// Connections to nothing, by which nothing is remembered.
    pub(crate) fn empty(path: &Path) -> Connections {
        Connections {
            path: path.to_owned(),
            identity: None,
            kind: Kind::Empty,
            idle: Mutex::default(),
            writing: None,
        }
    }

    /// The file that was opened.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.identity
    }

    /// Whether it can no longer be found out that the file was replaced, or need not be.
    pub(crate) fn is_settled(&self) -> bool {
        self.kind == Kind::Empty
    }

    fn reader(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let real = || {
            own_files(&self.path).map_err(|error| {
                let cannot_open = ffi::Error::new(ffi::SQLITE_CANTOPEN);
                Error::SqliteFailure(cannot_open, Some(error.to_string()))
            })
        };
        let connection = match self.kind {
            Kind::Shared => Connection::open_with_flags(real()?, flags)?,
            Kind::Immutable => Connection::open_with_flags(
                immutable_address(&real()?),
                flags | OpenFlags::SQLITE_OPEN_URI,
            )?,
            Kind::Empty => {
                let connection = Connection::open_in_memory()?;
                connection.execute_batch(TABLES)?;
                connection
            }
        };
        connection.busy_timeout(PATIENCE)?;
        connection.execute_batch("PRAGMA cache_size = -16384")?;
        Ok(connection)
    }

    /// Reads one consistent state.
    pub(crate) fn read<T>(
        &self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Trouble> {
        let idle = locked(&self.idle).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.reader()?,
        };
        let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)?;
        let answer = ask(&transaction);
        transaction.finish()?;
        locked(&self.idle).push(connection);
        Ok(answer?)
    }

    /// Changes the database; durable when it returns. What `enter` gives is held until then.
    pub(crate) fn write<T, G>(
        &self,
        enter: impl FnOnce() -> Result<G, Trouble>,
        change: impl FnOnce(&Transaction<'_>, &mut Interned) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let writing = self.writing.as_ref().ok_or(StoreError::ReadOnly)?;
        let _turn = locked(&writing.turn);
        let mut guard = locked(&writing.durable);
        let (connection, interned) = &mut *guard;
        let answer = transact(connection, enter, |transaction| {
            change(transaction, interned)
        });
        if answer.is_err() {
            // Numbers given in a transaction that was undone name nothing.
            interned.0.clear();
        }
        answer
    }

    /// Changes the database in a way that a power failure may undo.
    pub(crate) fn note<T, G>(
        &self,
        enter: impl FnOnce() -> Result<G, Trouble>,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Trouble> {
        let writing = self.writing.as_ref().ok_or(StoreError::ReadOnly)?;
        let _turn = locked(&writing.turn);
        let connection = locked(&writing.notes);
        transact(&connection, enter, |transaction| Ok(change(transaction)?))
    }

    /// Whether an error that was met here comes from damaged bytes.
    pub(crate) fn is_damage(&self, error: &Error) -> bool {
        match suspicion(error) {
            Suspicion::None => false,
            Suspicion::Sure => true,
            Suspicion::Possible => match self.is_sound() {
                Ok(sound) => !sound,
                Err(error) => !matches!(suspicion(&error), Suspicion::None),
            },
        }
    }

    /// Looks at everything that is in the file.
    fn is_sound(&self) -> rusqlite::Result<bool> {
        let connection = self.reader()?;
        Ok(has_tables(&connection)? && {
            let verdict: String =
                connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
            verdict == "ok"
        })
    }
}

fn transact<T, G>(
    connection: &Connection,
    enter: impl FnOnce() -> Result<G, Trouble>,
    change: impl FnOnce(&Transaction<'_>) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    // Immediate: a transaction that begins by reading cannot wait for its turn to write later on.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let _entered = enter()?;
    let answer = change(&transaction)?;
    transaction.commit()?;
    Ok(answer)
}

/// How much an error speaks for damage.
enum Suspicion {
    None,
    Possible,
    Sure,
}

fn suspicion(error: &Error) -> Suspicion {
    match error {
        Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Suspicion::Sure,
            ErrorCode::Unknown
            | ErrorCode::InternalMalfunction
            | ErrorCode::TooBig
            | ErrorCode::ConstraintViolation
            | ErrorCode::TypeMismatch => Suspicion::Possible,
            _ => Suspicion::None,
        },
        // Columns are read as what they were written.
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::Utf8Error(..)
        | Error::InvalidColumnType(..) => Suspicion::Sure,
        // What was just put there is not found.
        Error::QueryReturnedNoRows => Suspicion::Possible,
        _ => Suspicion::None,
    }
}

/// A database error as the engine sees it.
pub(crate) fn refused(path: &Path, error: &Error) -> StoreError {
    let code = error.sqlite_error_code();
    let is_trouble_of_files = matches!(
        code,
        Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::ReadOnly)
    );
    // Some file systems do not say why a file cannot be made.
    let has_no_room = || code != Some(ErrorCode::ReadOnly) && is_full_at(path);
    if is_full(error) || (is_trouble_of_files && has_no_room()) {
        cannot("write", path)(io::Error::from_raw_os_error(libc::ENOSPC))
    } else if is_trouble_of_files {
        StoreError::Database(format!("{error}, `{}`", path.display()))
    } else {
        StoreError::Database(error.to_string())
    }
}

/// Whether somebody else was writing for longer than can be waited for.
pub(crate) fn is_busy(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// Whether there was no room on the disk, for the database itself or for what its users share.
pub(crate) fn is_full(error: &Error) -> bool {
    error.sqlite_error().is_some_and(|failure| {
        [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE].contains(&failure.extended_code)
    })
}

fn unopened(path: &Path, error: Error) -> Unopened {
    match suspicion(&error) {
        // Nothing but fixed questions is asked while a database is opened.
        Suspicion::Sure | Suspicion::Possible => Unopened::Damaged(error.to_string()),
        Suspicion::None => Unopened::Refused(refused(path, &error)),
    }
}

/// A connection with so many KiB of cache.
fn connect(path: &Path, synchronous: &'static str, cache: u32) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch(&format!(
        "PRAGMA synchronous = {synchronous};
         PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};
         PRAGMA journal_size_limit = 268435456;
         PRAGMA cache_size = -{cache};"
    ))?;
    Ok(connection)
}

/// Makes a new database, and a connection to it that waits for no disk.
pub(crate) fn make(path: &Path) -> Result<Connection, StoreError> {
    let real = own_files(path)?;
    let made = || -> rusqlite::Result<Connection> {
        let connection = connect(&real, "OFF", 65_536)?;
        create(&connection)?;
        Ok(connection)
    };
    made().map_err(|error| refused(path, &error))
}

/// How a rollback journal of SQLite ends that names another file, which SQLite removes once it has undone what the
/// journal is of. Those of our databases name none.
const NAMES_ANOTHER: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// The path of a database without links, which SQLite is to be given. An error if one of the files that it would open
/// is not a regular one, has another name and so would change elsewhere too, or would have it remove a file elsewhere.
fn own_files(path: &Path) -> Result<PathBuf, StoreError> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let file = beside(path, suffix);
        let is_own = match std::fs::symlink_metadata(&file) {
            Ok(found) => {
                let is_alone = found.is_file() && found.nlink() <= 1;
                is_alone && (suffix != "-journal" || !names_another(&file))
            }
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if !is_own {
            return Err(StoreError::NotOwn { path: file });
        }
    }
    let real = |folder: &Path| std::fs::canonicalize(folder).map_err(cannot("find", folder));
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Ok(real(folder)?.join(name)),
        _ => Ok(path.to_owned()),
    }
}

/// Whether a rollback journal would have SQLite remove a file. One that cannot be read cannot be used either.
fn names_another(journal: &Path) -> bool {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let ends_like_that = || -> io::Result<bool> {
        let mut options = std::fs::File::options();
        let file = options.read(true).custom_flags(flags).open(journal)?;
        let length = file.metadata()?.len();
        let mut end = [0; 8];
        let Some(start) = length.checked_sub(end.len() as u64) else {
            return Ok(false);
        };
        file.read_exact_at(&mut end, start)?;
        Ok(end == NAMES_ANOTHER)
    };
    ends_like_that().unwrap_or(false)
}

/// Whether there are no tables yet. An error where the database is damaged, of another format or not ours.
fn is_new(path: &Path, connection: &Connection, witness: Option<i64>) -> Result<bool, Unopened> {
    let number = |question: &str| {
        connection
            .query_row(question, [], |row| row.get::<_, i64>(0))
            .map_err(|error| unopened(path, error))
    };
    let found = number("PRAGMA user_version")?;
    let tables = number("SELECT count(*) FROM sqlite_master")?;
    if tables == 0 && found == 0 {
        return match witness.filter(|format| *format != FORMAT) {
            None => Ok(true),
            // What is empty here was lost, and cannot be had from a journal that cannot be read.
            Some(found) => Err(Unopened::Refused(StoreError::Format {
                path: path.to_owned(),
                found,
                wanted: FORMAT,
            })),
        };
    }
    let is_ours = number("PRAGMA application_id")? == APPLICATION;
    if witness == Some(FORMAT) && (!is_ours || found != FORMAT) {
        return Err(Unopened::Damaged(
            "it does not have the marks of a store".to_owned(),
        ));
    }
    if !is_ours {
        return Err(Unopened::Refused(StoreError::Database(format!(
            "`{}` was not made by Headwater",
            path.display()
        ))));
    }
    if found != FORMAT {
        return Err(Unopened::Refused(StoreError::Format {
            path: path.to_owned(),
            found,
            wanted: FORMAT,
        }));
    }
    match has_tables(connection) {
        Ok(true) => Ok(false),
        Ok(false) => Err(Unopened::Damaged(
            "its tables are not as they were made".to_owned(),
        )),
        Err(error) => Err(unopened(path, error)),
    }
}

/// Whether the tables and indexes are there as they were made, and nothing that acts by itself.
fn has_tables(connection: &Connection) -> rusqlite::Result<bool> {
    static EXPECTED: OnceLock<Vec<String>> = OnceLock::new();
    let listed = |connection: &Connection| -> rusqlite::Result<Vec<String>> {
        connection
            .prepare("SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_master")?
            .query_map([], |row| row.get(0))?
            .collect()
    };
    let expected = match EXPECTED.get() {
        Some(expected) => expected,
        None => {
            let model = Connection::open_in_memory()?;
            model.execute_batch(TABLES)?;
            let made = listed(&model)?;
            EXPECTED.get_or_init(|| made)
        }
    };
    let found = listed(connection)?;
    // Nobody here makes triggers or views; one in a store that came from elsewhere would act at each of our writes.
    let acts = |one: &String| one.starts_with("trigger ") || one.starts_with("view ");
    Ok(expected.iter().all(|one| found.contains(one)) && !found.iter().any(acts))
}

fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// Whether the files that readers and writers share could not be made, as in a folder that cannot be written to.
fn cannot_share(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
    )
}

/// A file that SQLite keeps beside a database.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Whether everything that was ever written is in the database file itself.
pub(crate) fn log_is_empty(path: &Path) -> bool {
    std::fs::symlink_metadata(beside(path, "-wal")).map_or(true, |found| found.len() == 0)
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

    #[test]
    fn a_database_in_an_odd_folder_is_read_as_immutable() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("50% of? a#b é");
        std::fs::create_dir(&odd).unwrap();
        let path = odd.join("records.sqlite");
        let written = Connections::open(&path, None, true).unwrap();
        let name: Arc<str> = "first".into();
        written
            .write(
                || Ok(()),
                |transaction, interned| Ok(interned.number(transaction, &name)?),
            )
            .unwrap();
        drop(written);
        let mut connections = Connections::open_read_only(&path, None).unwrap();
        connections.kind = Kind::Immutable;
        locked(&connections.idle).clear();
        let count: i64 = connections
            .read(|connection| {
                connection.query_row("SELECT count(*) FROM names", [], |row| row.get(0))
            })
            .unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn a_database_of_another_program_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.sqlite");
        Connection::open(&path)
            .unwrap()
            .execute_batch("CREATE TABLE t (x); PRAGMA user_version = 1")
            .unwrap();
        for opened in [
            Connections::open(&path, None, true),
            Connections::open_read_only(&path, None),
        ] {
            let Err(Unopened::Refused(error)) = opened else {
                panic!("{opened:?}");
            };
            let message = error.to_string();
            assert!(
                message.ends_with("records.sqlite` was not made by Headwater"),
                "{message}"
            );
        }
        // Beside a journal of ours it can only be what became of ours.
        assert!(matches!(
            Connections::open(&path, Some(FORMAT), true),
            Err(Unopened::Damaged(_))
        ));
    }

    #[test]
    fn a_missing_index_is_damage_and_so_is_what_acts_by_itself() {
        for change in [
            "DROP INDEX products_by_prefix",
            "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM products; END",
            "CREATE VIEW v AS SELECT * FROM products",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("records.sqlite");
            drop(Connections::open(&path, None, true).unwrap());
            Connection::open(&path)
                .unwrap()
                .execute_batch(change)
                .unwrap();
            for opened in [
                Connections::open(&path, None, true),
                Connections::open_read_only(&path, None),
            ] {
                assert!(matches!(opened, Err(Unopened::Damaged(_))), "{opened:?}");
            }
        }
    }
}
