//! The tasks of a run as they end, for those who ask while it goes on, or after it was interrupted.
//!
//! Law: what is noted decides nothing, and a run does not fail for want of it. The list that a run leaves when it ends
//! takes its place.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use headwater_remember::{RunTask, Store};

/// So many are noted at once; later ones several together, because there may be a million of them.
const AT_ONCE: usize = 1_000;
/// How many wait at most, and how long.
const TOGETHER: usize = 512;
const PAUSE: Duration = Duration::from_millis(100);

/// Notes tasks that have ended.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The store and the run; nothing is noted where there is none.
    place: Option<(Arc<Store>, String)>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    tasks: Vec<RunTask>,
    noted: usize,
    last: Option<Instant>,
}

impl Ledger {
    /// Notes the tasks of a run that is recorded in a store.
    pub fn of(store: &Arc<Store>, run: &str) -> Ledger {
        Ledger {
            place: Some((Arc::clone(store), run.to_owned())),
            waiting: Mutex::default(),
        }
    }

    /// A task has ended for good.
    pub fn ended(&self, task: impl FnOnce() -> RunTask) {
        let Some((store, run)) = &self.place else {
            return;
        };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.tasks.push(task());
        let is_late = waiting.last.is_none_or(|last| last.elapsed() >= PAUSE);
        if waiting.noted < AT_ONCE || waiting.tasks.len() >= TOGETHER || is_late {
            waiting.noted += waiting.tasks.len();
            let _ = store.note_run_tasks(run, &waiting.tasks);
            waiting.tasks.clear();
            waiting.last = Some(Instant::now());
        }
    }
}
