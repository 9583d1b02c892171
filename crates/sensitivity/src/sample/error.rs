//! Why there is no design.
//!
//! Law: an error says which parameter, row or number is wrong, and what would be right.

use std::sync::Arc;

/// Why a design cannot be made, or own points are not one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// A space without parameters.
    #[error("there is no parameter to vary: name at least one")]
    NoParameters,
    /// A parameter whose domain has no values.
    #[error(
        "parameter `{parameter}` has no values: {why}",
        why = "an interval runs from a number to a larger one, a grid has a step and at least one value"
    )]
    Domain {
        /// The parameter.
        parameter: Arc<str>,
    },
    /// A parameter that cannot be varied.
    #[error(
        "parameter `{parameter}` has a single value, so that no step can change it: give it more values or leave it out"
    )]
    OneValue {
        /// The parameter.
        parameter: Arc<str>,
    },
    /// A design of nothing.
    #[error("a design of no {what}: ask for at least 1")]
    Nothing {
        /// Samples or trajectories.
        what: &'static str,
    },
    /// More values than a design may have.
    #[error(
        "{rows} rows of {columns} values are {values} values in all, more than the {limit} that a design may have: ask for fewer {what}, or vary fewer parameters"
    )]
    TooMany {
        /// How many rows were wanted.
        rows: u64,
        /// How many values a row has.
        columns: usize,
        /// How many values that makes; 2⁶⁴ − 1 for more than that.
        values: u64,
        /// How many there may be.
        limit: u64,
        /// Samples or trajectories.
        what: &'static str,
    },
    /// A number of levels with which steps have no common size.
    #[error(
        "{levels} levels: the number of levels is even and at least 2, so that a step of half of them is always possible"
    )]
    Levels {
        /// What was wanted.
        levels: u32,
    },
    /// A sequence that is not known in so many dimensions.
    #[error(
        "a {sequence} sample of {dimensions} dimensions: there are at most {limit} (a design for shares of variance or a radial one takes two per parameter); use mc or lhs, or vary fewer parameters"
    )]
    Dimensions {
        /// Which sequence.
        sequence: &'static str,
        /// How many were wanted.
        dimensions: usize,
        /// How many there are.
        limit: usize,
    },
    /// Own points of another width.
    #[error("the points have {found} columns, but there are {expected} parameters")]
    Width {
        /// How many columns.
        found: usize,
        /// How many parameters.
        expected: usize,
    },
    /// Own points that are not a whole number of groups.
    #[error("{rows} rows are not a multiple of {group} ({what})")]
    Rows {
        /// How many rows.
        rows: usize,
        /// How many belong together.
        group: usize,
        /// What a group is.
        what: &'static str,
    },
    /// A value that is not a number.
    #[error("row {row}, column `{column}`: not a finite number")]
    NotFinite {
        /// The row, counted from 1.
        row: usize,
        /// The parameter, or the number of the column from 1.
        column: Arc<str>,
    },
    /// A step of own points that does not change one parameter.
    #[error(
        "trajectory {trajectory}: from row {row} to row {next} {changed} parameters change; a step changes exactly one",
        next = row + 1
    )]
    Step {
        /// The trajectory, counted from 1.
        trajectory: usize,
        /// The row before the step, counted from 1 over all rows.
        row: usize,
        /// How many parameters change.
        changed: usize,
    },
    /// A step of own points that changes a parameter once more.
    #[error(
        "trajectory {trajectory}: the step from row {row} to row {next} changes `{parameter}` once more; each parameter changes once in a trajectory",
        next = row + 1
    )]
    Again {
        /// The trajectory, counted from 1.
        trajectory: usize,
        /// The row before the step, counted from 1 over all rows.
        row: usize,
        /// The parameter.
        parameter: Arc<str>,
    },
    /// A row of own points that is not made of A and B as it should.
    #[error(
        "row {row}, column {column}: base point {sample} has another value there than its row {origin}; per base point the rows are {order}"
    )]
    Mixture {
        /// The base point, counted from 1.
        sample: usize,
        /// The row, counted from 1 over all rows.
        row: usize,
        /// The column, counted from 1.
        column: usize,
        /// Where the value should come from: `A` or `B`.
        origin: char,
        /// The order of rows.
        order: &'static str,
    },
}
