//! The arguments of `headwater imaging`.
//!
//! Law: what a flag means is said here, once, as help.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::common::Cores;
use super::values::extent;

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
    #[command(flatten)]
    pub(crate) cores: Cores,
}

#[derive(Debug, Args)]
pub(crate) struct Segment {
    /// The image: PNG, JPEG or TIFF, also Aperio SVS
    pub(crate) image: PathBuf,
    /// Where the mask goes: a name that ends in .png, .tif or .tiff
    #[arg(short, long = "output", value_name = "MASK")]
    pub(crate) output: PathBuf,
    /// Give a parameter a value, such as G1=60, once for each parameter; any number will do
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Also draw the outlines of the nuclei on the image: a name that ends in .png, .tif or .tiff
    #[arg(long, value_name = "FILE")]
    pub(crate) overlay: Option<PathBuf>,
    /// Compare with this mask, by pixels; whatever is not 0 in it counts as nucleus
    #[arg(long, value_name = "FILE")]
    pub(crate) reference: Option<PathBuf>,
    /// First normalise the stain to that of the standard target, separately for each tile
    #[arg(long)]
    pub(crate) normalize: bool,
    /// Cut the image into tiles of N × N pixels, each an image of its own, for images too large for memory
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(16..=32768))]
    pub(crate) tile: Option<u64>,
    /// Let each tile use N pixels around it, which gives better results at the borders of tiles
    #[arg(long, value_name = "N", default_value_t = 0, requires = "tile", value_parser = clap::value_parser!(u64).range(0..=8192))]
    pub(crate) halo: u64,
    /// Which of the sizes that a slide is stored at, 0 being the full one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) level: usize,
    #[command(flatten)]
    pub(crate) cores: Cores,
}
