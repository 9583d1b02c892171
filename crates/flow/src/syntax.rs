//! What the YAML parser says, in words for people, and how to read on.
//!
//! Law: a mistake in the syntax gives one diagnostic at the place a person would look at. Where putting
//! another character of the same length in its place lets the parser go on, that is done, so that the rest
//! of the file is checked as well.

use headwater_graph::{Diagnostic, Span};

use crate::excerpt::shorten;
use crate::source::Source;

/// How reading can go on after a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// Not at all; what was read so far has to do.
    None,
    /// With the character at this byte made harmless.
    Patch {
        /// Where.
        byte: usize,
        /// Whether what follows may be read as something other than what was meant.
        damaged: bool,
    },
    /// With all tabs of indentation taken as single spaces.
    Tabs,
}

/// Turns a message of the parser into a diagnostic. `at` is where the parser stood, `open` the innermost
/// bracket that is open there.
pub(crate) fn explain(
    source: &Source<'_>,
    info: &str,
    at: Span,
    open: Option<Span>,
) -> (Diagnostic, Recovery) {
    let sign = source.text()[at.start..].chars().next();
    let at = match sign {
        Some(sign) if !matches!(sign, '\n' | '\r') => {
            source.bytes(at.start, at.start + sign.len_utf8())
        }
        _ => at,
    };
    if let Some(sign @ ('*' | '@' | '`' | '%')) = sign
        && (info.contains("unknown anchor")
            || info.contains("unexpected character")
            || info.contains("anchor or alias")
            || info.contains("directive"))
    {
        return reserved(source, at, sign);
    }
    if info.starts_with("tab") || info.contains(" tab") {
        return (tabs(source, at), Recovery::Tabs);
    }
    if let Some(open) = open
        && sign.is_none()
    {
        let bracket = source.slice(open);
        let message = format!("this `{bracket}` is never closed");
        let closing = if bracket == "[" { "]" } else { "}" };
        let hint = format!("add the missing `{closing}`");
        return (
            Diagnostic::error(open, message).with_hint(hint),
            Recovery::None,
        );
    }
    if let Some(open) = open
        && open.line != at.line
        && (info.contains("flow") || info.contains("illegal placement"))
    {
        let bracket = source.slice(open);
        let message = format!(
            "this `{bracket}` is not closed, or a comma is missing before line {}",
            at.line
        );
        let closing = if bracket == "[" { "]" } else { "}" };
        let hint = format!("add the missing `{closing}` or `,`");
        return (
            Diagnostic::error(open, message).with_hint(hint),
            Recovery::None,
        );
    }
    let (message, hint) = words(info, open.map(|open| source.slice(open)));
    let diagnostic = Diagnostic::error(at, message).with_hint(hint);
    let colon = sign == Some(':') && info.contains("mapping values are not allowed");
    let recovery = if colon {
        Recovery::Patch {
            byte: at.start,
            damaged: true,
        }
    } else {
        Recovery::None
    };
    (diagnostic, recovery)
}

/// A value that begins with a character that means something to YAML.
fn reserved(source: &Source<'_>, at: Span, sign: char) -> (Diagnostic, Recovery) {
    let (_, line) = source.line_at(at.start);
    let rest = &source.text()[at.start..];
    let length = rest
        .find(|sign: char| sign.is_whitespace() || ",]}".contains(sign))
        .unwrap_or(rest.len());
    let value = &rest[..length];
    let message = if sign == '*' && length > 1 {
        format!(
            "`{}` is not a text in YAML: a leading `*` refers to an anchor, and there is none of that name",
            shorten(value)
        )
    } else {
        format!("a text cannot begin with `{sign}` unless it is quoted")
    };
    let hint = if length > 0 && length <= 60 && line.len() < 10_000 {
        format!("put it in quotes: \"{}\"", value.replace('"', "\\\""))
    } else {
        "put it in quotes".to_owned()
    };
    let span = source.bytes(at.start, at.start + length.max(1));
    let recovery = Recovery::Patch {
        byte: at.start,
        damaged: false,
    };
    (Diagnostic::error(span, message).with_hint(hint), recovery)
}

/// Points at the first tab of indentation from the line of the mistake on.
fn tabs(source: &Source<'_>, at: Span) -> Diagnostic {
    let (line, _) = source.line_at(at.start);
    let span = indenting_tabs(&source.text()[line..])
        .next()
        .map_or(at, |byte| source.bytes(line + byte, line + byte + 1));
    Diagnostic::error(span, "a tab cannot be used to indent").with_hint("indent with spaces")
}

/// The bytes of all tabs that stand before anything else in their line.
pub(crate) fn indenting_tabs(text: &str) -> impl Iterator<Item = usize> {
    let mut indenting = true;
    text.bytes().enumerate().filter_map(move |(at, byte)| {
        match byte {
            b'\n' | b'\r' => indenting = true,
            b' ' | b'\t' => {}
            _ => indenting = false,
        }
        (indenting && byte == b'\t').then_some(at)
    })
}

/// The bytes at which a file that begins with `{` has comments of other languages: `// …`, or `/* … */` at the end of a
/// line. Only places count where YAML would read a key or nothing that fits, so that no text is mistaken for one.
pub(crate) fn foreign_comments(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut quote = None;
    let mut open: Vec<u8> = Vec::new();
    // The last byte, and the last one that was no space.
    let (mut last, mut significant) = (b'\n', None);
    let mut at = if text.starts_with('\u{feff}') { 3 } else { 0 };
    // Where the line ends, and whether with `*/`; found once for each line.
    let (mut end, mut closed) = (0, false);
    while let Some(&byte) = bytes.get(at) {
        if at >= end {
            end = at + line_length(&bytes[at..]);
            closed = bytes[at..end].trim_ascii_end().ends_with(b"*/");
        }
        let spaced = last.is_ascii_whitespace();
        if let Some(closing) = quote {
            let doubled =
                closing == b'\'' && byte == closing && bytes.get(at + 1) == Some(&closing);
            if doubled || (byte == b'\\' && closing == b'"') {
                at += 1;
            } else if byte == closing {
                quote = None;
                significant = Some(b'"');
            }
        } else if byte.is_ascii_whitespace() {
        } else if spaced && byte == b'#' {
            at = end;
            last = b'\n';
            continue;
        } else if spaced
            && is_foreign_comment(&bytes[at..end], closed)
            && match significant {
                None | Some(b'"' | b'}' | b']') => true,
                Some(b'{' | b',') => open.last() == Some(&b'{'),
                Some(_) => false,
            }
        {
            found.push(at);
            at = end;
            last = b'\n';
            continue;
        } else {
            match byte {
                b'{' | b'[' => open.push(byte),
                b'}' | b']' => drop(open.pop()),
                b'"' | b'\'' if matches!(significant, Some(b'{' | b'[' | b',' | b':')) => {
                    quote = Some(byte);
                }
                _ => {}
            }
            if significant.is_none() && byte != b'{' {
                return Vec::new();
            }
            significant = Some(byte);
        }
        last = byte;
        at += 1;
    }
    if significant.is_none() {
        found.clear();
    }
    found
}

/// Whether the rest of a line is a comment elsewhere. `closed` says whether it ends with `*/`.
fn is_foreign_comment(rest: &[u8], closed: bool) -> bool {
    let apart = rest.get(2).is_none_or(u8::is_ascii_whitespace);
    apart && (rest.starts_with(b"//") || (closed && rest.starts_with(b"/*")))
}

fn line_length(rest: &[u8]) -> usize {
    let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    end.unwrap_or(rest.len())
}

/// Message and hint for what the parser calls `info`.
fn words(info: &str, bracket: Option<&str>) -> (String, String) {
    let indentation = "check the indentation of this line against the lines above";
    let bracket = bracket.unwrap_or("bracket");
    let has = |part: &str| info.contains(part);
    let (message, hint) = if has("mapping values are not allowed") {
        (
            "a `:` followed by a space is not allowed here".to_owned(),
            "put the text in quotes, or check the indentation of this line",
        )
    } else if has("quoted scalar, found unexpected end") {
        (
            "this quote is never closed".to_owned(),
            "add the missing quote",
        )
    } else if has("unknown escape") {
        (
            "this quoted text holds an unknown `\\` escape".to_owned(),
            "write `\\\\` for a backslash, or use single quotes",
        )
    } else if has("hexadecimal") || has("Unicode character escape") {
        (
            "this quoted text holds a wrong `\\` escape".to_owned(),
            "write `\\\\` for a backslash, or use single quotes",
        )
    } else if has("trailing content") {
        (
            "nothing may follow the closing quote".to_owned(),
            "put the whole value in one pair of quotes",
        )
    } else if has("flow mapping") || has("flow sequence") {
        let closing = if bracket == "[" { "]" } else { "}" };
        (
            format!("expected `,` or `{closing}`"),
            "texts with `:`, `#`, quotes or brackets inside `[…]` or `{…}` need quotes",
        )
    } else if has("misplaced bracket") {
        (
            "this bracket closes nothing".to_owned(),
            "remove it, or put the text in quotes",
        )
    } else if has("block sequence entries are not allowed") || has("only valid inside a block") {
        (
            "a list item `- …` is not allowed here".to_owned(),
            "begin the list in a line of its own, or write `[a, b]`",
        )
    } else if has("did not find expected '-'") {
        (
            "expected another `- …` item of the list above".to_owned(),
            indentation,
        )
    } else if has("did not find expected key") || has("simple key expect") {
        ("expected `KEY: VALUE` here".to_owned(), indentation)
    } else if has("recursion limit") {
        (
            "brackets are nested too deeply".to_owned(),
            "files of this kind need a few levels only",
        )
    } else if has("unprintable") {
        (
            "the file holds a character that is not text".to_owned(),
            "is this the right file?",
        )
    } else if has("byte order mark") {
        (
            "there is a byte order mark inside the file".to_owned(),
            "remove it",
        )
    } else if has("indentation") || has("indented") {
        (
            "this line is not indented as expected".to_owned(),
            indentation,
        )
    } else if has("document") {
        (
            "the file goes on after the end of its document".to_owned(),
            "remove the lines `---` and `...`",
        )
    } else if has("tag") || has("TAG") {
        (
            "a value that begins with `!` is a YAML tag, which these files do not use".to_owned(),
            "put the text in quotes",
        )
    } else if has("anchor") {
        (
            "a value that begins with `&` or `*` is a YAML anchor or alias".to_owned(),
            "put the text in quotes",
        )
    } else if has("comment") {
        (
            "a comment is not allowed inside this text".to_owned(),
            "put the text in quotes, or move the comment",
        )
    } else {
        (
            format!("this is not YAML: {info}"),
            "put texts with special characters in quotes",
        )
    };
    (message, hint.to_owned())
}
