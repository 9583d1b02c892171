//! What many instances of a workflow share, and how to cut the rest into buckets.
//!
//! What comes in: a [`Template`] (the steps of one instance, as integers) and the [`Sets`] of parameter values. What
//! goes out: the [`Compact`] graph, in which equal tasks and equal stages stand once, and [`Buckets`] of stages that
//! run as one unit on one worker, each sharing the tasks of its stages.
//!
//! ```text
//! Template × Sets ─compact→ Compact ─Stages→ Tree ─Merge→ Buckets ─schedule→ makespan
//! ```
//!
//! | file | noun |
//! | --- | --- |
//! | `compact` | instances to nodes: whole stages and single tasks that are equal stand once |
//! | `known` | numbers for things that are equal |
//! | `stages` | the stages to be cut, and what their tasks cost |
//! | `tree` | the reuse tree: stages by their common beginnings |
//! | `buckets` | a partition of stages, and what it costs |
//! | `naive` | runs of stages in the order given |
//! | `smart_cut` | cheapest cuts of the graph of what stages share |
//! | `rtma` | full buckets from the leaves up |
//! | `trtma` | buckets with equal numbers of tasks |
//! | `cost_balanced` | buckets that take equally long and fit into memory; its folder has a README |
//! | `order` | stages in depth-first order, and their branches |
//! | `schedule` | how long units take on equal workers |
//!
//! Read `compact.rs` first, then `tree.rs`.
//!
//! **Invariant:** integers in, integers out. Nothing here knows operations, stores, files or time, and nothing depends
//! on the order of a hash map.
//!
//! **Invariant:** every algorithm puts each stage into exactly one bucket and keeps to its limits.

mod buckets;
mod compact;
mod cost_balanced;
mod known;
mod naive;
mod order;
mod rtma;
mod schedule;
mod smart_cut;
mod stages;
mod tree;
mod trtma;

pub use buckets::{Buckets, Load, Merge, Sharing};
pub use compact::{Compact, Node, Occurrence, Sets, StageRows, Step, Template, Word};
pub use cost_balanced::CostBalanced;
pub use naive::Naive;
pub use rtma::Rtma;
pub use schedule::{Unit, makespan, makespan_of};
pub use smart_cut::SmartCut;
pub use stages::{Stages, Weight};
pub use tree::{Tree, TreeNode};
pub use trtma::Trtma;
