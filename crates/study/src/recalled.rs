//! A round that was recalled by its note instead of run.

use headwater_enact::Requested;
use headwater_engine::{diagram, notes};
use headwater_graph::{Index, TaskId};

use crate::answer::Values;
use crate::names::Names;
use crate::noted::NotedRound;
use crate::open::MadeReference;

/// A round that was recalled.
pub(crate) struct RecalledRound {
    pub(crate) noted: NotedRound,
    pub(crate) names: Names,
    /// By evaluation.
    pub(crate) values: Vec<f64>,
    /// References that show nothing.
    pub(crate) blank: Vec<MadeReference>,
    /// The number of its first set in the phase, and in the study.
    pub(crate) first: usize,
    pub(crate) first_set: usize,
}

impl RecalledRound {
    /// The references that show nothing.
    pub(crate) fn take_blank(&mut self) -> Vec<MadeReference> {
        std::mem::take(&mut self.blank)
    }

    /// Takes in the values.
    pub(crate) fn read_off(&self, values: &mut Values) {
        for (cell, value) in self.noted.cells.iter().zip(&self.values) {
            values[cell.item as usize][self.first + cell.set as usize] = Some(*value);
        }
    }

    /// What counts of it in a diagram.
    pub(crate) fn census(&self) -> &diagram::Census {
        &self.noted.census
    }

    /// Visits what else tasks are called.
    pub(crate) fn for_each_other_address(&self, visit: &mut notes::VisitOther<'_>) {
        self.names.for_each_other_address(&mut |other, task| {
            visit(other, self.names.own(task).unwrap_or_default());
        });
    }

    /// Visits the outputs, of which the study has this for each item, and what makes them.
    pub(crate) fn for_each_output(&self, items: &[&Requested], visit: &mut notes::VisitOutput<'_>) {
        for cell in &self.noted.cells {
            let item = items[cell.item as usize];
            let mut index = vec![(self.first_set + cell.set as usize) as u32];
            index.extend(&item.index.0);
            let name = format!("{}[{}]", item.output, Index(index.into()));
            let address = self.names.own(TaskId(cell.task));
            if !visit(name, address.unwrap_or_default()) {
                return;
            }
        }
    }
}
