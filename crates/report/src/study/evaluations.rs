//! How many evaluations a study was to make, and how many of them have a value.
//!
//! Law: an evaluation is a parameter set on an item. What a stop rule made needless was not wanted.

use super::summary::{PhaseSummary, StopRule, StudySummary};

/// How many evaluations there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Evaluations {
    /// Those that were to be made: the whole design, or what a stop rule needed of it.
    pub wanted: usize,
    /// Those that have a value.
    pub evaluated: usize,
    /// Those that failed.
    pub failed: usize,
}

impl Evaluations {
    /// Those that were made, with or without success.
    pub fn made(self) -> usize {
        self.evaluated + self.failed
    }
}

impl PhaseSummary {
    /// The evaluations of a phase of a study that has `items` items.
    pub fn evaluations(&self, items: usize) -> Evaluations {
        let sets = match self.rule {
            Some(StopRule { held: true, .. }) => self.sets,
            _ => self.sets_planned,
        };
        Evaluations {
            wanted: sets * items,
            evaluated: self.values.iter().flatten().flatten().count(),
            failed: self.failed.len(),
        }
    }

    /// The least, the mean and the largest value of the objective; `None` where nothing has a value.
    pub fn range(&self) -> Option<(f64, f64, f64)> {
        let values = || self.values.iter().flatten().flatten().copied();
        let (least, most) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
        Some((least, values().sum::<f64>() / values().count() as f64, most))
    }
}

impl StudySummary {
    /// The evaluations of all phases.
    pub fn evaluations(&self) -> Evaluations {
        let phases = self.phases.iter();
        let counts = phases.map(|phase| phase.evaluations(self.items.len()));
        counts.fold(Evaluations::default(), |sum, count| Evaluations {
            wanted: sum.wanted + count.wanted,
            evaluated: sum.evaluated + count.evaluated,
            failed: sum.failed + count.failed,
        })
    }
}
