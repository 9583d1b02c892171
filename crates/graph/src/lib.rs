//! The one currency of Headwater: a graph of tasks whose identity is what they compute.
//!
//! What comes in: [`Operation`]s (by way of a [`Registry`]), a [`Workflow`] that names them, and the
//! identities of external data. What goes out: a [`TaskGraph`], in which two tasks that compute the same
//! thing are the same node, and the [`Recipe`] of each node.
//!
//! | file | noun |
//! | --- | --- |
//! | `value` | [`Value`], [`Type`]: what flows along the edges; `encode` has the one canonical encoding of each, `element` arrays as slices of numbers |
//! | `digest` | [`Digest`], [`Recipe`]: 32-byte names of contents and of computations |
//! | `mark` | [`Mark`]: what a file looked like, in numbers |
//! | `signature`, `command`, `operation` | [`Signature`]: ports, parameters and resources; what a program needs to become an [`Operation`]; and a signature with a way to run |
//! | `parts` | what the version of a program stands for, in words |
//! | `registry` | [`Registry`] of operations and [`Codec`]s |
//! | `workflow` | [`Workflow`]: stages, tasks, iteration, synchronisation; `strategy` has `cross` and `dot` |
//! | `check` | the mistakes of a workflow, each with the place it stands at |
//! | `recipe` | how a [`Recipe`] is computed (the text is `docs/recipe.md`) |
//! | `graph` | [`TaskGraph`]; `implicit` has the operations with which the engine itself does something |
//! | `part`, `wire` | [`GraphPart`]: some tasks of a graph for another process, and the form in which they travel |
//! | `diagnostic` | [`Diagnostic`]: a mistake in somebody's file, with its position |
//! | `store` and its folder | the traits that stores implement ([`Store`] is all of them), and the plain data that they exchange |
//!
//! Read `graph.rs` first, then `recipe.rs`.
//!
//! **Invariant:** nothing here opens a file, reads a clock, or depends on the order of a hash map.

mod aligned;
mod check;
mod command;
mod diagnostic;
mod digest;
mod element;
mod encode;
mod failure;
mod graph;
mod implicit;
mod mark;
mod operation;
mod outcome;
mod part;
mod parts;
pub mod progress;
mod recipe;
mod registry;
mod signature;
mod store;
mod strategy;
mod tally;
pub mod text;
mod value;
pub mod wire;
mod workflow;

pub use aligned::Aligned;
pub use check::{Place, Problem, check};
pub use command::{
    Collect, CommandInput, CommandOutput, CommandTemplate, Invocation, Part, Placeholder, Text,
    Threads, UsedFile, Uses, VersionSource,
};
pub use diagnostic::{Diagnostic, Fault, Severity, Span, turns_text};
pub use digest::{
    ContentHasher, Digest, ParseDigestError, Recipe, SEGMENT, SegmentDigest, SegmentHasher,
};
pub use element::Element;
pub use encode::{
    DecodeError, decode, decode_shared, encode, encode_into, encode_to, encoded_length,
    manifest_digest, value_digest,
};
pub use failure::{FailedTask, Failure, FailureKind, FailureLines, alike, named};
pub use graph::{External, GraphError, NewTask, Source, Task, TaskGraph, TaskId};
pub use implicit::{decoder, is_read, item_operation};
pub use mark::Mark;
pub use operation::{
    Cancel, Context, Kind, Operation, OperationError, Outputs, ReadFile, ReadSeek, Run,
};
pub use outcome::{Attempt, Outcome, RunStatus};
pub use part::{DescribedOperation, Given, Giver, GraphPart, PartError};
pub use recipe::{Identity, NotANumber, RecipeBuilder, SCHEME};
pub use registry::{Codec, Decode, Encode, Registry, RegistryError};
pub use signature::{ParameterDeclaration, Port, Resources, Signature};
pub use store::{
    Alias, Attachments, Behind, Collected, Cost, Costs, FileDigest, FoundProduct, FoundRun,
    GroupFacts, Lease, Leases, Load, Local, Mode, Neighbour, ObjectPlace, ObjectSource, Objects,
    Pending, PendingObject, ProductFilter, ProductRecord, Pushed, Questions, Rates, Records, Room,
    RunFolders, RunRecord, RunTask, Runs, Store, StoreEntry, StoreError, StoredOutput, Times,
    Verified, VersionParts, Waiting, expected_reads,
};
pub use strategy::{Strategy, StrategyError};
pub use tally::Tally;
pub use value::{
    Array, DirectoryEntry, DirectoryValue, ElementType, FileValue, Handle, Image, Opaque, Owner,
    Region, Scalar, ScalarKey, ScalarType, Type, Value,
};
pub use workflow::{
    Binding, DataOrigin, Index, Input, KnownBy, OutputBinding, Parameter, Stage, TaskDefinition,
    Tolerance, Wait, Workflow,
};
