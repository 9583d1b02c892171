//! What a run notes for those who ask later: which study it is of, what the things from outside were called, which
//! tasks always run, which failure kept which task from running, and what those tasks compute that have no record of
//! their own.
//!
//! Law: notes are told to people and nothing is decided by them. One that is lost costs a name, never a product.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::sync::Arc;

use headwater_enact::{Enactment, State};
use headwater_graph::{Recipe, Scalar, Source, Store, TaskGraph, TaskId, Value};
use serde::{Deserialize, Serialize};

use crate::details::{Details, details, identity_text};

/// Identities, as records have them, and what they were called.
const EXTERNALS: &str = "externals.tsv";
/// Addresses of tasks that could not run, and of the failed task that each of them needs.
const BLOCKED: &str = "blocked.tsv";
/// Addresses of tasks whose operation is not pure, and that operation. They leave no record.
const IMPURE: &str = "impure.tsv";
/// What tasks compute that were found to be equal to a product, or failed: a line for each.
const RECIPES: &str = "recipes.jsonl";
/// No more than that is noted of them.
const MOST_RECIPES: usize = 64 << 20;
/// Addresses at which a task stands that goes by another one, and that one.
const SHARED: &str = "shared.tsv";
/// Addresses of tasks that were not come to, and their operations.
const LEFT: &str = "left.tsv";
/// Outputs, `name` or `name[index]`, and the tasks that make them.
const OUTPUTS: &str = "makers.tsv";
/// No more than that many outputs are noted.
const MOST_OUTPUTS: usize = 100_000;
/// Recipes of tasks that had to run again, why, and how they had been made.
const RESTORED: &str = "restored.tsv";
/// The name of the study that a run is of.
const STUDY: &str = "study.txt";
/// Longer values are cut.
const LONGEST: usize = 100;

/// Why something that had been made had to be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// The same run had made it, and not kept it.
    NotKept,
    /// It was found damaged, and set aside.
    Damaged,
    /// It was remembered, but its bytes were not there: never kept, or thrown away since.
    Gone,
}

impl Lost {
    const ALL: [Lost; 3] = [Lost::NotKept, Lost::Damaged, Lost::Gone];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Lost::NotKept => "not-kept",
            Lost::Damaged => "damaged",
            Lost::Gone => "gone",
        }
    }
}

/// Something that had to be made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostProduct {
    /// Why.
    pub reason: Lost,
    /// The run that had made it, when (seconds since 1970), and how long that took (nanoseconds).
    pub made: Option<(Arc<str>, i64, u64)>,
}

/// Adds to the notes of a run what had to be made again in it; nothing fails for want of a note.
pub fn add_restored(store: &dyn Store, run: &str, recipe: &Recipe, lost: &LostProduct) {
    let made = match &lost.made {
        Some((run, time, wall)) => format!(" {run} {time} {wall}"),
        None => String::new(),
    };
    let row = format!("{recipe}\t{}{made}\n", lost.reason.name());
    let _ = store.add_to_attachment(run, RESTORED, row.as_bytes());
}

/// Whether a run that has a folder for its notes has noted nothing that it made again.
pub fn made_nothing_again(store: &dyn Store, run: &str) -> bool {
    store.has_attachments(run) && !store.has_attachment(run, RESTORED)
}

/// Why a task of a run had to run again, where that was noted. What went wrong counts more than what is usual.
pub fn restored(store: &dyn Store, run: &str, recipe: &Recipe) -> Option<LostProduct> {
    let hex = recipe.hex();
    let rows = read(store, run, RESTORED);
    let lost = |text: &str| {
        let mut words = text.split(' ');
        let name = words.next()?;
        let reason = Lost::ALL.into_iter().find(|reason| reason.name() == name)?;
        let made = match (words.next(), words.next(), words.next()) {
            (Some(run), Some(time), Some(wall)) => {
                Some((run.into(), time.parse().ok()?, wall.parse().ok()?))
            }
            _ => None,
        };
        Some(LostProduct { reason, made })
    };
    let all: Vec<LostProduct> = rows
        .iter()
        .filter(|(found, _)| *found == hex)
        .filter_map(|(_, text)| lost(text))
        .collect();
    let first = all.iter().find(|lost| lost.reason != Lost::NotKept);
    first.or(all.first()).cloned()
}

/// A line of [`RECIPES`].
#[derive(Serialize, Deserialize)]
struct Line {
    recipe: String,
    operation: String,
    version: String,
    parameters: Vec<(String, Parameter)>,
    inputs: Vec<(String, String)>,
}

/// The value of a parameter.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Parameter {
    Bool(bool),
    Int(i64),
    /// As text, which comes back to the last bit.
    Float(String),
    Text(String),
}

impl Line {
    fn new(recipe: &Recipe, details: Details) -> Line {
        let value = |value: Scalar| match value {
            Scalar::Bool(value) => Parameter::Bool(value),
            Scalar::Int(value) => Parameter::Int(value),
            Scalar::Float(value) => Parameter::Float(value.to_string()),
            Scalar::Text(value) => Parameter::Text(value.to_string()),
        };
        let parameters = details.parameters.into_iter();
        let inputs = details.inputs.into_iter();
        Line {
            recipe: recipe.hex(),
            operation: details.operation.to_string(),
            version: details.version.to_string(),
            parameters: parameters
                .map(|(name, scalar)| (name.to_string(), value(scalar)))
                .collect(),
            inputs: inputs
                .map(|(port, source)| (port.to_string(), source))
                .collect(),
        }
    }

    fn read(self) -> Option<(Recipe, Details)> {
        let value = |value: Parameter| {
            Some(match value {
                Parameter::Bool(value) => Scalar::Bool(value),
                Parameter::Int(value) => Scalar::Int(value),
                Parameter::Float(value) => Scalar::Float(value.parse().ok()?),
                Parameter::Text(value) => Scalar::Text(value.into()),
            })
        };
        let parameters: Option<Vec<_>> = (self.parameters.into_iter())
            .map(|(name, parameter)| Some((name.into(), value(parameter)?)))
            .collect();
        let inputs = self.inputs.into_iter();
        let details = Details {
            operation: self.operation.into(),
            version: self.version.into(),
            parameters: parameters?,
            inputs: inputs.map(|(port, source)| (port.into(), source)).collect(),
        };
        Some((self.recipe.parse().ok()?, details))
    }
}

/// Whoever is shown an address and its task.
pub type Visit<'a> = dyn FnMut(String, TaskId) + 'a;

/// A part of a run: all of it, or a round of a study.
pub struct WholeRound<'a> {
    /// Its tasks.
    pub enactment: &'a Enactment,
    /// What a task is called.
    pub address: &'a dyn Fn(TaskId) -> String,
    /// Visits what else tasks are called.
    pub others: &'a dyn Fn(&mut Visit<'_>),
}

/// Whoever is shown an output and the address of the task that makes it; says whether more are to be shown.
pub type VisitOutput<'a> = dyn FnMut(String, String) -> bool + 'a;

/// Whoever is shown an address, and the one that its task goes by.
pub type VisitOther<'a> = dyn FnMut(String, String) + 'a;

/// A part of a run in which nothing had to be done, and whose tasks are not at hand: what else tasks are called, and
/// what makes the outputs.
pub struct Recalled<'a> {
    /// A graph that has everything from outside.
    pub given: &'a TaskGraph,
    /// Visits what else tasks are called, and what they are called.
    pub others: &'a dyn Fn(&mut VisitOther<'_>),
    /// Visits outputs, `name[index]`, and the tasks that make them.
    pub outputs: &'a dyn Fn(&mut VisitOutput<'_>),
}

/// A part of a run.
pub enum Part<'a> {
    /// One whose tasks are at hand.
    Whole(WholeRound<'a>),
    /// One whose tasks are not.
    Recalled(Recalled<'a>),
}

/// Writes the notes of a run, of its parts in order. What it noted before is replaced.
pub fn write(store: &dyn Store, run: &str, parts: &[Part<'_>], current: &Path) -> io::Result<()> {
    let mut externals = BTreeMap::new();
    let (mut impure, mut blocked) = (Vec::new(), Vec::new());
    let (mut shared, mut left) = (BTreeMap::new(), Vec::new());
    let mut outputs = Vec::new();
    let mut recipes = String::new();
    for part in parts {
        let WholeRound {
            enactment,
            address,
            others,
        } = match part {
            Part::Whole(round) => round,
            Part::Recalled(part) => {
                (part.others)(&mut |other, address| drop(shared.insert(other, address)));
                (part.outputs)(&mut |name, address| {
                    let is_noted = outputs.len() < MOST_OUTPUTS;
                    outputs.extend(is_noted.then_some((name, address)));
                    is_noted
                });
                for task in part.given.ids() {
                    for (_, source) in part.given.inputs(task) {
                        collect(part.given, source, store, current, &mut externals);
                    }
                }
                continue;
            }
        };
        others(&mut |other, task| {
            shared.insert(other, address(task));
        });
        let graph = enactment.graph();
        for task in graph.ids() {
            for (_, source) in graph.inputs(task) {
                collect(graph, source, store, current, &mut externals);
            }
            let signature = &graph.operation_at(task).signature;
            if !signature.pure {
                impure.push((address(task), signature.name.to_string()));
            }
            if !signature.implicit && !enactment.coordinator().state(task).is_settled() {
                left.push((address(task), signature.name.to_string()));
            }
            if lacks_record(enactment, task) && recipes.len() < MOST_RECIPES {
                let line = Line::new(&graph.recipe(task), details(graph, task));
                recipes.push_str(&serde_json::to_string(&line)?);
                recipes.push('\n');
            }
        }
        // What a study looks at besides has a name that begins with a blank, and nobody asks for it.
        let asked = enactment.requested().iter();
        for requested in asked.filter(|requested| !requested.output.starts_with(' ')) {
            if outputs.len() < MOST_OUTPUTS
                && let Some(task) = maker(graph, &requested.source)
            {
                let name = if requested.index.0.is_empty() {
                    requested.output.to_string()
                } else {
                    format!("{}[{}]", requested.output, requested.index)
                };
                outputs.push((name, address(task)));
            }
        }
        let pairs = enactment.blocked().iter();
        blocked.extend(pairs.map(|(task, cause)| (address(*task), address(*cause))));
    }
    for (name, rows) in [
        (EXTERNALS, table(externals)),
        (IMPURE, table(impure)),
        (BLOCKED, table(blocked)),
        (RECIPES, recipes),
        (SHARED, table(shared)),
        (LEFT, table(left)),
        (OUTPUTS, table(outputs)),
    ] {
        if rows.is_empty() {
            // What was noted when the run began may hold no longer.
            let _ = store.remove_attachment(run, name);
        } else {
            store.attach(run, name, rows.as_bytes())?;
        }
    }
    Ok(())
}

/// The one task that makes something; what the engine does in between is looked through.
fn maker(graph: &TaskGraph, source: &Source) -> Option<TaskId> {
    let mut source = source;
    loop {
        let Source::Product { task, .. } = source else {
            return None;
        };
        if !graph.operation_at(*task).signature.implicit {
            return Some(*task);
        }
        let [(_, only)] = graph.inputs(*task) else {
            return None;
        };
        source = only;
    }
}

/// The outputs of a run, `name` or `name[index]`, and the tasks that make them.
pub fn makers(store: &dyn Store, run: &str) -> Vec<(String, String)> {
    read(store, run, OUTPUTS)
}

/// Whether a task is remembered under the name of another, or not at all because it failed.
fn lacks_record(enactment: &Enactment, task: TaskId) -> bool {
    let signature = &enactment.graph().operation_at(task).signature;
    let coordinator = enactment.coordinator();
    signature.pure
        && !signature.implicit
        && match coordinator.state(task) {
            State::Known => coordinator.is_cut_off(task) || coordinator.is_found(task),
            State::Failed => true,
            _ => false,
        }
}

/// What those tasks of a run compute that have no record of their own.
pub fn recipes(store: &dyn Store, run: &str) -> HashMap<Recipe, Details> {
    let text = store.attachment(run, RECIPES).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .filter_map(|line| serde_json::from_str::<Line>(line).ok()?.read())
        .collect()
}

/// Notes the study that a run is of, as it begins.
pub fn write_study(store: &dyn Store, run: &str, study: &str) -> io::Result<()> {
    store.attach(run, STUDY, study.as_bytes())
}

/// The name of the study that a run is of, if it is of one and that was noted.
pub fn study_of_run(store: &dyn Store, run: &str) -> Option<String> {
    let name = store.attachment(run, STUDY).ok()?;
    String::from_utf8(name).ok().filter(|name| !name.is_empty())
}

/// What the things from outside were called in a run, by identity; nothing where that was not noted.
pub fn externals(store: &dyn Store, run: &str) -> HashMap<String, String> {
    read(store, run, EXTERNALS).into_iter().collect()
}

/// The failed task that kept a task of a run from running.
pub fn blocked_by(store: &dyn Store, run: &str, address: &str) -> Option<String> {
    noted(store, run, BLOCKED, address)
}

/// The operation of a task of a run, if that is not pure.
pub fn impure(store: &dyn Store, run: &str, address: &str) -> Option<String> {
    noted(store, run, IMPURE, address)
}

/// The address by which a task goes that stands at this one, too.
pub fn shared(store: &dyn Store, run: &str, address: &str) -> Option<String> {
    noted(store, run, SHARED, address)
}

/// The operation of a task that a run did not come to.
pub fn left(store: &dyn Store, run: &str, address: &str) -> Option<String> {
    noted(store, run, LEFT, address)
}

fn noted(store: &dyn Store, run: &str, table: &str, address: &str) -> Option<String> {
    let rows = read(store, run, table);
    let mut found = rows.into_iter().filter(|(task, _)| task == address);
    found.next().map(|(_, text)| text)
}

fn collect(
    graph: &TaskGraph,
    source: &Source,
    store: &dyn Store,
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
fn name(value: &Value, store: &dyn Store, current: &Path) -> Option<String> {
    let place = |path: &Path| {
        // What an impure task made lies in the store, under a name that says nothing.
        let shown = path.strip_prefix(current).unwrap_or(path);
        (!store.is_inside(path)).then(|| shown.display().to_string())
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
    let mut table = String::new();
    let mut cell = |text: String, end: char| {
        if text.contains(['\t', '\n', '\r']) {
            table.push_str(&text.replace(['\t', '\n', '\r'], " "));
        } else {
            table.push_str(&text);
        }
        table.push(end);
    };
    for (left, right) in rows {
        cell(left, '\t');
        cell(right, '\n');
    }
    table
}

fn read(store: &dyn Store, run: &str, name: &str) -> Vec<(String, String)> {
    pairs(&store.attachment(run, name).unwrap_or_default())
}

fn pairs(text: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(text);
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
    fn a_line_says_what_a_task_computes_to_the_last_bit() {
        let details = Details {
            operation: "op".into(),
            version: "1".into(),
            parameters: vec![
                ("a".into(), Scalar::Int(-3)),
                ("b".into(), Scalar::Float(0.1 + 0.2)),
                ("c".into(), Scalar::Float(2.0)),
                ("d".into(), Scalar::Text("3\n\t\"é".into())),
                ("e".into(), Scalar::Bool(true)),
                ("f".into(), Scalar::Float(f64::INFINITY)),
            ],
            inputs: vec![("in".into(), "[file:ab, name:x]".to_owned())],
        };
        let recipe = Recipe([7; 32]);
        let text = serde_json::to_string(&Line::new(&recipe, details.clone())).unwrap();
        assert_eq!(text.lines().count(), 1);
        let line: Line = serde_json::from_str(&text).unwrap();
        assert_eq!(line.read(), Some((recipe, details)));
    }

    #[test]
    fn a_table_is_read_as_it_was_written_but_for_signs_that_would_break_it() {
        let pair = |left: &str, right: &str| (left.to_owned(), right.to_owned());
        let rows = vec![
            pair("file:ab", "data/é.png"),
            pair("x", "two\nlines\tand a tab"),
        ];
        assert_eq!(
            pairs(table(rows).as_bytes()),
            [
                pair("file:ab", "data/é.png"),
                pair("x", "two lines and a tab")
            ]
        );
    }
}
