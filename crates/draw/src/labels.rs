//! What stands beside arrows.
//!
//! Law: a label covers no node, no heading and no other label, and stands on its own arrow; what finds no such place is
//! left to be pointed at. Among places, one that no other arrow crosses is better.

use std::collections::BTreeMap;

use crate::face::SMALL;
use crate::model::{Diagram, DiagramEdge};
use crate::picture::{Arrow, Picture, Rectangle};
use crate::text::{cut, plain, width, wrapped};

/// The height of a line of a label.
pub(crate) const LABEL_LINE: f64 = 13.0;
/// Labels are not wider, and have not more lines.
const LABEL: (f64, usize) = (150.0, 2);
/// With more arrows than that, labels would be a grey area: they are left to be pointed at.
const MANY: usize = 1500;
/// So many places are tried for a label.
const TRIED: usize = 70;

/// A piece of an arrow: its upper and its lower end.
type Piece = ((f64, f64), (f64, f64));

/// Puts labels where they cover nothing. The picture grows where they need it.
pub(crate) fn place_labels(diagram: &Diagram, picture: &mut Picture) {
    let texts = (picture.arrows.iter()).map(|arrow| plain(&diagram.edges[arrow.edge].label()));
    let texts: Vec<String> = texts.collect();
    if picture.arrows.len() > MANY {
        picture.flaws.left_out = texts.iter().filter(|text| !text.is_empty()).count();
        return;
    }
    let mut taken: Bands<Rectangle> = Bands::default();
    for node in &picture.nodes {
        taken.add(*node, (node.y, node.y + node.height));
    }
    for stage in &picture.stages {
        // Beside a heading a label would read as a part of it.
        let heading = Rectangle {
            height: stage.heading.height,
            ..stage.place
        };
        taken.add(heading, (heading.y, heading.y + heading.height));
    }
    // Lines that run together are one piece, of as many arrows.
    let mut arrows: BTreeMap<[i64; 4], (Piece, usize)> = BTreeMap::new();
    for piece in picture.arrows.iter().flat_map(pieces) {
        let ((left, top), (right, bottom)) = piece;
        let key = [left, top, right, bottom].map(|end| (end * 10.0).round() as i64);
        arrows.entry(key).or_insert((piece, 0)).1 += 1;
    }
    let mut lines: Bands<(Piece, usize)> = Bands::default();
    for (piece, arrows) in arrows.into_values() {
        lines.add((piece, arrows), (piece.0.1, piece.1.1));
    }
    let (mut left, mut right) = (0.0_f64, picture.width);
    for (number, text) in texts
        .iter()
        .enumerate()
        .filter(|(_, text)| !text.is_empty())
    {
        let arrow = &picture.arrows[number];
        let Some((crossed, place, lines)) =
            best_place(diagram, arrow, text, picture.width, &taken, &lines)
        else {
            picture.flaws.left_out += 1;
            continue;
        };
        picture.flaws.crossed += crossed;
        taken.add(place, (place.y, place.y + place.height));
        left = left.min(place.x);
        right = right.max(place.x + place.width);
        let (x, y) = (place.x + place.width / 2.0, place.y + place.height / 2.0);
        picture.arrows[number].label = Some((x, y, lines));
    }
    picture.widen(left, right);
}

/// The best place for a label, and what stands there; with how many arrows run through it that are not its own.
fn best_place(
    diagram: &Diagram,
    arrow: &Arrow,
    text: &str,
    wide: f64,
    taken: &Bands<Rectangle>,
    lines: &Bands<(Piece, usize)>,
) -> Option<(usize, Rectangle, Vec<String>)> {
    let own = pieces(arrow);
    let mut best = None;
    let mut least = (usize::MAX, false);
    for form in forms(&diagram.edges[arrow.edge], text) {
        for place in places(arrow, &form) {
            let height = (place.y, place.y + place.height);
            if taken.near(height).any(|other| other.overlaps(&place)) {
                continue;
            }
            let through = lines
                .near(height)
                .filter(|(piece, _)| crosses(piece, &place));
            let through = through.map(|(_, arrows)| arrows).sum::<usize>();
            let own = own.iter().filter(|piece| crosses(piece, &place)).count();
            let outside = place.x < -SLACK || place.x + place.width > wide + SLACK;
            let flaws = (through.saturating_sub(own), outside);
            // The first of those that are equally good.
            if flaws < least {
                least = flaws;
                best = Some((flaws.0, place, form.clone()));
            }
            if flaws == (0, false) {
                return best;
            }
        }
    }
    best
}

/// By how much a label may stand out at the side.
const SLACK: f64 = 10.0;

/// The forms that a label may have, the best first: in whole lines, each name in a line of its own, cut.
fn forms(edge: &DiagramEdge, text: &str) -> Vec<Vec<String>> {
    let mut lines = wrapped(text, SMALL, LABEL.0);
    if lines.len() > LABEL.1 {
        let rest = lines.split_off(LABEL.1 - 1).join(" ");
        lines.push(cut(&rest, SMALL, LABEL.0));
    }
    let mut forms = vec![lines];
    if let 2..=3 = edge.names.len() {
        let last = edge.names.len() - 1;
        let names = edge.names.iter().enumerate();
        let names = names.map(|(place, name)| {
            if place == last {
                plain(name)
            } else {
                format!("{},", plain(name))
            }
        });
        forms.push(names.map(|name| cut(&name, SMALL, LABEL.0)).collect());
    }
    forms.push(vec![cut(text, SMALL, LABEL.0)]);
    forms.dedup();
    forms
}

/// Things by their height, so that one finds what is near without looking at all.
struct Bands<T> {
    things: Vec<T>,
    /// By band: what is there, and the first band that it is in.
    bands: BTreeMap<i64, Vec<(usize, i64)>>,
}

impl<T> Default for Bands<T> {
    fn default() -> Bands<T> {
        Bands {
            things: Vec::new(),
            bands: BTreeMap::new(),
        }
    }
}

impl<T> Bands<T> {
    /// The height of a band.
    const BAND: f64 = 24.0;

    fn of((top, bottom): (f64, f64)) -> std::ops::RangeInclusive<i64> {
        (top / Self::BAND).floor() as i64..=(bottom / Self::BAND).floor() as i64
    }

    fn add(&mut self, thing: T, height: (f64, f64)) {
        let bands = Self::of(height);
        let place = (self.things.len(), *bands.start());
        for band in bands {
            self.bands.entry(band).or_default().push(place);
        }
        self.things.push(thing);
    }

    /// What may share some height, each once.
    fn near(&self, height: (f64, f64)) -> impl Iterator<Item = &T> {
        let bands = Self::of(height);
        let top = *bands.start();
        self.bands.range(bands).flat_map(move |(band, things)| {
            // In the first band that both are in.
            let here = things
                .iter()
                .filter(move |(_, first)| *band == top.max(*first));
            here.map(|(thing, _)| &self.things[*thing])
        })
    }
}

fn pieces(arrow: &Arrow) -> Vec<Piece> {
    let pairs = arrow.corners.windows(2);
    pairs.map(|pair| (pair[0], pair[1])).collect()
}

/// Where lines of text could stand on an arrow, the best first.
fn places(arrow: &Arrow, lines: &[String]) -> Vec<Rectangle> {
    let widths = lines.iter().map(|line| width(line, SMALL));
    let wide = widths.fold(0.0, f64::max) + 6.0;
    let high = LABEL_LINE * lines.len() as f64 + 2.0;
    // The tip stays free.
    let mut pieces = pieces(arrow);
    let (upper, lower) = if arrow.turned { (8.0, 0.0) } else { (0.0, 8.0) };
    if let Some((begin, _)) = pieces.first_mut() {
        begin.1 += upper;
    }
    if let Some((_, end)) = pieces.last_mut() {
        end.1 -= lower;
    }
    // From the end on: there, lines that begin together have parted.
    let mut places = Vec::new();
    for piece in pieces.iter().rev() {
        let (top, bottom) = (piece.0.1, piece.1.1);
        if bottom - top < high {
            continue;
        }
        for part in [0.5, 0.7, 0.3, 0.85, 0.15, 0.6, 0.4] {
            let (x, y) = at(piece, part);
            // Not into the row above or below.
            let y = (y - high / 2.0).clamp(top, bottom - high);
            places.push(Rectangle {
                x: x - wide / 2.0,
                y,
                width: wide,
                height: high,
            });
        }
    }
    places.truncate(TRIED);
    places
}

/// The place on a piece, which is drawn straight, or bent to both ends alike.
fn at(((left, top), (right, bottom)): &Piece, part: f64) -> (f64, f64) {
    let across = part * part * (3.0 - 2.0 * part);
    let down = part * (1.5 - 1.5 * part + part * part);
    (left + (right - left) * across, top + (bottom - top) * down)
}

/// Whether a piece runs through a place.
pub(crate) fn crosses(piece: &Piece, place: &Rectangle) -> bool {
    let ((left, top), (right, bottom)) = *piece;
    let near = left.min(right) <= place.x + place.width
        && left.max(right) >= place.x
        && top <= place.y + place.height
        && bottom >= place.y;
    let inside = |(x, y): (f64, f64)| {
        (place.x..=place.x + place.width).contains(&x)
            && (place.y..=place.y + place.height).contains(&y)
    };
    near && (0..=20).any(|step| inside(at(piece, f64::from(step) / 20.0)))
}
