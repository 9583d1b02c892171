//! Making the records again: from the journal, from what can still be read of a damaged database, and the journal
//! from the database.
//!
//! Law: what is brought back is what was written, or it is not brought back: entries of the journal and rows of
//! products are checked as a whole. Nothing that was found damaged is destroyed: it is set aside below `damaged/`.
//! A crash in the middle leaves a state that the next one to open the store mends: until the new database is at its
//! place the old one is, and a database that lags behind the journal takes over what it lacks.
//!
//! The cache of digests is not brought back: to lose it costs time, to have it wrong could cost results.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use headwater_graph::{Alias, ContentHasher, Digest, ProductRecord, Recipe, StoreError};
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, Transaction, TransactionBehavior};

use crate::aliases;
use crate::beneath::{Access, Kind, Root};
use crate::clock::now;
use crate::connections::{
    Identity, Interned, Trouble, identity, is_full, log_is_empty, make, refused,
};
use crate::damage::Damage;
use crate::disk::{cannot, copy_data, is_hollow};
use crate::journal::{Batch, Entry, JOURNAL, Scan, VersionRow};
use crate::lock::locked;
use crate::lookup::prefix;
use crate::object_rows::{ObjectRow, Seen, insert_object, object_name};
use crate::place::{DATABASE, RecordsPlace};
use crate::product_rows::{self, COLUMNS, Names, Row};
use crate::run_rows;

/// Records that are put into the tables together.
const GROUP: usize = 4_096;
/// Bytes of the new journal that are written together.
const PIECE: usize = 1 << 20;

/// Where a new database is made.
const WORKSHOP: &str = "records.rebuild";

/// What is in there.
fn inside(name: &str) -> PathBuf {
    Path::new(WORKSHOP).join(name)
}

/// Removes what an interrupted rebuild has left. The caller keeps others from rebuilding.
pub(crate) fn sweep(place: &RecordsPlace) -> Result<(), StoreError> {
    let removed = place.root.remove_all(WORKSHOP);
    removed.map_err(cannot("remove", &place.root.at(WORKSHOP)))
}

/// Sets the database aside and puts one at its place that is made from the journal and from what can be read of it;
/// does nothing if the file at the path is no longer the one that was found damaged.
pub(crate) fn replace(
    place: &RecordsPlace,
    found: Option<Identity>,
    reason: &str,
    damage: &Damage,
) -> Result<(), StoreError> {
    let _own = place.own()?;
    if identity(&place.path)? != found {
        return Ok(());
    }
    place.check_format()?;
    sweep(place)?;
    let replaced = exchange(place);
    // On a full disk what was made in vain would only take room away from others.
    let swept = sweep(place);
    let (built, aside) = replaced?;
    swept?;
    let place_aside = match aside {
        Some(folder) => format!("; it was set aside as `{}`", folder.display()),
        None => String::new(),
    };
    locked(damage).push(format!(
        "the record database `{}` ({reason}): it was made anew, with {} records from the journal and {} from what could be read of it{place_aside}",
        place.path.display(),
        built.replayed,
        built.salvaged,
    ));
    Ok(())
}

/// Makes a new database, sets the old one aside and puts the new one at its place; gives also the folder where the
/// old one is.
fn exchange(place: &RecordsPlace) -> Result<(Built, Option<PathBuf>), StoreError> {
    let root = &place.root;
    root.new_folder(WORKSHOP)
        .map_err(cannot("make", &root.at(WORKSHOP)))?;
    let built = build(place)?;
    let aside = set_aside(place, built.journal)?;
    // A log without its database would be taken for that of the new one.
    for file in [LOG, SHARED] {
        root.remove_file(file)
            .map_err(cannot("remove", &root.at(file)))?;
    }
    // After a loss of power too the old log never lies beside the new database.
    sync(root, Path::new(""))?;
    let put = |name: &str| {
        root.rename(inside(name), name)
            .map_err(cannot("make", &root.at(name)))
    };
    put(DATABASE)?;
    if built.journal {
        put(JOURNAL)?;
    }
    sync(root, Path::new(""))?;
    Ok((built, aside))
}

/// What SQLite keeps beside a database.
const LOG: &str = "records.sqlite-wal";
const SHARED: &str = "records.sqlite-shm";

fn sync(root: &Root, folder: &Path) -> Result<(), StoreError> {
    root.sync_folder(folder)
        .map_err(cannot("synchronise", &root.at(folder)))
}

/// What was made in the workshop.
struct Built {
    /// Whether there is a new journal, since the old one does not hold everything.
    journal: bool,
    replayed: u64,
    salvaged: u64,
}

fn build(place: &RecordsPlace) -> Result<Built, StoreError> {
    let database = place.root.at(inside(DATABASE));
    let connection = make(&database)?;
    let old = copy_old(place)?;
    let filled = || -> Result<Built, Trouble> {
        let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
        let mut interned = Interned::default();
        let (mut replayed, mut is_whole) = (0, false);
        if let Some(length) = place.journal.length()? {
            let mut scan = place.journal.scan(0)?;
            replayed = replay(place, &mut scan, &transaction, &mut interned)?;
            is_whole = scan.skipped() == 0 && length > 0;
            note_length(&transaction, length)?;
        }
        let salvaged = match &old {
            Some(old) => salvage(old, &transaction, &mut interned)?,
            None => Salvaged::default(),
        };
        let listed = list_objects(place, &transaction)?;
        // What the runs that are alive have used since is not in the journal; none of it may be collected.
        transaction.execute("UPDATE objects SET used = max(used, ?)", [now()])?;
        let journal = !is_whole || salvaged.adds() || listed > 0;
        if journal {
            let length = write_journal(&place.root, &inside(JOURNAL), &transaction)?;
            note_length(&transaction, length)?;
        }
        transaction.commit()?;
        Ok(Built {
            journal,
            replayed,
            salvaged: salvaged.products,
        })
    };
    let built = filled().map_err(|trouble| match trouble {
        Trouble::Sqlite(error) => refused(&database, &error),
        Trouble::Store(error) => error,
        Trouble::Moved => StoreError::Database("it was replaced".to_owned()),
    })?;
    // Closing would copy the log into the file as well, but says nothing where there is no room for that.
    let is_busy: bool = connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .map_err(|error| refused(&database, &error))?;
    if is_busy || !log_is_empty(&database) {
        return Err(StoreError::Database(format!(
            "the log of `{}` could not be copied into it",
            database.display()
        )));
    }
    connection
        .close()
        .map_err(|(_, error)| refused(&database, &error))?;
    (place.root.file(inside(DATABASE), Access::Read))
        .and_then(|file| file.sync_all())
        .map_err(cannot("synchronise", &database))?;
    Ok(built)
}

/// Links the damaged files into a folder of their own; `None` where there is nothing worth it.
fn set_aside(place: &RecordsPlace, with_journal: bool) -> Result<Option<PathBuf>, StoreError> {
    let root = &place.root;
    let is_worth = |name: &str| {
        let found = root.metadata(name);
        found.is_ok_and(|found| found.is_file() && found.len() > 0)
    };
    let mut files = vec![DATABASE, LOG, SHARED];
    if with_journal {
        files.push(JOURNAL);
    }
    files.retain(|file| is_worth(file));
    if files.is_empty() {
        return Ok(None);
    }
    let damaged = Path::new("damaged");
    root.make_folder(damaged)
        .map_err(cannot("make", &root.at(damaged)))?;
    let mut number = 1_u64;
    let folder = loop {
        let folder = damaged.join(number.to_string());
        match root.new_folder(&folder) {
            Ok(()) => break folder,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(cannot("make", &root.at(folder))(error)),
        }
    };
    let linked = || -> Result<(), StoreError> {
        for file in &files {
            root.link(file, folder.join(file))
                .map_err(cannot("set aside", &root.at(file)))?;
        }
        sync(root, &folder)?;
        sync(root, damaged)
    };
    match linked() {
        Ok(()) => Ok(Some(root.at(folder))),
        Err(error) => {
            // They are still where they were.
            let _ = root.remove_all(&folder);
            Err(error)
        }
    }
}

/// A copy of the damaged database that may be read without a thought for others; `None` where it cannot be read. An
/// error where there is no room for a copy: what could be read of it must not be given up for that.
fn copy_old(place: &RecordsPlace) -> Result<Option<Connection>, StoreError> {
    let root = &place.root;
    let (copy, copied_log) = (inside("old.sqlite"), inside("old.sqlite-wal"));
    for (from, to) in [(DATABASE, &copy), (LOG, &copied_log)] {
        let copied = (root.file(from, Access::Read))
            .and_then(|mut old| copy_data(&mut old, &mut root.file(to, Access::New)?));
        if let Err(error) = copied {
            match error.kind() {
                io::ErrorKind::NotFound if from == LOG => {}
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    return Err(cannot("write", &root.at(to))(error));
                }
                _ => return Ok(None),
            }
        }
    }
    Ok(Connection::open(root.at(copy)).ok())
}

/// How much of the journal the database has seen; `None` where it has never been asked to look.
pub(crate) fn seen_length(connection: &Connection) -> rusqlite::Result<Option<u64>> {
    connection
        .prepare_cached("SELECT value FROM state WHERE name = 'journal'")?
        .query_row([], |row| row.get::<_, i64>(0))
        .optional()
        .map(|length| length.map(i64::cast_unsigned))
}

/// Notes how much of the journal the database has seen.
pub(crate) fn note_length(connection: &Connection, length: u64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO state (name, value) VALUES ('journal', ?)")?
        .execute([length.cast_signed()])?;
    Ok(())
}

/// Brings database and journal together: takes over what the journal has and the database has not seen, and writes a
/// new journal where there is none or it has become shorter. Nobody else may write meanwhile.
pub(crate) fn catch_up(
    place: &RecordsPlace,
    damage: &Damage,
    transaction: &Transaction<'_>,
    interned: &mut Interned,
) -> Result<(), Trouble> {
    let seen = seen_length(transaction)?;
    let length = place.journal.length()?;
    match length {
        Some(length) if seen == Some(length) => return Ok(()),
        Some(length) if length >= seen.unwrap_or(0) && length > 0 => {
            let mut scan = place.journal.scan(seen.unwrap_or(0))?;
            replay(place, &mut scan, transaction, interned)?;
            note_length(transaction, length)?;
        }
        _ => {
            if seen.is_some() {
                locked(damage).push(format!(
                    "the journal `{}`, which was cut or lost: it was written anew from the database",
                    place.journal.path().display()
                ));
            }
            note_length(transaction, rewrite(place, transaction)?)?;
        }
    }
    Ok(())
}

/// Puts entries of the journal into the tables; returns how many products there were. Again does no harm.
fn replay(
    place: &RecordsPlace,
    scan: &mut Scan,
    transaction: &Transaction<'_>,
    interned: &mut Interned,
) -> Result<u64, Trouble> {
    let mut products: Vec<ProductRecord> = Vec::new();
    let mut count = 0;
    loop {
        let entry = scan.next_entry()?;
        // Aliases come after the products that they speak of.
        let is_due = matches!(entry, None | Some(Entry::Alias(_))) && !products.is_empty();
        if products.len() >= GROUP || is_due {
            let mut rows: Vec<Row<'_>> = products.iter().map(Row::new).collect();
            Row::insert(&mut rows, transaction, interned)?;
            products.clear();
        }
        match entry {
            None => return Ok(count),
            Some(Entry::Product(record)) => {
                count += 1;
                products.push(*record);
            }
            Some(Entry::Object(digest, row)) => {
                let found = place.root.metadata(object_name(&digest));
                let is_there =
                    found.is_ok_and(|found| found.is_file() && found.len() == row.seen.size);
                if is_there {
                    insert_object(transaction, &digest, &row)?;
                }
            }
            // One whose target is lost counts as not there.
            Some(Entry::Alias(row)) => {
                aliases::insert(&[(0, &row)], transaction, interned)?;
            }
            Some(Entry::Version(row)) => insert_version(transaction, interned, &row)?,
        }
    }
}

/// Puts what a version stands for into its table.
pub(crate) fn insert_version(
    transaction: &Transaction<'_>,
    interned: &mut Interned,
    row: &VersionRow,
) -> rusqlite::Result<()> {
    let version = interned.number(transaction, &row.version.as_str().into())?;
    transaction
        .prepare_cached("INSERT OR REPLACE INTO versions (version, parts) VALUES (?, ?)")?
        .execute((version, &row.parts))?;
    Ok(())
}

/// What was read from a damaged database.
#[derive(Debug, Default)]
struct Salvaged {
    products: u64,
    others: u64,
}

impl Salvaged {
    /// Whether the journal lacks something of it.
    fn adds(&self) -> bool {
        self.products + self.others > 0
    }
}

/// Calls `take` with each row that can be read of a table with a numeric key, which is its first column. After an
/// unreadable one it goes on behind it, at ever greater distances.
fn each_row(
    old: &Connection,
    table: &'static str,
    key: &'static str,
    columns: &'static str,
    mut take: impl FnMut(&SqlRow<'_>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let question = format!("SELECT {key}, {columns} FROM {table} WHERE {key} > ? ORDER BY {key}");
    let mut after = i64::MIN;
    let mut step = 0_i64;
    loop {
        let mut statement = match old.prepare(&question) {
            Ok(statement) => statement,
            Err(error) if is_full(&error) => return Err(error.into()),
            Err(_) => return Ok(()),
        };
        let Ok(mut rows) = statement.query([after]) else {
            return Ok(());
        };
        loop {
            match rows.next() {
                Ok(Some(row)) => match row.get::<_, i64>(0) {
                    Ok(key) if key > after => {
                        after = key;
                        step = 0;
                        take(row)?;
                    }
                    // Damaged pages may form a ring, which would give rows for ever.
                    _ => break,
                },
                Ok(None) => return Ok(()),
                Err(error) if is_full(&error) => return Err(error.into()),
                Err(_) => break,
            }
        }
        step = if step == 0 { 1 } else { step.saturating_mul(2) };
        // Numbers begin at 1; none is beyond this.
        after = after.max(0).saturating_add(step);
        if step > 1 << 40 {
            return Ok(());
        }
    }
}

/// Brings over what is not there yet and can be read: products, aliases, versions, runs and their tasks.
fn salvage(
    old: &Connection,
    new: &Transaction<'_>,
    interned: &mut Interned,
) -> Result<Salvaged, Trouble> {
    let mut salvaged = Salvaged::default();
    let mut names = Names::new();
    each_row(old, "names", "id", "text", |row| {
        if let (Ok(number), Ok(text)) = (row.get(0), row.get::<_, String>(1)) {
            names.insert(number, text.into());
        }
        Ok(())
    })?;
    let mut present = new.prepare("SELECT 1 FROM products WHERE prefix = ? AND recipe = ?")?;
    each_row(old, "products", "id", COLUMNS, |row| {
        let Some(record) = product_rows::from_row(&names, row, 1) else {
            return Ok(());
        };
        if !present.exists((prefix(&record.recipe), &record.recipe.0[..]))? {
            Row::insert(&mut [Row::new(&record)], new, interned)?;
            salvaged.products += 1;
        }
        Ok(())
    })?;
    let mut present = new.prepare("SELECT 1 FROM aliases WHERE prefix = ? AND recipe = ?")?;
    each_row(
        old,
        "aliases",
        "rowid",
        "recipe, target, run, time",
        |row| {
            let Some(alias) = alias_from(&names, row) else {
                return Ok(());
            };
            if !present.exists((prefix(&alias.recipe), &alias.recipe.0[..]))?
                && aliases::insert(&[(0, &alias)], new, interned)?.is_empty()
            {
                salvaged.others += 1;
            }
            Ok(())
        },
    )?;
    let mut present = new.prepare(
        "SELECT 1 FROM versions JOIN names ON names.id = versions.version WHERE names.text = ?",
    )?;
    each_row(old, "versions", "version", "parts", |row| {
        let Some(version) = version_from(&names, row) else {
            return Ok(());
        };
        if !present.exists([&version.version])? {
            insert_version(new, interned, &version)?;
            salvaged.others += 1;
        }
        Ok(())
    })?;
    salvage_runs(old, new)?;
    Ok(salvaged)
}

fn recipe(row: &SqlRow<'_>, column: usize) -> Option<Recipe> {
    let bytes = row.get_ref(column).ok()?.as_blob().ok()?;
    <[u8; 32]>::try_from(bytes).ok().map(Recipe)
}

fn alias_from(names: &Names, row: &SqlRow<'_>) -> Option<Alias> {
    let run: i64 = row.get(3).ok()?;
    Some(Alias {
        recipe: recipe(row, 1)?,
        target: recipe(row, 2)?,
        run: Arc::clone(names.get(&run)?),
        time: row.get(4).ok()?,
    })
}

fn version_from(names: &Names, row: &SqlRow<'_>) -> Option<VersionRow> {
    let version: i64 = row.get(0).ok()?;
    Some(VersionRow {
        version: names.get(&version)?.to_string(),
        parts: row.get(1).ok()?,
    })
}

fn salvage_runs(old: &Connection, new: &Transaction<'_>) -> Result<(), Trouble> {
    const RUNS: &str = "id, workflow, file, started, ended, status, tasks, executed, reused, failed, outputs, command";
    let mut put_run = new.prepare(&format!(
        "INSERT OR IGNORE INTO runs (number, {RUNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    ))?;
    let mut put_task = new.prepare(
        "INSERT OR IGNORE INTO run_tasks (run, position, address, recipe, state, started, wall)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?;
    let mut numbers = Vec::new();
    each_row(old, "runs", "number", RUNS, |row| {
        // A row that the list of runs could not be read with is left behind.
        if let Ok(Some(_)) = run_rows::from_row(row, 1) {
            let values = (0..13)
                .map(|column| row.get::<_, rusqlite::types::Value>(column))
                .collect::<rusqlite::Result<Vec<_>>>();
            if let Ok(values) = values {
                // Of two that have one id, which only damage can bring about, the first is taken.
                if put_run.execute(rusqlite::params_from_iter(values))? == 1 {
                    numbers.push(row.get::<_, i64>(0)?);
                }
            }
        }
        Ok(())
    })?;
    new.execute_batch(run_rows::CIRCUMSTANCES)?;
    let mut put_circumstances = new.prepare(
        "INSERT OR IGNORE INTO circumstances (run, host, user, reason) VALUES (?, ?, ?, ?)",
    )?;
    let old_circumstances =
        old.prepare("SELECT host, user, reason FROM circumstances WHERE run = ?");
    if let Ok(mut old_circumstances) = old_circumstances {
        for number in &numbers {
            let found = old_circumstances.query_row([number], |row| {
                let text = |column: usize| row.get::<_, String>(column);
                Ok((text(0)?, text(1)?, text(2)?))
            });
            if let Ok((host, user, reason)) = found {
                put_circumstances.execute((number, host, user, reason))?;
            }
        }
    }
    for number in numbers {
        let Ok(mut statement) = old.prepare(
            "SELECT address, recipe, state, started, wall, position FROM run_tasks WHERE run = ? ORDER BY position",
        ) else {
            return Ok(());
        };
        let Ok(mut rows) = statement.query([number]) else {
            continue;
        };
        let mut last = i64::MIN;
        while let Ok(Some(row)) = rows.next() {
            let Some(position) = row.get(5).ok().filter(|position| *position > last) else {
                break;
            };
            last = position;
            if let Ok(Some(task)) = run_rows::read_task(row) {
                put_task.execute(run_rows::task_row(number, position, &task))?;
            }
        }
    }
    Ok(())
}

/// Lists the objects whose files are there and that the journal did not speak of, after reading them; returns how many.
fn list_objects(place: &RecordsPlace, transaction: &Transaction<'_>) -> Result<usize, Trouble> {
    let mut unlisted = Vec::new();
    let mut listed = transaction.prepare("SELECT 1 FROM objects WHERE digest = ?")?;
    for start in entries(&place.root, Path::new("objects"), Kind::Folder) {
        let folder = Path::new("objects").join(&start);
        for name in entries(&place.root, &folder, Kind::File) {
            // What does not have the name of an object is none.
            if let Ok(digest) = format!("{start}{name}").parse::<Digest>()
                && object_name(&digest) == folder.join(&name)
                && !listed.exists([&digest.0[..]])?
            {
                unlisted.push(digest);
            }
        }
    }
    let verified = verify(&place.root, &unlisted);
    for (digest, seen) in &verified {
        let row = ObjectRow {
            seen: *seen,
            wall: 0,
            used: now(),
        };
        insert_object(transaction, digest, &row)?;
    }
    Ok(verified.len())
}

/// What of one kind is in a folder, in order; nothing where it cannot be read.
fn entries(root: &Root, folder: &Path, wanted: Kind) -> Vec<String> {
    let listed = root.list(folder).unwrap_or_default().into_iter();
    let mut names: Vec<String> = listed
        .filter(|(_, kind)| *kind == wanted)
        .filter_map(|(name, _)| name.into_string().ok())
        .collect();
    names.sort();
    names
}

/// Reads files with as many threads as there are processors; gives those that are what their name says.
fn verify(root: &Root, files: &[Digest]) -> Vec<(Digest, Seen)> {
    let next = AtomicUsize::new(0);
    let share = || {
        let mut good = Vec::new();
        while let Some(digest) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Ok(Some(seen)) = read_object(root, digest) {
                good.push((*digest, seen));
            }
        }
        good
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        // A machine that gives no more threads has those that there are do it all.
        let thread = |_| std::thread::Builder::new().spawn_scoped(scope, share).ok();
        let others: Vec<_> = (1..threads.min(files.len())).map_while(thread).collect();
        let mut good = share();
        for other in others {
            match other.join() {
                Ok(more) => good.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        good.sort_unstable_by_key(|(digest, _)| *digest);
        good
    })
}

fn read_object(root: &Root, digest: &Digest) -> io::Result<Option<Seen>> {
    let mut file = root.file(object_name(digest), Access::Read)?;
    let found = file.metadata()?;
    if is_hollow(&found) {
        // To make it again is quicker than to read what somebody has put there.
        return Ok(None);
    }
    let mut hasher = ContentHasher::new();
    let mut buffer = vec![0; 1 << 18];
    hasher.update_from(&mut file, &mut buffer, |_| ())?;
    // Contents are made durable before they get their name, so there is nothing to wait for.
    Ok((hasher.finish() == *digest).then(|| Seen::of(&found)))
}

/// Writes a new journal from the database and puts it at its place; gives its length. Nobody else may write meanwhile.
fn rewrite(place: &RecordsPlace, transaction: &Transaction<'_>) -> Result<u64, Trouble> {
    let name = Path::new("records.journal.new");
    let length = write_journal(&place.root, name, transaction)?;
    (place.root.rename(name, JOURNAL)).map_err(cannot("make", place.journal.path()))?;
    sync(&place.root, Path::new(""))?;
    Ok(length)
}

/// Writes everything that a journal holds to a file, durably; gives its length.
fn write_journal(root: &Root, name: &Path, connection: &Connection) -> Result<u64, Trouble> {
    let path = &root.at(name);
    let mut file: File = root.fresh_file(name).map_err(cannot("make", path))?;
    let mut length = 0;
    let mut batch = Batch::beginning();
    let mut write = |batch: &mut Batch, least: usize| -> Result<(), Trouble> {
        if batch.bytes().len() >= least {
            file.write_all(batch.bytes())
                .map_err(cannot("write", path))?;
            length += batch.bytes().len() as u64;
            batch.clear();
        }
        Ok(())
    };
    let names: Names = connection
        .prepare("SELECT id, text FROM names")?
        .query_map([], |row| {
            Ok((row.get(0)?, Arc::from(row.get_ref(1)?.as_str()?)))
        })?
        .collect::<rusqlite::Result<HashMap<_, _>>>()?;
    let mut statement =
        connection.prepare("SELECT digest, size, inode, modified, wall, used FROM objects")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let number = |column: usize| row.get::<_, i64>(column);
        let Some(digest) = recipe(row, 0).map(|bytes| Digest(bytes.0)) else {
            continue;
        };
        let seen = Seen {
            size: number(1)?.cast_unsigned(),
            inode: number(2)?.cast_unsigned(),
            modified: number(3)?,
        };
        let (wall, used) = (number(4)?.cast_unsigned(), number(5)?);
        batch.object(&digest, &ObjectRow { seen, wall, used });
        write(&mut batch, PIECE)?;
    }
    let question = format!("SELECT {COLUMNS} FROM products ORDER BY id");
    let mut statement = connection.prepare(&question)?;
    let mut rows = statement.query([])?;
    let mut last = i64::MIN;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(1)?;
        if id <= last {
            let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            return Err(rusqlite::Error::SqliteFailure(corrupt, None).into());
        }
        last = id;
        // A damaged one counts as not there.
        if let Some(record) = product_rows::from_row(&names, row, 0) {
            Row::new(&record).journal(&mut batch);
            write(&mut batch, PIECE)?;
        }
    }
    let mut statement =
        connection.prepare("SELECT 0, recipe, target, run, time FROM aliases ORDER BY rowid")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(alias) = alias_from(&names, row) {
            batch.alias(&alias);
            write(&mut batch, PIECE)?;
        }
    }
    let mut statement = connection.prepare("SELECT version, parts FROM versions")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(version) = version_from(&names, row) {
            batch.version(&version);
            write(&mut batch, PIECE)?;
        }
    }
    write(&mut batch, 0)?;
    file.sync_all().map_err(cannot("synchronise", path))?;
    Ok(length)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::database::Database;

    fn place(folder: &tempfile::TempDir) -> RecordsPlace {
        RecordsPlace::of(&Arc::new(Root::open(folder.path()).unwrap()))
    }

    fn alias(number: u8, target: u8) -> Alias {
        Alias {
            recipe: Recipe([number; 32]),
            target: Recipe([target; 32]),
            run: "run".into(),
            time: 7,
        }
    }

    fn product(number: u8) -> ProductRecord {
        ProductRecord {
            recipe: Recipe([number; 32]),
            content: None,
            operation: "operation".into(),
            version: "1".into(),
            parameters: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            wall: 0,
            cpu: 0,
            peak_memory: 0,
            run: "run".into(),
            time: 7,
        }
    }

    fn version(parts: &str) -> VersionRow {
        VersionRow {
            version: "1".to_owned(),
            parts: parts.to_owned(),
        }
    }

    /// What is in the two tables.
    fn listed(database: &Database) -> (Vec<Alias>, Vec<VersionRow>) {
        database
            .read(|connection| {
                let names: Names = connection
                    .prepare("SELECT id, text FROM names")?
                    .query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?.into())))?
                    .collect::<rusqlite::Result<_>>()?;
                let aliases = connection
                    .prepare("SELECT 0, recipe, target, run, time FROM aliases ORDER BY recipe")?
                    .query_map([], |row| Ok(alias_from(&names, row).unwrap()))?
                    .collect::<rusqlite::Result<_>>()?;
                let versions = connection
                    .prepare("SELECT version, parts FROM versions")?
                    .query_map([], |row| Ok(version_from(&names, row).unwrap()))?
                    .collect::<rusqlite::Result<_>>()?;
                Ok((aliases, versions))
            })
            .unwrap()
    }

    #[test]
    fn aliases_and_versions_come_back_from_the_journal_and_from_the_database() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(&folder);
        let open = || Database::open(place.clone(), Damage::default()).unwrap();
        let database = open();
        let products = [product(8), product(9)];
        let mut rows = products.each_ref().map(Row::new);
        let mut batch = Batch::default();
        for row in &rows {
            row.journal(&mut batch);
        }
        database
            .keep(&batch, |transaction, interned| {
                Row::insert(&mut rows, transaction, interned)
            })
            .unwrap();
        // The later one of two counts.
        for (aliases, parts) in [
            (vec![alias(1, 9), alias(2, 9)], "a\0b\0"),
            (vec![alias(1, 8)], "a\0c\0"),
        ] {
            let mut batch = Batch::default();
            for alias in &aliases {
                batch.alias(alias);
            }
            let version = version(parts);
            batch.version(&version);
            database
                .keep(&batch, |transaction, interned| {
                    let aliases: Vec<(usize, &Alias)> = aliases.iter().enumerate().collect();
                    assert_eq!(aliases::insert(&aliases, transaction, interned)?, [0; 0]);
                    insert_version(transaction, interned, &version)
                })
                .unwrap();
        }
        let expected = (vec![alias(1, 8), alias(2, 9)], vec![version("a\0c\0")]);
        assert_eq!(listed(&database), expected);
        drop(database);
        fs::remove_file(&place.path).unwrap();
        assert_eq!(listed(&open()), expected, "from the journal");
        fs::remove_file(place.journal.path()).unwrap();
        drop(open());
        fs::remove_file(&place.path).unwrap();
        assert_eq!(listed(&open()), expected, "from a journal written anew");
        fs::remove_file(place.journal.path()).unwrap();
        replace(
            &place,
            identity(&place.path).unwrap(),
            "on purpose",
            &Damage::default(),
        )
        .unwrap();
        assert_eq!(listed(&open()), expected, "from the database alone");
    }

    #[test]
    fn what_was_replaced_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(&folder);
        drop(Database::open(place.clone(), Damage::default()).unwrap());
        let damage = Damage::default();
        let before = identity(&place.path).unwrap();
        replace(&place, Some((0, 0)), "on purpose", &damage).unwrap();
        assert_eq!(identity(&place.path).unwrap(), before);
        assert_eq!(locked(&damage).take(), [""; 0]);
    }

    #[test]
    fn a_rebuild_that_fails_leaves_everything_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(&folder);
        drop(Database::open(place.clone(), Damage::default()).unwrap());
        let before = fs::read(&place.path).unwrap();
        let found = identity(&place.path).unwrap();
        let damage = Damage::default();
        // The journal cannot be read.
        fs::remove_file(place.journal.path()).unwrap();
        fs::create_dir(place.journal.path()).unwrap();
        replace(&place, found, "on purpose", &damage).unwrap_err();
        assert!(!place.root.at(WORKSHOP).exists());
        fs::remove_dir(place.journal.path()).unwrap();
        // The old database cannot be set aside.
        fs::write(folder.path().join("damaged"), "").unwrap();
        replace(&place, found, "on purpose", &damage).unwrap_err();
        assert!(!place.root.at(WORKSHOP).exists());
        assert_eq!(fs::read(&place.path).unwrap(), before);
        assert_eq!(identity(&place.path).unwrap(), found);
        assert_eq!(locked(&damage).take(), [""; 0]);
    }

    #[test]
    fn an_interrupted_rebuild_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(&folder);
        fs::create_dir(place.root.at(WORKSHOP)).unwrap();
        fs::write(place.root.at(WORKSHOP).join("records.sqlite"), "half").unwrap();
        drop(Database::open(place.clone(), Damage::default()).unwrap());
        assert!(!place.root.at(WORKSHOP).exists());
    }
}
