//! Sequences as programs use them: calls in order, values in the middle, failures, what is remembered.

mod calls;
mod common;
mod stores;
