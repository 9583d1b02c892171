//! Sequences: a program makes its calls one after another, and what is independent runs in parallel.
//!
//! | file | noun |
//! | --- | --- |
//! | `item` | [`Item`]: a typed handle of a data item |
//! | `programs` | [`Programs`]: the operations of a file |
//! | `argument` | [`Argument`]: what is bound to which port, of operations whose types are known only when they run |

mod argument;
mod item;
mod programs;

pub use argument::Argument;
pub use headwater_derive::{Access, CallId, Mode};
pub use item::{Item, Reference};
pub use programs::{Programs, programs};
