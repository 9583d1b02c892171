//! Checking files of all kinds.
//!
//! Law: everything that is wrong with a file, and with those that it names, is reported at once; nothing is executed.

use std::path::Path;

use headwater_engine::data::{format_of, summary as summary_of_data};
use headwater_engine::given::read_text;
use headwater_engine::load::Checked;
use headwater_engine::uses;
use headwater_engine::{Document, Error, Surroundings};
use headwater_flow::DataFormat;
use headwater_graph::Diagnostic;
use headwater_study::check_study;

/// Reads a file of any kind, with the files that it names.
pub(crate) fn check(path: &Path, site: &Surroundings) -> Result<Checked, Error> {
    let libraries = &*site.libraries;
    let path = &Document::File(path.to_owned()).path(&site.folder, "");
    let text = read_text(path)?;
    let format = format_of(path);
    if format == DataFormat::Csv || headwater_flow::is_data(&text) {
        let read = headwater_flow::read_data(&text, format);
        let summary = read.value.map(|data| summary_of_data(&data, path));
        return Ok(Checked::one(path, text, read.diagnostics, summary));
    }
    if headwater_flow::is_settings(&text) {
        let read = headwater_flow::read_settings(&text);
        let wrong = read.diagnostics.iter().any(Diagnostic::is_error);
        let summary = read
            .value
            .filter(|_| !wrong)
            .map(|file| match &file.store.group {
                Some(group) => format!("settings: the store of the group is `{group}`"),
                None => "settings: a store of your own".to_owned(),
            });
        return Ok(Checked::one(path, text, read.diagnostics, summary));
    }
    if headwater_flow::is_study(&text) {
        return check_study(path, text, site);
    }
    let count = |number: usize, noun: &str| {
        format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
    };
    let read = headwater_flow::read_workflow(&text, libraries);
    if read.value.is_none() && headwater_flow::is_programs(&text) {
        let read = headwater_flow::read_programs(&text, libraries);
        let summary = read.value.map(|all| count(all.len(), "operation"));
        return Ok(Checked::one(path, text, read.diagnostics, summary));
    }
    let mut diagnostics = read.diagnostics;
    if let Some(file) = &read.value {
        diagnostics.extend(uses::look(&file.operations, path, &file.operation_places));
    }
    let wrong = diagnostics.iter().any(Diagnostic::is_error);
    let summary = read.value.filter(|_| !wrong).map(|file| {
        let workflow = &file.workflow;
        let tasks: usize = workflow.stages.iter().map(|stage| stage.tasks.len()).sum();
        format!(
            "workflow `{}`: {}, {}, {}, {}",
            workflow.name,
            count(workflow.inputs.len(), "input"),
            count(workflow.parameters.len(), "parameter"),
            count(workflow.stages.len(), "stage"),
            count(tasks, "task"),
        )
    });
    Ok(Checked::one(path, text, diagnostics, summary))
}
