//! How tasks end, and what that sets going.
//!
//! Law: a task that ends tells whoever reads it, exactly once. A failure is tried again after a pause, as
//! often as its operation says; after that it stops its descendants, and nothing else.

use std::cmp::Reverse;

use core::time::Duration;

use headwater_graph::{Tally, TaskGraph, TaskId};

use super::{Coordinator, Edge, Ending, NONE, Notice, Presence, State};
use crate::Time;

/// The pause before a task that somebody else is at is offered again.
const BUSY: Duration = Duration::from_millis(20);

impl Coordinator {
    /// Tells how a started task ended.
    pub fn finished(&mut self, graph: &TaskGraph, task: TaskId, outcome: Ending, now: Time) {
        if self.slots[task.index()].state != State::Running {
            return;
        }
        self.running -= 1;
        self.vacate(graph, task);
        let slot = &mut self.slots[task.index()];
        match outcome {
            Ending::Success { memory, elapsed } => {
                slot.memory = memory;
                slot.presence = Presence::Here;
                let first = !std::mem::replace(&mut slot.ran_before, true);
                let restored = usize::from(slot.restored);
                if let Some(tally) = self.tally(task).filter(|_| first) {
                    tally.executed += 1;
                    tally.restored += restored;
                }
                self.needs[graph.operation_index(task) as usize].learn(memory, elapsed);
                self.ledger.hold(memory);
                // Readers first: when this stage falls silent with it, they take their turns in order.
                self.tell_readers(task);
                self.settle(task, State::Done);
                self.tell_followers(graph, task);
                self.inputs_were_read(graph, task);
                self.keep_or_release(task);
            }
            Ending::Cancelled => {
                // Whoever ends tasks also stops the run; until then it waits for an input that never comes.
                self.stopped = true;
                slot.state = State::Waiting;
                slot.missing = 1;
            }
            Ending::Busy => self.pause(graph, task, now + BUSY),
            Ending::Found => {
                slot.presence = Presence::Stored;
                let state = if slot.ran_before {
                    State::Done
                } else {
                    State::Known
                };
                slot.found = state == State::Known;
                let found = usize::from(slot.found);
                if let Some(tally) = self.tally(task) {
                    tally.reused += found;
                }
                self.tell_readers(task);
                self.settle(task, state);
                self.tell_followers(graph, task);
                self.inputs_were_read(graph, task);
            }
            Ending::Failure | Ending::Fatal => {
                let again = outcome == Ending::Failure && self.has_tries_left(graph, task);
                let slot = &mut self.slots[task.index()];
                if again && !self.stopped {
                    slot.attempts += 1;
                    let due = now + self.options.backoff.pause(u32::from(slot.attempts));
                    self.pause(graph, task, due);
                } else {
                    self.fail(graph, task);
                }
            }
        }
    }

    /// A task that ran is offered again after a pause, which is one of the things that it waits for. While it ran,
    /// what it reads may have been lost: then it waits for that, too, or never runs.
    fn pause(&mut self, graph: &TaskGraph, task: TaskId, due: Time) {
        let (mut missing, mut failed) = (1, None);
        graph.for_each_input_task(task, |input| match self.slots[input.index()].state {
            State::Done | State::Known => {}
            State::Failed | State::Blocked => failed = failed.or(Some(input)),
            _ => missing += 1,
        });
        if let Some(failed) = failed {
            let cause = self.causes.get(&failed).copied().unwrap_or(failed);
            self.block(graph, task, cause);
            return self.block_readers(graph, task, cause);
        }
        let slot = &mut self.slots[task.index()];
        slot.state = State::Waiting;
        slot.missing = missing;
        self.delayed.push(Reverse((due, task)));
        // What it reads may be written out while it waits.
        self.inputs_may_leave(graph, task);
    }

    /// Whether a task that fails now is tried again.
    pub(super) fn has_tries_left(&self, graph: &TaskGraph, task: TaskId) -> bool {
        let retries = graph.operation_at(task).signature.retries;
        let retries = retries
            .unwrap_or(self.options.retries)
            .min(u32::from(u16::MAX));
        u32::from(self.slots[task.index()].attempts) < retries
    }

    pub(super) fn fail(&mut self, graph: &TaskGraph, task: TaskId) {
        self.count_undone(task, |tally| tally.failed += 1);
        self.settle(task, State::Failed);
        self.inputs_were_read(graph, task);
        self.block_readers(graph, task, task);
        self.release_followers(task);
        if self.options.fail_fast {
            self.stopped = true;
        }
    }

    /// A task will not be done. One that had been done before, and was to be made again, no longer counts as that.
    fn count_undone(&mut self, task: TaskId, count: impl FnOnce(&mut Tally)) {
        let slot = &self.slots[task.index()];
        let (ran, restored) = (slot.ran_before, slot.ran_before && slot.restored);
        if let Some(tally) = self.tally(task) {
            tally.executed -= usize::from(ran);
            tally.restored -= usize::from(restored);
            count(tally);
        }
    }

    pub(super) fn block_readers(&mut self, graph: &TaskGraph, failed: TaskId, cause: TaskId) {
        let mut pending = vec![failed];
        while let Some(task) = pending.pop() {
            let mut edge = self.slots[task.index()].first_edge;
            while edge != NONE {
                let Edge { reader, next } = self.edges[edge as usize];
                edge = next;
                if matches!(
                    self.slots[reader.index()].state,
                    State::Waiting | State::Ready
                ) {
                    self.block(graph, reader, cause);
                    pending.push(reader);
                }
            }
        }
    }

    pub(super) fn block(&mut self, graph: &TaskGraph, task: TaskId, cause: TaskId) {
        self.count_undone(task, |tally| tally.blocked += 1);
        self.settle(task, State::Blocked);
        self.inputs_were_read(graph, task);
        self.causes.insert(task, cause);
        self.notices.push(Notice::Blocked { task, cause });
        self.release_followers(task);
    }

    /// Nothing more happens to `task`: whoever waits for that in order, or for the turn of its stage, may go on.
    pub(super) fn settle(&mut self, task: TaskId, state: State) {
        let slot = &mut self.slots[task.index()];
        slot.state = state;
        self.unsettled -= 1;
        let (stage, occurrence) = (slot.stage, slot.occurrence);
        if occurrence == NONE {
            return;
        }
        let mut freed = Vec::new();
        self.stages.settled(task, stage, occurrence, &mut freed);
        self.open_gates(&freed);
        self.admit_waiting();
    }

    pub(super) fn open_gates(&mut self, freed: &[TaskId]) {
        for task in freed {
            let slot = &mut self.slots[task.index()];
            slot.free = true;
            if slot.state == State::Waiting && slot.missing == 0 {
                self.become_ready(*task);
            }
        }
    }

    /// Stages that hold tasks back offer those whose turn has come.
    pub(super) fn admit_waiting(&mut self) {
        while let Some(task) = self.stages.next_admitted() {
            let slot = &mut self.slots[task.index()];
            if slot.state == State::Waiting {
                slot.state = State::Ready;
                self.ready.push((slot.priority, task));
            }
        }
    }

    /// All inputs are there: it is offered, unless it has to wait for its turn.
    pub(super) fn become_ready(&mut self, task: TaskId) {
        let slot = &mut self.slots[task.index()];
        if slot.comparable {
            // What is equal to something need not wait for its turn, nor for its gate.
            slot.state = State::Comparing;
            self.to_compare.push(task);
            return;
        }
        if !slot.free {
            return;
        }
        if self.stages.holds_back(slot.stage) {
            self.stages
                .park(task, slot.stage, slot.occurrence, slot.priority);
            self.admit_waiting();
        } else {
            slot.state = State::Ready;
            self.ready.push((slot.priority, task));
        }
    }

    /// It no longer waits for its turn.
    pub(super) fn unpark(&mut self, task: TaskId) {
        let slot = &self.slots[task.index()];
        if slot.state == State::Waiting && self.stages.holds_back(slot.stage) {
            self.stages
                .unpark(task, slot.stage, slot.occurrence, slot.priority);
        }
    }

    pub(super) fn tell_readers(&mut self, task: TaskId) {
        let mut edge = self.slots[task.index()].first_edge;
        // The list is in reverse order of insertion; readiness does not depend on it.
        while edge != NONE {
            let Edge { reader, next } = self.edges[edge as usize];
            edge = next;
            let slot = &mut self.slots[reader.index()];
            if slot.state == State::Waiting && slot.missing > 0 {
                slot.missing -= 1;
                if slot.missing == 0 {
                    self.become_ready(reader);
                }
            }
        }
    }

    pub(super) fn inputs_were_read(&mut self, graph: &TaskGraph, task: TaskId) {
        let slots = &mut self.slots;
        let mut unread = Vec::new();
        graph.for_each_input_task(task, |input| {
            let slot = &mut slots[input.index()];
            slot.readers -= 1;
            if slot.readers == 0 {
                unread.push(input);
            }
        });
        for input in unread {
            self.keep_or_release(input);
        }
        self.inputs_may_leave(graph, task);
    }

    fn inputs_may_leave(&mut self, graph: &TaskGraph, task: TaskId) {
        if self.ledger.limits_memory() {
            graph.for_each_input_task(task, |input| {
                let slot = &self.slots[input.index()];
                if slot.presence == Presence::Here && slot.memory > 0 {
                    self.live.insert((slot.memory, input));
                }
            });
        }
    }
}
