//! What programs said, in the store: `runs/<run>/logs`.
//!
//! Law: logs are read by people alone, so any of them may go, but never one of a run that somebody else has going.
//! The oldest run loses its logs first, and of one run the oldest log goes first. Links are not followed: what is not a
//! plain file in a plain folder is neither counted nor removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use headwater_graph::Store;

/// Logs of runs that have ended may take this part of a limit before objects have to go for them.
pub const SHARE: u64 = 8;

/// A file of what a program said.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    bytes: u64,
    written: SystemTime,
}

/// What became of the logs of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shrunk {
    /// Bytes that went.
    pub bytes: u64,
    /// Bytes that are left.
    pub left: u64,
    /// Bytes among them of runs that are alive.
    pub protected: u64,
}

/// The logs in a folder, the oldest first.
fn logs_in(folder: &Path) -> Vec<Log> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    let Some(listed) = is_folder.then(|| fs::read_dir(folder).ok()).flatten() else {
        return Vec::new();
    };
    let log = |entry: fs::DirEntry| {
        let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Log {
            path: entry.path(),
            bytes: found.len(),
            written: found.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        })
    };
    let mut logs: Vec<Log> = listed.flatten().filter_map(log).collect();
    logs.sort_by(|one, other| (one.written, &one.path).cmp(&(other.written, &other.path)));
    logs
}

/// The runs that have logs, the oldest first: their names begin with the time at which they began.
fn runs(store: &dyn Store) -> Vec<(String, Vec<Log>)> {
    let mut runs: Vec<(String, Vec<Log>)> = store
        .log_folders()
        .into_iter()
        .map(|(run, folder)| (run, logs_in(&folder)))
        .filter(|(_, logs)| !logs.is_empty())
        .collect();
    runs.sort_by(|(one, _), (other, _)| one.cmp(other));
    runs
}

fn total(logs: &[Log]) -> u64 {
    logs.iter().map(|log| log.bytes).sum()
}

/// The bytes of all logs.
pub fn bytes(store: &dyn Store) -> u64 {
    runs(store).iter().map(|(_, logs)| total(logs)).sum()
}

/// Removes logs of runs that have ended until no more than `max` bytes are left; with `own`, then also those of this
/// run, which the caller has going. With `dry_run` nothing is changed.
pub fn shrink(store: &dyn Store, max: u64, own: Option<&str>, dry_run: bool) -> Shrunk {
    let (alive, ended): (Vec<_>, Vec<_>) = runs(store)
        .into_iter()
        .partition(|(run, _)| store.is_alive(run));
    let (own, alive): (Vec<_>, Vec<_>) = alive
        .into_iter()
        .partition(|(run, _)| Some(run.as_str()) == own);
    let sum = |runs: &[(String, Vec<Log>)]| runs.iter().map(|(_, logs)| total(logs)).sum::<u64>();
    let protected = sum(&alive);
    let mut shrunk = Shrunk {
        bytes: 0,
        left: sum(&ended) + sum(&own) + protected,
        protected,
    };
    for (run, logs) in ended.iter().chain(&own) {
        if shrunk.left <= max {
            break;
        }
        for log in logs {
            if shrunk.left > max && (dry_run || fs::remove_file(&log.path).is_ok()) {
                shrunk.left -= log.bytes;
                shrunk.bytes += log.bytes;
            }
        }
        if !dry_run {
            // Only if nothing is left in it.
            let _ = fs::remove_dir(store.run_folders(run).logs);
        }
    }
    shrunk
}
