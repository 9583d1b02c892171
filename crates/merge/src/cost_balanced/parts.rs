//! Parts of a tree: stages that share much and together cost at most so much.
//!
//! Law: each stage is in one part; a part costs at most the cap, unless it is a single stage. A node whose whole
//! subtree fits, together with the way to it, is never cut. Where one does not fit, what its children leave is put
//! together again as long as it fits, from the lowest nodes up; but never at the root, where nothing is shared.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::{Tree, Weight};

/// What the subtrees of a tree cost.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    tree: &'a Tree,
    /// By node: what the tasks on the way to it cost, itself included.
    way: Vec<u64>,
    /// By node: what the tasks below it cost, itself included.
    below: Vec<u64>,
}

/// Some subtrees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// What they cost with all that lies on the way to them.
    pub(super) cost: u64,
    /// The nodes at their top.
    pub(super) roots: Vec<u32>,
}

/// All parts of a tree.
#[derive(Debug)]
pub(super) struct Split {
    pub(super) parts: Vec<Part>,
    /// Whether no node but the root was cut.
    pub(super) whole: bool,
}

impl<'a> Parts<'a> {
    pub(super) fn new(tree: &'a Tree, weights: &[Weight]) -> Parts<'a> {
        let own = |node: usize| weights[tree.node(node as u32).task as usize].cost;
        let parent = |node: usize| tree.node(node as u32).parent as usize;
        let mut way = vec![0; tree.len()];
        for node in 1..tree.len() {
            way[node] = way[parent(node)] + own(node);
        }
        let mut below = vec![0; tree.len()];
        for node in (1..tree.len()).rev() {
            below[node] += own(node);
            below[parent(node)] += below[node];
        }
        Parts { tree, way, below }
    }

    /// What all tasks cost.
    pub(super) fn total(&self) -> u64 {
        self.below[0]
    }

    /// What the tasks on the way to a node cost, itself included.
    pub(super) fn way(&self, node: u32) -> u64 {
        self.way[node as usize]
    }

    /// What a node itself costs.
    pub(super) fn own(&self, node: u32) -> u64 {
        self.way[node as usize] - self.way[self.tree.node(node).parent as usize]
    }

    /// The tree that is cut.
    pub(super) fn tree(&self) -> &'a Tree {
        self.tree
    }

    /// Cuts the tree into parts of at most `cap`.
    pub(super) fn split(&self, cap: u64) -> Split {
        let last = self.tree.depth();
        // The nodes that are cut, from the top down, and where among them the children of each begin.
        let mut cut: Vec<u32> = vec![0];
        let mut begins: Vec<usize> = Vec::new();
        let mut next = 0;
        let is_cut = |node: u32, child: u32| {
            self.way[node as usize] + self.below[child as usize] > cap
                && self.tree.node(child).level < last
        };
        while let Some(node) = cut.get(next).copied() {
            begins.push(cut.len());
            cut.extend(
                self.tree
                    .children(node)
                    .filter(|child| is_cut(node, *child)),
            );
            next += 1;
        }
        let mut made: Vec<Vec<Part>> = vec![Vec::new(); cut.len()];
        for position in (0..cut.len()).rev() {
            let node = cut[position];
            let mut below = begins[position];
            let mut parts = Vec::new();
            for child in self.tree.children(node) {
                if is_cut(node, child) {
                    parts.append(&mut made[below]);
                    below += 1;
                } else {
                    parts.push(Part {
                        cost: self.below[child as usize],
                        roots: vec![child],
                    });
                }
            }
            if node != 0 {
                parts = pack(parts, cap.saturating_sub(self.way[node as usize]));
                let own = self.own(node);
                for part in &mut parts {
                    part.cost += own;
                }
            }
            made[position] = parts;
        }
        Split {
            whole: cut.len() == 1,
            parts: std::mem::take(&mut made[0]),
        }
    }
}

/// Puts parts together up to a capacity: the dearest first, each where it leaves least room.
fn pack(mut parts: Vec<Part>, capacity: u64) -> Vec<Part> {
    parts.sort_by_key(|part| Reverse(part.cost));
    let mut packed: Vec<Part> = Vec::new();
    // (room, position).
    let mut rooms: BTreeSet<(u64, usize)> = BTreeSet::new();
    for part in parts {
        let fitting = rooms.range((part.cost, 0)..).next().copied();
        match fitting {
            Some((room, position)) => {
                rooms.remove(&(room, position));
                rooms.insert((room - part.cost, position));
                packed[position].cost += part.cost;
                packed[position].roots.extend(part.roots);
            }
            None => {
                rooms.insert((capacity.saturating_sub(part.cost), packed.len()));
                packed.push(part);
            }
        }
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stages;

    fn parts(rows: &[[u32; 3]], cap: u64) -> Vec<(u64, usize)> {
        let stages = Stages::new(3, rows.concat());
        let tree = Tree::new(&stages);
        let weights = vec![Weight { cost: 10, bytes: 0 }; 30];
        let parts = Parts::new(&tree, &weights);
        let split = parts.split(cap);
        let mut found: Vec<(u64, usize)> = split
            .parts
            .iter()
            .map(|part| (part.cost, part.roots.len()))
            .collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn what_fits_stays_whole_and_the_rest_is_put_together() {
        let rows = [
            [1, 2, 10],
            [1, 2, 11],
            [1, 2, 12],
            [1, 3, 13],
            [1, 4, 14],
            [5, 6, 15],
        ];
        // All of task 1 costs 90, the stages of task 2 with it 50.
        assert_eq!(parts(&rows, 90), [(30, 1), (90, 1)]);
        // The children of task 1: 40 (with two leaves), 20 and 20; the second and third fit together.
        assert_eq!(parts(&rows, 50), [(30, 1), (50, 1), (50, 2)]);
        // Of task 2 two leaves fit, and the third is left alone; tasks 3 and 4 fit neither with each other nor with it.
        assert_eq!(
            parts(&rows, 40),
            [(30, 1), (30, 1), (30, 1), (30, 1), (40, 2)]
        );
        // A single stage is never cut.
        assert_eq!(parts(&rows, 1), [(30, 1); 6]);
    }
}
