//! The order of steps that makes a batch of products durable.
//!
//! Law: a record never speaks of bytes that a power failure could take away. Therefore, for each batch:
//!
//! 1. every new object is brought to a name of its own beside the objects: a link to the staged file, or a copy;
//! 2. their contents are made durable, one by one or, if there are many, all at once;
//! 3. each is renamed to its digest, which replaces a left-over atomically, and the folders are made durable;
//! 4. in one transaction, records and the list of objects known to be durable are written to the database, and to the
//!    journal, which is made durable before the transaction is, with full synchronisation.
//!
//! Whoever sees a record sees its objects; a crash between two steps leaves files that nobody speaks of. What is
//! under the name of a digest is always complete, so that two processes may place the same object at once.

use std::collections::HashMap;
use std::path::PathBuf;

use headwater_graph::{Digest, ProductRecord, StoreError};

use crate::journal::{Batch, ObjectRow};
use crate::rebuild::insert_object;
use crate::records::Row;
use crate::store::Store;

/// Where the bytes of an object are before it is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectSource {
    /// In a file, which becomes read-only and may be shared with the object: nobody may write to it any more. The
    /// path stays valid.
    Staged(PathBuf),
    /// In memory.
    Bytes(Vec<u8>),
}

/// An object that a record speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingObject {
    /// BLAKE3 of its bytes. It is taken as given, and verified when the object is read.
    pub digest: Digest,
    /// Its bytes.
    pub source: ObjectSource,
}

/// A product that is to be remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// What is to be known of it.
    pub record: ProductRecord,
    /// The objects that the record speaks of and that may not be in the store yet.
    pub objects: Vec<PendingObject>,
}

impl Pending {
    /// The bytes it holds in memory apart from the record.
    pub(crate) fn bytes(&self) -> usize {
        let size = |object: &PendingObject| match &object.source {
            ObjectSource::Staged(_) => 0,
            ObjectSource::Bytes(bytes) => bytes.len(),
        };
        self.objects.iter().map(size).sum()
    }
}

impl Store {
    /// Makes a batch durable. Products whose own objects cannot be had are left out and returned with the reason;
    /// any other trouble concerns all of them.
    pub(crate) fn keep(&self, batch: &[Pending]) -> Result<Vec<(usize, StoreError)>, StoreError> {
        let database = self.writable()?;
        let mut placed = self.place(batch.iter().flat_map(|pending| &pending.objects))?;
        let mut left_out = Vec::new();
        let mut rows = Vec::with_capacity(batch.len());
        for (position, pending) in batch.iter().enumerate() {
            let unplaced = pending
                .objects
                .iter()
                .find(|object| placed.refused.contains_key(&object.digest));
            match unplaced.and_then(|object| placed.refused.get_mut(&object.digest)) {
                Some(reason) => left_out.push((position, repeat(reason))),
                None => rows.push(Row::new(&pending.record)),
            }
        }
        if rows.is_empty() && placed.durable.is_empty() {
            return Ok(left_out);
        }
        let walls = walls(batch);
        let used = crate::store::now();
        let objects: Vec<(Digest, ObjectRow)> = placed
            .durable
            .iter()
            .map(|(digest, seen)| {
                let wall = walls.get(digest).copied().unwrap_or(0);
                (
                    *digest,
                    ObjectRow {
                        seen: *seen,
                        wall,
                        used,
                    },
                )
            })
            .collect();
        let mut entries = Batch::default();
        for (digest, row) in &objects {
            entries.object(digest, row);
        }
        for row in &rows {
            row.journal(&mut entries);
        }
        database.keep(&entries, |transaction, interned| {
            for (digest, row) in &objects {
                insert_object(transaction, digest, row)?;
            }
            Row::insert(&mut rows, transaction, interned)
        })?;
        Ok(left_out)
    }
}

/// For each object, how long the slowest task that made it took.
fn walls(batch: &[Pending]) -> HashMap<Digest, u64> {
    let mut walls = HashMap::new();
    for pending in batch {
        for object in &pending.objects {
            let wall = walls.entry(object.digest).or_insert(0);
            *wall = pending.record.wall.max(*wall);
        }
    }
    walls
}

/// The same error again, for those who are told later.
pub(crate) fn repeat(error: &StoreError) -> StoreError {
    match error {
        StoreError::Io { what, source } => {
            let source = match source.raw_os_error() {
                Some(code) => std::io::Error::from_raw_os_error(code),
                None => std::io::Error::new(source.kind(), source.to_string()),
            };
            StoreError::Io {
                what: what.clone(),
                source,
            }
        }
        StoreError::Database(message) => StoreError::Database(message.clone()),
        StoreError::Missing(digest) => StoreError::Missing(*digest),
        StoreError::Damaged { what } => StoreError::Damaged { what: what.clone() },
        StoreError::Format {
            path,
            found,
            wanted,
        } => StoreError::Format {
            path: path.clone(),
            found: *found,
            wanted: *wanted,
        },
        StoreError::ReadOnly => StoreError::ReadOnly,
        StoreError::NetworkFileSystem { path, kind } => StoreError::NetworkFileSystem {
            path: path.clone(),
            kind,
        },
    }
}
