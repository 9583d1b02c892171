//! What a run may use and how it may spread: the arguments of a [`Coordinator`](crate::Coordinator).

use std::collections::BTreeMap;
use std::sync::Arc;

use core::time::Duration;

/// The three kinds of parallelism; each can be switched off, so that a run can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parallelism {
    /// Stages with no path between them run at the same time.
    pub workflow: bool,
    /// One stage works on many items at once.
    pub data: bool,
    /// An item may be in a stage while another item is still in an earlier one.
    pub pipelining: bool,
}

impl Default for Parallelism {
    fn default() -> Self {
        Parallelism {
            workflow: true,
            data: true,
            pipelining: true,
        }
    }
}

/// What the machine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capacity {
    /// Cores.
    pub cores: u64,
    /// Bytes for running tasks and live products; `None`: as much as they like.
    pub memory: Option<u64>,
    /// Bytes of that which are not for tasks and products: the engine's own, and what waits for a store.
    pub aside: u64,
    /// Any other counter: gpu, a licence.
    pub others: BTreeMap<Arc<str>, u64>,
}

impl Capacity {
    /// So many cores, and no other limit.
    pub fn cores(cores: u64) -> Capacity {
        Capacity {
            cores,
            memory: None,
            aside: 0,
            others: BTreeMap::new(),
        }
    }

    /// No limit at all; for virtual time.
    pub fn unlimited() -> Capacity {
        Capacity::cores(u64::MAX)
    }
}

/// How long to wait before trying again: `first`, then twice that, and so on up to `longest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Before the first retry.
    pub first: Duration,
    /// At most.
    pub longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff {
            first: Duration::from_millis(500),
            longest: Duration::from_secs(60),
        }
    }
}

impl Backoff {
    /// The pause before retry number `retry` (from 1).
    pub fn pause(&self, retry: u32) -> Duration {
        let factor = 1u32
            .checked_shl(retry.saturating_sub(1))
            .unwrap_or(u32::MAX);
        self.first
            .checked_mul(factor)
            .map_or(self.longest, |pause| pause.min(self.longest))
    }
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Which kinds of parallelism are on.
    pub parallelism: Parallelism,
    /// What the machine has.
    pub capacity: Capacity,
    /// How often a failed task is tried again, unless its operation says otherwise.
    pub retries: u32,
    /// How long to wait before that.
    pub backoff: Backoff,
    /// Start nothing more after the first failure.
    pub fail_fast: bool,
    /// Whether products can be brought back from a store after they left memory.
    pub remembers: bool,
    /// Whether a task whose recipe is new is compared by its content key before it runs.
    pub compares: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            parallelism: Parallelism::default(),
            capacity: Capacity::unlimited(),
            retries: 0,
            backoff: Backoff::default(),
            fail_fast: false,
            remembers: false,
            compares: false,
        }
    }
}
