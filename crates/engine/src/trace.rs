//! The file `trace.tsv` while it is written.
//!
//! Law: the header is in the file at once, and whole lines follow it at least about every second while lines come; so a
//! process that is killed leaves what it did. A row is one line, whatever stands in its cells.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use headwater_execute::Execution;
use headwater_graph::text::acts;
use headwater_graph::{Attempt, Recipe};

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
            results.begun(Path::new(TRACE));
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

/// The most memory that a task took, if that is its own.
pub(crate) fn peak(execution: &Execution) -> u64 {
    if execution.usage.peak_reliable {
        execution.usage.peak_memory
    } else {
        0
    }
}

/// What a trace says of a task, or of one attempt at it.
pub struct TraceRow<'a> {
    /// Its address.
    pub task: &'a str,
    /// How it ended.
    pub state: Attempt,
    /// Its stage.
    pub stage: &'a str,
    /// Its operation.
    pub operation: &'a str,
    /// What it computes.
    pub recipe: Recipe,
    /// How it ran, and when it began; `None` where it did not run.
    pub ran: Option<(&'a Execution, Duration)>,
    /// Why it failed.
    pub error: &'a str,
}

impl TraceRow<'_> {
    /// Writes it; a trace that cannot be written is no reason to stop the run.
    pub fn write(&self, trace: &mut Trace) {
        let _ = trace.line(&self.line());
    }

    /// There may be a row for each of a million tasks that did not run, so it is put together in one text.
    fn line(&self) -> String {
        let mut line = String::with_capacity(192);
        line.push_str(&cell(self.task));
        line.push('\t');
        line.push_str(self.state.name());
        // Writing to a text does not fail.
        let _ = match self.ran {
            None => write!(line, "\t0\t\t\t\t\t"),
            Some((execution, started)) => write!(
                line,
                "\t{}\t{:.6}\t{:.6}\t{:.6}\t{}\t",
                execution.attempt,
                started.as_secs_f64(),
                execution.elapsed.as_secs_f64(),
                execution.usage.cpu.as_secs_f64(),
                peak(execution),
            ),
        };
        let _ = write!(line, "{}", self.recipe);
        for text in [self.stage, self.operation, self.error] {
            line.push('\t');
            line.push_str(&cell(text));
        }
        line
    }
}

/// A text without tabs, line ends, other control characters and those that turn the order of text round: these, and the
/// backslash, become `\\t`, `\\n`, `\\r`, `\\u{1b}`, `\\u{202e}` and `\\\\`.
fn cell(text: &str) -> Cow<'_, str> {
    let is_shown = |sign: char| sign.is_control() || acts(sign);
    if !text.contains(|sign: char| sign == '\\' || is_shown(sign)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            sign if is_shown(sign) => out.extend(sign.escape_default()),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_the_trace_is_one_line_with_the_columns_of_the_header() {
        let columns = TRACE_HEADER.split('\t').count();
        let row = TraceRow {
            task: "a.b[0]",
            state: Attempt::Retried,
            stage: "a\tb",
            operation: "tool",
            recipe: Recipe([0; 32]),
            ran: None,
            error: "one\r\ntwo \\ three\u{1b}[0m\u{202e}",
        };
        let line = row.line();
        assert_eq!(line.split('\t').count(), columns);
        assert_eq!(line.lines().count(), 1);
        assert!(
            line.ends_with("\ta\\tb\ttool\tone\\r\\ntwo \\\\ three\\u{1b}[0m\\u{202e}"),
            "{line}"
        );
    }

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
