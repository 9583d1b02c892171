//! Sensitivity indices, from a design and what came out at its points.
//!
//! Law: `analyze::x` reads what `sample::x` makes, and nothing else. An output that is missing or not a finite number
//! costs the effects that need it and nothing more; each result says how much counted and how much was lost.
//!
//! | file | noun |
//! | --- | --- |
//! | `effects` | a list of effects for each parameter, from one-at-a-time designs |
//! | `moat` | what is said of these: their means, their deviation, their intervals |
//! | `vbd` | shares of the variance, from designs of base points |
//! | `interval` | how far an index may be off |
//! | `bootstrap` | drawing a sample again from itself |
//! | `student` | quantiles |
//!
//! Where a study has several tiles, `tiles` gives the indices of each and those of all together. Pooling keeps to one
//! principle: what a parameter does on one tile cannot cancel what it does on another. MOAT takes the effects of all
//! tiles together; VBD divides the sum of the tiles' effects by the sum of their variances.
//!
//! ```
//! use headwater_sensitivity::analyze::{self, Bootstrap};
//! use headwater_sensitivity::functions::Ishigami;
//! use headwater_sensitivity::sample::{self, Sampler, Vbd};
//!
//! let function = Ishigami::default();
//! let wanted = Vbd { samples: 1024, sampler: Sampler::Sobol, second_order: false };
//! let design = sample::vbd::design(&function.space(), &wanted, 1)?;
//! let outputs: Vec<Option<f64>> = design.points.rows().map(|row| Some(function.at(row))).collect();
//! let indices = analyze::vbd::indices(&design, &outputs, &Bootstrap::default())?;
//! assert_eq!(indices.ranking(), [0, 1, 2]);
//! assert!(indices.parameters[0].total.covers(0.5576));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bootstrap;
mod effects;
mod interval;
pub mod moat;
mod student;
pub mod vbd;

pub use moat::{Effect, MoatIndices};
pub use vbd::{PairShare, Share, VbdIndices};

/// How many resamples there may be: the indices of each are kept until all are made.
pub const MOST_RESAMPLES: u32 = 100_000;

/// How confidence intervals are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// How many times the sample is drawn again from itself; with fewer than two there are no intervals.
    pub resamples: u32,
    /// The level, such as 0.95.
    pub confidence: f64,
    /// Which of the random sequences.
    pub seed: u64,
}

impl Default for Bootstrap {
    /// 100 resamples at 0.95, as SALib has it.
    fn default() -> Bootstrap {
        Bootstrap {
            resamples: 100,
            confidence: 0.95,
            seed: 0,
        }
    }
}

/// An index and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate; not a number where nothing is known.
    pub value: f64,
    /// The interval is `value ± half_width`; not a number where it cannot be told.
    pub half_width: f64,
}

impl Estimate {
    /// Nothing is known.
    pub const UNKNOWN: Estimate = Estimate {
        value: f64::NAN,
        half_width: f64::NAN,
    };

    /// Whether a value lies in the interval.
    pub fn covers(&self, value: f64) -> bool {
        (self.value - value).abs() <= self.half_width
    }
}

/// The indices of a study of several tiles.
#[derive(Debug, Clone, PartialEq)]
pub struct Tiles<I> {
    /// Those of each tile.
    pub each: Vec<I>,
    /// Those of all tiles together.
    pub pooled: I,
}

impl<I> Tiles<I> {
    /// The indices of each tile and of all, where `pooled` takes the outputs of any number of tiles together.
    fn by(
        tiles: &[&[Option<f64>]],
        pooled: impl Fn(&[&[Option<f64>]]) -> Result<I, AnalyzeError>,
    ) -> Result<Tiles<I>, AnalyzeError> {
        let all = pooled(tiles)?;
        let each = tiles.iter().map(|outputs| pooled(&[outputs]));
        Ok(Tiles {
            each: each.collect::<Result<_, _>>()?,
            pooled: all,
        })
    }
}

/// Why there are no indices.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnalyzeError {
    /// As many outputs as points are needed.
    #[error(
        "tile {tile} has {outputs} outputs for the {points} points of the design: give one for each point, in the \
         order of the points, and a missing one as missing"
    )]
    Outputs {
        /// Which tile, counted from 1.
        tile: usize,
        /// How many outputs it has.
        outputs: usize,
        /// How many are wanted.
        points: usize,
    },
    /// The number of points is not that of the design that is announced.
    #[error(
        "a design of {samples} base points and {parameters} parameters {} has {expected} points, this one has {points}: \
         was it made with{} second order?",
        if *second_order { "with second order" } else { "without second order" },
        if *second_order { "out" } else { "" }
    )]
    Rows {
        /// How many base points it announces.
        samples: u32,
        /// How many parameters.
        parameters: usize,
        /// Whether it announces rows for the effects of pairs.
        second_order: bool,
        /// How many points that makes.
        expected: u64,
        /// How many there are.
        points: usize,
    },
    /// A step that leads out of the design.
    #[error(
        "step {step} goes from point {from} to point {to} by parameter {parameter} (all counted from 0), but the design \
         has {points} points and {parameters} parameters"
    )]
    Step {
        /// The position of the step.
        step: usize,
        /// The point before it.
        from: u32,
        /// The point after it.
        to: u32,
        /// The parameter it changes.
        parameter: u32,
        /// How many points there are.
        points: usize,
        /// How many parameters.
        parameters: usize,
    },
    /// More resamples than anybody needs.
    #[error(
        "{0} resamples are more than the {MOST_RESAMPLES} there may be; a hundred to a thousand make good intervals"
    )]
    Resamples(u32),
    /// A confidence level that is none.
    #[error("a confidence level lies between 0 and 1, such as 0.95, but this one is {0}")]
    Confidence(f64),
}

/// Whether each tile has one output per point.
fn check_outputs(points: usize, tiles: &[&[Option<f64>]]) -> Result<(), AnalyzeError> {
    match tiles.iter().position(|tile| tile.len() != points) {
        None => Ok(()),
        Some(position) => Err(AnalyzeError::Outputs {
            tile: position + 1,
            outputs: tiles[position].len(),
            points,
        }),
    }
}

/// The output, if it is there and finite.
fn number(output: Option<f64>) -> Option<f64> {
    output.filter(|value| value.is_finite())
}

/// The largest of some half-widths; `None` where one is not known, or there are none.
fn widest(half_widths: impl Iterator<Item = f64>) -> Option<f64> {
    let mut widest = None;
    for half_width in half_widths {
        if half_width.is_nan() {
            return None;
        }
        widest = Some(half_width.max(widest.unwrap_or(0.0)));
    }
    widest
}

/// Positions by falling value, those that are not numbers last; equal ones in their order.
fn falling(values: &[f64]) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..values.len()).collect();
    let key = |position: usize| {
        let value = values[position];
        if value.is_nan() {
            f64::NEG_INFINITY
        } else {
            value
        }
    };
    positions.sort_by(|&one, &other| key(other).total_cmp(&key(one)));
    positions
}
