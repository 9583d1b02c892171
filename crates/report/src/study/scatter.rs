//! μ* against σ.
//!
//! Law: every point is drawn; each has its name, or its rank where the page is narrow, as far as names find room. A crowd
//! near the origin is drawn once more, enlarged.

use maud::{Markup, html};

use super::say::ranking;
use super::summary::{Indices, PhaseSummary};
use crate::page;
use crate::page::labels::{Area, Position, place};
use crate::page::svg::{Scale, from_zero, length, tick_room};
use crate::page::text::{counted, cut, number, ticks as written, with_interval};

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

impl Effect<'_> {
    /// Where its interval ends at the right.
    fn reach(&self) -> f64 {
        self.mu_star + self.half.unwrap_or(0.0)
    }
}

/// How many letters of a name stand beside its point.
const LETTERS: usize = 18;

/// μ* against σ: once with names for wide pages, once with ranks for narrow ones.
pub(super) fn effects(phase: &PhaseSummary) -> Markup {
    let Indices::Moat(rows) = &phase.pooled else {
        return html! {};
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
        return html! {};
    }
    let (near, corner) = corner(&points);
    let plots = |size: Position, names: bool| {
        let (drawn, missing) = scatter(&points, corner, size, names);
        let (enlarged, more) = match corner {
            Some(_) => scatter(&near, None, size, names),
            None => (html! {}, 0),
        };
        let left_out = match missing + more {
            0 => String::new(),
            many => format!(
                " {} too close to others to be named.",
                counted(many, "point is", "points are")
            ),
        };
        (html! { (drawn) (enlarged) }, left_out)
    };
    let (wide, unnamed) = plots((800.0, 400.0), true);
    let (narrow, unranked) = plots((340.0, 300.0), false);
    let drawn = html! {
        div.for-wide { (wide) } "\n"
        div.for-narrow { (narrow) } "\n"
    };
    let caption = html! {
        "Mean size of the effects (μ*) and how much they vary (σ). Far right: the parameter matters. Above the lines: the effect depends \
         on the values at which the step is made, because parameters interact or the response is not linear."
        @if corner.is_some() { " Below: the framed corner, enlarged." }
        " " span.for-narrow { "Numbers are the ranks of the table." (unranked) }
        span.for-wide { (unnamed) }
    };
    page::figure(&drawn, caption)
}

/// The points that crowd in the corner of small effects, and how far that corner reaches; none where there is no crowd.
fn corner<'e>(points: &[Effect<'e>]) -> (Vec<Effect<'e>>, Option<Position>) {
    const CROWD: usize = 5;
    let ends = |points: &[Effect]| {
        let far = |(right, top): Position, point: &Effect| {
            (right.max(point.reach()), top.max(point.sigma))
        };
        points.iter().fold((0.0, 0.0), far)
    };
    let (right, top) = ends(points);
    let (right, top) = (right * 0.35, top * 0.45);
    let near = |point: &&Effect| point.reach() <= right && point.sigma <= top;
    let near: Vec<Effect> = points.iter().filter(near).copied().collect();
    if near.len() < CROWD || near.len() == points.len() {
        return (Vec::new(), None);
    }
    let reach = ends(&near);
    (near, Some(reach))
}

/// A plot of fixed size: its scales, and where they lie in pixels.
struct Plane {
    x: Scale,
    y: Scale,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Plane {
    /// With all points in it and room for the axes around them.
    fn of(points: &[Effect], (width, height): Position) -> Plane {
        let y = from_zero(points.iter().map(|point| point.sigma));
        Plane {
            x: from_zero(points.iter().map(Effect::reach)),
            y,
            left: tick_room(&y.ticks(5)) as f64,
            right: width - 62.0,
            top: 30.0,
            bottom: height - 42.0,
        }
    }

    fn across(&self, mu_star: f64) -> f64 {
        self.left + (self.right - self.left) * self.x.at(mu_star)
    }

    fn down(&self, sigma: f64) -> f64 {
        self.top + (self.bottom - self.top) * (1.0 - self.y.at(sigma))
    }

    fn at(&self, mu_star: f64, sigma: f64) -> Position {
        (self.across(mu_star), self.down(sigma))
    }

    /// Where the interval of a point lies.
    fn interval(&self, point: &Effect) -> Option<(f64, f64)> {
        let half = point.half?;
        let ends = [point.mu_star - half, point.mu_star + half];
        Some(ends.map(|end| self.across(end)).into())
    }

    /// The axes, with about so many numbers below.
    fn axes(&self, below: usize) -> Markup {
        let Plane {
            left,
            right,
            top,
            bottom,
            ..
        } = *self;
        let (below, beside) = (self.x.ticks(below), self.y.ticks(5));
        html! {
            @for (tick, words) in below.iter().zip(written(&below)) {
                @let x = self.across(*tick);
                (line("grid", (x, top), (x, bottom)))
                (text("tick", (x, bottom + 16.0), "middle", &words))
            }
            @for (tick, words) in beside.iter().zip(written(&beside)) {
                @let y = self.down(*tick);
                (line("grid", (left, y), (right, y)))
                (text("tick", (left - 7.0, y + 4.0), "end", &words))
            }
            (line("axis", (left, bottom), (right, bottom)))
            (line("axis", (left, top), (left, bottom)))
            (text("axis-name", (right, bottom + 34.0), "end", "μ*"))
            (text("axis-name", (left - 7.0, top - 14.0), "end", "σ"))
        }
    }

    /// A line from the origin along which σ is so many times μ*, with its name where it ends.
    fn guide(&self, ratio: f64, words: &str) -> Markup {
        let [end_x, end_y] =
            [self.x, self.y].map(|scale| scale.ticks(5).last().copied().unwrap_or(1.0));
        let (mu_star, sigma) = if end_x * ratio <= end_y {
            (end_x, end_x * ratio)
        } else {
            (end_y / ratio, end_y)
        };
        let (x, y) = self.at(mu_star, sigma);
        let (name, anchor) = if mu_star < end_x {
            ((x, y - 6.0), "middle")
        } else {
            ((x + 6.0, y + 4.0), "start")
        };
        html! {
            (line("guide", self.at(0.0, 0.0), (x, y)))
            (text("guide-name", name, anchor, words))
        }
    }
}

fn line(class: &str, (x1, y1): Position, (x2, y2): Position) -> Markup {
    html! { line.(class) x1=(length(x1)) y1=(length(y1)) x2=(length(x2)) y2=(length(y2)) {} "\n" }
}

fn text(class: &str, (x, y): Position, anchor: &str, words: &str) -> Markup {
    html! { text.(class) x=(length(x)) y=(length(y)) text-anchor=(anchor) { (words) } "\n" }
}

/// The plot at a given size, and how many points found no place for their label. What lies in a corner that is shown
/// elsewhere gets none.
fn scatter(
    points: &[Effect],
    corner: Option<Position>,
    size: Position,
    names: bool,
) -> (Markup, usize) {
    let plane = Plane::of(points, size);
    let places: Vec<Position> = points
        .iter()
        .map(|point| plane.at(point.mu_star, point.sigma))
        .collect();
    let labels: Vec<String> = points
        .iter()
        .map(|point| {
            if names {
                cut(point.name, LETTERS)
            } else {
                point.rank.to_string()
            }
        })
        .collect();
    let widths: Vec<f64> = labels
        .iter()
        .map(|label| label.chars().count() as f64 * 7.2 + 4.0)
        .collect();
    let within = Area {
        left: plane.left + 2.0,
        top: plane.top - 4.0,
        right: plane.right + 40.0,
        bottom: plane.bottom - 1.0,
    };
    let outside = |point: &Effect| {
        corner.is_none_or(|(right, top)| point.reach() > right || point.sigma > top)
    };
    let chosen: Vec<usize> = (0..points.len())
        .filter(|point| outside(&points[*point]))
        .collect();
    let named = &chosen[..chosen.len().min(NAMED)];
    let intervals: Vec<Area> = points
        .iter()
        .zip(&places)
        .filter_map(|(point, (_, y))| {
            let (left, right) = plane.interval(point)?;
            Some(Area {
                left,
                top: y - 1.0,
                right,
                bottom: y + 1.0,
            })
        })
        .collect();
    let order = place(&places, named, &widths, within, &intervals);
    let frame = |(right, top): Position| {
        let ((x1, y1), (x2, y2)) = (plane.at(0.0, top), plane.at(right, 0.0));
        html! {
            rect.corner x=(length(x1)) y=(length(y1 - 7.0)) width=(length(x2 - x1 + 7.0))
                height=(length(y2 - y1 + 7.0)) {} "\n"
        }
    };
    let dot = |point: &Effect, (x, y): Position| {
        let size = with_interval(Some(point.mu_star), point.half);
        html! {
            @if let Some((low, high)) = plane.interval(point) { (line("reach", (low, y), (high, y))) }
            circle.point cx=(length(x)) cy=(length(y)) r="4" {
                title { (point.name) ": μ* " (size) ", σ " (number(point.sigma)) }
            } "\n"
        }
    };
    let title = "Plot of μ* against σ, one point per parameter; the table has the numbers";
    let (width, height) = (length(size.0), length(size.1));
    let drawn = html! {
        svg.plot role="img" aria-label=(title) viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) {
            title { (title) } "\n"
            (plane.axes(if names { 6 } else { 4 }))
            (plane.guide(1.0, "σ = μ*"))
            (plane.guide(0.5, "σ = μ*/2"))
            @if let Some(corner) = corner { (frame(corner)) }
            @for (point, place) in points.iter().zip(&places) { (dot(point, *place)) }
            // Lines first, so that names stand above them.
            @for (from, to) in order.iter().flatten().filter_map(|placed| placed.leader) {
                (line("leader", from, to))
            }
            @for (position, placed) in named.iter().zip(&order) {
                @if let Some(placed) = placed {
                    text.name x=(length(placed.area.left + 2.0)) y=(length(placed.area.bottom - 4.0)) {
                        (labels[*position])
                    } "\n"
                }
            }
        } "\n"
    };
    let missing = order.iter().filter(|placed| placed.is_none()).count();
    (drawn, missing + chosen.len() - named.len())
}
