//! What a run is given to work on: files that people write, or the same as values of a program.
//!
//! Law: a file and a value that say the same give the same run, with the same recipes. Paths in what is given as a value
//! are relative to the folder that work is done in, as paths in a file are to the folder of that file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_flow::{
    DataColumn, DataFile, DataRow, DataShape, DataValue, Datum, ParameterSetting,
};
use headwater_graph::{Scalar, Span, Workflow};

use crate::Error;
use crate::given::read_text;

/// Something that people write: a file, or its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Document {
    /// A file.
    File(PathBuf),
    /// What would stand in one.
    Text(String),
}

impl Document {
    /// Where it is, and its text. What is no file gets the name of what it is, in `folder`.
    pub fn read(&self, folder: &Path, what: &str) -> Result<(PathBuf, String), Error> {
        match self {
            Document::File(path) => {
                let path = seen_from(folder, path);
                let text = read_text(&path)?;
                Ok((path, text))
            }
            Document::Text(text) => Ok((named(folder, what), text.clone())),
        }
    }

    /// Where it is, or would be.
    pub fn path(&self, folder: &Path, what: &str) -> PathBuf {
        match self {
            Document::File(path) => seen_from(folder, path),
            Document::Text(_) => named(folder, what),
        }
    }
}

/// A path from `folder`; as it is written where the process is there itself, which is shorter to read.
fn seen_from(folder: &Path, path: &Path) -> PathBuf {
    if std::env::current_dir().is_ok_and(|here| here == folder) {
        path.to_owned()
    } else {
        folder.join(path)
    }
}

/// The place of something that is no file.
pub(crate) fn named(folder: &Path, what: &str) -> PathBuf {
    folder.join(format!("({what})"))
}

/// Without a file and without a text there is nothing to read.
impl Default for Document {
    fn default() -> Document {
        Document::File(PathBuf::new())
    }
}

/// A workflow.
#[derive(Debug, Clone)]
pub enum WorkflowSource {
    /// As people write it.
    Document(Document),
    /// As a program has put it together; its operations are those of libraries.
    Value(Arc<Workflow>),
}

impl WorkflowSource {
    /// A workflow file.
    pub fn file(path: impl Into<PathBuf>) -> WorkflowSource {
        WorkflowSource::Document(Document::File(path.into()))
    }

    /// What would stand in a workflow file.
    pub fn text(text: impl Into<String>) -> WorkflowSource {
        WorkflowSource::Document(Document::Text(text.into()))
    }
}

impl Default for WorkflowSource {
    fn default() -> WorkflowSource {
        WorkflowSource::Document(Document::default())
    }
}

impl From<PathBuf> for WorkflowSource {
    fn from(path: PathBuf) -> WorkflowSource {
        WorkflowSource::file(path)
    }
}

/// The path of a file.
impl From<&str> for WorkflowSource {
    fn from(path: &str) -> WorkflowSource {
        WorkflowSource::file(path)
    }
}

impl From<Workflow> for WorkflowSource {
    fn from(workflow: Workflow) -> WorkflowSource {
        WorkflowSource::Value(Arc::new(workflow))
    }
}

/// The data of a run.
#[derive(Debug, Clone)]
pub enum DataSource {
    /// As people write it: a data file; its name says whether it is a table.
    Document(Document),
    /// As a program has it.
    Values(Data),
}

impl DataSource {
    /// A data file.
    pub fn file(path: impl Into<PathBuf>) -> DataSource {
        DataSource::Document(Document::File(path.into()))
    }
}

impl From<PathBuf> for DataSource {
    fn from(path: PathBuf) -> DataSource {
        DataSource::file(path)
    }
}

/// The path of a file.
impl From<&str> for DataSource {
    fn from(path: &str) -> DataSource {
        DataSource::file(path)
    }
}

impl From<Data> for DataSource {
    fn from(data: Data) -> DataSource {
        DataSource::Values(data)
    }
}

/// Data that a program has: numbers, texts, arrays, images, and files by their paths. What a data file says, without the
/// file.
///
/// ```
/// use headwater::Data;
/// use headwater::graph::Array;
///
/// let image = Array::of_vec(&[2, 2], vec![0.5_f32, 1.0, 1.5, 2.0]).expect("four numbers");
/// let data = Data::new()
///     .items("image", [image])         // one task for each of them
///     .item("label", "first")          // the same for all
///     .parameter("threshold", 0.75);
/// # let _ = data;
/// ```
#[derive(Debug, Clone, Default)]
pub struct Data {
    columns: Vec<DataColumn>,
    rows: Option<(Vec<Arc<str>>, Vec<DataRow>)>,
    parameters: Vec<(Arc<str>, Scalar)>,
}

impl Data {
    /// No data.
    pub fn new() -> Data {
        Data::default()
    }

    /// One item for an input. A text for an input that is a file is its path, or a pattern that stands for several files.
    #[must_use]
    pub fn item(self, input: &str, item: impl Into<Datum>) -> Data {
        self.column(input, DataValue::Single(item.into()))
    }

    /// Several items for an input, one after the other.
    #[must_use]
    pub fn items(self, input: &str, items: impl IntoIterator<Item = impl Into<Datum>>) -> Data {
        let items = items.into_iter().map(Into::into).collect();
        self.column(input, DataValue::List(items))
    }

    fn column(mut self, input: &str, value: DataValue) -> Data {
        self.columns.push(DataColumn {
            name: input.into(),
            span: Span::default(),
            value,
        });
        self
    }

    /// Items that belong together: in each row one for each of these inputs. In place of [`item`](Self::item) and
    /// [`items`](Self::items).
    #[must_use]
    pub fn rows<const N: usize>(
        mut self,
        inputs: [&str; N],
        rows: impl IntoIterator<Item = [Datum; N]>,
    ) -> Data {
        let row = |cells: [Datum; N]| DataRow {
            cells: cells.map(Some).to_vec(),
            span: Span::default(),
        };
        let names = inputs.into_iter().map(Arc::from).collect();
        self.rows = Some((names, rows.into_iter().map(row).collect()));
        self
    }

    /// The value of a parameter of the workflow.
    #[must_use]
    pub fn parameter(mut self, name: &str, value: impl Into<Scalar>) -> Data {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// As a data file says it.
    pub(crate) fn file(&self) -> Result<DataFile, Error> {
        let shape = match &self.rows {
            Some(_) if !self.columns.is_empty() => {
                return Err(Error::usage(
                    "the data has rows and single inputs",
                    Some("give the single inputs as columns of the rows".to_owned()),
                ));
            }
            Some((names, rows)) => DataShape::Rows {
                names: names
                    .iter()
                    .map(|name| (Arc::clone(name), Span::default()))
                    .collect(),
                rows: rows.clone(),
            },
            None => DataShape::Columns(self.columns.clone()),
        };
        let setting = |(name, value): &(Arc<str>, Scalar)| ParameterSetting {
            name: Arc::clone(name),
            value: value.clone(),
            span: Span::default(),
            name_span: Span::default(),
        };
        Ok(DataFile {
            shape,
            parameters: self.parameters.iter().map(setting).collect(),
        })
    }
}

/// A value that wins over those of the files.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// `NAME=VALUE`, as people write it.
    Written(String),
    /// A value as a program has it.
    Value(Arc<str>, Scalar),
}

impl Setting {
    /// A value for a parameter of a workflow, or for a place of a study such as `method.vbd.samples`.
    pub fn new(name: &str, value: impl Into<Scalar>) -> Setting {
        Setting::Value(name.into(), value.into())
    }

    /// What is set.
    pub fn name(&self) -> &str {
        match self {
            Setting::Written(text) => text.split('=').next().unwrap_or_default().trim(),
            Setting::Value(name, _) => name,
        }
    }

    /// As people would write it.
    pub fn written(&self) -> String {
        match self {
            Setting::Written(text) => text.clone(),
            Setting::Value(name, value) => {
                format!("{name}={}", headwater_flow::write_scalar(value))
            }
        }
    }
}

impl From<String> for Setting {
    fn from(written: String) -> Setting {
        Setting::Written(written)
    }
}

/// `NAME=VALUE`.
impl From<&str> for Setting {
    fn from(written: &str) -> Setting {
        Setting::Written(written.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_written_as_people_would() {
        for (value, written) in [
            (Scalar::Int(3), "n=3"),
            (Scalar::Float(0.5), "n=0.5"),
            (Scalar::Text("7".into()), "n=\"7\""),
            (Scalar::Text("plain".into()), "n=plain"),
        ] {
            let setting = Setting::new("n", value);
            assert_eq!((setting.name(), setting.written().as_str()), ("n", written));
        }
        assert_eq!(Setting::from(" a.b = 7").name(), "a.b");
    }

    #[test]
    fn what_is_no_file_has_a_name_where_it_would_be() {
        let folder = Path::new("/somewhere");
        let text = Document::Text("headwater: 1".to_owned());
        let (path, read) = text.read(folder, "workflow").expect("it is there");
        assert_eq!(path, Path::new("/somewhere/(workflow)"));
        assert_eq!(read, "headwater: 1");
        let file = Document::File("flow.yaml".into());
        assert_eq!(
            file.path(folder, "workflow"),
            Path::new("/somewhere/flow.yaml")
        );
    }
}
