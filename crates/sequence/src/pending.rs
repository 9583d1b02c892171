//! Which calls may still have to run.
//!
//! Law: a task is pending as long as it has not been planned and somebody may come to need it: an item that can still
//! be named is its product, a pending task reads it, or it is called for what it does. What a pending task reads has to
//! be kept for it; whoever is no longer needed needs nothing itself. All of it costs what is submitted.

use headwater_derive::ItemId;
use headwater_graph::{TaskGraph, TaskId};

#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    /// Items that are its product, pending tasks that read it (each as often as it does), and one if it is called for
    /// what it does.
    uses: u32,
    /// It is pending, and counts as a reader of what it reads.
    pending: bool,
    /// It was planned, or remembered: what it reads is no business of this file any more.
    planned: bool,
    /// What it reads is kept for it.
    keeps: bool,
}

/// Something to be done about what a task reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is to be kept for the task.
    Keep(TaskId),
    /// It need not be kept for the task any more.
    LetGo(TaskId),
}

/// All tasks, and who needs them.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    tasks: Vec<Standing>,
    /// By item: the task that it is counted with.
    items: Vec<Option<TaskId>>,
    /// Tasks that have become pending, or are no longer, since somebody looked.
    touched: Vec<TaskId>,
}

impl Pending {
    /// A call was made: of a new task, or of one that is there already.
    pub(crate) fn called(&mut self, graph: &TaskGraph, task: TaskId, pure: bool) {
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, Standing::default());
            self.tasks[task.index()].uses = u32::from(!pure);
        }
        self.revive(graph, task);
    }

    /// An item is now the product of this task, or of none that counts.
    pub(crate) fn is_now(&mut self, graph: &TaskGraph, item: ItemId, task: Option<TaskId>) {
        if self.items.len() <= item.index() {
            self.items.resize(item.index() + 1, None);
        }
        let before = std::mem::replace(&mut self.items[item.index()], task);
        if let Some(task) = task {
            self.tasks[task.index()].uses += 1;
        }
        if let Some(before) = before {
            self.unused(graph, before);
        }
    }

    /// A task was planned, or need not be: what it reads is kept by the plan, as long as that needs it.
    pub(crate) fn planned(&mut self, graph: &TaskGraph, task: TaskId) {
        let standing = &mut self.tasks[task.index()];
        standing.planned = true;
        if standing.pending {
            self.end(graph, task);
        }
    }

    /// What has to be done about what tasks read, since the last call.
    pub(crate) fn changes(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        for task in std::mem::take(&mut self.touched) {
            let standing = &mut self.tasks[task.index()];
            if standing.pending != standing.keeps {
                standing.keeps = standing.pending;
                changes.push(if standing.keeps {
                    Change::Keep(task)
                } else {
                    Change::LetGo(task)
                });
            }
        }
        changes
    }

    /// A task that may be needed again, and so may what it reads.
    fn revive(&mut self, graph: &TaskGraph, task: TaskId) {
        let mut waiting = vec![task];
        while let Some(task) = waiting.pop() {
            let standing = &mut self.tasks[task.index()];
            if standing.pending || standing.planned {
                continue;
            }
            standing.pending = true;
            self.touched.push(task);
            graph.for_each_input_task(task, |input| {
                self.tasks[input.index()].uses += 1;
                waiting.push(input);
            });
        }
    }

    /// One use less of a task.
    fn unused(&mut self, graph: &TaskGraph, task: TaskId) {
        let standing = &mut self.tasks[task.index()];
        standing.uses -= 1;
        if standing.uses == 0 && standing.pending {
            self.end(graph, task);
        }
    }

    /// A task is no longer pending; what only it needed is not, either.
    fn end(&mut self, graph: &TaskGraph, task: TaskId) {
        let mut ended = vec![task];
        while let Some(task) = ended.pop() {
            self.tasks[task.index()].pending = false;
            self.touched.push(task);
            graph.for_each_input_task(task, |input| {
                let standing = &mut self.tasks[input.index()];
                standing.uses -= 1;
                if standing.uses == 0 && standing.pending {
                    ended.push(input);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use headwater_graph::{NewTask, Operation, OperationError, Outputs, Signature, Source, Type};

    use super::*;

    /// A chain of three tasks; the second is read by a fourth as well.
    fn graph() -> TaskGraph {
        let refuse = |_: &[_], _: &[_], _: &mut _| -> Result<Outputs, OperationError> {
            Err(OperationError::Cancelled)
        };
        let mut graph = TaskGraph::new();
        for (name, input) in [
            ("a", None),
            ("b", Some(TaskId(0))),
            ("c", Some(TaskId(1))),
            ("d", Some(TaskId(1))),
        ] {
            let signature = Signature::new(name, "1").output("to", Type::Int);
            let signature = match input {
                Some(_) => signature.input("from", Type::Int),
                None => signature,
            };
            let operation = Arc::new(Operation::native(signature, refuse));
            let inputs: Vec<(u16, Source)> = input
                .map(|task| (0, Source::Product { task, port: 0 }))
                .into_iter()
                .collect();
            let new = NewTask {
                operation: graph.operation(&operation),
                parameters: &[],
                inputs: &inputs,
                address: "",
            };
            graph.add(&new).unwrap();
        }
        graph
    }

    fn submit(pending: &mut Pending, graph: &TaskGraph, task: u32, item: u32) {
        pending.called(graph, TaskId(task), true);
        pending.is_now(graph, ItemId(item), Some(TaskId(task)));
    }

    fn pending_tasks(pending: &Pending) -> Vec<usize> {
        let all = pending.tasks.iter().enumerate();
        all.filter(|(_, standing)| standing.pending)
            .map(|(task, _)| task)
            .collect()
    }

    #[test]
    fn what_nobody_can_need_any_more_needs_nothing() {
        let graph = graph();
        let mut pending = Pending::default();
        // x = a(); y = b(x); z = c(y); w = d(y)
        for task in 0..4 {
            submit(&mut pending, &graph, task, task);
        }
        assert_eq!(pending_tasks(&pending), [0, 1, 2, 3]);
        assert_eq!(
            pending.changes(),
            [0, 1, 2, 3].map(|task| Change::Keep(TaskId(task)))
        );
        // x and y are dropped; c and d still need b, and b needs a.
        pending.is_now(&graph, ItemId(0), None);
        pending.is_now(&graph, ItemId(1), None);
        pending.is_now(&graph, ItemId(2), None);
        assert_eq!(pending_tasks(&pending), [0, 1, 3]);
        assert_eq!(pending.changes(), [Change::LetGo(TaskId(2))]);
        pending.is_now(&graph, ItemId(3), None);
        assert_eq!(pending_tasks(&pending), Vec::<usize>::new());
        assert_eq!(pending.changes().len(), 3);
        // The last call is made again: all that it needs is needed again.
        submit(&mut pending, &graph, 3, 3);
        assert_eq!(pending_tasks(&pending), [0, 1, 3]);
        // Planning ends it, and with it what only it needed.
        pending.planned(&graph, TaskId(3));
        assert_eq!(pending_tasks(&pending), Vec::<usize>::new());
        assert_eq!(pending.changes(), [], "nothing was kept in between");
        submit(&mut pending, &graph, 3, 3);
        assert_eq!(pending_tasks(&pending), Vec::<usize>::new());
    }

    #[test]
    fn a_call_that_is_made_for_what_it_does_is_needed_until_it_is_planned() {
        let graph = graph();
        let mut pending = Pending::default();
        submit(&mut pending, &graph, 0, 0);
        pending.called(&graph, TaskId(1), false);
        pending.is_now(&graph, ItemId(0), None);
        assert_eq!(pending_tasks(&pending), [0, 1]);
        pending.planned(&graph, TaskId(1));
        assert_eq!(pending_tasks(&pending), Vec::<usize>::new());
    }
}
