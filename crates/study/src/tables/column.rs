//! One column of a table.
//!
//! Law: all cells of a column have one type. A missing cell has a place but no value: what stands there in [`Cells`]
//! is zero, false or empty, so that columns that say the same are equal. Whether any are missing is not part of the
//! type: a column of options in which none is missing equals a column of values.

use std::sync::Arc;

/// The cells of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Whole numbers.
    Int(Vec<i64>),
    /// Numbers.
    Float(Vec<f64>),
    /// Truth values.
    Bool(Vec<bool>),
    /// Texts.
    Text(Vec<String>),
}

impl Cells {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Cells::Int(cells) => cells.len(),
            Cells::Float(cells) => cells.len(),
            Cells::Bool(cells) => cells.len(),
            Cells::Text(cells) => cells.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a cell may be: `i64`, `f64`, `bool` or `String`.
pub trait CellType: Default + Sized {
    /// A column of such cells.
    fn cells(cells: Vec<Self>) -> Cells;
}

macro_rules! cell_type {
    ($type:ty, $variant:ident) => {
        impl CellType for $type {
            fn cells(cells: Vec<$type>) -> Cells {
                Cells::$variant(cells)
            }
        }

        impl From<Vec<$type>> for Cells {
            fn from(cells: Vec<$type>) -> Cells {
                Cells::$variant(cells)
            }
        }
    };
}

cell_type!(i64, Int);
cell_type!(f64, Float);
cell_type!(bool, Bool);
cell_type!(String, Text);

/// A named column.
#[derive(Debug, Clone, PartialEq)]
pub struct TableColumn {
    name: Arc<str>,
    cells: Cells,
    /// One per cell; empty where no cell is missing.
    missing: Vec<bool>,
}

impl TableColumn {
    /// A column without missing cells.
    pub fn new(name: impl Into<Arc<str>>, cells: impl Into<Cells>) -> TableColumn {
        TableColumn {
            name: name.into(),
            cells: cells.into(),
            missing: Vec::new(),
        }
    }

    /// A column in which each `None` is a missing cell.
    pub fn optional<T: CellType>(
        name: impl Into<Arc<str>>,
        cells: impl IntoIterator<Item = Option<T>>,
    ) -> TableColumn {
        let mut missing = Vec::new();
        let cells: Vec<T> = cells
            .into_iter()
            .map(|cell| {
                missing.push(cell.is_none());
                cell.unwrap_or_default()
            })
            .collect();
        if !missing.contains(&true) {
            missing = Vec::new();
        }
        TableColumn {
            name: name.into(),
            cells: T::cells(cells),
            missing,
        }
    }

    /// A column with one answer per cell to whether it is missing; such cells are zero, false or empty.
    pub(super) fn with_missing(name: &str, cells: Cells, missing: Vec<bool>) -> TableColumn {
        let any = missing.contains(&true);
        TableColumn {
            name: name.into(),
            cells,
            missing: if any { missing } else { Vec::new() },
        }
    }

    /// A column of texts that came from a file of texts: of whole numbers if all texts are, else of numbers, else of
    /// truth values (`true`, `True`, `TRUE` and their like), else of texts. Where all are missing they are numbers.
    pub fn from_texts<I, S>(name: impl Into<Arc<str>>, texts: I) -> TableColumn
    where
        I: IntoIterator<Item = Option<S>>,
        I::IntoIter: Clone,
        S: AsRef<str>,
    {
        fn all<S: AsRef<str>, T>(
            texts: impl Iterator<Item = Option<S>>,
            read: impl Fn(&str) -> Option<T>,
        ) -> Option<Vec<Option<T>>> {
            texts
                .map(|text| match text {
                    None => Some(None),
                    Some(text) => read(text.as_ref()).map(Some),
                })
                .collect()
        }
        let texts = texts.into_iter();
        if texts.clone().any(|text| text.is_some())
            && let Some(cells) = all(texts.clone(), |text| text.parse::<i64>().ok())
        {
            return TableColumn::optional(name, cells);
        }
        if let Some(cells) = all(texts.clone(), |text| text.parse::<f64>().ok()) {
            return TableColumn::optional(name, cells);
        }
        let truth = |text: &str| match text {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        };
        if let Some(cells) = all(texts.clone(), truth) {
            return TableColumn::optional(name, cells);
        }
        let owned = |text: S| text.as_ref().to_owned();
        TableColumn::optional(name, texts.map(|text| text.map(owned)))
    }

    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Its cells; see [`TableColumn::is_missing`] for which of them count.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// How many cells it has.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Whether any cell is missing.
    pub fn has_missing(&self) -> bool {
        !self.missing.is_empty()
    }

    /// Whether the cell of this row is missing.
    pub fn is_missing(&self, row: usize) -> bool {
        self.missing.get(row).is_some_and(|missing| *missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_cell_is_no_value() {
        let column = TableColumn::optional("y", [Some(1.5), None, Some(0.0)]);
        assert_eq!(column.cells(), &Cells::Float(vec![1.5, 0.0, 0.0]));
        let missing: Vec<bool> = (0..4).map(|row| column.is_missing(row)).collect();
        assert_eq!(missing, [false, true, false, false]);
        assert_ne!(column, TableColumn::new("y", vec![1.5, 0.0, 0.0]));
        assert_eq!(
            TableColumn::optional("y", [Some(2), Some(3)]),
            TableColumn::new("y", vec![2, 3])
        );
    }

    #[test]
    fn texts_become_the_narrowest_type_that_holds_all_of_them() {
        let read = |texts: &[&str]| {
            let texts: Vec<Option<&str>> = texts
                .iter()
                .map(|text| Some(*text).filter(|text| !text.is_empty()))
                .collect();
            TableColumn::from_texts("x", texts)
        };
        let cases = [
            (read(&["1", "-2"]), TableColumn::new("x", vec![1, -2])),
            (
                read(&["1", "", "2.5"]),
                TableColumn::optional("x", [Some(1.0), None, Some(2.5)]),
            ),
            (
                read(&["true", "False"]),
                TableColumn::new("x", vec![true, false]),
            ),
            (
                read(&["1", "true"]),
                TableColumn::new("x", vec!["1".to_owned(), "true".to_owned()]),
            ),
            (
                read(&["9223372036854775808", "1e3"]),
                TableColumn::new("x", vec![9_223_372_036_854_775_808.0, 1000.0]),
            ),
            (
                read(&["", ""]),
                TableColumn::optional::<f64>("x", [None, None]),
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }
}
