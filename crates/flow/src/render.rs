//! Diagnostics as text for a terminal.
//!
//! Law: the carets stand under what they mean, whatever the line holds: tabs, wide characters, a million
//! columns. Nothing from a file reaches the terminal as a control character.

use std::fmt::Write;

use headwater_graph::{Diagnostic, Severity, Span, turns_text};

use crate::source::Source;

/// How many columns of a line are shown.
const WIDTH: usize = 100;
/// How many columns are shown before the place, in a line that is cut.
const BEFORE: usize = 30;
/// How wide a tab is shown.
const TAB: usize = 4;

/// Renders diagnostics of the file called `file`, whose text is `text`; with `color`, for a terminal.
///
/// ```text
/// error: there is no operation `imaging/normalise`
///  --> nuclei.yaml:9:14
///   |
/// 9 |       - {op: imaging/normalise, in: {image: tile}}
///   |              ^^^^^^^^^^^^^^^^^
///   = help: did you mean `imaging/normalize`?
/// ```
pub fn render(diagnostics: &[Diagnostic], file: &str, text: &str, color: bool) -> String {
    let source = Source::new(text);
    let mut out = String::new();
    for (position, diagnostic) in diagnostics.iter().enumerate() {
        if position > 0 {
            out.push('\n');
        }
        one(&mut out, diagnostic, &clean(file), &source, Paint(color));
    }
    out
}

/// Puts colours around words, or not.
#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn code(self, code: &'static str) -> &'static str {
        if self.0 { code } else { "" }
    }

    fn severity(self, severity: Severity) -> &'static str {
        self.code(match severity {
            Severity::Error => "\x1b[1;31m",
            Severity::Warning => "\x1b[1;33m",
            Severity::Note => "\x1b[1;36m",
        })
    }

    fn frame(self) -> &'static str {
        self.code("\x1b[1;34m")
    }

    fn bold(self) -> &'static str {
        self.code("\x1b[1m")
    }

    fn end(self) -> &'static str {
        self.code("\x1b[0m")
    }
}

fn one(out: &mut String, diagnostic: &Diagnostic, file: &str, source: &Source<'_>, paint: Paint) {
    let severity = diagnostic.severity;
    let (strong, frame, bold, end) = (
        paint.severity(severity),
        paint.frame(),
        paint.bold(),
        paint.end(),
    );
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        out,
        "{strong}{severity}{end}{bold}: {}{end}",
        clean(&diagnostic.message)
    );
    let hint = diagnostic.hint.as_deref().map(clean);
    let Some(span) = diagnostic.span else {
        let _ = writeln!(out, " {frame}-->{end} {file}");
        if let Some(hint) = hint {
            let _ = writeln!(out, "  {frame}={end} {bold}help{end}: {hint}");
        }
        return;
    };
    let number = span.line.to_string();
    let margin = " ".repeat(number.len());
    let _ = writeln!(
        out,
        "{margin}{frame}-->{end} {file}:{}:{}",
        span.line, span.column
    );
    let _ = writeln!(out, "{margin} {frame}|{end}");
    let shown = Excerpt::of(source, span);
    let _ = writeln!(out, "{frame}{number} |{end} {}", shown.line);
    let (indent, carets) = (" ".repeat(shown.indent), "^".repeat(shown.carets));
    let _ = writeln!(out, "{margin} {frame}|{end} {indent}{strong}{carets}{end}");
    if let Some(hint) = hint {
        let _ = writeln!(out, "{margin} {frame}={end} {bold}help{end}: {hint}");
    }
}

/// A piece of a line, and where the carets go.
#[derive(Debug, PartialEq, Eq)]
struct Excerpt {
    line: String,
    indent: usize,
    carets: usize,
}

impl Excerpt {
    fn of(source: &Source<'_>, span: Span) -> Excerpt {
        let start = span.start.min(source.text().len());
        let (begin, line) = source.line_at(start);
        let at = floor(line, start - begin);
        let end = floor(line, span.end.saturating_sub(begin)).max(at);
        // Columns are counted from near the place only, so that a long line costs no more than a short one.
        let mut first = at;
        let mut before = 0;
        while let Some(sign) = line[..first].chars().next_back() {
            if before + width(sign) > WIDTH - BEFORE {
                break;
            }
            before += width(sign);
            first -= sign.len_utf8();
        }
        let rest_is_long = line[at..].chars().take(WIDTH).count() >= WIDTH;
        if first > 0 || (rest_is_long && before > BEFORE) {
            while before > BEFORE {
                let Some(sign) = line[first..at].chars().next() else {
                    break;
                };
                before -= width(sign);
                first += sign.len_utf8();
            }
        }
        let mut shown = String::new();
        let mut indent = before;
        if first > 0 {
            shown.push('…');
            indent += 1;
        }
        let mut column = 0;
        let mut carets = 0;
        let mut last = first;
        for (offset, sign) in line[first..].char_indices() {
            if column + width(sign) > WIDTH {
                break;
            }
            column += width(sign);
            if (at..end).contains(&(first + offset)) {
                carets += width(sign);
            }
            put(&mut shown, sign);
            last = first + offset + sign.len_utf8();
        }
        if last < line.len() {
            shown.push('…');
        }
        Excerpt {
            line: shown.trim_end().to_owned(),
            indent,
            carets: carets.max(1),
        }
    }
}

/// The nearest character boundary at or before a byte.
fn floor(line: &str, byte: usize) -> usize {
    let mut byte = byte.min(line.len());
    while !line.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}

/// A text in one line without control characters.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\n' | '\r' | '\t' => out.push(' '),
            sign => put(&mut out, sign),
        }
    }
    out
}

fn put(out: &mut String, sign: char) {
    match sign {
        '\t' => out.extend(std::iter::repeat_n(' ', TAB)),
        sign if is_hidden(sign) => out.push('\u{fffd}'),
        sign => out.push(sign),
    }
}

/// Control characters, and those that reorder or hide what stands next to them.
fn is_hidden(sign: char) -> bool {
    sign.is_control()
        || turns_text(sign)
        || matches!(sign, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// How many columns a character takes on a terminal.
fn width(sign: char) -> usize {
    match sign {
        '\t' => TAB,
        sign if is_hidden(sign) => 1,
        '\u{300}'..='\u{36f}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f900}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}
