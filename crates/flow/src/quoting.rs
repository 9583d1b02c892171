//! What a shell makes of the places in a script at which values are put in.
//!
//! Law: a value is put in as a word that is quoted already. That is right between other words and nowhere
//! else: inside quotes its quotes would become text, and what it holds would be read as code.

/// What stands around a place in a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    /// Words: the place for values.
    Words,
    /// A comment.
    Comment,
    /// Single or double quotes.
    Quotes,
    /// A backslash before it.
    Backslash,
    /// `` `…` ``, where backslashes mean something once more.
    Backquotes,
    /// `${…}`.
    Expansion,
    /// `$((…))`, where single quotes do not quote.
    Arithmetic,
    /// The lines between `<<EOF` and `EOF`.
    HereDocument,
}

/// Something that has been opened and not closed.
#[derive(Debug)]
enum Frame {
    /// The script, `(…)` or `$(…)`, and how many `case … esac` are open in it.
    Words {
        cases: usize,
    },
    Single,
    Double,
    Backquotes,
    /// Whether it stands in double quotes, where single quotes do not quote.
    Expansion {
        in_double: bool,
    },
    /// How many parentheses are open in it.
    Arithmetic {
        depth: usize,
    },
    /// Up to this byte.
    Comment(usize),
    /// Up to this byte.
    HereDocument(usize),
}

/// A here-document whose lines have not begun.
#[derive(Debug)]
struct Pending {
    delimiter: String,
    tabs: bool,
}

/// The context of each place, given by the bytes at which it begins and ends, in the order of the script.
pub(crate) fn contexts(script: &str, places: &[(usize, usize)]) -> Vec<Context> {
    let mut scanner = Scanner {
        script,
        at: 0,
        frames: vec![Frame::Words { cases: 0 }],
        backquotes: None,
        pending: Vec::new(),
    };
    let mut found = Vec::with_capacity(places.len());
    for (start, end) in places {
        while scanner.at < *start {
            scanner.step();
        }
        found.push(if scanner.at > *start {
            Context::Backslash
        } else {
            scanner.context()
        });
        scanner.at = *end;
    }
    found
}

struct Scanner<'s> {
    script: &'s str,
    at: usize,
    frames: Vec<Frame>,
    /// Which of the frames is the one of backquotes; they do not nest.
    backquotes: Option<usize>,
    pending: Vec<Pending>,
}

impl Scanner<'_> {
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.script.as_bytes().get(self.at + ahead).copied()
    }

    fn leave_ended(&mut self) {
        while let Some(Frame::Comment(end) | Frame::HereDocument(end)) = self.frames.last()
            && self.at >= *end
        {
            self.frames.pop();
        }
    }

    fn context(&mut self) -> Context {
        self.leave_ended();
        // Inside backquotes nothing is as it looks, however deep.
        if self.backquotes.is_some() {
            return Context::Backquotes;
        }
        match self.frames.last() {
            None | Some(Frame::Words { .. }) => Context::Words,
            Some(Frame::Single | Frame::Double) => Context::Quotes,
            Some(Frame::Backquotes) => Context::Backquotes,
            Some(Frame::Expansion { .. }) => Context::Expansion,
            Some(Frame::Arithmetic { .. }) => Context::Arithmetic,
            Some(Frame::Comment(_)) => Context::Comment,
            Some(Frame::HereDocument(_)) => Context::HereDocument,
        }
    }

    /// Goes on by one byte, or by a few that belong together.
    fn step(&mut self) {
        self.leave_ended();
        let Some(byte) = self.byte(0) else {
            self.at += 1;
            return;
        };
        match self.frames.last() {
            Some(Frame::Comment(end) | Frame::HereDocument(end)) => {
                debug_assert!(self.at < *end);
                self.at += 1;
            }
            Some(Frame::Single) => {
                if byte == b'\'' {
                    self.frames.pop();
                }
                self.at += 1;
            }
            Some(Frame::Double) => {
                if byte == b'"' {
                    self.frames.pop();
                    self.at += 1;
                } else {
                    self.inside(byte);
                }
            }
            Some(Frame::Expansion { in_double }) => {
                let in_double = *in_double;
                match byte {
                    b'}' => {
                        self.frames.pop();
                        self.at += 1;
                    }
                    b'\'' if !in_double => self.open(Frame::Single, 1),
                    b'"' => self.open(Frame::Double, 1),
                    _ => self.inside(byte),
                }
            }
            Some(Frame::Arithmetic { .. }) => self.arithmetic(byte),
            None | Some(Frame::Words { .. } | Frame::Backquotes) => self.words(byte),
        }
    }

    fn open(&mut self, frame: Frame, length: usize) {
        self.frames.push(frame);
        self.at += length;
    }

    /// What means something inside double quotes too.
    fn inside(&mut self, byte: u8) {
        match (byte, self.byte(1), self.byte(2)) {
            (b'\\', ..) => self.at += 2,
            (b'`', ..) => match self.backquotes.take() {
                Some(open) => {
                    self.frames.truncate(open);
                    self.at += 1;
                }
                None => {
                    self.backquotes = Some(self.frames.len());
                    self.open(Frame::Backquotes, 1);
                }
            },
            (b'$', Some(b'('), Some(b'(')) => self.open(Frame::Arithmetic { depth: 0 }, 3),
            (b'$', Some(b'('), _) => self.open(Frame::Words { cases: 0 }, 2),
            (b'$', Some(b'{'), _) => {
                let in_double = matches!(
                    self.frames.last(),
                    Some(Frame::Double | Frame::Expansion { in_double: true })
                );
                self.open(Frame::Expansion { in_double }, 2);
            }
            _ => self.at += 1,
        }
    }

    fn arithmetic(&mut self, byte: u8) {
        let Some(Frame::Arithmetic { depth }) = self.frames.last_mut() else {
            return;
        };
        match byte {
            b'(' => {
                *depth += 1;
                self.at += 1;
            }
            b')' if *depth > 0 => {
                *depth -= 1;
                self.at += 1;
            }
            b')' => {
                self.frames.pop();
                self.at += if self.byte(1) == Some(b')') { 2 } else { 1 };
            }
            _ => self.inside(byte),
        }
    }

    fn words(&mut self, byte: u8) {
        let before = self.script.as_bytes()[..self.at].last();
        let fresh = before.is_none_or(|before| b" \t\n;&|()`".contains(before));
        match byte {
            b'\'' => self.open(Frame::Single, 1),
            b'"' => self.open(Frame::Double, 1),
            b'(' => self.open(Frame::Words { cases: 0 }, 1),
            b')' => {
                if let Some(Frame::Words { cases: 0 }) = self.frames.last()
                    && self.frames.len() > 1
                {
                    self.frames.pop();
                }
                self.at += 1;
            }
            b'#' if fresh => {
                let length = self.script[self.at..].find('\n');
                let end = length.map_or(self.script.len(), |length| self.at + length);
                self.open(Frame::Comment(end), 1);
            }
            b'<' if self.byte(1) == Some(b'<') => self.here_document(),
            b'\n' => {
                self.at += 1;
                self.lines();
            }
            b'c' | b'e' if fresh => self.case(),
            _ => self.inside(byte),
        }
    }

    /// `case` opens something in which `)` stands alone, and `esac` closes it.
    fn case(&mut self) {
        let rest = &self.script[self.at..];
        let is = |word: &str| {
            rest.strip_prefix(word).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', ')', '&', '|'])
            })
        };
        let (opens, closes) = (is("case"), is("esac"));
        if (opens || closes)
            && self.is_command_position()
            && let Some(Frame::Words { cases }) = self.frames.last_mut()
        {
            *cases = if opens {
                *cases + 1
            } else {
                cases.saturating_sub(1)
            };
        }
        self.at += 1;
    }

    /// Whether a command may begin here.
    fn is_command_position(&self) -> bool {
        let before = self.script[..self.at].trim_end_matches([' ', '\t']);
        let last = before.rsplit([' ', '\t', '\n', ';', '(']).next();
        before.is_empty()
            || before.ends_with(['\n', ';', '&', '|', '(', ')', '`'])
            || last.is_some_and(|word| {
                [
                    "then", "do", "else", "elif", "if", "while", "until", "!", "{",
                ]
                .contains(&word)
            })
    }

    /// `<<EOF`, `<<-'EOF'`; `<<<` is no here-document.
    fn here_document(&mut self) {
        self.at += 2;
        if self.byte(0) == Some(b'<') {
            self.at += 1;
            return;
        }
        let tabs = self.byte(0) == Some(b'-');
        self.at += usize::from(tabs);
        let rest = &self.script[self.at..];
        let word = rest.trim_start_matches([' ', '\t']);
        let mut quote = None;
        let mut delimiter = String::new();
        let mut length = rest.len() - word.len();
        let mut signs = word.chars();
        while let Some(sign) = signs.next() {
            match quote {
                Some(open) if sign == open => quote = None,
                None if matches!(sign, '\'' | '"') => quote = Some(sign),
                None if sign == '\\' => {
                    if let Some(next) = signs.next() {
                        delimiter.push(next);
                        length += next.len_utf8();
                    }
                }
                None if " \t\n;&|()<>".contains(sign) => break,
                _ => delimiter.push(sign),
            }
            length += sign.len_utf8();
        }
        self.at += length;
        self.pending.push(Pending { delimiter, tabs });
    }

    /// The lines of here-documents begin where a line with `<<` ends.
    fn lines(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let mut end = self.at;
        for Pending { delimiter, tabs } in self.pending.drain(..) {
            while end < self.script.len() {
                let rest = &self.script[end..];
                let line = rest.split('\n').next().unwrap_or(rest);
                end = (end + line.len() + 1).min(self.script.len());
                let line = if tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                if line == delimiter {
                    break;
                }
            }
        }
        self.frames.push(Frame::HereDocument(end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contexts of all `@` of a script.
    #[track_caller]
    fn check(script: &str, expected: &[Context]) {
        let places: Vec<(usize, usize)> = script
            .match_indices('@')
            .map(|(at, _)| (at, at + 1))
            .collect();
        assert_eq!(contexts(script, &places), expected, "{script}");
    }

    use Context::{
        Arithmetic, Backquotes, Backslash, Comment, Expansion, HereDocument, Quotes, Words,
    };

    #[test]
    fn quotes() {
        check("cp @ @", &[Words, Words]);
        check("echo '@' \"@\" @", &[Quotes, Quotes, Words]);
        check("echo \\@ \\\\@ @", &[Backslash, Words, Words]);
        check("echo \"a\\\"@\" @", &[Quotes, Words]);
        check("echo 'a\\' @", &[Words]);
        check("echo a'b'@\"c\"@", &[Words, Words]);
        check(
            "awk '{ print \"x\" $1 }' @ | tr '\\n' ' ' > @",
            &[Words, Words],
        );
        check("echo 'one\n@\n' @", &[Quotes, Words]);
    }

    #[test]
    fn substitutions() {
        check("echo \"$(cat @)@\" @", &[Words, Quotes, Words]);
        check("echo \"$(cat \"@\" @)\" @", &[Quotes, Words, Words]);
        check("echo \"$( (cd x; ls @) )@\" @", &[Words, Quotes, Words]);
        check(
            "echo `cat @ '@' $(ls @)` @",
            &[Backquotes, Backquotes, Backquotes, Words],
        );
        check("echo \"`cat \"@\"`@\" @", &[Backquotes, Quotes, Words]);
        check("echo ${x:-@} ${x%'}'} @", &[Expansion, Words]);
        check("echo \"${x:-'}@\" @", &[Quotes, Words]);
        check("echo $(( (@ + 1) << 2 )) @", &[Arithmetic, Words]);
        check("echo \"$((@))@\" @", &[Arithmetic, Quotes, Words]);
        check(
            "x=\"$(case $y in a) cat @;; (b) ls @;; esac)@\" @",
            &[Words, Words, Quotes, Words],
        );
        check("x=\"$(echo case)@\" @", &[Quotes, Words]);
        check("case $y in a) cat @;; esac; echo '@'", &[Words, Quotes]);
    }

    #[test]
    fn comments() {
        check("ls # don't @\ncat @ '@'", &[Comment, Words, Quotes]);
        check("echo $# ${#x} a#b '#' @", &[Words]);
        check("# @", &[Comment]);
    }

    #[test]
    fn here_documents() {
        check(
            "cat <<EOF > @\n'@\n EOF\nEOF\ncat @",
            &[Words, HereDocument, Words],
        );
        check(
            "cat <<-'E F'\n\t@\n\tE F\ncat @ '@'",
            &[HereDocument, Words, Quotes],
        );
        check(
            "cat <<A <<\\B\n@\nA\n@\nB\n@",
            &[HereDocument, HereDocument, Words],
        );
        check(
            "x=\"$(cat <<EOF\n@ \"\nEOF\n)@\" @",
            &[HereDocument, Quotes, Words],
        );
        check("cat <<EOF\n@", &[HereDocument]);
        check("cat <<< @", &[Words]);
    }

    #[test]
    fn anything_is_survived() {
        for script in [
            "\\", "$", "${", "$((", "<<", "<<-", "`", "<<\\", "ü\\ü@", ")))@", "esac@",
        ] {
            let places: Vec<_> = script
                .find('@')
                .map(|at| (at, at + 1))
                .into_iter()
                .collect();
            assert_eq!(contexts(script, &places).len(), places.len());
            contexts(script, &[(script.len(), script.len())]);
        }
    }
}
