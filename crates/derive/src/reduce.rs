//! Takes out the dependences that nobody needs.
//!
//! Law: what comes before what stays the same, and so does all data that is really handed on. Two things go:
//!
//! - a RAW dependence on a call whose output another one has overwritten before it is read: of those that a call has
//!   for one item, the last writer counts;
//! - order (WAR, WAW, scalars) between two calls that another path between them implies.
//!
//! A RAW dependence on the last writer stays, even where a path implies the order: no other path carries that data.
//! Order that is implied goes even if such a RAW dependence joins the same two calls. So what is left does not depend on
//! how much was there to begin with: it is the same after [`unreduced`](crate::unreduced()) and after a
//! [`Tracker`](crate::Tracker).
//!
//! For each 64 calls, one walk over all dependences tells which of them reach what. With N calls and E dependences these
//! are N·E/64 steps and N + E memory: good for drawings and statistics of thousands of calls.

use crate::dependence::{Dependence, Kind};

/// How many calls are followed at once.
const BLOCK: usize = u64::BITS as usize;

/// What is left of dependences, in order, each once. They may come in any order, but all those of a call have to be
/// there.
pub fn reduce(dependences: &[Dependence]) -> Vec<Dependence> {
    let mut all = dependences.to_vec();
    all.sort_unstable();
    all.dedup();
    let overwritten = overwritten(&all);
    let implied = Pairs::of(&all).implied();
    let mut place = 0;
    let mut left = Vec::new();
    let mut pair = None;
    for (dependence, overwritten) in all.into_iter().zip(overwritten) {
        let ends = (dependence.to, dependence.from);
        if pair.is_some_and(|pair| pair != ends) {
            place += 1;
        }
        pair = Some(ends);
        let stays = if dependence.kind.carries_data() {
            !overwritten
        } else {
            !implied[place]
        };
        if stays {
            left.push(dependence);
        }
    }
    left
}

/// Of each dependence, whether it is a RAW dependence on a call that is not the last writer.
fn overwritten(all: &[Dependence]) -> Vec<bool> {
    let mut places: Vec<usize> = (0..all.len())
        .filter(|place| all[*place].kind == Kind::Raw)
        .collect();
    // Within a call and an item in the order of writers, as before.
    places.sort_by_key(|place| (all[*place].to, all[*place].subject));
    let mut overwritten = vec![false; all.len()];
    for pair in places.windows(2) {
        let (one, next) = (all[pair[0]], all[pair[1]]);
        overwritten[pair[0]] = (one.to, one.subject) == (next.to, next.subject);
    }
    overwritten
}

/// Calls that depend on each other, whatever for.
struct Pairs {
    /// Calls depended on, of one call after the other.
    from: Vec<usize>,
    /// Where those of each call end.
    ends: Vec<usize>,
}

impl Pairs {
    /// Those of dependences that are in order.
    fn of(all: &[Dependence]) -> Pairs {
        let mut pairs = Pairs {
            from: Vec::new(),
            ends: Vec::new(),
        };
        for same in all.chunk_by(|one, next| (one.to, one.from) == (next.to, next.from)) {
            let (to, from) = (same[0].to.index(), same[0].from.index());
            pairs
                .ends
                .resize(to.max(pairs.ends.len()), pairs.from.len());
            pairs.from.push(from);
        }
        pairs.ends.push(pairs.from.len());
        pairs
    }

    /// The calls that a call depends on, as a range of `from`.
    fn of_call(&self, call: usize) -> std::ops::Range<usize> {
        let begin = call.checked_sub(1).map_or(0, |before| self.ends[before]);
        begin..self.ends[call]
    }

    /// Of each pair, whether there is another path.
    fn implied(&self) -> Vec<bool> {
        let calls = self.ends.len();
        let mut implied = vec![false; self.from.len()];
        // Of each call, which ones of the block it comes after.
        let mut after = vec![0_u64; calls];
        for block in (0..calls).step_by(BLOCK) {
            after[..calls.min(block + 1)].fill(0);
            for call in block + 1..calls {
                let (mut direct, mut through) = (0, 0);
                for from in &self.from[self.of_call(call)] {
                    through |= after[*from];
                    direct |= bit(*from, block);
                }
                after[call] = direct | through;
                if direct & through != 0 {
                    for place in self.of_call(call) {
                        implied[place] |= bit(self.from[place], block) & through != 0;
                    }
                }
            }
        }
        implied
    }
}

/// A call among those of a block; nothing if it is not one of them.
fn bit(call: usize, block: usize) -> u64 {
    match call.checked_sub(block) {
        Some(place) if place < BLOCK => 1 << place,
        _ => 0,
    }
}
