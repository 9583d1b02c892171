//! What all instances of a study consist of, each thing once, and what the store knows of it.
//!
//! Law: a node that nobody wrote down (reading a file, picking an item of a list) is there and does not count.

use std::sync::Arc;

use headwater_engine::Error;
use headwater_graph::{Operation, Recipe, Store, TaskGraph, TaskId};
use headwater_merge::{Compact, Node, Weight};

use crate::costs::Costing;
use crate::count::{Weights, nodes_of_stages};
use crate::instances::Instances;
use crate::open::Open;

/// All instances, merged.
pub(crate) struct Shared<'a> {
    pub(crate) instances: Instances,
    pub(crate) compact: Compact,
    /// By step, its operation.
    pub(crate) operations: Vec<&'a Arc<Operation>>,
    /// By node, whether it counts.
    pub(crate) counted: Vec<bool>,
    /// The stages that references are made by, as nodes.
    pub(crate) references: Vec<Vec<u32>>,
}

impl<'a> Shared<'a> {
    /// Merges the instances of an open workflow.
    pub(crate) fn new(instances: Instances, open: &'a Open) -> Shared<'a> {
        let mut nodes_of_steps = Vec::new();
        let compact = Compact::with(&instances.template, &instances.sets, |set, nodes| {
            if set == 0 {
                nodes_of_steps = nodes.to_vec();
            }
        });
        // What a reference is made of is the same in every set.
        let reference = |tasks: &Vec<TaskId>| {
            let steps = tasks.iter().filter_map(|task| instances.step(*task));
            steps.map(|step| nodes_of_steps[step]).collect()
        };
        let references = open.reference_stages.iter();
        let references = references.map(|stage| reference(&stage.tasks)).collect();
        let operations: Vec<&Arc<Operation>> = instances
            .tasks
            .iter()
            .map(|task| open.graph.operation_at(*task))
            .collect();
        let counted = compact
            .nodes()
            .map(|node| !operations[node.step as usize].signature.implicit)
            .collect();
        Shared {
            instances,
            compact,
            operations,
            counted,
            references,
        }
    }

    /// What the nodes cost, and those of them that are still to be done.
    pub(crate) fn weights(&self, costing: &Costing, found: &LookedUp) -> Weights {
        let weight = |(number, node): (usize, Node<'_>)| {
            if self.counted[number] {
                costing.weight(node.step)
            } else {
                Weight::default()
            }
        };
        let all: Vec<Weight> = self.compact.nodes().enumerate().map(weight).collect();
        // What is remembered costs nothing, and neither does what another node stands for already.
        let to_do = |node: usize| {
            if found.first[node] && !found.known[node] {
                all[node]
            } else {
                Weight::default()
            }
        };
        Weights {
            to_do: (0..all.len()).map(to_do).collect(),
            all,
        }
    }

    /// The stages, each after those that it reads from, where `in_order` has those of the workflow like that.
    pub(crate) fn order(&self, in_order: &[usize]) -> Vec<usize> {
        let rank = |kind: &usize| {
            let stage = self.instances.stages[*kind];
            in_order.iter().position(|known| *known == stage)
        };
        let mut order: Vec<usize> = (0..self.instances.stages.len()).collect();
        order.sort_by_key(rank);
        order
    }

    /// What all instances would cost if they shared nothing.
    pub(crate) fn unmerged_cost(&self, costing: &Costing) -> u64 {
        let occurrences = self.instances.template.occurrences.iter();
        let steps = occurrences.flat_map(|occurrence| &occurrence.steps);
        let one: u64 = steps.map(|step| costing.weight(*step).cost).sum();
        one.saturating_mul(self.instances.sets.len() as u64)
    }
}

/// What the store says about the nodes of a compact graph.
pub(crate) struct LookedUp {
    /// By node, whether its product is remembered.
    pub(crate) known: Vec<bool>,
    /// By node, whether it is the first one that stands for its task.
    pub(crate) first: Vec<bool>,
    /// Tasks that are remembered, and that are not.
    pub(crate) remembered: usize,
    pub(crate) to_execute: usize,
    /// Nodes that stand for a task that another one stands for already.
    pub(crate) equal_when_cut: usize,
    /// Tasks that are not remembered and that no stage of a parameter set has: those of references.
    pub(crate) only_references: usize,
}

impl LookedUp {
    /// Looks up the tasks that the nodes stand for.
    pub(crate) fn new(
        shared: &Shared<'_>,
        blueprint: &TaskGraph,
        store: &dyn Store,
    ) -> Result<LookedUp, Error> {
        let (graph, tasks) = shared
            .instances
            .tasks(&shared.compact, blueprint)
            .map_err(|error| Error::usage(error.to_string(), None))?;
        let recipes: Vec<Recipe> = tasks.iter().map(|task| graph.recipe(*task)).collect();
        let known: Vec<bool> = store.known(&recipes)?.iter().map(Option::is_some).collect();
        Ok(LookedUp::of(shared, &graph, &tasks, known))
    }

    /// The same where the tasks of the nodes stand in a graph already, and the store was asked.
    pub(crate) fn of(
        shared: &Shared<'_>,
        graph: &TaskGraph,
        tasks: &[TaskId],
        known: Vec<bool>,
    ) -> LookedUp {
        let (compact, counted) = (&shared.compact, &shared.counted);
        // Numbers that an operation cuts to whole ones make several nodes one task.
        let mut seen = vec![false; graph.len()];
        let first = |task: &TaskId| !std::mem::replace(&mut seen[task.index()], true);
        let first: Vec<bool> = tasks.iter().map(first).collect();
        let count = |which: &dyn Fn(usize) -> bool| {
            let nodes = (0..compact.len()).filter(|node| counted[*node]);
            nodes.filter(|node| which(*node)).count()
        };
        let mut of_sets = vec![false; graph.len()];
        for (node, in_stage) in nodes_of_stages(compact).into_iter().enumerate() {
            of_sets[tasks[node].index()] |= in_stage;
        }
        let only_references =
            count(&|node| first[node] && !known[node] && !of_sets[tasks[node].index()]);
        LookedUp {
            only_references,
            remembered: count(&|node| first[node] && known[node]),
            to_execute: count(&|node| first[node] && !known[node]),
            equal_when_cut: count(&|node| !first[node]),
            known,
            first,
        }
    }
}
