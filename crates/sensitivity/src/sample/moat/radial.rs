//! Radial designs: from a base point one step in each direction (F. Campolongo, A. Saltelli and J. Cariboni, From
//! screening to quantitative sensitivity analysis. A unified approach, 2011).
//!
//! Law: every step moves. Base points and the points that steps go to come from one scrambled Sobol' sequence, the
//! former from the first half of its coordinates, the latter from the second half of a row four further on, so that
//! the two are never alike. Where a step would nevertheless land on the value it came from, it goes half of the
//! values on, counted round. A choice without order steps to any other of its things, by a stream of its own.

use super::super::table::Table;
use super::super::{SampleError, Sampler, unit};
use super::trajectory::Choosing;
use super::{MoatDesign, Move, StepLength, unordered};
use crate::space::Ruler;
use crate::{Domain, Points, Space};

/// How many rows the points that steps go to are behind.
const SHIFT: u32 = 4;

pub(super) fn design(
    space: &Space,
    trajectories: u32,
    rows: u32,
    length: StepLength,
    seed: u64,
) -> Result<MoatDesign, SampleError> {
    let parameters = space.len();
    let wanted = trajectories.saturating_add(SHIFT);
    let cube = unit(Sampler::Sobol, wanted, 2 * parameters, seed)?;
    let tables = Table::shares(space);
    let mut sides: Vec<Side> = space
        .parameters
        .iter()
        .zip(&tables)
        .enumerate()
        .map(|(place, (parameter, table))| {
            let choosing = || Choosing::new(place, table.count(), seed);
            Side {
                table,
                domain: &parameter.domain,
                ruler: Ruler::new(&parameter.domain),
                choosing: parameter.domain.is_unordered().then(choosing),
            }
        })
        .collect();
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
        for (parameter, side) in sides.iter_mut().enumerate() {
            let (value, delta) = side.step(bases[parameter], targets[parameter], length);
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
        unordered: unordered(space),
    })
}

/// One direction of the space.
struct Side<'a> {
    table: &'a Table,
    domain: &'a Domain,
    ruler: Ruler,
    /// For a choice without order.
    choosing: Option<Choosing>,
}

impl Side<'_> {
    /// Where a step from one coordinate towards another lands, and how long it is in parts of the range. The nominal
    /// length of a step between values is in positions.
    fn step(&mut self, base: f64, target: f64, length: StepLength) -> (f64, f64) {
        let table = self.table;
        let Some((from, target)) = table.position(base).zip(table.position(target)) else {
            let same = table.at(target) == table.at(base);
            let to = if same { (base + 0.5) % 1.0 } else { target };
            let delta = match length {
                StepLength::Actual => self.domain.way(to - base, table.at(base), table.at(to)),
                StepLength::Nominal => to - base,
            };
            return (table.at(to), delta);
        };
        let count = table.count();
        let to = match &mut self.choosing {
            Some(choosing) => choosing.other(from),
            None if target != from => target,
            // Half of the values on is another value: there are at least two.
            None => ((u64::from(from) + u64::from(count / 2)) % u64::from(count)) as u32,
        };
        let delta = match length {
            StepLength::Actual => self.ruler.distance(from, to),
            StepLength::Nominal => self.ruler.in_positions(from, to),
        };
        (table.value(to), delta)
    }
}
