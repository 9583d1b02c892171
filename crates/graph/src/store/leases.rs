//! The right to make a product, so that of several processes that need it one makes it.
//!
//! Law: a key is leased to at most one holder at a time, among all that use the store. A lease ends when it is dropped
//! or when its process ends, however it ends. Leases save work and guard nothing: a store that cannot exclude others
//! gives them all the same, and at worst a product is made twice.

use crate::Recipe;

/// The right to make a product, until it is dropped.
pub type Lease = Box<dyn Send>;

/// The leases that one engine takes.
pub trait Leases: Send + Sync {
    /// Takes all of these keys, or none: `None` where somebody holds one of them. Never waits.
    fn take(&self, keys: &[Recipe]) -> Option<Lease>;

    /// Whether it is certain that nobody else has had leases of this store open since these were opened. Then what was
    /// not remembered at the last look is not remembered now; else whoever gets a lease has to look once more.
    fn undisturbed(&self) -> bool;
}
