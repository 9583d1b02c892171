//! Data and settings as they were given, before anybody knows what they are for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_flow::{DataFile, DataShape};
use headwater_graph::{Diagnostic, Scalar, Workflow};

use super::format_of;
use crate::Error;
use crate::sources::{DataSource, Setting, named};

/// What data that is no file is called.
const DATA: &str = "data";

/// Data that was read, before anybody knows what it is for. A data file that is a pipe can be read only once.
#[derive(Debug, Clone)]
pub struct ReadData {
    /// Where it is.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// What it says; nothing where that cannot be read.
    pub file: Option<DataFile>,
    /// What paths in it are relative to.
    pub(super) folder: PathBuf,
    /// Whether it is a text, where mistakes have places.
    has_places: bool,
    /// What there is to say about it.
    pub diagnostics: Vec<Diagnostic>,
}

impl ReadData {
    /// Reads a data file, or what a program gives in its place. Paths are relative to `folder`.
    pub fn read(source: &DataSource, folder: &Path) -> Result<ReadData, Error> {
        let document = match source {
            DataSource::Document(document) => document,
            DataSource::Values(data) => {
                return Ok(ReadData {
                    path: named(folder, DATA),
                    text: String::new(),
                    file: Some(data.file()?),
                    folder: folder.to_owned(),
                    has_places: false,
                    diagnostics: Vec::new(),
                });
            }
        };
        let (path, text) = document.read(folder, DATA)?;
        let absolute =
            std::path::absolute(&path).map_err(|source| Error::io("cannot find", &path, source))?;
        let read = headwater_flow::read_data(&text, format_of(&path));
        Ok(ReadData {
            path,
            text,
            file: read.value,
            folder: absolute.parent().map(Path::to_path_buf).unwrap_or_default(),
            has_places: true,
            diagnostics: read.diagnostics,
        })
    }

    /// No data.
    pub(super) fn none() -> ReadData {
        ReadData {
            path: PathBuf::new(),
            text: String::new(),
            file: Some(DataFile {
                shape: DataShape::Columns(Vec::new()),
                parameters: Vec::new(),
            }),
            folder: PathBuf::new(),
            has_places: false,
            diagnostics: Vec::new(),
        }
    }

    /// That it has mistakes, at their places if it is a file.
    pub(super) fn mistakes(self, mut diagnostics: Vec<Diagnostic>) -> Error {
        if !self.has_places {
            diagnostics.iter_mut().for_each(|found| found.span = None);
        }
        Error::File {
            file: self.path,
            text: self.text,
            diagnostics,
        }
    }
}

/// The parameter that is set, and its value.
pub(super) fn read_setting(
    setting: &Setting,
    workflow: &Workflow,
) -> Result<(Arc<str>, Scalar), Error> {
    let (read, shown) = match setting {
        Setting::Written(text) => {
            let read = headwater_flow::read_scalar_setting(text, &workflow.parameters);
            (read, format!("--set {text}"))
        }
        Setting::Value(name, value) => {
            let fitted = headwater_flow::fit_parameter(name, value, &workflow.parameters);
            let fitted = fitted.map(|value| (Arc::clone(name), value));
            (fitted, format!("setting `{name}`"))
        }
    };
    read.map_err(|error| {
        let name = setting.name();
        let is_input = workflow.inputs.iter().any(|input| *input.name == *name);
        let hint = is_input.then(|| match setting {
            Setting::Written(_) => format!(
                "`{name}` is an input: give it in the file named by --inputs, under `inputs:`"
            ),
            Setting::Value(..) => format!("`{name}` is an input: give it with the data"),
        });
        Error::usage(format!("{shown}: {error}"), hint)
    })
}
