//! Designs: which points of a space to evaluate.
//!
//! Law: a design is a function of its arguments and the seed, the same bits on every machine.
//!
//! ```
//! use headwater_sensitivity::sample::{Levels, Moat, StepLength, Walk, moat};
//! use headwater_sensitivity::{Domain, Parameter, Space};
//!
//! let space = Space {
//!     parameters: vec![
//!         Parameter {
//!             name: "threshold".into(),
//!             domain: Domain::Grid { low: 2.5, step: 0.5, count: 11 },
//!         },
//!         Parameter {
//!             name: "connectivity".into(),
//!             domain: Domain::Choice { count: 2 },
//!         },
//!     ],
//! };
//! let wanted = Moat {
//!     trajectories: 10,
//!     levels: Levels::Each(20),
//!     walk: Walk::Random,
//!     length: StepLength::Actual,
//! };
//! let design = moat::design(&space, &wanted, 1)?;
//! assert_eq!(design.points.len(), 10 * 3);
//! assert_eq!(design.moves.len(), 10 * 2);
//! # Ok::<(), headwater_sensitivity::sample::SampleError>(())
//! ```
//!
//! | file | noun |
//! | --- | --- |
//! | `draw` | where randomness comes from |
//! | `unit` | points of the unit cube: independent ones and Latin hypercubes; `halton` and `sobol` beside it |
//! | `joe_kuo` | direction numbers of Sobol' sequences |
//! | `table` | the values of a parameter by position |
//! | `moat` | trajectories; `trajectory` at random, `spread` far apart, `radial` from base points, `own` from elsewhere |
//! | `vbd` | base points A and B, and rows mixed of them |

mod draw;
mod error;
mod halton;
mod joe_kuo;
mod sobol;
mod table;
mod unit;

pub mod moat;
pub mod vbd;

pub use error::SampleError;
pub use moat::{Levels, Moat, MoatDesign, Move, StepLength, Walk};
pub use unit::unit;
pub use vbd::{Sampler, Vbd, VbdDesign};

use crate::{Points, Space};
use std::sync::Arc;
use table::Table;

/// How many values a design may have, rows times parameters: 2 GiB of them.
pub const MOST_VALUES: u64 = 1 << 28;

/// Points of a space without further structure: each row is one draw of all parameters.
///
/// # Errors
///
/// If the space has no parameters or one without values, if no rows are wanted or more than [`MOST_VALUES`] values, or
/// if no sequence of that kind is known in so many dimensions.
pub fn plain(space: &Space, sampler: Sampler, rows: u32, seed: u64) -> Result<Points, SampleError> {
    check(space)?;
    count_rows(rows, 1, space.len(), "samples")?;
    let tables = Table::shares(space);
    let cube = unit(sampler, rows, space.len(), seed)?;
    let mut values = Vec::with_capacity(rows as usize * space.len());
    for row in cube.rows() {
        values.extend(tables.iter().zip(row).map(|(table, unit)| table.at(*unit)));
    }
    Ok(Points::from_values(space.len(), values))
}

/// Whether every parameter has values.
fn check(space: &Space) -> Result<(), SampleError> {
    if space.is_empty() {
        return Err(SampleError::NoParameters);
    }
    match space
        .parameters
        .iter()
        .find(|parameter| !parameter.domain.is_sound())
    {
        None => Ok(()),
        Some(parameter) => Err(SampleError::Domain {
            parameter: parameter.name.clone(),
        }),
    }
}

/// Whether a design may have so many groups of rows of so many values; how many rows that are.
fn count_rows(
    groups: u32,
    group: usize,
    columns: usize,
    what: &'static str,
) -> Result<u32, SampleError> {
    if groups == 0 {
        return Err(SampleError::Nothing { what });
    }
    let rows = u64::from(groups).saturating_mul(group as u64);
    // Rows without values take room nevertheless.
    let values = rows.saturating_mul(columns.max(1) as u64);
    match u32::try_from(rows) {
        Ok(rows) if values <= MOST_VALUES => Ok(rows),
        _ => Err(SampleError::TooMany {
            rows,
            columns,
            values,
            limit: MOST_VALUES,
            what,
        }),
    }
}

/// Whether all values are numbers; columns are called by `name`.
fn check_finite(points: &Points, name: impl Fn(usize) -> Arc<str>) -> Result<(), SampleError> {
    for (row, values) in points.rows().enumerate() {
        if let Some(column) = values.iter().position(|value| !value.is_finite()) {
            return Err(SampleError::NotFinite {
                row: row + 1,
                column: name(column),
            });
        }
    }
    Ok(())
}
