//! A sequence as a drawing: its calls, and what makes them depend on each other.
//!
//! Law: what is drawn is what the crate `derive` found; drawing a sequence runs nothing and changes nothing. Before the
//! reduction every pair of calls that share an item stands there, after it those that order or data need. What every
//! sequence notes when it ends costs one pass over its calls, and not more where there are many pairs.

use std::collections::BTreeMap;

use headwater_derive::{
    Argument, CallId, Dependence, ItemId, Kind, Program, Subject, reduce, unreduced,
};
use headwater_draw::{
    Diagram, SequenceCall, SequenceEdge, SequenceItem, grouped_sequence_diagram, sequence_diagram,
};
use headwater_enact::State;
use headwater_engine::diagram::{FEW, FEW_PAIRS};

use crate::engine::Engine;

/// A sequence, to be drawn.
pub(crate) struct Drawing<'a> {
    pub(crate) program: &'a Program,
    pub(crate) engine: &'a Engine,
    /// Whether somebody can still name an item.
    pub(crate) live: &'a dyn Fn(ItemId) -> bool,
}

impl Drawing<'_> {
    /// Each call, with the dependences that are left after the reduction; with the items that the program gave and that
    /// it still has.
    pub(crate) fn reduced(&self) -> Diagram {
        let all: Vec<Dependence> = self.program.tracker().dependences().collect();
        let edges = self.edges(reduce(&all));
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let calls: Vec<SequenceCall> = self.calls().collect();
        sequence_diagram(&self.engine.name, &calls, &edges, &inputs, &outputs)
    }

    /// Each call, with all dependences. Items alone would hide them.
    pub(crate) fn unreduced(&self) -> Diagram {
        self.unreduced_up_to(usize::MAX).unwrap_or_default()
    }

    /// As `unreduced`, where so few pairs of calls depend on each other that they are noted. Looks at no more.
    pub(crate) fn few_unreduced(&self) -> Option<Diagram> {
        self.unreduced_up_to(FEW_PAIRS)
    }

    fn unreduced_up_to(&self, most: usize) -> Option<Diagram> {
        let calls: Vec<&[Argument]> = (0..self.program.calls() as u32)
            .map(|call| self.program.arguments(CallId(call)))
            .collect();
        let mut pairs = 0;
        let mut last = None;
        let all = unreduced(self.program.mode(), &calls).take_while(|dependence| {
            // Those of a pair follow each other.
            let pair = (dependence.to, dependence.from);
            pairs += usize::from(last.replace(pair) != Some(pair));
            pairs <= most
        });
        let edges = self.edges(all);
        if pairs > most {
            return None;
        }
        let calls: Vec<SequenceCall> = self.calls().collect();
        Some(sequence_diagram(
            &self.engine.name,
            &calls,
            &edges,
            &[],
            &[],
        ))
    }

    /// All calls of one operation as one.
    pub(crate) fn grouped(&self) -> Diagram {
        let tracker = self.program.tracker();
        let calls = (0..tracker.calls() as u32).map(CallId);
        // Scalars of one type may tie each call to each other one: they are left out where there are many.
        let with_scalars = self.is_small();
        let edges = calls.flat_map(|call| {
            let scalars = with_scalars.then(|| tracker.scalar_dependences_of(call));
            let found = tracker.dependences_of(call).iter().copied();
            // Of many calls, which items they share is not told.
            pairs(found.chain(scalars.into_iter().flatten()), |_| {
                String::new()
            })
        });
        grouped_sequence_diagram(&self.engine.name, self.calls(), edges)
    }

    /// Whether there are few enough calls to note each.
    pub(crate) fn is_small(&self) -> bool {
        self.program.calls() <= FEW
    }

    fn calls(&self) -> impl Iterator<Item = SequenceCall> {
        (0..self.program.calls() as u32).map(|number| {
            let call = CallId(number);
            let task = self.program.task(call);
            let enactment = &self.engine.enactment;
            let operation = &enactment.graph().operation_at(task).signature.name;
            let taken_in = task.index() < enactment.coordinator().admitted();
            SequenceCall {
                label: self.engine.label(operation).to_owned(),
                operation: operation.to_string(),
                address: self.engine.task_address(task),
                rank: self.program.tracker().rank(call),
                needed: !taken_in || enactment.coordinator().state(task) != State::Idle,
            }
        })
    }

    fn edges(&self, dependences: impl IntoIterator<Item = Dependence>) -> Vec<SequenceEdge> {
        pairs(dependences, |subject| match subject {
            Subject::Item(item) => self.program.name_of(item),
            Subject::Scalar(scalar) => scalar.to_string(),
        })
    }

    /// The items that the program gave, and who reads them as they were given.
    fn inputs(&self) -> Vec<SequenceItem> {
        let mut written = vec![false; self.program.items()];
        let mut readers: BTreeMap<ItemId, Vec<usize>> = BTreeMap::new();
        for number in 0..self.program.calls() {
            let arguments = self.program.arguments(CallId(number as u32));
            let items = || {
                arguments
                    .iter()
                    .filter_map(|one| Some((one.access, one.reference?)))
            };
            for (access, item) in items() {
                if access.reads() && !written[item.index()] {
                    readers.entry(item).or_default().push(number);
                }
            }
            for (access, item) in items() {
                written[item.index()] |= access.writes();
            }
        }
        let item = |(item, calls)| self.item(item, calls);
        readers.into_iter().map(item).collect()
    }

    /// The items that somebody can still name, and who wrote them.
    fn outputs(&self) -> Vec<SequenceItem> {
        let items = (0..self.program.items() as u32).map(ItemId);
        items
            .filter(|item| (self.live)(*item))
            .filter_map(|item| {
                let writer = self.program.writer(item)?;
                Some(self.item(item, vec![writer.index()]))
            })
            .collect()
    }

    fn item(&self, item: ItemId, calls: Vec<usize>) -> SequenceItem {
        SequenceItem {
            name: self.program.name_of(item),
            item_type: Some(self.program.declared(item).to_string()),
            calls,
        }
    }
}

/// One edge for each pair of calls.
fn pairs(
    dependences: impl IntoIterator<Item = Dependence>,
    name: impl Fn(Subject) -> String,
) -> Vec<SequenceEdge> {
    let mut edges: BTreeMap<(CallId, CallId), Vec<(Kind, String)>> = BTreeMap::new();
    for dependence in dependences {
        let ends = (dependence.to, dependence.from);
        let marks = edges.entry(ends).or_default();
        marks.push((dependence.kind, name(dependence.subject)));
    }
    let edge = |((to, from), marks): ((CallId, CallId), _)| SequenceEdge {
        from: from.index(),
        to: to.index(),
        marks,
    };
    edges.into_iter().map(edge).collect()
}
