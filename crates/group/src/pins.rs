//! What the runs of this process hold of the group.
//!
//! Law: a run holds everything that was used since it began, until it takes a share; then it holds what it says. A run
//! that has ended holds nothing.

use std::collections::{HashMap, HashSet};

use headwater_graph::Digest;

/// The runs of this process that are alive, each with what it holds; `None` is everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pins(HashMap<String, Option<HashSet<Digest>>>);

impl Pins {
    /// A run begins; says whether it is the only one.
    pub(crate) fn begin(&mut self, run: &str) -> bool {
        self.0.insert(run.to_owned(), None);
        self.0.len() == 1
    }

    /// A run has ended; says whether it was the last one.
    pub(crate) fn end(&mut self, run: &str) -> bool {
        self.0.remove(run).is_some() && self.0.is_empty()
    }

    /// A run holds these, too. With `share` it holds nothing else from now on.
    pub(crate) fn hold(&mut self, run: &str, digests: &[Digest], share: bool) {
        let Some(held) = self.0.get_mut(run) else {
            return;
        };
        match held {
            Some(held) => held.extend(digests),
            None if share => *held = Some(digests.iter().copied().collect()),
            None => {}
        }
    }

    /// A run gives up what it does not need.
    pub(crate) fn give_up(&mut self, run: &str, needed: &dyn Fn(&Digest) -> bool) {
        if let Some(Some(held)) = self.0.get_mut(run) {
            held.retain(needed);
        }
    }

    /// Whether every run says what it holds.
    pub(crate) fn is_exact(&self) -> bool {
        self.0.values().all(Option::is_some)
    }

    /// Whether a run that says what it holds has named this one.
    pub(crate) fn holds(&self, digest: &Digest) -> bool {
        self.0.values().flatten().any(|held| held.contains(digest))
    }
}
