//! Graphs as pictures: workflows, sequences of calls, and what became of them in a run.
//!
//! In comes a [`Workflow`](headwater_graph::Workflow), or the calls of a sequence; it becomes a [`Diagram`], plain data
//! that others may write on; out comes text in a [`DiagramFormat`]. Read `model` first, then `layout`.
//!
//! | file | what |
//! | --- | --- |
//! | `model` | [`Diagram`]: what is drawn, as plain data |
//! | `workflow` | a workflow as a diagram |
//! | `sequence` | a sequence of calls as a diagram |
//! | `face` | what stands on a node, and how much room it takes |
//! | `text` | how wide texts are |
//! | `ranks` | which row a node stands in |
//! | `layered` | rows put in order and into place |
//! | `picture` | a diagram of which everything has its place |
//! | `layout` | stages and tasks together: from a diagram to its picture |
//! | `labels` | what stands beside arrows |
//! | `svg`, `dot`, `mermaid` | a diagram as text |
//! | `made` | what these texts have in common |
//! | `format` | which of them, and how their texts are known again |
//!
//! Law: a drawing is a function of the diagram. It asks no other program, opens no file, and whatever a diagram holds
//! comes out as a picture.

mod dot;
mod face;
mod format;
mod labels;
mod layered;
mod layout;
mod made;
mod mermaid;
mod model;
mod picture;
mod ranks;
mod sequence;
mod svg;
#[cfg(test)]
mod tests;
mod text;
mod workflow;

pub use format::DiagramFormat;
pub use model::{Diagram, DiagramEdge, DiagramEnd, DiagramGroup, DiagramNode, EdgeKind, NodeKind};
pub use sequence::{
    SMALL, SequenceCall, SequenceEdge, SequenceItem, grouped_sequence_diagram, sequence_diagram,
};
pub use svg::inline;
pub use workflow::{first_tasks, workflow_diagram};
