//! Python packages that benchmarks and tests compare with.
//!
//! Law: packages live in a folder of the build, one per set, made at the first use. Whoever asks gets a Python that
//! can import them, or the reason why there is none. `cargo xtask` compiles this file too, so it uses `std` alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A set of packages.
#[derive(Debug, Clone, Copy)]
pub struct Packages {
    /// The name of their folder.
    pub folder: &'static str,
    /// What pip is asked for.
    pub wanted: &'static [&'static str],
    /// A line of Python that fails unless they are there.
    pub check: &'static str,
}

/// What sensitivity indices are compared with.
pub const SALIB: Packages = Packages {
    folder: "salib",
    wanted: &["SALib==1.6.0"],
    check: "import SALib.analyze.sobol, importlib.metadata as m; assert m.version('SALib') == '1.6.0'",
};

/// The folder of the build that benchmarks may write to, beside the one this program lies in.
pub fn scratch() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let build = program.parent().and_then(Path::parent);
    Ok(build.ok_or("this program lies in no folder")?.join("bench"))
}

impl Packages {
    /// The Python that has them. Installs them first where they are not there, which `note` is told.
    pub fn python(&self, note: impl FnOnce(&str)) -> Result<PathBuf, String> {
        let folder = scratch()?.join(self.folder);
        let python = folder.join("bin/python");
        if self.work(&python) {
            return Ok(python);
        }
        let wanted = self.wanted.join(", ");
        note(&format!("installing {wanted}, once"));
        self.install(&folder, &python).map_err(|message| {
            format!(
                "{message}; install Python 3 with its venv module, and have {wanted} in reach of pip"
            )
        })?;
        Ok(python)
    }

    fn work(&self, python: &Path) -> bool {
        let mut command = Command::new(python);
        command.args(["-c", self.check]).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    fn install(&self, folder: &Path, python: &Path) -> Result<(), String> {
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let mut make = Command::new("python3");
        run(make.args(["-m", "venv"]).arg(folder), "python3 -m venv")?;
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", "install", "--quiet"])
            .args(self.wanted);
        run(&mut pip, "pip install")?;
        if self.work(python) {
            Ok(())
        } else {
            Err("the packages cannot be imported".to_owned())
        }
    }
}

/// Runs a command to its end; the last line of what it complained of where it failed.
fn run(command: &mut Command, what: &str) -> Result<(), String> {
    let output = command.output();
    let output = output.map_err(|error| format!("{what}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.trim_end().lines().last().unwrap_or("").to_owned();
    Err(format!("{what}: {last}"))
}
