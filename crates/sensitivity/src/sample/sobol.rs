//! Scrambled Sobol' sequences.
//!
//! Law: of 2^m points in a row, beginning at a multiple of 2^m, exactly one lies in each of 2^m slices of a
//! dimension, scrambled or not.
//!
//! Direction numbers are those of Joe and Kuo (2008), points come in the order of the Gray code (I. A. Antonov and
//! V. M. Saleev, 1979). Scrambling is linear: per dimension a random lower triangular matrix of bits, and a random
//! digital shift (J. Matoušek, On the L2-discrepancy for anchored boxes, 1998). It costs nothing per point, and its
//! error has the variance of Owen's nested scrambling. The first point is not left out: that would break the law.
//!
//! Two crates were looked at and not taken: `sobol_burley` stops at 2^16 points of single precision, `sobol` has no
//! scrambling and has stood still since 2020.

use super::SampleError;
use super::draw::{self, Draw};
use super::joe_kuo::{DIMENSIONS, TABLE};
use super::unit::Columns;

/// How many bits number the points.
const COLUMNS: usize = 32;

/// Fills all columns with the first points of the sequence; without a seed it is not scrambled.
pub(super) fn fill(columns: &mut Columns<'_>, seed: Option<u64>) -> Result<(), SampleError> {
    if columns.width > DIMENSIONS {
        return Err(SampleError::Dimensions {
            sequence: "Sobol'",
            dimensions: columns.width,
            limit: DIMENSIONS,
        });
    }
    let mut table = TABLE;
    for position in 0..columns.width {
        let mut directions = if position == 0 {
            first_directions()
        } else {
            next_directions(&mut table)
        };
        let mut bits = 0;
        if let Some(seed) = seed {
            let mut draw = Draw::new(seed, "sobol", position as u64);
            scramble(&mut directions, &mut draw);
            bits = draw.bits();
        }
        for (place, number) in columns.column(position).zip(1_u64..) {
            *place = draw::unit(bits);
            bits ^= directions[number.trailing_zeros() as usize % COLUMNS];
        }
    }
    Ok(())
}

/// The directions of the first dimension: the bits in reverse order.
fn first_directions() -> [u64; COLUMNS] {
    std::array::from_fn(|column| 1 << (63 - column))
}

/// The directions of the next dimension of the table, the highest bit being one half.
fn next_directions(table: &mut &[u16]) -> [u64; COLUMNS] {
    let (polynomial, rest) = (table[0], &table[1..]);
    let degree = polynomial.ilog2() as usize;
    let (first, rest) = rest.split_at(degree);
    *table = rest;
    let mut directions = [0; COLUMNS];
    for (column, number) in first.iter().enumerate() {
        directions[column] = u64::from(*number) << (63 - column);
    }
    for column in degree..COLUMNS {
        let oldest = directions[column - degree];
        let mut direction = oldest ^ (oldest >> degree);
        for back in 1..degree {
            if polynomial >> (degree - back) & 1 == 1 {
                direction ^= directions[column - back];
            }
        }
        directions[column] = direction;
    }
    directions
}

/// Multiplies with a random lower triangular matrix with ones on the diagonal: each bit is changed by those above it.
fn scramble(directions: &mut [u64; COLUMNS], draw: &mut Draw) {
    let mut scrambled = [0; COLUMNS];
    for place in 0..64 {
        let itself = 1_u64 << (63 - place);
        let above = !(itself | (itself - 1));
        let mask = (draw.bits() & above) | itself;
        for (result, direction) in scrambled.iter_mut().zip(directions.iter()) {
            if (direction & mask).count_ones() % 2 == 1 {
                *result |= itself;
            }
        }
    }
    *directions = scrambled;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(rows: usize, width: usize) -> Vec<f64> {
        let mut values = vec![0.0; rows * width];
        let mut columns = Columns {
            values: &mut values,
            width,
        };
        fill(&mut columns, None).unwrap();
        values
    }

    #[test]
    fn the_first_points_are_the_well_known_ones() {
        let expected = [
            [0.0, 0.0, 0.0, 0.0],
            [0.5, 0.5, 0.5, 0.5],
            [0.75, 0.25, 0.25, 0.25],
            [0.25, 0.75, 0.75, 0.75],
            [0.375, 0.375, 0.625, 0.875],
            [0.875, 0.875, 0.125, 0.375],
            [0.625, 0.125, 0.875, 0.625],
            [0.125, 0.625, 0.375, 0.125],
        ];
        assert_eq!(plain(8, 4), expected.concat());
    }

    /// The sum is that of `scipy.stats.qmc.Sobol(512, scramble=False)` 1.17.
    #[test]
    fn all_dimensions_are_those_of_scipy() {
        let values = plain(1024, DIMENSIONS);
        let mut sum = 0_u64;
        for (number, row) in (1..).zip(values.chunks(DIMENSIONS)) {
            for (dimension, value) in (1..).zip(row) {
                let whole = (value * f64::from(1 << 30)) as u64;
                sum = sum.wrapping_add(whole * number * dimension);
            }
        }
        assert_eq!(sum, 107_929_641_930_457_088);
    }

    #[test]
    fn the_table_is_used_up() {
        let mut table = TABLE;
        for _ in 1..DIMENSIONS {
            next_directions(&mut table);
        }
        assert!(table.is_empty());
    }
}
