//! The arguments of `headwater dag`.
//!
//! Law: what a flag means is said here, once, as help.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Draw the graph of a workflow, or of what a run did
///
/// A workflow file is drawn as it is written: its stages as boxes with their tasks, its inputs and outputs, and the
/// data that they pass to each other. Of a study file the workflow is drawn, with the parameters that vary at the tasks
/// that read them. A run is drawn with what became of its tasks: one by one if there are at most 40, else all tasks of
/// one kind as one box with their numbers. Where a sequence of calls made the run, its calls are drawn, with what makes
/// them depend on each other.
///
/// No other program is needed. SVG is a picture for browsers and documents; DOT is for Graphviz; Mermaid is text that
/// code hosts draw in Markdown, in a fenced block of the language `mermaid`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  headwater dag flow.yaml -o flow.svg         a picture of a workflow
  headwater dag last -o run.svg               what the latest run did
  headwater dag last --each -o run.svg        each of its tasks
  headwater dag last --unreduced -o run.svg   each call of its sequence, with all dependences
  headwater dag flow.yaml                     as text for Mermaid; for Markdown in a fenced block
  headwater dag flow.yaml --format dot | dot -Tpdf > flow.pdf")]
pub(crate) struct Dag {
    /// A workflow file, a study file, or a run: its name, the beginning of it, `last`, or the folder of its outputs. A
    /// file that is there wins
    #[arg(value_name = "FLOW|RUN")]
    pub(crate) what: PathBuf,
    /// Where the graph goes: a name that ends in .svg, .dot or .mmd, or `-` for stdout [default: stdout, as Mermaid]
    #[arg(short, long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// In which form [default: as the name of the file says]
    #[arg(long, value_enum)]
    pub(crate) format: Option<DagFormat>,
    /// Draw each task of a run; there have to be at most 200
    #[arg(long, conflicts_with = "grouped")]
    pub(crate) each: bool,
    /// Draw the tasks of one kind as one box, however few there are
    #[arg(long)]
    pub(crate) grouped: bool,
    /// Draw each call of the sequence that made a run with all dependences, also those that others imply; there have to
    /// be at most 200
    #[arg(long, conflicts_with = "grouped")]
    pub(crate) unreduced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DagFormat {
    /// A picture
    Svg,
    /// Text for Graphviz
    Dot,
    /// Text for Mermaid
    Mmd,
}
