//! Whether what was printed is what is shown.
//!
//! Law: only what no reader expects to see again may differ: names of runs, dates, spans of time with the blanks
//! beside them, lines of progress, and what the page leaves out by `…`. Everything else is compared as it is.

/// Whether these lines were printed, but for what may differ.
pub(super) fn same(shown: &[&str], printed: &[String]) -> bool {
    let shown: Vec<String> = shown.iter().map(|line| plain(line)).collect();
    let printed: Vec<String> = printed.iter().map(|line| plain(line)).collect();
    all_match(&shown, &printed)
}

fn all_match(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=printed.len()).any(|skipped| all_match(rest, &printed[skipped..]))
        }
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, others)| line_matches(first, line) && all_match(rest, others)),
    }
}

/// Whether a line is the one shown, in which `…` stands for any text.
fn line_matches(shown: &str, printed: &str) -> bool {
    let Some((start, rest)) = shown.split_once('…') else {
        return shown == printed;
    };
    let Some(left) = printed.strip_prefix(start) else {
        return false;
    };
    let mut ends = left.char_indices().map(|(at, _)| at).chain([left.len()]);
    ends.any(|at| line_matches(rest, &left[at..]))
}

/// Whether a line says how far something is, which depends on how fast the machine is.
pub(super) fn is_progress(line: &str) -> bool {
    let line = match line.split_once(": ") {
        Some((phase, rest)) if phase.starts_with("phase ") => rest,
        _ => line,
    };
    let mut words = line.split(' ');
    let [first, of, second] = [(); 3].map(|()| words.next().unwrap_or_default());
    let number = |word: &str| word.starts_with(|sign: char| sign.is_ascii_digit());
    number(first)
        && of == "of"
        && number(second)
        && (line.contains("/s") && (line.contains(" done, ") || line.contains(" evaluated"))
            || line.contains(" evaluated; so far "))
}

/// The line without what may differ.
fn plain(line: &str) -> String {
    let line = line.trim_end();
    let mut out = String::new();
    let mut rest = line;
    let mut changed = false;
    let mut inside = false;
    while let Some(sign) = rest.chars().next() {
        let found = [run, date, span]
            .iter()
            .zip(["RUN", "DATE", "TIME"])
            .find_map(|(read, name)| Some((read(rest)?, name)));
        match found {
            Some((length, name)) if !inside => {
                out.push_str(name);
                rest = &rest[length..];
                changed = true;
                inside = true;
            }
            _ => {
                out.push(sign);
                rest = &rest[sign.len_utf8()..];
                inside = sign.is_alphanumeric() || sign == '.';
            }
        }
    }
    if changed {
        out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    out
}

/// How long the text is that this pattern describes: `0` a digit, `x` a hexadecimal digit, anything else itself.
fn pattern(text: &str, pattern: &str) -> Option<usize> {
    let mut signs = text.bytes();
    let all = pattern.bytes().all(|wanted| {
        let sign = signs.next().unwrap_or_default();
        match wanted {
            b'0' => sign.is_ascii_digit(),
            b'x' => matches!(sign, b'0'..=b'9' | b'a'..=b'f'),
            other => sign == other,
        }
    });
    all.then_some(pattern.len())
}

/// The name of a run.
fn run(text: &str) -> Option<usize> {
    pattern(text, "00000000-000000-xxxx")
}

fn date(text: &str) -> Option<usize> {
    pattern(text, "0000-00-00 00:00:00 UTC")
}

/// A span of time: `12 ms`, `4.7 s`, `2 min 30 s`.
fn span(text: &str) -> Option<usize> {
    let mut length = 0;
    while let Some(one) = amount(&text[length..]) {
        length += one;
        match text[length..].strip_prefix(' ') {
            Some(rest) if amount(rest).is_some() => length += 1,
            _ => break,
        }
    }
    (length > 0).then_some(length)
}

/// A number with a unit of time.
fn amount(text: &str) -> Option<usize> {
    let number = text
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
        .count();
    if !text.starts_with(|sign: char| sign.is_ascii_digit()) {
        return None;
    }
    let unit = text[number..].strip_prefix(' ')?;
    let letters = unit.bytes().take_while(u8::is_ascii_alphabetic).count();
    ["ms", "s", "min", "h"]
        .contains(&&unit[..letters])
        .then_some(number + 1 + letters)
}

#[cfg(test)]
mod tests {
    use super::{is_progress, same};

    #[track_caller]
    fn check(shown: &str, printed: &str, expected: bool) {
        let shown: Vec<&str> = shown.lines().collect();
        let printed: Vec<String> = printed.lines().map(str::to_owned).collect();
        assert_eq!(same(&shown, &printed), expected, "{shown:?} {printed:?}");
    }

    #[test]
    fn runs_dates_and_times_may_differ() {
        let shown = "run 20261115-221433-2fab: 3 tasks, 42 ms";
        check(shown, "run 20270101-000000-beef: 3 tasks, 1 min 02 s", true);
        check(shown, "run 20270101-000000-beef: 4 tasks, 42 ms", false);
        check("took  8 ms  x", "took    18 ms  x", true);
        check(
            "on 2026-11-16 00:48:20 UTC.",
            "on 2027-01-01 10:00:00 UTC.",
            true,
        );
        check("retries 2 s", "retries 3 s", true);
    }

    #[test]
    fn everything_else_may_not() {
        check("total = 24", "total = 25", false);
        check("a  b", "a b", false);
        check("a", "a\nb", false);
        check("a\nb", "a", false);
        check("2 stages", "3 stages", false);
        check("", "a", false);
    }

    #[test]
    fn what_is_left_out_is_any_text() {
        check("a\n…\nd", "a\nb\nc\nd", true);
        check("a\n…\nd", "a\nd", true);
        check("a\n…\nd", "a\nb", false);
        check("…", "", true);
        check("took … of it", "took 3 % of it", true);
        check("took … of it", "took 3 % of", false);
        check("a … b … c", "a 1 b 2 c", true);
        check("a … b … c", "a 1 c 2 b", false);
    }

    #[test]
    fn progress_is_known_by_its_form() {
        assert!(is_progress("12 of 24 tasks done, 5.5/s, 2.2 s left"));
        assert!(is_progress(
            "153 of 640 evaluated, 211 tasks/s, 10 s left; so far mu*: G2 0.4 ± 0.1"
        ));
        assert!(is_progress(
            "phase 1 of 2: 3 of 1,600 evaluated, 211 tasks/s"
        ));
        assert!(!is_progress("3 of the tasks were done, 4 km/s"));
        assert!(!is_progress("run 20270101-000000-beef: 4 tasks"));
    }
}
