//! The stages that are to be cut into buckets, and what their tasks cost.
//!
//! Law: two cells are the same number if and only if they are the same task with the same things upstream.

/// Stages of one kind, each a row of the tasks that it consists of.
#[derive(Debug, Clone, Default)]
pub struct Stages {
    width: usize,
    cells: Vec<u32>,
}

impl Stages {
    /// Stages of that many tasks; `cells` has their rows, one after the other.
    ///
    /// # Panics
    ///
    /// If the cells are not whole rows.
    pub fn new(width: usize, cells: Vec<u32>) -> Stages {
        assert!(width > 0 && cells.len().is_multiple_of(width), "whole rows");
        Stages { width, cells }
    }

    /// How many tasks a stage has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many stages there are.
    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The tasks of a stage.
    pub fn row(&self, stage: u32) -> &[u32] {
        &self.cells[stage as usize * self.width..][..self.width]
    }

    /// The tasks of all stages.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.cells.chunks_exact(self.width.max(1))
    }
}

/// What a task costs: by node, as in [`crate::Compact`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weight {
    /// Time, in any unit; 1 for all where only counts are known.
    pub cost: u64,
    /// Bytes of what it makes; 0 where that is not known.
    pub bytes: u64,
}
