//! What stores have to offer. The engine asks through these traits and never learns what is behind them.
//!
//! Law: a record is visible only when the bytes that it names are durable, and nothing is acknowledged before. All calls
//! are batched and block.
//!
//! | trait | what it keeps |
//! | --- | --- |
//! | [`Records`] | what is known of products: by recipe, by content key, by alias |
//! | [`Objects`] | bytes by digest, and making a batch of products durable |
//! | [`Leases`] | who is making what |
//! | [`Runs`], [`Attachments`] | what ran when, and the notes that runs leave |
//! | [`Costs`] | what tasks, reading and writing have cost |
//! | [`Room`] | limits on disk, what runs that are alive hold, collection |
//! | [`Questions`] | what people ask |
//! | [`Local`] | what lies on this machine in any case |
//! | [`Behind`] | the store of a group, where there is one |
//!
//! [`Store`] is all of them, and is passed around as `Arc<dyn Store>`. The crate `remember` has one in a folder and one
//! in memory, and a suite of laws that any other has to pass.

mod costs;
mod error;
mod group;
mod leases;
mod local;
mod objects;
mod questions;
mod records;
mod room;
mod runs;

use std::fmt;
use std::path::PathBuf;

pub use costs::{Cost, Costs, Rates, expected_reads};
pub use error::StoreError;
pub use group::{Behind, GroupFacts, Pushed, Waiting};
pub use leases::{Lease, Leases};
pub use local::{FileDigest, Local, RunFolders};
pub use objects::{ObjectPlace, ObjectSource, Objects, Pending, PendingObject, StoreEntry};
pub use questions::{FoundProduct, ProductFilter, Questions, Verified, VersionParts};
pub use records::{Alias, ProductRecord, Records, StoredOutput, Times};
pub use room::{Collected, Load, Neighbour, Room};
pub use runs::{Attachments, FoundRun, RunRecord, RunTask, Runs};

/// What may be done with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Anything; the store is made if there is none.
    ReadWrite,
    /// Looking only.
    ReadOnly,
}

/// Products, runs, and everything else that is remembered. Any number of processes may use one store at once.
pub trait Store:
    Records + Objects + Runs + Attachments + Costs + Room + Questions + Local + fmt::Debug
{
    /// What may be done with it.
    fn mode(&self) -> Mode;

    /// Where it is, for messages.
    fn place(&self) -> PathBuf;

    /// Whether anything was ever written to it. One that is opened for reading only need not exist.
    fn exists(&self) -> bool;

    /// The leases of one engine, in a store that may be written to.
    fn leases(&self) -> Result<Box<dyn Leases>, StoreError>;

    /// What was found damaged since the last call, in words. Damaged records are made again from what else is kept of
    /// them, and damaged objects are set aside; what cannot be had back counts as not remembered, so that it is computed
    /// again. Of very much damage only the beginning is reported, and how much more there is.
    fn take_damage(&self) -> Vec<String>;

    /// What people should know and did not ask since the last call, in sentences: that a store could not be reached, that
    /// a product came out differently.
    fn take_notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// The store of a group behind this one.
    fn behind(&self) -> Option<&dyn Behind> {
        None
    }
}
