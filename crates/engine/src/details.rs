//! What a task computes and from what, in words of a record.
//!
//! Law: the words are a function of the recipe: equal recipes have equal words.

use std::sync::Arc;

use headwater_graph::{Identity, Scalar, Source, TaskGraph, TaskId};

/// What a task computes and from what, as a record says it.
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// Its operation.
    pub operation: Arc<str>,
    /// The version of that.
    pub version: Arc<str>,
    /// Parameter values by name.
    pub parameters: Vec<(Arc<str>, Scalar)>,
    /// What each port reads.
    pub inputs: Vec<(Arc<str>, String)>,
}

/// An identity as text, for the record.
pub fn identity_text(identity: &Identity) -> String {
    match identity {
        Identity::File(digest) => format!("file:{digest}"),
        Identity::Directory(digest) => format!("directory:{digest}"),
        Identity::Value(digest) => format!("value:{digest}"),
        Identity::Name(name) => format!("name:{name}"),
    }
}

/// What a task computes and from what, as its record says it.
pub fn details(graph: &TaskGraph, task: TaskId) -> Details {
    let signature = &graph.operation_at(task).signature;
    let parameters = signature.parameters.iter().zip(graph.parameters(task));
    let port = |port: u16| Arc::clone(&signature.inputs[usize::from(port)].name);
    Details {
        operation: Arc::clone(&signature.name),
        version: Arc::clone(&signature.version),
        parameters: parameters
            .map(|(declared, value)| (Arc::clone(&declared.name), value.clone()))
            .collect(),
        inputs: (graph.inputs(task).iter())
            .map(|(at, source)| (port(*at), describe(graph, source)))
            .collect(),
    }
}

/// A source as text, for the record.
fn describe(graph: &TaskGraph, source: &Source) -> String {
    match source {
        Source::Product { task, port } => {
            let signature = &graph.operation_at(*task).signature;
            let output = &signature.outputs[usize::from(*port)].name;
            if !signature.implicit {
                return format!("{}:{output}", graph.recipe(*task).hex());
            }
            // It has no record: what it reads stands here.
            let parameters = signature.parameters.iter().zip(graph.parameters(*task));
            let parameters =
                parameters.map(|(declared, value)| format!("{}={value}", declared.name));
            let inputs = graph.inputs(*task).iter().map(|(port, source)| {
                let port = &signature.inputs[usize::from(*port)].name;
                format!("{port}={}", describe(graph, source))
            });
            let fields: Vec<String> = parameters.chain(inputs).collect();
            format!("{}({}):{output}", signature.name, fields.join(", "))
        }
        Source::External(position) => identity_text(&graph.external_at(*position).identity),
        Source::List(sources) => {
            let parts: Vec<String> = sources
                .iter()
                .map(|source| describe(graph, source))
                .collect();
            format!("[{}]", parts.join(", "))
        }
        Source::Record(fields) => {
            let parts: Vec<String> = fields
                .iter()
                .map(|(key, source)| format!("{key}={}", describe(graph, source)))
                .collect();
            format!("{{{}}}", parts.join(", "))
        }
    }
}
