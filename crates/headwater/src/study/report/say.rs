//! The answer of a phase, in sentences.
//!
//! Law: a sentence claims no more than the intervals carry. Which parameters matter most is where the sizes fall most;
//! whether their order is sure is said beside it.

use super::super::summary::{Indices, PhaseKind, PhaseSummary};
use super::text::{count, counted, listed, number, short, with_interval};

/// Of how many the largest fall is looked for.
const LEADERS: usize = 5;

/// What the parameters of a phase are ranked by.
pub(super) fn size_name(kind: PhaseKind) -> &'static str {
    match kind {
        PhaseKind::Moat => "μ*",
        PhaseKind::Vbd => "ST",
        PhaseKind::Table => "",
    }
}

/// What a group of sets is called, one and many.
pub(super) fn group_names(kind: PhaseKind) -> (&'static str, &'static str) {
    match kind {
        PhaseKind::Moat => ("trajectory", "trajectories"),
        PhaseKind::Vbd => ("base point", "base points"),
        PhaseKind::Table => ("set", "sets"),
    }
}

/// All values that there are.
pub(super) fn values(phase: &PhaseSummary) -> Vec<f64> {
    let values = phase.values.iter().flatten().flatten().copied();
    values.filter(|value| value.is_finite()).collect()
}

/// The least and the largest.
pub(super) fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some((low, high))
}

/// What a phase says, in a sentence or a few; plain text.
pub(super) fn answer(phase: &PhaseSummary, objective: &str) -> String {
    let values = values(phase);
    let Some((low, high)) = ends(&values) else {
        return format!("There is no answer: no evaluation gave a value of {objective}.");
    };
    if low == high {
        return format!(
            "{objective} is {} in all {} that gave a value: nothing that was varied matters to it there.",
            number(low),
            counted(values.len(), "evaluation", "evaluations")
        );
    }
    if phase.kind == PhaseKind::Table {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        return format!(
            "Over {} of your own, {objective} goes from {} to {}, with a mean of {}. Sets of your own have no indices: those need a design.",
            counted(phase.sets, "parameter set", "parameter sets"),
            number(low),
            number(high),
            number(mean)
        );
    }
    let sizes = phase.pooled.sizes();
    let ranking: Vec<usize> = phase.pooled.ranking();
    let known: Vec<usize> = ranking
        .into_iter()
        .filter(|position| sizes[*position].0.is_some() && *position < phase.parameters.len())
        .collect();
    let Some(first) = known.first() else {
        return format!(
            "There is no answer yet: too few evaluations gave a value of {objective} for any index."
        );
    };
    let size = |position: usize| sizes[position].0.unwrap_or(0.0);
    let name = |position: &usize| phase.parameters[*position].name.as_str();
    if size(*first) <= 0.0 {
        return format!(
            "No parameter has an effect on {objective} that can be told from none: the largest {} is {}.",
            size_name(phase.kind),
            number(size(*first))
        );
    }
    let leaders = leaders(
        &known
            .iter()
            .map(|position| size(*position))
            .collect::<Vec<f64>>(),
    );
    let names: Vec<&str> = known[..leaders].iter().map(name).collect();
    let shown: Vec<String> = known[..leaders]
        .iter()
        .map(|position| with_interval(sizes[*position].0, sizes[*position].1))
        .collect();
    let verb = if leaders == 1 { "matters" } else { "matter" };
    let mut said = format!(
        "{} {verb} most to {objective}: {} is {}",
        listed(&names),
        size_name(phase.kind),
        listed(&shown)
    );
    if let Some(next) = known.get(leaders) {
        said += &format!(
            ", next is {} with {}",
            name(next),
            with_interval(sizes[*next].0, sizes[*next].1)
        );
    }
    said.push('.');
    let looked = &known[..known.len().min(leaders + 1)];
    said.push(' ');
    said += &order(phase, &sizes, looked, leaders);
    if let Some(more) = without_effect(phase, &sizes, &known) {
        said.push(' ');
        said += &more;
    }
    if let Some(more) = interplay(phase) {
        said.push(' ');
        said += &more;
    }
    said
}

/// How many matter most: the sizes fall most after them.
fn leaders(sizes: &[f64]) -> usize {
    let mut best = (1, f64::NEG_INFINITY);
    for (position, pair) in sizes.windows(2).take(LEADERS).enumerate() {
        let fall = pair[0] - pair[1];
        if fall >= best.1 {
            best = (position + 1, fall);
        }
    }
    best.0
}

/// How sure the order of the first ones is.
fn order(
    phase: &PhaseSummary,
    sizes: &[(Option<f64>, Option<f64>)],
    looked: &[usize],
    leaders: usize,
) -> String {
    let share = phase
        .confidence
        .map(|share| format!("{} % ", short(share * 100.0)));
    let share = share.unwrap_or_default();
    if looked.iter().any(|position| sizes[*position].1.is_none()) {
        return "How sure that order is cannot be said: there are no intervals for it.".to_owned();
    }
    if looked.len() < 2 {
        return String::from("It is the only one with an index.");
    }
    let meet = |pair: &&[usize]| {
        let ends = |position: usize| {
            let (size, half) = (
                sizes[position].0.unwrap_or(0.0),
                sizes[position].1.unwrap_or(0.0),
            );
            (size - half, size + half)
        };
        ends(pair[0]).0 <= ends(pair[1]).1
    };
    let pairs: Vec<String> = looked
        .windows(2)
        .filter(meet)
        .map(|pair| {
            let names = [pair[0], pair[1]].map(|position| phase.parameters[position].name.as_str());
            listed(&names)
        })
        .collect();
    match pairs.as_slice() {
        [] if leaders == 1 => {
            format!(
                "Its {share}interval lies above that of every other, so that is sure by this measure."
            )
        }
        [] => format!("Their {share}intervals overlap neither each other nor those of the rest."),
        [one] => format!(
            "The {share}intervals of {one} overlap: which of the two is larger cannot be told."
        ),
        more => format!(
            "The {share}intervals of {} overlap: which of each two is larger cannot be told.",
            more.join(", of ")
        ),
    }
}

/// The ones that the analysis cannot tell from none.
fn without_effect(
    phase: &PhaseSummary,
    sizes: &[(Option<f64>, Option<f64>)],
    known: &[usize],
) -> Option<String> {
    let name = |position: &&usize| phase.parameters[**position].name.as_str();
    let (names, words): (Vec<&str>, &str) = match phase.kind {
        PhaseKind::Moat => {
            let none = |position: &&usize| sizes[**position].0 == Some(0.0);
            (
                known
                    .iter()
                    .filter(none)
                    .map(|position| name(&position))
                    .collect(),
                "had no effect in any of their steps",
            )
        }
        PhaseKind::Vbd => {
            let none = |position: &&usize| matches!(sizes[**position], (Some(size), Some(half)) if size - half <= 0.0);
            (
                known
                    .iter()
                    .filter(none)
                    .map(|position| name(&position))
                    .collect(),
                "cannot be told from having no effect",
            )
        }
        PhaseKind::Table => return None,
    };
    match names.len() {
        0 => None,
        1 => Some(format!("{} {}.", names[0], words.replace("their", "its"))),
        2..=4 => Some(format!("{} {words}.", listed(&names))),
        many => Some(format!(
            "{} of the {} {words}.",
            count(many),
            count(phase.parameters.len())
        )),
    }
}

/// How much is explained by parameters one at a time.
fn interplay(phase: &PhaseSummary) -> Option<String> {
    let Indices::Vbd(found) = &phase.pooled else {
        return None;
    };
    let alone: Option<Vec<f64>> = found.rows.iter().map(|row| row.s1).collect();
    let sum: f64 = alone?.into_iter().sum();
    Some(if sum >= 0.95 {
        format!(
            "The S1 add up to {}: the parameters act one by one, with hardly any interplay.",
            number(sum)
        )
    } else {
        format!(
            "The S1 add up to {}: about {} % of the variance comes from parameters acting together.",
            number(sum),
            short(((1.0 - sum.max(0.0)) * 100.0).round())
        )
    })
}
