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

use std::sync::Arc;

use headwater_graph::{Mode, Store};

/// The name of a kind of store, one of it, and the folder that goes with it.
type Kind = (&'static str, Arc<dyn Store>, Box<dyn std::any::Any>);

/// A store of each kind, empty.
fn stores() -> Vec<Kind> {
    let folder = || tempfile::tempdir().unwrap();
    let (first, second) = (folder(), folder());
    let in_folder = headwater_remember::open(&first.path().join("store"), Mode::ReadWrite).unwrap();
    let in_memory = headwater_remember::in_memory(second.path());
    vec![
        ("folder", in_folder, Box::new(first)),
        ("memory", in_memory, Box::new(second)),
    ]
}
