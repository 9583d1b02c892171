//! A diagram for Mermaid, which code hosts draw in their pages.
//!
//! Law: every text is quoted, and each sign of it that could mean something is written by its number; ids are numbers
//! behind a letter.

use std::fmt::Write as _;

use crate::made::{MADE, ORDER};
use crate::model::{Diagram, DiagramEnd, DiagramNode, EdgeKind, NodeKind};
use crate::text::plain;

/// The diagram as a Mermaid flowchart: stages are subgraphs.
pub(crate) fn diagram_mermaid(diagram: &Diagram) -> String {
    let mut out = String::from("flowchart TB\n");
    let notes = std::iter::once(&diagram.title).chain(&diagram.notes);
    let _ = writeln!(out, "  %% {MADE}");
    for note in notes {
        let _ = writeln!(out, "  %% {}", plain(note).replace(['{', '}', '%'], " "));
    }
    let stage = |node: &DiagramNode| node.group.filter(|group| *group < diagram.groups.len());
    for (number, group) in diagram.groups.iter().enumerate() {
        let mut label = vec![group.name.as_str()];
        label.extend(group.words.iter().map(String::as_str));
        let _ = writeln!(out, "  subgraph g{number}[{}]", quoted(&label));
        for (position, node) in diagram.nodes.iter().enumerate() {
            if stage(node) == Some(number) {
                let _ = writeln!(out, "    n{position}{}", shape(node));
            }
        }
        out.push_str("  end\n");
    }
    for (position, node) in diagram.nodes.iter().enumerate() {
        if stage(node).is_none() {
            let _ = writeln!(out, "  n{position}{}", shape(node));
        }
    }
    let end = |end: DiagramEnd| match end {
        DiagramEnd::Node(node) => (node < diagram.nodes.len()).then(|| format!("n{node}")),
        DiagramEnd::Group(group) => (group < diagram.groups.len()).then(|| format!("g{group}")),
    };
    let (mut links, mut orders) = (0_usize, Vec::new());
    for edge in &diagram.edges {
        let (Some(from), Some(to)) = (end(edge.from), end(edge.to)) else {
            continue;
        };
        let arrow = if edge.kind == EdgeKind::Data && !edge.optional {
            "-->"
        } else {
            "-.->"
        };
        let label = edge.label();
        let label = if label.is_empty() {
            String::new()
        } else {
            format!("|{}|", quoted(&[&label]))
        };
        let _ = writeln!(out, "  {from} {arrow}{label} {to}");
        if edge.kind == EdgeKind::Order {
            orders.push(links.to_string());
        }
        links += 1;
    }
    if !orders.is_empty() {
        let _ = writeln!(
            out,
            "  linkStyle {} stroke:{ORDER},color:{ORDER}",
            orders.join(",")
        );
    }
    classes(diagram, &mut out);
    out
}

fn shape(node: &DiagramNode) -> String {
    let lines = crate::face::lines(node);
    let lines: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
    match node.kind {
        NodeKind::Task => format!("[{}]", quoted(&lines)),
        _ => format!("([{}])", quoted(&lines)),
    }
}

/// Colours for what is to be told apart.
fn classes(diagram: &Diagram, out: &mut String) {
    let class = |node: &DiagramNode| match node.kind {
        NodeKind::Input => Some(("input", "fill:#e4f0fb,stroke:#6ea3d4,color:#1d2733")),
        NodeKind::Output => Some(("output", "fill:#e5f4e9,stroke:#6cb182,color:#1d2733")),
        _ if node.counts.is_some_and(|counts| counts.failed > 0) => {
            Some(("failed", "stroke:#d0453d,stroke-width:2px"))
        }
        _ if !node.varied.is_empty() => Some(("varied", "stroke:#d8933b,stroke-width:2px")),
        _ => None,
    };
    for name in ["input", "output", "failed", "varied"] {
        let of_class = diagram
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(position, node)| {
                let (class, style) = class(node).filter(|class| class.0 == name)?;
                debug_assert_eq!(class, name);
                Some((format!("n{position}"), style))
            });
        let (nodes, styles): (Vec<String>, Vec<&str>) = of_class.unzip();
        if let Some(style) = styles.first() {
            let _ = writeln!(out, "  classDef {name} {style}");
            let _ = writeln!(out, "  class {} {name}", nodes.join(","));
        }
    }
}

/// Lines as one text.
fn quoted(lines: &[&str]) -> String {
    let escaped = |line: &&str| {
        let mut out = String::new();
        for sign in plain(line).chars() {
            match sign {
                // Letters alone never mean anything within quotes.
                ' ' | '.' | ',' | '-' | '_' | '/' | ':' | '(' | ')' => out.push(sign),
                sign if sign.is_alphanumeric() || !sign.is_ascii() => out.push(sign),
                sign => drop(write!(out, "#{};", sign as u32)),
            }
        }
        out
    };
    let lines: Vec<String> = lines.iter().map(escaped).collect();
    format!("\"{}\"", lines.join("<br>"))
}
