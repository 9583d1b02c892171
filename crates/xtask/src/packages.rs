//! Programs from Debian's packages.
//!
//! Law: nobody is asked and nothing fails. What cannot be installed is told, with what happens without it.

use std::process::Command;

use crate::process;

/// Installs programs, each with the Debian package that it comes from, if that works without asking anyone.
/// `without` says what happens where one stays missing.
pub(crate) fn install(needed: &[(&str, &str)], without: &str) {
    let is_missing = |(program, _): &&(&str, &str)| !process::is_installed(program);
    let missing: Vec<&(&str, &str)> = needed.iter().filter(is_missing).collect();
    // The package lists may be missing or old, as in a fresh container; fetching them is slow, so it comes second.
    let mut is_fresh = false;
    for (program, package) in missing {
        let Some(prefix) = administrator() else {
            eprintln!("note: `{program}` is not installed (Debian package `{package}`); {without}");
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
            eprintln!("note: `{package}` could not be installed; {without}");
        }
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
        // What a command of ours prints may be for a program to read.
        .stdout(std::io::stderr())
        .status()
        .is_ok_and(|status| status.success())
}
