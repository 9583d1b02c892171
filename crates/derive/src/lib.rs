//! From the order of calls in a program to what depends on what.
//!
//! What comes in: calls in program order, each with its [`Argument`]s: which items it reads, writes or both. What goes
//! out: the [`Dependence`]s between calls, the rank of each, and a graph of tasks.
//!
//! ```text
//! call, call, … ─Footprint→ items, scalars ─┬─Tracker→ dependences, ranks ─┬─reduce→ what is drawn and counted
//!                                           └─unreduced→ all of them ──────┘
//! ```
//!
//! | file | noun |
//! | --- | --- |
//! | `argument` | [`Argument`], [`Access`], [`Mode`]: what a call is given |
//! | `footprint` | what a call does, with each item named once |
//! | `dependence` | [`Dependence`], [`Kind`]: why a call has to wait for another |
//! | `tracker` | [`Tracker`]: dependences and ranks, call by call, in linear time |
//! | `readers` | who has read each item since it was written |
//! | `phases` | calls with scalars of one type, in conservative mode |
//! | `unreduced` | [`unreduced()`]: all dependences that comparing all pairs of calls finds |
//! | `reduce` | [`reduce()`]: without those that nobody needs |
//! | `program` | [`Program`]: items with their versions; calls become tasks of a graph |
//!
//! Read `argument.rs` first, then `tracker.rs` and `program.rs`.
//!
//! **Invariant:** a function of the calls alone. Nothing here knows who runs them.
//!
//! **Invariant:** a call depends only on earlier ones, and what is known of it never changes when more calls come.
//!
//! **Invariant:** the tracker, all pairs, and either of them reduced, put the same calls in order, and agree on who reads
//! what from whom: the value read is the last one written.

mod argument;
mod dependence;
mod footprint;
mod phases;
mod program;
mod readers;
mod reduce;
mod tracker;
mod unreduced;

pub use argument::{Access, Argument, CallId, ItemId, Mode, Object};
pub use dependence::{Dependence, Kind, Subject};
pub use program::{Binding, CallError, Program};
pub use reduce::reduce;
pub use tracker::Tracker;
pub use unreduced::{Unreduced, unreduced};
