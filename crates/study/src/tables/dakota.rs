//! The annotated tabular form of Dakota, so that a study can go on there, or have begun there.
//!
//! Law: a header `%eval_id interface NAME …`, then a row per evaluation, columns separated by blanks. Evaluations are
//! counted from 1 and the interface is `NO_ID`, which is what Dakota writes for an interface without a name.
//!
//! The form is that of the reference manual (keyword `annotated`, Dakota 6.1 and later); later versions write the
//! header without `%`, and both are read. Widths are those of Dakota: 8 for the evaluation, 9 for the interface, at
//! least 14 for a value. What Dakota has no form for is written so that its reader still finds the columns: floats in
//! as many digits as they need, truth values as 1 and 0, a missing cell as `nan`, blanks in names as `_`. A text
//! stands as it is; one that is empty or has blanks, quotes or backslashes stands in double quotes with backslashes
//! before quotes and backslashes, and `\n`, `\r` and `\t` for what would break the line. Dakota itself knows no such
//! texts; the reader here does.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;

use super::{Cells, Table, TableColumn, TableError};

/// Writes a table as Dakota's annotated tabular data.
pub fn write_dakota(table: &Table, mut out: impl Write) -> Result<(), TableError> {
    let mut line = b"%eval_id interface".to_vec();
    let mut seen = BTreeSet::new();
    for column in table.columns() {
        let name = column.name().replace(char::is_whitespace, "_");
        put(&mut line, &name);
        if !seen.insert(name) {
            return Err(TableError::Names(format!(
                "two columns would be called `{}` in a file of Dakota, which has `_` for blanks",
                column.name().replace(char::is_whitespace, "_")
            )));
        }
    }
    line.push(b'\n');
    out.write_all(&line)?;
    for row in 0..table.rows() {
        line.clear();
        write!(line, "{:<8} {:>9}", row + 1, "NO_ID")?;
        for column in table.columns() {
            if column.is_missing(row) {
                put(&mut line, "nan");
                continue;
            }
            match column.cells() {
                Cells::Int(cells) => put(&mut line, &cells[row].to_string()),
                Cells::Float(cells) => put(&mut line, &number(cells[row])),
                Cells::Bool(cells) => put(&mut line, if cells[row] { "1" } else { "0" }),
                Cells::Text(cells) => put(&mut line, &quoted(&cells[row])),
            }
        }
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}

/// A value after a blank, to the right of its column.
fn put(line: &mut Vec<u8>, text: &str) {
    line.push(b' ');
    let blanks = 14_usize.saturating_sub(text.chars().count());
    line.resize(line.len() + blanks, b' ');
    line.extend_from_slice(text.as_bytes());
}

fn number(number: f64) -> String {
    if number.is_nan() {
        "nan".to_owned()
    } else {
        format!("{number:?}")
    }
}

fn quoted(text: &str) -> Cow<'_, str> {
    let breaks = |sign: char| sign.is_whitespace() || matches!(sign, '"' | '\\');
    if !text.is_empty() && !text.contains(breaks) {
        return Cow::Borrowed(text);
    }
    let mut out = String::from("\"");
    for sign in text.chars() {
        match sign {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out.push('"');
    Cow::Owned(out)
}

/// Reads Dakota's annotated tabular data, with or without the column of interfaces. Evaluation and interface are left
/// out; a column has the type that all its texts have ([`TableColumn::from_texts`]), so that `nan` is a number.
pub fn read_dakota(text: &str) -> Result<Table, TableError> {
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let Some((_, header)) = lines.next() else {
        return Err(damaged(
            "this file is empty; it should begin with `%eval_id`",
        ));
    };
    let mut names = header.split_whitespace().peekable();
    if !matches!(names.next(), Some("%eval_id" | "eval_id")) {
        return Err(damaged(
            "line 1 is not the header of Dakota's annotated form: it should begin with `%eval_id`",
        ));
    }
    let skipped = if names
        .next_if(|name| matches!(*name, "interface" | "interface_id"))
        .is_some()
    {
        2
    } else {
        1
    };
    let names: Vec<&str> = names.collect();
    let mut columns: Vec<Vec<Cow<'_, str>>> = vec![Vec::new(); names.len()];
    for (position, line) in lines {
        let line_number = position + 1;
        let cells = split(line).map_err(|what| damaged(&format!("line {line_number}: {what}")))?;
        if cells.len() != names.len() + skipped {
            return Err(damaged(&format!(
                "line {line_number} has {} cells, and the header has {}",
                cells.len(),
                names.len() + skipped
            )));
        }
        for (column, cell) in columns.iter_mut().zip(cells.into_iter().skip(skipped)) {
            column.push(cell);
        }
    }
    let columns = names.iter().zip(&columns).map(|(name, cells)| {
        TableColumn::from_texts(*name, cells.iter().map(|cell| Some(&**cell)))
    });
    Table::new(columns.collect())
}

fn damaged(what: &str) -> TableError {
    TableError::Damaged {
        what: what.to_owned(),
    }
}

/// The cells of a line.
fn split(line: &str) -> Result<Vec<Cow<'_, str>>, &'static str> {
    let mut cells = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('"') {
            let mut text = String::new();
            let mut signs = inside.chars();
            loop {
                match signs.next() {
                    None => return Err("a quote is never closed"),
                    Some('"') => break,
                    Some('\\') => text.push(match signs.next() {
                        Some('n') => '\n',
                        Some('r') => '\r',
                        Some('t') => '\t',
                        Some(sign @ ('"' | '\\')) => sign,
                        _ => {
                            return Err("a backslash that is before none of n, r, t, \", \\");
                        }
                    }),
                    Some(sign) => text.push(sign),
                }
            }
            rest = signs.as_str();
            if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
                return Err("nothing may follow the closing quote of a cell");
            }
            cells.push(Cow::Owned(text));
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            cells.push(Cow::Borrowed(&rest[..end]));
            rest = &rest[end..];
        }
        rest = rest.trim_start();
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(table: &Table) -> String {
        let mut out = Vec::new();
        write_dakota(table, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn as_dakota_writes_it() {
        // The example of the reference manual, but for the blank at the end of its lines and with all digits.
        let table = Table::new(vec![
            TableColumn::new("x1", vec![0.9, 0.90009]),
            TableColumn::new("x2", vec![1.1, 1.1]),
            TableColumn::optional("obj_fn", [Some(0.0002), None]),
            TableColumn::new("nln_ineq_con_1", vec![0.26, 0.2601620081]),
        ])
        .unwrap();
        let expected = "\
%eval_id interface             x1             x2         obj_fn nln_ineq_con_1
1            NO_ID            0.9            1.1         0.0002           0.26
2            NO_ID        0.90009            1.1            nan   0.2601620081
";
        assert_eq!(text(&table), expected);
    }

    #[test]
    fn others_headers_are_read() {
        let rows = "1 NO_ID 0.5 4\n2 NO_ID 1 8 \n";
        let expected = Table::new(vec![
            TableColumn::new("x", vec![0.5, 1.0]),
            TableColumn::new("n", vec![4, 8]),
        ])
        .unwrap();
        for header in ["%eval_id interface x n \n", "eval_id interface\tx n\r\n"] {
            assert_eq!(read_dakota(&format!("{header}{rows}")).unwrap(), expected);
        }
        let plain = "%eval_id x n\n1 0.5 4\n\n2 1 8\n";
        assert_eq!(read_dakota(plain).unwrap(), expected);
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let cases = [
            ("", "this file is empty; it should begin with `%eval_id`"),
            (
                "x,y\n1,2\n",
                "line 1 is not the header of Dakota's annotated form: it should begin with `%eval_id`",
            ),
            (
                "%eval_id interface x\n1 NO_ID 2\n\n2 NO_ID\n",
                "line 4 has 2 cells, and the header has 3",
            ),
            (
                "%eval_id interface x\n1 NO_ID \"a b\n",
                "line 2: a quote is never closed",
            ),
            (
                "%eval_id interface x\n1 NO_ID \"a\"b\n",
                "line 2: nothing may follow the closing quote of a cell",
            ),
            ("%eval_id x x\n1 2 3\n", "two columns are called `x`"),
        ];
        for (text, message) in cases {
            assert_eq!(read_dakota(text).unwrap_err().to_string(), message);
        }
        let table = Table::new(vec![
            TableColumn::new("a b", vec![1]),
            TableColumn::new("a_b", vec![1]),
        ]);
        assert!(write_dakota(&table.unwrap(), Vec::new()).is_err());
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_back(
            rows in prop::collection::vec((any::<i64>(), any::<f64>(), "[a-z]\\PC{0,5}|.{0,3}x"), 1..20),
        ) {
            let columns = vec![
                TableColumn::new("n", rows.iter().map(|row| row.0).collect::<Vec<_>>()),
                TableColumn::new("x", rows.iter().map(|row| row.1 / 3.0).collect::<Vec<_>>()),
                TableColumn::new("t", rows.iter().map(|row| format!("{} {}", row.2, row.0)).collect::<Vec<_>>()),
                TableColumn::new("u", rows.iter().map(|row| format!("{}_", row.2)).collect::<Vec<_>>()),
            ];
            let table = Table::new(columns).unwrap();
            prop_assert_eq!(read_dakota(&text(&table)).unwrap(), table);
        }
    }
}
