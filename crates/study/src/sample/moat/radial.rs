//! Radial designs: from a base point one step in each direction (F. Campolongo, A. Saltelli and J. Cariboni, From
//! screening to quantitative sensitivity analysis. A unified approach, 2011).
//!
//! Law: every step moves. Base points and the points that steps go to come from one scrambled Sobol' sequence, the
//! former from the first half of its coordinates, the latter from the second half of a row four further on, so that
//! the two are never alike. Where a step would nevertheless land on the value it came from, it goes half of the
//! values on, counted round.

use super::super::table::Table;
use super::super::{SampleError, Sampler, unit};
use super::{MoatDesign, Move};
use crate::{Points, Space};

/// How many rows the points that steps go to are behind.
const SHIFT: u32 = 4;

pub(super) fn design(
    space: &Space,
    trajectories: u32,
    rows: u32,
    seed: u64,
) -> Result<MoatDesign, SampleError> {
    let parameters = space.len();
    let wanted = trajectories.saturating_add(SHIFT);
    let cube = unit(Sampler::Sobol, wanted, 2 * parameters, seed)?;
    let tables = Table::shares(space);
    let mut values = Vec::with_capacity(rows as usize * parameters);
    let mut moves = Vec::with_capacity(trajectories as usize * parameters);
    for trajectory in 0..trajectories as usize {
        let bases = &cube.row(trajectory)[..parameters];
        let targets = &cube.row(trajectory + SHIFT as usize)[parameters..];
        let start = values.len();
        let from = (start / parameters) as u32;
        values.extend(
            tables
                .iter()
                .zip(bases)
                .map(|(table, unit)| table.at(*unit)),
        );
        for (parameter, table) in tables.iter().enumerate() {
            let (value, delta) = step(table, bases[parameter], targets[parameter]);
            let row = values.len();
            values.extend_from_within(start..start + parameters);
            values[row + parameter] = value;
            moves.push(Move {
                from,
                to: (row / parameters) as u32,
                parameter: parameter as u32,
                delta,
            });
        }
    }
    Ok(MoatDesign {
        points: Points::from_values(parameters, values),
        moves,
        trajectories,
    })
}

/// Where a step from one coordinate towards another lands, and how far it went in the unit cube.
fn step(table: &Table, base: f64, target: f64) -> (f64, f64) {
    match (table.position(base), table.position(target)) {
        (Some(from), Some(target)) => {
            let count = table.count();
            // Half of the values on is another value: there are at least two.
            let to = match target == from {
                false => target,
                true => ((u64::from(from) + u64::from(count / 2)) % u64::from(count)) as u32,
            };
            let delta = (f64::from(to) - f64::from(from)) / f64::from(count - 1);
            (table.value(to), delta)
        }
        _ => {
            let same = table.at(target) == table.at(base);
            let to = if same { (base + 0.5) % 1.0 } else { target };
            (table.at(to), to - base)
        }
    }
}
