//! A parameter as a row of levels.
//!
//! Law: from every level a jump up or a jump down leads to another level of the row. Levels rise with the numbers that
//! they stand for. A choice without order has levels too, which are drawn and left: whatever its steps are, all other
//! parameters are where they would be without it.

use super::{Levels, StepLength};
use crate::space::Ruler;
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
    /// The positions of a list of numbers, by rising number.
    rising: Option<Vec<u32>>,
    ruler: Ruler,
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
            rising: domain.rising(),
            ruler: Ruler::new(domain),
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

    /// How many things a choice without order has; `None` for all other parameters.
    pub(super) fn unordered(&self) -> Option<u32> {
        self.domain.count().filter(|_| self.domain.is_unordered())
    }

    /// How long a step from one level to another is, with sign, in parts of the range.
    pub(super) fn length(&self, from: u32, to: u32, wanted: StepLength) -> f64 {
        let nominal = (f64::from(to) - f64::from(from)) / f64::from(self.levels - 1);
        match (wanted, self.position(from).zip(self.position(to))) {
            (StepLength::Nominal, _) => nominal,
            (StepLength::Actual, Some((from, to))) => self.ruler.distance(from, to),
            (StepLength::Actual, None) => {
                let (from, to) = (self.value(from), self.value(to));
                self.domain.way(nominal, from, to)
            }
        }
    }

    /// How long a step between two things of a choice without order is.
    pub(super) fn swing(&self, wanted: StepLength) -> f64 {
        match wanted {
            StepLength::Nominal if !self.own => self.length(0, self.jump(), wanted),
            StepLength::Actual | StepLength::Nominal => self.ruler.distance(0, 1),
        }
    }

    /// The value at a level.
    pub(super) fn value(&self, level: u32) -> f64 {
        match self.values.get(level as usize) {
            Some(value) => *value,
            None => self.make(level),
        }
    }

    /// The value of a discrete parameter at a position.
    pub(super) fn value_at(&self, position: u32) -> f64 {
        self.domain.value(position)
    }

    /// The position of the value at a level; `None` for an interval.
    fn position(&self, level: u32) -> Option<u32> {
        let position = if self.own {
            level
        } else {
            self.domain.nearest_position(self.unit(level))?
        };
        let of_number = self.rising.as_ref();
        Some(of_number.map_or(position, |rising| rising[position as usize]))
    }

    fn make(&self, level: u32) -> f64 {
        match self.position(level) {
            Some(position) => self.domain.value(position),
            None => self.domain.nearest(self.unit(level)),
        }
    }
}
