//! A folder that results are written to, by one command at a time.
//!
//! Law: while a command writes its results into a folder that was named, every other one that would is refused before
//! it has done any work, however the folder is spelled. The lock is one of the kernel's on the folder itself: it
//! leaves no file behind, and ends with the process, however that ends. Where the kernel cannot lock a folder, as on
//! some network file systems, nobody is refused. A folder that was made and not used is removed again.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;

/// A folder that this command may write to until this is dropped.
#[derive(Debug)]
pub(crate) struct ResultsFolder {
    path: PathBuf,
    /// Those that were made for it, the innermost first.
    made: Vec<PathBuf>,
    _lock: Option<File>,
}

impl ResultsFolder {
    /// Makes the folder if it is not there, and keeps others out.
    pub(crate) fn take(path: &Path) -> Result<ResultsFolder, Error> {
        ResultsFolder::lock(path, File::try_lock)
    }

    /// The same for one that has to be empty.
    pub(crate) fn take_empty(path: &Path) -> Result<ResultsFolder, Error> {
        if path.exists() && !path.is_dir() {
            return Err(Error::usage(
                format!("`{}` is a file, not a folder", path.display()),
                Some("give a new folder with -o, or leave -o out".to_owned()),
            ));
        }
        let folder = ResultsFolder::take(path)?;
        match fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
            true => Err(Error::usage(
                format!("the folder `{}` is not empty", path.display()),
                Some("give a new one with -o, or leave -o out".to_owned()),
            )),
            false => Ok(folder),
        }
    }

    /// Makes the folder, and waits for nobody: only a command that has taken it is in the way.
    pub(crate) fn visit(path: &Path) -> Result<ResultsFolder, Error> {
        ResultsFolder::lock(path, File::try_lock_shared)
    }

    fn lock(
        path: &Path,
        lock: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<ResultsFolder, Error> {
        let absent = path.ancestors().take_while(|folder| !folder.exists());
        let made: Vec<PathBuf> = absent.map(Path::to_path_buf).collect();
        let cannot = |source| Error::io("cannot make folder", path, source);
        fs::create_dir_all(path).map_err(cannot)?;
        let mut taken = ResultsFolder {
            path: path.to_owned(),
            made,
            _lock: None,
        };
        let Ok(opened) = File::open(path) else {
            // Who may not list a folder may still write to it.
            return Ok(taken);
        };
        loop {
            match lock(&opened) {
                Ok(()) => {
                    taken._lock = Some(opened);
                    return Ok(taken);
                }
                Err(TryLockError::WouldBlock) => {
                    // It is somebody else's now, whoever has made it.
                    taken.made.clear();
                    return Err(Error::usage(
                        format!("another command is writing to the folder `{}`", path.display()),
                        Some(
                            "give another folder with -o, or leave -o out; or wait until that command has ended"
                                .to_owned(),
                        ),
                    ));
                }
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(_)) => return Ok(taken),
            }
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ResultsFolder {
    fn drop(&mut self) {
        for folder in &self.made {
            // One that has something in it stays.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_once_however_it_is_spelled() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("out");
        let taken = ResultsFolder::take_empty(&path).unwrap();
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for spelled in [&path, &link, &scratch.path().join("./out/../out/")] {
            let error = ResultsFolder::take_empty(spelled).unwrap_err();
            let message = error.to_string();
            assert!(message.contains("another command is writing"), "{message}");
            ResultsFolder::visit(spelled).unwrap_err();
        }
        assert!(taken.path().is_dir());
        drop(taken);
        assert!(!path.exists(), "it was made and not used");
        // It has to be there to be linked to.
        fs::create_dir(&path).unwrap();
        let taken = ResultsFolder::take(&link).unwrap();
        fs::write(path.join("result"), "").unwrap();
        drop(taken);
        assert!(path.join("result").exists());
        let message = ResultsFolder::take_empty(&path).unwrap_err().to_string();
        assert!(message.ends_with("is not empty"), "{message}");
        let visits = [ResultsFolder::visit(&path), ResultsFolder::visit(&link)];
        assert!(visits.iter().all(Result::is_ok));
        ResultsFolder::take(&path).unwrap_err();
    }

    #[test]
    fn what_was_made_and_not_used_is_removed_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let deep = scratch.path().join("a/b/c");
        drop(ResultsFolder::take(&deep).unwrap());
        assert!(!scratch.path().join("a").exists());
        fs::create_dir(scratch.path().join("a")).unwrap();
        let taken = ResultsFolder::take(&deep).unwrap();
        fs::write(scratch.path().join("a/b/kept"), "").unwrap();
        drop(taken);
        assert!(!deep.exists() && scratch.path().join("a/b/kept").exists());
        let file = scratch.path().join("file");
        fs::write(&file, "").unwrap();
        let message = ResultsFolder::take_empty(&file).unwrap_err().to_string();
        assert!(message.ends_with("is a file, not a folder"), "{message}");
    }
}
