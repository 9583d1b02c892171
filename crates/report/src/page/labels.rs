//! Labels of points that do not cover each other.
//!
//! Law: placing is greedy, in the order given: what matters most comes first and stays nearest to its point. A label that
//! finds no free place has none.

/// Where something is, in pixels; y grows downwards.
pub(crate) type Position = (f64, f64);

/// A rectangle: left, top, right, bottom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Area {
    fn meets(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn holds(&self, (x, y): Position) -> bool {
        self.left < x && x < self.right && self.top < y && y < self.bottom
    }

    fn within(&self, other: &Area) -> bool {
        self.left >= other.left
            && self.right <= other.right
            && self.top >= other.top
            && self.bottom <= other.bottom
    }

    /// The point of it that is nearest.
    fn nearest(&self, (x, y): Position) -> Position {
        (
            x.clamp(self.left, self.right),
            y.clamp(self.top, self.bottom),
        )
    }
}

/// A label in its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Placed {
    /// The room of its letters.
    pub(crate) area: Area,
    /// A line from the point to the label, where the label is not beside its point.
    pub(crate) leader: Option<(Position, Position)>,
}

/// The height of a label.
pub(crate) const LINE: f64 = 15.0;

/// How far a point reaches.
const POINT: f64 = 5.0;

/// Into how many directions a label may lie.
const DIRECTIONS: usize = 24;

/// How far from their points labels may lie; from the third on a line leads to them.
const DISTANCES: [f64; 14] = [
    8.0, 12.0, 20.0, 28.0, 38.0, 50.0, 64.0, 80.0, 98.0, 118.0, 140.0, 165.0, 190.0, 220.0,
];

/// What it costs, in pixels of distance, if a line runs over a point or another line, or if a label covers what it had
/// better not; twice that if a line runs under a label.
const OVER: f64 = 30.0;

/// Places labels of the given widths beside those points that are to be named, all within an area. What is in `better_not` may be covered, where
/// there is no better place.
pub(crate) fn place(
    points: &[Position],
    named: &[usize],
    widths: &[f64],
    within: Area,
    better_not: &[Area],
) -> Vec<Option<Placed>> {
    let mut areas: Vec<Area> = Vec::new();
    let mut leaders: Vec<(Position, Position)> = Vec::new();
    let mut placed = Vec::with_capacity(named.len());
    for own in named.iter().copied() {
        let (point, width) = (&points[own], &widths[own]);
        let mut best: Option<(f64, Placed)> = None;
        for (distance, candidate) in candidates(*point, *width) {
            let area = &candidate.area;
            let free = area.within(&within)
                && !areas.iter().any(|other| area.meets(other))
                && !points.iter().any(|(x, y)| area.meets(&around(*x, *y)));
            if !free {
                continue;
            }
            let covered = better_not.iter().filter(|other| area.meets(other)).count();
            let under = leaders
                .iter()
                .filter(|leader| crosses(**leader, area))
                .count();
            let run_over = candidate.leader.map_or(0, |leader| {
                covers(leader, points, own)
                    + leaders.iter().filter(|other| meet(leader, **other)).count()
                    + 2 * areas.iter().filter(|other| crosses(leader, other)).count()
            });
            let cost = distance + OVER * (covered + 2 * under + run_over) as f64;
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, candidate));
            }
        }
        let found = best.map(|(_, candidate)| candidate);
        if let Some(found) = found {
            areas.push(found.area);
            leaders.extend(found.leader);
        }
        placed.push(found);
    }
    placed
}

fn around(x: f64, y: f64) -> Area {
    Area {
        left: x - POINT,
        top: y - POINT,
        right: x + POINT,
        bottom: y + POINT,
    }
}

/// The places that a label may have and how far they are, the nearest first; to the right before others.
fn candidates(point: Position, width: f64) -> impl Iterator<Item = (f64, Placed)> {
    let near = DISTANCES.iter().enumerate();
    near.flat_map(move |(ring, distance)| {
        (0..DIRECTIONS).map(move |number| {
            // Right, a little up, a little down, and so on until left.
            let turns = number.div_ceil(2) as f64 / DIRECTIONS as f64;
            let turns = if number % 2 == 1 { -turns } else { turns };
            let (down, right) = libm::sincos(turns * std::f64::consts::TAU);
            let (x, y) = (point.0 + right * distance, point.1 + down * distance);
            // A label begins at its place, ends there or lies around it, by the side that it is on.
            let left = if right > 0.2 {
                x
            } else if right < -0.2 {
                x - width
            } else {
                x - width / 2.0
            };
            let top = y - LINE / 2.0 + down * LINE / 2.0;
            let area = Area {
                left,
                top,
                right: left + width,
                bottom: top + LINE,
            };
            let leader = (ring >= 2).then(|| (point, area.nearest(point)));
            (*distance, Placed { area, leader })
        })
    })
}

/// Places along a line, close enough to each other that no label fits between them.
fn along((from, to): (Position, Position)) -> impl Iterator<Item = Position> {
    let longest = (to.0 - from.0).abs().max((to.1 - from.1).abs());
    let steps = (longest / 3.0).ceil().max(1.0) as usize;
    (0..=steps).map(move |step| {
        let part = step as f64 / steps as f64;
        (
            from.0 + (to.0 - from.0) * part,
            from.1 + (to.1 - from.1) * part,
        )
    })
}

fn crosses(leader: (Position, Position), area: &Area) -> bool {
    along(leader).any(|position| area.holds(position))
}

/// How many points a line runs over that are not its own.
fn covers(leader: (Position, Position), points: &[Position], own: usize) -> usize {
    let from = points[own];
    let others = points.iter().enumerate().filter(|(other, _)| *other != own);
    let others = others.filter(|(_, (x, y))| !around(*x, *y).holds(from));
    let run_over = others.filter(|(_, (x, y))| crosses(leader, &around(*x, *y)));
    run_over.count()
}

/// Whether two lines cross.
fn meet(one: (Position, Position), other: (Position, Position)) -> bool {
    // On which side of a line a place is.
    let side = |(from, to): (Position, Position), place: Position| {
        (to.0 - from.0) * (place.1 - from.1) - (to.1 - from.1) * (place.0 - from.0)
    };
    side(one, other.0) * side(one, other.1) < 0.0 && side(other, one.0) * side(other, one.1) < 0.0
}

/// Moves the middles of labels that stand in one column apart, so that neighbours have at least a line between them, all
/// within `low` and `high`; as little as possible, keeping their order.
pub(crate) fn apart(middles: &[f64], low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..middles.len()).collect();
    order.sort_by(|one, other| middles[*one].total_cmp(&middles[*other]));
    let room = (high - low) / middles.len().saturating_sub(1).max(1) as f64;
    let line = LINE.min(room);
    // Blocks of labels that touch: first in order, how many, and the wanted place of the first one.
    let mut blocks: Vec<(usize, usize, f64)> = Vec::new();
    for (rank, position) in order.iter().enumerate() {
        let mut block = (rank, 1, middles[*position].clamp(low, high));
        while let Some((first, many, top)) = blocks.last().copied() {
            if top + many as f64 * line <= block.2 {
                break;
            }
            // The mean of what all of them want, were each the first.
            let joined = many + block.1;
            let wanted = (top * many as f64 + (block.2 - many as f64 * line) * block.1 as f64)
                / joined as f64;
            block = (first, joined, wanted);
            blocks.pop();
        }
        let lowest = high - (block.1 - 1) as f64 * line;
        block.2 = block.2.clamp(low, lowest.max(low));
        blocks.push(block);
    }
    // Blocks that the lower end pushed up may touch those above.
    let mut end = high;
    let mut moved = vec![0.0; middles.len()];
    for (first, many, top) in blocks.into_iter().rev() {
        let top = top.min(end - (many - 1) as f64 * line);
        for place in 0..many {
            moved[order[first + place]] = top + place as f64 * line;
        }
        end = top - line;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Area = Area {
        left: 0.0,
        top: 0.0,
        right: 640.0,
        bottom: 380.0,
    };

    #[test]
    fn labels_of_a_crowd_do_not_cover_each_other() {
        // Two far away, thirteen close to the corner.
        let mut points = vec![(500.0, 100.0), (420.0, 150.0)];
        points.extend((0..13).map(|number| {
            let number = f64::from(number);
            (20.0 + 14.0 * number, 360.0 - (number * 37.0) % 60.0)
        }));
        let widths = vec![70.0; points.len()];
        let named: Vec<usize> = (0..points.len()).collect();
        let placed = place(&points, &named, &widths, ROOM, &[]);
        let areas: Vec<Area> = placed.iter().flatten().map(|label| label.area).collect();
        assert_eq!(areas.len(), points.len());
        for (position, area) in areas.iter().enumerate() {
            assert!(area.within(&ROOM));
            assert!(areas[..position].iter().all(|other| !area.meets(other)));
            assert!(!points.iter().any(|point| area.holds(*point)));
        }
        assert_eq!(placed[0].and_then(|label| label.leader), None);
    }

    #[test]
    fn a_label_without_a_place_has_none() {
        let narrow = Area {
            right: 30.0,
            ..ROOM
        };
        assert_eq!(place(&[(10.0, 10.0)], &[0], &[70.0], narrow, &[]), [None]);
    }

    #[test]
    fn labels_of_a_column_keep_their_order_and_a_line_between_them() {
        assert_eq!(apart(&[50.0, 10.0], 0.0, 100.0), [50.0, 10.0]);
        assert_eq!(apart(&[50.0, 50.0, 50.0], 0.0, 100.0), [35.0, 50.0, 65.0]);
        assert_eq!(apart(&[100.0, 99.0, 98.0], 0.0, 100.0), [100.0, 85.0, 70.0]);
        // Too many for the room: evenly.
        assert_eq!(apart(&[5.0, 5.0, 5.0], 0.0, 20.0), [0.0, 10.0, 20.0]);
        assert_eq!(apart(&[], 0.0, 20.0), Vec::<f64>::new());
    }
}
