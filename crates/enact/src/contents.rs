//! What products are by content, and which tasks are equal.
//!
//! Law: the content key of a task is the recipe that it would have if everything it reads came from outside.
//! Two tasks with one content key compute the same, whatever their inputs were made from; so a change
//! upstream that leaves a product as it was costs nothing downstream.

use std::collections::HashMap;

use headwater_graph::{Identity, Recipe, RecipeBuilder, TaskGraph, TaskId, Type};

/// A product of the store that a task is equal to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Its recipe.
    pub recipe: Recipe,
    /// What its outputs are, in the order of the signature.
    pub outputs: Vec<Identity>,
}

#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// By task: what its outputs are.
    outputs: Vec<Option<Box<[Identity]>>>,
    /// The first task with each content key.
    first: HashMap<Recipe, TaskId>,
    /// The content keys of tasks that were compared.
    keys: HashMap<TaskId, Recipe>,
    /// Tasks that were found equal: the product that has their outputs.
    targets: HashMap<TaskId, Recipe>,
    builder: RecipeBuilder,
}

impl Contents {
    /// What the outputs of a task are, if that is known.
    pub(crate) fn of(&self, task: TaskId) -> Option<&[Identity]> {
        self.outputs.get(task.index())?.as_deref()
    }

    /// The task has, or will have, outputs of its own.
    pub(crate) fn forget(&mut self, task: TaskId) {
        self.targets.remove(&task);
    }

    /// Takes in what the outputs of a task are.
    pub(crate) fn identify(&mut self, graph: &TaskGraph, task: TaskId, mut outputs: Vec<Identity>) {
        let ports = &graph.operation_at(task).signature.outputs;
        if outputs.len() != ports.len() {
            return;
        }
        // A store that keeps a digest only cannot tell a directory from another value.
        for (identity, port) in outputs.iter_mut().zip(ports) {
            if let (Identity::Value(digest), Type::Directory) = (&*identity, &port.port_type) {
                *identity = Identity::Directory(*digest);
            }
        }
        let known = &mut self.outputs;
        if known.len() <= task.index() {
            known.resize(task.index() + 1, None);
        }
        known[task.index()] = Some(outputs.into());
    }

    /// The content key of a task, where it is known what everything it reads is.
    pub(crate) fn key(&mut self, graph: &TaskGraph, task: TaskId) -> Option<Recipe> {
        let mut builder = std::mem::take(&mut self.builder);
        let key = graph.content_key(task, &mut builder, &|input, port| {
            self.of(input)?.get(usize::from(port))
        });
        self.builder = builder;
        key
    }

    /// The content key under which a task was compared.
    pub(crate) fn compared_by(&self, task: TaskId) -> Option<&Recipe> {
        self.keys.get(&task)
    }

    /// Notes the content key under which a task is compared.
    pub(crate) fn compare_by(&mut self, task: TaskId, key: Recipe) {
        self.keys.insert(task, key);
    }

    /// The content key of a task that was compared as it is now; if it is another one, it is noted.
    pub(crate) fn key_again(&mut self, graph: &TaskGraph, task: TaskId) -> Option<Recipe> {
        let before = *self.keys.get(&task)?;
        let now = self.key(graph, task)?;
        if now != before {
            self.keys.insert(task, now);
            if self.first.get(&before) == Some(&task) {
                self.first.remove(&before);
            }
            self.first.entry(now).or_insert(task);
        }
        Some(now)
    }

    /// The first task with a content key.
    pub(crate) fn first(&self, key: &Recipe) -> Option<TaskId> {
        self.first.get(key).copied()
    }

    /// The task is the first with its content key from now on.
    pub(crate) fn lead(&mut self, task: TaskId, key: Recipe) {
        self.first.insert(key, task);
    }

    /// The product that has the outputs of a task that was found equal.
    pub(crate) fn target(&self, task: TaskId) -> Option<Recipe> {
        self.targets.get(&task).copied()
    }

    /// The outputs of a task are those of a product.
    pub(crate) fn found_equal(&mut self, task: TaskId, target: Recipe) {
        self.targets.insert(task, target);
    }
}
