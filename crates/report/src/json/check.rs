//! Mistakes in files, and what checking a file has shown.
//!
//! Law: a mistake names its file, so that lists of mistakes of several files can be joined.

use std::path::Path;

use headwater_graph::Diagnostic;
use serde::Serialize;

use super::path_text;

/// What the reader of a file said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiagnosticJson {
    /// The file.
    pub file: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// Where, from 1; null for the file as a whole.
    pub line: Option<usize>,
    /// Where in the line, from 1.
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl DiagnosticJson {
    /// From what the reader of `file` said.
    pub fn of(file: &Path, diagnostic: &Diagnostic) -> DiagnosticJson {
        DiagnosticJson {
            file: path_text(file),
            severity: diagnostic.severity.to_string(),
            line: diagnostic.span.map(|span| span.line),
            column: diagnostic.span.map(|span| span.column),
            message: diagnostic.message.clone(),
            hint: diagnostic.hint.clone(),
        }
    }

    /// Everything that the reader of `file` said.
    pub fn of_all(file: &Path, diagnostics: &[Diagnostic]) -> Vec<DiagnosticJson> {
        let all = diagnostics.iter();
        all.map(|diagnostic| DiagnosticJson::of(file, diagnostic))
            .collect()
    }
}

/// What checking a file has shown: `headwater check`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckJson {
    /// The file, as it was named.
    pub file: String,
    /// What it holds, in words; null where it cannot be used.
    pub summary: Option<String>,
    /// How many errors there are, in all files together.
    pub errors: usize,
    /// What is to be said of the file itself.
    pub diagnostics: Vec<DiagnosticJson>,
    /// The files that it names.
    pub files: Vec<CheckedFileJson>,
}

/// What was found in a file that another one names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedFileJson {
    /// The file.
    pub file: String,
    /// How many errors it has.
    pub errors: usize,
    /// What is to be said of it.
    pub diagnostics: Vec<DiagnosticJson>,
}
