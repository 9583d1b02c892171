//! `cargo xtask crash`: the long mode of the test that kills writers of a store.
//!
//! Law: the test itself lives with the store; here only the time is chosen. The tests run a fixed number of the same
//! kills, so this command is never needed for a change to be good.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::minutes;
use crate::process;

/// The package that holds the test.
const PACKAGE: &str = "headwater-remember";

/// The test.
const TEST: &str = "crash::a_killed_writer_loses_nothing_it_acknowledged";

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    let minutes = minutes::parse("crash", arguments)?.to_string();
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

#[cfg(test)]
mod tests {
    use super::TEST;
    use crate::process;

    #[test]
    fn the_test_exists() {
        let path = process::root().join("crates/remember/tests/store/crash.rs");
        let text = std::fs::read_to_string(path).unwrap();
        let name = TEST.strip_prefix("crash::").unwrap();
        assert!(text.contains(&format!("fn {name}()")), "{name}");
    }
}
