//! What people ask of the records: which products there are, what came before one, what a version stands for.
//!
//! Law: a question changes nothing. A damaged row is left out of an answer, never an error; whoever looks it up by its
//! recipe has it made anew. What versions stand for is noted, not promised: losing it costs an explanation, no product.

use std::sync::Arc;

use headwater_graph::{
    FoundProduct, ProductFilter, ProductRecord, Questions, Recipe, StoreError, Verified,
    VersionParts,
};
use rusqlite::{Connection, OptionalExtension};

use crate::database::Database;
use crate::journal::{Batch, VersionRow};
use crate::lookup::prefix;
use crate::product_rows::{COLUMNS, Names, record};
use crate::rebuild::insert_version;
use crate::store::FolderStore;

/// So many recipes with one beginning are named.
pub(crate) const MOST_NAMED: usize = 10;

/// A text without the sign that separates texts.
fn separable(text: &str) -> String {
    text.replace('\0', "\u{2400}")
}

/// The records that a question finds, without damaged ones.
fn select(
    connection: &Connection,
    question: &str,
    arguments: impl rusqlite::Params,
) -> rusqlite::Result<Vec<ProductRecord>> {
    let mut names = Names::new();
    let mut found = Vec::new();
    let mut statement = connection.prepare_cached(question)?;
    let mut rows = statement.query(arguments)?;
    while let Some(row) = rows.next()? {
        found.extend(record(connection, &mut names, row)?);
    }
    Ok(found)
}

/// The number of a text in the table `names`; a number that nothing has, where it has none.
pub(crate) fn number(connection: &Connection, text: &str) -> rusqlite::Result<i64> {
    let number = connection
        .prepare_cached("SELECT id FROM names WHERE text = ?")?
        .query_row([text], |row| row.get(0))
        .optional()?;
    Ok(number.unwrap_or(-1))
}

/// A condition for products, with the numbers of the operation and of the run.
fn condition(
    connection: &Connection,
    filter: &ProductFilter,
) -> rusqlite::Result<(&'static str, i64, i64)> {
    let id = |text: &Option<String>| match text {
        Some(text) => number(connection, text),
        None => Ok(-1),
    };
    let condition = match (&filter.operation, &filter.run) {
        (None, None) => "?1 = ?2",
        (Some(_), None) => "operation = ?1 AND ?2 = -1",
        (None, Some(_)) => "?1 = -1 AND run = ?2",
        (Some(_), Some(_)) => "operation = ?1 AND run = ?2",
    };
    Ok((condition, id(&filter.operation)?, id(&filter.run)?))
}

/// Whether a text can be the beginning of a recipe.
pub(crate) fn are_digits(text: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    !text.is_empty() && text.len() <= 64 && text.bytes().all(is_plain)
}

/// The smallest and largest prefix of recipes that begin with these hexadecimal digits.
fn range(digits: &str) -> Option<(i64, i64)> {
    let first = digits.get(..digits.len().min(16))?;
    if !are_digits(digits) {
        return None;
    }
    let end = |fill: &str| {
        let whole = format!("{first}{}", fill.repeat(16 - first.len()));
        u64::from_str_radix(&whole, 16).ok().map(u64::cast_signed)
    };
    Some((end("0")?, end("f")?))
}

impl Questions for FolderStore {
    fn note_versions(&self, versions: &[(Arc<str>, VersionParts)]) -> Result<(), StoreError> {
        let database = self.writable()?;
        let joined = |parts: &[(String, String)]| -> String {
            let texts = parts.iter().flat_map(|(label, text)| [label, text]);
            texts
                .flat_map(|text| [separable(text), "\0".to_owned()])
                .collect()
        };
        let mut fresh = Vec::new();
        for (version, parts) in versions {
            let parts = joined(parts);
            if parts_text(database, version)?.as_ref() != Some(&parts) {
                let version = version.to_string();
                fresh.push(VersionRow { version, parts });
            }
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::default();
        fresh.iter().for_each(|row| batch.version(row));
        database.keep(&batch, |transaction, interned| {
            let mut rows = fresh.iter();
            rows.try_for_each(|row| insert_version(transaction, interned, row))
        })
    }

    fn version_parts(&self, version: &str) -> Result<Option<VersionParts>, StoreError> {
        let Some(database) = self.database() else {
            return Ok(None);
        };
        let Some(text) = parts_text(database, version)? else {
            return Ok(None);
        };
        let texts: Vec<&str> = text.split_terminator('\0').collect();
        let pairs = texts.chunks_exact(2);
        Ok(Some(
            pairs
                .map(|pair| (pair[0].to_owned(), pair[1].to_owned()))
                .collect(),
        ))
    }

    fn products(&self, filter: &ProductFilter) -> Result<Vec<ProductRecord>, StoreError> {
        let Some(database) = self.database() else {
            return Ok(Vec::new());
        };
        let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
        database.read(|connection| {
            let (condition, operation, run) = condition(connection, filter)?;
            let question = format!(
                "SELECT {COLUMNS} FROM products WHERE {condition} ORDER BY id DESC LIMIT ?3"
            );
            select(connection, &question, (operation, run, limit))
        })
    }

    fn count_products(&self, filter: &ProductFilter) -> Result<u64, StoreError> {
        let Some(database) = self.database() else {
            return Ok(0);
        };
        database.read(|connection| {
            let (condition, operation, run) = condition(connection, filter)?;
            let question = format!("SELECT count(*) FROM products WHERE {condition}");
            let count: i64 = connection
                .prepare_cached(&question)?
                .query_row((operation, run), |row| row.get(0))?;
            Ok(count.cast_unsigned())
        })
    }

    fn products_before(
        &self,
        product: &ProductRecord,
        limit: usize,
    ) -> Result<Vec<ProductRecord>, StoreError> {
        let Some(database) = self.database() else {
            return Ok(Vec::new());
        };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        database.read(|connection| {
            let id: Option<i64> = connection
                .prepare_cached("SELECT id FROM products WHERE prefix = ? AND recipe = ?")?
                .query_row((prefix(&product.recipe), &product.recipe.0[..]), |row| {
                    row.get(0)
                })
                .optional()?;
            let question = format!(
                "SELECT {COLUMNS} FROM products
                 WHERE operation = ? AND id < ? AND run != ? ORDER BY id DESC LIMIT ?"
            );
            let operation = number(connection, &product.operation)?;
            let run = number(connection, &product.run)?;
            select(
                connection,
                &question,
                (operation, id.unwrap_or(i64::MAX), run, limit),
            )
        })
    }

    fn find_product(&self, digits: &str) -> Result<FoundProduct, StoreError> {
        let (Some(database), Some((low, high))) = (self.database(), range(digits)) else {
            return Ok(FoundProduct::None);
        };
        database.read(|connection| {
            let mut found: Vec<(Recipe, Recipe)> = Vec::new();
            for question in [
                "SELECT recipe, recipe FROM products WHERE prefix BETWEEN ? AND ? ORDER BY recipe",
                "SELECT recipe, target FROM aliases WHERE prefix BETWEEN ? AND ? ORDER BY recipe",
            ] {
                let mut statement = connection.prepare_cached(question)?;
                let mut rows = statement.query((low, high))?;
                while let Some(row) = rows.next()? {
                    let recipe = |column| -> rusqlite::Result<Option<Recipe>> {
                        let bytes = row.get_ref(column)?.as_blob()?;
                        Ok(<[u8; 32]>::try_from(bytes).ok().map(Recipe))
                    };
                    if let (Some(asked), Some(target)) = (recipe(0)?, recipe(1)?)
                        && asked.hex().starts_with(digits)
                        && found.iter().all(|(other, _)| *other != asked)
                    {
                        found.push((asked, target));
                    }
                    if found.len() > MOST_NAMED {
                        break;
                    }
                }
            }
            let (asked, target) = match found.as_slice() {
                [] => return Ok(FoundProduct::None),
                [only] => *only,
                several => {
                    let recipes = several.iter().take(MOST_NAMED).map(|(asked, _)| *asked);
                    return Ok(FoundProduct::Several(recipes.collect()));
                }
            };
            let question =
                format!("SELECT {COLUMNS} FROM products WHERE prefix = ? AND recipe = ?");
            let arguments = (prefix(&target), &target.0[..]);
            let record = select(connection, &question, arguments)?.pop();
            Ok(
                record.map_or(FoundProduct::None, |record| FoundProduct::One {
                    asked,
                    record: Box::new(record),
                }),
            )
        })
    }

    fn verify(
        &self,
        threads: usize,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Verified, StoreError> {
        self.verify_all(threads, progress)
    }
}

fn parts_text(database: &Database, version: &str) -> Result<Option<String>, StoreError> {
    database.read(|connection| {
        connection
            .prepare_cached(
                "SELECT parts FROM versions WHERE version = (SELECT id FROM names WHERE text = ?)",
            )?
            .query_row([version], |row| row.get(0))
            .optional()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_of_digits_is_a_range() {
        assert_eq!(range("0"), Some((0, 0x0fff_ffff_ffff_ffff)));
        assert_eq!(range("f"), Some((-0x1000_0000_0000_0000, -1)));
        assert_eq!(range("7f"), Some((0x7f00 << 48, i64::MAX)));
        let whole = "00000000000000ff".repeat(4);
        assert_eq!(range(&whole), Some((255, 255)));
        for wrong in ["", "g", "A", "00-", &"0".repeat(65), "é"] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }
}
