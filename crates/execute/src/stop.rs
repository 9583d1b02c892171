//! The wish to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use headwater_graph::Cancel;

use crate::spawn;

/// A wish to stop, from a signal handler or another thread.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    pub(crate) gently: Arc<AtomicBool>,
    pub(crate) now: Arc<AtomicBool>,
    pub(crate) commands: spawn::Cancel,
    pub(crate) natives: Cancel,
}

impl Stop {
    /// Start nothing more; what runs may end.
    pub fn gently(&self) {
        self.gently.store(true, Ordering::Relaxed);
    }

    /// End what runs, too.
    pub fn now(&self) {
        self.gently();
        self.now.store(true, Ordering::Relaxed);
        self.natives.cancel();
        self.commands.cancel();
    }

    /// Whether what runs is to end, too.
    pub fn is_now(&self) -> bool {
        self.now.load(Ordering::Relaxed)
    }

    /// Whether somebody asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.gently.load(Ordering::Relaxed)
    }
}
