//! What is left to say: notes, failures, what the indices mean, and how to get them again.
//!
//! Law: only what the study shows is explained.

use super::raw::escape;
use std::fmt::Write;

use super::super::summary::{Indices, PhaseKind, StudySummary};
use crate::page::text::short;

/// Notes and failures; empty where there are none.
pub(super) fn notes(summary: &StudySummary) -> String {
    let facts = &summary.facts;
    let mut page = String::new();
    if !facts.notes.is_empty() {
        page += "<section id=\"notes\" aria-labelledby=\"notes-title\">\n<h2 id=\"notes-title\">Notes</h2>\n<ul>\n";
        for note in &facts.notes {
            let _ = writeln!(page, "<li>{}</li>", escape(note));
        }
        page += "</ul>\n</section>\n";
    }
    if !facts.failures.is_empty() {
        page += "<section id=\"failures\" aria-labelledby=\"failures-title\">\n<h2 id=\"failures-title\">What failed</h2>\n";
        for failure in &facts.failures {
            let _ = writeln!(page, "<pre>{}</pre>", escape(failure));
        }
        page += "</section>\n";
    }
    page
}

/// What the indices mean, and how to get them again.
pub(super) fn section(summary: &StudySummary) -> String {
    let has = |kind: PhaseKind| summary.phases.iter().any(|phase| phase.kind == kind);
    let mut terms: Vec<(&str, &str)> = Vec::new();
    if has(PhaseKind::Moat) {
        terms.extend([
            (
                "Effect",
                "One parameter takes a step, all others stay. The effect is the change of the objective divided by the length \
                 of the step, where the whole range of the parameter has length 1. The step is taken once in each trajectory, \
                 each time from another place.",
            ),
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
            "The share of the variance that two parameters have together beyond what each has by itself.",
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
        format!(
            "Effects or base points are drawn again from those that there are, many times, and the index is computed each \
             time. The interval is as wide as the normal distribution with the same spread needs to cover {} %. It says how much \
             the index would move with other samples; it does not say whether the ranges were well chosen. If the intervals of \
             two parameters overlap, their order may be chance.",
            short(share * 100.0)
        )
    });
    let mut page = String::from(
        "<section id=\"reading\" aria-labelledby=\"reading-title\">\n<h2 id=\"reading-title\">How to read this</h2>\n",
    );
    if !terms.is_empty() {
        page += "<dl class=\"words\">\n";
        let interval = interval.as_deref().map(|text| ("Interval (±)", text));
        for (term, text) in terms.into_iter().chain(interval) {
            let _ = writeln!(page, "<div><dt>{term}</dt><dd>{}</dd></div>", escape(text));
        }
        page += "</dl>\n";
    }
    let _ = writeln!(
        page,
        "<p>All of this holds within the ranges that the study gives its parameters, and for {} alone.</p>\n\
         <h3>To get this again</h3>\n<p><code>headwater study run FILE</code>, where FILE is the file of the study <em>{}</em>, gives the same \
         tables and charts of indices: its parameter sets follow from seed {}. What has been computed once is remembered and \
         not computed again. The numbers stand in <code>results.json</code> beside this file, in the shapes of SALib.</p>\n</section>",
        escape(&summary.objective),
        escape(&summary.study),
        summary.seed
    );
    page
}
