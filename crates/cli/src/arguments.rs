//! The command line, as text that teaches.

pub(crate) mod dag;
pub(crate) mod new;
pub(crate) mod shells;
pub(crate) mod study;
pub(crate) mod watching;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

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

/// Where help has the flags of every command: apart from those of one.
const EVERY: &str = "Options of every command";

/// Flags of every command.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Print one JSON object on stdout instead of text
    #[arg(long, global = true, help_heading = EVERY)]
    pub(crate) json: bool,
    /// The folder that products are kept in [default: the nearest .headwater in this folder or its parents]
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
    Run(Box<Run>),
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
  headwater check data.csv           data; whether it fits a workflow is told by run --dry-run
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
        command: RunsCommand,
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
        command: StudyCommand,
    },
    /// Run one instance of a study, so that its plan knows what tasks cost
    ///
    /// The instance has the default parameters and the first item of each input, and runs on one core. Its products
    /// are remembered like those of any run.
    #[command(after_help = "\
Example:
  headwater tune moat.yaml && headwater study plan moat.yaml --workers 64")]
    Tune {
        /// The study file (YAML or JSON)
        study: PathBuf,
        /// Change a value of the study file, such as parameters.G1.value=40
        #[arg(long, value_name = "PATH=VALUE")]
        set: Vec<String>,
    },
    /// Look at what is remembered, check it, throw some of it away
    #[command(after_help = "\
Examples:
  headwater products ls
  headwater products gc --max 50GiB --dry-run")]
    Products {
        #[command(subcommand)]
        command: ProductsCommand,
    },
    /// Work on images without a workflow: find cell nuclei, make test images
    #[command(after_help = "\
Examples:
  headwater imaging synth -o tissue.png --mask truth.png
  headwater imaging segment tissue.png -o mask.png --reference truth.png")]
    Imaging {
        #[command(subcommand)]
        command: ImagingCommand,
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
}

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
    /// How many cores to use [default: all of this machine]
    #[arg(short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) jobs: Option<u32>,
    /// How much memory tasks, products and the engine may take together, such as 4GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// How much disk the products in the store may take, such as 50GiB: what no run needs makes room; intermediates take half of it at most and are not kept beyond that, and an output that does not fit fails the run
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) disk: Option<u64>,
    /// How much there is of another resource that operations ask for, such as gpu=2
    #[arg(long, value_name = "NAME=N", value_parser = resource)]
    pub(crate) resource: Vec<(String, u64)>,
    /// How often a failed task is tried again, unless its operation says otherwise
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) retries: u32,
    /// Go on with everything that does not need a failed result (the default)
    #[arg(long, overrides_with = "fail_fast")]
    pub(crate) keep_going: bool,
    /// Start nothing more after the first failure
    #[arg(long)]
    pub(crate) fail_fast: bool,
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
    pub(crate) watching: watching::Watching,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StudyCommand {
    /// Say what a study would compute, without computing anything
    ///
    /// The plan draws the parameter sets, finds the stages and tasks that they share, looks up which products are
    /// remembered, and cuts the rest into buckets for so many workers. Nothing is executed and nothing is written to
    /// the store; where there is none, none is made. Times are forecast where tasks of the workflow ran before
    /// (`headwater tune STUDY` sees to that); otherwise every task counts as one.
    #[command(after_help = "\
Examples:
  headwater study plan moat.yaml                          what is shared, and what is left to do
  headwater study plan moat.yaml --set seed=7             the same with other random choices
  headwater study plan moat.yaml --compare --workers 64   all algorithms that cut it into buckets
  headwater study plan moat.yaml -o samples               and all sets as CSV, Parquet and Dakota")]
    Plan(Box<StudyPlan>),
    Run(Box<study::StudyRun>),
    Report(study::StudyReport),
}

#[derive(Debug, Args)]
pub(crate) struct StudyPlan {
    /// The study file (YAML or JSON)
    pub(crate) study: PathBuf,
    /// Change a value of the study file, such as method.vbd.samples=400, seed=7 or 'until={ci: 0.1}'
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
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
    /// At most so many stages in a bucket (naive, smart cut, RTMA) [default: 7]
    #[arg(long, value_name = "N", requires = "compare", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) bucket_size: Option<u32>,
    /// At most so many buckets [default: 6 per worker, for TRTMA 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) buckets: Option<u32>,
    /// How much memory the products of a bucket may take while it runs (cost-balanced), such as 4GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
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

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List runs, newest first
    #[command(after_help = "\
Examples:
  headwater runs ls -n 5
  headwater runs ls --json")]
    Ls {
        /// At most so many
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Show one run: how it went, stage by stage, what took long and what failed
    #[command(after_help = "\
Examples:
  headwater runs show                 the latest run
  headwater runs show 20261116-0830   by the beginning of its name")]
    Show {
        /// Its name, the beginning of it, or `last`
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
        /// Its name, the beginning of it, or `last`
        #[arg(default_value = "last")]
        run: String,
        /// Where the report goes [default: report.html in the folder of the outputs]
        #[arg(short, long = "output", value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Compare two runs, task by task, and say what changed
    ///
    /// Tasks are matched by their addresses. Those that differ are grouped by what changed first, so that one changed
    /// parameter is one line, whatever it set in motion. One run alone is compared with the one before it of the same
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

#[derive(Debug, Subcommand)]
pub(crate) enum ProductsCommand {
    /// List products, newest first
    #[command(after_help = "\
Example:
  headwater products ls --operation blur --run last")]
    Ls {
        /// Only those of this operation
        #[arg(long, value_name = "NAME")]
        operation: Option<String>,
        /// Only those that this run made: its name, the beginning of it, or `last`
        #[arg(long, value_name = "RUN")]
        run: Option<String>,
        /// At most so many
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Show one product: how it was made, from what, and where its bytes are
    #[command(after_help = "\
Example:
  headwater products show 3fa94c")]
    Show {
        /// The beginning of its recipe, the address of a task of the latest run, or a file among the outputs of a run
        #[arg(value_name = "PRODUCT")]
        recipe: String,
    },
    /// Read everything that is kept and compare it with what was written
    ///
    /// Bytes that are not what they were are set aside, and made again when a run needs them. Ends with exit code 1 if
    /// anything is damaged.
    #[command(after_help = "\
Example:
  headwater products verify && echo all is well")]
    Verify,
    /// Throw bytes away until what is kept is no larger than a given size
    ///
    /// What was cheap to make, large and seldom used goes first. Records stay: a product whose bytes are gone is still
    /// known, and is made again only when something that has to run needs it.
    #[command(after_help = "\
Example:
  headwater products gc --max 50GiB --dry-run")]
    Gc {
        /// How much may stay, such as 50GiB
        #[arg(long, value_name = "SIZE", value_parser = size)]
        max: u64,
        /// Only say what would go
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImagingCommand {
    /// Find the cell nuclei of an image of stained tissue
    ///
    /// Writes a mask: 255 in nuclei, 0 elsewhere. An image that is background or has no nuclei gives an empty mask and
    /// a status that says so; that is a result, and the exit code is 0. Files appear when they are whole.
    ///
    /// Parameters (--set) and their defaults: B 220, G 220, R 220 (what is brighter is background), T1 5, T2 4 (red
    /// blood cells), G1 80, G2 45 (candidates), MinSize 11, MaxSize 1000, MinSizePl 30, MinSizeSeg 21, MaxSizeSeg 1000
    /// (areas in pixels), FillHolesConn 4, ReconConn 8, WatershedConn 8 (4 or 8). docs/nuclei.md tells what each does.
    #[command(after_help = "\
Examples:
  headwater imaging segment tissue.png -o mask.png --overlay outlines.png
  headwater imaging segment tissue.png -o mask.png --set G1=60 --set MinSize=20 --json
  headwater imaging segment tissue.png -o mask.png --reference truth.png   how well the two agree
  headwater imaging segment slide.svs -o mask.tif --tile 4096 --halo 64    a slide of any size
  headwater imaging segment slide.svs -o mask.png --level 1                at a smaller scale of it")]
    Segment(Box<Segment>),
    /// Make a synthetic image of stained tissue, and where its nuclei are
    ///
    /// Pink tissue with nuclei, some of them touching, red blood cells and white lumen. The same arguments give the
    /// same files on every machine; a larger image of the same seed begins with the smaller one. Of any size: memory is
    /// that of a few bands of rows.
    #[command(after_help = "\
Examples:
  headwater imaging synth -o tissue.png --mask truth.png
  headwater imaging synth -o tissue.png --labels nuclei.png --size 2048x2048 --seed 7 --density 0.5
  headwater imaging synth -o slide.tif --mask truth.tif --size 40000x40000
  headwater imaging segment slide.tif -o mask.tif --tile 4096 --reference truth.tif")]
    Synth(Box<Synthesis>),
}

#[derive(Debug, Args)]
pub(crate) struct Synthesis {
    /// Where the image goes: a name that ends in .png, .tif or .tiff
    #[arg(short, long = "output", value_name = "IMAGE")]
    pub(crate) output: PathBuf,
    /// Also write the reference mask: 255 in nuclei, 0 elsewhere
    #[arg(long, value_name = "FILE")]
    pub(crate) mask: Option<PathBuf>,
    /// Also write the nuclei as numbers of 16 bits, from 1 on in reading order, 0 elsewhere
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// How large, in pixels
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "1024x1024", value_parser = extent)]
    pub(crate) size: (usize, usize),
    /// Which of all such images
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How many nuclei, from 0 (none) to 1 (crowded)
    #[arg(long, value_name = "X", default_value_t = 0.8)]
    pub(crate) density: f64,
    /// How many bands to work on at once [default: as many as this machine has cores]
    #[arg(short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) jobs: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Segment {
    /// The image: PNG, JPEG or TIFF, also Aperio SVS
    pub(crate) image: PathBuf,
    /// Where the mask goes: a name that ends in .png, .tif or .tiff
    #[arg(short, long = "output", value_name = "MASK")]
    pub(crate) output: PathBuf,
    /// Give a parameter a value, such as G1=60; any number will do
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Also draw the outlines of the nuclei on the image: a name that ends in .png, .tif or .tiff
    #[arg(long, value_name = "FILE")]
    pub(crate) overlay: Option<PathBuf>,
    /// Compare with this mask, by pixels; whatever is not 0 in it counts as nucleus
    #[arg(long, value_name = "FILE")]
    pub(crate) reference: Option<PathBuf>,
    /// Bring the stain to that of the usual target first, each tile for itself
    #[arg(long)]
    pub(crate) normalize: bool,
    /// Cut the image into tiles of N × N pixels, each an image of its own, for images too large for memory
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(16..=32768))]
    pub(crate) tile: Option<u64>,
    /// Let each tile see so many pixels around it, which makes for better seams
    #[arg(long, value_name = "N", default_value_t = 0, requires = "tile", value_parser = clap::value_parser!(u64).range(0..=8192))]
    pub(crate) halo: u64,
    /// Which of the sizes that a slide is stored at, 0 being the full one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) level: usize,
    /// How many tiles to work on at once [default: as many as this machine has cores]
    #[arg(short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) jobs: Option<u32>,
}

/// `2048x1024`, at least 1 × 1.
fn extent(text: &str) -> Result<(usize, usize), String> {
    let sides = text.split_once(['x', 'X', '×']);
    let side = |text: &str| text.trim().parse().ok().filter(|&side: &usize| side > 0);
    let (width, height) = sides
        .and_then(|(width, height)| Some((side(width)?, side(height)?)))
        .ok_or("expected a width and a height of at least 1 pixel, such as 2048x1024")?;
    Ok((width, height))
}

/// `4GiB`, `500MB`, `1024`.
fn size(text: &str) -> Result<u64, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "kB" | "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        other => {
            return Err(format!(
                "`{other}` is not a unit; use B, KiB, MiB, GiB, TiB, kB, MB, GB or TB"
            ));
        }
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "expected a number and a unit, such as 4GiB".to_owned())?;
    Ok((number * factor as f64) as u64)
}

fn resource(text: &str) -> Result<(String, u64), String> {
    let (name, number) = text
        .split_once('=')
        .ok_or_else(|| "expected NAME=N, such as gpu=2".to_owned())?;
    let number = number
        .parse()
        .map_err(|_| format!("`{number}` is not a whole number"))?;
    Ok((name.to_owned(), number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn sizes() {
        assert_eq!(size("1024"), Ok(1024));
        assert_eq!(size("1.5KiB"), Ok(1536));
        assert_eq!(size("2GB"), Ok(2_000_000_000));
        assert!(size("2 bananas").is_err());
        assert!(size("").is_err());
    }

    #[test]
    fn extents() {
        assert_eq!(extent("2048x1"), Ok((2048, 1)));
        for wrong in ["", "x", "5", "5x", "0x5", "5x0", "-1x5", "5x5x5", "1e3x5"] {
            assert!(extent(wrong).is_err(), "{wrong}");
        }
    }
}
