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

/// How many bits more say whether a prefix may be in a list.
const MORE_BITS: u32 = 3;

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
    /// Whether there is any prefix that begins with some more bits: most that is not in the list is known by that.
    any: Vec<u64>,
}

/// The first bits of a prefix, in the order of numbers with a sign.
fn first_bits(prefix: i64, bits: u32) -> usize {
    let unsigned = prefix.cast_unsigned() ^ (1 << 63);
    (unsigned >> (64 - bits)) as usize
}

impl Places {
    fn new(order: &[(i64, usize)]) -> Places {
        let bits = order.len().next_power_of_two().trailing_zeros().max(1);
        let mut places = Places {
            bits,
            starts: vec![0; (1 << bits) + 1],
            any: vec![0; (1 << (bits + MORE_BITS)) / 64 + 1],
        };
        for (prefix, _) in order {
            places.starts[first_bits(*prefix, bits) + 1] += 1;
            let place = first_bits(*prefix, bits + MORE_BITS);
            places.any[place / 64] |= 1 << (place % 64);
        }
        for place in 0..1 << bits {
            places.starts[place + 1] += places.starts[place];
        }
        places
    }

    /// Whether the list may have a prefix.
    fn may_have(&self, prefix: i64) -> bool {
        let place = first_bits(prefix, self.bits + MORE_BITS);
        self.any[place / 64] >> (place % 64) & 1 == 1
    }

    /// The part of the list that begins with the bits of a prefix.
    fn near<'a>(&self, order: &'a [(i64, usize)], prefix: i64) -> &'a [(i64, usize)] {
        let place = first_bits(prefix, self.bits);
        &order[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}

/// The part of a sorted list that has a prefix.
fn with_prefix(near: &[(i64, usize)], prefix: i64) -> &[(i64, usize)] {
    let begin = near.partition_point(|(known, _)| *known < prefix);
    let end = near.partition_point(|(known, _)| *known <= prefix);
    &near[begin..end]
}

/// Calls `found` with what `read` makes of each row that has one of the recipes, and with the positions of the recipe;
/// returns the positions of the recipes that have none. The first of the columns is the recipe.
pub(crate) fn find<T>(
    connection: &Connection,
    table: Table,
    columns: &'static str,
    recipes: &[Recipe],
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    found: impl FnMut(&[usize], T) -> rusqlite::Result<()>,
) -> rusqlite::Result<Vec<usize>> {
    let in_a_pass = recipes.len() >= MANY
        && table.rows(connection)? <= recipes.len().saturating_mul(ROWS_PER_LOOK_UP);
    if in_a_pass {
        find_in_a_pass(connection, table, columns, recipes, read, found)
    } else {
        find_by_index(connection, table, columns, recipes, read, found)
    }
}

/// What was asked for, and what of it was found.
struct Asked<'a> {
    recipes: &'a [Recipe],
    is_found: Vec<bool>,
    positions: Vec<usize>,
}

impl<'a> Asked<'a> {
    fn new(recipes: &'a [Recipe]) -> Asked<'a> {
        Asked {
            recipes,
            is_found: vec![false; recipes.len()],
            positions: Vec::new(),
        }
    }

    /// The positions that a row answers, of those that have its prefix.
    fn answered(&mut self, same_prefix: &[(i64, usize)], recipe: &[u8]) -> &[usize] {
        self.positions.clear();
        for (_, position) in same_prefix {
            if !self.is_found[*position] && self.recipes[*position].0 == recipe {
                self.is_found[*position] = true;
                self.positions.push(*position);
            }
        }
        &self.positions
    }

    fn absent(&self, order: &[(i64, usize)]) -> Vec<usize> {
        let positions = order.iter().map(|(_, position)| *position);
        positions
            .filter(|position| !self.is_found[*position])
            .collect()
    }
}

fn find_by_index<T>(
    connection: &Connection,
    table: Table,
    columns: &'static str,
    recipes: &[Recipe],
    mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    mut found: impl FnMut(&[usize], T) -> rusqlite::Result<()>,
) -> rusqlite::Result<Vec<usize>> {
    let name = table.name();
    let question = format!("SELECT {columns} FROM {name} WHERE prefix = ?");
    let mut statement = connection.prepare_cached(&question)?;
    let order = in_index_order(recipes);
    let mut asked = Asked::new(recipes);
    for same in order.chunk_by(|one, other| one.0 == other.0) {
        let mut rows = statement.query([same[0].0])?;
        while let Some(row) = rows.next()? {
            let positions = asked.answered(same, row.get_ref(0)?.as_blob()?);
            if !positions.is_empty() {
                found(positions, read(row)?)?;
            }
            if same.iter().all(|(_, position)| asked.is_found[*position]) {
                break;
            }
        }
    }
    Ok(asked.absent(&order))
}

/// How many rows of a pass are looked for together: each is looked for in memory that lies anywhere, and a processor
/// fetches for many of them at once what it would else wait for one by one.
const TOGETHER: usize = 256;

fn find_in_a_pass<T>(
    connection: &Connection,
    table: Table,
    columns: &'static str,
    recipes: &[Recipe],
    mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    mut found: impl FnMut(&[usize], T) -> rusqlite::Result<()>,
) -> rusqlite::Result<Vec<usize>> {
    let name = table.name();
    let question = format!("SELECT {columns}, prefix FROM {name} ORDER BY rowid");
    let mut statement = connection.prepare_cached(&question)?;
    let last = statement.column_count() - 1;
    let order = in_index_order(recipes);
    let places = Places::new(&order);
    let mut asked = Asked::new(recipes);
    let mut rows = statement.query([])?;
    let mut batch: Vec<(i64, Recipe, T)> = Vec::with_capacity(TOGETHER);
    let mut near: Vec<&[(i64, usize)]> = Vec::with_capacity(TOGETHER);
    loop {
        while batch.len() < TOGETHER
            && let Some(row) = rows.next()?
        {
            let prefix = row.get(last)?;
            // A row whose recipe is damaged has none of those that are asked for.
            if places.may_have(prefix)
                && let Ok(recipe) = <[u8; 32]>::try_from(row.get_ref(0)?.as_blob()?)
            {
                batch.push((prefix, Recipe(recipe), read(row)?));
            }
        }
        if batch.is_empty() {
            return Ok(asked.absent(&order));
        }
        near.clear();
        near.extend(batch.iter().map(|row| places.near(&order, row.0)));
        for ((prefix, ..), near) in batch.iter().zip(&mut near) {
            *near = with_prefix(near, *prefix);
        }
        let seen = near.iter().filter_map(|same| same.first());
        // Reading a byte of each has the processor fetch all of them at once.
        let touched = seen.fold(0, |bits, (_, position)| {
            bits ^ asked.recipes[*position].0[0]
        });
        std::hint::black_box(touched);
        for ((_, recipe, read), same) in batch.drain(..).zip(&near) {
            let positions = asked.answered(same, &recipe.0);
            if !positions.is_empty() {
                found(positions, read)?;
            }
        }
    }
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
                let gather = |positions: &[usize], time: i64| {
                    for position in positions {
                        assert!(found.insert(*position, time).is_none());
                    }
                    Ok(())
                };
                let time = |row: &Row<'_>| row.get(1);
                let columns = "recipe, time";
                let absent = if in_a_pass { find_in_a_pass(&connection, Table::Aliases, columns, &recipes, time, gather) } else { find_by_index(&connection, Table::Aliases, columns, &recipes, time, gather) };
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
            |_| Ok(()),
            |positions, ()| {
                calls += 1;
                assert_eq!(positions.len(), MANY);
                Ok(())
            },
        );
        assert_eq!((calls, absent.unwrap()), (1, Vec::new()));
    }
}
