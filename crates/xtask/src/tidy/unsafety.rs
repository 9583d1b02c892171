//! Where the compiler's guarantees are suspended.
//!
//! Law: `unsafe` stands only in the files listed here, each with the reason why no safe way would do; so a new place
//! is a decision that somebody reads, and a file that no longer needs it leaves the list. That each block says why it
//! is sound is checked by clippy.

use super::Problem;
use crate::code::tokens;
use crate::workspace::Workspace;

/// The files that may, and what for.
const ALLOWED: &[(&str, &str)] = &[
    (
        "crates/bench/src/bin/nuclei/clock.rs",
        "the processor time of a thread",
    ),
    (
        "crates/bench/src/bin/overhead.rs",
        "a baseline by `posix_spawn` itself",
    ),
    (
        "crates/bench/src/bin/peers/main.rs",
        "what the engines that are measured leave running is adopted and ended",
    ),
    (
        "crates/bench/src/bin/peers/process.rs",
        "ending a group of processes",
    ),
    ("crates/bench/src/lib.rs", "the processor time of a process"),
    (
        "crates/cli/src/signals.rs",
        "signal handlers: Ctrl-C, and a page of a file that cannot be had",
    ),
    ("crates/cli/tests/e2e/imaging.rs", "sending a signal"),
    ("crates/cli/tests/e2e/interrupt.rs", "sending a signal"),
    ("crates/cli/tests/e2e/study_troubles.rs", "sending a signal"),
    ("crates/cli/tests/e2e/watching.rs", "sending a signal"),
    (
        "crates/execute/src/memory.rs",
        "settings of the allocator that the standard library does not know",
    ),
    (
        "crates/execute/src/processor.rs",
        "the processor time of a thread",
    ),
    (
        "crates/execute/src/spawn/namespace.rs",
        "mount namespaces, made between `fork` and `exec`",
    ),
    (
        "crates/execute/src/spawn/orphans.rs",
        "adopting, waiting for and ending processes that somebody else has started",
    ),
    (
        "crates/execute/src/spawn/protocol.rs",
        "sending open files to another process",
    ),
    (
        "crates/execute/src/spawn/server.rs",
        "the spawner: descriptors that it was started with, polling, signals",
    ),
    (
        "crates/execute/src/spawn/start.rs",
        "groups of processes: waiting with the memory they took, signals",
    ),
    (
        "crates/execute/src/system.rs",
        "sharing blocks of files, and asking who writes to one",
    ),
    (
        "crates/execute/tests/spawn.rs",
        "sending signals and leaking a descriptor on purpose",
    ),
    (
        "crates/execute/tests/spawn/measure.rs",
        "the memory of a process",
    ),
    (
        "crates/execute/tests/spawn/runaways.rs",
        "processes that multiply, and a signal to the helper of another process",
    ),
    (
        "crates/execute/tests/spawn/scene.rs",
        "the group of a process",
    ),
    (
        "crates/headwater/examples/strassen/strassen.rs",
        "the kernel of `matrixmultiply`, which takes pointers",
    ),
    (
        "crates/imaging/src/room.rs",
        "asking the kernel for large pages",
    ),
    (
        "crates/imaging/src/watershed.rs",
        "fetching memory ahead of its use",
    ),
    (
        "crates/imaging/src/wide.rs",
        "wide instructions, after asking the processor",
    ),
    (
        "crates/imaging/tests/working.rs",
        "an allocator that counts",
    ),
    (
        "crates/remember/src/beneath.rs",
        "names in open folders, which the standard library cannot resolve without following links",
    ),
    ("crates/remember/src/disk.rs", "the kind of a file system"),
    (
        "crates/remember/src/leases.rs",
        "locks of parts of a file that belong to the open file, not to the process",
    ),
];

/// The places elsewhere, and the listed files that have none.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in workspace.rust_files() {
        let tokens = tokens(&file.text);
        let mut lines = tokens.iter().filter(|token| token.text == "unsafe");
        let is_allowed = ALLOWED.iter().any(|(path, _)| *path == file.path);
        match (is_allowed, lines.next()) {
            (false, Some(token)) => problems.push(Problem::new(
                &file.path,
                token.line,
                "`unsafe` in a file that has none so far",
                "use a safe way; where there is none, add the file and the reason to `crates/xtask/src/tidy/unsafety.rs`",
            )),
            (true, None) => problems.push(Problem::new(
                &file.path,
                1,
                "it is listed as a file with `unsafe` and has none",
                "take it off the list in `crates/xtask/src/tidy/unsafety.rs`",
            )),
            _ => {}
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::check;

    #[test]
    fn a_new_file_with_unsafe_is_found() {
        let text = "//! Law.\nfn f() {\n    // SAFETY: none.\n    unsafe { g() }\n}";
        let workspace = example::files(&[("crates/flow/src/new.rs", text)]);
        expect(
            &check(&workspace),
            &["crates/flow/src/new.rs:4: `unsafe` in a file that has none so far"],
        );
    }

    #[test]
    fn words_are_free_and_the_list_is_kept_short() {
        let text = "//! An unsafe word.\nconst P: &str = \"'unsafe-inline'\";";
        expect(
            &check(&example::files(&[
                ("crates/headwater/src/page.rs", text),
                ("crates/imaging/src/wide.rs", text),
            ])),
            &["crates/imaging/src/wide.rs:1: it is listed as a file with `unsafe` and has none"],
        );
    }
}
