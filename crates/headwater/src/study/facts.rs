//! What became of the tasks of a study, over all its rounds.
//!
//! Law: of the tasks that differ each is counted once: as executed, cut off, failed, blocked, left, or else as
//! remembered; one that several rounds ask for is counted once. A task that an earlier round had made, and that had to
//! be made again, is counted apart.
//!
//! What a task is worth is the processor time that it took to make it, now or when it was remembered. All that is asked
//! for, less what was spent on making it here, is what was saved; so a run and the same run again agree on the sum.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use headwater_enact::{Counts, State};
use headwater_graph::{Recipe, TaskId};
use headwater_remember::{RunTask, Store, TaskState};

use super::names::StepName;
use super::round::{Ended, Ran};
use super::summary::{TaskFacts, Timeline};
use crate::Error;
use crate::progress::{StageSnapshot, TraceRow};
use crate::trace::Trace;

/// In how many slices a timeline is shown.
const SLICES: usize = 120;

/// How far a round is part of what was planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
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
    planned: usize,
    distinct: usize,
    executed: usize,
    cut_off: usize,
    spent: Duration,
    cpu: Duration,
    /// Nanoseconds of processor time: of everything that is asked for, each time that it is, and of what was made here.
    worth: u128,
    made: u128,
    /// How much is asked for of which nobody knows what it took.
    unknown: usize,
}

/// What became of the tasks.
#[derive(Debug, Default)]
pub(super) struct Book {
    rows: Vec<Row>,
    places: BTreeMap<(usize, Arc<str>), usize>,
    /// Row, beginning, duration.
    ran: Vec<(usize, Duration, Duration)>,
    /// The tasks of earlier rounds; those that were not done have an entry below.
    seen: HashSet<Recipe>,
    /// Row, why, and how many sets and items asked for it.
    undone: HashMap<Recipe, Vec<(usize, Undone, usize)>>,
    pub(super) recomputed: usize,
    /// The processor time of what was made, in nanoseconds.
    made: HashMap<Recipe, u64>,
    /// What was found to be equal to products of earlier runs: row, how often it is asked for, and the product.
    equal: Vec<(usize, usize, Recipe)>,
    /// In the order in which they came.
    pub(super) tasks: Vec<RunTask>,
    /// The rows of these.
    task_rows: Vec<usize>,
    by_address: HashMap<String, usize>,
}

impl Book {
    fn row(&mut self, ended: &Ended, step: &StepName) -> usize {
        let key = (step.stage, Arc::clone(&step.task));
        if let Some(row) = self.places.get(&key) {
            return *row;
        }
        self.places.insert(key, self.rows.len());
        self.rows.push(Row {
            stage: ended.names.stage(step.stage).to_string(),
            task: step.task.to_string(),
            ..Row::default()
        });
        self.rows.len() - 1
    }

    /// Takes in a round.
    pub(super) fn round(&mut self, ended: &Ended, part: Part) {
        let graph = ended.enactment.graph();
        let coordinator = ended.enactment.coordinator();
        // Rows come in the order of the steps of an instance.
        for step in ended.names.steps.iter().flatten() {
            self.row(ended, step);
        }
        let ran: HashMap<TaskId, Ran> = ended.ran.iter().map(|ran| (ran.task, *ran)).collect();
        let nanoseconds = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(0);
        for ran in ended.ran.iter() {
            let made = self.made.entry(graph.recipe(ran.task)).or_default();
            *made = nanoseconds(ran.cpu);
        }
        let mut fresh = Vec::new();
        for task in graph.ids() {
            let signature = &graph.operation_at(task).signature;
            let Some(step) = ended.names.step(task).filter(|_| !signature.implicit) else {
                continue;
            };
            let place = self.places[&(step.stage, Arc::clone(&step.task))];
            let row = &mut self.rows[place];
            row.operation = (Arc::clone(&signature.name), Arc::clone(&signature.version));
            let recipe = graph.recipe(task);
            let (state, undone) = match coordinator.state(task) {
                State::Done if coordinator.is_restored(task) => (TaskState::Restored, None),
                State::Done => (TaskState::Executed, None),
                State::Known if coordinator.is_cut_off(task) => (TaskState::CutOff, None),
                State::Known => (TaskState::Reused, None),
                // What nobody needs in a round aside was not asked for.
                State::Idle if part == Part::Aside => continue,
                State::Idle => (TaskState::Reused, None),
                State::Failed => (TaskState::Failed, Some(Undone::Failed)),
                State::Blocked => (TaskState::Blocked, Some(Undone::Blocked)),
                _ => (TaskState::Blocked, Some(Undone::Left)),
            };
            let is_done = matches!(state, TaskState::Executed | TaskState::Restored);
            // What cannot be shown is reported elsewhere, fails nothing and counts as nothing.
            if undone.is_some() && part == Part::Aside {
                continue;
            }
            let asked = match part {
                Part::Sets => ended.asks[task.index()] as usize,
                Part::Aside => 0,
            };
            let is_seen = self.seen.contains(&recipe);
            let alone = !is_seen && (ended.names.is_reference(task) || part == Part::Aside);
            row.planned += asked + usize::from(alone);
            if undone.is_none() {
                let asked = asked + usize::from(alone);
                let product = ended.enactment.stored_as(task);
                let remembered = || ended.remembered_cpu.get(task.index()).copied().flatten();
                match self.made.get(&product).copied().or_else(remembered) {
                    Some(cpu) => row.worth += u128::from(cpu) * asked as u128,
                    None if state == TaskState::CutOff => self.equal.push((place, asked, product)),
                    None => row.unknown += asked,
                }
                let made = self.made.get(&recipe).filter(|_| is_done);
                row.made += made.map_or(0, |cpu| u128::from(*cpu));
            }
            let why = |why| (place, why, asked);
            // What an earlier round told of is not told again, as not run by a later one.
            let is_told = matches!(state, TaskState::Reused | TaskState::CutOff) && is_seen;
            if is_seen {
                let failed_before = self.undone.get_mut(&recipe).and_then(Vec::pop).is_some();
                match (undone, failed_before) {
                    (Some(undone), true) => {
                        self.undone.entry(recipe).or_default().push(why(undone));
                    }
                    (None, true) => {
                        row.executed += usize::from(is_done);
                        row.cut_off += usize::from(state == TaskState::CutOff);
                    }
                    // Its bytes were not kept, and something new needs them.
                    (_, false) => self.recomputed += usize::from(is_done),
                }
            } else {
                row.distinct += 1;
                row.executed += usize::from(is_done);
                row.cut_off += usize::from(state == TaskState::CutOff);
                if let Some(undone) = undone {
                    self.undone.entry(recipe).or_default().push(why(undone));
                }
                fresh.push(recipe);
            }
            if undone == Some(Undone::Left) || is_told {
                continue;
            }
            let (started, wall) = ran.get(&task).map_or((0, 0), |ran| {
                (nanoseconds(ran.started), nanoseconds(ran.elapsed))
            });
            let address = ended.names.address(&ended.enactment, task);
            let told = RunTask {
                address: address.clone(),
                recipe,
                state,
                started,
                wall,
            };
            match self.by_address.get(&address) {
                Some(place) => self.tasks[*place] = told,
                None => {
                    self.by_address.insert(address, self.tasks.len());
                    self.tasks.push(told);
                    self.task_rows.push(place);
                }
            }
        }
        // Where nothing is remembered, a task of a later round is another one.
        if ended.remembers {
            self.seen.extend(fresh);
        }
        self.recomputed += ended.enactment.counts().recomputed;
        for ran in &ended.ran {
            if let Some(step) = ended.names.step(ran.task) {
                let row = self.places[&(step.stage, Arc::clone(&step.task))];
                self.rows[row].spent += ran.elapsed;
                self.rows[row].cpu += ran.cpu;
                self.ran.push((row, ran.started, ran.elapsed));
            }
        }
    }

    /// Says by stage what became of the tasks of the rounds so far.
    pub(super) fn settle(&self, stages: &mut [StageSnapshot]) {
        for stage in stages.iter_mut() {
            *stage = StageSnapshot {
                name: Arc::clone(&stage.name),
                running: stage.running,
                spent: stage.spent,
                ..StageSnapshot::default()
            };
        }
        let mut stage_of = vec![usize::MAX; self.rows.len()];
        for ((stage, _), row) in &self.places {
            stage_of[*row] = *stage;
            if let Some(stage) = stages.get_mut(*stage) {
                stage.tasks += self.rows[*row].distinct;
                stage.executed += self.rows[*row].executed;
                stage.cut_off += self.rows[*row].cut_off;
            }
        }
        for (row, why, _) in self.undone.values().flatten() {
            if let Some(stage) = stages.get_mut(stage_of[*row]) {
                match why {
                    Undone::Failed => stage.failed += 1,
                    Undone::Blocked => stage.blocked += 1,
                    Undone::Left => stage.planned += 1,
                }
            }
        }
    }

    /// Says in a trace what became of the tasks that did not run.
    pub(super) fn trace(&self, trace: &mut Trace) {
        for (task, row) in self.tasks.iter().zip(&self.task_rows) {
            if matches!(
                task.state,
                TaskState::Reused | TaskState::CutOff | TaskState::Blocked
            ) {
                let row = &self.rows[*row];
                let told = TraceRow {
                    task: &task.address,
                    state: task.state.name(),
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

    /// How many tasks of a row were not done, and why.
    fn undone(&self, row: usize, why: Undone) -> usize {
        let all = self.undone.values().flatten();
        all.filter(|found| (found.0, found.1) == (row, why)).count()
    }

    /// How many tasks stand where, over all rounds.
    pub(super) fn counts(&self) -> Counts {
        let sum = |of: fn(&Row) -> usize| self.rows.iter().map(of).sum::<usize>();
        let undone = |why: Undone| {
            let all = self.undone.values().flatten();
            all.filter(|found| found.1 == why).count()
        };
        let (executed, cut_off) = (sum(|row| row.executed), sum(|row| row.cut_off));
        let (failed, blocked) = (undone(Undone::Failed), undone(Undone::Blocked));
        Counts {
            tasks: sum(|row| row.distinct),
            planned: executed + cut_off + failed + blocked + undone(Undone::Left),
            executed,
            failed,
            blocked,
            recomputed: self.recomputed,
            cut_off,
            found: 0,
        }
    }

    /// How long tasks were running, from the first to the last.
    pub(super) fn running(&self) -> Duration {
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
    pub(super) fn facts(&self, store: &Store) -> Result<Vec<TaskFacts>, Error> {
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
        let facts = |place: &usize| {
            let row = &self.rows[*place];
            let undone = |why| self.undone(*place, why);
            let (failed, blocked) = (undone(Undone::Failed), undone(Undone::Blocked));
            let left = undone(Undone::Left);
            let counted = row.executed + row.cut_off + failed + blocked + left;
            let unmet = self.undone.values().flatten();
            let unmet = unmet.filter(|found| found.0 == *place).map(|found| found.2);
            TaskFacts {
                stage: row.stage.clone(),
                task: row.task.clone(),
                planned: row.planned,
                distinct: row.distinct,
                executed: row.executed,
                cut_off: row.cut_off,
                remembered: row.distinct.saturating_sub(counted),
                failed,
                blocked,
                left,
                unmet: unmet.sum(),
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
            .filter(|(_, row)| self.rows[*row].distinct > 0)
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(_, row)| row).collect()
    }

    /// What was running when, with rows in the order of [`Book::facts`].
    pub(super) fn timeline(&self) -> Timeline {
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
