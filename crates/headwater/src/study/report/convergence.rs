//! How indices settle.
//!
//! Law: what stands above a number of sets is what the first so many sets of the design say, whatever came later.

use super::raw::{axis_below, axis_left, chart, cut, escape, figure};
use std::fmt::Write;

use super::super::summary::{Indices, PhaseKind, PhaseSummary};
use super::charts::Size;
use super::say::{ranking, size_name};
use crate::page::labels::{LINE, apart};
use crate::page::svg::{Room, Scale, from_zero, length, round_step, tick_room};

/// How many lines have a colour.
const COLOURED: usize = 6;

/// How the indices settle as more of the design is evaluated.
pub(super) fn convergence(phase: &PhaseSummary) -> String {
    if phase.convergence.len() < 2 {
        return String::new();
    }
    let total = |indices: &Indices| indices.sizes();
    let alone = |indices: &Indices| match indices {
        Indices::Vbd(found) => found.rows.iter().map(|row| (row.s1, row.s1_conf)).collect(),
        _ => Vec::new(),
    };
    let mut drawn = settling(phase, size_name(phase.kind), &total);
    if phase.kind == PhaseKind::Vbd {
        drawn += &settling(phase, "S1", &alone);
    }
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
        "How the indices settle: what the first so many parameter sets of the design say. Where a line still moves, or \
         crosses another, more evaluations would tell more.{shaded}{rest}"
    );
    figure(&drawn, &caption)
}

/// Sets, index, half the width of its interval.
type Reading = (f64, f64, Option<f64>);

fn settling(phase: &PhaseSummary, name: &str, sizes: &dyn Fn(&Indices) -> Vec<Size>) -> String {
    const HEIGHT: usize = 250;
    let steps: Vec<(f64, Vec<Size>)> = phase
        .convergence
        .iter()
        .map(|prefix| (prefix.sets as f64, sizes(&prefix.indices)))
        .collect();
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return String::new();
    };
    let x = if last.0 >= 6.0 * first.0 {
        Scale::logarithmic(first.0, last.0)
    } else {
        Scale::linear(first.0, last.0)
    };
    let all = || {
        steps
            .iter()
            .flat_map(|(_, sizes)| sizes)
            .filter_map(|(size, _)| *size)
    };
    let upper = from_zero(all());
    let low = all().fold(0.0, f64::min);
    let y = if low < 0.0 {
        let high = upper.ticks(5).last().copied().unwrap_or(1.0);
        let step = round_step((high - low) / 5.0);
        Scale::linear((low / step).floor() * step, high)
    } else {
        upper
    };
    let down = |value: f64| HEIGHT as f64 * (1.0 - y.at(value));
    let mut marks = axis_left(y, &y.ticks(5), HEIGHT, name, 10);
    marks += &axis_below(x, &prefix_ticks(&steps, x), HEIGHT, "parameter sets");
    let ranked = ranking(phase);
    let line = |position: usize| {
        let at = |(sets, sizes): &(f64, Vec<Size>)| {
            let (size, half) = *sizes.get(position)?;
            Some((*sets, size?, half))
        };
        steps.iter().filter_map(at).collect::<Vec<Reading>>()
    };
    let lines: Vec<(usize, usize, Vec<Reading>)> = ranked
        .iter()
        .enumerate()
        .map(|(rank, position)| (rank, *position, line(*position)))
        .collect();
    for (rank, _, line) in lines.iter().filter(|(rank, _, _)| *rank < COLOURED) {
        marks += &band(line, x, y, HEIGHT, *rank);
    }
    for (rank, position, line) in lines.iter().rev() {
        let class = if *rank < COLOURED {
            format!("line s{rank}")
        } else {
            "line rest".to_owned()
        };
        let _ = write!(
            marks,
            "<g class=\"{class}\"><title>{}</title>",
            escape(&phase.parameters[*position].name)
        );
        for pair in line.windows(2) {
            let _ = write!(
                marks,
                "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
                x.percent(pair[0].0),
                length(down(pair[0].1)),
                x.percent(pair[1].0),
                length(down(pair[1].1))
            );
        }
        if *rank < COLOURED {
            for (sets, size, _) in line {
                let _ = write!(
                    marks,
                    "<circle cx=\"{}\" cy=\"{}\" r=\"2.5\"/>",
                    x.percent(*sets),
                    length(down(*size))
                );
            }
        }
        marks.push_str("</g>\n");
    }
    let ending: Vec<(usize, usize, f64)> = lines
        .iter()
        .filter(|(rank, _, _)| *rank < COLOURED)
        .filter_map(|(rank, position, line)| Some((*rank, *position, down(line.last()?.1))))
        .collect();
    let middles: Vec<f64> = ending.iter().map(|(_, _, middle)| *middle).collect();
    let moved = apart(&middles, LINE / 2.0, HEIGHT as f64 - LINE / 2.0);
    for ((rank, position, middle), moved) in ending.iter().zip(moved) {
        let _ = writeln!(
            marks,
            "<svg x=\"100%\" y=\"0\" width=\"16\" height=\"{HEIGHT}\"><line class=\"leader\" x1=\"4\" x2=\"14\" y1=\"{}\" y2=\"{}\"/></svg>\
             <text class=\"name t{rank}\" x=\"100%\" dx=\"17\" y=\"{}\">{}</text>",
            length(*middle),
            length(moved),
            length(moved + 4.0),
            cut(&phase.parameters[*position].name, 14)
        );
    }
    let names = ending
        .iter()
        .map(|(_, position, _)| phase.parameters[*position].name.as_str());
    let letters = names
        .map(|name| name.chars().count().min(14))
        .max()
        .unwrap_or(0);
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
fn band(line: &[Reading], x: Scale, y: Scale, height: usize, rank: usize) -> String {
    let reach: Option<Vec<(f64, f64, f64)>> = line
        .iter()
        .map(|(sets, size, half)| half.map(|half| (*sets, size - half, size + half)))
        .collect();
    let Some(reach) = reach.filter(|reach| reach.len() > 1) else {
        return String::new();
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
    format!(
        "<svg x=\"0\" y=\"0\" width=\"100%\" height=\"{height}\" viewBox=\"0 0 1000 {height}\" preserveAspectRatio=\"none\">\
         <polygon class=\"band s{rank}\" points=\"{}\"/></svg>\n",
        corners.join(" ")
    )
}
