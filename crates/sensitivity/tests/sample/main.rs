//! Tests of designs, by noun.

mod support;

mod choices;
mod golden;
mod growth;
mod moat;
mod own;
mod reuse;
mod unit;
mod vbd;
