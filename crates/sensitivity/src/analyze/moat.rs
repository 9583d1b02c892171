//! Effects of each parameter, from one-at-a-time designs (Morris 1991; μ* from Campolongo et al. 2007).
//!
//! Law: what is said of a parameter is said of the effects that it has, however many these are. The order of the steps
//! does not matter, not even to the intervals. What an interval is stands in `interval.rs`: here its values are the
//! sizes of the effects.
//!
//! Where nothing is missing and all steps are nominal, μ, μ* and σ are those of `SALib.analyze.morris`.

use super::bootstrap::{Draws, Spread};
use super::effects::{self, Effects, StepSizes};
use super::interval::{Deviations, Reach, studentised};
use super::{AnalyzeError, Bootstrap, Estimate, Tiles, check_outputs, falling, widest};
use crate::sample::MoatDesign;

/// The fewest effects with which a parameter has a rank: intervals of fewer hold the true value too rarely.
pub const FEWEST_EFFECTS: usize = 8;

/// What a parameter does to the output, per unit of its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// μ: the mean of the effects. Not a number where none counts, nor for a choice without order: its effects have no
    /// sign.
    pub mu: f64,
    /// μ*: the mean of their absolute values. An effect that stands alone has no interval.
    pub mu_star: Estimate,
    /// σ: their standard deviation (that of a sample: divided by one less than their number). Not a number where fewer
    /// than two count.
    pub sigma: f64,
    /// How many effects count.
    pub used: usize,
    /// How many steps they come from: of several tiles, fewer than there are effects, since those of a step belong
    /// together.
    pub steps: usize,
    /// How many do not, because an end has no finite output.
    pub lost: usize,
    /// How many are none, because the step has no length: it landed on the value that it came from.
    pub no_step: usize,
}

/// The effects of all parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct MoatIndices {
    /// One per parameter, in the order of the columns of the design.
    pub parameters: Vec<Effect>,
}

impl MoatIndices {
    /// The positions of the parameters by falling μ*; those of which nothing is known come last.
    pub fn ranking(&self) -> Vec<usize> {
        let sizes: Vec<f64> = self
            .parameters
            .iter()
            .map(|effect| effect.mu_star.value)
            .collect();
        falling(&sizes)
    }

    /// How wide half the widest interval of μ* is, as a part of the largest μ*. Not known where an interval is not
    /// known, nor where every effect is 0: there is nothing yet to have a part of.
    pub fn widest(&self) -> Option<f64> {
        let effects = || self.parameters.iter().map(|effect| effect.mu_star);
        let largest = effects().map(|effect| effect.value).fold(0.0, f64::max);
        let width = widest(effects().map(|effect| effect.half_width))?;
        (largest > 0.0).then_some(width / largest)
    }

    /// Whether every parameter has [`FEWEST_EFFECTS`].
    pub fn enough(&self) -> bool {
        let mut effects = self.parameters.iter();
        effects.all(|effect| effect.steps >= FEWEST_EFFECTS)
    }

    /// Whether the half-widths of the intervals of all μ* are at most so large a part of the largest μ*; where that is
    /// not known, or there are not [`enough`](Self::enough) effects, they are not.
    pub fn within(&self, part: f64) -> bool {
        self.enough() && self.widest().is_some_and(|widest| widest <= part)
    }
}

/// The indices of a design, from one output per point.
///
/// The interval of μ* is made by drawing as many effects of the parameter as count again from themselves: a studentised
/// bootstrap, at least as wide as Student's interval.
///
/// # Errors
///
/// If there are not as many outputs as points, a step leads out of the design, the confidence level is none, or there are
/// more resamples than [`MOST_RESAMPLES`](super::MOST_RESAMPLES).
pub fn indices(
    design: &MoatDesign,
    outputs: &[Option<f64>],
    bootstrap: &Bootstrap,
) -> Result<MoatIndices, AnalyzeError> {
    pooled(design, &[outputs], bootstrap)
}

/// The indices of each tile, and those of all together.
///
/// # Errors
///
/// As [`indices`].
pub fn tiles(
    design: &MoatDesign,
    tiles: &[&[Option<f64>]],
    bootstrap: &Bootstrap,
) -> Result<Tiles<MoatIndices>, AnalyzeError> {
    Tiles::by(tiles, |tiles| pooled(design, tiles, bootstrap))
}

/// The indices of several tiles that were evaluated at the points of one design.
///
/// The effects of all tiles are taken together: μ, μ* and σ are those of one large sample, so that effects of opposite
/// sign on two tiles do not cancel in μ*, and σ has the differences between tiles in it. The effects of one step on
/// all tiles are drawn again together, since they come from the same two points.
///
/// # Errors
///
/// As [`indices`].
pub fn pooled(
    design: &MoatDesign,
    tiles: &[&[Option<f64>]],
    bootstrap: &Bootstrap,
) -> Result<MoatIndices, AnalyzeError> {
    bootstrap.check()?;
    check_outputs(design.points.len(), tiles)?;
    let gathered = effects::gather(design, tiles)?;
    let mut reach = Reach::new(bootstrap);
    let parameters = gathered
        .iter()
        .enumerate()
        .map(|(position, effects)| summary(effects, bootstrap, &mut reach, position as u64))
        .collect();
    Ok(MoatIndices { parameters })
}

/// What is said of the effects of a parameter.
fn summary(effects: &Effects, bootstrap: &Bootstrap, reach: &mut Reach, sequence: u64) -> Effect {
    let count = effects.values.len() as f64;
    let mut spread = Spread::default();
    effects.values.iter().for_each(|&value| spread.add(value));
    // 0 ÷ 0 is not a number.
    let mean = |part: fn(f64) -> f64| effects.values.iter().copied().map(part).sum::<f64>() / count;
    Effect {
        mu: if effects.signed {
            mean(|value| value)
        } else {
            f64::NAN
        },
        mu_star: Estimate {
            value: mean(f64::abs),
            half_width: half_width(&sizes(&effects.steps), bootstrap, reach, sequence),
        },
        sigma: spread.deviation(),
        used: effects.values.len(),
        steps: effects.steps.len(),
        lost: effects.lost,
        no_step: effects.no_step,
    }
}

/// The size of the effect of each step. Where it has more effects at one step than at another, because some are
/// lost, these are the pseudo-values of μ*: what each step adds to it.
fn sizes(steps: &[StepSizes]) -> Vec<f64> {
    let Some(first) = steps.first() else {
        return Vec::new();
    };
    if steps.iter().all(|step| step.count == first.count) {
        return steps.iter().map(|step| step.sum / step.count).collect();
    }
    let many = steps.len() as f64;
    let (sum, count) = steps.iter().fold((0.0, 0.0), |all, step| {
        (all.0 + step.sum, all.1 + step.count)
    });
    let without = |step: &StepSizes| (sum - step.sum) / (count - step.count);
    steps
        .iter()
        .map(|step| many * (sum / count) - (many - 1.0) * without(step))
        .collect()
}

/// Half the interval of the mean of the sizes of some effects; not a number for fewer than two.
fn half_width(sizes: &[f64], bootstrap: &Bootstrap, reach: &mut Reach, sequence: u64) -> f64 {
    if !bootstrap.tells(sizes.len()) {
        return f64::NAN;
    }
    // Their mean may be rounded, so that they would seem to differ from it.
    if sizes.iter().all(|size| *size == sizes[0]) {
        return 0.0;
    }
    let deviations = Deviations::of(sizes);
    let count = sizes.len();
    let mut draws = Draws::new(bootstrap.seed, sequence);
    let mut resample = || {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..count {
            let value = deviations.values[draws.below(count)];
            sum += value;
            squares += value * value;
        }
        studentised(count as f64, sum, squares)
    };
    let mut resamples: Vec<f64> = (0..bootstrap.resamples).map(|_| resample()).collect();
    reach.of(count, &mut resamples) * deviations.error()
}
