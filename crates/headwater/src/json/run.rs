//! What a run would do, and what it came to.
//!
//! Law: an output has a value here if it is a single one; anything else has its path.

use std::path::PathBuf;
use std::sync::Arc;

use headwater_engine::deliver::{Delivered, OutputItem};
use headwater_graph::{Diagnostic, Value};
use headwater_report::json::{
    DeliveredJson, DiagnosticJson, DryRunJson, EndEventJson, Entries, OutputItemJson, RestoreJson,
    RunJson, StagePlanJson, TaskCountsJson, TaskToRunJson, path_text, rounded_seconds,
    scalar_value,
};
use headwater_study::failed_task_json;

use crate::plan::DryRun;
use crate::report::RunReport;

/// The value of an output; null where it is not a single one, or a number that is not finite.
pub fn output_value(value: &Value) -> serde_json::Value {
    let scalar = value.as_scalar();
    scalar.map_or(serde_json::Value::Null, |scalar| scalar_value(&scalar))
}

fn item_json(item: &OutputItem) -> OutputItemJson {
    let from = item.values.iter();
    let from = from.map(|(input, value): &(Arc<str>, String)| (input.to_string(), value.clone()));
    OutputItemJson {
        index: item.index.to_string(),
        what: match &item.what {
            Delivered::Path(path) => DeliveredJson::Path(path_text(path)),
            Delivered::Value(value) => DeliveredJson::Value(output_value(value)),
        },
        from: from.collect::<Entries<String>>(),
        missing: item.missing,
    }
}

/// What the readers of files said.
fn said(files: &[(PathBuf, String, Vec<Diagnostic>)]) -> Vec<DiagnosticJson> {
    let files = files.iter();
    files
        .flat_map(|(file, _, found)| DiagnosticJson::of_all(file, found))
        .collect()
}

impl RunReport {
    /// What `headwater run --json` prints.
    pub fn json(&self) -> RunJson {
        let outputs = self.outputs.iter();
        let items = |items: &Vec<OutputItem>| items.iter().map(item_json).collect();
        RunJson {
            run: self.run.clone(),
            workflow: self.workflow.to_string(),
            status: self.status().name(),
            counts: TaskCountsJson::of(&self.counts, Some(self.left)),
            recomputed: self.counts.recomputed,
            seconds: rounded_seconds(self.seconds),
            stopped: self.stopped,
            folder: path_text(&self.folder),
            report: self.report.as_deref().map(path_text),
            outputs: outputs
                .map(|(name, found)| (name.to_string(), items(found)))
                .collect(),
            failures: self.failures.iter().map(failed_task_json).collect(),
            errors: self.errors.clone(),
            notes: self.notes.clone(),
            diagnostics: said(&self.diagnostics),
        }
    }

    /// The last event of the run; `exit` is the exit code of the command.
    pub fn end_json(&self, exit: u8) -> EndEventJson {
        EndEventJson {
            event: "end",
            status: self.status().name(),
            exit,
            run: self.run.clone(),
            folder: path_text(&self.folder),
            seconds: rounded_seconds(self.seconds),
            counts: TaskCountsJson::of(&self.counts, Some(self.left)),
        }
    }
}

impl DryRun {
    /// What `headwater run --dry-run --json` prints.
    pub fn json(&self) -> DryRunJson {
        let stages = self.stages.iter().map(|stage| StagePlanJson {
            stage: stage.name.to_string(),
            tasks: stage.tasks,
            to_execute: stage.execute,
        });
        let to_run = self.to_run.iter().map(|(address, recipe)| TaskToRunJson {
            task: address.clone(),
            recipe: recipe.hex(),
        });
        DryRunJson {
            workflow: self.workflow.to_string(),
            tasks: self.tasks,
            to_execute: self.execute,
            reused: self.tasks - self.execute - self.cut_off,
            cut_off: self.cut_off,
            restore: RestoreJson {
                products: self.restore,
                bytes: self.restore_bytes,
            },
            stages: stages.collect(),
            open: self.open.iter().map(ToString::to_string).collect(),
            to_run: to_run.collect(),
            notes: self.notes.clone(),
            diagnostics: said(&self.diagnostics),
        }
    }
}
