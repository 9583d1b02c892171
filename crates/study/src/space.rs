//! A parameter space: which parameters are varied, over which values.
//!
//! Law: a discrete parameter only ever takes its own values, bit for bit, however a point was drawn. That is what
//! makes two points equal, and so what makes reuse possible.

use std::sync::Arc;

/// The values that a parameter may take.
#[derive(Debug, Clone, PartialEq)]
pub enum Domain {
    /// Every number from `low` to `high`.
    Interval {
        /// The smallest.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// `low`, `low + step` and so on, `count` values in all.
    Grid {
        /// The smallest.
        low: f64,
        /// The distance of two neighbours.
        step: f64,
        /// How many there are; at least 1.
        count: u32,
    },
    /// One of `count` things without order, by position: 0, 1 and so on.
    Choice {
        /// How many there are; at least 1.
        count: u32,
    },
}

impl Domain {
    /// How many values there are; `None` for all numbers of an interval.
    pub fn count(&self) -> Option<u32> {
        match self {
            Domain::Interval { .. } => None,
            Domain::Grid { count, .. } | Domain::Choice { count } => Some(*count),
        }
    }

    /// The value at a position of a discrete domain, counted from 0. Sums such as 0.1 + 2 × 0.1 come out as people
    /// write them: rounded to 15 significant digits.
    pub fn value(&self, position: u32) -> f64 {
        match self {
            Domain::Interval { low, .. } => *low,
            Domain::Grid { low, step, .. } => as_written(low + step * f64::from(position)),
            Domain::Choice { .. } => f64::from(position),
        }
    }

    /// The smallest and the largest value.
    pub fn bounds(&self) -> (f64, f64) {
        match self {
            Domain::Interval { low, high } => (*low, *high),
            Domain::Grid { count, .. } | Domain::Choice { count } => {
                (self.value(0), self.value(count.saturating_sub(1)))
            }
        }
    }

    /// The value for a coordinate in [0, 1) such that every value of a discrete domain has an equal share of them.
    pub fn at(&self, unit: f64) -> f64 {
        match self.count() {
            None => self.stretch(unit),
            Some(count) => {
                let last = count.saturating_sub(1);
                let position = (unit * f64::from(count)) as u32;
                self.value(position.min(last))
            }
        }
    }

    /// The value nearest to where a coordinate in [0, 1] lies between the smallest and the largest value; of two
    /// equally near ones the larger.
    pub fn nearest(&self, unit: f64) -> f64 {
        match self.count() {
            None => self.stretch(unit),
            Some(count) => {
                let last = count.saturating_sub(1);
                let position = libm::floor(unit * f64::from(last) + 0.5) as u32;
                self.value(position.min(last))
            }
        }
    }

    fn stretch(&self, unit: f64) -> f64 {
        let (low, high) = self.bounds();
        low + unit * (high - low)
    }
}

/// The nearest number of 15 significant digits.
fn as_written(value: f64) -> f64 {
    format!("{value:.14e}").parse().unwrap_or(value)
}

/// A parameter that is varied.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: Arc<str>,
    /// The values it may take.
    pub domain: Domain,
}

/// The parameters that are varied, in the order of the columns of a design.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Space {
    /// The parameters.
    pub parameters: Vec<Parameter>,
}

impl Space {
    /// How many parameters there are.
    pub fn len(&self) -> usize {
        self.parameters.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.parameters.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_grid_are_what_people_write() {
        let grid = Domain::Grid {
            low: 0.1,
            step: 0.1,
            count: 10,
        };
        assert_eq!(grid.value(2).to_bits(), 0.3_f64.to_bits());
        assert_eq!(grid.bounds(), (0.1, 1.0));
    }

    #[test]
    fn equal_shares_and_nearest_values_differ_at_the_ends() {
        let grid = Domain::Grid {
            low: 210.0,
            step: 10.0,
            count: 4,
        };
        let shares: Vec<f64> = [0.0, 0.24, 0.26, 0.99].map(|unit| grid.at(unit)).to_vec();
        assert_eq!(shares, [210.0, 210.0, 220.0, 240.0]);
        let nearest: Vec<f64> = [0.0, 0.16, 0.17, 0.5, 1.0]
            .map(|unit| grid.nearest(unit))
            .to_vec();
        assert_eq!(nearest, [210.0, 210.0, 220.0, 230.0, 240.0]);
    }
}
