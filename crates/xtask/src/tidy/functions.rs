//! How many long functions each crate has.
//!
//! Law: a function can be read without scrolling far. The crates have some that are longer, and the table says how
//! many: a new one is found at once, and one that was made shorter lowers the table for good.

use std::collections::BTreeMap;

use super::Problem;
use crate::code::{Token, tokens};
use crate::workspace::{SourceFile, Workspace};

/// A function of more lines is long, from the line of its name to its closing brace.
const LONG: usize = 100;

/// How many there are today, by crate; none in the others.
const TODAY: &[(&str, usize)] = &[
    ("bench", 2),
    ("cli", 2),
    ("draw", 3),
    ("engine", 1),
    ("execute", 2),
    ("flow", 1),
    ("graph", 1),
    ("imaging", 2),
    ("study", 6),
];

/// This file, for what is wrong with the table.
const TABLE: &str = "crates/xtask/src/tidy/functions.rs";

/// The crates that have more or fewer long functions than the table says.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    check_against(workspace, TODAY)
}

/// The same, with another table.
fn check_against(workspace: &Workspace, table: &[(&str, usize)]) -> Vec<Problem> {
    let mut crates: BTreeMap<&str, Vec<Function<'_>>> =
        table.iter().map(|(name, _)| (*name, Vec::new())).collect();
    for file in workspace.rust_files() {
        if let Some((folder, rest)) = file.in_crate()
            && rest.starts_with("src/")
        {
            let long = functions(file).into_iter().filter(|it| it.lines > LONG);
            crates.entry(folder).or_default().extend(long);
        }
    }
    let mut problems = Vec::new();
    for (folder, mut long) in crates {
        let allowed = table.iter().find(|(name, _)| *name == folder);
        let allowed = allowed.map_or(0, |(_, count)| *count);
        // The longest first: it gains most from being made shorter.
        long.sort_by_key(|function| std::cmp::Reverse(function.lines));
        let said = format!(
            "the crate `{folder}` has {} of more than {LONG} lines, and the table says {allowed}",
            match long.len() {
                1 => "1 function".to_owned(),
                count => format!("{count} functions"),
            }
        );
        match long.first() {
            Some(first) if long.len() > allowed => {
                let names: Vec<String> = long
                    .iter()
                    .map(|function| format!("`{}` ({})", function.name, function.lines))
                    .collect();
                problems.push(Problem::new(
                    &first.file.path,
                    first.line,
                    format!("{said}: {}", names.join(", ")),
                    "give a part of the new one a name and a function of its own",
                ));
            }
            _ if long.len() < allowed => problems.push(Problem::new(
                TABLE,
                1,
                said,
                format!("lower the table to {}", long.len()),
            )),
            _ => {}
        }
    }
    problems
}

/// A function with a body.
struct Function<'a> {
    file: &'a SourceFile,
    name: &'a str,
    /// The line of its name.
    line: usize,
    /// How many lines it has.
    lines: usize,
}

/// The functions of a file, also those inside others.
fn functions(file: &SourceFile) -> Vec<Function<'_>> {
    let tokens = tokens(&file.text);
    let mut found = Vec::new();
    for (index, pair) in tokens.windows(2).enumerate() {
        let [word, name] = pair else { continue };
        // A type such as `fn(u8) -> u8` has no name.
        let is_named = name
            .text
            .starts_with(|sign: char| sign == '_' || sign.is_alphabetic());
        if word.text != "fn" || !is_named {
            continue;
        }
        if let Some(end) = end_of_body(&tokens[index..]) {
            found.push(Function {
                file,
                name: name.text,
                line: word.line,
                lines: end + 1 - word.line,
            });
        }
    }
    found
}

/// The line of the brace that closes the body of a function; `None` where it has none.
fn end_of_body(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    for token in tokens {
        match token.text {
            ";" if depth == 0 => return None,
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if token.text == "}" && depth == 0 {
            return Some(token.line);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::{LONG, check_against};

    /// A function of this many lines.
    fn function(name: &str, lines: usize) -> String {
        format!("fn {name}() {{\n{}}}\n", "    // }\n".repeat(lines - 2))
    }

    #[track_caller]
    fn source(text: &str, allowed: usize, expected: &[&str]) {
        let files = example::files(&[("crates/a/src/b.rs", text)]);
        expect(&check_against(&files, &[("a", allowed)]), expected);
    }

    #[test]
    fn a_new_long_function_is_found_and_named() {
        source(&function("short", LONG), 0, &[]);
        let long = function("long", LONG + 1);
        source(
            &format!("\n{long}"),
            0,
            &[
                "crates/a/src/b.rs:2: the crate `a` has 1 function of more than 100 lines, and the table says 0: `long` (101); give",
            ],
        );
        source(
            &format!("{long}{}", function("longer", LONG + 2)),
            1,
            &[
                "crates/a/src/b.rs:102: the crate `a` has 2 functions of more than 100 lines, and the table says 1: `longer` (102), `long` (101)",
            ],
        );
        source(&long, 1, &[]);
    }

    #[test]
    fn a_function_that_was_made_shorter_lowers_the_table() {
        for (text, left) in [
            (
                "",
                "0 functions of more than 100 lines, and the table says 2; lower the table to 0",
            ),
            (
                &*function("long", LONG + 1),
                "1 function of more than 100 lines, and the table says 2; lower the table to 1",
            ),
        ] {
            source(
                text,
                2,
                &[&format!(
                    "crates/xtask/src/tidy/functions.rs:1: the crate `a` has {left}"
                )],
            );
        }
    }

    #[test]
    fn only_bodies_are_counted() {
        let lines = "\n".repeat(LONG);
        source(&format!("trait T {{ fn f(a: [u8; 3]);{lines} }}"), 0, &[]);
        source(&format!("struct S {{ f: fn(u8) -> u8, {lines} }}"), 0, &[]);
        source(&format!("// fn f() {{ {lines} }}"), 0, &[]);
        source(&format!("fn f() {{ {} }} {lines}", "{ \"}\" }"), 0, &[]);
    }

    #[test]
    fn a_crate_that_the_table_does_not_name_may_have_none() {
        let files = [("crates/b/src/c.rs", &*function("long", LONG + 1))];
        expect(
            &check_against(&example::files(&files), &[]),
            &["crates/b/src/c.rs:1: the crate `b` has 1 function"],
        );
    }
}
