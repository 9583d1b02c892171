//! Order in a graph: levels and the critical path.
//!
//! Law: the ids of a [`TaskGraph`] are a topological order, so one pass over them is enough for both.

use crate::{TaskGraph, TaskId};

/// How deep each task lies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Levels {
    /// Per task: 0 for those that read no task, else one more than the deepest task read.
    pub of_task: Vec<u32>,
    /// How many tasks each level has.
    pub widths: Vec<usize>,
}

/// The levels of all tasks.
pub fn levels(graph: &TaskGraph) -> Levels {
    let mut result = Levels {
        of_task: Vec::with_capacity(graph.len()),
        widths: Vec::new(),
    };
    for id in graph.ids() {
        let mut level = 0;
        graph.for_each_input_task(id, |input| {
            level = level.max(result.of_task[input.index()] + 1);
        });
        result.of_task.push(level);
        if result.widths.len() <= level as usize {
            result.widths.resize(level as usize + 1, 0);
        }
        result.widths[level as usize] += 1;
    }
    result
}

/// The dearest chain of tasks, from first to last, and its cost; of equal ones the one with smaller ids.
pub fn critical_path(graph: &TaskGraph, cost: impl Fn(TaskId) -> f64) -> (f64, Vec<TaskId>) {
    let mut finish: Vec<f64> = Vec::with_capacity(graph.len());
    let mut before: Vec<Option<TaskId>> = Vec::with_capacity(graph.len());
    let mut last: Option<TaskId> = None;
    for id in graph.ids() {
        let mut start = 0.0;
        let mut via = None;
        graph.for_each_input_task(id, |input| {
            let end = finish[input.index()];
            // Of equal ones the smaller id; and one that costs nothing is still part of the chain.
            if via.is_none_or(|via| end > start || (end == start && input < via)) {
                start = end;
                via = Some(input);
            }
        });
        finish.push(start + cost(id));
        before.push(via);
        if last.is_none_or(|last| finish[id.index()] > finish[last.index()]) {
            last = Some(id);
        }
    }
    let mut path = Vec::new();
    let mut at = last;
    while let Some(id) = at {
        path.push(id);
        at = before[id.index()];
    }
    path.reverse();
    (last.map_or(0.0, |last| finish[last.index()]), path)
}
