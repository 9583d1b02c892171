//! Rust source as words and signs, without comments, strings and character literals.
//!
//! Law: what a checker finds in the tokens is code that the compiler sees. The reader knows just enough of the
//! grammar for that: nested comments, escapes, raw strings, and a lifetime is no character literal. It never fails;
//! source that does not compile gives tokens of some kind.

/// A word, the sign `::`, or any other single sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// The line it stands on, from 1.
    pub(crate) line: usize,
    /// The word or sign.
    pub(crate) text: &'a str,
}

/// The tokens of a source text, in order.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut reader = Reader {
        source,
        place: 0,
        line: 1,
    };
    let mut tokens = Vec::new();
    while let Some(token) = reader.next_token() {
        tokens.push(token);
    }
    tokens
}

/// A place in a source text.
struct Reader<'a> {
    source: &'a str,
    place: usize,
    line: usize,
}

impl<'a> Reader<'a> {
    /// What is still to be read.
    fn rest(&self) -> &'a str {
        &self.source[self.place..]
    }

    /// Steps over this many bytes and counts the lines in them.
    fn skip(&mut self, bytes: usize) -> &'a str {
        let end = (self.place + bytes).min(self.source.len());
        let skipped = &self.source[self.place..end];
        self.line += skipped.matches('\n').count();
        self.place = end;
        skipped
    }

    /// Steps over everything up to and including this text, or to the end.
    fn skip_past(&mut self, end: &str) {
        let rest = self.rest();
        self.skip(rest.find(end).map_or(rest.len(), |at| at + end.len()));
    }

    /// The next token, after whatever is no token.
    fn next_token(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = self.rest();
            let first = rest.chars().next()?;
            let line = self.line;
            if rest.starts_with("//") {
                self.skip(rest.find('\n').unwrap_or(rest.len()));
            } else if rest.starts_with("/*") {
                self.skip_comment();
            } else if first == '"' {
                self.skip(1);
                self.skip_string();
            } else if first == '\'' {
                self.skip_quote();
            } else if is_word(first) {
                let end = rest.find(|sign| !is_word(sign)).unwrap_or(rest.len());
                let text = self.skip(end);
                if matches!(text, "r" | "br" | "cr") && self.skip_raw_string() {
                    continue;
                }
                return Some(Token { line, text });
            } else if first.is_whitespace() {
                self.skip(first.len_utf8());
            } else {
                let length = if rest.starts_with("::") {
                    2
                } else {
                    first.len_utf8()
                };
                let text = self.skip(length);
                return Some(Token { line, text });
            }
        }
    }

    /// Steps over a block comment and the comments inside it.
    fn skip_comment(&mut self) {
        let mut depth = 0;
        while let Some(first) = self.rest().chars().next() {
            if self.rest().starts_with("/*") {
                depth += 1;
                self.skip(2);
            } else if self.rest().starts_with("*/") {
                depth -= 1;
                self.skip(2);
                if depth == 0 {
                    return;
                }
            } else {
                self.skip(first.len_utf8());
            }
        }
    }

    /// Steps over the inside of a string and its closing quote.
    fn skip_string(&mut self) {
        while let Some(first) = self.rest().chars().next() {
            self.skip(first.len_utf8());
            match first {
                '"' => return,
                '\\' => {
                    let escaped = self.rest().chars().next().map_or(0, char::len_utf8);
                    self.skip(escaped);
                }
                _ => {}
            }
        }
    }

    /// Steps over a character literal, or over the quote alone where it begins a lifetime.
    fn skip_quote(&mut self) {
        self.skip(1);
        let mut signs = self.rest().chars();
        let (first, second) = (signs.next(), signs.next());
        match (first, second) {
            (Some('\\'), Some(escaped)) => {
                self.skip(1 + escaped.len_utf8());
                self.skip_past("'");
            }
            (Some(sign), Some('\'')) => {
                self.skip(sign.len_utf8() + 1);
            }
            _ => {}
        }
    }

    /// Steps over a raw string after its letters; false, and nothing done, where none stands here.
    fn skip_raw_string(&mut self) -> bool {
        let rest = self.rest();
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        if !rest[hashes..].starts_with('"') {
            return false;
        }
        self.skip(hashes + 1);
        self.skip_past(&format!("\"{}", "#".repeat(hashes)));
        true
    }
}

/// Whether the sign may stand in a name or number.
fn is_word(sign: char) -> bool {
    sign == '_' || sign.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let words: Vec<&str> = tokens(source).iter().map(|token| token.text).collect();
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn words_and_signs() {
        check("use std::fs;", "use std :: fs ;");
        check("a!=b", "a ! = b");
    }

    #[test]
    fn comments_are_left_out() {
        check("a // std::fs\nb", "a b");
        check("a /* x /* y */ std::fs */ b", "a b");
        check("//! doc\n/// doc\nfn f", "fn f");
        check("a /* never closed", "a");
    }

    #[test]
    fn strings_are_left_out() {
        check(r#"f("std::fs \" still", b)"#, "f ( , b )");
        check(r##"f(r"\", b)"##, "f ( , b )");
        check(r###"f(r#"a " b"#, b"c", br#"d"#)"###, "f ( , b , )");
        check("f(\"never closed", "f (");
        check("r#type", "r # type");
    }

    #[test]
    fn a_lifetime_is_no_character() {
        check("fn f<'a>(x: &'a str)", "fn f < a > ( x : & a str )");
        check(
            "['\"', 'x', '\\'', '\\n', '\\u{1F600}', 'ä']",
            "[ , , , , , ]",
        );
    }

    #[test]
    fn lines_are_counted_through_everything() {
        let source = "/*\n*/ \"\n\n\" r#\"\n\"# 'a'\nend";
        assert_eq!(tokens(source).last().unwrap().line, 6);
    }
}
