//! μ* against σ.
//!
//! Law: every point is drawn; each has its name, or its rank where the page is narrow, as far as names find room. A crowd
//! near the origin is drawn once more, enlarged.

use super::raw::{cut, escape, figure};
use std::fmt::Write;

use super::super::summary::{Indices, PhaseSummary};

use super::say::ranking;
use crate::page::labels::{Area, Position, place};
use crate::page::svg::{Scale, from_zero, length, tick_room};
use crate::page::text::{counted, number, ticks as written, with_interval};

/// How many points of a plot have a name.
const NAMED: usize = 24;

/// A point of the μ*–σ plot.
#[derive(Clone, Copy)]
struct Effect<'e> {
    rank: usize,
    name: &'e str,
    mu_star: f64,
    sigma: f64,
    half: Option<f64>,
}

/// μ* against σ: once with names for wide pages, once with ranks for narrow ones.
pub(super) fn effects(phase: &PhaseSummary) -> String {
    let Indices::Moat(rows) = &phase.pooled else {
        return String::new();
    };
    let ranked = ranking(phase);
    let points: Vec<Effect> = ranked
        .iter()
        .enumerate()
        .filter_map(|(rank, position)| {
            let row = &rows[*position];
            Some(Effect {
                rank: rank + 1,
                name: &phase.parameters[*position].name,
                mu_star: row.mu_star?,
                sigma: row.sigma?,
                half: row.mu_star_conf,
            })
        })
        .collect();
    if points.is_empty() {
        return String::new();
    }
    let (near, corner) = corner(&points);
    let all = (&points[..], corner);
    let (mut wide, mut unnamed) = scatter(all, (800.0, 400.0), true);
    let (mut narrow, mut unranked) = scatter(all, (340.0, 300.0), false);
    if corner.is_some() {
        let near = (&near[..], None);
        let (drawn, missing) = scatter(near, (800.0, 400.0), true);
        wide += &drawn;
        unnamed += missing;
        let (drawn, missing) = scatter(near, (340.0, 300.0), false);
        narrow += &drawn;
        unranked += missing;
    }
    let left_out = |missing: usize| {
        if missing == 0 {
            String::new()
        } else {
            format!(
                " {} too close to others to be named.",
                counted(missing, "point is", "points are")
            )
        }
    };
    let drawn =
        format!("<div class=\"for-wide\">{wide}</div>\n<div class=\"for-narrow\">{narrow}</div>\n");
    let enlarged = if corner.is_some() {
        " Below: the framed corner, enlarged."
    } else {
        ""
    };
    let caption = format!(
        "Mean size of the effects (μ*) and how much they vary (σ). Far right: matters. Above the lines: the effect depends on \
         where in the space the step is taken, by interplay or by a bent response.{enlarged} \
         <span class=\"for-narrow\">Numbers are the ranks of the table.{}</span><span class=\"for-wide\">{}</span>",
        left_out(unranked),
        left_out(unnamed)
    );
    figure(&drawn, &caption)
}

/// The points that crowd in the corner of small effects, and how far that corner reaches; none where there is no crowd.
fn corner<'e>(points: &[Effect<'e>]) -> (Vec<Effect<'e>>, Option<Position>) {
    const CROWD: usize = 5;
    let largest = |part: fn(&Effect) -> f64| points.iter().map(part).fold(0.0, f64::max);
    let reach = |point: &Effect| point.mu_star + point.half.unwrap_or(0.0);
    let (right, top) = (largest(reach) * 0.35, largest(|point| point.sigma) * 0.45);
    let near = |point: &&Effect| reach(point) <= right && point.sigma <= top;
    let near: Vec<Effect> = points.iter().filter(near).copied().collect();
    if near.len() < CROWD || near.len() == points.len() {
        return (Vec::new(), None);
    }
    let far = |part: fn(&Effect) -> f64| near.iter().map(part).fold(0.0, f64::max);
    let ends = (far(reach), far(|point| point.sigma));
    (near, Some(ends))
}

/// The plot at a given size, and how many points found no place for their label. What lies in a corner that is shown
/// elsewhere gets none.
fn scatter(
    (points, corner): (&[Effect], Option<Position>),
    (width, height): Position,
    names: bool,
) -> (String, usize) {
    let reach = |point: &Effect| point.mu_star + point.half.unwrap_or(0.0);
    let (x, y) = (
        from_zero(points.iter().map(reach)),
        from_zero(points.iter().map(|point| point.sigma)),
    );
    let (left, right, top, bottom) = (tick_room(&y.ticks(5)) as f64, 62.0, 30.0, 42.0);
    let (across, down) = (width - left - right, height - top - bottom);
    let at = |mu_star: f64, sigma: f64| {
        (
            left + across * x.at(mu_star),
            top + down * (1.0 - y.at(sigma)),
        )
    };
    let mut marks = frame(&x, &y, (left, top), (across, down), names);
    let (end_x, end_y) = (
        x.ticks(5).last().copied().unwrap_or(1.0),
        y.ticks(5).last().copied().unwrap_or(1.0),
    );
    for (ratio, words) in [(1.0, "σ = μ*"), (0.5, "σ = μ*/2")] {
        let (mu_star, sigma) = if end_x * ratio <= end_y {
            (end_x, end_x * ratio)
        } else {
            (end_y / ratio, end_y)
        };
        let ((x1, y1), (x2, y2)) = (at(0.0, 0.0), at(mu_star, sigma));
        let (dx, dy) = if mu_star < end_x {
            (0.0, -6.0)
        } else {
            (6.0, 4.0)
        };
        let anchor = if mu_star < end_x { "middle" } else { "start" };
        let _ = writeln!(
            marks,
            "<line class=\"guide\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\
             <text class=\"guide-name\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{words}</text>",
            length(x1),
            length(y1),
            length(x2),
            length(y2),
            length(x2 + dx),
            length(y2 + dy)
        );
    }
    let places: Vec<Position> = points
        .iter()
        .map(|point| at(point.mu_star, point.sigma))
        .collect();
    let labels: Vec<String> = points
        .iter()
        .map(|point| {
            if names {
                cut(point.name, 18)
            } else {
                point.rank.to_string()
            }
        })
        .collect();
    let letters = |point: &Effect| {
        if names {
            point.name.chars().count().min(18)
        } else {
            point.rank.to_string().len()
        }
    };
    let widths: Vec<f64> = points
        .iter()
        .map(|point| letters(point) as f64 * 7.2 + 4.0)
        .collect();
    let within = Area {
        left: left + 2.0,
        top: top - 4.0,
        right: left + across + 40.0,
        bottom: top + down - 1.0,
    };
    if let Some((right, top)) = corner {
        let ((x1, y1), (x2, y2)) = (at(0.0, top), at(right, 0.0));
        let _ = writeln!(
            marks,
            "<rect class=\"corner\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            length(x1),
            length(y1 - 7.0),
            length(x2 - x1 + 7.0),
            length(y2 - y1 + 7.0)
        );
    }
    let outside = |point: &Effect| {
        corner.is_none_or(|(right, top)| {
            point.mu_star + point.half.unwrap_or(0.0) > right || point.sigma > top
        })
    };
    let chosen: Vec<usize> = (0..points.len())
        .filter(|point| outside(&points[*point]))
        .collect();
    let named = &chosen[..chosen.len().min(NAMED)];
    let reaches: Vec<Area> = points
        .iter()
        .zip(&places)
        .filter_map(|(point, (_, py))| {
            let half = point.half?;
            Some(Area {
                left: at(point.mu_star - half, 0.0).0,
                top: py - 1.0,
                right: at(point.mu_star + half, 0.0).0,
                bottom: py + 1.0,
            })
        })
        .collect();
    let order = place(&places, named, &widths, within, &reaches);
    for (point, (px, py)) in points.iter().zip(&places) {
        if let Some(half) = point.half {
            let (low, high) = (
                at(point.mu_star - half, 0.0).0,
                at(point.mu_star + half, 0.0).0,
            );
            let _ = writeln!(
                marks,
                "<line class=\"reach\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>",
                length(low),
                length(high),
                length(*py)
            );
        }
        let _ = writeln!(
            marks,
            "<circle class=\"point\" cx=\"{}\" cy=\"{}\" r=\"4\"><title>{}: μ* {}, σ {}</title></circle>",
            length(*px),
            length(*py),
            escape(point.name),
            escape(&with_interval(Some(point.mu_star), point.half)),
            number(point.sigma)
        );
    }
    // Lines first, so that names stand above them.
    for ((x1, y1), (x2, y2)) in order.iter().flatten().filter_map(|placed| placed.leader) {
        let _ = writeln!(
            marks,
            "<line class=\"leader\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
            length(x1),
            length(y1),
            length(x2),
            length(y2)
        );
    }
    for (position, placed) in named.iter().zip(&order) {
        if let Some(placed) = placed {
            let _ = writeln!(
                marks,
                "<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>",
                length(placed.area.left + 2.0),
                length(placed.area.bottom - 4.0),
                labels[*position]
            );
        }
    }
    let title = "Plot of μ* against σ, one point per parameter; the table has the numbers";
    let drawn = format!(
        "<svg class=\"plot\" role=\"img\" aria-label=\"{title}\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\
         <title>{title}</title>\n{marks}</svg>\n",
        length(width),
        length(height)
    );
    let missing = order.iter().filter(|placed| placed.is_none()).count();
    (drawn, missing + chosen.len() - named.len())
}

/// The axes of a plot of fixed size.
fn frame(
    x: &Scale,
    y: &Scale,
    (left, top): Position,
    (across, down): Position,
    wide: bool,
) -> String {
    let mut marks = String::new();
    let (right, bottom) = (left + across, top + down);
    let ticks = x.ticks(if wide { 6 } else { 4 });
    for (tick, words) in ticks.iter().zip(written(&ticks)) {
        let tick = *tick;
        let at = left + across * x.at(tick);
        let _ = writeln!(
            marks,
            "<line class=\"grid\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>\
             <text class=\"tick\" x=\"{0}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>",
            length(at),
            length(top),
            length(bottom),
            length(bottom + 16.0),
            words
        );
    }
    let ticks = y.ticks(5);
    for (tick, words) in ticks.iter().zip(written(&ticks)) {
        let tick = *tick;
        let at = top + down * (1.0 - y.at(tick));
        let _ = writeln!(
            marks,
            "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>\
             <text class=\"tick\" x=\"{3}\" y=\"{4}\" text-anchor=\"end\">{5}</text>",
            length(left),
            length(right),
            length(at),
            length(left - 7.0),
            length(at + 4.0),
            words
        );
    }
    let _ = writeln!(
        marks,
        "<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>\
         <line class=\"axis\" x1=\"{0}\" x2=\"{0}\" y1=\"{3}\" y2=\"{2}\"/>\
         <text class=\"axis-name\" x=\"{1}\" y=\"{4}\" text-anchor=\"end\">μ*</text>\
         <text class=\"axis-name\" x=\"{5}\" y=\"{6}\" text-anchor=\"end\">σ</text>",
        length(left),
        length(right),
        length(bottom),
        length(top),
        length(bottom + 34.0),
        length(left - 7.0),
        length(top - 14.0)
    );
    marks
}
