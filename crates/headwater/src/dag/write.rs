//! Graphs as files.
//!
//! Law: a file that is no graph of ours from its first sign to its last is not overwritten.

use std::fs;
use std::path::Path;

use headwater_draw::{Diagram, DiagramFormat};
use headwater_engine::Error;

/// No graph of ours has more bytes: what is larger need not be read.
const MOST: u64 = 1 << 28;

/// The form that the name of a file asks for.
pub fn diagram_format(path: &Path) -> Result<DiagramFormat, Error> {
    DiagramFormat::of(path).ok_or_else(|| {
        Error::usage(
            format!(
                "the file name `{}` does not show the format of the graph",
                path.display()
            ),
            Some("give a name that ends in .svg, .dot or .mmd, or use --format".to_owned()),
        )
    })
}

/// Writes a diagram into a file: a new one, or in the place of a graph that was made like this one.
pub fn write_diagram(diagram: &Diagram, format: DiagramFormat, path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return Err(Error::usage(
            format!("`{}` is a folder", path.display()),
            Some("name a file with -o".to_owned()),
        ));
    }
    if path.is_file() && !is_graph(path) {
        return Err(Error::usage(
            format!(
                "`{}` already exists and is not a graph of Headwater",
                path.display()
            ),
            Some("name another file with -o".to_owned()),
        ));
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)
            .map_err(|source| Error::io("cannot make folder", parent, source))?;
    }
    fs::write(path, format.text(diagram)).map_err(|source| Error::io("cannot write", path, source))
}

/// Whether a file is as one of our writers makes it. A document with a graph in it is not.
fn is_graph(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= MOST)
        && fs::read_to_string(path).is_ok_and(|text| DiagramFormat::is_made(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [DiagramFormat; 3] = [
        DiagramFormat::Svg,
        DiagramFormat::Dot,
        DiagramFormat::Mermaid,
    ];

    #[test]
    fn a_document_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("graph");
        let diagram = Diagram::default();
        for format in ALL {
            for earlier in ALL {
                let text = earlier.text(&diagram);
                fs::write(&path, &text).expect("a file");
                write_diagram(&diagram, format, &path).expect("overwritten");
                assert_eq!(
                    fs::read_to_string(&path).expect("a file"),
                    format.text(&diagram)
                );
                let document = format!("# Read me\n{text}");
                fs::write(&path, &document).expect("a file");
                let error = write_diagram(&diagram, format, &path).expect_err("refused");
                assert!(
                    error.to_string().contains("is not a graph of Headwater"),
                    "{error}"
                );
                assert_eq!(fs::read_to_string(&path).expect("a file"), document);
            }
        }
    }
}
