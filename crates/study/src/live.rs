//! The answer of a study so far: written by the workers, read by whoever shows it.
//!
//! Law: what is shown here is display only; nothing is decided by it.

use std::sync::{Arc, Mutex};

use headwater_engine::Progress;
use headwater_engine::lock::locked;
use headwater_graph::progress::{Answers, LiveAnswer};
use headwater_report::study::Indices;
use headwater_sensitivity::analyze::Bootstrap;

use crate::answer::{Values, at_prefix};
use crate::design::Design;

/// Resamples for an answer that will be replaced in a moment.
const RESAMPLES: u32 = 50;

/// The values of one phase as they come.
#[derive(Debug)]
pub(crate) struct LiveValues {
    design: Arc<Design>,
    /// The names of its parameters.
    names: Vec<Arc<str>>,
    confidence: f64,
    /// By item and set, and how many there are.
    values: Mutex<(Values, usize)>,
}

impl LiveValues {
    /// A phase begins: none of its values is known.
    pub(crate) fn new(
        design: &Arc<Design>,
        names: Vec<Arc<str>>,
        items: usize,
        confidence: f64,
    ) -> LiveValues {
        LiveValues {
            design: Arc::clone(design),
            names,
            confidence,
            values: Mutex::new((vec![vec![None; design.sets()]; items], 0)),
        }
    }

    /// An evaluation has a value.
    pub(crate) fn value(&self, set: usize, item: usize, value: f64, progress: &Progress) {
        let mut values = locked(&self.values);
        let (values, known) = &mut *values;
        let cell = values.get_mut(item).and_then(|sets| sets.get_mut(set));
        if let Some(cell) = cell
            && cell.replace(value).is_none()
        {
            *known += 1;
            progress.study(|study| study.evaluated = *known);
        }
    }
}

impl Answers for LiveValues {
    fn answer(&self) -> Option<LiveAnswer> {
        let (values, evaluated) = locked(&self.values).clone();
        let bootstrap = Bootstrap {
            resamples: RESAMPLES,
            confidence: self.confidence,
            seed: 0,
        };
        let groups = self.design.groups();
        let (found, _) = at_prefix(&self.design, &values, groups, &bootstrap).ok()?;
        let found = found.indices;
        let index = match &found {
            Indices::None => return None,
            Indices::Moat(_) => "mu*",
            Indices::Vbd(_) => "ST",
        };
        let sizes = found.sizes();
        let size = |position: usize| {
            let (size, half_width) = sizes[position];
            Some((Arc::clone(&self.names[position]), size?, half_width))
        };
        let sizes: Vec<_> = found.ranking().into_iter().filter_map(size).collect();
        (!sizes.is_empty()).then_some(LiveAnswer {
            index,
            evaluated,
            sizes,
        })
    }
}
