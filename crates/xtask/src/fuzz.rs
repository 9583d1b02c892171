//! `cargo xtask fuzz`: the long mode of the fuzz loops over mutated workflow files and image files.
//!
//! Law: the loops themselves live in the bench package, which knows the readers they feed; here only the time is
//! chosen. The tests run a fixed number of the same cases, so this command is never needed for a change to be good.

use std::process::ExitCode;

use crate::bench;
use crate::failure::Failure;
use crate::minutes;
use crate::process;

/// The programs that hold the loops.
const PROGRAMS: [&str; 2] = ["fuzz-flow", "fuzz-images"];

/// Runs the command: each program for its time, up to the first that finds something.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    let minutes = minutes::parse("fuzz", arguments)?.to_string();
    for program in PROGRAMS {
        let status = process::run_cargo(&[
            "run",
            "--release",
            "--locked",
            "--package",
            bench::PACKAGE,
            "--bin",
            program,
            "--",
            "--minutes",
            &minutes,
        ])?;
        if !status.success() {
            return Ok(process::pass_on(status));
        }
    }
    Ok(ExitCode::SUCCESS)
}
