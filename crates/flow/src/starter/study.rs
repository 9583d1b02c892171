//! A study of a workflow that is there.
//!
//! Law: the study names every input and every parameter of its workflow, once. What it cannot know stands there
//! without a value, and the reader of studies then says so at that place; everything else is as the workflow has it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use headwater_graph::{
    DataOrigin, Input, Kind, OutputBinding, Parameter, Registry, ScalarType, Type,
};

use super::{StarterError, commented, is_number, quoted, starter_name};
use crate::scalar::{shown, write};
use crate::study::ancestry::Ancestry;
use crate::study::resolve::is_varied;
use crate::workflow::WorkflowFile;

/// A study of a workflow, which the study file calls `path`; `registry` holds the operations of libraries.
///
/// The objective is an output that is a number: one that needs no optional input if there is one, and of those the
/// one that the most parameters reach.
pub fn study_of(
    name: &str,
    path: &str,
    file: &WorkflowFile,
    registry: &Registry,
) -> Result<String, StarterError> {
    let name = starter_name(name)?;
    let studied = Studied::new(file, registry);
    if file.workflow.parameters.is_empty() {
        return Err(StarterError::NoParameters {
            workflow: file.workflow.name.to_string(),
        });
    }
    let numbers = studied.numbers();
    let Some(objective) = studied.objective(&numbers) else {
        return Err(studied.no_number());
    };
    let mut out = format!(
        "\
# A study of the workflow `{}`: which of its parameters matter for `{}`?
#
#   headwater check {name}.yaml        what is missing here, and mistakes
#   headwater study plan {name}.yaml   what it would compute, and what the parameter sets share
#   headwater study run {name}.yaml    compute it; the report is outputs/last/report.html
#
# Every field, with examples: docs/study-files.md. For an editor that knows JSON Schema: headwater schema study.
headwater: 1
study: {}
workflow: {}
",
        file.workflow.name,
        objective.name,
        quoted(name),
        quoted(path),
    );
    out += &studied.inputs(objective);
    out += &studied.parameters(objective);
    out += "\n# The output that is studied: a number.";
    let others: Vec<&str> = numbers
        .iter()
        .filter(|other| other.name != objective.name)
        .map(|other| &*other.name)
        .collect();
    if !others.is_empty() {
        let _ = write!(out, " There is also: {}.", others.join(", "));
    }
    let _ = write!(
        out,
        "\nobjective: {}

# How parameter sets are drawn. `moat` screens: which parameters matter at all? With k parameters that vary, r
# trajectories are r(k + 1) sets. `vbd` decomposes the variance: how much does each one matter? n samples are n(k + 2)
# sets. More: docs/studies.md
method:
  moat: {{trajectories: 10}}
  # vbd: {{samples: 128}}
seed: 42 # the same seed gives the same sets, everywhere
# until: {{ci: 0.05}} # ends the study when its intervals are narrow enough
",
        quoted(&objective.name)
    );
    Ok(out)
}

/// What is known of a workflow.
struct Studied<'a> {
    file: &'a WorkflowFile,
    /// The types of its data, where they are known: not what operations make that nothing runs.
    types: BTreeMap<Arc<str>, Type>,
    /// What programs leave.
    by_programs: BTreeSet<Arc<str>>,
    wanted: Vec<OutputBinding>,
    ancestry: Ancestry<'a>,
}

/// No input gets an output.
static NO_REFERENCES: BTreeMap<Arc<str>, OutputBinding> = BTreeMap::new();

impl<'a> Studied<'a> {
    fn new(file: &'a WorkflowFile, registry: &Registry) -> Studied<'a> {
        let workflow = &file.workflow;
        let mut types: BTreeMap<Arc<str>, Type> = BTreeMap::new();
        let mut by_programs = BTreeSet::new();
        for input in &workflow.inputs {
            types.insert(Arc::clone(&input.name), input.input_type.clone());
        }
        for task in workflow.stages.iter().flat_map(|stage| &stage.tasks) {
            if file.placeholders.contains(&task.operation) {
                continue;
            }
            let own = file.operations.iter();
            let own = own
                .into_iter()
                .find(|known| known.signature.name == task.operation);
            let Some(operation) =
                own.or_else(|| registry.operation(&task.operation).map(|found| &**found))
            else {
                continue;
            };
            for (port, data) in &task.outputs {
                if let Some(position) = operation.signature.output_index(port) {
                    let port = &operation.signature.outputs[position];
                    types.insert(Arc::clone(data), port.port_type.clone());
                    if matches!(operation.kind, Kind::Command(_)) {
                        by_programs.insert(Arc::clone(data));
                    }
                }
            }
        }
        Studied {
            file,
            types,
            by_programs,
            wanted: workflow.wanted(),
            ancestry: Ancestry::new(workflow, &NO_REFERENCES),
        }
    }

    /// The outputs that are numbers. Of a stage descriptor nothing is known but that it has outputs.
    fn numbers(&self) -> Vec<&OutputBinding> {
        let may_be = |output: &&OutputBinding| self.types.get(&output.data).is_none_or(is_number);
        self.wanted.iter().filter(may_be).collect()
    }

    /// Which of them to study.
    fn objective<'n>(&self, numbers: &[&'n OutputBinding]) -> Option<&'n OutputBinding> {
        let merit = |output: &&&OutputBinding| {
            let optional = !self.optional_behind(output).is_empty();
            let vague = !matches!(self.types.get(&output.data), Some(Type::Int | Type::Float));
            let reached = self.ancestry.parameters_behind(&output.data).len();
            (optional, vague, Reverse(reached))
        };
        numbers.iter().min_by_key(merit).copied()
    }

    /// The optional inputs that an output needs.
    fn optional_behind(&self, output: &OutputBinding) -> Vec<&'a Input> {
        let behind = self.ancestry.inputs_behind(&output.data);
        let inputs = self.file.workflow.inputs.iter();
        inputs
            .filter(|input| input.optional && behind.contains(&input.name))
            .collect()
    }

    fn no_number(&self) -> StarterError {
        let outputs: BTreeSet<&Arc<str>> = self.wanted.iter().map(|output| &output.data).collect();
        let origins = self.file.workflow.origins();
        let made = |name: &Arc<str>| matches!(origins.get(name), Some(DataOrigin::Task { .. }));
        let hidden = self
            .types
            .iter()
            .filter(|(name, found)| made(name) && !outputs.contains(name) && is_number(found));
        StarterError::NoNumber {
            workflow: self.file.workflow.name.to_string(),
            hidden: hidden.map(|(name, _)| name.to_string()).collect(),
            by_program: outputs.iter().any(|name| self.by_programs.contains(*name)),
        }
    }

    /// What the study gives the inputs.
    fn inputs(&self, objective: &OutputBinding) -> String {
        let needed = self.optional_behind(objective);
        let mut lines = Vec::new();
        for input in &self.file.workflow.inputs {
            let (name, found) = (quoted(&input.name), &input.input_type);
            let what = match found {
                Type::Bool | Type::Int | Type::Float | Type::Text => "values",
                Type::List(_) => "lists in brackets",
                _ => "files",
            };
            lines.push(if !input.optional {
                (format!("{name}:"), format!("{found}: put your {what} here"))
            } else if !needed.iter().any(|one| one.name == input.name) {
                (format!("# {name}:"), format!("{found}; may be left out"))
            } else if let Some(output) = self.reference(input, objective) {
                let line = format!("{name}: {{output: {}, at: default}}", quoted(&output.name));
                let comment =
                    format!("{found}: that output at the default parameters; or your {what}");
                (line, comment)
            } else {
                let comment = format!(
                    "{found}: put your {what} here; `{}` needs it",
                    objective.name
                );
                (format!("{name}:"), comment)
            });
        }
        if lines.is_empty() {
            return String::new();
        }
        format!(
            "
# What each input of the workflow gets: a value, a list of values, or a pattern such as \"images/*.png\". Paths are
# relative to this file. What stands in a data file already is taken from there: `data: FILE` instead of this part.
inputs:
{}",
            commented(&lines)
        )
    }

    /// An output that an input could get: of its type, made without it, and with a default for all parameters.
    fn reference(&self, input: &Input, objective: &OutputBinding) -> Option<&OutputBinding> {
        let mut parameters = self.file.workflow.parameters.iter();
        if !parameters.all(|parameter| parameter.default.is_some()) {
            return None;
        }
        self.wanted.iter().find(|output| {
            let behind = self.ancestry.inputs_behind(&output.data);
            output.name != objective.name
                && self.types.get(&output.data) == Some(&input.input_type)
                && !behind.contains(&input.name)
                && self.optional_behind(output).is_empty()
        })
    }

    /// What the study says of the parameters.
    fn parameters(&self, objective: &OutputBinding) -> String {
        let all = &self.file.workflow.parameters;
        let reached = self.ancestry.parameters_behind(&objective.data);
        let reaches = |parameter: &Parameter| reached.contains(&parameter.name);
        let any = all.iter().any(|one| is_varied(one) && reaches(one));
        let lines: Vec<(String, String)> = all
            .iter()
            .map(|parameter| {
                let name = quoted(&parameter.name);
                let about = about(parameter);
                let counts = reached.is_empty() || reaches(parameter);
                if parameter.values.len() == 1 {
                    return (format!("# {name}:"), format!("{about}; not varied"));
                }
                match (is_varied(parameter), &parameter.default) {
                    (true, _) if counts => (format!("{name}:"), about),
                    (_, Some(_)) if !counts => {
                        let why = format!("{about}; does not reach `{}`", objective.name);
                        (format!("# {name}:"), why)
                    }
                    (true, None) => {
                        let mut value = String::new();
                        match (parameter.values.first(), parameter.range) {
                            (Some(first), _) => write(first, &mut value),
                            (None, Some((low, _))) => value = shown(low),
                            (None, None) => {}
                        }
                        let why = format!("{about}; does not reach `{}`", objective.name);
                        (format!("{name}: {{value: {value}}}"), why)
                    }
                    (_, Some(_)) if any => match parameter.scalar_type {
                        ScalarType::Bool => (
                            format!("# {name}:"),
                            format!("{about}; not varied unless it is named"),
                        ),
                        ScalarType::Text => (
                            format!("# {name}: {{values: [a, b]}}"),
                            format!("{about}; not varied"),
                        ),
                        _ => (
                            format!("# {name}: {{range: [a, b]}}"),
                            format!("{about}; not varied, for it has no range"),
                        ),
                    },
                    _ => {
                        let how = match parameter.scalar_type {
                            ScalarType::Bool => String::new(),
                            ScalarType::Text => {
                                "; write {values: [a, b]} to vary it, else {value: V}".to_owned()
                            }
                            _ => "; write {range: [a, b]} to vary it, else {value: V}".to_owned(),
                        };
                        (format!("{name}:"), format!("{about}{how}"))
                    }
                }
            })
            .collect();
        format!(
            "
# Which parameters vary: those that stand here, over the values that the workflow declares. Others instead:
# {{range: [a, b]}}, {{range: [a, b], step: s}}, {{values: [a, b, c]}}; {{value: v}} keeps one from being varied.
parameters:
{}",
            commented(&lines)
        )
    }
}

/// A parameter in words.
fn about(parameter: &Parameter) -> String {
    let mut out = String::new();
    match (parameter.values.as_slice(), parameter.range) {
        ([], Some((low, high))) => {
            let _ = write!(
                out,
                "{}, {} to {}",
                parameter.scalar_type.name(),
                shown(low),
                shown(high)
            );
            if let Some(step) = parameter.step {
                let _ = write!(out, " by {}", shown(step));
            }
        }
        ([], None) => out += parameter.scalar_type.name(),
        (values, _) => {
            out += "one of ";
            for (place, value) in values.iter().enumerate() {
                if place > 0 {
                    out += ", ";
                }
                write(value, &mut out);
            }
        }
    }
    if let Some(default) = &parameter.default {
        out += "; default ";
        write(default, &mut out);
    }
    out
}
