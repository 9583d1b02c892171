//! Handles of items.
//!
//! Law: clones of a handle stand for the same item. When the last one is dropped, nobody can ask for the item any more,
//! and the sequence learns of it: what only such items would need is not computed, and what they held is let go.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_derive::ItemId;

/// Items whose last handle was dropped, since somebody looked.
#[derive(Debug, Default)]
pub(crate) struct Dropped(Mutex<Vec<ItemId>>);

impl Dropped {
    /// Those that nobody has taken yet.
    pub(crate) fn look(&self) -> Vec<ItemId> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn take(&self) -> Vec<ItemId> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug)]
struct Slot {
    id: ItemId,
    dropped: Arc<Dropped>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let queue = self.dropped.0.lock();
        queue.unwrap_or_else(PoisonError::into_inner).push(self.id);
    }
}

/// An item of a sequence, whatever it holds. [`Item`] also knows what.
#[derive(Debug, Clone)]
pub struct Reference(Arc<Slot>);

impl Reference {
    pub(crate) fn new(id: ItemId, dropped: &Arc<Dropped>) -> Reference {
        Reference(Arc::new(Slot {
            id,
            dropped: Arc::clone(dropped),
        }))
    }

    pub(crate) fn id(&self) -> ItemId {
        self.0.id
    }

    /// Whether it is an item of the sequence that has this queue.
    pub(crate) fn belongs_to(&self, dropped: &Arc<Dropped>) -> bool {
        Arc::ptr_eq(&self.0.dropped, dropped)
    }
}

/// An item of a sequence that holds a `T`: what calls read and write in place of a variable.
pub struct Item<T> {
    reference: Reference,
    holds: PhantomData<fn() -> T>,
}

impl<T> Item<T> {
    pub(crate) fn new(reference: Reference) -> Item<T> {
        Item {
            reference,
            holds: PhantomData,
        }
    }

    /// The item without its type, for [`Argument`](super::Argument)s.
    pub fn reference(&self) -> &Reference {
        &self.reference
    }
}

impl<T> AsRef<Reference> for Item<T> {
    fn as_ref(&self) -> &Reference {
        &self.reference
    }
}

impl AsRef<Reference> for Reference {
    fn as_ref(&self) -> &Reference {
        self
    }
}

impl<T> Clone for Item<T> {
    fn clone(&self) -> Item<T> {
        Item::new(self.reference.clone())
    }
}

impl<T> fmt::Debug for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Item({})", self.reference.id().0)
    }
}
