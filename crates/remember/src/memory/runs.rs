//! Runs of a store in memory, and what they leave.
//!
//! Law: a run is alive from its beginning until its staging folder is removed.

use std::io;
use std::path::PathBuf;

use headwater_graph::{
    Attachments, FoundRun, Local, RunRecord, RunStatus, RunTask, Runs, StoreError, Tally,
};

use super::{MemoryStore, State};
use crate::clock::now;
use crate::disk::cannot;

impl State {
    /// A run as it stands now.
    fn run(&self, run: &RunRecord) -> RunRecord {
        let is_over = run.ended.is_some() || self.alive.contains(&run.id);
        RunRecord {
            status: if is_over {
                run.status
            } else {
                RunStatus::Interrupted
            },
            ..run.clone()
        }
    }
}

fn no_run(id: &str) -> StoreError {
    StoreError::Database(format!("there is no run `{id}`"))
}

impl Runs for MemoryStore {
    fn begin_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        let mut state = self.state();
        let is_known = state.runs.iter().any(|other| other.id == run.id);
        if is_known || !RunRecord::is_name(&run.id) {
            let message = format!("`{}` cannot be the name of a run", run.id);
            return Err(StoreError::Database(message));
        }
        let staging = self.run_folders(&run.id).staging;
        std::fs::create_dir_all(&staging).map_err(cannot("make", &staging))?;
        state.alive.insert(run.id.clone());
        state.runs.push(run.clone());
        Ok(())
    }

    fn end_run(
        &self,
        id: &str,
        status: RunStatus,
        counts: Tally,
        reason: &str,
    ) -> Result<(), StoreError> {
        let mut state = self.state();
        let run = state.runs.iter_mut().find(|run| run.id == id);
        let run = run.ok_or_else(|| no_run(id))?;
        run.ended = Some(now());
        run.status = status;
        run.tasks = counts.tasks as u64;
        run.executed = counts.executed as u64;
        run.reused = counts.reused as u64;
        run.failed = counts.failed as u64;
        reason.clone_into(&mut run.reason);
        Ok(())
    }

    fn runs(&self, limit: usize) -> Result<Vec<RunRecord>, StoreError> {
        let state = self.state();
        let latest = state.runs.iter().rev().take(limit);
        Ok(latest.map(|run| state.run(run)).collect())
    }

    fn find_run(&self, text: &str) -> Result<FoundRun, StoreError> {
        let state = self.state();
        let meant: Vec<RunRecord> = if text == "last" {
            state
                .runs
                .last()
                .map(|run| state.run(run))
                .into_iter()
                .collect()
        } else {
            let begins = state.runs.iter().filter(|run| run.id.starts_with(text));
            begins.map(|run| state.run(run)).collect()
        };
        Ok(FoundRun::among(text, meant))
    }

    fn is_alive(&self, run: &str) -> bool {
        self.state().alive.contains(run)
    }

    fn put_run_tasks(&self, run: &str, tasks: &[RunTask]) -> Result<(), StoreError> {
        let mut state = self.state();
        if !state.runs.iter().any(|known| known.id == run) {
            return Err(no_run(run));
        }
        state.noted.remove(run);
        let listed = state.tasks.entry(run.to_owned()).or_default();
        listed.extend_from_slice(tasks);
        Ok(())
    }

    fn note_run_tasks(&self, run: &str, tasks: &[RunTask]) -> Result<(), StoreError> {
        let mut state = self.state();
        let noted = state.noted.entry(run.to_owned()).or_default();
        noted.extend_from_slice(tasks);
        Ok(())
    }

    fn run_tasks(&self, run: &str) -> Result<Vec<RunTask>, StoreError> {
        let state = self.state();
        let tasks = state.tasks.get(run).filter(|tasks| !tasks.is_empty());
        Ok(tasks.or(state.noted.get(run)).cloned().unwrap_or_default())
    }

    fn tasks_before(
        &self,
        run: &str,
        address: &str,
        runs: usize,
    ) -> Result<Vec<(String, RunTask)>, StoreError> {
        let state = self.state();
        let Some(place) = state.runs.iter().position(|known| known.id == run) else {
            return Ok(Vec::new());
        };
        let workflow = &state.runs[place].workflow;
        let earlier = state.runs[..place].iter().rev();
        let earlier = earlier
            .filter(|known| known.workflow == *workflow)
            .take(runs);
        let found = earlier.filter_map(|known| {
            let tasks = state.tasks.get(&known.id)?;
            let task = tasks.iter().find(|task| task.address == address)?;
            Some((known.id.clone(), task.clone()))
        });
        Ok(found.collect())
    }
}

fn key(run: &str, name: &str) -> (String, String) {
    (run.to_owned(), name.to_owned())
}

impl Attachments for MemoryStore {
    fn attachment(&self, run: &str, name: &str) -> io::Result<Vec<u8>> {
        let state = self.state();
        let found = state.attachments.get(&key(run, name)).cloned();
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn has_attachment(&self, run: &str, name: &str) -> bool {
        self.state().attachments.contains_key(&key(run, name))
    }

    fn has_attachments(&self, run: &str) -> bool {
        let state = self.state();
        state.attachments.keys().any(|(owner, _)| owner == run)
    }

    fn attach(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        state.attachments.insert(key(run, name), bytes.to_vec());
        Ok(())
    }

    fn add_to_attachment(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let note = state.attachments.entry(key(run, name)).or_default();
        note.extend_from_slice(bytes);
        Ok(())
    }

    fn remove_attachment(&self, run: &str, name: &str) -> io::Result<()> {
        self.state().attachments.remove(&key(run, name));
        Ok(())
    }

    fn attachment_place(&self, run: &str, name: &str) -> PathBuf {
        self.folder.join("runs").join(run).join(name)
    }
}
