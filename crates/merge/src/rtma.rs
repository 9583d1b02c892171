//! The reuse-tree merging algorithm: full buckets from the leaves up.
//!
//! Law: below each node of the tree, fewer than `max_bucket_size` stages are left for the nodes above it; all others
//! are in buckets of exactly that many stages that lie below it. O(tasks × stages).
//!
//! The algorithm is that of Barreiros and Teodoro (2017), section 3.3.3. They take leaves out of a tree and hang what
//! is left one level higher, until leaves hang from the root. Here the tree stays as it is: in the order of its
//! leaves, the stages below a node stand side by side at every level, so that a list of what is left, and the node
//! that each of them hangs from by now, is all that is needed.

use crate::order::Order;
use crate::{Buckets, Merge, Stages, Tree, Weight};

/// Makes full buckets from the leaves up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rtma {
    /// How many stages a bucket may have; 0 counts as 1.
    pub max_bucket_size: usize,
    /// Whether a stage that no full bucket took is alone, as the listing of the paper has it; else those that share
    /// their first task are together, as in the program of its authors.
    pub paper: bool,
}

/// A stage that is in no bucket yet.
#[derive(Debug, Clone, Copy)]
struct Left {
    stage: u32,
    /// The node that it hangs from.
    node: u32,
}

impl Merge for Rtma {
    fn name(&self) -> &'static str {
        "RTMA"
    }

    fn merge(&self, _: &Stages, tree: &Tree, _: &[Weight]) -> Buckets {
        let size = self.max_bucket_size.max(1);
        let bucket = |members: &[Left]| members.iter().map(|left| left.stage).collect();
        let mut buckets = Vec::with_capacity(tree.leaves().len().div_ceil(size));
        let hanging = |stage: u32| Left {
            stage,
            node: tree.leaves()[stage as usize],
        };
        let order = Order::new(tree).stages;
        let mut left: Vec<Left> = order.into_iter().map(hanging).collect();
        // From the parents of leaves up to the first level.
        for _ in 1..tree.depth() {
            for stage in &mut left {
                stage.node = tree.node(stage.node).parent;
            }
            let (mut begin, mut kept) = (0, 0);
            while let Some(first) = left.get(begin) {
                let below = left[begin..].iter();
                let below = below.take_while(|stage| stage.node == first.node).count();
                let rest = below % size;
                let full = left[begin..][..below - rest].chunks_exact(size);
                buckets.extend(full.map(bucket));
                begin += below;
                left.copy_within(begin - rest..begin, kept);
                kept += rest;
            }
            left.truncate(kept);
        }
        if self.paper {
            buckets.extend(left.chunks(1).map(bucket));
        } else {
            buckets.extend(
                left.chunk_by(|one, other| one.node == other.node)
                    .map(bucket),
            );
        }
        Buckets { stages: buckets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(stages: &Stages, max_bucket_size: usize, paper: bool) -> Vec<Vec<u32>> {
        let algorithm = Rtma {
            max_bucket_size,
            paper,
        };
        algorithm.merge(stages, &Tree::new(stages), &[]).stages
    }

    /// Figure 11 of the paper: a, b, c below one node; d, e, f, g and h, i below two that share their first task. How
    /// j, k and l hang is not in the text: here j and k share their first task, l shares nothing.
    #[test]
    fn figure_11() {
        let rows = [
            (1, 5, "abc"),
            (2, 6, "defg"),
            (2, 7, "hi"),
            (3, 8, "j"),
            (3, 9, "k"),
            (4, 10, "l"),
        ];
        let cells = rows.iter().flat_map(|(first, second, stages)| {
            let third = stages.bytes().map(|stage| u32::from(stage - b'a') + 11);
            third.flat_map(move |third| [*first, *second, third])
        });
        let stages = Stages::new(3, cells.collect());
        let named = |paper| {
            let name = |stage: &u32| char::from(b'a' + *stage as u8);
            let buckets = merge(&stages, 3, paper);
            let names = buckets.iter().map(|bucket| bucket.iter().map(name));
            names.map(Iterator::collect).collect::<Vec<String>>()
        };
        assert_eq!(named(false), ["abc", "def", "ghi", "jk", "l"]);
        assert_eq!(named(true), ["abc", "def", "ghi", "j", "k", "l"]);
    }

    /// Stages of which each second one hangs from the same node meet their siblings first.
    #[test]
    fn what_moves_up_keeps_the_order_of_the_tree() {
        let cells = (0..6).flat_map(|stage| [0, 1 + stage % 2, 3 + stage]);
        let stages = Stages::new(3, cells.collect());
        assert_eq!(merge(&stages, 4, false), [vec![0, 2, 4, 1], vec![3, 5]]);
    }

    #[test]
    fn stages_of_one_task_share_nothing() {
        let stages = Stages::new(1, vec![3, 4, 5]);
        assert_eq!(merge(&stages, 2, false).len(), 3);
        assert!(merge(&Stages::default(), 2, false).is_empty());
    }
}
