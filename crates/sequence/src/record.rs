//! What a sequence leaves in its store, for those who ask later: that it ran, what became of its tasks, and its graph.
//!
//! Law: a task stands under the address of the first call that it is. What is noted decides nothing; a sequence does
//! not fail for want of it.

use headwater_enact::{Counts, State};
use headwater_engine::notes::FAILURES;
use headwater_engine::places::{end_run, tidy_work};
use headwater_engine::progress::fate;
use headwater_engine::{Error, diagram, notes};
use headwater_graph::TaskId;
use headwater_remember::{RunRecord, RunStatus, RunTask, Store};

use crate::drawing::Drawing;

/// A run in a list of runs.
pub(crate) struct Recording {
    run: String,
    read_only: bool,
}

impl Recording {
    /// Begins a run.
    pub(crate) fn begin(
        store: &Store,
        run: &str,
        name: &str,
        read_only: bool,
    ) -> Result<Recording, Error> {
        let run = run.to_owned();
        if !read_only {
            tidy_work(store);
            store.begin_run(&RunRecord {
                id: run.clone(),
                workflow: name.to_owned(),
                started: headwater_engine::identifier::now(),
                command: std::env::args().collect(),
                ..RunRecord::default()
            })?;
        }
        Ok(Recording { run, read_only })
    }

    /// Its name.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// Its name, if it is in the list of runs: what may not write to its store is not.
    pub(crate) fn listed(&self) -> Option<String> {
        (!self.read_only).then(|| self.run.clone())
    }

    /// Notes what became of every task that somebody wanted, what things from outside were called, and the graph.
    pub(crate) fn note(&self, store: &Store, drawing: &Drawing<'_>) {
        if self.read_only {
            return;
        }
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
        let _ = store.put_run_tasks(&self.run, &rows);
        let round = notes::Round {
            enactment,
            address: &told,
            others: &|_| {},
        };
        let _ = notes::write(
            store,
            &self.run,
            &[notes::Part::Whole(round)],
            engine.current(),
        );
        let failures: Vec<String> = engine.failed().map(|failed| failed.description()).collect();
        if !failures.is_empty() {
            let text = failures.join("\n\n") + "\n";
            let _ = store.write_run_file(&self.run, FAILURES, text.as_bytes());
        }
        let small = drawing.is_small();
        let _ = diagram::note_sequence(
            store,
            &self.run,
            drawing.grouped(),
            small.then(|| drawing.reduced()),
            small.then(|| drawing.few_unreduced()).flatten(),
            drawing.program.calls(),
        );
    }

    /// Ends the run.
    pub(crate) fn end(&mut self, store: &Store, counts: Counts, stopped: bool) {
        let status = match (stopped, counts.failed) {
            (true, _) => RunStatus::Cancelled,
            (false, 0) => RunStatus::Done,
            (false, _) => RunStatus::Failed,
        };
        end_run(store, self.read_only, &self.run, status, counts);
    }
}
