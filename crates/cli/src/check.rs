//! `headwater check`.

use std::path::Path;
use std::process::ExitCode;

use headwater::Error;
use headwater::graph::{Diagnostic, Registry};
use serde_json::json;

use crate::arguments::Common;
use crate::show;

pub(crate) fn check(file: &Path, common: &Common, libraries: &Registry) -> Result<ExitCode, Error> {
    let checked = headwater::check_file(file, libraries)?;
    let errors = checked
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .count();
    if common.json {
        let list: Vec<serde_json::Value> = checked.diagnostics.iter().map(describe).collect();
        show::line(&json!({"file": file, "errors": errors, "diagnostics": list}).to_string());
    } else {
        show::diagnostics(file, &checked.text, &checked.diagnostics);
        match &checked.summary {
            Some(summary) => show::line(&format!("{}: {summary}", file.display())),
            None => show::talk(&format!(
                "{} in {}",
                show::count(errors, "mistake"),
                file.display()
            )),
        }
    }
    Ok(ExitCode::from(if errors == 0 { 0 } else { 2 }))
}

pub(crate) fn describe(diagnostic: &Diagnostic) -> serde_json::Value {
    json!({
        "severity": diagnostic.severity.to_string(),
        "line": diagnostic.span.map(|span| span.line),
        "column": diagnostic.span.map(|span| span.column),
        "message": diagnostic.message,
        "hint": diagnostic.hint,
    })
}
