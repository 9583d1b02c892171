//! `headwater check`.

use std::path::Path;
use std::process::ExitCode;

use headwater::Error;
use headwater::files::CheckedFile;
use headwater::graph::Registry;
use serde_json::json;

use crate::arguments::Common;
use crate::show;

pub(crate) fn check(file: &Path, common: &Common, libraries: &Registry) -> Result<ExitCode, Error> {
    let checked = headwater::check_file(file, libraries)?;
    let errors_of = |found: &CheckedFile| {
        let errors = found.diagnostics.iter().filter(|one| one.is_error());
        errors.count()
    };
    let errors: usize = checked.files.iter().map(errors_of).sum();
    if common.json {
        let list = |found: &CheckedFile| show::describe_all(&found.file, &found.diagnostics);
        // The first file is the one that was asked about, the others are those that it names.
        let (own, named) = match checked.files.split_first() {
            Some((own, named)) => (list(own), named),
            None => (Vec::new(), &[][..]),
        };
        let named = named.iter().map(|found| {
            let (errors, list) = (errors_of(found), list(found));
            json!({"file": found.file, "errors": errors, "diagnostics": list})
        });
        let object = json!({
            "file": file,
            "summary": checked.summary,
            "errors": errors,
            "diagnostics": own,
            "files": named.collect::<Vec<_>>(),
        });
        show::line(&object.to_string());
    } else {
        for found in &checked.files {
            show::diagnostics(&found.file, &found.text, &found.diagnostics);
        }
        match &checked.summary {
            Some(summary) => show::line(&format!("{}: {summary}", file.display())),
            None => {
                for found in checked.files.iter().filter(|found| errors_of(found) > 0) {
                    let count = show::count(errors_of(found), "mistake");
                    show::talk(&format!("{count} in {}", found.file.display()));
                }
            }
        }
    }
    Ok(ExitCode::from(if errors == 0 { 0 } else { 2 }))
}
