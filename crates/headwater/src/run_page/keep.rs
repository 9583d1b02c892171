//! The files of a report: the page, and the summary that it is made from.
//!
//! Law: a file appears whole or not at all.

use std::io::Write as _;
use std::path::Path;

use headwater_remember::tables;

use super::summary::RunSummary;
use crate::Error;

/// The page, beside the outputs.
pub(crate) const PAGE: &str = "report.html";

/// What a run leaves in the store, for whoever wants its report later.
const SUMMARY: &str = "summary.json";

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    tables::replace_file(path, |file| Ok(file.write_all(bytes)?))
        .map_err(|error| Error::usage(format!("cannot write `{}`: {error}", path.display()), None))
}

/// Writes the page.
pub(crate) fn write_page(summary: &RunSummary, path: &Path) -> Result<(), Error> {
    write(path, super::run_report_html(summary).as_bytes())
}

/// Keeps the summary in the folder of the run.
pub(crate) fn remember(summary: &RunSummary, folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder)
        .map_err(|source| Error::io("cannot make folder", folder, source))?;
    let text =
        serde_json::to_string(summary).map_err(|error| Error::usage(error.to_string(), None))?;
    write(&folder.join(SUMMARY), text.as_bytes())
}
