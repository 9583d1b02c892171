//! Tables of numbers and texts: samples, results, whatever people take to another program or bring from one.
//!
//! **What comes in:** columns of cells ([`TableColumn`]) or a file of somebody else's.
//! **What goes out:** a [`Table`], or its bytes as CSV, Parquet or in the tabular form of Dakota.
//!
//! Law: the columns of a table are equally long and have different names. Equal tables become equal bytes, on every
//! machine; a number comes back from a file with the bits it had. A file that is no table is an error, never a panic.
//!
//! | file | noun |
//! | --- | --- |
//! | `column` | [`TableColumn`], [`Cells`]: cells of one type, some of them missing |
//! | `csv` | writing CSV; it is read by `headwater_flow`, which knows lines and columns |
//! | `dakota` | Dakota's annotated tabular form, both ways |
//! | `parquet` | Parquet, both ways |

use std::collections::BTreeSet;
use std::io;

use headwater_graph::Fault;

mod column;
mod csv;
mod dakota;
mod parquet;

pub use column::{CellType, Cells, TableColumn};
pub use csv::write_csv;
pub use dakota::{read_dakota, write_dakota};
pub use parquet::{read_parquet, read_parquet_columns, write_parquet};

/// What keeps columns from being a table, or a table from being read or written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Reading or writing failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// Two columns with one name, or one without.
    #[error("{0}")]
    Names(String),
    /// Columns of different lengths.
    #[error("column `{name}` has {found} cells, where the columns before it have {wanted}")]
    Lengths {
        /// The first column that differs.
        name: String,
        /// Its length.
        found: usize,
        /// That of the others.
        wanted: usize,
    },
    /// A file that is not what it should be.
    #[error("{what}")]
    Damaged {
        /// What is wrong, and where.
        what: String,
    },
    /// A file that is right but has something that cannot be a table.
    #[error("{what}")]
    Unsupported {
        /// What.
        what: String,
        /// What would do instead.
        hint: &'static str,
    },
}

impl TableError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            TableError::Io { .. } => Fault::Environment,
            TableError::Names(_)
            | TableError::Lengths { .. }
            | TableError::Damaged { .. }
            | TableError::Unsupported { .. } => Fault::User,
        }
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            TableError::Names(_) => Some("give every column a name of its own"),
            TableError::Unsupported { hint, .. } => Some(hint),
            TableError::Damaged { .. } => Some("write the file anew with the program that made it"),
            TableError::Io { .. } | TableError::Lengths { .. } => None,
        }
    }
}

impl From<io::Error> for TableError {
    fn from(source: io::Error) -> TableError {
        TableError::Io {
            what: "cannot write a table".to_owned(),
            source,
        }
    }
}

/// Named columns of equal length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    columns: Vec<TableColumn>,
}

impl Table {
    /// A table of these columns.
    pub fn new(columns: Vec<TableColumn>) -> Result<Table, TableError> {
        let mut seen = BTreeSet::new();
        let rows = columns.first().map_or(0, TableColumn::len);
        for (position, column) in columns.iter().enumerate() {
            let name = column.name();
            if name.is_empty() {
                let message = format!("column {} has no name", position + 1);
                return Err(TableError::Names(message));
            }
            if !seen.insert(name) {
                let message = format!("two columns are called `{name}`");
                return Err(TableError::Names(message));
            }
            if column.len() != rows {
                return Err(TableError::Lengths {
                    name: name.to_string(),
                    found: column.len(),
                    wanted: rows,
                });
            }
        }
        Ok(Table { columns })
    }

    /// All columns, in their order.
    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&TableColumn> {
        self.columns.iter().find(|column| &**column.name() == name)
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, TableColumn::len)
    }
}

/// A table that could not be written: for want of room, or because it cannot be written like that.
pub(crate) fn unwritten(path: &std::path::Path, error: TableError) -> headwater_engine::Error {
    match error {
        TableError::Io { source, .. } => headwater_engine::Error::io("cannot write", path, source),
        other => headwater_engine::Error::usage(other.to_string(), other.hint().map(str::to_owned)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_names_of_their_own_and_one_length() {
        let column = |name: &str, cells: Vec<i64>| TableColumn::new(name, cells);
        let table = Table::new(vec![column("a", vec![1, 2]), column("b", vec![3, 4])]).unwrap();
        assert_eq!(table.rows(), 2);
        assert_eq!(table.column("b"), Some(&column("b", vec![3, 4])));
        assert_eq!(table.column("c"), None);
        let mistakes = [
            (
                vec![column("a", vec![1]), column("a", vec![2])],
                "two columns are called `a`",
            ),
            (
                vec![column("a", vec![1]), column("", vec![2])],
                "column 2 has no name",
            ),
            (
                vec![column("a", vec![1]), column("b", vec![2, 3])],
                "column `b` has 2 cells, where the columns before it have 1",
            ),
        ];
        for (columns, message) in mistakes {
            assert_eq!(Table::new(columns).unwrap_err().to_string(), message);
        }
        assert_eq!(Table::new(Vec::new()).unwrap().rows(), 0);
    }
}
