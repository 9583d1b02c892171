//! Where things come from, and where they stand.
//!
//! Law: an item's ancestry is the set of workflow inputs, with their index paths, that it was made from. Items of one
//! row of a table belong together, so a row gives values to what comes from any of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_graph::{Index, Source, TaskGraph, TaskId, Value};

use super::{Data, Expander, ItemPlace, address};

/// What something was made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ancestry {
    /// The workflow inputs, with their index paths, sorted.
    pub inputs: Vec<(Arc<str>, Index)>,
    /// How many items are missing from the lists that it was made from: they failed, and a stage went on without them.
    pub missing: usize,
}

impl Expander {
    /// The address of a task: `stage.task[index]`. A task that several instances share has the address of
    /// the first.
    pub fn address(&self, occurrence: usize, task: TaskId) -> Option<String> {
        let made = self.occurrences.get(occurrence)?;
        let position = made.tasks.iter().position(|candidate| *candidate == task)?;
        let definition = self.stages[made.stage].tasks.get(position)?;
        Some(address(
            &self.stages[made.stage].name,
            &definition.name,
            &made.path,
        ))
    }

    /// The definition behind a task of an occurrence: the position of its stage, and its name there.
    pub fn definition(&self, occurrence: usize, task: TaskId) -> Option<(usize, &Arc<str>)> {
        let made = self.occurrences.get(occurrence)?;
        let position = made.tasks.iter().position(|candidate| *candidate == task)?;
        let definition = self.stages[made.stage].tasks.get(position)?;
        Some((made.stage, &definition.name))
    }

    /// The instance behind an occurrence number: (stage, index path).
    pub fn occurrence(&self, number: usize) -> Option<(usize, &Index)> {
        self.occurrences
            .get(number)
            .map(|made| (made.stage, &made.path))
    }

    /// Visits the tasks of all instances, with the numbers of these.
    pub fn for_each_task(&self, visit: &mut dyn FnMut(usize, TaskId)) {
        for (number, made) in self.occurrences.iter().enumerate() {
            let tasks = made.tasks.iter().filter(|task| **task != super::NO_TASK);
            tasks.for_each(|task| visit(number, *task));
        }
    }

    /// The name of a stage.
    pub fn stage_name(&self, stage: usize) -> &Arc<str> {
        &self.stages[stage].name
    }

    /// Where an item comes from: the workflow inputs it was made from, with their index paths, sorted.
    pub fn ancestry(&self, data_name: &str, index: &Index) -> Vec<(Arc<str>, Index)> {
        self.origin(data_name, index).inputs
    }

    /// The same, and how much is missing from it.
    pub fn origin(&self, data_name: &str, index: &Index) -> Ancestry {
        let data = self.names.get(data_name);
        let start = data.and_then(|data| Some((*data, self.data[*data].find(index)?)));
        self.trace(start.into_iter().collect(), Vec::new())
    }

    /// What the tasks of an occurrence are made from.
    pub fn origin_of_occurrence(&self, occurrence: usize) -> Ancestry {
        match self.occurrences.get(occurrence) {
            Some(_) => self.trace(Vec::new(), vec![occurrence]),
            None => Ancestry::default(),
        }
    }

    /// Follows items, and occurrences, back to workflow inputs.
    fn trace(&self, mut pending: Vec<(usize, usize)>, occurrences: Vec<usize>) -> Ancestry {
        let mut found = BTreeSet::new();
        let mut incomplete = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut look = |occurrence: usize, pending: &mut Vec<(usize, usize)>| {
            let made = &self.occurrences[occurrence];
            if !self.incomplete.is_empty() {
                let call = (made.stage, made.path.clone());
                if let Some(missing) = self.incomplete.get(&call) {
                    incomplete.insert(call, *missing);
                }
            }
            let inputs = made.inputs.iter();
            pending.extend(inputs.map(|(data, item)| (*data as usize, *item as usize)));
        };
        for occurrence in occurrences {
            look(occurrence, &mut pending);
        }
        while let Some((data, item)) = pending.pop() {
            if !seen.insert((data, item)) {
                continue;
            }
            let found_item = &self.data[data].items[item];
            if let (Some(base), Some(parent)) = (self.data[data].of, found_item.parent) {
                pending.push((base, parent as usize));
            } else if let Some(maker) = found_item.maker {
                look(maker as usize, &mut pending);
            } else {
                found.insert((Arc::clone(&self.data[data].name), found_item.path.clone()));
            }
        }
        Ancestry {
            inputs: found.into_iter().collect(),
            missing: incomplete.values().sum(),
        }
    }

    /// The values behind `inputs`, and the others of their rows: by input, in the order of the data, then by label;
    /// wherever all that is behind has one and the same value.
    pub fn values<'a>(
        &'a self,
        graph: &'a TaskGraph,
        inputs: &[(Arc<str>, Index)],
    ) -> Vec<(Arc<str>, &'a Value)> {
        let mut positions: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (input, index) in inputs {
            if let Some((_, source)) = self.columns.iter().find(|(name, _)| name == input) {
                let position = index.0.first().copied().unwrap_or(0);
                positions.entry(*source).or_default().insert(position);
            }
        }
        let mut values = Vec::new();
        for (column, (input, source)) in self.columns.iter().enumerate() {
            let Some(positions) = positions.get(source) else {
                continue;
            };
            let group = |position: &u32| self.groups[column].get(*position as usize);
            let first = positions.first();
            if positions
                .iter()
                .any(|other| group(other) != first.and_then(group))
            {
                continue;
            }
            let items = self.names.get(input).map(|data| &self.data[*data].items);
            let item = items
                .zip(first)
                .and_then(|(items, first)| items.get(*first as usize));
            if let Some(ItemPlace::Source(Source::External(place))) = item.map(|item| &item.place) {
                values.push((Arc::clone(input), &graph.external_at(*place).value));
            }
        }
        for label in &self.labels {
            let positions = positions.get(&label.source).into_iter().flatten();
            let mut behind = positions.map(|position| label.values.get(*position as usize));
            let first = behind.next().flatten();
            if let Some(value) = first.filter(|value| **value != Value::Null)
                && behind.all(|other| other == first)
            {
                values.push((Arc::clone(&label.name), value));
            }
        }
        values
    }
}

impl Data {
    /// The item with that path. Asked for every output of a run, so it must not search.
    fn find(&self, path: &Index) -> Option<usize> {
        let by_path = self.by_path.get_or_init(|| {
            let items = self.items.iter().enumerate();
            items
                .map(|(number, item)| (item.path.clone(), number as u32))
                .collect()
        });
        by_path.get(path).map(|item| *item as usize)
    }
}
