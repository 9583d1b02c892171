//! Reading a workflow once: which data there is, what each stage reads and makes, how its inputs combine,
//! who comes after whom.
//!
//! Law: nothing here depends on how many items there are, except where a source has exactly one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_graph::{
    Binding, DataOrigin, Index, Operation, Registry, Scalar, Source, Stage, TaskDefinition, Type,
    Wait, decoder,
};

use super::bind::bind;
use super::instantiate::{Feed, TaskPlan};
use super::{Data, Expander, Item, ItemPlace, StageRun, StageUnit, address};
use crate::join::Join;
use crate::shape::{Axis, Groups, Lineage, Shape, ShapeError, Unit, combine, relate};
use crate::{DataSet, StageRules};

/// What a stage reads: data, and whether all its items at once.
type UnitKey = (usize, bool);

impl Expander {
    pub(super) fn prepare(
        &mut self,
        registry: &Registry,
        data_set: &DataSet,
        parameters: &BTreeMap<Arc<str>, Scalar>,
    ) -> Result<(), Vec<ShapeError>> {
        let mut errors = Vec::new();
        self.declare_data(data_set, &mut errors);
        let workflow = Arc::clone(&self.workflow);
        let impure = |task: &TaskDefinition| {
            registry
                .operation(&task.operation)
                .is_some_and(|operation| !operation.signature.pure)
        };
        let needed = workflow.needed_stages(impure);
        for stage in self.order.clone() {
            self.stages[stage].name = Arc::clone(&workflow.stages[stage].name);
            if let Err(error) = self.prepare_stage(stage, registry, parameters) {
                errors.push(error);
            }
            self.stages[stage].needed = needed[stage];
            // What leads nowhere is checked like everything else, but makes no tasks.
            self.stages[stage].complete = !needed[stage];
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let read = |run: &StageRun| run.units.iter().map(|unit| unit.data).collect::<Vec<_>>();
        let needed = self.stages.iter().filter(|run| run.needed).flat_map(read);
        let views: BTreeSet<usize> = needed
            .filter(|data| self.data[*data].of.is_some())
            .collect();
        self.views = views.into_iter().collect();
        self.prepare_order();
        for wanted in workflow.wanted() {
            if let Some(data) = self.names.get(&wanted.data) {
                self.outputs.push((wanted.name, *data, 0));
            }
        }
        Ok(())
    }

    /// What the coordinator has to know of each stage.
    pub fn stage_rules(&self) -> Vec<StageRules> {
        let predecessors = self.workflow.predecessors();
        let mut ancestors: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); predecessors.len()];
        for stage in &self.order {
            for before in &predecessors[*stage] {
                let more = ancestors[*before].clone();
                ancestors[*stage].extend(more);
                ancestors[*stage].insert(*before);
            }
        }
        let mut rules = self.stage_limits();
        for (rule, ancestors) in rules.iter_mut().zip(ancestors) {
            rule.ancestors = ancestors.into_iter().collect();
        }
        rules
    }

    /// The same without ancestors, which only matter when some kind of parallelism is off and are many in
    /// long workflows.
    pub(crate) fn stage_limits(&self) -> Vec<StageRules> {
        let rule = |stage: &Stage| StageRules {
            name: Arc::clone(&stage.name),
            ancestors: Vec::new(),
            concurrency: stage.concurrency,
        };
        self.workflow.stages.iter().map(rule).collect()
    }

    fn declare_data(&mut self, data_set: &DataSet, errors: &mut Vec<ShapeError>) {
        let workflow = Arc::clone(&self.workflow);
        for input in &workflow.inputs {
            let name = Arc::clone(&input.name);
            let mut data = Data {
                name,
                complete: true,
                ..Data::default()
            };
            match (data_set.column(&input.name), data_set.product(&input.name)) {
                (None, Some(products)) => {
                    let item = |(path, source): &(Index, Option<Source>)| Item {
                        path: path.clone(),
                        place: source.clone().map_or(ItemPlace::Absent, ItemPlace::Source),
                        maker: None,
                        parent: None,
                    };
                    data.items = products.items.iter().map(item).collect();
                    data.shape = products.shape.clone();
                    data.made_as = Some(products.product_type.clone());
                }
                (None, None) if input.optional => data.absent = true,
                (None, None) => errors.push(ShapeError::Missing {
                    input: Arc::clone(&input.name),
                }),
                (Some(column), _) => {
                    if !column.single {
                        let lineage = BTreeSet::from([Lineage::Source(column.source)]);
                        data.shape.push(Axis {
                            lineage,
                            extent: Some(column.items.len()),
                        });
                    }
                    self.arriving.push((self.data.len(), column.clone()));
                }
            }
            self.names.insert(Arc::clone(&input.name), self.data.len());
            self.data.push(data);
        }
        for (name, origin) in &self.origins {
            if let DataOrigin::Task { stage, .. } = origin {
                let (name, maker) = (Arc::clone(name), Some(*stage));
                self.names.insert(Arc::clone(&name), self.data.len());
                self.data.push(Data {
                    name,
                    maker,
                    ..Data::default()
                });
            }
        }
    }

    /// The data that holds the items of the lists of `data`.
    fn view_of(&mut self, data: usize) -> usize {
        if let Some(view) = self.data[data].view {
            return view;
        }
        let view = self.data.len();
        let mut shape = self.data[data].shape.clone();
        let lineage = BTreeSet::from([Lineage::Unfolded(data as u32)]);
        shape.push(Axis {
            lineage,
            extent: None,
        });
        let (name, absent) = (Arc::clone(&self.data[data].name), self.data[data].absent);
        self.data.push(Data {
            name,
            shape,
            absent,
            of: Some(data),
            ..Data::default()
        });
        self.data[data].view = Some(view);
        view
    }

    fn prepare_stage(
        &mut self,
        position: usize,
        registry: &Registry,
        parameters: &BTreeMap<Arc<str>, Scalar>,
    ) -> Result<(), ShapeError> {
        let workflow = Arc::clone(&self.workflow);
        let stage = &workflow.stages[position];
        let (tasks, units, absent) = self.plan_tasks(position, registry, parameters)?;
        let unit = |(data, _): &UnitKey| StageUnit {
            data: *data,
            fed: 0,
            kept: 0,
            reused: false,
        };
        let mut run = StageRun {
            name: Arc::clone(&stage.name),
            units: units.iter().map(unit).collect(),
            turns: order_tasks(&tasks),
            tasks,
            wait: stage.wait.clone(),
            tolerate: stage.tolerate,
            absent,
            ..StageRun::placeholder()
        };
        if absent {
            // It never runs, whatever its inputs would have been.
        } else if let Wait::Per(per) = &stage.wait {
            run.shape = self.per_shape(&stage.name, per, &run.units)?;
        } else if stage.wait == Wait::No {
            let columns = self.columns.clone();
            let source_of_column =
                move |column: u32| columns.get(column as usize).map(|(_, source)| *source);
            let groups = Groups {
                source_of_column: &source_of_column,
            };
            let unit = |(data, _): &UnitKey| Unit {
                name: Arc::clone(&self.data[*data].name),
                shape: self.data[*data].shape.clone(),
            };
            let units: Vec<Unit> = units.iter().map(unit).collect();
            let (plan, shape) = combine(&stage.name, &units, stage.iterate.as_ref(), &groups)?;
            plan.for_each_unit(false, &mut |unit, reused| run.units[unit].reused = reused);
            run.join = Join::new(&plan);
            run.shape = shape;
        }
        for name in stage.tasks.iter().flat_map(|task| task.outputs.values()) {
            let made = self.names[name];
            self.data[made].shape = run.shape.clone();
            self.data[made].absent = absent;
        }
        self.stages[position] = run;
        Ok(())
    }

    fn per_shape(
        &mut self,
        stage: &Arc<str>,
        per: &Arc<str>,
        units: &[StageUnit],
    ) -> Result<Shape, ShapeError> {
        let Some(column) = self.columns.iter().position(|(input, _)| input == per) else {
            return Err(ShapeError::Missing {
                input: Arc::clone(per),
            });
        };
        // Of an input that is there once, everything is in its only group, also the items of lists made from it.
        let is_single = self
            .names
            .get(per)
            .is_some_and(|input| self.data[*input].shape.is_empty());
        for data in units.iter().map(|unit| unit.data) {
            if is_single || self.data[data].shape.is_empty() {
                continue;
            }
            self.nest(stage, data, column)?;
            let not_per = |data: usize, more| ShapeError::NotPer {
                stage: Arc::clone(stage),
                per: Arc::clone(per),
                data: Arc::clone(&self.data[data].name),
                more,
            };
            match self.per_place(data, column).as_slice() {
                [_] => {}
                [] => return Err(not_per(data, "")),
                _ => return Err(not_per(data, " in one way only")),
            }
        }
        let extent = self.groups[column]
            .iter()
            .max()
            .map_or(0, |last| *last as usize + 1);
        let lineage = BTreeSet::from([Lineage::Groups(column as u32)]);
        Ok(vec![Axis {
            lineage,
            extent: Some(extent),
        }])
    }

    /// Finds out, for data that was made per another column of the same table, which group of this column each
    /// group of that one lies in. It is an error if one lies in several: its items would belong to neither.
    fn nest(&mut self, stage: &Arc<str>, data: usize, column: usize) -> Result<(), ShapeError> {
        if !self.per_place(data, column).is_empty() {
            return Ok(());
        }
        let mut straddles = None;
        let lineages = self.data[data].shape.iter().flat_map(|axis| &axis.lineage);
        for inner in lineages.filter_map(|lineage| match lineage {
            Lineage::Groups(inner) => Some(*inner as usize),
            _ => None,
        }) {
            if self.columns[inner].1 != self.columns[column].1 {
                continue;
            }
            match nested(&self.groups[inner], &self.groups[column]) {
                Ok(table) => {
                    self.nested.insert((inner, column), table);
                    return Ok(());
                }
                Err((first, second)) => straddles = Some((inner, first, second)),
            }
        }
        match straddles {
            None => Ok(()),
            Some((inner, first, second)) => Err(ShapeError::Straddles {
                stage: Arc::clone(stage),
                per: Arc::clone(&self.columns[column].0),
                data: Arc::clone(&self.data[data].name),
                made_per: Arc::clone(&self.columns[inner].0),
                first,
                second,
            }),
        }
    }

    /// The positions of the paths of `data` from which the group of this column follows, and how.
    pub(super) fn per_place(&self, data: usize, column: usize) -> Vec<(usize, Follows)> {
        let source = Lineage::Source(self.columns[column].1);
        let group = Lineage::Groups(column as u32);
        let follows = |lineage: &Lineage| match lineage {
            Lineage::Groups(inner) if self.nested.contains_key(&(*inner as usize, column)) => {
                Some(Follows::Nested(*inner as usize))
            }
            _ => None,
        };
        let axes = self.data[data].shape.iter().enumerate();
        axes.filter_map(|(place, axis)| {
            if axis.lineage.contains(&source) {
                Some((place, Follows::Row))
            } else if axis.lineage.contains(&group) {
                Some((place, Follows::Group))
            } else {
                Some((place, axis.lineage.iter().find_map(follows)?))
            }
        })
        .collect()
    }

    /// The group of a column that follows from a position.
    pub(super) fn group_at(&self, follows: Follows, column: usize, position: u32) -> u32 {
        match follows {
            Follows::Row => self.groups[column][position as usize],
            Follows::Group => position,
            Follows::Nested(inner) => self.nested[&(inner, column)][position as usize],
        }
    }

    /// Works out, for `after` and `wait: [stages]`, who waits for whom.
    fn prepare_order(&mut self) {
        let workflow = Arc::clone(&self.workflow);
        let columns = self.columns.clone();
        let source_of_column =
            move |column: u32| columns.get(column as usize).map(|(_, source)| *source);
        let groups = Groups {
            source_of_column: &source_of_column,
        };
        let predecessors = workflow.predecessors();
        for (position, stage) in workflow.stages.iter().enumerate() {
            let needed = self.stages[position].needed;
            for before in stage
                .after
                .iter()
                .filter_map(|name| workflow.stage_index(name))
            {
                let maps = relate(
                    &self.stages[position].shape,
                    &self.stages[before].shape,
                    &groups,
                )
                .ok();
                self.stages[before].made.get_or_insert_default();
                self.stages[before].forced |= needed;
                self.stages[position].after.push((before, maps));
            }
            if let Wait::Stages(names) = &stage.wait {
                let mut pending: Vec<usize> = names
                    .iter()
                    .filter_map(|name| workflow.stage_index(name))
                    .collect();
                pending
                    .iter()
                    .for_each(|before| self.stages[*before].forced |= needed);
                let mut seen = BTreeSet::new();
                while let Some(before) = pending.pop() {
                    if seen.insert(before) {
                        pending.extend(&predecessors[before]);
                    }
                }
                self.stages[position].after_stages = seen.into_iter().collect();
            }
        }
    }

    /// Plans the tasks of a stage: (tasks, what its units read, whether it lacks an optional input).
    fn plan_tasks(
        &mut self,
        position: usize,
        registry: &Registry,
        parameters: &BTreeMap<Arc<str>, Scalar>,
    ) -> Result<(Vec<TaskPlan>, Vec<UnitKey>, bool), ShapeError> {
        let workflow = Arc::clone(&self.workflow);
        let stage = &workflow.stages[position];
        let mut units: Vec<UnitKey> = Vec::new();
        let mut absent = false;
        let mut tasks = Vec::new();
        for task in &stage.tasks {
            let refused = |reason: String| {
                let address = address(&stage.name, &task.name, &Index::root());
                ShapeError::Task { address, reason }
            };
            let operation = registry.operation(&task.operation).map(Arc::clone);
            let operation = operation
                .ok_or_else(|| refused(format!("there is no operation `{}`", task.operation)))?;
            let values = bind_parameters(task, &operation, parameters, &refused)?;
            let (feeds, lacks) =
                self.plan_feeds(position, task, &operation, registry, &mut units, &refused)?;
            absent |= lacks;
            let signature = &operation.signature;
            let outputs = task
                .outputs
                .iter()
                .filter_map(|(port, name)| {
                    Some((signature.output_index(port)? as u16, self.names[name]))
                })
                .collect();
            let name = Arc::clone(&task.name);
            tasks.push(TaskPlan {
                name,
                operation,
                parameters: values,
                feeds,
                outputs,
            });
        }
        Ok((tasks, units, absent))
    }

    /// Where the ports of a task take their data from, and whether it lacks a required one.
    fn plan_feeds(
        &mut self,
        position: usize,
        task: &TaskDefinition,
        operation: &Operation,
        registry: &Registry,
        units: &mut Vec<UnitKey>,
        refused: &dyn Fn(String) -> ShapeError,
    ) -> Result<(Vec<(u16, Feed)>, bool), ShapeError> {
        let workflow = Arc::clone(&self.workflow);
        let stage = &workflow.stages[position];
        let synchronised = stage.wait != Wait::No;
        let signature = &operation.signature;
        let mut feeds = Vec::new();
        let mut lacks = false;
        for (port, name) in &task.inputs {
            let Some(index) = signature.input_index(port) else {
                continue;
            };
            let Some(data) = self.names.get(name).copied() else {
                return Err(refused(format!("nothing makes data called `{name}`")));
            };
            let wanted = &signature.inputs[index].port_type;
            let given = self.type_of(name, registry);
            let inside = match self.origins.get(name) {
                Some(DataOrigin::Task { stage, task }) if *stage == position => Some(*task),
                _ => None,
            };
            let link = registry.link(wanted, &given, synchronised && inside.is_none());
            let Some((gather, unfold, decode)) = link else {
                return Err(refused(format!(
                    "port `{port}` takes `{wanted}`, but `{name}` is `{given}`"
                )));
            };
            let decoded = wanted.element().filter(|_| gather).unwrap_or(wanted);
            let decode = match self.origins.get(name) {
                // From outside, values of a type that a library reads come as files.
                Some(DataOrigin::Input(_))
                    if self.data[data].made_as.is_none()
                        && registry.codec(innermost(&given)).is_some() =>
                {
                    self.decoder_for(innermost(&given), registry)
                }
                _ if decode => self.decoder_for(decoded, registry),
                _ => None,
            };
            if let Some(maker) = inside {
                let made = &stage.tasks[maker];
                let port = output_port(made, name, registry).unwrap_or(0) as u16;
                feeds.push((
                    index as u16,
                    Feed::Inside {
                        task: maker,
                        port,
                        decode,
                    },
                ));
                continue;
            }
            if self.data[data].absent {
                lacks |= !signature.inputs[index].optional;
                continue;
            }
            let key = (if unfold { self.view_of(data) } else { data }, gather);
            let unit = units
                .iter()
                .position(|unit| *unit == key)
                .unwrap_or_else(|| {
                    units.push(key);
                    units.len() - 1
                });
            feeds.push((
                index as u16,
                Feed::Unit {
                    unit,
                    gather,
                    decode,
                },
            ));
        }
        feeds.sort_by_key(|(port, _)| *port);
        Ok((feeds, lacks))
    }

    pub(super) fn type_of(&self, name: &Arc<str>, registry: &Registry) -> Type {
        match self.origins.get(name) {
            Some(DataOrigin::Input(position)) => {
                let made_as = self.data[self.names[name]].made_as.clone();
                made_as.unwrap_or_else(|| self.workflow.inputs[*position].input_type.clone())
            }
            Some(DataOrigin::Task { stage, task }) => {
                let definition = &self.workflow.stages[*stage].tasks[*task];
                let operation = registry.operation(&definition.operation);
                operation
                    .zip(output_port(definition, name, registry))
                    .map_or(Type::Any, |(operation, port)| {
                        operation.signature.outputs[port].port_type.clone()
                    })
            }
            None => Type::Any,
        }
    }

    fn decoder_for(&mut self, wanted: &Type, registry: &Registry) -> Option<Arc<Operation>> {
        let codec = registry.codec(wanted)?;
        let decoders = &mut self.decoders;
        Some(Arc::clone(
            decoders
                .entry(wanted.clone())
                .or_insert_with(|| Arc::new(decoder(codec))),
        ))
    }
}

/// How the group of a column follows from a position of an index path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    /// The position is a row of the table.
    Row,
    /// It is the group itself.
    Group,
    /// It is a group of this other column, and each of these lies in one group.
    Nested(usize),
}

/// For each group of `inner` the group of `outer` that all its rows are in; or two rows that are in one group of
/// `inner` and in two of `outer`.
fn nested(inner: &[u32], outer: &[u32]) -> Result<Vec<u32>, (u32, u32)> {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for (row, (inner, outer)) in inner.iter().zip(outer).enumerate() {
        let row = row as u32;
        // Groups are numbered by their first row.
        match found.get(*inner as usize) {
            None => found.push((*outer, row)),
            Some((known, _)) if known == outer => {}
            Some((_, first)) => return Err((*first, row)),
        }
    }
    Ok(found.into_iter().map(|(outer, _)| outer).collect())
}

/// What a list, or a list of lists, is of.
fn innermost(given: &Type) -> &Type {
    let mut innermost = given;
    while let Some(element) = innermost.element() {
        innermost = element;
    }
    innermost
}

/// The position of the output port of `task` that makes `name`.
fn output_port(task: &TaskDefinition, name: &Arc<str>, registry: &Registry) -> Option<usize> {
    let (port, _) = task.outputs.iter().find(|(_, made)| *made == name)?;
    registry
        .operation(&task.operation)?
        .signature
        .output_index(port)
}

fn bind_parameters(
    task: &TaskDefinition,
    operation: &Operation,
    parameters: &BTreeMap<Arc<str>, Scalar>,
    refused: &dyn Fn(String) -> ShapeError,
) -> Result<Vec<Scalar>, ShapeError> {
    let mut values = Vec::new();
    for declared in &operation.signature.parameters {
        let binding = task.parameters.get(&declared.name);
        let value = bind(binding, declared, parameters).ok_or_else(|| match binding {
            Some(Binding::Parameter(name)) if !parameters.contains_key(name) => {
                ShapeError::Parameter {
                    parameter: Arc::clone(name),
                }
            }
            _ => refused(format!(
                "parameter `{}` is not {}",
                declared.name, declared.scalar_type
            )),
        })?;
        values.push(value);
    }
    Ok(values)
}

/// The tasks of a stage in an order in which each comes after those it reads.
fn order_tasks(tasks: &[TaskPlan]) -> Vec<usize> {
    let mut done = vec![false; tasks.len()];
    let mut order = Vec::with_capacity(tasks.len());
    while let Some(position) = (0..tasks.len()).find(|position| {
        let reads = |feed: &Feed| matches!(feed, Feed::Inside { task, .. } if !done[*task]);
        !done[*position] && !tasks[*position].feeds.iter().any(|(_, feed)| reads(feed))
    }) {
        done[position] = true;
        order.push(position);
    }
    order
}
