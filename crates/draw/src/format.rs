//! The forms that a graph is written in.
//!
//! Law: a text that one of our writers made is known again, and a document with such a text in it is not taken for one.

use std::path::Path;

use crate::dot::diagram_dot;
use crate::made::MADE;
use crate::mermaid::diagram_mermaid;
use crate::model::Diagram;
use crate::svg::diagram_svg;

/// A form that a graph is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiagramFormat {
    /// A picture.
    Svg,
    /// Text for Graphviz.
    Dot,
    /// Text for Mermaid.
    Mermaid,
}

impl DiagramFormat {
    /// The form that the name of a file asks for, if it asks for one.
    pub fn of(path: &Path) -> Option<DiagramFormat> {
        let extension = path.extension()?.to_ascii_lowercase();
        match extension.to_str()? {
            "svg" => Some(DiagramFormat::Svg),
            "dot" | "gv" => Some(DiagramFormat::Dot),
            "mmd" | "mermaid" => Some(DiagramFormat::Mermaid),
            _ => None,
        }
    }

    /// The diagram in this form.
    pub fn text(self, diagram: &Diagram) -> String {
        match self {
            DiagramFormat::Svg => diagram_svg(diagram),
            DiagramFormat::Dot => diagram_dot(diagram),
            DiagramFormat::Mermaid => diagram_mermaid(diagram),
        }
    }

    /// Whether a text is as one of our writers makes it, from its first sign to its last.
    pub fn is_made(text: &str) -> bool {
        let svg = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="hw-dag" data-note="{MADE}" role="img""#
        );
        let indented = |rest: &str| rest.lines().all(|line| line.starts_with("  "));
        if text.starts_with(&svg) {
            text.find("</svg>")
                .is_some_and(|end| &text[end..] == "</svg>\n")
        } else if let Some(rest) = text.strip_prefix(&format!("// {MADE}\ndigraph {{\n")) {
            rest.strip_suffix("\n}\n").is_some_and(indented)
        } else {
            text.strip_prefix(&format!("flowchart TB\n  %% {MADE}\n"))
                .is_some_and(indented)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DiagramGroup;

    const ALL: [DiagramFormat; 3] = [
        DiagramFormat::Svg,
        DiagramFormat::Dot,
        DiagramFormat::Mermaid,
    ];

    #[test]
    fn our_graphs_are_known_and_documents_with_them_are_not() {
        let mut diagram = Diagram {
            title: "a\n</svg>\n}\nb".to_owned(),
            notes: vec!["note\r\nof two lines".to_owned()],
            ..Diagram::default()
        };
        for _ in 0..2 {
            for format in ALL {
                let text = format.text(&diagram);
                assert!(DiagramFormat::is_made(&text), "{text}");
                for other in [
                    format!("# Read me\n\n{text}"),
                    format!("\n{text}"),
                    format!("{text}\nMore.\n"),
                    format!("{text}More.\n}}\n"),
                    format!("{text}<p>More.</p><svg></svg>\n"),
                    format!("<html>{text}</html>\n"),
                    format!("```mermaid\n{text}```\n"),
                    text.replacen("made by", "drawn by", 1),
                ] {
                    assert!(!DiagramFormat::is_made(&other), "{other}");
                }
            }
            diagram.groups.push(DiagramGroup {
                name: "stage\n".to_owned(),
                ..DiagramGroup::default()
            });
        }
        assert!(!DiagramFormat::is_made(""));
    }
}
