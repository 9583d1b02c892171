//! Which dependencies nobody uses.
//!
//! Law: what a manifest asks for is named in the code of its crate: a dependency in `src` or in a build script, one of
//! the tests anywhere, examples in documents with them. What is left over when code moves away is found at once.

use super::Problem;
use crate::workspace::{SourceFile, Workspace};

/// Dependencies that no code names, by crate and name, each with its reason.
const UNNAMED: &[(&str, &str, &str)] = &[
    (
        "bench",
        "matrixmultiply",
        "named by an example that is measured",
    ),
    ("bench", "thiserror", "named by an example that is measured"),
    (
        "cli",
        "roxmltree",
        "named by a file of tests that is shared",
    ),
    (
        "draw",
        "roxmltree",
        "named by a file of tests that is shared",
    ),
];

/// The dependencies that nobody uses.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    for manifest in &workspace.files {
        let folder = (manifest.path.strip_prefix("crates/"))
            .and_then(|rest| rest.strip_suffix("/Cargo.toml"))
            .filter(|folder| !folder.contains('/'));
        let Some(folder) = folder else {
            continue;
        };
        for wanted in asked_for(&manifest.text) {
            let is_listed =
                |(of, name, _): &&(&str, &str, &str)| (*of, *name) == (folder, wanted.name);
            if UNNAMED.iter().any(|one| is_listed(&one)) || is_used(workspace, folder, &wanted) {
                continue;
            }
            let what = format!("nothing in the crate `{folder}` names `{}`", wanted.name);
            let fix = match wanted.kind {
                Kind::Tests => "remove it",
                Kind::Code | Kind::Build => {
                    "remove it; if only tests name it, it belongs to `[dev-dependencies]`"
                }
            };
            problems.push(Problem::new(&manifest.path, wanted.line, what, fix));
        }
    }
    problems
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Tests,
    Build,
}

/// A line of a manifest.
#[derive(Debug, PartialEq, Eq)]
struct Wanted<'a> {
    name: &'a str,
    kind: Kind,
    line: usize,
}

/// The dependencies in a manifest, whose tables have one line for each.
fn asked_for(manifest: &str) -> Vec<Wanted<'_>> {
    let mut kind = None;
    let mut found = Vec::new();
    for (line, text) in (1..).zip(manifest.lines()) {
        if let Some(table) = text.trim().strip_prefix('[') {
            let table = table.trim_end_matches(']');
            kind = match table.rsplit('.').next() {
                Some("dependencies") => Some(Kind::Code),
                Some("dev-dependencies") => Some(Kind::Tests),
                Some("build-dependencies") => Some(Kind::Build),
                _ => None,
            };
            continue;
        }
        let name = text.split(['=', '.', ' ']).next().unwrap_or_default();
        if let Some(kind) = kind.filter(|_| !name.is_empty() && !name.starts_with('#')) {
            found.push(Wanted { name, kind, line });
        }
    }
    found
}

fn is_used(workspace: &Workspace, folder: &str, wanted: &Wanted<'_>) -> bool {
    let name = wanted.name.replace('-', "_");
    let may = |file: &&SourceFile| match file.in_crate() {
        Some((of, rest)) if of == folder => match wanted.kind {
            Kind::Code => rest.starts_with("src/"),
            Kind::Build => rest == "build.rs",
            Kind::Tests => true,
        },
        _ => false,
    };
    let with_comments = wanted.kind == Kind::Tests;
    workspace.rust_files().filter(may).any(|file| {
        file.text
            .lines()
            .any(|line| names(line, &name, with_comments))
    })
}

/// Whether a line has this word, outside of a comment unless that counts too.
fn names(line: &str, word: &str, with_comments: bool) -> bool {
    let code = if with_comments {
        line
    } else {
        line.split("//").next().unwrap_or_default()
    };
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(manifest: &str, files: &[(&str, &str)]) -> Workspace {
        let mut all = vec![("crates/one/Cargo.toml", manifest)];
        all.extend(files);
        let file = |(path, text): (&str, &str)| SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        Workspace {
            files: all.into_iter().map(file).collect(),
            ..Workspace::default()
        }
    }

    const MANIFEST: &str = "[package]\nname = \"one\"\n\n[dependencies]\nfull-name.workspace = true\nother = { version = \"1\" }\n\n\
                            [target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n\n[dev-dependencies]\ntempfile = \"3\"\n";

    #[test]
    fn what_is_named_where_it_may_be_is_used() {
        let files = [
            (
                "crates/one/src/lib.rs",
                "use full_name::Thing;\nfn f() { other::g() }\n",
            ),
            (
                "crates/one/src/more.rs",
                "/// let x = tempfile::tempdir();\nfn f() { libc::geteuid() }\n",
            ),
        ];
        assert_eq!(check(&workspace(MANIFEST, &files)), []);
    }

    #[test]
    fn what_is_named_in_comments_or_by_others_or_within_words_is_not_used() {
        let files = [
            (
                "crates/one/src/lib.rs",
                "// full_name\nuse another_full_name;\n",
            ),
            ("crates/one/tests/it.rs", "use other;\n"),
            ("crates/two/src/lib.rs", "use libc;\n"),
        ];
        let found = check(&workspace(MANIFEST, &files));
        let lines: Vec<usize> = found.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [5, 6, 9, 12]);
        let first = found[0].to_string();
        assert!(first.contains("names `full-name`"), "{first}");
    }
}
