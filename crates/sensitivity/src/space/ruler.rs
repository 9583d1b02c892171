//! How far the values of a discrete parameter are apart.
//!
//! Law: lengths are in parts of the range: the smallest and the largest value are 1 apart. Values of a grid are evenly
//! apart, numbers of a list as the numbers are, and two different things without order 1, without a sign.

use std::sync::Arc;

use super::Domain;

/// What distances between positions are measured with.
#[derive(Debug, Clone)]
pub(crate) enum Ruler {
    /// Neighbours are evenly apart; how many steps there are from the first to the last.
    Even(u32),
    /// All are 1 apart.
    Unordered,
    /// As numbers are.
    Numbers {
        /// By position.
        numbers: Arc<[f64]>,
        /// By position: how many numbers are smaller.
        ranks: Vec<u32>,
        /// The range, after both its ends were multiplied by `scale`.
        range: f64,
        /// 1; but ½ where the range would be beyond all numbers.
        scale: f64,
    },
}

impl Ruler {
    /// The ruler of a domain; of an interval, which has no positions, there is none that measures anything.
    pub(crate) fn new(domain: &Domain) -> Ruler {
        match domain {
            Domain::Choice { .. } if domain.is_unordered() => Ruler::Unordered,
            Domain::Listed { numbers } => {
                let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
                let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let mut ranks = vec![0; numbers.len()];
                for (rank, position) in (0..).zip(domain.rising().unwrap_or_default()) {
                    ranks[position as usize] = rank;
                }
                let scale = if (high - low).is_finite() { 1.0 } else { 0.5 };
                Ruler::Numbers {
                    numbers: Arc::clone(numbers),
                    ranks,
                    range: high * scale - low * scale,
                    scale,
                }
            }
            _ => Ruler::Even(domain.count().map_or(0, |count| count.saturating_sub(1))),
        }
    }

    /// How far it is from one position to another, with sign. 0 where there is no range, and beyond a list.
    pub(crate) fn distance(&self, from: u32, to: u32) -> f64 {
        match self {
            Ruler::Even(0) => 0.0,
            Ruler::Even(last) => (f64::from(to) - f64::from(from)) / f64::from(*last),
            Ruler::Unordered => f64::from(u8::from(from != to)),
            Ruler::Numbers {
                numbers,
                range,
                scale,
                ..
            } => {
                let at = |position: u32| numbers.get(position as usize).map(|at| at * scale);
                match (at(from), at(to)) {
                    (Some(from), Some(to)) if *range > 0.0 => (to - from) / range,
                    _ => 0.0,
                }
            }
        }
    }

    /// The same where neighbours are evenly apart, whatever numbers they are.
    pub(crate) fn in_positions(&self, from: u32, to: u32) -> f64 {
        let Ruler::Numbers { ranks, .. } = self else {
            return self.distance(from, to);
        };
        let rank = |position: u32| ranks.get(position as usize).copied().unwrap_or(0);
        let last = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
        Ruler::Even(last.saturating_sub(1)).distance(rank(from), rank(to))
    }
}
