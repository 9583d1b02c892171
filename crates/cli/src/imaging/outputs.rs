//! Files that appear whole or not at all.
//!
//! Law: a file is written under a name of its own beside the one it is to have, brought to disk and renamed; those of
//! one command appear together at its end. Whatever ends the command before, an error or Ctrl-C, takes the unfinished
//! ones away; a kill, or a second Ctrl-C at once, leaves them under their hidden names. An input is never replaced.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use headwater::Error;
use headwater_imaging::files::{Format, Pixel, RowFile};

use super::{unwritable, wrong_use};
use crate::{show, signals};

/// The names under which files are being written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on Ctrl-C takes unfinished files away and ends the command: there is nothing else to be kept.
pub(super) fn watch(as_json: bool) {
    signals::listen(move || {
        // Held until the end, so that no file is finished any more.
        let unfinished = unfinished();
        for path in unfinished.iter() {
            let _ = fs::remove_file(path);
        }
        let message = "stopped: nothing was written";
        if as_json {
            show::line(&show::error_object(message, None, None).to_string());
        }
        // A bar leaves the cursor in its line.
        let newline = if io::stderr().is_terminal() { "\n" } else { "" };
        show::talk(&format!("{newline}{message}"));
        std::process::exit(1)
    });
}

/// A file that is to be written: its place is known to be good, and nothing is there yet.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    hidden: PathBuf,
}

impl Output {
    /// Checks what can be known before any work is done. `flag` names the file in messages, `others` are files that
    /// it must not replace.
    pub(super) fn new(flag: &str, path: &Path, others: &[&Path]) -> Result<Output, Error> {
        let shown = path.display();
        let extension = path.extension().and_then(|text| text.to_str());
        let Some(format) = extension.and_then(Format::of_extension) else {
            return Err(wrong_use(
                format!("{flag} {shown}: the file name does not show the format of the image"),
                "let it end in .png, .tif or .tiff",
            ));
        };
        if path.is_dir() {
            return Err(wrong_use(
                format!("{flag} {shown}: there is a folder of that name"),
                "choose another name",
            ));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            return Err(wrong_use(
                format!("{flag} {shown}: there is no folder `{}`", folder.display()),
                "make it first",
            ));
        }
        let name = path.file_name().unwrap_or_default();
        let place = |path: &Path| {
            let name = path.file_name()?;
            let folder = path.parent()?;
            let folder = if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            };
            Some(fs::canonicalize(folder).ok()?.join(name))
        };
        for other in others {
            let same_place = place(path).is_some_and(|own| Some(own) == place(other));
            let same_file = fs::canonicalize(path)
                .is_ok_and(|own| fs::canonicalize(other).is_ok_and(|other| own == other));
            if same_place || same_file {
                return Err(wrong_use(
                    format!("{flag} {shown}: this is `{}`", other.display()),
                    "choose another name: what is read, and what else is written, is not replaced",
                ));
            }
        }
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.part", std::process::id()));
        Ok(Output {
            path: path.to_path_buf(),
            format,
            hidden: folder.join(hidden),
        })
    }

    fn unwritable(&self, source: io::Error) -> Error {
        unwritable(&self.path, source.into())
    }

    /// Begins the file.
    pub(super) fn begin<T: Pixel>(self, width: usize, height: usize) -> Result<Writing<T>, Error> {
        let opened = {
            let mut unfinished = unfinished();
            let opened = File::options()
                .write(true)
                .create(true)
                .truncate(true)
                .open(&self.hidden);
            if opened.is_ok() {
                unfinished.push(self.hidden.clone());
            }
            opened
        };
        let file = opened.map_err(|error| self.unwritable(error))?;
        // From here on the file goes away with this value.
        let hidden = Hidden {
            output: self,
            done: false,
        };
        let rows = RowFile::new(
            BufWriter::with_capacity(1 << 20, file),
            hidden.output.format,
            width,
            height,
        )
        .map_err(|error| unwritable(&hidden.output.path, error))?;
        Ok(Writing { rows, hidden })
    }
}

/// A file under its first name, removed unless it gets its own.
struct Hidden {
    output: Output,
    done: bool,
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if !self.done {
            let mut unfinished = unfinished();
            let _ = fs::remove_file(&self.output.hidden);
            unfinished.retain(|path| *path != self.output.hidden);
        }
    }
}

/// A file that is being written.
pub(super) struct Writing<T: Pixel> {
    rows: RowFile<BufWriter<File>, T>,
    hidden: Hidden,
}

/// A file that is written and waits for its name.
pub(super) struct Written(Hidden);

impl<T: Pixel> Writing<T> {
    pub(super) fn write_row(&mut self, row: &[T]) -> Result<(), Error> {
        self.rows
            .write_row(row)
            .map_err(|error| unwritable(&self.hidden.output.path, error))
    }

    /// All rows of an image.
    pub(super) fn write_rows<'a>(
        &mut self,
        rows: impl Iterator<Item = &'a [T]>,
    ) -> Result<(), Error> {
        rows.into_iter().try_for_each(|row| self.write_row(row))
    }

    /// Ends the file and brings it to disk.
    pub(super) fn finish(self) -> Result<Written, Error> {
        let Writing { rows, hidden } = self;
        let path = &hidden.output.path;
        let file = rows.finish().map_err(|error| unwritable(path, error))?;
        file.get_ref()
            .sync_all()
            .map_err(|error| hidden.output.unwritable(error))?;
        Ok(Written(hidden))
    }
}

/// Gives files their names. From here on Ctrl-C is too late.
pub(super) fn appear(files: Vec<Written>) -> Result<(), Error> {
    let mut unfinished = unfinished();
    for mut file in files {
        let output = &file.0.output;
        let renamed = fs::rename(&output.hidden, &output.path);
        if let Err(error) = renamed {
            let error = output.unwritable(error);
            // Dropping the files takes the lock.
            drop(unfinished);
            return Err(error);
        }
        unfinished.retain(|path| *path != output.hidden);
        file.0.done = true;
    }
    Ok(())
}
