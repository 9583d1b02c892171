//! The objective along each parameter that matters.
//!
//! Law: a point is the mean of all evaluations in which the parameter has that value, and its line the middle half of them;
//! all charts of a phase have one scale, so that they can be compared.

use maud::{Markup, html};

use super::say::ranking;
use super::summary::{CoursePoint, PhaseSummary, StudyParameter};
use crate::page::figure;
use crate::page::svg::{Room, Scale, axis_left, chart, length, percent, round_step, tick_room};
use crate::page::text::{counted, cut, number, short};

/// How many parameters have a chart.
const SHOWN: usize = 6;

/// How many letters of a value stand below its point.
const LETTERS: usize = 9;

/// The courses of the parameters that matter most; of sets of the user's own, those of the first parameters.
pub(super) fn courses(phase: &PhaseSummary, objective: &str) -> Markup {
    let mut order = ranking(phase);
    if order.is_empty() {
        order = (0..phase.parameters.len()).collect();
    }
    let shown: Vec<&StudyParameter> = order
        .iter()
        .map(|position| &phase.parameters[*position])
        .filter(|parameter| parameter.course.len() > 1)
        .take(SHOWN)
        .collect();
    let points = || shown.iter().flat_map(|parameter| &parameter.course);
    let ends = points().flat_map(|point| [point.mean, point.quartiles.0, point.quartiles.1]);
    let ends: Vec<f64> = ends.filter(|end| end.is_finite()).collect();
    let low = ends.iter().copied().reduce(f64::min);
    let high = ends.iter().copied().reduce(f64::max);
    let Some((low, high)) = low.zip(high) else {
        return html! {};
    };
    let step = round_step((high - low) / 4.0);
    let y = Scale::linear((low / step).floor() * step, (high / step).ceil() * step);
    let drawn = html! {
        div.courses { "\n"
            @for parameter in &shown { (course(parameter, objective, y)) }
        } "\n"
    };
    let caption = format!(
        "{objective} along the parameters that matter most. For each value of a parameter: the mean over all \
         evaluations with this value, and the range from the first to the third quartile."
    );
    figure(&drawn, caption)
}

fn course(parameter: &StudyParameter, objective: &str, y: Scale) -> Markup {
    const HEIGHT: usize = 120;
    let points = &parameter.course;
    // Away from the ends, so that the first and the last point have room.
    let place = {
        let (low, high) = (points[0].at, points[points.len() - 1].at);
        let x = Scale::linear(low, high);
        move |point: &CoursePoint| 0.05 + 0.9 * x.at(point.at)
    };
    let down = |value: f64| HEIGHT as f64 * (1.0 - y.at(value));
    let words = |point: &CoursePoint| {
        format!(
            "{} {}: {} on average, half of them from {} to {}, {}",
            parameter.name,
            point.value,
            number(point.mean),
            number(point.quartiles.0),
            number(point.quartiles.1),
            counted(point.evaluations, "evaluation", "evaluations")
        )
    };
    let last = points.len() - 1;
    let named = match points.len() {
        0..=3 => (0..=last).collect(),
        _ => vec![0, last / 2, last],
    };
    let marks = html! {
        (axis_left(y, &y.ticks(3), HEIGHT, &cut(&format!("{objective} along {}", parameter.name), 40), 8))
        line.axis x1="0" x2="100%" y1=(HEIGHT) y2=(HEIGHT) {} "\n"
        g.line.s0 {
            @for pair in points.windows(2) {
                line x1=(percent(place(&pair[0]))) y1=(length(down(pair[0].mean)))
                    x2=(percent(place(&pair[1]))) y2=(length(down(pair[1].mean))) {}
            }
        } "\n"
        @for point in points {
            @let x = percent(place(point));
            line.reach x1=(x) x2=(x) y1=(length(down(point.quartiles.0))) y2=(length(down(point.quartiles.1))) {}
            circle.point cx=(x) cy=(length(down(point.mean))) r="3" { title { (words(point)) } } "\n"
        }
        @for position in named {
            @let point = &points[position];
            text.tick x=(percent(place(point))) y=(HEIGHT + 16) text-anchor="middle" {
                (cut(&tick(point), LETTERS))
            } "\n"
        }
    };
    let title = format!(
        "{objective} along {}: from {} at {} to {} at {}",
        parameter.name,
        number(points[0].mean),
        points[0].value,
        number(points[last].mean),
        points[last].value
    );
    let room = Room {
        top: 24,
        right: 6,
        bottom: 26,
        left: tick_room(&y.ticks(3)),
    };
    chart(&title, HEIGHT, room, &marks)
}

/// What stands below a point: the value, or the middle of those that it stands for.
fn tick(point: &CoursePoint) -> String {
    if point.value.contains(" to ") {
        short(point.at)
    } else {
        point.value.clone()
    }
}
