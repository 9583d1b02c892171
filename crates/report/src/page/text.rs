//! Words and numbers for people.
//!
//! Law: a number has three significant digits, and one that is not known is a dash. Nothing here is escaped: that is done
//! where it is put into a page.

use std::fmt::Write;

pub(crate) use headwater_graph::text::cut;

/// What stands for a number that is not known.
pub(crate) const ABSENT: &str = "—";

/// A number as it is written in decimals: with a true minus, and none before what is rounded to zero.
fn fixed(value: f64, decimals: usize) -> String {
    let written = format!("{value:.decimals$}");
    match written.strip_prefix('-') {
        Some(rest) if rest.chars().all(|digit| digit == '0' || digit == '.') => rest.to_owned(),
        Some(rest) => format!("−{rest}"),
        None => written,
    }
}

/// The power of ten of a number's first digit, after rounding to three digits.
fn magnitude(value: f64) -> i32 {
    let written = format!("{value:.2e}");
    let power = written.split_once('e').map(|(_, power)| power.parse());
    power.and_then(Result::ok).unwrap_or(0)
}

/// A number to three significant digits.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let power = magnitude(value);
    match power {
        -4..=2 => fixed(value, (2 - power).max(0) as usize),
        3..=5 => fixed(value, 0),
        _ => {
            let written = format!("{value:.2e}");
            let mantissa = written.split_once('e').map_or("", |(mantissa, _)| mantissa);
            let mantissa = mantissa.replace('-', "−");
            format!("{mantissa} × 10{}", raised(power))
        }
    }
}

/// A number to three significant digits without zeros at its end, such as an axis has.
pub fn short(value: f64) -> String {
    let written = number(value);
    let (digits, power) = match written.split_once(" × ") {
        Some((digits, power)) => (digits, format!("\u{a0}×\u{a0}{power}")),
        None => (written.as_str(), String::new()),
    };
    let kept = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    format!("{kept}{power}")
}

/// Numbers along an axis, with as many decimals as their distance needs.
pub(crate) fn ticks(values: &[f64]) -> Vec<String> {
    let apart = values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let step = apart.fold(f64::INFINITY, f64::min);
    values.iter().map(|value| at_step(*value, step)).collect()
}

/// A number among others that are so far apart.
pub(crate) fn at_step(value: f64, step: f64) -> String {
    let written = format!("{step:.1e}");
    let parts = written.split_once('e');
    let power = parts.and_then(|(_, power)| power.parse::<i32>().ok());
    let halves = parts.is_some_and(|(mantissa, _)| !mantissa.ends_with('0'));
    match power {
        Some(power) if power >= -6 && value.abs() < 1e6 => {
            let decimals = (i32::from(halves) - power).max(0) as usize;
            let written = fixed(value, decimals);
            let zero = written.chars().all(|digit| digit == '0' || digit == '.');
            if zero { "0".to_owned() } else { written }
        }
        _ if step.is_finite() && value.abs() < step * 1e-6 => "0".to_owned(),
        _ => short(value),
    }
}

/// A number that may be unknown, to three significant digits.
pub(crate) fn known(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), number)
}

/// A number and half the width of its interval.
pub(crate) fn with_interval(value: Option<f64>, half: Option<f64>) -> String {
    match (value, half) {
        (Some(value), Some(half)) => {
            let column = Column::of([Some(value), Some(half)]);
            let (value, half) = (column.show(Some(value)), column.show(Some(half)));
            format!("{value}\u{a0}±\u{a0}{half}")
        }
        (value, _) => known(value),
    }
}

fn raised(power: i32) -> String {
    let digit = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '0' => '⁰',
        other => {
            char::from_u32(u32::from('⁴') + u32::from(other) - u32::from('4')).unwrap_or(other)
        }
    };
    power.to_string().chars().map(digit).collect()
}

/// Numbers that stand under each other, with as many decimals as give the largest three significant digits; very large and
/// very small ones in one power of ten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    decimals: usize,
    /// All are to be multiplied by this power of ten.
    power: Option<i32>,
}

impl Column {
    pub(crate) fn of(values: impl IntoIterator<Item = Option<f64>>) -> Column {
        let sizes = values.into_iter().flatten().map(f64::abs);
        let largest = sizes.filter(|size| size.is_finite()).fold(0.0, f64::max);
        let power = if largest == 0.0 {
            0
        } else {
            magnitude(largest)
        };
        if (-4..=5).contains(&power) {
            Column {
                decimals: (2 - power).max(0) as usize,
                power: None,
            }
        } else {
            Column {
                decimals: 2,
                power: Some(power),
            }
        }
    }

    /// A number of the column, not escaped. One that is not zero and would show as zero is said to be smaller than the last
    /// decimal.
    pub(crate) fn show(self, value: Option<f64>) -> String {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            return ABSENT.to_owned();
        };
        let decimals = self.decimals;
        let (scaled, power) = match self.power {
            // A power of ten as it is read has no error of its own.
            Some(power) => {
                let ten = format!("1e{power}").parse::<f64>().unwrap_or(1.0);
                (value / ten, format!("\u{a0}×\u{a0}10{}", raised(power)))
            }
            None => (value, String::new()),
        };
        let written = fixed(scaled, decimals);
        let shows = written.chars().any(|digit| matches!(digit, '1'..='9'));
        if value == 0.0 && self.power.is_some() {
            "0".to_owned()
        } else if shows || value == 0.0 || decimals == 0 {
            format!("{written}{power}")
        } else {
            let least = format!("0.{:0>decimals$}{power}", 1);
            if value > 0.0 {
                format!("<\u{202f}{least}")
            } else {
                format!(">\u{202f}−{least}")
            }
        }
    }
}

/// A count, its thousands set apart.
pub(crate) fn count(value: usize) -> String {
    let digits = value.to_string();
    if digits.len() <= 4 {
        return digits;
    }
    let mut apart = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            apart.push('\u{202f}');
        }
        apart.push(digit);
    }
    apart
}

/// A count with what is counted.
pub(crate) fn counted(value: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { many })
}

/// A length of time.
pub(crate) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return ABSENT.to_owned();
    }
    if seconds < 1e-6 {
        return "0 s".to_owned();
    }
    if seconds < 1e-3 {
        return format!("{} µs", short(seconds * 1e6));
    }
    if seconds < 0.9995 {
        return format!("{} ms", short(seconds * 1e3));
    }
    if seconds < 99.95 {
        return format!("{} s", number(seconds));
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{hours} h {minutes:02} min")
    } else {
        format!("{minutes} min {rest:02} s")
    }
}

/// A size in bytes.
pub(crate) fn bytes(size: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if size < 1000 {
        return format!("{size} B");
    }
    let mut scaled = size as f64 / 1000.0;
    let mut unit = 0;
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    format!("{} {}", number(scaled), UNITS[unit])
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let mut list = String::new();
    for (position, name) in names.iter().enumerate() {
        let before = match position {
            0 => "",
            last if last + 1 == names.len() => " and ",
            _ => ", ",
        };
        let _ = write!(list, "{before}{}", name.as_ref());
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let written = [
            0.412_34, 12.345, 1234.5, 999.6, 0.000_412, 4.12e-6, -0.5, 0.0, 1.234e9,
        ]
        .map(number);
        let expected = [
            "0.412",
            "12.3",
            "1234",
            "1000",
            "0.000412",
            "4.12 × 10⁻⁶",
            "−0.500",
            "0",
            "1.23 × 10⁹",
        ];
        assert_eq!(written, expected);
        assert_eq!(number(f64::NAN), "—");
        assert_eq!(
            [0.5, 20.0, 0.25, 1e-9].map(short),
            ["0.5", "20", "0.25", "1\u{a0}×\u{a0}10⁻⁹"]
        );
    }

    #[test]
    fn numbers_along_an_axis_differ() {
        assert_eq!(ticks(&[0.0, 0.25, 0.5]), ["0", "0.25", "0.50"]);
        assert_eq!(ticks(&[0.9992, 0.9994]), ["0.9992", "0.9994"]);
        assert_eq!(ticks(&[-20.0, 0.0, 20.0]), ["−20", "0", "20"]);
        assert_eq!(
            ticks(&[1e7, 1.5e7]),
            ["1\u{a0}×\u{a0}10⁷", "1.5\u{a0}×\u{a0}10⁷"]
        );
        assert_eq!(ticks(&[7.0]), ["7"]);
    }

    #[test]
    fn a_column_has_the_decimals_of_its_largest_number() {
        let column = Column::of([Some(0.41), Some(0.000_4), None]);
        assert_eq!(column.show(Some(0.41)), "0.410");
        assert_eq!(column.show(Some(0.000_4)), "<\u{202f}0.001");
        assert_eq!(column.show(Some(0.0)), "0.000");
        assert_eq!(column.show(None), "—");
        assert_eq!(column.show(Some(f64::INFINITY)), "—");
        let large = Column::of([Some(4e6), Some(-2e5), Some(0.0), Some(1.0)]);
        let shown = [4e6, -2e5, 0.0, 1.0].map(|value| large.show(Some(value)));
        let shown = shown.map(|shown| shown.replace(['\u{a0}', '\u{202f}'], " "));
        assert_eq!(shown, ["4.00 × 10⁶", "−0.20 × 10⁶", "0", "< 0.01 × 10⁶"]);
    }

    #[test]
    fn lengths_of_time_are_read_at_a_glance() {
        let written = [0.0, 0.000_25, 0.0421, 7.0, 99.99, 192.4, 7500.0].map(duration);
        let expected = [
            "0 s",
            "250 µs",
            "42.1 ms",
            "7.00 s",
            "1 min 40 s",
            "3 min 12 s",
            "2 h 05 min",
        ];
        assert_eq!(written, expected);
    }

    #[test]
    fn sizes_have_three_digits() {
        let written = [0, 999, 1000, 18_400_000, 999_600_000, 2_500_000_000_000].map(bytes);
        let expected = ["0 B", "999 B", "1.00 kB", "18.4 MB", "1.00 GB", "2.50 TB"];
        assert_eq!(written, expected);
    }

    #[test]
    fn a_text_that_was_cut_shows_it() {
        assert_eq!(cut("MinSizeSegmentation", 8), "MinSize…");
        assert_eq!(cut("MinSize", 8), "MinSize");
    }

    #[test]
    fn counts_have_their_thousands_apart() {
        assert_eq!(
            [7, 6400, 64_000, 1_234_567].map(count),
            ["7", "6400", "64\u{202f}000", "1\u{202f}234\u{202f}567"]
        );
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
    }
}
