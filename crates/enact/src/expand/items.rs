//! Items of lists: each gets an index path of its own.
//!
//! Law: item k of a list with path p has path p-k. Of a list that a task makes, item k is the output of an
//! implicit task `headwater/item`, so that its recipe follows from the list's; of a list from outside, it is
//! identified like any other thing from outside.

use headwater_graph::{External, Identity, NewTask, Scalar, Source, TaskGraph, Value};

use super::{Expander, Expansion, Item, ItemPlace};
use crate::ShapeError;

impl Expander {
    /// Unfolds the lists that are known; of the others, watches the tasks that make them.
    pub(super) fn feed_views(&mut self, graph: &mut TaskGraph, expansion: &mut Expansion) {
        for number in 0..self.views.len() {
            let view = self.views[number];
            let Some(base) = self.data[view].of else {
                continue;
            };
            if self.data[view].complete {
                continue;
            }
            for item in self.data[view].looked_at..self.data[base].items.len() {
                let parent = item as u32;
                match self.data[base].items[item].place.clone() {
                    ItemPlace::Absent => {
                        // Like an empty list: nothing follows from it.
                    }
                    ItemPlace::Source(Source::Product { task, port }) => {
                        self.data[view].pending += 1;
                        self.lists
                            .entry(task)
                            .or_default()
                            .push((port, view, parent));
                        expansion.watched.push(task);
                        expansion.wanted.push(task);
                        expansion.held.push(task);
                    }
                    ItemPlace::Source(source) => {
                        let length = match &source {
                            Source::External(position) => match &graph.external_at(*position).value
                            {
                                Value::List(items) => items.len(),
                                _ => 0,
                            },
                            Source::List(items) => items.len(),
                            Source::Record(_) | Source::Product { .. } => 0,
                        };
                        self.unfold(graph, view, parent, &source, length);
                    }
                }
            }
            self.data[view].looked_at = self.data[base].items.len();
            self.update_completeness(view);
        }
    }

    /// The items of one list enter its view.
    pub(super) fn unfold(
        &mut self,
        graph: &mut TaskGraph,
        view: usize,
        parent: u32,
        list: &Source,
        length: usize,
    ) {
        let Some(base) = self.data[view].of else {
            return;
        };
        let found = &self.data[base].items[parent as usize];
        let (path, maker) = (found.path.clone(), found.maker);
        let operation = graph.operation(&self.item_operation);
        for position in 0..length {
            let source = match list {
                Source::External(external) => {
                    let value = match &graph.external_at(*external).value {
                        Value::List(items) => items[position].clone(),
                        _ => Value::Null,
                    };
                    graph.external(External {
                        identity: Identity::of(&value),
                        value,
                    })
                }
                Source::List(sources) => sources[position].clone(),
                product => {
                    let parameters = &[Scalar::Int(position as i64)];
                    let inputs = &[(0, product.clone())];
                    let new = NewTask {
                        operation,
                        parameters,
                        inputs,
                        address: "",
                    };
                    match graph.add(&new) {
                        Ok((task, _)) => Source::Product { task, port: 0 },
                        Err(reason) => {
                            let path = path.join(&[position as u32]);
                            self.unfit.push(ShapeError::Task {
                                address: format!("{}[{path}]", self.data[base].name),
                                reason: reason.to_string(),
                            });
                            self.data[view].holes.push(Some(path));
                            continue;
                        }
                    }
                }
            };
            let path = path.join(&[position as u32]);
            let parent = Some(parent);
            self.data[view].push(Item {
                path,
                place: ItemPlace::Source(source),
                maker,
                parent,
            });
        }
    }
}
