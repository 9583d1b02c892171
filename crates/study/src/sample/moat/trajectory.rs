//! Trajectories at random (M. D. Morris, Factorial sampling plans for preliminary computational experiments, 1991).
//!
//! Law: every level is equally likely as a start, every order of the parameters equally likely, and where a jump up
//! and a jump down are both possible, both are equally likely. With an even number of levels one of them is possible,
//! and where a trajectory ends is equally likely everywhere too.

use super::super::draw::Draw;
use super::axis::Axis;

/// A way through the levels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trajectory {
    /// The level of each parameter before its step.
    pub(super) base: Vec<u32>,
    /// The level of each parameter after its step.
    pub(super) after: Vec<u32>,
    /// Which parameters change, first to last.
    pub(super) order: Vec<u32>,
}

/// Trajectories, one after the other. The first ones do not depend on how many are drawn.
pub(super) struct Drawn<'a> {
    axes: &'a [Axis],
    base: Draw,
    direction: Draw,
    order: Draw,
    trajectory: Trajectory,
}

impl Drawn<'_> {
    pub(super) fn new(axes: &[Axis], seed: u64) -> Drawn<'_> {
        Drawn {
            axes,
            base: Draw::new(seed, "moat base", 0),
            direction: Draw::new(seed, "moat direction", 0),
            order: Draw::new(seed, "moat order", 0),
            trajectory: Trajectory {
                base: vec![0; axes.len()],
                after: vec![0; axes.len()],
                order: vec![0; axes.len()],
            },
        }
    }

    pub(super) fn next(&mut self) -> &Trajectory {
        let Trajectory { base, after, order } = &mut self.trajectory;
        for (position, axis) in self.axes.iter().enumerate() {
            let (levels, jump) = (axis.levels(), axis.jump());
            let level = self.base.below(levels);
            let (up, down) = (level < levels - jump, level >= jump);
            let goes_up = up && (!down || self.direction.below(2) == 1);
            base[position] = level;
            after[position] = if goes_up { level + jump } else { level - jump };
            order[position] = position as u32;
        }
        self.order.shuffle(order);
        &self.trajectory
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Levels, axis};
    use super::*;
    use crate::{Domain, Parameter, Space};

    /// Levels and jump add up to more than 2³².
    #[test]
    fn the_most_levels_there_may_be_are_jumped_within() {
        let space = Space {
            parameters: vec![Parameter {
                name: "x".into(),
                domain: Domain::Choice { count: u32::MAX },
            }],
        };
        for levels in [Levels::Each(u32::MAX - 1), Levels::Grid] {
            let axes = axis::axes(&space, levels);
            let (count, jump) = (axes[0].levels(), axes[0].jump());
            let mut drawn = Drawn::new(&axes, 1);
            let mut ups = 0;
            for _ in 0..100 {
                let Trajectory { base, after, .. } = drawn.next();
                assert!(base[0] < count && after[0] < count);
                assert_eq!(base[0].abs_diff(after[0]), jump);
                ups += u32::from(base[0] < after[0]);
            }
            assert!((20..80).contains(&ups), "{ups}");
        }
    }
}
