//! The file that Prometheus reads while a run goes on (`--metrics FILE`).
//!
//! Law: whoever reads the file finds all of one state: a new one is written under another name beside it and then takes
//! its name. A file that cannot be written keeps a run from beginning; later it is told once, and the run goes on. A
//! file that is there and is none of ours is not touched.

use std::fs;
use std::io::{Error as IoError, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use headwater::progress::metrics;
use headwater::runs::RunStatus;
use headwater::{Error, Progress};

use crate::show;

/// How often the file is written.
const PAUSE: Duration = Duration::from_secs(5);

/// How every file of ours begins.
const BEGINNING: &str = "# HELP headwater_";

/// Writes the file until it is told how the run has ended.
pub(crate) struct Metrics {
    path: PathBuf,
    render: Arc<dyn Fn(RunStatus) -> String + Send + Sync>,
    over: Arc<(Mutex<bool>, Condvar)>,
    /// Gives whether something was told.
    thread: Option<JoinHandle<bool>>,
}

impl Metrics {
    /// Writes the file for the first time, and from now on.
    pub(crate) fn begin(
        path: Option<&Path>,
        progress: &Progress,
    ) -> Result<Option<Metrics>, Error> {
        let Some(path) = path else {
            return Ok(None);
        };
        let shown = progress.clone();
        let render = move |status| metrics(&shown.look(), status);
        // A link stays one: what it names is written.
        let path = fs::canonicalize(path)
            .or_else(|_| std::path::absolute(path))
            .unwrap_or_else(|_| path.to_owned());
        if path.is_file() {
            check(&path)?;
        }
        replace(&path, &render(RunStatus::Running)).map_err(|source| Error::Use {
            message: said(&path, &source),
            hint: Some("give --metrics a file in a folder that can be written to".to_owned()),
        })?;
        let metrics = Metrics {
            path,
            render: Arc::new(render),
            over: Arc::default(),
            thread: None,
        };
        let (path, render) = (metrics.path.clone(), Arc::clone(&metrics.render));
        let (over, progress) = (Arc::clone(&metrics.over), progress.clone());
        // Without the thread the file is written at the end.
        let thread = std::thread::Builder::new()
            .name("headwater-metrics".to_owned())
            .spawn(move || {
                let mut told = false;
                while !is_over(&over, PAUSE) {
                    let written = replace(&path, &render(RunStatus::Running));
                    if let Err(source) = written.map_err(|source| said(&path, &source))
                        && !std::mem::replace(&mut told, true)
                    {
                        progress.tell(&source);
                    }
                }
                told
            });
        Ok(Some(Metrics {
            thread: thread.ok(),
            ..metrics
        }))
    }

    /// Writes the file for the last time.
    pub(crate) fn finish(self, status: RunStatus) {
        *self.over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.1.notify_all();
        let told = self.thread.and_then(|thread| thread.join().ok());
        if let Err(source) = replace(&self.path, &(self.render)(status))
            && told != Some(true)
        {
            show::talk(&said(&self.path, &source));
        }
    }
}

fn said(path: &Path, source: &IoError) -> String {
    format!("cannot write metrics to `{}`: {source}", path.display())
}

/// Refuses a file that is there and was not written as metrics: it is something that a user needs.
fn check(path: &Path) -> Result<(), Error> {
    let mut beginning = Vec::new();
    fs::File::open(path)
        .and_then(|file| {
            file.take(BEGINNING.len() as u64)
                .read_to_end(&mut beginning)
        })
        .map_err(|source| Error::Use {
            message: said(path, &source),
            hint: Some("give --metrics a file that can be read and written".to_owned()),
        })?;
    if beginning.is_empty() || beginning == BEGINNING.as_bytes() {
        return Ok(());
    }
    Err(Error::Use {
        message: format!(
            "`{}` already exists and has no metrics of Headwater",
            path.display()
        ),
        hint: Some("name another file with --metrics".to_owned()),
    })
}

/// Waits for the end, at most so long.
fn is_over((over, changed): &(Mutex<bool>, Condvar), pause: Duration) -> bool {
    let over = over.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = changed.wait_timeout_while(over, pause, |over| !*over);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

/// Puts a text in the place of a file, all at once.
fn replace(path: &Path, text: &str) -> Result<(), IoError> {
    if path.exists() && !path.is_file() {
        return Err(IoError::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    let name = path
        .file_name()
        .ok_or_else(|| IoError::new(ErrorKind::InvalidInput, "it has no name"))?;
    // Collectors read files that end in `.prom`: this one does not.
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(beside);
    let permissions = fs::metadata(path).map(|file| file.permissions()).ok();
    let written = fs::File::create(&beside)
        .and_then(|mut file| {
            permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))?;
            file.write_all(text.as_bytes())
        })
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(path: &Path) -> Result<Option<Metrics>, Error> {
        Metrics::begin(Some(path), &Progress::default())
    }

    /// The status in a file.
    #[track_caller]
    fn says(path: &Path, status: &str) {
        let text = fs::read_to_string(path).expect("a file");
        let line = format!("\nheadwater_status{{status=\"{status}\"}} 1\n");
        assert!(text.contains(&line), "{text}");
    }

    #[test]
    fn the_file_is_there_from_the_beginning_and_says_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.prom");
        let metrics = begin(&path).expect("written").expect("a file");
        says(&path, "running");
        metrics.finish(RunStatus::Cancelled);
        says(&path, "cancelled");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told_before_anything_begins() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [
            folder.path().join("none/run.prom"),
            folder.path().to_owned(),
        ] {
            let error = begin(&path).err().expect("an error");
            assert!(
                error.to_string().contains("cannot write metrics to `"),
                "{error}"
            );
            assert!(matches!(error, Error::Use { hint: Some(_), .. }));
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn a_file_of_a_user_is_not_touched() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("flow.yaml");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("flow.yaml", &link).expect("a link");
        for text in ["headwater: 1\n", "x", "# HELP other_metric Something.\n"] {
            fs::write(&path, text).expect("a file");
            for path in [&path, &link] {
                let error = begin(path).err().expect("an error");
                assert!(
                    error.to_string().contains("has no metrics of Headwater"),
                    "{error}"
                );
            }
            assert_eq!(fs::read_to_string(&path).expect("a file"), text);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }

    #[test]
    fn an_earlier_file_is_replaced_and_keeps_its_permissions_and_its_link() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let (path, link) = (folder.path().join("run.prom"), folder.path().join("link"));
        std::os::unix::fs::symlink("run.prom", &link).expect("a link");
        let earlier = metrics(&Progress::default().look(), RunStatus::Done);
        for text in ["", &earlier] {
            fs::write(&path, text).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("permissions");
            let metrics = begin(&link).expect("written").expect("a file");
            metrics.finish(RunStatus::Done);
            says(&path, "done");
            let mode = fs::metadata(&path).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o640);
        }
        assert!(link.is_symlink());
    }

    #[test]
    fn a_folder_that_goes_away_does_not_matter() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("metrics/run.prom");
        fs::create_dir(path.with_file_name("")).expect("a folder");
        let metrics = begin(&path).expect("written").expect("a file");
        fs::remove_dir_all(path.with_file_name("")).expect("removed");
        metrics.finish(RunStatus::Done);
        assert!(!path.exists());
    }
}
