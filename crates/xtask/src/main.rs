//! The workspace's own tool, started as `cargo xtask COMMAND`.
//!
//! Law: everything a developer or a build machine does to the workspace besides plain `cargo` is one command here,
//! and `cargo xtask help` lists every one of them. The tool depends on no crate of the product, so it builds and
//! answers even while those do not compile.
//!
//! Read first: [`tidy`] for the rules of the source tree, [`mod@test`] for what has to pass.

mod bench;
mod code;
mod crash;
mod failure;
mod figures;
mod fuzz;
mod help;
mod minutes;
mod packages;
mod process;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use failure::Failure;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Runs the command that the arguments name.
fn dispatch(arguments: &[String]) -> Result<ExitCode, Failure> {
    let Some((command, rest)) = arguments.split_first() else {
        return Ok(help::print());
    };
    match command.as_str() {
        "tidy" => tidy::run(rest),
        "test" => test::run(rest),
        "bench" => bench::run(rest),
        "figures" => figures::run(rest),
        "fuzz" => fuzz::run(rest),
        "crash" => crash::run(rest),
        "help" | "--help" | "-h" => Ok(help::print()),
        other => Err(Failure::usage(format!("there is no command `{other}`"))),
    }
}
