//! Data files as CSV.
//!
//! Law: the first row names the inputs, every other row has one cell for each of them, and every cell knows
//! its line and column. (The crates for CSV tell where a row begins but not its cells, and take an unclosed
//! quote for the rest of the file; hence this reader.)

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::{Scalar, Span};

use crate::data::{DataFile, DataRow, DataShape, Datum, DatumValue};
use crate::name::NameRule;
use crate::report::Report;
use crate::source::Source;
use crate::tree::shorten;

/// A cell as it is written.
#[derive(Debug)]
struct Cell {
    text: String,
    span: Span,
}

/// Reads a CSV text.
pub(crate) fn read(source: &Source<'_>, report: &mut Report) -> DataFile {
    let mut reader = Reader {
        source,
        at: 0,
        unclosed: false,
        report,
    };
    let mut rows = reader.rows();
    if reader.unclosed {
        // The rest of the file went into one cell; its row has nothing more to say.
        rows.pop();
    }
    let nothing = rows.is_empty() && !reader.unclosed;
    let mut names = Vec::new();
    let mut data = Vec::new();
    if nothing {
        report.error_with(
            source.end(),
            "this file is empty",
            "its first line names the inputs",
        );
    } else if !rows.is_empty() {
        names = header(rows.remove(0), report);
        for row in rows {
            data.push(cells(row, names.len(), report));
        }
    }
    let shape = DataShape::Rows { names, rows: data };
    let parameters = Vec::new();
    DataFile { shape, parameters }
}

fn header(row: Vec<Cell>, report: &mut Report) -> Vec<(Arc<str>, Span)> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut names = Vec::new();
    for (position, Cell { text, span }) in row.into_iter().enumerate() {
        if text.is_empty() {
            let message = format!("column {} has no name", position + 1);
            report.error_with(span, message, "the first line names the inputs");
        } else if text.contains([';', '\t']) {
            let message = format!("`{}` is not the name of an input", shorten(&text));
            report.error_with(span, message, "cells are separated by commas");
        } else if let Some((message, hint)) = NameRule::Common.mistake(&text) {
            report.error_with(span, message, hint);
        } else if let Some(first) = seen.get(&text) {
            let message = format!(
                "columns {first} and {} are both called `{text}`",
                position + 1
            );
            report.error(span, message);
        }
        seen.entry(text.clone()).or_insert(position + 1);
        names.push((text.into(), span));
    }
    names
}

fn cells(row: Vec<Cell>, wanted: usize, report: &mut Report) -> DataRow {
    let count = row.len();
    if count != wanted
        && let Some(span) = if count > wanted {
            row.get(wanted)
        } else {
            row.last()
        }
        .map(|cell| cell.span)
    {
        let word = |count: usize| if count == 1 { "cell" } else { "cells" };
        let message = format!(
            "this row has {count} {}, and the first line has {wanted}",
            word(count)
        );
        let hint = if count > wanted {
            "a cell that holds a comma needs quotes: \"a,b\""
        } else {
            "leave cells empty, but keep the commas"
        };
        report.error_with(span, message, hint);
    }
    let span = match (row.first(), row.last()) {
        (Some(first), Some(last)) => Source::join(first.span, last.span),
        _ => Span::default(),
    };
    let data = row.into_iter().map(|Cell { text, span }| {
        (!text.is_empty()).then(|| Datum::new(DatumValue::Scalar(Scalar::Text(text.into())), span))
    });
    let cells = data.collect();
    DataRow { cells, span }
}

struct Reader<'a, 'r> {
    source: &'a Source<'a>,
    at: usize,
    unclosed: bool,
    report: &'r mut Report,
}

impl Reader<'_, '_> {
    fn rest(&self) -> &str {
        &self.source.text()[self.at..]
    }

    /// All rows; blank lines are none.
    fn rows(&mut self) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        if self.rest().starts_with('\u{feff}') {
            self.at += '\u{feff}'.len_utf8();
        }
        while !self.rest().is_empty() {
            let (_, line) = self.source.line_at(self.at);
            let blank = line.trim_matches([' ', '\t', '\u{feff}']).is_empty();
            let row = self.row();
            if !blank {
                rows.push(row);
            }
        }
        rows
    }

    fn row(&mut self) -> Vec<Cell> {
        let mut row = Vec::new();
        loop {
            row.push(self.cell());
            if self.rest().starts_with(',') {
                self.at += 1;
                continue;
            }
            if self.rest().starts_with("\r\n") {
                self.at += 2;
            } else if !self.rest().is_empty() {
                self.at += 1;
            }
            return row;
        }
    }

    fn cell(&mut self) -> Cell {
        let blanks = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        if self.rest()[blanks..].starts_with('"') {
            self.at += blanks;
            return self.quoted();
        }
        let length = self
            .rest()
            .find([',', '\n', '\r'])
            .unwrap_or(self.rest().len());
        let text = self.rest()[..length].trim_matches([' ', '\t']).to_owned();
        let start = self.at + blanks.min(length);
        let span = self.source.bytes(start, start + text.len());
        self.at += length;
        Cell { text, span }
    }

    fn quoted(&mut self) -> Cell {
        let start = self.at;
        let mut text = String::new();
        self.at += 1;
        loop {
            let Some(length) = self.rest().find('"') else {
                let span = self.source.bytes(start, start + 1);
                self.report
                    .error_with(span, "this quote is never closed", "add the missing quote");
                text.push_str(self.rest());
                self.at = self.source.text().len();
                self.unclosed = true;
                break;
            };
            text.push_str(&self.rest()[..length]);
            self.at += length + 1;
            if !self.rest().starts_with('"') {
                break;
            }
            text.push('"');
            self.at += 1;
        }
        let span = self.source.bytes(start, self.at);
        let length = self
            .rest()
            .find([',', '\n', '\r'])
            .unwrap_or(self.rest().len());
        if !self.rest()[..length].trim_matches([' ', '\t']).is_empty() {
            let after = self.source.bytes(self.at, self.at + length);
            let hint = "write two quotes for one inside a cell: \"say \"\"hello\"\"\"";
            self.report.error_with(
                after,
                "nothing may follow the closing quote of a cell",
                hint,
            );
        }
        self.at += length;
        Cell { text, span }
    }
}
