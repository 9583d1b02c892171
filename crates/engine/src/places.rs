//! Where the files of a run lie while it goes on, and what stays of them.
//!
//! Law: folders of tasks are there as long as somebody may look into them: while the run goes on, and after a failure
//! for a number of runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use headwater_enact::Counts;
use headwater_execute::{CommandSettings, Watched};
use headwater_remember::{RunCounts, RunRecord, RunStatus, Store};

use crate::temporary;

/// Folders of failed tasks are kept for so many runs that failed or were stopped.
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
pub fn tidy_work(store: &Store) {
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

/// Where the files of a run lie while it goes on: in the store, or elsewhere if that is read-only.
pub struct Places {
    work: PathBuf,
    staging: PathBuf,
    logs: PathBuf,
    logged: Arc<AtomicU64>,
    objects: PathBuf,
    temporary: Option<PathBuf>,
}

impl Places {
    /// Those of a run.
    pub fn new(store: &Store, run: &str, read_only: bool) -> Places {
        let objects = store.root().join("objects");
        if read_only {
            let folder = temporary::folder(run);
            let place = |name: &str| folder.join(name);
            return Places {
                work: place("work"),
                staging: place("staging"),
                logs: place("logs"),
                logged: Arc::default(),
                objects,
                temporary: Some(folder),
            };
        }
        Places {
            work: store.work_folder(run),
            staging: store.staging_folder(run),
            logs: store.run_folder(run).join("logs"),
            logged: store.logged(),
            objects,
            temporary: None,
        }
    }

    /// Removes what lies outside of the store, unless there are folders of failed tasks to be looked at.
    pub fn forget(&self, nothing_failed: bool) {
        if let Some(temporary) = self.temporary.as_ref().filter(|_| nothing_failed) {
            let _ = fs::remove_dir_all(temporary);
        }
    }

    /// What programs are started with.
    pub fn commands(&self, watched: Arc<Watched>) -> CommandSettings {
        CommandSettings {
            work: self.work.clone(),
            staging: self.staging.join("files"),
            logs: self.logs.clone(),
            logged: Arc::clone(&self.logged),
            environment: headwater_execute::inherited_environment(),
            temporary: self.staging.clone(),
            watched,
            sheltered: vec![self.objects.clone(), self.staging.clone()],
        }
    }

    /// Where outputs are written out to when memory is short.
    pub fn spilled(&self) -> PathBuf {
        self.staging.join("spilled")
    }

    /// Copies of the files that programs use.
    pub fn uses(&self) -> PathBuf {
        self.staging.join("uses")
    }
}

/// Writes down how a run ended, and removes what it needed while it went on.
pub fn end_run(store: &Store, read_only: bool, run: &str, status: RunStatus, counts: Counts) {
    if !read_only {
        let counts = RunCounts {
            tasks: counts.tasks as u64,
            executed: counts.executed as u64,
            reused: counts.reused() as u64,
            failed: counts.failed as u64,
        };
        // The products are safe already; a list of runs that is out of date is shown as interrupted.
        let _ = store.end_run(run, status, counts);
        let _ = store.remove_staging(run);
    }
}

/// What was found damaged, in words. Nothing else has to be done about it.
pub fn told_damage(damage: Vec<String>) -> impl Iterator<Item = String> {
    damage
        .into_iter()
        .map(|what| format!("damaged in the store: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs that went well do not push out the folders of those that failed.
    #[test]
    fn work_folders_stay_until_ten_later_runs_have_failed() {
        let run = |number: usize, status| RunRecord {
            id: number.to_string(),
            workflow: String::new(),
            file: PathBuf::new(),
            started: 0,
            ended: None,
            status,
            tasks: 0,
            executed: 0,
            reused: 0,
            failed: 0,
            outputs: PathBuf::new(),
            command: Vec::new(),
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
