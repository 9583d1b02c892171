//! What one call does, with each item and each type of scalar named once.
//!
//! Law: accesses to one thing combine, and which arguments count at all is decided here, for whoever looks for
//! dependences. The cost is linear in the arguments, however often they repeat.
//!
//! What somebody knows of an item stands beside what is needed here, because items may be many and lie anywhere: to
//! look at one is a single miss of the processor's cache.

use headwater_graph::ScalarType;

use crate::argument::{Access, Argument, ItemId, Mode, Object};

/// What a call does. One is used for many calls, one after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Footprint<T> {
    /// What it does with each item that counts, in the order in which it names them first.
    pub(crate) items: Vec<(ItemId, Access)>,
    /// In conservative mode, what it does with scalars of each type, by type. At most one entry for each type there is.
    pub(crate) scalars: Vec<(ScalarType, Access)>,
    /// Of each item of any call so far.
    pub(crate) known: Vec<Known<T>>,
}

/// What is known of an item.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known<T> {
    /// Where it stands in `items` if it stands there at all: left as it is from call to call, because a look at
    /// `items` tells whether it is out of date.
    place: u32,
    /// For whoever looks for dependences.
    pub(crate) history: T,
}

impl<T: Default> Footprint<T> {
    /// Reads the arguments of the next call.
    pub(crate) fn read(&mut self, mode: Mode, arguments: &[Argument]) {
        self.items.clear();
        self.scalars.clear();
        for argument in arguments {
            let scalar = match argument.object {
                Object::Scalar(_) if mode == Mode::Optimistic => continue,
                Object::Scalar(scalar) if mode == Mode::Conservative => Some(scalar),
                Object::Scalar(_) | Object::Whole => None,
            };
            if let Some(scalar) = scalar {
                self.scalar(scalar, argument.access);
            }
            if let Some(item) = argument.reference {
                self.item(item, argument.access);
            }
        }
        self.scalars.sort_unstable();
    }

    fn item(&mut self, item: ItemId, access: Access) {
        let known = entry(&mut self.known, item.index());
        match self.items.get_mut(known.place as usize) {
            Some((named, so_far)) if *named == item => *so_far = so_far.and(access),
            _ => {
                known.place = self.items.len() as u32;
                self.items.push((item, access));
            }
        }
    }

    fn scalar(&mut self, scalar: ScalarType, access: Access) {
        let mut known = self.scalars.iter_mut();
        match known.find(|(named, _)| *named == scalar) {
            Some((_, so_far)) => *so_far = so_far.and(access),
            None => self.scalars.push((scalar, access)),
        }
    }
}

/// The entry at a place, which is made if it is not there yet.
pub(crate) fn entry<T: Default>(list: &mut Vec<T>, place: usize) -> &mut T {
    if place >= list.len() {
        list.resize_with(place + 1, T::default);
    }
    &mut list[place]
}
