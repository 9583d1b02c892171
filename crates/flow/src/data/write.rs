//! Data files, written.
//!
//! Law: reading what was written gives the same file, but for the places: the data set of a run can be saved
//! and run again. What no file can say is named by its type and digest, and does not come back.

use headwater_graph::{Scalar, value_digest};

use crate::data::{DataFile, DataShape, DataValue, Datum, DatumValue};
use crate::scalar;

/// Writes a data file as YAML.
///
/// Rows are kept as rows, an input without a value in a row as `null`. Without any row YAML has no place for
/// the names, so each input is written as one without items.
pub fn write_data(file: &DataFile) -> String {
    let mut out = String::from("headwater: 1\n");
    match &file.shape {
        DataShape::Columns(columns) if columns.is_empty() => out.push_str("inputs: {}\n"),
        DataShape::Columns(columns) => {
            out.push_str("inputs:\n");
            for column in columns {
                out.push_str("  ");
                scalar::write_text(&column.name, &mut out);
                match &column.value {
                    DataValue::Single(datum) => {
                        out.push_str(": ");
                        write_datum(datum, &mut out);
                        out.push('\n');
                    }
                    DataValue::List(items) if items.is_empty() => out.push_str(": []\n"),
                    DataValue::List(items) => {
                        out.push_str(":\n");
                        for item in items {
                            out.push_str("    - ");
                            write_datum(item, &mut out);
                            out.push('\n');
                        }
                    }
                }
            }
        }
        DataShape::Rows { names, rows } if names.is_empty() || rows.is_empty() => {
            out.push_str(if names.is_empty() {
                "inputs: {}\n"
            } else {
                "inputs:\n"
            });
            for (name, _) in names {
                out.push_str("  ");
                scalar::write_text(name, &mut out);
                out.push_str(": []\n");
            }
        }
        DataShape::Rows { names, rows } => {
            out.push_str("rows:\n");
            for row in rows {
                out.push_str("  - {");
                for (position, (name, _)) in names.iter().enumerate() {
                    if position > 0 {
                        out.push_str(", ");
                    }
                    scalar::write_text(name, &mut out);
                    out.push_str(": ");
                    match row.cells.get(position).and_then(Option::as_ref) {
                        Some(datum) => write_datum(datum, &mut out),
                        None => out.push_str("null"),
                    }
                }
                out.push_str("}\n");
            }
        }
    }
    if !file.parameters.is_empty() {
        out.push_str("parameters:\n");
        for setting in &file.parameters {
            out.push_str("  ");
            scalar::write_text(&setting.name, &mut out);
            out.push_str(": ");
            scalar::write(&setting.value, &mut out);
            out.push('\n');
        }
    }
    out
}

/// A single value as it stands in a file.
pub fn write_scalar(value: &Scalar) -> String {
    let mut out = String::new();
    scalar::write(value, &mut out);
    out
}

fn write_datum(datum: &Datum, out: &mut String) {
    match &datum.value {
        DatumValue::Null => out.push_str("null"),
        DatumValue::Scalar(value) => scalar::write(value, out),
        DatumValue::List(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push_str(", ");
                }
                write_datum(item, out);
            }
            out.push(']');
        }
        DatumValue::Record(parts) => {
            out.push('{');
            for (position, (name, part)) in parts.iter().enumerate() {
                if position > 0 {
                    out.push_str(", ");
                }
                scalar::write_text(name, out);
                out.push_str(": ");
                write_datum(part, out);
            }
            out.push('}');
        }
        // It is named, for people; nobody reads it back.
        DatumValue::Given(value) => {
            let (kind, digest) = (value.value_type(), value_digest(value).hex());
            scalar::write_text(&format!("{kind}, {} bytes, {digest}", value.size()), out);
        }
    }
}
