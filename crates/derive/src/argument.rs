//! What a call is given: items, and what it does with each.
//!
//! Law: two arguments are the same data exactly when they have the same reference. What a call does with an item that
//! it names several times is what these accesses come to together.

use headwater_graph::{ScalarType, Type};

/// A data item of a program: a variable, an array, a file. Numbers count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemId(pub u32);

impl ItemId {
    /// The number as a position.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A call of a program, by its place in program order, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u32);

impl CallId {
    /// The number as a position.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a call does with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// It reads it.
    In,
    /// It writes it, whatever was there before.
    Out,
    /// It reads it and writes it.
    InOut,
}

impl Access {
    /// Whether the call needs what was there before.
    pub fn reads(self) -> bool {
        self != Access::Out
    }

    /// Whether something else is there afterwards.
    pub fn writes(self) -> bool {
        self != Access::In
    }

    /// What two accesses of one call to one item come to.
    #[must_use]
    pub fn and(self, other: Access) -> Access {
        if self == other { self } else { Access::InOut }
    }
}

/// What kind of thing an item is. For dependences it only counts whether it is a scalar, and of which type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Object {
    /// A single number, truth value or text.
    Scalar(ScalarType),
    /// Anything else: an array, a file, a list.
    Whole,
}

impl Object {
    /// What things of this type are.
    pub fn of(declared: &Type) -> Object {
        declared.scalar().map_or(Object::Whole, Object::Scalar)
    }
}

/// What is done about scalars, which programs often pass by value, so that nobody can see where they come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Scalars make no dependences.
    Optimistic,
    /// A call that gives a scalar and another that takes one of the same type depend on each other, whichever comes
    /// first.
    Conservative,
    /// Scalars have references and are treated like everything else.
    #[default]
    Restrictive,
}

/// One argument of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Argument {
    /// What the call does with it.
    pub access: Access,
    /// What it is.
    pub object: Object,
    /// Which data it is; none for a scalar that is passed by value.
    pub reference: Option<ItemId>,
}

impl Argument {
    /// An item that is no scalar.
    pub fn whole(access: Access, item: ItemId) -> Argument {
        Argument {
            access,
            object: Object::Whole,
            reference: Some(item),
        }
    }
}
