//! What sharing saved.
//!
//! Law: each task that the sets ask for is counted once among what became of it; times that were not measured are not made
//! up.

use std::fmt::Write;

use maud::{Markup, html};

use super::summary::{StudySummary, TaskFacts};
use crate::page;
use crate::page::svg::{Room, bar, chart, legend, name_room, row_name, stacked};
use crate::page::table::{heads, number_cell, wide_table};
use crate::page::text::{ABSENT, count, counted, duration, number};

/// How many tasks something became of.
type Many = fn(&TaskFacts) -> usize;

/// What became of tasks: words, class, and how many.
type Fate = (&'static str, &'static str, Many);

/// All that may become of a task.
const FATES: [Fate; 5] = [
    ("executed", "c0", |task| task.tally.executed),
    ("shared between sets", "c1", |task| {
        task.spared().saturating_sub(task.tally.spared())
    }),
    ("equal by content", "c2", |task| task.tally.cut_off),
    ("remembered", "c3", |task| task.tally.reused),
    ("failed, blocked or not reached", "c4", |task| task.unmet),
];

/// What all tasks come to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Totals {
    pub(super) planned: usize,
    pub(super) executed: usize,
    /// Seconds of processor time of those that ran.
    pub(super) spent: f64,
    /// Seconds of processor time that those took when they were made that need not run, as far as it is known.
    pub(super) saved: f64,
    /// Whether that is known of all of them.
    pub(super) complete: bool,
}

impl Totals {
    pub(super) fn of(tasks: &[TaskFacts]) -> Totals {
        let saved: Vec<Option<f64>> = tasks.iter().map(TaskFacts::seconds_saved).collect();
        Totals {
            planned: tasks.iter().map(|task| task.planned).sum(),
            executed: tasks.iter().map(|task| task.tally.executed).sum(),
            spent: tasks.iter().map(|task| task.cpu_seconds).sum(),
            saved: saved.iter().flatten().sum(),
            complete: saved.iter().all(Option::is_some),
        }
    }

    /// How many times as much everything would have taken.
    pub(super) fn factor(&self) -> Option<f64> {
        let factor = (self.spent + self.saved) / self.spent;
        (self.spent > 0.0 && factor.is_finite()).then_some(factor)
    }
}

/// The section; empty where no task is known.
pub(super) fn section(summary: &StudySummary) -> Markup {
    let tasks = &summary.facts.tasks;
    if tasks.is_empty() {
        return html! {};
    }
    let body = html! {
        p { (in_words(summary)) } "\n"
        (bars(tasks))
        (table(tasks))
    };
    page::section("sharing", "What sharing saved", &body)
}

fn in_words(summary: &StudySummary) -> String {
    let totals = Totals::of(&summary.facts.tasks);
    let mut said = format!(
        "The study asks for {}; {} executed. ",
        counted(totals.planned, "task", "tasks"),
        match totals.executed {
            1 => "1 was".to_owned(),
            many => format!("{} were", count(many)),
        }
    );
    let known = if totals.complete {
        ""
    } else {
        "as far as costs are known, "
    };
    match totals.factor() {
        Some(factor) => {
            let _ = write!(
                said,
                "What ran took {} of processor time; {known}all of them, one by one, would have taken {}: {} times as much.",
                duration(totals.spent),
                duration(totals.spent + totals.saved),
                number(factor)
            );
        }
        None if totals.saved > 0.0 => {
            let _ = write!(
                said,
                "Nothing had to be computed; {known}all of them, one by one, would have taken {} of processor time.",
                duration(totals.saved)
            );
        }
        None => {}
    }
    if !summary.facts.sharing.is_empty() {
        let _ = write!(said, " Shared: {}.", summary.facts.sharing);
    }
    if summary.facts.recomputed > 0 {
        let _ = write!(
            said,
            " {} run again because what had been made was not kept.",
            counted(summary.facts.recomputed, "task was", "tasks were")
        );
    }
    said
}

fn name(task: &TaskFacts) -> String {
    format!("{}.{}", task.stage, task.task)
}

/// Whether any task met a fate.
fn met(tasks: &[TaskFacts], (_, _, many): &Fate) -> bool {
    tasks.iter().any(|task| many(task) > 0)
}

fn bars(tasks: &[TaskFacts]) -> Markup {
    const ROW: usize = 22;
    let (left, most) = name_room(tasks.iter().map(|task| task.task.as_str()));
    let parts = |task: &TaskFacts| {
        let all: usize = FATES.iter().map(|(_, _, many)| many(task)).sum();
        stacked(FATES.map(|fate @ (_, _, many)| (fate, many(task) as f64 / all as f64)))
    };
    let marks = html! {
        @for (position, task) in tasks.iter().enumerate() {
            @let top = position * ROW;
            (row_name(&task.task, most, top + 15))
            @for ((words, class, many), from, part) in parts(task) {
                @let words = format!("{}: {words} {}", name(task), count(many(task)));
                (bar(class, (from, part), ((top + 2) as f64, 16.0), Some(&words)))
            }
        }
    };
    let room = Room {
        top: 2,
        right: 4,
        bottom: 6,
        left,
    };
    let title = "What became of the tasks that the parameter sets ask for, by task; the table has the numbers";
    let colours = FATES.iter().filter(|fate| met(tasks, fate));
    let drawn = html! {
        (chart(title, ROW * tasks.len(), room, &marks))
        (legend(colours.map(|(words, class, _)| (*class, *words))))
    };
    page::figure(
        &drawn,
        "What became of the tasks that the sets ask for, in parts of all of them.",
    )
}

fn table(tasks: &[TaskFacts]) -> Markup {
    let mut counts: Vec<(&str, Many)> = vec![
        ("asked for", |task| task.planned),
        ("distinct", |task| task.tally.tasks),
        ("executed", |task| task.tally.executed),
        ("equal by content", |task| task.tally.cut_off),
        ("remembered", |task| task.tally.reused),
    ];
    // Of those that are rarely met, the columns stand only where there is something in them.
    let rare = FATES[4..].iter().filter(|fate| met(tasks, fate));
    counts.extend(rare.map(|(words, _, many)| (*words, *many)));
    let columns = counts.iter().map(|(words, _)| (*words, true));
    let columns = [("task", false)].into_iter().chain(columns);
    let totals = Totals::of(tasks);
    let rows = html! {
        (heads(columns.chain([("processor time", true), ("saved", true)])))
        tbody { "\n"
            @for task in tasks {
                tr {
                    th scope="row" { (name(task)) }
                    @for (_, many) in &counts { (number_cell(count(many(task)))) }
                    (number_cell(duration(task.cpu_seconds)))
                    (number_cell(task.seconds_saved().map_or_else(|| ABSENT.to_owned(), duration)))
                } "\n"
            }
        } "\n"
        tfoot { tr {
            th scope="row" { "all" }
            @for (_, many) in &counts { (number_cell(count(tasks.iter().map(many).sum()))) }
            (number_cell(duration(totals.spent)))
            td.n { @if !totals.complete { "≥ " } (duration(totals.saved)) }
        } } "\n"
    };
    wide_table(
        "Reuse by task",
        "Reuse by task of the workflow. Asked for: by all sets and items. Distinct: those that differ in what they are given. \
         Equal by content: their inputs turned out to be the same. Saved: the processor time that those took when they were \
         made that did not run here.",
        &rows,
    )
}
