//! Where the outputs of tasks are: nowhere, stored, on their way, here.
//!
//! Law: outputs stay in memory as long as somebody has to read them, and no longer. What was written out
//! or remembered is brought back when a task that reads it is about to start; what cannot be brought back
//! is computed again, and with it exactly what is needed for that. Outputs that one running task alone has to read,
//! once, are its own if it asks for them.

use headwater_graph::{TaskGraph, TaskId};

use super::{Coordinator, Edge, NONE, Notice, Presence, State};

impl Coordinator {
    /// Keeps the outputs of a task until [`let_go`](Self::let_go), for readers that do not exist yet.
    pub fn hold(&mut self, task: TaskId) {
        *self.holds.entry(task).or_insert(0) += 1;
        self.slots[task.index()].readers += 1;
    }

    /// Takes back one [`hold`](Self::hold).
    pub fn let_go(&mut self, task: TaskId) {
        let Some(holds) = self.holds.get_mut(&task) else {
            return;
        };
        *holds -= 1;
        if *holds == 0 {
            self.holds.remove(&task);
        }
        let slot = &mut self.slots[task.index()];
        slot.readers -= 1;
        if slot.readers == 0 {
            self.keep_or_release(task);
        }
    }

    /// Whether outputs are kept for readers that do not exist yet.
    pub(crate) fn is_held(&self, task: TaskId) -> bool {
        self.holds.contains_key(&task)
    }

    /// Calls `visit` with every planned task that still has to read the outputs of `task`.
    pub(crate) fn for_each_reader(&self, task: TaskId, mut visit: impl FnMut(TaskId)) {
        let mut edge = self.slots[task.index()].first_edge;
        while edge != NONE {
            let Edge { reader, next } = self.edges[edge as usize];
            edge = next;
            if !self.slots[reader.index()].state.is_settled() {
                visit(reader);
            }
        }
    }

    /// The first task of the graph that was planned to read the outputs of `task`, whatever became of it.
    pub fn first_reader(&self, task: TaskId) -> Option<TaskId> {
        let mut edge = self.slots[task.index()].first_edge;
        let mut first = None;
        while edge != NONE {
            let Edge { reader, next } = self.edges[edge as usize];
            edge = next;
            first = Some(first.map_or(reader, |first: TaskId| first.min(reader)));
        }
        first
    }

    pub(super) fn keep_or_release(&mut self, task: TaskId) {
        let slot = &mut self.slots[task.index()];
        if slot.presence != Presence::Here {
            return;
        }
        if slot.readers > 0 {
            if slot.memory > 0 && self.ledger.limits_memory() {
                self.live.insert((slot.memory, task));
            }
            return;
        }
        self.leave(task);
        self.notices.push(Notice::Released(task));
    }

    /// Outputs that are here are let go.
    fn leave(&mut self, task: TaskId) {
        let slot = &mut self.slots[task.index()];
        self.live.remove(&(slot.memory, task));
        self.ledger.let_go(slot.memory);
        let can_return = self.options.remembers && slot.remembered;
        slot.presence = if can_return {
            Presence::Stored
        } else {
            Presence::Nowhere
        };
    }

    /// A running task asks for the outputs of `inputs`, which it reads, for itself; those that it does not get are
    /// taken out of the list. It gets what nobody else has to read or holds, if it is not tried again when it fails
    /// now: the driver lets go of it at once, and whoever asks for it from now on has it brought back or made
    /// again. Their memory is promised to the task instead. It must not be put back after this.
    pub fn take_inputs(&mut self, graph: &TaskGraph, task: TaskId, inputs: &mut Vec<TaskId>) {
        let runs = self.slots[task.index()].state == State::Running;
        if !runs || self.has_tries_left(graph, task) {
            inputs.clear();
            return;
        }
        // What it reads twice counts it as a reader twice.
        let mut reads = Vec::new();
        graph.for_each_input_task(task, |input| reads.push(input));
        reads.sort_unstable();
        inputs.sort_unstable();
        inputs.dedup();
        inputs.retain(|input| {
            let first = reads.partition_point(|read| read < input);
            let own = reads[first..].partition_point(|read| read == input);
            let slot = &self.slots[input.index()];
            let (memory, readers) = (slot.memory, slot.readers as usize);
            if slot.presence != Presence::Here || own == 0 || readers != own {
                return false;
            }
            self.leave(*input);
            if self.ledger.limits_memory() {
                self.ledger.promise(memory);
                *self.promised.entry(task).or_insert(0) += memory;
            }
            true
        });
        self.slots[task.index()].keeps |= !inputs.is_empty();
    }

    /// Tells that the outputs of a task are in memory again.
    pub fn materialised(&mut self, task: TaskId, memory: u64) {
        let slot = &mut self.slots[task.index()];
        if slot.presence != Presence::Coming {
            return;
        }
        slot.presence = Presence::Here;
        slot.memory = memory;
        self.ledger.hold(memory);
        self.tell_loading(task);
    }

    /// The outputs of `task` are here: tasks that sent for them may start.
    fn tell_loading(&mut self, task: TaskId) {
        let waiting = self.loading.remove(&task).unwrap_or_default();
        if waiting.is_empty() {
            self.keep_or_release(task);
        }
        for waiting in waiting {
            let slot = &mut self.slots[waiting.index()];
            slot.missing -= 1;
            if slot.missing == 0 {
                self.loaded.push(waiting);
            }
        }
    }

    /// Tells that the outputs of a task were written out (or could not be: then they stay).
    pub fn spilled(&mut self, task: TaskId, written: bool) {
        let slot = &mut self.slots[task.index()];
        if slot.presence != Presence::Leaving {
            return;
        }
        self.spilling -= 1;
        if !written {
            slot.presence = Presence::Here;
            // It is not among those that may leave any more: once refused is enough.
            if slot.readers == 0 || self.loading.contains_key(&task) {
                self.tell_loading(task);
            }
            return;
        }
        self.ledger.let_go(slot.memory);
        slot.presence = Presence::Stored;
        if self.loading.contains_key(&task) {
            slot.presence = Presence::Coming;
            self.to_load.push(task);
        }
    }

    /// Tells that the outputs of a task cannot be brought back: it is run again, and whoever needs it waits.
    pub fn lost(&mut self, graph: &TaskGraph, task: TaskId) {
        let slot = &mut self.slots[task.index()];
        if !matches!(slot.state, State::Done | State::Known) || slot.presence == Presence::Leaving {
            return;
        }
        if slot.presence == Presence::Here {
            self.live.remove(&(slot.memory, task));
            self.ledger.let_go(slot.memory);
        }
        slot.presence = Presence::Nowhere;
        self.loading.remove(&task);
        self.to_load.retain(|coming| *coming != task);
        // Every reader that has not begun counts the lost product as missing again.
        let mut edge = self.slots[task.index()].first_edge;
        while edge != NONE {
            let Edge { reader, next } = self.edges[edge as usize];
            edge = next;
            match self.slots[reader.index()].state {
                State::Loading => self.send_back(graph, reader),
                State::Waiting => self.unpark(reader),
                // A comparison that is under way comes to nothing.
                State::Ready | State::Comparing => {}
                // It goes on with what it was given; what is made again need not come here for it.
                State::Running => {
                    self.slots[reader.index()].keeps = true;
                    continue;
                }
                _ => continue,
            }
            let slot = &mut self.slots[reader.index()];
            slot.state = State::Waiting;
            slot.missing += 1;
        }
        let mut fresh = Vec::new();
        self.demand(graph, &[task], &mut fresh);
        self.offer(graph, &fresh);
    }

    /// A task that waits for its inputs to come back gives its resources back and queues again.
    fn send_back(&mut self, graph: &TaskGraph, reader: TaskId) {
        self.vacate(graph, reader);
        for tasks in self.loading.values_mut() {
            tasks.retain(|waiting| *waiting != reader);
        }
        self.loaded.retain(|waiting| *waiting != reader);
        self.slots[reader.index()].missing = 0;
    }
}
