//! `cargo xtask test`: all that has to pass before a change is good.
//!
//! Law: the steps run in order, the cheap ones first, and the first that fails ends the command with a non-zero code.
//! A missing helper program never fails the command: the tests that need it say so and skip.

use std::process::{Command, ExitCode};

use crate::failure::Failure;
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
];

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    let quick = parse(arguments)?;
    install_needed();
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

/// Installs the helper programs if that works without asking anyone.
fn install_needed() {
    let is_missing = |(program, _): &&(&str, &str)| !process::is_installed(program);
    let missing: Vec<&(&str, &str)> = NEEDED.iter().filter(is_missing).collect();
    // The package lists may be missing or old, as in a fresh container; fetching them is slow, so it comes second.
    let mut is_fresh = false;
    for (program, package) in missing {
        let Some(prefix) = administrator() else {
            eprintln!(
                "note: `{program}` is not installed (Debian package `{package}`); tests that need it will skip"
            );
            continue;
        };
        eprintln!("== installing the Debian package `{package}`");
        let install = ["install", "-y", "--no-install-recommends", package];
        let mut installed = apt_get(prefix, &install);
        if !installed && !is_fresh {
            is_fresh = true;
            installed = apt_get(prefix, &["update"]) && apt_get(prefix, &install);
        }
        if !installed {
            eprintln!("note: `{package}` could not be installed; tests that need it will skip");
        }
    }
}

/// Installs SALib into the build folder, for the tests that compare with it.
fn install_salib() {
    if let Err(message) = python::SALIB.python(|note| eprintln!("== {note}")) {
        eprintln!("note: tests that compare with SALib will skip ({message})");
    }
}

/// The words to put before `apt-get`, or none where packages cannot be installed without asking.
fn administrator() -> Option<&'static [&'static str]> {
    if !process::is_installed("apt-get") {
        None
    } else if process::succeeds("sh", &["-c", "test \"$(id -u)\" = 0"]) {
        Some(&[])
    } else if process::succeeds("sudo", &["-n", "true"]) {
        Some(&["sudo", "-n"])
    } else {
        None
    }
}

/// Runs `apt-get` without questions; whether it succeeded.
fn apt_get(prefix: &[&str], arguments: &[&str]) -> bool {
    let line = [
        prefix,
        &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"],
        arguments,
    ]
    .concat();
    Command::new(line[0])
        .args(&line[1..])
        .status()
        .is_ok_and(|status| status.success())
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
