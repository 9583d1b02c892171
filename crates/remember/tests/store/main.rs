//! The store from outside, one file per promise.

mod common;
mod crash;
mod directories;
mod objects;
mod opening;
mod queries;
mod records;
