//! What is between the engine and the disk: what one thread hands to another, and what a run can give without its store.
//!
//! Law: a product is in the stash until it is durable, or for good where it is not written.

use std::collections::HashMap;
use std::sync::{Arc, mpsc};

use headwater_execute::Made;
use headwater_graph::{Alias, Outputs, Pending, Port, ProductRecord, Recipe};

use crate::progress::Progress;

/// A product on its way.
pub struct Message {
    /// What is to be known of it, without its outputs.
    pub record: ProductRecord,
    /// What it made.
    pub outputs: Arc<Outputs>,
    /// What its outputs are.
    pub ports: Arc<[Port]>,
    /// How long that took, and where.
    pub made: Made,
}

/// What the writing thread has to do, in order.
pub enum Order {
    /// Makes a product durable.
    Keep(Box<Message>),
    /// Makes a product durable that another machine made.
    Known(Box<Pending>, Made),
    /// Says that a recipe is that of a product.
    Alias(Alias),
    /// Answered when everything that was ordered before is with the writer, or with nobody.
    Pass(mpsc::Sender<()>),
    /// The same, and durable.
    Flush(mpsc::Sender<Result<(), String>>),
    /// Answered with whether there is room again for what waits for other runs.
    GoOn(mpsc::Sender<bool>),
}

/// A product between the engine and the disk: its writer has it in memory until it is durable.
#[derive(Debug, Clone)]
pub struct OnItsWay {
    /// The operation that made it.
    pub operation: Arc<str>,
    /// Null where an output is not kept.
    pub outputs: Arc<Outputs>,
    /// Positions of outputs that are not kept.
    pub dropped: Arc<[usize]>,
}

/// What this run can give without the store.
#[derive(Debug, Default)]
pub struct Stash {
    /// Products of a run that may not write to its store, and files that are not kept but still there.
    pub products: HashMap<Recipe, Arc<Outputs>>,
    /// Recipes that were found equal to others, where that cannot be written down.
    pub aliases: HashMap<Recipe, Recipe>,
    /// Products that are not durable yet.
    pub on_their_way: HashMap<Recipe, OnItsWay>,
    /// Things worth telling.
    pub notes: Vec<String>,
    /// Files were handed to the store.
    pub has_files: bool,
    /// Products that this run has made may be gone: somebody wrote to them.
    pub spoiled: bool,
    /// Products that were asked for are not there: other runs hold the room for them. They have to be made again.
    pub is_put_off: bool,
    /// Nothing is begun until there is room for them.
    pub waits: bool,
    /// Where it is reported to those who watch the run.
    pub progress: Option<Progress>,
}
