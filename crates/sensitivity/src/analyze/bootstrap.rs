//! Drawing a sample again from itself.
//!
//! Law: the same seed draws the same on every machine. What resamples are for stands in `interval.rs`.

/// A sequence of random numbers: SplitMix64 (Steele, Lea, Flood 2014), whose numbers do not wait for one another.
pub(super) struct Draws {
    state: u64,
}

impl Draws {
    /// One of the sequences of a seed.
    pub(super) fn new(seed: u64, sequence: u64) -> Draws {
        let mut of_seed = Draws { state: seed };
        let mut of_both = Draws {
            state: of_seed.next() ^ sequence,
        };
        Draws {
            state: of_both.next(),
        }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A position below `count`, all equally likely but for count ÷ 2⁶⁴.
    pub(super) fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }
}

/// Mean and standard deviation of numbers that come one after another (Welford 1962).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spread {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Spread {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.squares += before * (value - self.mean);
    }

    /// The standard deviation of a sample; not a number for fewer than two.
    pub(super) fn deviation(&self) -> f64 {
        if self.count < 2.0 {
            f64::NAN
        } else {
            (self.squares / (self.count - 1.0)).sqrt()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_even() {
        let mut draws = Draws::new(7, 0);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[draws.below(10)] += 1;
        }
        // 10,000 each, with a standard deviation of 95.
        assert!(
            counts.iter().all(|&count| count.abs_diff(10_000) < 400),
            "{counts:?}"
        );
    }

    #[test]
    fn sequences_of_a_seed_differ() {
        let first = |seed, sequence| Draws::new(seed, sequence).next();
        let all = [first(0, 0), first(0, 1), first(1, 0), first(1, 1)];
        for (position, word) in all.iter().enumerate() {
            assert!(!all[..position].contains(word), "{all:?}");
        }
        assert_eq!(first(3, 4), first(3, 4));
    }

    #[test]
    fn spread_is_that_of_two_passes_even_far_from_zero() {
        let values = [1e9 + 1.0, 1e9 + 2.0, 1e9 + 4.0];
        let mut spread = Spread::default();
        values.into_iter().for_each(|value| spread.add(value));
        assert!((spread.deviation() - (7.0_f64 / 3.0).sqrt()).abs() < 1e-6);
        assert!(Spread::default().deviation().is_nan());
    }
}
