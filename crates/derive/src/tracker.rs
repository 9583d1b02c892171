//! Dependences, found call by call.
//!
//! Law: of each item only the last writer is known, and who has read it since then. With that, time and memory are
//! linear in the number of arguments, whatever the program does: every reader that is noted down is taken away by one
//! write at most, and a write that somebody overwrote before a call reads never becomes a dependence of that call.
//!
//! | earlier access | access of the call | dependence |
//! | --- | --- | --- |
//! | the last `out` or `inout` | `in`, `inout` | RAW |
//! | each `in` since then | `out`, `inout` | WAR |
//! | the last `out` or `inout` | `out` | WAW |
//!
//! Afterwards a call that writes is the last writer, and nobody has read what it wrote, not even itself.
//!
//! Dependences because of scalars in conservative mode can be as many as there are pairs of calls. They are kept as
//! ranges of calls (see `phases`) and come out one by one only for those who ask.
//!
//! An order that a path implies may be among the dependences; [`reduce`](crate::reduce) takes it out.

use std::ops::Range;

use headwater_graph::ScalarType;

use crate::argument::{Argument, CallId, Mode};
use crate::dependence::{Dependence, Kind, Subject};
use crate::footprint::{Footprint, entry};
use crate::phases::Phases;
use crate::readers::{List, Readers};

/// What depends on what among the calls so far. More may come at any time, and what is known of earlier ones stays.
///
/// Items are expected to be numbered without large gaps: memory grows with the highest number.
///
/// ```
/// use headwater_derive::{Access, Argument, ItemId, Kind, Mode, Tracker};
///
/// let vector = |access| Argument::whole(access, ItemId(0));
/// let mut tracker = Tracker::new(Mode::Restrictive);
/// let make = tracker.call(&[vector(Access::Out)]);
/// let sort = tracker.call(&[vector(Access::InOut)]);
/// let add = tracker.call(&[vector(Access::In), Argument::whole(Access::Out, ItemId(1))]);
///
/// let [only] = tracker.dependences_of(add) else { unreachable!() };
/// assert_eq!((only.from, only.kind), (sort, Kind::Raw));
/// assert_eq!((tracker.rank(make), tracker.rank(add)), (0, 2));
/// ```
#[derive(Debug, Clone)]
pub struct Tracker {
    mode: Mode,
    /// With each item, who touched it last.
    footprint: Footprint<Touched>,
    readers: Readers,
    /// Of each type of scalars, by its number.
    phases: Vec<Phases>,
    calls: Vec<Call>,
    /// Of each call; apart, because any of them may be asked for at any time.
    ranks: Vec<u32>,
    /// Dependences because of items, of one call after the other.
    dependences: Vec<Dependence>,
    /// What calls wait for because of scalars, of one call after the other.
    waits: Vec<Wait>,
}

/// Who touched an item last.
#[derive(Debug, Clone, Default)]
struct Touched {
    /// How many calls there were with the last one that wrote it; 0 if nobody did.
    written: u32,
    /// Those who have read it since then.
    readers: List,
}

/// What a call depends on.
#[derive(Debug, Clone)]
struct Call {
    /// Where its dependences end; those of the call before end where they begin.
    dependences: usize,
    /// Where its waits end, likewise.
    waits: usize,
}

/// All calls of a phase.
#[derive(Debug, Clone)]
struct Wait {
    scalar: ScalarType,
    members: Range<usize>,
}

impl Tracker {
    /// No calls yet.
    pub fn new(mode: Mode) -> Tracker {
        Tracker {
            mode,
            footprint: Footprint::default(),
            readers: Readers::default(),
            phases: Vec::new(),
            calls: Vec::new(),
            ranks: Vec::new(),
            dependences: Vec::new(),
            waits: Vec::new(),
        }
    }

    /// The next call in program order. Calls are numbered as they come.
    pub fn call(&mut self, arguments: &[Argument]) -> CallId {
        let call = CallId(self.calls.len() as u32);
        self.footprint.read(self.mode, arguments);
        let begin = self.dependences.len();
        self.follow_items(call);
        let found = &mut self.dependences[begin..];
        found.sort_unstable();
        let above = |found: &Dependence| self.ranks[found.from.index()] + 1;
        let rank = found.iter().map(above).max().unwrap_or(0);
        let rank = self.follow_scalars(call, rank);
        self.ranks.push(rank);
        self.calls.push(Call {
            dependences: self.dependences.len(),
            waits: self.waits.len(),
        });
        call
    }

    /// How many calls there are.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// The level of a call: 0 without dependences, otherwise one above the highest that it depends on.
    pub fn rank(&self, call: CallId) -> u32 {
        self.ranks[call.index()]
    }

    /// What a call depends on because of items: in order, each once.
    pub fn dependences_of(&self, call: CallId) -> &[Dependence] {
        let range = self.range(call, |call| call.dependences);
        &self.dependences[range]
    }

    /// What a call depends on because of scalars in conservative mode: type by type, each in order. These are made
    /// while one looks at them; there may be as many as calls before it.
    pub fn scalar_dependences_of(&self, call: CallId) -> impl Iterator<Item = Dependence> {
        let waits = &self.waits[self.range(call, |call| call.waits)];
        waits.iter().flat_map(move |wait| {
            let members = self.phases[wait.scalar as usize].members(wait.members.clone());
            members.iter().map(move |from| Dependence {
                to: call,
                from: *from,
                kind: Kind::Scalar,
                subject: Subject::Scalar(wait.scalar),
            })
        })
    }

    /// How many dependences there are because of scalars; counted without making them.
    pub fn scalar_dependences(&self) -> usize {
        self.waits.iter().map(|wait| wait.members.len()).sum()
    }

    /// All dependences, call by call: first those because of items, then those because of scalars.
    pub fn dependences(&self) -> impl Iterator<Item = Dependence> {
        let calls = (0..self.calls.len() as u32).map(CallId);
        calls.flat_map(|call| {
            let items = self.dependences_of(call).iter().copied();
            items.chain(self.scalar_dependences_of(call))
        })
    }

    /// How many things are written down in all, for items and for scalars. Linear in the number of arguments.
    pub fn stored(&self) -> usize {
        let members = self.phases.iter().map(Phases::len).sum::<usize>();
        self.calls.len()
            + self.footprint.known.len()
            + self.dependences.len()
            + self.readers.len()
            + self.waits.len()
            + members
    }

    /// The part of a list that is a call's.
    fn range(&self, call: CallId, end: impl Fn(&Call) -> usize) -> Range<usize> {
        let begin = call.index().checked_sub(1);
        begin.map_or(0, |before| end(&self.calls[before]))..end(&self.calls[call.index()])
    }

    /// Notes down what the call depends on because of its items, and that it touched them.
    fn follow_items(&mut self, call: CallId) {
        for (item, access) in self.footprint.items.iter().copied() {
            let touched = &mut self.footprint.known[item.index()].history;
            let mut depend = |from, kind| {
                self.dependences.push(Dependence {
                    to: call,
                    from,
                    kind,
                    subject: Subject::Item(item),
                });
            };
            if let Some(writer) = touched.written.checked_sub(1) {
                depend(CallId(writer), Kind::after_write(access));
            }
            if access.writes() {
                let readers = &mut touched.readers;
                self.readers.drain(readers, |from| depend(from, Kind::War));
                touched.written = call.0 + 1;
            } else {
                self.readers.push(&mut touched.readers, call);
            }
        }
    }

    /// Notes down what the call depends on because of its scalars. Gives its rank, of which `rank` is known so far.
    fn follow_scalars(&mut self, call: CallId, mut rank: u32) -> u32 {
        for (scalar, access) in self.footprint.scalars.iter().copied() {
            let phases = entry(&mut self.phases, scalar as usize);
            let (members, floor) = phases.join(call, access);
            rank = rank.max(floor);
            if !members.is_empty() {
                self.waits.push(Wait { scalar, members });
            }
        }
        for (scalar, _) in &self.footprint.scalars {
            self.phases[*scalar as usize].ranked(rank);
        }
        rank
    }
}
