//! Designs for the decomposition of variance (Sobol' indices).
//!
//! Law: per base point the rows are A, AB_1 … AB_k, (BA_1 … BA_k,) B, where AB_i is A with parameter i from B.

use crate::Points;

/// How base points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampler {
    /// Independently (Monte Carlo).
    Mc,
    /// One in each of as many slices of each parameter (Latin hypercube).
    Lhs,
    /// A scrambled Halton sequence.
    Halton,
    /// A scrambled Sobol' sequence.
    Sobol,
}

/// What design is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vbd {
    /// How many base points: n of n(k+2).
    pub samples: u32,
    /// How they are drawn.
    pub sampler: Sampler,
    /// Whether effects of pairs are wanted: n(2k+2) rows instead of n(k+2).
    pub second_order: bool,
}

/// The rows to evaluate.
#[derive(Debug, Clone, PartialEq)]
pub struct VbdDesign {
    /// The rows, base point after base point.
    pub points: Points,
    /// How many base points.
    pub samples: u32,
    /// Whether the rows BA_i are there.
    pub second_order: bool,
}
