//! What `--json` prints of plans and runs of studies.
//!
//! Law: a conversion computes nothing that is not asked for elsewhere too; which fields there are, and what they mean, is
//! said in `headwater_report`.

use headwater_engine::load::CheckedFile;
use headwater_report::json::{DiagnosticJson, path_text};
use headwater_report::study::{StudyJson, StudyRunJson};

use crate::run::StudyRun;
use crate::write::study_files;

/// What the readers of files said.
fn said(files: &[CheckedFile]) -> Vec<DiagnosticJson> {
    let files = files.iter();
    files
        .flat_map(|file| DiagnosticJson::of_all(&file.file, &file.diagnostics))
        .collect()
}

impl StudyRun {
    /// What `headwater study run --json` prints. The files of the results are named as far as they are there now.
    pub fn json(&self) -> StudyRunJson {
        let (folder, files) = (path_text(&self.folder), study_files(&self.folder));
        StudyRunJson {
            study: StudyJson::of(&self.summary, folder, files),
            status: self.status().name(),
            errors: self.errors.clone(),
            diagnostics: said(&self.said),
        }
    }
}
