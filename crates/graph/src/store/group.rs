//! A store of a group behind one's own: what can be said of it, and giving products to it.
//!
//! Law: what is in one's own store is safe here; what the group has is safe there. A product counts as given only when the
//! group has its record and all of its bytes.

use core::time::Duration;

use crate::{Recipe, Store, StoreError};

/// What became of products that were given to the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pushed {
    /// Products that the group did not have.
    pub products: u64,
    /// Products that it had already.
    pub present: u64,
    /// Products among those that came out differently there: the first one stays.
    pub different: u64,
    /// Products that could not be given, because some of their bytes are gone.
    pub left_out: u64,
    /// Objects that were copied.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Pushed {
    /// Adds what became of others.
    pub fn add(&mut self, other: Pushed) {
        self.products += other.products;
        self.present += other.present;
        self.different += other.different;
        self.left_out += other.left_out;
        self.objects += other.objects;
        self.bytes += other.bytes;
    }
}

/// Products that wait to be given to the group, because it could not be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waiting {
    /// How many.
    pub products: u64,
    /// The bytes of their outputs.
    pub bytes: u64,
}

/// What can be said of the store of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupFacts {
    /// Where its records are, without passwords.
    pub place: String,
    /// Where its objects are.
    pub objects: String,
    /// The role of the database that asks.
    pub role: String,
    /// Whether the role may give products.
    pub may_write: bool,
    /// Whether the role may take bytes away.
    pub is_owner: bool,
    /// Whether products are given at once.
    pub publishes: bool,
    /// Whose products are reused; `None` is everybody's.
    pub trust: Option<Vec<String>>,
}

/// The store of a group behind one's own.
pub trait Behind: Send + Sync {
    /// What can be said of it.
    fn facts(&self) -> GroupFacts;

    /// One's own store.
    fn front(&self) -> &dyn Store;

    /// The role that gave a product to the group; `None` where the group has none that this run made, or cannot be asked.
    fn giver(&self, recipe: &Recipe, run: &str) -> Option<String>;

    /// Gives products of one's own store to the group, with the aliases among them.
    fn push(&self, recipes: &[Recipe]) -> Result<Pushed, StoreError>;

    /// How long the user wants to wait for a group that cannot be reached.
    fn patience(&self) -> Duration;

    /// Waits until nothing waits any more, at most for this time; says what still does.
    fn settle(&self, most: Duration) -> Waiting;

    /// If products wait, says so to people ([`Store::take_notices`](crate::Store::take_notices)).
    fn tell_waiting(&self);
}
