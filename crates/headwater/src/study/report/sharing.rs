//! What sharing saved.
//!
//! Law: each task that the sets ask for is counted once among what became of it; times that were not measured are not made
//! up.

use super::raw::{chart, cut, escape, heads, legend, number_cell, wide_table};
use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use crate::page;

use super::super::summary::{StudySummary, TaskFacts};

use crate::page::svg::{Room, name_room, percent};
use crate::page::text::{ABSENT, count, counted, duration, number};

/// What became of tasks: words, class, and how many.
type Fate = (&'static str, &'static str, fn(&TaskFacts) -> usize);

/// All that may become of a task.
const FATES: [Fate; 5] = [
    ("executed", "c0", |task| task.executed),
    ("shared between sets", "c1", |task| {
        task.spared().saturating_sub(task.cut_off + task.remembered)
    }),
    ("equal by content", "c2", |task| task.cut_off),
    ("remembered", "c3", |task| task.remembered),
    ("failed, blocked or not come to", "c4", |task| task.unmet),
];

/// What all tasks come to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Totals {
    pub(super) planned: usize,
    pub(super) executed: usize,
    pub(super) seconds: f64,
    /// What those took that need not run, as far as it is known.
    pub(super) saved: f64,
    /// Whether that is known of all of them.
    pub(super) complete: bool,
}

impl Totals {
    pub(super) fn of(tasks: &[TaskFacts]) -> Totals {
        let saved: Vec<Option<f64>> = tasks.iter().map(TaskFacts::seconds_saved).collect();
        Totals {
            planned: tasks.iter().map(|task| task.planned).sum(),
            executed: tasks.iter().map(|task| task.executed).sum(),
            seconds: tasks.iter().map(|task| task.seconds).sum(),
            saved: saved.iter().flatten().sum(),
            complete: saved.iter().all(Option::is_some),
        }
    }

    /// How many times as long everything would have taken.
    pub(super) fn factor(&self) -> Option<f64> {
        let factor = (self.seconds + self.saved) / self.seconds;
        (self.seconds > 0.0 && factor.is_finite()).then_some(factor)
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
        (PreEscaped(bars(tasks)))
        (PreEscaped(table(tasks)))
    };
    page::section("sharing", "What sharing saved", &body)
}

fn in_words(summary: &StudySummary) -> String {
    let totals = Totals::of(&summary.facts.tasks);
    let mut said = format!(
        "The parameter sets ask for {}; {} ran. ",
        counted(totals.planned, "task", "tasks"),
        count(totals.executed)
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
                "They took {} of work; {known}all of them, one by one, would have taken {}: {} times as long.",
                duration(totals.seconds),
                duration(totals.seconds + totals.saved),
                number(factor)
            );
        }
        None if totals.saved > 0.0 => {
            let _ = write!(
                said,
                "Nothing had to be computed; {known}all of them, one by one, would have taken {}.",
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
            " {} run again because what had been made was dropped or damaged.",
            counted(summary.facts.recomputed, "task was", "tasks were")
        );
    }
    said
}

fn name(task: &TaskFacts) -> String {
    format!("{}.{}", task.stage, task.task)
}

/// The fates that anything met.
fn met(tasks: &[TaskFacts]) -> impl Iterator<Item = &'static Fate> {
    FATES
        .iter()
        .filter(|(_, _, many)| tasks.iter().any(|task| many(task) > 0))
}

fn bars(tasks: &[TaskFacts]) -> String {
    let names: Vec<String> = tasks.iter().map(|task| task.task.clone()).collect();
    let (left, most) = name_room(names.iter().map(String::as_str));
    let row = 22;
    let height = row * tasks.len();
    let mut marks = String::new();
    for (position, task) in tasks.iter().enumerate() {
        let top = position * row;
        let _ = writeln!(
            marks,
            "<text class=\"name\" x=\"0\" dx=\"-8\" y=\"{}\" text-anchor=\"end\">{}</text>",
            top + 15,
            cut(&task.task, most)
        );
        let all: usize = FATES.iter().map(|(_, _, many)| many(task)).sum();
        let mut from = 0.0;
        for (words, class, many) in FATES {
            let many = many(task);
            if many == 0 {
                continue;
            }
            let part = many as f64 / all as f64;
            let _ = writeln!(
                marks,
                "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"16\"><title>{}: {words} {}</title></rect>",
                percent(from),
                top + 2,
                percent(part),
                escape(&name(task)),
                count(many)
            );
            from += part;
        }
    }
    let room = Room {
        top: 2,
        right: 4,
        bottom: 6,
        left,
    };
    let drawn = chart(
        "What became of the tasks that the parameter sets ask for, by task; the table has the numbers",
        height,
        room,
        &marks,
    );
    let legend = legend(met(tasks).map(|(words, class, _)| (*class, *words)));
    format!(
        "<figure>\n{drawn}{legend}<figcaption>What became of the tasks that the sets ask for, in parts of all of them.</figcaption>\n</figure>\n"
    )
}

fn table(tasks: &[TaskFacts]) -> String {
    // Of those that are rarely met, the columns stand only where there is something in them.
    let rare: Vec<&Fate> = FATES[4..]
        .iter()
        .filter(|(_, _, many)| tasks.iter().any(|task| many(task) > 0))
        .collect();
    let mut columns = vec![
        ("task", false),
        ("asked for", true),
        ("distinct", true),
        ("executed", true),
        ("equal by content", true),
        ("remembered", true),
    ];
    columns.extend(rare.iter().map(|(words, _, _)| (*words, true)));
    columns.extend([("time spent", true), ("time saved", true)]);
    let mut rows = heads(columns) + "<tbody>\n";
    for task in tasks {
        let _ = write!(rows, "<tr><th scope=\"row\">{}</th>", escape(&name(task)));
        for many in [
            task.planned,
            task.distinct,
            task.executed,
            task.cut_off,
            task.remembered,
        ] {
            rows += &number_cell(&count(many));
        }
        for (_, _, many) in &rare {
            rows += &number_cell(&count(many(task)));
        }
        rows += &number_cell(&duration(task.seconds));
        rows += &number_cell(
            &task
                .seconds_saved()
                .map_or_else(|| ABSENT.to_owned(), duration),
        );
        rows += "</tr>\n";
    }
    let totals = Totals::of(tasks);
    let sum = |many: &dyn Fn(&TaskFacts) -> usize| count(tasks.iter().map(many).sum());
    rows += "</tbody>\n<tfoot><tr><th scope=\"row\">all</th>";
    rows += &number_cell(&sum(&|task| task.planned));
    rows += &number_cell(&sum(&|task| task.distinct));
    rows += &number_cell(&sum(&|task| task.executed));
    rows += &number_cell(&sum(&|task| task.cut_off));
    rows += &number_cell(&sum(&|task| task.remembered));
    for (_, _, many) in &rare {
        rows += &number_cell(&sum(&|task| many(task)));
    }
    rows += &number_cell(&duration(totals.seconds));
    let saved = duration(totals.saved);
    rows += &number_cell(&if totals.complete {
        saved
    } else {
        format!("≥ {saved}")
    });
    rows += "</tr></tfoot>\n";
    wide_table(
        "Reuse by task",
        "Reuse by task of the workflow. Asked for: by all sets and items. Distinct: those that differ in what they are given. \
         Equal by content: their inputs turned out to be the same. Time saved: what those took that did not run, by the mean \
         of those that did.",
        &rows,
    )
}
