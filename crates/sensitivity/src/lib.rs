//! The mathematics of a parameter study: spaces, designs, sensitivity indices.
//!
//! What comes in: a [`Space`] (which parameters are varied, over which values) and a method. What goes out: a
//! design, whose [`Points`] somebody evaluates, and from the outputs the indices that say which parameter matters.
//!
//! ```text
//! Space ─sample::moat→ MoatDesign ─(evaluate)→ outputs ─analyze::moat→ effects of each parameter
//! Space ─sample::vbd→  VbdDesign  ─(evaluate)→ outputs ─analyze::vbd→  shares of the variance
//! ```
//!
//! | file | noun |
//! | --- | --- |
//! | `space` | parameters and the values they may take |
//! | `points` | a table of parameter values, one row per evaluation |
//! | `sample` | designs: which points to evaluate |
//! | `analyze` | indices, from a design and its outputs; `analyze::x` reads what `sample::x` makes |
//! | `prefix` | at how much of a design its indices are looked at while it is under way |
//! | `functions` | functions whose indices are known, to try methods on |
//!
//! Read `space.rs` first.
//!
//! **Invariant:** numbers only. Nothing here knows workflows, files, threads or time; the same arguments give the
//! same bits on every machine.

mod points;
mod prefix;
mod space;

pub mod analyze;
pub mod functions;
pub mod sample;

pub use points::Points;
pub use prefix::prefixes;
pub use space::{Domain, Parameter, Space};

/// The example of the guide, which is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/study-designs.md")]
mod guide {}
