//! A parameter space: which parameters are varied, over which values.
//!
//! Law: a discrete parameter only ever takes its own values, bit for bit, however a point was drawn. That is what
//! makes two points equal, and so what makes reuse possible.

mod ruler;

use std::sync::Arc;

pub(crate) use ruler::Ruler;

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
    /// One of some numbers, by position in their list: 0, 1 and so on. Their order and their distances are those of the
    /// numbers, in whatever order the list has them.
    Listed {
        /// The numbers; at least 1.
        numbers: Arc<[f64]>,
    },
}

impl Domain {
    /// How many values there are; `None` for all numbers of an interval.
    pub fn count(&self) -> Option<u32> {
        match self {
            Domain::Interval { .. } => None,
            Domain::Grid { count, .. } | Domain::Choice { count } => Some(*count),
            Domain::Listed { numbers } => Some(u32::try_from(numbers.len()).unwrap_or(u32::MAX)),
        }
    }

    /// Whether its values have no order: three or more things of a choice. Of two things one is the other's only
    /// neighbour, so that their order is as good as any.
    pub fn is_unordered(&self) -> bool {
        matches!(self, Domain::Choice { count } if *count > 2)
    }

    /// The value at a position of a discrete domain, counted from 0. Sums such as 0.1 + 2 × 0.1 come out as people
    /// write them: rounded to 15 significant digits of what was added, so that −0.3 + 3 × 0.1 is 0. Whole numbers in
    /// whole steps are not rounded: they are exact up to 2⁵³.
    pub fn value(&self, position: u32) -> f64 {
        match self {
            Domain::Interval { low, .. } => *low,
            Domain::Grid { low, step, .. } => {
                let way = step * f64::from(position);
                let sum = low + way;
                if is_whole(*low) && is_whole(*step) {
                    sum
                } else {
                    as_written_beside(sum, low.abs().max(way.abs()))
                }
            }
            Domain::Choice { .. } | Domain::Listed { .. } => f64::from(position),
        }
    }

    /// The smallest and the largest value; of things in a list the first and the last position.
    pub fn bounds(&self) -> (f64, f64) {
        match self {
            Domain::Interval { low, high } => (*low, *high),
            Domain::Grid { .. } | Domain::Choice { .. } | Domain::Listed { .. } => {
                let last = self.count().map_or(0, |count| count.saturating_sub(1));
                (self.value(0), self.value(last))
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

    /// The value nearest to where a coordinate in [0, 1] lies between the smallest and the largest value, or between the
    /// first and the last position; of two equally near ones the larger.
    pub fn nearest(&self, unit: f64) -> f64 {
        match self.nearest_position(unit) {
            None => self.stretch(unit),
            Some(position) => self.value(position),
        }
    }

    /// The position of the value that [`nearest`](Self::nearest) gives; `None` for an interval.
    pub(crate) fn nearest_position(&self, unit: f64) -> Option<u32> {
        let last = self.count()?.saturating_sub(1);
        Some((libm::floor(unit * f64::from(last) + 0.5) as u32).min(last))
    }

    /// The position of a value of a discrete domain; `None` for an interval and for what is not a value of it.
    pub fn position(&self, value: f64) -> Option<u32> {
        let last = self.count()?.checked_sub(1)?;
        let (low, high) = self.bounds();
        let guess = match last {
            0 => 0,
            _ => libm::floor((value - low) / (high - low) * f64::from(last) + 0.5) as u32,
        };
        (guess <= last && self.value(guess) == value).then_some(guess)
    }

    /// How far two values are apart, with sign, in parts of the range: the smallest and the largest are 1 apart. Numbers
    /// of a list are as far apart as the numbers are. Two different things without order are 1 apart, and where there
    /// are three or more of them there is no sign.
    pub fn step(&self, from: f64, to: f64) -> f64 {
        match (self.position(from), self.position(to)) {
            (Some(from), Some(to)) => Ruler::new(self).distance(from, to),
            _ => {
                let (low, high) = self.bounds();
                (to - from) / (high - low)
            }
        }
    }

    /// How long a step of an interval is that goes so far in the unit cube. Where numbers lie close it is as long as was
    /// meant. A range so narrow that few numbers lie in it takes the nearest of these, and the step is the way between
    /// them; it may be none.
    pub(crate) fn way(&self, meant: f64, from: f64, to: f64) -> f64 {
        const ROUNDING: f64 = 1e-9;
        let taken = self.step(from, to);
        if (taken - meant).abs() <= ROUNDING {
            meant
        } else {
            taken
        }
    }

    /// The positions of a list of numbers, the smallest number first; `None` where positions rise anyway.
    pub(crate) fn rising(&self) -> Option<Vec<u32>> {
        let Domain::Listed { numbers } = self else {
            return None;
        };
        let mut positions: Vec<u32> = (0..self.count()?).collect();
        positions.sort_by(|one, other| numbers[*one as usize].total_cmp(&numbers[*other as usize]));
        Some(positions)
    }

    /// Whether there is at least one value, and every value is a number.
    pub fn is_sound(&self) -> bool {
        match self {
            Domain::Interval { low, high } => low <= high && (high - low).is_finite(),
            Domain::Grid { low, step, count } => {
                let (_, last) = self.bounds();
                *count > 0 && *step != 0.0 && low.is_finite() && last.is_finite()
            }
            Domain::Choice { count } => *count > 0,
            Domain::Listed { numbers } => {
                !numbers.is_empty() && numbers.iter().all(|number| number.is_finite())
            }
        }
    }

    /// Whether there is a single value, so that the parameter cannot be varied.
    pub fn is_fixed(&self) -> bool {
        match self {
            Domain::Interval { low, high } => low == high,
            Domain::Grid { count, .. } | Domain::Choice { count } => *count <= 1,
            Domain::Listed { numbers } => numbers.len() <= 1,
        }
    }

    /// Rounding never leads out of an interval.
    fn stretch(&self, unit: f64) -> f64 {
        let (low, high) = self.bounds();
        (low + unit * (high - low)).min(high).max(low)
    }
}

fn is_whole(value: f64) -> bool {
    libm::trunc(value) == value
}

/// The nearest number of 15 significant digits.
fn as_written(value: f64) -> f64 {
    quickly_as_written(value).unwrap_or_else(|| format!("{value:.14e}").parse().unwrap_or(value))
}

/// The same without a detour through text, where it is certain. Of `value × 10^n`, with fifteen digits before the
/// point, the nearest whole number and 10^n are exact, so that their quotient is the double nearest to that decimal.
/// Which whole number is nearest is in doubt only where the rounded product lies halfway between two; then there is no
/// answer.
fn quickly_as_written(value: f64) -> Option<f64> {
    const FIFTEEN: f64 = 1e15;
    let size = value.abs();
    if size < FIFTEEN && is_whole(size) {
        return Some(value);
    }
    if !(1e-6..FIFTEEN).contains(&size) {
        return None;
    }
    // The first power of ten that makes fifteen digits before the point; powers up to 10^22 are exact.
    let mut power = 1.0;
    while size * power < FIFTEEN / 10.0 {
        power *= 10.0;
    }
    let digits = size * power;
    let whole = libm::floor(digits);
    let part = digits - whole;
    if part == 0.5 {
        return None;
    }
    let whole = if part < 0.5 { whole } else { whole + 1.0 };
    Some((whole / power).copysign(value))
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

/// The sum of numbers of which the larger is `scale`, rounded to 15 significant digits of that.
fn as_written_beside(sum: f64, scale: f64) -> f64 {
    let power = |number: f64| libm::floor(libm::log10(number.abs()));
    if sum == 0.0 || power(sum) >= power(scale) {
        return as_written(sum);
    }
    let decimals = 14.0 - power(scale);
    if !(0.0..=300.0).contains(&decimals) {
        return as_written(sum);
    }
    let written = format!("{sum:.*}", decimals as usize).parse();
    // A zero has no sign here.
    written.unwrap_or(sum) + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_across_zero_have_a_zero_and_its_neighbours() {
        for (low, step, count) in [
            (-0.3, 0.1, 7),
            (-0.7, 0.1, 15),
            (-2.9, 0.1, 30),
            (-14.0, 0.7, 29),
            (-1.2, 0.3, 9),
        ] {
            let grid = Domain::Grid { low, step, count };
            for position in 0..count {
                // Whole tenths, exactly.
                let tenths = (low * 10.0_f64).round() + (step * 10.0).round() * f64::from(position);
                let exact: f64 = format!("{:.1}", tenths / 10.0).parse().unwrap();
                let value = grid.value(position);
                assert_eq!(
                    value.to_bits(),
                    (exact + 0.0).to_bits(),
                    "{value} is {exact}"
                );
            }
        }
    }

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
    fn large_whole_numbers_are_exact() {
        for (low, step) in [(1e15, 1.0), (9_007_199_254_740_992.0, -1.0), (-1e15, -3.0)] {
            let grid = Domain::Grid {
                low,
                step,
                count: 10,
            };
            for position in 0..10 {
                let exact = low as i64 + step as i64 * i64::from(position);
                assert_eq!(grid.value(position) as i64, exact);
                assert_eq!(grid.position(exact as f64), Some(position));
            }
            assert_eq!(grid.bounds(), (low, low + 9.0 * step));
        }
    }

    #[test]
    fn the_quick_way_to_write_a_number_is_the_way_through_text() {
        let mut quick = 0;
        for step in [0.1, 0.001, 0.05, 0.7, 1.0 / 3.0, 12.34, 1e-5, 1e9 + 0.1] {
            for position in -2000..2000 {
                let value = 0.3 + step * f64::from(position);
                let text: f64 = format!("{value:.14e}").parse().unwrap();
                assert_eq!(as_written(value).to_bits(), text.to_bits(), "{value:e}");
                quick += u32::from(quickly_as_written(value).is_some());
            }
        }
        assert!(quick > 20_000, "{quick} of 32,000");
        let mut bits = 1_u64;
        for number in 0..50_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let size = 10_f64.powi(number % 24 - 8);
            let value = (bits >> 11) as f64 / (1_u64 << 53) as f64 * size;
            let text: f64 = format!("{value:.14e}").parse().unwrap();
            assert_eq!(as_written(-value).to_bits(), (-text).to_bits(), "{value:e}");
        }
        // Halfway between two numbers of 15 digits, as near as a double comes to it.
        for number in 0..20_000 {
            let value = (1e15 + 5.0 + 10.0 * f64::from(number)) / 1e16;
            let text: f64 = format!("{value:.14e}").parse().unwrap();
            assert_eq!(as_written(value).to_bits(), text.to_bits(), "{value:e}");
        }
    }

    /// -6 + (-1.8 - -6) is a little more than -1.8.
    #[test]
    fn rounding_does_not_lead_out_of_an_interval() {
        let interval = Domain::Interval {
            low: -6.0,
            high: -1.8,
        };
        assert_eq!(interval.nearest(1.0), -1.8);
        assert_eq!(interval.nearest(0.0), -6.0);
    }

    #[test]
    fn positions_lead_back_from_values() {
        let grid = Domain::Grid {
            low: 2.5,
            step: 0.1,
            count: 11,
        };
        for position in 0..11 {
            assert_eq!(grid.position(grid.value(position)), Some(position));
        }
        for stranger in [2.4, 2.55, 3.6, f64::NAN, f64::INFINITY] {
            assert_eq!(grid.position(stranger), None);
        }
        assert_eq!(grid.step(2.6, 3.3), 0.7);
        assert_eq!(grid.step(3.3, 2.6), -0.7);
        let down = Domain::Grid {
            low: 5.0,
            step: -1.0,
            count: 3,
        };
        assert_eq!(down.position(3.0), Some(2));
        let interval = Domain::Interval {
            low: -1.0,
            high: 3.0,
        };
        assert_eq!(interval.position(0.0), None);
        assert_eq!(interval.step(0.0, 1.0), 0.25);
    }

    #[test]
    fn numbers_of_a_list_are_as_far_apart_as_they_are() {
        let listed = |numbers: &[f64]| Domain::Listed {
            numbers: numbers.into(),
        };
        let uneven = listed(&[0.1, 0.2, 0.3, 0.9]);
        assert_eq!(uneven.step(0.0, 3.0), 1.0);
        assert!((uneven.step(0.0, 1.0) - 0.125).abs() < 1e-15);
        assert!((uneven.step(3.0, 2.0) + 0.75).abs() < 1e-15);
        assert_eq!(uneven.rising(), Some(vec![0, 1, 2, 3]));
        // The order is that of the numbers, and the range theirs.
        let mixed = listed(&[3.0, -1.0, 1.0]);
        assert_eq!(mixed.step(0.0, 1.0), -1.0);
        assert_eq!(mixed.step(1.0, 2.0), 0.5);
        assert_eq!(mixed.rising(), Some(vec![1, 2, 0]));
        assert_eq!((mixed.at(0.99), mixed.nearest(0.5)), (2.0, 1.0));
        let wide = listed(&[-f64::MAX, 0.0, f64::MAX]);
        assert_eq!((wide.step(0.0, 1.0), wide.step(0.0, 2.0)), (0.5, 1.0));
        let narrow = listed(&[0.0, 5e-324]);
        assert_eq!(narrow.step(0.0, 1.0), 1.0);
        assert_eq!(listed(&[0.0, -0.0]).step(0.0, 1.0), 0.0);
        assert!(!listed(&[]).is_sound());
        assert!(!listed(&[1.0, f64::INFINITY]).is_sound());
        assert!(listed(&[1.0]).is_fixed());
    }

    #[test]
    fn three_things_have_no_order_and_two_have_one() {
        let choice = |count| Domain::Choice { count };
        assert_eq!(
            (choice(2).step(0.0, 1.0), choice(2).step(1.0, 0.0)),
            (1.0, -1.0)
        );
        assert!(!choice(2).is_unordered());
        for (from, to, step) in [(0.0, 1.0, 1.0), (3.0, 1.0, 1.0), (2.0, 2.0, 0.0)] {
            assert_eq!(choice(4).step(from, to), step);
        }
        assert!(choice(3).is_unordered());
    }

    #[test]
    fn domains_without_values_and_with_one_are_told() {
        let interval = |low, high| Domain::Interval { low, high };
        let grid = |step, count| Domain::Grid {
            low: 1.0,
            step,
            count,
        };
        assert!(!interval(2.0, 1.0).is_sound());
        assert!(!interval(f64::NAN, 1.0).is_sound());
        assert!(!interval(-f64::MAX, f64::MAX).is_sound());
        assert!(!grid(0.0, 3).is_sound());
        assert!(!grid(1.0, 0).is_sound());
        assert!(!grid(f64::INFINITY, 3).is_sound());
        assert!(!Domain::Choice { count: 0 }.is_sound());
        assert!(interval(1.0, 1.0).is_sound() && interval(1.0, 1.0).is_fixed());
        assert!(grid(1.0, 1).is_sound() && grid(1.0, 1).is_fixed());
        assert!(!grid(1.0, 2).is_fixed());
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
