//! The arguments of `headwater runs`.
//!
//! Law: what a flag means is said here, once, as help.

use std::path::PathBuf;

use clap::Subcommand;

use super::common::Limit;

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List runs, newest first
    #[command(after_help = "\
Examples:
  headwater runs ls -n 5
  headwater runs ls --json")]
    Ls {
        #[command(flatten)]
        limit: Limit,
    },
    /// Show one run: how it went, stage by stage, what took long and what failed
    #[command(after_help = "\
Examples:
  headwater runs show                 the latest run
  headwater runs show 20261116-0830   by the beginning of its name")]
    Show {
        /// The run: its name, the beginning of it, or `last`
        #[arg(default_value = "last")]
        run: String,
        /// List what became of every task
        #[arg(long)]
        tasks: bool,
    },
    /// Write the report of a run that has ended, without running anything
    ///
    /// Every run writes report.html beside its outputs: how it ended, failures with what they said, the graph, when what
    /// was running, the slowest tasks, what was reused. This writes it again, from what the store knows.
    #[command(after_help = "\
Examples:
  headwater runs report                       the latest run, beside its outputs
  headwater runs report 20261116-08 -o a.html   to a file of your choice")]
    Report {
        /// The run: its name, the beginning of it, or `last`
        #[arg(default_value = "last")]
        run: String,
        /// Where the report goes [default: report.html in the folder of the outputs]
        #[arg(short, long = "output", value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Compare two runs, task by task, and say what changed
    ///
    /// Tasks are matched by their addresses. Those that differ are grouped by what changed first, so that one changed
    /// parameter is one line, however many tasks it changed. One run alone is compared with the one before it of the same
    /// workflow.
    #[command(after_help = "\
Examples:
  headwater runs diff                      the latest run, and the one before it
  headwater runs diff 20261116-0830 last")]
    Diff {
        /// The first run: its name, the beginning of it, or `last`
        #[arg(default_value = "last")]
        first: String,
        /// The second run
        second: Option<String>,
    },
}
