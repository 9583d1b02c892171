//! What somebody may have meant by a misspelt name.
//!
//! Law: a suggestion is always one of the names that exist, and it is near; none is better than a wild one.

/// How many comparisons one file may cost; beyond it, names are unknown without a suggestion.
const COMPARISONS: usize = 500_000;

/// Names longer than this are not compared.
const LONGEST: usize = 100;

/// Finds near names, with a bound on the work for one file.
#[derive(Debug)]
pub(crate) struct Suggester {
    left: usize,
}

impl Default for Suggester {
    fn default() -> Suggester {
        Suggester { left: COMPARISONS }
    }
}

impl Suggester {
    /// The name nearest to `wrong`; of equally near ones the first.
    pub(crate) fn nearest<'a>(
        &mut self,
        wrong: &str,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        let length = wrong.chars().count();
        if length == 0 || length > LONGEST {
            return None;
        }
        let mut best: Option<(usize, &str)> = None;
        for name in names {
            self.left = self.left.checked_sub(1)?;
            if let Some(distance) = distance(wrong, length, name)
                && best.is_none_or(|(least, _)| distance < least)
            {
                best = Some((distance, name));
            }
        }
        best.map(|(_, name)| name)
    }

    /// What to do about an unknown name: the near one, or, if they are few, all that there are.
    pub(crate) fn hint<'a>(
        &mut self,
        wrong: &str,
        names: impl IntoIterator<Item = &'a str, IntoIter: Clone>,
    ) -> Option<String> {
        let names = names.into_iter();
        if let Some(name) = self.nearest(wrong, names.clone()) {
            return Some(format!("did you mean `{name}`?"));
        }
        let known: Vec<&str> = names.take(9).collect();
        match known.as_slice() {
            [] => None,
            [only] => Some(format!("there is only `{only}`")),
            few if few.len() <= 8 => Some(format!("there are {}", listed(few))),
            _ => None,
        }
    }
}

/// What to do about an unknown name, where others exist: the near one, or, if they are few, all that there are.
pub fn suggestion<'a>(
    wrong: &str,
    names: impl IntoIterator<Item = &'a str, IntoIter: Clone>,
) -> Option<String> {
    Suggester::default().hint(wrong, names)
}

/// How far two names are apart, if they are near at all.
fn distance(wrong: &str, length: usize, name: &str) -> Option<usize> {
    if wrong == name {
        return None;
    }
    let other = name.chars().count();
    let allowed = (length.max(other) / 3).max(1);
    if other == 0 || other > LONGEST {
        return None;
    }
    let flat = |text: &str| text.to_lowercase().replace(['_', '-', '.'], "");
    // One and several of it: `retry`, `retries`.
    let several = |text: &str| match text.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{text}s"),
    };
    let counted = length.min(other) >= 3 && (several(wrong) == name || several(name) == wrong);
    if counted || flat(wrong) == flat(name) {
        return Some(0);
    }
    if length.abs_diff(other) <= allowed {
        let found = strsim::osa_distance(wrong, name);
        if found <= allowed && found < length.min(other) {
            return Some(found);
        }
    }
    // The operation without its library, and words cut short: `normalize`, `param`, `desc`.
    let last = name.rsplit('/').next().unwrap_or(name);
    let begins =
        length >= 3 && (name.starts_with(wrong) || (other >= 3 && wrong.starts_with(name)));
    ((last != name && last == wrong) || begins).then_some(allowed + 1)
}

/// `a`, `b` and `c`.
pub(crate) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names() {
        let check = |wrong: &str, names: &[&str], expected: Option<&str>| {
            let found = Suggester::default().nearest(wrong, names.iter().copied());
            assert_eq!(found, expected, "{wrong}");
        };
        check("inn", &["op", "in", "out"], Some("in"));
        check("tils", &["tile", "tiles"], Some("tile"));
        check(
            "normalize",
            &["imaging/normalize"],
            Some("imaging/normalize"),
        );
        check("param", &["name", "params"], Some("params"));
        check("keep-name", &["optional", "keep_name"], Some("keep_name"));
        check("retry", &["timeout", "retries"], Some("retries"));
        check("x", &["y"], None);
        check("ab", &["op", "in"], None);
        check("elephant", &["op", "in"], None);
        check("Stages", &["stages"], Some("stages"));
        check("", &["a"], None);
    }

    #[test]
    fn few_names_are_listed() {
        let check = |names: &[&str], expected: Option<&str>| {
            let hint = Suggester::default().hint("elephant", names.iter().copied());
            assert_eq!(hint.as_deref(), expected);
        };
        check(&[], None);
        check(&["a"], Some("there is only `a`"));
        check(&["a", "b", "c"], Some("there are `a`, `b` and `c`"));
        check(&["1", "2", "3", "4", "5", "6", "7", "8", "9"], None);
    }

    #[test]
    fn the_work_is_bounded() {
        let mut suggester = Suggester { left: 3 };
        assert_eq!(suggester.nearest("abc", ["abd", "xyz"]), Some("abd"));
        assert_eq!(suggester.nearest("abc", ["abd", "xyz"]), None);
    }
}
