//! What stands beside arrows.
//!
//! Law: a label covers no node, no heading and no other label, and stands on its own arrow; what finds no such place is
//! left to be pointed at. Among places, one that no other arrow crosses is better.

use super::face::SMALL;
use super::layout::{Arrow, Picture, Rectangle};
use super::model::Diagram;
use super::text::{cut, plain, width, wrapped};

/// The height of a line of a label.
pub(super) const LABEL_LINE: f64 = 13.0;
/// Labels are not wider, and have not more lines.
const LABEL: (f64, usize) = (150.0, 2);
/// With more arrows than that, nobody looks which of them cross a label.
const CROSSED: usize = 300;
/// With more than that, labels would be a grey area: they are left to be pointed at.
const MANY: usize = 1500;
/// So many places are tried for a label.
const TRIED: usize = 40;

/// A piece of an arrow: its upper and its lower end.
type Piece = ((f64, f64), (f64, f64));

/// How many arrows have something to say and found no place for it.
pub(super) fn left_out(diagram: &Diagram, picture: &Picture) -> usize {
    let arrows = picture.arrows.iter().filter(|arrow| arrow.label.is_none());
    arrows
        .filter(|arrow| !diagram.edges[arrow.edge].label().is_empty())
        .count()
}

/// Puts labels where they cover nothing.
pub(super) fn place_labels(diagram: &Diagram, picture: &mut Picture) {
    if picture.arrows.len() > MANY {
        return;
    }
    let mut taken: Vec<Rectangle> = picture.nodes.clone();
    for stage in &picture.stages {
        // Beside a heading a label would read as a part of it.
        taken.push(Rectangle {
            height: stage.heading.height,
            ..stage.place
        });
    }
    let all: Vec<Vec<Piece>> = match picture.arrows.len() {
        0..=CROSSED => picture.arrows.iter().map(pieces).collect(),
        _ => Vec::new(),
    };
    for number in 0..picture.arrows.len() {
        let arrow = &picture.arrows[number];
        let text = plain(&diagram.edges[arrow.edge].label());
        if text.is_empty() {
            continue;
        }
        // In lines, each of them whole, if that can be.
        let mut lines = wrapped(&text, SMALL, LABEL.0);
        if lines.len() > LABEL.1 {
            let rest = lines.split_off(LABEL.1 - 1).join(" ");
            lines.push(cut(&rest, SMALL, LABEL.0));
        }
        let one = vec![cut(&text, SMALL, LABEL.0)];
        let crossing = |place: &Rectangle| {
            let others = all.iter().enumerate().filter(|(other, _)| *other != number);
            others
                .flat_map(|(_, pieces)| pieces)
                .filter(|piece| crosses(piece, place))
                .count()
        };
        let free = |lines: &[String]| {
            let places = places(arrow, lines).into_iter().filter(|place| {
                let outside = place.x < -10.0 || place.x + place.width > picture.width + 10.0;
                !outside && !taken.iter().any(|other| other.overlaps(place))
            });
            // The first of those that are equally good.
            places.min_by_key(crossing)
        };
        let found = [lines, one]
            .into_iter()
            .find_map(|lines| Some((free(&lines)?, lines)));
        let Some((place, lines)) = found else {
            continue;
        };
        taken.push(place);
        let (x, y) = (place.x + place.width / 2.0, place.y + place.height / 2.0);
        picture.arrows[number].label = Some((x, y, lines));
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
    let (upper, lower) = match arrow.turned {
        true => (8.0, 0.0),
        false => (0.0, 8.0),
    };
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
        for part in [0.5, 0.7, 0.3, 0.85, 0.15] {
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
fn crosses(piece: &Piece, place: &Rectangle) -> bool {
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
