//! Recipes that were found to be equal to a product.
//!
//! Law: the target of an alias is a product at the moment when the alias is written: one that names another alias is
//! led to the product behind it, so that look-ups never follow more than one step. A recipe has at most one row, and
//! none is written for a recipe that has a product of its own. Nothing here can make a wrong product pass for a right
//! one: both recipes are compared in all their bytes, so that a damaged row finds nothing.

use headwater_graph::{Alias, Recipe, StoreError};
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::connections::Interned;
use crate::lookup::{Table, find, prefix};

/// The targets of those recipes that are aliases, with the positions of the recipes.
pub(crate) fn targets(
    connection: &Connection,
    recipes: &[Recipe],
) -> rusqlite::Result<Vec<(usize, Recipe)>> {
    let mut targets = Vec::new();
    // Many stores have none at all, and most questions are about recipes that are new.
    let any: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM aliases)")?
        .query_row([], |row| row.get(0))?;
    if any {
        let target = |row: &rusqlite::Row<'_>| Ok(<[u8; 32]>::try_from(row.get_ref(1)?.as_blob()?));
        let found = |positions: &[usize], target: Result<[u8; 32], _>| {
            if let Ok(target) = target.map(Recipe) {
                targets.extend(positions.iter().map(|position| (*position, target)));
            }
            Ok(())
        };
        find(
            connection,
            Table::Aliases,
            "recipe, target",
            recipes,
            target,
            found,
        )?;
    }
    Ok(targets)
}

fn is_product(connection: &Connection, recipe: &Recipe) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM products WHERE prefix = ? AND recipe = ?")?
        .exists((prefix(recipe), &recipe.0[..]))
}

/// Writes aliases, in order. Returns the positions of those whose target is nowhere.
pub(crate) fn insert(
    aliases: &[(usize, &Alias)],
    transaction: &Transaction<'_>,
    interned: &mut Interned,
) -> rusqlite::Result<Vec<usize>> {
    let mut lost = Vec::new();
    for (position, alias) in aliases {
        let target = if is_product(transaction, &alias.target)? {
            alias.target
        } else {
            match targets(transaction, &[alias.target])?.first() {
                Some((_, target)) if is_product(transaction, target)? => *target,
                _ => {
                    lost.push(*position);
                    continue;
                }
            }
        };
        // Also when it is named as its own target.
        if is_product(transaction, &alias.recipe)? {
            continue;
        }
        let first = prefix(&alias.recipe);
        let present: Option<Vec<u8>> = transaction
            .prepare_cached("SELECT target FROM aliases WHERE prefix = ? AND recipe = ?")?
            .query_row((first, &alias.recipe.0[..]), |row| row.get(0))
            .optional()?;
        if present.as_deref() == Some(&target.0[..]) {
            continue;
        }
        let run = interned.number(transaction, &alias.run)?;
        if present.is_some() {
            transaction
                .prepare_cached("DELETE FROM aliases WHERE prefix = ? AND recipe = ?")?
                .execute((first, &alias.recipe.0[..]))?;
        }
        transaction
            .prepare_cached(
                "INSERT INTO aliases (prefix, recipe, target, run, time) VALUES (?, ?, ?, ?, ?)",
            )?
            .execute((first, &alias.recipe.0[..], &target.0[..], run, alias.time))?;
    }
    Ok(lost)
}

/// Why it could not be written: the engine has seen its target, so that somebody must have found it damaged since.
pub(crate) fn lost(alias: &Alias) -> StoreError {
    StoreError::Damaged {
        what: format!(
            "the record of recipe {}, to which recipe {} is equal,",
            alias.target, alias.recipe
        ),
    }
}
