//! Axes, scales and marks of charts.
//!
//! Law: a chart is as wide as its place and as high as it was made. What lies along the width is in percent, so that a
//! narrow page moves marks together and never makes letters smaller.

use maud::{Markup, html};

use super::text::{cut, ticks as written};

/// How many colours there are to tell things apart by.
pub(crate) const COLOURS: usize = 7;

/// From numbers to the unit interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Scale {
    /// From the least to the largest; where they are equal, around them.
    pub(crate) fn linear(low: f64, high: f64) -> Scale {
        let apart = high > low && (high - low).is_finite();
        let (low, high) = if apart {
            (low, high)
        } else {
            let around = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
            (low - around, low + around)
        };
        Scale {
            low,
            high,
            logarithmic: false,
        }
    }

    /// By ratios, for positive numbers.
    pub(crate) fn logarithmic(low: f64, high: f64) -> Scale {
        if low > 0.0 && high > low {
            Scale {
                low,
                high,
                logarithmic: true,
            }
        } else {
            Scale::linear(low, high)
        }
    }

    /// The same scale, and where a number is below zero so far down that it has room; the low end is round, of about so
    /// many steps.
    pub(crate) fn down_to(self, least: f64, about: usize) -> Scale {
        if least >= 0.0 {
            return self;
        }
        let step = round_step((self.high - least) / about.max(1) as f64);
        Scale::linear((least / step).floor() * step, self.high)
    }

    /// Where a number lies between the ends of the scale: from 0 to 1.
    pub(crate) fn at(self, value: f64) -> f64 {
        self.beyond(value).clamp(0.0, 1.0)
    }

    /// Where a number lies, below 0 or above 1 if it is not between the ends.
    pub(crate) fn beyond(self, value: f64) -> f64 {
        let along = if self.logarithmic {
            libm::log(value.max(f64::MIN_POSITIVE) / self.low) / libm::log(self.high / self.low)
        } else {
            (value - self.low) / (self.high - self.low)
        };
        if along.is_finite() { along } else { 0.0 }
    }

    /// The same in percent, as it stands in an attribute.
    pub(crate) fn percent(self, value: f64) -> String {
        percent(self.at(value))
    }

    /// Round numbers along a linear scale, about so many.
    pub(crate) fn ticks(self, about: usize) -> Vec<f64> {
        let step = round_step((self.high - self.low) / about.max(1) as f64);
        let first = (self.low / step - 1e-9).ceil();
        let last = (self.high / step + 1e-9).floor();
        let many = ((last - first).max(0.0) as usize).min(200);
        (0..=many)
            .map(|number| (first + number as f64) * step)
            .collect()
    }
}

/// The least of 1, 2, 2.5, 5 times a power of ten that is not smaller.
pub(crate) fn round_step(size: f64) -> f64 {
    if !(size.is_finite() && size > 0.0) {
        return 1.0;
    }
    let written = format!("{size:e}");
    let power = written.split_once('e').map_or("0", |(_, power)| power);
    let ten = format!("1e{power}").parse::<f64>().unwrap_or(1.0);
    let fits = |factor: &f64| factor * ten >= size * (1.0 - 1e-9);
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(fits).unwrap_or(10.0);
    factor * ten
}

/// A linear scale from zero to a round number that is not smaller than any of the values.
pub(crate) fn from_zero(values: impl IntoIterator<Item = f64>) -> Scale {
    let largest = values.into_iter().filter(|value| value.is_finite());
    let largest = largest.fold(0.0, f64::max);
    let largest = if largest > 0.0 { largest } else { 1.0 };
    let step = round_step(largest / 5.0);
    Scale::linear(0.0, (largest / step - 1e-9).ceil() * step)
}

/// A part of the width.
pub(crate) fn percent(part: f64) -> String {
    format!("{}%", length(part * 100.0))
}

/// A length, without needless digits.
pub(crate) fn length(value: f64) -> String {
    let written = format!("{value:.2}");
    let written = written.trim_end_matches('0').trim_end_matches('.');
    if written == "-0" { "0" } else { written }.to_owned()
}

/// The room around the marks of a chart, where the names of things stand; in pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) top: usize,
    pub(crate) right: usize,
    pub(crate) bottom: usize,
    pub(crate) left: usize,
}

/// A chart as wide as its place: `title` is read out instead of it.
pub(crate) fn chart(title: &str, height: usize, room: Room, marks: &Markup) -> Markup {
    let Room {
        top,
        right,
        bottom,
        left,
    } = room;
    let padding = format!("padding:{top}px {right}px {bottom}px {left}px");
    html! {
        div.chart style=(padding) {
            svg.drawn role="img" aria-label=(title) width="100%" height=(height) {
                title { (title) } "\n"
                (marks)
            }
        } "\n"
    }
}

/// How much room names need at the left of a chart, and the most letters that one may have.
pub(crate) fn name_room<'n>(names: impl IntoIterator<Item = &'n str>) -> (usize, usize) {
    const MOST: usize = 22;
    let longest = names.into_iter().map(|name| name.chars().count()).max();
    let letters = longest.unwrap_or(0).clamp(3, MOST);
    (letters * 15 / 2 + 10, MOST)
}

/// The name of a row, at the left of the chart, with at most so many letters.
pub(crate) fn row_name(name: &str, most: usize, y: usize) -> Markup {
    html! { text.name x="0" dx="-8" y=(y) text-anchor="end" { (cut(name, most)) } "\n" }
}

/// A bar: where it begins along the width and how wide it is, in parts of the width; where its top is and how tall it is,
/// in pixels; and the words that show when it is pointed at.
pub(crate) fn bar(
    class: &str,
    (from, wide): (f64, f64),
    (top, tall): (f64, f64),
    words: Option<&str>,
) -> Markup {
    html! {
        rect.(class) x=(percent(from)) width=(percent(wide)) y=(length(top)) height=(length(tall)) {
            @if let Some(words) = words { title { (words) } }
        } "\n"
    }
}

/// Parts that follow each other: each with how much lies before it and how much it is. What is nothing is left out.
pub(crate) fn stacked<T>(parts: impl IntoIterator<Item = (T, f64)>) -> Vec<(T, f64, f64)> {
    let mut before = 0.0;
    let mut place = |(part, size): (T, f64)| {
        let from = before;
        before += size;
        (part, from, size)
    };
    let parts = parts.into_iter().filter(|(_, size)| *size > 0.0);
    parts.map(&mut place).collect()
}

/// How much room the numbers at the left of a chart need.
pub(crate) fn tick_room(ticks: &[f64]) -> usize {
    let longest = written(ticks)
        .iter()
        .map(|words| words.chars().count())
        .max();
    (longest.unwrap_or(0) * 7 + 12).max(46)
}

/// Lines from top to bottom at round numbers, with the numbers below them.
pub(crate) fn axis_below(scale: Scale, ticks: &[f64], height: usize, name: &str) -> Markup {
    html! {
        @for (tick, words) in ticks.iter().zip(written(ticks)) {
            @let x = scale.percent(*tick);
            line.grid x1=(x) x2=(x) y1="0" y2=(height) {}
            text.tick x=(x) y=(height + 16) text-anchor="middle" { (words) } "\n"
        }
        line.axis x1="0" x2="100%" y1=(height) y2=(height) {}
        text.axis-name x="100%" y=(height + 34) text-anchor="end" { (name) } "\n"
    }
}

/// Lines from left to right at round numbers, with the numbers at their left and the name so far above them.
pub(crate) fn axis_left(
    scale: Scale,
    ticks: &[f64],
    height: usize,
    name: &str,
    above: usize,
) -> Markup {
    html! {
        @for (tick, words) in ticks.iter().zip(written(ticks)) {
            @let y = length(height as f64 * (1.0 - scale.at(*tick)));
            line.grid x1="0" x2="100%" y1=(y) y2=(y) {}
            text.tick x="0" dx="-7" y=(y) dy="4" text-anchor="end" { (words) } "\n"
        }
        text.axis-name x="0" dx="-7" y={ "-" (above) } { (name) } "\n"
    }
}

/// What colours mean: each with its words.
pub(crate) fn legend<'w>(entries: impl IntoIterator<Item = (&'w str, &'w str)>) -> Markup {
    html! {
        ul.legend {
            @for (class, words) in entries { li { span.swatch.(class) {} (words) } }
        } "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_scale() {
        assert_eq!(
            Scale::linear(0.0, 1.0).ticks(5),
            [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]
        );
        assert_eq!(Scale::linear(-3.0, 11.0).ticks(4), [0.0, 5.0, 10.0]);
        assert_eq!(Scale::linear(7.0, 7.0).at(7.0), 0.5);
        assert_eq!(from_zero([0.37, f64::NAN]).percent(0.4), "100%");
        assert_eq!(from_zero([0.0]).percent(0.5), "50%");
        let scale = from_zero([0.9]);
        assert_eq!(scale.down_to(0.1, 5).percent(0.5), "50%");
        assert_eq!(
            scale.down_to(-0.1, 5).ticks(5),
            [-0.25, 0.0, 0.25, 0.5, 0.75, 1.0]
        );
    }

    #[test]
    fn a_scale_by_ratios_gives_equal_ratios_equal_lengths() {
        let scale = Scale::logarithmic(10.0, 1000.0);
        assert_eq!(percent(scale.at(100.0)), "50%");
        assert_eq!(percent(Scale::logarithmic(0.0, 4.0).at(1.0)), "25%");
    }

    #[test]
    fn parts_follow_each_other() {
        let parts = [("a", 0.5), ("none", 0.0), ("b", 0.25), ("not", f64::NAN)];
        assert_eq!(stacked(parts), [("a", 0.0, 0.5), ("b", 0.5, 0.25)]);
        assert!(stacked::<&str>([]).is_empty());
    }

    #[test]
    fn what_a_bar_says_is_text() {
        let drawn = bar("c1", (0.5, 0.25), (2.0, 16.0), Some("<a>")).into_string();
        let start = "<rect class=\"c1\" x=\"50%\" width=\"25%\" y=\"2\" height=\"16\">";
        assert_eq!(drawn, format!("{start}<title>&lt;a&gt;</title></rect>\n"));
        let mute = bar("c1", (0.5, 0.25), (2.0, 16.0), None).into_string();
        assert_eq!(mute, format!("{start}</rect>\n"));
        assert!(
            row_name("a<bcd", 4, 15)
                .into_string()
                .contains(">a&lt;b…</text>")
        );
    }

    #[test]
    fn lengths_are_short() {
        assert_eq!(
            [1.0, 0.333_3, -0.001, 12.5].map(length),
            ["1", "0.33", "0", "12.5"]
        );
        assert_eq!(
            [0.3, 0.11, 7.0, 24.0].map(round_step),
            [0.5, 0.2, 10.0, 25.0]
        );
    }
}
