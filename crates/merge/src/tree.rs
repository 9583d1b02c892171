//! The reuse tree: stages by their common beginnings.
//!
//! Law: level i holds the i-th tasks; two stages pass through the same node of level i if and only if their first i
//! tasks are the same. Below the last level but one every stage has a leaf of its own. Children are in the order of
//! the stages that brought them. Building it costs one look-up per task.

use crate::Stages;
use crate::known::{Known, spread};

/// No node.
pub(crate) const NONE: u32 = u32::MAX;

/// A node: a task after the tasks on the way to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeNode {
    /// The node above it; its own number for the root.
    pub parent: u32,
    /// The task, as in [`Stages`]; of the root, no number that means anything.
    pub task: u32,
    /// How many tasks lie on the way to it, itself included; 0 for the root.
    pub level: u32,
    first_child: u32,
    last_child: u32,
    next: u32,
}

/// Stages by their common beginnings. Node 0 is the root. A node has a smaller number than what is below it, and those
/// that a stage brought stand side by side: what climbs from leaves to the root is quick.
#[derive(Debug, Clone)]
pub struct Tree {
    nodes: Vec<TreeNode>,
    /// The leaf of each stage.
    leaves: Vec<u32>,
    depth: u32,
}

impl Tree {
    /// The tree of stages that all differ: merging whole stages comes first.
    pub fn new(stages: &Stages) -> Tree {
        let root = TreeNode {
            parent: 0,
            task: NONE,
            level: 0,
            first_child: NONE,
            last_child: NONE,
            next: NONE,
        };
        let mut tree = Tree {
            nodes: vec![root],
            leaves: Vec::with_capacity(stages.len()),
            depth: stages.width() as u32,
        };
        let mut known = Known::default();
        for row in stages.rows() {
            let mut at = 0;
            let (last, beginning) = row.split_last().expect("a stage has tasks");
            for task in beginning {
                // Most nodes have one child, which the node itself knows: the table has the others.
                let first = tree.nodes[at as usize].first_child;
                if first == NONE {
                    at = tree.add(at, *task);
                    continue;
                }
                if tree.nodes[first as usize].task == *task {
                    at = first;
                    continue;
                }
                let same = |known: u32| {
                    let known = &tree.nodes[known as usize];
                    known.parent == at && known.task == *task
                };
                let new = tree.nodes.len() as u32;
                let node = known.number(spread(&[at, *task]), same, new);
                if node == new {
                    tree.add(at, *task);
                }
                at = node;
            }
            let leaf = tree.add(at, *last);
            tree.leaves.push(leaf);
        }
        tree
    }

    fn add(&mut self, parent: u32, task: u32) -> u32 {
        let node = self.nodes.len() as u32;
        let level = self.nodes[parent as usize].level + 1;
        self.nodes.push(TreeNode {
            parent,
            task,
            level,
            first_child: NONE,
            last_child: NONE,
            next: NONE,
        });
        match self.nodes[parent as usize].last_child {
            NONE => self.nodes[parent as usize].first_child = node,
            last => self.nodes[last as usize].next = node,
        }
        self.nodes[parent as usize].last_child = node;
        node
    }

    /// How many tasks a stage has.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// How many nodes there are, the root included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no stages.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// How many tasks remain when stages share their common beginnings: all nodes but the root.
    pub fn tasks(&self) -> usize {
        self.nodes.len() - 1
    }

    /// A node.
    pub fn node(&self, node: u32) -> &TreeNode {
        &self.nodes[node as usize]
    }

    /// The leaf of each stage.
    pub fn leaves(&self) -> &[u32] {
        &self.leaves
    }

    /// The children of a node, in the order of the stages that brought them.
    pub fn children(&self, node: u32) -> impl Iterator<Item = u32> {
        let first = self.nodes[node as usize].first_child;
        let next =
            |child: &u32| Some(self.nodes[*child as usize].next).filter(|next| *next != NONE);
        std::iter::successors(Some(first).filter(|first| *first != NONE), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_meet_where_they_begin_alike() {
        let stages = Stages::new(3, vec![1, 2, 3, 1, 2, 4, 1, 5, 3, 6, 2, 3]);
        let tree = Tree::new(&stages);
        assert_eq!(tree.tasks(), 9);
        let tops: Vec<u32> = tree.children(0).map(|node| tree.node(node).task).collect();
        assert_eq!(tops, [1, 6]);
        let first = tree.node(tree.leaves()[0]);
        let second = tree.node(tree.leaves()[1]);
        assert_eq!(first.parent, second.parent);
        assert_eq!(first.level, 3);
    }
}
