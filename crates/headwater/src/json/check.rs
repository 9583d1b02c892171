//! What checking a file has shown.
//!
//! Law: the first file is the one that was asked about, the others are those that it names.

use std::path::Path;

use headwater_engine::load::{Checked, CheckedFile};
use headwater_graph::Diagnostic;
use headwater_report::json::{CheckJson, CheckedFileJson, DiagnosticJson, path_text};

/// What `headwater check --json` prints of a file, named as the user has named it.
pub fn check_json(file: &Path, checked: &Checked) -> CheckJson {
    let each = checked.files.iter().map(of_file);
    let mut each: Vec<CheckedFileJson> = each.collect();
    let errors = each.iter().map(|found| found.errors).sum();
    let own = (!each.is_empty()).then(|| each.remove(0));
    CheckJson {
        file: path_text(file),
        summary: checked.summary.clone(),
        errors,
        diagnostics: own.map_or(Vec::new(), |own| own.diagnostics),
        files: each,
    }
}

fn of_file(found: &CheckedFile) -> CheckedFileJson {
    let errors = found.diagnostics.iter();
    CheckedFileJson {
        file: path_text(&found.file),
        errors: errors.filter(|one| Diagnostic::is_error(one)).count(),
        diagnostics: DiagnosticJson::of_all(&found.file, &found.diagnostics),
    }
}
