//! Samples that the user brings: a table with a column per parameter and a row per parameter set.
//!
//! Law: a cell that is no value of its parameter is told with its place; what is in columns that nobody asks for does
//! not matter.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_engine::Error;
use headwater_flow::{MOST_SET_VALUES, MOST_SETS, StudiedParameter};
use headwater_graph::{Diagnostic, Scalar, ScalarKey, ScalarType, Severity};

use crate::instances::Varied;
use crate::tables::{self, Cells, Table, TableColumn};

/// A table, and where it came from.
#[derive(Debug)]
pub(crate) struct SampleTable {
    file: PathBuf,
    names: Vec<Arc<str>>,
    rows: usize,
    contents: Contents,
}

/// What is in a file: texts with places, or cells with types.
#[derive(Debug)]
enum Contents {
    Csv(String),
    Typed(Table),
}

/// So many mistakes are shown; the others are counted.
const SHOWN: usize = 20;

/// A cell that is no value of its parameter.
struct Wrong<'a> {
    set: usize,
    studied: &'a StudiedParameter,
    why: String,
}

impl SampleTable {
    /// Reads a CSV, Parquet or Dakota file, by its extension; CSV if it has another one. Where the study names its
    /// parameters, other columns are left alone.
    pub(crate) fn read(path: &Path, named: Option<&[Arc<str>]>) -> Result<SampleTable, Error> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let damaged = |error: tables::TableError| {
            let hint = error.hint().map(str::to_owned);
            Error::usage(format!("{}: {error}", path.display()), hint)
        };
        let contents = match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("parquet") => {
                let bytes = headwater_engine::given::read(path)?;
                let asked =
                    |name: &str| named.is_none_or(|named| named.iter().any(|n| **n == *name));
                Contents::Typed(tables::read_parquet_columns(bytes, asked).map_err(damaged)?)
            }
            Some("dat") => {
                let text = headwater_engine::given::read_text(path)?;
                Contents::Typed(tables::read_dakota(&text).map_err(damaged)?)
            }
            _ => Contents::Csv(headwater_engine::given::read_text(path)?),
        };
        let (names, rows) = match &contents {
            Contents::Typed(table) => {
                let columns = table.columns().iter();
                let names = columns.map(|column| Arc::clone(column.name()));
                (names.collect(), table.rows())
            }
            Contents::Csv(text) => {
                let read = headwater_flow::read_table(text);
                let Some(found) = read.value else {
                    return Err(Error::File {
                        file: path.to_owned(),
                        text: text.clone(),
                        diagnostics: read.diagnostics,
                    });
                };
                let names = found.names().iter().map(|(name, _)| Arc::clone(name));
                (names.collect(), found.rows())
            }
        };
        if rows == 0 {
            return Err(Error::usage(
                format!("`{}` has no samples", path.display()),
                Some("a line of parameter names, then a line per parameter set".to_owned()),
            ));
        }
        Ok(SampleTable {
            file: path.to_owned(),
            names,
            rows,
            contents,
        })
    }

    /// The names of its columns.
    pub(crate) fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// The parameter sets. Every studied parameter has a column.
    pub(crate) fn sets(&self, studied: &[StudiedParameter]) -> Result<Varied, Error> {
        let values = (self.rows as u64).saturating_mul(studied.len() as u64);
        if self.rows as u64 > MOST_SETS || values > MOST_SET_VALUES {
            return Err(Error::usage(
                format!(
                    "`{}` has {} sets, which hold {values} values; a study has at most {MOST_SETS} sets and \
                     {MOST_SET_VALUES} values",
                    self.file.display(),
                    self.rows
                ),
                Some("divide the table, and run a study of each part".to_owned()),
            ));
        }
        let mut varied = Varied {
            names: studied
                .iter()
                .map(|studied| Arc::clone(&studied.name))
                .collect(),
            values: vec![Vec::new(); studied.len()],
            cells: vec![0; studied.len() * self.rows],
            sets: self.rows,
        };
        let mut wrong = Vec::new();
        for (place, studied) in studied.iter().enumerate() {
            match &self.contents {
                Contents::Csv(text) => {
                    let table = headwater_flow::read_table(text).value;
                    let column = self.names.iter().position(|name| *name == studied.name);
                    let cells = table.iter().zip(column);
                    let cells = cells.flat_map(|(table, column)| table.column(column));
                    let read = |cell: Option<Cow<'_, str>>| {
                        cell.map_or(Cell::Missing, |cell| text_cell(studied, &cell))
                    };
                    fill(&mut varied, place, studied, cells.map(read), &mut wrong);
                }
                Contents::Typed(table) => {
                    let column = table.column(&studied.name).into_iter();
                    let cells = column.flat_map(|column| {
                        (0..self.rows).map(|row| typed_cell(studied, column, row))
                    });
                    fill(&mut varied, place, studied, cells, &mut wrong);
                }
            }
        }
        if wrong.is_empty() {
            Ok(varied)
        } else {
            Err(self.mistakes(&wrong))
        }
    }

    fn mistakes(&self, wrong: &[Wrong<'_>]) -> Error {
        let hint = |wrong: &Wrong<'_>| match wrong.studied.values.list() {
            Some(_) => format!("its values are {}", wrong.studied.values),
            None => format!(
                "give a value of type {}, or leave the row out",
                wrong.studied.values.scalar_type()
            ),
        };
        let more = wrong.len().saturating_sub(SHOWN);
        let Contents::Csv(text) = &self.contents else {
            let first = &wrong[0];
            let others = match wrong.len() - 1 {
                0 => String::new(),
                others => format!(", and {others} more cells like that"),
            };
            let message = format!(
                "{}, row {}: `{}` {}{others}",
                self.file.display(),
                first.set + 1,
                first.studied.name,
                first.why
            );
            return Error::usage(message, Some(hint(first)));
        };
        let table = headwater_flow::read_table(text).value;
        let place = |wrong: &Wrong<'_>| {
            let message = format!("`{}` {}", wrong.studied.name, wrong.why);
            let column = self
                .names
                .iter()
                .position(|name| *name == wrong.studied.name);
            let span = table
                .as_ref()
                .zip(column)
                .map(|(table, column)| table.span(wrong.set, column));
            Diagnostic {
                severity: Severity::Error,
                span,
                message,
                hint: Some(hint(wrong)),
            }
        };
        let mut diagnostics: Vec<Diagnostic> = wrong.iter().take(SHOWN).map(place).collect();
        diagnostics.extend((more > 0).then(|| Diagnostic {
            severity: Severity::Error,
            span: None,
            message: format!("and {more} more cells like that"),
            hint: None,
        }));
        Error::File {
            file: self.file.clone(),
            text: text.clone(),
            diagnostics,
        }
    }
}

/// What a cell is.
enum Cell {
    Value(Scalar),
    Missing,
    /// It is no value of its parameter; what it is.
    Wrong(String),
}

/// Takes in the cells of a column.
fn fill<'a>(
    varied: &mut Varied,
    place: usize,
    studied: &'a StudiedParameter,
    cells: impl Iterator<Item = Cell>,
    wrong: &mut Vec<Wrong<'a>>,
) {
    let width = varied.names.len();
    let mut numbers: HashMap<ScalarKey, u32> = HashMap::new();
    for (set, cell) in cells.enumerate() {
        let why = match cell {
            Cell::Missing => "has no value here".to_owned(),
            Cell::Wrong(found) => format!("cannot be `{found}`"),
            Cell::Value(value) => {
                let key = value.key();
                if numbers.contains_key(&key) || studied.values.may_be(&value) {
                    let values = &mut varied.values[place];
                    let number = numbers.entry(key).or_insert_with(|| {
                        values.push(value);
                        values.len() as u32 - 1
                    });
                    varied.cells[set * width + place] = *number;
                    continue;
                }
                format!("cannot be `{value}`")
            }
        };
        wrong.push(Wrong { set, studied, why });
    }
}

/// A value of the type of a parameter. A number that is not whole stays one where a whole one is wanted: operations
/// cut it themselves.
fn as_wanted(wanted: ScalarType, scalar: &Scalar) -> Option<Scalar> {
    scalar.coerce(wanted, false).or(match scalar {
        Scalar::Float(number) if wanted == ScalarType::Int && number.is_finite() => {
            Some(Scalar::Float(*number))
        }
        _ => None,
    })
}

fn text_cell(studied: &StudiedParameter, text: &str) -> Cell {
    let wanted = studied.values.scalar_type();
    let number = || text.parse().ok().map(Scalar::Float);
    let scalar = match wanted {
        ScalarType::Text => Some(Scalar::Text(text.into())),
        ScalarType::Bool => match text.to_lowercase().as_str() {
            "true" | "1" => Some(Scalar::Bool(true)),
            "false" | "0" => Some(Scalar::Bool(false)),
            _ => None,
        },
        ScalarType::Int => text.parse().ok().map(Scalar::Int).or_else(number),
        ScalarType::Float => number(),
    };
    let value = scalar.and_then(|scalar| as_wanted(wanted, &scalar));
    value.map_or_else(|| Cell::Wrong(text.to_owned()), Cell::Value)
}

fn typed_cell(studied: &StudiedParameter, column: &TableColumn, row: usize) -> Cell {
    if column.is_missing(row) {
        return Cell::Missing;
    }
    let scalar = match column.cells() {
        Cells::Int(cells) => cells.get(row).copied().map(Scalar::Int),
        Cells::Float(cells) => cells.get(row).copied().map(Scalar::Float),
        Cells::Bool(cells) => cells.get(row).copied().map(Scalar::Bool),
        Cells::Text(cells) => cells
            .get(row)
            .map(|text| Scalar::Text(text.as_str().into())),
    };
    let Some(scalar) = scalar else {
        return Cell::Missing;
    };
    let value = match (studied.values.scalar_type(), &scalar) {
        (ScalarType::Text, Scalar::Text(_)) => Some(scalar.clone()),
        (ScalarType::Text, _) => Some(Scalar::Text(scalar.to_string().into())),
        // Dakota has numbers for truth values.
        (ScalarType::Bool, Scalar::Int(number @ 0..=1)) => Some(Scalar::Bool(*number == 1)),
        (wanted, _) => as_wanted(wanted, &scalar),
    };
    value.map_or_else(|| Cell::Wrong(scalar.to_string()), Cell::Value)
}
