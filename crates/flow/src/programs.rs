//! Files of operations alone.
//!
//! Law: a file with `headwater` and `operations` is enough where no tasks are wanted, since the program that reads it
//! makes the calls. A workflow file is read as such, with everything that can be wrong in it, and its operations are
//! taken.

use headwater_graph::{Operation, Registry};

use crate::descriptor::is_descriptor;
use crate::formats::{PROGRAMS, PROGRAMS_SHAPE};
use crate::leaf::Scope;
use crate::parse::parse;
use crate::read::read_tree;
use crate::report::{Read, Report};
use crate::shape::Fields;
use crate::source::Source;
use crate::tree::Node;
use crate::validate::validate;
use crate::workflow::operation::operations;

/// Whether a file is meant as one of operations alone: it has `operations`, and nothing of a workflow or a study.
pub fn is_programs(text: &str) -> bool {
    let tree = parse(&Source::new(text), &mut Report::default());
    tree.root.is_some_and(|root| has_operations_alone(&root))
}

fn has_operations_alone(root: &Node) -> bool {
    let has = |name: &str| root.get(name).is_some();
    has("operations") && !["workflow", "stages", "study"].into_iter().any(has)
}

/// Reads the operations of a file, YAML or JSON, in its order; as in [`WorkflowFile`](crate::WorkflowFile), their
/// versions are empty and `used_files` too. `registry` holds the operations and types that libraries bring.
pub fn read_programs(text: &str, registry: &Registry) -> Read<Vec<Operation>> {
    let source = Source::new(text);
    let mut report = Report::default();
    let tree = parse(&source, &mut report);
    let alone = tree.root.as_ref().is_some_and(has_operations_alone);
    let Some(root) = tree.root.as_ref().filter(|_| alone) else {
        let Read { value, diagnostics } = read_tree(tree, &source, registry, report, is_descriptor);
        return Read {
            value: value.map(|file| file.operations),
            diagnostics,
        };
    };
    let scope = Scope {
        source: &source,
        registry,
    };
    let parsed = report.len();
    validate(root, &PROGRAMS_SHAPE, scope, tree.damaged, &mut report);
    let fields = Fields::of(root, &PROGRAMS);
    let node = fields.get("operations").filter(|_| !tree.damaged);
    let read = node.map(|node| operations(node, scope, &mut report).all);
    report.forget_patched(parsed, &tree.patches);
    report.finish(read)
}
