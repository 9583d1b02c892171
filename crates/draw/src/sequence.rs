//! A sequence of calls as a diagram: each call, or all calls of one operation as one.
//!
//! Law: two calls that depend on each other are one arrow, which names everything that they share. An arrow is data
//! exactly when one call reads what the other wrote; every other dependence is an order.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use headwater_derive::Kind;
use headwater_graph::text::grouped as thousands;

use crate::model::{Diagram, DiagramEdge, DiagramEnd, DiagramNode, EdgeKind, NodeKind};

/// Sequences of at most that many calls, and runs of at most that many tasks, are drawn one by one, unless told
/// otherwise.
pub const SMALL: usize = 40;

/// A call.
#[derive(Debug, Clone)]
pub struct SequenceCall {
    /// The name of its operation, the last part alone.
    pub label: String,
    /// The whole name of its operation.
    pub operation: String,
    /// The address of its task, which another call may share: `operation[number]`. Calls of one operation have the same
    /// text before the bracket.
    pub address: String,
    /// Its level: the most dependences that lie one after the other before it.
    pub rank: u32,
    /// Whether somebody asks for what it makes. What nobody asks for does not run.
    pub needed: bool,
}

/// All dependences of a call on one before it.
#[derive(Debug, Clone)]
pub struct SequenceEdge {
    /// The position of the earlier call.
    pub from: usize,
    /// The position of the later call.
    pub to: usize,
    /// Why, with the name of the item; of a scalar that of its type.
    pub marks: Vec<(Kind, String)>,
}

/// An item that the program gave, or that it still has at the end.
#[derive(Debug, Clone)]
pub struct SequenceItem {
    /// Its name.
    pub name: String,
    /// What it is, such as `file`.
    pub item_type: Option<String>,
    /// The positions of the calls that read what was given, or of the one that wrote it last.
    pub calls: Vec<usize>,
}

/// Each call, in program order. `inputs` are the items that the program gave, with those calls that read them as they
/// were given; `outputs` those that it has at the end, with their writers. Both are drawn where there are few calls.
pub fn sequence_diagram(
    title: &str,
    calls: &[SequenceCall],
    edges: &[SequenceEdge],
    inputs: &[SequenceItem],
    outputs: &[SequenceItem],
) -> Diagram {
    let few = calls.len() <= SMALL;
    let (inputs, outputs) = if few {
        (inputs, outputs)
    } else {
        (&[][..], &[][..])
    };
    let mut diagram = Diagram {
        title: title.to_owned(),
        notes: vec![told(calls.len(), edges.len() as u64)],
        ..Diagram::default()
    };
    diagram
        .nodes
        .extend(inputs.iter().map(|item| item_node(item, NodeKind::Input)));
    let first = diagram.nodes.len();
    diagram
        .nodes
        .extend(calls.iter().enumerate().map(|(position, call)| {
            let mut words = vec![format!("rank {}", call.rank)];
            words.extend((!call.needed).then(|| NOT_NEEDED.to_owned()));
            DiagramNode {
                label: format!("{}[{position}]", call.label),
                operation: (call.operation != call.label).then(|| call.operation.clone()),
                words,
                address: call.needed.then(|| call.address.clone()),
                ..DiagramNode::default()
            }
        }));
    for (position, item) in inputs.iter().enumerate() {
        let readers: BTreeSet<usize> = item.calls.iter().copied().collect();
        let readers = readers.into_iter();
        diagram
            .edges
            .extend(readers.map(|call| edge(position, first + call, EdgeKind::Data)));
    }
    for found in edges {
        let marks: BTreeSet<(Kind, &str)> = (found.marks.iter())
            .map(|(mark, name)| (*mark, name.as_str()))
            .collect();
        let kind = kind(marks.iter().map(|(mark, _)| *mark));
        let names = marks.iter();
        let names = names.map(|(mark, name)| format!("{} {name}", mark.name()));
        diagram.edges.push(DiagramEdge {
            names: names.collect(),
            ..edge(first + found.from, first + found.to, kind)
        });
    }
    for item in outputs {
        let here = diagram.nodes.len();
        diagram.nodes.push(item_node(item, NodeKind::Output));
        let writers: BTreeSet<usize> = item.calls.iter().copied().collect();
        let writers = writers.into_iter();
        diagram
            .edges
            .extend(writers.map(|call| edge(first + call, here, EdgeKind::Data)));
    }
    diagram
}

/// On a call whose result nobody asks for.
const NOT_NEEDED: &str = "not needed";

/// All calls of one operation as one node, in the order of their first calls, and how often they depend on each other.
pub fn grouped_sequence_diagram(
    title: &str,
    calls: impl IntoIterator<Item = SequenceCall>,
    edges: impl IntoIterator<Item = SequenceEdge>,
) -> Diagram {
    let mut operations: Vec<Operation> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    // Calls with one recipe are one task.
    let mut tasks: HashSet<String> = HashSet::new();
    let mut homes = Vec::new();
    for call in calls {
        let home = match known.get(&call.operation) {
            Some(home) => *home,
            None => {
                known.insert(call.operation.clone(), operations.len());
                operations.push(Operation::of(&call));
                operations.len() - 1
            }
        };
        homes.push(home);
        let operation = &mut operations[home];
        operation.calls += 1;
        operation.ranks.0 = operation.ranks.0.min(call.rank);
        operation.ranks.1 = operation.ranks.1.max(call.rank);
        if call.needed {
            operation.tasks += u64::from(tasks.insert(call.address));
        } else {
            operation.not_needed += 1;
        }
    }
    let mut between: BTreeMap<(usize, usize), (u64, BTreeSet<Kind>)> = BTreeMap::new();
    let mut count = 0_u64;
    for found in edges {
        if let (Some(from), Some(to)) = (homes.get(found.from), homes.get(found.to)) {
            let (arrows, marks) = between.entry((*from, *to)).or_default();
            *arrows += 1;
            marks.extend(found.marks.iter().map(|(mark, _)| *mark));
            count += 1;
        }
    }
    let mut diagram = Diagram {
        title: title.to_owned(),
        notes: vec![told(homes.len(), count)],
        nodes: operations.iter().map(Operation::node).collect(),
        ..Diagram::default()
    };
    for ((from, to), (arrows, marks)) in between {
        let kind = kind(marks.iter().copied());
        let names: Vec<String> = marks.iter().map(|mark| mark.name().to_owned()).collect();
        if from == to {
            // An arrow from a node to itself would show less than it hides.
            let words = &mut diagram.nodes[from].words;
            words.push(format!("on itself ×{}:", thousands(arrows)));
            words.push(names.join(", "));
            continue;
        }
        diagram.edges.push(DiagramEdge {
            names,
            count: Some(arrows),
            ..edge(from, to, kind)
        });
    }
    diagram
}

/// All calls of one operation.
struct Operation {
    label: String,
    operation: String,
    address: String,
    calls: u64,
    tasks: u64,
    not_needed: u64,
    ranks: (u32, u32),
}

impl Operation {
    fn of(call: &SequenceCall) -> Operation {
        let address = call.address.split('[').next().unwrap_or_default();
        Operation {
            label: call.label.clone(),
            operation: call.operation.clone(),
            address: address.to_owned(),
            calls: 0,
            tasks: 0,
            not_needed: 0,
            ranks: (u32::MAX, 0),
        }
    }

    fn node(&self) -> DiagramNode {
        let ranks = match self.ranks {
            (first, last) if first == last => format!("rank {first}"),
            (first, last) => format!("ranks {first} to {last}"),
        };
        let calls = match self.calls {
            1 => "1 call".to_owned(),
            several => format!("{} calls", thousands(several)),
        };
        let mut words = vec![format!("{calls}, {ranks}")];
        if self.not_needed > 0 {
            words.push(format!("{} {NOT_NEEDED}", thousands(self.not_needed)));
        }
        DiagramNode {
            label: self.label.clone(),
            operation: Some(self.operation.clone()),
            words,
            address: Some(self.address.clone()),
            tasks: (self.tasks > 0).then_some(self.tasks),
            ..DiagramNode::default()
        }
    }
}

/// How much a drawing shows.
fn told(calls: usize, edges: u64) -> String {
    let calls = match calls {
        1 => "1 call".to_owned(),
        several => format!("{} calls", thousands(several as u64)),
    };
    match edges {
        1 => format!("{calls}, 1 dependent pair"),
        several => format!("{calls}, {} dependent pairs", thousands(several)),
    }
}

fn kind(mut marks: impl Iterator<Item = Kind>) -> EdgeKind {
    if marks.any(|mark| mark == Kind::Raw) {
        EdgeKind::Data
    } else {
        EdgeKind::Order
    }
}

fn item_node(item: &SequenceItem, kind: NodeKind) -> DiagramNode {
    DiagramNode {
        kind,
        label: item.name.clone(),
        operation: item.item_type.clone(),
        ..DiagramNode::default()
    }
}

fn edge(from: usize, to: usize, kind: EdgeKind) -> DiagramEdge {
    DiagramEdge {
        from: DiagramEnd::Node(from),
        to: DiagramEnd::Node(to),
        kind,
        names: Vec::new(),
        optional: false,
        count: None,
    }
}

#[cfg(test)]
mod tests;
