//! Text for people: dates, large numbers, and text of others made fit for a terminal or a shell.

use std::borrow::Cow;

use crate::turns_text;

/// A time in seconds since 1970 as a date and time of day, in UTC: `2026-11-16 08:30:00 UTC`.
pub fn date(seconds: i64) -> String {
    let ((year, month, day), (hour, minute, second)) = calendar(seconds);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Year, month and day; hour, minute and second.
pub fn calendar(seconds: i64) -> ((i64, i64, i64), (i64, i64, i64)) {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    (civil(days), (second / 3600, second / 60 % 60, second % 60))
}

/// The date of a day number (0 = 1970-01-01), counted in years that begin in March, so that the leap day
/// comes last.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// A number with its thousands set apart: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Whether a character acts on the text around it where somebody reads it: a control character but for line ends and
/// tabs, or one that turns the order of others round.
pub fn acts(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t')) || turns_text(letter)
}

/// A text whose control characters a terminal only shows: `\u{1b}` for an escape. So are the characters that turn the
/// order of others round. Line ends and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if acts(letter) {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    Cow::Owned(out)
}

/// A text cut to at most so many characters; an ellipsis shows that it was cut.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars()
        .take(most.saturating_sub(1))
        .chain(['…'])
        .collect()
}

/// `text` as one word of a shell script.
pub fn shell_quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// A text as a part of a line: [`from_line`] gives it back.
pub fn on_a_line(text: &str) -> Cow<'_, str> {
    if text.contains(['\\', '\n']) {
        text.replace('\\', "\\\\").replace('\n', "\\n").into()
    } else {
        text.into()
    }
}

/// The text that [`on_a_line`] was given.
pub fn from_line(text: &str) -> String {
    let mut signs = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(sign) = signs.next() {
        plain.extend(match sign {
            '\\' => signs.next().map(|escaped| match escaped {
                'n' => '\n',
                other => other,
            }),
            other => Some(other),
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(1_767_225_599), "2025-12-31 23:59:59 UTC");
        assert_eq!(date(-1), "1969-12-31 23:59:59 UTC");
    }

    #[test]
    fn thousands_are_set_apart() {
        let shown = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn what_acts_on_a_terminal_is_shown_instead() {
        assert_eq!(printable("a\tb\nc é"), "a\tb\nc é");
        assert_eq!(
            printable("\u{1b}[2Jx\r\u{7}\u{9b}31m\n"),
            "\\u{1b}[2Jx\\r\\u{7}\\u{9b}31m\n"
        );
        assert_eq!(printable("a\u{202e}b\u{200d}c"), "a\\u{202e}b\u{200d}c");
    }

    #[test]
    fn a_text_on_a_line_comes_back() {
        for text in ["", "plain", "a\nb", "\\", "\\n", "a\\\n\\\\n\n"] {
            let line = on_a_line(text);
            assert!(!line.contains('\n'), "{text:?}");
            assert_eq!(from_line(&line), text);
        }
    }
}
