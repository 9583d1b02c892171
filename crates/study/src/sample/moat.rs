//! One-at-a-time designs (Morris): trajectories in which each step changes one parameter.
//!
//! Law: a design says of each step which parameter it changed and by how much in the unit cube, so that whoever
//! analyses it need not know how it was made.

use crate::Points;

/// How many values a parameter takes in a design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Levels {
    /// As many for every parameter; an even number. A discrete parameter takes the nearest of its own values.
    Each(u32),
    /// As many as the parameter has values; a step jumps half of them, and effects are per actual step.
    Grid,
}

/// How trajectories are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Walk {
    /// At random.
    #[default]
    Random,
    /// At random, and of many such those that lie furthest apart (Campolongo et al. 2007).
    Spread,
    /// From base points of a quasi-random sequence, one step in each direction (Campolongo et al. 2011).
    Radial,
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
    /// What the change of the output is divided by: the change of the parameter in the unit cube, with its sign.
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
}
