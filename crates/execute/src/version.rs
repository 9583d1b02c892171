//! What a program says of its version.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use headwater_graph::Threads;

use crate::allowance::thread_allowance;

/// Runs the command that prints the version of a program, in a folder. Some print it on standard error. An error is the end
/// of a sentence about the command.
pub fn version_said(
    command: &[Arc<str>],
    threads: Threads,
    folder: &Path,
) -> Result<String, String> {
    let Some((program, arguments)) = command.split_first() else {
        return Err("is empty".to_owned());
    };
    let mut asking = Command::new(&**program);
    if threads == Threads::Allowance {
        // One thread, however many the tasks have: what it prints is part of the recipe, and they are not.
        asking.envs(thread_allowance(1));
    }
    let output = asking
        .args(arguments.iter().map(|argument| &**argument))
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("failed ({})", output.status));
    }
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(said)
}
