//! The answer of a phase, in sentences.
//!
//! Law: a sentence claims no more than the intervals carry. Which parameters matter most is where the sizes fall most;
//! whether their order is sure is said beside it.

use super::summary::{Indices, PhaseKind, PhaseSummary};
use crate::page::text::{count, counted, listed, number, short, with_interval};

/// Of how many the largest fall is looked for.
const LEADERS: usize = 5;

/// A fall smaller than this part of the largest size is none.
const STANDS_OUT: f64 = 0.1;

/// How many pairs with overlapping intervals are named.
const PAIRS: usize = 3;

/// An index with half the width of its interval.
pub(super) type Size = (Option<f64>, Option<f64>);

/// A note as a sentence.
pub(super) fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let text: String = first.chain(letters).collect();
    let end = if text.ends_with('?') { "" } else { "." };
    text + end
}

/// What the parameters of a phase are ranked by.
pub(super) fn size_name(kind: PhaseKind) -> &'static str {
    match kind {
        PhaseKind::Moat => "μ*",
        PhaseKind::Vbd => "ST",
        PhaseKind::Table => "",
    }
}

/// How long the nominal step of a design with so many levels is, in parts of the range.
pub(super) fn nominal_part(levels: u32) -> f64 {
    f64::from(levels) / (2.0 * (f64::from(levels) - 1.0))
}

/// The same as a fraction.
pub(super) fn nominal(levels: u32) -> String {
    format!("{}/{}", levels / 2, levels.saturating_sub(1))
}

/// What a group of sets is called, one and many.
pub(super) fn group_names(kind: PhaseKind) -> (&'static str, &'static str) {
    match kind {
        PhaseKind::Moat => ("trajectory", "trajectories"),
        PhaseKind::Vbd => ("base point", "base points"),
        PhaseKind::Table => ("set", "sets"),
    }
}

/// The positions of the parameters by falling size, as far as there are both a parameter and an index.
pub(super) fn ranking(phase: &PhaseSummary) -> Vec<usize> {
    let ranking = phase.pooled.ranking().into_iter();
    ranking
        .filter(|position| *position < phase.parameters.len())
        .collect()
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
            "{objective} is {} in all {} that gave a value: nothing that was varied matters to it there.{}",
            number(low),
            counted(values.len(), "evaluation", "evaluations"),
            left_out(phase).map_or_else(String::new, |words| format!(" {words}"))
        );
    }
    if phase.kind == PhaseKind::Table {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let left_out = left_out(phase).map_or_else(String::new, |words| format!(" {words}"));
        return format!(
            "Over {} of your own, {objective} goes from {} to {}, with a mean of {}. Sets of your own have no indices: those need a design.{left_out}",
            counted(phase.sets, "parameter set", "parameter sets"),
            number(low),
            number(high),
            number(mean)
        );
    }
    let sizes = phase.pooled.sizes();
    let known: Vec<usize> = ranking(phase)
        .into_iter()
        .filter(|position| sizes[*position].0.is_some())
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
            "No parameter has an effect on {objective} that can be distinguished from none: the largest {} is {}.",
            size_name(phase.kind),
            number(size(*first))
        );
    }
    if !phase.pooled.has_ranks() {
        let (_, many) = group_names(phase.kind);
        let next = known.get(1).map_or_else(String::new, |next| {
            let next_size = with_interval(sizes[*next].0, sizes[*next].1);
            format!(", next is {} with {next_size}", name(next))
        });
        return format!(
            "Which parameters matter most to {objective} is not said: there are too few for ranks. The largest {} is that of \
             {} with {}{next}; with more {many} that may be others.",
            size_name(phase.kind),
            name(first),
            with_interval(sizes[*first].0, sizes[*first].1),
        );
    }
    let falling: Vec<f64> = known.iter().map(|position| size(*position)).collect();
    let mut more = vec![];
    if let Some(leaders) = leaders(&falling) {
        more.push(leading(phase, objective, &sizes, &known, leaders));
        more.push(order(phase, &sizes, &known, leaders));
    } else {
        let last = known[known.len() - 1];
        more.push(format!(
            "No parameter stands out: {} falls evenly from {} for {} to {} for {}.",
            size_name(phase.kind),
            with_interval(sizes[*first].0, sizes[*first].1),
            name(first),
            with_interval(sizes[last].0, sizes[last].1),
            name(&last)
        ));
    }
    more.extend(by_item(phase));
    more.extend(left_out(phase));
    more.extend(unknown(phase, &sizes));
    more.extend(without_effect(phase, &sizes, &known));
    more.extend(interplay(phase));
    more.join(" ")
}

/// Which parameters matter most, and which is next.
fn leading(
    phase: &PhaseSummary,
    objective: &str,
    sizes: &[Size],
    known: &[usize],
    leaders: usize,
) -> String {
    let name = |position: &usize| phase.parameters[*position].name.as_str();
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
    said
}

/// How many matter most: the sizes fall most after them. None where they fall evenly.
fn leaders(sizes: &[f64]) -> Option<usize> {
    let mut best = (1, f64::NEG_INFINITY);
    for (position, pair) in sizes.windows(2).take(LEADERS).enumerate() {
        let fall = pair[0] - pair[1];
        if fall >= best.1 {
            best = (position + 1, fall);
        }
    }
    let stands_out = sizes.len() < 2 || best.1 >= STANDS_OUT * sizes[0];
    stands_out.then_some(best.0)
}

/// How sure it is that the first ones are the first, and in this order.
fn order(phase: &PhaseSummary, sizes: &[Size], known: &[usize], leaders: usize) -> String {
    let share = phase
        .confidence
        .map(|share| format!("{} % ", short(share * 100.0)));
    let share = share.unwrap_or_default();
    if known.len() < 2 {
        return String::from("It is the only parameter with an index.");
    }
    if known.iter().any(|position| sizes[*position].1.is_none()) {
        return "How sure that order is cannot be said: not all of them have intervals.".to_owned();
    }
    let ends = |position: usize| {
        let (size, half) = sizes[position];
        let (size, half) = (size.unwrap_or(0.0), half.unwrap_or(0.0));
        (size - half, size + half)
    };
    let mut pairs: Vec<String> = Vec::new();
    for (rank, one) in known.iter().enumerate().take(leaders) {
        for other in &known[rank + 1..] {
            if ends(*one).0 <= ends(*other).1 {
                let names = [one, other].map(|position| phase.parameters[*position].name.as_str());
                pairs.push(listed(&names));
            }
        }
    }
    match pairs.as_slice() {
        [] if leaders == 1 => {
            let first = &phase.parameters[known[0]].name;
            format!("The {share}interval of {first} lies above those of all others.")
        }
        [] => {
            let first = known[..leaders].iter();
            let first: Vec<&str> = first
                .map(|position| phase.parameters[*position].name.as_str())
                .collect();
            format!(
                "The {share}intervals of {} overlap neither each other nor those of the rest.",
                listed(&first)
            )
        }
        [one] => format!(
            "The {share}intervals of {one} overlap: which of the two is larger is not known."
        ),
        some if some.len() <= PAIRS => format!(
            "The {share}intervals of {} overlap: which of each two is larger is not known.",
            some.join(", of ")
        ),
        many => format!(
            "The {share}intervals of {} and of {} more pairs overlap: which of each two is larger is not known.",
            many[..PAIRS].join(", of "),
            count(many.len() - PAIRS)
        ),
    }
}

/// Whether all items say the same, and what the intervals leave out.
fn by_item(phase: &PhaseSummary) -> Option<String> {
    let words = phase.first_by_item_in_words()?;
    let about = match phase.confidence {
        Some(_) => {
            " The intervals are for these items; they do not say how much other items would change the answer."
        }
        None => "",
    };
    Some(format!("By item: {words}.{about}"))
}

/// How many items all of this is based on, where some are left out; below the evaluations without a value they have names.
fn left_out(phase: &PhaseSummary) -> Option<String> {
    let (answered, all) = phase.answered_items();
    let without = all - answered;
    (without > 0 && all > 1).then(|| {
        let verb = if without == 1 { "has" } else { "have" };
        format!(
            "All of this is said of {} of {} items: {} {verb} no answer, because values are missing.",
            count(answered),
            count(all),
            count(without)
        )
    })
}

/// Those that have no index.
fn unknown(phase: &PhaseSummary, sizes: &[Size]) -> Option<String> {
    let without_steps = phase.without_steps();
    let parameters = phase.parameters.iter().zip(sizes);
    let names: Vec<&str> = parameters
        .filter(|(_, (size, _))| size.is_none())
        .map(|(parameter, _)| parameter.name.as_str())
        .filter(|name| !without_steps.contains(name))
        .collect();
    let has = |names: &[&str]| if names.len() == 1 { "has" } else { "have" };
    let mut said = Vec::new();
    if !names.is_empty() {
        let verb = has(&names);
        said.push(format!(
            "{} {verb} no index, because values are missing.",
            listed(&names)
        ));
    }
    if !without_steps.is_empty() {
        let verb = has(&without_steps);
        said.push(format!(
            "{} {verb} no effects: no step has a length.",
            listed(&without_steps)
        ));
    }
    (!said.is_empty()).then(|| said.join(" "))
}

/// The ones that the analysis cannot tell from none.
fn without_effect(phase: &PhaseSummary, sizes: &[Size], known: &[usize]) -> Option<String> {
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
                "cannot be distinguished from having no effect",
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
    let rows: Option<Vec<[f64; 4]>> = found
        .rows
        .iter()
        .map(|row| Some([row.s1?, row.s1_conf?, row.st?, row.st_conf?]))
        .collect();
    let rows = rows?;
    let sum: f64 = rows.iter().map(|[s1, ..]| s1).sum();
    // As though the S1 were independent, which they are not quite.
    let spread = rows
        .iter()
        .map(|[_, conf, ..]| conf * conf)
        .sum::<f64>()
        .sqrt();
    let adds_up = format!("The S1 add up to {} ± {}", number(sum), number(spread));
    if sum - spread > 1.0 {
        return Some(format!(
            "{adds_up}, and more than 1 there cannot be: there are too few samples to tell how much the parameters act together."
        ));
    }
    if sum + spread < 0.95 {
        return Some(format!(
            "{adds_up}: about {} % of the variance comes from parameters acting together.",
            short(((1.0 - sum.max(0.0)) * 100.0).round())
        ));
    }
    let is_alone = |[s1, s1_conf, st, st_conf]: &[f64; 4]| st - s1 <= s1_conf.max(*st_conf);
    (spread <= 0.1 && rows.iter().all(is_alone))
        .then(|| format!("{adds_up}: the parameters act one by one, with hardly any interplay."))
}
