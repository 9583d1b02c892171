//! A diagram for Graphviz.
//!
//! Law: every text is a quoted string in which nothing means anything to Graphviz; ids are numbers.

use std::fmt::Write as _;

use crate::made::{MADE, ORDER};
use crate::model::{Diagram, DiagramEnd, DiagramNode, EdgeKind, NodeKind};
use crate::text::plain;

/// The diagram in the language of Graphviz: stages are clusters.
pub(crate) fn diagram_dot(diagram: &Diagram) -> String {
    let mut out = format!("// {MADE}\ndigraph {{\n");
    let mut title = vec![diagram.title.as_str()];
    title.extend(diagram.notes.iter().map(String::as_str));
    let _ = writeln!(
        out,
        "  graph [label={}, labelloc=t, compound=true];",
        quoted(&title)
    );
    out.push_str(
        "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\"];\n",
    );
    out.push_str("  edge [fontname=\"sans-serif\", fontsize=10];\n");
    let stage = |node: &DiagramNode| node.group.filter(|group| *group < diagram.groups.len());
    for (number, group) in diagram.groups.iter().enumerate() {
        let mut label = vec![group.name.as_str()];
        label.extend(group.words.iter().map(String::as_str));
        let _ = writeln!(out, "  subgraph cluster_{number} {{");
        let _ = writeln!(
            out,
            "    graph [label={}, style=\"rounded,filled\", fillcolor=\"#f3f6f8\"];",
            quoted(&label)
        );
        for (position, node) in diagram.nodes.iter().enumerate() {
            if stage(node) == Some(number) {
                let _ = writeln!(out, "    n{position} {};", attributes(node));
            }
        }
        out.push_str("  }\n");
    }
    for (position, node) in diagram.nodes.iter().enumerate() {
        if stage(node).is_none() {
            let _ = writeln!(out, "  n{position} {};", attributes(node));
        }
    }
    // An edge of a cluster begins and ends at nodes of it.
    let end = |end: DiagramEnd, last: bool| match end {
        DiagramEnd::Node(node) => (node < diagram.nodes.len()).then_some((node, None)),
        DiagramEnd::Group(group) => {
            let mut inside =
                (0..diagram.nodes.len()).filter(|node| stage(&diagram.nodes[*node]) == Some(group));
            let node = if last {
                inside.next_back()
            } else {
                inside.next()
            };
            node.map(|node| (node, Some(group)))
        }
    };
    for edge in &diagram.edges {
        let (Some((from, tail)), Some((to, head))) = (end(edge.from, true), end(edge.to, false))
        else {
            continue;
        };
        let mut attributes = Vec::new();
        let label = edge.label();
        if !label.is_empty() {
            attributes.push(format!("label={}", quoted(&[&label])));
        }
        attributes.extend(tail.map(|group| format!("ltail=cluster_{group}")));
        attributes.extend(head.map(|group| format!("lhead=cluster_{group}")));
        match edge.kind {
            EdgeKind::Data if edge.optional => attributes.push("style=dashed".to_owned()),
            EdgeKind::Data => {}
            EdgeKind::Order => attributes.push(format!(
                "style=dashed, color=\"{ORDER}\", fontcolor=\"{ORDER}\""
            )),
            EdgeKind::After | EdgeKind::Wait => attributes.push("style=dotted".to_owned()),
        }
        let attributes = if attributes.is_empty() {
            String::new()
        } else {
            format!(" [{}]", attributes.join(", "))
        };
        let _ = writeln!(out, "  n{from} -> n{to}{attributes};");
    }
    out.push_str("}\n");
    out
}

fn attributes(node: &DiagramNode) -> String {
    let lines = crate::face::lines(node);
    let lines: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
    let mut attributes = vec![format!("label={}", quoted(&lines))];
    let failing = node.counts.is_some_and(|counts| counts.failed > 0);
    let style = if node.optional {
        ", style=\"rounded,filled,dashed\""
    } else {
        ""
    };
    attributes.push(match node.kind {
        NodeKind::Input => format!("fillcolor=\"#e4f0fb\", color=\"#6ea3d4\"{style}"),
        NodeKind::Output => format!("fillcolor=\"#e5f4e9\", color=\"#6cb182\"{style}"),
        _ if failing => format!("color=\"#d0453d\"{style}"),
        _ if !node.varied.is_empty() => format!("color=\"#d8933b\"{style}"),
        _ => format!("color=\"#b8c3cd\"{style}"),
    });
    format!("[{}]", attributes.join(", "))
}

/// Lines as one string: quotes and backslashes mean themselves.
fn quoted(lines: &[&str]) -> String {
    let escaped = |line: &&str| plain(line).replace('\\', "\\\\").replace('"', "\\\"");
    let lines: Vec<String> = lines.iter().map(escaped).collect();
    format!("\"{}\"", lines.join("\\n"))
}
