//! The pages of the guide do what they show.
//!
//! Law: each page of `docs` is walked in a fresh folder, from top to bottom, as a reader would do it. What the first
//! line of a block says after its language decides what becomes of it:
//!
//! | block | what happens |
//! | --- | --- |
//! | `yaml file=NAME` (or any other language) | it is written to that file; in workflows, studies and data `headwater check` finds no mistake, unless it is marked `wrong` |
//! | `yaml part=NAME` | each of its lines stands in that file |
//! | `yaml`, beginning with `headwater:` or `operations:` | `headwater check` finds no mistake in it |
//! | `sh` | it is run by `sh -e` and has to succeed |
//! | `console` | what follows a `$ ` is run by `sh`; the lines below are what it prints, on both streams |
//! | `console exits=N` | the same, but commands may end with this exit code, and at least one does |
//! | any of these with `not run: REASON` at the end | nothing |
//!
//! In what is shown, `…` stands for any text within a line, and alone on a line for any number of lines. Names of
//! runs, dates and spans of time may differ; so may the width of columns beside them. Lines of progress may come or not.
//!
//! A page may use the folder `examples`, and finds its current folder and exported variables from block to block.
//! `UPDATE_DOCS=1 cargo test -p headwater-cli --test e2e book::` writes into the pages what was printed, where it
//! differs from what is shown; read what came of it before you commit it.

mod compare;
mod page;
mod shell;
mod walk;

use std::fs;
use std::path::{Path, PathBuf};

use crate::place::read;

/// The pages that `crates/flow/tests/guide.rs` reads: their YAML has parts of files, which no command reads.
const READ_BY_FLOW: [&str; 2] = ["workflow-files.md", "study-files.md"];

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Walks a page of `docs`.
fn walk(name: &str) {
    let path = docs().join(name);
    let text = read(&path);
    let findings = walk::walk(&text, READ_BY_FLOW.contains(&name));
    if findings.is_empty() {
        return;
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, walk::updated(&text, &findings)).expect("the page can be written");
    }
    let shown: Vec<String> = findings
        .iter()
        .map(|finding| format!("docs/{name}:{finding}"))
        .collect();
    panic!(
        "{}\nwith UPDATE_DOCS=1 the test writes what was printed into the page",
        shown.join("\n")
    );
}

/// A test for each page, so that they are walked at the same time.
macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        $(#[test]
        fn $test() {
            walk($page);
        })*

        const PAGES: &[&str] = &[$($page),*];
    };
}

pages! {
    introduction: "README.md",
    commands: "commands.md",
    crash_contract: "crash-contract.md",
    failures: "failures.md",
    figures: "figures.md",
    first_study: "first-study.md",
    first_workflow: "first-workflow.md",
    from_joblib: "from-joblib.md",
    from_nextflow: "from-nextflow.md",
    from_salib: "from-salib.md",
    from_snakemake: "from-snakemake.md",
    graphs: "graphs.md",
    group: "group.md",
    install: "install.md",
    iteration: "iteration.md",
    json: "json.md",
    nodes: "nodes.md",
    nuclei: "nuclei.md",
    peers: "peers.md",
    programs: "programs.md",
    questions: "faq.md",
    recipe: "recipe.md",
    reports: "reports.md",
    reuse: "reuse.md",
    rust: "rust.md",
    security: "security.md",
    sequences: "sequences.md",
    shell: "shell.md",
    stores: "stores.md",
    studies: "studies.md",
    study_designs: "study-designs.md",
    study_files: "study-files.md",
    study_paper: "study-paper.md",
    study_plans: "study-plans.md",
    study_runs: "study-runs.md",
    watching: "watching.md",
    workflow_files: "workflow-files.md",
}

#[test]
fn every_page_is_walked() {
    let entries = fs::read_dir(docs()).expect("the folder of the pages");
    let mut there: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.ends_with(".md") && name != "SUMMARY.md")
        .collect();
    there.sort();
    let mut walked = PAGES.to_vec();
    walked.sort_unstable();
    assert_eq!(walked, there, "the pages of the list above, and of docs");
}
