//! From the order of calls in a program to what depends on what.
//!
//! What comes in: calls in program order, each with its [`Argument`]s: which items it reads, writes or both. What goes
//! out: the dependences between calls.
//!
//! | file | noun |
//! | --- | --- |
//! | `argument` | [`Argument`], [`Access`], [`Mode`]: what a call is given |
//!
//! **Invariant:** a function of the calls alone. Nothing here knows who runs them.

mod argument;

pub use argument::{Access, Argument, CallId, ItemId, Mode, Object};
