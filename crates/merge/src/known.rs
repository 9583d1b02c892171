//! Numbers for things that are equal: one look-up each.
//!
//! Law: a thing that was there gets the number that it got the first time. The thing itself lies with whoever asks;
//! here are its number and half of its hash, so that growing needs no look at the things, and few that differ are
//! compared.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// The numbers of things that are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    table: HashTable<Number>,
}

#[derive(Debug, Clone, Copy)]
struct Number {
    hash: u32,
    number: u32,
}

/// The table takes the place from the low bits and compares the high ones first.
fn whole(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl Known {
    /// The number of a thing: that of the one with this hash that is the `same`, or else, from now on, `new`.
    pub(crate) fn number(&mut self, hash: u32, same: impl Fn(u32) -> bool, new: u32) -> u32 {
        let equal = |known: &Number| known.hash == hash && same(known.number);
        let entry = self
            .table
            .entry(whole(hash), equal, |known| whole(known.hash));
        match entry {
            Entry::Occupied(known) => known.get().number,
            Entry::Vacant(place) => {
                place.insert(Number { hash, number: new });
                new
            }
        }
    }
}

/// Spreads a sequence of words over 32 bits; the same on every machine.
pub(crate) fn spread(words: &[u32]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = words.len() as u64;
    for word in words {
        state = (state.rotate_left(23) ^ u64::from(*word)).wrapping_mul(FACTOR);
    }
    state ^= state >> 32;
    (state.wrapping_mul(FACTOR) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_keeps_its_number_though_hashes_meet() {
        let things = [7, 8, 7, 9, 8];
        let mut known = Known::default();
        let mut numbers = Vec::new();
        for (new, thing) in things.iter().enumerate() {
            let same = |number: u32| things[number as usize] == *thing;
            numbers.push(known.number(5, same, new as u32));
        }
        assert_eq!(numbers, [0, 1, 0, 3, 1]);
    }
}
