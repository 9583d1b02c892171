//! How indices settle.
//!
//! Law: what stands above a number of sets is what the first so many sets of the design say, whatever came later.

use maud::{Markup, html};

use super::say::{Size, ranking, size_name};
use super::summary::{Indices, PhaseKind, PhaseSummary};
use crate::page::figure;
use crate::page::labels::{LINE, apart};
use crate::page::svg::{Room, Scale, axis_below, axis_left, chart, from_zero, length, tick_room};
use crate::page::text::cut;

/// How many lines have a colour.
const COLOURED: usize = 6;

/// How many letters of a name stand beside its line.
const LETTERS: usize = 14;

/// How the indices settle as more of the design is evaluated.
pub(super) fn convergence(phase: &PhaseSummary) -> Markup {
    if phase.convergence.len() < 2 {
        return html! {};
    }
    let total = |indices: &Indices| indices.sizes();
    let alone = |indices: &Indices| match indices {
        Indices::Vbd(found) => found.rows.iter().map(|row| (row.s1, row.s1_conf)).collect(),
        _ => Vec::new(),
    };
    let drawn = html! {
        (settling(phase, size_name(phase.kind), &total))
        @if phase.kind == PhaseKind::Vbd { (settling(phase, "S1", &alone)) }
    };
    let shaded = if phase.confidence.is_some() {
        " Shaded: intervals."
    } else {
        ""
    };
    let rest = if phase.parameters.len() > COLOURED {
        " The others are grey."
    } else {
        ""
    };
    let caption = format!(
        "How the indices settle: the indices from the first N parameter sets of the design. Where a line still moves, or \
         crosses another, more evaluations would help.{shaded}{rest}"
    );
    figure(&drawn, caption)
}

/// Sets, index, half the width of its interval.
type Reading = (f64, f64, Option<f64>);

fn settling(phase: &PhaseSummary, name: &str, sizes: &dyn Fn(&Indices) -> Vec<Size>) -> Markup {
    const HEIGHT: usize = 250;
    let steps: Vec<(f64, Vec<Size>)> = phase
        .convergence
        .iter()
        .map(|prefix| (prefix.sets as f64, sizes(&prefix.indices)))
        .collect();
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return html! {};
    };
    let by_ratios = last.0 >= 6.0 * first.0;
    let (x, along) = if by_ratios {
        let scale = Scale::logarithmic(first.0, last.0);
        (scale, "parameter sets (logarithmic)")
    } else {
        (Scale::linear(first.0, last.0), "parameter sets")
    };
    let all = || {
        steps
            .iter()
            .flat_map(|(_, sizes)| sizes)
            .filter_map(|(size, _)| *size)
    };
    let y = from_zero(all()).down_to(all().fold(0.0, f64::min), 5);
    let down = |value: f64| HEIGHT as f64 * (1.0 - y.at(value));
    let ranked = ranking(phase);
    let readings = |position: usize| {
        let at = |(sets, sizes): &(f64, Vec<Size>)| {
            let (size, half) = *sizes.get(position)?;
            Some((*sets, size?, half))
        };
        steps.iter().filter_map(at).collect::<Vec<Reading>>()
    };
    // From the most important to the least: its name and what was read.
    let lines: Vec<(&str, Vec<Reading>)> = ranked
        .iter()
        .map(|position| {
            (
                phase.parameters[*position].name.as_str(),
                readings(*position),
            )
        })
        .collect();
    let coloured = &lines[..lines.len().min(COLOURED)];
    let drawn = |rank: usize, name: &str, line: &[Reading]| {
        let colour = (rank < COLOURED).then(|| format!("s{rank}"));
        html! {
            g.line.(colour.as_deref().unwrap_or("rest")) {
                title { (name) }
                @for pair in line.windows(2) {
                    line x1=(x.percent(pair[0].0)) y1=(length(down(pair[0].1)))
                        x2=(x.percent(pair[1].0)) y2=(length(down(pair[1].1))) {}
                }
                @if colour.is_some() {
                    @for (sets, size, _) in line {
                        circle cx=(x.percent(*sets)) cy=(length(down(*size))) r="2.5" {}
                    }
                }
            } "\n"
        }
    };
    let ending: Vec<(usize, &str, f64)> = coloured
        .iter()
        .enumerate()
        .filter_map(|(rank, (name, line))| Some((rank, *name, down(line.last()?.1))))
        .collect();
    let middles: Vec<f64> = ending.iter().map(|(_, _, middle)| *middle).collect();
    let moved = apart(&middles, LINE / 2.0, HEIGHT as f64 - LINE / 2.0);
    let marks = html! {
        (axis_left(y, &y.ticks(5), HEIGHT, name, 10))
        (axis_below(x, &prefix_ticks(&steps, x), HEIGHT, along))
        @for (rank, (_, line)) in coloured.iter().enumerate() { (band(line, x, y, HEIGHT, rank)) }
        @for (rank, (name, line)) in lines.iter().enumerate().rev() { (drawn(rank, name, line)) }
        @for ((rank, name, middle), moved) in ending.iter().zip(moved) {
            svg x="100%" y="0" width="16" height=(HEIGHT) {
                line.leader x1="4" x2="14" y1=(length(*middle)) y2=(length(moved)) {}
            }
            text.name.{ "t" (rank) } x="100%" dx="17" y=(length(moved + 4.0)) { (cut(name, LETTERS)) } "\n"
        }
    };
    let letters = ending
        .iter()
        .map(|(_, name, _)| name.chars().count().min(LETTERS));
    let letters = letters.max().unwrap_or(0);
    let title = format!("Lines of {name} over the number of parameter sets, one per parameter");
    let room = Room {
        top: 30,
        right: 24 + letters * 15 / 2,
        bottom: 42,
        left: tick_room(&y.ticks(5)),
    };
    chart(&title, HEIGHT, room, &marks)
}

/// The numbers of sets at which indices were looked at, as far as they have room beside each other.
fn prefix_ticks(steps: &[(f64, Vec<Size>)], x: Scale) -> Vec<f64> {
    let mut ticks: Vec<f64> = Vec::new();
    for (sets, _) in steps.iter().rev() {
        if ticks
            .last()
            .is_none_or(|last| x.at(*last) - x.at(*sets) >= 0.17)
        {
            ticks.push(*sets);
        }
    }
    ticks.reverse();
    ticks
}

/// The interval along a line, as an area behind it.
fn band(line: &[Reading], x: Scale, y: Scale, height: usize, rank: usize) -> Markup {
    let reach: Option<Vec<(f64, f64, f64)>> = line
        .iter()
        .map(|(sets, size, half)| half.map(|half| (*sets, size - half, size + half)))
        .collect();
    let Some(reach) = reach.filter(|reach| reach.len() > 1) else {
        return html! {};
    };
    let corner = |sets: f64, value: f64| {
        format!(
            "{},{}",
            length(1000.0 * x.at(sets)),
            length(height as f64 * (1.0 - y.beyond(value)))
        )
    };
    let above = reach.iter().map(|(sets, _, high)| corner(*sets, *high));
    let below = reach.iter().rev().map(|(sets, low, _)| corner(*sets, *low));
    let corners: Vec<String> = above.chain(below).collect();
    // Stretched to the width of the chart and cut at its ends; there are no letters in it that could be distorted.
    html! {
        svg x="0" y="0" width="100%" height=(height) viewBox={ "0 0 1000 " (height) } preserveAspectRatio="none" {
            polygon.band.{ "s" (rank) } points=(corners.join(" ")) {}
        } "\n"
    }
}
