//! The arguments of `headwater study` and `headwater tune`.
//!
//! Law: what a flag means is said here, once, as help.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::common::{StudyFile, Work};
use super::values::size;
use super::watching::Watching;

#[derive(Debug, Subcommand)]
pub(crate) enum StudyCommand {
    /// Say what a study would compute, without computing anything
    ///
    /// The plan draws the parameter sets, finds the stages and tasks that they share, looks up which products are
    /// remembered, and cuts the rest into buckets for the given number of workers. Nothing is executed and nothing is written to
    /// the store; where there is none, none is made. Times are forecast where tasks of the workflow ran before
    /// (`headwater tune STUDY` sees to that); otherwise every task counts as one.
    #[command(after_help = "\
Examples:
  headwater study plan moat.yaml                          what is shared, and what is left to do
  headwater study plan moat.yaml --set seed=7             the same with other random choices
  headwater study plan moat.yaml --compare --workers 64   all algorithms that cut it into buckets
  headwater study plan moat.yaml -o samples               and all sets as CSV, Parquet and Dakota")]
    Plan(Box<StudyPlan>),
    Run(Box<StudyRun>),
    Report(StudyReport),
}

#[derive(Debug, Args)]
pub(crate) struct StudyPlan {
    #[command(flatten)]
    pub(crate) study: StudyFile,
    /// Show all algorithms that cut stages into buckets, side by side
    #[arg(long)]
    pub(crate) compare: bool,
    /// For how many workers [default: the cores of this machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) workers: Option<u32>,
    /// What parameter sets share besides whole stages
    #[arg(long, value_enum, default_value_t = ReuseKind::Graph)]
    pub(crate) reuse: ReuseKind,
    /// Compare RTMA and TRTMA exactly as they were published (Barreiros and Teodoro), where Headwater's differ
    #[arg(long, requires = "compare")]
    pub(crate) paper: bool,
    /// At most N stages in a bucket (naive, smart cut, RTMA) [default: 7]
    #[arg(long, value_name = "N", requires = "compare", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) bucket_size: Option<u32>,
    /// At most N buckets [default: 6 per worker, for TRTMA 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_buckets: Option<u32>,
    /// How much memory the products of a bucket may take while it runs (cost-balanced), such as 4GiB [default: any]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) bucket_memory: Option<u64>,
    /// Write the parameter sets there: samples.csv, samples.parquet and samples.dat (Dakota)
    #[arg(short, long = "output", value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReuseKind {
    /// Every task that is the same
    Graph,
    /// Tasks whose stages begin alike: a task is shared if all before it in its stage are
    Chain,
    /// Nothing more
    Stage,
}

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
    #[command(flatten)]
    pub(crate) study: StudyFile,
    #[command(flatten)]
    pub(crate) work: Work,
    /// What parameter sets share. `chain`, `stage` and `none` are for comparison: with them nothing is remembered or looked up
    #[arg(long, value_enum, default_value_t = RunReuse::Content)]
    pub(crate) reuse: RunReuse,
    /// Cut the work into buckets, each one unit, and share within buckets only: equal tasks, or with --reuse chain common beginnings. For comparison: nothing is remembered or looked up
    #[arg(long, value_enum, value_name = "ALGORITHM")]
    pub(crate) buckets: Option<BucketKind>,
    /// At most N stages in a bucket (naive, rtma) [default: 7]
    #[arg(long, value_name = "N", requires = "buckets", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) bucket_size: Option<u32>,
    /// At most N buckets (trtma, cost) [default: 6 per core, for trtma 3]
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
    /// By the reuse tree, at most N stages each
    Rtma,
    /// By the reuse tree, at most N buckets, balanced by the number of tasks
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
    /// The run: its name, the beginning of it, or `last`, the latest of this study
    #[arg(long, value_name = "RUN", default_value = "last")]
    pub(crate) run: String,
    /// Where the report goes [default: report.html in the folder of the run]
    #[arg(short, long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Run one instance of a study, so that its plan knows what tasks cost
///
/// The instance has the default parameters and the first item of each input, and runs on one core. Its products are
/// remembered like those of any run.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  headwater tune moat.yaml && headwater study plan moat.yaml --workers 64")]
pub(crate) struct Tune {
    #[command(flatten)]
    pub(crate) study: StudyFile,
    #[command(flatten)]
    pub(crate) watching: Watching,
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
        assert_eq!(run.study.file, PathBuf::from("moat.yaml"));
        assert_eq!(run.reuse, RunReuse::Content);
        assert_eq!(
            (run.buckets, run.bucket_size, run.max_buckets),
            (None, None, None)
        );
        assert_eq!((run.work.retries, run.work.fail_fast), (0, false));
        assert_eq!(
            (run.work.cores.jobs, run.work.memory, run.work.disk),
            (None, None, None)
        );
        assert!(run.study.set.is_empty() && run.deliver.is_empty() && run.work.resource.is_empty());
        assert_eq!(run.output, None);
    }

    #[test]
    fn a_run_with_everything() {
        let run = run(
            "run moat.yaml --set method.vbd.samples=64 --set seed=2 -j 2 --memory 1GiB --disk 2KiB --retries 3 \
             --fail-fast --resource gpu=2 --deliver mask --deliver overlay -o results",
        );
        assert_eq!(run.study.set, ["method.vbd.samples=64", "seed=2"]);
        assert_eq!(
            (run.work.cores.jobs, run.work.memory, run.work.disk),
            (Some(2), Some(1 << 30), Some(2048))
        );
        assert_eq!((run.work.retries, run.work.fail_fast), (3, true));
        assert_eq!(run.work.resource, [("gpu".to_owned(), 2)]);
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
            assert_eq!((run.buckets, run.bucket_size), (Some(kind), Some(5)));
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
