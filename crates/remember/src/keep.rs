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
//! From before step 1, in which it is found out which objects are new, until after step 4 the lock `objects.lock` is
//! held, so that no collection takes away what step 4 speaks of.
//!
//! Whoever sees a record sees its objects; a crash between two steps leaves files that nobody speaks of. What is
//! under the name of a digest is always complete, so that two processes may place the same object at once.

use std::collections::HashMap;
use std::io::Read;

use headwater_graph::{Digest, Pending, StoreEntry, StoreError};

use crate::aliases;
use crate::clock::now;
use crate::journal::Batch;
use crate::object_rows::{ObjectRow, insert_object};
use crate::objects::Placed;
use crate::product_rows::Row;
use crate::store::FolderStore;

impl FolderStore {
    /// See [`Objects::keep`](headwater_graph::Objects::keep).
    pub(crate) fn keep_batch(
        &self,
        batch: &[StoreEntry],
    ) -> Result<Vec<(usize, StoreError)>, StoreError> {
        let database = self.writable()?;
        let products = || batch.iter().filter_map(product);
        // Nobody takes away what is found to be there, or put there, before the rows say so.
        let has_objects = products().any(|pending| !pending.objects.is_empty());
        let _lock = has_objects.then(|| self.placing()).transpose()?;
        let mut placed = self.place(products().flat_map(|pending| &pending.objects))?;
        let mut left_out = Vec::new();
        let mut rows = Vec::with_capacity(batch.len());
        let mut aliases = Vec::new();
        for (position, entry) in batch.iter().enumerate() {
            let pending = match entry {
                StoreEntry::Product(pending) => pending,
                StoreEntry::Alias(alias) => {
                    aliases.push((position, alias));
                    continue;
                }
            };
            let unplaced = pending
                .objects
                .iter()
                .find(|object| placed.refused.contains_key(&object.digest));
            match unplaced.and_then(|object| placed.refused.get_mut(&object.digest)) {
                Some(reason) => left_out.push((position, repeat(reason))),
                None => rows.push(Row::new(&pending.record)),
            }
        }
        if rows.is_empty() && aliases.is_empty() && placed.durable.is_empty() {
            return Ok(left_out);
        }
        let walls = walls(products());
        let now = now();
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
                        used: now,
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
        for (_, alias) in &aliases {
            entries.alias(alias);
        }
        let lost = database.keep(&entries, |transaction, interned| {
            for (digest, row) in &objects {
                insert_object(transaction, digest, row)?;
            }
            let mut again = transaction.prepare_cached(
                "UPDATE objects SET wall = max(wall, ?), used = max(used, ?) WHERE digest = ?",
            )?;
            for digest in &placed.present {
                let wall = walls.get(digest).copied().unwrap_or(0).cast_signed();
                again.execute((wall, now, &digest.0[..]))?;
            }
            Row::insert(&mut rows, transaction, interned)?;
            // After the products, which they may speak of.
            aliases::insert(&aliases, transaction, interned)
        })?;
        for (position, alias) in aliases {
            if lost.binary_search(&position).is_ok() {
                left_out.push((position, aliases::lost(alias)));
            }
        }
        left_out.sort_by_key(|(position, _)| *position);
        Ok(left_out)
    }
}

impl FolderStore {
    /// See [`Objects::bring`](headwater_graph::Objects::bring).
    pub(crate) fn bring_batch(
        &self,
        objects: &mut [(Digest, &mut dyn Read)],
    ) -> Result<Vec<(usize, StoreError)>, StoreError> {
        let database = self.writable()?;
        let mut left_out = Vec::new();
        let mut copies = Vec::new();
        for (position, (digest, bytes)) in objects.iter_mut().enumerate() {
            match self.copy_in(digest, *bytes) {
                Ok(name) => copies.push((*digest, name, None)),
                Err(error) => left_out.push((position, error)),
            }
        }
        let _lock = self.placing()?;
        let mut placed = Placed::default();
        self.place_incoming(copies, &mut placed)?;
        if placed.durable.is_empty() {
            return Ok(left_out);
        }
        let used = now();
        let row = |seen| ObjectRow {
            seen,
            wall: 0,
            used,
        };
        let mut entries = Batch::default();
        for (digest, seen) in &placed.durable {
            entries.object(digest, &row(*seen));
        }
        database.keep(&entries, |transaction, _| {
            let mut objects = placed.durable.iter();
            objects.try_for_each(|(digest, seen)| insert_object(transaction, digest, &row(*seen)))
        })?;
        Ok(left_out)
    }
}

fn product(entry: &StoreEntry) -> Option<&Pending> {
    match entry {
        StoreEntry::Product(pending) => Some(pending),
        StoreEntry::Alias(_) => None,
    }
}

/// For each object, how long the slowest task that made it took.
fn walls<'a>(products: impl Iterator<Item = &'a Pending>) -> HashMap<Digest, u64> {
    let mut walls = HashMap::new();
    for pending in products {
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
        StoreError::Away(why) => StoreError::Away(why.clone()),
        StoreError::Refused(why) => StoreError::Refused(why.clone()),
        StoreError::NetworkFileSystem { path, kind } => StoreError::NetworkFileSystem {
            path: path.clone(),
            kind,
        },
        StoreError::NotOwn { path } => StoreError::NotOwn { path: path.clone() },
    }
}
