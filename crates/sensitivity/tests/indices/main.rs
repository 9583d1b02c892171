//! Sensitivity indices: against known values, against SALib, and what must not change them.
//!
//! Law: a test compares with something that was not computed by the code it tests.

mod coverage;
mod incomplete;
mod intervals;
mod known;
mod properties;
mod salib;
mod steps;
mod support;
mod until;
