//! The report of a study that has run.
//!
//! Law: it tells what the run came to, and executes nothing. A file that is no report of ours is not overwritten.

use std::path::{Path, PathBuf};

use headwater_engine::results_folder::ResultsFolder;
use headwater_engine::{Error, StorePlace, whole};
use headwater_graph::RunRecord;
use headwater_report::page;
use headwater_report::study::StudySummary;
use headwater_report::study::study_report_html;

use crate::write;

/// Which report is wanted.
#[derive(Debug, Clone, Default)]
pub struct StudyReportRequest {
    /// The study file.
    pub study: PathBuf,
    /// The store that knows its runs.
    pub store: StorePlace,
    /// Which run, by its name or the beginning of it; by default the latest one of the study.
    pub run: Option<String>,
    /// Where the report goes; by default beside the results of the run.
    pub output: Option<PathBuf>,
}

/// Writes the report of a study that has run; gives what the run came to, and the file.
pub fn report_study(
    request: &StudyReportRequest,
    current: &Path,
) -> Result<(StudySummary, PathBuf), Error> {
    // A name that is mistyped is told as that.
    headwater_engine::given::read_text(&request.study)?;
    let place = StorePlace {
        read_only: true,
        ..request.store.clone()
    };
    let store = headwater_engine::open_store(&place, current)?;
    let file = std::path::absolute(&request.study).unwrap_or_else(|_| request.study.clone());
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
                format!(
                    "no run of `{}` has come to an end here",
                    request.study.display()
                ),
                Some(format!("headwater study run {}", request.study.display())),
            )
        })?,
    };
    let summary = write::remembered(&*store, &record.id)?.ok_or_else(|| {
        Error::usage(
            format!(
                "run `{}` is no run of a study, or has not come to an end",
                record.id
            ),
            Some("headwater runs ls".to_owned()),
        )
    })?;
    let path = whole::again(
        page::REPORT,
        request.output.as_deref(),
        &record.outputs,
        current,
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
