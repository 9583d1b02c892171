//! Effects of each parameter, from one-at-a-time designs (Morris 1991; μ* from Campolongo et al. 2007).
//!
//! Law: what is said of a parameter is said of the effects that it has, however many these are. The order of the steps
//! does not matter, not even to the intervals.
//!
//! Where nothing is missing and all steps are nominal, μ, μ* and σ are those of `SALib.analyze.morris`.

use super::bootstrap::{Draws, Spread};
use super::effects::{self, Effects, StepSizes};
use super::{AnalyzeError, Bootstrap, Estimate, Tiles, check_outputs, falling, widest};
use crate::sample::MoatDesign;

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

    /// Whether the half-widths of the intervals of all μ* are at most so large a part of the largest μ*; where that is
    /// not known they are not.
    pub fn within(&self, part: f64) -> bool {
        self.widest().is_some_and(|widest| widest <= part)
    }
}

/// The indices of a design, from one output per point.
///
/// The interval of μ* is made by drawing as many effects of the parameter as count again from themselves.
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
    let reach = bootstrap.reach()?;
    check_outputs(design.points.len(), tiles)?;
    let parameters = effects::gather(design, tiles)?
        .iter()
        .enumerate()
        .map(|(position, effects)| told(effects, bootstrap, reach, position as u64))
        .collect();
    Ok(MoatIndices { parameters })
}

/// What is said of the effects of a parameter.
fn told(effects: &Effects, bootstrap: &Bootstrap, reach: f64, sequence: u64) -> Effect {
    let count = effects.values.len() as f64;
    let mut spread = Spread::default();
    effects.values.iter().for_each(|&value| spread.add(value));
    // 0 ÷ 0 is not a number.
    let mean = |part: fn(f64) -> f64| effects.values.iter().copied().map(part).sum::<f64>() / count;
    Effect {
        mu: match effects.signed {
            true => mean(|value| value),
            false => f64::NAN,
        },
        mu_star: Estimate {
            value: mean(f64::abs),
            half_width: reach * deviation_of_mu_star(&effects.steps, bootstrap, sequence),
        },
        sigma: spread.deviation(),
        used: effects.values.len(),
        lost: effects.lost,
        no_step: effects.no_step,
    }
}

/// The standard deviation of μ* over the resamples.
fn deviation_of_mu_star(steps: &[StepSizes], bootstrap: &Bootstrap, sequence: u64) -> f64 {
    let mut over_resamples = Spread::default();
    if steps.len() < 2 {
        return over_resamples.deviation();
    }
    let mut draws = Draws::new(bootstrap.seed, sequence);
    for _ in 0..bootstrap.resamples {
        let (mut sum, mut count) = (0.0, 0.0);
        for _ in 0..steps.len() {
            let step = steps[draws.below(steps.len())];
            sum += step.sum;
            count += step.count;
        }
        over_resamples.add(sum / count);
    }
    over_resamples.deviation()
}
