//! One-at-a-time designs (Morris): trajectories in which each step changes one parameter.
//!
//! Law: a design says of each step which parameter it changed and how long the step is, in parts of the range of the
//! parameter, so that whoever analyses it need not know how it was made. How long steps are said to be changes no
//! point.

mod axis;
mod own;
mod radial;
mod spread;
mod trajectory;

use super::{SampleError, check, count_rows};
use crate::{Points, Space};
use axis::Axis;
use trajectory::{Drawn, Trajectory};

/// How many values a parameter takes in a design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Levels {
    /// As many for every parameter; an even number. A discrete parameter takes the nearest of its own values.
    Each(u32),
    /// As many as the parameter has values; a step jumps half of them. An interval has no values of its own and takes 20.
    Grid,
}

/// What the length of a step is, by which the change of the output is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepLength {
    /// How far the two values are apart, in parts of the parameter's range; of numbers as far as the numbers are. Two
    /// different things without order are 1 apart. A step that lands on the value it came from has no length, and so
    /// no effect.
    #[default]
    Actual,
    /// How far the two levels are apart that the values are nearest to: for p levels p/(2(p−1)), whatever values the
    /// parameter has. That is what SALib and the papers divide by. A step that lands on the value it came from has an
    /// effect of 0.
    Nominal,
}

/// How trajectories are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Walk {
    /// At random.
    #[default]
    Random,
    /// At random, and of ten times as many those that lie furthest apart (Campolongo et al. 2007). The only way that
    /// cannot be continued.
    Spread,
    /// From base points of a quasi-random sequence, one step in each direction (Campolongo et al. 2011). Steps are as
    /// long as the sequence makes them: there are no levels, [`Moat::levels`] is not looked at.
    Radial,
}

impl Walk {
    /// Whether a design of more trajectories begins with the design of fewer, given the same seed: a study can then
    /// grow and keep what it has evaluated. Trajectories that lie furthest apart are chosen together, so that more of
    /// them are others altogether.
    pub fn extends(self) -> bool {
        match self {
            Walk::Random | Walk::Radial => true,
            Walk::Spread => false,
        }
    }
}

/// What design is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moat {
    /// How many trajectories.
    pub trajectories: u32,
    /// How many values a parameter takes.
    pub levels: Levels,
    /// How trajectories are chosen.
    pub walk: Walk,
    /// What effects are divided by.
    pub length: StepLength,
}

/// A step of a trajectory: two rows that differ in one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Move {
    /// The row before it.
    pub from: u32,
    /// The row after it.
    pub to: u32,
    /// The position of the parameter that it changes.
    pub parameter: u32,
    /// What the change of the output is divided by: the length of the step in parts of the range, with its sign; 0 for a
    /// step that has no effect.
    pub delta: f64,
}

/// Points, and the steps between them.
#[derive(Debug, Clone, PartialEq)]
pub struct MoatDesign {
    /// The rows to evaluate.
    pub points: Points,
    /// The steps: one per trajectory and parameter, trajectory after trajectory.
    pub moves: Vec<Move>,
    /// How many trajectories there are.
    pub trajectories: u32,
    /// By parameter, whether it is a choice without order, whose effects have no sign. A parameter beyond the list has an
    /// order.
    pub unordered: Vec<bool>,
}

/// A design of trajectories: r(k+1) rows. Costs O(rows × parameters); [`Walk::Spread`] costs
/// O(trajectories² × 100 × parameters²) besides up to 50 trajectories, and as much again for each further 50.
///
/// # Errors
///
/// If the space has no parameters, or one without values or with a single one; if there are more than
/// [`MOST_VALUES`](super::MOST_VALUES) values or none; if the number of levels is odd or less than 2; if a radial design has more parameters than the sequence has
/// dimensions for.
pub fn design(space: &Space, wanted: &Moat, seed: u64) -> Result<MoatDesign, SampleError> {
    check_movable(space)?;
    let group = space.len() + 1;
    let rows = count_rows(wanted.trajectories, group, space.len(), "trajectories")?;
    if wanted.walk == Walk::Radial {
        return radial::design(space, wanted.trajectories, rows, wanted.length, seed);
    }
    if let Levels::Each(levels) = wanted.levels
        && (levels < 2 || levels % 2 == 1)
    {
        return Err(SampleError::Levels { levels });
    }
    let axes = axis::axes(space, wanted.levels);
    let mut drawn = Drawn::new(&axes, seed);
    let mut rows = Rows::new(&axes, wanted, rows);
    if wanted.walk == Walk::Spread {
        for batch in spread::batches(wanted.trajectories) {
            let candidates = (0..batch * spread::CANDIDATES_EACH)
                .map(|_| drawn.next().clone())
                .collect::<Vec<Trajectory>>();
            for chosen in spread::choose(&candidates, batch, &axes) {
                rows.push(&candidates[chosen]);
            }
        }
    } else {
        for _ in 0..wanted.trajectories {
            rows.push(drawn.next());
        }
    }
    Ok(rows.into_design(unordered(space)))
}

/// By parameter, whether it is a choice without order.
fn unordered(space: &Space) -> Vec<bool> {
    let parameters = space.parameters.iter();
    parameters
        .map(|parameter| parameter.domain.is_unordered())
        .collect()
}

impl MoatDesign {
    /// Whether the parameter at a position is a choice without order.
    pub fn is_unordered(&self, parameter: usize) -> bool {
        self.unordered.get(parameter).copied().unwrap_or(false)
    }

    /// How many rows belong to a trajectory: k+1.
    pub fn group(&self) -> usize {
        self.points.width() + 1
    }

    /// The first so many trajectories, [`group`](Self::group) rows each, and the steps between them; the whole design
    /// if it has no more. A step that leads out of these rows is left out, as is every later one in a design of this
    /// module. Costs O(rows × parameters) of what is kept, and O(steps).
    ///
    /// Where the walk [`extends`](Walk::extends), this is the design of so many trajectories and the same seed.
    pub fn prefix(&self, trajectories: u32) -> MoatDesign {
        if trajectories >= self.trajectories {
            return self.clone();
        }
        let rows = (trajectories as usize).saturating_mul(self.group());
        let within = |step: &&Move| (step.from.max(step.to) as usize) < rows;
        MoatDesign {
            points: self.points.prefix(rows),
            moves: self.moves.iter().filter(within).copied().collect(),
            trajectories,
            unordered: self.unordered.clone(),
        }
    }

    /// Per parameter, how many steps land on the value they came from, so that they say nothing about it.
    pub fn stuck(&self) -> Vec<u32> {
        let mut counts = vec![0; self.points.width()];
        for step in &self.moves {
            let parameter = step.parameter as usize;
            let value = |row: u32| self.points.row(row as usize)[parameter];
            if value(step.from) == value(step.to) {
                counts[parameter] += 1;
            }
        }
        counts
    }
}

/// Whether every parameter can be changed.
fn check_movable(space: &Space) -> Result<(), SampleError> {
    check(space)?;
    match space
        .parameters
        .iter()
        .find(|parameter| parameter.domain.is_fixed())
    {
        None => Ok(()),
        Some(parameter) => Err(SampleError::OneValue {
            parameter: parameter.name.clone(),
        }),
    }
}

/// Rows and steps of the trajectories so far.
struct Rows<'a> {
    axes: &'a [Axis],
    wanted: &'a Moat,
    values: Vec<f64>,
    moves: Vec<Move>,
    /// A row, and what the steps make of it.
    row: Vec<f64>,
    after: Vec<(f64, f64)>,
}

impl<'a> Rows<'a> {
    fn new(axes: &'a [Axis], wanted: &'a Moat, rows: u32) -> Rows<'a> {
        Rows {
            axes,
            wanted,
            values: Vec::with_capacity(rows as usize * axes.len()),
            moves: Vec::with_capacity(wanted.trajectories as usize * axes.len()),
            row: Vec::with_capacity(axes.len()),
            after: Vec::with_capacity(axes.len()),
        }
    }

    fn push(&mut self, trajectory: &Trajectory) {
        let length = self.wanted.length;
        let first = (self.values.len() / self.axes.len()) as u32;
        self.row.clear();
        self.after.clear();
        let ends = trajectory.base.iter().zip(&trajectory.after);
        for (axis, (from, to)) in self.axes.iter().zip(ends) {
            self.row.push(axis.value(*from));
            let delta = axis.length(*from, *to, length);
            self.after.push((axis.value(*to), delta));
        }
        for swing in &trajectory.swings {
            let position = swing.parameter as usize;
            let axis = &self.axes[position];
            self.row[position] = axis.value_at(swing.from);
            self.after[position] = (axis.value_at(swing.to), axis.swing(length));
        }
        self.values.extend_from_slice(&self.row);
        for (row, parameter) in (first..).zip(&trajectory.order) {
            let (value, delta) = self.after[*parameter as usize];
            self.row[*parameter as usize] = value;
            self.values.extend_from_slice(&self.row);
            self.moves.push(Move {
                from: row,
                to: row + 1,
                parameter: *parameter,
                delta,
            });
        }
    }

    fn into_design(self, unordered: Vec<bool>) -> MoatDesign {
        MoatDesign {
            points: Points::from_values(self.axes.len(), self.values),
            moves: self.moves,
            trajectories: self.wanted.trajectories,
            unordered,
        }
    }
}
