//! The arguments of `headwater new`.
//!
//! Law: what a flag means is said here, once, as help.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum NewCommand {
    Workflow(NewWorkflow),
    Study(NewStudy),
    Operations(NewOperations),
}

/// Write a workflow with comments, and its data: they run as they are
///
/// NAME.yaml counts words and needs a shell and coreutils alone; NAME-data.yaml says what it is run on, the texts in
/// NAME-texts. Nothing that is there is overwritten.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  headwater new workflow
  headwater new workflow words && headwater run words.yaml --inputs words-data.yaml
  headwater new workflow words -o first    in a folder of its own")]
pub(crate) struct NewWorkflow {
    /// What it is called, and its files
    #[arg(default_value = "workflow")]
    pub(crate) name: String,
    /// Where the files go; the folder is made where there is none [default: this folder]
    #[arg(short, long = "output", value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// Write a study with comments: one that runs as it is, or one of a workflow of yours
///
/// Without --workflow, NAME.yaml is a study that takes a second, and NAME-workflow.yaml the workflow that it studies,
/// which needs a shell and awk. With --workflow, NAME.yaml has the inputs of that workflow, its parameters with their
/// ranges, and an output of it that is a number; what only you can know is left open, and `headwater check NAME.yaml`
/// says what that is. Nothing that is there is overwritten.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  headwater new study && headwater study run study.yaml
  headwater new study --workflow flow.yaml             named like the workflow, with -study
  headwater new study screening --workflow flow.yaml   writes screening.yaml")]
pub(crate) struct NewStudy {
    /// What it is called, and its files [default: study; with --workflow, the name of the workflow and -study]
    pub(crate) name: Option<String>,
    /// The workflow file to study, or a stage descriptor
    #[arg(long, value_name = "FLOW")]
    pub(crate) workflow: Option<PathBuf>,
    /// Where the files go; the folder is made where there is none [default: this folder]
    #[arg(short, long = "output", value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// Write the skeleton of a Rust library with the operations that a stage descriptor names
///
/// The library compiles as it is: each operation has its ports and parameters as types, in a file of its own, whose `run`
/// is yours to write; until then a task that needs it fails and names the file. A test compares library and descriptor,
/// and src/main.rs runs a workflow file with these operations. Nothing that is there is overwritten.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  headwater new operations --from stage.json
  headwater new operations --from stage.json -o cells && cd cells && cargo test")]
pub(crate) struct NewOperations {
    /// The stage descriptor (JSON): docs/study-files.md#stage-descriptors
    #[arg(long, value_name = "FILE")]
    pub(crate) from: PathBuf,
    /// Where the library goes; the folder is made where there is none [default: a folder called like the library]
    #[arg(short, long = "output", value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// The folder with the source of Headwater to build the library with [default: the one that this program was built
    /// from, if it is still there, else this version from the registry]
    #[arg(long, value_name = "DIR")]
    pub(crate) headwater: Option<PathBuf>,
}
