//! Comparing tasks by content, and what follows for the run.
//!
//! Law: a task is compared when it is known what all it reads is, and before it runs. One that is equal to a product,
//! or to a task of this run that leads to one, does not run.

use headwater_graph::{Identity, Recipe, TaskId};

use super::{Enactment, OpenError, Recall};
use crate::{Match, State, Verdict};

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
    pub fn identify(&mut self, task: TaskId, outputs: Vec<Identity>) {
        self.contents.identify(&self.graph, task, outputs);
    }

    /// The content key of a task, where it is known what everything it reads is.
    pub fn content_key(&mut self, task: TaskId) -> Option<Recipe> {
        self.contents.key(&self.graph, task)
    }

    /// The content key under which a task was compared.
    pub fn compared_by(&self, task: TaskId) -> Option<&Recipe> {
        self.contents.compared_by(task)
    }

    /// The content key of a task that is about to run, if it was compared. It may be another one by now: an
    /// input that was lost and made again need not be what it was.
    pub fn runs_under(&mut self, task: TaskId) -> Option<Recipe> {
        self.contents.key_again(&self.graph, task)
    }

    /// The recipe under which the outputs of a task can be brought back: its own, or that of the product it
    /// is equal to.
    pub fn stored_as(&self, task: TaskId) -> Recipe {
        let target = self.contents.target(task);
        target.unwrap_or_else(|| self.graph.recipe(task))
    }

    /// A task of this run that has this content key and leads, or led, to outputs.
    pub fn leader(&self, task: TaskId, key: &Recipe) -> Option<TaskId> {
        let alive = |other: &TaskId| {
            let state = self.coordinator.state(*other);
            *other != task && !matches!(state, State::Idle | State::Failed | State::Blocked)
        };
        let first = self.contents.first(key).filter(alive);
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
            self.contents.compare_by(task, key);
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
                    self.contents.found_equal(task, found.recipe);
                    recall.equal(&self.graph, task, &found.recipe);
                }
            } else {
                self.contents.lead(task, key);
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
    pub(super) fn became_equal(&mut self, task: TaskId, other: TaskId, recall: &mut dyn Recall) {
        if let Some(outputs) = self.contents.of(other) {
            let outputs = outputs.to_vec();
            self.identify(task, outputs);
        }
        let target = self.stored_as(other);
        self.contents.found_equal(task, target);
        recall.equal(&self.graph, task, &target);
    }
}
