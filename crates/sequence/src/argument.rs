//! Arguments of calls whose types are known only when they are made.
//!
//! Law: an argument says which port of an operation an item, or several, or a plain value goes to or comes from. What
//! a call does with an item follows from that.

use std::sync::Arc;

use headwater_graph::{Scalar, Value};

use super::Reference;

/// What is bound to a port or a parameter of an operation.
#[derive(Debug, Clone)]
pub enum Argument {
    /// An item that the call reads.
    In {
        /// The input.
        input: Arc<str>,
        /// The item.
        item: Reference,
    },
    /// Items that the call reads as one list.
    InList {
        /// The input, of type `list of T`.
        input: Arc<str>,
        /// The items, in order.
        items: Vec<Reference>,
    },
    /// A value that the call reads and that is no item.
    Value {
        /// The input.
        input: Arc<str>,
        /// The value.
        value: Value,
    },
    /// The value of a parameter.
    Parameter {
        /// The parameter.
        name: Arc<str>,
        /// Its value.
        value: Scalar,
    },
    /// An item that the call writes.
    Out {
        /// The output.
        output: Arc<str>,
        /// The item.
        item: Reference,
    },
    /// An item that the call reads and writes.
    InOut {
        /// The input.
        input: Arc<str>,
        /// The output.
        output: Arc<str>,
        /// The item.
        item: Reference,
    },
}
