//! What data descends from: which inputs and which parameters stand behind it.
//!
//! Law: goes back over tasks and over inputs that get an output of the same workflow; each is seen once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_graph::{Binding, DataOrigin, OutputBinding, Workflow};

/// Where data comes from.
pub(crate) struct Ancestry<'a> {
    workflow: &'a Workflow,
    origins: BTreeMap<Arc<str>, DataOrigin>,
    /// Inputs that get an output.
    references: &'a BTreeMap<Arc<str>, OutputBinding>,
}

impl<'a> Ancestry<'a> {
    pub(crate) fn new(
        workflow: &'a Workflow,
        references: &'a BTreeMap<Arc<str>, OutputBinding>,
    ) -> Ancestry<'a> {
        Ancestry {
            workflow,
            origins: workflow.origins(),
            references,
        }
    }

    /// Goes back from a data name; `visit` sees each origin once.
    fn walk(&self, data: &Arc<str>, mut visit: impl FnMut(DataOrigin)) {
        let mut seen = BTreeSet::from([Arc::clone(data)]);
        let mut pending = vec![Arc::clone(data)];
        let mut tasks = BTreeSet::new();
        while let Some(name) = pending.pop() {
            let Some(origin) = self.origins.get(&name).copied() else {
                continue;
            };
            let before: Vec<Arc<str>> = match origin {
                DataOrigin::Input(position) => {
                    visit(origin);
                    let input = &self.workflow.inputs[position];
                    let output = self.references.get(&input.name);
                    output
                        .map(|output| Arc::clone(&output.data))
                        .into_iter()
                        .collect()
                }
                DataOrigin::Task { stage, task } => {
                    if !tasks.insert((stage, task)) {
                        continue;
                    }
                    visit(origin);
                    let definition = &self.workflow.stages[stage].tasks[task];
                    definition.inputs.values().cloned().collect()
                }
            };
            for name in before {
                if seen.insert(Arc::clone(&name)) {
                    pending.push(name);
                }
            }
        }
    }

    pub(crate) fn inputs_behind(&self, data: &Arc<str>) -> BTreeSet<Arc<str>> {
        let mut found = BTreeSet::new();
        self.walk(data, |origin| {
            if let DataOrigin::Input(position) = origin {
                found.insert(Arc::clone(&self.workflow.inputs[position].name));
            }
        });
        found
    }

    pub(crate) fn parameters_behind(&self, data: &Arc<str>) -> BTreeSet<Arc<str>> {
        let mut found = BTreeSet::new();
        self.walk(data, |origin| {
            if let DataOrigin::Task { stage, task } = origin {
                let definition = &self.workflow.stages[stage].tasks[task];
                for binding in definition.parameters.values() {
                    if let Binding::Parameter(name) = binding {
                        found.insert(Arc::clone(name));
                    }
                }
            }
        });
        found
    }
}
