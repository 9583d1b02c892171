//! `cargo xtask fuzz`: the long mode of the fuzz loop over mutated workflow files.
//!
//! Law: the loop itself lives in the bench package, next to the readers it feeds; here only the time is chosen. The
//! tests run a fixed number of the same cases, so this command is never needed for a change to be good.

use std::process::ExitCode;

use crate::bench;
use crate::failure::Failure;
use crate::minutes;
use crate::process;

/// The program that holds the loop.
const PROGRAM: &str = "fuzz-flow";

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    let minutes = minutes::parse("fuzz", arguments)?.to_string();
    process::run_cargo(&[
        "run",
        "--release",
        "--locked",
        "--package",
        bench::PACKAGE,
        "--bin",
        PROGRAM,
        "--",
        "--minutes",
        &minutes,
    ])
    .map(process::pass_on)
}
