//! `headwater dag`.
//!
//! Law: without `-o`, or with `-o -`, the graph is what stands on stdout, and nothing else does.

use std::process::ExitCode;

use headwater::dag::{DiagramDetail, DiagramFormat, diagram_format, write_diagram};
use headwater::graph::Registry;
use headwater::{DiagramRequest, Error};

use crate::arguments::Common;
use crate::arguments::dag::{Dag, DagFormat};
use crate::run::site;
use crate::show;

pub(crate) fn dag(options: &Dag, common: &Common, libraries: &Registry) -> Result<ExitCode, Error> {
    let site = site(common, libraries)?;
    let asked = options.format.map(|format| match format {
        DagFormat::Svg => DiagramFormat::Svg,
        DagFormat::Dot => DiagramFormat::Dot,
        DagFormat::Mmd => DiagramFormat::Mermaid,
    });
    let output = options
        .output
        .as_ref()
        .filter(|path| path.as_os_str() != "-");
    let format = match (asked, output) {
        (Some(format), _) => format,
        (None, Some(path)) => diagram_format(path)?,
        (None, None) => DiagramFormat::Mermaid,
    };
    let request = DiagramRequest {
        what: options.what.clone(),
        detail: match options {
            Dag {
                unreduced: true, ..
            } => DiagramDetail::Unreduced,
            Dag { each: true, .. } => DiagramDetail::Each,
            Dag { grouped: true, .. } => DiagramDetail::Grouped,
            _ => DiagramDetail::Automatic,
        },
    };
    let diagram = site.diagram(&request)?;
    if let Some(path) = output {
        write_diagram(&diagram, format, &site.folder().join(path))?;
        show::talk(&format!("wrote {}", show::path(path)));
    }
    if common.json {
        show::line(&serde_json::to_string(&diagram).unwrap_or_default());
    } else if output.is_none() {
        show::line(format.text(&diagram).trim_end());
    }
    Ok(ExitCode::SUCCESS)
}
