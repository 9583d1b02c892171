//! Points of the unit cube, by each sampler.
//!
//! Law: coordinates lie in [0, 1). A column depends on the seed and its own number alone, never on how many columns
//! there are; and except for the Latin hypercube a row does not depend on how many rows there are.

use super::draw::Draw;
use super::{SampleError, Sampler, count_rows, halton, sobol};
use crate::Points;

/// The largest number below 1.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

/// Points of the unit cube: so many rows of so many coordinates. Costs O(rows × dimensions), for Halton times the
/// number of digits of `rows`.
///
/// # Errors
///
/// If no sequence of that kind is known in so many dimensions, or if there are more than
/// [`MOST_VALUES`](super::MOST_VALUES) values.
pub fn unit(
    sampler: Sampler,
    rows: u32,
    dimensions: usize,
    seed: u64,
) -> Result<Points, SampleError> {
    if rows > 0 {
        count_rows(rows, 1, dimensions, "samples")?;
    }
    let mut values = vec![0.0; rows as usize * dimensions];
    let mut columns = Columns {
        values: &mut values,
        width: dimensions,
    };
    match sampler {
        Sampler::Mc => monte_carlo(&mut columns, seed),
        Sampler::Lhs => latin_hypercube(&mut columns, rows, seed),
        Sampler::Halton => halton::fill(&mut columns, rows, seed)?,
        Sampler::Sobol => sobol::fill(&mut columns, Some(seed))?,
    }
    Ok(Points::from_values(dimensions, values))
}

/// A table that is filled column by column.
pub(super) struct Columns<'a> {
    pub(super) values: &'a mut [f64],
    pub(super) width: usize,
}

impl Columns<'_> {
    /// The places of a column, row after row.
    pub(super) fn column(&mut self, position: usize) -> impl Iterator<Item = &mut f64> {
        self.values
            .iter_mut()
            .skip(position)
            .step_by(self.width.max(1))
    }
}

fn monte_carlo(columns: &mut Columns<'_>, seed: u64) {
    for position in 0..columns.width {
        let mut draw = Draw::new(seed, "monte carlo", position as u64);
        for place in columns.column(position) {
            *place = draw.unit();
        }
    }
}

/// One point in each of `rows` slices of each dimension (M. D. McKay, R. J. Beckman and W. J. Conover, 1979).
fn latin_hypercube(columns: &mut Columns<'_>, rows: u32, seed: u64) {
    let mut slices: Vec<u32> = (0..rows).collect();
    for position in 0..columns.width {
        let mut draw = Draw::new(seed, "latin hypercube", position as u64);
        for (number, slice) in slices.iter_mut().enumerate() {
            *slice = number as u32;
        }
        draw.shuffle(&mut slices);
        for (place, slice) in columns.column(position).zip(&slices) {
            let value = (f64::from(*slice) + draw.unit()) / f64::from(rows);
            *place = value.min(BELOW_ONE);
        }
    }
}
