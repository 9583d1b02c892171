//! Calls that have scalars of one type, in conservative mode.
//!
//! Law: these calls fall into phases, runs of calls that only take or only give such scalars; a call that does both is
//! a phase of its own. Calls of one phase have no dependence on each other, and each depends on all of the phase
//! before. With that it comes, by a path, after all of the phases before that one.
//!
//! ```text
//! gives gives gives │ takes takes │ both │ both │ takes
//! └──────── 6 pairs, one range ┘
//! ```
//!
//! Phases of k and k calls have k² dependences between them. Nobody writes them down: the members of a phase stand
//! next to each other in one list, and a call keeps the range of the phase before.

use std::ops::Range;

use crate::argument::{Access, CallId};

/// The phases of one type of scalars.
#[derive(Debug, Clone, Default)]
pub(crate) struct Phases {
    /// The calls of all phases.
    members: Vec<CallId>,
    /// Where the last phase but one begins.
    before: usize,
    /// Where the last phase begins.
    begin: usize,
    /// What the calls of the last phase do.
    access: Option<Access>,
    /// The lowest rank that a call of the last phase may have.
    floor: u32,
    /// The highest rank so far, which is that of a call of the last phase.
    highest: u32,
}

impl Phases {
    /// The next call. Gives the range of those that it depends on, and the lowest rank that it may have.
    pub(crate) fn join(&mut self, call: CallId, access: Access) -> (Range<usize>, u32) {
        if access == Access::InOut || self.access != Some(access) {
            self.floor = if self.members.is_empty() {
                0
            } else {
                self.highest + 1
            };
            self.before = self.begin;
            self.begin = self.members.len();
            self.access = Some(access);
        }
        self.members.push(call);
        (self.before..self.begin, self.floor)
    }

    /// The rank of the call that joined last.
    pub(crate) fn ranked(&mut self, rank: u32) {
        self.highest = self.highest.max(rank);
    }

    /// The calls of a range that a call was given when it joined.
    pub(crate) fn members(&self, range: Range<usize>) -> &[CallId] {
        &self.members[range]
    }

    /// How many calls there are in all phases.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }
}
