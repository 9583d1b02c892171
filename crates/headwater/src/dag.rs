//! Graphs as pictures: a workflow, a study's workflow, or what a run did.
//!
//! What is drawn and how stands in `headwater_draw`; here is what it takes files and stores for.
//!
//! | file | what |
//! | --- | --- |
//! | `write` | a diagram as a file |
//!
//! Law: drawing executes nothing, asks no other program and writes to no store.

mod write;

use std::path::{Path, PathBuf};

use headwater_draw::workflow_diagram;
pub use headwater_draw::{
    Diagram, DiagramEdge, DiagramEnd, DiagramFormat, DiagramGroup, DiagramNode, EdgeKind, NodeKind,
};
pub use headwater_engine::diagram::DiagramDetail;
use headwater_engine::diagram::run_diagram;
use headwater_engine::{Document, Error, Surroundings, WorkflowSource};
use headwater_graph::{FoundRun, RunRecord, Store};
use headwater_study::Studied;

pub use write::{diagram_format, write_diagram};

/// What is to be drawn.
#[derive(Debug, Clone, Default)]
pub struct DiagramRequest {
    /// A workflow file, a study file, or a run by its name, the beginning of it, `last`, or the folder of its outputs. A
    /// file that exists wins.
    pub what: PathBuf,
    /// Whether the tasks of a run are drawn one by one.
    pub detail: DiagramDetail,
}

/// The diagram of a file or of a run.
pub(crate) fn diagram(request: &DiagramRequest, site: &Surroundings) -> Result<Diagram, Error> {
    let path = site.folder.join(&request.what);
    if path.exists() && !path.is_dir() {
        return file_diagram(request, site);
    }
    let text = request.what.to_string_lossy();
    let store = site.open_to_read()?;
    if store.find_run(&text)? == FoundRun::None {
        if path.is_dir() {
            return match run_of_folder(&*store, &path)? {
                Some(record) => run_diagram(&*store, &record, request.detail),
                None => file_diagram(request, site),
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
    let record = headwater_engine::runs::find_run(&*store, &text)?;
    run_diagram(&*store, &record, request.detail)
}

/// The run that a folder, or what it links to, has the name of: outputs lie in such folders.
fn run_of_folder(store: &dyn Store, folder: &Path) -> Result<Option<Box<RunRecord>>, Error> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = folder.file_name().and_then(|name| name.to_str());
    Ok(match name.map(|name| store.find_run(name)).transpose()? {
        Some(FoundRun::One(record)) if Some(&*record.id) == name => Some(record),
        _ => None,
    })
}

/// The diagram of a workflow file, or of the workflow of a study file.
fn file_diagram(request: &DiagramRequest, site: &Surroundings) -> Result<Diagram, Error> {
    let path = &Document::File(request.what.clone()).path(&site.folder, "");
    let text = headwater_engine::given::read_text(path)?;
    let of_runs = match request.detail {
        DiagramDetail::Each => Some(("single tasks", "--each")),
        DiagramDetail::Unreduced => Some(("sequences of calls", "--unreduced")),
        DiagramDetail::Automatic | DiagramDetail::Grouped => None,
    };
    if let Some((what, option)) = of_runs {
        return Err(Error::usage(
            format!("`{}` is a file; only runs have {what}", path.display()),
            Some(format!("leave {option} out, or give a run, such as `last`")),
        ));
    }
    if !headwater_flow::is_study(&text) {
        let source = WorkflowSource::file(path);
        let parsed = headwater_engine::load::parse(&source, &site.folder, &site.libraries)?;
        return Ok(workflow_diagram(&parsed.workflow, &[]));
    }
    let Studied {
        name,
        workflow,
        varied,
    } = headwater_study::studied(path, site)?;
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
