//! Single values: from their text by the core rules of YAML 1.2, and back.
//!
//! Law: `read(write(x))` is `x`. `yes`, `no` and `on` are texts, `0x1f` and `.inf` are neither: a reader of
//! the file would have to know YAML to know what they are, so they are refused with a way out.

use std::fmt::Write;

use headwater_graph::{Scalar, turns_text};

use crate::excerpt::shorten;

/// What a plain text means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Plain {
    /// Nothing, `~` or `null`.
    Null,
    /// Something that has a value.
    Value(Scalar),
    /// Something that YAML reads as a number and people may not: what to say and what to do.
    Refused(String, String),
}

/// The meaning of a text without quotes.
pub(crate) fn plain(text: &str) -> Plain {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Plain::Null,
        "true" | "True" | "TRUE" => return Plain::Value(Scalar::Bool(true)),
        "false" | "False" | "FALSE" => return Plain::Value(Scalar::Bool(false)),
        _ => {}
    }
    let quote = || format!("or put it in quotes if it is a text: \"{}\"", shorten(text));
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        let message = format!("`{text}` is not a number that can be used");
        return Plain::Refused(message, format!("give a finite number, {}", quote()));
    }
    if let Some((radix, digits)) = based(text) {
        let message = format!("`{}` is a number in base {radix}", shorten(text));
        let hint = match i64::from_str_radix(digits, radix) {
            Ok(number) => format!("write `{number}`, {}", quote()),
            Err(_) => quote(),
        };
        return Plain::Refused(message, hint);
    }
    if is_whole(unsigned) {
        return match text.parse() {
            Ok(number) => Plain::Value(Scalar::Int(number)),
            Err(_) => Plain::Refused(
                format!("`{}` is too large for a whole number", shorten(text)),
                format!("write it as a float (`1e30`), {}", quote()),
            ),
        };
    }
    if is_float(unsigned) {
        return match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Plain::Value(Scalar::Float(number)),
            _ => Plain::Refused(
                format!("`{}` is too large for a number", shorten(text)),
                format!("give a finite number, {}", quote()),
            ),
        };
    }
    Plain::Value(Scalar::Text(text.into()))
}

/// Whether a plain text is meant as a number, usable or not.
pub(crate) fn is_number(text: &str) -> bool {
    match plain(text) {
        Plain::Value(value) => matches!(value, Scalar::Int(_) | Scalar::Float(_)),
        Plain::Refused(..) => true,
        Plain::Null => false,
    }
}

/// Whether a text means something else when it is written without quotes.
pub(crate) fn is_special(text: &str) -> bool {
    !matches!(plain(text), Plain::Value(Scalar::Text(_)))
}

fn is_whole(unsigned: &str) -> bool {
    !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit())
}

/// `0x1f`, `0o17`.
fn based(text: &str) -> Option<(u32, &str)> {
    let (radix, digits) = match text.split_at_checked(2)? {
        ("0x", digits) => (16, digits),
        ("0o", digits) => (8, digits),
        _ => return None,
    };
    let fits = !digits.is_empty() && digits.chars().all(|sign| sign.is_digit(radix));
    fits.then_some((radix, digits))
}

/// `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(unsigned: &str) -> bool {
    let (number, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let exponent_fits = exponent
        .is_none_or(|exponent| is_whole(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)));
    let number_fits = match number.split_once('.') {
        None => is_whole(number),
        Some(("", fraction)) => is_whole(fraction),
        Some((whole, fraction)) => is_whole(whole) && (fraction.is_empty() || is_whole(fraction)),
    };
    number_fits && exponent_fits
}

/// Writes a value so that it reads back as itself.
pub(crate) fn write(value: &Scalar, out: &mut String) {
    match value {
        Scalar::Text(text) => write_text(text, out),
        other => {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "{other}");
        }
    }
}

/// A number in a message: all digits that tell it apart, and a power of ten instead of many zeros.
pub(crate) fn shown(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-6..1e15).contains(&size) {
        format!("{number}")
    } else {
        format!("{number:e}")
    }
}

/// A computed number as people write it: the nearest one of 15 significant digits.
pub(crate) fn rounded(number: f64) -> f64 {
    format!("{number:.14e}").parse().unwrap_or(number)
}

/// Writes a text plainly where nothing can be mistaken, else in double quotes.
pub(crate) fn write_text(text: &str, out: &mut String) {
    let first = text.chars().next();
    let harmless = first.is_some_and(|sign| sign.is_ascii_alphabetic() || "_./".contains(sign))
        && text
            .chars()
            .all(|sign| sign.is_ascii_alphanumeric() || "_./+-".contains(sign))
        && text.len() <= 200
        && !is_special(text)
        && !text.starts_with("...");
    if harmless {
        out.push_str(text);
        return;
    }
    out.push('"');
    for sign in text.chars() {
        match sign {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            sign if is_printable(sign) => out.push(sign),
            sign => {
                let _ = write!(out, "\\U{:08x}", u32::from(sign));
            }
        }
    }
    out.push('"');
}

/// Whether a character may stand in a quoted text as it is.
fn is_printable(sign: char) -> bool {
    !sign.is_control() && !turns_text(sign) && !matches!(sign, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_messages() {
        let check = |number: f64, expected: &str| {
            assert_eq!(shown(rounded(number)), expected, "{number:?}");
        };
        check(0.0, "0");
        check(0.5 + 3.0 * 0.4, "1.7");
        check(1.0 / 3.0, "0.333333333333333");
        check(-250.0, "-250");
        check(1e300, "1e300");
        check(2.5e-7, "2.5e-7");
        check(999_999_999_999_999.0, "999999999999999");
        assert_eq!(shown(0.1 + 0.2), "0.30000000000000004");
    }

    #[test]
    fn core_rules() {
        let check = |text: &str, expected: Scalar| {
            assert_eq!(plain(text), Plain::Value(expected), "{text}");
        };
        check("true", Scalar::Bool(true));
        check("FALSE", Scalar::Bool(false));
        check("0", Scalar::Int(0));
        check("-12", Scalar::Int(-12));
        check("+7", Scalar::Int(7));
        check("007", Scalar::Int(7));
        check("1.", Scalar::Float(1.0));
        check(".5", Scalar::Float(0.5));
        check("-1.5e-3", Scalar::Float(-0.0015));
        check("1e3", Scalar::Float(1000.0));
        for text in [
            "yes", "no", "on", "off", "tRUE", "1_000", "1e", "e3", ".", "-", "1.2.3", "0b1", "nan",
            "inf",
        ] {
            check(text, Scalar::Text(text.into()));
        }
        for text in ["", "~", "null", "Null"] {
            assert_eq!(plain(text), Plain::Null, "{text}");
        }
    }

    #[test]
    fn refused_numbers() {
        let check = |text: &str, message: &str, hint: &str| {
            let expected = Plain::Refused(message.to_owned(), hint.to_owned());
            assert_eq!(plain(text), expected);
        };
        check(
            "0x1f",
            "`0x1f` is a number in base 16",
            "write `31`, or put it in quotes if it is a text: \"0x1f\"",
        );
        check(
            "0o17",
            "`0o17` is a number in base 8",
            "write `15`, or put it in quotes if it is a text: \"0o17\"",
        );
        check(
            "-.inf",
            "`-.inf` is not a number that can be used",
            "give a finite number, or put it in quotes if it is a text: \"-.inf\"",
        );
        check(
            ".nan",
            "`.nan` is not a number that can be used",
            "give a finite number, or put it in quotes if it is a text: \".nan\"",
        );
        check(
            "9223372036854775808",
            "`9223372036854775808` is too large for a whole number",
            "write it as a float (`1e30`), or put it in quotes if it is a text: \"9223372036854775808\"",
        );
        check(
            "1e999",
            "`1e999` is too large for a number",
            "give a finite number, or put it in quotes if it is a text: \"1e999\"",
        );
    }

    #[test]
    fn texts_are_quoted_where_needed() {
        let check = |text: &str, expected: &str| {
            let mut out = String::new();
            write_text(text, &mut out);
            assert_eq!(out, expected);
        };
        check("tiles/a-1.png", "tiles/a-1.png");
        check("", "\"\"");
        check("5", "\"5\"");
        check("true", "\"true\"");
        check(".5", "\".5\"");
        check("a b", "\"a b\"");
        check("*.png", "\"*.png\"");
        check("a\n\"b\"\\", "\"a\\n\\\"b\\\"\\\\\"");
        check("\u{1b}ü", "\"\\U0000001bü\"");
        check("...", "\"...\"");
    }
}
