//! `cargo xtask bench all`: every benchmark, one after the other.
//!
//! Law: one run on one machine. What a benchmark prints as JSON is kept as it is; one that could not go on stands in the
//! result with the reason, and the others go on. The exit code is 1 when a claim falls short or a benchmark is missing.

use std::fs;
use std::process::{Command, ExitCode, Stdio};

use serde_json::{Value, json};

use super::{Bench, PACKAGE, line};
use crate::failure::Failure;
use crate::figures::Figures;
use crate::packages;
use crate::process;

/// What is typed in place of the name of a benchmark.
pub(super) const NAME: &str = "all";

/// Programs that benchmarks compare with or run, and their Debian packages.
const NEEDED: &[(&str, &str)] = &[
    ("b3sum", "b3sum"),
    ("montage", "imagemagick"),
    ("mProjectPP", "montage"),
];

/// Runs all of them.
pub(super) fn run(benches: &[Bench], passed: &[&str]) -> Result<ExitCode, Failure> {
    let json = match passed {
        [] => false,
        ["--json"] => true,
        [other, ..] => {
            return Err(Failure::usage(format!(
                "`bench all` takes `--json` or nothing, not `{other}`"
            )));
        }
    };
    packages::install(NEEDED, "what is compared with it is left out");
    // Compiled before the first one is measured: two programs at once would disturb each other.
    let hint = "a benchmark has to compile before it can measure";
    process::require_cargo(
        &[
            "build",
            "--release",
            "--locked",
            "--package",
            PACKAGE,
            "--bins",
        ],
        hint,
    )?;
    let mut told = Vec::new();
    for (place, bench) in benches.iter().enumerate() {
        eprintln!("== {} ({} of {})", bench.name, place + 1, benches.len());
        told.push(measure(&bench.name).unwrap_or_else(|reason| {
            eprintln!("note: `{}` gave no figures: {reason}", bench.name);
            json!({"bench": bench.name, "error": reason, "claims": []})
        }));
    }
    let document = json!({
        "headwater": env!("CARGO_PKG_VERSION"),
        "date": today(),
        "machine": machine(),
        "benches": told,
    });
    let figures = Figures::read(&document)?;
    if json {
        let mut document = document;
        document["table"] = figures.table_json();
        document["jobs"] = figures.jobs_json();
        println!("{document:#}");
    } else {
        print!("{}", figures.text());
    }
    Ok(ExitCode::from(u8::from(!figures.holds())))
}

/// The document that one benchmark prints, or why there is none.
fn measure(name: &str) -> Result<Value, String> {
    let output = Command::new(process::cargo())
        .args(line(name, &["--json"]))
        .current_dir(process::root())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().rev().find(|line| line.starts_with('{'));
    let last = last.ok_or_else(|| format!("it ended with {} and no figures", output.status))?;
    serde_json::from_str(last).map_err(|error| format!("its figures cannot be read: {error}"))
}

/// The day, as `YYYY-MM-DD`.
fn today() -> String {
    let said = Command::new("date").args(["-u", "+%F"]).output();
    said.map_or(String::new(), |said| {
        String::from_utf8_lossy(&said.stdout).trim().to_owned()
    })
}

/// What the figures depend on besides the programs.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    described(cores, &read("/proc/cpuinfo"), &read("/proc/meminfo"))
}

/// The machine in a few words, from what Linux says of it.
fn described(cores: usize, processors: &str, memory: &str) -> String {
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor = field(processors, "model name");
    let kilobytes = field(memory, "MemTotal").and_then(|text| {
        let number = text.split_whitespace().next()?;
        number.parse::<f64>().ok()
    });
    let mut words = format!("{cores} cores");
    if let Some(name) = processor {
        words.push_str(&format!(" of {name}"));
    }
    if let Some(kilobytes) = kilobytes {
        words.push_str(&format!(", {:.0} GiB", kilobytes / 1_048_576.0));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::described;

    #[test]
    fn a_machine_is_told_by_what_is_known_of_it() {
        let processors = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\n";
        let memory = "MemTotal:       25165824 kB\nMemFree: 1 kB\n";
        assert_eq!(
            described(2, processors, memory),
            "2 cores of Some CPU @ 2.0GHz, 24 GiB"
        );
        assert_eq!(described(4, "", ""), "4 cores");
    }
}
