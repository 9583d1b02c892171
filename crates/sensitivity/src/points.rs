//! A table of numbers, one row per evaluation.
//!
//! Law: all rows have the same width.

/// Rows of parameter values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Points {
    width: usize,
    values: Vec<f64>,
}

impl Points {
    /// No rows yet, of this width.
    pub fn new(width: usize) -> Points {
        Points {
            width,
            values: Vec::new(),
        }
    }

    /// Rows one after the other; what does not fill a row is left out.
    pub(crate) fn from_values(width: usize, mut values: Vec<f64>) -> Points {
        let whole = values.len() - values.len().checked_rem(width).unwrap_or(values.len());
        values.truncate(whole);
        Points { width, values }
    }

    /// How many values a row has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If the row is of another width.
    pub fn push(&mut self, row: &[f64]) {
        assert_eq!(row.len(), self.width, "a row of another width");
        self.values.extend_from_slice(row);
    }

    /// A row.
    pub fn row(&self, position: usize) -> &[f64] {
        &self.values[position * self.width..][..self.width]
    }

    /// The first so many rows; all of them if there are no more.
    pub(crate) fn prefix(&self, rows: usize) -> Points {
        let values = rows.saturating_mul(self.width).min(self.values.len());
        Points {
            width: self.width,
            values: self.values[..values].to_vec(),
        }
    }

    /// All rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.width.max(1))
    }
}
