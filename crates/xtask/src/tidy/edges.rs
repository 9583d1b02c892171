//! Which crate may use which.
//!
//! Law: the table below is the architecture. What a crate ships with (dependencies and build dependencies) keeps to
//! its row. The tests of a pure crate may use neighbours besides, but nothing that is built on the crate itself,
//! so that a pure crate can always be understood and tested without the engine around it.

use super::Problem;
use super::purity::PURE;
use crate::workspace::{Dependency, Package, Workspace};

/// What a crate may use.
#[derive(Clone, Copy)]
enum Uses {
    /// These crates and no others of the workspace.
    Only(&'static [&'static str]),
    /// Any crate.
    Anything,
}

use Uses::{Anything, Only};

/// The crates and what they may use; a crate has its row before it exists.
const TABLE: &[(&str, Uses)] = &[
    // Pure.
    ("graph", Only(&[])),
    ("flow", Only(&["graph", "sensitivity"])),
    ("import", Only(&["graph", "flow"])),
    ("derive", Only(&["graph"])),
    ("merge", Only(&[])),
    ("place", Only(&["graph"])),
    ("enact", Only(&["graph", "place"])),
    ("sensitivity", Only(&[])),
    ("minimise", Only(&[])),
    ("draw", Only(&["graph", "derive"])),
    ("stream", Only(&["graph"])),
    // Hands.
    ("execute", Only(&["graph", "enact", "stream"])),
    ("remember", Only(&["graph"])),
    ("group", Only(&["graph", "remember"])),
    (
        "node",
        Only(&["graph", "enact", "execute", "remember", "stream"]),
    ),
    // Verbs.
    ("report", Only(&["graph", "draw", "sensitivity"])),
    (
        "engine",
        Only(&[
            "graph", "flow", "derive", "merge", "place", "enact", "draw", "stream", "execute",
            "remember", "group", "node",
        ]),
    ),
    (
        "study",
        Only(&[
            "graph",
            "flow",
            "merge",
            "place",
            "enact",
            "sensitivity",
            "draw",
            "execute",
            "remember",
            "node",
            "engine",
            "report",
        ]),
    ),
    (
        "sequence",
        Only(&[
            "graph", "flow", "derive", "minimise", "enact", "draw", "execute", "remember", "node",
            "engine", "report",
        ]),
    ),
    (
        "headwater",
        Only(&[
            "graph",
            "flow",
            "derive",
            "merge",
            "place",
            "enact",
            "sensitivity",
            "minimise",
            "draw",
            "stream",
            "execute",
            "remember",
            "group",
            "engine",
            "report",
            "study",
            "sequence",
        ]),
    ),
    // Edges.
    ("reuse-macros", Only(&["minimise"])),
    ("capi", Only(&["headwater"])),
    ("cli", Only(&["headwater", "imaging"])),
    ("web", Only(&["headwater", "imaging"])),
    ("python", Only(&["headwater", "imaging"])),
    // The garden.
    ("imaging", Only(&["graph", "stream"])),
    ("bench", Anything),
    ("xtask", Only(&[])),
];

/// Where the table stands, for the messages.
const TABLE_FILE: &str = "crates/xtask/src/tidy/edges.rs";

/// The crates that keep to their row, or not.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in &workspace.packages {
        let manifest = format!("crates/{}/Cargo.toml", package.folder);
        let Some(uses) = row(&package.folder) else {
            problems.push(Problem::new(
                &manifest,
                1,
                format!("the crate `{}` has no row in the table", package.folder),
                format!("decide what it may use and add the row in `{TABLE_FILE}`"),
            ));
            continue;
        };
        for dependency in &package.dependencies {
            if let Some((what, fix)) = refused(package, uses, dependency) {
                let line = line_of(workspace, &manifest, &dependency.package);
                problems.push(Problem::new(&manifest, line, what, fix));
            }
        }
    }
    problems
}

/// What is wrong with a dependency and what to do, if anything.
fn refused(package: &Package, uses: Uses, dependency: &Dependency) -> Option<(String, String)> {
    let (user, used) = (package.folder.as_str(), dependency.folder.as_str());
    let Only(allowed) = uses else {
        return None;
    };
    if !dependency.is_dev {
        if allowed.contains(&used) {
            return None;
        }
        let list = if allowed.is_empty() {
            "no crate of the workspace".to_owned()
        } else {
            format!("only `{}`", allowed.join("`, `"))
        };
        return Some((
            format!("`{user}` must not use `{used}`"),
            format!("it may use {list}: move the code, or pass what it needs as an argument"),
        ));
    }
    if PURE.contains(&user) && stands_on(used, user) {
        return Some((
            format!("the tests of `{user}` must not use `{used}`, which is built on it"),
            format!("move the test to `{used}` or above"),
        ));
    }
    None
}

/// The row of a crate.
fn row(folder: &str) -> Option<Uses> {
    TABLE
        .iter()
        .find(|(name, _)| *name == folder)
        .map(|(_, uses)| *uses)
}

/// Whether the table lets the upper crate use the lower one, directly or through others.
fn stands_on(upper: &str, lower: &str) -> bool {
    match row(upper) {
        Some(Anything) => true,
        Some(Only(uses)) => uses
            .iter()
            .any(|used| *used == lower || stands_on(used, lower)),
        None => false,
    }
}

/// The line of the manifest that asks for the package.
fn line_of(workspace: &Workspace, manifest: &str, package: &str) -> usize {
    let asks = |line: &str| {
        line.trim_start()
            .strip_prefix(package)
            .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    };
    workspace
        .file(manifest)
        .and_then(|file| file.text.lines().position(asks))
        .map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::check;
    use crate::workspace::{Dependency, Package};

    /// Checks one package with one dependency.
    #[track_caller]
    fn edge(user: &str, used: &str, is_dev: bool, expected: &[&str]) {
        let manifest = "[package]\n\n[dependencies]\n\nheadwater-other.workspace = true\n";
        let path = format!("crates/{user}/Cargo.toml");
        let mut workspace = example::files(&[(&path, manifest)]);
        workspace.packages.push(Package {
            folder: user.to_owned(),
            dependencies: vec![Dependency {
                folder: used.to_owned(),
                package: "headwater-other".to_owned(),
                is_dev,
            }],
        });
        expect(&check(&workspace), expected);
    }

    #[test]
    fn a_dependency_keeps_to_the_row() {
        edge("enact", "graph", false, &[]);
        edge("headwater", "remember", false, &[]);
        edge("bench", "imaging", false, &[]);
        edge(
            "enact",
            "execute",
            false,
            &[
                "crates/enact/Cargo.toml:5: `enact` must not use `execute`; it may use only `graph`, `place`",
            ],
        );
        edge(
            "headwater",
            "imaging",
            false,
            &["crates/headwater/Cargo.toml:5: `headwater` must not use `imaging`"],
        );
        edge(
            "cli",
            "graph",
            false,
            &["crates/cli/Cargo.toml:5: `cli` must not use `graph`"],
        );
        edge(
            "xtask",
            "graph",
            false,
            &["crates/xtask/Cargo.toml:5: `xtask` must not use `graph`; it may use no crate"],
        );
    }

    #[test]
    fn tests_of_pure_crates_do_not_look_upwards() {
        edge("merge", "derive", true, &[]);
        edge("remember", "headwater", true, &[]);
        edge("bench", "cli", true, &[]);
        edge(
            "graph",
            "headwater",
            true,
            &[
                "crates/graph/Cargo.toml:5: the tests of `graph` must not use `headwater`, which is built on it",
            ],
        );
        edge(
            "sensitivity",
            "bench",
            true,
            &["crates/sensitivity/Cargo.toml:5: the tests of `sensitivity` must not use `bench`"],
        );
    }

    #[test]
    fn a_new_crate_needs_a_row() {
        edge(
            "surprise",
            "graph",
            false,
            &["crates/surprise/Cargo.toml:1: the crate `surprise` has no row in the table"],
        );
    }
}
