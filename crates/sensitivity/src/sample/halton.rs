//! Scrambled Halton sequences.
//!
//! Law: dimension j counts in the j-th prime; each digit, the endless zeros before the first one included, goes
//! through a random permutation of its own.
//!
//! Without scrambling, dimensions of large primes run in step and leave most of a plane empty; a random shift alone
//! keeps those stripes. Permuting the digits (A. B. Owen, A randomized Halton algorithm in R, 2017) breaks them and
//! leaves what makes the sequence even: of b^m points in a row exactly one lies in each of b^m slices.

use super::SampleError;
use super::draw::Draw;
use super::unit::Columns;

/// How many dimensions there are: as many as for Sobol' sequences.
pub(super) const DIMENSIONS: usize = 512;

/// Fills all columns with the first points of the sequence.
pub(super) fn fill(columns: &mut Columns<'_>, rows: u32, seed: u64) -> Result<(), SampleError> {
    if columns.width > DIMENSIONS {
        return Err(SampleError::Dimensions {
            sequence: "Halton",
            dimensions: columns.width,
            limit: DIMENSIONS,
        });
    }
    let last = u64::from(rows.saturating_sub(1));
    for (position, prime) in primes(columns.width).into_iter().enumerate() {
        let mut draw = Draw::new(seed, "halton", position as u64);
        let digits = Digits::new(prime, last, &mut draw);
        for (number, place) in columns.column(position).enumerate() {
            *place = digits.coordinate(number as u64);
        }
    }
    Ok(())
}

/// The permuted digits of one dimension, as parts of a fraction of `base^digits`, the largest power that a double
/// holds exactly. So the sum is exact, and the division the only rounding.
struct Digits {
    base: u64,
    whole: f64,
    /// Per digit that counts up, least significant of the row's number first: what each value of it adds.
    moving: Vec<Vec<u64>>,
    /// What the digits add that are zero in every row.
    rest: u64,
}

impl Digits {
    fn new(base: u64, last: u64, draw: &mut Draw) -> Digits {
        let mut weight = 1_u64;
        while weight * base <= 1 << 53 {
            weight *= base;
        }
        let whole = weight as f64;
        let (mut moving, mut rest, mut left) = (Vec::new(), 0, last);
        while weight > 1 {
            weight /= base;
            let mut permutation: Vec<u64> = (0..base).collect();
            draw.shuffle(&mut permutation);
            if left > 0 {
                moving.push(permutation.iter().map(|digit| digit * weight).collect());
                left /= base;
            } else {
                rest += permutation[0] * weight;
            }
        }
        Digits {
            base,
            whole,
            moving,
            rest,
        }
    }

    fn coordinate(&self, mut number: u64) -> f64 {
        let mut sum = self.rest;
        for parts in &self.moving {
            sum += parts[(number % self.base) as usize];
            number /= self.base;
        }
        sum as f64 / self.whole
    }
}

/// The first primes.
fn primes(count: usize) -> Vec<u64> {
    let mut primes: Vec<u64> = Vec::with_capacity(count);
    let mut candidate = 2;
    while primes.len() < count {
        if primes.iter().all(|prime| candidate % prime != 0) {
            primes.push(candidate);
        }
        candidate += 1;
    }
    primes
}
