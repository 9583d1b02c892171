//! Times, sizes and shares: `1h30m`, `4GiB`, `5%`.
//!
//! Law: a quantity without a unit is in seconds or bytes; a unit that is not known is never guessed.

use core::time::Duration;

use headwater_graph::Tolerance;

/// Reads `10s`, `5m`, `2h`, `1h30m`, `250ms`, `1.5h`, or a number of seconds.
pub fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return positive_seconds(seconds);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    let mut smallest = f64::INFINITY;
    while !rest.is_empty() {
        let digits = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let length = rest
            .find(|sign: char| !sign.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let unit = match &rest[..length] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
        // From large to small, each once: `30m1h` is more likely a slip than a time.
        if unit >= smallest {
            return None;
        }
        smallest = unit;
        seconds += number * unit;
        rest = rest[length..].trim_start();
    }
    positive_seconds(seconds)
}

fn positive_seconds(seconds: f64) -> Option<Duration> {
    // Milliseconds are exact enough, and keep 0.1 + 0.2 out of messages.
    let milliseconds = (seconds * 1000.0).round();
    let fits = (1.0..1e15).contains(&milliseconds);
    fits.then(|| Duration::from_millis(milliseconds as u64))
}

/// Reads `500MB`, `1GiB`, `1.5 GiB`, or a number of bytes.
pub(crate) fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text
        .find(|sign: char| !sign.is_ascii_digit() && sign != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1000,
        "mb" => 1000 * 1000,
        "gb" => 1000 * 1000 * 1000,
        "tb" => 1000 * 1000 * 1000 * 1000,
        "kib" | "k" => 1 << 10,
        "mib" | "m" => 1 << 20,
        "gib" | "g" => 1 << 30,
        "tib" | "t" => 1 << 40,
        _ => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let bytes = (number.parse::<f64>().ok()? * factor as f64).round();
    (0.0..9e18).contains(&bytes).then_some(bytes as u64)
}

/// Reads `3` or `5%`.
pub(crate) fn tolerance(text: &str) -> Option<Tolerance> {
    let text = text.trim();
    match text.strip_suffix('%') {
        Some(percent) => {
            let percent: f64 = percent.trim_end().parse().ok()?;
            (0.0..=100.0)
                .contains(&percent)
                .then_some(Tolerance::Percent(percent))
        }
        None => text.parse().ok().map(Tolerance::Count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(
                duration(text),
                expected.map(Duration::from_millis),
                "{text}"
            );
        };
        check("10s", Some(10_000));
        check("5m", Some(300_000));
        check("2h", Some(7_200_000));
        check("1h30m", Some(5_400_000));
        check("1h 30m 5s", Some(5_405_000));
        check("250ms", Some(250));
        check("1.5h", Some(5_400_000));
        check("90", Some(90_000));
        check("0.5", Some(500));
        check("1d", Some(86_400_000));
        for text in [
            "", "0", "0s", "-5", "5x", "m", "30m1h", "1h1h", "1..5s", "nan", "inf", "1e300",
            "1e300s",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn sizes() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(size(text), expected, "{text}");
        check("0", Some(0));
        check("1024", Some(1024));
        check("500MB", Some(500_000_000));
        check("1GiB", Some(1 << 30));
        check("1.5 GiB", Some(3 << 29));
        check("2g", Some(2 << 30));
        check("16 kb", Some(16_000));
        for text in [
            "",
            "GiB",
            "-1",
            "1XB",
            "1 2",
            "1.2.3MB",
            "99999999999TB",
            "1e300",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn tolerances() {
        let check = |text: &str, expected| assert_eq!(tolerance(text), expected, "{text}");
        check("3", Some(Tolerance::Count(3)));
        check("0", Some(Tolerance::Count(0)));
        check("5%", Some(Tolerance::Percent(5.0)));
        check("2.5 %", Some(Tolerance::Percent(2.5)));
        for text in ["", "%", "-1", "101%", "1.5", "many", "nan%"] {
            check(text, None);
        }
    }
}
