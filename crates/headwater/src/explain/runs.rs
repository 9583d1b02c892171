//! Two runs side by side.
//!
//! Law: tasks are matched by address. What differs is grouped by what changed first, so that one change of one
//! parameter reads as one line, whatever it set in motion.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use headwater_graph::{Recipe, Records};
use headwater_remember::{RunTask, Store};

use super::causes::{Cause, Causes, Memory};
use super::stale::{Stale, stale};
use super::{Remembered, tasks_of};
use crate::Error;
use crate::runs::find_run;

/// Tasks that differ for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The reason.
    pub cause: Cause,
    /// The addresses of all tasks that differ for it, in the order of the second run.
    pub tasks: Vec<String>,
}

/// How two runs differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDifference {
    /// The ids of the two runs.
    pub runs: (String, String),
    /// The names of their workflows.
    pub workflows: (String, String),
    /// Addresses that only the first has.
    pub only_first: Vec<String>,
    /// Addresses that only the second has.
    pub only_second: Vec<String>,
    /// How many tasks are the same.
    pub same: usize,
    /// Addresses of tasks that are new in name only: their products were found to be equal.
    pub equal: Vec<String>,
    /// How many tasks are different.
    pub different: usize,
    /// The different ones by what changed. A task stands in each group whose cause it has.
    pub groups: Vec<Group>,
    /// Different tasks without a cause that is known.
    pub unexplained: Vec<String>,
    /// Products of the second that were made from bytes that are not there any more: something that they read was made
    /// again and came out different.
    pub stale: Vec<Stale>,
    /// Some causes may be missing.
    pub incomplete: bool,
}

/// Compares two runs; each is an id, the beginning of one or `last`.
pub fn diff_runs(store: &Store, first: &str, second: &str) -> Result<RunDifference, Error> {
    let (first, second) = (find_run(store, first)?, find_run(store, second)?);
    let (old, new) = (tasks_of(store, &first)?, tasks_of(store, &second)?);
    let before: BTreeMap<&str, &RunTask> = by_address(&old);
    let now: BTreeMap<&str, &RunTask> = by_address(&new);
    let missing = |tasks: &[RunTask], others: &BTreeMap<&str, &RunTask>| -> Vec<String> {
        let addresses = tasks.iter().map(|task| &task.address);
        addresses
            .filter(|address| !others.contains_key(address.as_str()))
            .cloned()
            .collect()
    };
    let mut same = 0;
    let mut pairs: Vec<(&str, (Recipe, Recipe))> = Vec::new();
    for task in now.values() {
        match before.get(&*task.address) {
            Some(other) if other.recipe == task.recipe => same += 1,
            Some(other) => pairs.push((&task.address, (other.recipe, task.recipe))),
            None => {}
        }
    }
    // In the order of the second run, not of the alphabet.
    let order: HashMap<&str, usize> = new
        .iter()
        .enumerate()
        .map(|(position, task)| (&*task.address, position))
        .collect();
    pairs.sort_by_key(|(address, _)| order.get(address));
    let equal = equal_products(store, &pairs)?;
    pairs.retain(|(address, _)| !equal.contains(address));
    let memory = Remembered::new(store, &second.id, &new);
    let all: Vec<Recipe> = new.iter().map(|task| task.recipe).collect();
    let stale = stale(store, &memory.own, &all, false, &|recipe| {
        memory.address(recipe)
    })?;
    let mut causes = Causes::new(&memory);
    let recipes: Vec<(Recipe, Recipe)> = pairs.iter().map(|(_, pair)| *pair).collect();
    let found = causes.of(&recipes)?;
    let mut groups: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut unexplained = Vec::new();
    for ((address, _), numbers) in pairs.iter().zip(found) {
        if numbers.is_empty() {
            unexplained.push((*address).to_owned());
        }
        for number in numbers {
            groups
                .entry(number)
                .or_default()
                .push((*address).to_owned());
        }
    }
    let mut groups: Vec<Group> = groups
        .into_iter()
        .map(|(number, tasks)| Group {
            cause: causes.cause(number).clone(),
            tasks,
        })
        .collect();
    // The cause of most first; of equals, the one that was found first.
    groups.sort_by_key(|group| std::cmp::Reverse(group.tasks.len()));
    Ok(RunDifference {
        only_first: missing(&old, &now),
        only_second: missing(&new, &before),
        same,
        equal: pairs_in_order(&equal, &order),
        different: pairs.len(),
        groups,
        unexplained,
        stale,
        incomplete: causes.incomplete,
        runs: (first.id, second.id),
        workflows: (first.workflow, second.workflow),
    })
}

fn by_address(tasks: &[RunTask]) -> BTreeMap<&str, &RunTask> {
    tasks.iter().map(|task| (&*task.address, task)).collect()
}

/// The addresses at which both recipes stand for one product.
fn equal_products<'a>(
    store: &Store,
    pairs: &[(&'a str, (Recipe, Recipe))],
) -> Result<BTreeSet<&'a str>, Error> {
    let mut equal = BTreeSet::new();
    for piece in pairs.chunks(1000) {
        let recipes: Vec<Recipe> = piece
            .iter()
            .flat_map(|(_, (old, new))| [*old, *new])
            .collect();
        let records = store.fetch(&recipes)?;
        for ((address, _), records) in piece.iter().zip(records.chunks_exact(2)) {
            if let [Some(old), Some(new)] = records
                && old.recipe == new.recipe
            {
                equal.insert(*address);
            }
        }
    }
    Ok(equal)
}

fn pairs_in_order(addresses: &BTreeSet<&str>, order: &HashMap<&str, usize>) -> Vec<String> {
    let mut addresses: Vec<&str> = addresses.iter().copied().collect();
    addresses.sort_by_key(|address| order.get(address));
    addresses.into_iter().map(str::to_owned).collect()
}
