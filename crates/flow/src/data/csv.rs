//! CSV: data files, and tables of anything.
//!
//! Law: the first row names the columns, every other row has one cell for each of them, and every cell knows
//! its line and column. (The crates for CSV tell where a row begins but not its cells, and take an unclosed
//! quote for the rest of the file; hence this reader.)
//!
//! Cells are places in the text until somebody asks for them: a table of a million rows costs 24 bytes a cell,
//! and positions are worked out only where there is a mistake to show.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use headwater_graph::{Scalar, Span};

use crate::data::{DataFile, DataRow, DataShape, Datum, DatumValue};
use crate::excerpt::shorten;
use crate::name::NameRule;
use crate::report::{Read, Report};
use crate::source::Source;

/// A cell as it is written.
#[derive(Debug)]
struct Cell {
    text: String,
    span: Span,
}

/// How a cell is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Without quotes.
    Plain,
    /// In quotes.
    Quoted,
    /// In quotes, with doubled quotes inside.
    Doubled,
}

/// Where the text of a cell stands, without blanks around it and without its quotes.
#[derive(Debug, Clone, Copy)]
struct CellText {
    start: usize,
    end: usize,
    style: Style,
}

impl CellText {
    fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = &text[self.start..self.end];
        match self.style {
            Style::Plain | Style::Quoted => Cow::Borrowed(text),
            Style::Doubled => Cow::Owned(text.replace("\"\"", "\"")),
        }
    }

    /// With the quotes.
    fn span(&self, source: &Source<'_>) -> Span {
        match self.style {
            Style::Plain => source.bytes(self.start, self.end),
            Style::Quoted | Style::Doubled => source.bytes(self.start - 1, self.end + 1),
        }
    }

    /// With text and span.
    fn cell(&self, source: &Source<'_>) -> Cell {
        Cell {
            text: self.text(source.text()).into_owned(),
            span: self.span(source),
        }
    }
}

/// Reads a CSV text.
pub(crate) fn read(source: &Source<'_>, report: &mut Report) -> DataFile {
    let mut reader = Reader::new(source.text());
    let mut names = None;
    let mut data = Vec::new();
    let mut row = Vec::new();
    while reader.next(&mut row) {
        let row = row.iter().map(|place| place.cell(source)).collect();
        match &names {
            None => names = Some(header(row, Some(NameRule::Common), report)),
            Some(names) => data.push(cells(row, names.len(), report)),
        }
    }
    reader.finish(
        names.is_none(),
        source,
        "its first line names the inputs",
        report,
    );
    let names = names.unwrap_or_default();
    let shape = DataShape::Rows { names, rows: data };
    let parameters = Vec::new();
    DataFile { shape, parameters }
}

/// A table as somebody wrote it: named columns of texts, each of which knows where it stands.
#[derive(Debug)]
pub struct TextTable<'a> {
    text: &'a str,
    /// Made when the first position is asked for.
    source: OnceLock<Source<'a>>,
    names: Vec<(Arc<str>, Span)>,
    /// Row after row.
    cells: Vec<CellText>,
}

impl<'a> TextTable<'a> {
    /// The columns: their names, and where those stand.
    pub fn names(&self) -> &[(Arc<str>, Span)] {
        &self.names
    }

    /// How many rows there are, without the names.
    pub fn rows(&self) -> usize {
        self.cells.len().checked_div(self.names.len()).unwrap_or(0)
    }

    fn place(&self, row: usize, column: usize) -> &CellText {
        assert!(column < self.names.len(), "a column that is not there");
        &self.cells[row * self.names.len() + column]
    }

    /// The text of a cell; `None` where nothing is written. (`""` is an empty text.)
    ///
    /// # Panics
    ///
    /// If there is no such row or column.
    pub fn cell(&self, row: usize, column: usize) -> Option<Cow<'a, str>> {
        let place = self.place(row, column);
        let is_missing = place.style == Style::Plain && place.start == place.end;
        (!is_missing).then(|| place.text(self.text))
    }

    /// The cells of a column, from the first row to the last.
    pub fn column(&self, column: usize) -> impl Iterator<Item = Option<Cow<'a, str>>> + Clone {
        (0..self.rows()).map(move |row| self.cell(row, column))
    }

    /// Where a cell stands.
    ///
    /// # Panics
    ///
    /// If there is no such row or column.
    pub fn span(&self, row: usize, column: usize) -> Span {
        let source = self.source.get_or_init(|| Source::new(self.text));
        self.place(row, column).span(source)
    }
}

/// Reads a CSV text as a table whose columns may be called anything, but not alike.
pub fn read_table(text: &str) -> Read<TextTable<'_>> {
    let source = OnceLock::new();
    let made = || source.get_or_init(|| Source::new(text));
    let mut report = Report::default();
    let mut reader = Reader::new(text);
    let mut row = Vec::new();
    let mut places = Vec::new();
    let mut names = Vec::new();
    if reader.next(&mut row) {
        // The names alone do not need the positions of the whole text.
        let end = reader.at;
        let first = Source::new(&text[..end]);
        let first = row.iter().map(|place| place.cell(&first)).collect();
        names = header(first, None, &mut report);
        while reader.next(&mut row) {
            if row.len() == names.len() {
                places.extend_from_slice(&row);
            } else {
                let row = row.iter().map(|place| place.cell(made())).collect();
                cells(row, names.len(), &mut report);
            }
        }
    }
    if names.is_empty() || !reader.mistakes.is_empty() {
        let hint = "its first line names the columns";
        reader.finish(names.is_empty(), made(), hint, &mut report);
    }
    report.finish(Some(TextTable {
        text,
        source,
        names,
        cells: places,
    }))
}

/// The names in the first row: of inputs, which keep to a rule, or of columns, which do not.
fn header(row: Vec<Cell>, rule: Option<NameRule>, report: &mut Report) -> Vec<(Arc<str>, Span)> {
    let (one, hint) = match rule {
        Some(_) => ("an input", "the first line names the inputs"),
        None => ("a column", "the first line names the columns"),
    };
    // A column may be called anything, but a single one with a semicolon is more likely several.
    let suspect = rule.is_some() || row.len() == 1;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut names = Vec::new();
    for (position, Cell { text, span }) in row.into_iter().enumerate() {
        if text.is_empty() {
            let message = format!("column {} has no name", position + 1);
            report.error_with(span, message, hint);
        } else if suspect && text.contains([';', '\t']) {
            let message = format!("`{}` is not the name of {one}", shorten(&text));
            report.error_with(span, message, "cells are separated by commas");
        } else if let Some((message, hint)) = rule.and_then(|rule| rule.mistake(&text)) {
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

/// A mistake at some bytes.
#[derive(Debug)]
struct Mistake {
    start: usize,
    end: usize,
    message: &'static str,
    hint: &'static str,
}

/// Walks over the rows of a text.
#[derive(Debug)]
struct Reader<'a> {
    text: &'a str,
    at: usize,
    unclosed: bool,
    mistakes: Vec<Mistake>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Reader<'a> {
        Reader {
            text,
            at: text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len(),
            unclosed: false,
            mistakes: Vec::new(),
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// How many bytes there are before the end of the cell or line.
    fn length(&self) -> usize {
        let rest = self.rest().as_bytes();
        let ends = |byte: &u8| matches!(byte, b',' | b'\n' | b'\r');
        rest.iter().position(ends).unwrap_or(rest.len())
    }

    /// Gives the next row; blank lines are none.
    fn next(&mut self, row: &mut Vec<CellText>) -> bool {
        while !self.rest().is_empty() {
            self.row(row);
            if self.unclosed {
                // The rest of the file went into one cell; its row has nothing more to say.
                return false;
            }
            let blank = |place: &CellText| {
                let text = &self.text[place.start..place.end];
                place.style == Style::Plain && text.trim_matches([' ', '\t', '\u{feff}']).is_empty()
            };
            if row.len() > 1 || !row.iter().all(blank) {
                return true;
            }
        }
        false
    }

    fn row(&mut self, row: &mut Vec<CellText>) {
        row.clear();
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
            return;
        }
    }

    fn cell(&mut self) -> CellText {
        let blanks = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        if self.rest()[blanks..].starts_with('"') {
            self.at += blanks;
            return self.quoted();
        }
        let length = self.length();
        let text = self.rest()[..length].trim_matches([' ', '\t']);
        let start = self.at + blanks.min(length);
        self.at += length;
        CellText {
            start,
            end: start + text.len(),
            style: Style::Plain,
        }
    }

    fn quoted(&mut self) -> CellText {
        let start = self.at + 1;
        let mut style = Style::Quoted;
        self.at = start;
        let end = loop {
            let Some(length) = self.rest().find('"') else {
                let (start, end) = (start - 1, start);
                self.mistake(
                    start,
                    end,
                    "this quote is never closed",
                    "add the missing quote",
                );
                self.at = self.text.len();
                self.unclosed = true;
                break self.at;
            };
            self.at += length + 1;
            if !self.rest().starts_with('"') {
                break self.at - 1;
            }
            style = Style::Doubled;
            self.at += 1;
        };
        let length = self.length();
        if !self.rest()[..length].trim_matches([' ', '\t']).is_empty() {
            let message = "nothing may follow the closing quote of a cell";
            let hint = "write two quotes for one inside a cell: \"say \"\"hello\"\"\"";
            self.mistake(self.at, self.at + length, message, hint);
        }
        self.at += length;
        CellText { start, end, style }
    }

    fn mistake(&mut self, start: usize, end: usize, message: &'static str, hint: &'static str) {
        self.mistakes.push(Mistake {
            start,
            end,
            message,
            hint,
        });
    }

    /// Tells the mistakes, and where there is nothing but blank lines, that.
    fn finish(self, is_empty: bool, source: &Source<'_>, hint: &str, report: &mut Report) {
        for found in &self.mistakes {
            let span = source.bytes(found.start, found.end);
            report.error_with(span, found.message, found.hint);
        }
        if is_empty && !self.unclosed {
            report.error_with(source.end(), "this file is empty", hint);
        }
    }
}
