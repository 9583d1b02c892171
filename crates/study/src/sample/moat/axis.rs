//! A parameter as a row of levels.
//!
//! Law: from every level a jump up or a jump down leads to another level of the row.

use super::Levels;
use crate::{Domain, Space};

/// How many levels an interval has where the others have as many as they have values: the default of a design with
/// one number for all.
const INTERVAL_LEVELS: u32 = 20;

/// More values than these are made when they are asked for.
const LIMIT: u32 = 4096;

/// The levels of one parameter.
pub(super) struct Axis {
    domain: Domain,
    levels: u32,
    /// Whether levels are the values of the domain themselves; else they lie evenly between its ends.
    own: bool,
    values: Vec<f64>,
}

/// The levels of all parameters. Each has at least two.
pub(super) fn axes(space: &Space, levels: Levels) -> Vec<Axis> {
    let axis = |domain: &Domain| {
        let (count, own) = match (levels, domain.count()) {
            (Levels::Each(count), _) => (count, false),
            (Levels::Grid, Some(count)) => (count, true),
            (Levels::Grid, None) => (INTERVAL_LEVELS, false),
        };
        let mut axis = Axis {
            domain: domain.clone(),
            levels: count,
            own,
            values: Vec::new(),
        };
        if count <= LIMIT {
            axis.values = (0..count).map(|level| axis.make(level)).collect();
        }
        axis
    };
    space
        .parameters
        .iter()
        .map(|parameter| axis(&parameter.domain))
        .collect()
}

impl Axis {
    /// How many levels there are.
    pub(super) fn levels(&self) -> u32 {
        self.levels
    }

    /// How many levels a step jumps: half of them, rounded down. That is at least 1.
    pub(super) fn jump(&self) -> u32 {
        self.levels / 2
    }

    /// Where a level lies between the first (0) and the last (1).
    pub(super) fn unit(&self, level: u32) -> f64 {
        f64::from(level) / f64::from(self.levels - 1)
    }

    /// How far a step goes in the unit cube, with sign.
    pub(super) fn delta(&self, from: u32, to: u32) -> f64 {
        (f64::from(to) - f64::from(from)) / f64::from(self.levels - 1)
    }

    /// The value at a level.
    pub(super) fn value(&self, level: u32) -> f64 {
        match self.values.get(level as usize) {
            Some(value) => *value,
            None => self.make(level),
        }
    }

    fn make(&self, level: u32) -> f64 {
        if self.own {
            self.domain.value(level)
        } else {
            self.domain.nearest(self.unit(level))
        }
    }
}
