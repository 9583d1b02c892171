//! What became of the tasks: the longest executions, and all tasks by stage.
//!
//! Law: every task is counted once, in the row of its definition; what is not known is a dash.

use maud::{Markup, html};

use super::summary::{RunSummary, RunTaskRow};
use crate::page;
use crate::page::table::{heads, number_cell, wide_table};
use crate::page::text::{ABSENT, bytes, count, cut, duration};

/// The executions that took longest; empty where nothing ran.
pub(super) fn slowest(summary: &RunSummary) -> Markup {
    if summary.slowest.is_empty() {
        return html! {};
    }
    let names = [
        ("task", false),
        ("state", false),
        ("start", true),
        ("took", true),
        ("processor time", true),
        ("peak memory", true),
    ];
    let rows = html! {
        (heads(names))
        tbody { "\n"
            @for execution in &summary.slowest {
                tr {
                    th scope="row" { (cut(&execution.address, 80)) }
                    td { (execution.state) }
                    (number_cell(duration(execution.start)))
                    (number_cell(duration(execution.seconds)))
                    (number_cell(measured(execution.cpu_seconds)))
                    (number_cell(execution.peak_memory.map_or(ABSENT.to_owned(), bytes)))
                } "\n"
            }
        }
    };
    let caption = if summary.timeline.executions > summary.slowest.len() {
        format!(
            "The {} of {} executions that took longest. Peak memory is measured for programs only, not for \
             native operations.",
            count(summary.slowest.len()),
            count(summary.timeline.executions)
        )
    } else {
        "All executions, the longest first. Peak memory is measured for programs only, not for native operations."
            .to_owned()
    };
    let table = wide_table("Slowest tasks", caption, &rows);
    page::section("slowest", "Slowest tasks", &table)
}

/// A time that was measured, if it was.
fn measured(seconds: f64) -> String {
    if seconds > 0.0 {
        duration(seconds)
    } else {
        ABSENT.to_owned()
    }
}

/// A column of counts: its name, and how many.
type Column = (&'static str, fn(&RunTaskRow) -> usize);

/// What may become of tasks; those columns are shown that have something in them.
const FATES: [Column; 7] = [
    ("executed", |row| row.tally.executed),
    ("of these again", |row| row.tally.restored),
    ("reused", |row| row.tally.reused),
    ("cut off", |row| row.tally.cut_off),
    ("failed", |row| row.tally.failed),
    ("blocked", |row| row.tally.blocked),
    ("not reached", |row| row.tally.left()),
];

/// All tasks by stage; empty where there are none.
pub(super) fn stages(summary: &RunSummary) -> Markup {
    let rows: Vec<&RunTaskRow> = summary.tasks.iter().filter(|row| !row.helper).collect();
    if rows.is_empty() {
        return html! {};
    }
    let shown: Vec<&Column> = FATES
        .iter()
        .filter(|(name, of)| {
            ["executed", "reused"].contains(name) || rows.iter().any(|row| of(row) > 0)
        })
        .collect();
    let saves = rows.iter().any(|row| row.tally.spared() > 0);
    let names = [("task", false), ("tasks", true)]
        .into_iter()
        .chain(shown.iter().map(|(name, _)| (*name, true)))
        .chain([
            ("work", true),
            ("processor time", true),
            ("longest", true),
            ("peak memory", true),
        ])
        .chain(saves.then_some(("saved", true)));
    let sum = |of: &dyn Fn(&RunTaskRow) -> f64| rows.iter().map(|row| of(row)).sum::<f64>();
    let saved: Option<f64> = rows.iter().map(|row| row.seconds_saved()).sum();
    let known: f64 = rows.iter().filter_map(|row| row.seconds_saved()).sum();
    let body = html! {
        (heads(names))
        tbody { "\n"
            @for row in &rows {
                tr {
                    th scope="row" { (cut(&row.name(), 60)) }
                    (number_cell(count(row.tally.tasks)))
                    @for (_, of) in &shown { (number_cell(some(of(row)))) }
                    (number_cell(measured(row.seconds)))
                    (number_cell(measured(row.cpu_seconds)))
                    (number_cell(measured(row.longest)))
                    (number_cell(row.peak_memory.map_or(ABSENT.to_owned(), bytes)))
                    @if saves { (number_cell(spared(row))) }
                } "\n"
            }
        }
        @if rows.len() > 1 {
            tfoot { tr {
                th scope="row" { "all" }
                (number_cell(count(rows.iter().map(|row| row.tally.tasks).sum())))
                @for (_, of) in &shown { (number_cell(some(rows.iter().map(|row| of(row)).sum()))) }
                (number_cell(measured(sum(&|row| row.seconds))))
                (number_cell(measured(sum(&|row| row.cpu_seconds))))
                (number_cell(measured(rows.iter().map(|row| row.longest).fold(0.0, f64::max))))
                (number_cell(rows.iter().filter_map(|row| row.peak_memory).max().map_or(ABSENT.to_owned(), bytes)))
                @if saves {
                    (number_cell(match saved {
                        Some(saved) => duration(saved),
                        None => format!("≥\u{202f}{}", duration(known)),
                    }))
                }
            } }
        }
    };
    let table = wide_table("Tasks by stage", caption(summary, &shown), &body);
    page::section("stages", "Tasks by stage", &table)
}

/// A count; nothing stands where there is none, so that the others are seen.
fn some(many: usize) -> String {
    if many == 0 {
        "·".to_owned()
    } else {
        count(many)
    }
}

fn spared(row: &RunTaskRow) -> String {
    match (row.tally.spared(), row.seconds_saved()) {
        (0, _) => "·".to_owned(),
        (_, Some(saved)) => duration(saved),
        (_, None) => ABSENT.to_owned(),
    }
}

fn caption(summary: &RunSummary, shown: &[&Column]) -> String {
    let mut said =
        "What became of the tasks. Work is the time of all executions, one after the other."
            .to_owned();
    let has = |name: &str| shown.iter().any(|(known, _)| *known == name);
    if summary.tasks.iter().any(|row| row.tally.spared() > 0) {
        said += " Reused: remembered, or needed only for what is. Saved: the processor time that those took when they were made that did not run here.";
    }
    if has("cut off") {
        said += " Cut off: new, but the same operation on the same contents was there.";
    }
    if has("of these again") {
        said += " Again: remembered, but what they had made was gone and something needed it.";
    }
    if has("blocked") {
        said += " Blocked: something that they need failed.";
    }
    said
}
