//! The command line, as text that teaches.

pub(crate) mod common;
pub(crate) mod dag;
pub(crate) mod imaging;
pub(crate) mod new;
pub(crate) mod products;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod shells;
pub(crate) mod store;
pub(crate) mod study;
mod values;
pub(crate) mod watching;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use common::Common;

/// Runs workflows, and computes every shared piece once.
///
/// A workflow is a YAML file that says which programs to run on which data. Headwater runs it over many
/// inputs, in parallel, remembers every product, and after a failure, a crash or a change runs only what is
/// missing.
#[derive(Debug, Parser)]
#[command(
    name = "headwater",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  headwater check words.yaml                    say what is wrong with a workflow file
  headwater run words.yaml --inputs data.yaml   run it; once more, and only what is missing runs
  headwater runs show                           what became of each task
  headwater study run moat.yaml                 find the parameters that matter
Exit codes: 0 done, 1 work failed, 2 wrong use."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a workflow over its data
    ///
    /// Tasks whose products are remembered are not run again; giving the same command again after a failure
    /// or a crash continues where it stopped. A task that fails stops only what needs its results.
    #[command(after_help = "\
Examples:
  headwater run words.yaml --inputs data.yaml             over this data, on all cores
  headwater run words.yaml --inputs data.yaml --dry-run   only say what would run
  headwater run words.yaml --inputs data.yaml --set shortest=4 -o found
  headwater run words.yaml --inputs data.yaml -j 8 --memory 16GiB --retries 2")]
    Run(Box<run::Run>),
    /// Write files to start from: a workflow, a study, a library of operations
    #[command(after_help = "\
Examples:
  headwater new workflow words                 a workflow and its data, which run as they are
  headwater new study --workflow flow.yaml     a study of a workflow of yours
  headwater new operations --from stage.json   a Rust library for a stage descriptor")]
    New {
        #[command(subcommand)]
        command: new::NewCommand,
    },
    /// Say everything that is wrong with a workflow, data or study file; of a study also with the files that it names
    #[command(after_help = "\
Examples:
  headwater check words.yaml         a workflow
  headwater check data.csv           data; run --dry-run says whether it fits a workflow
  headwater check moat.yaml --json   a study, for a program that reads the answer")]
    Check {
        /// The file (YAML or JSON; data also CSV)
        file: PathBuf,
    },
    /// Print the JSON Schema of a kind of file, for editors
    #[command(after_help = "\
Example:
  headwater schema workflow > workflow.schema.json")]
    Schema {
        /// Which kind
        kind: SchemaKind,
    },
    Dag(dag::Dag),
    /// Look at earlier runs
    #[command(after_help = "\
Examples:
  headwater runs ls
  headwater runs show last")]
    Runs {
        #[command(subcommand)]
        command: runs::RunsCommand,
    },
    /// Say why a run did what it did, or why a task of it ran, or what it reused
    ///
    /// Without a task, the run is compared with the one before it of the same workflow, and what differs is grouped by
    /// what changed first.
    ///
    /// A task that ran is compared with the nearest product that was remembered before: the one that it had in the
    /// latest earlier run, else the most similar one of its operation. What differs is followed upstream to what
    /// changed first: a parameter, a program, a file. A task that was reused names the run that made its product.
    #[command(after_help = "\
Examples:
  headwater explain                       the latest run, beside the one before it
  headwater explain last 'raise.add[0]'   a task of the latest run, by its address
  headwater explain last outputs/last/raised/0.txt
                                          the task that made an output
  headwater explain 20261116-08 3fa94c    by the beginnings of the run's name and of a recipe
`headwater runs show RUN --tasks` lists the addresses of a run's tasks.")]
    Explain {
        /// The run: its name, the beginning of it, or `last`; `last~1` is the one before it of the same workflow
        #[arg(default_value = "last")]
        run: String,
        /// The task: its address, such as 'segment.watershed[3-1]', the beginning of its recipe, an output or its file
        task: Option<String>,
    },
    /// Plan or run a parameter study: which parameters matter, and what parameter sets share
    #[command(after_help = "\
Examples:
  headwater study plan moat.yaml   what it would compute
  headwater study run moat.yaml    compute it, and say which parameters matter")]
    Study {
        #[command(subcommand)]
        command: study::StudyCommand,
    },
    Tune(study::Tune),
    /// Look at what is remembered, check it, throw some of it away
    #[command(after_help = "\
Examples:
  headwater products ls
  headwater products gc --max 50GiB --dry-run")]
    Products {
        #[command(subcommand)]
        command: products::ProductsCommand,
    },
    /// Show which store is used, or make the store of a group
    #[command(after_help = "\
Examples:
  headwater store show
  headwater store init postgresql://olga@db.example/lab --objects /mnt/lab/objects")]
    Store {
        #[command(subcommand)]
        command: store::StoreCommand,
    },
    /// Work on images without a workflow: find cell nuclei, make test images
    #[command(after_help = "\
Examples:
  headwater imaging synth -o tissue.png --mask truth.png
  headwater imaging segment tissue.png -o mask.png --reference truth.png")]
    Imaging {
        #[command(subcommand)]
        command: imaging::ImagingCommand,
    },
    Completions(shells::Completions),
    Man(shells::Man),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaKind {
    /// Workflow files
    Workflow,
    /// Data files (--inputs)
    Data,
    /// Study files
    Study,
    /// Files of operations alone, for programs that make calls
    Operations,
    /// Stage descriptors: JSON that describes one stage and its tasks
    Descriptor,
    /// Settings files (headwater.yaml)
    Settings,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
