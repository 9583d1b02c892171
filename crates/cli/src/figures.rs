//! Numbers for people: significant digits, columns that stand at the decimal point, bars made of text.
//!
//! Law: what is not known is a dash.

/// The text of a number that is not known.
pub(crate) const UNKNOWN: &str = "-";

/// A number to so many significant digits; with an exponent where it is very small or very large.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let rounded = format!("{value:.*e}", digits.saturating_sub(1));
    let exponent = rounded
        .rsplit_once('e')
        .and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    match (exponent, rounded.parse::<f64>()) {
        (Some(exponent @ -4..=5), Ok(value)) => {
            let decimals = digits as i32 - 1 - exponent;
            format!("{value:.*}", decimals.max(0) as usize)
        }
        _ => rounded,
    }
}

/// The same of a number that may not be known.
pub(crate) fn perhaps(value: Option<f64>, digits: usize) -> String {
    significant(value.unwrap_or(f64::NAN), digits)
}

/// Numbers, padded so that their decimal points stand below each other and all are equally wide.
pub(crate) fn aligned(cells: &[String]) -> Vec<String> {
    let before = |cell: &str| cell.find(['.', 'e']).unwrap_or(cell.len());
    let whole = cells.iter().map(|cell| before(cell)).max().unwrap_or(0);
    let rest = cells.iter().map(|cell| cell.len() - before(cell)).max();
    let rest = rest.unwrap_or(0);
    let pad = |cell: &String| {
        let (left, right) = cell.split_at(before(cell));
        format!("{left:>whole$}{right:rest$}")
    };
    cells.iter().map(pad).collect()
}

/// Values to three significant digits with half the widths of their intervals to two, `0.412 ± 0.050`, aligned. Where
/// the interval of none is known, none is shown.
pub(crate) fn with_intervals(values: &[(Option<f64>, Option<f64>)]) -> Vec<String> {
    let sizes: Vec<String> = values.iter().map(|value| perhaps(value.0, 3)).collect();
    let sizes = aligned(&sizes);
    if values.iter().all(|value| value.1.is_none()) {
        return sizes;
    }
    let widths: Vec<String> = values.iter().map(|value| perhaps(value.1, 2)).collect();
    let rows = values.iter().zip(sizes.into_iter().zip(aligned(&widths)));
    rows.map(|((value, _), (size, width))| match value {
        Some(_) => format!("{size} ± {width}"),
        None => size,
    })
    .collect()
}

/// A bar of at most so many characters. What is not nothing can be seen.
pub(crate) fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if share.is_nan() || share <= 0.0 || width == 0 {
        return String::new();
    }
    let eighths = (share.min(1.0) * (width * 8) as f64).round().max(1.0) as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits() {
        let expected = [
            (0.0, "0"),
            (0.41234, "0.412"),
            (0.05, "0.0500"),
            (0.9996, "1.00"),
            (-0.41234, "-0.412"),
            (12.345, "12.3"),
            (99.96, "100"),
            (1234.0, "1230"),
            (999_999.0, "1.00e6"),
            (123_456.0, "123000"),
            (0.000_123_4, "0.000123"),
            (0.000_012_34, "1.23e-5"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ];
        for (value, text) in expected {
            assert_eq!(significant(value, 3), text, "{value}");
        }
        assert_eq!(significant(0.05, 1), "0.05");
        assert_eq!(significant(0.096, 1), "0.1");
        assert_eq!(perhaps(None, 3), "-");
    }

    #[test]
    fn decimal_points_stand_below_each_other() {
        let cells = ["12.3", "0.412", "-", "-1.23e-5", "120"].map(str::to_owned);
        let expected = [
            " 12.3    ",
            "  0.412  ",
            "  -      ",
            " -1.23e-5",
            "120      ",
        ];
        assert_eq!(aligned(&cells), expected);
        assert_eq!(aligned(&[]), Vec::<String>::new());
    }

    #[test]
    fn values_with_intervals() {
        let values = [(Some(0.412), Some(0.05)), (Some(12.0), None), (None, None)];
        let shown = with_intervals(&values);
        let shown: Vec<&str> = shown.iter().map(|text| text.trim_end()).collect();
        assert_eq!(shown, [" 0.412 ± 0.050", "12.0   ± -", " -"]);
        let bare = with_intervals(&[(Some(0.412), None), (None, None)]);
        assert_eq!(bare, ["0.412", "-    "]);
    }

    #[test]
    fn bars() {
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.28, 4), "█▏");
        assert_eq!(bar(1e-9, 4), "▏");
        assert_eq!(bar(7.0, 2), "██");
        for nothing in [0.0, -0.1, f64::NAN] {
            assert_eq!(bar(nothing, 4), "");
        }
    }
}
