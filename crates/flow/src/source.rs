//! A text and the positions in it.
//!
//! Law: every [`Span`] of this crate is made here, so bytes, lines and columns always agree. Looking up a
//! position costs the same in the first line and in a line of a million characters.

use headwater_graph::Span;

/// One checkpoint per this many characters.
const STRIDE: usize = 16;

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    /// Characters before it.
    character: usize,
    /// Bytes before it.
    byte: usize,
    /// 1-based.
    line: usize,
    /// 1-based, in characters.
    column: usize,
}

/// A text that can tell line and column of its bytes and characters.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    text: &'a str,
    checkpoints: Vec<Position>,
    /// The byte at which each line begins.
    lines: Vec<usize>,
}

impl<'a> Source<'a> {
    /// Walks over the text once.
    pub(crate) fn new(text: &'a str) -> Source<'a> {
        let mut at = Position {
            character: 0,
            byte: 0,
            line: 1,
            column: 1,
        };
        let mut checkpoints = vec![at];
        let mut lines = vec![0];
        for sign in text.chars() {
            let line = at.line;
            at = step(text, at, sign);
            if at.line > line {
                lines.push(at.byte);
            }
            if at.character.is_multiple_of(STRIDE) {
                checkpoints.push(at);
            }
        }
        Source {
            text,
            checkpoints,
            lines,
        }
    }

    /// The text.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The piece of text in a span.
    pub(crate) fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.start..span.end).unwrap_or("")
    }

    /// The line that holds a byte: where it begins, and its text without the line break.
    pub(crate) fn line_at(&self, byte: usize) -> (usize, &'a str) {
        let after = self.lines.partition_point(|start| *start <= byte);
        let start = self.lines[after.max(1) - 1];
        let end = self
            .lines
            .get(after.max(1))
            .copied()
            .unwrap_or(self.text.len());
        let line = self.text.get(start..end).unwrap_or("");
        (start, line.trim_end_matches(['\n', '\r']))
    }

    /// The span between two characters, given by their numbers.
    pub(crate) fn characters(&self, start: usize, end: usize) -> Span {
        let first = self.walk(
            &self.checkpoints[(start / STRIDE).min(self.checkpoints.len() - 1)],
            |at| at.character < start,
        );
        let last = if end <= start {
            first
        } else {
            self.walk(
                &self.checkpoints[(end / STRIDE).min(self.checkpoints.len() - 1)],
                |at| at.character < end,
            )
        };
        span(first, last.byte)
    }

    /// The span between two bytes. A byte inside a character stands for the next one.
    pub(crate) fn bytes(&self, start: usize, end: usize) -> Span {
        let first = self.at_byte(start);
        let last = if end <= start {
            first
        } else {
            self.at_byte(end)
        };
        span(first, last.byte)
    }

    /// The empty span at the end of the text.
    pub(crate) fn end(&self) -> Span {
        self.bytes(self.text.len(), self.text.len())
    }

    /// From the start of one span to the end of another.
    pub(crate) fn join(first: Span, last: Span) -> Span {
        Span {
            end: last.end.max(first.start),
            ..first
        }
    }

    fn at_byte(&self, byte: usize) -> Position {
        let after = self.checkpoints.partition_point(|at| at.byte <= byte);
        self.walk(&self.checkpoints[after.max(1) - 1], |at| at.byte < byte)
    }

    fn walk(&self, from: &Position, go_on: impl Fn(&Position) -> bool) -> Position {
        let mut at = *from;
        for sign in self.text[at.byte..].chars() {
            if !go_on(&at) {
                break;
            }
            at = step(self.text, at, sign);
        }
        at
    }
}

fn span(start: Position, end: usize) -> Span {
    Span {
        start: start.byte,
        end,
        line: start.line,
        column: start.column,
    }
}

/// The position after one character; a line ends with `\n`, `\r\n` or a lone `\r`.
fn step(text: &str, at: Position, sign: char) -> Position {
    let byte = at.byte + sign.len_utf8();
    let breaks = match sign {
        '\n' => true,
        '\r' => !text[byte..].starts_with('\n'),
        _ => false,
    };
    // Nobody sees a byte order mark, so nobody counts it.
    let seen = at.byte > 0 || sign != '\u{feff}';
    Position {
        character: at.character + 1,
        byte,
        line: at.line + usize::from(breaks),
        column: if breaks {
            1
        } else {
            at.column + usize::from(seen)
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns() {
        let source = Source::new("aé\nb\r\nc\rd");
        let check = |character, expected: (usize, usize, usize)| {
            let span = source.characters(character, character + 1);
            assert_eq!((span.start, span.line, span.column), expected);
            assert_eq!(source.bytes(span.start, span.end), span);
        };
        check(0, (0, 1, 1));
        check(1, (1, 1, 2));
        check(3, (4, 2, 1));
        check(6, (7, 3, 1));
        check(8, (9, 4, 1));
        assert_eq!((source.end().line, source.end().column), (4, 2));
        assert_eq!(source.line_at(4), (4, "b"));
        assert_eq!(source.line_at(10), (9, "d"));
    }

    #[test]
    fn a_byte_order_mark_takes_no_column() {
        let span = Source::new("\u{feff}ab").characters(2, 3);
        assert_eq!((span.start, span.line, span.column), (4, 1, 2));
    }

    #[test]
    fn numbers_out_of_range_stand_for_the_end() {
        for text in ["", "a", "ä\n"] {
            let source = Source::new(text);
            assert_eq!(source.characters(500, 900), source.end());
            assert_eq!(source.bytes(500, 900), source.end());
        }
    }

    #[test]
    fn every_position_of_a_long_text_is_found() {
        let text: String = (0..1000)
            .map(|number| if number % 37 == 0 { '\n' } else { 'ü' })
            .collect();
        let source = Source::new(&text);
        let (mut line, mut column) = (1, 1);
        for (character, (byte, sign)) in text.char_indices().enumerate() {
            let found = source.characters(character, character);
            assert_eq!(
                (found.start, found.line, found.column),
                (byte, line, column)
            );
            assert_eq!(source.bytes(byte, byte), found);
            (line, column) = if sign == '\n' {
                (line + 1, 1)
            } else {
                (line, column + 1)
            };
        }
    }
}
