//! Products that are remembered, and whose bytes are gone.
//!
//! Law: what is wanted or read, and cannot be had, is made again; what nobody needs is not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_enact::{Enactment, State};
use headwater_execute::Ports;
use headwater_graph::{ProductRecord, Recipe, TaskId};

use crate::Error;
use crate::fetch::Presence;
use crate::keep::StoreKeeper;

/// Tasks, and the positions of those of their outputs that somebody needs.
pub type Products = BTreeMap<TaskId, BTreeSet<u16>>;

/// What was asked for.
pub fn wanted_products(enactment: &Enactment) -> Products {
    let mut products = Products::new();
    for requested in enactment.requested() {
        requested.source.for_each_product(&mut |task, port| {
            products.entry(task).or_default().insert(port);
        });
    }
    products
}

/// What the tasks that have to run read.
pub fn read_products(enactment: &Enactment) -> Products {
    let mut products = Products::new();
    let graph = enactment.graph();
    let to_run = |task: &TaskId| !enactment.coordinator().state(*task).is_settled();
    for task in graph.ids().filter(to_run) {
        for (_, source) in graph.inputs(task) {
            source.for_each_product(&mut |input, port| {
                products.entry(input).or_default().insert(port);
            });
        }
    }
    products
}

/// Wanted outputs that are remembered, but whose bytes are gone or damaged, have to be made again. Tells
/// whether there were any.
pub fn recompute_lost(enactment: &mut Enactment, keeper: &mut StoreKeeper) -> Result<bool, Error> {
    Ok(find_wanted(enactment, keeper)?.1)
}

/// Records of products by the tasks that they are of, in the order of these.
pub type Found = Vec<(TaskId, Arc<ProductRecord>)>;

/// The same; gives the records of those that are there besides.
pub fn find_wanted(
    enactment: &mut Enactment,
    keeper: &mut StoreKeeper,
) -> Result<(Found, bool), Error> {
    let wanted = wanted_products(enactment);
    let spoiled = keeper.take_spoiled();
    forget_lost(enactment, keeper, wanted, true, spoiled)
}

/// The same for what the tasks that have to run read. A run finds out when it gets there; a plan says so
/// beforehand.
pub fn recompute_lost_inputs(
    enactment: &mut Enactment,
    keeper: &mut StoreKeeper,
) -> Result<bool, Error> {
    let read = read_products(enactment);
    Ok(forget_lost(enactment, keeper, read, false, false)?.1)
}

fn forget_lost(
    enactment: &mut Enactment,
    keeper: &mut StoreKeeper,
    products: Products,
    by_name: bool,
    spoiled: bool,
) -> Result<(Found, bool), Error> {
    // What was made in this run is there, unless somebody wrote to it.
    let is_known = |task: &TaskId| match enactment.coordinator().state(*task) {
        State::Known => true,
        State::Done => spoiled,
        _ => false,
    };
    let (tasks, wanted): (Vec<TaskId>, Vec<(Recipe, Ports)>) = products
        .into_iter()
        .filter(|(task, _)| is_known(task))
        .map(|(task, ports)| {
            let ports = Ports::These(ports.into_iter().collect());
            (task, (enactment.stored_as(task), ports))
        })
        .unzip();
    let present = keeper.eager_fetcher().present(&wanted, by_name);
    let (mut found, mut any) = (Found::new(), false);
    for (task, presence) in tasks.into_iter().zip(present) {
        match presence {
            Presence::Stored(record) => found.push((task, record)),
            Presence::Stashed => {}
            Presence::Gone => {
                enactment
                    .lost(task, keeper)
                    .map_err(|error| Error::Open(vec![error]))?;
                any = true;
            }
        }
    }
    Ok((found, any))
}
