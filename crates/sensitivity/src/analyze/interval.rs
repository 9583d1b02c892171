//! How far an index may be off: a studentised bootstrap that is never narrower than Student's interval.
//!
//! Law: an interval is a function of a list of numbers whose mean is the index: its effects, or its pseudo-values. With
//! their standard error s, it is ± q s, where q is what |mean ÷ standard error| stays below in as large a part of the
//! resamples as the confidence level says. So a sample with a long tail, whose standard error is too small just when its
//! mean is too small, gets a wider interval than an even one. q lies between Student's t for the number of values and
//! [`WIDEST`] times that: the former because a hundred resamples say too little where there are few values, the latter
//! because a resample of equal values has no standard error. Fewer than two values or two resamples make no interval.
//!
//! How often such intervals hold the true value is measured in `tests/indices/coverage.rs`.

use super::student;
use super::{AnalyzeError, Bootstrap, MOST_RESAMPLES};

/// How many times as wide as Student's an interval may be.
const WIDEST: f64 = 2.0;

/// A number that differs from the mean by so small a part of the largest is the mean: a resample of such numbers would
/// tell of nothing but rounding.
const ROUNDING: f64 = 1e-12;

impl Bootstrap {
    /// Whether intervals can be made by these settings.
    pub(super) fn check(&self) -> Result<(), AnalyzeError> {
        if self.resamples > MOST_RESAMPLES {
            return Err(AnalyzeError::Resamples(self.resamples));
        }
        if self.confidence > 0.0 && self.confidence < 1.0 {
            Ok(())
        } else {
            Err(AnalyzeError::Confidence(self.confidence))
        }
    }

    /// Whether this number of values has an interval.
    pub(super) fn tells(&self, values: usize) -> bool {
        self.resamples >= 2 && values >= 2
    }
}

/// Numbers less their mean, brought near 1 so that no square is too large or too small.
#[derive(Debug)]
pub(super) struct Deviations {
    pub(super) values: Vec<f64>,
    /// What they were multiplied by: a power of two, which changes no digit.
    scale: f64,
}

impl Deviations {
    pub(super) fn of(values: &[f64]) -> Deviations {
        let count = values.len() as f64;
        // In parts, so that the sum of large numbers is one too.
        let near: f64 = values.iter().map(|value| value / count).sum();
        let mean = near
            + values
                .iter()
                .map(|value| (value - near) / count)
                .sum::<f64>();
        let largest = values
            .iter()
            .map(|value| (value - mean).abs())
            .fold(0.0, f64::max);
        let (_, exponent) = libm::frexp(largest);
        let scale = libm::ldexp(1.0, -exponent.clamp(-1000, 1000));
        let size = values.iter().map(|value| value.abs()).fold(0.0, f64::max);
        let deviation = |value: &f64| match value - mean {
            rounded if rounded.abs() <= size * ROUNDING => 0.0,
            other => other * scale,
        };
        Deviations {
            values: values.iter().map(deviation).collect(),
            scale,
        }
    }

    /// The standard error of their mean, in the unit of the numbers themselves.
    pub(super) fn error(&self) -> f64 {
        let count = self.values.len() as f64;
        let squares: f64 = self.values.iter().map(|value| value * value).sum();
        (squares / (count * (count - 1.0))).sqrt() / self.scale
    }
}

/// How many of its own standard errors the mean of a resample of so many deviations lies from 0, given their sum and
/// that of their squares. Infinite where all are the same, and not 0.
pub(super) fn studentised(count: f64, sum: f64, squares: f64) -> f64 {
    let mean = sum / count;
    let variance = (squares / count - mean * mean).max(0.0) / (count - 1.0);
    if mean == 0.0 {
        0.0
    } else {
        mean.abs() / variance.sqrt()
    }
}

/// How many standard errors an interval reaches to either side, for one number of values after the other.
#[derive(Debug)]
pub(super) struct Reach {
    confidence: f64,
    /// The last number of values, and Student's t for it.
    known: (usize, f64),
}

impl Reach {
    pub(super) fn new(bootstrap: &Bootstrap) -> Reach {
        Reach {
            confidence: bootstrap.confidence,
            known: (0, f64::NAN),
        }
    }

    /// From what [`studentised`] gives for each resample of so many values; these are brought into another order.
    pub(super) fn of(&mut self, count: usize, resamples: &mut [f64]) -> f64 {
        if self.known.0 != count {
            self.known = (
                count,
                student::two_sided(self.confidence, count.saturating_sub(1)),
            );
        }
        let least = self.known.1;
        quantile(resamples, self.confidence).clamp(least, WIDEST * least)
    }
}

/// What a part of some numbers stays below: between the two of them where it falls between two, and the largest where it
/// falls beyond.
fn quantile(numbers: &mut [f64], part: f64) -> f64 {
    let Some(last) = numbers.len().checked_sub(1) else {
        return f64::NEG_INFINITY;
    };
    let place = (part * (numbers.len() + 1) as f64 - 1.0).clamp(0.0, last as f64);
    let (below, rest) = (place.floor() as usize, place.fract());
    let (_, found, above) = numbers.select_nth_unstable_by(below, f64::total_cmp);
    let next = above.iter().copied().fold(f64::INFINITY, f64::min);
    // Infinite ones have no difference.
    if rest > 0.0 && *found < next {
        *found + (next - *found) * rest
    } else {
        *found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_lies_between_its_neighbours() {
        let numbers = || [3.0, 1.0, 4.0, 2.0];
        assert_eq!(quantile(&mut numbers(), 0.2), 1.0);
        assert_eq!(quantile(&mut numbers(), 0.5), 2.5);
        assert_eq!(quantile(&mut numbers(), 0.99), 4.0);
        assert_eq!(quantile(&mut numbers(), 0.01), 1.0);
        let infinite = f64::INFINITY;
        assert_eq!(quantile(&mut [1.0, infinite, infinite], 0.5), infinite);
        assert_eq!(quantile(&mut [1.0, infinite], 0.5), infinite);
    }

    #[test]
    fn the_error_of_a_mean_is_that_of_the_books_at_any_size() {
        for size in [1e-300, 1.0, 1e300] {
            let values = [1.0, 2.0, 4.0].map(|value: f64| value * size);
            let error = Deviations::of(&values).error();
            let expected = (7.0_f64 / 9.0).sqrt() * size;
            assert!((error / expected - 1.0).abs() < 1e-12, "{error}");
        }
        assert_eq!(Deviations::of(&[2.5; 8]).error(), 0.0);
    }

    #[test]
    fn what_is_the_mean_but_for_rounding_is_the_mean() {
        // 0.1 + 0.2 and 0.3 are not equal.
        let found = Deviations::of(&[0.2, 0.1 + 0.2, 0.3, 0.3, 0.4]);
        assert_eq!(found.values[1..4], [0.0; 3]);
        assert!((found.values[0] + found.values[4]).abs() < 1e-12 && found.values[4] > 0.5);
    }

    #[test]
    fn a_resample_of_equal_values_says_nothing() {
        assert_eq!(studentised(4.0, 0.0, 0.0), 0.0);
        assert_eq!(studentised(4.0, 2.0, 1.0), f64::INFINITY);
        // −1, 1, 1, 1: a mean of ½, of which the standard error is ½.
        assert_eq!(studentised(4.0, 2.0, 4.0), 1.0);
    }
}
