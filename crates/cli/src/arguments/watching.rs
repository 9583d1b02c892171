//! Flags for those who watch a run, programs among them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Watching {
    /// How progress is shown, on stderr [default: bars; with --json none]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) progress: Option<ProgressKind>,
    /// Write how far it is to this file every 5 seconds and at the end, for Prometheus
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Option<PathBuf>,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressKind {
    /// Bars on a terminal, plain lines elsewhere
    Bars,
    /// Plain lines, now and then
    Lines,
    /// For programs: one JSON object per line, and nothing else on stderr
    Json,
    /// Not at all
    None,
}

impl Watching {
    /// How progress is shown, for a command with or without `--json`.
    pub(crate) fn kind(&self, as_json: bool) -> ProgressKind {
        let usual = if as_json {
            ProgressKind::None
        } else {
            ProgressKind::Bars
        };
        self.progress.unwrap_or(usual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_in_json_is_quiet_unless_told_otherwise() {
        let watching = |progress| Watching {
            progress,
            metrics: None,
        };
        assert_eq!(watching(None).kind(false), ProgressKind::Bars);
        assert_eq!(watching(None).kind(true), ProgressKind::None);
        for as_json in [false, true] {
            let kind = watching(Some(ProgressKind::Json)).kind(as_json);
            assert_eq!(kind, ProgressKind::Json);
        }
    }
}
