//! What became of the tasks of a study, over all its rounds.
//!
//! Law: of the tasks that differ each is counted once: as executed, cut off, failed, blocked, left, or else as
//! remembered. A task that an earlier round of the same run had made, and that had to be made again, is counted apart.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use headwater_enact::{Counts, State};
use headwater_graph::{Costs as _, Recipe};
use headwater_remember::{RunTask, Store, TaskState};

use super::instances::Instances;
use super::names::StepName;
use super::round::Ended;
use super::summary::{TaskFacts, Timeline};
use crate::Error;

/// In how many slices a timeline is shown.
const SLICES: usize = 120;

/// How far a round is part of what was planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// It has everything that was planned so far.
    All,
    /// It comes first, and what it makes is part of a later one: only what it had to run counts, and not as planned.
    First,
    /// It is for show: only what it had to run counts.
    Aside,
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
    failed: usize,
    blocked: usize,
    left: usize,
    spent: Duration,
    runs: usize,
    /// Of the last round of this phase.
    asked: usize,
    differ: usize,
    undone: (usize, usize, usize),
}

/// What became of the tasks.
#[derive(Debug, Default)]
pub(super) struct Book {
    rows: Vec<Row>,
    places: BTreeMap<(usize, Arc<str>), usize>,
    /// Row, beginning, duration.
    ran: Vec<(usize, Duration, Duration)>,
    executed: HashSet<Recipe>,
    pub(super) recomputed: usize,
    /// In the order in which they came.
    pub(super) tasks: Vec<RunTask>,
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

    /// Takes in a round over so many sets.
    pub(super) fn round(&mut self, ended: &Ended, instances: &Instances, sets: usize, part: Part) {
        let graph = ended.enactment.graph();
        let coordinator = ended.enactment.coordinator();
        for row in &mut self.rows {
            (row.asked, row.differ, row.undone) = (0, 0, (0, 0, 0));
        }
        let steps: Vec<Option<usize>> = ended
            .names
            .steps
            .iter()
            .map(|step| step.as_ref().map(|step| self.row(ended, step)))
            .collect();
        for occurrence in &instances.template.occurrences {
            for row in occurrence
                .steps
                .iter()
                .filter_map(|step| steps[*step as usize])
            {
                self.rows[row].asked += sets;
            }
        }
        let ran: HashMap<_, _> = ended.ran.iter().map(|ran| (ran.task, *ran)).collect();
        let mut fresh = Vec::new();
        for task in graph.ids() {
            let Some(step) = ended.names.step(task) else {
                continue;
            };
            let signature = &graph.operation_at(task).signature;
            if signature.implicit {
                continue;
            }
            let recipe = graph.recipe(task);
            let row = self.places[&(step.stage, Arc::clone(&step.task))];
            let row = &mut self.rows[row];
            row.operation = (Arc::clone(&signature.name), Arc::clone(&signature.version));
            row.asked += usize::from(ended.names.is_reference(task));
            row.differ += 1;
            let state = match coordinator.state(task) {
                State::Known | State::Idle if part != Part::All => continue,
                State::Done if self.executed.contains(&recipe) => {
                    self.recomputed += 1;
                    TaskState::Restored
                }
                State::Done => {
                    row.executed += 1;
                    row.planned += usize::from(part == Part::Aside);
                    row.distinct += usize::from(part == Part::Aside);
                    fresh.push(recipe);
                    match coordinator.is_restored(task) {
                        true => TaskState::Restored,
                        false => TaskState::Executed,
                    }
                }
                State::Known if coordinator.is_cut_off(task) => {
                    row.cut_off += 1;
                    TaskState::CutOff
                }
                State::Known | State::Idle => TaskState::Reused,
                State::Failed => {
                    row.undone.0 += 1;
                    TaskState::Failed
                }
                State::Blocked => {
                    row.undone.1 += 1;
                    TaskState::Blocked
                }
                _ => {
                    row.undone.2 += 1;
                    continue;
                }
            };
            let nanoseconds = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(0);
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
                // What an earlier round ran is not told as reused by a later one.
                Some(_) if state == TaskState::Reused => {}
                Some(place) => self.tasks[*place] = told,
                None => {
                    self.by_address.insert(address, self.tasks.len());
                    self.tasks.push(told);
                }
            }
        }
        self.executed.extend(fresh);
        self.recomputed += ended.enactment.counts().recomputed;
        for ran in &ended.ran {
            if let Some(step) = ended.names.step(ran.task) {
                let row = self.places[&(step.stage, Arc::clone(&step.task))];
                self.rows[row].spent += ran.elapsed;
                self.rows[row].runs += 1;
                self.ran.push((row, ran.started, ran.elapsed));
            }
        }
    }

    /// A phase has ended: what its last round asked for is what was planned.
    pub(super) fn close_phase(&mut self) {
        for row in &mut self.rows {
            row.planned += row.asked;
            row.distinct += row.differ;
            row.failed += row.undone.0;
            row.blocked += row.undone.1;
            row.left += row.undone.2;
            (row.asked, row.differ, row.undone) = (0, 0, (0, 0, 0));
        }
    }

    /// A round for show has ended: what it asked for was not planned.
    pub(super) fn close_aside(&mut self) {
        for row in &mut self.rows {
            (row.asked, row.differ, row.undone) = (0, 0, (0, 0, 0));
        }
    }

    /// How many tasks stand where, over all rounds.
    pub(super) fn counts(&self) -> Counts {
        let sum = |of: fn(&Row) -> usize| self.rows.iter().map(of).sum::<usize>();
        let remembered = sum(|row| {
            let counted = row.executed + row.cut_off + row.failed + row.blocked + row.left;
            row.distinct.saturating_sub(counted)
        });
        let tasks = sum(|row| row.distinct);
        Counts {
            tasks,
            planned: tasks - remembered,
            executed: sum(|row| row.executed),
            failed: sum(|row| row.failed),
            blocked: sum(|row| row.blocked),
            recomputed: self.recomputed,
            cut_off: sum(|row| row.cut_off),
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

    /// The rows in the order of the workflow; what one task takes is looked up where none ran.
    pub(super) fn facts(&self, store: &Store) -> Result<Vec<TaskFacts>, Error> {
        let keys: Vec<(Arc<str>, Arc<str>)> =
            self.rows.iter().map(|row| row.operation.clone()).collect();
        let costs = store.costs(&keys)?;
        let facts = |place: &usize| {
            let row = &self.rows[*place];
            let known = costs[*place].as_ref().map(|cost| cost.wall as f64 / 1e9);
            let counted = row.executed + row.cut_off + row.failed + row.blocked + row.left;
            TaskFacts {
                stage: row.stage.clone(),
                task: row.task.clone(),
                planned: row.planned,
                distinct: row.distinct,
                executed: row.executed,
                cut_off: row.cut_off,
                remembered: row.distinct.saturating_sub(counted),
                failed: row.failed,
                blocked: row.blocked,
                left: row.left,
                seconds: row.spent.as_secs_f64(),
                mean_seconds: match row.runs {
                    0 => known,
                    runs => Some(row.spent.as_secs_f64() / runs as f64),
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
