//! Two runs side by side.
//!
//! Law: tasks are matched by address. What differs is grouped by what changed first, so that one change of one
//! parameter reads as one line, whatever it set in motion.

use std::collections::{BTreeMap, HashMap, HashSet};

use headwater_engine::Error;
use headwater_engine::runs::find_run;
use headwater_graph::{Recipe, RunTask, Store};

use super::causes::{Cause, Causes, Memory};
use super::stale::{Extent, Stale, stale};
use super::{Remembered, tasks_of};

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
pub fn diff_runs(store: &dyn Store, first: &str, second: &str) -> Result<RunDifference, Error> {
    let (first, second) = (find_run(store, first)?, find_run(store, second)?);
    let (old, new) = (tasks_of(store, &first)?, tasks_of(store, &second)?);
    let (before, now) = (by_address(&old), by_address(&new));
    let missing = |tasks: &[RunTask], others: &HashMap<&str, usize>| -> Vec<String> {
        let addresses = tasks.iter().map(|task| &task.address);
        addresses
            .filter(|address| !others.contains_key(address.as_str()))
            .cloned()
            .collect()
    };
    let mut same = 0;
    let mut pairs: Vec<(&str, (Recipe, Recipe))> = Vec::new();
    for (position, task) in new.iter().enumerate() {
        // Of several at one address the last counts.
        let other = before.get(&*task.address).map(|place| &old[*place]);
        match other.filter(|_| now[&*task.address] == position) {
            Some(other) if other.recipe == task.recipe => same += 1,
            Some(other) => pairs.push((&task.address, (other.recipe, task.recipe))),
            None => {}
        }
    }
    let is_equal = equal_products(store, &pairs)?;
    let equal: Vec<String> = (pairs.iter())
        .filter(|(address, _)| is_equal.contains(address))
        .map(|(address, _)| (*address).to_owned())
        .collect();
    pairs.retain(|(address, _)| !is_equal.contains(address));
    let memory = Remembered::new(store, &second.id, &new);
    let all: Vec<Recipe> = new.iter().map(|task| task.recipe).collect();
    // A sequence lists what was needed; runs of files, which have outputs, list everything.
    let extent = if second.outputs.as_os_str().is_empty() {
        Extent::These
    } else {
        Extent::Closed
    };
    let stale = stale(store, &memory.own, &all, extent, &|recipe| {
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
        equal,
        different: pairs.len(),
        groups,
        unexplained,
        stale,
        incomplete: causes.incomplete,
        runs: (first.id, second.id),
        workflows: (first.workflow, second.workflow),
    })
}

/// The last place of each address.
fn by_address(tasks: &[RunTask]) -> HashMap<&str, usize> {
    let places = tasks.iter().enumerate();
    places
        .map(|(place, task)| (&*task.address, place))
        .collect()
}

/// The addresses at which both recipes stand for one product.
fn equal_products<'a>(
    store: &dyn Store,
    pairs: &[(&'a str, (Recipe, Recipe))],
) -> Result<HashSet<&'a str>, Error> {
    let recipes: Vec<Recipe> = (pairs.iter())
        .flat_map(|(_, (old, new))| [*old, *new])
        .collect();
    let products = store.products_of(&recipes)?;
    let both = pairs.iter().zip(products.chunks_exact(2));
    let equal = both.filter(|(_, both)| both[0].is_some() && both[0] == both[1]);
    Ok(equal.map(|((address, _), _)| *address).collect())
}
