//! What a run was given, in words.

use std::path::Path;
use std::sync::Arc;

use headwater_engine::Setting;
use headwater_engine::data::RunData;
use headwater_graph::text::cut;
use headwater_graph::{Scalar, Value, Workflow};
use headwater_report::run::{RunInput, RunParameter};

/// So many items of an input are named.
const INPUTS: usize = 5;
/// Longer values are cut.
const LONGEST: usize = 200;

/// What a run was given, as far as its report tells it.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) inputs: Vec<RunInput>,
    pub(crate) parameters: Vec<RunParameter>,
}

impl Given {
    /// From the data that is bound to a workflow.
    pub(crate) fn of(workflow: &Workflow, data: &RunData, settings: &[Setting]) -> Given {
        let input = |name: &Arc<str>| {
            let items = data
                .data_set
                .column(name)
                .map_or(&[][..], |column| &column.items);
            let shown = items.iter().take(INPUTS);
            let called = |value: Option<&Value>| value.map_or("nothing".to_owned(), called);
            RunInput {
                name: name.to_string(),
                items: items.len(),
                shown: shown
                    .map(|item| called(item.as_ref().map(|item| &item.value)))
                    .collect(),
            }
        };
        let is_set = |name: &str| {
            let mut names = settings.iter().map(Setting::name);
            names.any(|set| set == name)
        };
        let parameter = |name: &Arc<str>, default: Option<&Scalar>| {
            let from = if is_set(name) {
                "--set"
            } else if data.given.contains(name) {
                "the data file"
            } else {
                "the workflow"
            };
            let value = data.parameters.get(name).or(default);
            let value = value.map(ToString::to_string);
            RunParameter {
                name: name.to_string(),
                value: cut(&value.unwrap_or_default(), LONGEST),
                from: from.to_owned(),
            }
        };
        Given {
            inputs: workflow.inputs.iter().map(|one| input(&one.name)).collect(),
            parameters: workflow
                .parameters
                .iter()
                .map(|one| parameter(&one.name, one.default.as_ref()))
                .collect(),
        }
    }
}

/// What people call a value.
fn called(value: &Value) -> String {
    let place = |path: Option<&Path>| path.map(|path| path.display().to_string());
    let text = match value {
        Value::File(file) => place(file.handle.path().map(|path| &**path)),
        Value::Directory(directory) => place(directory.path.as_deref()),
        Value::List(items) => Some(format!("a list of {}", items.len())),
        other => other.as_scalar().map(|scalar| scalar.to_string()),
    };
    cut(&text.unwrap_or_default(), LONGEST)
}
