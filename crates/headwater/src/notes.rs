//! What a run notes for those who ask later: which study it is of, what the things from outside were called, which
//! tasks always run, and which failure kept which task from running.
//!
//! Law: notes are told to people and nothing is decided by them. One that is lost costs a name, never a product.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;

use headwater_enact::Enactment;
use headwater_graph::{Source, TaskGraph, TaskId, Value};
use headwater_remember::Store;

use crate::keep::identity_text;

/// Identities, as records have them, and what they were called.
const EXTERNALS: &str = "externals.tsv";
/// Addresses of tasks that could not run, and of the failed task that each of them needs.
const BLOCKED: &str = "blocked.tsv";
/// Addresses of tasks whose operation is not pure, and that operation. They leave no record.
const IMPURE: &str = "impure.tsv";
/// The name of the study that a run is of.
const STUDY: &str = "study.txt";
/// Longer values are cut.
const LONGEST: usize = 100;

/// Writes the notes of a run: of its parts, each with what tasks are called in it. What it noted before is replaced.
pub(crate) fn write(
    store: &Store,
    run: &str,
    rounds: &[(&Enactment, &dyn Fn(TaskId) -> String)],
    current: &Path,
) -> io::Result<()> {
    let folder = store.run_folder(run);
    fs::create_dir_all(&folder)?;
    let mut externals = BTreeMap::new();
    let (mut impure, mut blocked) = (Vec::new(), Vec::new());
    for (enactment, address) in rounds {
        let graph = enactment.graph();
        for task in graph.ids() {
            for (_, source) in graph.inputs(task) {
                collect(graph, source, store, current, &mut externals);
            }
            let signature = &graph.operation_at(task).signature;
            if !signature.pure {
                impure.push((address(task), signature.name.to_string()));
            }
        }
        let pairs = enactment.blocked().iter();
        blocked.extend(pairs.map(|(task, cause)| (address(*task), address(*cause))));
    }
    for (name, rows) in [
        (EXTERNALS, table(externals)),
        (IMPURE, table(impure)),
        (BLOCKED, table(blocked)),
    ] {
        if !rows.is_empty() {
            fs::write(folder.join(name), rows)?;
        }
    }
    Ok(())
}

/// Notes the study that a run is of, as it begins.
pub(crate) fn write_study(store: &Store, run: &str, study: &str) -> io::Result<()> {
    let folder = store.run_folder(run);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(STUDY), study)
}

/// The name of the study that a run is of, if it is of one and that was noted.
pub fn study_of_run(store: &Store, run: &str) -> Option<String> {
    let name = fs::read_to_string(store.run_folder(run).join(STUDY)).ok()?;
    Some(name).filter(|name| !name.is_empty())
}

/// What the things from outside were called in a run, by identity; nothing where that was not noted.
pub(crate) fn externals(store: &Store, run: &str) -> HashMap<String, String> {
    read(&store.run_folder(run).join(EXTERNALS))
        .into_iter()
        .collect()
}

/// The failed task that kept a task of a run from running.
pub(crate) fn blocked_by(store: &Store, run: &str, address: &str) -> Option<String> {
    noted(store, run, BLOCKED, address)
}

/// The operation of a task of a run, if that is not pure.
pub(crate) fn impure(store: &Store, run: &str, address: &str) -> Option<String> {
    noted(store, run, IMPURE, address)
}

fn noted(store: &Store, run: &str, table: &str, address: &str) -> Option<String> {
    let rows = read(&store.run_folder(run).join(table));
    let mut found = rows.into_iter().filter(|(task, _)| task == address);
    found.next().map(|(_, text)| text)
}

fn collect(
    graph: &TaskGraph,
    source: &Source,
    store: &Store,
    current: &Path,
    externals: &mut BTreeMap<String, String>,
) {
    match source {
        Source::External(position) => {
            let external = graph.external_at(*position);
            if let Some(name) = name(&external.value, store, current) {
                externals.insert(identity_text(&external.identity), name);
            }
        }
        Source::List(items) => items
            .iter()
            .for_each(|item| collect(graph, item, store, current, externals)),
        Source::Record(fields) => fields
            .iter()
            .for_each(|(_, field)| collect(graph, field, store, current, externals)),
        Source::Product { .. } => {}
    }
}

/// What people call a value from outside.
fn name(value: &Value, store: &Store, current: &Path) -> Option<String> {
    let place = |path: &Path| {
        // What an impure task made lies in the store, under a name that says nothing.
        let shown = path.strip_prefix(current).unwrap_or(path);
        (!path.starts_with(store.root())).then(|| shown.display().to_string())
    };
    match value {
        Value::File(file) => file.handle.path().and_then(|path| place(path)),
        Value::Directory(directory) => directory.path.as_deref().and_then(place),
        Value::List(items) => Some(format!("a list of {}", items.len())),
        other => {
            let text = other.as_scalar()?.to_string();
            Some(match text.char_indices().nth(LONGEST) {
                Some((end, _)) => format!("{}…", &text[..end]),
                None => text,
            })
        }
    }
}

fn table(rows: impl IntoIterator<Item = (String, String)>) -> String {
    let cell = |text: String| text.replace(['\t', '\n', '\r'], " ");
    rows.into_iter()
        .map(|(left, right)| format!("{}\t{}\n", cell(left), cell(right)))
        .collect()
}

fn read(path: &Path) -> Vec<(String, String)> {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let pair = |line: &str| {
        let (left, right) = line.split_once('\t')?;
        Some((left.to_owned(), right.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_was_written_but_for_signs_that_would_break_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        let pair = |left: &str, right: &str| (left.to_owned(), right.to_owned());
        let rows = vec![
            pair("file:ab", "data/é.png"),
            pair("x", "two\nlines\tand a tab"),
        ];
        fs::write(&path, table(rows)).unwrap();
        assert_eq!(
            read(&path),
            [
                pair("file:ab", "data/é.png"),
                pair("x", "two lines and a tab")
            ]
        );
        assert_eq!(read(&folder.path().join("absent")), []);
    }
}
