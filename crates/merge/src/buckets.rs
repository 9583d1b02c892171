//! Buckets: a partition of stages, and what it costs.
//!
//! Law: each stage is in exactly one bucket. What a bucket costs depends on its stages alone, not on their order.

use crate::{Stages, Tree, Weight};

/// An algorithm that cuts stages into buckets.
pub trait Merge {
    /// Its name, for people.
    fn name(&self) -> &'static str;

    /// Cuts stages into buckets. `tree` is the tree of `stages`; `weights` says what a task costs, by its number.
    fn merge(&self, stages: &Stages, tree: &Tree, weights: &[Weight]) -> Buckets;
}

/// What the stages of a bucket share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Nothing.
    Nothing,
    /// Common beginnings: a task is shared if all tasks before it are.
    Chain,
    /// Every task that is the same, whatever else differs.
    Graph,
}

/// Stages, in buckets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Buckets {
    /// The positions of the stages of each bucket.
    pub stages: Vec<Vec<u32>>,
}

/// What a bucket comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// How many tasks it executes.
    pub tasks: u64,
    /// What they cost.
    pub cost: u64,
    /// The bytes of what they make.
    pub bytes: u64,
}

impl Load {
    fn add(&mut self, weight: Weight) {
        self.tasks += 1;
        self.cost += weight.cost;
        self.bytes += weight.bytes;
    }
}

impl Buckets {
    /// A bucket for each stage.
    pub fn single(stages: &Stages) -> Buckets {
        Buckets {
            stages: (0..stages.len() as u32).map(|stage| vec![stage]).collect(),
        }
    }

    /// How many buckets there are.
    pub fn len(&self) -> usize {
        self.stages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// What each bucket comes to. `tree` is the tree of `stages`.
    pub fn loads(
        &self,
        stages: &Stages,
        tree: &Tree,
        weights: &[Weight],
        sharing: Sharing,
    ) -> Vec<Load> {
        // The last bucket that came by, by node of the tree or by task.
        let mut seen: Vec<u32> = match sharing {
            Sharing::Nothing => Vec::new(),
            Sharing::Chain => vec![u32::MAX; tree.len()],
            Sharing::Graph => vec![u32::MAX; weights.len()],
        };
        let mut loads = Vec::with_capacity(self.len());
        for (bucket, members) in self.stages.iter().enumerate() {
            let bucket = bucket as u32;
            let mut first_time =
                |at: u32| std::mem::replace(&mut seen[at as usize], bucket) != bucket;
            let mut load = Load::default();
            for stage in members {
                match sharing {
                    Sharing::Nothing => stages
                        .row(*stage)
                        .iter()
                        .for_each(|task| load.add(weights[*task as usize])),
                    Sharing::Graph => stages
                        .row(*stage)
                        .iter()
                        .filter(|task| first_time(**task))
                        .for_each(|task| load.add(weights[*task as usize])),
                    Sharing::Chain => {
                        let mut at = tree.leaves()[*stage as usize];
                        while at != 0 && first_time(at) {
                            load.add(weights[tree.node(at).task as usize]);
                            at = tree.node(at).parent;
                        }
                    }
                }
            }
            loads.push(load);
        }
        loads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_costs_what_its_stages_do_not_share() {
        // The middle task of both stages is the same, but what comes before it in the row is not.
        let stages = Stages::new(3, vec![0, 2, 3, 1, 2, 4]);
        let tree = Tree::new(&stages);
        let weights = vec![Weight { cost: 10, bytes: 1 }; 5];
        let together = Buckets {
            stages: vec![vec![0, 1]],
        };
        let tasks = |sharing| together.loads(&stages, &tree, &weights, sharing)[0].tasks;
        assert_eq!(tasks(Sharing::Nothing), 6);
        assert_eq!(tasks(Sharing::Chain), 6);
        assert_eq!(tasks(Sharing::Graph), 5);
        let apart = Buckets::single(&stages);
        let loads = apart.loads(&stages, &tree, &weights, Sharing::Graph);
        assert_eq!(loads.iter().map(|load| load.cost).sum::<u64>(), 60);
    }
}
