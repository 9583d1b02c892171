//! The store from outside, one file per promise.

mod aliases;
mod collect;
mod common;
mod costs;
mod crash;
mod damage;
mod directories;
mod full;
mod laws;
mod leases;
mod objects;
mod opening;
mod planted;
mod power;
mod queries;
mod rebuild;
mod records;
mod verify;
mod worth;
