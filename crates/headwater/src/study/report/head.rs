//! The head of the page: what was asked, the answer, and what it took.
//!
//! Law: the first sentence answers the question of the study; everything below is there to check it.

use std::fmt::Write;

use super::super::summary::StudySummary;
use super::indices;
use super::say;
use super::sharing::Totals;
use super::text::{count, counted, duration, escape, number};
use crate::identifier::date;

/// The head.
pub(super) fn section(summary: &StudySummary) -> String {
    let mut page = format!(
        "<header>\n<p class=\"kind\">Parameter study</p>\n<h1>{}</h1>\n",
        escape(&summary.study)
    );
    let answer = match summary.phases.last() {
        Some(phase) => say::answer(phase, &summary.objective),
        None => "Nothing was evaluated.".to_owned(),
    };
    let _ = writeln!(page, "<p class=\"answer\">{}</p>", escape(&answer));
    if summary.facts.stopped {
        page += "<p class=\"warning\"><strong>The run was stopped before it was done.</strong> What stands here is from what \
                 was evaluated by then; run the study again and only the rest is computed.</p>\n";
    }
    page += &asked(summary);
    page += &took(summary);
    page += &contents(summary);
    page += "</header>\n";
    page
}

/// Terms and what they are.
fn terms<'t>(entries: impl IntoIterator<Item = (&'t str, String)>) -> String {
    let mut list = String::from("<dl>\n");
    for (term, text) in entries {
        let _ = writeln!(list, "<div><dt>{term}</dt><dd>{}</dd></div>", escape(&text));
    }
    list.push_str("</dl>\n");
    list
}

fn asked(summary: &StudySummary) -> String {
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
        ("Method", summary.method.clone()),
        ("Parameters that vary", count(varied)),
        ("Evaluations", made),
        ("Seed", summary.seed.to_string()),
    ];
    if let [screen, kept] = summary.phases.as_slice() {
        entries[3].1 = format!(
            "{} in the screening, {} of them kept",
            count(screen.parameters.len()),
            count(kept.parameters.len())
        );
    }
    terms(entries)
}

/// What it took: a few large figures.
fn took(summary: &StudySummary) -> String {
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
                "less work, by sharing: {least}{} saved",
                duration(totals.saved)
            ),
        ));
    } else if totals.saved > 0.0 {
        figures.push((
            duration(totals.saved),
            "of work saved: nothing had to run".to_owned(),
        ));
    }
    let mut list = String::from("<ul class=\"figures\">");
    for (figure, words) in figures {
        let _ = write!(
            list,
            "<li><strong>{}</strong> {}</li>",
            escape(&figure),
            escape(&words)
        );
    }
    list.push_str("</ul>\n");
    let _ = writeln!(
        list,
        "<p class=\"quiet\">Run {}, begun {}.</p>",
        escape(&facts.run),
        date(facts.started)
    );
    list
}

fn contents(summary: &StudySummary) -> String {
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
    let mut list = String::from("<nav aria-label=\"Contents\"><ul>");
    for (place, words) in links {
        let _ = write!(list, "<li><a href=\"#{place}\">{}</a></li>", escape(&words));
    }
    list.push_str("</ul></nav>\n");
    list
}
