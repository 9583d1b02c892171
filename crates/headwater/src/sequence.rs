//! Sequences: a program makes its calls one after another, and what is independent runs in parallel.
//!
//! | file | noun |
//! | --- | --- |
//! | `item` | [`Item`]: a typed handle of a data item |
//! | `argument` | [`Argument`]: what is bound to which port, of operations whose types are known only when they run |
//! | `datum` | [`Datum`]: Rust types that items hold; [`File`], [`Directory`] |
//! | `numbers` | [`Numbers`]: arrays whose numbers the compiler knows |
//! | `procedure` | [`Procedure`]: an operation with typed parameters; those of any operation |
//! | `draft` | [`procedure()`]: those of Rust code |
//! | `arguments` | [`Arguments`]: what a call passes to a procedure |
//! | `tuple` | tuples of parameters and of data |

mod argument;
mod arguments;
mod datum;
mod draft;
mod item;
mod numbers;
mod procedure;
#[cfg(test)]
mod tests;
mod tuple;

pub use argument::Argument;
pub use arguments::{Arguments, Pass, Plain};
pub use datum::{Datum, Directory, File, ScalarDatum};
pub use draft::{Draft, procedure};
pub use headwater_derive::{Access, CallId, Mode};
pub use item::{Item, Reference};
pub use numbers::{Numbers, ShapeError};
pub use procedure::{
    Binding, ByValue, In, InList, InOut, Out, Part, Procedure, ProcedureError, Slot,
};
pub use tuple::{Append, Data, Mismatch};
