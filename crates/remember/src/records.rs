//! Records of products: finding them, and mending those that are damaged.
//!
//! Law: what is looked up is compared in all its 32 bytes. A row that is damaged is never given out: it is taken from
//! the journal, and where that does not have it either it is removed, so that the product is made anew.
//!
//! A recipe that has no row may be an alias, and then stands for the row of its target. A target always is a product,
//! never another alias, so that nothing has to be followed further; one that is gone makes its aliases count as not
//! there. A content key is a recipe too, that of a task that reads everything from outside: the products made under
//! it are those that have it as their content key and the one that has it as its recipe.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use headwater_graph::{Alias, Mode, ProductRecord, Recipe, Records, Store, StoreError, Times};
use rusqlite::Connection;

use crate::aliases;
use crate::database::Database;
use crate::journal::{Batch, Entry};
use crate::lookup::{Table, find, in_index_order, prefix};
use crate::product_rows::{COLUMNS, Names, Row, name, record};
use crate::store::FolderStore;

/// Calls `found` with what is read of each product that one of the recipes is, or is an alias of, and their positions;
/// the columns are those named, of which the first is the recipe. A product may come twice: for its recipe, and for aliases.
fn find_products<T>(
    connection: &Connection,
    columns: &'static str,
    recipes: &[Recipe],
    mut read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    mut found: impl FnMut(&[usize], T) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let table = Table::Products;
    let absent = find(connection, table, columns, recipes, &mut read, &mut found)?;
    if absent.is_empty() {
        return Ok(());
    }
    let asked: Vec<Recipe> = absent.iter().map(|position| recipes[*position]).collect();
    let (positions, targets): (Vec<usize>, Vec<Recipe>) = aliases::targets(connection, &asked)?
        .into_iter()
        .map(|(at, target)| (absent[at], target))
        .unzip();
    let mut of_product = Vec::new();
    let found = |at: &[usize], read: T| {
        of_product.clear();
        of_product.extend(at.iter().map(|at| positions[*at]));
        found(&of_product, read)
    };
    find(connection, table, columns, &targets, read, found)?;
    Ok(())
}

/// The recipe in the first column; `None` where it is damaged.
fn own_recipe(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Recipe>> {
    let bytes = row.get_ref(0)?.as_blob().unwrap_or_default();
    Ok(<[u8; 32]>::try_from(bytes).ok().map(Recipe))
}

/// What a look-up of whole records came to.
struct Found {
    /// In the order of the question.
    answer: Vec<Option<Arc<ProductRecord>>>,
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
        read(connection, &mut self.names, &mut self.damaged, row)
    }

    /// Answers with the products that recipes are, and, if `by_alias`, with those that they are equal to.
    fn take(
        &mut self,
        connection: &Connection,
        recipes: &[Recipe],
        by_alias: bool,
    ) -> rusqlite::Result<()> {
        let Found {
            answer,
            damaged,
            names,
        } = self;
        let read =
            |row: &rusqlite::Row<'_>| Ok(read(connection, names, damaged, row)?.map(Arc::new));
        let found = |positions: &[usize], record: Option<Arc<ProductRecord>>| {
            for position in positions {
                answer[*position].clone_from(&record);
            }
            Ok(())
        };
        if by_alias {
            find_products(connection, COLUMNS, recipes, read, found)
        } else {
            find(connection, Table::Products, COLUMNS, recipes, read, found).map(|_| ())
        }
    }
}

/// The record in a row; one that is damaged is noted as such.
fn read(
    connection: &Connection,
    names: &mut Names,
    damaged: &mut Vec<(Recipe, i64)>,
    row: &rusqlite::Row<'_>,
) -> rusqlite::Result<Option<ProductRecord>> {
    let Some(recipe) = own_recipe(row)? else {
        return Ok(None);
    };
    let record = record(connection, names, row)?;
    if record.is_none() {
        damaged.push((recipe, row.get(1)?));
    }
    Ok(record)
}

/// Records that nobody shares; those that several share are copied.
fn own(records: Vec<Option<Arc<ProductRecord>>>) -> Vec<Option<ProductRecord>> {
    let records = records.into_iter();
    records
        .map(|record| record.map(Arc::unwrap_or_clone))
        .collect()
}

/// Asks once more after rows were mended. Rows that are damaged again were written right, so that something they name
/// is not; then the whole database is made anew.
fn ask_again(
    database: &Database,
    ask: impl Fn(&Connection) -> rusqlite::Result<Found>,
) -> Result<Found, StoreError> {
    let mut is_first = true;
    database.read(|connection| {
        let found = ask(connection)?;
        if std::mem::take(&mut is_first) && !found.damaged.is_empty() {
            let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            let reason = "rows are damaged again after they were mended".to_owned();
            return Err(rusqlite::Error::SqliteFailure(corrupt, Some(reason)));
        }
        Ok(found)
    })
}

/// Records read at once when all are.
const PART: i64 = 10_000;

impl FolderStore {
    /// Reads every record, some at a time so that no writer has to keep old states for long. Returns how many there
    /// are and how many of them are damaged; those are mended together, so that the journal is read once.
    pub(crate) fn verify_records(&self) -> Result<(u64, u64), StoreError> {
        let (mut read, mut damaged) = (0, 0);
        let mut to_mend = Vec::new();
        let mut last = Some(i64::MIN);
        let Some(database) = self.database() else {
            return Ok((0, 0));
        };
        while let Some(after) = last {
            let (found, part, bad, end) = database.read(|connection| {
                let mut found = Found::new(0);
                let (mut part, mut bad, mut end) = (0, 0, None);
                let question =
                    format!("SELECT {COLUMNS} FROM products WHERE id > ? ORDER BY id LIMIT {PART}");
                let mut statement = connection.prepare_cached(&question)?;
                let mut rows = statement.query([after])?;
                while let Some(row) = rows.next()? {
                    end = Some(row.get::<_, i64>(1)?);
                    part += 1;
                    // Also one whose very recipe is not legible, which nobody can ask for.
                    bad += u64::from(found.read(connection, row)?.is_none());
                }
                Ok((found, part, bad, end))
            })?;
            read += part;
            damaged += bad;
            last = end;
            to_mend.extend(found.damaged);
        }
        if !to_mend.is_empty() {
            self.mend(&to_mend)?;
            if self.mode() == Mode::ReadWrite {
                let mut recipes: Vec<Recipe> = to_mend.iter().map(|(recipe, _)| *recipe).collect();
                recipes.sort_unstable();
                recipes.dedup();
                ask_again(database, |connection| {
                    let mut found = Found::new(recipes.len());
                    found.take(connection, &recipes, false)?;
                    Ok(found)
                })?;
            }
        }
        Ok((read, damaged))
    }

    /// Asks, and asks again if that had to be mended which was found.
    fn mended(
        &self,
        ask: impl Fn(&Connection) -> rusqlite::Result<Found>,
    ) -> Result<Option<Vec<Option<Arc<ProductRecord>>>>, StoreError> {
        let Some(database) = self.database() else {
            return Ok(None);
        };
        let mut found = database.read(&ask)?;
        if !found.damaged.is_empty() {
            found.damaged.sort_unstable();
            found.damaged.dedup();
            self.mend(&found.damaged)?;
            if self.mode() == Mode::ReadWrite {
                found = ask_again(database, ask)?;
            }
        }
        Ok(Some(found.answer))
    }

    /// Replaces damaged rows by what the journal says; removes them where it says nothing. In a store that may not be
    /// written to they are only told of.
    fn mend(&self, damaged: &[(Recipe, i64)]) -> Result<(), StoreError> {
        if damaged.is_empty() {
            return Ok(());
        }
        if self.mode() == Mode::ReadOnly {
            for (recipe, _) in damaged {
                self.note_damage(format!("the record of recipe {recipe}"));
            }
            return Ok(());
        }
        let database = self.writable()?;
        let mut records: HashMap<Recipe, Option<ProductRecord>> =
            damaged.iter().map(|(recipe, _)| (*recipe, None)).collect();
        // Without a journal there is nothing to be had from it.
        if let Ok(mut scan) = database.journal().scan(0) {
            while let Some(entry) = scan.next_entry()? {
                if let Entry::Product(record) = entry
                    && let Some(place) = records.get_mut(&record.recipe)
                {
                    *place = Some(*record);
                }
            }
        }
        database.write(|transaction, interned| {
            let mut remove =
                transaction.prepare_cached("DELETE FROM products WHERE id = ? AND recipe = ?")?;
            // Without details a row gives way to the one from the journal, and that keeps its number.
            let mut empty = transaction.prepare_cached(
                "UPDATE products SET prefix = ?, details = x'' WHERE id = ? AND recipe = ?",
            )?;
            let mut remove_others = transaction.prepare_cached(
                "DELETE FROM products WHERE prefix = ? AND recipe = ? AND id <> ?",
            )?;
            for (recipe, id) in damaged {
                if records.get(recipe).is_none_or(Option::is_none) {
                    remove.execute((id, &recipe.0[..]))?;
                } else if empty.execute((prefix(recipe), id, &recipe.0[..]))? > 0 {
                    remove_others.execute((prefix(recipe), &recipe.0[..], id))?;
                }
            }
            let mut rows: Vec<Row<'_>> = records.values().flatten().map(Row::new).collect();
            Row::insert(&mut rows, transaction, interned)
        })?;
        for (recipe, record) in &records {
            let end = match record {
                Some(_) => "; it was taken from the journal",
                None => "",
            };
            self.note_damage(format!("the record of recipe {recipe}{end}"));
        }
        Ok(())
    }
}

impl Records for FolderStore {
    fn fetch_shared(
        &self,
        recipes: &[Recipe],
    ) -> Result<Vec<Option<Arc<ProductRecord>>>, StoreError> {
        let answer = self.mended(|connection| {
            let mut found = Found::new(recipes.len());
            found.take(connection, recipes, true)?;
            Ok(found)
        })?;
        Ok(answer.unwrap_or_else(|| vec![None; recipes.len()]))
    }

    fn equal(&self, keys: &[Recipe]) -> Result<Vec<Option<ProductRecord>>, StoreError> {
        let answer = self.mended(|connection| {
            let mut found = Found::new(keys.len());
            found.take(connection, keys, false)?;
            // Of several the latest: that its bytes are still there is likeliest.
            let question =
                format!("SELECT {COLUMNS} FROM products WHERE content = ? ORDER BY id DESC");
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
                        found.answer[position] = Some(Arc::new(record));
                        break;
                    }
                }
            }
            Ok(found)
        })?;
        Ok(answer.map_or_else(|| vec![None; keys.len()], own))
    }

    fn times(&self, recipes: &[Recipe]) -> Result<Vec<Option<Times>>, StoreError> {
        let Some(database) = self.database() else {
            return Ok(vec![None; recipes.len()]);
        };
        database.read(|connection| {
            let mut answer = vec![None; recipes.len()];
            let times = |row: &rusqlite::Row<'_>| {
                let number =
                    |column| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.cast_unsigned());
                let (wall, cpu) = (number(1)?, number(2)?);
                Ok(Times { wall, cpu })
            };
            let found = |positions: &[usize], times: Times| {
                for position in positions {
                    answer[*position] = Some(times);
                }
                Ok(())
            };
            find_products(connection, "recipe, wall, cpu", recipes, times, found)?;
            Ok(answer)
        })
    }

    fn products_of(&self, recipes: &[Recipe]) -> Result<Vec<Option<Recipe>>, StoreError> {
        let Some(database) = self.database() else {
            return Ok(vec![None; recipes.len()]);
        };
        database.read(|connection| {
            let mut answer = vec![None; recipes.len()];
            let found = |positions: &[usize], product: Option<Recipe>| {
                for position in positions {
                    answer[*position] = product;
                }
                Ok(())
            };
            find_products(connection, "recipe", recipes, own_recipe, found)?;
            Ok(answer)
        })
    }

    fn makers_of(&self, recipes: &[Recipe]) -> Result<Vec<Arc<str>>, StoreError> {
        let Some(database) = self.database() else {
            return Ok(Vec::new());
        };
        database.read(|connection| {
            let mut numbers = BTreeSet::new();
            let run = |row: &rusqlite::Row<'_>| row.get::<_, i64>(1);
            find_products(connection, "recipe, run", recipes, run, |_, run| {
                numbers.insert(run);
                Ok(())
            })?;
            let mut names = Names::new();
            let mut runs = Vec::new();
            for number in numbers {
                runs.extend(name(connection, &mut names, number)?);
            }
            Ok(runs)
        })
    }

    fn aliases(&self, recipes: &[Recipe]) -> Result<Vec<Option<Alias>>, StoreError> {
        let Some(database) = self.database() else {
            return Ok(vec![None; recipes.len()]);
        };
        database.read(|connection| {
            let mut names = Names::new();
            let mut answer = vec![None; recipes.len()];
            let read = |row: &rusqlite::Row<'_>| {
                let target = <[u8; 32]>::try_from(row.get_ref(1)?.as_blob()?).ok();
                Ok((target, row.get::<_, i64>(2)?, row.get(3)?))
            };
            let found = |positions: &[usize], (target, run, time): (Option<[u8; 32]>, i64, i64)| {
                let run = name(connection, &mut names, run)?;
                for position in positions {
                    answer[*position] = target.zip(run.clone()).map(|(target, run)| Alias {
                        recipe: recipes[*position],
                        target: Recipe(target),
                        run,
                        time,
                    });
                }
                Ok(())
            };
            let columns = "recipe, target, run, time";
            find(connection, Table::Aliases, columns, recipes, read, found)?;
            Ok(answer)
        })
    }

    fn register(&self, records: &[ProductRecord]) -> Result<(), StoreError> {
        let database = self.writable()?;
        let mut rows: Vec<Row<'_>> = records.iter().map(Row::new).collect();
        let mut batch = Batch::default();
        for row in &rows {
            row.journal(&mut batch);
        }
        database.keep(&batch, |transaction, interned| {
            Row::insert(&mut rows, transaction, interned)
        })
    }
}
