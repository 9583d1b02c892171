//! Workflow files.
//!
//! Law: text in, [`WorkflowFile`] and all diagnostics out. The tree is checked against the shape of the
//! format first, then the meaning of its parts, then the workflow as a whole; each step goes on after the
//! mistakes of the one before.

pub(crate) mod operation;
pub(crate) mod parameter;
pub(crate) mod places;
pub(crate) mod programs;
mod stage;
pub(crate) mod template;

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::{
    Diagnostic, Input, KnownBy, Operation, OutputBinding, Place, Registry, Span, Type, Workflow,
    check,
};

use crate::data::data_field;
use crate::descriptor::{descriptor, is_descriptor};
use crate::formats::{DESCRIPTOR_SHAPE, IDENTITY_WORDS, INPUT, WORKFLOW, WORKFLOW_SHAPE};
use crate::leaf::{self, Scope};
use crate::parse::parse;
use crate::report::{Read, Report};
use crate::shape::Fields;
use crate::source::Source;
use crate::tree::{Node, Tree};
use crate::validate::validate;
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

/// Reads a workflow file, YAML or JSON. `registry` holds the operations and types that libraries bring. A stage
/// descriptor is known by its shape and read as a workflow of one stage; see
/// [`read_descriptor`](crate::read_descriptor).
pub fn read_workflow(text: &str, registry: &Registry) -> Read<WorkflowFile> {
    read(text, registry, is_descriptor)
}

/// Reads a stage descriptor: the JSON of the code generator of the region templates framework, which describes one
/// stage and its tasks. It becomes a workflow of that stage.
///
/// - Data regions (`dr`) are inputs and outputs of the workflow, of type `file`. Scalars are its parameters: `uchar`
///   and `int` are ints, `float` and `double` floats, without default unless the file gives one. A `float_array`
///   among `args` is an input of type `list of float`.
/// - Between tasks, `mat` and `float_array` are arrays and `mat_vect` is a list of arrays. What a task has with
///   `io: forward` it passes on and does not look at: the data keeps its name and its maker, so whoever reads it
///   later reads from the maker, and the task that passed it on does not wait for it.
/// - `::library::Group::function` is the operation `library/Group.function`. If `registry` has it, that one is used;
///   if not, it is a placeholder that can be planned and not run. A real number for an int is truncated, as it is in
///   the language of these functions.
pub fn read_descriptor(text: &str, registry: &Registry) -> Read<WorkflowFile> {
    read(text, registry, |_| true)
}

fn read(
    text: &str,
    registry: &Registry,
    as_descriptor: impl Fn(&Node) -> bool,
) -> Read<WorkflowFile> {
    let source = Source::new(text);
    let mut report = Report::default();
    let tree = parse(&source, &mut report);
    read_tree(tree, &source, registry, report, as_descriptor)
}

/// Goes on after a text has been parsed.
pub(crate) fn read_tree(
    tree: Tree,
    source: &Source,
    registry: &Registry,
    mut report: Report,
    as_descriptor: impl Fn(&Node) -> bool,
) -> Read<WorkflowFile> {
    let Some(root) = tree.root.filter(|root| !root.is_nothing()) else {
        if !tree.damaged {
            let hint = "a workflow file and a study file begin with `headwater: 1`";
            report.error_with(source.end(), "this file is empty", hint);
        }
        return report.finish(None);
    };
    let described = as_descriptor(&root);
    if let Some(foreign) = foreign(&root).filter(|_| !described) {
        report.push(foreign);
        return report.finish(None);
    }
    let scope = Scope { source, registry };
    let parsed = report.len();
    let shape = if described {
        &DESCRIPTOR_SHAPE
    } else {
        &WORKFLOW_SHAPE
    };
    validate(&root, shape, scope, tree.damaged, &mut report);
    let file = if tree.damaged || root.entries().is_none() {
        None
    } else if described {
        Some(descriptor(&root, registry, &mut report))
    } else {
        Some(workflow(&root, scope, &mut report))
    };
    report.forget_patched(parsed, &tree.patches);
    report.finish(file)
}

/// Other files of Headwater, which would only give a heap of unknown fields.
fn foreign(root: &Node) -> Option<Diagnostic> {
    if root.get("workflow").is_some() && root.get("study").is_none() {
        return None;
    }
    let (key, message, hint) = if let Some((key, _)) = root.get("study") {
        (
            key,
            "this is a study file, not a workflow file",
            "give the file that its `workflow:` names",
        )
    } else if root.get("stages").is_some() || root.get("operations").is_some() {
        return None;
    } else if let Some(key) = data_field(root) {
        (
            key,
            "this is a data file, not a workflow file",
            "data files are given with `--inputs`; a workflow file has `workflow:` and `stages:`",
        )
    } else {
        return None;
    };
    Some(Diagnostic::error(key.span, message).with_hint(hint))
}

fn workflow(root: &Node, scope: Scope<'_>, report: &mut Report) -> WorkflowFile {
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
