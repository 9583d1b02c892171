//! How far a run is: written by the workers, read by whoever shows it.
//!
//! Law: what is said here is display only; nothing is decided by it. One [`Progress`] serves every kind of run; that of a
//! study has a part more.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use headwater_enact::Enactment;
use headwater_execute::Execution;
use headwater_graph::Attempt;
use headwater_graph::progress::{
    Answers, LiveAnswer, MemorySnapshot, News, RunFacts, Snapshot, StageSnapshot, StudySnapshot,
};

use crate::lock::locked;

#[derive(Debug, Default)]
struct Inner {
    snapshot: Snapshot,
    clock: Clock,
    began: Option<Instant>,
    shown: FailureNews,
    answers: Option<Arc<dyn Answers>>,
}

/// Since when a run goes on, and what it has written.
#[derive(Debug, Default)]
pub struct Clock(Option<(Instant, Arc<AtomicU64>)>);

impl Clock {
    /// From when, and where it is counted what is written.
    pub fn start(began: Instant, written: Arc<AtomicU64>) -> Clock {
        Clock(Some((began, written)))
    }

    /// Its age, and the bytes.
    pub fn read(&self) -> (Duration, u64) {
        self.0.as_ref().map_or_else(Default::default, |clock| {
            (clock.0.elapsed(), clock.1.load(Ordering::Relaxed))
        })
    }
}

/// At most this many failures are reported as they happen.
const MOST_NEWS: usize = 10;

/// What is reported when there are more.
const MORE_FAIL: &str = "more tasks fail; they are listed at the end";

/// What is reported when there are more that may yet succeed.
const MORE_RETRIED: &str = "more tasks are tried again";

/// Which failures are shown as they happen: the first few are enough.
#[derive(Debug, Default)]
struct FailureNews {
    /// Tasks that failed, and attempts that were tried again.
    failures: usize,
    retried: usize,
}

impl FailureNews {
    /// What is shown of an attempt that failed, if anything is. What is tried again may succeed, and is not listed at
    /// the end then.
    fn of(&mut self, again: bool, address: impl FnOnce() -> String, message: &str) -> Option<News> {
        let (count, more) = if again {
            (&mut self.retried, MORE_RETRIED)
        } else {
            (&mut self.failures, MORE_FAIL)
        };
        *count += 1;
        match (*count).cmp(&(MOST_NEWS + 1)) {
            std::cmp::Ordering::Less => Some(News::Failed {
                task: address(),
                message: message.to_owned(),
                again,
            }),
            std::cmp::Ordering::Equal => Some(News::Line(more.to_owned())),
            std::cmp::Ordering::Greater => None,
        }
    }
}

/// A place where a run says how far it is. Clones are the same place.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Mutex<Inner>>);

impl Progress {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        locked(&self.0)
    }

    /// How far it is. The news are handed out once.
    pub fn snapshot(&self) -> Snapshot {
        let news = std::mem::take(&mut self.lock().snapshot.news);
        Snapshot {
            news,
            ..self.look()
        }
    }

    /// How far it is; news are left for [`snapshot`](Self::snapshot).
    pub fn look(&self) -> Snapshot {
        let mut inner = self.lock();
        if let Some(began) = inner.began {
            inner.snapshot.elapsed = began.elapsed();
        }
        let (age, written) = inner.clock.read();
        Snapshot {
            age,
            written,
            ..inner.snapshot.clone()
        }
    }

    /// What the answer of a study looks like so far; see [`Answers`]. Nobody who reports waits for it.
    pub fn answer(&self) -> Option<LiveAnswer> {
        let answers = self.lock().answers.clone()?;
        answers.answer()
    }

    /// Has a line shown with the next snapshot.
    pub fn tell(&self, line: &str) {
        self.lock().snapshot.news.push(News::Line(line.to_owned()));
    }

    /// Says that the run is over, whether it ever began or not.
    pub fn finish(&self) {
        self.lock().snapshot.over = true;
    }

    /// Says what run it is.
    pub fn about(&self, facts: RunFacts, clock: Clock) {
        let mut inner = self.lock();
        inner.snapshot.facts = Some(Arc::new(facts));
        inner.clock = clock;
    }

    /// Says which stages there are.
    pub fn stages(&self, names: &[Arc<str>]) {
        let stages = names.iter().map(Arc::clone).map(StageSnapshot::named);
        self.lock().snapshot.stages = stages.collect();
    }

    /// The first task of a graph may start.
    pub fn begin(&self, enactment: &Enactment) {
        let mut inner = self.lock();
        inner.began = Some(Instant::now());
        inner.update(enactment);
    }

    /// Who answers for a study from now on.
    pub fn ask(&self, answers: Arc<dyn Answers>) {
        self.lock().answers = Some(answers);
    }

    /// Changes what is said of the evaluations of a study. Who calls it says by that that it is one.
    pub fn study(&self, change: impl FnOnce(&mut StudySnapshot)) {
        change(self.lock().snapshot.study.get_or_insert_default());
    }

    /// Changes what is said of the stages.
    pub fn change_stages(&self, change: impl FnOnce(&mut [StageSnapshot])) {
        change(&mut self.lock().snapshot.stages);
    }

    /// Tasks stand elsewhere.
    pub fn update(&self, enactment: &Enactment) {
        self.lock().update(enactment);
    }

    /// A task of a stage began.
    pub(crate) fn started(&self, enactment: &Enactment, stage: Option<usize>) {
        let mut inner = self.lock();
        if let Some(stage) = inner.stage(stage) {
            stage.running += 1;
        }
        inner.update(enactment);
    }

    /// A task of a stage that had been started did not run.
    pub(crate) fn returned(&self, enactment: &Enactment, stage: Option<usize>) {
        let mut inner = self.lock();
        if let Some(stage) = inner.stage(stage) {
            stage.running = stage.running.saturating_sub(1);
        }
        inner.update(enactment);
    }

    /// An attempt at a task of a stage ended.
    pub(crate) fn ended(
        &self,
        enactment: &Enactment,
        stage: Option<usize>,
        execution: &Execution,
        state: Attempt,
    ) {
        let mut inner = self.lock();
        let is_study = inner.snapshot.study.is_some();
        if let Some(stage) = inner.stage(stage) {
            stage.running = stage.running.saturating_sub(1);
            stage.spent += execution.elapsed;
            // Rounds of a study have tasks in common; what it reuses is counted when a round has ended.
            if let Some(outcome) = state.last().filter(|_| is_study) {
                stage.tally.count(outcome);
            }
        }
        inner.update(enactment);
    }

    /// An attempt at a task failed; of a flood of failures the first ones say enough.
    pub(crate) fn failed(&self, again: bool, address: impl FnOnce() -> String, message: &str) {
        let mut inner = self.lock();
        if let Some(news) = inner.shown.of(again, address, message) {
            inner.snapshot.news.push(news);
        }
    }
}

impl Inner {
    fn stage(&mut self, stage: Option<usize>) -> Option<&mut StageSnapshot> {
        self.snapshot.stages.get_mut(stage?)
    }

    fn update(&mut self, enactment: &Enactment) {
        let snapshot = &mut self.snapshot;
        let coordinator = enactment.coordinator();
        snapshot.tally = coordinator.counts();
        snapshot.running = coordinator.running();
        let limit = coordinator.memory_for_tasks();
        snapshot.memory = MemorySnapshot {
            products: coordinator.memory_held(),
            promised: coordinator.memory_promised(),
            limit: (limit < u64::MAX).then_some(limit),
        };
        if snapshot.study.is_none() {
            for (stage, tally) in snapshot.stages.iter_mut().zip(coordinator.stage_tallies()) {
                stage.tally = tally;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tried_again_is_not_announced_as_failing() {
        let mut news = FailureNews::default();
        let mut of = |again| news.of(again, || "a.b".to_owned(), "no");
        let retried: Vec<News> = (0..30).filter_map(|_| of(true)).collect();
        assert_eq!(retried.len(), MOST_NEWS + 1);
        assert_eq!(retried[MOST_NEWS], News::Line(MORE_RETRIED.to_owned()));
        let failed: Vec<News> = (0..30).filter_map(|_| of(false)).collect();
        assert_eq!(failed.len(), MOST_NEWS + 1);
        assert_eq!(failed[MOST_NEWS], News::Line(MORE_FAIL.to_owned()));
    }

    #[test]
    fn looking_leaves_the_news() {
        let progress = Progress::default();
        progress.tell("a line");
        assert_eq!(progress.look().news.len(), 1);
        assert_eq!(progress.snapshot().news, [News::Line("a line".to_owned())]);
        assert!(progress.snapshot().news.is_empty());
    }
}
