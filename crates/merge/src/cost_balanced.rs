//! Buckets that take equally long and fit into memory: what the paper leaves for later.
//!
//! Law: each stage is in one bucket; there are at most `max_buckets`, and none needs more than `max_bytes` while it
//! runs, unless it is a single stage. Memory goes before number: stages that do not fit together are not put together
//! even if there are then more buckets. Buckets come in the order in which workers should take them, the dearest
//! first. Of the ways of cutting that were tried the one is taken that ends first on `workers` workers when task
//! costs are not quite what was expected. Time and memory grow with the number of tasks: what is tried beyond the
//! first way is bounded by a constant amount of work.
//!
//! The README in the folder of this module explains problem, algorithm and figures.

mod bins;
mod judge;
mod memory;
mod parts;
mod refine;

use crate::order::Order;
use crate::{Buckets, Merge, Sharing, Stages, Tree, Weight};
use judge::Judge;
use parts::Parts;

/// How much work is done on a tree beyond the first way, in steps of some nanoseconds.
const WORK: u64 = 1_500_000;
/// How many steps it takes to judge a bucket.
const JUDGED: usize = 24;

/// The algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostBalanced {
    /// How many buckets there may be.
    pub max_buckets: usize,
    /// How many workers take them.
    pub workers: usize,
    /// How many bytes a bucket may need while it runs: see [`crate::Buckets::peaks`].
    pub max_bytes: Option<u64>,
    /// What the stages of a bucket share.
    pub sharing: Sharing,
}

impl CostBalanced {
    /// How many buckets there are for each worker, unless somebody says otherwise. TRTMA has three; here the last ones
    /// are small and even out what the others did not take as expected, so more of them help.
    pub const BUCKETS_PER_WORKER: usize = 6;

    /// For so many workers, with [`Self::BUCKETS_PER_WORKER`] buckets for each.
    pub fn new(workers: usize, max_bytes: Option<u64>, sharing: Sharing) -> CostBalanced {
        CostBalanced {
            max_buckets: workers.saturating_mul(Self::BUCKETS_PER_WORKER),
            workers,
            max_bytes,
            sharing,
        }
    }
}

impl Merge for CostBalanced {
    fn name(&self) -> &'static str {
        "cost-balanced"
    }

    fn merge(&self, stages: &Stages, tree: &Tree, weights: &[Weight]) -> Buckets {
        if stages.is_empty() {
            return Buckets::default();
        }
        if self.sharing == Sharing::Nothing {
            // Nothing is gained by any tree.
            let flat = Stages::new(1, (0..stages.len() as u32).collect());
            let sums: Vec<Weight> = stages.rows().map(|row| sum(row, weights)).collect();
            let chain = CostBalanced {
                sharing: Sharing::Chain,
                ..*self
            };
            return chain.merge(&flat, &Tree::new(&flat), &sums);
        }
        let (alone, others) = self.by_size(stages, weights);
        let limit = self.max_buckets.saturating_sub(alone.len()).max(1);
        let mut best = if alone.is_empty() {
            self.best(stages, tree, weights, limit)
        } else {
            let rows = others.iter().flat_map(|stage| stages.row(*stage));
            let rest = Stages::new(stages.width(), rows.copied().collect());
            let mut best = self.best(&rest, &Tree::new(&rest), weights, limit);
            for stage in best.stages.iter_mut().flatten() {
                *stage = others[*stage as usize];
            }
            best
        };
        best.stages
            .extend(alone.into_iter().map(|stage| vec![stage]));
        if let Some(bytes) = self.max_bytes {
            memory::keep_to(&mut best, bytes, stages, tree, weights, self.sharing);
        }
        best.stages.retain(|bucket| !bucket.is_empty());
        judge::dearest_first(&mut best, stages, tree, weights, self.sharing);
        best
    }
}

fn sum(row: &[u32], weights: &[Weight]) -> Weight {
    let mut sum = Weight::default();
    for task in row {
        sum.cost += weights[*task as usize].cost;
        sum.bytes += weights[*task as usize].bytes;
    }
    sum
}

impl CostBalanced {
    /// The stages that need more than there is, each by itself, and the others.
    fn by_size(&self, stages: &Stages, weights: &[Weight]) -> (Vec<u32>, Vec<u32>) {
        let Some(bytes) = self.max_bytes else {
            return (Vec::new(), Vec::new());
        };
        (0..stages.len() as u32).partition(|stage| sum(stages.row(*stage), weights).bytes > bytes)
    }

    /// The best buckets, without regard to memory.
    fn best(&self, stages: &Stages, tree: &Tree, weights: &[Weight], limit: usize) -> Buckets {
        if stages.is_empty() {
            return Buckets::default();
        }
        // More buckets than stages would be empty.
        let limit = limit.min(stages.len());
        let mut search = Search {
            limit,
            workers: self.workers.max(1),
            sharing: self.sharing,
            stages,
            tree,
            weights,
            judge: Judge::new(stages, weights, self.workers.max(1)),
            best: Buckets::default(),
            spent: 0,
        };
        if stages.len() == limit {
            search.consider(Buckets::single(stages));
        }
        match self.sharing {
            Sharing::Graph => {
                search.cuts(stages, tree, WORK);
                let columns = columns(stages);
                if search.spent < 2 * WORK && !columns.is_sorted() {
                    let sorted = reordered(stages, &columns);
                    search.cuts(&sorted, &Tree::new(&sorted), 2 * WORK);
                }
            }
            Sharing::Chain | Sharing::Nothing => search.cuts(stages, tree, WORK),
        }
        search.refined()
    }
}

/// The columns of the stages, those with few different tasks first.
fn columns(stages: &Stages) -> Vec<usize> {
    let tasks = stages
        .rows()
        .flatten()
        .max()
        .map_or(0, |task| *task as usize + 1);
    let mut last_seen = vec![u32::MAX; tasks];
    let mut counts = Vec::with_capacity(stages.width());
    for column in 0..stages.width() {
        let mut count = 0usize;
        for row in stages.rows() {
            let seen = &mut last_seen[row[column] as usize];
            count += usize::from(*seen != column as u32);
            *seen = column as u32;
        }
        counts.push(count);
    }
    let mut columns: Vec<usize> = (0..stages.width()).collect();
    columns.sort_by_key(|column| counts[*column]);
    columns
}

/// The same stages with their tasks in another order.
fn reordered(stages: &Stages, columns: &[usize]) -> Stages {
    let rows = stages.rows();
    let cells = rows.flat_map(|row| columns.iter().map(|column| row[*column]));
    Stages::new(stages.width(), cells.collect())
}

struct Search<'a> {
    limit: usize,
    workers: usize,
    sharing: Sharing,
    stages: &'a Stages,
    tree: &'a Tree,
    weights: &'a [Weight],
    judge: Judge,
    /// The best so far.
    best: Buckets,
    spent: u64,
}

impl Search<'_> {
    fn costs(&self, buckets: &Buckets) -> Vec<u64> {
        let loads = buckets.loads(self.stages, self.tree, self.weights, self.sharing);
        loads.iter().map(|load| load.cost).collect()
    }

    fn consider(&mut self, buckets: Buckets) {
        if self.judge.is_better(self.costs(&buckets)) {
            self.best = buckets;
        }
    }

    /// Tries ways to cut a tree: into parts of at most so much, and those into so many buckets.
    fn cuts(&mut self, stages: &Stages, tree: &Tree, work: u64) {
        let order = Order::new(tree);
        let parts = Parts::new(tree, self.weights);
        let share = parts.total().div_ceil(self.workers as u64).max(1);
        let shapes = shapes(self.workers, self.limit);
        let mut tried_whole = false;
        // In eighths of what a worker has to do.
        for eighths in [8, 4, 9, 3, 7, 6, 2, 10, 12, 5, 1] {
            let cap = (share * eighths / 8).max(1);
            let split = parts.split(cap);
            if split.whole && std::mem::replace(&mut tried_whole, true) {
                continue;
            }
            for sizes in &shapes {
                let filled = bins::fill(&split, &parts, sizes);
                let steps = 2 * split.parts.len() * stages.width() + JUDGED * sizes.len();
                self.spent += steps as u64;
                let expand = |roots: &Vec<u32>| {
                    let below = roots.iter().flat_map(|root| order.below(*root));
                    below.copied().collect()
                };
                let buckets = || Buckets {
                    stages: filled.roots.iter().map(expand).collect(),
                };
                if self.sharing == Sharing::Graph {
                    // Tasks may be shared that the tree does not know of.
                    self.spent += 2 * (stages.len() * stages.width()) as u64;
                    self.consider(buckets());
                } else if self.judge.is_better(filled.costs.clone()) {
                    self.best = buckets();
                }
                if self.spent > work {
                    return;
                }
            }
        }
    }

    /// The best so far, or what becomes of it if its dearest bucket gives to others.
    fn refined(mut self) -> Buckets {
        if (self.stages.len() * self.stages.width()) as u64 > refine::WORK {
            return self.best;
        }
        let mut refined = self.best.clone();
        refine::refine(
            &mut refined,
            self.stages,
            self.tree,
            self.weights,
            self.sharing,
        );
        self.consider(refined);
        self.best
    }
}

/// The relative sizes of buckets that are tried, the largest first.
///
/// All equal: as many as there may be, or one for each worker. Or graded: one large bucket for each worker, and the
/// rest from a part of a worker's share down to nothing. The small ones are taken last: whoever is done first takes
/// the largest that is left, which makes up for what did not take as long as expected.
fn shapes(workers: usize, limit: usize) -> Vec<Vec<u64>> {
    const SHARE: u64 = 1 << 20;
    let mut shapes = vec![vec![SHARE; limit]];
    if limit > workers {
        shapes.push(vec![SHARE; workers]);
        shapes.push(vec![SHARE; limit.min(2 * workers)]);
        let tiers = (0..limit).map(|place| [4, 2, 1][3 * place / limit] * SHARE);
        shapes.push(tiers.collect());
        let small = (limit - workers) as u64;
        for parts in [2, 8, 4, 16, 1] {
            let most = SHARE * parts / 64;
            let graded = (0..small).map(|place| most * (small - place) / small);
            let tail: u64 = graded.clone().sum();
            let head = (SHARE * workers as u64).saturating_sub(tail) / workers as u64;
            let head = std::iter::repeat_n(head.max(most), workers);
            shapes.push(head.chain(graded).collect());
        }
    }
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Trtma, makespan_of};

    /// The costs of table 6 of the paper, in ten-thousandths of a stage.
    const COSTS: [u64; 7] = [1_203, 2_090, 692, 349, 802, 3_959, 905];

    /// Stages by the level at which each leaves the one before it, 0 for a new first task.
    fn leaving(levels: &[usize]) -> (Stages, Vec<Weight>) {
        let mut weights: Vec<Weight> = Vec::new();
        let mut row = [0; 7];
        let mut cells = Vec::new();
        for level in levels {
            for (column, task) in row.iter_mut().enumerate().skip(*level) {
                *task = weights.len() as u32;
                weights.push(Weight {
                    cost: COSTS[column],
                    bytes: 1,
                });
            }
            cells.extend(row);
        }
        (Stages::new(7, cells), weights)
    }

    fn ends(buckets: &Buckets, stages: &Stages, weights: &[Weight], workers: usize) -> u64 {
        let loads = buckets.loads(stages, &Tree::new(stages), weights, Sharing::Chain);
        makespan_of(loads.iter().map(|load| load.cost), workers)
    }

    /// Figure 24: nine tasks each, but the second bucket takes a quarter longer than the first.
    #[test]
    fn figure_24_counts_are_not_enough() {
        let (stages, weights) = leaving(&[0, 6, 6, 0, 5]);
        let buckets = Buckets {
            stages: vec![vec![0, 1, 2], vec![3, 4]],
        };
        let loads = buckets.loads(&stages, &Tree::new(&stages), &weights, Sharing::Chain);
        assert_eq!([loads[0].tasks, loads[1].tasks], [9, 9]);
        assert_eq!([loads[0].cost, loads[1].cost], [11_810, 14_864]);
    }

    /// Four buckets of figure 24 on two workers: by counts it does not matter which two run on the same worker, and
    /// TRTMA keeps four alike; by costs a dear one goes with a cheap one.
    #[test]
    fn dear_buckets_are_paired_with_cheap_ones() {
        let (stages, weights) = leaving(&[0, 6, 6, 0, 6, 6, 0, 5, 0, 5]);
        let tree = Tree::new(&stages);
        let by_count = Trtma {
            max_buckets: 2,
            paper: false,
        };
        let by_cost = CostBalanced {
            max_buckets: 2,
            workers: 2,
            max_bytes: None,
            sharing: Sharing::Chain,
        };
        let [counted, costed] = [&by_count as &dyn Merge, &by_cost].map(|algorithm| {
            ends(
                &algorithm.merge(&stages, &tree, &weights),
                &stages,
                &weights,
                2,
            )
        });
        assert_eq!(costed, 11_810 + 14_864);
        assert!(costed <= counted);
    }

    #[test]
    fn many_workers_and_few_stages_are_not_merged() {
        let (stages, weights) = leaving(&[0, 5, 5, 5]);
        let tree = Tree::new(&stages);
        let buckets = CostBalanced::new(4, None, Sharing::Chain).merge(&stages, &tree, &weights);
        assert_eq!(buckets.len(), 4);
        let buckets = CostBalanced::new(1, None, Sharing::Chain).merge(&stages, &tree, &weights);
        let loads = buckets.loads(&stages, &tree, &weights, Sharing::Chain);
        let total: u64 = loads.iter().map(|load| load.cost).sum();
        assert_eq!(total, 10_000 + 3 * (3_959 + 905), "all is shared");
    }

    #[test]
    fn shapes_of_all_sizes_are_cut() {
        let none = CostBalanced::new(4, None, Sharing::Chain);
        assert!(
            none.merge(&Stages::default(), &Tree::new(&Stages::default()), &[])
                .is_empty()
        );
        for levels in [vec![0], vec![0; 40], vec![6; 40], vec![3; 2]] {
            // The first stage has all of its tasks.
            let mut levels = levels;
            levels[0] = 0;
            let (stages, weights) = leaving(&levels);
            let tree = Tree::new(&stages);
            for sharing in [Sharing::Nothing, Sharing::Chain, Sharing::Graph] {
                for workers in [1, 3, 200] {
                    let algorithm = CostBalanced::new(workers, None, sharing);
                    let buckets = algorithm.merge(&stages, &tree, &weights);
                    let all: usize = buckets.stages.iter().map(Vec::len).sum();
                    assert_eq!(all, stages.len());
                    assert!(buckets.len() <= algorithm.max_buckets);
                }
            }
        }
    }

    /// A limit that nobody means to reach costs nothing.
    #[test]
    fn more_buckets_than_stages_are_not_made_room_for() {
        let (stages, weights) = leaving(&[0, 5, 3, 0, 6, 6]);
        let tree = Tree::new(&stages);
        for sharing in [Sharing::Nothing, Sharing::Chain, Sharing::Graph] {
            for workers in [1, 2, usize::MAX / 2] {
                let merge = |max_buckets| {
                    let algorithm = CostBalanced {
                        max_buckets,
                        workers,
                        max_bytes: Some(7),
                        sharing,
                    };
                    algorithm.merge(&stages, &tree, &weights)
                };
                assert_eq!(merge(usize::MAX), merge(6));
            }
        }
        let most = CostBalanced::new(usize::MAX, None, Sharing::Chain);
        assert_eq!(most.merge(&stages, &tree, &weights).len(), 6);
    }

    /// Figure 16, the worst case for balancing: the work stays bounded and the result even.
    #[test]
    fn a_star_is_cut_evenly() {
        let mut levels = vec![0; 100];
        levels.extend(vec![3; 20_000]);
        let (stages, weights) = leaving(&levels);
        let tree = Tree::new(&stages);
        for sharing in [Sharing::Chain, Sharing::Graph] {
            let algorithm = CostBalanced::new(32, None, sharing);
            let buckets = algorithm.merge(&stages, &tree, &weights);
            assert!(buckets.len() <= algorithm.max_buckets);
            let loads = buckets.loads(&stages, &tree, &weights, Sharing::Chain);
            let total: u64 = loads.iter().map(|load| load.cost).sum();
            let end = ends(&buckets, &stages, &weights, 32);
            assert!(end * 32 < total * 102 / 100, "{end} of {total}");
        }
    }

    #[test]
    fn what_does_not_fit_is_alone() {
        let (stages, mut weights) = leaving(&[0, 6, 6, 6]);
        // The second stage alone has more than there is.
        weights[stages.row(1)[6] as usize].bytes = 100;
        let tree = Tree::new(&stages);
        let algorithm = CostBalanced::new(1, Some(10), Sharing::Chain);
        let buckets = algorithm.merge(&stages, &tree, &weights);
        assert!(buckets.stages.contains(&vec![1]), "{:?}", buckets.stages);
        let peaks = buckets.peaks(&stages, &tree, &weights, Sharing::Chain);
        let fits = |(bucket, peak): (&Vec<u32>, &u64)| bucket.len() == 1 || *peak <= 10;
        assert!(buckets.stages.iter().zip(&peaks).all(fits));
    }

    #[test]
    fn columns_with_few_tasks_come_first() {
        let stages = Stages::new(3, vec![0, 10, 20, 1, 10, 21, 2, 10, 20, 3, 10, 21]);
        assert_eq!(columns(&stages), [1, 2, 0]);
        assert_eq!(reordered(&stages, &[1, 2, 0]).row(3), [10, 21, 3]);
    }
}
