//! A study, as a file or as values of a program.

use std::path::{Path, PathBuf};

use headwater_engine::{DataSource, Document, Setting, WorkflowSource};

/// What a study that is no file is called.
pub(crate) const STUDY: &str = "study";

/// A study, and what is given in the place of files that it names.
#[derive(Debug, Clone, Default)]
pub struct StudySource {
    /// The study, as people write it.
    pub document: Document,
    /// The workflow, in the place of the file that the study names.
    pub workflow: Option<WorkflowSource>,
    /// The data, in the place of the file that the study names, or besides what it gives itself.
    pub data: Option<DataSource>,
    /// What is to be otherwise than the study says, such as `method.vbd.samples=400`.
    pub settings: Vec<Setting>,
}

impl StudySource {
    /// A study file.
    pub fn file(path: impl Into<PathBuf>) -> StudySource {
        StudySource {
            document: Document::File(path.into()),
            ..StudySource::default()
        }
    }

    /// What would stand in a study file.
    pub fn text(text: impl Into<String>) -> StudySource {
        StudySource {
            document: Document::Text(text.into()),
            ..StudySource::default()
        }
    }

    /// Where it is, or would be.
    pub(crate) fn path(&self, folder: &Path) -> PathBuf {
        place(&self.document, folder)
    }

    /// The same, wherever somebody stands.
    pub(crate) fn absolute(&self, folder: &Path) -> PathBuf {
        let path = self.path(folder);
        std::path::absolute(&path).unwrap_or(path)
    }

    /// The settings, as people would write them.
    pub(crate) fn written(&self) -> Vec<String> {
        self.settings.iter().map(Setting::written).collect()
    }
}

/// Where a study is, or would be.
pub(crate) fn place(document: &Document, folder: &Path) -> PathBuf {
    document.path(folder, STUDY)
}

/// The path of a file.
impl From<&str> for StudySource {
    fn from(path: &str) -> StudySource {
        StudySource::file(path)
    }
}

impl From<PathBuf> for StudySource {
    fn from(path: PathBuf) -> StudySource {
        StudySource::file(path)
    }
}
