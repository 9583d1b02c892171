//! What a workflow file says: its parts, and the workflow as a whole.
//!
//! Law: a tree in, [`WorkflowFile`] and all diagnostics out. The meaning of the parts is checked first, then the
//! workflow as a whole; each step goes on after the mistakes of the one before.

pub(crate) mod operation;
pub(crate) mod parameter;
pub(crate) mod places;
mod stage;
pub(crate) mod template;

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::{
    Input, KnownBy, Operation, OutputBinding, Place, Registry, Span, Type, Workflow, check,
};

use crate::formats::{IDENTITY_WORDS, INPUT, WORKFLOW};
use crate::leaf::{self, Scope};
use crate::report::Report;
use crate::shape::Fields;
use crate::tree::Node;
use crate::workflow::operation::{OperationPlaces, Operations, operations};
use crate::workflow::parameter::parameters;
use crate::workflow::places::Places;
use crate::workflow::stage::stages;

/// What a workflow file says.
#[derive(Debug, Clone)]
pub struct WorkflowFile {
    /// The workflow.
    pub workflow: Workflow,
    /// The operations that the file declares, in its order. Their version is empty and `used_files` too:
    /// whoever opens files fills them in.
    pub operations: Vec<Operation>,
    /// Where the parts of the workflow stand in the file.
    pub places: BTreeMap<Place, Span>,
    /// Where the operations, and the files that they name, stand in the file.
    pub operation_places: OperationPlaces,
    /// Which of the operations are known by their ports alone, because the file is a stage descriptor and no library
    /// has them. Tasks that use them can be planned and not run.
    pub placeholders: Vec<Arc<str>>,
}

/// The workflow that a tree says, after it was checked against the grammar.
pub(crate) fn workflow(root: &Node, scope: Scope<'_>, report: &mut Report) -> WorkflowFile {
    let fields = Fields::of(root, &WORKFLOW);
    let mut places = Places::default();
    let name = fields
        .get("workflow")
        .and_then(leaf::text)
        .unwrap_or_default();
    let inputs = fields
        .get("inputs")
        .map(|node| inputs(node, scope, &mut places, report))
        .unwrap_or_default();
    let unreadable = |node: &Node| node.entries().is_none() && !node.is_nothing();
    places.hidden_results = fields.get("inputs").is_some_and(unreadable);
    let mut workflow = Workflow {
        name,
        inputs,
        ..Workflow::default()
    };
    if let Some(node) = fields.get("parameters") {
        places.hidden_parameters = unreadable(node);
        let (read, doubtful) = parameters(node, report);
        for (key, value) in node.entries().unwrap_or_default() {
            if let Some(name) = leaf::text(key) {
                places.put(Place::Parameter(name), key.span, value.span);
            }
        }
        workflow.parameters = read;
        places.doubtful_names.extend(doubtful);
    }
    let Operations {
        all,
        doubtful,
        places: operation_places,
    } = fields
        .get("operations")
        .map(|node| operations(node, scope, report))
        .unwrap_or_default();
    let names_hidden = fields.get("operations").is_some_and(unreadable);
    places.doubtful_operations = doubtful;
    let errors = report.error_starts();
    match fields.get("stages") {
        Some(node) => {
            places.hidden_results |= node.entries().is_none();
            workflow.stages = stages(node, scope, &errors, &mut places, report);
        }
        None => places.hidden_results = true,
    }
    for task in workflow.stages.iter().flat_map(|stage| &stage.tasks) {
        if places.doubtful_operations.contains(&task.operation) {
            places.doubtful_names.extend(task.outputs.values().cloned());
        }
        if names_hidden && !task.operation.contains('/') {
            places
                .doubtful_operations
                .insert(Arc::clone(&task.operation));
        }
    }
    if let Some(node) = fields.get("outputs") {
        workflow.outputs = outputs(node, &mut places, report);
    }
    whole(&workflow, &all, root, scope.registry, &places, report);
    WorkflowFile {
        workflow,
        operation_places,
        operations: all,
        places: places.spans(),
        placeholders: Vec::new(),
    }
}

/// Checks the workflow as a whole.
pub(crate) fn whole(
    workflow: &Workflow,
    operations: &[Operation],
    root: &Node,
    registry: &Registry,
    places: &Places,
    report: &mut Report,
) {
    let mut known = registry.clone();
    for operation in operations {
        // The names are unique: clashes have been reported and left out.
        let _ = known.register(None, operation.clone());
    }
    let failed = !report.error_starts().is_empty();
    let span = match root.entries().and_then(|entries| entries.first()) {
        Some((key, _)) => key.span,
        None => root.span,
    };
    let problems = check(workflow, &known);
    for diagnostic in places.diagnostics(problems, workflow, span, failed) {
        report.push(diagnostic);
    }
}

fn inputs(node: &Node, scope: Scope<'_>, places: &mut Places, report: &mut Report) -> Vec<Input> {
    let mut inputs = Vec::new();
    for (key, value) in node.entries().unwrap_or_default() {
        let Some(name) = leaf::text(key) else {
            continue;
        };
        let fields = Fields::of(value, &INPUT);
        let type_node = if value.is_scalar() {
            Some(value)
        } else {
            fields.get("type")
        };
        let input_type = type_node.and_then(|node| leaf::type_name(node, scope.registry).ok());
        if input_type.is_none() {
            places.doubtful_names.insert(Arc::clone(&name));
        }
        let optional = fields
            .get("optional")
            .and_then(|node| leaf::flag(node).ok());
        places.put(Place::Input(Arc::clone(&name)), key.span, value.span);
        let word = fields
            .get("identity")
            .and_then(|node| leaf::word(node, IDENTITY_WORDS).ok());
        if let (Some((key, _)), Some(found)) = (fields.entry("identity"), &input_type)
            && !is_on_disk(found, scope.registry)
        {
            let message = format!("`identity` is for files, and `{name}` is of type {found}");
            let hint = "leave it out: such values are known by what they are";
            report.error_with(key.span, message, hint);
        }
        inputs.push(Input {
            name,
            input_type: input_type.unwrap_or(Type::Any),
            optional: optional.unwrap_or(false),
            identity: match word {
                Some("name") => KnownBy::Name,
                _ => KnownBy::Content,
            },
        });
    }
    inputs
}

/// Whether values of a type come from files or directories, alone or in lists.
fn is_on_disk(found: &Type, registry: &Registry) -> bool {
    let mut element = found;
    while let Some(inner) = element.element() {
        element = inner;
    }
    matches!(element, Type::File | Type::Directory) || registry.codec(element).is_some()
}

fn outputs(node: &Node, places: &mut Places, report: &mut Report) -> Vec<OutputBinding> {
    let mut outputs = Vec::new();
    let mut put = |name: Arc<str>, data: Arc<str>, key: &Node, value: &Node| {
        let place = Place::Output(Arc::clone(&name));
        places.put(place, key.span, value.span);
        outputs.push(OutputBinding { name, data });
    };
    let mut seen = std::collections::BTreeSet::new();
    for item in node.items().unwrap_or_default() {
        let Some(name) = leaf::text(item) else {
            continue;
        };
        if seen.insert(Arc::clone(&name)) {
            put(Arc::clone(&name), name, item, item);
        } else {
            report.error(item.span, format!("output `{name}` is named twice"));
        }
    }
    for (key, value) in node.entries().unwrap_or_default() {
        if let (Some(name), Some(data)) = (leaf::text(key), leaf::text(value)) {
            put(name, data, key, value);
        }
    }
    outputs
}
