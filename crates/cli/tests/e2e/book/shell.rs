//! The shell of a reader: a fresh folder, and `headwater` in the path.
//!
//! Law: the current folder and exported variables last from one command to the next; nothing outside of the folder
//! of the page can be seen, neither the home folder nor a store. In what is printed, the home folder is `~`.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::place::copy_folder;

pub(super) struct Shell {
    place: TempDir,
}

impl Shell {
    /// A shell; whether its folder has the examples.
    pub(super) fn new(examples: bool) -> Shell {
        let place = tempfile::Builder::new().prefix("headwater-page-").tempdir();
        let shell = Shell {
            place: place.expect("a temporary folder"),
        };
        for folder in ["home/work", "bin", "aside", "temporary"] {
            fs::create_dir_all(shell.path(folder)).expect("a folder");
        }
        let program = Path::new(env!("CARGO_BIN_EXE_headwater"));
        symlink(program, shell.path("bin/headwater")).expect("a link");
        if examples {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
            copy_folder(&from, &shell.folder().join("examples"));
        }
        shell
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Where the page is worked through.
    fn folder(&self) -> PathBuf {
        self.path("home/work")
    }

    /// Where the reader is now.
    pub(super) fn current(&self) -> PathBuf {
        let noted = fs::read_to_string(self.path("aside/folder"));
        noted.map_or_else(
            |_| self.folder(),
            |path| PathBuf::from(path.trim_end_matches('\n')),
        )
    }

    /// Runs this; gives the exit code, and the lines that were printed on both streams.
    pub(super) fn run(&self, text: &str) -> (Option<i32>, Vec<String>) {
        let aside = self.path("aside");
        let script = aside.join("script");
        let variables = aside.join("variables");
        if !variables.exists() {
            fs::write(&variables, "").expect("a file");
        }
        let whole = format!(
            ". \"$ASIDE/variables\"\ntrap 'pwd > \"$ASIDE/folder\"; export -p > \"$ASIDE/variables\"' EXIT\n{text}\n"
        );
        fs::write(&script, whole).expect("a file");
        let printed = aside.join("printed");
        let both = File::create(&printed).expect("a file");
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.path("bin");
        let status = Command::new("sh")
            .arg(&script)
            .current_dir(self.current())
            .env("ASIDE", &aside)
            .env("HOME", self.path("home"))
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("TMPDIR", self.path("temporary"))
            .env("COLUMNS", "100")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("HEADWATER_STORE")
            .env_remove("UPDATE_DOCS")
            .stdin(Stdio::null())
            .stdout(both.try_clone().expect("the same file"))
            .stderr(both)
            .status()
            .expect("sh can be started");
        let printed = fs::read(&printed).expect("what was printed");
        let home = self.path("home").display().to_string();
        let printed = String::from_utf8_lossy(&printed).replace(&home, "~");
        (status.code(), printed.lines().map(str::to_owned).collect())
    }
}
