//! What is left to say: notes, failures, what the indices mean, and how to get them again.
//!
//! Law: only what the study shows is explained.

use maud::{Markup, html};

use super::effect::UNORDERED_EFFECT;
use super::say::{nominal, sentence};
use super::summary::{EffectStep, Indices, PhaseKind, PhaseSummary, StudySummary};
use crate::page;
use crate::page::text::short;

/// Notes and failures; empty where there are none.
pub(super) fn notes(summary: &StudySummary) -> Markup {
    let facts = &summary.facts;
    let notes =
        html! { ul { "\n" @for note in &facts.notes { li { (page::prose(note)) } "\n" } } "\n" };
    let causes = if facts.causes.is_empty() {
        &facts.failures
    } else {
        &facts.causes
    };
    let failures = html! { @for cause in causes { pre { (cause) } "\n" } };
    html! {
        @if !facts.notes.is_empty() { (page::section("notes", "Notes", &notes)) }
        @if !facts.failures.is_empty() { (page::section("failures", "What failed", &failures)) }
    }
}

/// What an effect is.
fn effect(screen: &PhaseSummary) -> String {
    let divided = sentence(screen.effect_in_words().unwrap_or_default());
    let more = match (screen.step, screen.levels) {
        (EffectStep::Actual, _) => {
            " Numbers are as far apart as they are, on a grid or in a list. A step that ends at the value where it \
             started gives no effect and is left out."
                .to_owned()
        }
        (EffectStep::Nominal, Some(levels)) => format!(
            " It is {} for all, half of the {levels} levels of the design. A parameter with fewer values than levels takes the \
             value nearest to each level; its own step may be longer or shorter, and is not what is divided by.",
            nominal(levels)
        ),
        (EffectStep::Nominal, None) => {
            " Neighbouring values of a parameter are the same step apart, whatever numbers they are.".to_owned()
        }
    };
    let unordered = if screen.unordered().is_empty() {
        String::new()
    } else {
        format!(" {}", sentence(UNORDERED_EFFECT))
    };
    format!(
        "One parameter takes a step, all others stay. {divided}{more}{unordered} The step is taken once in each trajectory, each \
         time from another place."
    )
}

/// What the indices mean, and how to get them again.
pub(super) fn section(summary: &StudySummary) -> Markup {
    let has = |kind: PhaseKind| summary.phases.iter().any(|phase| phase.kind == kind);
    let mut terms: Vec<(&str, &str)> = Vec::new();
    let screen = summary
        .phases
        .iter()
        .find(|phase| phase.kind == PhaseKind::Moat);
    let effect = screen.map_or_else(String::new, effect);
    if has(PhaseKind::Moat) {
        terms.extend([
            ("Effect", effect.as_str()),
            (
                "μ*",
                "The mean of the sizes of a parameter’s effects, signs dropped. It says how much the parameter matters; the \
                 table is sorted by it. It has the unit of the objective.",
            ),
            (
                "μ",
                "The mean of the effects with their signs. If it is close to μ* or −μ*, the objective rises or falls \
                 throughout; if it is much smaller, effects of both signs cancel out.",
            ),
            (
                "σ",
                "The standard deviation of the effects. Zero means that the effect is the same everywhere; large beside μ* \
                 means that it depends on where the step is taken: on the values of other parameters, or on its own.",
            ),
        ]);
    }
    if has(PhaseKind::Vbd) {
        terms.extend([
            (
                "S1",
                "The share of the variance of the objective that would go away on average if this parameter were known: what \
                 it does by itself.",
            ),
            (
                "ST",
                "The share of the variance that would remain if all others were known: what the parameter does by itself and \
                 together with others. The table is sorted by it. An ST of about zero means that the parameter may be held at \
                 any value.",
            ),
        ]);
    }
    if summary
        .phases
        .iter()
        .any(|phase| matches!(&phase.pooled, Indices::Vbd(found) if !found.pairs.is_empty()))
    {
        terms.push((
            "S2",
            "The share of the variance that two parameters have together beyond what each has by itself. Only a pair whose \
             interval lies above zero certainly has a joint effect.",
        ));
    }
    if has(PhaseKind::Vbd) {
        terms.push((
            "Below zero",
            "Shares are estimated from samples. Small ones may come out a little below zero; their intervals then hold zero.",
        ));
    }
    let share = summary
        .phases
        .iter()
        .rev()
        .find_map(|phase| phase.confidence);
    let interval = share.map(|share| {
        let text = format!(
            "Effects or base points are drawn again from those that there are, many times, and it is seen how many of its own \
             standard errors the index then lies off. The interval is as many standard errors wide as hold {} % of these, and \
             never narrower than Student’s for as few values. It says how much the index would move with other samples; it does \
             not say whether the ranges were well chosen, nor how much other \
             items would change it. If the intervals of \
             two parameters overlap, their order may be chance.",
            short(share * 100.0)
        );
        ("Interval (±)", text)
    });
    let explained = !terms.is_empty();
    let terms = terms
        .into_iter()
        .map(|(term, text)| (term, text.to_owned()));
    let body = html! {
        @if explained { (page::meanings(terms.chain(interval))) }
        p {
            "All of this holds within the ranges that the study gives its parameters, and for " (summary.objective)
            " alone."
        } "\n"
        h3 { "To get this again" } "\n"
        p {
            code { "headwater study run FILE" } ", where FILE is the file of the study " em { (summary.study) }
            ", gives the same tables and charts of indices: its parameter sets follow from seed " (summary.seed)
            ". What has been computed once is remembered and not computed again. The numbers are in "
            code { "results.json" } " beside this file, in the shapes of SALib."
        } "\n"
    };
    page::section("reading", "How to read this", &body)
}
