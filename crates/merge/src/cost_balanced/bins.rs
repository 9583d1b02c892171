//! Parts into so many buckets, of equal or of graded sizes.
//!
//! Law: each part is in one bucket, and there are at most as many as said. The dearest part comes first; it goes where
//! most of its way is there already, if the bucket then costs no more than it should, and otherwise where most room
//! is left. Few places with shared ways are looked at, so that it costs O(parts × depth).

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::parts::{Part, Parts, Split};

/// How many buckets that share a way are looked at for one part.
const LOOKS: usize = 16;

/// The subtrees of each bucket, and what they cost together.
#[derive(Debug)]
pub(super) struct Filled {
    /// By bucket: the roots of its subtrees.
    pub(super) roots: Vec<Vec<u32>>,
    /// By bucket: what it costs in the tree.
    pub(super) costs: Vec<u64>,
}

/// Buckets of these relative sizes, the largest first.
pub(super) fn fill(split: &Split, parts: &Parts<'_>, sizes: &[u64]) -> Filled {
    let mut sorted: Vec<&Part> = split.parts.iter().collect();
    sorted.sort_by_key(|part| Reverse(part.cost));
    let largest = sorted.first().map_or(0, |part| part.cost);
    let count = sizes.len();
    let all = sizes.iter().map(|size| u128::from(*size)).sum::<u128>();
    let total = u128::from(parts.total());
    let room = |bin: usize| (total * u128::from(sizes[bin]) / all.max(1)) as u64;
    // Smaller buckets begin as if something were in them already.
    let loads: Vec<u64> = (0..count).map(|bin| room(0) - room(bin)).collect();
    let mut bins = Bins {
        parts,
        // A little more than needed, since not all ways will be shared.
        target: (room(0) + room(0) / 16).max(largest),
        roots: vec![Vec::new(); count],
        by_load: (0..count as u32)
            .map(|bin| (loads[bin as usize], bin))
            .collect(),
        loads,
        has: HashSet::default(),
        having: HashMap::default(),
    };
    let mut way: Vec<u32> = Vec::new();
    for part in sorted {
        way.clear();
        if !split.whole {
            bins.find_way(part, &mut way);
        }
        let bin = bins.place(part.cost, &way);
        bins.put(bin, part, &way);
    }
    let costs = bins.loads.iter().enumerate();
    Filled {
        costs: costs
            .map(|(bin, load)| load + room(bin) - room(0))
            .collect(),
        roots: bins.roots,
    }
}

struct Bins<'a> {
    parts: &'a Parts<'a>,
    target: u64,
    roots: Vec<Vec<u32>>,
    /// (load, bin).
    by_load: BTreeSet<(u64, u32)>,
    loads: Vec<u64>,
    /// (bin, node) of ways.
    has: HashSet<(u32, u32), BuildHasherDefault<Spread>>,
    /// By node: the bins that have it on a way.
    having: HashMap<u32, Vec<u32>, BuildHasherDefault<Spread>>,
}

impl Bins<'_> {
    /// The nodes above the roots of a part, the lowest first.
    fn find_way(&self, part: &Part, way: &mut Vec<u32>) {
        let tree = self.parts.tree();
        let parent = |node: u32| tree.node(node).parent;
        // The roots of a part have most of their ways in common, so that each level has few nodes.
        let mut level: Vec<u32> = Vec::new();
        let mut roots = part.roots.clone();
        roots.sort_unstable_by_key(|root| Reverse(tree.node(*root).level));
        let mut roots = roots.into_iter().peekable();
        let mut depth = roots.peek().map_or(0, |root| tree.node(*root).level);
        while depth > 1 {
            for node in &mut level {
                *node = parent(*node);
            }
            while let Some(root) = roots.next_if(|root| tree.node(*root).level == depth) {
                level.push(parent(root));
            }
            level.sort_unstable();
            level.dedup();
            way.extend_from_slice(&level);
            depth -= 1;
        }
    }

    /// The bin for a part.
    fn place(&self, cost: u64, way: &[u32]) -> u32 {
        let least = self.by_load.first().map_or(0, |(_, bin)| *bin);
        let mut best = (0, least);
        let mut looks = 0;
        for node in way {
            // Who has a node has the way to it.
            let saved = self.parts.way(*node);
            if saved <= best.0 {
                break;
            }
            let having = self.having.get(node).map_or(&[][..], Vec::as_slice);
            // Those that came last have least in them.
            for bin in having.iter().rev().take(LOOKS - looks) {
                looks += 1;
                let fits = self.loads[*bin as usize] + cost - saved <= self.target;
                if fits && saved > best.0 {
                    best = (saved, *bin);
                }
            }
            if looks == LOOKS {
                break;
            }
        }
        best.1
    }

    fn put(&mut self, bin: u32, part: &Part, way: &[u32]) {
        let place = bin as usize;
        let mut added = part.cost;
        for node in way {
            if self.has.insert((bin, *node)) {
                self.having.entry(*node).or_default().push(bin);
            } else {
                added -= self.parts.own(*node);
            }
        }
        self.by_load.remove(&(self.loads[place], bin));
        self.loads[place] += added;
        self.by_load.insert((self.loads[place], bin));
        self.roots[place].extend_from_slice(&part.roots);
    }
}

/// Spreads the few bits of small numbers over many.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        let mixed = self.0.rotate_left(29) ^ u64::from(number);
        self.0 = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Stages, Tree, Weight};

    fn filled(rows: &[[u32; 3]], cap: u64, sizes: &[u64]) -> Vec<Vec<u32>> {
        let stages = Stages::new(3, rows.concat());
        let tree = Tree::new(&stages);
        let weights = vec![Weight { cost: 10, bytes: 0 }; 30];
        let parts = Parts::new(&tree, &weights);
        let order = crate::order::Order::new(&tree);
        let bins = fill(&parts.split(cap), &parts, sizes);
        let stages_of = |roots: &Vec<u32>| {
            let below = roots.iter().flat_map(|root| order.below(*root));
            let mut stages: Vec<u32> = below.copied().collect();
            stages.sort_unstable();
            stages
        };
        bins.roots.iter().map(stages_of).collect()
    }

    const ROWS: [[u32; 3]; 6] = [
        [1, 2, 10],
        [1, 2, 11],
        [3, 4, 12],
        [3, 4, 13],
        [5, 6, 14],
        [7, 8, 15],
    ];

    #[test]
    fn the_dearest_part_goes_where_most_room_is() {
        assert_eq!(filled(&ROWS, 40, &[1, 1]), [vec![0, 1, 4], vec![2, 3, 5]]);
        assert_eq!(
            filled(&ROWS, 40, &[8, 3, 3]),
            [vec![0, 1, 2, 3], vec![4], vec![5]]
        );
    }

    #[test]
    fn single_stages_find_those_that_begin_alike() {
        let buckets = filled(&ROWS, 1, &[1, 1, 1]);
        assert!(buckets.contains(&vec![0, 1]), "{buckets:?}");
        assert!(buckets.contains(&vec![2, 3]), "{buckets:?}");
    }
}
