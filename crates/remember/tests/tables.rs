//! Tables go into files and come back.

use headwater_flow::read_table;
use headwater_remember::tables::{Table, TableColumn, write_csv};
use proptest::prelude::*;

fn csv(table: &Table) -> String {
    let mut out = Vec::new();
    write_csv(table, &mut out).unwrap();
    String::from_utf8(out).unwrap()
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
