//! What was running when: a bar for each execution, in lanes.
//!
//! Law: lanes are workers as far as can be told: two bars in one never overlap. The chart has the same height for any
//! number of cores above a few, and one colour is one task.

use maud::{Markup, html};

use super::summary::{RunBar, RunSummary};
use crate::page;
use crate::page::svg::{COLOURS, Room, Scale, axis_below, chart, legend, length};
use crate::page::text::{count, counted, cut, duration, short};

/// The height of a lane where there is room, and of all lanes at most.
const LANE: f64 = 24.0;
const HIGHEST: f64 = 560.0;

/// The section.
pub(super) fn section(summary: &RunSummary) -> Markup {
    page::section("timeline", "Timeline", &drawn(summary))
}

/// By row, the class of its colour: those that took longest have one of their own, in the order of the workflow.
fn colours(summary: &RunSummary) -> Vec<(usize, String)> {
    let mut longest: Vec<usize> = (0..summary.tasks.len())
        .filter(|row| summary.tasks[*row].seconds > 0.0)
        .collect();
    longest.sort_by(|one, other| {
        let seconds = |row: &usize| summary.tasks[*row].seconds;
        seconds(other).total_cmp(&seconds(one))
    });
    longest.truncate(COLOURS);
    longest.sort_unstable();
    let named = longest.into_iter().enumerate();
    named
        .map(|(colour, row)| (row, format!("c{colour}")))
        .collect()
}

fn drawn(summary: &RunSummary) -> Markup {
    let timeline = &summary.timeline;
    if timeline.bars.is_empty() || !(timeline.seconds.is_finite() && timeline.seconds > 0.0) {
        return html! { p { "There is no timeline: no task ran." } "\n" };
    }
    let lanes = timeline.lanes.max(1) as f64;
    let lane = (HIGHEST / lanes).min(LANE);
    let gap = if lane >= 8.0 { 3.0 } else { lane * 0.2 };
    let height = (lane * lanes).ceil().max(LANE) as usize;
    let (unit, name) = match timeline.seconds {
        short if short < 300.0 => (1.0, "seconds"),
        middle if middle < 18_000.0 => (60.0, "minutes"),
        _ => (3600.0, "hours"),
    };
    let scale = Scale::linear(0.0, timeline.seconds / unit);
    let colours = colours(summary);
    let class = |bar: &RunBar| {
        let own = colours.iter().find(|(row, _)| *row == bar.row);
        own.map_or("others", |(_, class)| class.as_str())
    };
    let marks = html! {
        (axis_below(scale, &scale.ticks(5), height, name))
        @for bar in &timeline.bars {
            @let wide = (scale.at(bar.end / unit) - scale.at(bar.start / unit)).max(0.0);
            rect.(class(bar)).failed[bar.failed > 0]
                x=(fine(scale.at(bar.start / unit))) width=(fine(wide.max(0.0006)))
                y=(length(bar.lane as f64 * lane + gap / 2.0)) height=(length(lane - gap)) {
                title { (words(summary, bar)) }
            } "\n"
        }
    };
    let room = Room {
        top: 6,
        right: 14,
        bottom: 42,
        left: 14,
    };
    let entries = entries(summary, &colours);
    let entries = entries
        .iter()
        .map(|(class, words)| (class.as_str(), words.as_str()));
    let drawn = html! {
        (chart("What was running when", height, room, &marks))
        (legend(entries))
    };
    page::figure(&drawn, caption(summary))
}

/// A part of the width, to what can be seen on a large screen.
fn fine(part: f64) -> String {
    let written = format!("{:.3}", part * 100.0);
    let written = written.trim_end_matches('0').trim_end_matches('.');
    format!("{written}%")
}

/// What a bar stands for.
fn words(summary: &RunSummary, bar: &RunBar) -> String {
    let failed = |many: usize| match many {
        0 => String::new(),
        many => format!(", {} not ended well", count(many)),
    };
    match &bar.address {
        Some(address) => {
            let failed = if bar.failed > 0 {
                ", not ended well"
            } else {
                ""
            };
            format!("{address}: {}{failed}", duration(bar.seconds))
        }
        None => {
            let name = summary.tasks.get(bar.row).map(|row| row.name());
            let name = name.unwrap_or_else(|| "helpers".to_owned());
            let mostly = if bar.mixed { ", mostly " } else { " of " };
            format!(
                "{}{mostly}{name}: {} of work{}",
                counted(bar.executions, "task", "tasks"),
                duration(bar.seconds),
                failed(bar.failed)
            )
        }
    }
}

fn entries(summary: &RunSummary, colours: &[(usize, String)]) -> Vec<(String, String)> {
    let bars = &summary.timeline.bars;
    let own = |row: usize| colours.iter().any(|(known, _)| *known == row);
    let mut entries: Vec<(String, String)> = colours
        .iter()
        .map(|(row, class)| (class.clone(), cut(&summary.tasks[*row].name(), 60)))
        .collect();
    if bars.iter().any(|bar| !own(bar.row)) {
        entries.push(("others".to_owned(), "others".to_owned()));
    }
    if bars.iter().any(|bar| bar.failed > 0) {
        entries.push((
            "failed".to_owned(),
            "failed, tried again or stopped".to_owned(),
        ));
    }
    entries
}

fn caption(summary: &RunSummary) -> String {
    let timeline = &summary.timeline;
    let work: f64 = timeline.bars.iter().map(|bar| bar.seconds).sum();
    let busy = work / (timeline.seconds * summary.cores as f64);
    let mut said = format!(
        "A row is a worker, a bar an execution: {}, {} at once at most.",
        counted(timeline.executions, "execution", "executions"),
        count(timeline.lanes)
    );
    if timeline.bars.iter().any(|bar| bar.executions > 1) {
        said += " Where executions are too short to be seen one by one, a bar stands for several that follow each other, in the colour of the task that took most of it.";
    }
    if busy.is_finite() && busy > 0.0 {
        said += &format!(
            " The work of all of them is {}: {} % of the time until the last one ended, times cores.",
            duration(work),
            short((busy * 100.0).round())
        );
    }
    said
}
