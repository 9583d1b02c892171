//! The forms that a graph is written in.
//!
//! Law: a file that is no graph of ours is not overwritten.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use super::{Diagram, diagram_dot, diagram_mermaid, diagram_svg};
use crate::Error;

/// What every graph of ours has in its beginning.
pub(super) const MADE: &str = "made by headwater dag";

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

fn is_graph(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let file = fs::File::open(path);
    let read = file.and_then(|file| file.take(4096).read_to_end(&mut beginning));
    read.is_ok() && String::from_utf8_lossy(&beginning).contains(MADE)
}
