//! Tables go into files and come back.

use headwater_flow::read_table;
use headwater_study::tables::{
    Table, TableColumn, read_parquet, read_parquet_columns, write_csv, write_parquet,
};
use proptest::prelude::*;

fn csv(table: &Table) -> String {
    let mut out = Vec::new();
    write_csv(table, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn parquet(table: &Table) -> Vec<u8> {
    let mut out = Vec::new();
    write_parquet(table, &mut out).unwrap();
    out
}

/// What the facade does with a CSV file that somebody brings.
fn from_csv(text: &str) -> Table {
    let read = read_table(text);
    assert_eq!(read.diagnostics, []);
    let texts = read.value.expect("there are no mistakes");
    let columns = texts
        .names()
        .iter()
        .enumerate()
        .map(|(position, (name, _))| TableColumn::from_texts(&**name, texts.column(position)));
    Table::new(columns.collect()).unwrap()
}

/// Bits count: two NaN are alike, 0 and −0 are not.
fn same(left: &Table, right: &Table) -> bool {
    format!("{left:?}") == format!("{right:?}")
}

fn texts() -> impl Strategy<Value = String> {
    // Begins like no number and no truth value, and has everything that needs quotes.
    "([_é,\" \n\r\t]\\PC{0,4}|_)[,\" \n\r\tx]?"
}

fn tables() -> impl Strategy<Value = Table> {
    let row = (
        prop::option::of(any::<i64>()),
        prop::option::of(prop::num::f64::ANY),
        prop::option::of(any::<bool>()),
        prop::option::of(texts()),
        any::<f64>(),
    );
    (prop::collection::vec(row, 0..30), texts()).prop_map(|(rows, name)| {
        let columns = vec![
            TableColumn::optional("n", rows.iter().map(|row| row.0)),
            TableColumn::optional("x", rows.iter().map(|row| row.1.map(canonical))),
            TableColumn::optional("is", rows.iter().map(|row| row.2)),
            TableColumn::optional(format!("_{name}"), rows.iter().map(|row| row.3.clone())),
            TableColumn::new("y", rows.iter().map(|row| row.4).collect::<Vec<_>>()),
        ];
        Table::new(columns).unwrap()
    })
}

/// The one NaN that a text can mean.
fn canonical(number: f64) -> f64 {
    if number.is_nan() { f64::NAN } else { number }
}

proptest! {
    #[test]
    fn csv_comes_back(table in tables()) {
        let text = csv(&table);
        prop_assert_eq!(&text, &csv(&table.clone()));
        let back = from_csv(&text);
        prop_assert_eq!(csv(&back), text);
        prop_assert_eq!(back.rows(), table.rows());
        for (found, expected) in back.columns().iter().zip(table.columns()) {
            prop_assert_eq!(found.name(), expected.name());
            // Of a column without any value the type is not known.
            if (0..expected.len()).any(|row| !expected.is_missing(row)) {
                let (found, expected) = (vec![found.clone()], vec![expected.clone()]);
                prop_assert!(same(&Table::new(found).unwrap(), &Table::new(expected).unwrap()));
            }
        }
    }
}

/// Bits of floats, texts of the rest.
fn bits(table: &Table) -> Vec<String> {
    use headwater_study::tables::Cells;
    let bits = |column: &TableColumn| match column.cells() {
        Cells::Float(cells) => format!(
            "{:x?}",
            cells.iter().map(|cell| cell.to_bits()).collect::<Vec<_>>()
        ),
        other => format!("{other:?}"),
    };
    let missing = |column: &TableColumn| {
        (0..column.len())
            .map(|row| column.is_missing(row))
            .collect::<Vec<_>>()
    };
    let column =
        |column: &TableColumn| format!("{} {} {:?}", column.name(), bits(column), missing(column));
    table.columns().iter().map(column).collect()
}

proptest! {
    #[test]
    fn parquet_comes_back(table in tables()) {
        let bytes = parquet(&table);
        prop_assert_eq!(&bytes, &parquet(&table.clone()));
        prop_assert_eq!(bits(&read_parquet(bytes).unwrap()), bits(&table));
    }
}

#[test]
fn long_tables_have_several_groups() {
    let rows = 1_000_003;
    let table = Table::new(vec![
        TableColumn::new("n", (0..rows).map(|row| row % 1000).collect::<Vec<i64>>()),
        TableColumn::optional(
            "x",
            (0..rows).map(|row| (row % 7 > 0).then_some(row as f64)),
        ),
    ])
    .unwrap();
    let bytes = parquet(&table);
    assert!(
        read_parquet(bytes).unwrap() == table,
        "the table has changed"
    );
}

#[test]
fn a_table_may_be_empty() {
    let none = Table::new(Vec::new()).unwrap();
    assert_eq!(read_parquet(parquet(&none)).unwrap(), none);
    let no_rows = Table::new(vec![TableColumn::new("x", Vec::<f64>::new())]).unwrap();
    assert_eq!(read_parquet(parquet(&no_rows)).unwrap(), no_rows);
}

/// A file that pyarrow 26 made: three rows to a group, dictionaries except in `v2`, all with missing cells.
fn others(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet");
    std::fs::read(path.join(format!("{name}.parquet"))).unwrap()
}

fn others_table() -> Table {
    let text = |text: &str| Some(text.to_owned());
    let floats = [0.5, f64::from(0.1_f32), 2.0, 3.0, 4.0, 5.0, 6.0];
    let texts = [
        text("red"),
        text("green"),
        None,
        text("red"),
        text(""),
        text("é,\"x\""),
        text("red"),
    ];
    let codes =
        ["a", "b", "a", "a", "", "b", "a"].map(|code| text(code).filter(|code| !code.is_empty()));
    let numbers = [Some(1), Some(-2), Some(3), None, Some(5), Some(6), Some(7)];
    let reals = [
        Some(0.5),
        Some(1.5),
        None,
        Some(f64::INFINITY),
        Some(-0.0),
        Some(2.5),
        Some(3.5),
    ];
    let truths = [
        Some(true),
        Some(false),
        None,
        Some(true),
        Some(true),
        Some(false),
        Some(true),
    ];
    Table::new(vec![
        TableColumn::optional("n", numbers),
        TableColumn::optional("x", reals),
        TableColumn::new("f", floats.to_vec()),
        TableColumn::new("i", vec![1, 2, 3, 4, 5, 6, 7]),
        TableColumn::new("u", vec![1, 2, 3, 4, 5, 6, i64::from(u32::MAX)]),
        TableColumn::optional("is", truths),
        TableColumn::optional("t", texts),
        TableColumn::optional("d", codes),
    ])
    .unwrap()
}

#[test]
fn what_others_write_is_read() {
    for name in ["snappy", "zstd", "gzip", "v2"] {
        let table = read_parquet(others(name)).unwrap();
        assert_eq!(bits(&table), bits(&others_table()), "{name}");
    }
    let some = read_parquet_columns(others("snappy"), |name| name == "i" || name == "t").unwrap();
    let names: Vec<&str> = some
        .columns()
        .iter()
        .map(|column| &**column.name())
        .collect();
    assert_eq!(names, ["i", "t"]);
}

#[test]
fn what_cannot_be_read_is_named() {
    let error = read_parquet(others("lz4")).unwrap_err();
    assert_eq!(error.to_string(), "column `n` is compressed by LZ4_RAW");
    assert!(error.hint().is_some_and(|hint| hint.contains("snappy")));
    let error = read_parquet(b"x,y\n1,2\n".to_vec()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("this is not a whole Parquet file: "),
        "{error}"
    );
}

#[test]
fn every_truncation_is_an_error() {
    for bytes in [others("snappy"), others("v2"), parquet(&others_table())] {
        for length in 0..bytes.len() {
            let cut = bytes[..length].to_vec();
            assert!(read_parquet(cut).is_err(), "{length} bytes are a table");
        }
    }
}

#[test]
fn no_flipped_bit_is_a_panic() {
    let mut refused = 0;
    for original in [others("snappy"), parquet(&others_table())] {
        for byte in 0..original.len() {
            for bit in [0, 3, 7] {
                let mut bytes = original.clone();
                bytes[byte] ^= 1 << bit;
                // A changed value is a table as good as any; what counts is that there is an answer.
                refused += usize::from(read_parquet(bytes).is_err());
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}
