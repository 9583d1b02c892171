//! Parts into so many buckets that all cost about the same.
//!
//! Law: each part is in one bucket, and there are at most as many as said. The dearest part comes first; it goes where
//! most of its way is there already, if the bucket then costs no more than an even share, and otherwise where there
//! is least. Few places with shared ways are looked at, so that it costs O(parts × depth).

use std::collections::{BTreeSet, HashMap, HashSet};

use super::parts::{Parts, Split};

/// How many buckets that share a way are looked at for one part.
const LOOKS: usize = 24;

/// The roots of each bucket.
pub(super) fn fill(split: &Split, parts: &Parts<'_>, count: usize) -> Vec<Vec<u32>> {
    let mut sorted: Vec<usize> = (0..split.parts.len()).collect();
    sorted.sort_by_key(|part| std::cmp::Reverse(split.parts[*part].cost));
    let largest = sorted.first().map_or(0, |part| split.parts[*part].cost);
    let even = parts.total().div_ceil(count as u64);
    let mut bins = Bins {
        // A little more than even, since not all ways will be shared.
        target: (even + even / 16).max(largest),
        roots: vec![Vec::new(); count.min(split.parts.len())],
        by_load: (0..count.min(split.parts.len()))
            .map(|bin| (0, bin))
            .collect(),
        loads: vec![0; count.min(split.parts.len())],
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
