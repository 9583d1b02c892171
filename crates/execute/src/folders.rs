//! Where the files of tasks lie while they run.
//!
//! Law: what lies where files are collected, or where others are sheltered, is not written to by tasks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::command::{CommandSettings, inherited_environment};
use crate::watch::Watched;

/// Where the files of tasks lie while they run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Folders {
    /// Where programs run.
    pub work: PathBuf,
    /// Where files that tasks made lie until they are stored.
    pub staging: PathBuf,
    /// Where what programs say is kept.
    pub logs: PathBuf,
    /// Counts the bytes that went there.
    pub logged: Arc<AtomicU64>,
    /// Folders with files that programs are given and never write to.
    pub sheltered: Vec<PathBuf>,
}

impl Folders {
    /// These three; what lies in the second, and in `sheltered`, is not to be written to.
    pub fn new(work: PathBuf, staging: PathBuf, logs: PathBuf, sheltered: Vec<PathBuf>) -> Folders {
        let mut all = sheltered;
        all.push(staging.clone());
        Folders {
            work,
            staging,
            logs,
            logged: Arc::default(),
            sheltered: all,
        }
    }

    /// All of them below one.
    pub fn below(folder: &Path) -> Folders {
        let place = |name: &str| folder.join(name);
        Folders::new(place("work"), place("staging"), place("logs"), Vec::new())
    }

    /// What programs are started with.
    pub(crate) fn commands(&self, watched: Arc<Watched>) -> CommandSettings {
        CommandSettings {
            work: self.work.clone(),
            staging: self.staging.join("files"),
            logs: self.logs.clone(),
            logged: Arc::clone(&self.logged),
            environment: inherited_environment(),
            temporary: self.staging.clone(),
            watched,
            sheltered: self.sheltered.clone(),
        }
    }

    /// Where outputs are written out to when memory is short.
    pub(crate) fn spilled(&self) -> PathBuf {
        self.staging.join("spilled")
    }
}
