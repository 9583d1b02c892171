//! Graphs as pictures: a workflow, a study's workflow, or what a run did.
//!
//! | file | what |
//! | --- | --- |
//! | `model` | [`Diagram`]: what is drawn, as plain data |
//! | `workflow` | a workflow as a diagram |
//! | `sequence` | a sequence of calls as a diagram |
//! | `record` | what a run notes, and the diagram of that |
//! | `face` | what stands on a node, and how much room it takes |
//! | `text` | how wide texts are |
//! | `ranks` | which row a node stands in |
//! | `layered` | rows put in order and into place |
//! | `layout` | stages and tasks together: the picture |
//! | `labels` | what stands beside arrows |
//! | `svg`, `dot`, `mermaid` | a diagram as text |
//! | `format` | which of them, and into which file |
//!
//! Law: drawing executes nothing, asks no other program and writes to no store.

mod dot;
mod face;
mod format;
mod labels;
mod layered;
mod layout;
mod mermaid;
mod model;
mod ranks;
mod record;
mod sequence;
pub(crate) mod svg;
#[cfg(test)]
mod tests;
mod text;
mod workflow;

use std::path::{Path, PathBuf};

use headwater_graph::Registry;
use headwater_remember::{FoundRun, RunRecord, Store};

use crate::study::Studied;
use crate::{Error, StorePlace};

pub(crate) use dot::diagram_dot;
pub use format::DiagramFormat;
pub(crate) use mermaid::diagram_mermaid;
pub use model::{
    Diagram, DiagramCounts, DiagramEdge, DiagramEnd, DiagramGroup, DiagramNode, EdgeKind, NodeKind,
};
pub use record::DiagramDetail;
pub(crate) use record::{FEW, FEW_PAIRS, Part, Tally, note, note_sequence, run_diagram, tally};
pub(crate) use sequence::{
    SequenceCall, SequenceEdge, SequenceItem, grouped_sequence_diagram, sequence_diagram,
};
pub(crate) use svg::diagram_svg;
pub(crate) use svg::inline;
pub(crate) use workflow::workflow_diagram;

/// What is to be drawn.
#[derive(Debug, Clone, Default)]
pub struct DiagramRequest {
    /// A workflow file, a study file, or a run by its name, the beginning of it, `last`, or the folder of its outputs. A
    /// file that exists wins.
    pub what: PathBuf,
    /// Whether the tasks of a run are drawn one by one.
    pub detail: DiagramDetail,
    /// The store that knows the runs.
    pub store: StorePlace,
}

/// The diagram of a file or of a run.
///
/// ```no_run
/// use headwater::DiagramRequest;
/// use headwater::dag::DiagramFormat;
/// use headwater::graph::Registry;
///
/// let request = DiagramRequest { what: "words.yaml".into(), ..DiagramRequest::default() };
/// let diagram = headwater::diagram(&request, &Registry::new(), ".".as_ref())?;
/// std::fs::write("words.svg", DiagramFormat::Svg.text(&diagram))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn diagram(
    request: &DiagramRequest,
    libraries: &Registry,
    current: &Path,
) -> Result<Diagram, Error> {
    let path = current.join(&request.what);
    if path.exists() && !path.is_dir() {
        return file_diagram(&request.what, request.detail, libraries);
    }
    let text = request.what.to_string_lossy();
    let place = StorePlace {
        read_only: true,
        ..request.store.clone()
    };
    let store = crate::open_store(&place, current)?;
    if store.find_run(&text)? == FoundRun::None {
        if path.is_dir() {
            return match run_of_folder(&store, &path)? {
                Some(record) => run_diagram(&store, &record, request.detail),
                None => file_diagram(&request.what, request.detail, libraries),
            };
        }
        return Err(Error::usage(
            format!("there is neither a file nor a run `{text}`"),
            Some(
                "give a workflow file, a study file or a run; `headwater runs ls` lists runs"
                    .to_owned(),
            ),
        ));
    }
    let record = crate::runs::find_run(&store, &text)?;
    run_diagram(&store, &record, request.detail)
}

/// The run that a folder, or what it links to, has the name of: outputs lie in such folders.
fn run_of_folder(store: &Store, folder: &Path) -> Result<Option<Box<RunRecord>>, Error> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = folder.file_name().and_then(|name| name.to_str());
    Ok(match name.map(|name| store.find_run(name)).transpose()? {
        Some(FoundRun::One(record)) if Some(&*record.id) == name => Some(record),
        _ => None,
    })
}

/// The diagram of a workflow file, or of the workflow of a study file.
fn file_diagram(
    path: &Path,
    detail: DiagramDetail,
    libraries: &Registry,
) -> Result<Diagram, Error> {
    let text = crate::given::read_text(path)?;
    let of_runs = match detail {
        DiagramDetail::Each => Some(("single tasks", "--each")),
        DiagramDetail::Unreduced => Some(("sequences of calls", "--unreduced")),
        DiagramDetail::Automatic | DiagramDetail::Grouped => None,
    };
    if let Some((what, option)) = of_runs {
        return Err(Error::usage(
            format!(
                "`{}` is a file, and {what} are there in runs alone",
                path.display()
            ),
            Some(format!("leave {option} out, or give a run, such as `last`")),
        ));
    }
    if !headwater_flow::is_study(&text) {
        let parsed = crate::load::parse(path, libraries)?;
        return Ok(workflow_diagram(&parsed.workflow, &[]));
    }
    let Studied {
        name,
        workflow,
        varied,
    } = crate::study::studied(path, libraries)?;
    let mut diagram = workflow_diagram(&workflow, &varied);
    diagram.title = format!("{name}: {}", diagram.title);
    let parameters = match varied.len() {
        1 => "1 parameter".to_owned(),
        several => format!("{several} parameters"),
    };
    diagram
        .notes
        .push(format!("varies {parameters}: {}", varied.join(", ")));
    Ok(diagram)
}
