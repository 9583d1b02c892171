//! `cargo xtask crash`: the long mode of the test that kills writers of a store.
//!
//! Law: the test itself lives with the store; here only the time is chosen. The tests run a fixed number of the same
//! kills, so this command is never needed for a change to be good.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::process;

/// The package that holds the test.
const PACKAGE: &str = "headwater-remember";

/// The test.
const TEST: &str = "crash::a_killed_writer_loses_nothing_it_acknowledged";

/// How long it runs when nothing is said.
const DEFAULT_MINUTES: u32 = 10;

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    let minutes = parse(arguments)?.to_string();
    process::run_cargo_with(
        &[("HEADWATER_CRASH_MINUTES", &minutes)],
        &[
            "test",
            "--release",
            "--locked",
            "--package",
            PACKAGE,
            "--test",
            "store",
            "--",
            "--exact",
            TEST,
            "--nocapture",
        ],
    )
    .map(process::pass_on)
}

/// The number of minutes asked for.
fn parse(arguments: &[String]) -> Result<u32, Failure> {
    let number = match arguments {
        [] => return Ok(DEFAULT_MINUTES),
        [flag, number] if flag == "--minutes" => number,
        _ => return Err(Failure::usage("`crash` takes `--minutes N` or nothing")),
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
    use super::{TEST, parse};
    use crate::workspace;

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

    #[test]
    fn the_test_exists() {
        let path = workspace::root().join("crates/remember/tests/store/crash.rs");
        let text = std::fs::read_to_string(path).unwrap();
        let name = TEST.strip_prefix("crash::").unwrap();
        assert!(text.contains(&format!("fn {name}()")), "{name}");
    }
}
