//! What a program says, kept in part.
//!
//! Law: of a bounded stream no more than its bound lies on the disk at any time, however much the program writes. The
//! first half of the bound is kept as it comes; what follows is written round and round into a second file, and put
//! behind the first when the program has ended, with a line in between that says how many bytes were left out. A
//! stream on which nothing was said leaves no file.
//!
//! The program writes to a pipe, which the thread of its lane reads while it waits for the program's end. A file given
//! to the program itself could be cut only after the fact, and a disk may be full before that.

use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use super::{Request, SpawnError};

/// Bytes read at once; a pipe holds as many.
const PIECE: usize = 64 << 10;
/// What is left in a pipe when its program has ended is read in at most this many pieces: somebody else may still write.
const LAST_PIECES: usize = 32;

/// The bounded streams of a program.
#[derive(Debug)]
pub(super) struct Captures {
    streams: [Option<Capture>; 2],
    /// Made when something is said, so that the helper stays small.
    piece: Vec<u8>,
}

/// Where a program writes to, for each stream that is bounded.
pub(super) type Ends = [Option<PipeWriter>; 2];

impl Captures {
    /// Standard output and standard error of a request, as far as they are bounded.
    pub(super) fn open(request: &Request) -> Result<(Captures, Ends), SpawnError> {
        let open = |path: &Path, most: Option<u64>| match most {
            None => Ok((None, None)),
            Some(most) => match io::pipe() {
                Ok((reader, writer)) => Ok((Some(Capture::new(reader, path, most)), Some(writer))),
                Err(source) => Err(SpawnError::File {
                    path: path.to_path_buf(),
                    source,
                }),
            },
        };
        let (output, output_end) = open(&request.stdout, request.most[0])?;
        let (error, error_end) = open(&request.stderr, request.most[1])?;
        let captures = Captures {
            streams: [output, error],
            piece: Vec::new(),
        };
        Ok((captures, [output_end, error_end]))
    }

    /// What to wait for: readable when something was said.
    pub(super) fn descriptors(&self) -> [Option<BorrowedFd<'_>>; 2] {
        self.streams
            .each_ref()
            .map(|stream| Some(stream.as_ref()?.pipe.as_ref()?.as_fd()))
    }

    /// Takes in what was said on a stream that is readable.
    pub(super) fn hear(&mut self, stream: usize) {
        if self.piece.is_empty() {
            self.piece = vec![0; PIECE];
        }
        if let Some(capture) = &mut self.streams[stream] {
            capture.hear(&mut self.piece);
        }
    }

    /// Takes in what is left, asking `is_readable` for each stream; tells how many bytes were said on each.
    pub(super) fn finish(mut self, is_readable: impl Fn(BorrowedFd<'_>) -> bool) -> [u64; 2] {
        for stream in 0..2 {
            for _ in 0..LAST_PIECES {
                let descriptor = self.descriptors()[stream];
                if !descriptor.is_some_and(&is_readable) {
                    break;
                }
                self.hear(stream);
            }
        }
        let mut piece = self.piece;
        self.streams.map(|capture| match capture {
            None => 0,
            Some(capture) => capture.finish(&mut piece),
        })
    }
}

/// One bounded stream.
#[derive(Debug)]
struct Capture {
    /// None at its end.
    pipe: Option<PipeReader>,
    path: PathBuf,
    /// Bytes that are kept of the beginning.
    head_length: u64,
    /// Bytes that are kept of the end.
    tail_length: u64,
    /// All that was said.
    said: u64,
    head: Option<File>,
    tail: Option<File>,
    /// Something could not be written; then the file ends there.
    is_cut: bool,
}

impl Capture {
    fn new(pipe: PipeReader, path: &Path, most: u64) -> Capture {
        Capture {
            pipe: Some(pipe),
            path: path.to_path_buf(),
            head_length: most / 2,
            tail_length: most - most / 2,
            said: 0,
            head: None,
            tail: None,
            is_cut: false,
        }
    }

    fn tail_path(&self) -> PathBuf {
        let mut path = self.path.clone();
        path.as_mut_os_string().push(".tail");
        path
    }

    /// Reads once.
    fn hear(&mut self, piece: &mut [u8]) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(piece) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                // A log that cannot be written is no reason to end a program: it is read on.
                if !self.is_cut && self.take(&piece[..count]).is_err() {
                    self.is_cut = true;
                }
                self.said += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.pipe = None,
        }
    }

    /// Writes what was said to where it belongs.
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = self.head_length.saturating_sub(self.said);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let (first, mut rest) = bytes.split_at(bytes.len().min(room));
        if !first.is_empty() {
            if self.head.is_none() {
                self.head = Some(fresh(&self.path)?);
            }
            if let Some(head) = &mut self.head {
                head.write_all(first)?;
            }
        }
        let mut behind = (self.said + first.len() as u64).saturating_sub(self.head_length);
        while !rest.is_empty() && self.tail_length > 0 {
            if self.tail.is_none() {
                self.tail = Some(fresh(&self.tail_path())?);
            }
            let Some(tail) = &mut self.tail else { break };
            let place = behind % self.tail_length;
            let room = usize::try_from(self.tail_length - place).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(rest.len().min(room));
            tail.seek(SeekFrom::Start(place))?;
            tail.write_all(now)?;
            behind += now.len() as u64;
            rest = later;
        }
        Ok(())
    }

    /// Puts head and tail together; tells how many bytes were said.
    fn finish(mut self, piece: &mut [u8]) -> u64 {
        let tail = self.tail.take();
        // What cannot be written is left out.
        if self.is_cut {
            let _ = self.cut();
        } else if let Some(tail) = &tail {
            let _ = self.join(tail, piece);
        }
        if tail.is_some() {
            let _ = fs::remove_file(self.tail_path());
        }
        self.said
    }

    /// Says that all behind the head is missing.
    fn cut(&mut self) -> io::Result<()> {
        let Some(head) = &mut self.head else {
            return Ok(());
        };
        let left_out = self.said.saturating_sub(head.metadata()?.len());
        leave_out(head, left_out)
    }

    fn join(&mut self, mut tail: &File, piece: &mut [u8]) -> io::Result<()> {
        if self.head.is_none() {
            self.head = Some(fresh(&self.path)?);
        }
        let Some(head) = &mut self.head else {
            return Ok(());
        };
        let written = tail.metadata()?.len().min(self.tail_length);
        let behind = self.said.saturating_sub(self.head_length);
        let left_out = behind.saturating_sub(written);
        // Where the oldest byte of the tail is.
        let first = if left_out > 0 && written > 0 {
            behind % written
        } else {
            0
        };
        leave_out(head, left_out)?;
        for (from, to) in [(first, written), (0, first)] {
            tail.seek(SeekFrom::Start(from))?;
            let mut part = tail.take(to - from);
            loop {
                let count = part.read(piece)?;
                if count == 0 {
                    break;
                }
                head.write_all(&piece[..count])?;
            }
        }
        Ok(())
    }
}

/// The line that stands for what is missing.
fn leave_out(file: &mut File, count: u64) -> io::Result<()> {
    match count {
        0 => Ok(()),
        1 => writeln!(file, "\n[1 byte left out]"),
        _ => writeln!(file, "\n[{count} bytes left out]"),
    }
}

/// A new file at a path. Whatever was there before is not written to.
fn fresh(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept of so many bytes, of which at most `most` may be; they come in pieces of this size.
    fn kept(said: usize, most: u64, piece: usize) -> (Option<Vec<u8>>, u64) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let mut capture = Capture::new(reader, &path, most);
        let bytes: Vec<u8> = (0..said).map(|at| b'a' + (at % 26) as u8).collect();
        let mut room = vec![0; PIECE];
        for piece in bytes.chunks(piece) {
            writer.write_all(piece).expect("written");
            capture.hear(&mut room);
            let size = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
            assert!(size(&path) + size(&capture.tail_path()) <= most);
        }
        drop(writer);
        capture.hear(&mut room);
        assert!(capture.pipe.is_none());
        let said = capture.finish(&mut room);
        let names = fs::read_dir(folder.path()).expect("a folder").count();
        assert!(names <= 1, "only the log is left");
        (fs::read(&path).ok(), said)
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        for piece in [1, 2, 3, 7, 100] {
            let (text, said) = kept(100, 20, piece);
            assert_eq!(said, 100);
            let text = String::from_utf8(text.expect("a file")).expect("letters");
            assert_eq!(
                text, "abcdefghij\n[80 bytes left out]\nmnopqrstuv",
                "{piece}"
            );
        }
    }

    #[test]
    fn what_is_within_the_bound_is_kept_whole() {
        for said in [1, 9, 10, 11, 19, 20] {
            let (text, _) = kept(said, 20, 3);
            let whole: Vec<u8> = (0..said).map(|at| b'a' + (at % 26) as u8).collect();
            assert_eq!(text, Some(whole), "{said}");
        }
        let (text, _) = kept(21, 20, 3);
        let text = String::from_utf8(text.expect("a file")).expect("letters");
        assert_eq!(text, "abcdefghij\n[1 byte left out]\nlmnopqrstu");
    }

    #[test]
    fn silence_leaves_no_file() {
        assert_eq!(kept(0, 20, 1), (None, 0));
    }
}
