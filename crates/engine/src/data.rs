//! The data of a run: from a data file to items with identities.
//!
//! Law: paths are relative to the file that names them; patterns are sorted bytewise; a file is known by its
//! contents, or, where the workflow says so, by what the data file calls it and then by nothing else. What a run
//! used is saved as a data file with everything written out, and gives the same run again; files are written there
//! with their whole paths, so what is known by its name has another one there. An array that a program gives is named
//! there by its digest, and does not come back from it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_enact::DataSet;
use headwater_execute::Watched;
use headwater_execute::{files_matching, is_pattern};
use headwater_flow::{
    DataColumn, DataFile, DataFormat, DataRow, DataShape, DataValue, Datum, DatumValue,
    ParameterSetting, SettingError,
};
use headwater_graph::{
    Diagnostic, Input, KnownBy, Registry, Scalar, Span, Store, Type, Value, Workflow,
};

use crate::Error;
use crate::sources::Setting;

mod identify;
mod labels;
mod read;

use identify::identify;
use labels::{DraftLabel, label};
pub use read::ReadData;
use read::read_setting;

/// Everything that a run is given besides its workflow.
#[derive(Debug)]
pub struct RunData {
    /// The items of each input.
    pub data_set: DataSet,
    /// Its files, as they were when they were digested.
    pub watched: Watched,
    /// The values of the parameters.
    pub parameters: BTreeMap<Arc<str>, Scalar>,
    /// Those of the parameters that the data file gives.
    pub given: Vec<Arc<str>>,
    /// What was used, written out: a data file of its own.
    pub saved: String,
    /// The text of the data file.
    pub text: String,
    /// What there is to say about that file.
    pub diagnostics: Vec<Diagnostic>,
}

/// A pattern, or a plain path, below `folder`: what it stands for, sorted bytewise. The name of a file is that file, also
/// where it looks like a pattern (`scan[1].png`), unless it is one of several files that match the pattern.
pub fn expand(folder: &Path, pattern: &str) -> Result<Vec<PathBuf>, Error> {
    let plain = folder.join(pattern);
    let named: Vec<PathBuf> = plain.exists().then_some(plain).into_iter().collect();
    if !is_pattern(pattern) {
        return Ok(named);
    }
    match files_matching(folder, pattern) {
        Ok(found)
            if named
                .iter()
                .all(|name| found.len() > 1 && found.contains(name)) =>
        {
            Ok(found)
        }
        Err(error) if named.is_empty() => {
            Err(Error::usage(format!("pattern `{pattern}`: {error}"), None))
        }
        Ok(_) | Err(_) => Ok(named),
    }
}

/// The data of a run, before anybody has looked into its files.
#[derive(Debug)]
pub struct BoundData {
    columns: Vec<DraftColumn>,
    /// Columns of a table that are no inputs.
    labels: Vec<DraftLabel>,
    files: Vec<PathBuf>,
    parameters: BTreeMap<Arc<str>, Scalar>,
    given: Vec<Arc<str>>,
    text: String,
    diagnostics: Vec<Diagnostic>,
}

/// How a data file is written, by its name.
pub fn format_of(path: &Path) -> DataFormat {
    // Tabs are told by the reader of tables, which knows what to do about them.
    let is_table = path.extension().is_some_and(|extension| {
        ["csv", "tsv", "tab"]
            .iter()
            .any(|table| extension.eq_ignore_ascii_case(table))
    });
    if is_table {
        DataFormat::Csv
    } else {
        DataFormat::Yaml
    }
}

/// What a data file has, in one line. Whether that is what a workflow wants is up to the workflow.
pub fn summary(data: &DataFile, path: &Path) -> String {
    let count = |number: usize, noun: &str| {
        format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
    };
    let mut parts = match &data.shape {
        DataShape::Columns(columns) => vec![count(columns.len(), "input")],
        DataShape::Rows { names, rows } => {
            vec![count(names.len(), "column"), count(rows.len(), "row")]
        }
    };
    if !data.parameters.is_empty() {
        parts.push(count(data.parameters.len(), "parameter"));
    }
    let path = headwater_graph::text::shell_quote(&path.display().to_string());
    format!(
        "data: {}; whether it fits a workflow, and its files are there: headwater run FLOW --inputs {path} --dry-run",
        parts.join(", ")
    )
}

/// Finds out what the data of a run is for: what was read, then settings. The files that it names are there.
pub fn bind(
    workflow: &Workflow,
    registry: &Registry,
    data: Option<ReadData>,
    settings: &[Setting],
) -> Result<BoundData, Error> {
    let mut data = data.unwrap_or_else(ReadData::none);
    let diagnostics = std::mem::take(&mut data.diagnostics);
    let Some(data_file) = data.file.take() else {
        return Err(data.mistakes(diagnostics));
    };
    let mut binder = Binder {
        workflow,
        registry,
        folder: data.folder.clone(),
        files: Vec::new(),
        places: HashMap::new(),
        known_by: KnownBy::Content,
        labels: Vec::new(),
        diagnostics,
    };
    let mut parameters = binder.parameters(&data_file.parameters);
    let columns = binder.columns(&data_file.shape);
    let labels = std::mem::take(&mut binder.labels);
    if binder.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(data.mistakes(binder.diagnostics));
    }
    for setting in settings {
        let (name, value) = read_setting(setting, workflow)?;
        parameters.insert(name, value);
    }
    let Binder {
        files, diagnostics, ..
    } = binder;
    let given = data_file.parameters.into_iter();
    Ok(BoundData {
        columns,
        labels,
        files,
        parameters,
        given: given.map(|setting| setting.name).collect(),
        text: data.text,
        diagnostics,
    })
}

/// Reads the data of a study: a data file, where it names one, and the inputs that it gives itself.
pub fn bind_study(
    workflow: &Workflow,
    registry: &Registry,
    data: Option<ReadData>,
    given: &[&DataShape],
    study: (&Path, &str),
) -> Result<BoundData, Error> {
    let mut bound = bind(workflow, registry, data, &[])?;
    let (file, text) = study;
    let absolute =
        std::path::absolute(file).map_err(|source| Error::io("cannot find", file, source))?;
    let files = std::mem::take(&mut bound.files);
    let mut binder = Binder {
        workflow,
        registry,
        folder: absolute.parent().map(Path::to_path_buf).unwrap_or_default(),
        places: files.iter().cloned().zip(0..).collect(),
        files,
        known_by: KnownBy::Content,
        labels: Vec::new(),
        diagnostics: Vec::new(),
    };
    let mut columns: Vec<DraftColumn> = Vec::new();
    for shape in given {
        let names: Vec<(&Arc<str>, Span)> = match shape {
            DataShape::Columns(columns) => {
                let columns = columns.iter();
                columns.map(|column| (&column.name, column.span)).collect()
            }
            DataShape::Rows { names, .. } => {
                let names = names.iter();
                names.map(|(name, span)| (name, *span)).collect()
            }
        };
        for (name, span) in names {
            if bound.columns.iter().any(|known| known.input == *name) {
                let message = format!("input `{name}` is in the data file already");
                let found = Diagnostic::error(span, message);
                binder
                    .diagnostics
                    .push(found.with_hint("give it in one place"));
            }
        }
        let known = bound.columns.iter().chain(&columns);
        let sources = known.map(|column| column.source + 1).max().unwrap_or(0);
        let mut found = binder.columns(shape);
        for column in &mut found {
            column.source += sources;
        }
        columns.extend(found);
    }
    if binder.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Error::File {
            file: file.to_owned(),
            text: text.to_owned(),
            diagnostics: binder.diagnostics,
        });
    }
    bound.columns.extend(columns);
    bound.files = binder.files;
    Ok(bound)
}

impl BoundData {
    /// Inputs that stand beside others in the rows of a table.
    pub fn table_inputs(&self) -> impl Iterator<Item = &Arc<str>> {
        let columns = self.columns.iter().filter(|column| column.rows);
        let several = columns.clone().count() + self.labels.len() > 1;
        columns.filter(move |_| several).map(|column| &column.input)
    }

    /// Gives every item its identity, by the contents of the files.
    pub fn identify(self, store: &dyn Store, threads: usize) -> Result<RunData, Error> {
        let BoundData {
            columns,
            labels,
            files,
            parameters,
            given,
            text,
            diagnostics,
        } = self;
        let saved = save(&columns, &labels, &parameters);
        let mut watched = Watched::default();
        let mut data_set = identify(columns, &files, store, threads, &mut watched)?;
        data_set.labels = labels.into_iter().map(|label| label.label).collect();
        Ok(RunData {
            data_set,
            watched,
            parameters,
            given,
            saved,
            text,
            diagnostics,
        })
    }
}

/// A value before files have been looked at.
#[derive(Debug, Clone)]
enum Draft {
    Nothing,
    Scalar(Scalar),
    /// What a program gives as it is.
    Value(Value),
    /// Position in the list of files.
    File(usize),
    Directory(PathBuf),
    /// Known by what the data file calls it.
    Named {
        path: PathBuf,
        name: Arc<str>,
        folder: bool,
    },
    List(Vec<Draft>),
}

#[derive(Debug)]
struct DraftColumn {
    input: Arc<str>,
    source: u32,
    single: bool,
    items: Vec<Draft>,
    /// As it is written in the saved data file.
    written: Vec<Datum>,
    rows: bool,
}

struct Binder<'a> {
    workflow: &'a Workflow,
    registry: &'a Registry,
    folder: PathBuf,
    files: Vec<PathBuf>,
    /// Where each file stands in `files`.
    places: HashMap<PathBuf, usize>,
    /// What the files of the input at hand are known by.
    known_by: KnownBy,
    labels: Vec<DraftLabel>,
    diagnostics: Vec<Diagnostic>,
}

impl Binder<'_> {
    fn parameters(&mut self, settings: &[ParameterSetting]) -> BTreeMap<Arc<str>, Scalar> {
        let mut parameters = BTreeMap::new();
        for parameter in &self.workflow.parameters {
            if let Some(default) = &parameter.default {
                let value = default
                    .coerce(parameter.scalar_type, false)
                    .unwrap_or_else(|| default.clone());
                parameters.insert(Arc::clone(&parameter.name), value);
            }
        }
        for setting in settings {
            match headwater_flow::fit_parameter(
                &setting.name,
                &setting.value,
                &self.workflow.parameters,
            ) {
                Ok(value) => {
                    parameters.insert(Arc::clone(&setting.name), value);
                }
                Err(SettingError::Unknown { name, hint }) => {
                    let message = format!("there is no workflow parameter `{name}`");
                    let mut diagnostic = Diagnostic::error(setting.name_span, message);
                    diagnostic.hint = hint;
                    self.diagnostics.push(diagnostic);
                }
                Err(error) => self
                    .diagnostics
                    .push(Diagnostic::error(setting.span, error.to_string())),
            }
        }
        parameters
    }

    fn input(&mut self, name: &Arc<str>, span: Span) -> Option<Input> {
        let found = self
            .workflow
            .inputs
            .iter()
            .find(|input| input.name == *name)
            .cloned();
        if found.is_none() {
            let names = self.workflow.inputs.iter().map(|input| &*input.name);
            let near = names
                .map(|known| (strsim::damerau_levenshtein(known, name), known))
                .min();
            let mut diagnostic =
                Diagnostic::error(span, format!("the workflow has no input `{name}`"));
            diagnostic.hint = near
                .filter(|(distance, _)| *distance <= 3)
                .map(|(_, known)| format!("did you mean `{known}`?"));
            self.diagnostics.push(diagnostic);
        }
        found
    }

    fn columns(&mut self, shape: &DataShape) -> Vec<DraftColumn> {
        let mut columns = Vec::new();
        match shape {
            DataShape::Columns(given) => {
                for (source, column) in given.iter().enumerate() {
                    if let Some(input) = self.input(&column.name, column.span) {
                        columns.extend(self.column(source as u32, column, &input));
                    }
                }
            }
            DataShape::Rows { names, rows } => {
                let labels = self.label_names(names);
                for (place, (name, _)) in names.iter().enumerate() {
                    if labels.contains(name) {
                        self.labels.push(label(name, place, rows));
                    }
                }
                for (place, (name, span)) in names.iter().enumerate() {
                    if labels.contains(name) {
                        continue;
                    }
                    let Some(input) = self.input(name, *span) else {
                        continue;
                    };
                    self.known_by = input.identity;
                    let mut items = Vec::new();
                    let mut written = Vec::new();
                    for row in rows {
                        let datum = row.cells.get(place).cloned().flatten();
                        let datum = datum.unwrap_or_else(|| Datum::new(DatumValue::Null, row.span));
                        let (item, saved) = self.one(&datum, &input.input_type);
                        if matches!(datum.value, DatumValue::Null) && !input.optional {
                            let message = format!(
                                "input `{name}` is required, but this row has no value for it"
                            );
                            self.diagnostics
                                .push(Diagnostic::error(datum.span, message));
                        }
                        items.push(item);
                        written.push(saved);
                    }
                    columns.push(DraftColumn {
                        input: input.name,
                        source: 0,
                        single: false,
                        items,
                        written,
                        rows: true,
                    });
                }
            }
        }
        columns
    }

    fn column(&mut self, source: u32, column: &DataColumn, input: &Input) -> Option<DraftColumn> {
        self.known_by = input.identity;
        let wanted = &input.input_type;
        let draft = |items: Vec<(Draft, Datum)>, single| {
            let (items, written) = items.into_iter().unzip();
            Some(DraftColumn {
                input: Arc::clone(&input.name),
                source,
                single,
                items,
                written,
                rows: false,
            })
        };
        match &column.value {
            DataValue::Single(datum) if matches!(datum.value, DatumValue::Null) => {
                if !input.optional {
                    let message = format!("input `{}` is required", input.name);
                    self.diagnostics
                        .push(Diagnostic::error(datum.span, message));
                }
                None
            }
            DataValue::Single(datum) => match self.pattern(datum, wanted) {
                Some(several) => draft(several, false),
                None => {
                    let item = self.one(datum, wanted);
                    draft(vec![item], true)
                }
            },
            // A list for an input that is a list: one item, unless its items are lists themselves.
            DataValue::List(items)
                if wanted.element().is_some()
                    && !items
                        .iter()
                        .any(|item| matches!(item.value, DatumValue::List(_))) =>
            {
                let whole = Datum::new(DatumValue::List(items.clone()), column.span);
                let item = self.one(&whole, wanted);
                draft(vec![item], true)
            }
            DataValue::List(items) => {
                let mut found = Vec::new();
                for datum in items {
                    if matches!(datum.value, DatumValue::Null) && !input.optional {
                        let message = format!(
                            "input `{}` is required, but this item has no value",
                            input.name
                        );
                        self.diagnostics
                            .push(Diagnostic::error(datum.span, message));
                    }
                    match self.pattern(datum, wanted) {
                        Some(several) => found.extend(several),
                        None => found.push(self.one(datum, wanted)),
                    }
                }
                draft(found, false)
            }
        }
    }

    fn is_file_like(&self, wanted: &Type) -> bool {
        matches!(wanted, Type::File | Type::Directory) || self.registry.codec(wanted).is_some()
    }

    /// The items that a pattern stands for, if `datum` is one.
    fn pattern(&mut self, datum: &Datum, wanted: &Type) -> Option<Vec<(Draft, Datum)>> {
        let DatumValue::Scalar(Scalar::Text(text)) = &datum.value else {
            return None;
        };
        if !is_pattern(text) || !self.is_file_like(wanted) {
            return None;
        }
        let plain = self.folder.join(&**text);
        if plain.exists() && expand(&self.folder, text).is_ok_and(|found| found == [plain]) {
            return None;
        }
        let paths = self.matches(text, datum.span);
        Some(
            paths
                .into_iter()
                .map(|path| self.path(&path, text, wanted, datum.span))
                .collect(),
        )
    }

    fn matches(&mut self, pattern: &str, span: Span) -> Vec<PathBuf> {
        match expand(&self.folder, pattern) {
            Ok(paths) if paths.is_empty() => {
                let message = format!("no file matches `{pattern}`");
                let hint = format!("patterns are relative to `{}`", self.folder.display());
                self.diagnostics
                    .push(Diagnostic::error(span, message).with_hint(hint));
                Vec::new()
            }
            Ok(paths) => paths,
            Err(error) => {
                self.diagnostics
                    .push(Diagnostic::error(span, error.to_string()));
                Vec::new()
            }
        }
    }

    /// What the data file calls the file at `path`: the text itself, or for a pattern what it stands for here,
    /// relative like the pattern. `None` if that cannot be written as text.
    fn logical_name(&self, path: &Path, text: &str) -> Option<Arc<str>> {
        if self.folder.join(text) == path {
            return Some(text.into());
        }
        let relative = if Path::new(text).is_absolute() {
            path
        } else {
            path.strip_prefix(&self.folder).unwrap_or(path)
        };
        relative.to_str().map(Arc::from)
    }

    /// The file or directory at `path`, which `text` in the data file stands for.
    fn path(&mut self, path: &Path, text: &str, wanted: &Type, span: Span) -> (Draft, Datum) {
        let value = DatumValue::Scalar(Scalar::Text(path.to_string_lossy().into()));
        let written = Datum::new(value, span);
        let problem = match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Some("there is no such file".to_owned())
            }
            Err(error) => Some(error.to_string()),
            // A device may never end, and a pipe is read once.
            Ok(metadata) if !metadata.is_dir() && !metadata.is_file() => {
                Some("this is not a regular file".to_owned())
            }
            Ok(metadata) if metadata.is_dir() != (*wanted == Type::Directory) => {
                let what = if metadata.is_dir() {
                    "a folder, not a file"
                } else {
                    "a file, not a folder"
                };
                Some(format!("this is {what}"))
            }
            Ok(_) => None,
        };
        if let Some(problem) = problem {
            let message = format!("`{}`: {problem}", path.display());
            let hint = format!("paths are relative to `{}`", self.folder.display());
            self.diagnostics
                .push(Diagnostic::error(span, message).with_hint(hint));
            return (Draft::Nothing, written);
        }
        if self.known_by == KnownBy::Name {
            let Some(name) = self.logical_name(path, text) else {
                let message = format!("`{}`: its name is not UTF-8", path.display());
                let hint = "rename it, or let the input have `identity: content`";
                self.diagnostics
                    .push(Diagnostic::error(span, message).with_hint(hint));
                return (Draft::Nothing, written);
            };
            let draft = Draft::Named {
                path: path.to_owned(),
                name,
                folder: *wanted == Type::Directory,
            };
            return (draft, written);
        }
        if *wanted == Type::Directory {
            return (Draft::Directory(path.to_owned()), written);
        }
        // A file that stands in many rows is looked at once.
        let next = self.files.len();
        let place = *self.places.entry(path.to_owned()).or_insert(next);
        if place == next {
            self.files.push(path.to_owned());
        }
        (Draft::File(place), written)
    }

    /// One item.
    fn one(&mut self, datum: &Datum, wanted: &Type) -> (Draft, Datum) {
        let wrong = |binder: &mut Self, found: &str| {
            let message = format!("expected {wanted}, found {found}");
            binder
                .diagnostics
                .push(Diagnostic::error(datum.span, message));
            (Draft::Nothing, datum.clone())
        };
        match &datum.value {
            DatumValue::Null => (Draft::Nothing, datum.clone()),
            DatumValue::Scalar(scalar) if self.is_file_like(wanted) => {
                let written = datum.text().unwrap_or_else(|| scalar.to_string().into());
                let path = self.folder.join(&*written);
                self.path(&path, &written, wanted, datum.span)
            }
            DatumValue::Scalar(scalar) => {
                if let Some(element) = wanted
                    .element()
                    .filter(|element| self.is_file_like(element))
                    .cloned()
                {
                    // One pattern for an input that is a list of files.
                    let pattern = datum.text().unwrap_or_else(|| scalar.to_string().into());
                    let paths = self.matches(&pattern, datum.span);
                    let (items, written): (Vec<Draft>, Vec<Datum>) = paths
                        .iter()
                        .map(|path| self.path(path, &pattern, &element, datum.span))
                        .unzip();
                    return (
                        Draft::List(items),
                        Datum::new(DatumValue::List(written), datum.span),
                    );
                }
                let fitted = match wanted.scalar() {
                    None if *wanted == Type::Any => Some(scalar.clone()),
                    None => None,
                    Some(scalar_type) => {
                        scalar.coerce(scalar_type, false).or_else(|| match scalar {
                            Scalar::Text(text) => Scalar::parse(text, scalar_type),
                            _ if *wanted == Type::Text => datum.text().map(Scalar::Text),
                            _ => None,
                        })
                    }
                };
                match fitted {
                    Some(fitted) => {
                        let written = Datum::new(DatumValue::Scalar(fitted.clone()), datum.span);
                        (Draft::Scalar(fitted), written)
                    }
                    None => wrong(self, &format!("`{scalar}`")),
                }
            }
            DatumValue::List(items) => {
                let Some(element) = wanted.element().cloned() else {
                    return wrong(self, "a list");
                };
                let mut drafts = Vec::new();
                let mut written = Vec::new();
                for item in items {
                    if matches!(item.value, DatumValue::Null)
                        && !matches!(element, Type::Any | Type::Null)
                    {
                        let message = format!("expected {element}, found nothing");
                        self.diagnostics.push(Diagnostic::error(item.span, message));
                    }
                    let found = match self.pattern(item, &element) {
                        Some(several) => several,
                        None => vec![self.one(item, &element)],
                    };
                    for (draft, datum) in found {
                        drafts.push(draft);
                        written.push(datum);
                    }
                }
                (
                    Draft::List(drafts),
                    Datum::new(DatumValue::List(written), datum.span),
                )
            }
            DatumValue::Record(_) => wrong(self, "a mapping"),
            DatumValue::Given(value) if has_files(value) => {
                let message = "a file or folder is given by its path, as a text".to_owned();
                let found = Diagnostic::error(datum.span, message);
                self.diagnostics.push(found);
                (Draft::Nothing, datum.clone())
            }
            DatumValue::Given(value) if wanted.accepts(&value.value_type()) => {
                (Draft::Value(value.clone().plain()), datum.clone())
            }
            DatumValue::Given(value) => wrong(self, &value.value_type().to_string()),
        }
    }
}

/// Whether there are files in a value.
fn has_files(value: &Value) -> bool {
    let mut found = matches!(value, Value::Directory(_));
    value.for_each_file(&mut |_| found = true);
    found
}

/// What was used, as a data file.
fn save(
    columns: &[DraftColumn],
    labels: &[DraftLabel],
    parameters: &BTreeMap<Arc<str>, Scalar>,
) -> String {
    let span = Span::default();
    let setting = |(name, value): (&Arc<str>, &Scalar)| ParameterSetting {
        name: Arc::clone(name),
        value: value.clone(),
        span,
        name_span: span,
    };
    let rows = columns.first().is_some_and(|column| column.rows);
    let shape = if rows {
        let inputs = columns
            .iter()
            .map(|column| (&column.input, &column.written));
        let labels = labels
            .iter()
            .map(|label| (&label.label.name, &label.written));
        let all: Vec<(&Arc<str>, &Vec<Datum>)> = inputs.chain(labels).collect();
        let names = all
            .iter()
            .map(|(name, _)| (Arc::clone(name), span))
            .collect();
        let count = columns.first().map_or(0, |column| column.written.len());
        let cell = |written: &[Datum], row: usize| {
            Some(written[row].clone()).filter(|datum| !matches!(datum.value, DatumValue::Null))
        };
        let row = |row: usize| DataRow {
            cells: all.iter().map(|(_, written)| cell(written, row)).collect(),
            span,
        };
        DataShape::Rows {
            names,
            rows: (0..count).map(row).collect(),
        }
    } else {
        let column = |column: &DraftColumn| DataColumn {
            name: Arc::clone(&column.input),
            span,
            value: match column.written.as_slice() {
                [one] if column.single => DataValue::Single(one.clone()),
                several => DataValue::List(several.to_vec()),
            },
        };
        DataShape::Columns(columns.iter().map(column).collect())
    };
    headwater_flow::write_data(&DataFile {
        shape,
        parameters: parameters.iter().map(setting).collect(),
    })
}

#[cfg(test)]
mod tests {
    use headwater_enact::Label;

    use super::*;

    fn workflow() -> Workflow {
        let input = |name: &str, input_type: Type, optional| Input {
            name: name.into(),
            input_type,
            optional,
            identity: KnownBy::Content,
        };
        Workflow {
            inputs: vec![
                input("word", Type::Text, false),
                input("words", Type::Text.list(), true),
                input("note", Type::Text, true),
                input("n", Type::Int, true),
            ],
            parameters: vec![headwater_graph::Parameter {
                name: "shortest".into(),
                scalar_type: headwater_graph::ScalarType::Int,
                default: None,
                range: None,
                step: None,
                values: Vec::new(),
            }],
            ..Workflow::default()
        }
    }

    fn bound(name: &str, text: &str) -> Result<BoundData, Error> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("the file can be written");
        let data = ReadData::read(&crate::DataSource::file(&path), folder.path())?;
        bind(&workflow(), &Registry::new(), Some(data), &[])
    }

    /// Line, column, message and hint of each mistake.
    #[track_caller]
    fn mistakes(name: &str, text: &str, expected: &[&str]) {
        let Err(Error::File { diagnostics, .. }) = bound(name, text) else {
            panic!("expected mistakes in {text}");
        };
        let found: Vec<String> = diagnostics
            .iter()
            .map(|found| {
                let span = found.span.unwrap_or_default();
                let hint = found.hint.as_ref().map(|hint| format!(" => {hint}"));
                format!(
                    "{}:{} {}{}",
                    span.line,
                    span.column,
                    found.message,
                    hint.unwrap_or_default()
                )
            })
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[track_caller]
    fn saved(name: &str, text: &str) -> String {
        let bound = bound(name, text).expect("the data is right");
        save(&bound.columns, &bound.labels, &bound.parameters)
    }

    #[test]
    fn texts_arrive_as_they_are_written() {
        let text =
            "inputs:\n  word: [007, 1.10, 1e3, .5, +3, true, abc]\n  words: [1.0, 2]\n  n: [007]\n";
        let written = saved("data.yaml", text);
        assert_eq!(
            written,
            "headwater: 1\ninputs:\n  word:\n    - \"007\"\n    - \"1.10\"\n    - \"1e3\"\n    - \".5\"\n    \
             - \"+3\"\n    - \"true\"\n    - abc\n  words: [\"1.0\", \"2\"]\n  n:\n    - 7\n"
        );
        assert_eq!(saved("data.yaml", &written), written);
    }

    #[test]
    fn items_without_a_value() {
        mistakes(
            "data.yaml",
            "inputs:\n  word: [a, null]\n  words: [a, ~]\n",
            &[
                "2:13 input `word` is required, but this item has no value",
                "3:14 expected text, found nothing",
            ],
        );
        let data =
            bound("data.yaml", "inputs: {word: a, note: [b, null, c]}").expect("it is right");
        let note = &data.columns[1];
        assert!(matches!(
            note.items[..],
            [Draft::Scalar(_), Draft::Nothing, Draft::Scalar(_)]
        ));
    }

    #[test]
    fn cells_without_a_value_are_told_in_their_row() {
        mistakes(
            "data.csv",
            "word,note\na,b\n,c\n",
            &["3:1 input `word` is required, but this row has no value for it"],
        );
        mistakes(
            "data.yaml",
            "rows:\n  - {word: a}\n  - {note: b}\n",
            &["3:5 input `word` is required, but this row has no value for it"],
        );
    }

    /// A column that is no input names rows; one that may be a misspelt input is a mistake.
    #[test]
    fn columns_that_are_no_inputs() {
        let text = "sample,word,plate\nw0,a,\nw1,b,7\n";
        let data = bound("data.csv", text).expect("it is right");
        let notes: Vec<&str> = data.diagnostics.iter().map(|one| &*one.message).collect();
        assert_eq!(
            notes,
            [
                "each of the columns `sample`, `plate` is no input of the workflow, and only names rows"
            ]
        );
        let labels: Vec<&Label> = data.labels.iter().map(|label| &label.label).collect();
        assert_eq!(
            labels[0].values,
            [Value::Text("w0".into()), Value::Text("w1".into())]
        );
        assert_eq!(labels[1].values, [Value::Null, Value::Text("7".into())]);
        let written = save(&data.columns, &data.labels, &data.parameters);
        assert!(written.contains("sample: w1"), "{written}");
        assert_eq!(saved("data.yaml", &written), written);
        mistakes(
            "data.csv",
            "wrod,sample\na,w0\n",
            &[
                "1:1 the workflow has no input `wrod` => did you mean `word`?",
                "1:6 the workflow has no input `sample`",
            ],
        );
        mistakes(
            "data.csv",
            "word,notes\na,b\n",
            &["1:6 the workflow has no input `notes` => did you mean `note`?"],
        );
        mistakes(
            "data.tsv",
            "word\tnote\na\tb\n",
            &["1:1 `word\tnote` is not the name of an input => cells are separated by commas"],
        );
    }

    #[test]
    fn unknown_parameters_are_told_at_their_name() {
        mistakes(
            "data.yaml",
            "inputs: {word: a}\nparameters:\n  shortst: 3\n",
            &["3:3 there is no workflow parameter `shortst` => did you mean `shortest`?"],
        );
    }

    #[test]
    fn no_rows() {
        mistakes(
            "data.yaml",
            "rows: []\n",
            &[
                "1:7 there are no rows => list at least one row, or use `inputs:`, where an input can have no items: `x: []`",
            ],
        );
        let written = saved("data.csv", "word,note\n");
        assert_eq!(written, "headwater: 1\ninputs:\n  word: []\n  note: []\n");
    }
}
