//! How many tasks stand where.
//!
//! Law: every task is counted in one place: reused, executed, cut off, failed, blocked, or else left. So the parts add
//! up to the tasks, and tallies of parts of a run add up to the tally of the run.

use std::iter::Sum;
use std::ops::AddAssign;

use crate::Outcome;

/// How many tasks stand where; helpers of the engine are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// All tasks that lead to something wanted.
    pub tasks: usize,
    /// Tasks that have to run, or had to, as far as the plan knew.
    pub planned: usize,
    /// Tasks that ran and ended well, each once: retries and recomputations do not count again.
    pub executed: usize,
    /// Those of the executed ones that were remembered, and ran only because their bytes were gone.
    pub restored: usize,
    /// Tasks that need not run: they are remembered, or lead only to what is, or another run made them meanwhile.
    pub reused: usize,
    /// Tasks that were planned and did not run, because an equal one was there: same operation, same contents.
    pub cut_off: usize,
    /// Tasks that failed for good.
    pub failed: usize,
    /// Tasks that cannot run, because something before them failed.
    pub blocked: usize,
    /// Times that a task was run again because its outputs had been dropped or damaged. These are times, not tasks.
    pub recomputed: usize,
}

impl Tally {
    /// Counts a task and what became of it.
    pub fn count(&mut self, outcome: Outcome) {
        self.tasks += 1;
        self.planned += usize::from(outcome != Outcome::Reused);
        match outcome {
            Outcome::Executed => self.executed += 1,
            Outcome::Restored => {
                self.executed += 1;
                self.restored += 1;
            }
            Outcome::Reused => self.reused += 1,
            Outcome::CutOff => self.cut_off += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Blocked => self.blocked += 1,
        }
    }

    /// Tasks that need not run.
    pub fn spared(&self) -> usize {
        self.reused + self.cut_off
    }

    /// Tasks whose products are there.
    pub fn done(&self) -> usize {
        self.executed + self.spared()
    }

    /// Tasks of which it is known what became of them. Counts may have been read from a file.
    pub fn settled(&self) -> usize {
        let parts = [self.executed, self.reused, self.cut_off, self.failed];
        let sum = |sum: usize, part: usize| sum.saturating_add(part);
        parts.into_iter().fold(self.blocked, sum)
    }

    /// Tasks that have not ended: they wait or run, or the run ended before it reached them.
    pub fn left(&self) -> usize {
        self.tasks.saturating_sub(self.settled())
    }

    /// Those of the planned tasks that have ended, well or not.
    pub fn ended(&self) -> usize {
        self.planned.saturating_sub(self.left())
    }

    /// The number of tasks by outcome, the worst first.
    pub fn by_outcome(&self) -> [(Outcome, usize); 6] {
        [
            (Outcome::Failed, self.failed),
            (Outcome::Blocked, self.blocked),
            (
                Outcome::Executed,
                self.executed.saturating_sub(self.restored),
            ),
            (Outcome::Restored, self.restored),
            (Outcome::CutOff, self.cut_off),
            (Outcome::Reused, self.reused),
        ]
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.tasks += other.tasks;
        self.planned += other.planned;
        self.executed += other.executed;
        self.restored += other.restored;
        self.reused += other.reused;
        self.cut_off += other.cut_off;
        self.failed += other.failed;
        self.blocked += other.blocked;
        self.recomputed += other.recomputed;
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Tally>>(tallies: I) -> Tally {
        tallies.fold(Tally::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_counted_in_one_place() {
        let mut tally = Tally::default();
        for outcome in Outcome::ALL {
            tally.count(outcome);
        }
        assert_eq!((tally.tasks, tally.left(), tally.planned), (6, 0, 5));
        assert_eq!((tally.executed, tally.restored), (2, 1));
        assert_eq!((tally.done(), tally.spared(), tally.ended()), (4, 2, 5));
        assert!(tally.by_outcome().iter().all(|(_, count)| *count == 1));
        tally.tasks += 3;
        tally.planned += 3;
        assert_eq!((tally.left(), tally.ended()), (3, 5));
        let twice: Tally = [tally, tally].into_iter().sum();
        assert_eq!((twice.tasks, twice.left(), twice.executed), (18, 6, 4));
    }
}
