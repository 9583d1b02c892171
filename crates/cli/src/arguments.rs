//! The command line, as text that teaches.

pub(crate) mod common;
pub(crate) mod dag;
pub(crate) mod imaging;
pub(crate) mod products;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod shells;
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
    /// Say everything that is wrong with a workflow file, or with a study file and the files that it names
    #[command(after_help = "\
Examples:
  headwater check words.yaml         a workflow
  headwater check moat.yaml --json   a study, for a program that reads the answer")]
    Check {
        /// The file (YAML or JSON)
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
    /// Say why a task ran, or what it reused
    ///
    /// A task that ran is compared with the nearest product that was remembered before: the one that it had in the
    /// latest earlier run, else the most similar one of its operation. What differs is followed upstream to what
    /// changed first: a parameter, a program, a file. A task that was reused names the run that made its product.
    #[command(after_help = "\
Examples:
  headwater explain last 'raise.add[0]'   a task of the latest run, by its address
  headwater explain 20261116-08 3fa94c    by the beginnings of the run's name and of a recipe
`headwater runs show RUN --tasks` lists the addresses of a run's tasks.")]
    Explain {
        /// The run: its name, the beginning of it, or `last`
        run: String,
        /// The task: its address, such as 'segment.watershed[3-1]', or the beginning of its recipe
        task: String,
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
