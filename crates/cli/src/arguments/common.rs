//! Flags that several commands have.
//!
//! Law: a flag that several commands have stands here, once, so that it has one name, one meaning, one default and one
//! sentence of help wherever it is.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use headwater::{Limits, Machines};

use super::values::{duration, resource, size};

/// Where help has the flags of every command: apart from those of one.
const EVERY: &str = "Options of every command";

/// Flags of every command.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Print one JSON object on stdout instead of text
    #[arg(long, global = true, help_heading = EVERY)]
    pub(crate) json: bool,
    /// The folder that products are kept in, postgresql://USER@HOST/DATABASE for the store of a group behind it, or `memory:` to keep nothing after the command [default: what headwater.yaml says, else the nearest .headwater in this folder or its parents]
    #[arg(
        long,
        global = true,
        help_heading = EVERY,
        value_name = "URL",
        env = "HEADWATER_STORE",
        hide_env_values = true
    )]
    pub(crate) store: Option<String>,
    /// Use what the store remembers, but write nothing to it
    #[arg(long, global = true, help_heading = EVERY)]
    pub(crate) read_only: bool,
    /// Reuse only the products of the group that these roles of its database have made
    #[arg(long, global = true, help_heading = EVERY, value_name = "ROLE", value_delimiter = ',')]
    pub(crate) trust: Option<Vec<String>>,
    /// How long to wait for the store of a group that cannot be reached, such as 10m: at the beginning, at the end, and when too much waits for it [default: 30s]
    #[arg(long, global = true, help_heading = EVERY, value_name = "TIME", value_parser = duration)]
    pub(crate) wait_for_store: Option<Duration>,
}

/// How many things go on at once.
#[derive(Debug, Args)]
pub(crate) struct Cores {
    /// How many cores to use [default: all of this machine]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) jobs: Option<u32>,
}

impl Cores {
    /// As a number, where one was given.
    pub(crate) fn number(&self) -> Option<usize> {
        self.jobs.map(|jobs| jobs as usize)
    }
}

/// What tasks may take, and what happens when one fails.
#[derive(Debug, Args)]
pub(crate) struct Work {
    #[command(flatten)]
    pub(crate) cores: Cores,
    /// How much memory tasks, products and the engine may take together, such as 4GiB [default: that of this machine]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// How much disk the products and logs in the store may take, such as 50GiB: what no run needs makes room; intermediates take half of it at most and make room for outputs, and an output that does not fit fails the run [default: any]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) disk: Option<u64>,
    /// How much there is of another resource that operations ask for, such as gpu=2; once for each resource
    #[arg(long, value_name = "NAME=N", value_parser = resource)]
    pub(crate) resource: Vec<(String, u64)>,
    /// Run tasks in other processes: local:N starts N on this machine, slurm:N submits N jobs to Slurm, command:TEXT starts one by a command with {node} in it [default: in this process]
    #[arg(long, value_name = "NODES")]
    pub(crate) nodes: Option<String>,
    /// A word for sbatch, such as --slurm=--partition=main; once for each word
    #[arg(
        long,
        value_name = "WORD",
        requires = "nodes",
        allow_hyphen_values = true
    )]
    pub(crate) slurm: Vec<String>,
    /// How often a failed task is tried again, unless its operation says otherwise
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) retries: u32,
    /// Go on with everything that does not need a failed result (the default)
    #[arg(long, overrides_with = "fail_fast")]
    pub(crate) keep_going: bool,
    /// Start nothing more after the first failure
    #[arg(long, overrides_with = "keep_going")]
    pub(crate) fail_fast: bool,
}

impl Work {
    /// The same for a request.
    pub(crate) fn limits(&self) -> Limits {
        let resources = self.resource.iter();
        let resources = resources.map(|(name, number)| (Arc::from(name.as_str()), *number));
        Limits {
            cores: self.cores.number(),
            memory: self.memory,
            disk: self.disk,
            machines: self.nodes.as_ref().map(|nodes| Machines {
                nodes: nodes.clone(),
                slurm: self.slurm.clone(),
            }),
            resources: resources.collect(),
            retries: self.retries,
            fail_fast: self.fail_fast,
        }
    }
}

/// A study, and what is to be otherwise than its file says.
#[derive(Debug, Args)]
pub(crate) struct StudyFile {
    /// The study file (YAML or JSON)
    #[arg(value_name = "STUDY")]
    pub(crate) file: PathBuf,
    /// Change a value of the study file, such as method.vbd.samples=2048, seed=7 or 'until={ci: 0.1}'; once for each value
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
}

/// How long a list is.
#[derive(Debug, Args)]
pub(crate) struct Limit {
    /// List at most N
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
}
