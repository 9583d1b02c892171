//! `cargo xtask fuzz`: the long mode of the fuzz loop over mutated workflow files.
//!
//! Law: the loop itself lives in the bench package, next to the readers it feeds; here only the time is chosen. The
//! tests run a fixed number of the same cases, so this command is never needed for a change to be good.

use std::process::ExitCode;

use crate::bench;
use crate::failure::Failure;
use crate::process;

/// The program that holds the loop.
const PROGRAM: &str = "fuzz-flow";

/// How long it runs when nothing is said.
const DEFAULT_MINUTES: u32 = 10;

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    let minutes = parse(arguments)?.to_string();
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

/// The number of minutes asked for.
fn parse(arguments: &[String]) -> Result<u32, Failure> {
    let number = match arguments {
        [] => return Ok(DEFAULT_MINUTES),
        [flag, number] if flag == "--minutes" => number,
        _ => return Err(Failure::usage("`fuzz` takes `--minutes N` or nothing")),
    };
    match number.parse() {
        Ok(minutes) if minutes > 0 => Ok(minutes),
        _ => Err(Failure::usage(format!(
            "`--minutes` takes a whole number above 0, not `{number}`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn arguments() {
        let check = |line: &str, expected: Option<u32>| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(parse(&words).ok(), expected, "{line}");
        };
        check("", Some(10));
        check("--minutes 3", Some(3));
        check("--minutes 0", None);
        check("--minutes", None);
        check("--minutes soon", None);
        check("3", None);
    }
}
