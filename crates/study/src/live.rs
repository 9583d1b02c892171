//! How far a study is, and what its answer looks like so far: written by the workers, read by whoever shows it.
//!
//! Law: what is shown here is display only; nothing is decided by it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_engine::progress::{Clock, MemorySnapshot, News, RunFacts, StageSnapshot};
use headwater_report::study::Indices;
use headwater_sensitivity::analyze::Bootstrap;

use crate::answer::{Values, at_prefix};
use crate::design::Design;

/// How far a study is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StudySnapshot {
    /// What run it is, once that is known.
    pub facts: Option<Arc<RunFacts>>,
    /// Which phase, counted from 1, and of how many.
    pub phase: (usize, usize),
    /// What the phase does, in words.
    pub method: String,
    /// Evaluations of the phase, as far as they are meant to be made now: sets times items.
    pub evaluations: usize,
    /// Those that have a value.
    pub evaluated: usize,
    /// Those that failed.
    pub failed: usize,
    /// Tasks that have to run, as far as is known: some may turn out to be equal to others.
    pub tasks: usize,
    /// Those that have ended, or turned out to be equal.
    pub ended: usize,
    /// Those that run now.
    pub running: usize,
    /// By stage of the workflow, over all rounds. What is reused is known when a round has ended.
    pub stages: Vec<StageSnapshot>,
    /// Since its last round began.
    pub elapsed: Duration,
    /// Since it began.
    pub age: Duration,
    /// What memory is taken for.
    pub memory: MemorySnapshot,
    /// Bytes that were written to the store.
    pub written: u64,
    /// What there is to tell, since the last snapshot.
    pub news: Vec<News>,
    /// It has ended.
    pub over: bool,
}

/// An answer that is not final.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveAnswer {
    /// What the sizes are: `mu*` or `ST`.
    pub index: &'static str,
    /// How many evaluations it is from.
    pub evaluated: usize,
    /// By falling size: the parameter, its size, half the width of the interval.
    pub sizes: Vec<(Arc<str>, f64, Option<f64>)>,
}

#[derive(Debug, Default)]
struct Inner {
    snapshot: StudySnapshot,
    clock: Clock,
    began: Option<Instant>,
    /// The design of the phase, with the names of its parameters.
    design: Option<(Arc<Design>, Vec<Arc<str>>)>,
    values: Values,
    confidence: f64,
}

/// A place where a study says how far it is. Clones are the same place.
#[derive(Debug, Clone, Default)]
pub struct StudyProgress(Arc<Mutex<Inner>>);

/// Resamples for an answer that will be replaced in a moment.
const RESAMPLES: u32 = 50;

impl StudyProgress {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is. The news are handed out once.
    pub fn snapshot(&self) -> StudySnapshot {
        let news = std::mem::take(&mut self.lock().snapshot.news);
        StudySnapshot {
            news,
            ..self.look()
        }
    }

    /// How far it is; news are left for [`snapshot`](Self::snapshot).
    pub fn look(&self) -> StudySnapshot {
        let mut inner = self.lock();
        if let Some(began) = inner.began {
            inner.snapshot.elapsed = began.elapsed();
        }
        let (age, written) = inner.clock.read();
        StudySnapshot {
            age,
            written,
            ..inner.snapshot.clone()
        }
    }

    /// Says what run it is, and which stages there are.
    pub(crate) fn about(&self, facts: RunFacts, clock: Clock, stages: Vec<Arc<str>>) {
        let mut inner = self.lock();
        inner.snapshot.facts = Some(Arc::new(facts));
        inner.clock = clock;
        let stage = |name| StageSnapshot {
            name,
            ..StageSnapshot::default()
        };
        inner.snapshot.stages = stages.into_iter().map(stage).collect();
    }

    /// Has something told with the next snapshot.
    pub(crate) fn news(&self, news: News) {
        self.lock().snapshot.news.push(news);
    }

    /// What the values that are there say. It costs as much as the analysis of the whole design: not to be asked for
    /// all the time. `None` where there are no indices, or nothing is known yet.
    pub fn answer(&self) -> Option<LiveAnswer> {
        let (design, names, values, confidence, evaluated) = {
            let inner = self.lock();
            let (design, names) = inner.design.as_ref()?;
            (
                Arc::clone(design),
                names.clone(),
                inner.values.clone(),
                inner.confidence,
                inner.snapshot.evaluated,
            )
        };
        let bootstrap = Bootstrap {
            resamples: RESAMPLES,
            confidence,
            seed: 0,
        };
        let groups = design.groups();
        let (found, _) = at_prefix(&design, &values, groups, &bootstrap).ok()?;
        let found = found.indices;
        let index = match &found {
            Indices::None => return None,
            Indices::Moat(_) => "mu*",
            Indices::Vbd(_) => "ST",
        };
        let sizes = found.sizes();
        let size = |position: usize| {
            let (size, half_width) = sizes[position];
            Some((Arc::clone(&names[position]), size?, half_width))
        };
        let sizes: Vec<_> = found.ranking().into_iter().filter_map(size).collect();
        (!sizes.is_empty()).then_some(LiveAnswer {
            index,
            evaluated,
            sizes,
        })
    }

    /// Has a line shown with the next snapshot.
    pub fn tell(&self, line: &str) {
        self.news(News::Line(line.to_owned()));
    }

    /// Says that it is over, whether it ever began or not.
    pub fn finish(&self) {
        self.lock().snapshot.over = true;
    }

    /// A phase begins.
    pub(crate) fn begin(
        &self,
        phase: (usize, usize),
        method: String,
        design: &Arc<Design>,
        names: Vec<Arc<str>>,
        items: usize,
        confidence: f64,
    ) {
        let mut inner = self.lock();
        inner.snapshot.phase = phase;
        inner.snapshot.method = method;
        inner.snapshot.evaluated = 0;
        inner.snapshot.failed = 0;
        inner.values = vec![vec![None; design.sets()]; items];
        inner.design = Some((Arc::clone(design), names));
        inner.confidence = confidence;
    }

    /// A round begins: so many evaluations are to be there at its end.
    pub(crate) fn round(&self, evaluations: usize) {
        let mut inner = self.lock();
        inner.snapshot.evaluations = evaluations;
        inner.began = Some(Instant::now());
    }

    /// An evaluation has a value.
    pub(crate) fn value(&self, set: usize, item: usize, value: f64) {
        let mut inner = self.lock();
        let cell = inner
            .values
            .get_mut(item)
            .and_then(|sets| sets.get_mut(set));
        if let Some(cell) = cell
            && cell.replace(value).is_none()
        {
            inner.snapshot.evaluated += 1;
        }
    }

    /// Changes the counts of tasks and failures.
    pub(crate) fn count(&self, change: impl FnOnce(&mut StudySnapshot)) {
        change(&mut self.lock().snapshot);
    }
}
