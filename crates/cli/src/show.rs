//! Text for people: colours where they are wanted, errors with a way out. For programs that ask for it (`--progress
//! json`), all of it that goes to stderr is events.
//!
//! Law: once events are asked for, every line on stderr is one JSON object. A result that could not be written is told,
//! and is a failure.

use std::io::{Error as IoError, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use headwater::Error;
use headwater::graph::{Diagnostic, Fault};
use headwater::json::{DiagnosticJson, path_text};
use serde::Serialize;
use serde_json::{Value, json};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Writes a line to stdout. A reader that went away (`| head`) is no reason to fail; [`settled`] tells what else was.
pub(crate) fn line(text: &str) {
    // Names and values are somebody's, and the somebody may be the maker of a store that was copied. Objects for
    // programs have escapes of their own.
    let text = if text.starts_with('{') {
        text.into()
    } else {
        headwater::text::printable(text)
    };
    written(writeln!(std::io::stdout(), "{text}"));
}

/// The command that was given, argument by argument, for the list of runs. An argument may be any bytes.
pub(crate) fn command() -> Vec<String> {
    let arguments = std::env::args_os();
    arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}

/// Writes a line that people read to stdout. On a terminal that is too narrow it goes on in the next one, set in,
/// instead of being cut in the middle of a word; elsewhere it stays one line.
pub(crate) fn prose(text: &str) {
    let columns = terminal_size::terminal_size_of(std::io::stdout());
    match columns.map(|(columns, _)| usize::from(columns.0)) {
        Some(columns) if columns > 0 => wrapped(text, columns).iter().for_each(|part| line(part)),
        _ => line(text),
    }
}

/// A line in parts of at most so many columns; a word that is longer stays whole.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let inside = text.len() - text.trim_start().len();
    if width(text) <= columns || inside + 10 > columns {
        return vec![text.to_owned()];
    }
    let mut parts = vec![" ".repeat(inside)];
    let mut empty = true;
    // Gaps within a line are columns of a table, and stay.
    for word in text[inside..].split_inclusive(' ') {
        let last = parts.last().map_or(0, |part| width(part));
        if !empty && last + width(word.trim_end()) > columns {
            parts.push(" ".repeat(inside + 2));
        }
        if let Some(part) = parts.last_mut() {
            part.push_str(word);
        }
        empty = false;
    }
    let parts = parts.iter().map(|part| part.trim_end().to_owned());
    parts.collect()
}

/// The first reason why something could not be written to stdout.
static UNWRITTEN: Mutex<Option<IoError>> = Mutex::new(None);

/// Remembers why something could not be written to stdout.
pub(crate) fn written(result: Result<(), IoError>) {
    if let Err(error) = result
        && error.kind() != ErrorKind::BrokenPipe
    {
        let mut first = UNWRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
    }
}

/// The exit code once all is written: where that failed it is told, once, and what was done is a failure.
pub(crate) fn settled(code: u8) -> u8 {
    written(std::io::stdout().flush());
    let first = UNWRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(error) = &*first else {
        return code;
    };
    static TOLD: AtomicBool = AtomicBool::new(false);
    if !TOLD.swap(true, Ordering::Relaxed) {
        trouble(&format!(
            "cannot write to stdout: {error}; what was written is not whole"
        ));
    }
    code.max(1)
}

/// Writes an object to stdout, in one line.
pub(crate) fn object(object: &impl Serialize) {
    match serde_json::to_string(object) {
        Ok(text) => line(&text),
        Err(error) => trouble(&format!("this cannot be written as JSON: {error}")),
    }
}

/// Writes a line to stderr.
pub(crate) fn talk(text: &str) {
    if events() {
        event(&json!({"event": "note", "message": text}));
    } else {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// Tells something that is worth knowing.
pub(crate) fn note(text: &str) {
    if events() {
        talk(text);
    } else {
        talk(&format!("note: {}", headwater::text::printable(text)));
    }
}

static EVENTS: AtomicBool = AtomicBool::new(false);

/// From now on what goes to stderr is events.
pub(crate) fn as_events() {
    EVENTS.store(true, Ordering::Relaxed);
}

/// Whether what goes to stderr is events.
pub(crate) fn events() -> bool {
    EVENTS.load(Ordering::Relaxed)
}

/// Writes an event, in one piece.
pub(crate) fn event(event: &impl Serialize) {
    if let Ok(text) = serde_json::to_string(event) {
        let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
    }
}

/// Tells an error that is not the last word.
pub(crate) fn trouble(text: &str) {
    if events() {
        event(&json!({"event": "error", "message": text, "hint": null}));
    } else {
        let text = headwater::text::printable(text);
        talk(&format!("{} {text}", paint("error:", "1;31")));
    }
}

/// Whether stderr takes colours.
pub(crate) fn colours() -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal()
        && !events()
        && !unwanted
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Says what was found damaged in a store, and what else is to be known of it.
pub(crate) fn damage(store: &dyn headwater::Store) {
    for what in store.take_damage() {
        note(&format!("damaged in the store: {what}"));
    }
    for notice in store.take_notices() {
        note(&notice);
    }
}

/// `text` in a colour (an SGR code), where colours are wanted.
pub(crate) fn paint(text: &str, code: &str) -> String {
    if colours() {
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

/// Shows what a file's readers said.
pub(crate) fn diagnostics(file: &Path, text: &str, diagnostics: &[Diagnostic]) {
    if events() {
        for diagnostic in diagnostics {
            let mut object = json!(DiagnosticJson::of(file, diagnostic));
            object["event"] = json!("diagnostic");
            event(&object);
        }
    } else if !diagnostics.is_empty() {
        let shown = headwater::render(diagnostics, &file.display().to_string(), text, colours());
        talk(shown.trim_end());
    }
}

/// An error for programs: what it is, what would help, and where it is in a file.
pub(crate) fn error_object(
    message: &str,
    hint: Option<String>,
    found: Option<(&Path, &[Diagnostic])>,
) -> Value {
    let all = found.map(|(file, diagnostics)| DiagnosticJson::of_all(file, diagnostics));
    json!({
        "error": message,
        "hint": hint,
        "file": found.map(|(file, _)| path_text(file)),
        "diagnostics": all.unwrap_or_default(),
    })
}

/// Shows an error; the exit code that goes with it.
pub(crate) fn error(error: &Error, as_json: bool) -> ExitCode {
    if as_json {
        let found = match error {
            Error::File {
                file, diagnostics, ..
            } => Some((&**file, &**diagnostics)),
            _ => None,
        };
        let object = error_object(&error.to_string(), error.hint(), found);
        line(&object.to_string());
    }
    if let Error::File {
        file,
        text,
        diagnostics: found,
    } = error
    {
        diagnostics(file, text, found);
        let errors = found
            .iter()
            .filter(|diagnostic| diagnostic.is_error())
            .count();
        let noun = if errors == 1 { "mistake" } else { "mistakes" };
        trouble(&format!("{errors} {noun} in {}", file.display()));
    } else if events() {
        let (message, hint) = (error.to_string(), error.hint());
        event(&json!({"event": "error", "message": message, "hint": hint}));
    } else {
        trouble(&error.to_string());
        if let Some(hint) = error.hint() {
            let hint = headwater::text::printable(&hint);
            talk(&format!("  {} {hint}", paint("help:", "1;36")));
        }
    }
    let code = settled(if error.fault() == Fault::User { 2 } else { 1 });
    if events() {
        event(&json!({"event": "end", "status": "failed", "exit": code}));
    }
    ExitCode::from(code)
}

/// A time for people.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.0005 => "0 s".to_owned(),
        s if s < 1.0 => format!("{:.0} ms", s * 1000.0),
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!(
            "{:.0} min {:02.0} s",
            (s / 60.0).floor(),
            (s % 60.0).floor()
        ),
        s => format!(
            "{:.0} h {:02.0} min",
            (s / 3600.0).floor(),
            (s % 3600.0 / 60.0).floor()
        ),
    }
}

/// `1 task`, `2 tasks`, `1,234 tasks`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!(
        "{} {noun}{}",
        grouped(number),
        if number == 1 { "" } else { "s" }
    )
}

/// A number with its thousands set apart.
pub(crate) fn grouped(number: usize) -> String {
    headwater::text::grouped(number as u64)
}

/// A path as it is shortest from here.
pub(crate) fn path(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here
        .as_deref()
        .and_then(|here| path.strip_prefix(here).ok());
    below.unwrap_or(path).display().to_string()
}

/// A number of bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut size = bytes as f64;
    let mut unit = "B";
    for larger in units {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, larger);
    }
    match unit {
        "B" => format!("{bytes} B"),
        unit if size < 10.0 => format!("{size:.1} {unit}"),
        unit => format!("{size:.0} {unit}"),
    }
}

/// How many columns of a terminal a text takes: characters of some scripts take two.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text with blanks after it, so that it takes this many columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(width(text));
    format!("{text}{:blanks$}", "")
}

/// The beginning of a text that is too long for so many columns.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut taken = 1;
    for letter in text.chars() {
        taken += letter.width().unwrap_or(0);
        if taken > most {
            break;
        }
        kept.push(letter);
    }
    format!("{kept}…")
}

/// Rows in columns, as wide as they need to be; the last one is not padded. Numbers stand to the right.
pub(crate) fn columns(rows: &[Vec<String>], right: &[usize]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| width(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(widest).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let columns = widths[column];
            if right.contains(&column) {
                let blanks = columns - width(cell);
                format!("{:blanks$}{cell}", "")
            } else {
                padded(cell, columns)
            }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_for_people() {
        let expected = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (10 * 1024, "10 KiB"),
            (5 << 30, "5.0 GiB"),
            (5 << 50, "5120 TiB"),
        ];
        for (bytes, text) in expected {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn columns_line_up() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["a", "12", "x"]), row(["bcd", "3", "yz"])];
        assert_eq!(columns(&rows, &[1]), ["a    12  x", "bcd   3  yz"]);
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!(shortened("abcd", 4), "abcd");
    }

    #[test]
    fn long_lines_go_on_set_in() {
        let check = |text: &str, expected: &[&str]| assert_eq!(wrapped(text, 16), expected);
        check("sixteen columns!", &["sixteen columns!"]);
        check("more than sixteen", &["more than", "  sixteen"]);
        check("  set in, and goes on", &["  set in, and", "    goes on"]);
        check(
            "a very/long/path/of/a/file b",
            &["a", "  very/long/path/of/a/file", "  b"],
        );
        check("very/long/path/of/a/file", &["very/long/path/of/a/file"]);
        check("細胞細胞 細胞細胞 x", &["細胞細胞", "  細胞細胞 x"]);
    }

    #[test]
    fn wide_letters_take_two_columns() {
        let rows = [["細胞", "x"], ["abcd", "y"], ["é", "z"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(columns(&rows, &[]), ["細胞  x", "abcd  y", "é     z"]);
        assert_eq!(columns(&rows, &[0]), ["細胞  x", "abcd  y", "   é  z"]);
        assert_eq!(shortened("細胞核", 5), "細胞…");
        assert_eq!(shortened("細胞核", 4), "細…");
        assert_eq!(shortened("細胞核", 6), "細胞核");
    }
}
