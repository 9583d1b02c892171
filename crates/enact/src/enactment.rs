//! Graph, expander and coordinator as one thing to be driven.
//!
//! Law: whoever drives it, threads or virtual time, makes the same calls and gets the same decisions.
//! Rounds open here: when a watched task ends, the expander goes on, and what it adds is looked up, planned
//! and offered, while everything else keeps running.

mod compare;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use headwater_graph::{Index, Outputs, Recipe, Source, Tally, TaskGraph, TaskId, Value};

use crate::contents::Contents;
use crate::{
    Action, Admission, Ancestry, Coordinator, Ending, Expander, Notice, Occurrence, Options,
    Parallelism, PlanError, Requested, Settled, ShapeError, StageRules, Start, State, Time,
};

/// What is remembered from earlier runs.
pub trait Recall {
    /// For each task, whether its outputs are remembered.
    fn known(&mut self, graph: &TaskGraph, tasks: &[TaskId]) -> Vec<bool>;

    /// The outputs of a task, which are those of the remembered product with this recipe, without the bytes of
    /// files: those need not be there.
    fn outputs(&mut self, graph: &TaskGraph, task: TaskId, recipe: &Recipe) -> Option<Outputs>;

    /// A task turned out to be equal to the product with the recipe `target`: whoever asks for the one may
    /// have the other.
    fn equal(&mut self, _graph: &TaskGraph, _task: TaskId, _target: &Recipe) {}
}

/// Remembers nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NothingRemembered;

impl Recall for NothingRemembered {
    fn known(&mut self, _: &TaskGraph, tasks: &[TaskId]) -> Vec<bool> {
        vec![false; tasks.len()]
    }

    fn outputs(&mut self, _: &TaskGraph, _: TaskId, _: &Recipe) -> Option<Outputs> {
        None
    }
}

/// Which instance of which stage a task belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskAddress {
    /// Position of the stage.
    pub stage: usize,
    /// The index path of the instance.
    pub index: Index,
    /// `stage.task[index]`.
    pub text: String,
}

/// A run in progress.
#[derive(Debug)]
pub struct Enactment {
    graph: TaskGraph,
    coordinator: Coordinator,
    expander: Option<Expander>,
    requested: Vec<Requested>,
    /// The products that are requested: task, and position of the output.
    wanted: BTreeSet<(TaskId, u16)>,
    errors: Vec<ShapeError>,
    notes: Vec<String>,
    watched: HashSet<TaskId>,
    /// How long the lists are that tasks made, for views that open later; other outputs are null here.
    lists: HashMap<TaskId, Outputs>,
    released: Vec<TaskId>,
    shared: Vec<(TaskId, TaskId)>,
    blocked: Vec<(TaskId, TaskId)>,
    contents: Contents,
    rounds: u32,
}

impl Enactment {
    /// A run of a workflow. Nothing is planned before [`open`](Self::open).
    pub fn of_workflow(expander: Expander, options: Options) -> Enactment {
        let rules = if options.parallelism == Parallelism::default() {
            expander.stage_limits()
        } else {
            expander.stage_rules()
        };
        Enactment::new(
            TaskGraph::new(),
            Some(expander),
            Coordinator::new(options, &rules),
        )
    }

    /// A run of a graph that is there already.
    pub fn of_graph(graph: TaskGraph, options: Options) -> Enactment {
        Enactment::of_stages(graph, options, &[])
    }

    /// The same, where tasks stand in stages that have rules.
    pub fn of_stages(graph: TaskGraph, options: Options, rules: &[StageRules]) -> Enactment {
        Enactment::new(graph, None, Coordinator::new(options, rules))
    }

    fn new(graph: TaskGraph, expander: Option<Expander>, coordinator: Coordinator) -> Enactment {
        Enactment {
            graph,
            coordinator,
            expander,
            requested: Vec::new(),
            wanted: BTreeSet::new(),
            errors: Vec::new(),
            notes: Vec::new(),
            watched: HashSet::new(),
            lists: HashMap::new(),
            released: Vec::new(),
            shared: Vec::new(),
            blocked: Vec::new(),
            contents: Contents::default(),
            rounds: 0,
        }
    }

    /// Plans the first round: everything that is known before anything runs.
    pub fn open(&mut self, recall: &mut dyn Recall) -> Result<(), OpenError> {
        self.expand(recall)?;
        // Nothing has run: what is wrong now is wrong with the data.
        match self.errors.first() {
            Some(error) => Err(error.clone().into()),
            None => Ok(()),
        }
    }

    /// Plans a graph without workflow: `wanted` tasks and what they need.
    pub fn open_graph(
        &mut self,
        wanted: &[TaskId],
        recall: &mut dyn Recall,
    ) -> Result<(), OpenError> {
        self.open_stages(wanted, Vec::new(), &[], recall)?;
        for task in wanted {
            let outputs = self.graph.operation_at(*task).signature.outputs.len();
            self.wanted
                .extend((0..outputs as u16).map(|port| (*task, port)));
        }
        Ok(())
    }

    /// Plans a graph without workflow: `wanted` tasks and what they need, of whose outputs those that are
    /// `requested` were asked for by name. Tasks stand in stages as `occurrences` say, in index order within each stage.
    pub fn open_stages(
        &mut self,
        wanted: &[TaskId],
        requested: Vec<Requested>,
        occurrences: &[Occurrence],
        recall: &mut dyn Recall,
    ) -> Result<(), OpenError> {
        let tasks: Vec<TaskId> = self.graph.ids().collect();
        let known = recall.known(&self.graph, &tasks);
        let known = |task: TaskId| known.get(task.index()).copied().unwrap_or(false);
        let complete: Vec<usize> = (0..self.coordinator.stage_tallies().len()).collect();
        let round = Admission {
            wanted,
            known: Some(&known),
            occurrences,
            complete: &complete,
            patient: false,
        };
        self.coordinator.admit(&self.graph, &round)?;
        for requested in &requested {
            want(&self.graph, &requested.source, &mut self.wanted);
        }
        self.requested = requested;
        self.rounds = 1;
        Ok(())
    }

    /// The graph, to add tasks to. They are looked up and planned by the next [`ask`](Self::ask).
    pub fn graph_mut(&mut self) -> &mut TaskGraph {
        &mut self.graph
    }

    /// Opens a round of a graph that grows: takes in what was added to it, and plans the tasks that are `wanted` and
    /// what they need. Products that are `requested` (tasks, and positions of their outputs) were asked for by name.
    /// Everything else waits until somebody asks, impure tasks too.
    pub fn ask(
        &mut self,
        wanted: &[TaskId],
        requested: &[(TaskId, u16)],
        recall: &mut dyn Recall,
    ) -> Result<(), OpenError> {
        let first_new = self.coordinator.admitted();
        let new: Vec<TaskId> = (first_new as u32..self.graph.len() as u32)
            .map(TaskId)
            .collect();
        let known = recall.known(&self.graph, &new);
        let known = |task: TaskId| {
            let place = task.index().checked_sub(first_new);
            place.and_then(|place| known.get(place)) == Some(&true)
        };
        let round = Admission {
            wanted,
            known: Some(&known),
            occurrences: &[],
            complete: &[],
            patient: true,
        };
        self.coordinator.admit(&self.graph, &round)?;
        self.wanted.extend(requested.iter().copied());
        self.rounds += 1;
        self.take_notices(recall);
        Ok(())
    }

    /// Says that an output of a task is asked for by name, whenever it is made. Plans nothing.
    pub fn request(&mut self, task: TaskId, port: u16) {
        self.wanted.insert((task, port));
    }

    /// Keeps the outputs of a task in memory, for readers that do not exist yet, until [`let_go`](Self::let_go).
    pub fn hold(&mut self, task: TaskId) {
        self.coordinator.hold(task);
    }

    /// Takes back one [`hold`](Self::hold).
    pub fn let_go(&mut self, task: TaskId) {
        self.coordinator.let_go(task);
        self.take_notices(&mut NothingRemembered);
    }

    fn expand(&mut self, recall: &mut dyn Recall) -> Result<(), OpenError> {
        loop {
            let Some(expander) = &mut self.expander else {
                return Ok(());
            };
            let first_new = self.graph.len();
            let mut expansion = expander.advance(&mut self.graph)?;
            let new: Vec<TaskId> = (first_new as u32..self.graph.len() as u32)
                .map(TaskId)
                .collect();
            let known = recall.known(&self.graph, &new);
            let known = |task: TaskId| {
                task.index()
                    .checked_sub(first_new)
                    .and_then(|place| known.get(place))
                    .copied()
                    .unwrap_or(false)
            };
            let round = Admission {
                wanted: &expansion.wanted,
                known: Some(&known),
                occurrences: &expansion.occurrences,
                complete: &expansion.complete,
                patient: false,
            };
            self.coordinator.admit(&self.graph, &round)?;
            self.rounds += 1;
            for requested in &expansion.requested {
                want(&self.graph, &requested.source, &mut self.wanted);
            }
            self.requested.append(&mut expansion.requested);
            self.errors.append(&mut expansion.errors);
            self.notes.append(&mut expansion.notes);
            self.watched.extend(&expansion.watched);
            expansion
                .held
                .iter()
                .for_each(|task| self.coordinator.hold(*task));
            expansion
                .let_go
                .iter()
                .for_each(|task| self.coordinator.let_go(*task));
            // What is watched may have ended before; then there is more to expand at once.
            let mut more = false;
            for task in expansion.watched {
                more |= self.tell_expander(task, None, recall);
            }
            more |= self.take_notices(recall);
            if !more {
                return Ok(());
            }
        }
    }

    /// Tells the expander how a watched task ended, if it has; `true` if there is something to expand.
    fn tell_expander(
        &mut self,
        task: TaskId,
        outputs: Option<&[Value]>,
        recall: &mut dyn Recall,
    ) -> bool {
        let state = self.coordinator.state(task);
        let recipe = self.stored_as(task);
        let Some(expander) = &mut self.expander else {
            return false;
        };
        if !self.watched.contains(&task) {
            return false;
        }
        let remembered;
        let outcome = match (state, outputs) {
            (State::Failed | State::Blocked, _) => Settled::Failed,
            (State::Done | State::Known, Some(outputs)) => Settled::Outputs(outputs),
            (State::Done | State::Known, None) if !expander.needs_outputs(task) => {
                Settled::Outputs(&[])
            }
            (State::Done, None) if self.lists.contains_key(&task) => {
                Settled::Outputs(&self.lists[&task])
            }
            (State::Done | State::Known, None) => {
                remembered = recall.outputs(&self.graph, task, &recipe);
                match &remembered {
                    Some(outputs) => Settled::Outputs(outputs),
                    None => {
                        // Remembered, but damaged: it has to run after all.
                        self.contents.forget(task);
                        self.coordinator.lost(&self.graph, task);
                        return false;
                    }
                }
            }
            _ => return false,
        };
        self.watched.remove(&task);
        expander.settled(&mut self.graph, task, outcome)
    }

    fn take_notices(&mut self, recall: &mut dyn Recall) -> bool {
        let mut more = false;
        for notice in self.coordinator.take_notices() {
            match notice {
                Notice::Released(task) => self.released.push(task),
                Notice::Blocked { task, cause } => {
                    self.blocked.push((task, cause));
                    more |= self.tell_expander(task, None, recall);
                }
                Notice::Recomputed(_) => {}
                Notice::Shared { task, from } => self.shared.push((task, from)),
                Notice::Equal { task, to } => {
                    self.became_equal(task, to, recall);
                    more |= self.tell_expander(task, None, recall);
                }
            }
        }
        more
    }

    /// What to do next.
    pub fn next(&mut self, now: Time) -> Action {
        self.coordinator.next(&self.graph, now)
    }

    /// More quick tasks to run after `first` on the same core.
    pub fn ride_along(&mut self, first: TaskId, workers: usize, batch: &mut Vec<Start>) {
        self.coordinator
            .ride_along(&self.graph, first, workers, batch);
    }

    /// Tells how a started task ended; `outputs` are given for a success. What they are by content is told
    /// before, with [`identify`](Self::identify).
    pub fn finished(
        &mut self,
        task: TaskId,
        outcome: Ending,
        outputs: &[Value],
        now: Time,
        recall: &mut dyn Recall,
    ) -> Result<(), OpenError> {
        if matches!(outcome, Ending::Success { .. }) {
            self.contents.forget(task);
        }
        self.coordinator.finished(&self.graph, task, outcome, now);
        let mut more = false;
        if self.expander.is_some() {
            if outputs.iter().any(|value| matches!(value, Value::List(_))) {
                self.lists
                    .insert(task, outputs.iter().map(without_contents).collect());
            }
            if self.watched.contains(&task) {
                let outputs = (outcome != Ending::Found).then_some(outputs);
                more = self.tell_expander(task, outputs, recall);
            }
        }
        more |= self.take_notices(recall);
        if more { self.expand(recall) } else { Ok(()) }
    }

    /// Tells the bytes of each output of a task; see [`Coordinator::measured`].
    pub fn measured(&mut self, task: TaskId, sizes: Box<[u64]>) {
        self.coordinator.measured(task, sizes);
    }

    /// Tells that the outputs of a task are in memory again.
    pub fn materialised(&mut self, task: TaskId, memory: u64) {
        self.coordinator.materialised(task, memory);
    }

    /// Tells that the outputs of a task cannot be brought back.
    pub fn lost(&mut self, task: TaskId, recall: &mut dyn Recall) -> Result<(), OpenError> {
        self.contents.forget(task);
        self.coordinator.lost(&self.graph, task);
        if self.take_notices(recall) {
            self.expand(recall)
        } else {
            Ok(())
        }
    }

    /// A running task asks for inputs for itself; see [`Coordinator::take_inputs`].
    pub fn take_inputs(&mut self, task: TaskId, inputs: &mut Vec<TaskId>) {
        self.coordinator.take_inputs(&self.graph, task, inputs);
    }

    /// Tells that the outputs of a task were written out, or could not be.
    pub fn spilled(&mut self, task: TaskId, written: bool) {
        self.coordinator.spilled(task, written);
    }

    /// Start nothing more.
    pub fn stop(&mut self) {
        self.coordinator.stop();
    }

    /// Tasks whose outputs nobody needs in memory any more, since the last call.
    pub fn take_released(&mut self, into: &mut Vec<TaskId>) {
        into.append(&mut self.released);
    }

    /// (task, from): the outputs of `from` are those of `task`, too, since the last call. To be done before
    /// anything is released.
    pub fn take_shared(&mut self, into: &mut Vec<(TaskId, TaskId)>) {
        into.append(&mut self.shared);
    }

    /// (task, cause) for tasks that cannot run any more.
    pub fn blocked(&self) -> &[(TaskId, TaskId)] {
        &self.blocked
    }

    /// The graph.
    pub fn graph(&self) -> &TaskGraph {
        &self.graph
    }

    /// The coordinator.
    pub fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// The expander, for a run of a workflow.
    pub fn expander(&self) -> Option<&Expander> {
        self.expander.as_ref()
    }

    /// Where all tasks stand.
    pub fn counts(&self) -> Tally {
        self.coordinator.counts()
    }

    /// The tasks that `task` reads and that failed, or could not run because others did. For a synchronised
    /// stage these are the items that were missing.
    pub fn failed_inputs(&self, task: TaskId) -> Vec<TaskId> {
        let mut failed = Vec::new();
        self.graph.for_each_input_task(task, |input| {
            if matches!(
                self.coordinator.state(input),
                State::Failed | State::Blocked
            ) {
                failed.push(input);
            }
        });
        failed.sort_unstable();
        failed.dedup();
        failed
    }

    /// The wanted outputs that are known so far, in the order of their rounds.
    pub fn requested(&self) -> &[Requested] {
        &self.requested
    }

    /// What went wrong in stages that could only be expanded later.
    pub fn errors(&self) -> &[ShapeError] {
        &self.errors
    }

    /// Things worth telling, since the last call.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// The outputs of a task that others still have to read, by position, sorted; `None`: possibly all, since
    /// not all readers are known yet.
    pub fn ports_read(&self, task: TaskId) -> Option<Vec<u16>> {
        if self.coordinator.is_held(task) {
            return None;
        }
        let mut ports = Vec::new();
        self.coordinator.for_each_reader(task, |reader| {
            for (_, source) in self.graph.inputs(reader) {
                source.for_each_product(&mut |from, port| {
                    if from == task {
                        ports.push(port);
                    }
                });
            }
        });
        ports.sort_unstable();
        ports.dedup();
        Some(ports)
    }

    /// The outputs of this task that were asked for by name, as far as is known now: positions, sorted.
    pub fn requested_ports(&self, task: TaskId) -> Vec<u16> {
        let ports = self.wanted.range((task, 0)..=(task, u16::MAX));
        ports.map(|(_, port)| *port).collect()
    }

    /// What a task is in the workflow: the position of its stage, and its name there.
    pub fn definition(&self, task: TaskId) -> Option<(usize, &Arc<str>)> {
        let number = self.coordinator.occurrence(task)? as usize;
        self.expander.as_ref()?.definition(number, task)
    }

    /// Visits the other addresses of tasks that stand in several places: equal tasks are one.
    pub fn for_each_other_address(&self, visit: &mut dyn FnMut(String, TaskId)) {
        let Some(expander) = &self.expander else {
            return;
        };
        expander.for_each_task(&mut |number, task| {
            let first = self.coordinator.occurrence(task);
            if first.is_some_and(|first| first as usize != number)
                && let Some(address) = expander.address(number, task)
            {
                visit(address, task);
            }
        });
    }

    /// What a task was made from; nothing is known of implicit tasks.
    pub fn origin(&self, task: TaskId) -> Option<Ancestry> {
        let number = self.coordinator.occurrence(task)? as usize;
        Some(self.expander.as_ref()?.origin_of_occurrence(number))
    }

    /// Where a task stands in the workflow; implicit tasks stand nowhere.
    pub fn address(&self, task: TaskId) -> Option<TaskAddress> {
        let number = self.coordinator.occurrence(task)? as usize;
        let expander = self.expander.as_ref()?;
        let (stage, index) = expander.occurrence(number)?;
        Some(TaskAddress {
            stage,
            index: index.clone(),
            text: expander.address(number, task)?,
        })
    }
}

/// Notes the products of a source, and those that the engine's own tasks take them from.
fn want(graph: &TaskGraph, source: &Source, wanted: &mut BTreeSet<(TaskId, u16)>) {
    source.for_each_product(&mut |task, port| {
        if wanted.insert((task, port)) && graph.operation_at(task).signature.implicit {
            let inputs = graph.inputs(task).iter();
            inputs.for_each(|(_, source)| want(graph, source, wanted));
        }
    });
}

/// A list of the same length; the expander asks for no more.
fn without_contents(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.iter().map(|_| Value::Null).collect()),
        _ => Value::Null,
    }
}

/// A round that cannot be opened.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum OpenError {
    /// The data does not fit the workflow.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The machine cannot run it.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl OpenError {
    /// What would fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            OpenError::Shape(error) => error.hint(),
            OpenError::Plan(PlanError::TooLarge { resource, .. }) => Some(match &**resource {
                "cores" => "lower `cores` in `resources:`, or raise -j".to_owned(),
                "memory" => "lower `memory` in `resources:`, or raise --memory".to_owned(),
                other => format!("say how much there is with --resource {other}=N"),
            }),
        }
    }

    /// The name of the stage that it stands at.
    pub fn stage(&self) -> Option<&Arc<str>> {
        match self {
            OpenError::Shape(error) => error.stage(),
            OpenError::Plan(_) => None,
        }
    }
}
