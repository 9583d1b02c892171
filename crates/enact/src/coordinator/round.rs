//! Taking in a round: demand goes backwards from what is wanted.
//!
//! Law: a task is planned only if somebody wants its outputs and they are not remembered. The number of a
//! task is its place in the depth-first order in which one worker would compute the wanted things one after
//! the other, longest branch first; ready tasks are taken in that order, which keeps few intermediates
//! alive. Later rounds go before earlier ones: they lie deeper.

use std::cmp::Reverse;

use headwater_graph::{TaskGraph, TaskId};

use super::stages::NO_STAGE;
use super::{Coordinator, Edge, NONE, Notice, Presence, Slot, State};
use crate::needs::PlanError;

/// One instance of a stage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Occurrence {
    /// Position of the stage.
    pub stage: usize,
    /// Its tasks; some may belong to other occurrences too.
    pub tasks: Vec<TaskId>,
    /// Tasks that have to end first.
    pub after: Vec<TaskId>,
    /// Stages that have to fall silent first.
    pub after_stages: Vec<usize>,
}

/// A part of the graph to be planned: all tasks that were added since the last round.
#[derive(Default)]
pub struct Admission<'a> {
    /// What is wanted, in order.
    pub wanted: &'a [TaskId],
    /// Which tasks are remembered; asked for new tasks only.
    pub known: Option<&'a dyn Fn(TaskId) -> bool>,
    /// New stage instances, in index order within each stage.
    pub occurrences: &'a [Occurrence],
    /// Stages that will have no further instances.
    pub complete: &'a [usize],
    /// Impure tasks run only where they are wanted, too.
    pub patient: bool,
}

impl Coordinator {
    /// Takes in everything that was added to `graph` since the last call, and plans what has to run.
    pub fn admit(&mut self, graph: &TaskGraph, round: &Admission<'_>) -> Result<(), PlanError> {
        for operation in &graph.operations()[self.needs.len()..] {
            self.needs.push(self.ledger.assess(operation));
        }
        let first_new = self.slots.len();
        self.add_slots(graph, round);
        let numbers: Vec<u32> = round
            .occurrences
            .iter()
            .map(|_| self.stages.add_occurrence())
            .collect();
        for (occurrence, number) in round.occurrences.iter().zip(&numbers) {
            for task in &occurrence.tasks {
                let slot = &mut self.slots[task.index()];
                if slot.occurrence == NONE && task.index() >= first_new {
                    slot.occurrence = *number;
                    slot.stage = occurrence.stage as u16;
                    slot.free = false;
                }
            }
        }
        let mut fresh = Vec::new();
        self.demand(graph, round.wanted, &mut fresh);
        self.count(graph, round.wanted);
        let impure = |task: &TaskId| !graph.operation_at(*task).signature.pure;
        let new = (first_new as u32..graph.len() as u32).map(TaskId);
        let always: Vec<TaskId> = if round.patient {
            Vec::new()
        } else {
            new.filter(impure).collect()
        };
        self.demand(graph, &always, &mut fresh);
        self.count(graph, &always);
        self.rounds += 1;
        let refused = |task: &TaskId| self.needs[graph.operation_index(*task) as usize].refused();
        if let Some(error) = fresh.iter().find_map(refused) {
            return Err(error.clone());
        }

        let mut freed = self.close_gates(round, &numbers);
        for stage in round.complete {
            self.stages.complete(*stage, &mut freed);
        }
        for task in &freed {
            self.slots[task.index()].free = true;
        }
        self.offer(graph, &fresh);
        // An earlier task may have waited for a gate that this round opened.
        self.open_gates(&freed);
        self.admit_waiting();
        Ok(())
    }

    /// Closes the gates of new occurrences; returns the tasks of those that have none. A task that several
    /// occurrences share is free as soon as one of them is.
    fn close_gates(&mut self, round: &Admission<'_>, numbers: &[u32]) -> Vec<TaskId> {
        let mut freed = Vec::new();
        for (occurrence, number) in round.occurrences.iter().zip(numbers) {
            let mut after: Vec<TaskId> = occurrence.after.clone();
            after.sort_unstable();
            after.dedup();
            after.retain(|task| {
                let settled = self.slots[task.index()].state.is_settled();
                !settled && !occurrence.tasks.contains(task)
            });
            let stages = &occurrence.after_stages;
            if !self.stages.gate(*number, &occurrence.tasks, &after, stages) {
                let closed = |task: &&TaskId| !self.slots[task.index()].free;
                freed.extend(occurrence.tasks.iter().filter(closed));
            }
        }
        freed
    }

    fn add_slots(&mut self, graph: &TaskGraph, round: &Admission<'_>) {
        self.slots.reserve(graph.len() - self.slots.len());
        for id in (self.slots.len() as u32..graph.len() as u32).map(TaskId) {
            let signature = &graph.operation_at(id).signature;
            let mut depth = 0;
            let mut reads_products = false;
            graph.for_each_input_task(id, |input| {
                depth = depth.max(self.slots[input.index()].depth + 1);
                reads_products = true;
            });
            let known =
                signature.pure && !signature.implicit && round.known.is_some_and(|known| known(id));
            self.slots.push(Slot {
                memory: 0,
                priority: 0,
                missing: 0,
                readers: 0,
                first_edge: NONE,
                occurrence: NONE,
                stage: NO_STAGE,
                attempts: 0,
                depth,
                state: if known { State::Known } else { State::Idle },
                presence: if known {
                    Presence::Stored
                } else {
                    Presence::Nowhere
                },
                implicit: signature.implicit,
                remembered: signature.pure && !signature.implicit,
                counted: false,
                linked: false,
                charged: true,
                oversized: false,
                free: true,
                ran_before: false,
                comparable: self.options.compares
                    && reads_products
                    && signature.pure
                    && !signature.implicit,
                cut_off: false,
                found: false,
                restored: false,
                keeps: false,
            });
        }
    }

    /// Counts `wanted` and everything that leads to it, remembered or not.
    fn count(&mut self, graph: &TaskGraph, wanted: &[TaskId]) {
        let mut pending: Vec<TaskId> = wanted.to_vec();
        while let Some(task) = pending.pop() {
            let slot = &mut self.slots[task.index()];
            if !slot.counted {
                slot.counted = true;
                // It is reused as long as nobody plans it.
                let reused = usize::from(!slot.linked);
                if let Some(tally) = self.tally(task) {
                    tally.tasks += 1;
                    tally.reused += reused;
                }
                graph.for_each_input_task(task, |input| {
                    if !self.slots[input.index()].counted {
                        pending.push(input);
                    }
                });
            }
        }
    }

    /// Plans `wanted` and everything that is needed for it and not there. New plans are appended to `fresh`
    /// in depth-first order.
    pub(super) fn demand(&mut self, graph: &TaskGraph, wanted: &[TaskId], fresh: &mut Vec<TaskId>) {
        let mut inputs: Vec<TaskId> = Vec::new();
        let mut stack: Vec<(TaskId, bool)> = Vec::new();
        for wanted in wanted {
            stack.push((*wanted, false));
            while let Some((task, entered)) = stack.pop() {
                if entered {
                    self.plan(graph, task, fresh);
                    continue;
                }
                if !self.needs_planning(task) {
                    continue;
                }
                let slot = &mut self.slots[task.index()];
                if slot.state != State::Idle {
                    self.notices.push(Notice::Recomputed(task));
                    slot.restored |= slot.state == State::Known;
                    // It would be found equal to itself, and its outputs would still be gone.
                    slot.comparable = false;
                    let cut_off = std::mem::replace(&mut slot.cut_off, false);
                    let found = std::mem::replace(&mut slot.found, false);
                    if let Some(tally) = self.tally(task) {
                        tally.recomputed += 1;
                        tally.cut_off -= usize::from(cut_off);
                        tally.reused -= usize::from(found);
                    }
                }
                self.slots[task.index()].state = State::Waiting;
                stack.push((task, true));
                inputs.clear();
                graph.for_each_input_task(task, |input| {
                    if self.needs_planning(input) {
                        inputs.push(input);
                    }
                });
                // The last one pushed is visited first: the deepest, and among equals the first.
                if inputs.len() > 1 {
                    inputs.sort_by_key(|input| Reverse(self.slots[input.index()].depth));
                }
                stack.extend(inputs.iter().rev().map(|input| (*input, false)));
            }
        }
    }

    /// Nobody asked for it yet, or its outputs are gone.
    fn needs_planning(&self, task: TaskId) -> bool {
        let slot = &self.slots[task.index()];
        match slot.state {
            State::Idle => true,
            State::Done | State::Known => slot.presence == Presence::Nowhere,
            _ => false,
        }
    }

    fn plan(&mut self, graph: &TaskGraph, task: TaskId, fresh: &mut Vec<TaskId>) {
        let slot = &mut self.slots[task.index()];
        slot.priority = (u64::from(u32::MAX - self.rounds) << 32) | fresh.len() as u64;
        slot.attempts = 0;
        let first = !slot.linked;
        slot.linked = true;
        let counted = usize::from(slot.counted);
        self.stages.planned(slot.stage, slot.occurrence);
        if let Some(tally) = self.tally(task).filter(|_| first) {
            tally.planned += 1;
            tally.reused -= counted;
        }
        self.unsettled += 1;
        let mut missing = 0;
        graph.for_each_input_task(task, |input| {
            if first {
                self.link(input, task);
            }
            let slot = &mut self.slots[input.index()];
            slot.readers += 1;
            missing += u32::from(!matches!(slot.state, State::Done | State::Known));
        });
        self.slots[task.index()].missing = missing;
        fresh.push(task);
    }

    fn link(&mut self, input: TaskId, reader: TaskId) {
        let slot = &mut self.slots[input.index()];
        let edge = self.edges.len() as u32;
        self.edges.push(Edge {
            reader,
            next: slot.first_edge,
        });
        slot.first_edge = edge;
    }

    /// Offers newly planned tasks that miss nothing, and blocks those whose inputs failed before.
    pub(super) fn offer(&mut self, graph: &TaskGraph, fresh: &[TaskId]) {
        for task in fresh {
            if self.slots[task.index()].state != State::Waiting {
                continue;
            }
            let mut failed = None;
            graph.for_each_input_task(*task, |input| {
                if matches!(
                    self.slots[input.index()].state,
                    State::Failed | State::Blocked
                ) {
                    failed = failed.or(Some(input));
                }
            });
            if let Some(failed) = failed {
                let cause = self.causes.get(&failed).copied().unwrap_or(failed);
                self.block(graph, *task, cause);
                self.block_readers(graph, *task, cause);
            } else if self.slots[task.index()].missing == 0 {
                self.become_ready(*task);
            }
        }
    }
}
