//! Rows of products: reading and adding them.
//!
//! Law: a recipe has at most one row. A row that is not in every column what was written is damaged, and gives no
//! record (see `packed`).

use std::collections::HashMap;
use std::sync::Arc;

use headwater_graph::{ProductRecord, Recipe};
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::connections::Interned;
use crate::journal::Batch;
use crate::lookup::prefix;
use crate::packed::{self, Columns, SEAL};

/// A record ready to be inserted: everything that can be prepared is, because others wait while it is inserted.
pub(crate) struct Row<'a> {
    prefix: i64,
    record: &'a ProductRecord,
    /// With the seal.
    details: Vec<u8>,
}

impl<'a> Row<'a> {
    /// Prepares a record.
    pub(crate) fn new(record: &'a ProductRecord) -> Row<'a> {
        Row {
            prefix: prefix(&record.recipe),
            record,
            details: packed::pack(record),
        }
    }

    /// Adds the record to what is to be appended to the journal.
    pub(crate) fn journal(&self, batch: &mut Batch) {
        batch.product(self.record, self.lists());
    }

    /// The details without the seal.
    fn lists(&self) -> &[u8] {
        &self.details[..self.details.len() - SEAL]
    }

    /// Adds rows. A recipe that has a row with the same details keeps it; one with other details gets the new ones.
    pub(crate) fn insert(
        rows: &mut [Row<'_>],
        transaction: &Transaction<'_>,
        interned: &mut Interned,
    ) -> rusqlite::Result<()> {
        rows.sort_by_key(|row| row.prefix);
        let mut present = transaction
            .prepare_cached("SELECT id, recipe, details FROM products WHERE prefix = ?")?;
        let mut insert = transaction.prepare_cached(
            "INSERT INTO products
             (id, prefix, recipe, content, operation, version, run, wall, cpu, peak_memory, time, details)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        let mut remove = transaction.prepare_cached("DELETE FROM products WHERE id = ?")?;
        for row in rows {
            let record = row.record;
            let mut replaced = None;
            let mut candidates = present.query([row.prefix])?;
            let mut same = false;
            while let Some(candidate) = candidates.next()? {
                if candidate.get_ref(1)?.as_blob()? == record.recipe.0 {
                    same = packed::says_the_same(candidate.get_ref(2)?.as_blob()?, &row.details);
                    replaced = Some(candidate.get::<_, i64>(0)?);
                    break;
                }
            }
            drop(candidates);
            if same {
                continue;
            }
            // A task that is remembered runs again only because its bytes are gone or damaged, or because two
            // processes were at it at once. If its outputs differ then, the latest are those that are surely there.
            if let Some(id) = replaced {
                remove.execute([id])?;
            }
            insert.execute((
                replaced,
                row.prefix,
                &record.recipe.0[..],
                record.content.as_ref().map(prefix),
                interned.number(transaction, &record.operation)?,
                interned.number(transaction, &record.version)?,
                interned.number(transaction, &record.run)?,
                record.wall.cast_signed(),
                record.cpu.cast_signed(),
                record.peak_memory.cast_signed(),
                record.time,
                &row.details[..],
            ))?;
        }
        Ok(())
    }
}

/// Texts by their number in the table `names`. They never change, so a copy is as good.
pub(crate) type Names = HashMap<i64, Arc<str>>;

/// The text that a number stands for; `None` where the table was damaged.
pub(crate) fn name(
    connection: &Connection,
    names: &mut Names,
    number: i64,
) -> rusqlite::Result<Option<Arc<str>>> {
    if let Some(name) = names.get(&number) {
        return Ok(Some(Arc::clone(name)));
    }
    let name: Option<Arc<str>> = connection
        .prepare_cached("SELECT text FROM names WHERE id = ?")?
        .query_row([number], |row| Ok(Arc::from(row.get_ref(0)?.as_str()?)))
        .optional()?;
    if let Some(name) = &name {
        names.insert(number, Arc::clone(name));
    }
    Ok(name)
}

/// The columns that [`record`] and [`from_row`] read.
pub(crate) const COLUMNS: &str =
    "recipe, id, operation, version, run, wall, cpu, peak_memory, time, details";

/// Puts a row together; `None` where it is damaged.
pub(crate) fn record(
    connection: &Connection,
    names: &mut Names,
    row: &rusqlite::Row<'_>,
) -> rusqlite::Result<Option<ProductRecord>> {
    for column in [2, 3, 4] {
        if name(connection, names, row.get(column)?)?.is_none() {
            return Ok(None);
        }
    }
    Ok(from_row(names, row, 0))
}

/// Puts a row together, whose columns begin at an offset; `None` where it is damaged or names are missing.
pub(crate) fn from_row(
    names: &Names,
    row: &rusqlite::Row<'_>,
    offset: usize,
) -> Option<ProductRecord> {
    let blob = |column: usize| row.get_ref(offset + column).ok()?.as_blob().ok();
    let number = |column: usize| row.get::<_, i64>(offset + column).ok();
    let text = |column: usize| names.get(&number(column)?).cloned();
    let columns = Columns {
        recipe: Recipe(blob(0)?.try_into().ok()?),
        operation: text(2)?,
        version: text(3)?,
        run: text(4)?,
        wall: number(5)?.cast_unsigned(),
        cpu: number(6)?.cast_unsigned(),
        peak_memory: number(7)?.cast_unsigned(),
        time: number(8)?,
    };
    packed::unpack(columns, blob(9)?)
}
