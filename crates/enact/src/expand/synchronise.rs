//! Synchronised stages: lists of everything, or of every group.
//!
//! Law: the lists are in lexicographic index order, whatever order the items came in. Without `tolerate`
//! the lists are known as soon as all items are, before any of them is computed; with it they are formed
//! from what succeeded, when everything has ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::{Index, Source, TaskGraph, TaskId, Tolerance, Value, Wait};

use super::instantiate::Feed;
use super::{Expander, Expansion, ItemPlace, ShapeError};

/// The items of one unit that belong to one call: (path, item).
type Members = Vec<(Index, u32)>;

/// Of the items that are missing, so many are named.
const NAMED: usize = 5;

impl Expander {
    pub(super) fn synchronise(
        &mut self,
        stage: usize,
        graph: &mut TaskGraph,
        expansion: &mut Expansion,
    ) -> Result<(), ShapeError> {
        let tolerate = self.stages[stage].tolerate;
        if tolerate.is_some() {
            self.await_items(stage, expansion);
        }
        let units: Vec<usize> = self.stages[stage]
            .units
            .iter()
            .map(|unit| unit.data)
            .collect();
        let complete = units.iter().all(|data| self.data[*data].complete);
        if !complete || self.stages[stage].awaiting > 0 {
            return Ok(());
        }
        self.stages[stage].fired = true;
        for (path, members) in self.calls(stage, &units) {
            self.call(stage, path, &units, &members, tolerate, graph, expansion)?;
        }
        Ok(())
    }

    /// A tolerant stage waits for the outcome of every item's task.
    fn await_items(&mut self, stage: usize, expansion: &mut Expansion) {
        let run = &mut self.stages[stage];
        for unit in &mut run.units {
            for item in &self.data[unit.data].items[unit.fed..] {
                let ItemPlace::Source(source) = &item.place else {
                    continue;
                };
                source.for_each_task(&mut |task| {
                    if self.outcomes.contains_key(&task) {
                        return;
                    }
                    let waiting = self.awaited.entry(task).or_default();
                    if waiting.last() != Some(&stage) {
                        waiting.push(stage);
                        run.awaiting += 1;
                        expansion.watched.push(task);
                    }
                });
            }
            unit.fed = self.data[unit.data].items.len();
        }
    }

    /// The calls of a stage: one for `wait: all`, one per group for `per`.
    fn calls(&self, stage: usize, units: &[usize]) -> BTreeMap<Index, Vec<Members>> {
        let mut calls: BTreeMap<Index, Vec<Members>> = BTreeMap::new();
        let Wait::Per(per) = &self.stages[stage].wait else {
            let members = units.iter().map(|data| self.members(*data)).collect();
            calls.insert(Index::root(), members);
            return calls;
        };
        let Some(column) = self.columns.iter().position(|(input, _)| input == per) else {
            return calls;
        };
        let groups = self.groups[column].iter().max().map_or(0, |last| last + 1);
        let mut split: Vec<BTreeMap<u32, Members>> = vec![BTreeMap::new(); units.len()];
        for (unit, data) in units.iter().enumerate() {
            let place = self.per_place(*data, column).first().copied();
            for (path, item) in self.members(*data) {
                match place {
                    Some((place, follows)) => {
                        let group = self.group_at(follows, column, path.0[place]);
                        split[unit].entry(group).or_default().push((path, item));
                    }
                    // There once: every group gets it.
                    None => (0..groups).for_each(|group| {
                        split[unit]
                            .entry(group)
                            .or_default()
                            .push((path.clone(), item));
                    }),
                }
            }
        }
        for group in 0..groups {
            let members: Vec<Members> = split
                .iter_mut()
                .map(|unit| unit.remove(&group).unwrap_or_default())
                .collect();
            calls.insert(Index::from([group].as_slice()), members);
        }
        calls
    }

    /// How many items of `data` never came that belong to the call with this path. One whose group nobody
    /// can tell belongs to every group.
    fn holes_of(&self, stage: usize, call: &Index, data: usize) -> usize {
        let holes = &self.data[data].holes;
        let Wait::Per(per) = &self.stages[stage].wait else {
            return holes.len();
        };
        let column = self.columns.iter().position(|(input, _)| input == per);
        let place = column.and_then(|column| self.per_place(data, column).first().copied());
        let (Some(column), Some((place, follows))) = (column, place) else {
            return holes.len();
        };
        let belongs = |hole: &&Option<Index>| {
            let position = hole.as_ref().and_then(|path| path.0.get(place));
            position.is_none_or(|position| {
                let group = self.group_at(follows, column, *position);
                call.0.first() == Some(&group)
            })
        };
        holes.iter().filter(belongs).count()
    }

    fn members(&self, data: usize) -> Members {
        let items = self.data[data].items.iter().enumerate();
        let mut members: Members = items
            .filter(|(_, item)| matches!(item.place, ItemPlace::Source(_)))
            .map(|(number, item)| (item.path.clone(), number as u32))
            .collect();
        members.sort();
        members
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a step of `synchronise`, not an interface"
    )]
    fn call(
        &mut self,
        stage: usize,
        path: Index,
        units: &[usize],
        all: &[Members],
        tolerate: Option<Tolerance>,
        graph: &mut TaskGraph,
        expansion: &mut Expansion,
    ) -> Result<(), ShapeError> {
        let mut sources: Vec<Option<Source>> = Vec::new();
        let mut inputs: Vec<(u32, u32)> = Vec::new();
        let mut most_missing = 0;
        for (unit, (data, members)) in units.iter().zip(all).enumerate() {
            let mut list = Vec::new();
            let mut failed: Vec<&Index> = Vec::new();
            for (path, item) in members {
                let found = &self.data[*data].items[*item as usize];
                let ItemPlace::Source(source) = &found.place else {
                    continue;
                };
                if tolerate.is_some() && self.has_failed(source) {
                    failed.push(path);
                    continue;
                }
                list.push(source.clone());
                inputs.push((*data as u32, *item));
            }
            let holes = self.holes_of(stage, &path, *data);
            let missing = failed.len() + holes;
            let expected = members.len() + holes;
            if missing > 0 {
                if !tolerate.is_some_and(|tolerance| tolerance.allows(missing, expected)) {
                    let error =
                        self.too_many_failed(stage, &path, *data, &failed, missing, expected);
                    expansion.errors.push(error);
                    self.want_members(units, all, expansion);
                    self.add_holes(stage, &[Some(path)]);
                    return Ok(());
                }
                most_missing = most_missing.max(missing);
                let name = self.call_name(stage, &path, graph);
                let items = named_items(&self.data[*data].name, &failed, missing);
                let data = &self.data[*data].name;
                expansion.notes.push(if list.is_empty() { format!(
                        "{name} goes on with an empty list of `{data}`: {missing} of {expected} failed"
                    ) } else { format!(
                        "{name} goes on, but {missing} of {expected} items of `{data}` failed and are left out: {items}"
                    ) });
            }
            sources.push(Some(self.shaped(stage, unit, *data, list)?));
        }
        if most_missing > 0 {
            self.incomplete.insert((stage, path.clone()), most_missing);
        }
        self.make(stage, path, sources, inputs, graph, expansion)
    }

    /// What people call a call of a stage: its index path, and the value that its group shares.
    fn call_name(&self, stage: usize, path: &Index, graph: &TaskGraph) -> String {
        let run = &self.stages[stage];
        let name = super::instantiate::address_of_stage(&run.name, path);
        let value = || {
            let Wait::Per(per) = &run.wait else {
                return None;
            };
            let column = self.columns.iter().position(|(input, _)| input == per)?;
            let group = path.0.first()?;
            let first = self.groups[column].iter().position(|of| of == group)?;
            let item = self.data[*self.names.get(per)?].items.get(first)?;
            let ItemPlace::Source(Source::External(position)) = &item.place else {
                return None;
            };
            let value = match &graph.external_at(*position).value {
                Value::File(file) => file.handle.path()?.file_name()?.to_str()?.to_owned(),
                other => other.as_scalar()?.to_string(),
            };
            Some(format!(" (`{per}` is `{value}`)"))
        };
        format!("`{name}`{}", value().unwrap_or_default())
    }

    /// The items of a call that cannot be made are computed all the same. Otherwise it would depend on when
    /// the failure is seen whether they are.
    fn want_members(&self, units: &[usize], all: &[Members], expansion: &mut Expansion) {
        for (data, members) in units.iter().zip(all) {
            for (_, item) in members {
                if let ItemPlace::Source(source) = &self.data[*data].items[*item as usize].place {
                    source.for_each_task(&mut |task| expansion.wanted.push(task));
                }
            }
        }
    }

    /// A list for ports that take one; the item itself for ports that do not. The items of what a stage waits per
    /// are equal in each group, so one of them is all of them.
    fn shaped(
        &self,
        stage: usize,
        unit: usize,
        data: usize,
        mut list: Vec<Source>,
    ) -> Result<Source, ShapeError> {
        let run = &self.stages[stage];
        for task in &run.tasks {
            for (port, feed) in &task.feeds {
                if !matches!(feed, Feed::Unit { unit: read, gather: false, .. } if *read == unit) {
                    continue;
                }
                let equal =
                    matches!(&run.wait, Wait::Per(per) if self.names.get(per) == Some(&data));
                if list.len() == 1 || (equal && !list.is_empty()) {
                    return Ok(list.remove(0));
                }
                return Err(ShapeError::Several {
                    stage: Arc::clone(&run.name),
                    task: Arc::clone(&task.name),
                    port: Arc::clone(&task.operation.signature.inputs[usize::from(*port)].name),
                    data: Arc::clone(&self.data[data].name),
                    count: list.len(),
                });
            }
        }
        Ok(Source::List(Arc::new(list)))
    }

    fn has_failed(&self, source: &Source) -> bool {
        let mut failed = false;
        source.for_each_task(&mut |task: TaskId| {
            failed |= self.outcomes.get(&task) == Some(&false);
        });
        failed
    }

    fn too_many_failed(
        &self,
        stage: usize,
        path: &Index,
        data: usize,
        failed: &[&Index],
        missing: usize,
        expected: usize,
    ) -> ShapeError {
        let run = &self.stages[stage];
        let name = &self.data[data].name;
        let first_task = run.tasks.first().map_or("", |task| &*task.name);
        ShapeError::TooManyFailed {
            stage: Arc::clone(&run.name),
            address: super::address(&run.name, first_task, path),
            data: Arc::clone(name),
            failed: missing,
            expected,
            allowed: run
                .tolerate
                .map_or("0".to_owned(), |allowed| allowed.to_string())
                .into(),
            items: named_items(name, failed, missing),
        }
    }
}

/// The first of the items of `name` that are missing, and how many more there are.
fn named_items(name: &str, failed: &[&Index], missing: usize) -> String {
    let named = |path: &&Index| {
        if path.0.is_empty() {
            format!("`{name}`")
        } else {
            format!("`{name}[{path}]`")
        }
    };
    let mut items: Vec<String> = failed.iter().take(NAMED).map(named).collect();
    if failed.len() > NAMED {
        items.push(format!("{} more", failed.len() - NAMED));
    }
    if missing > failed.len() {
        // Of a list that was never made nobody knows the items.
        items.push(format!("{} that were never made", missing - failed.len()));
    }
    items.join(", ")
}
