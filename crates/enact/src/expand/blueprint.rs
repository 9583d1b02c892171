//! A workflow over its data, with its parameters left open: what all parameter sets of a study have in common.
//!
//! Law: a blueprint has a task for every task of the workflow and every item, none shared, so that it can be told of
//! each which parameters of the workflow it takes. Which tasks there are and what they read does not depend on the
//! values of parameters, as long as nothing has run; stages of which more is known only then are named as open.

use std::sync::Arc;

use headwater_graph::{Binding, Index, Registry, TaskGraph, TaskId};

use super::{Expander, ItemPlace, NO_TASK, Requested, ShapeError};
use crate::ProductColumn;

/// A stage instance of a blueprint.
#[derive(Debug, Clone, PartialEq)]
pub struct BlueprintStage {
    /// The position of the stage in the workflow.
    pub stage: usize,
    /// Its index path.
    pub index: Index,
    /// Its tasks, each after those it reads.
    pub tasks: Vec<TaskId>,
    /// The names of these tasks in their stage.
    pub names: Vec<Arc<str>>,
    /// Tasks that have to end first, though nothing of theirs is read.
    pub after: Vec<TaskId>,
    /// Stages that have to fall silent first.
    pub after_stages: Vec<usize>,
}

/// What every instance of a workflow consists of.
#[derive(Debug, Clone, Default)]
pub struct Blueprint {
    /// By task of the graph: which of its parameters are parameters of the workflow, as (position in the signature,
    /// name). Tasks that nobody wrote down have none.
    pub bindings: Vec<Vec<(usize, Arc<str>)>>,
    /// The stage instances, in index order stage by stage.
    pub stages: Vec<BlueprintStage>,
    /// What is wanted.
    pub requested: Vec<Requested>,
    /// Tasks that have to be done: whose outputs are wanted, that come before others by order alone, or that always
    /// run.
    pub wanted: Vec<TaskId>,
    /// Stages of which more may come when something has run, by position.
    pub open: Vec<usize>,
    /// Tasks whose outcome these stages wait for, since the last call.
    pub watched: Vec<TaskId>,
}

impl Expander {
    /// Expands into `graph`, which is an unshared one (see [`TaskGraph::unshared`]), whatever is known before
    /// anything has run. The values that the parameters have do not matter.
    pub fn blueprint(&mut self, graph: &mut TaskGraph) -> Result<Blueprint, ShapeError> {
        let mut blueprint = Blueprint::default();
        self.extend_blueprint(graph, &mut blueprint)?;
        Ok(blueprint)
    }

    /// Goes on with a blueprint, after [`settled`](Self::settled) has told what watched tasks came to.
    pub fn extend_blueprint(
        &mut self,
        graph: &mut TaskGraph,
        blueprint: &mut Blueprint,
    ) -> Result<(), ShapeError> {
        let mut expansion = self.advance(graph)?;
        blueprint.bindings.resize(graph.len(), Vec::new());
        let bindings = &mut blueprint.bindings;
        let made_before = blueprint.stages.len();
        let stages = &mut blueprint.stages;
        let made = self.occurrences.iter().skip(made_before);
        for (number, made) in made.enumerate() {
            let ordered = expansion.occurrences.get(number);
            let there = |position: &&usize| made.tasks[**position] != NO_TASK;
            let turns = &self.stages[made.stage].turns;
            let definitions = &self.workflow.stages[made.stage].tasks;
            for position in turns.iter().filter(there) {
                let (task, definition) = (made.tasks[*position], &definitions[*position]);
                let signature = &self.stages[made.stage].tasks[*position].operation.signature;
                let bound = signature.parameters.iter().enumerate();
                let named = |(at, declared): (usize, &headwater_graph::ParameterDeclaration)| {
                    match definition.parameters.get(&declared.name) {
                        Some(Binding::Parameter(name)) => Some((at, Arc::clone(name))),
                        _ => None,
                    }
                };
                bindings[task.index()] = bound.filter_map(named).collect();
            }
            stages.push(BlueprintStage {
                stage: made.stage,
                index: made.path.clone(),
                tasks: turns
                    .iter()
                    .filter(there)
                    .map(|position| made.tasks[*position])
                    .collect(),
                names: turns
                    .iter()
                    .filter(there)
                    .map(|position| Arc::clone(&self.stages[made.stage].tasks[*position].name))
                    .collect(),
                after: ordered.map(|order| order.after.clone()).unwrap_or_default(),
                after_stages: ordered
                    .map(|order| order.after_stages.clone())
                    .unwrap_or_default(),
            });
        }
        blueprint.requested.append(&mut expansion.requested);
        blueprint.wanted.append(&mut expansion.wanted);
        blueprint.wanted.extend(&expansion.watched);
        blueprint.open = self.open_stages();
        blueprint.watched = expansion.watched;
        Ok(())
    }

    /// What goes by the data name `data` in this expansion, as the items of an input of another one over the same
    /// data and in the same graph. `None` if there is no such name, or more of it may come when something has run.
    pub fn products(
        &self,
        data: &Arc<str>,
        input: &Arc<str>,
        registry: &Registry,
    ) -> Option<ProductColumn> {
        let found = &self.data[*self.names.get(data)?];
        let item = |item: &super::Item| {
            let source = match &item.place {
                ItemPlace::Source(source) => Some(source.clone()),
                ItemPlace::Absent => None,
            };
            (item.path.clone(), source)
        };
        (found.complete && !found.absent).then(|| ProductColumn {
            input: Arc::clone(input),
            product_type: self.type_of(data, registry),
            shape: found.shape.clone(),
            items: found.items.iter().map(item).collect(),
        })
    }
}
