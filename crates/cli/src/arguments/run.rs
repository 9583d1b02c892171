//! The arguments of `headwater run`.
//!
//! Law: what a flag means is said here, once, as help.

use std::path::PathBuf;

use clap::Args;

use super::common::Work;
use super::watching::Watching;

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The workflow file (YAML or JSON)
    pub(crate) flow: PathBuf,
    /// The data: a YAML, JSON or CSV file that says what each input gets
    #[arg(long, value_name = "FILE")]
    pub(crate) inputs: Option<PathBuf>,
    /// Give a parameter a value, once for each parameter; wins over the data file and the default
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Only say what would run
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) work: Work,
    /// Where outputs go; a new or empty folder [default: outputs/RUN]
    #[arg(short, long = "output", value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Run stages that do not depend on each other one after the other
    #[arg(long)]
    pub(crate) no_workflow_parallelism: bool,
    /// Let each stage work on one item at a time
    #[arg(long)]
    pub(crate) no_data_parallelism: bool,
    /// Start a stage only when the stages before it have done all items
    #[arg(long)]
    pub(crate) no_pipelining: bool,
    #[command(flatten)]
    pub(crate) watching: Watching,
}
