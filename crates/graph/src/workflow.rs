//! A workflow: stages of tasks, linked by data names.
//!
//! Law: a data name is made once, by a workflow input or by one task; stages are ordered by who reads what
//! and by `after` and `wait`, never by their position in the file.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use std::sync::Arc;

use crate::{Scalar, ScalarType, Strategy, Type};

/// An index path: one 0-based position per crossed source, written `3-1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Index(pub Box<[u32]>);

impl Index {
    /// The path of what is there once.
    pub fn root() -> Index {
        Index::default()
    }

    /// The path with positions appended.
    #[must_use]
    pub fn join(&self, more: &[u32]) -> Index {
        Index(self.0.iter().chain(more).copied().collect())
    }
}

impl From<&[u32]> for Index {
    fn from(positions: &[u32]) -> Index {
        Index(positions.into())
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, position) in self.0.iter().enumerate() {
            let dash = if place == 0 { "" } else { "-" };
            write!(f, "{dash}{position}")?;
        }
        Ok(())
    }
}

/// What files and directories from outside are known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KnownBy {
    /// What is in them.
    #[default]
    Content,
    /// What they are called in the data file: the user says that a name stands for the same contents wherever
    /// and whenever it is given.
    Name,
}

/// An input of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Its data name.
    pub name: Arc<str>,
    /// What it carries.
    pub input_type: Type,
    /// Whether it may be absent; outputs that need an absent input are left out.
    pub optional: bool,
    /// What its files are known by.
    pub identity: KnownBy,
}

/// A parameter of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name, `$NAME` in tasks.
    pub name: Arc<str>,
    /// Its type; for a choice, that of its values.
    pub scalar_type: ScalarType,
    /// The value it takes when none is given.
    pub default: Option<Scalar>,
    /// Lower and upper end, for studies.
    pub range: Option<(f64, f64)>,
    /// Distance of the grid, for studies.
    pub step: Option<f64>,
    /// The values of a choice.
    pub values: Vec<Scalar>,
}

/// Where a parameter of a task takes its value from.
#[derive(Debug, Clone, PartialEq)]
pub enum Binding {
    /// The file.
    Literal(Scalar),
    /// A parameter of the workflow.
    Parameter(Arc<str>),
}

/// One operation, applied.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskDefinition {
    /// Unique in its stage.
    pub name: Arc<str>,
    /// The name of the operation.
    pub operation: Arc<str>,
    /// Input port → data name.
    pub inputs: BTreeMap<Arc<str>, Arc<str>>,
    /// Parameter → value.
    pub parameters: BTreeMap<Arc<str>, Binding>,
    /// Output port → data name.
    pub outputs: BTreeMap<Arc<str>, Arc<str>>,
}

/// When a stage fires.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Wait {
    /// For each item.
    #[default]
    No,
    /// Once, with all items as lists.
    All,
    /// Once, with all items as lists, when also these stages and their ancestors are inactive.
    Stages(Vec<Arc<str>>),
    /// Once per group of items that share the named workflow input.
    Per(Arc<str>),
}

/// How many failed items a synchronised stage accepts, per input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// At most so many.
    Count(u32),
    /// At most so many percent of the items expected.
    Percent(f64),
}

impl Tolerance {
    /// Whether `failed` of `expected` items may be missing.
    pub fn allows(self, failed: usize, expected: usize) -> bool {
        match self {
            Tolerance::Count(count) => failed <= count as usize,
            Tolerance::Percent(percent) => failed as f64 * 100.0 <= percent * expected as f64,
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tolerance::Count(count) => write!(f, "{count}"),
            Tolerance::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// A named group of tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Unique in the workflow.
    pub name: Arc<str>,
    /// Its tasks.
    pub tasks: Vec<TaskDefinition>,
    /// How items are combined; names left out pair by common ancestry.
    pub iterate: Option<Strategy>,
    /// When it fires.
    pub wait: Wait,
    /// Stages that come before it without giving it data.
    pub after: Vec<Arc<str>>,
    /// How many failed items it accepts; only with `wait`.
    pub tolerate: Option<Tolerance>,
    /// How many of its instances may run at once.
    pub concurrency: Option<u32>,
}

impl Stage {
    /// A stage that iterates over all its inputs.
    pub fn new(name: &str, tasks: Vec<TaskDefinition>) -> Stage {
        Stage {
            name: name.into(),
            tasks,
            iterate: None,
            wait: Wait::No,
            after: Vec::new(),
            tolerate: None,
            concurrency: None,
        }
    }

    /// Whether some task of this stage makes `name`.
    pub fn makes(&self, name: &str) -> bool {
        self.tasks
            .iter()
            .any(|task| task.outputs.values().any(|made| **made == *name))
    }
}

/// What the user wants to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputBinding {
    /// The name of the output.
    pub name: Arc<str>,
    /// The data name it stands for.
    pub data: Arc<str>,
}

/// Who makes a data name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataOrigin {
    /// The input at this position.
    Input(usize),
    /// This output of this task.
    Task {
        /// Position of the stage.
        stage: usize,
        /// Position of the task in the stage.
        task: usize,
    },
}

/// Stages, links, iteration strategies, synchronisation points.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Workflow {
    /// Its name.
    pub name: Arc<str>,
    /// Its inputs.
    pub inputs: Vec<Input>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Its stages, in the order of the file.
    pub stages: Vec<Stage>,
    /// What is wanted. Empty: everything that is made and not read.
    pub outputs: Vec<OutputBinding>,
}

impl Workflow {
    /// Who makes which data name. Of two makers the first one counts; `check` reports the other.
    pub fn origins(&self) -> BTreeMap<Arc<str>, DataOrigin> {
        let mut origins = BTreeMap::new();
        for (position, input) in self.inputs.iter().enumerate() {
            origins
                .entry(Arc::clone(&input.name))
                .or_insert(DataOrigin::Input(position));
        }
        for (stage, definition) in self.stages.iter().enumerate() {
            for (task, task_definition) in definition.tasks.iter().enumerate() {
                for name in task_definition.outputs.values() {
                    origins
                        .entry(Arc::clone(name))
                        .or_insert(DataOrigin::Task { stage, task });
                }
            }
        }
        origins
    }

    /// What is wanted: `outputs`, or everything that is made and not read.
    pub fn wanted(&self) -> Vec<OutputBinding> {
        if !self.outputs.is_empty() {
            return self.outputs.clone();
        }
        let tasks = || self.stages.iter().flat_map(|stage| &stage.tasks);
        let read: std::collections::BTreeSet<_> =
            tasks().flat_map(|task| task.inputs.values()).collect();
        tasks()
            .flat_map(|task| task.outputs.values())
            .filter(|name| !read.contains(name))
            .map(|name| OutputBinding {
                name: Arc::clone(name),
                data: Arc::clone(name),
            })
            .collect()
    }

    /// The position of a stage.
    pub fn stage_index(&self, name: &str) -> Option<usize> {
        self.stages.iter().position(|stage| *stage.name == *name)
    }

    /// For each stage, the stages whose data it reads.
    pub fn data_predecessors(&self) -> Vec<Vec<usize>> {
        let origins = self.origins();
        self.stages
            .iter()
            .enumerate()
            .map(|(position, stage)| {
                let mut found: Vec<usize> = stage
                    .tasks
                    .iter()
                    .flat_map(|task| task.inputs.values())
                    .filter_map(|name| match origins.get(name) {
                        Some(DataOrigin::Task { stage, .. }) if *stage != position => Some(*stage),
                        _ => None,
                    })
                    .collect();
                found.sort_unstable();
                found.dedup();
                found
            })
            .collect()
    }

    /// For each stage, the stages that it is ordered after: by data, by `after`, by `wait: [stages]`.
    pub fn predecessors(&self) -> Vec<Vec<usize>> {
        let mut predecessors = self.data_predecessors();
        let positions: BTreeMap<&str, usize> = self
            .stages
            .iter()
            .enumerate()
            .rev()
            .map(|(at, stage)| (&*stage.name, at))
            .collect();
        for (position, stage) in self.stages.iter().enumerate() {
            let waited = match &stage.wait {
                Wait::Stages(names) => names.as_slice(),
                _ => &[],
            };
            let named = stage
                .after
                .iter()
                .chain(waited)
                .filter_map(|name| positions.get(&**name).copied());
            predecessors[position].extend(named);
            predecessors[position].sort_unstable();
            predecessors[position].dedup();
        }
        predecessors
    }

    /// For each stage, whether it runs: it leads to something wanted, a stage that runs comes after it or
    /// waits for it, or it has a task of which `always` says that it runs anyway.
    pub fn needed_stages(&self, always: impl Fn(&TaskDefinition) -> bool) -> Vec<bool> {
        let origins = self.origins();
        let wanted: Vec<usize> = self
            .wanted()
            .iter()
            .filter_map(|output| match origins.get(&output.data) {
                Some(DataOrigin::Task { stage, .. }) => Some(*stage),
                _ => None,
            })
            .collect();
        let runs_anyway = |stage: &usize| self.stages[*stage].tasks.iter().any(&always);
        let mut pending: Vec<usize> = wanted
            .into_iter()
            .chain((0..self.stages.len()).filter(runs_anyway))
            .collect();
        let predecessors = self.predecessors();
        let mut needed = vec![false; self.stages.len()];
        while let Some(stage) = pending.pop() {
            if !std::mem::replace(&mut needed[stage], true) {
                pending.extend(&predecessors[stage]);
            }
        }
        needed
    }

    /// The stages in an order in which each comes after its predecessors, and among equals in the order of
    /// the file; or the stages of one cycle.
    pub fn stage_order(&self) -> Result<Vec<usize>, Vec<usize>> {
        let predecessors = self.predecessors();
        let mut successors: Vec<Vec<usize>> = vec![Vec::new(); self.stages.len()];
        let mut waits_for: Vec<usize> = predecessors.iter().map(Vec::len).collect();
        for (stage, before) in predecessors.iter().enumerate() {
            before
                .iter()
                .for_each(|before| successors[*before].push(stage));
        }
        let mut ready: BinaryHeap<Reverse<usize>> = (0..self.stages.len())
            .filter(|stage| waits_for[*stage] == 0)
            .map(Reverse)
            .collect();
        let mut order = Vec::with_capacity(self.stages.len());
        while let Some(Reverse(stage)) = ready.pop() {
            order.push(stage);
            for next in &successors[stage] {
                waits_for[*next] -= 1;
                if waits_for[*next] == 0 {
                    ready.push(Reverse(*next));
                }
            }
        }
        if order.len() == self.stages.len() {
            return Ok(order);
        }
        let mut done = vec![false; self.stages.len()];
        order.iter().for_each(|stage| done[*stage] = true);
        Err(cycle(&predecessors, &done))
    }
}

/// Follows undone predecessors until one comes up twice: the part in between is a cycle.
pub(crate) fn cycle(predecessors: &[Vec<usize>], done: &[bool]) -> Vec<usize> {
    let Some(start) = done.iter().position(|done| !done) else {
        return Vec::new();
    };
    let mut path = vec![start];
    loop {
        let last = path[path.len() - 1];
        let Some(next) = predecessors[last]
            .iter()
            .copied()
            .find(|before| !done[*before])
        else {
            return path;
        };
        if let Some(begin) = path.iter().position(|seen| *seen == next) {
            let mut cycle = path.split_off(begin);
            cycle.reverse();
            return cycle;
        }
        path.push(next);
    }
}
