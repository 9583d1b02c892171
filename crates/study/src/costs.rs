//! What tasks are expected to cost.
//!
//! Law: where every operation of the study was executed before, costs are measured ones; where some were not, those
//! count as much as the average of the others; where none was, every task counts as one. The plan says which.

use std::sync::Arc;

use headwater_engine::Error;
use headwater_graph::{Cost, FoundRun, Operation, RunRecord, Store};
use headwater_merge::Weight;

/// What stands in the list of runs in the place of a command.
pub(crate) const TUNE: &str = "tune";

/// Whether a run was a tuning run.
fn is_tuning(run: &RunRecord) -> bool {
    run.command.get(1).is_some_and(|command| command == TUNE)
}

/// Where costs come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CostSource {
    /// Every task counts as one.
    Counts,
    /// Remembered products.
    Remembered {
        /// How many executions were looked at.
        executions: usize,
        /// The run that all of them are from, where it is one.
        run: Option<Arc<str>>,
        /// Whether that was a tuning run.
        tuning: bool,
        /// Operations of which nothing is remembered.
        unknown: Vec<Arc<str>>,
    },
}

/// The costs of the steps of an instance.
#[derive(Debug)]
pub(crate) struct Costing {
    /// By step.
    weights: Vec<Weight>,
    /// The most memory that a task has been seen to take.
    peak_memory: u64,
    source: CostSource,
}

/// An operation, by name and version.
type Key = (Arc<str>, Arc<str>);

fn key(operation: &Operation) -> Key {
    let signature = &operation.signature;
    (Arc::clone(&signature.name), Arc::clone(&signature.version))
}

/// The operations that count, each once, with what is remembered of them.
pub(crate) fn costs_of(
    operations: &[&Arc<Operation>],
    store: &dyn Store,
) -> Result<Vec<(Key, Option<Cost>)>, Error> {
    let counted = operations
        .iter()
        .filter(|operation| !operation.signature.implicit);
    let mut keys: Vec<Key> = counted.map(|operation| key(operation)).collect();
    keys.sort();
    keys.dedup();
    let found = store.costs(&keys)?;
    Ok(keys.into_iter().zip(found).collect())
}

impl Costing {
    /// Looks up what the operations of the steps of an instance have cost.
    pub(crate) fn new(operations: &[&Arc<Operation>], store: &dyn Store) -> Result<Costing, Error> {
        let costs = costs_of(operations, store)?;
        let known: Vec<&Cost> = costs.iter().filter_map(|(_, cost)| cost.as_ref()).collect();
        if known.is_empty() {
            return Ok(Costing {
                weights: vec![Weight { cost: 1, bytes: 0 }; operations.len()],
                peak_memory: 0,
                source: CostSource::Counts,
            });
        }
        let average = |of: fn(&Cost) -> u64| {
            let sum: u128 = known.iter().map(|cost| u128::from(of(cost))).sum();
            (sum / known.len() as u128) as u64
        };
        let average = Weight {
            cost: average(|cost| cost.wall),
            bytes: average(|cost| cost.output_bytes),
        };
        let weight = |operation: &&Arc<Operation>| {
            let place = costs.binary_search_by(|(known, _)| known.cmp(&key(operation)));
            let cost = place.ok().and_then(|place| costs[place].1.as_ref());
            cost.map_or(average, |cost| Weight {
                cost: cost.wall.max(1),
                bytes: cost.output_bytes,
            })
        };
        let mut runs: Vec<&Arc<str>> = known.iter().flat_map(|cost| &cost.runs).collect();
        runs.sort();
        runs.dedup();
        let run = match runs.as_slice() {
            [run] => Some(Arc::clone(run)),
            _ => None,
        };
        let tuning = match &run {
            None => false,
            Some(run) => match store.find_run(run)? {
                FoundRun::One(run) => is_tuning(&run),
                FoundRun::None | FoundRun::Several(_) => false,
            },
        };
        let unknown = costs.iter().filter(|(_, cost)| cost.is_none());
        Ok(Costing {
            weights: operations.iter().map(weight).collect(),
            peak_memory: known
                .iter()
                .filter_map(|cost| cost.peak_memory)
                .max()
                .unwrap_or(0),
            source: CostSource::Remembered {
                executions: known.iter().map(|cost| cost.executions).sum(),
                run,
                tuning,
                unknown: unknown.map(|((name, _), _)| Arc::clone(name)).collect(),
            },
        })
    }

    /// What a task of a step costs: in nanoseconds, where costs are measured.
    pub(crate) fn weight(&self, step: u32) -> Weight {
        self.weights[step as usize]
    }

    /// The most memory that a task takes, as far as that is known: that of programs.
    pub(crate) fn peak_memory(&self) -> u64 {
        self.peak_memory
    }

    /// Whether costs are times.
    pub(crate) fn is_measured(&self) -> bool {
        self.source != CostSource::Counts
    }

    /// What a forecast is made from, in words; `None` where nothing was measured.
    pub(crate) fn in_words(&self) -> Option<String> {
        match &self.source {
            CostSource::Counts => None,
            CostSource::Remembered { executions, .. } => {
                let s = if *executions == 1 { "" } else { "s" };
                Some(format!(
                    "{executions} remembered execution{s}, on inputs of any size"
                ))
            }
        }
    }

    /// Where they come from.
    pub(crate) fn source(&self) -> &CostSource {
        &self.source
    }
}
