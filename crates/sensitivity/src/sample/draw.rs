//! Where randomness comes from.
//!
//! Law: a number is a function of the seed, the label, the number of the stream and its position in it, the same on
//! every machine. Parts of a design draw from streams of their own, so that a change of one part leaves the others
//! as they were.
//!
//! The bits are ChaCha with 8 rounds (D. J. Bernstein, ChaCha, a variant of Salsa20, 2008); everything that makes
//! numbers out of bits is here, so that no library changes a design behind our back.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
pub(crate) struct Draw {
    bits: ChaCha8Rng,
}

impl Draw {
    /// A stream of its own for each seed, label and number. A label has at most 24 bytes; what is beyond is ignored.
    pub(crate) fn new(seed: u64, label: &str, number: u64) -> Draw {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        debug_assert!(label.len() <= 24, "a label too long to be distinguished");
        for (place, byte) in key[8..].iter_mut().zip(label.bytes()) {
            *place = byte;
        }
        let mut bits = ChaCha8Rng::from_seed(key);
        bits.set_stream(number);
        Draw { bits }
    }

    /// Sixty-four random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.bits.next_u64()
    }

    /// A number in [0, 1): a multiple of 2⁻⁵³.
    pub(crate) fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// A whole number below `bound`, each equally likely; 0 if the bound is 0. By multiplication, and once in a long
    /// while by another try (D. Lemire, Fast random integer generation in an interval, 2019).
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let bound = u64::from(bound);
        if bound == 0 {
            return 0;
        }
        // Of the 2⁶⁴ words this many are one too many for some of the numbers.
        let surplus = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            if product as u64 >= surplus {
                return (product >> 64) as u32;
            }
        }
    }

    /// Brings things into one of their orders, each equally likely (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            let other = self.below(last as u32 + 1) as usize;
            things.swap(last, other);
        }
    }
}

/// The upper 53 of 64 bits as a number in [0, 1).
pub(crate) fn unit(bits: u64) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    (bits >> 11) as f64 * STEP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_one_of_old() {
        let mut draw = Draw::new(7, "test", 3);
        let words: Vec<u64> = (0..3).map(|_| draw.bits()).collect();
        assert_eq!(
            words,
            [
                15_482_616_193_830_300_122,
                10_533_814_325_409_147_038,
                12_286_685_651_837_387_348
            ]
        );
    }

    /// The reference for ChaCha8 with a key and a nonce of zeros.
    #[test]
    fn the_bits_are_those_of_the_cipher() {
        let mut draw = Draw::new(0, "", 0);
        let first: [u8; 8] = draw.bits().to_le_bytes();
        assert_eq!(first, [0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6]);
    }

    #[test]
    fn seeds_labels_and_numbers_have_streams_of_their_own() {
        let first = |seed, label, number| Draw::new(seed, label, number).bits();
        let words = [
            first(1, "a", 0),
            first(2, "a", 0),
            first(1, "b", 0),
            first(1, "a", 1),
        ];
        for (position, word) in words.iter().enumerate() {
            assert!(!words[..position].contains(word));
        }
    }

    #[test]
    fn numbers_below_a_bound_come_equally_often() {
        let mut draw = Draw::new(1, "test", 0);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[draw.below(7) as usize] += 1;
        }
        // Six standard deviations of a count are 555.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 555));
        assert_eq!(draw.below(1), 0);
        assert_eq!(draw.below(0), 0);
    }

    #[test]
    fn every_order_comes_equally_often() {
        let mut draw = Draw::new(1, "test", 0);
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            let mut things = [0, 1, 2];
            draw.shuffle(&mut things);
            let order = match things {
                [0, 1, 2] => 0,
                [0, 2, 1] => 1,
                [1, 0, 2] => 2,
                [1, 2, 0] => 3,
                [2, 0, 1] => 4,
                _ => 5,
            };
            counts[order] += 1;
        }
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 555));
    }

    #[test]
    fn units_lie_in_the_half_open_interval() {
        assert_eq!(unit(0), 0.0);
        assert!(unit(u64::MAX) < 1.0);
        assert_eq!(unit(1 << 63), 0.5);
    }
}
