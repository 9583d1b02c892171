//! Columns of a table that are no inputs: they name its rows.
//!
//! Law: a column is a label only where it cannot be a slip of the pen.

use std::sync::Arc;

use headwater_enact::Label;
use headwater_flow::{DataRow, Datum, DatumValue};
use headwater_graph::{Diagnostic, Input, Severity, Span, Value};

use super::Binder;

#[derive(Debug)]
pub(crate) struct DraftLabel {
    pub(crate) label: Label,
    /// As it is written in the saved data file.
    pub(crate) written: Vec<Datum>,
}

impl Binder<'_> {
    /// Columns of a table that only name its rows: those that are no inputs, unless one may be a slip of the pen. It
    /// may if a required input has no column, or if it is called nearly like an input without one.
    pub(crate) fn label_names(&mut self, names: &[(Arc<str>, Span)]) -> Vec<Arc<str>> {
        let inputs = &self.workflow.inputs;
        let is_input = |name: &Arc<str>| inputs.iter().any(|input| input.name == *name);
        let has_column = |input: &&Input| names.iter().any(|(name, _)| *name == input.name);
        let absent: Vec<&Input> = inputs.iter().filter(|input| !has_column(input)).collect();
        let near = |name: &str| {
            absent
                .iter()
                .map(|input| strsim::damerau_levenshtein(&input.name, name))
                .any(|distance| distance <= 2 && distance * 2 < name.chars().count())
        };
        let all = names.iter().map(|(name, _)| name);
        let labels: Vec<Arc<str>> = if absent.iter().all(|input| input.optional) {
            all.filter(|name| !is_input(name) && !near(name))
                .cloned()
                .collect()
        } else {
            Vec::new()
        };
        if !labels.is_empty() {
            let quoted: Vec<String> = labels.iter().map(|name| format!("`{name}`")).collect();
            self.diagnostics.push(Diagnostic {
                severity: Severity::Note,
                span: None,
                message: format!(
                    "{} no input of the workflow, and only names rows",
                    match quoted.as_slice() {
                        [one] => format!("column {one} is"),
                        several => format!("each of the columns {} is", several.join(", ")),
                    }
                ),
                hint: None,
            });
        }
        labels
    }
}

/// The column at `place` as a label.
pub(crate) fn label(name: &Arc<str>, place: usize, rows: &[DataRow]) -> DraftLabel {
    let written: Vec<Datum> = rows
        .iter()
        .map(|row| {
            let datum = row.cells.get(place).cloned().flatten();
            datum.unwrap_or_else(|| Datum::new(DatumValue::Null, row.span))
        })
        .collect();
    let value = |datum: &Datum| datum.text().map_or(Value::Null, Value::Text);
    let label = Label {
        name: Arc::clone(name),
        source: 0,
        values: written.iter().map(value).collect(),
    };
    DraftLabel { label, written }
}
