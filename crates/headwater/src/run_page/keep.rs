//! The files of a report: the page, and the summary that it is made from.
//!
//! Law: a file appears whole or not at all.

use std::path::{Path, PathBuf};

use headwater_engine::results_folder::ResultsFolder;
use headwater_engine::{Error, whole};
use headwater_graph::{RunRecord, Store};
use headwater_report::page;
use headwater_report::run::{RunSummary, run_report_html};

use super::gather::link;

/// What a run leaves in the store, for whoever wants its report later.
const SUMMARY: &str = "summary.json";

/// Keeps the summary in the folder of the run.
pub(crate) fn remember(summary: &RunSummary, store: &dyn Store, run: &str) -> Result<(), Error> {
    let text =
        serde_json::to_string(summary).map_err(|error| Error::usage(error.to_string(), None))?;
    (store.attach(run, SUMMARY, text.as_bytes()))
        .map_err(|source| Error::io("cannot write", store.attachment_place(run, SUMMARY), source))
}

/// Writes the report of a run that has ended, from what the run left in the store: beside its outputs, or to `output`,
/// a file or a folder. Gives where it is.
pub fn report_run(
    store: &dyn Store,
    run: &RunRecord,
    output: Option<&Path>,
    current: &Path,
) -> Result<PathBuf, Error> {
    let mut summary = remembered(store, run)?;
    let path = whole::again(page::REPORT, output, &run.outputs, current, page::is_page)?;
    let folder = path.parent().unwrap_or(current);
    let _folder = ResultsFolder::visit(folder)?;
    summary.links = prefix(folder, &run.outputs);
    whole::write(&path, run_report_html(&summary).as_bytes())?;
    Ok(path)
}

/// The summary that a run has left.
fn remembered(store: &dyn Store, run: &RunRecord) -> Result<RunSummary, Error> {
    let path = store.attachment_place(&run.id, SUMMARY);
    let bytes = match store.attachment(&run.id, SUMMARY) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::usage(
                format!("run `{}` has left no summary", run.id),
                Some(
                    "runs of workflows leave one when they end; for a study: headwater study report"
                        .to_owned(),
                ),
            ));
        }
        Err(error) => return Err(Error::io("cannot read", path, error)),
    };
    serde_json::from_slice(&bytes).map_err(|error| {
        Error::usage(
            format!("`{}` is damaged: {error}", path.display()),
            Some(
                "give the command of the run again: what is remembered is not made again"
                    .to_owned(),
            ),
        )
    })
}

/// What a run left of its figures in the store.
#[derive(Debug, Default, serde::Deserialize)]
pub(crate) struct Figures {
    /// How long it took.
    pub(crate) seconds: f64,
    /// The definitions of its tasks.
    pub(crate) tasks: Vec<StageFigure>,
}

/// A definition of tasks, and how many there were.
#[derive(Debug, Default, serde::Deserialize)]
pub(crate) struct StageFigure {
    /// Of which stage.
    pub(crate) stage: String,
    /// How many.
    pub(crate) tasks: usize,
}

/// The figures of a run; `None` where it left none, or none that can be read.
pub(crate) fn figures(store: &dyn Store, run: &str) -> Option<Figures> {
    let bytes = store.attachment(run, SUMMARY).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// What links from a page in one folder to files in another begin with; `None` if one of them is not there.
fn prefix(page: &Path, outputs: &Path) -> Option<String> {
    let (page, outputs) = (page.canonicalize().ok()?, outputs.canonicalize().ok()?);
    let same = page.components().zip(outputs.components());
    let common = same.take_while(|(one, other)| one == other).count();
    let mut way = PathBuf::new();
    way.extend(page.components().skip(common).map(|_| ".."));
    way.extend(outputs.components().skip(common));
    let way = link(&way);
    Some(if way.is_empty() { way } else { way + "/" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_the_page_to_the_outputs() {
        let root = tempfile::tempdir().unwrap();
        let outputs = root.path().join("outputs/one: two");
        let pages = root.path().join("pages/deep");
        std::fs::create_dir_all(&outputs).unwrap();
        std::fs::create_dir_all(&pages).unwrap();
        assert_eq!(prefix(&outputs, &outputs).as_deref(), Some(""));
        assert_eq!(
            prefix(&pages, &outputs).as_deref(),
            Some("../../outputs/one%3A%20two/")
        );
        assert_eq!(
            prefix(root.path(), &outputs).as_deref(),
            Some("outputs/one%3A%20two/")
        );
        assert_eq!(prefix(&pages, &root.path().join("gone")), None);
    }
}
