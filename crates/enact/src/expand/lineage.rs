//! Where things come from, and where they stand.
//!
//! Law: an item's ancestry is the set of workflow inputs, with their index paths, that it was made from.

use std::collections::BTreeSet;
use std::sync::Arc;

use headwater_graph::{Index, TaskId};

use super::{Data, Expander, address};

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
        let mut found = BTreeSet::new();
        let Some(data) = self.names.get(data_name) else {
            return Vec::new();
        };
        let start = self.data[*data].find(index);
        let mut pending: Vec<(usize, usize)> =
            start.map(|item| (*data, item)).into_iter().collect();
        let mut seen = BTreeSet::new();
        while let Some((data, item)) = pending.pop() {
            if !seen.insert((data, item)) {
                continue;
            }
            let found_item = &self.data[data].items[item];
            if let (Some(base), Some(parent)) = (self.data[data].of, found_item.parent) {
                pending.push((base, parent as usize));
            } else if let Some(maker) = found_item.maker {
                let inputs = &self.occurrences[maker as usize].inputs;
                pending.extend(
                    inputs
                        .iter()
                        .map(|(data, item)| (*data as usize, *item as usize)),
                );
            } else {
                found.insert((Arc::clone(&self.data[data].name), found_item.path.clone()));
            }
        }
        found.into_iter().collect()
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
