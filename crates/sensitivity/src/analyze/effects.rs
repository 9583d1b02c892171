//! From the outputs at the points of a design to a list of effects for each parameter.
//!
//! Law: the effect of a step is the change of the output ÷ the length of the step, and it counts if both its ends have
//! a finite output; otherwise it is lost, and no other effect with it. A step of no length has no effect, whatever its
//! ends are. So lists differ in length from parameter to parameter, are no longer than the number of steps times that
//! of tiles, and may be empty. They are in the order of their values: nothing depends on the order of the steps.
//!
//! Of a choice without order an effect is the size of the change: which of two things comes first means nothing.

use super::{AnalyzeError, number};
use crate::sample::MoatDesign;

/// The effects of a parameter.
#[derive(Debug)]
pub(super) struct Effects {
    /// On all tiles, rising.
    pub(super) values: Vec<f64>,
    /// Of the steps that have an effect on any tile, rising.
    pub(super) steps: Vec<StepSizes>,
    /// Whether they have signs.
    pub(super) signed: bool,
    /// How many are missing, because an end has no finite output.
    pub(super) lost: usize,
    /// How many there cannot be, because the step has no length.
    pub(super) no_step: usize,
}

/// The sizes of the effects that one step has on the tiles. They come from the same two points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StepSizes {
    /// Their sum.
    pub(super) sum: f64,
    /// How many there are; at least 1.
    pub(super) count: f64,
}

/// The effects of each parameter of a design, from the outputs of its tiles.
pub(super) fn gather(
    design: &MoatDesign,
    tiles: &[&[Option<f64>]],
) -> Result<Vec<Effects>, AnalyzeError> {
    let (points, parameters) = (design.points.len(), design.points.width());
    let empty = |position: usize| Effects {
        values: Vec::new(),
        steps: Vec::new(),
        signed: !design.is_unordered(position),
        lost: 0,
        no_step: 0,
    };
    let mut gathered: Vec<Effects> = (0..parameters).map(empty).collect();
    for (position, step) in design.moves.iter().enumerate() {
        let (from, to) = (step.from as usize, step.to as usize);
        let of = step.parameter as usize;
        if from >= points || to >= points || of >= parameters {
            return Err(AnalyzeError::Step {
                step: position,
                from: step.from,
                to: step.to,
                parameter: step.parameter,
                points,
                parameters,
            });
        }
        let of = &mut gathered[of];
        if step.delta == 0.0 {
            of.no_step += tiles.len();
            continue;
        }
        let mut sizes = StepSizes {
            sum: 0.0,
            count: 0.0,
        };
        for outputs in tiles {
            let ends = number(outputs[from]).zip(number(outputs[to]));
            let effect = ends.map(|(before, after)| (after - before) / step.delta);
            match number(effect) {
                None => of.lost += 1,
                Some(effect) => {
                    let size = effect.abs();
                    of.values.push(if of.signed { effect } else { size });
                    sizes.sum += size;
                    sizes.count += 1.0;
                }
            }
        }
        if sizes.count > 0.0 {
            of.steps.push(sizes);
        }
    }
    for effects in &mut gathered {
        effects.values.sort_by(f64::total_cmp);
        effects.steps.sort_by(|one, other| {
            let by_sum = one.sum.total_cmp(&other.sum);
            by_sum.then(one.count.total_cmp(&other.count))
        });
    }
    Ok(gathered)
}
