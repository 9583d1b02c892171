//! The parameter sets where the objective is highest and where it is lowest.
//!
//! Law: which sets these are depends on the values alone; of equal ones the first is taken. Where there are several items a
//! set is judged by its mean over all of them; where no set has a value on every item, each is judged by those that it has.
//! An item without any value in a phase asks for none.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::Scalar;

use crate::phase::{EndedPhase, Workplace};
use headwater_report::study::{Extreme, Extremes, PhaseSummary};

/// A phase, by position, and a set of it.
pub(crate) type At = (usize, usize);

/// What the objective is at a set, item by item.
pub(crate) fn values(
    phases: &[&PhaseSummary],
    (phase, set): At,
) -> impl Iterator<Item = Option<f64>> {
    let items = phases[phase].values.iter();
    items.map(move |values| values.get(set).copied().flatten())
}

/// The mean over the items that have a value, and how many these are.
fn mean(phases: &[&PhaseSummary], at: At) -> Option<(f64, usize)> {
    let found: Vec<f64> = values(phases, at).flatten().collect();
    let many = found.len();
    (many > 0).then(|| (found.iter().sum::<f64>() / many as f64, many))
}

/// A set with its mean, and over how many items.
pub(crate) type Found = (At, f64, usize);

/// The sets with the highest and the lowest mean.
pub(crate) fn find(phases: &[&PhaseSummary]) -> Option<(Found, Found)> {
    let sets = || {
        let phases = phases.iter().enumerate();
        phases.flat_map(|(phase, summary)| (0..summary.sets).map(move |set| (phase, set)))
    };
    let failed = |phase: &&PhaseSummary| -> Vec<bool> {
        let items = phase.values.iter();
        items
            .map(|values| values.iter().all(Option::is_none))
            .collect()
    };
    let failed: Vec<Vec<bool>> = phases.iter().map(failed).collect();
    let is_whole = |at: &At| {
        let mut items = values(phases, *at).zip(&failed[at.0]);
        items.all(|(value, failed)| value.is_some() || *failed)
    };
    let any_whole = sets().any(|at| is_whole(&at));
    let mut best: Option<Found> = None;
    let mut worst = best;
    for at in sets().filter(|at| !any_whole || is_whole(at)) {
        let Some((mean, items)) = mean(phases, at) else {
            continue;
        };
        if best.is_none_or(|(_, known, _)| mean > known) {
            best = Some((at, mean, items));
        }
        if worst.is_none_or(|(_, known, _)| mean < known) {
            worst = Some((at, mean, items));
        }
    }
    best.zip(worst)
}

/// The best and the worst set of a study, with their parameters.
pub(crate) fn extremes(site: &Workplace<'_>, phases: &[EndedPhase]) -> Option<Extremes> {
    let summaries: Vec<&PhaseSummary> = phases.iter().map(|phase| &phase.summary).collect();
    let extreme = |(at, value, items): Found| {
        let row = parameters(site, phases, Some(at));
        let studied = site.study.resolved.studied.iter();
        Extreme {
            set: summaries[at.0].first_set + at.1,
            // The mean of nothing but zeros may have a sign.
            value: value + 0.0,
            items,
            parameters: studied
                .filter_map(|known| Some((known.name.to_string(), row.get(&known.name)?.into())))
                .collect(),
        }
    };
    let (best, worst) = find(&summaries)?;
    Some(Extremes {
        best: extreme(best),
        worst: extreme(worst),
    })
}

/// The values of all studied parameters at a set, or at the default.
pub(crate) fn parameters(
    site: &Workplace<'_>,
    phases: &[EndedPhase],
    at: Option<At>,
) -> BTreeMap<Arc<str>, Scalar> {
    let mut row: BTreeMap<Arc<str>, Scalar> = BTreeMap::new();
    for studied in &site.study.resolved.studied {
        let value = site.default(studied).or(site.baseline.get(&studied.name));
        if let Some(value) = value {
            row.insert(Arc::clone(&studied.name), value.clone());
        }
    }
    if let Some((phase, set)) = at {
        let varied = &phases[phase].varied;
        for (column, name) in varied.names.iter().enumerate() {
            let cell = varied.cells[set * varied.names.len() + column];
            row.insert(
                Arc::clone(name),
                varied.values[column][cell as usize].clone(),
            );
        }
    }
    row
}
