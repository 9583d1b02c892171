//! The same jobs in Headwater, Dask, Parsl, Ray, HyperQueue, Snakemake and cwltool, side by side.
//!
//! Law: one machine, one run, the same work with outputs that are compared; engines take turns, and the median of the
//! turns counts. An engine that cannot be installed or does not finish is a row with the reason, and the others go on.
//! `options` is the command line, `venv` the Python, `peers` who is measured, `table` what is told; each job has a file.

mod commands;
mod fan;
mod jobs;
mod options;
mod peers;
mod pipeline;
mod process;
mod study;
mod table;
mod venv;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use headwater_bench::{Claims, exit_code};

use options::{Form, HELP, Job, Options};
use peers::Peer;
use table::Table;
use venv::Venv;

/// On how many cores everything runs.
pub(crate) const CORES: usize = 2;

/// What every job needs.
#[derive(Debug)]
pub(crate) struct Bench {
    /// What was asked for: sizes, turns (`repeat`), engines.
    pub(crate) options: Options,
    /// The Python of the peers, as `venv.python`.
    pub(crate) venv: Venv,
    /// The program `headwater`, made for release.
    pub(crate) headwater: PathBuf,
    /// A folder for the run, removed at its end.
    pub(crate) scratch: PathBuf,
    /// The version of each engine that is wanted, or why there is none.
    pub(crate) versions: BTreeMap<Peer, Result<String, String>>,
}

impl Bench {
    /// A word for who waits.
    pub(crate) fn note(&self, text: &str) {
        eprintln!("{text}");
    }
}

fn main() -> ExitCode {
    headwater::init();
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, wanted @ ..] = words.as_slice()
        && flag == fan::OWN
    {
        return fan::child(wanted);
    }
    let options = match Options::read(&words) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    keep_to_cores();
    let scratch = std::env::temp_dir().join(format!("peers-{}", std::process::id()));
    let measured = measure(options, &scratch);
    let _ = fs::remove_dir_all(&scratch);
    exit_code(measured, |code| code)
}

fn measure(options: Options, scratch: &Path) -> Result<ExitCode, Box<dyn Error>> {
    fs::create_dir_all(scratch)?;
    let form = options.form;
    let note = |text: &str| eprintln!("{text}");
    let venv = Venv::open(note)?;
    let install = |peer: &Peer| {
        let version = match peer.needs() {
            Some(needs) => venv.install(needs, note),
            None => Ok(env!("CARGO_PKG_VERSION").to_owned()),
        };
        (*peer, version)
    };
    // The study has a Python of its own to compare with.
    let engines = options.jobs.iter().any(|job| *job != Job::Study);
    let versions = options
        .peers
        .iter()
        .filter(|_| engines)
        .map(install)
        .collect();
    let bench = Bench {
        headwater: headwater()?,
        scratch: scratch.to_owned(),
        options,
        versions,
        venv,
    };
    bench.write_scripts()?;
    let machine = machine(&bench);
    match form {
        Form::Text => println!("{machine}\n"),
        Form::Markdown => println!("On {machine}.\n"),
        Form::Json => {}
    }
    let mut claims = Claims::new("peers");
    let mut tables: Vec<Table> = Vec::new();
    for job in &bench.options.jobs {
        let made = match job {
            Job::Fan => fan::run(&bench)?,
            Job::Commands => commands::run(&bench)?,
            Job::Pipeline => pipeline::run(&bench)?,
            Job::Study => study::run(&bench, &mut claims)?,
        };
        for table in &made {
            match form {
                Form::Text => println!("{}", table.text()),
                Form::Markdown => println!("{}", table.markdown()),
                Form::Json => {}
            }
        }
        tables.extend(made);
    }
    for table in &tables {
        table.claim(&mut claims);
    }
    let mut compared: Vec<String> = tables.iter().flat_map(Table::compared).collect();
    compared.sort();
    compared.dedup();
    for engine in &compared {
        claims.compared_with(engine);
    }
    let markdown: Vec<String> = tables.iter().map(Table::markdown).collect();
    claims.attach("markdown", markdown.join("\n").into());
    let tables: Vec<serde_json::Value> = tables.iter().map(Table::json).collect();
    claims.attach("tables", tables.into());
    claims.attach("machine", machine.into());
    Ok(claims.finish())
}

/// What the figures depend on besides the engines.
fn machine(bench: &Bench) -> String {
    let python = venv::said(Command::new(&bench.venv.python).arg("--version"));
    let python = python.unwrap_or_else(|_| "an unknown Python".to_owned());
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    // Those that this program may use are fewer by now.
    let there = processor
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    format!(
        "{CORES} of {there} cores, {}; files on {}; {}",
        processor_name(&processor),
        file_system(&mounts, &bench.scratch),
        python.trim()
    )
}

/// Keeps this program, and with it all that it starts, to as many cores as the tables say.
fn keep_to_cores() {
    // SAFETY: the set is plain data that lives on this stack frame, and the calls read and write within its size.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        if libc::sched_getaffinity(0, size, &mut allowed) != 0 {
            return;
        }
        let mut kept: libc::cpu_set_t = std::mem::zeroed();
        let cores = (0..libc::CPU_SETSIZE as usize).filter(|core| libc::CPU_ISSET(*core, &allowed));
        for core in cores.take(CORES) {
            libc::CPU_SET(core, &mut kept);
        }
        libc::sched_setaffinity(0, size, &kept);
    }
}

/// The kind of file system that a folder is on, by the table of mounts.
fn file_system<'m>(mounts: &'m str, folder: &Path) -> &'m str {
    let places = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let around = places.filter(|(place, _)| folder.starts_with(place));
    around
        .max_by_key(|(place, _)| place.len())
        .map_or("unknown", |(_, kind)| kind)
}

/// The processor, as `/proc/cpuinfo` calls it.
fn processor_name(text: &str) -> &str {
    let names = text.lines().filter_map(|line| line.split_once(':'));
    let mut names = names.filter(|(key, _)| key.trim() == "model name");
    names
        .next()
        .map_or("an unknown processor", |(_, name)| name.trim())
}

/// The program of this project, made anew where it is older than its source.
fn headwater() -> Result<PathBuf, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args([
            "build",
            "--release",
            "--locked",
            "--quiet",
            "--package",
            "headwater-cli",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()?;
    let folder = std::env::current_exe()?;
    let program = folder.with_file_name("headwater");
    if built.success() && program.is_file() {
        Ok(program)
    } else {
        Err("the program `headwater` could not be built; what cargo said stands above".into())
    }
}

/// Where a program is, by its name.
pub(crate) fn program_named(name: &str) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    let found = places.find(|place| place.is_file())?;
    found.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{file_system, processor_name, program_named};

    #[test]
    fn a_folder_is_on_the_nearest_file_system() {
        let mounts = "a / ext4 rw 0 0\nb /scratch tmpfs rw 0 0\nc /scratch/deep xfs rw 0 0\n";
        let kind = |folder: &str| file_system(mounts, Path::new(folder));
        assert_eq!(
            (kind("/data/x"), kind("/scratch/x"), kind("/scratch/deep/y")),
            ("ext4", "tmpfs", "xfs")
        );
        assert_eq!(file_system("", Path::new("/")), "unknown");
    }

    #[test]
    fn the_processor_is_told_by_name() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nmodel name\t: Another\n";
        assert_eq!(processor_name(text), "Some CPU @ 2.0GHz");
        assert_eq!(processor_name(""), "an unknown processor");
    }

    #[test]
    fn programs_are_found_by_name() {
        let found = program_named("sh").unwrap();
        assert!(found.ends_with("/sh"), "{found}");
        assert_eq!(program_named("no program has this name"), None);
    }
}
