//! What a run may take of the machine, and how it deals with failures.
//!
//! Law: limits decide when and where things run, never what comes out.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_enact::{Backoff, Capacity, Options};
pub use headwater_execute::machine_cores;
use headwater_execute::machine_memory;

use crate::{Error, budget};

/// Other processes that run tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machines {
    /// Which: `local:N` for N processes on this machine, `slurm:N` for N jobs of Slurm, `command:TEXT` for a command that
    /// starts one, with `{node}` in the place of the program.
    pub nodes: String,
    /// What is said to `sbatch` besides, a word each.
    pub slurm: Vec<String>,
}

/// Limits of a run; by default all cores and all memory of this machine, no further attempts, and whatever does not
/// need what failed goes on.
///
/// ```
/// use headwater::{Limits, Site};
///
/// let limits = Limits { cores: Some(2), memory: Some(4 << 30), ..Limits::default() };
/// assert_eq!(limits.retries, 0);
/// let site = Site::new(".").with_limits(limits);
/// # let _ = site;
/// ```
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Cores; `None`: those of this machine.
    pub cores: Option<usize>,
    /// Bytes for running tasks and live products.
    pub memory: Option<u64>,
    /// Bytes that the objects and logs of the store may take.
    pub disk: Option<u64>,
    /// Other processes that run tasks; `None`: threads of this one.
    pub machines: Option<Machines>,
    /// Other counters: gpu, a licence.
    pub resources: BTreeMap<Arc<str>, u64>,
    /// How often a failed task is tried again, unless its operation says otherwise.
    pub retries: u32,
    /// Start nothing more after the first failure.
    pub fail_fast: bool,
}

impl Limits {
    /// How many cores there are to be used.
    pub fn cores_here(&self) -> usize {
        self.cores.unwrap_or_else(machine_cores)
    }

    /// The same for the engine. All of the memory of this machine is a limit too.
    pub fn options(&self) -> Options {
        let capacity = if self.machines.is_some() {
            // What nodes have is known when they are there, and who gives tasks to them keeps to it.
            Capacity {
                others: self.resources.clone(),
                ..Capacity::unlimited()
            }
        } else {
            let memory = self.memory.or_else(machine_memory);
            Capacity {
                cores: self.cores_here() as u64,
                memory,
                aside: budget::aside(memory),
                others: self.resources.clone(),
            }
        };
        Options {
            capacity,
            retries: self.retries,
            backoff: Backoff::default(),
            fail_fast: self.fail_fast,
            ..Options::default()
        }
    }
}

/// Refuses variables of the environment that mean nothing, before anything runs.
pub fn check_environment() -> Result<(), Error> {
    let checked = headwater_execute::check_protection();
    checked.map_err(|(message, hint)| Error::usage(message, Some(hint)))
}
