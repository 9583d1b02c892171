//! What products are by content, and which tasks are equal.
//!
//! Law: the content key of a task is the recipe that it would have if everything it reads came from outside.
//! Two tasks with one content key compute the same, whatever their inputs were made from; so a change
//! upstream that leaves a product as it was costs nothing downstream.

use std::collections::HashMap;

use headwater_graph::{Identity, Recipe, RecipeBuilder, TaskId, Type};

use crate::{Enactment, OpenError, Recall, State, Verdict};

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
    fn of(&self, task: TaskId) -> Option<&[Identity]> {
        self.outputs.get(task.index())?.as_deref()
    }

    /// The task has, or will have, outputs of its own.
    pub(crate) fn forget(&mut self, task: TaskId) {
        self.targets.remove(&task);
    }
}

impl Enactment {
    /// The tasks to be compared now; each has to be answered by [`compared`](Self::compared).
    pub fn take_comparisons(&mut self, into: &mut Vec<TaskId>) {
        self.coordinator.take_comparisons(into);
    }

    /// The tasks that `tasks` read and of which it is not known what they are by content, each once.
    pub fn unidentified(&self, tasks: &[TaskId]) -> Vec<TaskId> {
        let mut unidentified = Vec::new();
        for task in tasks {
            self.graph.for_each_input_task(*task, |input| {
                if self.contents.of(input).is_none() {
                    unidentified.push(input);
                }
            });
        }
        unidentified.sort_unstable();
        unidentified.dedup();
        unidentified
    }

    /// Tells what the outputs of a task are by content.
    pub fn identify(&mut self, task: TaskId, mut outputs: Vec<Identity>) {
        let ports = &self.graph.operation_at(task).signature.outputs;
        if outputs.len() != ports.len() {
            return;
        }
        // A store that keeps a digest only cannot tell a directory from another value.
        for (identity, port) in outputs.iter_mut().zip(ports) {
            if let (Identity::Value(digest), Type::Directory) = (&*identity, &port.port_type) {
                *identity = Identity::Directory(*digest);
            }
        }
        let known = &mut self.contents.outputs;
        if known.len() <= task.index() {
            known.resize(task.index() + 1, None);
        }
        known[task.index()] = Some(outputs.into());
    }

    /// The content key of a task, where it is known what everything it reads is.
    pub fn content_key(&mut self, task: TaskId) -> Option<Recipe> {
        let mut builder = std::mem::take(&mut self.contents.builder);
        let contents = &self.contents;
        let key = self.graph.content_key(task, &mut builder, &|input, port| {
            contents.of(input)?.get(usize::from(port))
        });
        self.contents.builder = builder;
        key
    }

    /// The content key under which a task was compared.
    pub fn compared_by(&self, task: TaskId) -> Option<&Recipe> {
        self.contents.keys.get(&task)
    }

    /// The content key of a task that is about to run, if it was compared. It may be another one by now: an
    /// input that was lost and made again need not be what it was.
    pub fn runs_under(&mut self, task: TaskId) -> Option<Recipe> {
        let before = *self.contents.keys.get(&task)?;
        let now = self.content_key(task)?;
        if now != before {
            self.contents.keys.insert(task, now);
            if self.contents.first.get(&before) == Some(&task) {
                self.contents.first.remove(&before);
            }
            self.contents.first.entry(now).or_insert(task);
        }
        Some(now)
    }

    /// The recipe under which the outputs of a task can be brought back: its own, or that of the product it
    /// is equal to.
    pub fn stored_as(&self, task: TaskId) -> Recipe {
        let target = self.contents.targets.get(&task).copied();
        target.unwrap_or_else(|| self.graph.recipe(task))
    }

    /// A task of this run that has this content key and leads, or led, to outputs.
    pub fn leader(&self, task: TaskId, key: &Recipe) -> Option<TaskId> {
        let alive = |other: &TaskId| {
            let state = self.coordinator.state(*other);
            *other != task && !matches!(state, State::Idle | State::Failed | State::Blocked)
        };
        let first = self.contents.first.get(key).copied().filter(alive);
        // A task that reads nothing but what comes from outside has its content key as its recipe.
        first.or_else(|| self.graph.find(key).filter(alive))
    }

    /// Tells what came of a comparison: the content key, and the product of the store that has it.
    pub fn compared(
        &mut self,
        task: TaskId,
        key: Option<Recipe>,
        found: Option<Match>,
        recall: &mut dyn Recall,
    ) -> Result<(), OpenError> {
        let mut verdict = Verdict::New;
        // Of a task that has lost an input meanwhile the key says nothing any more.
        let is_asked = self.coordinator.state(task) == State::Comparing;
        if let Some(key) = key.filter(|_| is_asked) {
            self.contents.keys.insert(task, key);
            let leader = self.leader(task, &key);
            if let Some(leader) = leader {
                verdict = Verdict::Like(leader);
                if matches!(self.coordinator.state(leader), State::Done | State::Known) {
                    self.became_equal(task, leader, recall);
                }
            } else if let Some(found) = found {
                self.identify(task, found.outputs);
                if found.recipe == self.graph.recipe(task) {
                    verdict = Verdict::Made;
                } else {
                    verdict = Verdict::Stored;
                    self.contents.targets.insert(task, found.recipe);
                    recall.equal(&self.graph, task, &found.recipe);
                }
            } else {
                self.contents.first.insert(key, task);
            }
        }
        self.coordinator.compared(&self.graph, task, verdict);
        let mut more = self.take_notices(recall);
        if self.coordinator.state(task) == State::Known {
            more |= self.tell_expander(task, None, recall);
        }
        if more { self.expand(recall) } else { Ok(()) }
    }

    /// `task` has what `other` has.
    pub(crate) fn became_equal(&mut self, task: TaskId, other: TaskId, recall: &mut dyn Recall) {
        if let Some(outputs) = self.contents.of(other) {
            let outputs = outputs.to_vec();
            self.identify(task, outputs);
        }
        let target = self.stored_as(other);
        self.contents.targets.insert(task, target);
        recall.equal(&self.graph, task, &target);
    }
}
