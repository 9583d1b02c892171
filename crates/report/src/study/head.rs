//! The head of the page: what was asked, the answer, and what it took.
//!
//! Law: the first sentence answers the question of the study; everything below is there to check it.

use std::fmt::Write;

use headwater_graph::text::date;
use maud::{Markup, html};

use super::indices;
use super::say;
use super::sharing::Totals;
use super::summary::StudySummary;
use crate::page;
use crate::page::text::{count, counted, duration, number};

/// The head.
pub(super) fn section(summary: &StudySummary) -> Markup {
    let answer = match summary.phases.last() {
        Some(phase) => say::answer(phase, &summary.objective),
        None => "Nothing was evaluated.".to_owned(),
    };
    html! {
        header { "\n"
            p.kind { "Parameter study" } "\n"
            h1 { (summary.study) } "\n"
            p.answer { (answer) } "\n"
            @for doubt in &summary.doubts {
                p.warning { strong { "In doubt." } " " (page::prose(&say::sentence(doubt))) } "\n"
            }
            @if summary.facts.stopped {
                p.warning {
                    strong { "The run was stopped before it was done." }
                    " These results are from the evaluations that had ended; run the study again and only the rest is \
                     computed."
                } "\n"
            }
            (asked(summary))
            (took(summary))
            (contents(summary))
        } "\n"
    }
}

fn asked(summary: &StudySummary) -> Markup {
    let items = summary.items.len().max(1);
    let evaluations: usize = summary.phases.iter().map(|phase| phase.sets * items).sum();
    let failed: usize = summary.phases.iter().map(|phase| phase.failed.len()).sum();
    let sets: Vec<String> = summary
        .phases
        .iter()
        .map(|phase| count(phase.sets))
        .collect();
    let mut made = count(evaluations);
    if items > 1 {
        let _ = write!(
            made,
            " ({} sets × {} items)",
            sets.join(" + "),
            count(items)
        );
    } else if sets.len() > 1 {
        let _ = write!(made, " ({} sets)", sets.join(" + "));
    }
    if failed > 0 {
        let _ = write!(made, ", {} without a value", count(failed));
    }
    let varied = summary
        .phases
        .first()
        .map_or(0, |phase| phase.parameters.len());
    let mut entries = vec![
        ("Workflow", summary.workflow.clone()),
        ("Objective", summary.objective.clone()),
        ("Inputs", inputs(summary)),
        ("Method", summary.method.clone()),
        ("Parameters that vary", count(varied)),
        ("Evaluations", made),
        ("Seed", summary.seed.to_string()),
    ];
    if let [screen, kept] = summary.phases.as_slice() {
        entries[4].1 = format!(
            "{} in the screening, {} of them kept",
            count(screen.parameters.len()),
            count(kept.parameters.len())
        );
    }
    entries.retain(|(_, text)| !text.is_empty());
    page::terms(entries)
}

/// What the objective was computed from, and what it was compared with.
fn inputs(summary: &StudySummary) -> String {
    let inputs = summary.inputs.iter();
    let inputs: Vec<String> = inputs
        .map(|(name, words)| format!("{name}: {words}"))
        .collect();
    inputs.join("; ")
}

/// What it took: a few large figures.
fn took(summary: &StudySummary) -> Markup {
    let facts = &summary.facts;
    let totals = Totals::of(&facts.tasks);
    let mut figures = vec![(
        duration(facts.seconds),
        format!("on {}", counted(facts.cores, "core", "cores")),
    )];
    if totals.planned > 0 {
        figures.push((
            count(totals.executed),
            format!("tasks executed of {} asked for", count(totals.planned)),
        ));
    }
    if let Some(factor) = totals.factor() {
        let least = if totals.complete { "" } else { "at least " };
        figures.push((
            format!("{} ×", number(factor)),
            format!(
                "less work, by sharing: {least}{} of processor time saved",
                duration(totals.saved)
            ),
        ));
    } else if totals.saved > 0.0 {
        figures.push((
            duration(totals.saved),
            "of processor time saved: nothing had to run".to_owned(),
        ));
    }
    html! {
        (page::figures(figures))
        p.quiet { "Run " (facts.run) ", begun " (date(facts.started)) "." } "\n"
    }
}

fn contents(summary: &StudySummary) -> Markup {
    let mut links: Vec<(String, String)> = (0..summary.phases.len())
        .map(|position| {
            (
                format!("phase-{}", position + 1),
                indices::title(summary, position),
            )
        })
        .collect();
    let mut link = |here: bool, place: &str, words: &str| {
        if here {
            links.push((place.to_owned(), words.to_owned()));
        }
    };
    link(!summary.examples.is_empty(), "examples", "Examples");
    link(
        !summary.facts.tasks.is_empty(),
        "sharing",
        "What sharing saved",
    );
    link(true, "run", "How the run went");
    link(true, "reading", "How to read this");
    page::contents(links)
}
