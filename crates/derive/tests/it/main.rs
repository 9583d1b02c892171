//! Tests of the derive crate.
//!
//! Law: what is expected comes from `reference.rs`, which compares all calls with all others and shares no code with the
//! crate beyond the types of arguments and dependences.

mod examples;
mod linear;
mod random;
mod reference;
