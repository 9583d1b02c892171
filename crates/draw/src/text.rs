//! How wide a text is, without asking a font.
//!
//! Law: a text is never said to be narrower than the usual sans-serif fonts draw it, so what was made to fit does fit.

use headwater_graph::text::acts;

/// An upper bound of the width of a text in pixels, at a size of the font.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// The width of a sign in units of the size of the font.
fn advance(sign: char) -> f64 {
    match sign {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '·' => 0.36,
        'f' | 'r' | 't' | 'I' | '(' | ')' | '[' | ']' | '/' | '-' | '"' | '`' | '1' => 0.48,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' | '—' | '→' | '&' => 1.02,
        'A'..='Z' => 0.78,
        '\u{0}'..='\u{24f}' => 0.64,
        '\u{370}'..='\u{52f}' => 0.82,
        '\u{300}'..='\u{36f}' => 0.0,
        _ => 1.3,
    }
}

/// The text, cut so that it is no wider than `most`, with an ellipsis where something is missing.
pub(crate) fn cut(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let room = most - width("…", size);
    let (mut end, mut taken) = (0, 0.0);
    for (at, sign) in text.char_indices() {
        taken += advance(sign) * size;
        if taken > room {
            break;
        }
        end = at + sign.len_utf8();
    }
    format!("{}…", &text[..end])
}

/// The text in lines that are no wider than `most`, broken between words.
pub(crate) fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut(word, size, most)),
        }
    }
    lines
}

/// The text without what XML forbids: control characters become a sign that shows that there was one.
pub(crate) fn plain(text: &str) -> String {
    let shown = |sign: char| match sign {
        '\t' | '\n' | '\r' => ' ',
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        // Some of these turn what follows them around, and would do so beyond the text.
        sign if acts(sign) => '\u{fffd}',
        other => other,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_fits() {
        assert_eq!(cut("short", 12.0, 100.0), "short");
        for text in ["a".repeat(300), "W".repeat(300), "🦀".repeat(300)] {
            let cut = cut(&text, 12.0, 100.0);
            assert!(cut.ends_with('…') && width(&cut, 12.0) <= 100.0, "{cut}");
        }
        assert_eq!(cut("anything", 12.0, 0.0), "…");
    }

    #[test]
    fn lines_are_broken_between_words() {
        let lines = wrapped("one two three fourfourfourfour", 10.0, 50.0);
        assert_eq!(lines[..2], ["one two", "three"]);
        assert!(lines[2].starts_with("fourf") && lines[2].ends_with('…'));
        assert_eq!(wrapped(" ", 10.0, 50.0), [""; 0]);
    }

    #[test]
    fn what_xml_forbids_is_replaced() {
        assert_eq!(
            plain("a\u{0}b\nc\u{1b}[0m\u{202e}"),
            "a\u{fffd}b c\u{fffd}[0m\u{fffd}"
        );
    }
}
