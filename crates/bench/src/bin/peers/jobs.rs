//! What the jobs share: whose turn it is, the scripts of the engines in Python, and outputs that have to be equal.
//!
//! Law: in each turn every engine runs once, in the order of the table, so that what drifts hits all alike. The first
//! failure of an engine ends its turns, not those of the others.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::peers::Peer;
use crate::table::Row;
use crate::{Bench, CORES, process};

/// The scripts, beside `requirements.txt`.
const SCRIPTS: [(&str, &str); 5] = [
    ("common.py", include_str!("../../../peers/common.py")),
    ("with_dask.py", include_str!("../../../peers/with_dask.py")),
    (
        "with_parsl.py",
        include_str!("../../../peers/with_parsl.py"),
    ),
    ("with_ray.py", include_str!("../../../peers/with_ray.py")),
    (
        "with_hyperqueue.py",
        include_str!("../../../peers/with_hyperqueue.py"),
    ),
];
/// How long an engine may take for one turn of one job.
pub(crate) const LIMIT: Duration = Duration::from_secs(240);

/// A row that is to be measured: who, and in which way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// Who.
    pub(crate) peer: Peer,
    /// Which of its ways; nothing where there is one.
    pub(crate) mode: &'static str,
}

impl Way {
    /// This engine, in this way.
    pub(crate) const fn new(peer: Peer, mode: &'static str) -> Way {
        Way { peer, mode }
    }
}

/// Who runs commands, and how: the rows of the jobs that start programs.
pub(crate) const COMMAND_WAYS: [Way; 9] = [
    Way::new(Peer::Headwater, ""),
    Way::new(Peer::Dask, "processes"),
    Way::new(Peer::Dask, "threads"),
    Way::new(Peer::Parsl, "processes"),
    Way::new(Peer::Parsl, "threads"),
    Way::new(Peer::Ray, ""),
    Way::new(Peer::Hyperqueue, ""),
    Way::new(Peer::Snakemake, ""),
    Way::new(Peer::Cwltool, ""),
];

/// One turn: when the engine was ready, and then the seconds of each run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Turn {
    /// From nothing to a first task that came back; nothing where the engine is a program that runs once.
    pub(crate) start: Option<f64>,
    /// Of each run.
    pub(crate) seconds: Vec<f64>,
}

/// A step: a program, and where its standard output goes.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// The file.
    pub(crate) stdout: Option<PathBuf>,
}

/// Steps that follow each other.
pub(crate) type Chain = Vec<Step>;

/// Measures the ways in turns. `turn` gets an empty folder and makes one; `columns` makes the figures of the table of
/// it, one for each column.
pub(crate) fn measure(
    bench: &Bench,
    job: &str,
    ways: &[Way],
    mut turn: impl FnMut(Way, &Path) -> Result<Turn, String>,
    columns: impl Fn(Way, &Turn) -> Vec<Option<f64>>,
) -> Vec<Row> {
    let ways = ways
        .iter()
        .filter(|way| bench.options.peers.contains(&way.peer));
    let mut rows: Vec<(Way, Row)> = ways.map(|way| (*way, bench.row(*way))).collect();
    for repeat in 0..bench.options.repeat {
        for (way, row) in &mut rows {
            let Ok(samples) = &mut row.samples else {
                continue;
            };
            // Short: Ray makes sockets below, and the path of a socket has at most 107 bytes.
            let initial = job.get(..1).unwrap_or_default();
            let folder = bench.scratch.join(format!("{initial}{repeat}"));
            let made = fs::create_dir_all(&folder).map_err(|error| error.to_string());
            let told = made.and_then(|()| turn(*way, &folder));
            let _ = fs::remove_dir_all(&folder);
            match told {
                Ok(told) => {
                    let figures = columns(*way, &told);
                    samples.resize(figures.len(), Vec::new());
                    for (column, figure) in samples.iter_mut().zip(figures) {
                        column.extend(figure);
                    }
                    let seconds: Vec<String> = told
                        .seconds
                        .iter()
                        .map(|seconds| format!("{seconds:.2} s"))
                        .collect();
                    bench.note(&format!(
                        "{job}, turn {}: {}: {}",
                        repeat + 1,
                        row.engine,
                        seconds.join(", ")
                    ));
                }
                Err(reason) => {
                    bench.note(&format!("{job}: {} left out: {reason}", row.engine));
                    row.samples = Err(reason);
                }
            }
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

impl Bench {
    /// An empty row; with the reason where the engine is not there.
    fn row(&self, way: Way) -> Row {
        let installed = self.versions.get(&way.peer).cloned();
        let installed = installed.unwrap_or_else(|| Err("it was not looked for".to_owned()));
        let engine = match way.mode {
            "" => way.peer.name().to_owned(),
            mode => format!("{} ({mode})", way.peer.name()),
        };
        Row {
            engine,
            version: installed.clone().unwrap_or_default(),
            ours: way.peer == Peer::Headwater,
            samples: installed.map(|_| Vec::new()),
        }
    }

    /// A program of the peers' Python.
    pub(crate) fn program(&self, name: &str, folder: &Path) -> Command {
        let mut command = Command::new(self.venv.programs.join(name));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(self.venv.programs.clone()).chain(std::env::split_paths(&path));
        command
            .current_dir(folder)
            // As `activate` sets it: engines start further programs of theirs by name.
            .envs(std::env::join_paths(paths).map(|path| ("PATH", path)))
            // Caches and settings of engines belong to the run.
            .env("HOME", folder)
            .env("XDG_CACHE_HOME", folder.join("cache"))
            .env("PYTHONPATH", self.scratch.join("scripts"))
            .env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// Writes the scripts for the engines.
    pub(crate) fn write_scripts(&self) -> std::io::Result<()> {
        let folder = self.scratch.join("scripts");
        fs::create_dir_all(&folder)?;
        for (name, text) in SCRIPTS {
            fs::write(folder.join(name), text)?;
        }
        Ok(())
    }

    /// A turn of an engine in Python, with what `more` says of the work.
    fn scripted(&self, way: Way, folder: &Path, more: Value) -> Result<Turn, String> {
        let own = folder.join("o");
        let work = folder.join("work");
        let spec = folder.join("spec.json");
        let failed = |error: std::io::Error| error.to_string();
        fs::create_dir_all(&own).map_err(failed)?;
        fs::create_dir_all(&work).map_err(failed)?;
        let mut told = json!({"mode": way.mode, "cores": CORES, "folder": own});
        if let (Some(told), Value::Object(more)) = (told.as_object_mut(), more) {
            told.extend(more);
        }
        fs::write(&spec, told.to_string()).map_err(failed)?;
        let script = self
            .scratch
            .join("scripts")
            .join(format!("with_{}.py", way.peer.name()));
        let mut command = self.program("python", &work);
        command.arg(script).arg(&spec);
        let ran = process::run(&mut command, folder, LIMIT)?;
        answer(&ran.stdout)
    }

    /// A fan of tasks that do nothing, in an engine in Python.
    pub(crate) fn scripted_fan(
        &self,
        way: Way,
        folder: &Path,
        tasks: usize,
    ) -> Result<Turn, String> {
        self.scripted(way, folder, json!({"fan": tasks}))
    }

    /// Runs of chains, one after the other, in an engine in Python.
    pub(crate) fn scripted_chains(
        &self,
        way: Way,
        folder: &Path,
        runs: &[Vec<Chain>],
        warm: &[Chain],
    ) -> Result<Turn, String> {
        let chains = |chains: &[Chain]| -> Vec<Vec<Value>> {
            let step = |step: &Step| json!({"argv": step.argv, "stdout": step.stdout});
            chains
                .iter()
                .map(|chain| chain.iter().map(step).collect())
                .collect()
        };
        let runs: Vec<_> = runs.iter().map(|run| chains(run)).collect();
        self.scripted(way, folder, json!({"runs": runs, "warm": chains(warm)}))
    }
}

/// Reads the last line of what a script printed.
fn answer(stdout: &str) -> Result<Turn, String> {
    let line = stdout.lines().last().unwrap_or_default();
    let told: Value = serde_json::from_str(line)
        .map_err(|_| format!("it answered `{line}`, not with figures"))?;
    let seconds = told["seconds"]
        .as_array()
        .map(|all| all.iter().filter_map(Value::as_f64).collect());
    match (told["start"].as_f64(), seconds) {
        (Some(start), Some(seconds)) => Ok(Turn {
            start: Some(start),
            seconds,
        }),
        _ => Err(format!("it answered `{line}`, without figures")),
    }
}

/// `snakemake` for the `Snakefile` of a folder. Its greedy scheduler: the other solves a program with integers for
/// commands that are all alike.
pub(crate) fn snakemake(bench: &Bench, folder: &Path) -> Command {
    let mut command = bench.program("snakemake", folder);
    command.args([
        "--cores",
        &CORES.to_string(),
        "--scheduler",
        "greedy",
        // It would start at most 100 in a second.
        "--max-jobs-per-timespan",
        "10000/1s",
        "--quiet",
        "all",
    ]);
    command
}

/// `cwltool` in a folder, as parallel as it can be: on all cores that it may use, which are those of the bench.
pub(crate) fn cwltool(bench: &Bench, folder: &Path) -> Command {
    let mut command = bench.program("cwltool", folder);
    command.args(["--parallel", "--quiet"]);
    command
}

/// Runs chains with no engine: a thread for each core takes the next one, until there is none.
pub(crate) fn plainly(chains: &[Chain]) -> Result<(), String> {
    let next = AtomicUsize::new(0);
    let worker = || -> Result<(), String> {
        while let Some(chain) = chains.get(next.fetch_add(1, Ordering::Relaxed)) {
            chain.iter().try_for_each(Step::run)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..CORES).map(|_| scope.spawn(worker)).collect();
        let mut ended = workers.into_iter().map(|worker| worker.join());
        ended.try_for_each(|ended| {
            ended.unwrap_or_else(|_| Err("a thread came to grief".to_owned()))
        })
    })
}

impl Step {
    /// Runs it here.
    fn run(&self) -> Result<(), String> {
        let (program, arguments) = self.argv.split_first().ok_or("a step without a program")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        if let Some(path) = &self.stdout {
            let file = fs::File::create(path).map_err(|error| error.to_string())?;
            command.stdout(file);
        }
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("`{program}` ended with {status}")),
            Err(error) => Err(format!("`{program}`: {error}")),
        }
    }
}

/// Copies the files of a folder to a new one.
pub(crate) fn gather(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|error| format!("`{}`: {error}", to.display()))?;
    for (name, contents) in files(from)? {
        fs::write(to.join(&name), contents).map_err(|error| format!("`{name}`: {error}"))?;
    }
    Ok(())
}

/// Contents of files by their name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Reads the files right in a folder.
pub(crate) fn files(folder: &Path) -> Result<Files, String> {
    let failed = |error: std::io::Error| format!("`{}`: {error}", folder.display());
    let mut found = Files::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let contents = fs::read(entry.path()).map_err(failed)?;
        found.insert(entry.file_name().to_string_lossy().into_owned(), contents);
    }
    Ok(found)
}

/// Whether the files of an engine are those that were wanted, byte for byte.
pub(crate) fn equal(found: &Files, wanted: &Files) -> Result<(), String> {
    let names: Vec<&String> = wanted
        .keys()
        .filter(|name| !found.contains_key(*name))
        .collect();
    if let Some(name) = names.first() {
        return Err(format!(
            "{} of {} outputs are missing, such as `{name}`",
            names.len(),
            wanted.len()
        ));
    }
    if let Some(name) = found.keys().find(|name| !wanted.contains_key(*name)) {
        return Err(format!("there is an output `{name}` that nobody wanted"));
    }
    match wanted
        .iter()
        .find(|(name, contents)| found.get(*name) != Some(*contents))
    {
        Some((name, _)) => Err(format!("its output `{name}` is not that of the others")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Files, Step, Turn, answer, equal, files, gather, plainly};

    #[test]
    fn the_last_line_of_a_script_has_the_figures() {
        let turn = Turn {
            start: Some(1.5),
            seconds: vec![2.0, 3.25],
        };
        assert_eq!(
            answer("hello\n{\"start\": 1.5, \"seconds\": [2, 3.25]}\n"),
            Ok(turn)
        );
        assert!(answer("hello\n").unwrap_err().contains("`hello`"));
        assert!(answer("{}").unwrap_err().contains("without figures"));
        assert!(answer("").is_err());
    }

    #[test]
    fn outputs_have_to_be_equal_to_the_byte() {
        let files = |all: &[(&str, &str)]| -> Files {
            all.iter()
                .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
                .collect()
        };
        let wanted = files(&[("0", "a"), ("1", "b")]);
        assert_eq!(equal(&wanted, &wanted), Ok(()));
        let check = |found: &[(&str, &str)], part: &str| {
            let reason = equal(&files(found), &wanted).unwrap_err();
            assert!(reason.contains(part), "{reason}");
        };
        check(&[("0", "a")], "1 of 2 outputs are missing, such as `1`");
        check(
            &[("0", "a"), ("1", "b"), ("2", "")],
            "`2` that nobody wanted",
        );
        check(&[("0", "a"), ("1", "c")], "`1` is not that of the others");
    }

    #[test]
    fn chains_run_without_an_engine_in_their_order() {
        let folder =
            std::env::temp_dir().join(format!("headwater-peers-plainly-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("made")).unwrap();
        let step = |words: &[String], stdout| Step {
            argv: words.to_vec(),
            stdout,
        };
        let chain = |number: usize| {
            let name = |kind: &str| folder.join(format!("{kind}/{number}.txt"));
            let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
            vec![
                step(&["echo".to_owned(), number.to_string()], Some(name("made"))),
                step(
                    &["cp".to_owned(), text(name("made")), text(name("."))],
                    None,
                ),
            ]
        };
        let chains: Vec<_> = (0..20).map(chain).collect();
        plainly(&chains).unwrap();
        gather(&folder.join("made"), &folder.join("copy")).unwrap();
        let made = files(&folder.join("copy")).unwrap();
        assert_eq!(made.len(), 20);
        assert_eq!(made["17.txt"], b"17\n");
        assert_eq!(std::fs::read(folder.join("17.txt")).unwrap(), b"17\n");
        let failing = vec![vec![step(&["false".to_owned()], None)]];
        assert!(plainly(&failing).unwrap_err().contains("`false` ended"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
