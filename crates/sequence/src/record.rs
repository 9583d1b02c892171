//! What a sequence leaves in its store, for those who ask later: that it ran, what became of its tasks, and its graph.
//!
//! Law: a task stands under the address of the first call that it is. What is noted decides nothing; a sequence does
//! not fail for want of it.

use headwater_enact::State;
use headwater_engine::listener::fate;
use headwater_engine::{Run, diagram, failures, notes};
use headwater_graph::{FailedTask, RunTask, TaskId};

use crate::drawing::Drawing;

/// Notes what became of every task that somebody wanted, what things from outside were called, and the graph.
pub(crate) fn note(run: &Run, drawing: &Drawing<'_>) {
    let Some(store) = run.writable_store() else {
        return;
    };
    let engine = drawing.engine;
    let enactment = &engine.enactment;
    let told = |task: TaskId| engine.task_address(task);
    let mut rows = Vec::new();
    for task in enactment.graph().ids() {
        if enactment.coordinator().state(task) == State::Idle {
            continue;
        }
        let Some(state) = fate(enactment, task) else {
            continue;
        };
        let ended = engine.ended(task).unwrap_or_default();
        rows.push(RunTask {
            address: told(task),
            recipe: enactment.graph().recipe(task),
            state,
            started: ended.started,
            wall: ended.wall,
        });
    }
    let _ = store.put_run_tasks(run.name(), &rows);
    let round = notes::WholeRound {
        enactment,
        address: &told,
        others: &|_| {},
    };
    let _ = notes::write(
        &**store,
        run.name(),
        &[notes::Part::Whole(round)],
        engine.current(),
    );
    let failed: Vec<FailedTask> = engine.failed().map(|failed| failed.task()).collect();
    if !failed.is_empty() {
        let text = failures::in_words(&failed);
        let _ = store.attach(run.name(), failures::FAILURES, text.as_bytes());
        let _ = failures::note(&**store, run.name(), &failed);
    }
    let small = drawing.is_small();
    let _ = diagram::note_sequence(
        &**store,
        run.name(),
        drawing.grouped(),
        small.then(|| drawing.reduced()),
        small.then(|| drawing.few_unreduced()).flatten(),
        drawing.program.calls(),
    );
}
