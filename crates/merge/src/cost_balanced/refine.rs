//! Refinement: the dearest bucket gives a branch to another, as long as the larger of the two becomes cheaper.
//!
//! Law: no stage is lost, no bucket is added, and the dearest bucket never becomes dearer. Every other bucket is
//! considered, the cheapest first, until none can do better; of all moves the one is made that leaves the smaller
//! maximum, and of those the one that costs least in all. The work is bounded by a constant.

use crate::order::{Branch, Order, branches, meet};
use crate::{Buckets, Sharing, Stages, Tree, Weight};

/// How many tasks are looked at in all.
pub(super) const WORK: u64 = 1_000_000;

pub(super) fn refine(
    buckets: &mut Buckets,
    stages: &Stages,
    tree: &Tree,
    weights: &[Weight],
    sharing: Sharing,
) {
    let loads = buckets.loads(stages, tree, weights, sharing);
    let keys = match sharing {
        Sharing::Graph => weights.len(),
        Sharing::Chain | Sharing::Nothing => tree.len(),
    };
    let order = Order::new(tree);
    let mut refining = Refining {
        stages,
        tree,
        weights,
        sharing,
        costs: loads.iter().map(|load| load.cost).collect(),
        buckets: &mut buckets.stages,
        here: vec![0; keys],
        there: vec![0; keys],
        mark: 0,
        spent: 0,
    };
    while refining.spent < WORK && refining.step(&order) {}
}

struct Refining<'a> {
    stages: &'a Stages,
    tree: &'a Tree,
    weights: &'a [Weight],
    sharing: Sharing,
    buckets: &'a mut Vec<Vec<u32>>,
    costs: Vec<u64>,
    /// By task, or node of the tree: how many stages of the dearest bucket have it.
    here: Vec<u32>,
    /// By task, or node of the tree: the last mark it got.
    there: Vec<u32>,
    mark: u32,
    spent: u64,
}

/// A move.
#[derive(Clone, Copy)]
struct Found {
    larger: u64,
    added: u64,
    freed: u64,
    bucket: usize,
    branch: Branch,
}

impl Refining<'_> {
    /// Calls `visit` with what identifies each task of a stage, and its cost.
    fn tasks(&self, stage: u32, mut visit: impl FnMut(usize, u64)) {
        if self.sharing == Sharing::Graph {
            for task in self.stages.row(stage) {
                visit(*task as usize, self.weights[*task as usize].cost);
            }
        } else {
            let mut at = self.tree.leaves()[stage as usize];
            while at != 0 {
                let node = self.tree.node(at);
                visit(at as usize, self.weights[node.task as usize].cost);
                at = node.parent;
            }
        }
    }

    /// Makes one move, if there is one.
    fn step(&mut self, order: &Order) -> bool {
        let dearest =
            (0..self.costs.len()).max_by_key(|bucket| (self.costs[*bucket], usize::MAX - bucket));
        let Some(big) = dearest else {
            return false;
        };
        let mut members = std::mem::take(&mut self.buckets[big]);
        members.sort_unstable_by_key(|stage| order.places[*stage as usize]);
        let offered = self.offers(&members);
        let found = self.search(big, &members, &offered);
        if let Some(found) = found {
            let moved = members.drain(found.branch.begin..found.branch.end);
            self.buckets[found.bucket].extend(moved);
            self.costs[found.bucket] += found.added;
            self.costs[big] -= found.freed;
        }
        self.buckets[big] = members;
        found.is_some()
    }

    /// The branches of a bucket, and what it would save without each.
    fn offers(&mut self, members: &[u32]) -> Vec<(Branch, u64)> {
        let leaves = self.tree.leaves();
        let level = |pair: &[u32]| {
            let node = meet(
                self.tree,
                leaves[pair[0] as usize],
                leaves[pair[1] as usize],
            );
            self.tree.node(node).level
        };
        let mut meets = vec![0];
        meets.extend(members.windows(2).map(level));
        let mut found = Vec::new();
        branches(
            &meets,
            self.tree.depth(),
            // No two alike: stages that hang alike need not cost the same.
            |stage| (stage as u64, 0),
            |branch| found.push(branch),
        );
        let mut here = std::mem::take(&mut self.here);
        for stage in members {
            self.tasks(*stage, |task, _| here[task] += 1);
        }
        let width = self.stages.width() as u64;
        let mut spent = 2 * members.len() as u64 * width;
        let offer = |branch: Branch| {
            let range = &members[branch.begin..branch.end];
            spent += range.len() as u64 * width;
            let mut freed = 0;
            for stage in range {
                self.tasks(*stage, |task, cost| {
                    here[task] -= 1;
                    freed += if here[task] == 0 { cost } else { 0 };
                });
            }
            for stage in range {
                self.tasks(*stage, |task, _| here[task] += 1);
            }
            (branch, freed)
        };
        // All of it would only change the names of the buckets.
        let part = |branch: &Branch| branch.end - branch.begin < members.len();
        let offered: Vec<(Branch, u64)> = found.into_iter().filter(part).map(offer).collect();
        for stage in members {
            self.tasks(*stage, |task, _| here[task] = 0);
        }
        self.here = here;
        self.spent += spent;
        offered
    }

    /// The best move from a bucket to any other.
    fn search(&mut self, big: usize, members: &[u32], offered: &[(Branch, u64)]) -> Option<Found> {
        let dear = self.costs[big];
        let width = self.stages.width() as u64;
        let mut others: Vec<usize> = (0..self.costs.len())
            .filter(|bucket| *bucket != big)
            .collect();
        others.sort_by_key(|bucket| self.costs[*bucket]);
        let mut best: Option<Found> = None;
        let mut there = std::mem::take(&mut self.there);
        for bucket in others {
            let cheap = self.costs[bucket];
            let limit = best.map_or(dear, |best| best.larger);
            if cheap >= limit || self.spent > WORK {
                break;
            }
            self.mark += 1;
            let has = self.mark;
            for stage in &self.buckets[bucket] {
                self.tasks(*stage, |task, _| there[task] = has);
            }
            self.spent += self.buckets[bucket].len() as u64 * width;
            for (branch, freed) in offered {
                let limit = best.map_or(dear, |best| best.larger);
                if dear - freed > limit {
                    continue;
                }
                // What comes along gets a mark of its own, and then the old one back.
                let range = &members[branch.begin..branch.end];
                let mut added = 0;
                let mut brought: Vec<usize> = Vec::new();
                for stage in range {
                    self.tasks(*stage, |task, cost| {
                        if there[task] != has {
                            there[task] = has;
                            added += cost;
                            brought.push(task);
                        }
                    });
                    self.spent += width;
                    if cheap + added > limit {
                        break;
                    }
                }
                for task in brought {
                    there[task] = 0;
                }
                let found = Found {
                    larger: (dear - freed).max(cheap + added),
                    added,
                    freed: *freed,
                    bucket,
                    branch: *branch,
                };
                let key = |found: &Found| (found.larger, found.added as i128 - found.freed as i128);
                if found.larger < dear && best.is_none_or(|best| key(&found) < key(&best)) {
                    best = Some(found);
                }
            }
        }
        self.there = there;
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refined(
        rows: &[[u32; 3]],
        sharing: Sharing,
        buckets: &[&[u32]],
    ) -> (Vec<Vec<u32>>, Vec<u64>) {
        let stages = Stages::new(3, rows.concat());
        let tree = Tree::new(&stages);
        let weights = vec![Weight { cost: 1, bytes: 0 }; 30];
        let mut buckets = Buckets {
            stages: buckets.iter().map(|bucket| bucket.to_vec()).collect(),
        };
        refine(&mut buckets, &stages, &tree, &weights, sharing);
        let loads = buckets.loads(&stages, &tree, &weights, sharing);
        for bucket in &mut buckets.stages {
            bucket.sort_unstable();
        }
        (buckets.stages, loads.iter().map(|load| load.cost).collect())
    }

    /// Figure 18 b: the dearest bucket cannot give to the cheapest, but to one between that begins alike.
    #[test]
    fn every_other_bucket_is_considered() {
        let rows = [
            [1, 4, 11],
            [1, 4, 12],
            [1, 4, 13],
            [1, 5, 14],
            [1, 5, 15],
            [1, 4, 16],
            [1, 6, 17],
            [1, 6, 18],
            [2, 7, 19],
            [2, 8, 20],
        ];
        let before: [&[u32]; 3] = [&[0, 1, 2, 3, 4], &[5, 6, 7], &[8, 9]];
        let (buckets, costs) = refined(&rows, Sharing::Chain, &before);
        // From 8, 6 and 5.
        assert_eq!(costs, [7, 7, 5]);
        assert_eq!(buckets[2], [8, 9]);
    }

    #[test]
    fn tasks_that_are_equal_anywhere_count_under_graph_sharing() {
        // The last tasks of the second and the third stage are the same.
        let rows = [[1, 2, 10], [1, 3, 11], [4, 5, 11], [1, 2, 12]];
        let (buckets, costs) = refined(&rows, Sharing::Graph, &[&[0, 1, 3], &[2]]);
        assert_eq!(buckets, [vec![0, 3], vec![1, 2]]);
        assert_eq!(costs, [4, 5]);
    }

    #[test]
    fn what_is_even_stays() {
        let rows = [[1, 2, 10], [1, 2, 11], [3, 4, 12], [3, 4, 13]];
        let (buckets, costs) = refined(&rows, Sharing::Chain, &[&[0, 1], &[2, 3]]);
        assert_eq!(buckets, [[0, 1], [2, 3]]);
        assert_eq!(costs, [4, 4]);
    }
}
