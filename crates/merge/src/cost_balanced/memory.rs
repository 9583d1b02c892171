//! What a bucket needs while it runs.
//!
//! Law: the stages of a bucket run one after the other, in the depth-first order of their tree, with what they make
//! counted: a product is there from the first stage that has its task to the last, and then it goes. While a stage
//! runs all of its products are there, since which of its tasks reads which is not known here. So a bucket needs the
//! largest sum of bytes over its stages, of what the stage has itself and what an earlier one made for a later one.
//!
//! Under chain sharing nothing can be of the second kind: what two stages share, all stages between them share. So a
//! bucket needs no more than its largest stage, however many there are, and memory limits no merging. Under graph
//! sharing two stages may share a task that those between them do not have, and it does.

use crate::order::Order;
use crate::{Buckets, Sharing, Stages, Tree, Weight};

/// The first and the last position at which a task is had, while a peak is found; otherwise no position.
struct Peaks {
    first: Vec<u32>,
    last: Vec<u32>,
}

impl Peaks {
    fn new(weights: &[Weight]) -> Peaks {
        Peaks {
            first: vec![u32::MAX; weights.len()],
            last: vec![u32::MAX; weights.len()],
        }
    }

    /// What the stages need, run in this order.
    fn peak(
        &mut self,
        members: &[u32],
        stages: &Stages,
        weights: &[Weight],
        sharing: Sharing,
    ) -> u64 {
        let row_bytes = |stage: &u32| -> u64 {
            let row = stages.row(*stage).iter();
            row.map(|task| weights[*task as usize].bytes).sum()
        };
        if sharing != Sharing::Graph {
            return members.iter().map(row_bytes).max().unwrap_or(0);
        }
        for (position, stage) in members.iter().enumerate() {
            for task in stages.row(*stage) {
                let first = &mut self.first[*task as usize];
                *first = (*first).min(position as u32);
                self.last[*task as usize] = position as u32;
            }
        }
        let (mut there, mut peak) = (0u64, 0u64);
        for (position, stage) in members.iter().enumerate() {
            // A task that a stage has twice comes and goes once.
            let mut leaving = 0;
            for task in stages.row(*stage) {
                let place = *task as usize;
                if self.first[place] == position as u32 {
                    there += weights[place].bytes;
                    self.first[place] = u32::MAX;
                }
            }
            peak = peak.max(there);
            for task in stages.row(*stage) {
                let place = *task as usize;
                if self.last[place] == position as u32 {
                    leaving += weights[place].bytes;
                    self.last[place] = u32::MAX;
                }
            }
            there -= leaving;
        }
        peak
    }
}

impl Buckets {
    /// The bytes that each bucket needs while it runs, if its stages run one after the other in the depth-first order
    /// of `tree`, and every product goes as soon as no later stage of the bucket has its task.
    pub fn peaks(
        &self,
        stages: &Stages,
        tree: &Tree,
        weights: &[Weight],
        sharing: Sharing,
    ) -> Vec<u64> {
        let (order, mut peaks) = (Order::new(tree), Peaks::new(weights));
        let peak = |bucket: &Vec<u32>| {
            let mut members = bucket.clone();
            members.sort_unstable_by_key(|stage| order.places[*stage as usize]);
            peaks.peak(&members, stages, weights, sharing)
        };
        self.stages.iter().map(peak).collect()
    }
}

/// Halves buckets until none needs more than `bytes`, but for those of single stages.
pub(super) fn keep_to(
    buckets: &mut Buckets,
    bytes: u64,
    stages: &Stages,
    tree: &Tree,
    weights: &[Weight],
    sharing: Sharing,
) {
    let (order, mut peaks) = (Order::new(tree), Peaks::new(weights));
    let mut open = std::mem::take(&mut buckets.stages);
    open.reverse();
    while let Some(mut members) = open.pop() {
        members.sort_unstable_by_key(|stage| order.places[*stage as usize]);
        if members.len() > 1 && peaks.peak(&members, stages, weights, sharing) > bytes {
            let half = members.split_off(members.len() / 2);
            open.push(half);
            open.push(members);
        } else {
            buckets.stages.push(members);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peaks(stages: &Stages, sharing: Sharing, buckets: &[&[u32]]) -> Vec<u64> {
        let weights: Vec<Weight> = (0..10)
            .map(|task| Weight {
                cost: 1,
                bytes: 1 << task,
            })
            .collect();
        let buckets = Buckets {
            stages: buckets.iter().map(|bucket| bucket.to_vec()).collect(),
        };
        buckets.peaks(stages, &Tree::new(stages), &weights, sharing)
    }

    #[test]
    fn what_a_later_stage_shares_stays_over_those_between() {
        // The first and the last share task 3, the one between has nothing of it.
        let stages = Stages::new(2, vec![0, 3, 1, 4, 2, 3]);
        assert_eq!(peaks(&stages, Sharing::Graph, &[&[0, 1, 2]]), [8 + 2 + 16]);
        assert_eq!(peaks(&stages, Sharing::Graph, &[&[2, 0], &[1]]), [12, 18]);
        // Under chain sharing it is made again.
        assert_eq!(peaks(&stages, Sharing::Chain, &[&[0, 1, 2]]), [18]);
    }

    #[test]
    fn a_task_that_a_stage_has_twice_is_there_once() {
        let stages = Stages::new(2, vec![0, 0, 1, 2]);
        assert_eq!(peaks(&stages, Sharing::Graph, &[&[0], &[0, 1]]), [1, 6]);
    }

    #[test]
    fn buckets_are_halved_until_they_fit() {
        let stages = Stages::new(2, vec![0, 3, 1, 4, 2, 3]);
        let weights: Vec<Weight> = (0..5)
            .map(|task| Weight {
                cost: 1,
                bytes: 1 << task,
            })
            .collect();
        let mut buckets = Buckets {
            stages: vec![vec![0, 1, 2]],
        };
        keep_to(
            &mut buckets,
            18,
            &stages,
            &Tree::new(&stages),
            &weights,
            Sharing::Graph,
        );
        assert_eq!(buckets.stages, [vec![0], vec![1, 2]]);
    }
}
