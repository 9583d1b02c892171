//! The tasks of a run as they end, for those who ask while it goes on, or after it was interrupted.
//!
//! Law: what is noted decides nothing, and a run does not fail for want of it. The list that a run leaves when it ends
//! takes its place.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use headwater_enact::{Enactment, nanoseconds};
use headwater_execute::Execution;
use headwater_graph::{Outcome, RunTask, Store};

use crate::lock::locked;

/// Tasks that end one soon after the other are noted together, because there may be a million of them: this is how long
/// they wait, and how many do at most.
const PAUSE: Duration = Duration::from_millis(50);
const TOGETHER: usize = 512;

/// Notes tasks that have ended.
#[derive(Debug, Default)]
pub struct Ledger(Option<Arc<Book>>);

/// What is noted where.
#[derive(Debug)]
struct Book {
    store: Arc<dyn Store>,
    run: String,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    tasks: Vec<RunTask>,
    last: Option<Instant>,
    /// Somebody looks after what waits.
    is_watched: bool,
}

impl Ledger {
    /// Notes the tasks of a run that is recorded in a store. The default notes nothing.
    pub fn of(store: &Arc<dyn Store>, run: &str) -> Ledger {
        Ledger(Some(Arc::new(Book {
            store: Arc::clone(store),
            run: run.to_owned(),
            waiting: Mutex::default(),
        })))
    }

    /// A task has ended for good.
    pub fn ended(
        &self,
        enactment: &Enactment,
        execution: &Execution,
        outcome: Outcome,
        address: impl FnOnce() -> String,
    ) {
        self.add(|| RunTask {
            address: address(),
            recipe: enactment.graph().recipe(execution.task),
            state: outcome,
            started: nanoseconds(execution.started),
            wall: nanoseconds(execution.elapsed),
        });
    }

    fn add(&self, task: impl FnOnce() -> RunTask) {
        let Some(book) = &self.0 else {
            return;
        };
        let mut waiting = book.lock();
        waiting.tasks.push(task());
        let is_late = waiting.last.is_none_or(|last| last.elapsed() >= PAUSE);
        if is_late || waiting.tasks.len() >= TOGETHER {
            book.note(&mut waiting);
        } else if !waiting.is_watched {
            // The next task may take long.
            let watched = Arc::downgrade(book);
            let thread = std::thread::Builder::new().name("headwater-ledger".to_owned());
            waiting.is_watched = thread.spawn(move || watch(&watched)).is_ok();
        }
    }
}

impl Book {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        locked(&self.waiting)
    }

    fn note(&self, waiting: &mut Waiting) {
        let _ = self.store.note_run_tasks(&self.run, &waiting.tasks);
        waiting.tasks.clear();
        waiting.last = Some(Instant::now());
    }
}

/// Notes what waits, until nothing does or the run is over.
fn watch(book: &Weak<Book>) {
    loop {
        std::thread::sleep(PAUSE);
        let Some(book) = book.upgrade() else {
            return;
        };
        let mut waiting = book.lock();
        if waiting.tasks.is_empty() {
            waiting.is_watched = false;
            return;
        }
        book.note(&mut waiting);
    }
}

#[cfg(test)]
mod tests {
    use headwater_graph::Recipe;
    use headwater_graph::{Mode, RunRecord};

    use super::*;

    /// However many there are, and however long nothing more ends.
    #[test]
    fn all_tasks_that_have_ended_are_noted_soon() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = headwater_remember::open(&folder.path().join("store"), Mode::ReadWrite);
        let store = store.expect("a store");
        let run = RunRecord {
            id: "run".to_owned(),
            ..RunRecord::default()
        };
        store.begin_run(&run).expect("it begins");
        let ledger = Ledger::of(&store, "run");
        let count = 2 * TOGETHER + 7;
        for number in 0..count {
            ledger.add(|| RunTask {
                address: number.to_string(),
                recipe: Recipe([0; 32]),
                state: Outcome::Executed,
                started: 0,
                wall: 0,
            });
        }
        while store.run_tasks("run").expect("a list").len() < count {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
