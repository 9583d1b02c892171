//! Where the files of a run lie while it goes on, and what stays of them.
//!
//! Law: folders of tasks are there as long as somebody may look into them: while the run goes on, and after a failure
//! for a number of runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use headwater_execute::Folders;
use headwater_graph::{RunRecord, RunStatus, Store, Tally};

use crate::temporary;

/// Folders of failed tasks are kept for this number of runs that failed or were stopped.
const RUNS_KEPT: usize = 10;

/// The runs, of all from the latest to the first, whose work folders are kept.
fn with_work(runs: &[RunRecord]) -> BTreeSet<&str> {
    let going_on = runs.iter().filter(|run| run.status == RunStatus::Running);
    let failed = runs
        .iter()
        .filter(|run| matches!(run.status, RunStatus::Failed | RunStatus::Cancelled));
    let kept = going_on.chain(failed.take(RUNS_KEPT));
    kept.map(|run| &*run.id).collect()
}

/// Removes the work folders of runs that nobody will look into any more.
pub fn tidy_work(store: &dyn Store) {
    // All of it before the runs are read: a run is listed before its folder is made, not after.
    let folders = store.work_folders();
    if folders.is_empty() {
        return;
    }
    let Ok(runs) = store.runs(usize::MAX >> 1) else {
        return;
    };
    let kept = with_work(&runs);
    for name in folders {
        if !kept.contains(&*name) {
            let _ = store.remove_work_folder(&name);
        }
    }
}

/// Where the files of a run lie while it goes on.
pub struct Places {
    folders: Folders,
    /// What goes with the run.
    temporary: Option<PathBuf>,
}

impl Places {
    /// Those of a run that lives in a store; elsewhere if nothing may be written there.
    pub fn new(store: &dyn Store, run: &str, read_only: bool) -> Places {
        let sheltered = store.sheltered();
        if read_only {
            let folder = temporary::folder(run);
            let place = |name: &str| folder.join(name);
            let (work, staging, logs) = (place("work"), place("staging"), place("logs"));
            return Places {
                folders: Folders::new(work, staging, logs, sheltered),
                temporary: Some(folder),
            };
        }
        let own = store.run_folders(run);
        let mut folders = Folders::new(own.work, own.staging, own.logs, sheltered);
        folders.logged = store.logged();
        Places {
            folders,
            temporary: None,
        }
    }

    /// Those of a run that lives in a folder of somebody else's.
    pub fn apart(folder: &Path) -> Places {
        Places {
            folders: Folders::below(folder),
            temporary: None,
        }
    }

    /// Removes what lies outside of the store, unless there are folders of failed tasks to be looked at.
    pub fn forget(&self, nothing_failed: bool) {
        if let Some(temporary) = self.temporary.as_ref().filter(|_| nothing_failed) {
            let _ = headwater_execute::remove_tree(temporary);
        }
    }

    /// Where tasks run, and what they make lies.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// Copies of the files that programs use.
    pub fn uses(&self) -> PathBuf {
        self.folders.staging.join("uses")
    }
}

/// Writes down how a run ended, and removes what it needed while it went on.
pub fn end_run(store: &dyn Store, run: &str, status: RunStatus, counts: Tally, reason: &str) {
    // The products are safe already; a list of runs that is out of date is shown as interrupted.
    let _ = store.end_run(run, status, counts, reason);
    let _ = store.remove_staging(run);
}

/// What was found damaged in a store since the last call, and what else is to be known of it, in words, each once.
/// Nothing else has to be done about it.
pub fn take_damage(store: &dyn Store) -> impl Iterator<Item = String> {
    let mut damage = store.take_damage();
    damage.sort();
    damage.dedup();
    let notices = store.take_notices();
    damage
        .into_iter()
        .map(|what| format!("damaged in the store: {what}"))
        .chain(notices)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs that went well do not push out the folders of those that failed.
    #[test]
    fn work_folders_stay_until_ten_later_runs_have_failed() {
        let run = |number: usize, status| RunRecord {
            id: number.to_string(),
            status,
            ..RunRecord::default()
        };
        let mut runs: Vec<RunRecord> = (0..30).map(|n| run(n, RunStatus::Done)).collect();
        runs.push(run(30, RunStatus::Failed));
        runs.push(run(31, RunStatus::Interrupted));
        runs.push(run(32, RunStatus::Running));
        assert_eq!(with_work(&runs), BTreeSet::from(["30", "32"]));
        let later = (40..50).map(|n| run(n, RunStatus::Cancelled));
        runs.splice(0..0, later);
        let kept = with_work(&runs);
        assert!(!kept.contains("30") && kept.contains("49"), "{kept:?}");
    }
}
