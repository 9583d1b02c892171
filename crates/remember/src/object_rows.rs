//! What an object is called, and what is written down of it: rows of the table `objects`.
//!
//! Law: a row speaks of a file that was durable and right when it looked as the row says.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use headwater_graph::{Digest, Mark};
use rusqlite::{Connection, OptionalExtension, Transaction};

/// What an object is called beneath the folder of a store.
pub(crate) fn object_name(digest: &Digest) -> PathBuf {
    let hex = digest.hex();
    let (folder, name) = hex.split_at(2);
    PathBuf::from(format!("objects/{folder}/{name}"))
}

/// The part of a [`Mark`] that is written down of a file that is known to be right. Its time of change is no part of that: another link to the
/// file, such as one among the outputs of a run, changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) size: u64,
    pub(crate) inode: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i64,
}

impl Seen {
    pub(crate) fn of(found: &fs::Metadata) -> Seen {
        let Mark {
            size,
            inode,
            modified,
            ..
        } = mark_of(found);
        Seen {
            size,
            inode,
            modified,
        }
    }

    /// From the first three columns: size, inode, modified.
    pub(crate) fn from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Seen> {
        Ok(Seen {
            size: row.get::<_, i64>(0)?.cast_unsigned(),
            inode: row.get::<_, i64>(1)?.cast_unsigned(),
            modified: row.get(2)?,
        })
    }
}

/// What a file looks like whose metadata were asked for.
pub(crate) fn mark_of(found: &fs::Metadata) -> Mark {
    Mark::new(
        (found.dev(), found.ino()),
        found.len(),
        (found.mtime(), found.mtime_nsec()),
        (found.ctime(), found.ctime_nsec()),
    )
}

/// The rest of a row of the table `objects`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ObjectRow {
    /// What the file looked like.
    pub(crate) seen: Seen,
    /// Nanoseconds that making it took.
    pub(crate) wall: u64,
    /// When, in seconds since 1970.
    pub(crate) used: i64,
}

/// What is listed of an object, and when it was last used.
pub(crate) fn listed(
    connection: &Connection,
    digest: &Digest,
) -> rusqlite::Result<Option<(Seen, i64)>> {
    connection
        .prepare_cached("SELECT size, inode, modified, used FROM objects WHERE digest = ?")?
        .query_row([&digest.0[..]], |row| {
            Ok((Seen::from_row(row)?, row.get(3)?))
        })
        .optional()
}

/// Lists an object as durable.
pub(crate) fn insert_object(
    transaction: &Transaction<'_>,
    digest: &Digest,
    row: &ObjectRow,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO objects (digest, size, inode, modified, wall, reads, used) VALUES (?, ?, ?, ?, ?, 0, ?)
             ON CONFLICT (digest) DO UPDATE SET size = excluded.size, inode = excluded.inode,
             modified = excluded.modified, wall = max(wall, excluded.wall), used = max(used, excluded.used)",
        )?
        .execute((
            &digest.0[..],
            row.seen.size.cast_signed(),
            row.seen.inode.cast_signed(),
            row.seen.modified,
            row.wall.cast_signed(),
            row.used,
        ))?;
    Ok(())
}

/// The bytes of all objects. Damaged rows may say anything.
pub(crate) fn add_up_objects(connection: &Connection) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached("SELECT size FROM objects")?;
    let mut rows = statement.query([])?;
    let mut bytes = 0_u64;
    while let Some(row) = rows.next()? {
        bytes = bytes.saturating_add(row.get::<_, i64>(0)?.cast_unsigned());
    }
    Ok(bytes)
}
