//! When what was running, and what had been foreseen.
//!
//! Law: a timeline adds up: cores at work times time is the work of the tasks. It is made coarser for display, never
//! smoother.

use super::raw::{axis_below, axis_left, chart, escape, heads, legend, number_cell, wide_table};
use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use crate::page;

use super::super::summary::{StudyFacts, StudySummary};

use crate::page::svg::{COLOURS, Room, Scale, from_zero, length, percent};
use crate::page::text::{count, duration, number, short};

/// At most so many slices are drawn.
const SLICES: usize = 120;

/// The section.
pub(super) fn section(summary: &StudySummary) -> Markup {
    let facts = &summary.facts;
    let body = html! { (PreEscaped(drawn(facts))) (PreEscaped(forecast(facts))) };
    page::section("run", "How the run went", &body)
}

/// Slices and their length, coarse enough to be drawn: by slice, cores at work by task.
fn coarse(facts: &StudyFacts) -> (f64, Vec<Vec<f64>>) {
    let timeline = &facts.timeline;
    let together = timeline.slices.len().div_ceil(SLICES).max(1);
    let slices = timeline.slices.chunks(together).map(|chunk| {
        let mut cores = vec![0.0; facts.tasks.len()];
        for (task, at_work) in chunk.iter().flatten() {
            if let Some(sum) = cores.get_mut(*task) {
                *sum += at_work / together as f64;
            }
        }
        cores
    });
    (timeline.slice * together as f64, slices.collect())
}

fn drawn(facts: &StudyFacts) -> String {
    const HEIGHT: usize = 170;
    let (slice, slices) = coarse(facts);
    let end = slice * slices.len() as f64;
    let total = |task: usize| slices.iter().map(|cores| cores[task]).sum::<f64>();
    let mut ran: Vec<usize> = (0..facts.tasks.len())
        .filter(|task| total(*task) > 0.0)
        .collect();
    if ran.is_empty() || !(end.is_finite() && end > 0.0) {
        return "<p>There is no timeline: no task ran.</p>\n".to_owned();
    }
    // Those that took longest have a colour of their own, in the order of the workflow.
    let mut longest = ran.clone();
    longest.sort_by(|one, other| total(*other).total_cmp(&total(*one)));
    longest.truncate(COLOURS);
    ran.retain(|task| longest.contains(task));
    let (unit, name) = match end {
        short if short < 300.0 => (1.0, "seconds"),
        middle if middle < 18_000.0 => (60.0, "minutes"),
        _ => (3600.0, "hours"),
    };
    let x = Scale::linear(0.0, end / unit);
    let highest = slices.iter().map(|cores| cores.iter().sum::<f64>());
    let y = from_zero(highest.chain([facts.cores as f64]));
    let mut marks = axis_left(y, &whole(y.ticks(5)), HEIGHT, "cores at work", 10);
    marks += &axis_below(x, &x.ticks(5), HEIGHT, name);
    let wide = 1.0 / slices.len() as f64;
    for (position, cores) in slices.iter().enumerate() {
        let mut under = 0.0;
        let mut bar = |class: &str, many: f64| {
            if many <= 0.0 {
                return;
            }
            let (low, high) = (y.at(under), y.at(under + many));
            under += many;
            let _ = writeln!(
                marks,
                "<rect class=\"{class}\" x=\"{}\" width=\"{}\" y=\"{}\" height=\"{}\"/>",
                percent(position as f64 * wide),
                percent(wide * 1.01),
                length(HEIGHT as f64 * (1.0 - high)),
                length(HEIGHT as f64 * (high - low))
            );
        };
        for (colour, task) in ran.iter().enumerate() {
            bar(&format!("c{colour}"), cores[*task]);
        }
        let others = cores
            .iter()
            .enumerate()
            .filter(|(task, _)| !ran.contains(task));
        bar("others", others.map(|(_, many)| many).sum());
    }
    if facts.cores > 0 {
        let top = length(HEIGHT as f64 * (1.0 - y.at(facts.cores as f64)));
        let _ = writeln!(
            marks,
            "<line class=\"mark\" x1=\"0\" x2=\"100%\" y1=\"{top}\" y2=\"{top}\"/>"
        );
    }
    let room = Room {
        top: 30,
        right: 14,
        bottom: 42,
        left: 46,
    };
    let drawn = chart(
        "Cores at work by task over the time of the run",
        HEIGHT,
        room,
        &marks,
    );
    let classes: Vec<(String, String)> = ran
        .iter()
        .enumerate()
        .map(|(colour, task)| {
            let task = &facts.tasks[*task];
            (
                format!("c{colour}"),
                format!("{}.{}", task.stage, task.task),
            )
        })
        .chain(
            (0..facts.tasks.len())
                .any(|task| total(task) > 0.0 && !ran.contains(&task))
                .then(|| ("others".to_owned(), "others".to_owned())),
        )
        .collect();
    let legend = legend(
        classes
            .iter()
            .map(|(class, words)| (class.as_str(), words.as_str())),
    );
    let work: f64 = facts.tasks.iter().map(|task| task.seconds).sum();
    let busy = work / (facts.running_seconds * facts.cores as f64);
    let busy = if busy.is_finite() && busy > 0.0 {
        format!(
            " Tasks were running for {}; {} % of that time, times cores, was work.",
            duration(facts.running_seconds),
            short((busy * 100.0).round())
        )
    } else {
        String::new()
    };
    format!(
        "<figure>\n{drawn}{legend}<figcaption>What was running when, in slices of {}; the line is the number of cores ({}).{busy}</figcaption>\n</figure>\n",
        duration(slice),
        count(facts.cores)
    )
}

/// Cores are counted whole.
fn whole(ticks: Vec<f64>) -> Vec<f64> {
    ticks
        .into_iter()
        .filter(|tick| tick.fract() == 0.0)
        .collect()
}

fn forecast(facts: &StudyFacts) -> String {
    let Some(forecast) = &facts.forecast else {
        return "<p>No forecast: nothing of it had been measured before, or nothing was looked up.</p>\n".to_owned();
    };
    let (executed, work, seconds) = forecast.fact;
    let ratio = |foreseen: f64, came: f64| {
        let ratio = came / foreseen;
        if foreseen > 0.0 && ratio.is_finite() {
            number(ratio)
        } else {
            "—".to_owned()
        }
    };
    let mut rows = heads([
        ("", false),
        ("forecast", true),
        ("fact", true),
        ("fact ÷ forecast", true),
    ]) + "<tbody>\n";
    let mut row = |name: &str, foreseen: String, came: String, ratio: String| {
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{name}</th>{}{}{}</tr>",
            number_cell(&foreseen),
            number_cell(&came),
            number_cell(&ratio)
        );
    };
    row(
        "tasks to execute, at most",
        count(forecast.tasks),
        count(executed),
        ratio(forecast.tasks as f64, executed as f64),
    );
    row(
        "work",
        duration(forecast.work_seconds),
        duration(work),
        ratio(forecast.work_seconds, work),
    );
    row(
        "time until done",
        duration(forecast.seconds),
        duration(seconds),
        ratio(forecast.seconds, seconds),
    );
    rows += "</tbody>\n";
    let caption = format!(
        "Forecast against fact, for the first phase. The forecast is made from {}; it does not foresee what turns out to be equal by content.",
        escape(&forecast.from)
    );
    wide_table("Forecast against fact", &caption, &rows)
}
