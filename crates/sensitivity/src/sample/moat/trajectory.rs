//! Trajectories at random (M. D. Morris, Factorial sampling plans for preliminary computational experiments, 1991).
//!
//! Law: every level is equally likely as a start, every order of the parameters equally likely, and where a jump up
//! and a jump down are both possible, both are equally likely. With an even number of levels one of them is possible,
//! and where a trajectory ends is equally likely everywhere too. A choice without order starts at any of its things and
//! steps to any other, all equally likely, by a stream of its own.

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
    /// Of each choice without order, in the order of the parameters: its parameter, and its things before and after its
    /// step. They take the place of its levels.
    pub(super) swings: Vec<Swing>,
}

/// A step of a choice without order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Swing {
    pub(super) parameter: u32,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Where the steps of a choice without order come from: a stream for each parameter.
pub(super) struct Choosing {
    parameter: u32,
    count: u32,
    draw: Draw,
}

impl Choosing {
    pub(super) fn new(parameter: usize, count: u32, seed: u64) -> Choosing {
        Choosing {
            parameter: parameter as u32,
            count,
            draw: Draw::new(seed, "moat choice", parameter as u64),
        }
    }

    /// Any of the things.
    fn any(&mut self) -> u32 {
        self.draw.below(self.count)
    }

    /// Any but this one.
    pub(super) fn other(&mut self, than: u32) -> u32 {
        let drawn = self.draw.below(self.count - 1);
        drawn + u32::from(drawn >= than)
    }

    fn swing(&mut self) -> Swing {
        let from = self.any();
        Swing {
            parameter: self.parameter,
            from,
            to: self.other(from),
        }
    }
}

/// Trajectories, one after the other. The first ones do not depend on how many are drawn.
pub(super) struct Drawn<'a> {
    axes: &'a [Axis],
    base: Draw,
    direction: Draw,
    order: Draw,
    choosing: Vec<Choosing>,
    trajectory: Trajectory,
}

impl Drawn<'_> {
    pub(super) fn new(axes: &[Axis], seed: u64) -> Drawn<'_> {
        let choosing = axes.iter().enumerate();
        let choosing = choosing
            .filter_map(|(place, axis)| Some(Choosing::new(place, axis.unordered()?, seed)));
        Drawn {
            choosing: choosing.collect(),
            axes,
            base: Draw::new(seed, "moat base", 0),
            direction: Draw::new(seed, "moat direction", 0),
            order: Draw::new(seed, "moat order", 0),
            trajectory: Trajectory {
                base: vec![0; axes.len()],
                after: vec![0; axes.len()],
                order: vec![0; axes.len()],
                swings: Vec::new(),
            },
        }
    }

    pub(super) fn next(&mut self) -> &Trajectory {
        let Trajectory {
            base,
            after,
            order,
            swings,
        } = &mut self.trajectory;
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
        swings.clear();
        swings.extend(self.choosing.iter_mut().map(Choosing::swing));
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
