//! Tests of the enactor, by what they hold.

mod blueprint;
mod contents;
mod crew;
mod demand;
mod failures;
mod figures;
mod formulas;
mod invariants;
mod iteration;
mod memory;
mod order;
mod random;
mod resources;
mod rounds;
mod scaling;
mod support;
mod synchronisation;
