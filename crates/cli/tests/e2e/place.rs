//! A folder to work in, and what the command said there.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary folder with a store of its own.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = tempfile::Builder::new()
            .prefix("headwater test ")
            .tempdir()
            .expect("a temporary folder");
        Place { folder }
    }

    /// A place with a workflow in `flow.yaml`.
    pub(crate) fn with_flow(flow: &str) -> Place {
        let place = Place::new();
        place.write("flow.yaml", flow);
        place
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        read(&self.path(name))
    }

    /// A folder for what commands tell the test, outside of everything that is part of a recipe: commands
    /// find it as `$TMPDIR`.
    pub(crate) fn side(&self) -> PathBuf {
        let side = self.path("side");
        fs::create_dir_all(&side).expect("a folder");
        side
    }

    /// What commands have written to `$TMPDIR/NAME`.
    pub(crate) fn told(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.side().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The command, not started yet, with the store of this place.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
        command
            .args(arguments)
            .current_dir(self.root())
            .env("HEADWATER_STORE", self.path(".headwater"))
            .env("TMPDIR", self.side())
            .env("COLUMNS", "100")
            .env_remove("UPDATE_DOCS")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn headwater<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Ran {
        Ran::from(
            self.command(arguments)
                .output()
                .expect("headwater can be started"),
        )
    }

    /// `headwater run flow.yaml --json` with more arguments; it has to end with this exit code.
    pub(crate) fn run(&self, arguments: &[&str], code: i32) -> Report {
        let mut all = vec!["run", "flow.yaml", "--json"];
        all.extend(arguments);
        self.headwater(&all).ended(code).report()
    }

    /// Starts a command and leaves it running.
    pub(crate) fn start<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Child {
        let mut command = self.command(arguments);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("headwater can be started")
    }

    /// Where the latest run has put its outputs.
    pub(crate) fn last(&self) -> PathBuf {
        self.path("outputs/last")
    }
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8 on stdout"),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// It ended with this exit code and did not panic.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Ran {
        assert!(
            !self.stderr.contains("panicked at"),
            "it panicked:\n{}",
            self.stderr
        );
        assert_eq!(
            self.code,
            Some(code),
            "exit code\nstdout: {}\nstderr: {}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Its talk contains all of these.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Ran {
        for text in texts {
            assert!(
                self.stderr.contains(text),
                "it should say `{text}`, and said:\n{}",
                self.stderr
            );
        }
        self
    }

    #[track_caller]
    pub(crate) fn report(&self) -> Report {
        let line = self.stdout.lines().last().unwrap_or_default();
        let json = serde_json::from_str(line).unwrap_or_else(|error| {
            panic!("{error}\nstdout: {}\nstderr: {}", self.stdout, self.stderr)
        });
        Report(json)
    }
}

/// The object that `--json` ends with.
#[derive(Debug)]
pub(crate) struct Report(pub(crate) Value);

impl Report {
    #[track_caller]
    pub(crate) fn number(&self, key: &str) -> usize {
        let number = self.0[key].as_u64();
        number.unwrap_or_else(|| panic!("no number `{key}` in {}", self.0)) as usize
    }

    /// So many tasks, executed, reused, failed.
    #[track_caller]
    pub(crate) fn counts(
        self,
        tasks: usize,
        executed: usize,
        reused: usize,
        failed: usize,
    ) -> Report {
        let found = ["tasks", "executed", "reused", "failed"].map(|key| self.number(key));
        assert_eq!(
            found,
            [tasks, executed, reused, failed],
            "tasks, executed, reused, failed in {}",
            self.0
        );
        self
    }

    /// Why a task failed; one that has a single instance by its name alone.
    #[track_caller]
    pub(crate) fn message(&self, task: &str) -> String {
        let failures = self.failures();
        let failure = failures
            .iter()
            .find_map(|(name, failure)| (name.trim_end_matches("[0]") == task).then_some(failure))
            .unwrap_or_else(|| panic!("no failure of {task} in {failures:?}"));
        failure["message"].as_str().expect("a message").to_owned()
    }

    /// The files of an output, by index.
    #[track_caller]
    pub(crate) fn files(&self, output: &str) -> BTreeMap<String, PathBuf> {
        self.items(output, "path", |value| value.as_str().map(PathBuf::from))
    }

    /// The texts of the files of an output, in order of their index.
    #[track_caller]
    pub(crate) fn texts(&self, output: &str) -> Vec<String> {
        self.files(output).values().map(|path| read(path)).collect()
    }

    /// The values of an output, by index.
    #[track_caller]
    pub(crate) fn values(&self, output: &str) -> BTreeMap<String, Value> {
        self.items(output, "value", |value| Some(value.clone()))
    }

    #[track_caller]
    fn items<T>(
        &self,
        output: &str,
        key: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> BTreeMap<String, T> {
        let items = self.0["outputs"][output].as_array();
        let items = items.unwrap_or_else(|| panic!("no output `{output}` in {}", self.0));
        items
            .iter()
            .map(|item| {
                let index = item["index"].as_str().expect("an index").to_owned();
                let found = item.get(key).and_then(&read);
                (
                    index,
                    found.unwrap_or_else(|| panic!("no `{key}` in {item}")),
                )
            })
            .collect()
    }

    pub(crate) fn folder(&self) -> PathBuf {
        PathBuf::from(self.0["folder"].as_str().expect("a folder"))
    }

    /// The rows of `trace.tsv`, by column.
    pub(crate) fn trace(&self) -> Vec<BTreeMap<String, String>> {
        let text = read(&self.folder().join("trace.tsv"));
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().expect("a header").split('\t').collect();
        let row = |line: &str| {
            let cells: Vec<&str> = line.split('\t').collect();
            assert_eq!(cells.len(), header.len(), "cells in `{line}`");
            let pairs = header.iter().zip(cells);
            pairs
                .map(|(name, cell)| ((*name).to_owned(), cell.to_owned()))
                .collect()
        };
        lines.map(row).collect()
    }

    /// The addresses of tasks in this state, sorted.
    pub(crate) fn tasks(&self, state: &str) -> Vec<String> {
        let rows = self.trace().into_iter().filter(|row| row["state"] == state);
        let mut tasks: Vec<String> = rows.map(|row| row["task"].clone()).collect();
        tasks.sort();
        tasks
    }

    /// The addresses of tasks that ran, be it for the first time or once more, sorted.
    pub(crate) fn ran(&self) -> Vec<String> {
        let mut tasks = self.tasks("executed");
        tasks.extend(self.tasks("restored"));
        tasks.sort();
        tasks
    }

    /// The failures, by address.
    pub(crate) fn failures(&self) -> BTreeMap<String, Value> {
        let failures = self.0["failures"].as_array().expect("a list of failures");
        let named = |failure: &Value| {
            (
                failure["task"].as_str().unwrap_or_default().to_owned(),
                failure.clone(),
            )
        };
        failures.iter().map(named).collect()
    }
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Copies a folder with everything in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder to copy") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// Every file below a folder with its bytes, by path; links are not followed.
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let entry = entry.expect("an entry");
            let kind = entry.file_type().expect("a kind");
            if kind.is_dir() {
                pending.push(entry.path());
            } else if kind.is_file() {
                let name = entry
                    .path()
                    .strip_prefix(folder)
                    .expect("below")
                    .to_path_buf();
                found.insert(name, fs::read(entry.path()).expect("a file"));
            }
        }
    }
    found
}

/// The delivered outputs in a folder: everything but what tells about the run itself.
pub(crate) fn delivered(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = contents(folder);
    found.remove(Path::new("trace.tsv"));
    found.remove(Path::new("inputs.yaml"));
    found.remove(Path::new("report.html"));
    found
}
