//! The file `trace.tsv` while it is written.
//!
//! Law: the header is in the file at once, and whole lines follow it at least about every second while lines come; so a
//! process that is killed leaves what it did.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::{Duration, Instant};

use crate::Error;
use crate::results_folder::{Claim, ResultsFolder};

/// What it is called.
pub const TRACE: &str = "trace.tsv";

/// The names of the columns.
pub const TRACE_HEADER: &str = "task\tstate\tattempt\tstart_seconds\twall_seconds\tcpu_seconds\tpeak_bytes\trecipe\tstage\toperation\terror";

/// Lines wait so long for others to be written with.
const PAUSE: Duration = Duration::from_secs(1);

/// A trace that is being written.
pub struct Trace {
    out: BufWriter<File>,
    written: Instant,
    pause: Duration,
}

impl Trace {
    /// A new file with its header.
    pub fn create(results: &ResultsFolder) -> Result<Trace, Error> {
        results.claim([Claim::File(TRACE.into())])?;
        let path = results.path().join(TRACE);
        let begun = File::create_new(&path).and_then(|file| {
            let mut trace = Trace {
                out: BufWriter::new(file),
                written: Instant::now(),
                pause: PAUSE,
            };
            writeln!(trace.out, "{TRACE_HEADER}")?;
            trace.out.flush()?;
            Ok(trace)
        });
        begun.map_err(|source| Error::io("cannot write", &path, source))
    }

    /// Adds a line, given without its end.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        self.out.write_all(line.as_bytes())?;
        self.out.write_all(b"\n")?;
        if self.written.elapsed() >= self.pause {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what waits.
    pub fn flush(&mut self) -> io::Result<()> {
        self.written = Instant::now();
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_there_at_once_and_lines_when_they_are_due() {
        let folder = tempfile::tempdir().unwrap();
        let results = ResultsFolder::take(folder.path()).unwrap();
        let path = folder.path().join(TRACE);
        let read = || std::fs::read_to_string(&path).unwrap();
        let mut trace = Trace::create(&results).unwrap();
        assert_eq!(read(), format!("{TRACE_HEADER}\n"));
        trace.pause = Duration::MAX;
        trace.line("one").unwrap();
        assert_eq!(read(), format!("{TRACE_HEADER}\n"));
        trace.pause = Duration::ZERO;
        trace.line("two").unwrap();
        assert_eq!(read(), format!("{TRACE_HEADER}\none\ntwo\n"));
        trace.pause = Duration::MAX;
        trace.line("three").unwrap();
        trace.flush().unwrap();
        assert!(read().ends_with("two\nthree\n"));
    }
}
