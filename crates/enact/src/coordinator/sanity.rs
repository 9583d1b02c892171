//! All that has to hold between two calls, in one function; tests call it after every step.
//!
//! Law: what the coordinator counts as it goes equals what can be counted from scratch.

use std::cmp::Reverse;
use std::collections::HashMap;

use headwater_graph::{TaskGraph, TaskId};

use super::stages::NO_STAGE;
use super::{Coordinator, NONE, Presence, State};

impl Coordinator {
    /// What does not add up; empty unless there is a bug here. Takes time proportional to the graph.
    #[doc(hidden)]
    pub fn inspect(&self, graph: &TaskGraph) -> Vec<String> {
        let mut problems = Vec::new();
        self.inspect_tasks(graph, &mut problems);
        self.inspect_totals(graph, &mut problems);
        problems
    }

    fn inspect_tasks(&self, graph: &TaskGraph, problems: &mut Vec<String>) {
        let mut readers: Vec<u32> = vec![0; self.slots.len()];
        for (task, holds) in &self.holds {
            readers[task.index()] += holds;
        }
        let mut pauses: HashMap<TaskId, u32> = HashMap::new();
        for Reverse((_, task)) in &self.delayed {
            *pauses.entry(*task).or_insert(0) += 1;
        }
        for task in self.followers.values().flatten() {
            *pauses.entry(*task).or_insert(0) += 1;
        }
        let offered: std::collections::HashSet<TaskId> =
            self.ready.iter().map(|(_, task)| *task).collect();
        for task in (0..self.slots.len() as u32).map(TaskId) {
            let slot = &self.slots[task.index()];
            if !slot.state.is_settled() {
                graph.for_each_input_task(task, |input| readers[input.index()] += 1);
            }
            let mut absent = 0;
            // What a running task reads may be made again meanwhile: the task has what it was given.
            let mut not_here = 0;
            graph.for_each_input_task(task, |input| {
                let input = &self.slots[input.index()];
                let made = matches!(input.state, State::Done | State::Known);
                absent += u32::from(!made);
                not_here += u32::from(made && input.presence != Presence::Here);
            });
            match slot.state {
                State::Waiting => {
                    let paused = pauses.get(&task).copied().unwrap_or(0);
                    if slot.missing != absent + paused {
                        problems.push(format!(
                            "{task} misses {absent} + {paused}, counted {}",
                            slot.missing
                        ));
                    }
                    let parked =
                        self.stages
                            .is_parked(task, slot.stage, slot.occurrence, slot.priority);
                    if slot.missing == 0 && slot.free && !parked {
                        problems.push(format!("{task} could be offered and is not"));
                    }
                    if slot.missing > 0 && parked {
                        problems.push(format!("{task} waits for its turn without its inputs"));
                    }
                }
                State::Comparing if absent > 0 => {
                    problems.push(format!("{task} is compared, but misses {absent}"));
                }
                State::Ready if absent > 0 || !offered.contains(&task) => {
                    problems.push(format!(
                        "{task} is ready, but is not offered or misses {absent}"
                    ));
                }
                State::Loading if absent > 0 => {
                    problems.push(format!("{task} sends for {absent} that are not made"));
                }
                State::Running if not_here > 0 && !slot.keeps => {
                    problems.push(format!("{task} runs without an input"));
                }
                State::Known if slot.ran_before => {
                    problems.push(format!("{task} ran, though known"));
                }
                _ => {}
            }
        }
        for (number, readers) in readers.iter().enumerate() {
            let counted = self.slots[number].readers;
            if counted != *readers {
                problems.push(format!(
                    "#{number} has {readers} readers, counted {counted}"
                ));
            }
            if *readers == 0 && self.slots[number].presence == Presence::Here {
                problems.push(format!("#{number} is here, and nobody reads it"));
            }
        }
    }

    fn inspect_totals(&self, graph: &TaskGraph, problems: &mut Vec<String>) {
        let mut expect = |what: &str, counted: u64, found: u64| {
            if counted != found {
                problems.push(format!("{what}: {counted} counted, {found} found"));
            }
        };
        let count = |wanted: &dyn Fn(&super::Slot) -> bool| {
            self.slots.iter().filter(|slot| wanted(slot)).count() as u64
        };
        expect(
            "unsettled",
            self.unsettled as u64,
            count(&|slot| !slot.state.is_settled()),
        );
        expect(
            "running",
            self.running as u64,
            count(&|slot| slot.state == State::Running),
        );
        expect(
            "spilling",
            self.spilling as u64,
            count(&|slot| slot.presence == Presence::Leaving),
        );
        expect("loading", self.loading.len() as u64, {
            let coming = count(&|slot| slot.presence == Presence::Coming);
            let leaving = |task: &&TaskId| self.slots[task.index()].presence == Presence::Leaving;
            coming + self.loading.keys().filter(leaving).count() as u64
        });
        let here =
            |slot: &&super::Slot| matches!(slot.presence, Presence::Here | Presence::Leaving);
        expect(
            "memory held",
            self.ledger.held(),
            self.slots.iter().filter(here).map(|slot| slot.memory).sum(),
        );
        expect(
            "memory promised",
            self.ledger.reserved(),
            self.promised.values().sum(),
        );
        let mut cores = 0;
        let mut unsettled = vec![0; self.stages.len()];
        let mut unsettled_of = vec![0; self.stages.occurrence_count()];
        for task in (0..self.slots.len() as u32).map(TaskId) {
            let slot = &self.slots[task.index()];
            if matches!(slot.state, State::Running | State::Loading) && slot.charged {
                cores += self.needs[graph.operation_index(task) as usize].cores();
            }
            if slot.occurrence != NONE && slot.stage != NO_STAGE && !slot.state.is_settled() {
                unsettled[usize::from(slot.stage)] += 1;
                unsettled_of[slot.occurrence as usize] += 1;
            }
        }
        expect("cores", self.ledger.taken_cores(), cores);
        self.inspect_tally(&mut expect);
        self.stages.inspect(&unsettled, &unsettled_of, problems);
    }

    /// Every task is counted in one place, and tallies of stages add up to that of the whole.
    fn inspect_tally(&self, expect: &mut impl FnMut(&str, u64, u64)) {
        let count = |wanted: &dyn Fn(&super::Slot) -> bool| {
            let counts = |slot: &&super::Slot| !slot.implicit && wanted(slot);
            self.slots.iter().filter(counts).count() as u64
        };
        let failed = |slot: &super::Slot| matches!(slot.state, State::Failed | State::Blocked);
        let done = |slot: &super::Slot| slot.ran_before && !failed(slot);
        let tally = self.counts();
        for (what, counted, found) in [
            ("tasks", tally.tasks, count(&|slot| slot.counted)),
            ("planned", tally.planned, count(&|slot| slot.linked)),
            ("executed", tally.executed, count(&done)),
            ("restored", tally.restored, {
                count(&|slot| done(slot) && slot.restored)
            }),
            ("cut off", tally.cut_off, count(&|slot| slot.cut_off)),
            ("reused", tally.reused, {
                count(&|slot| slot.counted && !slot.linked || slot.found)
            }),
            ("failed", tally.failed, {
                count(&|slot| slot.state == State::Failed)
            }),
            ("blocked", tally.blocked, {
                count(&|slot| slot.state == State::Blocked)
            }),
            ("left", tally.left(), {
                count(&|slot| slot.linked && !slot.state.is_settled() && !slot.ran_before)
            }),
        ] {
            expect(what, counted as u64, found);
        }
        for (number, tally) in self.stages.by_stage().enumerate() {
            let of_stage =
                |slot: &super::Slot| slot.occurrence != NONE && usize::from(slot.stage) == number;
            expect("tasks of a stage", tally.tasks as u64, {
                count(&|slot| slot.counted && of_stage(slot))
            });
            expect("executed of a stage", tally.executed as u64, {
                count(&|slot| done(slot) && of_stage(slot))
            });
        }
    }
}
