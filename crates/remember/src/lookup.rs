//! Rows by recipe: each by the index, or all in one pass over the table.
//!
//! Law: which way is taken decides what a question costs, never what it finds. A recipe is compared in all its 32
//! bytes, and of several rows that have it the first counts.
//!
//! A look-up by the index costs several pages that lie anywhere; a pass costs each row once, in the order in which they
//! lie. Who asks for a good part of a table, as a study does that is run again, is answered by a pass.

use headwater_graph::Recipe;
use rusqlite::{Connection, Row};

/// Fewer recipes than this are looked up by the index, whatever the size of the table.
const MANY: usize = 2_000;

/// How many rows of a pass cost what one look-up costs.
const ROWS_PER_LOOK_UP: usize = 8;

/// A table whose rows have the columns `prefix` and `recipe`, and an index of the prefixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Products,
    Aliases,
}

impl Table {
    fn name(self) -> &'static str {
        match self {
            Table::Products => "products",
            Table::Aliases => "aliases",
        }
    }

    /// The number of its last row: it has no more rows than that.
    fn rows(self, connection: &Connection) -> rusqlite::Result<usize> {
        let question = match self {
            Table::Products => "SELECT coalesce(max(id), 0) FROM products",
            Table::Aliases => "SELECT coalesce(max(rowid), 0) FROM aliases",
        };
        let last: i64 = connection
            .prepare_cached(question)?
            .query_row([], |row| row.get(0))?;
        Ok(usize::try_from(last).unwrap_or(usize::MAX))
    }
}

/// The part of a recipe that the index holds.
pub(crate) fn prefix(recipe: &Recipe) -> i64 {
    let mut first = [0; 8];
    first.copy_from_slice(&recipe.0[..8]);
    i64::from_be_bytes(first)
}

/// Positions in the order of the index, in which neighbours lie on the same pages.
pub(crate) fn in_index_order(recipes: &[Recipe]) -> Vec<(i64, usize)> {
    let mut order: Vec<(i64, usize)> = recipes
        .iter()
        .enumerate()
        .map(|(position, recipe)| (prefix(recipe), position))
        .collect();
    order.sort_unstable();
    order
}

/// Where in a sorted list the prefixes are that begin with the same bits; recipes are digests, so that few do.
struct Places {
    bits: u32,
    starts: Vec<u32>,
}

impl Places {
    fn new(order: &[(i64, usize)]) -> Places {
        let bits = order.len().next_power_of_two().trailing_zeros().max(1);
        let mut places = Places {
            bits,
            starts: vec![0; (1 << bits) + 1],
        };
        for (prefix, _) in order {
            let place = places.of(*prefix);
            places.starts[place + 1] += 1;
        }
        for place in 0..1 << bits {
            places.starts[place + 1] += places.starts[place];
        }
        places
    }

    /// The first bits of a prefix, in the order of numbers with a sign.
    fn of(&self, prefix: i64) -> usize {
        let unsigned = prefix.cast_unsigned() ^ (1 << 63);
        (unsigned >> (64 - self.bits)) as usize
    }

    /// The part of the list that has a prefix.
    fn with<'a>(&self, order: &'a [(i64, usize)], prefix: i64) -> &'a [(i64, usize)] {
        let place = self.of(prefix);
        let near = &order[self.starts[place] as usize..self.starts[place + 1] as usize];
        let begin = near.partition_point(|(known, _)| *known < prefix);
        let end = near.partition_point(|(known, _)| *known <= prefix);
        &near[begin..end]
    }
}

/// Calls `found` with each row that has one of the recipes, and the positions of the recipe; returns the positions of
/// the recipes that have none. The first of the columns is the recipe.
pub(crate) fn find(
    connection: &Connection,
    table: Table,
    columns: &'static str,
    recipes: &[Recipe],
    found: impl FnMut(&[usize], &Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<Vec<usize>> {
    let in_a_pass = recipes.len() >= MANY
        && table.rows(connection)? <= recipes.len().saturating_mul(ROWS_PER_LOOK_UP);
    match in_a_pass {
        true => find_in_a_pass(connection, table, columns, recipes, found),
        false => find_by_index(connection, table, columns, recipes, found),
    }
}

/// What was asked for, and what of it was found.
struct Asked<'a, F> {
    recipes: &'a [Recipe],
    is_found: Vec<bool>,
    positions: Vec<usize>,
    found: F,
}

impl<'a, F: FnMut(&[usize], &Row<'_>) -> rusqlite::Result<()>> Asked<'a, F> {
    fn new(recipes: &'a [Recipe], found: F) -> Asked<'a, F> {
        Asked {
            recipes,
            is_found: vec![false; recipes.len()],
            positions: Vec::new(),
            found,
        }
    }

    /// Takes a row that has the prefix of some of the recipes.
    fn take(&mut self, same_prefix: &[(i64, usize)], row: &Row<'_>) -> rusqlite::Result<()> {
        let recipe = row.get_ref(0)?.as_blob()?;
        self.positions.clear();
        for (_, position) in same_prefix {
            if !self.is_found[*position] && self.recipes[*position].0 == recipe {
                self.is_found[*position] = true;
                self.positions.push(*position);
            }
        }
        match self.positions.is_empty() {
            true => Ok(()),
            false => (self.found)(&self.positions, row),
        }
    }

    fn absent(&self, order: &[(i64, usize)]) -> Vec<usize> {
        let positions = order.iter().map(|(_, position)| *position);
        positions
            .filter(|position| !self.is_found[*position])
            .collect()
    }
}

fn find_by_index(
    connection: &Connection,
    table: Table,
    columns: &'static str,
    recipes: &[Recipe],
    found: impl FnMut(&[usize], &Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<Vec<usize>> {
    let name = table.name();
    let question = format!("SELECT {columns} FROM {name} WHERE prefix = ?");
    let mut statement = connection.prepare_cached(&question)?;
    let order = in_index_order(recipes);
    let mut asked = Asked::new(recipes, found);
    for same in order.chunk_by(|one, other| one.0 == other.0) {
        let mut rows = statement.query([same[0].0])?;
        while let Some(row) = rows.next()? {
            asked.take(same, row)?;
            if same.iter().all(|(_, position)| asked.is_found[*position]) {
                break;
            }
        }
    }
    Ok(asked.absent(&order))
}

fn find_in_a_pass(
    connection: &Connection,
    table: Table,
    columns: &'static str,
    recipes: &[Recipe],
    found: impl FnMut(&[usize], &Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<Vec<usize>> {
    let name = table.name();
    let question = format!("SELECT {columns}, prefix FROM {name} ORDER BY rowid");
    let mut statement = connection.prepare_cached(&question)?;
    let last = statement.column_count() - 1;
    let order = in_index_order(recipes);
    let places = Places::new(&order);
    let mut asked = Asked::new(recipes, found);
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let same = places.with(&order, row.get(last)?);
        if !same.is_empty() {
            asked.take(same, row)?;
        }
    }
    Ok(asked.absent(&order))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Few prefixes, so that recipes share them, and signs of both kinds.
    fn recipe(number: u8) -> Recipe {
        let mut bytes = [number; 32];
        bytes[..8].fill(number % 7 * 40);
        Recipe(bytes)
    }

    fn database(rows: &[u8]) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(crate::schema::TABLES).unwrap();
        connection
            .execute("INSERT INTO names VALUES (0, 'run')", [])
            .unwrap();
        for (position, number) in rows.iter().enumerate() {
            let recipe = recipe(*number);
            connection
                .execute(
                    "INSERT INTO aliases VALUES (?, ?, ?, 0, ?)",
                    (
                        prefix(&recipe),
                        &recipe.0[..],
                        &recipe.0[..],
                        position as i64,
                    ),
                )
                .unwrap();
        }
        connection
    }

    proptest! {
        #[test]
        fn both_ways_find_the_same(
            rows in proptest::collection::vec(any::<u8>(), 0..60),
            asked in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let connection = database(&rows);
            let recipes: Vec<Recipe> = asked.iter().map(|number| recipe(*number)).collect();
            let expected: BTreeMap<usize, i64> = asked
                .iter()
                .enumerate()
                .filter_map(|(position, number)| {
                    let first = rows.iter().position(|row| row == number)?;
                    Some((position, first as i64))
                })
                .collect();
            for in_a_pass in [false, true] {
                let mut found = BTreeMap::new();
                let gather = |positions: &[usize], row: &Row<'_>| {
                    for position in positions {
                        assert!(found.insert(*position, row.get(1)?).is_none());
                    }
                    Ok(())
                };
                let columns = "recipe, time";
                let absent = match in_a_pass {
                    true => find_in_a_pass(&connection, Table::Aliases, columns, &recipes, gather),
                    false => find_by_index(&connection, Table::Aliases, columns, &recipes, gather),
                };
                let absent = absent.unwrap();
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!(absent.len() + found.len(), asked.len());
                prop_assert!(absent.iter().all(|position| !found.contains_key(position)));
            }
        }
    }

    #[test]
    fn a_question_about_much_of_a_table_is_one_pass() {
        let connection = database(&[1, 2, 3]);
        let many: Vec<Recipe> = (0..MANY).map(|_| recipe(2)).collect();
        let mut calls = 0;
        let absent = find(
            &connection,
            Table::Aliases,
            "recipe",
            &many,
            |positions, _| {
                calls += 1;
                assert_eq!(positions.len(), MANY);
                Ok(())
            },
        );
        assert_eq!((calls, absent.unwrap()), (1, Vec::new()));
    }
}
