//! When buckets end on the workers there are, if costs are not quite what was expected.
//!
//! Law: the same costs end at the same time. Buckets are taken dearest first. Each task is supposed to take between
//! 0.7 and 1.3 times what it should, independently of others, so that a bucket of many tasks is surer than one of few;
//! the draws are fixed numbers.

use crate::schedule::makespan_of;
use crate::{Buckets, Sharing, Stages, Tree, Weight};

/// How many draws are added up.
const DRAWS: usize = 8;
/// What is later than the best by one in so many is clearly late.
const LATE: u64 = 64;
/// The standard deviation of what a task takes, relative to what it should: ±30%, all equally likely.
const DEVIATION: f64 = 0.3 / 1.732_050_807_568_877_2;

#[derive(Debug)]
pub(super) struct Judge {
    workers: usize,
    /// The variance of a bucket per unit of its cost, as it is on average over the stages.
    variance: f64,
    /// For each draw, by how many standard deviations each bucket differs.
    draws: Vec<Vec<f64>>,
    /// The sums up to each draw of what ended first so far.
    best: Vec<u64>,
}

impl Judge {
    pub(super) fn new(stages: &Stages, weights: &[Weight], workers: usize) -> Judge {
        let (mut sum, mut squares) = (0.0, 0.0);
        for task in stages.rows().flatten() {
            let cost = weights[*task as usize].cost as f64;
            sum += cost;
            squares += cost * cost;
        }
        let ratio = if sum > 0.0 { squares / sum } else { 0.0 };
        Judge {
            workers,
            variance: ratio * DEVIATION * DEVIATION,
            draws: vec![Vec::new(); DRAWS],
            best: vec![u64::MAX; DRAWS],
        }
    }

    /// Whether buckets of these costs end earlier than all before them, by the sum of the ends over all draws. What
    /// is clearly late after some draws is not given more.
    pub(super) fn is_better(&mut self, mut costs: Vec<u64>) -> bool {
        costs.sort_unstable_by(|one, other| other.cmp(one));
        let deviations: Vec<f64> = costs
            .iter()
            .map(|cost| (*cost as f64 * self.variance).sqrt())
            .collect();
        let mut ends: Vec<u64> = Vec::with_capacity(DRAWS);
        let mut end = 0;
        for (draw, best) in self.draws.iter_mut().zip(&self.best) {
            for place in draw.len()..costs.len() {
                draw.push(normal((ends.len() as u64) << 32 | place as u64));
            }
            let disturbed = costs.iter().zip(&deviations).zip(draw);
            let disturbed = disturbed
                .map(|((cost, deviation), by)| (*cost as f64 + deviation * *by).max(0.0) as u64);
            end += makespan_of(disturbed, self.workers);
            if end.saturating_sub(end / LATE) > *best {
                return false;
            }
            ends.push(end);
        }
        let better = ends.last() < self.best.last();
        if better {
            self.best = ends;
        }
        better
    }
}

/// A number with mean 0 and variance 1, nearly normal: the sum of twelve uniform ones.
fn normal(number: u64) -> f64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut sum = 0u64;
    for _ in 0..3 {
        bits = (bits ^ bits >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits ^= bits >> 29;
        // Four uniform numbers of 16 bits.
        sum += (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    }
    sum as f64 / 65_536.0 - 6.0
}

/// Sorts buckets by what they cost; of equal ones that with the first stage comes first.
pub(super) fn dearest_first(
    buckets: &mut Buckets,
    stages: &Stages,
    tree: &Tree,
    weights: &[Weight],
    sharing: Sharing,
) {
    for bucket in &mut buckets.stages {
        bucket.sort_unstable();
    }
    let loads = buckets.loads(stages, tree, weights, sharing);
    let taken = std::mem::take(&mut buckets.stages);
    let mut sorted: Vec<(u64, Vec<u32>)> = loads.iter().map(|load| load.cost).zip(taken).collect();
    sorted.sort_by(|(cost, stages), (other, others)| {
        other
            .cmp(cost)
            .then_with(|| stages.first().cmp(&others.first()))
    });
    buckets.stages = sorted.into_iter().map(|(_, stages)| stages).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbances_have_mean_0_and_variance_1() {
        let count = 10_000;
        let draws: Vec<f64> = (0..count).map(normal).collect();
        let mean = draws.iter().sum::<f64>() / count as f64;
        let variance = draws.iter().map(|draw| draw * draw).sum::<f64>() / count as f64;
        assert!(mean.abs() < 0.03, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn many_small_buckets_are_surer_than_few_large_ones() {
        let stages = Stages::new(1, (0..64).collect());
        let weights = vec![
            Weight {
                cost: 1_000,
                bytes: 0
            };
            64
        ];
        let mut judge = Judge::new(&stages, &weights, 4);
        assert!(judge.is_better(vec![16_000; 4]));
        assert!(!judge.is_better(vec![16_000; 4]));
        // But not if each of them costs a little more.
        assert!(!judge.is_better(vec![1_200; 64]));
        assert!(judge.is_better(vec![1_000; 64]));
    }
}
