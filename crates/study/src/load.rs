//! A study file with its workflow and its data.
//!
//! Law: every name in a study is looked up before anything else happens, and mistakes are told at their places in the
//! study file. Paths are relative to the file that names them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_enact::DataSet;
use headwater_engine::data::{BoundData, ReadData};
use headwater_engine::load::{Checked, CheckedFile, Loaded, Parsed};
use headwater_engine::{Error, Surroundings};
use headwater_execute::Watched;
use headwater_flow::{DataColumn, DataShape, ResolvedStudy, StudyFile, StudyText, StudyValue};
use headwater_graph::{
    Diagnostic, OutputBinding, Registry, Scalar, Severity, Span, Store, Workflow,
};

use crate::file::{NamedStudy, ReadStudy, load_study, sorted};
use crate::instances::Varied;
use crate::source::{STUDY, StudySource};

/// A study whose names are those of its workflow.
#[derive(Debug)]
pub(crate) struct Study {
    pub(crate) file: PathBuf,
    pub(crate) text: StudyText,
    pub(crate) study: StudyFile,
    pub(crate) resolved: ResolvedStudy,
    /// The samples that the user brings.
    pub(crate) samples: Option<Varied>,
    /// Its data.
    pub(crate) data: Option<ReadData>,
    /// What the readers of the files said.
    pub(crate) said: Vec<CheckedFile>,
}

/// Everything that a study is about, ready to be expanded.
pub(crate) struct StudyData {
    pub(crate) loaded: Loaded,
    pub(crate) data_set: DataSet,
    /// Its files, as they were when they were digested.
    pub(crate) watched: Arc<Watched>,
    /// The values that parameters have where they do not vary: what the study fixes, or the default.
    pub(crate) baseline: BTreeMap<Arc<str>, Scalar>,
}

/// Checks a study file of this text, with the files that it names, and looks whether the data that it names is there.
pub fn check_study(path: &Path, text: String, site: &Surroundings) -> Result<Checked, Error> {
    const NO_SETTINGS: &[String] = &[];
    let text = StudyText::new(text, NO_SETTINGS);
    let source = StudySource::file(path);
    let ReadStudy { files, study, .. } = load_study(&source, &text, site);
    let mut checked = Checked {
        files,
        summary: study.map(|study| study.summary()),
    };
    if checked.summary.is_some() {
        let bound = Study::read(&source, site)
            .and_then(|(study, parsed)| study.bind(&parsed.workflow, &site.libraries).map(|_| ()));
        checked.take_in(bound)?;
    }
    Ok(checked)
}

impl Study {
    /// Reads a study file, as settings such as `seed=7` change it, and the files that it names. Of several files with
    /// mistakes the first is told.
    pub(crate) fn read(
        source: &StudySource,
        site: &Surroundings,
    ) -> Result<(Study, Parsed), Error> {
        let (path, text) = source.document.read(&site.folder, STUDY)?;
        let text = StudyText::new(text, &source.written());
        let ReadStudy {
            mut files,
            parts,
            study,
        } = load_study(source, &text, site);
        let Some(study) = study else {
            let wrong = |file: &CheckedFile| file.diagnostics.iter().any(Diagnostic::is_error);
            let place = files.iter().position(wrong).unwrap_or(0);
            return Err(files.swap_remove(place).into());
        };
        let NamedStudy {
            file,
            resolved,
            samples,
            workflow,
            data,
        } = study;
        // What is merely worth a note is told where the file is what it is about.
        for other in files.iter_mut().skip(parts) {
            let is_note = |found: &Diagnostic| found.severity == Severity::Note;
            other.diagnostics.retain(|found| !is_note(found));
        }
        let study = Study {
            file: path,
            text,
            study: file,
            resolved,
            samples,
            data,
            said: files,
        };
        Ok((study, workflow))
    }

    /// The data that the study names; the files are there.
    pub(crate) fn bind(
        &self,
        workflow: &Workflow,
        libraries: &Registry,
    ) -> Result<BoundData, Error> {
        let given = self.study.inputs.iter().filter_map(|input| {
            let StudyValue::Data(value) = &input.value else {
                return None;
            };
            Some(DataColumn {
                name: Arc::clone(&input.name.value),
                span: input.name.span,
                value: value.clone(),
            })
        });
        let given = DataShape::Columns(given.collect());
        let given: Vec<&DataShape> = [&given].into_iter().chain(&self.study.rows).collect();
        let place = (self.file.as_path(), self.text.whole());
        let bound = headwater_engine::data::bind_study(
            workflow,
            libraries,
            self.data.clone(),
            &given,
            place,
        );
        bound.map_err(|error| match error {
            Error::File {
                file, diagnostics, ..
            } if file == self.file => self.mistakes(diagnostics),
            other => other,
        })
    }

    /// The workflow with the versions of its programs, and the data with what it is. A run has copies of the files
    /// that its programs use; a plan needs none.
    pub(crate) fn load(
        &self,
        parsed: Parsed,
        bound: BoundData,
        libraries: &Registry,
        store: &dyn Store,
        copies: Option<&Path>,
    ) -> Result<StudyData, Error> {
        let loaded = parsed.with_versions(libraries, store, copies)?;
        let data = bound.identify(store, headwater_engine::limits::machine_cores())?;
        let mut baseline = data.parameters;
        let samples = self.samples.as_ref();
        let sampled =
            |place: usize| samples.and_then(|samples| samples.values[place].first().cloned());
        for (place, studied) in self.resolved.studied.iter().enumerate() {
            // Where nothing refers to a default, any value will do: which tasks there are does not depend on it.
            if !baseline.contains_key(&studied.name)
                && let Some(value) = studied.values.first().or_else(|| sampled(place))
            {
                baseline.insert(Arc::clone(&studied.name), value);
            }
        }
        baseline.extend(self.resolved.fixed.iter().cloned());
        Ok(StudyData {
            loaded,
            data_set: data.data_set,
            watched: Arc::new(data.watched),
            baseline,
        })
    }

    /// Its name.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.study.name.value
    }

    /// Inputs that are outputs at the default parameters, and which.
    pub(crate) fn references(&self, workflow: &Workflow) -> Vec<(Arc<str>, OutputBinding)> {
        let wanted = workflow.wanted();
        let inputs = self.study.inputs.iter().filter_map(|input| {
            let StudyValue::Reference(output) = &input.value else {
                return None;
            };
            let output = wanted.iter().find(|known| known.name == output.value)?;
            Some((Arc::clone(&input.name.value), output.clone()))
        });
        inputs.collect()
    }

    /// A mistake where the study names its objective.
    pub(crate) fn mistake_at_objective(&self, message: String, hint: &str) -> Error {
        self.mistake(self.study.objective.span, message, hint)
    }

    /// What is wrong where items of several inputs cannot be paired, told where the study gives them: the workflow need not
    /// know what belongs together.
    pub(crate) fn mistake_of_pairs(&self, message: String) -> Option<Error> {
        let given = self.study.inputs.iter();
        let given: Vec<&str> = given
            .filter(|input| matches!(input.value, StudyValue::Data(_)))
            .map(|input| &*input.name.value)
            .collect();
        if given.len() < 2 {
            return None;
        }
        let row: Vec<String> = given.iter().map(|name| format!("{name}: …")).collect();
        let hint = format!(
            "items that belong together are written in rows: write `rows: [{{{}}}, …]` in the study, in place of `inputs`, or in a data file that `data:` names",
            row.join(", ")
        );
        Some(self.mistake(self.study.inputs_span, message, &hint))
    }

    /// A mistake where the study names an input.
    pub(crate) fn mistake_at_input(&self, name: &str, message: String, hint: &str) -> Error {
        let found = self
            .study
            .inputs
            .iter()
            .find(|known| *known.name.value == *name);
        let span = found.map_or(self.study.name.span, |known| known.name.span);
        self.mistake(span, message, hint)
    }

    /// A mistake where the study speaks of a parameter.
    pub(crate) fn mistake_at_parameter(&self, name: &str, message: String, hint: &str) -> Error {
        let studied = self.resolved.studied.iter();
        let found = studied.into_iter().find(|studied| *studied.name == *name);
        let span = found.map_or(self.study.method_span, |studied| studied.span);
        self.mistake(span, message, hint)
    }

    /// A mistake where the study names its method.
    pub(crate) fn mistake_at_method(&self, message: String, hint: &str) -> Error {
        self.mistake(self.study.method_span, message, hint)
    }

    fn mistake(&self, span: Span, message: String, hint: &str) -> Error {
        self.mistakes(vec![
            Diagnostic::error(span, message).with_hint(hint.to_owned()),
        ])
    }

    /// Mistakes at places of the study: those in the file, or if there are none, in the first setting that has some.
    fn mistakes(&self, diagnostics: Vec<Diagnostic>) -> Error {
        let mut parts = sorted(&self.file, &self.text, diagnostics);
        let told = |part: &CheckedFile| !part.diagnostics.is_empty();
        let place = parts.iter().position(told).unwrap_or(0);
        parts.swap_remove(place).into()
    }
}

/// What a study is about.
pub struct Studied {
    /// Its name.
    pub name: Arc<str>,
    /// Its workflow.
    pub workflow: Arc<Workflow>,
    /// The parameters that vary.
    pub varied: Vec<Arc<str>>,
}

/// Reads what a study is about.
pub fn studied(path: &Path, site: &Surroundings) -> Result<Studied, Error> {
    let (study, parsed) = Study::read(&StudySource::file(path), site)?;
    let varied = study.resolved.studied.iter();
    let varied = varied.map(|studied| Arc::clone(&studied.name));
    Ok(Studied {
        name: Arc::clone(study.name()),
        workflow: parsed.workflow,
        varied: varied.collect(),
    })
}
