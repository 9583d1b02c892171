//! What the pool asks of whoever keeps products.
//!
//! Law: the pool knows nothing of stores. A [`Keeper`] is called under the pool's lock and must be quick; a
//! [`Fetch`] is called without any lock and may wait for a disk.

use std::path::PathBuf;
use std::sync::Arc;

use headwater_enact::{Match, Recall};
use headwater_graph::{
    Digest, Identity, Lease, Outputs, Recipe, StoredOutput, TaskGraph, TaskId, Value,
};

use crate::ended::Execution;

/// Why products are no longer kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeeperError {
    /// Whoever has the bytes cannot take them; in its words.
    #[error("{0}")]
    Refused(String),
    /// What keeps them has ended.
    #[error("the thread that keeps products has stopped; is the disk full?")]
    Stopped,
    /// It was closed already.
    #[error("the keeper is closed")]
    Closed,
}

/// What came of asking for the right to make a product.
pub enum LeaseAnswer {
    /// Go on; the lease, where there is one, is kept until the product is durable.
    Granted(Option<Lease>),
    /// Somebody else is at it.
    Busy,
    /// Somebody else has made it meanwhile; these are its outputs, by content.
    Made(Vec<Identity>),
}

/// What is known of a task that ended well, besides its outputs.
#[derive(Default)]
pub struct Made {
    /// What its outputs are by content; empty where nobody asked.
    pub contents: Vec<Identity>,
    /// Its content key, where that is not its recipe.
    pub key: Option<Recipe>,
    /// The right to make it.
    pub lease: Option<Lease>,
    /// It was made before: its outputs had been lost.
    pub again: bool,
    /// The outputs that somebody asked for by name, which are kept whatever that costs.
    pub wanted: Ports,
}

/// Keeps products. The pool knows nothing of stores.
pub trait Keeper: Recall + Send {
    /// A task ended well: keep its outputs, if you keep any. Must not block for long; `outputs` is shared.
    fn keep(
        &mut self,
        graph: &TaskGraph,
        execution: &Execution,
        outputs: &Arc<Outputs>,
        made: Made,
    ) -> Result<(), KeeperError>;

    /// A task ended well on another machine: keep what is known of its outputs, if you keep any. `placed` are the objects
    /// of outputs (by position) that are durable in files of this machine, which nobody writes to any more; other objects
    /// stay where they are, and are not kept.
    fn keep_made(
        &mut self,
        _graph: &TaskGraph,
        _execution: &Execution,
        _outputs: &[StoredOutput],
        _placed: Vec<(Digest, PathBuf)>,
        _made: Made,
    ) -> Result<(), KeeperError> {
        Ok(())
    }

    /// A handle to bring back the outputs of a kept or remembered task; it is used without any lock.
    fn fetcher(&self) -> Arc<dyn Fetch>;
}

/// Brings back kept outputs.
pub trait Fetch: Send + Sync {
    /// The outputs of the task with this recipe, files included; `None` if one that is needed is not there
    /// or damaged.
    fn fetch(&self, recipe: &Recipe, ports: &Ports) -> Option<Fetched>;

    /// A value all files of which are on this machine, for programs and for people; `None` where one cannot be had. What
    /// [`fetch`](Self::fetch) gives may have files that only the store has.
    fn brought(&self, value: Value) -> Option<Value> {
        Some(value)
    }

    /// What is known of the outputs of the task with this recipe, for a machine that fetches their bytes itself; `None` if
    /// one that is needed cannot be had.
    fn described(&self, _recipe: &Recipe, _ports: &Ports) -> Option<Vec<StoredOutput>> {
        None
    }

    /// Files of a value that only the store has, and that are not there or not what they should be.
    fn missing(&self, _value: &Value) -> Vec<Digest> {
        Vec::new()
    }

    /// For each recipe, what the outputs are by content, whether their bytes are there or not.
    fn contents(&self, recipes: &[Recipe]) -> Vec<Option<Vec<Identity>>> {
        vec![None; recipes.len()]
    }

    /// For each content key, a product that has it.
    fn equal(&self, keys: &[Recipe]) -> Vec<Option<Match>> {
        vec![None; keys.len()]
    }

    /// Bytes with these digests were found changed where they lie: nobody is given them any more.
    fn spoiled(&self, _digests: &[Digest]) {}

    /// Asks for the right to make the product with this recipe and this content key. If it is to be
    /// restored, that its record is there is no reason not to make it.
    fn claim(&self, _recipe: &Recipe, _key: Option<&Recipe>, _restoring: bool) -> LeaseAnswer {
        LeaseAnswer::Granted(None)
    }
}

/// Outputs that were brought back.
#[derive(Debug, Clone, PartialEq)]
pub struct Fetched {
    /// All of them, in the order of the signature; null where one is absent.
    pub outputs: Outputs,
    /// Positions of those that nobody needs now and that are not there.
    pub absent: Vec<u16>,
}

impl Fetched {
    /// One of them, if it is there.
    pub fn output(&self, port: u16) -> Option<Value> {
        let value = self.outputs.get(usize::from(port));
        value.filter(|_| !self.absent.contains(&port)).cloned()
    }
}

impl From<Outputs> for Fetched {
    fn from(outputs: Outputs) -> Fetched {
        Fetched {
            outputs,
            absent: Vec::new(),
        }
    }
}

/// Which outputs of a task are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ports {
    /// All of them.
    All,
    /// Those at these positions of the signature, sorted.
    These(Vec<u16>),
}

impl Default for Ports {
    fn default() -> Ports {
        Ports::These(Vec::new())
    }
}

impl Ports {
    /// Whether the output at this position is needed.
    pub fn has(&self, port: usize) -> bool {
        match self {
            Ports::All => true,
            Ports::These(ports) => ports.iter().any(|needed| usize::from(*needed) == port),
        }
    }
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NothingKept;

impl Recall for NothingKept {
    fn known(&mut self, _: &TaskGraph, tasks: &[TaskId]) -> Vec<bool> {
        vec![false; tasks.len()]
    }

    fn outputs(&mut self, _: &TaskGraph, _: TaskId, _: &Recipe) -> Option<Outputs> {
        None
    }
}

impl Keeper for NothingKept {
    fn keep(
        &mut self,
        _: &TaskGraph,
        _: &Execution,
        _: &Arc<Outputs>,
        _: Made,
    ) -> Result<(), KeeperError> {
        Ok(())
    }

    fn fetcher(&self) -> Arc<dyn Fetch> {
        Arc::new(*self)
    }
}

impl Fetch for NothingKept {
    fn fetch(&self, _: &Recipe, _: &Ports) -> Option<Fetched> {
        None
    }
}

/// A keeper as what the enactment may ask.
pub struct AsRecall<'a>(pub &'a mut dyn Keeper);

impl Recall for AsRecall<'_> {
    fn known(&mut self, graph: &TaskGraph, tasks: &[TaskId]) -> Vec<bool> {
        self.0.known(graph, tasks)
    }

    fn outputs(&mut self, graph: &TaskGraph, task: TaskId, recipe: &Recipe) -> Option<Outputs> {
        self.0.outputs(graph, task, recipe)
    }

    fn equal(&mut self, graph: &TaskGraph, task: TaskId, target: &Recipe) {
        self.0.equal(graph, task, target);
    }
}
