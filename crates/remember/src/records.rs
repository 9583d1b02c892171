//! Rows of products: finding, reading and adding them.
//!
//! Law: a recipe has at most one row. What is looked up is compared in all its 32 bytes. A row whose details are
//! damaged counts as not there and is removed, so that the product is made anew.

use std::collections::HashMap;
use std::sync::Arc;

use headwater_graph::{Known, ProductRecord, Recipe, Records, StoreError};
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::database::Interned;
use crate::details;
use crate::store::Store;

/// The part of a recipe that the index holds.
pub(crate) fn prefix(recipe: &Recipe) -> i64 {
    let mut first = [0; 8];
    first.copy_from_slice(&recipe.0[..8]);
    i64::from_be_bytes(first)
}

/// Positions in the order of the index, in which neighbours lie on the same pages.
fn in_index_order(recipes: &[Recipe]) -> Vec<(i64, usize)> {
    let mut order: Vec<(i64, usize)> = recipes
        .iter()
        .enumerate()
        .map(|(position, recipe)| (prefix(recipe), position))
        .collect();
    order.sort_unstable();
    order
}

/// A record ready to be inserted: everything that can be prepared is, because others wait while it is inserted.
pub(crate) struct Row<'a> {
    prefix: i64,
    record: &'a ProductRecord,
    details: Vec<u8>,
}

impl<'a> Row<'a> {
    /// Prepares a record.
    pub(crate) fn new(record: &'a ProductRecord) -> Row<'a> {
        let details = details::write(
            &record.recipe,
            record.content.as_ref(),
            &record.parameters,
            &record.inputs,
            &record.outputs,
        );
        Row {
            prefix: prefix(&record.recipe),
            record,
            details,
        }
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
                    same = candidate.get_ref(2)?.as_blob()? == row.details;
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
fn name(
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

/// The columns that [`record`] reads.
pub(crate) const COLUMNS: &str =
    "recipe, id, operation, version, run, wall, cpu, peak_memory, time, details";

/// Puts a row together; `None` where it is damaged.
pub(crate) fn record(
    connection: &Connection,
    names: &mut Names,
    recipe: Recipe,
    row: &rusqlite::Row<'_>,
) -> rusqlite::Result<Option<ProductRecord>> {
    let Ok(details) = details::read(&recipe, row.get_ref(9)?.as_blob()?) else {
        return Ok(None);
    };
    let mut text = |column: usize| name(connection, names, row.get(column)?);
    let (Some(operation), Some(version), Some(run)) = (text(2)?, text(3)?, text(4)?) else {
        return Ok(None);
    };
    Ok(Some(ProductRecord {
        recipe,
        content: details.content,
        operation,
        version,
        parameters: details.parameters,
        inputs: details.inputs,
        outputs: details.outputs,
        wall: row.get::<_, i64>(5)?.cast_unsigned(),
        cpu: row.get::<_, i64>(6)?.cast_unsigned(),
        peak_memory: row.get::<_, i64>(7)?.cast_unsigned(),
        run,
        time: row.get(8)?,
    }))
}

impl Store {
    fn forget_damaged(&self, damaged: &[(Recipe, i64)]) -> Result<(), StoreError> {
        for (recipe, _) in damaged {
            self.note_damage(format!("the record of recipe {recipe}"));
        }
        match self.writable() {
            Ok(database) if !damaged.is_empty() => database.write(|transaction, _| {
                let mut remove = transaction
                    .prepare_cached("DELETE FROM products WHERE id = ? AND recipe = ?")?;
                for (recipe, id) in damaged {
                    remove.execute((id, &recipe.0[..]))?;
                }
                Ok(())
            }),
            _ => Ok(()),
        }
    }
}

impl Known for Store {
    fn known(&self, recipes: &[Recipe]) -> Result<Vec<Option<u64>>, StoreError> {
        let mut answer = vec![None; recipes.len()];
        let Some(database) = self.database() else {
            return Ok(answer);
        };
        database.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT recipe, wall FROM products WHERE prefix = ?")?;
            for (prefix, position) in in_index_order(recipes) {
                let mut rows = statement.query([prefix])?;
                while let Some(row) = rows.next()? {
                    if row.get_ref(0)?.as_blob()? == recipes[position].0 {
                        answer[position] = Some(row.get::<_, i64>(1)?.cast_unsigned());
                        break;
                    }
                }
            }
            Ok(())
        })?;
        Ok(answer)
    }
}

impl Records for Store {
    fn fetch(&self, recipes: &[Recipe]) -> Result<Vec<Option<ProductRecord>>, StoreError> {
        let mut answer = vec![None; recipes.len()];
        let Some(database) = self.database() else {
            return Ok(answer);
        };
        let mut damaged = Vec::new();
        let mut names = Names::new();
        database.read(|connection| {
            let question = format!("SELECT {COLUMNS} FROM products WHERE prefix = ?");
            let mut statement = connection.prepare_cached(&question)?;
            for (prefix, position) in in_index_order(recipes) {
                let recipe = recipes[position];
                let mut rows = statement.query([prefix])?;
                while let Some(row) = rows.next()? {
                    if row.get_ref(0)?.as_blob()? == recipe.0 {
                        answer[position] = record(connection, &mut names, recipe, row)?;
                        if answer[position].is_none() {
                            damaged.push((recipe, row.get(1)?));
                        }
                        break;
                    }
                }
            }
            Ok(())
        })?;
        self.forget_damaged(&damaged)?;
        Ok(answer)
    }

    fn register(&self, records: &[ProductRecord]) -> Result<(), StoreError> {
        let database = self.writable()?;
        let mut rows: Vec<Row<'_>> = records.iter().map(Row::new).collect();
        database.write(|transaction, interned| Row::insert(&mut rows, transaction, interned))
    }
}
