//! Resources: what tasks need, what is taken, what is learned about both.
//!
//! Law: what was taken is given back exactly once; nothing is promised twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use core::time::Duration;

use headwater_graph::Operation;

use crate::Capacity;

/// A task that the machine can never run.
#[derive(Debug, thiserror::Error, PartialEq, Eq, Clone)]
pub enum PlanError {
    /// It asks for more than there is.
    #[error("operation `{operation}` asks for {asked} of `{resource}`, but there is {has}")]
    TooLarge {
        /// Whose.
        operation: Arc<str>,
        /// Which counter.
        resource: Arc<str>,
        /// How much it asks for.
        asked: u64,
        /// How much there is.
        has: u64,
    },
}

/// What the tasks of one operation need, declared and learned.
#[derive(Debug, Clone)]
pub(crate) struct Needs {
    cores: u64,
    memory: u64,
    others: Vec<(usize, u64)>,
    /// Working memory, in percent of the bytes of an input; only ports that say something.
    working: Box<[(u16, u32)]>,
    /// And in percent of the bytes of all outputs.
    working_on_outputs: u32,
    /// The largest outputs seen.
    learned_memory: Option<u64>,
    /// A running mean of how long it takes, in nanoseconds.
    learned_time: Option<u64>,
    /// Why the machine can never run it. Remembered tasks need not run, so this is no mistake by itself.
    refused: Option<Box<PlanError>>,
}

impl Needs {
    pub(crate) fn learn(&mut self, memory: u64, elapsed: Duration) {
        self.learned_memory = Some(
            self.learned_memory
                .map_or(memory, |largest| largest.max(memory)),
        );
        let elapsed = crate::time::nanoseconds(elapsed);
        self.learned_time = Some(
            self.learned_time
                .map_or(elapsed, |mean| mean - mean / 8 + elapsed / 8),
        );
    }

    /// How long it takes, as far as that is known.
    pub(crate) fn time(&self) -> Option<Duration> {
        self.learned_time.map(Duration::from_nanos)
    }

    pub(crate) fn is_quick(&self, limit: Duration) -> bool {
        self.learned_time
            .is_some_and(|mean| u128::from(mean) < limit.as_nanos())
    }

    pub(crate) fn cores(&self) -> u64 {
        self.cores
    }

    /// Why the machine can never run it.
    pub(crate) fn refused(&self) -> Option<&PlanError> {
        self.refused.as_deref()
    }

    /// One core and nothing else.
    pub(crate) fn is_plain(&self) -> bool {
        self.cores <= 1 && self.memory == 0 && self.others.is_empty() && !self.says_working()
    }

    /// What a task needs besides its inputs: what is declared as a whole; or what it is expected to make, with
    /// what it needs while it makes it; whichever is more. Of the first task of an operation nothing is known:
    /// as much as it reads. `size` tells the bytes of an input, or of all of them for `None`; it is asked only
    /// where that matters.
    pub(crate) fn own_memory(&self, size: impl Fn(Option<u16>) -> u64) -> u64 {
        let outputs = self.learned_memory.unwrap_or_else(|| size(None));
        let percent = |percent: u32, of: u64| (of / 100).saturating_mul(u64::from(percent));
        let mut wanted = outputs.saturating_add(percent(self.working_on_outputs, outputs));
        for (port, share) in &self.working {
            wanted = wanted.saturating_add(percent(*share, size(Some(*port))));
        }
        self.memory.max(wanted)
    }

    /// Whether it says what it needs while it runs, in terms of what it reads or makes.
    pub(crate) fn says_working(&self) -> bool {
        self.working_on_outputs > 0 || !self.working.is_empty()
    }

    /// How large the outputs of a task are expected to be, if that is known.
    pub(crate) fn output_memory(&self) -> Option<u64> {
        self.learned_memory
    }
}

/// What is taken.
#[derive(Debug)]
pub(crate) struct Ledger {
    cores: u64,
    free_cores: u64,
    /// All there is, and what of that is for tasks and products.
    memory: Option<u64>,
    for_tasks: u64,
    reserved: u64,
    held: u64,
    names: BTreeMap<Arc<str>, usize>,
    free_others: Vec<u64>,
    all_others: Vec<u64>,
}

impl Ledger {
    pub(crate) fn new(capacity: &Capacity) -> Ledger {
        let names = capacity
            .others
            .keys()
            .enumerate()
            .map(|(position, name)| (Arc::clone(name), position))
            .collect();
        let all_others: Vec<u64> = capacity.others.values().copied().collect();
        Ledger {
            cores: capacity.cores,
            free_cores: capacity.cores,
            memory: capacity.memory,
            for_tasks: capacity
                .memory
                .map_or(u64::MAX, |memory| memory.saturating_sub(capacity.aside)),
            reserved: 0,
            held: 0,
            names,
            free_others: all_others.clone(),
            all_others,
        }
    }

    /// What `operation` needs, and why it can never run here, if it cannot.
    pub(crate) fn assess(&self, operation: &Operation) -> Needs {
        let resources = &operation.signature.resources;
        let mut refused = None;
        let mut refuse = |resource: &str, asked: u64, has: u64| {
            refused.get_or_insert(Box::new(PlanError::TooLarge {
                operation: Arc::clone(&operation.signature.name),
                resource: resource.into(),
                asked,
                has,
            }));
        };
        let (cores, memory) = (resources.cores(), resources.memory());
        if cores > self.cores {
            refuse("cores", cores, self.cores);
        }
        if let Some(has) = self.memory.filter(|has| memory > *has) {
            refuse("memory", memory, has);
        }
        let mut others = Vec::new();
        for (name, asked) in resources
            .0
            .iter()
            .filter(|(name, _)| !matches!(&***name, "cores" | "memory"))
        {
            match self.names.get(name) {
                Some(position) if self.all_others[*position] >= *asked => {
                    others.push((*position, *asked));
                }
                Some(position) => refuse(name, *asked, self.all_others[*position]),
                None => refuse(name, *asked, 0),
            }
        }
        let inputs = operation.signature.inputs.iter().enumerate();
        let working = inputs
            .filter(|(_, port)| port.working > 0)
            .map(|(position, port)| (position as u16, port.working))
            .collect();
        let outputs = operation.signature.outputs.iter();
        Needs {
            cores,
            memory,
            working,
            working_on_outputs: outputs.map(|port| port.working).sum(),
            others,
            learned_memory: None,
            learned_time: None,
            refused,
        }
    }

    pub(crate) fn limits_memory(&self) -> bool {
        self.memory.is_some()
    }

    pub(crate) fn fits_cores(&self, needs: &Needs) -> bool {
        needs.cores <= self.free_cores
    }

    pub(crate) fn fits_others(&self, needs: &Needs) -> bool {
        needs
            .others
            .iter()
            .all(|(position, asked)| *asked <= self.free_others[*position])
    }

    pub(crate) fn fits_memory(&self, wanted: u64) -> bool {
        let taken = self.held.saturating_add(self.reserved);
        taken.saturating_add(wanted) <= self.for_tasks
    }

    /// Takes cores and counters.
    pub(crate) fn take(&mut self, needs: &Needs) {
        self.free_cores = self.free_cores.saturating_sub(needs.cores);
        for (position, asked) in &needs.others {
            self.free_others[*position] -= asked;
        }
    }

    /// Gives back what [`take`](Self::take) took.
    pub(crate) fn give_back(&mut self, needs: &Needs) {
        self.free_cores = self.cores.min(self.free_cores.saturating_add(needs.cores));
        for (position, asked) in &needs.others {
            self.free_others[*position] += asked;
        }
    }

    /// Promises memory to a task, where memory is limited.
    pub(crate) fn promise(&mut self, wanted: u64) {
        self.reserved += wanted;
    }

    /// What is for tasks and products.
    pub(crate) fn for_tasks(&self) -> u64 {
        self.for_tasks
    }

    pub(crate) fn redeem(&mut self, promised: u64) {
        self.reserved -= promised;
    }

    pub(crate) fn hold(&mut self, memory: u64) {
        self.held += memory;
    }

    pub(crate) fn let_go(&mut self, memory: u64) {
        self.held -= memory;
    }

    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    pub(crate) fn reserved(&self) -> u64 {
        self.reserved
    }

    pub(crate) fn taken_cores(&self) -> u64 {
        self.cores - self.free_cores
    }
}
