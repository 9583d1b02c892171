//! The arguments of `headwater study run` and `headwater study report`.
//!
//! Law: what a flag means is said here, once, as help.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::watching::Watching;
use super::{resource, size};

/// Run a study: which parameters matter, how sure that is, and what sharing saved
///
/// Evaluates the objective at all parameter sets of the design, for each item of the inputs, and computes sensitivity
/// indices with intervals. Whatever several sets have in common is computed once, and what is remembered from earlier
/// runs is not computed again: giving the same command again after a failure or a crash goes on where it stopped, and a
/// study that was made larger runs only what is new. A phase with `until` ends as soon as its intervals are narrow
/// enough.
///
/// While it runs, the terminal shows the answer so far. At the end there are report.html (to be read), results.json (to
/// be computed with) and samples.parquet (parameter sets and values).
///
/// An evaluation that fails is left out and counted; the rest still gives indices. The next run tries it again. The exit
/// code is 1 if any failed or the run was stopped.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  headwater study run moat.yaml                               the whole study, on all cores
  headwater study run moat.yaml -j 8 --memory 16GiB -o found  within limits, to a folder of its own
  headwater study run vbd.yaml --set method.vbd.samples=2048  a larger one; what is known is reused
  headwater study run moat.yaml --deliver mask                with the mask of every evaluation
  headwater study run moat.yaml --reuse none                  how long it takes if nothing is shared
`headwater study plan STUDY` says beforehand how much there is to do.")]
pub(crate) struct StudyRun {
    /// The study file (YAML or JSON)
    pub(crate) study: PathBuf,
    /// Change a value of the study file, such as method.vbd.samples=2048, seed=7 or 'until={ci: 0.1}'
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// How many cores to use [default: all of this machine]
    #[arg(short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) jobs: Option<u32>,
    /// How much memory running tasks and live products may take, such as 4GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// How much disk the products in the store may take, such as 50GiB: what no run needs makes room; intermediates take half of it at most and are not kept beyond that
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) disk: Option<u64>,
    /// How much there is of another resource that operations ask for, such as gpu=2
    #[arg(long, value_name = "NAME=N", value_parser = resource)]
    pub(crate) resource: Vec<(String, u64)>,
    /// How often a failed task is tried again, unless its operation says otherwise
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) retries: u32,
    /// Start nothing more after the first failure
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// What parameter sets share. `chain`, `stage` and `none` are for comparison: with them nothing is remembered or looked up
    #[arg(long, value_enum, default_value_t = RunReuse::Content)]
    pub(crate) reuse: RunReuse,
    /// Cut the work into buckets, each one unit, and share within buckets only: equal tasks, or with --reuse chain common beginnings. For comparison: nothing is remembered or looked up
    #[arg(long, value_enum, value_name = "ALGORITHM")]
    pub(crate) buckets: Option<BucketKind>,
    /// At most so many stages in a bucket (naive, rtma)
    #[arg(long, value_name = "N", default_value_t = 7, requires = "buckets", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) bucket_size: u32,
    /// At most so many buckets (trtma, cost) [default: 6 per core, for trtma 3]
    #[arg(long, value_name = "N", requires = "buckets", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_buckets: Option<u32>,
    /// Where the report and the results go; a new or empty folder [default: outputs/RUN]
    #[arg(short, long = "output", value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Also write this output of the workflow, of every evaluation: OUTPUT/SET-INDEX.EXT in that folder, values as OUTPUT/values.csv
    #[arg(long, value_name = "OUTPUT")]
    pub(crate) deliver: Vec<String>,
    #[command(flatten)]
    pub(crate) watching: Watching,
}

/// What is shared by a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunReuse {
    /// Every task that is the same, also those that turn out to read the same contents
    Content,
    /// Every task that is the same; contents are not compared
    Graph,
    /// Whole stages, and tasks whose stages begin alike: a task is shared if all before it in its stage are
    Chain,
    /// Whole stages only
    Stage,
    /// Nothing: every evaluation computes everything
    None,
}

/// How work is cut into buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BucketKind {
    /// So many stages each, in the order in which they come
    Naive,
    /// By the reuse tree, so many stages each
    Rtma,
    /// By the reuse tree, so many buckets, balanced by the number of tasks
    Trtma,
    /// As trtma, balanced by what tasks are known to cost
    Cost,
}

/// Write the report of a study that was run, without running anything
///
/// One file that needs no network: the ranked parameters with intervals, charts, what failed, and what sharing saved.
/// It is made from what the run wrote down.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  headwater study report moat.yaml                     the latest run of this study
  headwater study report moat.yaml --run 20261116-08   an earlier one
  headwater study report moat.yaml -o moat.html        to a file of your choice")]
pub(crate) struct StudyReport {
    /// The study file (YAML or JSON)
    pub(crate) study: PathBuf,
    /// Which run: its name, the beginning of it, or `last`, the latest of this study
    #[arg(long, value_name = "RUN", default_value = "last")]
    pub(crate) run: String,
    /// Where the report goes [default: report.html in the folder of the run]
    #[arg(short, long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;
    use clap::{CommandFactory, Parser, Subcommand};

    use super::*;

    /// As the command line has them.
    #[derive(Debug, Parser)]
    #[command(name = "study")]
    struct Study {
        #[command(subcommand)]
        command: Command,
    }

    #[derive(Debug, Subcommand)]
    enum Command {
        Run(Box<StudyRun>),
        Report(StudyReport),
    }

    fn parse(arguments: &str) -> Result<Command, clap::Error> {
        let words = ["study"].into_iter().chain(arguments.split_whitespace());
        Study::try_parse_from(words).map(|study| study.command)
    }

    fn run(arguments: &str) -> StudyRun {
        match parse(arguments) {
            Ok(Command::Run(run)) => *run,
            other => panic!("not a run: {other:?}"),
        }
    }

    fn refused(arguments: &str) -> ErrorKind {
        match parse(arguments) {
            Err(error) => error.kind(),
            Ok(command) => panic!("taken: {command:?}"),
        }
    }

    #[test]
    fn a_run_without_flags_shares_everything() {
        Study::command().debug_assert();
        let run = run("run moat.yaml");
        assert_eq!(run.study, PathBuf::from("moat.yaml"));
        assert_eq!(run.reuse, RunReuse::Content);
        assert_eq!(
            (run.buckets, run.bucket_size, run.max_buckets),
            (None, 7, None)
        );
        assert_eq!((run.retries, run.fail_fast), (0, false));
        assert_eq!((run.jobs, run.memory, run.disk), (None, None, None));
        assert!(run.set.is_empty() && run.deliver.is_empty() && run.resource.is_empty());
        assert_eq!(run.output, None);
    }

    #[test]
    fn a_run_with_everything() {
        let run = run(
            "run moat.yaml --set method.vbd.samples=64 --set seed=2 -j 2 --memory 1GiB --disk 2KiB --retries 3 \
             --fail-fast --resource gpu=2 --deliver mask --deliver overlay -o results",
        );
        assert_eq!(run.set, ["method.vbd.samples=64", "seed=2"]);
        assert_eq!(
            (run.jobs, run.memory, run.disk),
            (Some(2), Some(1 << 30), Some(2048))
        );
        assert_eq!((run.retries, run.fail_fast), (3, true));
        assert_eq!(run.resource, [("gpu".to_owned(), 2)]);
        assert_eq!(run.deliver, ["mask", "overlay"]);
        assert_eq!(run.output, Some(PathBuf::from("results")));
    }

    #[test]
    fn ways_to_share_and_buckets() {
        for (name, reuse) in [
            ("none", RunReuse::None),
            ("stage", RunReuse::Stage),
            ("chain", RunReuse::Chain),
            ("graph", RunReuse::Graph),
            ("content", RunReuse::Content),
        ] {
            assert_eq!(run(&format!("run a --reuse {name}")).reuse, reuse);
        }
        for (name, kind) in [
            ("naive", BucketKind::Naive),
            ("rtma", BucketKind::Rtma),
            ("trtma", BucketKind::Trtma),
            ("cost", BucketKind::Cost),
        ] {
            let text = format!("run a --buckets {name} --bucket-size 5 --max-buckets 12");
            let run = run(&text);
            assert_eq!((run.buckets, run.bucket_size), (Some(kind), 5));
            assert_eq!(run.max_buckets, Some(12));
        }
        let both = run("run a --buckets rtma --reuse chain");
        assert_eq!(
            (both.buckets, both.reuse),
            (Some(BucketKind::Rtma), RunReuse::Chain)
        );
        for lonely in ["--bucket-size 5", "--max-buckets 5"] {
            let kind = refused(&format!("run a {lonely}"));
            assert_eq!(kind, ErrorKind::MissingRequiredArgument);
        }
        let none = refused("run a --buckets rtma --bucket-size 0");
        assert_eq!(none, ErrorKind::ValueValidation);
        assert_eq!(refused("run a --reuse some"), ErrorKind::InvalidValue);
    }

    #[test]
    fn a_report_is_of_the_latest_run_unless_told() {
        let Ok(Command::Report(report)) = parse("report moat.yaml") else {
            panic!("not a report");
        };
        assert_eq!((&*report.run, report.output), ("last", None));
        let Ok(Command::Report(report)) = parse("report moat.yaml --run 2026 -o a.html") else {
            panic!("not a report");
        };
        assert_eq!(report.study, PathBuf::from("moat.yaml"));
        let output = Some(PathBuf::from("a.html"));
        assert_eq!((&*report.run, report.output), ("2026", output));
    }

    #[test]
    fn help_teaches_without_a_word_in_the_enum() {
        for (name, word) in [("run", "Run a study"), ("report", "Write the report")] {
            let mut command = Study::command();
            command.build();
            let found = command
                .find_subcommand_mut(name)
                .map(clap::Command::render_long_help);
            let help = found.map(|help| help.to_string()).unwrap_or_default();
            assert!(help.starts_with(word), "{help}");
            let (_, examples) = help.split_once("Examples:\n").expect("examples");
            for line in examples.lines() {
                assert!(line.chars().count() <= 100, "it would wrap: {line}");
            }
        }
    }
}
