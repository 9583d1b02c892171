//! What runs next.
//!
//! Law: of the ready tasks whose resources are free the first in order is taken. When memory is the only
//! thing in the way and nothing under way can free any, room is made by writing something out; when there
//! is no room to make, the task runs alone. When nothing at all is under way, a task that its stage holds
//! back is let through. So as long as something is left to do, something is offered.

use std::cmp::Reverse;

use core::time::Duration;

use headwater_graph::{Source, TaskGraph, TaskId};

use super::{Action, Coordinator, Presence, Start, State};
use crate::Time;
use crate::needs::Needs;

/// Up to so many ready tasks are looked at to find one whose resources are free.
const LOOKAHEAD: usize = 256;
/// Tasks expected to be shorter than this are handed out in batches.
const QUICK: Duration = Duration::from_micros(50);
/// Tasks expected to be shorter than this are not worth waiting for while somebody else is at them.
const BRIEF: Duration = Duration::from_millis(1);

impl Coordinator {
    /// What to do next. Each call is one decision; the driver does it and comes back.
    pub fn next(&mut self, graph: &TaskGraph, now: Time) -> Action {
        self.end_pauses(now);
        if let Some(task) = self.to_load.pop() {
            return Action::Materialise(task);
        }
        if self.stopped {
            let idle = self.nothing_under_way();
            return if idle {
                Action::Finished
            } else {
                Action::Wait(None)
            };
        }
        if !self.to_compare.is_empty() {
            return Action::Compare;
        }
        if let Some(task) = self.loaded.pop() {
            // Its resources were taken when its inputs were sent for. These are held now, and no longer promised.
            self.lower_promise(graph, task);
            return Action::Start(self.begin(graph, task));
        }
        if let Some(action) = self.pick(graph) {
            return action;
        }
        if self.nothing_under_way() {
            if self.unsettled == 0 {
                return Action::Finished;
            }
            // A stage may hold back a task that one of its own open instances waits for: shared tasks and
            // lost products make that possible. With nothing running, letting it through disturbs nobody.
            if self.delayed.is_empty() && self.stages.let_one_through() {
                self.admit_waiting();
                if let Some(action) = self.pick(graph) {
                    return action;
                }
            }
            // Two equal tasks may wait for each other, if an input of the one was lost that the other makes.
            if self.delayed.is_empty() && self.release_all_followers() {
                return self.next(graph, now);
            }
        }
        Action::Wait(self.delayed.peek().map(|Reverse((due, _))| *due))
    }

    fn nothing_under_way(&self) -> bool {
        self.running == 0 && self.spilling == 0 && self.comparing == 0 && self.loading.is_empty()
    }

    /// The pause before a retry is one of the things that a task waits for.
    fn end_pauses(&mut self, now: Time) {
        while let Some(Reverse((due, task))) = self.delayed.peek().copied() {
            if due > now {
                return;
            }
            self.delayed.pop();
            let slot = &mut self.slots[task.index()];
            if slot.state == State::Waiting {
                slot.missing -= 1;
                if slot.missing == 0 {
                    self.become_ready(task);
                }
            }
        }
    }

    /// More quick tasks for a driver that just got one from [`next`](Self::next) and will run them one after
    /// the other on the same core. Empty unless both they and `first` are known to be quick and small.
    pub fn ride_along(
        &mut self,
        graph: &TaskGraph,
        first: TaskId,
        workers: usize,
        batch: &mut Vec<Start>,
    ) {
        let quick = |needs: &Needs| needs.is_quick(QUICK) && needs.is_plain();
        let first_needs = &self.needs[graph.operation_index(first) as usize];
        if !quick(first_needs) || self.stages.restricted() || self.stopped {
            return;
        }
        // The others get their share: nobody takes more than half of an even split.
        let share = (self.ready.len() / (2 * workers.max(1))).min(256);
        while batch.len() < share {
            let Some((_, task)) = self.ready.peek() else {
                break;
            };
            if self.slots[task.index()].state != State::Ready {
                self.ready.pop();
                continue;
            }
            let needs = &self.needs[graph.operation_index(task) as usize];
            let fits = quick(needs)
                && self.inputs_are_here(graph, task)
                && self.ledger.fits_memory(self.wanted_memory(graph, task));
            if !fits {
                break;
            }
            self.ready.pop();
            let slot = &mut self.slots[task.index()];
            slot.charged = false;
            slot.oversized = false;
            self.occupy(graph, task);
            batch.push(self.begin(graph, task));
        }
    }

    fn inputs_are_here(&self, graph: &TaskGraph, task: TaskId) -> bool {
        let mut here = true;
        graph.for_each_input_task(task, |input| {
            here &= self.slots[input.index()].presence == Presence::Here;
        });
        here
    }

    /// The first ready task, in order, whose resources are free.
    fn pick(&mut self, graph: &TaskGraph) -> Option<Action> {
        let mut passed = Vec::new();
        let mut chosen = None;
        let mut too_large = None;
        while let Some(entry) = self.ready.pop() {
            let (_, task) = entry;
            let slot = &self.slots[task.index()];
            if slot.state != State::Ready {
                continue;
            }
            let needs = &self.needs[graph.operation_index(task) as usize];
            if needs.refused().is_some() {
                // It was remembered, and then its outputs were lost: it should run, and never can.
                self.fail(graph, task);
                continue;
            }
            if !self.stages.may_run_beside(slot.stage) || !self.ledger.fits_others(needs) {
                passed.push(entry);
            } else if !self.ledger.fits_cores(needs) {
                // No smaller task may overtake it for ever.
                passed.push(entry);
                break;
            } else if !self.ledger.fits_memory(self.wanted_memory(graph, task)) {
                too_large = too_large.or(Some(task));
                passed.push(entry);
            } else {
                chosen = Some(task);
                break;
            }
            if passed.len() >= LOOKAHEAD {
                break;
            }
        }
        passed.into_iter().for_each(|entry| self.ready.push(entry));
        if let Some(task) = chosen {
            return Some(self.launch(graph, task, false));
        }
        let task = too_large.filter(|_| self.nothing_under_way())?;
        if let Some(victim) = self.spill_victim(graph, task) {
            return Some(Action::Spill(victim));
        }
        let wanted = self.wanted_memory(graph, task);
        self.oversized.tasks += 1;
        self.oversized.most = self.oversized.most.max(self.ledger.held() + wanted);
        Some(self.launch(graph, task, true))
    }

    /// The bytes that starting `task` is expected to add: what it needs itself, and inputs that have to come
    /// back. Nothing where memory is not limited.
    fn wanted_memory(&self, graph: &TaskGraph, task: TaskId) -> u64 {
        if !self.ledger.limits_memory() {
            return 0;
        }
        let (mut coming, mut last) = (0u64, None);
        graph.for_each_input_task(task, |input| {
            if self.slots[input.index()].presence != Presence::Here && last != Some(input) {
                coming = coming.saturating_add(self.returning_memory(graph, input));
                last = Some(input);
            }
        });
        let needs = &self.needs[graph.operation_index(task) as usize];
        let own = needs.own_memory(|port| match port {
            // Somebody who says nothing may make files of files, which take no memory.
            None if !needs.says_working() => self.input_memory(graph, task),
            port => self.input_size(graph, task, port),
        });
        own.saturating_add(coming)
    }

    /// The bytes that bringing back the outputs of `input` takes: what they were when they were last here, or else
    /// what their like are. For a moment they are there twice, as they were stored and as they are read.
    fn returning_memory(&self, graph: &TaskGraph, input: TaskId) -> u64 {
        let memory = match self.slots[input.index()].memory {
            0 => {
                let needs = &self.needs[graph.operation_index(input) as usize];
                needs.output_memory().unwrap_or(0)
            }
            memory => memory,
        };
        memory.saturating_mul(2)
    }

    /// The bytes that the tasks which `task` reads from have in memory.
    fn input_memory(&self, graph: &TaskGraph, task: TaskId) -> u64 {
        let (mut memory, mut last) = (0u64, None);
        graph.for_each_input_task(task, |input| {
            if last != Some(input) {
                memory = memory.saturating_add(self.slots[input.index()].memory);
                last = Some(input);
            }
        });
        memory
    }

    /// The bytes of what `task` reads at an input, or at all of them.
    fn input_size(&self, graph: &TaskGraph, task: TaskId, port: Option<u16>) -> u64 {
        let inputs = graph.inputs(task).iter();
        let wanted = inputs.filter(|(found, _)| port.is_none_or(|port| port == *found));
        let sizes = wanted.map(|(_, source)| self.source_size(graph, source));
        sizes.fold(0, u64::saturating_add)
    }

    fn source_size(&self, graph: &TaskGraph, source: &Source) -> u64 {
        match source {
            Source::Product { task, port } => {
                let measured = self.sizes.get(task);
                let size = measured.and_then(|sizes| sizes.get(usize::from(*port)).copied());
                size.unwrap_or(self.slots[task.index()].memory)
            }
            Source::External(position) => graph.external_at(*position).value.size(),
            Source::List(sources) => {
                let sizes = sources.iter().map(|source| self.source_size(graph, source));
                sizes.fold(0, u64::saturating_add)
            }
            Source::Record(fields) => {
                let sizes = fields.iter();
                let sizes = sizes.map(|(_, source)| self.source_size(graph, source));
                sizes.fold(0, u64::saturating_add)
            }
        }
    }

    /// The smallest product in memory that `task` does not read.
    fn spill_victim(&mut self, graph: &TaskGraph, task: TaskId) -> Option<TaskId> {
        let mut reads = Vec::new();
        graph.for_each_input_task(task, |input| reads.push(input));
        reads.sort_unstable();
        let unread = |entry: &&(u64, TaskId)| reads.binary_search(&entry.1).is_err();
        let (memory, victim) = *self.live.iter().find(unread)?;
        self.live.remove(&(memory, victim));
        self.slots[victim.index()].presence = Presence::Leaving;
        self.spilling += 1;
        Some(victim)
    }

    /// Takes a ready task: starts it, or sends for its inputs first.
    fn launch(&mut self, graph: &TaskGraph, task: TaskId, oversized: bool) -> Action {
        let mut absent = Vec::new();
        graph.for_each_input_task(task, |input| {
            if self.slots[input.index()].presence != Presence::Here {
                absent.push(input);
            }
        });
        absent.sort_unstable();
        absent.dedup();
        let slot = &mut self.slots[task.index()];
        slot.charged = true;
        slot.oversized = oversized;
        self.occupy(graph, task);
        if absent.is_empty() {
            return Action::Start(self.begin(graph, task));
        }
        let slot = &mut self.slots[task.index()];
        slot.state = State::Loading;
        slot.missing = absent.len() as u32;
        for input in absent {
            self.loading.entry(input).or_default().push(task);
            let slot = &mut self.slots[input.index()];
            // What is on its way out is sent for when it has left.
            if slot.presence == Presence::Stored {
                slot.presence = Presence::Coming;
                self.to_load.push(input);
            }
        }
        match self.to_load.pop() {
            Some(input) => Action::Materialise(input),
            None => Action::Wait(None),
        }
    }

    fn occupy(&mut self, graph: &TaskGraph, task: TaskId) {
        let wanted = self.wanted_memory(graph, task);
        if wanted > 0 {
            self.ledger.promise(wanted);
            self.promised.insert(task, wanted);
        }
        let needs = &self.needs[graph.operation_index(task) as usize];
        let slot = &self.slots[task.index()];
        if slot.charged {
            self.ledger.take(needs);
        }
        self.stages.started(slot.stage);
    }

    fn lower_promise(&mut self, graph: &TaskGraph, task: TaskId) {
        let wanted = self.wanted_memory(graph, task);
        if let Some(promised) = self.promised.get_mut(&task)
            && wanted < *promised
        {
            self.ledger.redeem(*promised - wanted);
            *promised = wanted;
        }
    }

    pub(super) fn vacate(&mut self, graph: &TaskGraph, task: TaskId) {
        let slot = &self.slots[task.index()];
        if slot.charged {
            self.ledger
                .give_back(&self.needs[graph.operation_index(task) as usize]);
        }
        if self.ledger.limits_memory() {
            self.ledger.redeem(self.promised.remove(&task).unwrap_or(0));
        }
        self.stages.ended(slot.stage);
    }

    fn begin(&mut self, graph: &TaskGraph, task: TaskId) -> Start {
        if self.ledger.limits_memory() {
            graph.for_each_input_task(task, |input| {
                self.live.remove(&(self.slots[input.index()].memory, input));
            });
        }
        let slot = &mut self.slots[task.index()];
        slot.state = State::Running;
        slot.keeps = false;
        self.running += 1;
        let timeout = graph.operation_at(task).signature.timeout;
        let needs = &self.needs[graph.operation_index(task) as usize];
        Start {
            task,
            attempt: u32::from(slot.attempts),
            timeout,
            oversized: slot.oversized,
            restoring: slot.restored || slot.ran_before,
            brief: needs.is_quick(BRIEF),
        }
    }
}
