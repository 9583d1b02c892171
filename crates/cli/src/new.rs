//! `headwater new`: files to start from.
//!
//! Law: says which files there are now, and what to type next, which can be copied into a shell as it stands.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use headwater::Error;
use headwater::graph::Registry;
use serde_json::json;

use crate::arguments::Common;
use crate::arguments::new::NewCommand;
use crate::show;

pub(crate) fn new(
    command: &NewCommand,
    common: &Common,
    libraries: &Registry,
) -> Result<ExitCode, Error> {
    let (files, next) = match command {
        NewCommand::Workflow(options) => {
            let files = headwater::files::new_workflow(&options.name, folder(&options.output))?;
            let next = match files.as_slice() {
                [flow, data, ..] => {
                    let (flow, data) = (quoted(flow), quoted(data));
                    vec![
                        format!("headwater check {flow}"),
                        format!("headwater run {flow} --inputs {data}"),
                    ]
                }
                _ => Vec::new(),
            };
            (files, next)
        }
        NewCommand::Study(options) => {
            let folder = folder(&options.output);
            let name = options.name.as_deref();
            let files = match &options.workflow {
                Some(flow) => headwater::files::new_study_of(flow, name, folder, libraries)?,
                None => headwater::files::new_study(name.unwrap_or("study"), folder)?,
            };
            let study = files.first().map(|file| quoted(file)).unwrap_or_default();
            let next = [
                format!("headwater check {study}"),
                format!("headwater study plan {study}"),
                format!("headwater study run {study}"),
            ];
            (files, next.to_vec())
        }
        NewCommand::Operations(options) => {
            let headwater = options.headwater.clone().or_else(built_from);
            let made = headwater::files::new_operations(
                &options.from,
                options.output.as_deref(),
                headwater.as_deref(),
            )?;
            let folder = quoted(&made.folder);
            let edit = made.operations.first().map(|file| quoted(file));
            let next = [
                format!("cd {folder} && cargo test"),
                "cargo run -- stage.json data.yaml".to_owned(),
            ];
            let edit = edit.map(|file| format!("$EDITOR {file}"));
            (made.files, edit.into_iter().chain(next).collect())
        }
    };
    if common.json {
        show::line(&json!({"files": files, "next": next}).to_string());
        return Ok(ExitCode::SUCCESS);
    }
    for file in &files {
        show::line(&format!("wrote {}", show::path(file)));
    }
    show::line("next:");
    for command in next {
        show::line(&format!("  {command}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder that this program was built from, if it is still there: its source is the one that fits, and a library
/// that is built with it needs no registry.
fn built_from() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../headwater");
    let there = folder.join("Cargo.toml").is_file();
    there.then_some(folder)
}

/// The folder that was asked for, or this one.
fn folder(output: &Option<PathBuf>) -> &Path {
    output.as_deref().unwrap_or(Path::new(""))
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    headwater::text::shell_quote(&path.display().to_string())
}
