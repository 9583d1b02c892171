//! The rules for names.
//!
//! Law: a name can be part of a file name, of an address such as `segment.watershed[3-1]` and of a
//! placeholder without quoting.

use headwater_graph::Diagnostic;

use crate::excerpt::shorten;
use crate::tree::Node;

/// Longer names make file names that file systems refuse.
const LONGEST: usize = 200;

/// Which rule a name keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// Data, inputs, parameters, ports, operations, counters.
    Common,
    /// Stages and tasks: no `.`, which separates them in addresses.
    Address,
    /// Outputs of the workflow: no `.`, since files are named after them, with an extension.
    Output,
    /// Variables of the environment.
    Variable,
}

impl NameRule {
    /// The rule as a regular expression, for the JSON Schema. Classes such as `\p{L}` are not known to every
    /// validator, so it says which ASCII characters are wrong and lets all others pass.
    pub(crate) fn pattern(self) -> &'static str {
        match self {
            NameRule::Common => r"^[^\x00-/:-@\[-\^`{-\x7f][^\x00-,/:-@\[-\^`{-\x7f]*$",
            NameRule::Address | NameRule::Output => {
                r"^[^\x00-/:-@\[-\^`{-\x7f][^\x00-,./:-@\[-\^`{-\x7f]*$"
            }
            NameRule::Variable => "^[A-Za-z_][A-Za-z0-9_]*$",
        }
    }

    /// What is wrong with a name, and what to do.
    pub(crate) fn mistake(self, name: &str) -> Option<(String, String)> {
        let allowed = |sign: char| match self {
            NameRule::Common => sign.is_alphanumeric() || "_-.".contains(sign),
            NameRule::Address | NameRule::Output => sign.is_alphanumeric() || "_-".contains(sign),
            NameRule::Variable => sign.is_ascii_alphanumeric() || sign == '_',
        };
        let hint = match self {
            NameRule::Common => {
                "names have letters, digits, `_`, `-` and `.`, and begin with a letter, a digit or `_`"
            }
            NameRule::Address => {
                "names of stages and tasks have letters, digits, `_` and `-`, and begin with a letter, a digit or `_`"
            }
            NameRule::Output => {
                "names of outputs have letters, digits, `_` and `-`, and begin with a letter, a digit or `_`; give it another one: `outputs: {NAME: DATA}`"
            }
            NameRule::Variable => {
                "variables have letters, digits and `_`, and do not begin with a digit"
            }
        };
        let short = shorten(name);
        let message = if name.is_empty() {
            "a name cannot be empty".to_owned()
        } else if name.len() > LONGEST {
            format!("the name `{short}` is longer than {LONGEST} bytes")
        } else if let Some(wrong) = name.chars().find(|sign| !allowed(*sign)) {
            let wrong = if wrong == ' ' {
                "a space".to_owned()
            } else {
                format!("`{wrong}`")
            };
            format!("the name `{short}` contains {wrong}")
        } else {
            let first = name.chars().next()?;
            let wrong = match self {
                NameRule::Common | NameRule::Address | NameRule::Output => "-.".contains(first),
                NameRule::Variable => first.is_ascii_digit(),
            };
            if !wrong {
                return None;
            }
            format!("the name `{short}` begins with `{first}`")
        };
        Some((message, hint.to_owned()))
    }

    /// Reads a name.
    pub(crate) fn read(self, node: &Node) -> Result<std::sync::Arc<str>, Diagnostic> {
        let Some(text) = node.text() else {
            let message = format!("expected a name, found {}", node.found());
            return Err(Diagnostic::error(node.span, message));
        };
        match self.mistake(text) {
            None => Ok(std::sync::Arc::clone(text)),
            Some((message, hint)) => Err(Diagnostic::error(node.span, message).with_hint(hint)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules() {
        let check = |rule: NameRule, name: &str, expected: Option<&str>| {
            let found = rule.mistake(name).map(|(message, _)| message);
            assert_eq!(found.as_deref(), expected, "{name}");
        };
        for rule in [NameRule::Common, NameRule::Address] {
            for name in ["a", "tile-2", "_x", "4", "größe"] {
                check(rule, name, None);
            }
            check(rule, "-a", Some("the name `-a` begins with `-`"));
            check(rule, "a/b", Some("the name `a/b` contains `/`"));
            check(rule, "a[0]", Some("the name `a[0]` contains `[`"));
            check(rule, "a b", Some("the name `a b` contains a space"));
            check(rule, "", Some("a name cannot be empty"));
        }
        check(NameRule::Common, "a.b", None);
        check(
            NameRule::Common,
            ".a",
            Some("the name `.a` begins with `.`"),
        );
        check(
            NameRule::Address,
            "a.b",
            Some("the name `a.b` contains `.`"),
        );
        check(NameRule::Output, "a.b", Some("the name `a.b` contains `.`"));
        check(NameRule::Output, "tile-2", None);
        check(NameRule::Variable, "OMP_NUM_THREADS", None);
        check(
            NameRule::Variable,
            "2A",
            Some("the name `2A` begins with `2`"),
        );
        check(
            NameRule::Variable,
            "A=B",
            Some("the name `A=B` contains `=`"),
        );
        let long = "a".repeat(201);
        assert!(NameRule::Common.mistake(&long).is_some());
    }
}
