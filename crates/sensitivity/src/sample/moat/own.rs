//! Own points as a design.
//!
//! Law: what is not certain from the points is an error that names the row, but for one case: where all parameters
//! have one number of levels, a step that changes nothing belongs to a parameter that changes nowhere else in its
//! trajectory. Which of several such ones it is makes no difference: each of them has one such step.

use super::{Levels, MoatDesign, Move, StepLength, check_movable, unordered};
use crate::sample::{SampleError, check_finite, count_rows};
use crate::space::Ruler;
use crate::{Points, Space};

impl MoatDesign {
    /// A design from own points: trajectories of one row more than there are parameters, in which each row differs
    /// from the one before it in one parameter, and each parameter changes once (such as those of SALib's
    /// `morris.sample`), or in which each row differs from the first one in one parameter (radial).
    ///
    /// Effects are divided by the actual step, or with [`StepLength::Nominal`] and [`Levels::Each`] by p/(2(p−1)). With
    /// [`Levels::Grid`], and in radial designs, the nominal length of a step between values of a list is in positions;
    /// there every step has to change something.
    ///
    /// # Errors
    ///
    /// If the space has no parameters, or one without values or with a single one; if the points have another width,
    /// are no whole number of trajectories, or not numbers; if a step does not change one parameter.
    pub fn from_points(
        space: &Space,
        points: Points,
        levels: Levels,
        length: StepLength,
    ) -> Result<MoatDesign, SampleError> {
        check_movable(space)?;
        let group = space.len() + 1;
        if points.width() != space.len() {
            return Err(SampleError::Width {
                found: points.width(),
                expected: space.len(),
            });
        }
        if points.is_empty() {
            return Err(SampleError::Nothing {
                what: "trajectories",
            });
        }
        if !points.len().is_multiple_of(group) {
            return Err(SampleError::Rows {
                rows: points.len(),
                group,
                what: "a trajectory has a row more than there are parameters",
            });
        }
        let trajectories = u32::try_from(points.len() / group).unwrap_or(u32::MAX);
        count_rows(trajectories, group, points.width(), "trajectories")?;
        if let Levels::Each(levels @ (0 | 1)) = levels {
            return Err(SampleError::Levels { levels });
        }
        check_finite(&points, |column| space.parameters[column].name.clone())?;
        let mut moves = Vec::with_capacity(points.len());
        let parameters = space.parameters.iter();
        let rulers: Vec<Ruler> = parameters
            .map(|parameter| Ruler::new(&parameter.domain))
            .collect();
        for trajectory in 0..trajectories as usize {
            let found = Found {
                space,
                rulers: &rulers,
                points: &points,
                first: trajectory * group,
                length,
            };
            match found.chain(levels) {
                Ok(steps) => moves.extend(steps),
                Err(error) => moves.extend(found.star().ok_or(error)?),
            }
        }
        Ok(MoatDesign {
            trajectories,
            points,
            moves,
            unordered: unordered(space),
        })
    }
}

/// One trajectory.
struct Found<'a> {
    space: &'a Space,
    rulers: &'a [Ruler],
    points: &'a Points,
    first: usize,
    length: StepLength,
}

impl Found<'_> {
    /// The steps, if each row follows from the one before it.
    fn chain(&self, levels: Levels) -> Result<Vec<Move>, SampleError> {
        let parameters = self.space.len();
        let mut moves = Vec::with_capacity(parameters);
        let mut seen = vec![false; parameters];
        let mut stuck = Vec::new();
        for row in self.first..self.first + parameters {
            let (changed, parameter) = self.changed(row, row + 1);
            let may_be_stuck = changed == 0 && levels != Levels::Grid;
            if changed != 1 && !may_be_stuck {
                return Err(SampleError::Step {
                    trajectory: self.number(),
                    row: row + 1,
                    changed,
                });
            }
            if may_be_stuck {
                stuck.push(moves.len());
            } else if std::mem::replace(&mut seen[parameter], true) {
                return Err(SampleError::Again {
                    trajectory: self.number(),
                    row: row + 1,
                    parameter: self.space.parameters[parameter].name.clone(),
                });
            }
            moves.push(self.step(row, row + 1, parameter, levels));
        }
        let rest = (0..parameters).filter(|parameter| !seen[*parameter]);
        for (position, parameter) in stuck.into_iter().zip(rest) {
            let row = self.first + position;
            moves[position] = self.step(row, row + 1, parameter, levels);
        }
        Ok(moves)
    }

    /// The steps, if each row follows from the first one.
    fn star(&self) -> Option<Vec<Move>> {
        let mut seen = vec![false; self.space.len()];
        let mut moves = Vec::with_capacity(self.space.len());
        for row in self.first + 1..=self.first + self.space.len() {
            let (changed, parameter) = self.changed(self.first, row);
            if changed != 1 || std::mem::replace(&mut seen[parameter], true) {
                return None;
            }
            moves.push(self.step(self.first, row, parameter, Levels::Grid));
        }
        Some(moves)
    }

    /// The trajectory, counted from 1.
    fn number(&self) -> usize {
        self.first / (self.space.len() + 1) + 1
    }

    /// How many parameters change, and the first of them; the first of all if none.
    fn changed(&self, from: usize, to: usize) -> (usize, usize) {
        let pairs = self.points.row(from).iter().zip(self.points.row(to));
        let mut different = pairs.enumerate().filter(|(_, (from, to))| from != to);
        match different.next() {
            None => (0, 0),
            Some((parameter, _)) => (1 + different.count(), parameter),
        }
    }

    fn step(&self, from: usize, to: usize, parameter: usize, levels: Levels) -> Move {
        let value = |row: usize| self.points.row(row)[parameter];
        let domain = &self.space.parameters[parameter].domain;
        let positions = domain.position(value(from)).zip(domain.position(value(to)));
        let actual = match positions {
            Some((from, to)) => self.rulers[parameter].distance(from, to),
            None => domain.step(value(from), value(to)),
        };
        let delta = match (self.length, levels, positions) {
            (StepLength::Actual, _, _) => actual,
            (StepLength::Nominal, Levels::Each(levels), _) => {
                let nominal = f64::from(levels) / (2.0 * f64::from(levels - 1));
                if actual < 0.0 { -nominal } else { nominal }
            }
            (StepLength::Nominal, Levels::Grid, Some((from, to))) => {
                self.rulers[parameter].in_positions(from, to)
            }
            (StepLength::Nominal, Levels::Grid, None) => actual,
        };
        Move {
            from: from as u32,
            to: to as u32,
            parameter: parameter as u32,
            delta,
        }
    }
}
