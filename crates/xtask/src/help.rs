//! The page that teaches the commands.
//!
//! Law: what stands here exists, and what exists stands here.

use std::process::ExitCode;

/// The whole page.
const PAGE: &str = "\
The tool of the Headwater workspace

Usage: cargo xtask COMMAND

  test [--quick]         install what the tests need, then check the format, run clippy and run all tests
                         --quick: only the tests
  tidy                   check the rules of the source tree (also one of the tests)
  bench [NAME] [--json]  run a benchmark in release mode; exits 1 when a claim does not hold
                         without NAME: list the benchmarks
                         --json: one JSON document on stdout instead of lines for people
  bench all [--json]     run all benchmarks, one after the other, and print the table of the README
  figures                write the tables of README.md, docs/figures.md and docs/peers.md anew, from
                         docs/figures.json, which is what `bench all --json` printed
  fuzz [--minutes N]     read mutated workflow files, then image files, each until a panic is found or
                         N minutes (default 10) are over
  crash [--minutes N]    kill writers of a store until something is lost or N minutes (default 10) are over
  help                   this page

Exit code: 0 done, 1 something failed, 2 wrong use; `bench`, `fuzz` and `crash` pass on the code of their program
";

/// Prints the page on stdout.
pub(crate) fn print() -> ExitCode {
    print!("{PAGE}");
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::PAGE;

    #[test]
    fn every_command_is_taught() {
        for command in ["test", "tidy", "bench", "figures", "fuzz", "crash", "help"] {
            assert!(
                PAGE.lines()
                    .any(|line| line.starts_with(&format!("  {command} "))),
                "`{command}` is missing"
            );
        }
    }
}
