//! What became of the tasks of a study, over all its rounds.
//!
//! Law: of the tasks that differ each is counted once: as executed, cut off, failed, blocked, left, or else as
//! remembered; one that several rounds ask for is counted once. A task that an earlier round had made, and that had to
//! be made again, is counted apart.
//!
//! What a task is worth is the processor time that it took to make it, now or when it was remembered. All that is asked
//! for, less what was spent on making it here, is what was saved; so a run and the same run again agree on the sum.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use headwater_enact::State;
use headwater_engine::listener::Ran;
use headwater_engine::trace::{Trace, TraceRow};
use headwater_engine::{Error, Progress};
use headwater_graph::progress::StageSnapshot;
use headwater_graph::{Attempt, Index, Operation, Outcome, Recipe, RunTask, Store, Tally, TaskId};
use headwater_report::study::{TaskFacts, Timeline};

use crate::names::{Names, StepName};
use crate::noted::NotedRound;
use crate::round::EndedRound;

/// In how many slices a timeline is shown.
const SLICES: usize = 120;

/// How far a round is part of what was planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// It evaluates more sets.
    Sets,
    /// It makes something for them beforehand, or something to be shown: what it had to run is what was planned.
    Aside,
}

/// Why a task was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undone {
    Failed,
    Blocked,
    Left,
}

#[derive(Debug, Clone, Default)]
struct Row {
    stage: String,
    task: String,
    operation: (Arc<str>, Arc<str>),
    /// How often it is asked for.
    planned: usize,
    /// Those that differ; what was not done, and what is reused, is not among the parts.
    tally: Tally,
    spent: Duration,
    cpu: Duration,
    /// Nanoseconds of processor time: of everything that is asked for, each time that it is, and of what was made here.
    worth: u128,
    made: u128,
    /// How much is asked for of which nobody knows what it took.
    unknown: usize,
}

impl Row {
    fn is_of(&mut self, operation: &Arc<str>, version: &Arc<str>) {
        if !Arc::ptr_eq(&self.operation.0, operation) {
            self.operation = (Arc::clone(operation), Arc::clone(version));
        }
    }

    /// Counts a task that was made, or found equal; all others are counted in the end.
    fn count(&mut self, outcome: Outcome) {
        let is_done = matches!(outcome, Outcome::Executed | Outcome::Restored);
        self.tally.executed += usize::from(is_done);
        self.tally.restored += usize::from(outcome == Outcome::Restored);
        self.tally.cut_off += usize::from(outcome == Outcome::CutOff);
    }
}

/// What a task that was asked for is worth: nanoseconds of processor time.
#[derive(Debug, Clone, Copy)]
enum Worth {
    Known(u64),
    /// What making this product of an earlier run took.
    Equal(Recipe),
    Unknown,
}

/// A task of a round, and what became of it.
struct Seen {
    recipe: Recipe,
    row: usize,
    /// Step and set, which together are an address.
    at: (u32, u32),
    state: Outcome,
    undone: Option<Undone>,
    /// How many sets and items ask for it.
    asked: usize,
    /// No set asks for it.
    is_reference: bool,
    worth: Worth,
    /// When it began and how long it took, in nanoseconds.
    ran: (u64, u64),
}

/// What became of the tasks.
#[derive(Debug, Default)]
pub(crate) struct Book {
    rows: Vec<Row>,
    places: BTreeMap<(usize, Arc<str>), usize>,
    /// Row, beginning, duration.
    ran: Vec<(usize, Duration, Duration)>,
    /// The tasks of earlier rounds; those that were not done have an entry below.
    seen: HashSet<Recipe>,
    /// Row, why, and how many sets and items asked for it.
    undone: HashMap<Recipe, Vec<(usize, Undone, usize)>>,
    pub(crate) recomputed: usize,
    /// The processor time of what was made, in nanoseconds.
    made: HashMap<Recipe, u64>,
    /// What was found to be equal to products of earlier runs: row, how often it is asked for, and the product.
    equal: Vec<(usize, usize, Recipe)>,
    /// In the order in which they came.
    pub(crate) tasks: Vec<RunTask>,
    /// The rows of these.
    task_rows: Vec<usize>,
    /// The steps of all rounds, numbered.
    steps: BTreeMap<(usize, Arc<str>, Index), u32>,
    /// By step and set, which together are an address.
    by_place: HashMap<(u32, u32), usize>,
}

impl Book {
    /// By step its row and its number; rows come in the order of the steps of an instance.
    fn places(&mut self, names: &Names) -> Vec<Option<(usize, u32)>> {
        let steps = names.steps.iter();
        steps
            .map(|step| step.as_ref().map(|step| self.place(names, step)))
            .collect()
    }

    fn place(&mut self, names: &Names, step: &StepName) -> (usize, u32) {
        let next = self.steps.len() as u32;
        let key = (step.stage, Arc::clone(&step.task), step.index.clone());
        let number = *self.steps.entry(key).or_insert(next);
        let key = (step.stage, Arc::clone(&step.task));
        if let Some(row) = self.places.get(&key) {
            return (*row, number);
        }
        self.places.insert(key, self.rows.len());
        self.rows.push(Row {
            stage: names.stage(step.stage).to_string(),
            task: step.task.to_string(),
            ..Row::default()
        });
        (self.rows.len() - 1, number)
    }

    /// Takes in a round.
    pub(crate) fn round(&mut self, ended: &EndedRound, part: Part) {
        let graph = ended.enactment.graph();
        let coordinator = ended.enactment.coordinator();
        let places = self.places(&ended.names);
        let place_of = |task: TaskId| {
            let at = ended.names.place(task)?;
            places[at.step as usize].map(|(row, step)| (row, (step, at.set)))
        };
        self.reserve(graph.len());
        let ran: HashMap<TaskId, Ran> = ended.ran.iter().map(|ran| (ran.task, *ran)).collect();
        for ran in ended.ran.iter() {
            let made = self.made.entry(graph.recipe(ran.task)).or_default();
            *made = ran.cpu;
        }
        let mut fresh = Vec::new();
        for task in graph.ids() {
            let signature = &graph.operation_at(task).signature;
            let Some((place, at)) = place_of(task).filter(|_| !signature.implicit) else {
                continue;
            };
            self.rows[place].is_of(&signature.name, &signature.version);
            let (state, undone) = match coordinator.state(task) {
                State::Done if coordinator.is_restored(task) => (Outcome::Restored, None),
                State::Done => (Outcome::Executed, None),
                State::Known if coordinator.is_cut_off(task) => (Outcome::CutOff, None),
                State::Known => (Outcome::Reused, None),
                // What nobody needs in a round aside was not asked for.
                State::Idle if part == Part::Aside => continue,
                State::Idle => (Outcome::Reused, None),
                State::Failed => (Outcome::Failed, Some(Undone::Failed)),
                State::Blocked => (Outcome::Blocked, Some(Undone::Blocked)),
                _ => (Outcome::Blocked, Some(Undone::Left)),
            };
            // What cannot be shown is reported elsewhere, fails nothing and counts as nothing.
            if undone.is_some() && part == Part::Aside {
                continue;
            }
            let product = ended.enactment.stored_as(task);
            let remembered = || ended.remembered_cpu.get(task.index()).copied().flatten();
            let worth = match self.made.get(&product).copied().or_else(remembered) {
                Some(cpu) => Worth::Known(cpu),
                None if state == Outcome::CutOff => Worth::Equal(product),
                None => Worth::Unknown,
            };
            let ran = ran.get(&task).map_or((0, 0), |ran| (ran.started, ran.wall));
            let seen = Seen {
                recipe: graph.recipe(task),
                row: place,
                at,
                state,
                undone,
                asked: match part {
                    Part::Sets => ended.asks[task.index()] as usize,
                    Part::Aside => 0,
                },
                is_reference: ended.names.is_reference(task) || part == Part::Aside,
                worth,
                ran,
            };
            let address = || ended.names.address(&ended.enactment, task);
            self.take(&seen, address, &mut fresh);
        }
        // Where nothing is remembered, a task of a later round is another one.
        if ended.remembers {
            self.seen.extend(fresh);
        }
        self.recomputed += ended.enactment.counts().recomputed;
        for ran in &ended.ran {
            if let Some((row, _)) = place_of(ran.task) {
                let [started, wall, cpu] =
                    [ran.started, ran.wall, ran.cpu].map(Duration::from_nanos);
                self.rows[row].spent += wall;
                self.rows[row].cpu += cpu;
                self.ran.push((row, started, wall));
            }
        }
    }

    fn reserve(&mut self, tasks: usize) {
        self.by_place.reserve(tasks);
        self.tasks.reserve(tasks);
        self.task_rows.reserve(tasks);
    }

    /// Takes in a round of which everything was remembered, and whose tasks are those of a note.
    pub(crate) fn recall(
        &mut self,
        noted: &NotedRound,
        names: &Names,
        operations: &[&Arc<Operation>],
    ) {
        let places = self.places(names);
        self.reserve(noted.tasks.len());
        let mut fresh = Vec::with_capacity(noted.tasks.len());
        for (task, noted) in (0..).map(TaskId).zip(&noted.tasks) {
            let step = noted.place.step as usize;
            let Some((row, number)) = places[step] else {
                continue;
            };
            let signature = &operations[step].signature;
            self.rows[row].is_of(&signature.name, &signature.version);
            let seen = Seen {
                recipe: noted.recipe,
                row,
                at: (number, noted.place.set),
                state: Outcome::Reused,
                undone: None,
                asked: noted.asks as usize,
                is_reference: names.is_reference(task),
                worth: noted.cpu.map_or(Worth::Unknown, Worth::Known),
                ran: (0, 0),
            };
            let address = || names.own(task).unwrap_or_default();
            self.take(&seen, address, &mut fresh);
        }
        self.seen.extend(fresh);
    }

    /// Takes in a task.
    fn take(&mut self, task: &Seen, address: impl FnOnce() -> String, fresh: &mut Vec<Recipe>) {
        let Seen {
            recipe,
            state,
            undone,
            asked,
            ..
        } = *task;
        let row = &mut self.rows[task.row];
        let is_done = matches!(state, Outcome::Executed | Outcome::Restored);
        let is_seen = self.seen.contains(&recipe);
        let alone = usize::from(!is_seen && task.is_reference);
        row.planned += asked + alone;
        if undone.is_none() {
            let asked = asked + alone;
            match task.worth {
                Worth::Known(cpu) => row.worth += u128::from(cpu) * asked as u128,
                Worth::Equal(product) => self.equal.push((task.row, asked, product)),
                Worth::Unknown => row.unknown += asked,
            }
            let made = self.made.get(&recipe).filter(|_| is_done);
            row.made += made.map_or(0, |cpu| u128::from(*cpu));
        }
        let why = |why| (task.row, why, asked);
        // What an earlier round told of is not told again, as not run by a later one.
        let is_told = matches!(state, Outcome::Reused | Outcome::CutOff) && is_seen;
        if is_seen {
            let failed_before = self.undone.get_mut(&recipe).and_then(Vec::pop).is_some();
            match (undone, failed_before) {
                (Some(undone), true) => {
                    self.undone.entry(recipe).or_default().push(why(undone));
                }
                (None, true) => row.count(state),
                // Its bytes were not kept, and something new needs them.
                (_, false) => self.recomputed += usize::from(is_done),
            }
        } else {
            row.tally.tasks += 1;
            row.count(state);
            if let Some(undone) = undone {
                self.undone.entry(recipe).or_default().push(why(undone));
            }
            fresh.push(recipe);
        }
        if undone == Some(Undone::Left) || is_told {
            return;
        }
        let told = RunTask {
            address: address(),
            recipe,
            state,
            started: task.ran.0,
            wall: task.ran.1,
        };
        match self.by_place.entry(task.at) {
            Entry::Occupied(known) => self.tasks[*known.get()] = told,
            Entry::Vacant(free) => {
                free.insert(self.tasks.len());
                self.tasks.push(told);
                self.task_rows.push(task.row);
            }
        }
    }

    /// By task of a round what making its product took, in nanoseconds of processor time, where that is known.
    pub(crate) fn processor_times(
        &self,
        ended: &EndedRound,
        store: &dyn Store,
    ) -> Result<Vec<Option<u64>>, Error> {
        let products = ended.enactment.graph().ids();
        let products = products.map(|task| (task, ended.enactment.stored_as(task)));
        let mut times: Vec<Option<u64>> = Vec::with_capacity(ended.asks.len());
        let mut asked = Vec::new();
        for (task, product) in products {
            let remembered = || ended.remembered_cpu.get(task.index()).copied().flatten();
            let known = self.made.get(&product).copied().or_else(remembered);
            if known.is_none() {
                asked.push((task, product));
            }
            times.push(known);
        }
        let recipes: Vec<Recipe> = asked.iter().map(|(_, product)| *product).collect();
        for ((task, _), found) in asked.iter().zip(store.times(&recipes)?) {
            times[task.index()] = found.map(|times| times.cpu);
        }
        Ok(times)
    }

    /// Says by stage what became of the tasks of the rounds so far.
    pub(crate) fn tell(&self, progress: &Progress) {
        progress.change_stages(|stages| self.settle(stages));
    }

    fn settle(&self, stages: &mut [StageSnapshot]) {
        for stage in stages.iter_mut() {
            stage.tally = Tally::default();
        }
        let tallies = self.tallies();
        for ((stage, _), row) in &self.places {
            if let Some(stage) = stages.get_mut(*stage) {
                stage.tally += tallies[*row].0;
            }
        }
    }

    /// By row: how many of its tasks stand where, and how many that are asked for are not there.
    fn tallies(&self) -> Vec<(Tally, usize)> {
        let mut found: Vec<(Tally, usize)> = self.rows.iter().map(|row| (row.tally, 0)).collect();
        let mut left = vec![0; found.len()];
        for (row, why, asked) in self.undone.values().flatten() {
            let (tally, unmet) = &mut found[*row];
            *unmet += asked;
            match why {
                Undone::Failed => tally.failed += 1,
                Undone::Blocked => tally.blocked += 1,
                Undone::Left => left[*row] += 1,
            }
        }
        for ((tally, _), left) in found.iter_mut().zip(left) {
            // Whatever else there is was remembered.
            tally.reused = tally.left().saturating_sub(left);
            tally.planned = tally.tasks - tally.reused;
        }
        found
    }

    /// Says in a trace what became of the tasks that did not run.
    pub(crate) fn trace(&self, trace: &mut Trace) {
        for (task, row) in self.tasks.iter().zip(&self.task_rows) {
            if matches!(
                task.state,
                Outcome::Reused | Outcome::CutOff | Outcome::Blocked
            ) {
                let row = &self.rows[*row];
                let told = TraceRow {
                    task: &task.address,
                    state: Attempt::Last(task.state),
                    stage: &row.stage,
                    operation: &row.operation.0,
                    recipe: task.recipe,
                    ran: None,
                    error: "",
                };
                told.write(trace);
            }
        }
        let _ = trace.flush();
    }

    /// How many tasks stand where, over all rounds.
    pub(crate) fn counts(&self) -> Tally {
        let tally: Tally = self.tallies().into_iter().map(|(tally, _)| tally).sum();
        Tally {
            recomputed: self.recomputed,
            ..tally
        }
    }

    /// How long tasks were running, from the first to the last.
    pub(crate) fn running(&self) -> Duration {
        let begin = self.ran.iter().map(|(_, started, _)| *started).min();
        let end = self
            .ran
            .iter()
            .map(|(_, started, took)| *started + *took)
            .max();
        end.zip(begin)
            .map_or(Duration::ZERO, |(end, begin)| end.saturating_sub(begin))
    }

    /// The rows in the order of the workflow; what products of earlier runs took is looked up.
    pub(crate) fn facts(&self, store: &dyn Store) -> Result<Vec<TaskFacts>, Error> {
        let products: Vec<Recipe> = self.equal.iter().map(|(_, _, product)| *product).collect();
        let mut worth: Vec<(u128, usize)> = (self.rows.iter())
            .map(|row| (row.worth, row.unknown))
            .collect();
        for ((place, asked, _), times) in self.equal.iter().zip(store.times(&products)?) {
            match times {
                Some(times) => worth[*place].0 += u128::from(times.cpu) * *asked as u128,
                None => worth[*place].1 += asked,
            }
        }
        let tallies = self.tallies();
        let facts = |place: &usize| {
            let row = &self.rows[*place];
            let (tally, unmet) = tallies[*place];
            TaskFacts {
                stage: row.stage.clone(),
                task: row.task.clone(),
                planned: row.planned,
                tally,
                unmet,
                seconds: row.spent.as_secs_f64(),
                cpu_seconds: row.cpu.as_secs_f64(),
                saved_seconds: match worth[*place] {
                    (worth, 0) => Some(worth.saturating_sub(row.made) as f64 / 1e9),
                    _ => None,
                },
            }
        };
        Ok(self.order().iter().map(facts).collect())
    }

    /// The rows that count, by stage and then as they came.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<(usize, usize)> = self
            .places
            .iter()
            .map(|((stage, _), row)| (*stage, *row))
            .filter(|(_, row)| self.rows[*row].tally.tasks > 0)
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(_, row)| row).collect()
    }

    /// What was running when, with rows in the order of [`Book::facts`].
    pub(crate) fn timeline(&self) -> Timeline {
        let end = self
            .ran
            .iter()
            .map(|(_, started, took)| *started + *took)
            .max();
        let Some(end) = end.filter(|end| !end.is_zero()) else {
            return Timeline::default();
        };
        let slice = end.as_secs_f64() / SLICES as f64;
        let mut ranks = vec![0; self.rows.len()];
        for (rank, row) in self.order().into_iter().enumerate() {
            ranks[row] = rank;
        }
        let mut busy = vec![BTreeMap::<usize, f64>::new(); SLICES];
        for (row, started, took) in &self.ran {
            let (from, to) = (started.as_secs_f64(), (*started + *took).as_secs_f64());
            let first = ((from / slice) as usize).min(SLICES - 1);
            let last = ((to / slice) as usize).min(SLICES - 1);
            for (place, busy) in busy.iter_mut().enumerate().take(last + 1).skip(first) {
                let (begin, end) = (place as f64 * slice, (place + 1) as f64 * slice);
                let share = (to.min(end) - from.max(begin)).max(0.0) / slice;
                *busy.entry(ranks[*row]).or_default() += share;
            }
        }
        Timeline {
            slice,
            slices: busy
                .into_iter()
                .map(|busy| busy.into_iter().collect())
                .collect(),
        }
    }
}
