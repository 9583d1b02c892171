//! What is known of an item without its bytes.
//!
//! Law: a handle is small and says enough to find the bytes: which task makes them, under which recipe and port, on
//! which node they are. Handles go through the program; bytes go from where they are to where they are needed.

use headwater_derive::CallId;
use headwater_graph::{ElementType, Recipe, Type};

/// Where the bytes of an item are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Whereabouts {
    /// With the program, which gave them.
    Program,
    /// Nowhere: they are still to be made, or were let go.
    Nowhere,
    /// In the memory of a node.
    Memory,
    /// In the store.
    Stored,
}

/// A data item without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataHandle {
    /// What the item is called.
    pub item: String,
    /// What it holds.
    pub object: Type,
    /// The type of its elements, of an array that is in memory.
    pub element: Option<ElementType>,
    /// Its extents in C order, of an array that is in memory.
    pub shape: Vec<u64>,
    /// How many bytes it is, where that is known.
    pub size: Option<u64>,
    /// The call that writes it; none for what came from the program.
    pub writer: Option<CallId>,
    /// The task and the output under which its bytes are known everywhere.
    pub product: Option<(Recipe, String)>,
    /// The node that has them; none for the process of the program.
    pub node: Option<String>,
    /// Where they are.
    pub whereabouts: Whereabouts,
}
