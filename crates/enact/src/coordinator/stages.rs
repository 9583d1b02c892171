//! Stages inside the coordinator: turns, barriers and order gates.
//!
//! Law: a task that is held back is offered again as soon as what held it back is gone: an instance of its
//! stage that ended (`concurrency`, data parallelism off), an earlier stage that fell silent (pipelining
//! off, `wait: [stages]`), a task that it comes after (`after`). Gates belong to occurrences; a task that
//! several occurrences share is free as soon as one of them is.

use std::collections::{BTreeSet, HashMap, VecDeque};

use headwater_graph::{Tally, TaskId};

use super::{NONE, StageRules};
use crate::Parallelism;

/// No stage at all.
pub(super) const NO_STAGE: u16 = u16::MAX;

#[derive(Debug, Default)]
struct StageState {
    running: u32,
    /// Instances that have begun and not ended.
    open: u32,
    limit: Option<u32>,
    /// Tasks of instances that wait for their turn, in index order.
    parked: BTreeSet<(u32, u64, TaskId)>,
    unsettled: u32,
    /// How many of its tasks stand where.
    tally: Tally,
    /// No more instances will come.
    complete: bool,
    ancestors: Vec<usize>,
    descendants: Vec<usize>,
    /// Gates that open when this stage falls silent.
    waiters: Vec<u32>,
}

impl StageState {
    /// An instance has its turn: all its parked tasks, which stand next to each other, are admitted.
    fn open_instance(&mut self, occurrence: u32, admitted: &mut VecDeque<TaskId>) {
        self.open += 1;
        while let Some(entry) = self
            .parked
            .first()
            .copied()
            .filter(|entry| entry.0 == occurrence)
        {
            self.parked.remove(&entry);
            admitted.push_back(entry.2);
        }
    }
}

#[derive(Debug, Default)]
struct OccurrenceState {
    unsettled: u32,
    open: bool,
    gate: u32,
    /// Only kept behind a closed gate.
    tasks: Vec<TaskId>,
}

#[derive(Debug)]
pub(super) struct Stages {
    stages: Vec<StageState>,
    /// How many of the tasks that belong to no stage stand where.
    outside: Tally,
    occurrences: Vec<OccurrenceState>,
    parallelism: Parallelism,
    after: HashMap<TaskId, Vec<u32>>,
    admitted: VecDeque<TaskId>,
    /// Stages with running tasks, for workflow parallelism off.
    active: Vec<u16>,
    restricted: bool,
}

impl Stages {
    pub(super) fn new(rules: &[StageRules], parallelism: Parallelism) -> Stages {
        let mut stages: Vec<StageState> = rules
            .iter()
            .map(|rule| StageState {
                limit: if parallelism.data {
                    rule.concurrency
                } else {
                    Some(1)
                },
                ancestors: rule.ancestors.clone(),
                ..StageState::default()
            })
            .collect();
        for (stage, rule) in rules.iter().enumerate() {
            for ancestor in &rule.ancestors {
                stages[*ancestor].descendants.push(stage);
            }
        }
        let restricted = parallelism != Parallelism::default()
            || stages.iter().any(|stage| stage.limit.is_some());
        Stages {
            stages,
            outside: Tally::default(),
            occurrences: Vec::new(),
            parallelism,
            after: HashMap::new(),
            admitted: VecDeque::new(),
            active: Vec::new(),
            restricted,
        }
    }

    /// Whether any stage is held to less than full parallelism.
    pub(super) fn restricted(&self) -> bool {
        self.restricted
    }

    pub(super) fn len(&self) -> usize {
        self.stages.len()
    }

    pub(super) fn occurrence_count(&self) -> usize {
        self.occurrences.len()
    }

    pub(super) fn add_occurrence(&mut self) -> u32 {
        self.occurrences.push(OccurrenceState::default());
        (self.occurrences.len() - 1) as u32
    }

    /// A task of this stage has to run.
    pub(super) fn planned(&mut self, stage: u16, occurrence: u32) {
        if occurrence != NONE {
            self.stages[usize::from(stage)].unsettled += 1;
            self.occurrences[occurrence as usize].unsettled += 1;
        }
    }

    /// Where the tasks of a stage, or of none, are counted.
    pub(super) fn tally(&mut self, stage: u16) -> &mut Tally {
        match self.stages.get_mut(usize::from(stage)) {
            Some(stage) => &mut stage.tally,
            None => &mut self.outside,
        }
    }

    /// How many tasks of each stage stand where.
    pub(super) fn by_stage(&self) -> impl ExactSizeIterator<Item = Tally> {
        self.stages.iter().map(|stage| stage.tally)
    }

    /// All tallies, which add up to that of the whole graph.
    pub(super) fn tallies(&self) -> impl Iterator<Item = Tally> {
        self.by_stage().chain([self.outside])
    }

    /// Closes a gate before `occurrence`. Returns whether anything holds it.
    pub(super) fn gate(
        &mut self,
        occurrence: u32,
        tasks: &[TaskId],
        after: &[TaskId],
        stages: &[usize],
    ) -> bool {
        let mut gate = 0;
        for task in after {
            self.after.entry(*task).or_default().push(occurrence);
            gate += 1;
        }
        for stage in stages {
            if !self.is_silent(*stage) {
                self.stages[*stage].waiters.push(occurrence);
                gate += 1;
            }
        }
        let state = &mut self.occurrences[occurrence as usize];
        state.gate = gate;
        if gate > 0 {
            state.tasks = tasks.to_vec();
        }
        gate > 0
    }

    fn is_silent(&self, stage: usize) -> bool {
        self.stages[stage].complete && self.stages[stage].unsettled == 0
    }

    /// No more instances of `stage` will come.
    pub(super) fn complete(&mut self, stage: usize, freed: &mut Vec<TaskId>) {
        if !self.stages[stage].complete {
            self.stages[stage].complete = true;
            if self.is_silent(stage) {
                self.silent(stage, freed);
            }
        }
    }

    /// Whether tasks of `stage` have to be parked rather than offered at once.
    pub(super) fn holds_back(&self, stage: u16) -> bool {
        stage != NO_STAGE
            && (self.stages[usize::from(stage)].limit.is_some() || !self.parallelism.pipelining)
    }

    pub(super) fn park(&mut self, task: TaskId, stage: u16, occurrence: u32, priority: u64) {
        if self.occurrences[occurrence as usize].open {
            // The instance has its turn already.
            self.admitted.push_back(task);
            return;
        }
        let stage = usize::from(stage);
        self.stages[stage]
            .parked
            .insert((occurrence, priority, task));
        self.pump(stage);
    }

    /// The task does not wait for its turn any more.
    pub(super) fn unpark(&mut self, task: TaskId, stage: u16, occurrence: u32, priority: u64) {
        self.stages[usize::from(stage)]
            .parked
            .remove(&(occurrence, priority, task));
    }

    /// Offers parked tasks whose turn has come: instance by instance, as many as may be open.
    fn pump(&mut self, stage: usize) {
        let state = &self.stages[stage];
        let is_silent = |ancestor: &usize| self.is_silent(*ancestor);
        if state.parked.is_empty()
            || (!self.parallelism.pipelining && !state.ancestors.iter().all(is_silent))
        {
            return;
        }
        let state = &mut self.stages[stage];
        while let Some((occurrence, _, _)) = state.parked.first().copied() {
            if state.limit.is_some_and(|limit| state.open >= limit) {
                return;
            }
            self.occurrences[occurrence as usize].open = true;
            state.open_instance(occurrence, &mut self.admitted);
        }
    }

    /// Offers the first parked task there is, whatever holds it back; `false` if there is none.
    pub(super) fn let_one_through(&mut self) -> bool {
        for state in &mut self.stages {
            if let Some((occurrence, _, _)) = state.parked.first().copied() {
                self.occurrences[occurrence as usize].open = true;
                state.open_instance(occurrence, &mut self.admitted);
                return true;
            }
        }
        false
    }

    pub(super) fn next_admitted(&mut self) -> Option<TaskId> {
        self.admitted.pop_front()
    }

    pub(super) fn settled(
        &mut self,
        task: TaskId,
        stage: u16,
        occurrence: u32,
        freed: &mut Vec<TaskId>,
    ) {
        let stage = usize::from(stage);
        let state = &mut self.occurrences[occurrence as usize];
        state.unsettled -= 1;
        self.stages[stage].unsettled -= 1;
        if state.unsettled == 0 && state.open {
            state.open = false;
            self.stages[stage].open -= 1;
            self.pump(stage);
        }
        if let Some(waiting) = self.after.remove(&task) {
            for occurrence in waiting {
                self.lift(occurrence, freed);
            }
        }
        if self.is_silent(stage) {
            self.silent(stage, freed);
        }
    }

    fn silent(&mut self, stage: usize, freed: &mut Vec<TaskId>) {
        for occurrence in std::mem::take(&mut self.stages[stage].waiters) {
            self.lift(occurrence, freed);
        }
        if !self.parallelism.pipelining {
            for descendant in self.stages[stage].descendants.clone() {
                self.pump(descendant);
            }
        }
    }

    fn lift(&mut self, occurrence: u32, freed: &mut Vec<TaskId>) {
        let state = &mut self.occurrences[occurrence as usize];
        state.gate -= 1;
        if state.gate == 0 {
            freed.append(&mut state.tasks);
        }
    }

    /// What does not add up, given how many tasks of each stage and of each occurrence are unsettled.
    pub(super) fn inspect(
        &self,
        unsettled: &[u32],
        unsettled_of: &[u32],
        problems: &mut Vec<String>,
    ) {
        for (number, state) in self.stages.iter().enumerate() {
            if state.unsettled != unsettled[number] {
                let (counted, found) = (state.unsettled, unsettled[number]);
                problems.push(format!(
                    "stage {number}: {counted} unsettled counted, {found} found"
                ));
            }
        }
        let mut open = 0;
        for (number, state) in self.occurrences.iter().enumerate() {
            if state.unsettled != unsettled_of[number] {
                let (counted, found) = (state.unsettled, unsettled_of[number]);
                problems.push(format!(
                    "occurrence {number}: {counted} unsettled, {found} found"
                ));
            }
            if state.open && state.unsettled == 0 {
                problems.push(format!("occurrence {number} is open, but has ended"));
            }
            open += u32::from(state.open);
        }
        let counted: u32 = self.stages.iter().map(|state| state.open).sum();
        if counted != open {
            problems.push(format!("{counted} open instances counted, {open} found"));
        }
    }

    /// Whether it waits for its turn.
    pub(super) fn is_parked(
        &self,
        task: TaskId,
        stage: u16,
        occurrence: u32,
        priority: u64,
    ) -> bool {
        stage != NO_STAGE
            && self.stages[usize::from(stage)]
                .parked
                .contains(&(occurrence, priority, task))
    }

    /// Whether a task of `stage` may run while the active stages do: with workflow parallelism off, only
    /// stages on one path run at the same time.
    pub(super) fn may_run_beside(&self, stage: u16) -> bool {
        self.parallelism.workflow
            || stage == NO_STAGE
            || self.active.iter().all(|active| {
                let (a, b) = (usize::from(*active), usize::from(stage));
                a == b
                    || self.stages[a].ancestors.contains(&b)
                    || self.stages[b].ancestors.contains(&a)
            })
    }

    pub(super) fn started(&mut self, stage: u16) {
        if stage != NO_STAGE && self.restricted {
            self.stages[usize::from(stage)].running += 1;
            if !self.active.contains(&stage) {
                self.active.push(stage);
            }
        }
    }

    pub(super) fn ended(&mut self, stage: u16) {
        if stage != NO_STAGE && self.restricted {
            let state = &mut self.stages[usize::from(stage)];
            state.running -= 1;
            if state.running == 0 {
                self.active.retain(|active| *active != stage);
            }
        }
    }
}
