//! What makes one call depend on another.
//!
//! Law: what a call depends on comes before it in program order, so that dependences never go in a circle.

use headwater_graph::ScalarType;

use crate::argument::{Access, CallId, ItemId};

/// Why a call has to wait for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Read after write: it needs what the other one made. The only kind that carries data.
    Raw,
    /// Write after read: it changes what the other one reads.
    War,
    /// Write after write: it overwrites what the other one made.
    Waw,
    /// One of the two gives a scalar, the other takes one of the same type, and nobody knows whether it is the same.
    Scalar,
}

impl Kind {
    /// What an access to an item means that an earlier call has written.
    pub(crate) fn after_write(access: Access) -> Kind {
        if access.reads() { Kind::Raw } else { Kind::Waw }
    }

    /// Whether data goes from one call to the other. All else is order.
    pub fn carries_data(self) -> bool {
        self == Kind::Raw
    }

    /// Its name in drawings and reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Raw => "RAW",
            Kind::War => "WAR",
            Kind::Waw => "WAW",
            Kind::Scalar => "scalar",
        }
    }
}

/// What two calls have to do with each other about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// An item that both name.
    Item(ItemId),
    /// Scalars of this type.
    Scalar(ScalarType),
}

/// One reason why a call depends on an earlier one. Ordered by the call that depends, then by the one depended on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dependence {
    /// The call that depends.
    pub to: CallId,
    /// The earlier call that it depends on.
    pub from: CallId,
    /// Why.
    pub kind: Kind,
    /// Because of what.
    pub subject: Subject,
}
