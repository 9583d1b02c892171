//! Tables as CSV (RFC 4180), for people and every other program.
//!
//! Law: a header line, then a line for each row, each ended by `\n`. A float is written in the fewest digits that
//! read back as the same bits, and always looks like one (`1.0`, `2.5e-7`); whole numbers have no point; truth values
//! are `true` and `false`. A missing cell is empty and an empty text is `""`. In a table of a single column a missing
//! cell is `""` as well, since an empty line is no row to most readers.
//!
//! A text stands in quotes where it must: with a comma, a quote, a line break, or blanks at its ends, which some
//! readers take away. Reading is not done here: `headwater_flow::read_table` knows the line and column of each cell.

use std::borrow::Cow;
use std::io::{self, Write};

use super::{Cells, Table, TableColumn};

/// Writes a table as CSV.
pub fn write_csv(table: &Table, mut out: impl Write) -> io::Result<()> {
    let columns = table.columns();
    if columns.is_empty() {
        return Ok(());
    }
    let single = columns.len() == 1;
    let mut line = Vec::new();
    for (position, column) in columns.iter().enumerate() {
        if position > 0 {
            line.push(b',');
        }
        line.extend_from_slice(quoted(column.name()).as_bytes());
    }
    line.push(b'\n');
    out.write_all(&line)?;
    for row in 0..table.rows() {
        line.clear();
        for (position, column) in columns.iter().enumerate() {
            if position > 0 {
                line.push(b',');
            }
            if !column.is_missing(row) {
                cell(column, row, &mut line)?;
            } else if single {
                line.extend_from_slice(b"\"\"");
            }
        }
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}

fn cell(column: &TableColumn, row: usize, line: &mut Vec<u8>) -> io::Result<()> {
    match column.cells() {
        Cells::Int(cells) => write!(line, "{}", cells[row]),
        Cells::Float(cells) => write!(line, "{:?}", cells[row]),
        Cells::Bool(cells) => write!(line, "{}", cells[row]),
        Cells::Text(cells) => line.write_all(quoted(&cells[row]).as_bytes()),
    }
}

/// A text as it stands in a cell.
fn quoted(text: &str) -> Cow<'_, str> {
    let plain = !text.is_empty()
        && !text.contains([',', '"', '\n', '\r'])
        && !text.starts_with([' ', '\t', '\u{feff}'])
        && !text.ends_with([' ', '\t']);
    if plain {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(columns: Vec<TableColumn>) -> String {
        let mut out = Vec::new();
        write_csv(&Table::new(columns).unwrap(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_kind_of_cell() {
        let texts = ["plain", "", "a,b", "say \"hi\"", "two\nlines", " blank"];
        let columns = vec![
            TableColumn::new("n", vec![1, -2, 0, i64::MAX, i64::MIN, 5]),
            TableColumn::optional(
                "x",
                [
                    Some(1.0),
                    Some(0.1),
                    None,
                    Some(1e300),
                    Some(-0.0),
                    Some(2.5e-7),
                ],
            ),
            TableColumn::new("is, it", vec![true, false, true, true, false, false]),
            TableColumn::new("t", texts.map(str::to_owned).to_vec()),
        ];
        let expected = "n,x,\"is, it\",t\n\
                        1,1.0,true,plain\n\
                        -2,0.1,false,\"\"\n\
                        0,,true,\"a,b\"\n\
                        9223372036854775807,1e300,true,\"say \"\"hi\"\"\"\n\
                        -9223372036854775808,-0.0,false,\"two\nlines\"\n\
                        5,2.5e-7,false,\" blank\"\n";
        assert_eq!(text(columns), expected);
    }

    #[test]
    fn no_row_is_an_empty_line() {
        let columns = vec![TableColumn::optional("y", [Some(0.5), None])];
        assert_eq!(text(columns), "y\n0.5\n\"\"\n");
        let columns = vec![
            TableColumn::optional::<f64>("y", [None]),
            TableColumn::optional::<i64>("z", [None]),
        ];
        assert_eq!(text(columns), "y,z\n,\n");
        assert_eq!(text(Vec::new()), "");
        assert_eq!(text(vec![TableColumn::new("a", Vec::<f64>::new())]), "a\n");
    }
}
