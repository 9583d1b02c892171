//! A picture as SVG.
//!
//! Law: one element that needs nothing but itself: no script, no font, no address, no id. Everything that a user named
//! is text in it and nothing else. It follows the reader's choice of light or dark.

use std::collections::{HashMap, HashSet};

use maud::{Markup, PreEscaped, html};

use crate::face::{BAR, Face, Style, line_height};
use crate::labels::LABEL_LINE;
use crate::layout::layout;
use crate::made::MADE;
use crate::model::{Diagram, DiagramEdge, DiagramEnd, DiagramNode, EdgeKind, NodeKind};
use crate::picture::{Arrow, Picture, Rectangle, StageBox};
use crate::text::{cut, plain, width, wrapped};

/// Colours and lines. Every rule is about what is inside of a picture, so it does no harm on a page.
const STYLE: &str = "\
.hw-dag{--hw-paper:#fff;--hw-ink:#1d2733;--hw-quiet:#5b6875;--hw-line:#8492a0;--hw-node:#fff;--hw-edge:#b8c3cd;\
--hw-stage:#f3f6f8;--hw-stage-edge:#d5dde4;--hw-input:#e4f0fb;--hw-input-edge:#6ea3d4;--hw-output:#e5f4e9;\
--hw-output-edge:#6cb182;--hw-varied:#8a4b00;--hw-varied-edge:#d8933b;--hw-executed:#3d82c4;--hw-restored:#7a6bc0;\
--hw-cut-off:#5fb3b3;--hw-reused:#59a86f;--hw-failed:#d0453d;--hw-blocked:#e0a33a;--hw-open:#d5dde4;\
--hw-later:#a8487f;--hw-later-text:#8f3a6b;\
font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}\
@media (prefers-color-scheme:dark){.hw-dag{--hw-paper:#14191f;--hw-ink:#e6ebf0;--hw-quiet:#9aa7b4;--hw-line:#77879a;\
--hw-node:#222a33;--hw-edge:#4a5866;--hw-stage:#1a2129;--hw-stage-edge:#333f4b;--hw-input:#1b2f44;\
--hw-input-edge:#4f86ba;--hw-output:#1b3626;--hw-output-edge:#4e9266;--hw-varied:#f0b266;--hw-varied-edge:#b97b2c;\
--hw-executed:#5b9bd8;--hw-restored:#9b8ee0;--hw-cut-off:#63bcbc;--hw-reused:#63b77b;--hw-failed:#ea6a62;\
--hw-blocked:#e3b050;--hw-open:#3a4652;--hw-later:#c774a4;--hw-later-text:#dd9cc0}}\
.hw-dag text{font-size:11px;fill:var(--hw-quiet);stroke:none}\
.hw-dag .hw-name{font-size:13px;fill:var(--hw-ink);font-weight:500}\
.hw-dag .hw-head{font-size:13px;fill:var(--hw-ink);font-weight:600}\
.hw-dag .hw-title{font-size:16px;fill:var(--hw-ink);font-weight:600}\
.hw-dag .hw-varies{fill:var(--hw-varied)}\
.hw-dag .hw-over{paint-order:stroke;stroke:var(--hw-paper);stroke-width:4px;stroke-linejoin:round}\
.hw-dag .hw-stage .hw-over,.hw-dag .hw-within{stroke:var(--hw-stage)}\
.hw-dag .hw-stage rect{fill:var(--hw-stage);stroke:var(--hw-stage-edge)}\
.hw-dag .hw-task rect{fill:var(--hw-node);stroke:var(--hw-edge)}\
.hw-dag .hw-input rect{fill:var(--hw-input);stroke:var(--hw-input-edge)}\
.hw-dag .hw-output rect{fill:var(--hw-output);stroke:var(--hw-output-edge)}\
.hw-dag .hw-varied rect{stroke:var(--hw-varied-edge);stroke-width:1.5px}\
.hw-dag .hw-failing rect{stroke:var(--hw-failed);stroke-width:1.5px}\
.hw-dag .hw-optional rect{stroke-dasharray:5 3}\
.hw-dag .hw-bar rect{stroke:none;fill:var(--hw-open)}\
.hw-dag .hw-bar .hw-executed{fill:var(--hw-executed)}.hw-dag .hw-bar .hw-restored{fill:var(--hw-restored)}\
.hw-dag .hw-bar .hw-cut-off{fill:var(--hw-cut-off)}.hw-dag .hw-bar .hw-reused{fill:var(--hw-reused)}\
.hw-dag .hw-bar .hw-failed{fill:var(--hw-failed)}.hw-dag .hw-bar .hw-blocked{fill:var(--hw-blocked)}\
.hw-dag path{fill:none;stroke:var(--hw-line);stroke-width:1.3px}\
.hw-dag .hw-tip{fill:var(--hw-line);stroke:none}\
.hw-dag .hw-absent path.hw-way{stroke-dasharray:5 4}\
.hw-dag .hw-order path.hw-way{stroke-dasharray:2 4;stroke-linecap:round}\
.hw-dag .hw-later path.hw-way{stroke:var(--hw-later);stroke-dasharray:6 3}.hw-dag .hw-later .hw-tip{fill:var(--hw-later)}\
.hw-dag text.hw-later{fill:var(--hw-later-text)}";

/// Around a picture.
const MARGIN: f64 = 16.0;
/// The size of the title.
const TITLE: f64 = 16.0;

/// The picture of a diagram as a file of its own, with its title.
pub(crate) fn diagram_svg(diagram: &Diagram) -> String {
    let picture = layout(diagram);
    let header = Header::of(diagram, picture.width);
    let (wide, high) = (
        picture.width.max(header.width) + 2.0 * MARGIN,
        picture.height + header.height + 2.0 * MARGIN,
    );
    let left = MARGIN + (wide - 2.0 * MARGIN - picture.width) / 2.0;
    let sheet = format!(".hw-paper{{fill:var(--hw-paper)}}{STYLE}");
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" class="hw-dag" data-note=(MADE) role="img" width=(number(wide)) height=(number(high))
            viewBox=(format!("0 0 {} {}", number(wide), number(high))) {
            title { (plain(&diagram.title)) }
            style { (PreEscaped(sheet)) }
            rect.hw-paper width="100%" height="100%" {}
            @for (line, (class, text)) in header.lines.iter().enumerate() {
                text class=(class) x=(number(MARGIN)) y=(number(MARGIN + 14.0 + 18.0 * line as f64)) { (text) }
            }
            g transform=(format!("translate({} {})", number(left), number(MARGIN + header.height))) {
                (content(diagram, &picture))
            }
        }
    };
    format!("{}\n", svg.into_string())
}

/// The picture of a diagram within a page, without its title: as wide as the page lets it be, and scrolled sideways
/// where it would become too small to read.
pub fn inline(diagram: &Diagram) -> Markup {
    let picture = layout(diagram);
    let (wide, high) = (picture.width + 4.0, picture.height + 4.0);
    // Below three quarters of their size names cannot be read.
    let least = (wide * 0.75).min(wide);
    let size = format!(
        "display:block;width:100%;max-width:{0}px;min-width:{1}px;height:auto",
        number(wide),
        number(least)
    );
    html! {
        div.hw-dag-box style="overflow-x:auto" {
            svg xmlns="http://www.w3.org/2000/svg" class="hw-dag" role="img" style=(size)
                viewBox=(format!("-2 -2 {} {}", number(wide), number(high))) {
                title { (plain(&diagram.title)) }
                style { (PreEscaped(STYLE)) }
                (content(diagram, &picture))
            }
        }
    }
}

/// What stands above a picture.
struct Header {
    lines: Vec<(&'static str, String)>,
    width: f64,
    height: f64,
}

impl Header {
    fn of(diagram: &Diagram, wide: f64) -> Header {
        let room = wide.max(420.0);
        let mut header = Header {
            lines: vec![("hw-title", cut(&plain(&diagram.title), TITLE, room))],
            width: 0.0,
            height: 0.0,
        };
        for note in &diagram.notes {
            let lines = wrapped(&plain(note), 11.0, room);
            header
                .lines
                .extend(lines.into_iter().map(|line| ("", line)));
        }
        let size = |class: &str| if class.is_empty() { 11.0 } else { TITLE };
        let widths = header
            .lines
            .iter()
            .map(|(class, text)| width(text, size(class)));
        header.width = widths.fold(0.0, f64::max);
        header.height = 18.0 * header.lines.len() as f64 + 10.0;
        header
    }
}

fn content(diagram: &Diagram, picture: &Picture) -> Markup {
    let mut drawn = Drawn::default();
    html! {
        @for stage in &picture.stages {
            g.hw-stage {
                title { (stage.heading.title) }
                (rectangle(&stage.place, 8.0))
            }
        }
        @for arrow in &picture.arrows {
            (line(diagram, arrow, &mut drawn))
        }
        @for stage in &picture.stages {
            g.hw-stage { (heading(stage)) }
        }
        @for ((node, face), place) in diagram.nodes.iter().zip(&picture.faces).zip(&picture.nodes) {
            (drawn_node(node, face, place))
        }
        @for arrow in &picture.arrows {
            @if let Some((x, y, lines)) = &arrow.label {
                @for (line, text) in lines.iter().enumerate() {
                    text class=(label_class(diagram, picture, arrow, (*x, *y))) text-anchor="middle" x=(number(*x))
                        y=(number(y + 4.0 + LABEL_LINE * (line as f64 - (lines.len() - 1) as f64 / 2.0))) { (text) }
                }
            }
        }
    }
}

/// The space around a label has the colour of what is below it; the label that of its arrow.
fn label_class(diagram: &Diagram, picture: &Picture, arrow: &Arrow, (x, y): (f64, f64)) -> String {
    let holds = |stage: &StageBox| {
        let place = &stage.place;
        (place.x..place.x + place.width).contains(&x)
            && (place.y..place.y + place.height).contains(&y)
    };
    let within = picture.stages.iter().any(holds);
    let later = diagram.edges[arrow.edge].kind == EdgeKind::Order;
    classes("hw-over", &[("hw-within", within), ("hw-later", later)])
}

fn rectangle(place: &Rectangle, round: f64) -> Markup {
    html! {
        rect x=(number(place.x)) y=(number(place.y)) width=(number(place.width)) height=(number(place.height))
            rx=(number(round)) {}
    }
}

fn heading(stage: &StageBox) -> Markup {
    let (x, y) = (stage.place.x + stage.heading_at, stage.place.y + 18.0);
    html! {
        text.hw-head.hw-over x=(number(x)) y=(number(y)) { (stage.heading.name) }
        @if !stage.heading.words.is_empty() {
            text.hw-over x=(number(x)) y=(number(y + 14.0)) { (stage.heading.words) }
        }
    }
}

fn drawn_node(node: &DiagramNode, face: &Face, place: &Rectangle) -> Markup {
    let kind = match node.kind {
        NodeKind::Input => "hw-input",
        NodeKind::Task => "hw-task",
        NodeKind::Output => "hw-output",
    };
    let failing = node.counts.is_some_and(|counts| counts.failed > 0);
    let varied = !node.varied.is_empty();
    let round = match node.kind {
        NodeKind::Task => 6.0,
        _ => (place.height / 2.0).min(20.0),
    };
    let middle = place.x + place.width / 2.0;
    let mut y = place.y + 6.0;
    let mut lines = Vec::with_capacity(face.lines.len());
    for (style, text) in &face.lines {
        let class = match style {
            Style::Name => "hw-name",
            Style::Small => "",
            Style::Varied => "hw-varies",
        };
        lines.push((class, y + line_height(*style) - 4.0, text));
        y += line_height(*style);
    }
    html! {
        g class=(classes(kind, &[("hw-failing", failing), ("hw-varied", varied && !failing), ("hw-optional", node.optional)])) {
            title { (face.title) }
            (rectangle(place, round))
            @for (class, y, text) in lines {
                text class=[Some(class).filter(|class| !class.is_empty())] text-anchor="middle" x=(number(middle))
                    y=(number(y)) { (text) }
            }
            @if face.bar { (bar(node, place)) }
        }
    }
}

/// A class, and those that apply.
fn classes(always: &str, more: &[(&str, bool)]) -> String {
    let more = more.iter().filter(|(_, applies)| *applies);
    let all: Vec<&str> = std::iter::once(always)
        .chain(more.map(|(class, _)| *class))
        .collect();
    all.join(" ")
}

/// How the tasks of a node ended, as parts of a bar.
fn bar(node: &DiagramNode, place: &Rectangle) -> Markup {
    let counts = node.counts.unwrap_or_default();
    let total = (counts.settled() as u64)
        .max(node.tasks.unwrap_or(0))
        .max(1) as f64;
    let (left, room) = (place.x + 10.0, place.width - 20.0);
    let top = place.y + place.height - BAR - 6.0;
    let mut parts = Vec::new();
    let mut x = left;
    let counted = counts.by_outcome().into_iter();
    for (outcome, count) in counted.filter(|(_, count)| *count > 0) {
        // However few: a failure is to be seen.
        let wide = (room * count as f64 / total).max(2.0).min(left + room - x);
        parts.push((format!("hw-{outcome}"), x, wide));
        x += wide;
    }
    html! {
        g.hw-bar {
            rect x=(number(left)) y=(number(top)) width=(number(room)) height=(number(BAR)) rx="2" {}
            @for (class, x, wide) in parts {
                rect class=(class) x=(number(x)) y=(number(top)) width=(number(wide)) height=(number(BAR)) {}
            }
        }
    }
}

/// How a line looks, and whether what it carries may be absent.
type Look = (EdgeKind, bool);

/// Where a line goes.
type Corners = [(f64, f64)];

/// What is drawn already.
#[derive(Default)]
struct Drawn<'a> {
    /// Pieces of lines, by their ends in tenths of a pixel.
    pieces: HashSet<([i64; 4], Look)>,
    /// By where a line begins: the one that did so last. Many begin alike and run together for long.
    last: HashMap<([i64; 2], Look), &'a Corners>,
}

impl<'a> Drawn<'a> {
    /// How many corners of a line are known from the one before that begins at the same place. Its end is not among
    /// them.
    fn known(&mut self, corners: &'a Corners, look: Look) -> usize {
        let (Some(begin), inner) = (corners.first(), corners.len().saturating_sub(1)) else {
            return 0;
        };
        let begin = [begin.0, begin.1].map(tenth);
        let Some(other) = self.last.insert((begin, look), corners) else {
            return 0;
        };
        let both = corners[..inner]
            .iter()
            .zip(&other[..other.len().saturating_sub(1)]);
        both.take_while(|(one, other)| one == other).count()
    }
}

fn tenth(value: f64) -> i64 {
    (value * 10.0).round() as i64
}

/// An arrow: straight through rows, bent between them, with a tip; down, unless it is turned.
fn line<'a>(diagram: &Diagram, arrow: &'a Arrow, drawn: &mut Drawn<'a>) -> Markup {
    let edge = &diagram.edges[arrow.edge];
    let look = match edge.kind {
        EdgeKind::Wait => (EdgeKind::After, edge.optional),
        kind => (kind, edge.optional),
    };
    let known = if arrow.turned {
        0
    } else {
        drawn.known(&arrow.corners, look)
    };
    let mut corners = arrow.corners[known.saturating_sub(1)..].to_vec();
    // The line ends where the tip begins.
    let (tip, length) = if arrow.turned {
        (corners.first_mut(), 5.0)
    } else {
        (corners.last_mut(), -5.0)
    };
    let Some((x, y)) = tip else {
        return html! {};
    };
    let tip = if arrow.turned {
        format!("M{} {}l-3.6 6.5h7.2z", number(*x), number(*y))
    } else {
        format!("M{} {}l-3.6 -6.5h7.2z", number(*x), number(*y))
    };
    *y += length;
    let mut way = String::new();
    let (mut last, mut pen): (Option<(f64, f64)>, bool) = (None, false);
    for to in corners {
        let Some(from) = last.replace(to) else {
            continue;
        };
        // What several lines share is drawn once, or it would look thicker.
        let ends = [from.0, from.1, to.0, to.1].map(tenth);
        if !drawn.pieces.insert((ends, look)) {
            pen = false;
            continue;
        }
        if !pen {
            way.push_str(&format!("M{} {}", number(from.0), number(from.1)));
            pen = true;
        }
        if (from.0 - to.0).abs() < 0.05 {
            way.push_str(&format!("V{}", number(to.1)));
        } else {
            let middle = number((from.1 + to.1) / 2.0);
            let (begins, ends) = (number(from.0), number(to.0));
            way.push_str(&format!(
                "C{begins} {middle} {ends} {middle} {ends} {}",
                number(to.1)
            ));
        }
    }
    let (order, later) = (look.0 == EdgeKind::After, look.0 == EdgeKind::Order);
    html! {
        g class=(classes("hw-arrow", &[("hw-order", order), ("hw-later", later), ("hw-absent", edge.optional)])) {
            title { (told(diagram, edge)) }
            @if !way.is_empty() { path.hw-way d=(way) {} }
            path.hw-tip d=(tip) {}
        }
    }
}

/// An edge in words.
fn told(diagram: &Diagram, edge: &DiagramEdge) -> String {
    let name = |end: DiagramEnd| match end {
        DiagramEnd::Node(node) => diagram
            .nodes
            .get(node)
            .map(|node| node.address.as_ref().unwrap_or(&node.label)),
        DiagramEnd::Group(group) => diagram.groups.get(group).map(|group| &group.name),
    };
    let (from, to) = (name(edge.from), name(edge.to));
    let (from, to) = (
        from.map_or("", String::as_str),
        to.map_or("", String::as_str),
    );
    let label = edge.label();
    let separator = if label.is_empty() { "" } else { ": " };
    plain(&format!("{from} → {to}{separator}{label}"))
}

/// A number with at most one digit behind the point.
fn number(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    // Not `-0`.
    format!("{}", rounded + 0.0)
}
