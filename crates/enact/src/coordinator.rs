//! The coordinator: a state machine that decides what runs next. See `README.md` beside this file.
//!
//! Law: it is a pure function of the calls made to it: no clock, no threads, no files. Whoever drives it,
//! worker threads or virtual time, asks [`Coordinator::next`] for an [`Action`], does it, and tells how it
//! ended. A failure stops its descendants and nothing else. If something can run, something is offered:
//! there is no deadlock, whatever the memory budget is.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::sync::Arc;

use core::time::Duration;

use headwater_graph::{Operation, Tally, TaskId};

use crate::needs::{Ledger, Needs, PlanError};
use crate::{Options, Time};

mod choose;
mod compare;
mod presence;
mod ready;
mod round;
mod sanity;
mod settle;
mod stages;

pub use compare::Verdict;
use ready::Ready;
pub use round::{Admission, Occurrence};
use stages::Stages;

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Run a task.
    Start(Start),
    /// Bring the outputs of a remembered, released or spilled task into memory.
    Materialise(TaskId),
    /// Write the outputs of a task to disk and drop them from memory.
    Spill(TaskId),
    /// Find out whether tasks are equal to something that is there: take them with
    /// [`take_comparisons`](Coordinator::take_comparisons).
    Compare,
    /// Nothing can start now: wait for something that is under way, or until that moment.
    Wait(Option<Time>),
    /// Everything that was asked for has ended.
    Finished,
}

/// A task to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// Which.
    pub task: TaskId,
    /// How often it was tried before.
    pub attempt: u32,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// It is expected not to fit the memory budget, and runs alone.
    pub oversized: bool,
    /// Its outputs were there once and are gone: that it is remembered is no help.
    pub restoring: bool,
    /// It is expected to be over in no time: not worth making others wait for it.
    pub brief: bool,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Its outputs are there and hold so many bytes of memory.
    Success {
        /// Memory held.
        memory: u64,
        /// How long it took.
        elapsed: Duration,
    },
    /// It failed; worth trying again.
    Failure,
    /// It failed, and trying again is no use.
    Fatal,
    /// It was ended on demand: it neither succeeded nor failed, and waits for another run.
    Cancelled,
    /// Somebody else is at it: it did not run, and is offered again after a pause.
    Busy,
    /// Somebody else has done it meanwhile: it did not run, and its outputs can be brought back.
    Found,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Nobody needs it.
    Idle,
    /// It waits for inputs, for its turn, or for a retry.
    Waiting,
    /// It is being found out whether it is equal to something that is there.
    Comparing,
    /// It could start now.
    Ready,
    /// Its inputs are being brought back.
    Loading,
    /// It runs.
    Running,
    /// It ran.
    Done,
    /// It is remembered.
    Known,
    /// It failed.
    Failed,
    /// Something that it needs failed.
    Blocked,
}

impl State {
    /// Whether nothing more happens to it.
    pub fn is_settled(self) -> bool {
        matches!(
            self,
            State::Idle | State::Done | State::Known | State::Failed | State::Blocked
        )
    }
}

/// Something worth telling, in the order in which it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Nobody needs the outputs of this task in memory any more.
    Released(TaskId),
    /// This task can no longer run, because that one failed.
    Blocked {
        /// Which.
        task: TaskId,
        /// Because of which.
        cause: TaskId,
    },
    /// This task is run again because its outputs were dropped or damaged.
    Recomputed(TaskId),
    /// This task does not run: it waited for an equal one, which has ended well.
    Equal {
        /// Which.
        task: TaskId,
        /// The one that ran, or was remembered.
        to: TaskId,
    },
    /// The outputs of an equal task are in memory: they are this task's, too.
    Shared {
        /// Which.
        task: TaskId,
        /// Whose.
        from: TaskId,
    },
}

/// What did not fit the memory budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Oversized {
    /// How many starts; each ran alone.
    pub tasks: usize,
    /// The most bytes that one of them was expected to come to, with what was held then.
    pub most: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// The outputs are nowhere.
    Nowhere,
    /// They can be brought back.
    Stored,
    /// They are being brought back.
    Coming,
    /// They are being written out.
    Leaving,
    /// They are in memory.
    Here,
}

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Bytes held by the outputs, while they are here.
    memory: u64,
    /// Order among ready tasks: later rounds first, then depth first.
    priority: u64,
    /// Inputs that are not there yet.
    missing: u32,
    /// Tasks that still have to read the outputs.
    readers: u32,
    first_edge: u32,
    occurrence: u32,
    stage: u16,
    attempts: u16,
    /// Length of the longest chain that leads here.
    depth: u32,
    state: State,
    presence: Presence,
    implicit: bool,
    /// A store can give the outputs back, if there is a store.
    remembered: bool,
    /// Somebody wants it, directly or not.
    counted: bool,
    /// It was planned before: its inputs know it as a reader.
    linked: bool,
    /// Occupies its resources on its own, rather than as a rider in the batch of another task.
    charged: bool,
    oversized: bool,
    /// No order gate holds it back.
    free: bool,
    ran_before: bool,
    /// It is compared before it runs.
    comparable: bool,
    /// It did not run: an equal task was there.
    cut_off: bool,
    /// It did not run: another run made it.
    found: bool,
    /// It was remembered, and its outputs were lost.
    restored: bool,
    /// It runs, and goes on with what it was given whatever becomes of it: it has
    /// [taken](Coordinator::take_inputs) inputs for itself, or some were [lost](Coordinator::lost) since.
    keeps: bool,
}

#[derive(Debug, Clone, Copy)]
struct Edge {
    reader: TaskId,
    next: u32,
}

/// Decides what runs next.
#[derive(Debug)]
pub struct Coordinator {
    options: Options,
    slots: Vec<Slot>,
    edges: Vec<Edge>,
    needs: Vec<Needs>,
    ledger: Ledger,
    ready: Ready,
    /// Tasks whose inputs have been brought back: they start before anything else.
    loaded: Vec<TaskId>,
    /// Inputs to bring back, and the tasks that wait for them.
    to_load: Vec<TaskId>,
    loading: HashMap<TaskId, Vec<TaskId>>,
    spilling: usize,
    /// Tasks to be compared, and how many are being compared.
    to_compare: Vec<TaskId>,
    comparing: usize,
    /// Tasks that wait for an equal one, by that.
    followers: HashMap<TaskId, Vec<TaskId>>,
    delayed: BinaryHeap<Reverse<(Time, TaskId)>>,
    stages: Stages,
    /// Products in memory that could be written out: (cost of bringing it back ~ bytes, task).
    live: BTreeSet<(u64, TaskId)>,
    /// Memory promised to tasks that were started, where memory is limited.
    promised: HashMap<TaskId, u64>,
    /// The bytes of each output, of tasks whose outputs are large and not all alike; see
    /// [`measured`](Coordinator::measured).
    sizes: HashMap<TaskId, Box<[u64]>>,
    oversized: Oversized,
    /// Outputs kept for readers that do not exist yet.
    holds: HashMap<TaskId, u32>,
    /// Blocked tasks, and the failed one behind each.
    causes: HashMap<TaskId, TaskId>,
    unsettled: usize,
    running: usize,
    notices: Vec<Notice>,
    rounds: u32,
    stopped: bool,
}

impl Coordinator {
    /// A coordinator without tasks. `stages` tells, for each stage, its ancestors and its concurrency; leave
    /// it empty for a graph without stages.
    pub fn new(options: Options, stages: &[StageRules]) -> Coordinator {
        Coordinator {
            ledger: Ledger::new(&options.capacity),
            stages: Stages::new(stages, options.parallelism),
            options,
            slots: Vec::new(),
            edges: Vec::new(),
            needs: Vec::new(),
            ready: Ready::default(),
            loaded: Vec::new(),
            to_load: Vec::new(),
            loading: HashMap::new(),
            spilling: 0,
            to_compare: Vec::new(),
            comparing: 0,
            followers: HashMap::new(),
            delayed: BinaryHeap::new(),
            live: BTreeSet::new(),
            promised: HashMap::new(),
            sizes: HashMap::new(),
            oversized: Oversized::default(),
            holds: HashMap::new(),
            causes: HashMap::new(),
            unsettled: 0,
            running: 0,
            notices: Vec::new(),
            rounds: 0,
            stopped: false,
        }
    }

    /// Tells the coordinator to start nothing more; what runs may end.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether tasks are compared by content before they run.
    pub fn compares(&self) -> bool {
        self.options.compares
    }

    /// Whether it was told to stop, or stopped itself after a failure.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// What happened since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Why this machine can never run an operation, if it cannot.
    pub fn refuses(&self, operation: &Operation) -> Option<PlanError> {
        self.ledger.assess(operation).refused().cloned()
    }

    /// How many tasks of the graph it has taken in.
    pub fn admitted(&self) -> usize {
        self.slots.len()
    }

    /// Where a task stands.
    pub fn state(&self, task: TaskId) -> State {
        self.slots
            .get(task.index())
            .map_or(State::Idle, |slot| slot.state)
    }

    /// The failed task because of which a blocked task cannot run.
    pub fn cause(&self, task: TaskId) -> Option<TaskId> {
        self.causes.get(&task).copied()
    }

    /// How many tasks stand where.
    pub fn counts(&self) -> Tally {
        self.stages.tallies().sum()
    }

    /// Where a task is counted; `None` for an implicit one, which is counted nowhere.
    fn tally(&mut self, task: TaskId) -> Option<&mut Tally> {
        let slot = &self.slots[task.index()];
        (!slot.implicit).then(|| self.stages.tally(slot.stage))
    }

    /// Whether a task did not run because an equal one was there.
    pub fn is_cut_off(&self, task: TaskId) -> bool {
        self.slots
            .get(task.index())
            .is_some_and(|slot| slot.cut_off)
    }

    /// Whether a task did not run because another run made it meanwhile.
    pub fn is_found(&self, task: TaskId) -> bool {
        self.slots.get(task.index()).is_some_and(|slot| slot.found)
    }

    /// Whether a task that was remembered had to run, because its outputs were gone.
    pub fn is_restored(&self, task: TaskId) -> bool {
        self.slots
            .get(task.index())
            .is_some_and(|slot| slot.restored && slot.ran_before)
    }

    /// Whether a task was remembered or had run before its outputs were lost.
    pub fn is_made_again(&self, task: TaskId) -> bool {
        self.slots
            .get(task.index())
            .is_some_and(|slot| slot.restored || slot.ran_before)
    }

    /// The stage of a task; implicit tasks have none.
    pub fn stage(&self, task: TaskId) -> Option<usize> {
        let slot = self.slots.get(task.index())?;
        (slot.occurrence != NONE).then_some(usize::from(slot.stage))
    }

    /// How many tasks of each stage stand where.
    pub fn stage_tallies(&self) -> impl ExactSizeIterator<Item = Tally> {
        self.stages.by_stage()
    }

    /// How many tasks run now.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Bytes held by products in memory.
    pub fn memory_held(&self) -> u64 {
        self.ledger.held()
    }

    /// Bytes promised to tasks that run, where memory is limited.
    pub fn memory_promised(&self) -> u64 {
        self.ledger.reserved()
    }

    /// Bytes that tasks and products may take; all there are where memory is not limited.
    pub fn memory_for_tasks(&self) -> u64 {
        self.ledger.for_tasks()
    }

    /// How long a task of this operation, by its position in the graph, is expected to take, from those that have ended.
    pub fn expected_time(&self, operation: u32) -> Option<Duration> {
        self.needs.get(operation as usize)?.time()
    }

    /// The tasks that were started although they were not expected to fit.
    pub fn oversized(&self) -> Oversized {
        self.oversized
    }

    /// Tells the bytes of each output of a task that is about to end well or to be brought back, files counted
    /// wherever they are. Where it is not told, each output is taken to be as large as all are in memory.
    pub fn measured(&mut self, task: TaskId, sizes: Box<[u64]>) {
        if self.ledger.limits_memory() {
            self.sizes.insert(task, sizes);
        }
    }

    /// The number of the first occurrence that has this task, counted over all rounds.
    pub fn occurrence(&self, task: TaskId) -> Option<u32> {
        let occurrence = self.slots.get(task.index())?.occurrence;
        (occurrence != NONE).then_some(occurrence)
    }
}

/// What the coordinator has to know of a stage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StageRules {
    /// For messages.
    pub name: Arc<str>,
    /// All stages that come before it, by data or by order.
    pub ancestors: Vec<usize>,
    /// How many of its instances may run at once.
    pub concurrency: Option<u32>,
}

/// A round that cannot be planned.
pub type Refused = PlanError;
