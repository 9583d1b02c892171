//! Where a case plays: a spawner, a folder of its own, and a look at the processes of the machine.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use headwater_execute::spawn::{Cancel, Exit, ExitStatusKind, Request, SpawnError, Spawner};
use tempfile::TempDir;

/// Long enough for anything that should happen, short enough to wait for what should not.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A spawner and a folder of its own.
pub(crate) struct Scene<'a> {
    pub(crate) spawner: &'a Spawner,
    pub(crate) folder: TempDir,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(spawner: &'a Spawner) -> Scene<'a> {
        Scene {
            spawner,
            folder: TempDir::new().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn request(&self, program: &str, arguments: &[&str]) -> Request {
        let folder = self.folder.path();
        let mut request = Request::new(program, folder, folder.join("out"), folder.join("err"));
        request.arguments = arguments.iter().map(OsString::from).collect();
        request.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
        request
    }

    pub(crate) fn script(&self, text: &str) -> Request {
        self.request("sh", &["-c", text])
    }

    pub(crate) fn run(&self, request: &Request) -> Result<Exit, SpawnError> {
        self.spawner.run(request, &Cancel::new())
    }

    pub(crate) fn status(&self, request: &Request) -> ExitStatusKind {
        self.run(request).unwrap().status
    }

    /// The process number a script has written to a file, waiting for it.
    pub(crate) fn number(&self, name: &str) -> u32 {
        let path = self.path(name);
        let read = || fs::read_to_string(&path).unwrap_or_default();
        assert!(eventually(|| read().ends_with('\n')), "no {name}");
        read().trim().parse().unwrap()
    }
}

pub(crate) fn eventually(condition: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

/// The state letter and the parent of a process.
pub(crate) fn process(number: u32) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// An orphan that nobody has reaped yet is gone for our purposes.
pub(crate) fn gone(number: u32) -> bool {
    process(number).is_none_or(|(state, _)| state == 'Z')
}

pub(crate) fn zombies_of(parent: u32) -> usize {
    processes()
        .filter_map(process)
        .filter(|&found| found == ('Z', parent))
        .count()
}

pub(crate) fn children_of(parent: u32) -> usize {
    let found = processes().filter_map(process);
    found.filter(|found| found.1 == parent).count()
}

/// How many processes run in a folder.
pub(crate) fn working_in(folder: &Path) -> usize {
    let folder = folder.canonicalize().unwrap();
    let place = |number| fs::read_link(format!("/proc/{number}/cwd")).ok();
    let found = processes().filter_map(place);
    found.filter(|found| *found == folder).count()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

pub(crate) fn process_group(number: u32) -> i32 {
    // SAFETY: a plain system call without memory access.
    unsafe { libc::getpgid(number.cast_signed()) }
}
