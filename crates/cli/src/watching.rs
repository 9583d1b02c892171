//! What goes on around work that takes its time: progress is shown, metrics are written, Ctrl-C is heard.
//!
//! Law: every command that runs tasks is watched in the same way. When the work has ended, what was told has been
//! shown, and the last metrics say how it ended.

use std::thread::JoinHandle;

use headwater::runs::RunStatus;
use headwater::{Error, Progress, Stop};

use crate::arguments::watching::{ProgressKind, Watching};
use crate::metrics::Metrics;
use crate::signals;

/// Shows how far some work is until it is over.
pub(crate) type Show = fn(&Progress, ProgressKind) -> Option<JoinHandle<()>>;

/// Does the work, watched as was asked for; `status` says how it ended.
pub(crate) fn watched<T>(
    options: &Watching,
    as_json: bool,
    show: Show,
    work: impl FnOnce(&Progress, &Stop) -> Result<T, Error>,
    status: impl FnOnce(&T) -> RunStatus,
) -> Result<(T, RunStatus), Error> {
    let kind = options.kind(as_json);
    if kind == ProgressKind::Json {
        crate::show::as_events();
    }
    let (progress, stop) = (Progress::default(), Stop::default());
    let metrics = Metrics::begin(options.metrics.as_deref(), &progress)?;
    signals::watch(&stop, &progress, kind == ProgressKind::None);
    let thread = show(&progress, kind);
    let done = work(&progress, &stop);
    progress.finish();
    if let Some(thread) = thread {
        let _ = thread.join();
    }
    let status = done.as_ref().map_or(RunStatus::Failed, status);
    if let Some(metrics) = metrics {
        metrics.finish(status);
    }
    Ok((done?, status))
}
