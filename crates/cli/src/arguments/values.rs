//! Values of flags that are more than a word or a number.
//!
//! Law: what cannot be read is refused with an example that can.

use std::time::Duration;

/// `4GiB`, `500MB`, `1024`.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "kB" | "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        other => {
            return Err(format!(
                "`{other}` is not a unit; use B, KiB, MiB, GiB, TiB, kB, MB, GB or TB"
            ));
        }
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "expected a number and a unit, such as 4GiB".to_owned())?;
    Ok((number * factor as f64) as u64)
}

/// `30s`, `10m`, `1h30m`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    if ["0", "0s"].contains(&text) {
        return Ok(Duration::ZERO);
    }
    headwater::text::read_duration(text)
        .ok_or_else(|| "expected a time such as 30s, 10m or 1h30m".to_owned())
}

pub(super) fn resource(text: &str) -> Result<(String, u64), String> {
    let (name, number) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| "expected NAME=N, such as gpu=2".to_owned())?;
    let number = number
        .parse()
        .map_err(|_| format!("`{number}` is not a whole number"))?;
    Ok((name.to_owned(), number))
}

/// `2048x1024`, at least 1 × 1.
pub(super) fn extent(text: &str) -> Result<(usize, usize), String> {
    let sides = text.split_once(['x', 'X', '×']);
    let side = |text: &str| text.trim().parse().ok().filter(|&side: &usize| side > 0);
    let (width, height) = sides
        .and_then(|(width, height)| Some((side(width)?, side(height)?)))
        .ok_or("expected a width and a height of at least 1 pixel, such as 2048x1024")?;
    Ok((width, height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("1024"), Ok(1024));
        assert_eq!(size("1.5KiB"), Ok(1536));
        assert_eq!(size("2GB"), Ok(2_000_000_000));
        assert!(size("2 bananas").is_err());
        assert!(size("").is_err());
    }

    #[test]
    fn extents() {
        assert_eq!(extent("2048x1"), Ok((2048, 1)));
        for wrong in ["", "x", "5", "5x", "0x5", "5x0", "-1x5", "5x5x5", "1e3x5"] {
            assert!(extent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn resources() {
        assert_eq!(resource("gpu=2"), Ok(("gpu".to_owned(), 2)));
        for wrong in ["gpu", "gpu=", "gpu=some", "=2"] {
            assert!(resource(wrong).is_err(), "{wrong}");
        }
    }
}
