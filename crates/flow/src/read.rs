//! Files that become a workflow: workflow files, and stage descriptors.
//!
//! Law: text in, [`WorkflowFile`] and all diagnostics out. What kind of file it is shows in its tree, which is checked
//! against the shape of that format before anybody asks what it means; what is meant is read whether that found
//! mistakes or not.

use headwater_graph::{Diagnostic, Registry};

use crate::data::data_field;
use crate::descriptor::{descriptor, is_descriptor};
use crate::formats::{DESCRIPTOR_SHAPE, WORKFLOW_SHAPE};
use crate::leaf::Scope;
use crate::parse::parse;
use crate::report::{Read, Report};
use crate::source::Source;
use crate::tree::{Node, Tree};
use crate::validate::validate;
use crate::workflow::{WorkflowFile, workflow};

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
