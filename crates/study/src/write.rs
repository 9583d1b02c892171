//! The files that a study leaves.
//!
//! Law: a file appears whole or not at all. `results.json` and the samples are a function of the phases; the report also
//! tells how the run went, and so does `study.json`, from which the report can be made again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_engine::Error;
use headwater_engine::deliver::{Delivered, Deliverer};
use headwater_engine::results_folder::ResultsFolder;
use headwater_graph::{Index, OutputBinding, Registry, Store};
use headwater_report::json::path_text;
use headwater_report::page;
use headwater_report::study::{
    StudyFilesJson, StudySummary, TaskFacts, study_report_html, study_results_json,
};

use crate::design;
use crate::phase::EndedPhase;
use crate::tables::{self, Table, TableColumn};

/// What a run leaves in the store, for whoever wants its report later.
pub const SUMMARY: &str = "study.json";

/// Writes `results.json`, the samples with their values, and `report.html`.
pub(crate) fn results(
    summary: &StudySummary,
    phases: &[EndedPhase],
    results: &ResultsFolder,
) -> Result<Vec<PathBuf>, Error> {
    let folder = results.path();
    let mut files = Vec::new();
    let mut put = |name: String, bytes: &[u8]| {
        files.push(results.write(name, bytes)?);
        Ok::<(), Error>(())
    };
    put(
        page::REPORT.to_owned(),
        study_report_html(summary).as_bytes(),
    )?;
    put(
        "results.json".to_owned(),
        study_results_json(summary).as_bytes(),
    )?;
    for (place, phase) in phases.iter().enumerate() {
        // The last phase has the answer.
        let name = if place + 1 == summary.phases_planned {
            "samples"
        } else {
            "screen-samples"
        };
        let table = samples(summary, phase)?;
        let mut bytes = Vec::new();
        let path = folder.join(format!("{name}.parquet"));
        tables::write_parquet(&table, &mut bytes)
            .map_err(|error| tables::unwritten(&path, error))?;
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

/// Which files of results are in a folder.
pub fn study_files(folder: &Path) -> StudyFilesJson {
    let there = |name: &str| {
        let path = folder.join(name);
        path.is_file().then(|| path_text(&path))
    };
    StudyFilesJson {
        report: there(page::REPORT),
        results: there("results.json"),
        samples: there("samples.parquet"),
        screen: there("screen-samples.parquet"),
    }
}

/// The sets of a phase with the values of the objective: a row for each set.
fn samples(summary: &StudySummary, phase: &EndedPhase) -> Result<Table, Error> {
    let mut columns = design::columns(&phase.varied);
    for (item, values) in summary.items.iter().zip(&phase.summary.values) {
        let name = match summary.items.len() {
            1 => summary.objective.clone(),
            _ => format!("{}[{}]", summary.objective, item.index),
        };
        // A parameter may be called as the objective is.
        let taken = phase.varied.names.iter().any(|known| **known == *name);
        let name = if taken {
            format!("{name} (objective)")
        } else {
            name
        };
        columns.push(TableColumn::optional::<f64>(name, values.iter().copied()));
    }
    Table::new(columns).map_err(|error| Error::usage(error.to_string(), None))
}

/// Keeps the summary in the folder of the run.
pub(crate) fn remember(summary: &StudySummary, store: &dyn Store, run: &str) -> Result<(), Error> {
    let text =
        serde_json::to_string(summary).map_err(|error| Error::usage(error.to_string(), None))?;
    (store.attach(run, SUMMARY, text.as_bytes()))
        .map_err(|source| Error::io("cannot write", store.attachment_place(run, SUMMARY), source))
}

/// The summary that a run has left.
pub(crate) fn remembered(store: &dyn Store, run: &str) -> Result<Option<StudySummary>, Error> {
    let path = store.attachment_place(run, SUMMARY);
    match store.attachment(run, SUMMARY) {
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

/// How long a study took, and what became of its tasks, where it came to an end that can be read.
pub fn study_figures(store: &dyn Store, run: &str) -> Option<(f64, Vec<TaskFacts>)> {
    #[derive(serde::Deserialize)]
    struct Summary {
        facts: Facts,
    }
    #[derive(serde::Deserialize)]
    struct Facts {
        seconds: f64,
        tasks: Vec<TaskFacts>,
    }
    let bytes = store.attachment(run, SUMMARY).ok()?;
    let summary: Summary = serde_json::from_slice(&bytes).ok()?;
    Some((summary.facts.seconds, summary.facts.tasks))
}

/// Writes the outputs that were asked for, of every evaluation: each a file, and those that are values as one table.
/// Also gives things worth telling.
pub(crate) fn delivered(
    registry: &Registry,
    outputs: &[OutputBinding],
    phases: &[EndedPhase],
    results: &ResultsFolder,
) -> Result<(Vec<PathBuf>, Vec<String>), Error> {
    let folder = results.path();
    let (mut folders, mut notes) = (BTreeSet::new(), Vec::new());
    let names: Vec<&Arc<str>> = outputs.iter().map(|output| &output.name).collect();
    let mut values: BTreeMap<&Arc<str>, Vec<(Index, Option<String>)>> = BTreeMap::new();
    for ended in phases.iter().flat_map(|phase| &phase.rounds) {
        let mut deliverer = Deliverer::new(results, registry, &ended.fetcher);
        for requested in ended.enactment.requested() {
            let Some(name) = names.iter().find(|name| ***name == requested.output) else {
                continue;
            };
            let Some(item) = deliverer.deliver(&ended.enactment, requested, "")? else {
                continue;
            };
            folders.insert(folder.join(&*requested.output));
            if let Delivered::Value(value) = item.what {
                let value = value.as_scalar().map(|scalar| scalar.to_string());
                let values = values.entry(name).or_default();
                values.push((item.index, value));
            }
        }
        notes.extend(deliverer.into_notes());
    }
    for (name, mut values) in values {
        values.sort();
        let table = format!("{name}/values.csv");
        let mut bytes = Vec::new();
        tables::write_csv(&table_of(name, &values)?, &mut bytes)
            .map_err(|source| Error::io("cannot write", folder.join(&table), source))?;
        results.write(table, &bytes)?;
    }
    Ok((folders.into_iter().collect(), notes))
}

/// Values by set, and by item where there are several.
fn table_of(name: &Arc<str>, values: &[(Index, Option<String>)]) -> Result<Table, Error> {
    let sets = values.iter().map(|(index, _)| i64::from(index.0[0]));
    let sets: Vec<i64> = sets.collect();
    let items = values.iter().map(|(index, _)| Index(index.0[1..].into()));
    let items: Vec<String> = items.map(|index| index.to_string()).collect();
    let mut columns = vec![TableColumn::new("set", sets)];
    if values.iter().any(|(index, _)| index.0.len() > 1) {
        columns.push(TableColumn::from_texts(
            "index",
            items.into_iter().map(Some),
        ));
    }
    let values = values.iter().map(|(_, value)| value.as_ref());
    columns.push(TableColumn::from_texts(Arc::clone(name), values));
    Table::new(columns).map_err(|error| Error::usage(error.to_string(), None))
}
