//! Sequences: a program makes its calls one after another, and what is independent runs in parallel.
//!
//! | file | noun |
//! | --- | --- |
//! | `item` | [`Item`]: a typed handle of a data item |
//! | `argument` | [`Argument`]: what is bound to which port, of operations whose types are known only when they run |

mod argument;
mod item;

pub use argument::Argument;
pub use headwater_derive::{Access, CallId, Mode};
pub use item::{Item, Reference};
