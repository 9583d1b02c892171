//! Tables as CSV: what is read, where it stands, and what is said of mistakes.

use headwater_flow::{TextTable, read_data, read_table};
use headwater_graph::Diagnostic;
use proptest::prelude::*;

fn rows(table: &TextTable<'_>) -> Vec<Vec<Option<String>>> {
    let cell = |row, column| table.cell(row, column).map(std::borrow::Cow::into_owned);
    (0..table.rows())
        .map(|row| {
            (0..table.names().len())
                .map(|column| cell(row, column))
                .collect()
        })
        .collect()
}

#[track_caller]
fn read(text: &str) -> TextTable<'_> {
    let read = read_table(text);
    assert_eq!(read.diagnostics, []);
    read.value.expect("there are no mistakes")
}

#[test]
fn cells_are_texts_that_know_their_place() {
    let text =
        "\u{feff}a,\"b, c\", d \r\n1,,\"\"\n\n  x y ,\"say \"\"hi\"\"\",\"two\nlines\"\n3,4,5";
    let table = read(text);
    let names: Vec<&str> = table.names().iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["a", "b, c", "d"]);
    let some = |text: &str| Some(text.to_owned());
    let expected = [
        vec![some("1"), None, some("")],
        vec![some("x y"), some("say \"hi\""), some("two\nlines")],
        vec![some("3"), some("4"), some("5")],
    ];
    assert_eq!(rows(&table), expected);
    let column: Vec<_> = table.column(0).flatten().collect();
    assert_eq!(column, ["1", "x y", "3"]);
    let place = |row, column| {
        let span = table.span(row, column);
        (span.line, span.column, &text[span.start..span.end])
    };
    assert_eq!(place(0, 0), (2, 1, "1"));
    assert_eq!(place(0, 1), (2, 3, ""));
    assert_eq!(place(1, 0), (4, 3, "x y"));
    assert_eq!(place(1, 1), (4, 8, "\"say \"\"hi\"\"\""));
    assert_eq!(place(2, 2), (6, 5, "5"));
}

#[test]
fn a_table_may_have_no_rows() {
    let table = read("x,y\n");
    assert_eq!((table.names().len(), table.rows()), (2, 0));
}

#[test]
fn mistakes_have_lines_and_columns() {
    let cases = [
        ("", "1:1 this file is empty"),
        ("\n \n", "3:1 this file is empty"),
        ("x,\n1,2\n", "1:3 column 2 has no name"),
        ("x,x\n1,2\n", "1:3 columns 1 and 2 are both called `x`"),
        ("x;y\n1;2\n", "1:1 `x;y` is not the name of a column"),
        (
            "x,y\n1,2\n3\n",
            "3:1 this row has 1 cell, and the first line has 2",
        ),
        (
            "x,y\n1,2\n3,4,5\n",
            "3:5 this row has 3 cells, and the first line has 2",
        ),
        ("x,y\n1,\"2\n", "2:3 this quote is never closed"),
        ("\"x", "1:1 this quote is never closed"),
        (
            "x,y\n\"1\"2,3\n",
            "2:4 nothing may follow the closing quote of a cell",
        ),
    ];
    for (text, expected) in cases {
        let read = read_table(text);
        assert!(read.value.is_none(), "{text:?}");
        let told = |found: &Diagnostic| {
            let span = found.span.expect("every mistake has its place");
            format!("{}:{} {}", span.line, span.column, found.message)
        };
        let told: Vec<String> = read.diagnostics.iter().map(told).collect();
        assert_eq!(told, [expected], "{text:?}");
    }
}

proptest! {
    #[test]
    fn tables_and_data_files_agree(text in "[ab1,\" \t\r\n\u{feff}é]{0,40}") {
        use headwater_flow::{DataFormat, DataShape};
        let table = read_table(&text);
        let data = read_data(&text, DataFormat::Csv);
        // Names of inputs keep to rules that those of columns do not.
        if let Some(data) = data.value {
            let table = table.value.expect("what is a data file is a table");
            let DataShape::Rows { names, rows } = data.shape else {
                panic!("a CSV file has rows");
            };
            prop_assert_eq!(&names, table.names());
            prop_assert_eq!(rows.len(), table.rows());
            for (position, row) in rows.iter().enumerate() {
                for (column, cell) in row.cells.iter().enumerate() {
                    let found = table.cell(position, column).filter(|text| !text.is_empty());
                    let expected = cell.as_ref().and_then(|datum| datum.text());
                    prop_assert_eq!(found.as_deref(), expected.as_deref());
                    if let Some(datum) = cell {
                        prop_assert_eq!(table.span(position, column), datum.span);
                    }
                }
            }
        }
    }
}
