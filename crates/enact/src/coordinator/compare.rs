//! Tasks that are new by their recipe, and yet not: same operation, same parameters, same contents.
//!
//! Law: a task with a new recipe is compared once, when everything it reads is known and before it runs. If
//! an equal one is there, in the store or in this run, it does not run; if an equal one is under way, it
//! waits for that one, so that of equal tasks one runs. What came of a comparison does not depend on who was
//! first: as many tasks run.

use headwater_graph::{TaskGraph, TaskId};

use super::{Coordinator, Notice, Presence, State};

/// What came of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// There is nothing like it: it has to run.
    New,
    /// Another run has made it since it was looked up.
    Made,
    /// A store has the outputs of an equal task.
    Stored,
    /// It is equal to this task.
    Like(TaskId),
}

/// So many tasks are compared at once: others want to know what came of it.
const BATCH: usize = 4096;

impl Coordinator {
    /// The tasks to be compared now. Each has to be answered by [`compared`](Self::compared).
    pub fn take_comparisons(&mut self, into: &mut Vec<TaskId>) {
        let count = self.to_compare.len().min(BATCH);
        self.comparing += count;
        into.extend(self.to_compare.drain(..count));
    }

    /// The tasks that wait for equal ones, sorted.
    pub fn following(&self) -> Vec<TaskId> {
        let waits = |task: &TaskId| self.slots[task.index()].state == State::Waiting;
        let all = self.followers.values().flatten().copied();
        let mut following: Vec<TaskId> = all.filter(waits).collect();
        following.sort_unstable();
        following
    }

    /// Tells what came of a comparison.
    pub fn compared(&mut self, graph: &TaskGraph, task: TaskId, verdict: Verdict) {
        self.comparing -= 1;
        let slot = &mut self.slots[task.index()];
        if slot.state != State::Comparing {
            // Meanwhile something that it reads was lost.
            return;
        }
        slot.state = State::Waiting;
        slot.comparable = false;
        let like = match verdict {
            Verdict::New => None,
            Verdict::Made => {
                let slot = &mut self.slots[task.index()];
                slot.presence = Presence::Stored;
                slot.found = true;
                if let Some(tally) = self.tally(task) {
                    tally.reused += 1;
                }
                return self.need_not_run(graph, task);
            }
            Verdict::Stored => return self.cut_off(graph, task, None),
            Verdict::Like(other) => Some(other).filter(|other| *other != task),
        };
        match like.map(|other| (other, self.slots[other.index()].state)) {
            Some((other, State::Done | State::Known)) => self.cut_off(graph, task, Some(other)),
            None | Some((_, State::Idle | State::Failed | State::Blocked)) => {
                self.become_ready(task);
            }
            Some((other, _)) => {
                self.slots[task.index()].missing = 1;
                self.followers.entry(other).or_default().push(task);
            }
        }
    }

    /// It need not run: an equal one is there.
    fn cut_off(&mut self, graph: &TaskGraph, task: TaskId, like: Option<TaskId>) {
        let shared = like.filter(|like| self.slots[like.index()].presence == Presence::Here);
        let memory = shared.map_or(0, |like| self.slots[like.index()].memory);
        let slot = &mut self.slots[task.index()];
        slot.cut_off = true;
        slot.presence = Presence::Stored;
        if shared.is_some() {
            slot.presence = Presence::Here;
            slot.memory = memory;
        }
        if let Some(tally) = self.tally(task) {
            tally.cut_off += 1;
        }
        if let Some(from) = shared {
            self.ledger.hold(memory);
            self.notices.push(Notice::Shared { task, from });
        }
        self.need_not_run(graph, task);
    }

    /// What it would have read is no longer needed for it.
    fn need_not_run(&mut self, graph: &TaskGraph, task: TaskId) {
        self.tell_readers(task);
        self.settle(task, State::Known);
        self.tell_followers(graph, task);
        self.inputs_were_read(graph, task);
        self.keep_or_release(task);
    }

    /// A task has ended well: those that are equal to it need not run.
    pub(super) fn tell_followers(&mut self, graph: &TaskGraph, task: TaskId) {
        if self.followers.is_empty() {
            return;
        }
        for follower in self.followers.remove(&task).unwrap_or_default() {
            if self.slots[follower.index()].state == State::Waiting {
                self.notices.push(Notice::Equal {
                    task: follower,
                    to: task,
                });
                self.cut_off(graph, follower, Some(task));
            }
        }
    }

    /// A task will not end well: of those that are equal to it another one has to try.
    pub(super) fn release_followers(&mut self, task: TaskId) {
        if !self.followers.is_empty() {
            self.let_go_of_followers(task, true);
        }
    }

    fn let_go_of_followers(&mut self, task: TaskId, compare_again: bool) {
        for follower in self.followers.remove(&task).unwrap_or_default() {
            let slot = &mut self.slots[follower.index()];
            if slot.state == State::Waiting {
                slot.comparable = compare_again;
                slot.missing -= 1;
                if slot.missing == 0 {
                    self.become_ready(follower);
                }
            }
        }
    }

    /// Whether somebody waited for an equal task; nobody does any more.
    pub(super) fn release_all_followers(&mut self) -> bool {
        let mut leaders: Vec<TaskId> = self.followers.keys().copied().collect();
        leaders.sort_unstable();
        for leader in &leaders {
            // Compared again they would wait again.
            self.let_go_of_followers(*leader, false);
        }
        !leaders.is_empty()
    }
}
