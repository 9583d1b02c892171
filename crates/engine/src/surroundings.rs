//! Where work is done and with what: everything that a verb is given besides what to do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_execute::{Executor, Stop};
use headwater_graph::{Mode, Registry, Store};

use crate::{Error, Limits, Progress, StorePlace, open_store};

/// A folder, a store, libraries, limits, and who watches and stops the work.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// What paths are relative to, and where results go.
    pub folder: PathBuf,
    /// Which store to use.
    pub store: StorePlace,
    /// A store that is open already; then this one is used.
    pub opened: Option<Arc<dyn Store>>,
    /// Operations that workflows may use besides their own.
    pub libraries: Arc<Registry>,
    /// What work may take, and how it deals with failures.
    pub limits: Limits,
    /// Shows how far the work is.
    pub progress: Progress,
    /// Ends the work.
    pub stop: Stop,
}

impl Surroundings {
    /// The store, to work with.
    pub fn open_store(&self) -> Result<Arc<dyn Store>, Error> {
        match &self.opened {
            Some(store) => Ok(Arc::clone(store)),
            None => open_store(&self.store, &self.folder),
        }
    }

    /// Who runs tasks here.
    pub fn executor(&self) -> Result<Box<dyn Executor>, Error> {
        if self.limits.machines.is_some() && self.is_read_only() {
            return Err(Error::usage(
                "what nodes make goes through the store, and it may not be written to",
                Some("leave --read-only or --nodes out".to_owned()),
            ));
        }
        self.limits.executor()
    }

    /// The store, to look at.
    pub fn open_to_read(&self) -> Result<Arc<dyn Store>, Error> {
        match &self.opened {
            Some(store) => Ok(Arc::clone(store)),
            None => {
                let place = StorePlace {
                    read_only: true,
                    ..self.store.clone()
                };
                open_store(&place, &self.folder)
            }
        }
    }

    /// Whether nothing may be written to the store.
    pub fn is_read_only(&self) -> bool {
        match &self.opened {
            Some(store) => store.mode() == Mode::ReadOnly,
            None => self.store.read_only,
        }
    }

    /// The folder of the store, where that is known before it is open.
    pub fn store_folder(&self) -> Result<PathBuf, Error> {
        match &self.opened {
            Some(store) => Ok(store.place()),
            None => self.store.folder(&self.folder),
        }
    }

    /// The folder for the results of a run.
    pub fn results(&self, asked: Option<&Path>, run: &str) -> PathBuf {
        match asked {
            Some(folder) => self.folder.join(folder),
            None => self.folder.join("outputs").join(run),
        }
    }
}
