//! Stages in the depth-first order of their tree, and the branches that some of them form.
//!
//! Law: the stages below a node stand side by side. So any bucket, sorted by place, is a tree of its own: two
//! neighbours meet at the node where their ways part, and what lies below a node is a range. A chain of nodes with
//! one child each is one branch, since moving any of them moves the same stages.

use crate::Tree;

/// Where the stages stand.
#[derive(Debug)]
pub(crate) struct Order {
    /// By stage: its place.
    pub(crate) places: Vec<u32>,
    /// By place: the stage.
    pub(crate) stages: Vec<u32>,
    /// By node: after the last place below it, and how many there are.
    below: Vec<(u32, u32)>,
}

impl Order {
    /// The order of a tree, in passes over its nodes: parents have smaller numbers than their children.
    pub(crate) fn new(tree: &Tree) -> Order {
        let mut below = vec![0u32; tree.len()];
        for leaf in tree.leaves() {
            below[*leaf as usize] = 1;
        }
        for node in (1..tree.len()).rev() {
            below[tree.node(node as u32).parent as usize] += below[node];
        }
        // From here on: where the next child of a node begins.
        let mut next = vec![0u32; tree.len()];
        for node in 1..tree.len() {
            let parent = tree.node(node as u32).parent as usize;
            next[node] = next[parent];
            next[parent] += below[node];
        }
        let places: Vec<u32> = tree
            .leaves()
            .iter()
            .map(|leaf| next[*leaf as usize])
            .collect();
        let mut stages = vec![0; places.len()];
        for (stage, place) in places.iter().enumerate() {
            stages[*place as usize] = stage as u32;
        }
        // A leaf has no children that would have moved it on.
        for leaf in tree.leaves() {
            next[*leaf as usize] += 1;
        }
        let below = next.into_iter().zip(below).collect();
        Order {
            places,
            stages,
            below,
        }
    }

    /// The stages below a node.
    pub(crate) fn below(&self, node: u32) -> &[u32] {
        let (end, count) = self.below[node as usize];
        &self.stages[(end - count) as usize..end as usize]
    }
}

/// The node at which the ways to two leaves part.
pub(crate) fn meet(tree: &Tree, one: u32, other: u32) -> u32 {
    let (mut one, mut other) = (one, other);
    while one != other {
        one = tree.node(one).parent;
        other = tree.node(other).parent;
    }
    one
}

/// A node of the tree that some stages form, without the chain of single children above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Branch {
    /// Its level, at the lower end of the chain.
    pub(crate) level: u32,
    /// The level of the node that it branches off from.
    pub(crate) off: u32,
    /// The first of its stages.
    pub(crate) begin: usize,
    /// After the last of its stages.
    pub(crate) end: usize,
    /// What its stages come to, in two ways.
    pub(crate) sums: (u64, u64),
}

/// Calls `visit` with every branch of sorted stages, those below before the one above, in order. `meets` has for
/// each stage the level at which it meets the one before it, 0 for the first; `depth` is the level of leaves; `values`
/// are what the stages come to. Of neighbours that branch off from the same node and come to the same, only the last
/// is visited.
pub(crate) fn branches(
    meets: &[u32],
    depth: u32,
    values: impl Fn(usize) -> (u64, u64),
    mut visit: impl FnMut(Branch),
) {
    // (level, first stage, sums before it) of the nodes on the way to the present stage, and the last of them.
    let mut open: Vec<(u32, usize, (u64, u64))> = Vec::new();
    let mut inner = (0, 0, (0, 0));
    let mut sums = (0, 0);
    for end in 1..=meets.len() {
        let next = meets.get(end).copied().unwrap_or(0);
        let value = values(end - 1);
        let (mut level, mut begin, mut before) = (depth, end - 1, sums);
        sums = (sums.0 + value.0, sums.1 + value.1);
        let alike = next == inner.0 && next == meets[end - 1] && end < meets.len();
        if alike && value == values(end) {
            continue;
        }
        loop {
            visit(Branch {
                level,
                off: inner.0.max(next),
                begin,
                end,
                sums: (sums.0 - before.0, sums.1 - before.1),
            });
            if inner.0 <= next {
                break;
            }
            (level, begin, before) = inner;
            inner = open.pop().unwrap_or_default();
        }
        if inner.0 < next {
            open.push(inner);
            inner = (next, begin, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stages;

    #[test]
    fn stages_below_a_node_stand_side_by_side() {
        let stages = Stages::new(3, vec![1, 2, 3, 4, 5, 6, 1, 7, 8, 4, 5, 9, 1, 2, 10]);
        let order = Order::new(&Tree::new(&stages));
        assert_eq!(order.stages, [0, 4, 2, 1, 3]);
        assert_eq!(order.places, [0, 3, 2, 4, 1]);
        assert_eq!(order.below(0), order.stages);
        assert_eq!(order.below(1), [0, 4, 2]);
        assert_eq!(order.below(3), [0]);
    }

    #[test]
    fn branches_are_leaves_and_where_ways_part() {
        let branch = |level, off, begin, end| Branch {
            level,
            off,
            begin,
            end,
            sums: (
                (begin..end).map(|stage| stage as u64).sum(),
                (end - begin) as u64,
            ),
        };
        let values = |stage: usize| (stage as u64, 1);
        let mut found = Vec::new();
        branches(&[0, 2, 1, 0, 0], 3, values, |branch| found.push(branch));
        let expected = [
            branch(3, 2, 0, 1),
            branch(3, 2, 1, 2),
            branch(2, 1, 0, 2),
            branch(3, 1, 2, 3),
            branch(1, 0, 0, 3),
            branch(3, 0, 3, 4),
            branch(3, 0, 4, 5),
        ];
        assert_eq!(found, expected);
        found.clear();
        // One alone, which shares its way with nobody.
        branches(&[0], 3, values, |branch| found.push(branch));
        assert_eq!(found, [branch(3, 0, 0, 1)]);
    }
}
