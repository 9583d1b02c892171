//! Data files: what is read, and that what is written reads back.

use std::sync::Arc;

use headwater_flow::{
    DataColumn, DataFile, DataFormat, DataRow, DataShape, DataValue, Datum, DatumValue,
    ParameterSetting, SettingError, fit_parameter, read_data, read_scalar_setting, write_data,
};
use headwater_graph::{Parameter, Scalar, ScalarType, Span};
use proptest::prelude::*;

#[track_caller]
fn read(text: &str, format: DataFormat) -> DataFile {
    let read = read_data(text, format);
    assert_eq!(read.diagnostics, []);
    read.value.expect("there are no mistakes")
}

/// The same file with all places forgotten.
fn bare(file: DataFile) -> DataFile {
    let bare_datum = |datum: Datum| forget(datum);
    let shape = match file.shape {
        DataShape::Columns(columns) => {
            let columns = columns.into_iter().map(|column| DataColumn {
                span: Span::default(),
                value: match column.value {
                    DataValue::Single(datum) => DataValue::Single(forget(datum)),
                    DataValue::List(items) => {
                        DataValue::List(items.into_iter().map(forget).collect())
                    }
                },
                ..column
            });
            DataShape::Columns(columns.collect())
        }
        DataShape::Rows { names, rows } => {
            let rows = rows.into_iter().map(|row| DataRow {
                cells: row
                    .cells
                    .into_iter()
                    .map(|cell| cell.map(bare_datum))
                    .collect(),
                span: Span::default(),
            });
            DataShape::Rows {
                names: names
                    .into_iter()
                    .map(|(name, _)| (name, Span::default()))
                    .collect(),
                rows: rows.collect(),
            }
        }
    };
    let parameters = file.parameters.into_iter().map(|setting| ParameterSetting {
        span: Span::default(),
        name_span: Span::default(),
        ..setting
    });
    DataFile {
        shape,
        parameters: parameters.collect(),
    }
}

fn forget(datum: Datum) -> Datum {
    let value = match datum.value {
        DatumValue::List(items) => DatumValue::List(items.into_iter().map(forget).collect()),
        DatumValue::Record(parts) => DatumValue::Record(
            parts
                .into_iter()
                .map(|(name, part)| (name, forget(part)))
                .collect(),
        ),
        other => other,
    };
    Datum::new(value, Span::default())
}

fn datum(value: DatumValue) -> Datum {
    Datum::new(value, Span::default())
}

fn text(text: &str) -> Datum {
    datum(DatumValue::Scalar(Scalar::Text(text.into())))
}

fn scalar(value: Scalar) -> Datum {
    datum(DatumValue::Scalar(value))
}

#[test]
fn columns() {
    let file = bare(read(
        include_str!("../fixtures/columns.yaml"),
        DataFormat::Yaml,
    ));
    let column = |name: &str, value| DataColumn {
        name: name.into(),
        span: Span::default(),
        value,
    };
    let list = |items| datum(DatumValue::List(items));
    let record = |parts: Vec<(&str, Datum)>| {
        datum(DatumValue::Record(
            parts
                .into_iter()
                .map(|(name, part)| (name.into(), part))
                .collect(),
        ))
    };
    let numbers = list(vec![scalar(Scalar::Int(1)), scalar(Scalar::Int(2))]);
    assert_eq!(
        file.shape,
        DataShape::Columns(vec![
            column("tile", DataValue::Single(text("tiles/*.png"))),
            column("reference", DataValue::Single(datum(DatumValue::Null))),
            column(
                "pairs",
                DataValue::List(vec![
                    list(vec![text("a.png"), text("b.png")]),
                    list(vec![text("c.png")])
                ])
            ),
            column(
                "gains",
                DataValue::List(vec![
                    scalar(Scalar::Int(1)),
                    scalar(Scalar::Float(2.5)),
                    scalar(Scalar::Float(-300.0)),
                    scalar(Scalar::Bool(true)),
                    text("5"),
                    datum(DatumValue::Null),
                ])
            ),
            column(
                "settings",
                DataValue::Single(record(vec![
                    ("name", text("x")),
                    ("deep", record(vec![("list", numbers)]))
                ]))
            ),
            column("text", DataValue::Single(text("two\nlines\n"))),
        ])
    );
    let settings: Vec<_> = file
        .parameters
        .iter()
        .map(|setting| (&*setting.name, setting.value.clone()))
        .collect();
    assert_eq!(
        settings,
        [
            ("B", Scalar::Int(230)),
            ("T1", Scalar::Float(5.5)),
            ("Mode", Scalar::Text("fast".into())),
            ("Deep", Scalar::Bool(true)),
        ]
    );
}

fn show_rows(file: &DataFile) -> Vec<String> {
    let DataShape::Rows { names, rows } = &file.shape else {
        panic!("expected rows");
    };
    let names: Vec<&str> = names.iter().map(|(name, _)| &**name).collect();
    let mut shown = vec![names.join("|")];
    for row in rows {
        let cells = row
            .cells
            .iter()
            .map(|cell| match cell.as_ref().map(|cell| &cell.value) {
                None => "-".to_owned(),
                Some(DatumValue::Scalar(value)) => value.to_string(),
                Some(other) => format!("{other:?}"),
            });
        shown.push(cells.collect::<Vec<_>>().join("|"));
    }
    shown
}

#[test]
fn rows() {
    let file = read(include_str!("../fixtures/rows.yaml"), DataFormat::Yaml);
    assert_eq!(
        show_rows(&file),
        [
            "subject|scan|age",
            "s1|s1/t1.nii|41",
            "s1|s1/t2.nii|-",
            "s2|s2/ä.nii|-"
        ]
    );
}

#[test]
fn csv() {
    let file = read(include_str!("../fixtures/rows.csv"), DataFormat::Csv);
    assert_eq!(
        show_rows(&file),
        [
            "subject|scan|note",
            "s1|s1/t1.nii|a, \"b\"",
            "s2|s2/t1.nii|-",
            "s3\nx|ü|y"
        ]
    );
    let DataShape::Rows { names, rows } = &file.shape else {
        panic!("expected rows");
    };
    assert_eq!((names[1].1.line, names[1].1.column), (1, 9));
    let cell = rows[2].cells[1].as_ref().expect("the cell is not empty");
    assert_eq!((cell.span.line, cell.span.column), (6, 4));
}

#[test]
fn csv_without_a_last_line_end_and_with_a_byte_order_mark() {
    let file = read("\u{feff}a,b\n1,2", DataFormat::Csv);
    assert_eq!(show_rows(&file), ["a|b", "1|2"]);
    let file = read("a\n", DataFormat::Csv);
    assert_eq!(show_rows(&file), ["a"]);
}

#[test]
fn files_of_parameters_only() {
    let file = read("parameters: {B: 1}", DataFormat::Yaml);
    assert_eq!(file.shape, DataShape::Columns(Vec::new()));
    assert_eq!(file.parameters.len(), 1);
}

#[test]
fn settings() {
    let parameter = |name: &str, scalar_type, values: &[Scalar]| Parameter {
        name: name.into(),
        scalar_type,
        default: None,
        range: None,
        step: None,
        values: values.to_vec(),
    };
    let parameters = [
        parameter("B", ScalarType::Int, &[]),
        parameter("T1", ScalarType::Float, &[]),
        parameter("Conn", ScalarType::Int, &[Scalar::Int(4), Scalar::Int(8)]),
        parameter("Label", ScalarType::Text, &[]),
    ];
    let check = |setting: &str, expected: Result<Scalar, &str>| {
        let found = read_scalar_setting(setting, &parameters);
        let found = found
            .map(|(_, value)| value)
            .map_err(|error: SettingError| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{setting}");
    };
    check("B=230", Ok(Scalar::Int(230)));
    check("T1=5", Ok(Scalar::Float(5.0)));
    check("Label=a=b", Ok(Scalar::Text("a=b".into())));
    check("Label=", Ok(Scalar::Text("".into())));
    check("Conn=8", Ok(Scalar::Int(8)));
    check("B", Err("`B` is not of the form NAME=VALUE"));
    check("B=1.5", Err("parameter `B` is an int, and `1.5` is not"));
    check("T1=inf", Err("parameter `T1` is a float, and `inf` is not"));
    check(
        "Con=4",
        Err("there is no workflow parameter `Con`; did you mean `Conn`?"),
    );
    check(
        "Conn=5",
        Err("`5` is not among the values of parameter `Conn`; its values are `4` and `8`"),
    );
    assert_eq!(
        fit_parameter("T1", &Scalar::Int(3), &parameters),
        Ok(Scalar::Float(3.0))
    );
    assert!(fit_parameter("B", &Scalar::Text("3".into()), &parameters).is_err());
}

#[test]
fn numbers_keep_the_way_they_are_written() {
    let file = read(
        "inputs: {x: [007, 1.10, 1e3, .5, +3, true, \"08\", a]}",
        DataFormat::Yaml,
    );
    let DataShape::Columns(columns) = &file.shape else {
        panic!("expected columns");
    };
    let DataValue::List(items) = &columns[0].value else {
        panic!("expected a list");
    };
    let texts: Vec<_> = items.iter().filter_map(Datum::text).collect();
    assert_eq!(
        texts,
        ["007", "1.10", "1e3", ".5", "+3", "true", "08", "a"].map(Arc::from)
    );
    assert_eq!(items[0].value, DatumValue::Scalar(Scalar::Int(7)));
    let again = texts.iter().map(|item| text(item)).collect();
    let file = DataFile {
        shape: DataShape::Columns(vec![DataColumn {
            name: "x".into(),
            span: Span::default(),
            value: DataValue::List(again),
        }]),
        parameters: Vec::new(),
    };
    assert_eq!(bare(read(&write_data(&file), DataFormat::Yaml)), file);
}

#[test]
fn rows_know_where_they_stand() {
    let check = |text: &str, format, expected: [(usize, usize); 2]| {
        let file = read(text, format);
        let DataShape::Rows { rows, .. } = &file.shape else {
            panic!("expected rows");
        };
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.span.line, row.span.column))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(rows[1].cells[1], None);
    };
    let yaml = "rows:\n  - {a: 1, b: 2}\n  - {a: 1}\n";
    check(yaml, DataFormat::Yaml, [(2, 5), (3, 5)]);
    check("a,b\n1,2\n\n3,\n", DataFormat::Csv, [(2, 1), (4, 1)]);
}

fn any_name() -> impl Strategy<Value = Arc<str>> {
    "[a-zA-Z_0-9][a-zA-Z_0-9.ü-]{0,6}".prop_map(Arc::from)
}

fn any_scalar() -> impl Strategy<Value = Scalar> {
    prop_oneof![
        any::<bool>().prop_map(Scalar::Bool),
        any::<i64>().prop_map(Scalar::Int),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Scalar::Float),
        any::<String>().prop_map(|text| Scalar::Text(text.into())),
        "[ -~\n\t#:,'\"{}\\[\\]*&!|>%@`-]{0,12}".prop_map(|text| Scalar::Text(text.into())),
        prop::sample::select(vec![
            "null", "~", "true", "5", "0x1f", ".inf", "---", "...", "yes", "1e3", "<<", "="
        ])
        .prop_map(|text| Scalar::Text(text.into())),
    ]
}

fn any_datum() -> impl Strategy<Value = Datum> {
    let leaf = prop_oneof![Just(datum(DatumValue::Null)), any_scalar().prop_map(scalar)];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let parts = prop::collection::btree_map(any_name(), inner.clone(), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| datum(DatumValue::List(items))),
            parts.prop_map(|parts| datum(DatumValue::Record(parts.into_iter().collect()))),
        ]
    })
}

fn any_columns() -> impl Strategy<Value = DataShape> {
    let single = any_datum().prop_filter_map("a list is several items", |datum| {
        (!matches!(datum.value, DatumValue::List(_))).then_some(DataValue::Single(datum))
    });
    let value = prop_oneof![
        single,
        prop::collection::vec(any_datum(), 0..4).prop_map(DataValue::List)
    ];
    prop::collection::btree_map(any_name(), value, 0..5).prop_map(|columns| {
        let columns = columns.into_iter().map(|(name, value)| DataColumn {
            name,
            span: Span::default(),
            value,
        });
        DataShape::Columns(columns.collect())
    })
}

fn any_rows() -> impl Strategy<Value = DataShape> {
    let names = prop::collection::btree_set(any_name(), 1..4);
    names.prop_flat_map(|names| {
        let cell = prop::option::of(any_datum())
            .prop_map(|cell| cell.filter(|datum| datum.value != DatumValue::Null));
        let row = prop::collection::vec(cell, names.len()).prop_map(|cells| DataRow {
            cells,
            span: Span::default(),
        });
        let names: Vec<_> = names
            .into_iter()
            .map(|name| (name, Span::default()))
            .collect();
        prop::collection::vec(row, 1..4).prop_map(move |rows| DataShape::Rows {
            names: names.clone(),
            rows,
        })
    })
}

fn any_file() -> impl Strategy<Value = DataFile> {
    let settings = prop::collection::btree_map(any_name(), any_scalar(), 0..4);
    (prop_oneof![any_columns(), any_rows()], settings).prop_map(|(shape, settings)| {
        let parameters = settings.into_iter().map(|(name, value)| ParameterSetting {
            name,
            value,
            span: Span::default(),
            name_span: Span::default(),
        });
        DataFile {
            shape,
            parameters: parameters.collect(),
        }
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(file in any_file()) {
        let written = write_data(&file);
        let again = read_data(&written, DataFormat::Yaml);
        prop_assert_eq!(&again.diagnostics, &Vec::new(), "{}", written);
        prop_assert_eq!(bare(again.value.expect("there are no mistakes")), file, "{}", written);
    }
}
