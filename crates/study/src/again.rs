//! The report of a study that has run.
//!
//! Law: it tells what the run came to, and executes nothing. A file that is no report of ours is not overwritten.

use std::path::{Path, PathBuf};

use headwater_engine::results_folder::ResultsFolder;
use headwater_engine::{Document, Error, Surroundings, whole};
use headwater_graph::RunRecord;
use headwater_report::page;
use headwater_report::study::StudySummary;
use headwater_report::study::study_report_html;

use crate::source::STUDY;
use crate::write;

/// Which report is wanted.
#[derive(Debug, Clone, Default)]
pub struct StudyReportRequest {
    /// The study.
    pub study: Document,
    /// Which run, by its name or the beginning of it; by default the latest one of the study.
    pub run: Option<String>,
    /// Where the report goes; by default beside the results of the run.
    pub output: Option<PathBuf>,
}

/// Writes the report of a study that has run; gives what the run came to, and the file.
pub fn report_study(
    request: &StudyReportRequest,
    site: &Surroundings,
) -> Result<(StudySummary, PathBuf), Error> {
    // A name that is mistyped is told as that.
    let (study, _) = request.study.read(&site.folder, STUDY)?;
    let store = site.open_to_read()?;
    let file = std::path::absolute(&study).unwrap_or_else(|_| study.clone());
    let record = match &request.run {
        Some(text) => {
            let record = headwater_engine::runs::find_run(&*store, text)?;
            if record.file != file {
                return Err(Error::usage(
                    format!(
                        "run `{}` is of `{}`, not of this study",
                        record.id,
                        record.file.display()
                    ),
                    Some("`headwater runs ls` lists all runs".to_owned()),
                ));
            }
            record
        }
        None => latest(store.runs(usize::MAX >> 1)?, &file, |run| {
            store.has_attachment(run, write::SUMMARY)
        })
        .ok_or_else(|| {
            Error::usage(
                format!("no run of `{}` has ended here", study.display()),
                Some(format!("headwater study run {}", study.display())),
            )
        })?,
    };
    let summary = write::remembered(&*store, &record.id)?.ok_or_else(|| {
        Error::usage(
            format!(
                "run `{}` is not a run of a study, or has not ended",
                record.id
            ),
            Some("headwater runs ls".to_owned()),
        )
    })?;
    let path = whole::again(
        page::REPORT,
        request.output.as_deref(),
        &record.outputs,
        &site.folder,
        page::is_page,
    )?;
    let _folder = path.parent().map(ResultsFolder::visit).transpose()?;
    whole::write(&path, study_report_html(&summary).as_bytes())?;
    Ok((summary, path))
}

/// The latest run of a study that came to an end.
fn latest(
    runs: Vec<RunRecord>,
    file: &Path,
    came_to_an_end: impl Fn(&str) -> bool,
) -> Option<RunRecord> {
    let mut runs = runs.into_iter();
    runs.find(|run| run.file == file && came_to_an_end(&run.id))
}
