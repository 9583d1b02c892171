//! Cutting the stages of a study into buckets, and what that comes to on so many workers.
//!
//! Law: only stages of several tasks are cut; a task that stands alone in its stage is a unit of its own, and so is
//! what a reference needs. Units wait for the units that make what they read.

use headwater_merge::{
    Buckets, Compact, CostBalanced, Load, Merge, Naive, Rtma, Sharing, SmartCut, Trtma, Unit,
    Weight, makespan,
};

use crate::count::{StageCount, Weights, percent};
use crate::shared::Shared;

/// The buckets that the paper's figures are for.
pub(crate) const BUCKET_SIZE: usize = 7;

/// What an algorithm makes of the stages.
#[derive(Debug, Clone, PartialEq)]
pub struct AlgorithmPlan {
    /// Its name.
    pub name: &'static str,
    /// How many buckets there are.
    pub buckets: usize,
    /// How many tasks are executed, those that are in no bucket included.
    pub tasks: usize,
    /// What those that are still to be done cost.
    pub cost: u64,
    /// How many of the tasks of stages of several tasks are saved, in percent of those left after whole stages were
    /// merged.
    pub reuse_percent: f64,
    /// The same of their cost.
    pub reuse_percent_of_time: f64,
    /// The most tasks in a bucket.
    pub largest_bucket: usize,
    /// The highest cost of a bucket.
    pub largest_cost: u64,
    /// The most bytes that a bucket has alive at once.
    pub largest_bytes: u64,
    /// When everything would be done.
    pub makespan: u64,
    /// No plan on so many workers is quicker, if every task is done once: the cost of all tasks over the workers, or
    /// the longest chain of tasks.
    pub lower_bound: u64,
}

/// The limits that buckets keep to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) workers: usize,
    pub(crate) max_bucket_size: usize,
    /// As many as the algorithm means to have, unless it is said.
    pub(crate) max_buckets: Option<usize>,
    pub(crate) max_bytes: Option<u64>,
    pub(crate) paper: bool,
}

/// Everything that buckets are cut from.
pub(crate) struct Cutting<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) counts: &'a [StageCount],
    pub(crate) weights: &'a Weights,
    /// The stages, each after those that it reads from: of equal tasks in several stages the first one is waited for.
    pub(crate) order: Vec<usize>,
    pub(crate) sharing: Sharing,
    pub(crate) limits: Limits,
}

/// Buckets per worker, as the paper has it.
pub(crate) const TRTMA_BUCKETS_PER_WORKER: usize = 3;

/// No merging of tasks: a bucket for each stage.
struct Apart;

impl Merge for Apart {
    fn name(&self) -> &'static str {
        "none"
    }

    fn merge(
        &self,
        stages: &headwater_merge::Stages,
        _: &headwater_merge::Tree,
        _: &[Weight],
    ) -> Buckets {
        Buckets::single(stages)
    }
}

impl Cutting<'_> {
    /// The algorithm for distribution.
    pub(crate) fn usual(&self) -> AlgorithmPlan {
        match self.sharing {
            Sharing::Nothing => self.plan(&Apart),
            _ => self.plan(&self.cost_balanced()),
        }
    }

    fn cost_balanced(&self) -> CostBalanced {
        CostBalanced {
            max_buckets: self
                .limits
                .max_buckets
                .unwrap_or(CostBalanced::BUCKETS_PER_WORKER * self.limits.workers),
            max_bytes: self.limits.max_bytes,
            workers: self.limits.workers,
            sharing: self.sharing,
        }
    }

    /// All algorithms side by side, and the names of those that would take too long.
    pub(crate) fn all(&self) -> (Vec<AlgorithmPlan>, Vec<&'static str>) {
        let Limits {
            max_bucket_size,
            max_buckets,
            paper,
            ..
        } = self.limits;
        let smart_cut = SmartCut { max_bucket_size };
        let largest = self.counts.iter().filter(|count| count.tree.is_some());
        let stages = largest.map(|count| count.distinct).max().unwrap_or(0);
        let mut left_out = Vec::new();
        let mut plans = vec![self.plan(&Apart), self.plan(&Naive { max_bucket_size })];
        if stages <= SmartCut::PRACTICAL {
            plans.push(self.plan(&smart_cut));
        } else {
            left_out.push(smart_cut.name());
        }
        plans.push(self.plan(&Rtma {
            max_bucket_size,
            paper,
        }));
        let max_buckets = max_buckets.unwrap_or(TRTMA_BUCKETS_PER_WORKER * self.limits.workers);
        let trtma = Trtma { max_buckets, paper };
        if stages <= Trtma::PRACTICAL {
            plans.push(self.plan(&trtma));
        } else {
            left_out.push(trtma.name());
        }
        plans.push(self.plan(&self.cost_balanced()));
        (plans, left_out)
    }

    fn plan(&self, algorithm: &dyn Merge) -> AlgorithmPlan {
        let weights = &self.weights.to_do;
        let mut units = Units::new(&self.shared.compact, weights, &self.shared.counted);
        // A reference is made on its own, so that nothing waits for a bucket that happens to have some of its tasks.
        for stage in &self.shared.references {
            units.add(
                stage
                    .iter()
                    .copied()
                    .filter(|node| self.shared.counted[*node as usize]),
            );
        }
        let (mut count_of_buckets, mut most) = (0, Load::default());
        let (mut left, mut all) = (Load::default(), Load::default());
        for stage in &self.order {
            let (rows, count) = (&self.shared.compact.stages[*stage], &self.counts[*stage]);
            let stages = &rows.distinct;
            let Some(tree) = &count.tree else {
                stages.rows().for_each(|row| units.add(row.iter().copied()));
                continue;
            };
            let found = algorithm.merge(stages, tree, weights);
            let loads = found.loads(stages, tree, weights, self.sharing);
            let peaks = found.peaks(stages, tree, weights, self.sharing);
            let whole = found.loads(stages, tree, &self.weights.all, self.sharing);
            left.cost += whole.iter().map(|load| load.cost).sum::<u64>();
            most.bytes = most.bytes.max(peaks.into_iter().max().unwrap_or(0));
            count_of_buckets += found.len();
            // The dearest first: what begins last should be short.
            let mut buckets: Vec<_> = found.stages.iter().zip(&loads).collect();
            buckets.sort_by_key(|(_, load)| std::cmp::Reverse(load.cost));
            for (members, load) in buckets {
                most.tasks = most.tasks.max(load.tasks);
                most.cost = most.cost.max(load.cost);
                left.tasks += load.tasks;
                let rows = members.iter().flat_map(|stage| stages.row(*stage));
                units.add_bucket(rows.copied(), load.cost);
            }
            all.tasks += count.nothing.tasks as u64;
            all.cost += count.nothing.cost;
        }
        let others = units.alone;
        let units = units.finish();
        let cost = units.iter().map(|unit| unit.cost).sum();
        AlgorithmPlan {
            name: algorithm.name(),
            buckets: count_of_buckets,
            tasks: left.tasks as usize + others,
            cost,
            reuse_percent: percent(left.tasks, all.tasks),
            reuse_percent_of_time: percent(left.cost, all.cost),
            largest_bucket: most.tasks as usize,
            largest_cost: most.cost,
            largest_bytes: most.bytes,
            makespan: makespan(&units, self.limits.workers),
            lower_bound: self.lower_bound(),
        }
    }

    /// The cost of all tasks over the workers, or the longest chain of tasks. With less sharing there is more to do.
    fn lower_bound(&self) -> u64 {
        let workers = self.limits.workers.max(1) as u64;
        let cost = |node: usize| self.weights.to_do[node].cost;
        let nodes = (0..self.shared.compact.len()).filter(|node| self.shared.counted[*node]);
        let total: u64 = match self.sharing {
            Sharing::Graph => nodes.map(cost).sum(),
            Sharing::Chain | Sharing::Nothing => {
                let in_stages = crate::count::nodes_of_stages(&self.shared.compact);
                let alone: u64 = nodes.filter(|node| !in_stages[*node]).map(cost).sum();
                let stages = self.counts.iter();
                alone
                    + stages
                        .map(|count| count.left(self.sharing).to_do)
                        .sum::<u64>()
            }
        };
        total
            .div_ceil(workers)
            .max(longest_chain(&self.shared.compact, &self.weights.to_do))
    }
}

/// The cost of the longest chain of tasks.
pub(crate) fn longest_chain(compact: &Compact, to_do: &[Weight]) -> u64 {
    let mut ends = vec![0; compact.len()];
    for node in 0..compact.len() as u32 {
        let before = compact.reads(node).map(|input| ends[input as usize]);
        ends[node as usize] = before.max().unwrap_or(0) + to_do[node as usize].cost;
    }
    ends.into_iter().max().unwrap_or(0)
}

/// Units of work in the making.
struct Units<'a> {
    compact: &'a Compact,
    weights: &'a [Weight],
    counted: &'a [bool],
    costs: Vec<u64>,
    members: Vec<Vec<u32>>,
    /// By node, the first unit that makes it.
    maker: Vec<u32>,
    /// How many tasks stand alone.
    alone: usize,
}

const NOBODY: u32 = u32::MAX;

impl<'a> Units<'a> {
    fn new(compact: &'a Compact, weights: &'a [Weight], counted: &'a [bool]) -> Units<'a> {
        Units {
            compact,
            weights,
            counted,
            costs: Vec::new(),
            members: Vec::new(),
            maker: vec![NOBODY; compact.len()],
            alone: 0,
        }
    }

    /// Adds tasks that are in no bucket; one that another unit makes already is not made again.
    fn add(&mut self, nodes: impl Iterator<Item = u32>) {
        let mut nodes: Vec<u32> = nodes.collect();
        nodes.retain(|node| self.maker[*node as usize] == NOBODY);
        if nodes.is_empty() {
            return;
        }
        let cost = nodes.iter().map(|node| self.weights[*node as usize].cost);
        let cost = cost.sum();
        self.alone += nodes.len();
        self.add_bucket(nodes.into_iter(), cost);
    }

    fn add_bucket(&mut self, nodes: impl Iterator<Item = u32>, cost: u64) {
        let unit = self.costs.len() as u32;
        let mut members: Vec<u32> = nodes.collect();
        members.sort_unstable();
        members.dedup();
        for node in &members {
            let maker = &mut self.maker[*node as usize];
            if *maker == NOBODY {
                *maker = unit;
            }
        }
        self.costs.push(cost);
        self.members.push(members);
    }

    /// The units, with what is in none as units of their own, each with those that it waits for.
    fn finish(mut self) -> Vec<Unit> {
        for node in 0..self.compact.len() as u32 {
            if self.maker[node as usize] == NOBODY {
                let cost = if self.counted[node as usize] {
                    self.weights[node as usize].cost
                } else {
                    0
                };
                self.add_bucket(std::iter::once(node), cost);
            }
        }
        let after = |(unit, members): (usize, &Vec<u32>)| {
            let mut after: Vec<u32> = members
                .iter()
                .flat_map(|node| self.compact.reads(*node))
                .filter(|input| members.binary_search(input).is_err())
                .map(|input| self.maker[input as usize])
                .filter(|maker| *maker as usize != unit)
                .collect();
            after.sort_unstable();
            after.dedup();
            after
        };
        let after: Vec<Vec<u32>> = self.members.iter().enumerate().map(after).collect();
        let unit = |(cost, after)| Unit { cost, after };
        self.costs.into_iter().zip(after).map(unit).collect()
    }
}
