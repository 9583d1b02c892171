//! Charts of a phase: sizes with their intervals, and the distribution of the objective.
//!
//! Law: a chart shows what the tables beside it say, and nothing that they do not; what is not known is not drawn.

use maud::{Markup, html};

use super::say::{Size, ends, ranking, size_name, values};
use super::summary::{Extremes, Indices, PhaseKind, PhaseSummary, StudyExample, StudySummary};
use crate::page::figure;
use crate::page::svg::{
    Room, Scale, axis_below, axis_left, bar, chart, from_zero, legend, length, name_room, percent,
    round_step, row_name, tick_room,
};
use crate::page::text::{at_step, count, counted, number, short, with_interval};

/// What is drawn side by side for each parameter: the name of the index, the class of its bars, and the sizes.
struct Series<'s> {
    name: &'s str,
    class: &'static str,
    sizes: Vec<Size>,
}

/// Horizontal bars with the intervals of what they show: one bar for effects, two for shares.
pub(super) fn bars(phase: &PhaseSummary) -> Markup {
    let series = match &phase.pooled {
        Indices::None => return html! {},
        Indices::Moat(_) => vec![Series {
            name: "μ*",
            class: "c0",
            sizes: phase.pooled.sizes(),
        }],
        Indices::Vbd(found) => vec![
            Series {
                name: "S1, by itself",
                class: "c0",
                sizes: found.rows.iter().map(|row| (row.s1, row.s1_conf)).collect(),
            },
            Series {
                name: "ST, together with others",
                class: "c1",
                sizes: phase.pooled.sizes(),
            },
        ],
    };
    let caption = match phase.kind {
        PhaseKind::Vbd => "Shares of the variance: by itself (S1) and together with others (ST).",
        _ => "Mean size of the effects (μ*) by parameter.",
    };
    let whiskers = phase.confidence.map_or_else(String::new, |share| {
        format!(" Whiskers: {} % intervals.", short(share * 100.0))
    });
    let drawn = html! {
        (horizontal(phase, &series))
        @if series.len() > 1 { (legend(series.iter().map(|series| (series.class, series.name)))) }
    };
    figure(&drawn, format!("{caption}{whiskers}"))
}

fn horizontal(phase: &PhaseSummary, series: &[Series]) -> Markup {
    // A mean of sizes is never below zero, whatever half the width of its interval.
    let floor = match phase.kind {
        PhaseKind::Moat => 0.0,
        _ => f64::NEG_INFINITY,
    };
    let ends = |(size, half): &Size| {
        let half = half.unwrap_or(0.0);
        size.map(|size| ((size - half).max(floor), size + half))
    };
    let all = || {
        series
            .iter()
            .flat_map(|series| &series.sizes)
            .filter_map(ends)
    };
    // Estimated shares may lie below zero; so may the ends of intervals.
    let least = all().map(|(low, _)| low).fold(0.0, f64::min);
    let scale = from_zero(all().map(|(_, high)| high)).down_to(least, 6);
    let axis = match series {
        [only] => only.name,
        _ => "share of the variance",
    };
    let tall = if series.len() > 1 { 9 } else { 13 };
    let row = tall * series.len() + 10;
    let ranked = ranking(phase);
    let height = row * ranked.len() + 6;
    let zero = scale.at(0.0);
    let names = ranked
        .iter()
        .map(|position| phase.parameters[*position].name.as_str());
    let (left, most) = name_room(names.clone());
    let sized = |name: &str, series: &Series, size: Size, top: f64| {
        let tall = (tall - 1) as f64;
        let at = scale.at(size.0.unwrap_or(0.0));
        let words = format!("{name}: {} {}", series.name, with_interval(size.0, size.1));
        html! {
            @if let Some((low, high)) = ends(&size) {
                (bar(series.class, (at.min(zero), (at - zero).abs()), (top, tall), Some(&words)))
                @if size.1.is_some() { (whisker(scale, low, high, top + tall / 2.0)) }
            }
        }
    };
    let marks = html! {
        (axis_below(scale, &scale.ticks(5), height, axis))
        @for (rank, (position, name)) in ranked.iter().zip(names).enumerate() {
            @let top = rank * row + 8;
            (row_name(name, most, top + (row - 10) / 2 + 4))
            @for (place, series) in series.iter().enumerate() {
                (sized(name, series, series.sizes[*position], (top + place * tall) as f64))
            }
        }
        @if least < 0.0 {
            line.axis x1=(percent(zero)) x2=(percent(zero)) y1="0" y2=(height) {} "\n"
        }
    };
    let title = format!(
        "Bar chart of {} by parameter, the largest first; the table has the numbers",
        size_name(phase.kind)
    );
    let room = Room {
        top: 4,
        right: 14,
        bottom: 42,
        left,
    };
    chart(&title, height, room, &marks)
}

/// An interval as a line with ends.
fn whisker(scale: Scale, low: f64, high: f64, y: f64) -> Markup {
    let (x1, x2) = (scale.percent(low), scale.percent(high));
    let (y, top, bottom) = (length(y), length(y - 3.0), length(y + 3.0));
    html! {
        line.whisker x1=(x1) x2=(x2) y1=(y) y2=(y) {}
        line.whisker x1=(x1) x2=(x1) y1=(top) y2=(bottom) {}
        line.whisker x1=(x2) x2=(x2) y1=(top) y2=(bottom) {} "\n"
    }
}

/// The example at the default parameters, where it has a value.
fn default(summary: &StudySummary) -> Option<(&StudyExample, f64)> {
    let example = summary.examples.iter().find(|one| one.set.is_none())?;
    let value = example.value.filter(|value| value.is_finite())?;
    Some((example, value))
}

/// What is marked in a histogram: the best and the worst of the values that it shows, and the default.
///
/// Not the best and the worst parameter set: of several items these are so on average, without sets that lack a value, and
/// of two phases one may have neither.
fn marked(summary: &StudySummary, (low, high): (f64, f64)) -> Vec<(&str, f64)> {
    let falls = |found: &Extremes| found.best.value < found.worst.value;
    let (best, worst) = if summary.extremes.as_ref().is_some_and(falls) {
        (low, high)
    } else {
        (high, low)
    };
    let default = default(summary).map(|(example, value)| (example.name.as_str(), value));
    let ends = [("best", best), ("worst", worst)];
    ends.into_iter().chain(default).collect()
}

/// What the marks are, where they are not those of the examples.
fn marked_in_words(summary: &StudySummary) -> String {
    if summary.items.len() <= 1 && summary.phases.len() <= 1 {
        return String::new();
    }
    let several = summary.items.len() > 1;
    let mut said = " Marked are the best and the worst of these evaluations".to_owned();
    if let Some((example, _)) = default(summary) {
        said += ", and the default";
        let item = summary.items.get(example.item).filter(|_| several);
        said += &item.map_or_else(String::new, |item| format!(" on {}", item.called()));
    }
    said.push('.');
    if several && !summary.examples.is_empty() {
        said += " The examples are the sets that are best and worst on average over all items.";
    }
    said
}

/// How the values of the objective are spread, with the best, the worst and the default marked.
pub(super) fn distribution(summary: &StudySummary, phase: &PhaseSummary) -> Markup {
    const HEIGHT: usize = 160;
    let objective = &summary.objective;
    let values = values(phase);
    let Some((low, high)) = ends(&values).filter(|(low, high)| low < high) else {
        return html! {};
    };
    let marked = marked(summary, (low, high));
    let wanted = ((values.len() as f64).sqrt().ceil()).clamp(5.0, 36.0);
    let step = round_step((high - low) / wanted);
    let first = (low / step + 1e-9).floor();
    let many = (((high / step - 1e-9).ceil() - first).max(1.0) as usize).min(400);
    let mut bins = vec![0_usize; many];
    for value in &values {
        let bin = ((value / step + 1e-9).floor() - first).max(0.0) as usize;
        bins[bin.min(many - 1)] += 1;
    }
    let edge = |bin: usize| (first + bin as f64) * step;
    let (left, right) = marked
        .iter()
        .fold((edge(0), edge(many)), |(left, right), (_, value)| {
            (left.min(*value), right.max(*value))
        });
    let x = Scale::linear(left, right);
    let y = from_zero(bins.iter().map(|bin| *bin as f64));
    let column = |bin: usize, many: usize| {
        let (from, to) = (x.at(edge(bin)), x.at(edge(bin + 1)));
        let tall = HEIGHT as f64 * y.at(many as f64);
        let [low, high] = [bin, bin + 1].map(|bin| at_step(edge(bin), step));
        bar(
            "c0",
            (from + (to - from) * 0.04, (to - from) * 0.92),
            (HEIGHT as f64 - tall, tall),
            Some(&format!("{low} to {high}: {}", count(many))),
        )
    };
    let mark = |row: usize, name: &str, value: f64| {
        let (at, y) = (x.at(value), -10.0 - 15.0 * row as f64);
        let (anchor, dx) = if at < 0.5 { ("start", 5) } else { ("end", -5) };
        html! {
            line.mark x1=(percent(at)) x2=(percent(at)) y1=(length(y - 9.0)) y2=(HEIGHT) {}
            text.name x=(percent(at)) dx=(dx) y=(length(y)) text-anchor=(anchor) {
                (name) " " (number(value))
            } "\n"
        }
    };
    let marks = html! {
        // The name of the axis stands above the marks, a line for each.
        (axis_left(y, &y.ticks(5), HEIGHT, "evaluations", 10 + 15 * marked.len()))
        (axis_below(x, &x.ticks(5), HEIGHT, objective))
        @for (bin, many) in bins.iter().enumerate().filter(|(_, many)| **many > 0) { (column(bin, *many)) }
        @for (row, (name, value)) in marked.iter().enumerate() { (mark(row, name, *value)) }
    };
    let top = 30 + 15 * marked.len();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let middle = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
    let title = format!("Histogram of {objective}");
    let room = Room {
        top,
        right: 14,
        bottom: 42,
        left: tick_room(&y.ticks(5)),
    };
    let caption = format!(
        "How {objective} is spread over {}: from {} to {}, median {}, mean {}.{}",
        counted(values.len(), "evaluation", "evaluations"),
        number(low),
        number(high),
        number(middle),
        number(mean),
        marked_in_words(summary)
    );
    figure(&chart(&title, HEIGHT, room, &marks), caption)
}
