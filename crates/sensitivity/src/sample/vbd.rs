//! Designs for the decomposition of variance (Sobol' indices).
//!
//! Law: per base point the rows are A, AB_1 … AB_k, (BA_1 … BA_k,) B, where AB_i is A with parameter i from B.

use super::table::Table;
use super::{SampleError, check, check_finite, count_rows, unit};
use crate::{Points, Space};

/// How base points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampler {
    /// Independently (Monte Carlo).
    Mc,
    /// One in each of as many slices of each parameter (Latin hypercube). The only one that cannot be continued.
    Lhs,
    /// A scrambled Halton sequence.
    Halton,
    /// A scrambled Sobol' sequence.
    Sobol,
}

impl Sampler {
    /// Whether a sample of more rows begins with the sample of fewer, given the same seed: a study can then grow and
    /// keep what it has evaluated. The slices of a Latin hypercube are as many as its rows, so that one of more rows
    /// is another one altogether.
    pub fn extends(self) -> bool {
        match self {
            Sampler::Mc | Sampler::Halton | Sampler::Sobol => true,
            Sampler::Lhs => false,
        }
    }
}

/// What design is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vbd {
    /// How many base points: n of n(k+2).
    pub samples: u32,
    /// How they are drawn.
    pub sampler: Sampler,
    /// Whether effects of pairs are wanted: n(2k+2) rows instead of n(k+2).
    pub second_order: bool,
}

/// The rows to evaluate.
#[derive(Debug, Clone, PartialEq)]
pub struct VbdDesign {
    /// The rows, base point after base point.
    pub points: Points,
    /// How many base points.
    pub samples: u32,
    /// Whether the rows BA_i are there.
    pub second_order: bool,
}

/// Base points by a sampler: one sample of the unit cube with two coordinates per parameter, the first half of them
/// for A, the second for B. Costs O(rows × parameters).
///
/// A parameter with a single value is let through: its share of the variance is 0.
///
/// # Errors
///
/// If the space has no parameters or one without values, if there are more than [`MOST_VALUES`](super::MOST_VALUES) values or none, or if no sequence of
/// that kind is known in two dimensions per parameter.
pub fn design(space: &Space, wanted: &Vbd, seed: u64) -> Result<VbdDesign, SampleError> {
    check(space)?;
    let parameters = space.len();
    let group = group(parameters, wanted.second_order);
    let rows = count_rows(wanted.samples, group, parameters, "samples")?;
    let tables = Table::shares(space);
    let cube = unit(wanted.sampler, wanted.samples, 2 * parameters, seed)?;
    let mut values = Vec::with_capacity(rows as usize * parameters);
    let mut both = vec![0.0; 2 * parameters];
    for row in cube.rows() {
        for (position, (value, unit)) in both.iter_mut().zip(row).enumerate() {
            *value = tables[position % parameters].at(*unit);
        }
        let (a, b) = both.split_at(parameters);
        values.extend_from_slice(a);
        mix(&mut values, a, b);
        if wanted.second_order {
            mix(&mut values, b, a);
        }
        values.extend_from_slice(b);
    }
    Ok(VbdDesign {
        points: Points::from_values(parameters, values),
        samples: wanted.samples,
        second_order: wanted.second_order,
    })
}

impl VbdDesign {
    /// A design from own points, such as those of SALib's `sobol.sample`.
    ///
    /// # Errors
    ///
    /// If the points have another width, are no whole number of base points, or do not come in the order of the law.
    pub fn from_points(
        points: Points,
        parameters: usize,
        second_order: bool,
    ) -> Result<VbdDesign, SampleError> {
        if points.width() != parameters {
            return Err(SampleError::Width {
                found: points.width(),
                expected: parameters,
            });
        }
        if parameters == 0 {
            return Err(SampleError::NoParameters);
        }
        let group = group(parameters, second_order);
        if points.is_empty() {
            return Err(SampleError::Nothing { what: "samples" });
        }
        if !points.len().is_multiple_of(group) {
            return Err(SampleError::Rows {
                rows: points.len(),
                group,
                what: order(second_order),
            });
        }
        let samples = u32::try_from(points.len() / group).unwrap_or(u32::MAX);
        count_rows(samples, group, parameters, "samples")?;
        check_finite(&points, |column| (column + 1).to_string().into())?;
        for first in (0..points.len()).step_by(group) {
            check_mixture(&points, first, group, second_order)?;
        }
        Ok(VbdDesign {
            points,
            samples,
            second_order,
        })
    }

    /// How many rows belong to a base point: k+2 or 2k+2.
    pub fn group(&self) -> usize {
        group(self.points.width(), self.second_order)
    }

    /// The first so many base points and their rows; the whole design if it has no more. Costs O(rows × parameters)
    /// of what is kept.
    ///
    /// Where the sampler [`extends`](Sampler::extends), this is the design of so many samples and the same seed.
    pub fn prefix(&self, samples: u32) -> VbdDesign {
        let samples = samples.min(self.samples);
        let rows = (samples as usize).saturating_mul(self.group());
        VbdDesign {
            points: self.points.prefix(rows),
            samples,
            second_order: self.second_order,
        }
    }
}

/// How many rows belong to a base point.
fn group(parameters: usize, second_order: bool) -> usize {
    if second_order {
        2 * parameters + 2
    } else {
        parameters + 2
    }
}

/// The order of rows, for messages.
fn order(second_order: bool) -> &'static str {
    if second_order {
        "A, AB_1 … AB_k, BA_1 … BA_k, B: 2k+2 for k parameters"
    } else {
        "A, AB_1 … AB_k, B: k+2 for k parameters"
    }
}

/// Adds a row per parameter: `one`, with that parameter from `other`.
fn mix(values: &mut Vec<f64>, one: &[f64], other: &[f64]) {
    for (position, value) in other.iter().enumerate() {
        let start = values.len();
        values.extend_from_slice(one);
        values[start + position] = *value;
    }
}

/// Whether the rows of a base point are mixed of its first and its last as the law says.
fn check_mixture(
    points: &Points,
    first: usize,
    group: usize,
    second_order: bool,
) -> Result<(), SampleError> {
    let parameters = points.width();
    let (a, b) = (points.row(first), points.row(first + group - 1));
    for row in 1..group - 1 {
        let changed = (row - 1) % parameters;
        let turned = row > parameters;
        for (column, value) in points.row(first + row).iter().enumerate() {
            let from_b = (column == changed) != turned;
            let (origin, expected) = if from_b { ('B', b) } else { ('A', a) };
            if *value != expected[column] {
                return Err(SampleError::Mixture {
                    sample: first / group + 1,
                    row: first + row + 1,
                    column: column + 1,
                    origin,
                    order: order(second_order),
                });
            }
        }
    }
    Ok(())
}
