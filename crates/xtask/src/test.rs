//! `cargo xtask test`: all that has to pass before a change is good.
//!
//! Law: the steps run in order, the cheap ones first, and the first that fails ends the command with a non-zero code.
//! A missing helper program never fails the command: the tests that need it say so and skip.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::packages;
use crate::process;

#[path = "../../bench/src/python.rs"]
#[expect(
    unreachable_pub,
    reason = "the benchmarks have this file as a module of their library"
)]
mod python;

/// Programs that some tests call, and the Debian packages they come from. All are small, or are there already.
const NEEDED: &[(&str, &str)] = &[
    ("montage", "imagemagick"),
    ("mProjectPP", "montage"),
    ("zsh", "zsh"),
    ("fish", "fish"),
    ("groff", "groff"),
    ("mandoc", "mandoc"),
    ("pg_ctlcluster", "postgresql"),
    ("slurmctld", "slurmctld"),
    ("slurmd", "slurmd"),
    ("sbatch", "slurm-client"),
    ("munged", "munge"),
];

/// The steps before the tests themselves, each with what to do when it fails.
const CHECKS: &[(&[&str], &str)] = &[
    (
        &["fmt", "--all", "--check"],
        "run `cargo fmt --all` and look at what it changed",
    ),
    (
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
        "mend each warning, or put `#[expect(…, reason = \"…\")]` on it",
    ),
    (
        // The command is called as the library is, and has no pages for others.
        &[
            "doc",
            "--workspace",
            "--exclude",
            "headwater-cli",
            "--no-deps",
            "--locked",
        ],
        "mend the link that it names: what the page is about may have moved",
    ),
];

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    let quick = parse(arguments)?;
    packages::install(NEEDED, "tests that need it will skip");
    install_salib();
    if !quick {
        for (arguments, hint) in CHECKS {
            process::require_cargo(arguments, hint)?;
        }
    }
    process::require_cargo(
        &["test", "--workspace", "--locked"],
        "the names of the failed tests stand above; `cargo test --workspace NAME` runs one alone",
    )?;
    eprintln!("== all passed");
    Ok(ExitCode::SUCCESS)
}

/// Whether `--quick` was given.
fn parse(arguments: &[String]) -> Result<bool, Failure> {
    match arguments {
        [] => Ok(false),
        [flag] if flag == "--quick" => Ok(true),
        [flag] => Err(Failure::usage(format!(
            "`test` takes `--quick` or nothing, not `{flag}`"
        ))),
        _ => Err(Failure::usage("`test` takes at most one argument")),
    }
}

/// Installs SALib into the build folder, for the tests that compare with it.
fn install_salib() {
    if let Err(message) = python::SALIB.python(|note| eprintln!("== {note}")) {
        eprintln!("note: tests that compare with SALib will skip ({message})");
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn arguments() {
        let check = |arguments: &[&str], expected: Option<bool>| {
            let owned: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            assert_eq!(parse(&owned).ok(), expected, "{arguments:?}");
        };
        check(&[], Some(false));
        check(&["--quick"], Some(true));
        check(&["--fast"], None);
        check(&["--quick", "--quick"], None);
    }
}
