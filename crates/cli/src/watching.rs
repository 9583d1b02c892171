//! What goes on around work that takes its time: progress is shown, metrics are written, Ctrl-C is heard.
//!
//! Law: every command that runs tasks is watched in the same way. When the work has ended, what was told has been
//! shown, and the last metrics say how it ended.

use std::thread::JoinHandle;

use headwater::runs::RunStatus;
use headwater::{Error, Progress, Stop, StudyProgress};

use crate::arguments::watching::{ProgressKind, Watching};
use crate::metrics::Metrics;
use crate::study::live;
use crate::{progress, show, signals};

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

impl Watched for Progress {
    fn tell(&self, line: &str) {
        Progress::tell(self, line);
    }

    fn finish(&self) {
        Progress::finish(self);
    }

    fn metrics(&self, status: RunStatus) -> String {
        headwater::progress::run_metrics(&self.look(), status)
    }

    fn show(&self, kind: ProgressKind) -> Option<JoinHandle<()>> {
        progress::show(self, kind)
    }
}

impl Watched for StudyProgress {
    fn tell(&self, line: &str) {
        StudyProgress::tell(self, line);
    }

    fn finish(&self) {
        StudyProgress::finish(self);
    }

    fn metrics(&self, status: RunStatus) -> String {
        headwater::progress::study_metrics(&self.look(), status)
    }

    fn show(&self, kind: ProgressKind) -> Option<JoinHandle<()>> {
        live::show(self, kind)
    }
}

/// Does the work, watched as was asked for; `status` says how it ended.
pub(crate) fn watched<P: Watched, T>(
    options: &Watching,
    as_json: bool,
    work: impl FnOnce(&P, &Stop) -> Result<T, Error>,
    status: impl FnOnce(&T) -> RunStatus,
) -> Result<(T, RunStatus), Error> {
    let kind = options.kind(as_json);
    if kind == ProgressKind::Json {
        show::as_events();
    }
    let (progress, stop) = (P::default(), Stop::default());
    let metrics = Metrics::begin(options.metrics.as_deref(), &progress)?;
    signals::watch(&stop, &progress, kind == ProgressKind::None);
    let thread = progress.show(kind);
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
