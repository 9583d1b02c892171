//! The parts of `std` that pure crates leave alone.
//!
//! Law: a pure crate cannot reach files, sockets, processes, threads, clocks or the environment, because it never
//! names the modules that lead there; tests inside `src` are held to the same. A span of time is no clock, hence
//! `core::time::Duration` is free.

use super::Problem;
use crate::code::{Token, tokens};
use crate::workspace::{SourceFile, Workspace};

/// The pure crates.
pub(super) const PURE: [&str; 11] = [
    "graph",
    "flow",
    "import",
    "derive",
    "merge",
    "place",
    "enact",
    "sensitivity",
    "minimise",
    "draw",
    "stream",
];

/// The modules of `std` that they must not name.
const REFUSED: [&str; 6] = ["fs", "net", "process", "thread", "time", "env"];

/// The sources of pure crates that name a refused module.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    workspace
        .rust_files()
        .filter(|file| is_pure(file))
        .flat_map(check_file)
        .collect()
}

/// Whether the file is a source of a pure crate.
fn is_pure(file: &SourceFile) -> bool {
    file.in_crate()
        .is_some_and(|(folder, rest)| PURE.contains(&folder) && rest.starts_with("src/"))
}

/// The places in a file that name a refused module, or make it impossible to tell.
fn check_file(file: &SourceFile) -> Vec<Problem> {
    let tokens = tokens(&file.text);
    let mut problems = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.text != "std" {
            continue;
        }
        let after = |distance: usize| tokens.get(index + distance).map(|token| token.text);
        match (after(1), after(2)) {
            (Some("as"), _) => problems.push(hidden(file, *token, "std as …")),
            (Some("::"), Some("{")) => check_group(file, &tokens[index + 3..], &mut problems),
            (Some("::"), Some(_)) => {
                problems.extend(check_name(file, &tokens[index + 2..]));
            }
            _ => {}
        }
    }
    problems
}

/// Checks the first name of each item of a group, given what follows its opening brace.
fn check_group(file: &SourceFile, tokens: &[Token<'_>], problems: &mut Vec<Problem>) {
    let mut depth = 1;
    let mut at_start = true;
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 1 => at_start = true,
            _ if at_start => {
                at_start = false;
                problems.extend(check_name(file, &tokens[index..]));
            }
            _ => {}
        }
        if depth == 0 {
            return;
        }
    }
}

/// Checks what follows `std::`.
fn check_name(file: &SourceFile, tokens: &[Token<'_>]) -> Option<Problem> {
    let name = tokens.first()?;
    let next = tokens.get(1).map(|token| token.text);
    match name.text {
        "*" => Some(hidden(file, *name, "std::*")),
        "self" if next == Some("as") => Some(hidden(file, *name, "std as …")),
        module if REFUSED.contains(&module) => Some(Problem::new(
            &file.path,
            name.line,
            format!("`std::{module}` in a pure crate"),
            match module {
                "time" => {
                    "take the time as an argument; a span of time is `core::time::Duration`"
                        .to_owned()
                }
                _ => "take what it gives as an argument, or move the code to `execute`, `remember` or `headwater`"
                    .to_owned(),
            },
        )),
        _ => None,
    }
}

/// The problem of a `use` behind which a refused module could hide.
fn hidden(file: &SourceFile, token: Token<'_>, form: &str) -> Problem {
    Problem::new(
        &file.path,
        token.line,
        format!("`{form}` in a pure crate hides what is used"),
        "name the modules of `std` one by one",
    )
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::check;

    #[track_caller]
    fn source(text: &str, expected: &[&str]) {
        expect(
            &check(&example::files(&[("crates/graph/src/a.rs", text)])),
            expected,
        );
    }

    #[test]
    fn refused_modules_are_found_in_every_form() {
        let first = &["crates/graph/src/a.rs:1: `std::fs` in a pure crate"];
        source("use std::fs;", first);
        source("use ::std::fs::File;", first);
        source("fn f() { std::fs::read(p); }", first);
        source("use std :: fs;", first);
        source("use {std::fs::File, core::fmt};", first);
        source(
            "#[cfg(test)]\nmod tests { use std::env; }",
            &["crates/graph/src/a.rs:2: `std::env` in a pure crate"],
        );
        source(
            "use std::{\n    collections::{BTreeMap, env},\n    fs,\n    io::{self},\n    time::Duration,\n};",
            &[
                "crates/graph/src/a.rs:3: `std::fs` in a pure crate",
                "crates/graph/src/a.rs:5: `std::time` in a pure crate; take the time as an argument",
            ],
        );
    }

    #[test]
    fn nothing_hides_behind_another_name() {
        source("use std as s;", &["crates/graph/src/a.rs:1: `std as …`"]);
        source("use std::*;", &["crates/graph/src/a.rs:1: `std::*`"]);
        source(
            "use std::{self as s, fmt};",
            &["crates/graph/src/a.rs:1: `std as …`"],
        );
    }

    #[test]
    fn other_uses_are_free() {
        source("use core::time::Duration;", &[]);
        source("use std::{fmt, collections::BTreeMap, io};", &[]);
        source("// std::fs\nconst A: &str = \"std::fs\";", &[]);
        source("let time = 3; let fs = time; std::thread_local!();", &[]);
    }

    #[test]
    fn only_sources_of_pure_crates_are_held_to_it() {
        for path in ["crates/execute/src/a.rs", "crates/graph/tests/a.rs"] {
            expect(&check(&example::files(&[(path, "use std::fs;")])), &[]);
        }
    }
}
