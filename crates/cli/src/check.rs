//! `headwater check`.

use std::path::Path;
use std::process::ExitCode;

use headwater::Error;
use headwater::files::CheckedFile;
use headwater::graph::Registry;
use headwater::json::check_json;

use crate::arguments::Common;
use crate::run::site;
use crate::show;

pub(crate) fn check(file: &Path, common: &Common, libraries: &Registry) -> Result<ExitCode, Error> {
    let checked = site(common, libraries)?.check(file)?;
    let errors_of = |found: &CheckedFile| {
        let errors = found.diagnostics.iter().filter(|one| one.is_error());
        errors.count()
    };
    let errors: usize = checked.files.iter().map(errors_of).sum();
    if common.json {
        show::object(&check_json(file, &checked));
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
