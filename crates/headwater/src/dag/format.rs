//! The forms that a graph is written in.
//!
//! Law: a file that is no graph of ours from its first sign to its last is not overwritten.

use std::fs;
use std::path::Path;

use super::{Diagram, diagram_dot, diagram_mermaid, diagram_svg};
use crate::Error;

/// What every graph of ours has in its beginning.
pub(super) const MADE: &str = "made by headwater dag";
/// The colour of arrows that say an order alone, where there are no style sheets.
pub(super) const ORDER: &str = "#a8487f";

/// No graph of ours has more bytes: what is larger need not be read.
const MOST: u64 = 1 << 28;

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
    /// The form that the name of a file asks for.
    pub fn of(path: &Path) -> Result<DiagramFormat, Error> {
        let extension = path
            .extension()
            .map(|extension| extension.to_ascii_lowercase());
        match extension
            .as_deref()
            .and_then(|extension| extension.to_str())
        {
            Some("svg") => Ok(DiagramFormat::Svg),
            Some("dot" | "gv") => Ok(DiagramFormat::Dot),
            Some("mmd" | "mermaid") => Ok(DiagramFormat::Mermaid),
            _ => Err(Error::usage(
                format!(
                    "the name `{}` does not say which form the graph is to have",
                    path.display()
                ),
                Some("give a name that ends in .svg, .dot or .mmd, or say --format".to_owned()),
            )),
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

    /// Writes the diagram into a file: a new one, or in the place of a graph that was made like this one.
    pub fn write(self, diagram: &Diagram, path: &Path) -> Result<(), Error> {
        if path.is_dir() {
            return Err(Error::usage(
                format!("`{}` is a folder", path.display()),
                Some("name a file with -o".to_owned()),
            ));
        }
        if path.is_file() && !is_graph(path) {
            return Err(Error::usage(
                format!(
                    "`{}` is there already, and is no graph of Headwater",
                    path.display()
                ),
                Some("name another file with -o".to_owned()),
            ));
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .map_err(|source| Error::io("cannot make folder", parent, source))?;
        }
        let text = self.text(diagram);
        fs::write(path, text).map_err(|source| Error::io("cannot write", path, source))
    }
}

/// Whether a file is as one of our writers makes it. A document with a graph in it is not.
fn is_graph(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= MOST)
        && fs::read_to_string(path).is_ok_and(|text| is_made(&text))
}

fn is_made(text: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dag::model::DiagramGroup;

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
                assert!(is_made(&text), "{text}");
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
                    assert!(!is_made(&other), "{other}");
                }
            }
            diagram.groups.push(DiagramGroup {
                name: "stage\n".to_owned(),
                ..DiagramGroup::default()
            });
        }
        assert!(!is_made(""));
    }

    #[test]
    fn a_document_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("graph");
        let diagram = Diagram::default();
        for format in ALL {
            for earlier in ALL {
                let text = earlier.text(&diagram);
                fs::write(&path, &text).expect("a file");
                format.write(&diagram, &path).expect("overwritten");
                assert_eq!(
                    fs::read_to_string(&path).expect("a file"),
                    format.text(&diagram)
                );
                let document = format!("# Read me\n{text}");
                fs::write(&path, &document).expect("a file");
                let error = format.write(&diagram, &path).expect_err("refused");
                assert!(
                    error.to_string().contains("is no graph of Headwater"),
                    "{error}"
                );
                assert_eq!(fs::read_to_string(&path).expect("a file"), document);
            }
        }
    }
}
