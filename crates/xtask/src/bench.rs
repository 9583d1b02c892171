//! `cargo xtask bench`: starting a benchmark program.
//!
//! Law: a benchmark is a file `NAME.rs` (or a folder `NAME` with a `main.rs`) in `crates/bench/src/bin`; it runs in
//! release mode, gets every argument but its name, and its exit code is ours. `all` is all of them.

mod all;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::failure::Failure;
use crate::process;

/// The package of the benchmark programs.
pub(crate) const PACKAGE: &str = "headwater-bench";

/// Where its programs are.
const FOLDER: &str = "crates/bench/src/bin";

/// Programs of the package that measure nothing begin with this.
const NOT_A_BENCH: &str = "fuzz";

/// A benchmark program.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Bench {
    /// What to type.
    name: String,
    /// The first line of its module doc.
    about: String,
}

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    let benches = find(&process::root().join(FOLDER))?;
    let (name, passed) = split(arguments);
    let Some(name) = name else {
        print!("{}", list(&benches));
        return Ok(ExitCode::SUCCESS);
    };
    if name == all::NAME {
        return all::run(&benches, &passed);
    }
    if !benches.iter().any(|bench| bench.name == name) {
        return Err(Failure::usage(format!(
            "there is no benchmark `{name}`\n{}",
            list(&benches)
        )));
    }
    process::run_cargo(&line(name, &passed)).map(process::pass_on)
}

/// What cargo is told to run a benchmark.
fn line<'a>(name: &'a str, passed: &[&'a str]) -> Vec<&'a str> {
    let mut line = vec![
        "run",
        "--release",
        "--locked",
        "--package",
        PACKAGE,
        "--bin",
        name,
        "--",
    ];
    line.extend(passed);
    line
}

/// The name of the benchmark, and what is passed on to it: all the other arguments.
fn split(arguments: &[String]) -> (Option<&str>, Vec<&str>) {
    let place = arguments.iter().position(|word| !word.starts_with('-'));
    let others = arguments
        .iter()
        .enumerate()
        .filter(|(index, _)| Some(*index) != place)
        .map(|(_, word)| word.as_str())
        .collect();
    (place.map(|index| arguments[index].as_str()), others)
}

/// The benchmarks in the folder, sorted by name; none if there is no folder.
fn find(folder: &Path) -> Result<Vec<Bench>, Failure> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut benches = Vec::new();
    for entry in fs::read_dir(folder).map_err(|source| unreadable(folder, source))? {
        let path = entry.map_err(|source| unreadable(folder, source))?.path();
        let Some((name, file)) = program(&path) else {
            continue;
        };
        if name.starts_with(NOT_A_BENCH) {
            continue;
        }
        let text = fs::read_to_string(&file).map_err(|source| unreadable(&file, source))?;
        benches.push(Bench {
            name,
            about: about(&text),
        });
    }
    benches.sort();
    Ok(benches)
}

/// The name and main file of the program at this path, by cargo's own rule.
fn program(path: &Path) -> Option<(String, PathBuf)> {
    let name = path.file_stem()?.to_str()?.to_owned();
    let inner = path.join("main.rs");
    if inner.is_file() {
        Some((name, inner))
    } else if path.extension().is_some_and(|end| end == "rs") {
        Some((name, path.to_owned()))
    } else {
        None
    }
}

/// The first line of a module doc.
fn about(text: &str) -> String {
    text.lines()
        .find_map(|line| line.strip_prefix("//!"))
        .map(|line| line.trim().to_owned())
        .unwrap_or_default()
}

/// The benchmarks as lines for people.
fn list(benches: &[Bench]) -> String {
    if benches.is_empty() {
        return "there are no benchmarks yet\n".to_owned();
    }
    let width = benches.iter().map(|bench| bench.name.len()).max();
    let width = width.unwrap_or(0);
    let mut page = String::from("benchmarks:\n");
    for Bench { name, about } in benches {
        page.push_str(format!("  {name:width$}  {about}").trim_end());
        page.push('\n');
    }
    page.push_str("`all` runs all of them and prints the table of the README\n");
    page
}

/// The failure for a file or folder that cannot be read.
fn unreadable(path: &Path, source: std::io::Error) -> Failure {
    Failure::Read {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::{Bench, about, list, split};

    #[test]
    fn the_name_may_stand_before_or_after_the_flags() {
        let check = |line: &str, name: Option<&str>, passed: &[&str]| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(split(&words), (name, passed.to_vec()), "{line}");
        };
        check("", None, &[]);
        check("--json", None, &["--json"]);
        check("overhead", Some("overhead"), &[]);
        check("overhead --json", Some("overhead"), &["--json"]);
        check("--json overhead", Some("overhead"), &["--json"]);
    }

    #[test]
    fn the_list_shows_name_and_first_doc_line() {
        let bench = Bench {
            name: "overhead".to_owned(),
            about: about("//! What a task costs.\n//!\n//! More.\n"),
        };
        assert_eq!(
            list(&[bench]),
            "benchmarks:\n  overhead  What a task costs.\n`all` runs all of them and prints the table of the README\n"
        );
        assert_eq!(list(&[]), "there are no benchmarks yet\n");
    }
}
