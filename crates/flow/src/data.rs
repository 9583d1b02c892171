//! Data files: what a workflow is run on.
//!
//! Law: a data file says values, not what they are for. Whether a text is a path or a pattern is up to the
//! input it is bound to, and whoever opens files expands it.

pub(crate) mod csv;
pub(crate) mod write;

use std::sync::Arc;

use headwater_graph::{Array, Diagnostic, Image, Registry, Scalar, Span, Value};

use crate::formats::{DATA, DATA_SHAPE};
use crate::leaf::{self, Scope};
use crate::parse::parse;
use crate::report::{Read, Report};
use crate::shape::Fields;
use crate::source::Source;
use crate::tree::{Kind, Node};
use crate::validate::validate;

/// Rows are a table; with more columns than this, a small file could ask for a huge one.
const MOST_COLUMNS: usize = 1000;

/// What helps where a list stands in the place of inputs.
pub(crate) const LIST_OF_INPUTS: &str = "put the list under `rows:`, in place of `inputs:`; each row has the items that belong together";

/// How a data file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataFormat {
    /// YAML, and with it JSON.
    Yaml,
    /// Rows of cells; the first row names the inputs.
    Csv,
}

/// What a data file says.
#[derive(Debug, Clone, PartialEq)]
pub struct DataFile {
    /// The data of the inputs.
    pub shape: DataShape,
    /// Values for parameters.
    pub parameters: Vec<ParameterSetting>,
}

/// A value for a parameter of the workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterSetting {
    /// The parameter.
    pub name: Arc<str>,
    /// The value, not yet fitted to the type of the parameter.
    pub value: Scalar,
    /// Where the value stands.
    pub span: Span,
    /// Where the name stands.
    pub name_span: Span,
}

/// Separate inputs, or rows of values that belong together.
#[derive(Debug, Clone, PartialEq)]
pub enum DataShape {
    /// Each input is a source of its own.
    Columns(Vec<DataColumn>),
    /// The values of one row share a source.
    Rows {
        /// The inputs, and where each is named first.
        names: Vec<(Arc<str>, Span)>,
        /// One after the other.
        rows: Vec<DataRow>,
    },
}

/// Values that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct DataRow {
    /// One value per name, or nothing.
    pub cells: Vec<Option<Datum>>,
    /// Where the row stands.
    pub span: Span,
}

/// The data of one input.
#[derive(Debug, Clone, PartialEq)]
pub struct DataColumn {
    /// The input.
    pub name: Arc<str>,
    /// Where it is named.
    pub span: Span,
    /// What it gets.
    pub value: DataValue,
}

/// One item or several.
#[derive(Debug, Clone, PartialEq)]
pub enum DataValue {
    /// One. A text may be a pattern that stands for several files.
    Single(Datum),
    /// As many as there are.
    List(Vec<Datum>),
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Datum {
    /// The value.
    pub value: DatumValue,
    /// A number or truth value as it is written: `007`, `1.10`. An input that takes a text takes this.
    pub written: Option<Arc<str>>,
    /// Where it stands.
    pub span: Span,
}

impl Datum {
    /// A value that is not written differently.
    pub fn new(value: DatumValue, span: Span) -> Datum {
        Datum {
            value,
            written: None,
            span,
        }
    }

    /// The text of a single value, as it is written.
    pub fn text(&self) -> Option<Arc<str>> {
        match (&self.written, &self.value) {
            (Some(written), _) => Some(Arc::clone(written)),
            (None, DatumValue::Scalar(Scalar::Text(text))) => Some(Arc::clone(text)),
            (None, DatumValue::Scalar(value)) => Some(value.to_string().into()),
            _ => None,
        }
    }
}

/// A value of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum DatumValue {
    /// Nothing.
    Null,
    /// A number, a truth value or a text.
    Scalar(Scalar),
    /// One item that is a list.
    List(Vec<Datum>),
    /// One item that has named parts, in the order of the file.
    Record(Vec<(Arc<str>, Datum)>),
    /// What no file can say: an array that a program has, for instance.
    Given(Value),
}

/// As a program gives it: it stands nowhere.
impl From<Value> for Datum {
    fn from(value: Value) -> Datum {
        let value = match value {
            Value::Null => DatumValue::Null,
            Value::List(items) => {
                DatumValue::List(items.iter().cloned().map(Datum::from).collect())
            }
            other => match other.as_scalar() {
                Some(scalar) => DatumValue::Scalar(scalar),
                None => DatumValue::Given(other),
            },
        };
        Datum::new(value, Span::default())
    }
}

macro_rules! datum_from {
    ($($given:ty => $value:expr;)*) => {
        $(
            impl From<$given> for Datum {
                fn from(given: $given) -> Datum {
                    let value: fn($given) -> Value = $value;
                    value(given).into()
                }
            }
        )*
    };
}

datum_from! {
    Scalar => Value::from;
    &str => |text| Value::Text(text.into());
    bool => Value::Bool;
    i32 => |number| Value::Int(number.into());
    i64 => Value::Int;
    f64 => Value::Float;
    String => |text| Value::Text(text.into());
    Array => Value::Array;
    Image => |image| Value::Image(Arc::new(image));
}

/// Whether a file is meant as a data file: it has `inputs`, `rows` or `parameters`, and nothing of another kind of file.
pub fn is_data(text: &str) -> bool {
    let tree = parse(&Source::new(text), &mut Report::default());
    tree.root.is_some_and(|root| data_field(&root).is_some())
}

/// The first field of a data file, if the file is meant as one.
pub(crate) fn data_field(root: &Node) -> Option<&Node> {
    const OTHERS: [&str; 8] = [
        "workflow",
        "stages",
        "operations",
        "outputs",
        "tasks",
        "study",
        "objective",
        "method",
    ];
    if OTHERS.iter().any(|name| root.get(name).is_some()) {
        return None;
    }
    let fields = ["inputs", "rows", "parameters"];
    let (key, _) = fields.iter().find_map(|name| root.get(name))?;
    Some(key)
}

/// Reads a data file.
pub fn read_data(text: &str, format: DataFormat) -> Read<DataFile> {
    let source = Source::new(text);
    let mut report = Report::default();
    let file = match format {
        DataFormat::Csv => Some(csv::read(&source, &mut report)),
        DataFormat::Yaml => yaml(&source, &mut report),
    };
    report.finish(file)
}

fn yaml(source: &Source<'_>, report: &mut Report) -> Option<DataFile> {
    let tree = parse(source, report);
    let Some(root) = tree.root.filter(|root| !root.is_nothing()) else {
        if !tree.damaged {
            let hint = "a data file has `inputs:` or `rows:`";
            report.error_with(source.end(), "this file is empty", hint);
        }
        return None;
    };
    if let Some(foreign) = foreign(&root) {
        report.push(foreign);
        return None;
    }
    let registry = Registry::new();
    let scope = Scope {
        source,
        registry: &registry,
    };
    let parsed = report.len();
    validate(&root, &DATA_SHAPE, scope, tree.damaged, report);
    if let Some((_, node)) = root.get("inputs")
        && node.items().is_some()
    {
        report.help(node.span, LIST_OF_INPUTS);
    }
    report.forget_patched(parsed, &tree.patches);
    let fields = Fields::of(&root, &DATA);
    let shape = match fields.get("rows") {
        Some(node) => {
            let none = node.items().is_some_and(<[Node]>::is_empty);
            if none && fields.get("inputs").is_none() {
                let hint = "list at least one row, or use `inputs:`, where an input can have no items: `x: []`";
                report.error_with(node.span, "there are no rows", hint);
            }
            rows(node, report)
        }
        None => DataShape::Columns(
            fields
                .get("inputs")
                .map(|node| columns(node, report))
                .unwrap_or_default(),
        ),
    };
    let settings = fields
        .get("parameters")
        .and_then(Node::entries)
        .unwrap_or_default();
    let parameters = settings.iter().filter_map(|(key, value)| {
        Some(ParameterSetting {
            name: leaf::text(key)?,
            value: leaf::literal(value).ok()?,
            span: value.span,
            name_span: key.span,
        })
    });
    Some(DataFile {
        shape,
        parameters: parameters.collect(),
    })
}

/// Other files of Headwater, and a list or mapping that lacks its heading.
fn foreign(root: &Node) -> Option<Diagnostic> {
    let kinds = [
        (
            "study",
            "this is a study file, not a data file",
            "run it with `headwater study run`",
        ),
        (
            "stages",
            "this is a workflow file, not a data file",
            "a data file has `inputs:` or `rows:`",
        ),
        (
            "workflow",
            "this is a workflow file, not a data file",
            "a data file has `inputs:` or `rows:`",
        ),
    ];
    for (name, message, hint) in kinds {
        if let Some((key, _)) = root.get(name) {
            return Some(Diagnostic::error(key.span, message).with_hint(hint));
        }
    }
    if root.items().is_some() {
        let message = "expected a data file as a mapping, found a list";
        return Some(Diagnostic::error(root.span, message).with_hint("put the list under `rows:`"));
    }
    let fields = Fields::of(root, &DATA);
    if root.entries().is_some_and(|entries| !entries.is_empty())
        && fields.all().all(|(_, found)| found.is_none())
        && let Some((key, ..)) = fields.unknown.first()
    {
        let message = "a data file has `inputs:` or `rows:`, and this one has neither";
        let hint = "indent the names of the inputs below a line `inputs:`";
        return Some(Diagnostic::error(key.span, message).with_hint(hint));
    }
    None
}

fn columns(node: &Node, report: &mut Report) -> Vec<DataColumn> {
    let mut columns = Vec::new();
    for (key, node) in node.entries().unwrap_or_default() {
        let Some(name) = leaf::text(key) else {
            continue;
        };
        let value = value(node, report);
        let span = key.span;
        columns.push(DataColumn { name, span, value });
    }
    columns
}

/// One item or several.
pub(crate) fn value(node: &Node, report: &mut Report) -> DataValue {
    match node.items() {
        Some(items) => DataValue::List(items.iter().map(|item| datum(item, report)).collect()),
        None => DataValue::Single(datum(node, report)),
    }
}

/// Rows of values that belong together.
pub(crate) fn rows(node: &Node, report: &mut Report) -> DataShape {
    let mut names: Vec<(Arc<str>, Span)> = Vec::new();
    let mut positions = std::collections::BTreeMap::new();
    let mut rows = Vec::new();
    for item in node.items().unwrap_or_default() {
        let mut row = Vec::new();
        for (key, value) in item.entries().unwrap_or_default() {
            let Some(name) = leaf::text(key) else {
                continue;
            };
            let position = *positions.entry(Arc::clone(&name)).or_insert(names.len());
            if position == names.len() {
                names.push((name, key.span));
            }
            if row.len() <= position {
                row.resize(position + 1, None);
            }
            let datum = datum(value, report);
            row[position] = Some(datum).filter(|datum| datum.value != DatumValue::Null);
        }
        let span = item.span;
        rows.push(DataRow { cells: row, span });
    }
    if names.len() > MOST_COLUMNS {
        let message = format!("these rows name more than {MOST_COLUMNS} different inputs");
        report.error(names[MOST_COLUMNS].1, message);
        return DataShape::Rows {
            names,
            rows: Vec::new(),
        };
    }
    for row in &mut rows {
        row.cells.resize(names.len(), None);
    }
    DataShape::Rows { names, rows }
}

fn datum(node: &Node, report: &mut Report) -> Datum {
    let value = match &node.kind {
        Kind::Sequence(items) => {
            DatumValue::List(items.iter().map(|item| datum(item, report)).collect())
        }
        Kind::Mapping(entries) => {
            let mut parts = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                match leaf::text(key) {
                    Some(name) => parts.push((name, datum(value, report))),
                    None => {
                        report.error(key.span, format!("expected a name, found {}", key.found()));
                    }
                }
            }
            DatumValue::Record(parts)
        }
        Kind::Scalar { .. } => match leaf::value(node) {
            Ok(Some(value)) => DatumValue::Scalar(value),
            Ok(None) => DatumValue::Null,
            Err(diagnostic) => {
                report.push(diagnostic);
                DatumValue::Null
            }
        },
    };
    let written = match (&node.kind, &value) {
        (_, DatumValue::Scalar(Scalar::Text(_))) => None,
        (Kind::Scalar { text, .. }, DatumValue::Scalar(_)) => Some(Arc::clone(text)),
        _ => None,
    };
    Datum {
        value,
        written,
        span: node.span,
    }
}
