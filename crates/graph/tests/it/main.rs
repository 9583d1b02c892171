//! Tests of the graph crate, by noun.

mod array;
mod check;
mod command;
mod encoding;
mod graph;
mod operation;
mod part;
mod parts;
mod recipe;
mod scalar;
mod strategy;
mod support;
mod workflow;
