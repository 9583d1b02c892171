//! Parts into so many buckets, of equal or of graded sizes.
//!
//! Law: each part is in one bucket, and there are at most as many as said. The dearest part comes first; it goes where
//! most of its way is there already, if the bucket then costs no more than it should, and otherwise where most room
//! is left. Few places with shared ways are looked at, so that it costs O(parts × depth).

use std::collections::{BTreeSet, HashMap, HashSet};

use super::parts::{Parts, Split};

/// How many buckets that share a way are looked at for one part.
const LOOKS: usize = 24;

/// The roots of each bucket; `sizes` are their relative sizes, the largest first.
pub(super) fn fill(split: &Split, parts: &Parts<'_>, sizes: &[u64]) -> Vec<Vec<u32>> {
    let mut sorted: Vec<usize> = (0..split.parts.len()).collect();
    sorted.sort_by_key(|part| std::cmp::Reverse(split.parts[*part].cost));
    let largest = sorted.first().map_or(0, |part| split.parts[*part].cost);
    let count = sizes.len();
    let all = sizes
        .iter()
        .map(|size| u128::from(*size))
        .sum::<u128>()
        .max(1);
    let room = |bin: usize| (u128::from(parts.total()) * u128::from(sizes[bin]) / all) as u64;
    // A little more than needed, since not all ways will be shared.
    let target = (room(0) + room(0) / 16).max(largest);
    // Smaller buckets begin as if something were in them already.
    let loads: Vec<u64> = (0..count).map(|bin| room(0) - room(bin)).collect();
    let mut bins = Bins {
        target,
        roots: vec![Vec::new(); count],
        by_load: (0..count).map(|bin| (loads[bin], bin)).collect(),
        loads,
        has: HashSet::new(),
        having: HashMap::new(),
    };
    let tree = parts.tree();
    let mut way: Vec<u32> = Vec::new();
    let mut seen: HashSet<u32> = HashSet::new();
    for part in sorted {
        let part = &split.parts[part];
        way.clear();
        if !split.whole {
            seen.clear();
            for root in &part.roots {
                let mut at = tree.node(*root).parent;
                while at != 0 && seen.insert(at) {
                    way.push(at);
                    at = tree.node(at).parent;
                }
            }
            // The lowest first: who has them has most.
            way.sort_by_key(|node| std::cmp::Reverse(tree.node(*node).level));
        }
        let (bin, saved) = bins.place(part.cost, &way, |node| parts.own(node));
        bins.put(bin, part.cost - saved, &part.roots, &way);
    }
    bins.roots
}

struct Bins {
    target: u64,
    roots: Vec<Vec<u32>>,
    /// (load, bin).
    by_load: BTreeSet<(u64, usize)>,
    loads: Vec<u64>,
    /// (bin, node) of ways.
    has: HashSet<(usize, u32)>,
    /// By node: the bins that have it.
    having: HashMap<u32, Vec<usize>>,
}

impl Bins {
    /// The bin for a part, and what it need not do again there.
    fn place(&self, cost: u64, way: &[u32], own: impl Fn(u32) -> u64) -> (usize, u64) {
        let saved = |bin: usize| -> u64 {
            let there = way.iter().filter(|node| self.has.contains(&(bin, **node)));
            there.map(|node| own(*node)).sum()
        };
        let least = self.by_load.first().map_or(0, |(_, bin)| *bin);
        let mut best = (least, saved(least));
        let looks = way.iter().filter_map(|node| self.having.get(node));
        // The last ones are the emptiest.
        let looks = looks.flat_map(|bins| bins.iter().rev().copied());
        for bin in looks.take(LOOKS) {
            let saves = saved(bin);
            let fits = self.loads[bin] + cost - saves <= self.target;
            if fits && (saves, self.loads[best.0]) > (best.1, self.loads[bin]) {
                best = (bin, saves);
            }
        }
        best
    }

    fn put(&mut self, bin: usize, added: u64, roots: &[u32], way: &[u32]) {
        self.by_load.remove(&(self.loads[bin], bin));
        self.loads[bin] += added;
        self.by_load.insert((self.loads[bin], bin));
        self.roots[bin].extend_from_slice(roots);
        for node in way {
            if self.has.insert((bin, *node)) {
                self.having.entry(*node).or_default().push(bin);
            }
        }
    }
}
