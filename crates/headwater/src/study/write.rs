//! The files that a study leaves.
//!
//! Law: a file appears whole or not at all. `results.json` and the samples are a function of the phases; the report also
//! tells how the run went, and so does `study.json`, from which the report can be made again.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_graph::OutputBinding;
use headwater_remember::tables::{self, Table, TableColumn};

use super::design;
use super::phase::{EndedPhase, Site};
use super::summary::StudySummary;
use super::{report, results};
use crate::Error;
use crate::deliver::Deliverer;

/// What a run leaves in the store, for whoever wants its report later.
pub(crate) const SUMMARY: &str = "study.json";

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    tables::replace_file(path, |file| Ok(file.write_all(bytes)?))
        .map_err(|error| design::unwritten(path, error))
}

/// Writes `results.json`, the samples with their values, and `report.html`.
pub(super) fn results(
    summary: &StudySummary,
    phases: &[EndedPhase],
    folder: &Path,
) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    let mut put = |name: String, bytes: &[u8]| {
        let path = folder.join(name);
        write(&path, bytes)?;
        files.push(path);
        Ok::<(), Error>(())
    };
    put(
        "report.html".to_owned(),
        report::study_report_html(summary).as_bytes(),
    )?;
    put(
        "results.json".to_owned(),
        results::study_results_json(summary).as_bytes(),
    )?;
    for (place, phase) in phases.iter().enumerate() {
        // The last phase has the answer.
        let name = match place + 1 == phases.len() {
            true => "samples",
            false => "screen-samples",
        };
        let table = samples(summary, phase)?;
        let mut bytes = Vec::new();
        let path = folder.join(format!("{name}.parquet"));
        tables::write_parquet(&table, &mut bytes)
            .map_err(|error| design::unwritten(&path, error))?;
        put(format!("{name}.parquet"), &bytes)?;
        let mut bytes = Vec::new();
        let path = folder.join(format!("{name}.csv"));
        tables::write_csv(&table, &mut bytes)
            .map_err(|source| Error::io("cannot write", path, source))?;
        put(format!("{name}.csv"), &bytes)?;
    }
    if !summary.facts.failures.is_empty() {
        let all = summary.facts.failures.join("\n\n") + "\n";
        put("failures.txt".to_owned(), all.as_bytes())?;
    }
    Ok(files)
}

/// The sets of a phase with the values of the objective: a row for each set.
fn samples(summary: &StudySummary, phase: &EndedPhase) -> Result<Table, Error> {
    let mut columns = design::columns(&phase.varied);
    for (item, values) in summary.items.iter().zip(&phase.summary.values) {
        let name = match summary.items.len() {
            1 => summary.objective.clone(),
            _ => format!("{}[{}]", summary.objective, item.index),
        };
        columns.push(TableColumn::optional::<f64>(name, values.iter().copied()));
    }
    Table::new(columns).map_err(|error| Error::usage(error.to_string(), None))
}

/// Keeps the summary in the folder of the run.
pub(super) fn remember(summary: &StudySummary, folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder)
        .map_err(|source| Error::io("cannot make folder", folder, source))?;
    let text =
        serde_json::to_string(summary).map_err(|error| Error::usage(error.to_string(), None))?;
    write(&folder.join(SUMMARY), text.as_bytes())
}

/// The summary that a run has left.
pub(super) fn remembered(folder: &Path) -> Result<Option<StudySummary>, Error> {
    let path = folder.join(SUMMARY);
    match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("cannot read", path, error)),
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            Error::usage(
                format!("`{}` is damaged: {error}", path.display()),
                Some(
                    "give `headwater study run` again: what is remembered is not made again"
                        .to_owned(),
                ),
            )
        }),
    }
}

/// Writes the outputs that were asked for, of every evaluation; also gives things worth telling.
pub(super) fn delivered(
    site: &Site<'_>,
    outputs: &[OutputBinding],
    phases: &[EndedPhase],
    folder: &Path,
) -> Result<(Vec<PathBuf>, Vec<String>), Error> {
    let (mut folders, mut notes) = (Vec::new(), Vec::new());
    let names: Vec<&Arc<str>> = outputs.iter().map(|output| &output.name).collect();
    for ended in phases.iter().flat_map(|phase| &phase.rounds) {
        let mut deliverer = Deliverer::new(folder, site.ground.registry, &ended.fetcher);
        for requested in ended.enactment.requested() {
            if !names.contains(&&requested.output) {
                continue;
            }
            if deliverer
                .deliver(&ended.enactment, requested, "")?
                .is_some()
            {
                let place = folder.join(&*requested.output);
                if !folders.contains(&place) {
                    folders.push(place);
                }
            }
        }
        notes.extend(deliverer.into_notes());
    }
    Ok((folders, notes))
}
