//! All dependences that there are when each call is compared with each later one.
//!
//! Law: what is found is what the comparison of all pairs of calls finds, with one kind for each pair and item; but
//! only pairs that depend on each other are ever looked at. So the cost is that of the result, which may be quadratic:
//! it comes one by one, and whoever has enough stops.
//!
//! A call that reads depends here on everybody who ever wrote the item, not just on the last one. This is for drawings
//! that show what [`reduce`](crate::reduce) takes away; what is to be run needs only a [`Tracker`](crate::Tracker).

use std::slice;

use crate::argument::{Access, Argument, CallId, Mode};
use crate::dependence::{Dependence, Kind, Subject};
use crate::footprint::{Footprint, entry};

/// All dependences of a sequence of calls, in order, each once.
pub fn unreduced<C: AsRef<[Argument]>>(mode: Mode, calls: &[C]) -> Unreduced<'_, C> {
    Unreduced {
        mode,
        calls: calls.iter(),
        next: CallId(0),
        footprint: Footprint::default(),
        scalars: Vec::new(),
        found: Vec::new(),
        given: 0,
    }
}

/// Goes through all dependences of a sequence of calls; made by [`unreduced()`].
#[derive(Debug, Clone)]
pub struct Unreduced<'a, C> {
    mode: Mode,
    calls: slice::Iter<'a, C>,
    next: CallId,
    /// With each item, who did what with it.
    footprint: Footprint<Accesses>,
    /// Who did what with scalars of each type, by its number.
    scalars: Vec<Accesses>,
    /// What the call before `next` depends on.
    found: Vec<Dependence>,
    /// How many of these have been given.
    given: usize,
}

/// Calls by what they did.
#[derive(Debug, Clone, Default)]
struct Accesses {
    inputs: Vec<CallId>,
    outputs: Vec<CallId>,
    both: Vec<CallId>,
}

impl Accesses {
    fn push(&mut self, call: CallId, access: Access) {
        match access {
            Access::In => self.inputs.push(call),
            Access::Out => self.outputs.push(call),
            Access::InOut => self.both.push(call),
        }
    }

    /// Those who wrote, in no order.
    fn writers(&self) -> impl Iterator<Item = &CallId> {
        self.outputs.iter().chain(&self.both)
    }
}

impl<C: AsRef<[Argument]>> Iterator for Unreduced<'_, C> {
    type Item = Dependence;

    fn next(&mut self) -> Option<Dependence> {
        while self.given == self.found.len() {
            let arguments = self.calls.next()?;
            self.compare(arguments.as_ref());
        }
        self.given += 1;
        self.found.get(self.given - 1).copied()
    }
}

impl<C> Unreduced<'_, C> {
    /// Finds what the next call depends on.
    fn compare(&mut self, arguments: &[Argument]) {
        let to = self.next;
        self.next = CallId(to.0 + 1);
        self.footprint.read(self.mode, arguments);
        self.found.clear();
        self.given = 0;
        for (item, access) in self.footprint.items.iter().copied() {
            let earlier = &mut self.footprint.known[item.index()].history;
            let mut depend = |from: &CallId, kind| {
                self.found.push(Dependence {
                    to,
                    from: *from,
                    kind,
                    subject: Subject::Item(item),
                });
            };
            let kind = Kind::after_write(access);
            earlier.writers().for_each(|from| depend(from, kind));
            if access.writes() {
                let readers = earlier.inputs.iter();
                readers.for_each(|from| depend(from, Kind::War));
            }
            earlier.push(to, access);
        }
        for (scalar, access) in self.footprint.scalars.iter().copied() {
            let earlier = entry(&mut self.scalars, scalar as usize);
            let outputs = access.reads().then_some(&earlier.outputs);
            let inputs = access.writes().then_some(&earlier.inputs);
            let lists = [outputs, inputs, Some(&earlier.both)];
            let calls = lists.into_iter().flatten().flatten();
            self.found.extend(calls.map(|from| Dependence {
                to,
                from: *from,
                kind: Kind::Scalar,
                subject: Subject::Scalar(scalar),
            }));
            earlier.push(to, access);
        }
        self.found.sort_unstable();
    }
}
