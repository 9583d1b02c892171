//! Virtual time: the same coordinator, driven by a heap of events instead of threads.
//!
//! Law: a simulation makes exactly the calls that the real executor makes, so what it shows is what the
//! engine would decide. Tasks take the time that a [`World`] says, and nothing else takes any.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

use core::time::Duration;

use headwater_graph::{Identity, Index, Outputs, Recipe, TaskId, Value};

use crate::{Action, Enactment, Ending, Match, OpenError, Recall, Start, Time};

/// How a simulated task ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// How long it takes.
    pub duration: Duration,
    /// Its outputs, or `None` if it fails.
    pub outputs: Option<Outputs>,
    /// Bytes of memory that its outputs hold.
    pub memory: u64,
}

/// Says how long things take.
pub trait World {
    /// What becomes of this task.
    fn run(&mut self, enactment: &Enactment, start: &Start) -> Done;

    /// The bytes that the outputs of a task hold when they are brought back, or `None` if they are lost;
    /// `memory` is what they held before, 0 if they never were in memory.
    fn bring_back(&mut self, _enactment: &Enactment, _task: TaskId, memory: u64) -> Option<u64> {
        Some(memory)
    }

    /// What a store has under this content key.
    fn find(&mut self, _key: &Recipe) -> Option<Match> {
        None
    }
}

/// One task of a simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulated {
    /// Which.
    pub task: TaskId,
    /// When it began.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// Whether it succeeded.
    pub succeeded: bool,
}

/// What happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// Tasks, in the order in which they began.
    pub tasks: Vec<Simulated>,
    /// When the last one ended.
    pub makespan: Time,
    /// The most memory that products held at any moment.
    pub peak_memory: u64,
    /// How often outputs were written out.
    pub spills: usize,
}

/// Why a simulation does not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// New tasks do not fit.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Something is left to do, nothing is under way, and nothing is due.
    #[error("nothing can go on at {at:?}, and {left} tasks have not ended")]
    Stuck {
        /// When.
        at: Time,
        /// How many tasks have been planned and not ended.
        left: usize,
    },
}

/// Runs until everything has ended.
pub fn simulate(
    enactment: &mut Enactment,
    world: &mut dyn World,
    recall: &mut dyn Recall,
) -> Result<Trace, SimulationError> {
    let mut trace = Trace::default();
    let mut now = Time::default();
    let mut under_way: BinaryHeap<Reverse<(Time, u64)>> = BinaryHeap::new();
    let mut running: BTreeMap<u64, (usize, TaskId, Done)> = BTreeMap::new();
    let mut held: HashMap<TaskId, u64> = HashMap::new();
    let mut sequence = 0;
    let compares = enactment.coordinator().compares();
    loop {
        trace.peak_memory = trace.peak_memory.max(enactment.coordinator().memory_held());
        match enactment.next(now) {
            Action::Start(start) => {
                let done = world.run(enactment, &start);
                let end = now + done.duration;
                let simulated = Simulated {
                    task: start.task,
                    start: now,
                    end,
                    succeeded: done.outputs.is_some(),
                };
                trace.tasks.push(simulated);
                under_way.push(Reverse((end, sequence)));
                running.insert(sequence, (trace.tasks.len() - 1, start.task, done));
                sequence += 1;
            }
            Action::Materialise(task) => {
                let memory = held.get(&task).copied().unwrap_or(0);
                match world.bring_back(enactment, task, memory) {
                    Some(memory) => enactment.materialised(task, memory),
                    None => enactment.lost(task, recall)?,
                }
            }
            Action::Spill(task) => {
                trace.spills += 1;
                enactment.spilled(task, true);
            }
            Action::Compare => {
                let mut tasks = Vec::new();
                enactment.take_comparisons(&mut tasks);
                for task in tasks {
                    let key = enactment.content_key(task);
                    let found = key.and_then(|key| world.find(&key));
                    enactment.compared(task, key, found, recall)?;
                }
            }
            Action::Wait(until) => {
                let next = under_way.peek().map(|Reverse((end, _))| *end);
                let Some(moment) = next.into_iter().chain(until).min() else {
                    let left = enactment.counts().left();
                    return Err(SimulationError::Stuck { at: now, left });
                };
                now = now.max(moment);
                while let Some(Reverse((end, number))) = under_way.peek().copied() {
                    if end > now {
                        break;
                    }
                    under_way.pop();
                    let Some((_, task, done)) = running.remove(&number) else {
                        continue;
                    };
                    trace.makespan = trace.makespan.max(end);
                    held.insert(task, done.memory);
                    let (outcome, outputs) = match done.outputs {
                        Some(outputs) => (
                            Ending::Success {
                                memory: done.memory,
                                elapsed: done.duration,
                            },
                            outputs,
                        ),
                        None => (Ending::Failure, Vec::new()),
                    };
                    if compares {
                        enactment.identify(task, outputs.iter().map(Identity::of).collect());
                    }
                    enactment.finished(task, outcome, &outputs, now, recall)?;
                }
            }
            Action::Finished => return Ok(trace),
        }
    }
}

/// Outputs that are all null, for worlds that only care for time.
pub(crate) fn no_values(count: usize) -> Outputs {
    vec![Value::Null; count]
}

/// A world in which every task of a stage instance takes as long as a function says.
impl<F> World for F
where
    F: FnMut(&str, &Index) -> Duration,
{
    fn run(&mut self, enactment: &Enactment, start: &Start) -> Done {
        let outputs = no_values(
            enactment
                .graph()
                .operation_at(start.task)
                .signature
                .outputs
                .len(),
        );
        let address = enactment.address(start.task);
        let duration = match (address, enactment.expander()) {
            (Some(address), Some(expander)) => {
                self(expander.stage_name(address.stage), &address.index)
            }
            _ => Duration::ZERO,
        };
        Done {
            duration,
            outputs: Some(outputs),
            memory: 0,
        }
    }
}

/// An execution diagram like those of the paper: a row per stage, last stage on top, a column per unit of
/// time, and in each cell the items that the stage works on (X where it rests).
pub fn diagram(enactment: &Enactment, trace: &Trace, stages: &[&str], unit: Duration) -> String {
    let unit = u64::try_from(unit.as_nanos()).unwrap_or(u64::MAX).max(1);
    let columns = usize::try_from(trace.makespan.0.div_ceil(unit)).unwrap_or(usize::MAX);
    let mut working: Vec<Vec<BTreeSet<Index>>> = vec![vec![BTreeSet::new(); columns]; stages.len()];
    for task in &trace.tasks {
        let (Some(address), Some(expander)) = (enactment.address(task.task), enactment.expander())
        else {
            continue;
        };
        let name = expander.stage_name(address.stage);
        let Some(row) = stages.iter().position(|stage| *stage == &**name) else {
            continue;
        };
        for column in task.start.0 / unit..task.end.0.div_ceil(unit) {
            working[row][column as usize].insert(address.index.clone());
        }
    }
    let label = |index: &Index| {
        if index.0.is_empty() {
            "all".to_owned()
        } else {
            format!("D{index}")
        }
    };
    let text = |items: &BTreeSet<Index>| {
        if items.is_empty() {
            "X".to_owned()
        } else {
            items.iter().map(label).collect::<Vec<_>>().join(" ")
        }
    };
    let cells: Vec<Vec<String>> = working
        .iter()
        .map(|row| row.iter().map(text).collect())
        .collect();
    let width = |column: usize| cells.iter().map(|row| row[column].len()).max().unwrap_or(1);
    let names = stages.iter().map(|stage| stage.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (row, stage) in stages.iter().enumerate().rev() {
        out.push_str(&format!("{stage:names$} |"));
        for (column, cell) in cells[row].iter().enumerate() {
            out.push_str(&format!(" {cell:width$} |", width = width(column)));
        }
        out.push('\n');
    }
    out
}
