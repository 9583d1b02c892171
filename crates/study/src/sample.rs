//! Designs: which points of a space to evaluate.
//!
//! Law: a design is a function of its arguments and the seed, the same bits on every machine.

pub mod moat;
pub mod vbd;

pub use moat::{Levels, Moat, MoatDesign, Move, Walk};
pub use vbd::{Sampler, Vbd, VbdDesign};
