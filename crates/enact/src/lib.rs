//! The pipelined enactor: what becomes ready when, and what runs next.
//!
//! What comes in: a [`Workflow`](headwater_graph::Workflow), a [`DataSet`] and parameter values. The
//! [`Expander`] turns them, round by round, into tasks of a [`TaskGraph`](headwater_graph::TaskGraph); the
//! [`Coordinator`] decides what runs next. What goes out: [`Action`]s, for whoever can carry them out.
//! Two drivers exist: [`simulate`] in virtual time, and the threads of crate `execute`.
//!
//! | file | noun |
//! | --- | --- |
//! | `data` | [`DataSet`]: the items of each workflow input |
//! | `shape` | which positions an index path has, and how inputs of one stage pair up |
//! | `join` | combining items as they arrive, in any order |
//! | `expand` | [`Expander`]: stage instances and their tasks |
//! | `enactment` | [`Enactment`]: graph, expander and coordinator as one thing to be driven |
//! | `contents` | what products are by content, and which tasks are therefore equal; `enactment/compare` asks |
//! | `coordinator` | [`Coordinator`]: states, order, resources, failures, memory |
//! | `simulate` | [`simulate`]: the same coordinator in virtual time, with a diagram |
//! | `crew` | [`Crew`](crew::Crew): the manager's view of its nodes; `crew/simulate` is many of them in virtual time |
//!
//! Read `coordinator/README.md` first, then `expand.rs`.
//!
//! **Invariant:** pure. No clock, no threads, no files, no environment; no result depends on the order of
//! a hash map.

mod contents;
mod coordinator;
pub mod crew;
mod data;
mod enactment;
mod expand;
mod join;
mod needs;
mod options;
mod shape;
mod simulate;
mod time;

pub use contents::Match;
pub use coordinator::{
    Action, Admission, Coordinator, Ending, Notice, Occurrence, Oversized, Refused, StageRules,
    Start, State, Verdict,
};
pub use data::{Column, DataItem, DataSet, Label, ProductColumn};
pub use enactment::{Enactment, NothingRemembered, OpenError, Recall, TaskAddress};
pub use expand::{Ancestry, Blueprint, BlueprintStage, Expander, Expansion, Requested, Settled};
pub use needs::PlanError;
pub use options::{Backoff, Capacity, Options, Parallelism};
pub use shape::ShapeError;
pub use simulate::{Done, Simulated, SimulationError, Trace, World, diagram, simulate};
pub use time::{Time, nanoseconds};
