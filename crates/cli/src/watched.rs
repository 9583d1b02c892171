//! What can be watched: a run or a study, while it goes on.
//!
//! Law: whoever watches asks nothing else of it, so that bars, metrics and Ctrl-C are the same for both.

use std::thread::JoinHandle;

use headwater::runs::RunStatus;

use crate::arguments::watching::ProgressKind;

/// How far some work is.
pub(crate) trait Watched: Clone + Send + Sync + Default + 'static {
    /// Has a line shown among its own.
    fn tell(&self, line: &str);
    /// Says that it is over, whether it ever began or not.
    fn finish(&self);
    /// How far it is, for Prometheus.
    fn metrics(&self, status: RunStatus) -> String;
    /// Shows it until it is over.
    fn show(&self, kind: ProgressKind) -> Option<JoinHandle<()>>;
}
