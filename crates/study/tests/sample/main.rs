//! Tests of designs, by noun.

mod support;

mod golden;
mod moat;
mod own;
mod reuse;
mod unit;
mod vbd;
