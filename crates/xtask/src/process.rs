//! Starting other programs from the workspace root.
//!
//! Law: output streams straight through to the terminal, and the command line is shown on stderr before it runs, so
//! that a reader can repeat any step by hand.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use crate::failure::Failure;

/// The cargo that started us, else the one on the search path.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"))
}

/// Shows and runs `cargo ARGUMENTS` in the workspace root and returns how it ended.
pub(crate) fn run_cargo(arguments: &[&str]) -> Result<ExitStatus, Failure> {
    run_cargo_with(&[], arguments)
}

/// The root of the workspace that this tool was built in.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

/// Like [`run_cargo`], with variables in its environment.
pub(crate) fn run_cargo_with(
    variables: &[(&str, &str)],
    arguments: &[&str],
) -> Result<ExitStatus, Failure> {
    let set: String = variables
        .iter()
        .map(|(name, value)| format!("{name}={value} "))
        .collect();
    let shown = format!("{set}cargo {}", arguments.join(" "));
    eprintln!("== {shown}");
    Command::new(cargo())
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(root())
        .status()
        .map_err(|source| Failure::Start {
            command: shown,
            source,
        })
}

/// Like [`run_cargo`], where any other end than code zero is a failure with this hint.
pub(crate) fn require_cargo(arguments: &[&str], hint: &'static str) -> Result<(), Failure> {
    let status = run_cargo(arguments)?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::Step {
        command: format!("cargo {}", arguments.join(" ")),
        code: status.code(),
        hint,
    })
}

/// Whether the program ends with code zero; its output is thrown away.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether a program of this name is on the search path.
pub(crate) fn is_installed(program: &str) -> bool {
    let Some(path) = std::env::var_os("PATH") else {
        return false;
    };
    std::env::split_paths(&path).any(|folder| Path::new(&folder).join(program).is_file())
}

/// The same exit code for us as for the program; 1 when a signal ended it.
pub(crate) fn pass_on(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::{is_installed, succeeds};

    #[test]
    fn programs_are_found_on_the_search_path() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-program-has-this-name"));
    }

    #[test]
    fn success_is_code_zero() {
        assert!(succeeds("sh", &["-c", "exit 0"]));
        assert!(!succeeds("sh", &["-c", "exit 3"]));
        assert!(!succeeds("no-program-has-this-name", &[]));
    }
}
