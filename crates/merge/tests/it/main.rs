//! Tests of the merge crate.
//!
//! Law: what holds for every algorithm is tested for every algorithm. A new one is added to `algorithms` in
//! `support.rs`, and with that to all tests here that do not speak of one by name.

mod invariants;
mod partition;
mod rtma;
mod support;
