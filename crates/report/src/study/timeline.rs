//! When what was running, and what had been foreseen.
//!
//! Law: a timeline adds up: cores at work times time is the work of the tasks. It is made coarser for display, never
//! smoother.

use maud::{Markup, html};

use super::summary::{StudyFacts, StudySummary};
use crate::page;
use crate::page::svg::{
    COLOURS, Room, Scale, axis_below, axis_left, bar, chart, from_zero, legend, length, stacked,
};
use crate::page::table::{heads, number_cell, wide_table};
use crate::page::text::{ABSENT, count, duration, number, short};

/// At most so many slices are drawn.
const SLICES: usize = 120;

/// The section.
pub(super) fn section(summary: &StudySummary) -> Markup {
    let facts = &summary.facts;
    let body = html! { (drawn(facts)) (forecast(facts)) };
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

fn drawn(facts: &StudyFacts) -> Markup {
    const HEIGHT: usize = 170;
    let (slice, slices) = coarse(facts);
    let end = slice * slices.len() as f64;
    let total = |task: usize| slices.iter().map(|cores| cores[task]).sum::<f64>();
    let mut ran: Vec<usize> = (0..facts.tasks.len())
        .filter(|task| total(*task) > 0.0)
        .collect();
    if ran.is_empty() || !(end.is_finite() && end > 0.0) {
        return html! { p { "There is no timeline: no task ran." } "\n" };
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
    let wide = 1.0 / slices.len() as f64;
    let classes: Vec<String> = (0..ran.len()).map(|colour| format!("c{colour}")).collect();
    let stack = |cores: &[f64]| {
        let own = classes.iter().zip(&ran);
        let own = own.map(|(class, task)| (class.as_str(), cores[*task]));
        let others = cores.iter().enumerate();
        let others = others.filter(|(task, _)| !ran.contains(task));
        let others = others.map(|(_, many)| many).sum();
        stacked(own.chain([("others", others)]))
    };
    let block = |position: usize, class: &str, under: f64, many: f64| {
        let (low, high) = (y.at(under), y.at(under + many));
        let down = |part: f64| HEIGHT as f64 * part;
        let along = (position as f64 * wide, wide * 1.01);
        bar(class, along, (down(1.0 - high), down(high - low)), None)
    };
    let marks = html! {
        (axis_left(y, &whole(y.ticks(5)), HEIGHT, "cores at work", 10))
        (axis_below(x, &x.ticks(5), HEIGHT, name))
        @for (position, cores) in slices.iter().enumerate() {
            @for (class, under, many) in stack(cores) { (block(position, class, under, many)) }
        }
        @if facts.cores > 0 {
            @let top = length(HEIGHT as f64 * (1.0 - y.at(facts.cores as f64)));
            line.mark x1="0" x2="100%" y1=(top) y2=(top) {} "\n"
        }
    };
    let room = Room {
        top: 30,
        right: 14,
        bottom: 42,
        left: 46,
    };
    let names: Vec<String> = ran
        .iter()
        .map(|task| &facts.tasks[*task])
        .map(|task| format!("{}.{}", task.stage, task.task))
        .collect();
    let entries = classes.iter().zip(&names);
    let entries = entries.map(|(class, name)| (class.as_str(), name.as_str()));
    let more = (0..facts.tasks.len()).any(|task| total(task) > 0.0 && !ran.contains(&task));
    let title = "Cores at work by task over the time of the run";
    let drawn = html! {
        (chart(title, HEIGHT, room, &marks))
        (legend(entries.chain(more.then_some(("others", "others")))))
    };
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
    let caption = format!(
        "What was running when, in slices of {}; the line is the number of cores ({}).{busy}",
        duration(slice),
        count(facts.cores)
    );
    page::figure(&drawn, caption)
}

/// Cores are counted whole.
fn whole(ticks: Vec<f64>) -> Vec<f64> {
    ticks
        .into_iter()
        .filter(|tick| tick.fract() == 0.0)
        .collect()
}

fn forecast(facts: &StudyFacts) -> Markup {
    let Some(forecast) = &facts.forecast else {
        return html! {
            p { "No forecast: nothing of it had been measured before, or nothing was looked up." } "\n"
        };
    };
    let (executed, work, seconds) = forecast.fact;
    let ratio = |foreseen: f64, came: f64| {
        let ratio = came / foreseen;
        if foreseen > 0.0 && ratio.is_finite() {
            number(ratio)
        } else {
            ABSENT.to_owned()
        }
    };
    let lines = [
        (
            "tasks to execute, at most",
            count(forecast.tasks),
            count(executed),
            ratio(forecast.tasks as f64, executed as f64),
        ),
        (
            "work",
            duration(forecast.work_seconds),
            duration(work),
            ratio(forecast.work_seconds, work),
        ),
        (
            "time until done",
            duration(forecast.seconds),
            duration(seconds),
            ratio(forecast.seconds, seconds),
        ),
    ];
    let rows = html! {
        (heads([("", false), ("forecast", true), ("fact", true), ("fact ÷ forecast", true)]))
        tbody { "\n"
            @for (name, foreseen, came, ratio) in lines {
                tr {
                    th scope="row" { (name) }
                    (number_cell(foreseen)) (number_cell(came)) (number_cell(ratio))
                } "\n"
            }
        } "\n"
    };
    let caption = format!(
        "Forecast against fact, for the first phase. The forecast is made from {}; it does not foresee what turns out to be equal by content.",
        forecast.from
    );
    wide_table("Forecast against fact", caption, &rows)
}
