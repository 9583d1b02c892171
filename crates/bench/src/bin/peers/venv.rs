//! The Python of the peers, with each of them in it.
//!
//! Law: the versions are those of `requirements.txt`, whichever set is installed first. A set that cannot be had leaves
//! the others alone: who asks for it gets the reason.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use headwater_bench::python::scratch;

/// The versions of everything.
const PINS: &str = include_str!("../../../peers/requirements.txt");
/// The Pythons for which there are all of these packages.
const PYTHONS: std::ops::Range<u32> = 11..14;

/// Packages that one job or one engine needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs {
    /// What it is called in messages.
    pub(crate) name: &'static str,
    /// The packages, the first of them the one whose version is told.
    pub(crate) packages: &'static [&'static str],
}

/// A folder of the build with a Python and packages.
#[derive(Debug)]
pub(crate) struct Venv {
    /// The program.
    pub(crate) python: PathBuf,
    /// The folder of its other programs, such as `snakemake`.
    pub(crate) programs: PathBuf,
    pins: PathBuf,
}

impl Venv {
    /// Finds it, or makes it.
    pub(crate) fn open(note: impl Fn(&str)) -> Result<Venv, Box<dyn Error>> {
        let folder = scratch()?.join("peers");
        let programs = folder.join("bin");
        let venv = Venv {
            python: programs.join("python"),
            programs,
            pins: folder.join("requirements.txt"),
        };
        if said(Command::new(&venv.python).arg("--version")).is_err() {
            fit()?;
            note("making a virtual environment for Python, once");
            fs::create_dir_all(&folder)?;
            let mut make = Command::new("python3");
            said(make.args(["-m", "venv", "--clear"]).arg(&folder)).map_err(|reason| {
                format!("`python3 -m venv` failed: {reason}; install the venv module of Python, on Debian the package \
                         python3-venv")
            })?;
        }
        fs::write(&venv.pins, PINS)?;
        Ok(venv)
    }

    /// The version of what is needed, which is installed first where it is missing or another.
    pub(crate) fn install(&self, needs: Needs, note: impl Fn(&str)) -> Result<String, String> {
        let first = needs.packages.first().copied().unwrap_or_default();
        let fits = |found: &BTreeMap<String, String>| {
            let pins = pins(PINS);
            needs.packages.iter().all(|package| {
                let name = plain(package);
                found.contains_key(&name)
                    && pins
                        .get(&name)
                        .is_none_or(|pin| found.get(&name) == Some(pin))
            })
        };
        let mut found = self.found()?;
        if !fits(&found) {
            note(&format!("installing {}, once", needs.name));
            let mut pip = Command::new(&self.python);
            pip.args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .arg("--constraint")
            .arg(&self.pins)
            .args(needs.packages);
            said(&mut pip).map_err(|reason| {
                format!(
                    "{} cannot be installed: {reason}; is PyPI in reach of pip",
                    needs.name
                )
            })?;
            found = self.found()?;
        }
        match found.get(&plain(first)) {
            Some(version) if fits(&found) => Ok(version.clone()),
            _ => Err(format!(
                "{} is not what requirements.txt says after it was installed",
                needs.name
            )),
        }
    }

    /// All that is installed.
    fn found(&self) -> Result<BTreeMap<String, String>, String> {
        const SCRIPT: &str = "import importlib.metadata as m\n\
            for d in m.distributions(): print(d.metadata['Name'] + '==' + d.version)";
        said(Command::new(&self.python).args(["-c", SCRIPT])).map(|text| pins(&text))
    }
}

/// Whether `python3` is one that all of the packages know.
fn fit() -> Result<(), String> {
    let text = said(Command::new("python3").arg("--version")).map_err(|reason| {
        format!("there is no `python3` ({reason}); install Python 3.11 to 3.13")
    })?;
    match minor(&text) {
        Some(version) if PYTHONS.contains(&version) => Ok(()),
        _ => Err(format!(
            "`python3` is {}; the peers want Python 3.11 to 3.13: put one of them first in PATH",
            text.trim()
        )),
    }
}

/// The middle number of `Python 3.11.7`.
fn minor(text: &str) -> Option<u32> {
    let rest = text.trim().strip_prefix("Python 3.")?;
    rest.split('.').next()?.parse().ok()
}

/// Lines `name==version`, by plain name.
fn pins(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.trim().split_once("=="));
    lines
        .map(|(name, version)| (plain(name), version.trim().to_owned()))
        .collect()
}

/// The name of a package as PyPI compares them: without extras, in small letters, with `-` alone.
fn plain(name: &str) -> String {
    let name = name.split('[').next().unwrap_or_default();
    name.trim().to_lowercase().replace(['_', '.'], "-")
}

/// What a command printed; the last line of its complaints where it failed.
pub(crate) fn said(command: &mut Command) -> Result<String, String> {
    let program = Path::new(command.get_program()).display().to_string();
    let output = command
        .output()
        .map_err(|error| format!("`{program}`: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.trim_end().lines().last().unwrap_or("it said nothing");
    Err(format!("{last} ({})", output.status))
}

#[cfg(test)]
mod tests {
    use super::{PINS, minor, pins, plain};

    #[test]
    fn versions_of_python_are_read() {
        assert_eq!(minor("Python 3.11.7\n"), Some(11));
        assert_eq!(minor("Python 3.14.0rc1"), Some(14));
        assert_eq!(minor("Python 2.7.18"), None);
    }

    #[test]
    fn names_of_packages_compare_as_on_pypi() {
        assert_eq!(plain("Ray[default]"), "ray");
        assert_eq!(plain("ruamel.yaml"), plain("Ruamel_Yaml"));
        let read = pins("# a remark\nDask==1.2\n\nruamel.yaml==0.3\n");
        assert_eq!(read.get("dask").map(String::as_str), Some("1.2"));
        assert_eq!(read.get("ruamel-yaml").map(String::as_str), Some("0.3"));
    }

    #[test]
    fn every_peer_has_a_pin() {
        let pins = pins(PINS);
        for (name, needs) in crate::peers::needs() {
            for package in needs.packages {
                assert!(pins.contains_key(&plain(package)), "{name}: {package}");
            }
        }
    }
}
