//! Files that people name and that are read whole: workflows, data, studies, tables, descriptors.
//!
//! Law: at most [`MOST_BYTES`] of a file are read, whatever it is; one that has more is refused, and takes no more
//! memory than that. A pipe is read as a file is, so that a shell may write one on the fly; one that nobody writes to is
//! refused after `PATIENCE`, one to which nothing is written for `SILENCE`; anything else that has nothing to be read
//! now, such as a terminal, at once.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Error;

/// The most bytes that such a file may have: 256 MiB.
pub const MOST_BYTES: u64 = 256 << 20;

/// For so long somebody may come who writes to a pipe.
const PATIENCE: Duration = Duration::from_secs(5);

/// For so long somebody who has a pipe open may write nothing to it.
const SILENCE: Duration = Duration::from_secs(60);

/// While there is nothing to read, whether there is something is asked so often.
const PAUSE: Duration = Duration::from_millis(5);

/// The bytes of a file that the user has named.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let read = open(path).and_then(|file| read_at_most(file, MOST_BYTES));
    let bytes = read.map_err(|source| match source.kind() {
        ErrorKind::WouldBlock => Error::usage(
            format!("there is nothing to be read from `{}`", path.display()),
            Some("give a regular file or a pipe".to_owned()),
        ),
        ErrorKind::TimedOut => Error::usage(
            format!("`{}` is a pipe that nobody writes to", path.display()),
            Some("give a regular file, or start the program that writes to the pipe".to_owned()),
        ),
        ErrorKind::NotFound => no_file(path),
        ErrorKind::IsADirectory => Error::usage(
            format!("`{}` is a folder, not a file", path.display()),
            None,
        ),
        _ => Error::io("cannot read", path, source),
    })?;
    bytes.ok_or_else(|| {
        Error::usage(
            format!(
                "`{}` has more than {} MiB, the most that a file of this kind may have",
                path.display(),
                MOST_BYTES >> 20
            ),
            Some("check the path; a table of samples or of data can be divided".to_owned()),
        )
    })
}

/// The text of a file that the user has named.
pub fn read_text(path: &Path) -> Result<String, Error> {
    String::from_utf8(read(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::usage(
            format!("`{}` is not UTF-8 text (byte {at})", path.display()),
            None,
        )
    })
}

/// Opens a file without waiting for anybody, as opening a pipe would.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

/// Waits at a pipe where there is nothing yet: with patience for somebody who writes, and for what is written.
struct Patient {
    file: File,
    is_pipe: bool,
    /// Until when it may have no writer; `None` when it has had one, or needs none.
    until: Option<Instant>,
    /// How long nothing may be written to it.
    silence: Duration,
    heard: Instant,
}

impl Patient {
    fn new(file: File, patience: Duration, silence: Duration) -> io::Result<Patient> {
        let is_pipe = file.metadata()?.file_type().is_fifo();
        let until = is_pipe.then(|| Instant::now() + patience);
        Ok(Patient {
            file,
            is_pipe,
            until,
            silence,
            heard: Instant::now(),
        })
    }
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(buffer) {
                // Nobody has it open to write to it.
                Ok(0) if self.until.is_some_and(|until| Instant::now() > until) => {
                    return Err(ErrorKind::TimedOut.into());
                }
                Ok(0) if self.until.is_some() && !buffer.is_empty() => {}
                // Somebody has, and has not written.
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.is_pipe => {
                    self.until = None;
                    if self.heard.elapsed() > self.silence {
                        return Err(ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error),
                Ok(count) => {
                    self.until = None;
                    self.heard = Instant::now();
                    return Ok(count);
                }
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// All bytes of a file; `None` if there are more than `most`.
fn read_at_most(file: File, most: u64) -> io::Result<Option<Vec<u8>>> {
    let size = file.metadata()?.len();
    if size > most {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    let file = Patient::new(file, PATIENCE, SILENCE)?;
    file.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// That there is no such file, and what was probably meant.
fn no_file(path: &Path) -> Error {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let near = fs::read_dir(folder).into_iter().flatten().flatten();
    let near = near.filter(|entry| entry.path().is_file());
    let near = near.filter_map(|entry| {
        let known = entry.file_name().into_string().ok()?;
        Some((strsim::damerau_levenshtein(&known, &name), known))
    });
    // Of equals the first by name.
    let near = near.min().filter(|(distance, _)| *distance <= 3);
    let hint = match near {
        Some((_, known)) => format!("did you mean `{}`?", path.with_file_name(known).display()),
        None if !folder.is_dir() => format!("there is no folder `{}`", folder.display()),
        None => "check the path".to_owned(),
    };
    Error::usage(format!("there is no file `{}`", path.display()), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_limit_and_not_beyond() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "12345").unwrap();
        let read = |path: &Path, most| read_at_most(File::open(path).unwrap(), most).unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4), None);
        // It says that it has none, and never ends.
        assert_eq!(read(Path::new("/dev/zero"), 1 << 16), None);
        assert_eq!(read(Path::new("/dev/null"), 0).unwrap(), b"");
    }

    /// Nothing that is written to a pipe is lost, however slowly it comes.
    #[test]
    fn a_pipe_is_read_to_its_end_and_one_without_a_writer_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let mut bytes = Vec::new();
        let mut patient =
            Patient::new(open(&path).unwrap(), Duration::from_millis(30), SILENCE).unwrap();
        let error = patient.read_to_end(&mut bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let writes = path.clone();
        let writer = std::thread::spawn(move || {
            use std::io::Write as _;
            // Longer than there is patience with one that nobody has opened.
            let mut pipe = File::options().write(true).open(writes).unwrap();
            for part in ["one", "two", "three"] {
                std::thread::sleep(Duration::from_millis(60));
                pipe.write_all(part.as_bytes()).unwrap();
            }
        });
        let file = open(&path).unwrap();
        let mut patient = Patient::new(file, Duration::from_millis(2_000), SILENCE).unwrap();
        patient.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"onetwothree");
        writer.join().unwrap();
        // Who has it open and is silent is not waited for for ever either.
        let _both = File::options().read(true).write(true).open(&path).unwrap();
        let file = open(&path).unwrap();
        let mut patient = Patient::new(file, PATIENCE, Duration::from_millis(30)).unwrap();
        let error = patient.read_to_end(&mut bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }

    /// A terminal that nobody types at.
    #[test]
    fn what_is_no_pipe_and_has_nothing_to_be_read_is_refused_at_once() {
        let Ok(terminal) = open(Path::new("/dev/ptmx")) else {
            eprintln!("skipped: there are no terminals here");
            return;
        };
        let error = read_at_most(terminal, 1 << 16).unwrap_err();
        assert_ne!(error.kind(), ErrorKind::TimedOut, "{error}");
    }

    #[test]
    fn a_large_file_is_refused_with_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        // With nothing in it, it takes no room.
        File::create(&path)
            .unwrap()
            .set_len(MOST_BYTES + 1)
            .unwrap();
        let message = read_text(&path).unwrap_err().to_string();
        assert!(message.contains("has more than 256 MiB"), "{message}");
    }
}
