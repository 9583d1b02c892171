//! A study file together with the files that it names.
//!
//! Law: nothing is executed and nothing is written. What is wrong with any of the files is told at its place in that
//! file; what is wrong between them is told in the study file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_engine::data::ReadData;
use headwater_engine::load::{CheckedFile, Parsed, parse};
use headwater_engine::{DataSource, Error, Surroundings, WorkflowSource};
use headwater_flow::{
    DataFile, DataShape, Method, Placed, ResolvedStudy, StudyFile, StudyText, read_study_with,
    resolve,
};
use headwater_graph::{Diagnostic, Registry, Span};

use super::objective;
use crate::instances::Varied;
use crate::source::StudySource;
use crate::table::SampleTable;

/// A study that can be planned.
#[derive(Debug)]
pub(crate) struct NamedStudy {
    /// What the file says.
    pub(crate) file: StudyFile,
    /// What that means for the workflow.
    pub(crate) resolved: ResolvedStudy,
    /// Its samples, where the method is a table.
    pub(crate) samples: Option<Varied>,
    /// The workflow.
    pub(crate) workflow: Parsed,
    /// Its data, which may come from a pipe and is read once.
    pub(crate) data: Option<ReadData>,
}

/// A study file that was looked at, with everything there is to say.
#[derive(Debug)]
pub(crate) struct ReadStudy {
    /// The study file, then the settings that there is something to say about, then the files that it names.
    pub(crate) files: Vec<CheckedFile>,
    /// How many of them are the study file and settings.
    pub(crate) parts: usize,
    /// The study; there unless one of the files has an error.
    pub(crate) study: Option<NamedStudy>,
}

/// What stands in the place of a file name for a setting.
const SETTING: &str = "--set";

/// What there is to say about a study, sorted to its file, which comes first, and its settings.
pub(crate) fn sorted(
    path: &Path,
    text: &StudyText,
    diagnostics: Vec<Diagnostic>,
) -> Vec<CheckedFile> {
    let parts = text.sort(diagnostics).into_iter();
    let checked = parts.map(|part| CheckedFile {
        file: match part.setting {
            None => path.to_owned(),
            Some(_) => PathBuf::from(SETTING),
        },
        text: part.text,
        diagnostics: part.diagnostics,
    });
    checked.collect()
}

/// Reads a study, whose text is given with its settings, and the files that it names.
pub(crate) fn load_study(source: &StudySource, text: &StudyText, site: &Surroundings) -> ReadStudy {
    let path = &source.path(&site.folder);
    let read = read_study_with(text);
    let mut reader = Reader {
        source,
        site,
        folder: path.parent().map(Path::to_path_buf).unwrap_or_default(),
        diagnostics: read.diagnostics,
        others: Vec::new(),
    };
    let study = read.value.and_then(|file| reader.study(file));
    let Reader {
        mut diagnostics,
        mut others,
        ..
    } = reader;
    diagnostics.sort_by_key(|found| found.span.map(|span| (span.start, span.end)));
    let mut files = sorted(path, text, diagnostics);
    let parts = files.len();
    files.append(&mut others);
    let failed = files
        .iter()
        .flat_map(|file| &file.diagnostics)
        .any(Diagnostic::is_error);
    ReadStudy {
        files,
        parts,
        study: study.filter(|_| !failed),
    }
}

struct Reader<'a> {
    source: &'a StudySource,
    site: &'a Surroundings,
    /// What paths in the study are relative to.
    folder: PathBuf,
    /// Those of the study file.
    diagnostics: Vec<Diagnostic>,
    others: Vec<CheckedFile>,
}

impl Reader<'_> {
    fn study(&mut self, mut file: StudyFile) -> Option<NamedStudy> {
        if self.source.data.is_some() {
            // It is as if the study named it.
            file.data = Some(Placed {
                value: "(data)".into(),
                span: file.name.span,
            });
        }
        let libraries = &*self.site.libraries;
        let workflow = self.workflow(&file, libraries);
        let table = match &file.method {
            Method::Table(path) => {
                let overrides = file.parameters.overrides().iter();
                let names: Vec<Arc<str>> = overrides
                    .map(|known| Arc::clone(&known.name.value))
                    .collect();
                let named = file.parameters.names_studied().then_some(names.as_slice());
                Some(self.table(&path.value, path.span, named))
            }
            _ => None,
        };
        let data = match (&self.source.data, &file.data) {
            (Some(given), _) => Some(self.data(given, file.name.span)),
            (None, Some(path)) => {
                let named = DataSource::file(self.folder.join(&*path.value));
                Some(self.data(&named, path.span))
            }
            (None, None) => None,
        };
        let workflow = workflow?;
        let table = match table {
            None => None,
            Some(found) => Some(found?),
        };
        let columns = table.as_ref().map(SampleTable::names).unwrap_or_default();
        let read = resolve(&file, &workflow.workflow, columns);
        self.diagnostics.extend(read.diagnostics);
        if let Some(resolved) = &read.value
            && let Some((message, hint)) =
                objective::mistake(&resolved.objective, &workflow, libraries)
        {
            let found = Diagnostic::error(file.objective.span, message);
            self.diagnostics.push(found.with_hint(hint));
        }
        let samples = match (&table, &read.value) {
            (Some(table), Some(resolved)) => {
                let path = &file.method_span;
                Some(self.heed(table.sets(&resolved.studied), *path)?)
            }
            _ => None,
        };
        if let Some(Some(ReadData {
            file: Some(data), ..
        })) = &data
        {
            self.bind(&file, &workflow, data);
        }
        Some(NamedStudy {
            data: data.flatten(),
            resolved: read.value?,
            file,
            samples,
            workflow,
        })
    }

    fn workflow(&mut self, file: &StudyFile, libraries: &Registry) -> Option<Parsed> {
        let named = || WorkflowSource::file(self.folder.join(&*file.workflow.value));
        let source = self.source.workflow.clone().unwrap_or_else(named);
        let parsed = match parse(&source, &self.site.folder, libraries) {
            Err(error) if !matches!(error, Error::File { .. }) => {
                return self.unreadable(&error, file.workflow.span);
            }
            parsed => self.heed(parsed, file.workflow.span)?,
        };
        self.others.push(parsed.checked());
        Some(parsed)
    }

    fn unreadable<T>(&mut self, error: &Error, span: Span) -> Option<T> {
        let found = Diagnostic::error(span, error.to_string());
        let hint = "paths are relative to the study file";
        self.diagnostics.push(found.with_hint(hint));
        None
    }

    /// The samples that the study brings.
    fn table(
        &mut self,
        written: &str,
        span: Span,
        named: Option<&[Arc<str>]>,
    ) -> Option<SampleTable> {
        let path = self.folder.join(written);
        if !path.exists() {
            let missing = Error::usage(format!("there is no file `{}`", path.display()), None);
            return self.unreadable(&missing, span);
        }
        self.heed(SampleTable::read(&path, named), span)
    }

    /// What a file gave; its mistakes are told in it, others where the study names it.
    fn heed<T>(&mut self, read: Result<T, Error>, span: Span) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(Error::File {
                file,
                text,
                diagnostics,
            }) => {
                self.others.push(CheckedFile {
                    file,
                    text,
                    diagnostics,
                });
                None
            }
            Err(error) => {
                let found = Diagnostic::error(span, error.to_string());
                self.diagnostics.push(match error.hint() {
                    Some(hint) => found.with_hint(hint),
                    None => found,
                });
                None
            }
        }
    }

    /// Data that the study names, or that is given in its place.
    fn data(&mut self, source: &DataSource, span: Span) -> Option<ReadData> {
        let read = match ReadData::read(source, &self.site.folder) {
            Ok(read) => read,
            Err(error) => return self.unreadable(&error, span),
        };
        self.others.push(CheckedFile {
            file: read.path.clone(),
            text: read.text.clone(),
            diagnostics: read.diagnostics.clone(),
        });
        read.file.is_some().then_some(read)
    }

    /// Which inputs the data file gives, and the study besides.
    fn bind(&mut self, file: &StudyFile, workflow: &Parsed, data: &DataFile) {
        let (path, span) = match (&self.source.data, &file.data) {
            (None, Some(path)) => (format!("`{}`", path.value), path.span),
            _ => ("the data".to_owned(), file.name.span),
        };
        if let Some(setting) = data.parameters.first() {
            let message = format!(
                "{path} gives parameter `{}` a value, which is up to the study",
                setting.name
            );
            let name = &setting.name;
            let hint = format!(
                "write `parameters: {{{name}: {{value: {}}}}}`",
                setting.value
            );
            let found = Diagnostic::error(span, message);
            self.diagnostics.push(found.with_hint(hint));
        }
        let given = names(data);
        for (name, _) in &given {
            let known = workflow
                .workflow
                .inputs
                .iter()
                .any(|input| input.name == *name);
            if !known {
                let message = format!("{path} has data for `{name}`, which is no input");
                let inputs: Vec<String> = workflow
                    .workflow
                    .inputs
                    .iter()
                    .map(|input| format!("`{}`", input.name))
                    .collect();
                let hint = format!("the inputs of the workflow are {}", inputs.join(", "));
                let found = Diagnostic::error(span, message);
                self.diagnostics.push(found.with_hint(hint));
            }
        }
        let gives = |name: &str| given.iter().any(|(known, _)| **known == *name);
        for input in &file.inputs {
            if gives(&input.name.value) {
                let message = format!("input `{}` is given here and in {path}", input.name.value);
                let found = Diagnostic::error(input.name.span, message);
                self.diagnostics.push(found.with_hint("keep one of them"));
            }
        }
        for input in &workflow.workflow.inputs {
            let here = |name: &str| file.inputs.iter().any(|one| *one.name.value == *name);
            if !input.optional && !gives(&input.name) && !here(&input.name) {
                let message = format!(
                    "the workflow needs input `{}`, and neither the study nor {path} gives it",
                    input.name
                );
                let hint = format!("add `{}: …` under `inputs:`", input.name);
                let found = Diagnostic::error(span, message);
                self.diagnostics.push(found.with_hint(hint));
            }
        }
    }
}

/// The names that a data file has values for.
fn names(data: &DataFile) -> Vec<(Arc<str>, Span)> {
    match &data.shape {
        DataShape::Columns(columns) => columns
            .iter()
            .map(|column| (Arc::clone(&column.name), column.span))
            .collect(),
        DataShape::Rows { names, .. } => names.clone(),
    }
}

impl NamedStudy {
    /// What the study is, in one line.
    pub(crate) fn summary(&self) -> String {
        let varied = self.resolved.studied.len();
        let evaluations = self.file.method.evaluations(varied);
        let rows = self.samples.as_ref().map(|samples| samples.sets as u64);
        let evaluations = evaluations.or(rows).unwrap_or(0);
        let at_most = match self.file.until {
            Some(_) => "at most ",
            None => "",
        };
        let count = |number: u64, noun: &str| {
            format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
        };
        format!(
            "study `{}`: {}, {}, {at_most}{}",
            self.file.name.value,
            count(varied as u64, "parameter"),
            crate::words::in_words(&self.file.method, false),
            count(evaluations, "parameter set"),
        )
    }
}
