//! One stage instance: its tasks, their parameters and their sources.
//!
//! Law: the tasks of an instance are added to the graph in an order in which each comes after the tasks it
//! reads; a task that the graph has already is shared. What an impure task makes is identified by its
//! content, also inside the instance: tasks that read it are added when it has run.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::{
    External, FileValue, Identity, Index, NewTask, Operation, Scalar, Source, TaskGraph, TaskId,
    Value, is_read,
};

use super::{Expander, Expansion, Item, ItemPlace, Late, Made, NO_TASK, ShapeError, address};
use crate::Occurrence;
use crate::join::{Row, follow};

/// Where a port of a task takes its data from.
#[derive(Debug, Clone)]
pub(super) enum Feed {
    /// An input of the stage; `gather` if the port takes all its items as a list.
    Unit {
        unit: usize,
        gather: bool,
        decode: Option<Arc<Operation>>,
    },
    /// A task of the same instance.
    Inside {
        task: usize,
        port: u16,
        decode: Option<Arc<Operation>>,
    },
}

/// A task of a stage, with everything that does not depend on the item.
#[derive(Debug, Clone)]
pub(super) struct TaskPlan {
    pub(super) name: Arc<str>,
    pub(super) operation: Arc<Operation>,
    pub(super) parameters: Vec<Scalar>,
    /// (position of the port, where from), sorted by port.
    pub(super) feeds: Vec<(u16, Feed)>,
    /// (position of the port, data).
    pub(super) outputs: Vec<(u16, usize)>,
}

impl TaskPlan {
    fn is_impure(&self) -> bool {
        !self.operation.signature.pure
    }
}

/// A stage instance in the making.
#[derive(Debug)]
pub(super) struct Instance {
    stage: usize,
    path: Index,
    /// What its units are.
    sources: Vec<Option<Source>>,
    /// (data, item) that it is made from.
    inputs: Vec<(u32, u32)>,
    /// Per task of the stage.
    steps: Vec<Step>,
    /// What impure tasks made: (task, port) → source.
    learned: BTreeMap<(usize, u16), Source>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Not looked at yet.
    New,
    /// It reads what an impure task has yet to make.
    Deferred,
    /// It is in the graph.
    Added(TaskId),
    /// It failed, or something that it would have read did.
    Lost,
}

/// Where a feed stands.
enum Found {
    Source(Source),
    Unbound,
    NotYet,
    Lost,
}

impl Instance {
    /// An impure task of this instance failed.
    pub(super) fn lose(&mut self, position: usize) {
        self.steps[position] = Step::Lost;
    }

    /// What an impure task of this instance made.
    pub(super) fn learn(&mut self, position: usize, port: u16, source: Source) {
        self.learned.insert((position, port), source);
    }

    fn is_unfinished(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, Step::New | Step::Deferred))
    }

    fn find(&self, feed: &Feed, plans: &[TaskPlan]) -> Found {
        match feed {
            Feed::Unit { unit, .. } => self.sources[*unit]
                .clone()
                .map_or(Found::Unbound, Found::Source),
            Feed::Inside { task, port, .. } => match self.steps[*task] {
                Step::Lost => Found::Lost,
                Step::New | Step::Deferred => Found::NotYet,
                Step::Added(_) if plans[*task].is_impure() => self
                    .learned
                    .get(&(*task, *port))
                    .cloned()
                    .map_or(Found::NotYet, Found::Source),
                Step::Added(task) => Found::Source(Source::Product { task, port: *port }),
            },
        }
    }
}

impl Expander {
    /// Makes the instance of a stage for one combination of items.
    pub(super) fn instantiate(
        &mut self,
        stage: usize,
        row: Row,
        graph: &mut TaskGraph,
        expansion: &mut Expansion,
    ) -> Result<(), ShapeError> {
        let mut inputs: Vec<(u32, u32)> = Vec::with_capacity(row.items.len());
        let mut sources: Vec<Option<Source>> = vec![None; self.stages[stage].units.len()];
        let mut lacks = false;
        for (unit, item) in &row.items {
            let data = self.stages[stage].units[*unit].data;
            inputs.push((data as u32, *item));
            match &self.data[data].items[*item as usize].place {
                ItemPlace::Source(source) => sources[*unit] = Some(source.clone()),
                ItemPlace::Absent => lacks |= !self.may_lack(stage, *unit),
            }
        }
        if lacks {
            self.leave_out(stage, &row.path);
            return Ok(());
        }
        self.make(stage, row.path, sources, inputs, graph, expansion)
    }

    /// Whether every port that reads this unit is optional.
    fn may_lack(&self, stage: usize, unit: usize) -> bool {
        self.stages[stage].tasks.iter().all(|task| {
            task.feeds.iter().all(|(port, feed)| {
                let reads = matches!(feed, Feed::Unit { unit: read, .. } if *read == unit);
                !reads || task.operation.signature.inputs[usize::from(*port)].optional
            })
        })
    }

    /// What would have been made keeps its place.
    fn leave_out(&mut self, stage: usize, path: &Index) {
        let made: Vec<usize> = self.stages[stage].made_data().collect();
        for data in made {
            let path = path.clone();
            self.data[data].push(Item {
                path,
                place: ItemPlace::Absent,
                maker: None,
                parent: None,
            });
        }
    }

    /// Adds the tasks of one instance, whose units have these sources.
    pub(super) fn make(
        &mut self,
        stage: usize,
        path: Index,
        sources: Vec<Option<Source>>,
        inputs: Vec<(u32, u32)>,
        graph: &mut TaskGraph,
        expansion: &mut Expansion,
    ) -> Result<(), ShapeError> {
        let steps = vec![Step::New; self.stages[stage].tasks.len()];
        let mut instance = Instance {
            stage,
            path,
            sources,
            inputs,
            steps,
            learned: BTreeMap::new(),
        };
        let number = self.instances;
        self.instances += 1;
        let result = self.go_on(number, &mut instance, graph, expansion);
        if result.is_err() {
            self.give_up(&mut instance);
        } else if instance.is_unfinished() {
            self.stages[stage].unfinished += 1;
            self.unfinished.insert(number, instance);
        }
        result
    }

    /// Goes on with instances whose impure tasks have ended.
    pub(super) fn resume_instances(&mut self, graph: &mut TaskGraph, expansion: &mut Expansion) {
        for number in std::mem::take(&mut self.resumable) {
            let Some(mut instance) = self.unfinished.remove(&number) else {
                continue;
            };
            if let Err(error) = self.go_on(number, &mut instance, graph, expansion) {
                expansion.errors.push(error);
                self.give_up(&mut instance);
            }
            if instance.is_unfinished() {
                self.unfinished.insert(number, instance);
            } else {
                self.stages[instance.stage].unfinished -= 1;
            }
        }
    }

    /// Whatever has not been added never will be.
    fn give_up(&mut self, instance: &mut Instance) {
        for position in 0..instance.steps.len() {
            if instance.steps[position] == Step::Deferred {
                self.lose_outputs(instance.stage, position, &instance.path);
            }
            if !matches!(instance.steps[position], Step::Added(_)) {
                instance.steps[position] = Step::Lost;
            }
        }
    }

    fn lose_outputs(&mut self, stage: usize, position: usize, path: &Index) {
        let outputs = self.stages[stage].tasks[position].outputs.clone();
        for (_, data) in outputs {
            self.data[data].pending -= 1;
            self.data[data].holes.push(Some(path.clone()));
            self.update_completeness(data);
        }
    }

    /// Adds the tasks of an instance that can be added by now.
    fn go_on(
        &mut self,
        number: u32,
        instance: &mut Instance,
        graph: &mut TaskGraph,
        expansion: &mut Expansion,
    ) -> Result<(), ShapeError> {
        let stage = instance.stage;
        let plans = std::mem::take(&mut self.stages[stage].tasks);
        let mut tasks = vec![NO_TASK; plans.len()];
        let mut lost = Vec::new();
        let result = self.add_tasks(
            number, instance, &plans, graph, expansion, &mut tasks, &mut lost,
        );
        self.stages[stage].tasks = plans;
        for position in lost {
            self.lose_outputs(stage, position, &instance.path);
        }
        let there = |task: &TaskId| *task != NO_TASK;
        let added: Vec<TaskId> = tasks.iter().copied().filter(there).collect();
        if !added.is_empty() {
            let path = instance.path.clone();
            let occurrence = self.ordered(stage, &path, added);
            if let Some(made) = &mut self.stages[stage].made {
                made.entry(path.clone())
                    .or_default()
                    .extend(&occurrence.tasks);
            }
            expansion.occurrences.push(occurrence);
            let inputs = if instance.is_unfinished() {
                instance.inputs.clone()
            } else {
                std::mem::take(&mut instance.inputs)
            };
            self.occurrences.push(Made {
                stage,
                path,
                tasks,
                inputs,
            });
        }
        result
    }

    /// Fills in the tasks that can be added now, by position, and the positions of those that never will be.
    #[expect(
        clippy::too_many_arguments,
        reason = "a step of `go_on`, not an interface"
    )]
    fn add_tasks(
        &mut self,
        number: u32,
        instance: &mut Instance,
        plans: &[TaskPlan],
        graph: &mut TaskGraph,
        expansion: &mut Expansion,
        tasks: &mut [TaskId],
        lost: &mut Vec<usize>,
    ) -> Result<(), ShapeError> {
        let occurrence = self.occurrences.len() as u32;
        for turn in 0..self.stages[instance.stage].turns.len() {
            let position = self.stages[instance.stage].turns[turn];
            let plan = &plans[position];
            let was_deferred = match instance.steps[position] {
                Step::New => false,
                Step::Deferred => true,
                Step::Added(_) | Step::Lost => continue,
            };
            let stage = &self.stages[instance.stage].name;
            let mut bound: Vec<(u16, Source)> = Vec::with_capacity(plan.feeds.len());
            let (mut waits, mut loses) = (false, false);
            for (port, feed) in &plan.feeds {
                let (Feed::Unit { decode, .. } | Feed::Inside { decode, .. }) = feed;
                match (instance.find(feed, plans), decode) {
                    (Found::Source(source), None) => {
                        let port_number = usize::from(*port);
                        let keeps_name = plan.operation.signature.inputs[port_number].keep_name;
                        let source = if keeps_name && self.is_from_outside(instance.stage, feed) {
                            with_names(graph, source)
                        } else {
                            source
                        };
                        bound.push((*port, source));
                    }
                    (Found::Source(source), Some(decode)) => {
                        let source = decoded(graph, decode, source).map_err(|reason| {
                            let address = address(stage, &plan.name, &instance.path);
                            ShapeError::Task { address, reason }
                        })?;
                        bound.push((*port, source));
                    }
                    (Found::Unbound, _) => {}
                    (Found::NotYet, _) => waits = true,
                    (Found::Lost, _) => loses = true,
                }
            }
            if loses {
                instance.steps[position] = Step::Lost;
                lost.extend(was_deferred.then_some(position));
                continue;
            }
            if waits {
                instance.steps[position] = Step::Deferred;
                if !was_deferred {
                    plan.outputs
                        .iter()
                        .for_each(|(_, data)| self.data[*data].pending += 1);
                }
                continue;
            }
            let place = if plan.is_impure() {
                address(stage, &plan.name, &instance.path)
            } else {
                String::new()
            };
            let operation = graph.operation(&plan.operation);
            let parameters = &plan.parameters;
            let new = NewTask {
                operation,
                parameters,
                inputs: &bound,
                address: &place,
            };
            let (id, _) = graph.add(&new).map_err(|reason| {
                let address = address(stage, &plan.name, &instance.path);
                ShapeError::Task {
                    address,
                    reason: reason.to_string(),
                }
            })?;
            instance.steps[position] = Step::Added(id);
            tasks[position] = id;
            self.add_outputs(id, occurrence, was_deferred, plan, &instance.path);
            if plan.is_impure() {
                let own =
                    |feed: &Feed| matches!(feed, Feed::Inside { task, .. } if *task == position);
                if plans
                    .iter()
                    .any(|plan| plan.feeds.iter().any(|(_, feed)| own(feed)))
                {
                    self.resumes.insert(id, (number, position));
                }
                if !plan.outputs.is_empty() {
                    expansion.watched.push(id);
                }
            }
        }
        Ok(())
    }

    /// Whether a feed gives what the user gave; files that tasks made have no names worth keeping.
    fn is_from_outside(&self, stage: usize, feed: &Feed) -> bool {
        let Feed::Unit { unit, .. } = feed else {
            return false;
        };
        let data = &self.data[self.stages[stage].units[*unit].data];
        let base = data.of.map_or(data, |base| &self.data[base]);
        base.maker.is_none()
    }

    /// The outputs of a task that was added: known at once, or when it has run.
    fn add_outputs(
        &mut self,
        task: TaskId,
        maker: u32,
        was_deferred: bool,
        plan: &TaskPlan,
        path: &Index,
    ) {
        for (port, data) in &plan.outputs {
            let (port, data, path) = (*port, *data, path.clone());
            if plan.is_impure() {
                self.data[data].pending += usize::from(!was_deferred);
                self.late.entry(task).or_default().push(Late {
                    port,
                    data,
                    path,
                    maker,
                });
            } else {
                self.data[data].pending -= usize::from(was_deferred);
                let place = ItemPlace::Source(Source::Product { task, port });
                self.data[data].push(Item {
                    path,
                    place,
                    maker: Some(maker),
                    parent: None,
                });
            }
        }
    }

    /// The occurrence, with what it comes after.
    fn ordered(&mut self, stage: usize, path: &Index, tasks: Vec<TaskId>) -> Occurrence {
        let run = &self.stages[stage];
        let after_stages = run.after_stages.clone();
        let mut occurrence = Occurrence {
            stage,
            tasks,
            after: Vec::new(),
            after_stages,
        };
        let mut notes = Vec::new();
        for (before, maps) in &run.after {
            // An instance of which a part is yet to be made is not one to pair with.
            let unfinished = |path: &Index| {
                self.stages[*before].unfinished > 0
                    && self
                        .unfinished
                        .values()
                        .any(|other| other.stage == *before && other.path == *path)
            };
            let paired = maps.as_ref().and_then(|maps| {
                let key = follow(maps, path, &self.groups);
                let made = self.stages[*before].made.as_ref()?.get(&key)?;
                (!unfinished(&key)).then_some(made)
            });
            let Some(tasks) = paired else {
                occurrence.after_stages.push(*before);
                continue;
            };
            if tasks.iter().any(|task| occurrence.tasks.contains(task)) {
                let own = address_of_stage(&run.name, path);
                let before = &self.stages[*before].name;
                notes.push(format!(
                    "`{own}` comes after `{before}`, but they are the same computation; the order is dropped"
                ));
            }
            let others = tasks.iter().filter(|task| !occurrence.tasks.contains(task));
            occurrence.after.extend(others);
        }
        self.notes.append(&mut notes);
        occurrence
    }
}

pub(super) fn address_of_stage(stage: &str, path: &Index) -> String {
    if path.0.is_empty() {
        stage.to_owned()
    } else {
        format!("{stage}[{path}]")
    }
}

/// The source with the names of its files, which are part of what it is from then on. Only files from
/// outside have names.
fn with_names(graph: &mut TaskGraph, source: Source) -> Source {
    match source {
        Source::External(position) => match named(&graph.external_at(position).value) {
            Some(value) => {
                let identity = Identity::of(&value);
                graph.external(External { identity, value })
            }
            None => source,
        },
        Source::List(sources) => {
            let sources = sources
                .iter()
                .map(|source| with_names(graph, source.clone()));
            Source::List(Arc::new(sources.collect()))
        }
        other => other,
    }
}

/// The value with names; `None` if nothing in it has one.
fn named(value: &Value) -> Option<Value> {
    match value {
        Value::File(file) => {
            let name = file.handle.path()?.file_name()?.to_str()?;
            Some(Value::File(Arc::new(FileValue {
                name: Some(name.into()),
                ..FileValue::clone(file)
            })))
        }
        Value::List(items) => {
            let found: Vec<Option<Value>> = items.iter().map(named).collect();
            let any = found.iter().any(Option::is_some);
            let items = found
                .into_iter()
                .zip(items.iter())
                .map(|(found, item)| found.unwrap_or_else(|| item.clone()));
            any.then(|| Value::List(items.collect()))
        }
        _ => None,
    }
}

fn decoded(
    graph: &mut TaskGraph,
    decode: &Arc<Operation>,
    source: Source,
) -> Result<Source, String> {
    if let Source::List(sources) = source {
        let sources: Result<Vec<Source>, String> = sources
            .iter()
            .map(|source| decoded(graph, decode, source.clone()))
            .collect();
        return Ok(Source::List(Arc::new(sources?)));
    }
    if let Source::External(position) = &source
        && is_read(&graph.external_at(*position).value)
    {
        return Ok(source);
    }
    let operation = graph.operation(decode);
    let new = NewTask {
        operation,
        parameters: &[],
        inputs: &[(0, source)],
        address: "",
    };
    let (task, _) = graph.add(&new).map_err(|error| error.to_string())?;
    Ok(Source::Product { task, port: 0 })
}
