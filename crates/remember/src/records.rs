//! Rows of products: finding, reading and adding them.
//!
//! Law: a recipe has at most one row. What is looked up is compared in all its 32 bytes. A row whose details are
//! damaged counts as not there and is removed, so that the product is made anew.
//!
//! A recipe that has no row may be an alias, and then stands for the row of its target. A target always is a product,
//! never another alias, so that nothing has to be followed further; one that is gone makes its aliases count as not
//! there. A content key is a recipe too, that of a task that reads everything from outside: the products made under
//! it are those that have it as their content key and the one that has it as its recipe.

use std::collections::HashMap;
use std::sync::Arc;

use headwater_graph::{Known, ProductRecord, Recipe, Records, StoreError};
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::aliases;
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

/// Calls `found` with the position and the row of each recipe that has one; returns the positions of the others. The
/// question has one parameter, the prefix, and its first column is the recipe.
pub(crate) fn find(
    connection: &Connection,
    question: &str,
    recipes: &[Recipe],
    mut found: impl FnMut(usize, &rusqlite::Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<Vec<usize>> {
    let mut statement = connection.prepare_cached(question)?;
    let mut absent = Vec::new();
    'next: for (prefix, position) in in_index_order(recipes) {
        let mut rows = statement.query([prefix])?;
        while let Some(row) = rows.next()? {
            if row.get_ref(0)?.as_blob()? == recipes[position].0 {
                found(position, row)?;
                continue 'next;
            }
        }
        absent.push(position);
    }
    Ok(absent)
}

/// Calls `found` with the position of each recipe that is a product or an alias of one, and the product's row: the
/// recipe and then the columns named.
fn find_products(
    connection: &Connection,
    columns: &str,
    recipes: &[Recipe],
    mut found: impl FnMut(usize, &rusqlite::Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let question = format!("SELECT recipe, {columns} FROM products WHERE prefix = ?");
    let absent = find(connection, &question, recipes, &mut found)?;
    if absent.is_empty() {
        return Ok(());
    }
    let asked: Vec<Recipe> = absent.iter().map(|position| recipes[*position]).collect();
    let (positions, targets): (Vec<usize>, Vec<Recipe>) = aliases::targets(connection, &asked)?
        .into_iter()
        .map(|(at, target)| (absent[at], target))
        .unzip();
    find(connection, &question, &targets, |at, row| {
        found(positions[at], row)
    })?;
    Ok(())
}

/// The recipe in the first column; `None` where it is damaged.
fn own_recipe(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Recipe>> {
    let bytes = row.get_ref(0)?.as_blob().unwrap_or_default();
    Ok(<[u8; 32]>::try_from(bytes).ok().map(Recipe))
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

/// The columns that [`record`] reads, after the recipe.
pub(crate) const COLUMNS: &str =
    "id, operation, version, run, wall, cpu, peak_memory, time, details";

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

/// What a look-up of whole records came to.
struct Found {
    answer: Vec<Option<ProductRecord>>,
    damaged: Vec<(Recipe, i64)>,
    names: Names,
}

impl Found {
    fn new(count: usize) -> Found {
        Found {
            answer: vec![None; count],
            damaged: Vec::new(),
            names: Names::new(),
        }
    }

    /// The record in a row; one that is damaged is noted as such.
    fn read(
        &mut self,
        connection: &Connection,
        row: &rusqlite::Row<'_>,
    ) -> rusqlite::Result<Option<ProductRecord>> {
        let Some(recipe) = own_recipe(row)? else {
            return Ok(None);
        };
        let record = record(connection, &mut self.names, recipe, row)?;
        if record.is_none() {
            self.damaged.push((recipe, row.get(1)?));
        }
        Ok(record)
    }
}

/// Records read at once when all are.
const PART: i64 = 10_000;

impl Store {
    /// Reads every record, some at a time so that no writer has to keep old states for long. Returns how many there
    /// are and how many of them are damaged.
    pub(crate) fn verify_records(&self) -> Result<(u64, u64), StoreError> {
        let (mut read, mut damaged) = (0, 0);
        let (mut last, mut is_done) = (i64::MIN, false);
        let Some(database) = self.database() else {
            return Ok((0, 0));
        };
        while !is_done {
            let mut found = Found::new(0);
            database.read(|connection| {
                let question = format!(
                    "SELECT recipe, {COLUMNS} FROM products WHERE id > ? ORDER BY id LIMIT {PART}"
                );
                let mut statement = connection.prepare_cached(&question)?;
                let mut rows = statement.query([last])?;
                is_done = true;
                while let Some(row) = rows.next()? {
                    is_done = false;
                    last = row.get(1)?;
                    read += 1;
                    // Also one whose very recipe is not legible, which nobody can ask for.
                    damaged += u64::from(found.read(connection, row)?.is_none());
                }
                Ok(())
            })?;
            self.forget_damaged(&found.damaged)?;
        }
        Ok((read, damaged))
    }
}

impl Known for Store {
    fn known(&self, recipes: &[Recipe]) -> Result<Vec<Option<u64>>, StoreError> {
        let mut answer = vec![None; recipes.len()];
        let Some(database) = self.database() else {
            return Ok(answer);
        };
        database.read(|connection| {
            find_products(connection, "wall", recipes, |position, row| {
                answer[position] = Some(row.get::<_, i64>(1)?.cast_unsigned());
                Ok(())
            })
        })?;
        Ok(answer)
    }
}

impl Records for Store {
    fn fetch(&self, recipes: &[Recipe]) -> Result<Vec<Option<ProductRecord>>, StoreError> {
        let mut found = Found::new(recipes.len());
        let Some(database) = self.database() else {
            return Ok(found.answer);
        };
        database.read(|connection| {
            find_products(connection, COLUMNS, recipes, |position, row| {
                found.answer[position] = found.read(connection, row)?;
                Ok(())
            })
        })?;
        self.forget_damaged(&found.damaged)?;
        Ok(found.answer)
    }

    fn equal(&self, keys: &[Recipe]) -> Result<Vec<Option<ProductRecord>>, StoreError> {
        let mut found = Found::new(keys.len());
        let Some(database) = self.database() else {
            return Ok(found.answer);
        };
        database.read(|connection| {
            let question = format!("SELECT recipe, {COLUMNS} FROM products WHERE prefix = ?");
            find(connection, &question, keys, |position, row| {
                found.answer[position] = found.read(connection, row)?;
                Ok(())
            })?;
            // Of several the latest: that its bytes are still there is likeliest.
            let question = format!(
                "SELECT recipe, {COLUMNS} FROM products WHERE content = ? ORDER BY id DESC"
            );
            let mut statement = connection.prepare_cached(&question)?;
            for (prefix, position) in in_index_order(keys) {
                if found.answer[position].is_some() {
                    continue;
                }
                let mut rows = statement.query([prefix])?;
                while let Some(row) = rows.next()? {
                    let Some(record) = found.read(connection, row)? else {
                        continue;
                    };
                    if record.content == Some(keys[position]) {
                        found.answer[position] = Some(record);
                        break;
                    }
                }
            }
            Ok(())
        })?;
        found.damaged.sort_unstable();
        found.damaged.dedup();
        self.forget_damaged(&found.damaged)?;
        Ok(found.answer)
    }

    fn register(&self, records: &[ProductRecord]) -> Result<(), StoreError> {
        let database = self.writable()?;
        let mut rows: Vec<Row<'_>> = records.iter().map(Row::new).collect();
        database.write(|transaction, interned| Row::insert(&mut rows, transaction, interned))
    }
}
