//! The store from outside, one file per promise.

mod common;
mod crash;
mod damage;
mod directories;
mod full;
mod objects;
mod opening;
mod power;
mod records;
