//! The store from outside, one file per promise.

mod aliases;
mod collect;
mod common;
mod crash;
mod directories;
mod leases;
mod objects;
mod opening;
mod queries;
mod records;
mod verify;
mod worth;
