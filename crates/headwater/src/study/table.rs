//! Samples that the user brings: a table with a column per parameter and a row per parameter set.
//!
//! Law: a cell that is no value of its parameter is told with its place.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_flow::StudiedParameter;
use headwater_graph::{Diagnostic, Scalar, ScalarType};
use headwater_remember::tables::{self, Cells, Table, TableColumn};

use super::instances::Varied;
use crate::Error;

/// A table, and where it came from.
#[derive(Debug)]
pub(super) struct SampleTable {
    file: PathBuf,
    /// Its text, of a CSV file.
    text: Option<String>,
    table: Table,
}

impl SampleTable {
    /// Reads a CSV, Parquet or Dakota file, by its extension; CSV if it has another one.
    pub(super) fn read(path: &Path) -> Result<SampleTable, Error> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let extension = extension.map(str::to_ascii_lowercase);
        let damaged = |error: tables::TableError| {
            let hint = error.hint().map(str::to_owned);
            Error::usage(format!("{}: {error}", path.display()), hint)
        };
        let (text, table) = match extension.as_deref() {
            Some("parquet") => {
                let bytes =
                    std::fs::read(path).map_err(|source| Error::io("cannot read", path, source))?;
                (None, tables::read_parquet(bytes).map_err(damaged)?)
            }
            Some("dat") => {
                let text = crate::load::read_text(path)?;
                (None, tables::read_dakota(&text).map_err(damaged)?)
            }
            _ => {
                let text = crate::load::read_text(path)?;
                let table = read_csv(path, &text)?;
                (Some(text), table)
            }
        };
        let empty = table.rows() == 0;
        let table = SampleTable {
            file: path.to_owned(),
            text,
            table,
        };
        match empty {
            true => Err(Error::usage(
                format!("`{}` has no samples", path.display()),
                Some("a line of parameter names, then a line per parameter set".to_owned()),
            )),
            false => Ok(table),
        }
    }

    /// The names of its columns.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        let columns = self.table.columns().iter();
        columns.map(|column| Arc::clone(column.name())).collect()
    }

    /// How many sets it has.
    pub(super) fn rows(&self) -> usize {
        self.table.rows()
    }

    /// The value of a parameter in the first set.
    pub(super) fn first(&self, studied: &StudiedParameter) -> Option<Scalar> {
        let column = self.table.column(&studied.name)?;
        value(studied, column, 0)
    }

    /// The parameter sets.
    pub(super) fn sets(&self, studied: &[StudiedParameter]) -> Result<Varied, Error> {
        let (width, sets) = (studied.len(), self.table.rows());
        let mut varied = Varied {
            names: studied
                .iter()
                .map(|studied| Arc::clone(&studied.name))
                .collect(),
            values: vec![Vec::new(); width],
            cells: vec![0; width * sets],
            sets,
        };
        let mut wrong = Vec::new();
        for (place, studied) in studied.iter().enumerate() {
            let Some(column) = self.table.column(&studied.name) else {
                continue;
            };
            let mut numbers: HashMap<String, u32> = HashMap::new();
            let values = &mut varied.values[place];
            for set in 0..sets {
                let Some(value) = value(studied, column, set) else {
                    wrong.push((set, studied));
                    continue;
                };
                // Texts tell values of one parameter apart: numbers are written with all their digits.
                let number = numbers.entry(value.to_string()).or_insert_with(|| {
                    values.push(value);
                    values.len() as u32 - 1
                });
                varied.cells[set * width + place] = *number;
            }
        }
        match wrong.is_empty() {
            true => Ok(varied),
            false => Err(self.mistakes(&wrong)),
        }
    }

    fn mistakes(&self, wrong: &[(usize, &StudiedParameter)]) -> Error {
        let message = |studied: &StudiedParameter| {
            format!(
                "parameter `{}` takes a value of type {}",
                studied.name, studied.scalar_type
            )
        };
        if let Some(text) = &self.text
            && let Some(table) = headwater_flow::read_table(text).value
        {
            let place = |(set, studied): &(usize, &StudiedParameter)| {
                let column = table
                    .names()
                    .iter()
                    .position(|(name, _)| *name == studied.name);
                let span = table.span(*set, column.unwrap_or(0));
                Diagnostic::error(span, message(studied))
            };
            return Error::File {
                file: self.file.clone(),
                text: text.clone(),
                diagnostics: wrong.iter().take(20).map(place).collect(),
            };
        }
        let (set, studied) = wrong[0];
        let message = format!(
            "{}, row {}: {}",
            self.file.display(),
            set + 1,
            message(studied)
        );
        Error::usage(message, None)
    }
}

fn read_csv(path: &Path, text: &str) -> Result<Table, Error> {
    let mistakes = |diagnostics| Error::File {
        file: path.to_owned(),
        text: text.to_owned(),
        diagnostics,
    };
    let read = headwater_flow::read_table(text);
    let Some(found) = read.value else {
        return Err(mistakes(read.diagnostics));
    };
    let names = found.names().iter().enumerate();
    let columns = names
        .map(|(place, (name, _))| TableColumn::from_texts(Arc::clone(name), found.column(place)));
    Table::new(columns.collect())
        .map_err(|error| Error::usage(format!("{}: {error}", path.display()), None))
}

/// A cell as a value of a parameter. A number that is not whole stays one where a whole one is wanted: operations cut
/// it themselves.
fn value(studied: &StudiedParameter, column: &TableColumn, row: usize) -> Option<Scalar> {
    if column.is_missing(row) {
        return None;
    }
    let wanted = studied.scalar_type;
    let scalar = match column.cells() {
        Cells::Int(cells) => Scalar::Int(*cells.get(row)?),
        Cells::Float(cells) => Scalar::Float(*cells.get(row)?),
        Cells::Bool(cells) => Scalar::Bool(*cells.get(row)?),
        // One cell that is no number makes texts of a whole column; the others are what they were.
        Cells::Text(cells) => {
            let text = cells.get(row)?;
            let number = || Scalar::parse(text, ScalarType::Float);
            let same = Scalar::parse(text, wanted);
            same.or_else(|| number().filter(|_| wanted == ScalarType::Int))?
        }
    };
    if wanted == ScalarType::Text {
        return Some(Scalar::Text(scalar.to_string().into()));
    }
    match scalar.coerce(wanted, false) {
        Some(scalar) => Some(scalar),
        None => match scalar {
            Scalar::Float(number) if wanted == ScalarType::Int && number.is_finite() => {
                Some(Scalar::Float(number))
            }
            _ => None,
        },
    }
}
