//! The smart cut algorithm: buckets by cheapest cuts of the graph of what stages share.
//!
//! Law: the graph is complete, its vertices are the stages, and an edge weighs as many tasks as its two stages have
//! as a common beginning. As long as more stages are left than fit into a bucket, they are cut in two where that
//! loses least, then the larger part (of equal ones, the one taken out) is cut in the same way, until a part
//! fits; that is a bucket, and all the rest begins again. Of cuts that lose the same, the one that takes out the
//! earliest stage is made, and of those the one that takes out most.
//!
//! The algorithm is that of Barreiros and Teodoro (2017), section 3.3.2. They find a cheapest cut in the graph itself
//! (Stoer and Wagner 1997) and give O(n⁴) for the whole. Here the graph is never made, because its weights come from
//! a tree, and **to take out all stages below some one node of the tree is a cheapest cut**:
//!
//! - An edge weighs the number of nodes that are above both stages. So a cut with x of the n stages below a node on
//!   one side, y = n − x on the other, loses x·y there, and what it loses in all is the sum over nodes.
//! - Of a cut, take a lowest node v that it divides: a of the stages below v on one side, b on the other. To move the
//!   a stages over changes the loss by a·(D − h·a − b), where D is the sum of x − y, seen from the side of a, over the
//!   h nodes above v; to move the b stages by b·(−D − h·b − a). One of the two is no gain in loss, and divides one
//!   node less. This can go on until the stages to be moved are all that is on their side.
//! - That side then consists of some whole children of v, and what it loses is a concave function of its size: the
//!   sum of x·(n − x) over v and the nodes above it. So a single one of these children loses no more, or else all of
//!   v does; where v holds all stages the function is symmetric, and a child on the smaller side loses no more.
//!
//! A cut is then one pass over the stages and the nodes above them, and O(n²) cuts are O(tasks × n³) at worst.

use crate::{Buckets, Merge, Stages, Tree, Weight};

/// Takes buckets out of the graph of what stages share by cutting it in two again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmartCut {
    /// How many stages a bucket may have; 0 counts as 1.
    pub max_bucket_size: usize,
}

impl SmartCut {
    /// With more stages than this it should not be asked: this many take seconds, twice as many eight times as long.
    pub const PRACTICAL: usize = 2000;
}

impl Merge for SmartCut {
    fn name(&self) -> &'static str {
        "smart cut"
    }

    fn merge(&self, stages: &Stages, tree: &Tree, _: &[Weight]) -> Buckets {
        let size = self.max_bucket_size.max(1);
        let paths = Paths::new(tree);
        let mut buckets = Vec::new();
        let mut rest: Vec<u32> = (0..stages.len() as u32).collect();
        while rest.len() > size {
            let mut part = Part::new(&paths, tree.len(), rest.clone());
            while part.stages.len() > size {
                part.keep_larger();
            }
            // Both are in the order of the stages.
            let mut taken = part.stages.iter().peekable();
            rest.retain(|stage| taken.next_if_eq(&stage).is_none());
            buckets.push(part.stages);
        }
        if !rest.is_empty() {
            buckets.push(rest);
        }
        Buckets { stages: buckets }
    }
}

/// For each stage the nodes on the way to its leaf, the root left out.
struct Paths {
    depth: usize,
    nodes: Vec<u32>,
}

impl Paths {
    fn new(tree: &Tree) -> Paths {
        let depth = tree.depth() as usize;
        let mut nodes = vec![0; tree.leaves().len() * depth];
        for (stage, leaf) in tree.leaves().iter().enumerate() {
            let mut at = *leaf;
            for place in nodes[stage * depth..][..depth].iter_mut().rev() {
                *place = at;
                at = tree.node(at).parent;
            }
        }
        Paths { depth, nodes }
    }

    fn of(&self, stage: u32) -> &[u32] {
        &self.nodes[stage as usize * self.depth..][..self.depth]
    }
}

/// A cut: all stages of a part that lie below a node are taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    loss: u64,
    node: u32,
    /// The place of the node on the paths that go through it.
    level: usize,
    /// How many stages of the part lie below it.
    below: usize,
}

/// Stages that are to be cut in two.
struct Part<'a> {
    paths: &'a Paths,
    /// In the order given.
    stages: Vec<u32>,
    /// By node of the tree: how many of the stages lie below it.
    below: Vec<u32>,
    /// By node of the tree: the last look for a cut that came by.
    seen: Vec<u32>,
    looks: u32,
}

impl<'a> Part<'a> {
    fn new(paths: &'a Paths, nodes: usize, stages: Vec<u32>) -> Part<'a> {
        let mut below = vec![0; nodes];
        for node in stages.iter().flat_map(|stage| paths.of(*stage)) {
            below[*node as usize] += 1;
        }
        Part {
            paths,
            stages,
            below,
            seen: vec![0; nodes],
            looks: 0,
        }
    }

    /// The cut that loses least. There are at least two stages.
    fn cheapest(&mut self) -> Cut {
        let mut best = Cut {
            loss: u64::MAX,
            node: 0,
            level: 0,
            below: 0,
        };
        self.looks += 1;
        for stage in &self.stages {
            // What a stage here shares with the part, through the nodes above the one that is looked at.
            let mut shared = 0;
            for (level, node) in self.paths.of(*stage).iter().enumerate() {
                let below = self.below[*node as usize];
                let first_time =
                    std::mem::replace(&mut self.seen[*node as usize], self.looks) != self.looks;
                if first_time && (below as usize) < self.stages.len() {
                    let below = u64::from(below);
                    let loss = below * (shared - level as u64 * below);
                    if loss < best.loss {
                        best = Cut {
                            loss,
                            node: *node,
                            level,
                            below: below as usize,
                        };
                    }
                }
                // Further down it is alone, and loses more.
                if below == 1 {
                    break;
                }
                shared += u64::from(below);
            }
            if best.loss == 0 {
                break;
            }
        }
        best
    }

    /// Makes the cheapest cut and keeps the larger part.
    fn keep_larger(&mut self) {
        let cut = self.cheapest();
        let inside = |stage: u32| self.paths.of(stage)[cut.level] == cut.node;
        let outside = self.stages.len() - cut.below;
        let keep = cut.below >= outside;
        let below = &mut self.below;
        self.stages.retain(|stage| {
            let kept = inside(*stage) == keep;
            if !kept {
                for node in self.paths.of(*stage) {
                    below[*node as usize] -= 1;
                }
            }
            kept
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Figure 9 of the paper: a row for each stage, a number for each parameter; task i reads parameter i.
    fn figure_9() -> Stages {
        let parameters = [
            [5, 6, 2, 3, 7, 1],
            [5, 6, 2, 3, 3, 4],
            [5, 9, 3, 1, 3, 8],
            [5, 6, 2, 5, 7, 3],
            [5, 6, 2, 5, 7, 8],
        ];
        let mut tasks: Vec<&[u32]> = Vec::new();
        let mut cells = Vec::new();
        for row in &parameters {
            for end in 1..=row.len() {
                let known = tasks.iter().position(|task| *task == &row[..end]);
                cells.push(known.unwrap_or(tasks.len()) as u32);
                tasks.push(&row[..end]);
            }
        }
        Stages::new(6, cells)
    }

    /// What the cheapest cut of some stages loses, and what it leaves of them.
    fn cut(stages: &Stages, part: &[u32]) -> (u64, Vec<u32>) {
        let tree = Tree::new(stages);
        let paths = Paths::new(&tree);
        let mut part = Part::new(&paths, tree.len(), part.to_vec());
        let loss = part.cheapest().loss;
        part.keep_larger();
        (loss, part.stages)
    }

    fn merge(stages: &Stages, max_bucket_size: usize) -> Vec<Vec<u32>> {
        let algorithm = SmartCut { max_bucket_size };
        algorithm.merge(stages, &Tree::new(stages), &[]).stages
    }

    #[test]
    fn figure_9_weighs_what_is_shared() {
        let [a, b, c, d, e] = [0, 1, 2, 3, 4];
        let pairs = [
            ([a, b], 4),
            ([a, c], 1),
            ([a, d], 3),
            ([a, e], 3),
            ([b, c], 1),
            ([b, d], 3),
            ([b, e], 3),
            ([c, d], 1),
            ([c, e], 1),
            ([d, e], 5),
        ];
        // Of two stages there is one cut.
        for (pair, weight) in pairs {
            assert_eq!(cut(&figure_9(), &pair).0, weight, "{pair:?}");
        }
    }

    #[test]
    fn figure_9_removes_c_then_a_then_b() {
        let stages = figure_9();
        assert_eq!(cut(&stages, &[0, 1, 2, 3, 4]), (4, vec![0, 1, 3, 4]));
        // Without a or without b 10 are lost; the earlier one goes.
        assert_eq!(cut(&stages, &[0, 1, 3, 4]), (10, vec![1, 3, 4]));
        assert_eq!(cut(&stages, &[1, 3, 4]), (6, vec![3, 4]));
        assert_eq!(cut(&stages, &[0, 1, 2]), (2, vec![0, 1]));
        assert_eq!(merge(&stages, 2), [vec![3, 4], vec![0, 1], vec![2]]);
    }

    #[test]
    fn stages_that_share_nothing_leave_in_the_order_given() {
        let stages = Stages::new(1, vec![4, 5, 6, 7, 8]);
        assert_eq!(merge(&stages, 2), [vec![3, 4], vec![1, 2], vec![0]]);
    }

    /// Three pairs that share two tasks, all share one: without any one stage 6 are lost, without a pair 8.
    #[test]
    fn of_equal_cuts_the_earliest_stage_leaves() {
        let cells = (0..6).flat_map(|stage| [0, 1 + stage / 2, 4 + stage]);
        let stages = Stages::new(3, cells.collect());
        let all = [0, 1, 2, 3, 4, 5];
        assert_eq!(cut(&stages, &all), (6, vec![1, 2, 3, 4, 5]));
        // Whichever node is older: here that of the first stage, which is not among those to be cut.
        let stages = Stages::new(2, vec![0, 3, 1, 4, 0, 5, 2, 6]);
        assert_eq!(cut(&stages, &[1, 2, 3]), (0, vec![2, 3]));
        // Both a stage and the pair that it is in lose 4.
        let stages = Stages::new(3, vec![0, 1, 3, 0, 1, 4, 0, 2, 5, 0, 2, 6]);
        assert_eq!(cut(&stages, &[0, 1, 2, 3]), (4, vec![0, 1]));
    }

    /// Two nodes with two stages each and nothing in common: halves.
    #[test]
    fn of_equal_parts_the_one_taken_out_stays() {
        let stages = Stages::new(2, vec![0, 2, 1, 3, 0, 4, 1, 5]);
        assert_eq!(cut(&stages, &[0, 1, 2, 3]), (0, vec![0, 2]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// Against all cuts of the graph.
        #[test]
        fn no_cut_loses_less(
            rows in prop::collection::btree_set((0..2_u32, 0..3_u32, 0..2_u32, 0..3_u32), 2..10),
            common in 0..3_u32,
        ) {
            let rows: Vec<Vec<u32>> = rows
                .into_iter()
                .map(|(a, b, c, d)| [vec![0; common as usize], vec![a, b, c, d]].concat())
                .collect();
            // The number of a task says all that is before it.
            let number = |row: &[u32]| row.iter().fold(1, |number, value| number * 4 + value);
            let cells = rows.iter().flat_map(|row| (1..=row.len()).map(|end| number(&row[..end])));
            let stages = Stages::new(rows[0].len(), cells.collect());
            let count = rows.len();
            let weight = |one: usize, other: usize| {
                let pairs = rows[one].iter().zip(&rows[other]);
                pairs.take_while(|(one, other)| one == other).count() as u64
            };
            let loss = |inside: &dyn Fn(usize) -> bool| -> u64 {
                let pairs = (0..count).flat_map(|one| (0..count).map(move |other| (one, other)));
                let parted = pairs.filter(|(one, other)| inside(*one) && !inside(*other));
                parted.map(|(one, other)| weight(one, other)).sum()
            };
            let all: Vec<u32> = (0..count as u32).collect();
            let (found, kept) = cut(&stages, &all);
            prop_assert!(kept.len() < count && kept.len() * 2 >= count);
            prop_assert_eq!(found, loss(&|stage| kept.contains(&(stage as u32))));
            let least = (1..1_u32 << (count - 1)).map(|side| loss(&|stage| side >> stage & 1 == 1));
            prop_assert_eq!(Some(found), least.min());
            // And so on: a part that was cut is as good as a new one.
            let tree = Tree::new(&stages);
            let paths = Paths::new(&tree);
            let mut part = Part::new(&paths, tree.len(), all);
            while part.stages.len() > 1 {
                let expected = cut(&stages, &part.stages);
                let loss = part.cheapest().loss;
                part.keep_larger();
                prop_assert_eq!((loss, &part.stages), (expected.0, &expected.1));
            }
        }
    }
}
