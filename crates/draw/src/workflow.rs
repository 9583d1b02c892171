//! A workflow as a diagram.
//!
//! Law: the drawing of a workflow is a function of its text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_graph::{Binding, DataOrigin, Stage, Wait, Workflow};

use crate::model::{
    Diagram, DiagramEdge, DiagramEnd, DiagramGroup, DiagramNode, EdgeKind, NodeKind,
};

/// The diagram of a workflow: its inputs, then the tasks of its stages in the order of the file, then its outputs.
/// Tasks that read one of the `varied` parameters say so.
pub fn workflow_diagram(workflow: &Workflow, varied: &[Arc<str>]) -> Diagram {
    let varied: BTreeSet<&str> = varied.iter().map(|name| &**name).collect();
    let first = first_tasks(workflow);
    let position = |origin: &DataOrigin| match origin {
        DataOrigin::Input(input) => *input,
        DataOrigin::Task { stage, task } => first[*stage] + task,
    };
    let origins = workflow.origins();
    let optional = |origin: &DataOrigin| match origin {
        DataOrigin::Input(input) => workflow.inputs[*input].optional,
        DataOrigin::Task { .. } => false,
    };
    let mut diagram = Diagram {
        title: workflow.name.to_string(),
        groups: workflow.stages.iter().map(group).collect(),
        ..Diagram::default()
    };
    for input in &workflow.inputs {
        diagram.nodes.push(DiagramNode {
            kind: NodeKind::Input,
            label: input.name.to_string(),
            operation: Some(if input.optional {
                format!("{}, optional", input.input_type)
            } else {
                input.input_type.to_string()
            }),
            optional: input.optional,
            ..DiagramNode::default()
        });
    }
    for (number, stage) in workflow.stages.iter().enumerate() {
        for task in &stage.tasks {
            let read = task
                .parameters
                .values()
                .filter_map(|binding| match binding {
                    Binding::Parameter(name) if varied.contains(&**name) => Some(name.to_string()),
                    _ => None,
                });
            let read: BTreeSet<String> = read.collect();
            let to = diagram.nodes.len();
            diagram.nodes.push(DiagramNode {
                label: task.name.to_string(),
                group: Some(number),
                operation: Some(task.operation.to_string()),
                varied: read.into_iter().collect(),
                address: Some(format!("{}.{}", stage.name, task.name)),
                ..DiagramNode::default()
            });
            let mut edges: BTreeMap<(usize, bool), Vec<String>> = BTreeMap::new();
            for name in task.inputs.values() {
                if let Some(origin) = origins.get(name) {
                    let names = edges
                        .entry((position(origin), optional(origin)))
                        .or_default();
                    if !names.iter().any(|known| **known == **name) {
                        names.push(name.to_string());
                    }
                }
            }
            for ((from, optional), names) in edges {
                // An input has its name on itself.
                let names = if from < workflow.inputs.len() {
                    Vec::new()
                } else {
                    names
                };
                diagram.edges.push(DiagramEdge {
                    names,
                    optional,
                    ..edge(DiagramEnd::Node(from), DiagramEnd::Node(to), EdgeKind::Data)
                });
            }
        }
    }
    for output in workflow.wanted() {
        let to = diagram.nodes.len();
        diagram.nodes.push(DiagramNode {
            kind: NodeKind::Output,
            label: output.name.to_string(),
            ..DiagramNode::default()
        });
        if let Some(origin) = origins.get(&output.data) {
            let named = *output.data != *output.name && matches!(origin, DataOrigin::Task { .. });
            diagram.edges.push(DiagramEdge {
                names: named.then(|| output.data.to_string()).into_iter().collect(),
                optional: optional(origin),
                ..edge(
                    DiagramEnd::Node(position(origin)),
                    DiagramEnd::Node(to),
                    EdgeKind::Data,
                )
            });
        }
    }
    for (number, stage) in workflow.stages.iter().enumerate() {
        let waited = match &stage.wait {
            Wait::Stages(names) => names.as_slice(),
            _ => &[],
        };
        let after = stage.after.iter().map(|name| (name, EdgeKind::After));
        let waited = waited.iter().map(|name| (name, EdgeKind::Wait));
        for (name, kind) in after.chain(waited) {
            if let Some(from) = workflow.stage_index(name) {
                let (from, to) = (DiagramEnd::Group(from), DiagramEnd::Group(number));
                diagram.edges.push(edge(from, to, kind));
            }
        }
    }
    diagram
}

/// By stage, the position of the node of its first task.
pub fn first_tasks(workflow: &Workflow) -> Vec<usize> {
    let mut next = workflow.inputs.len();
    let first = workflow.stages.iter().map(|stage| {
        let first = next;
        next += stage.tasks.len();
        first
    });
    first.collect()
}

fn edge(from: DiagramEnd, to: DiagramEnd, kind: EdgeKind) -> DiagramEdge {
    DiagramEdge {
        from,
        to,
        kind,
        names: Vec::new(),
        optional: false,
        count: None,
    }
}

fn group(stage: &Stage) -> DiagramGroup {
    let list = |names: &[Arc<str>]| names.join(", ");
    let mut words = Vec::new();
    words.extend(
        stage
            .iterate
            .as_ref()
            .map(|strategy| format!("iterate: {strategy}")),
    );
    match &stage.wait {
        Wait::No => {}
        Wait::All => words.push("wait: all".to_owned()),
        Wait::Stages(names) => words.push(format!("wait: {}", list(names))),
        Wait::Per(name) => words.push(format!("wait: per {name}")),
    }
    words.extend(
        stage
            .tolerate
            .map(|tolerance| format!("tolerate: {tolerance}")),
    );
    if !stage.after.is_empty() {
        words.push(format!("after: {}", list(&stage.after)));
    }
    words.extend(stage.concurrency.map(|most| format!("concurrency: {most}")));
    DiagramGroup {
        name: stage.name.to_string(),
        words,
    }
}
