//! From a diagram to a picture: where boxes stand and which way arrows take.
//!
//! Law: boxes of stages do not overlap, and hold their own tasks and nobody else's; arrows go down, but for one in each
//! circle. A stage whose tasks
//! depend on each other through other stages cannot be one box among others, and is drawn as several. No clock, no
//! chance: the same diagram is the same picture.
//!
//! Each stage is arranged by itself, with a door in its upper edge for each thing that comes in, and one in its lower
//! edge for each task that is read elsewhere. Then the stages are arranged, with lines between doors. Which door is left
//! of which is known after that, so everything is arranged once more.

use std::collections::{BTreeMap, BTreeSet};

use crate::face::{Face, Heading};
use crate::labels::place_labels;
use crate::layered::{Arrangement, Distances, Item, Link, arrange};
use crate::model::{Diagram, DiagramEnd, EdgeKind, NodeKind};
use crate::picture::{Arrow, Flaws, Picture, Rectangle, StageBox};
use crate::ranks::{acyclic, ranks};

/// With more labels left out, rows further apart are of no help.
const SEVERAL: std::ops::RangeInclusive<usize> = 0..=300;
/// How much further.
const APART: [f64; 3] = [1.7, 3.0, 4.5];
/// Around the tasks of a stage.
const PADDING: f64 = 14.0;
/// Rows of a stage are not wider, if that can be helped.
const STAGE_ROW: f64 = 1000.0;
/// Rows of stages.
const ROW: f64 = 1300.0;

const INSIDE: Distances = Distances {
    items: 22.0,
    lines: 12.0,
    rows: 34.0,
    first: 34.0,
    last: 34.0,
    ends: 16.0,
};
const OUTSIDE: Distances = Distances {
    items: 30.0,
    lines: 16.0,
    rows: 40.0,
    first: 40.0,
    last: 40.0,
    ends: 24.0,
};
/// Between doors and tasks.
const DOORS: f64 = 16.0;

/// What is arranged as one: the nodes of a part of a stage, or a node without one.
#[derive(Debug)]
struct Unit {
    nodes: Vec<usize>,
    /// With the position of the stage, and which part of how many it is.
    stage: Option<(usize, Option<(usize, usize)>)>,
}

/// Lines that begin at the same node, or in the same stage where its rows had to be broken, and look alike.
type Net = (usize, u8);
/// What the look of a line has in addition where it goes up.
const TURNED: u8 = 8;

/// A unit that is arranged.
#[derive(Debug, Default)]
struct Arranged {
    /// It is a node without a stage: lines end beside each other, wherever that is.
    alone: bool,
    /// Where it stands in a row that is higher.
    lean: f64,
    width: f64,
    height: f64,
    /// By position in the unit.
    nodes: Vec<Rectangle>,
    /// By net that comes in, and by net that goes out: where its door is.
    entries: BTreeMap<Net, f64>,
    exits: BTreeMap<Net, f64>,
    /// By edge: its way inside, from a door to a task, from a task to a door, or from task to task.
    ways: BTreeMap<usize, Vec<(f64, f64)>>,
    heading: Option<(Heading, f64)>,
}

struct Layout<'a> {
    diagram: &'a Diagram,
    faces: Vec<Face>,
    /// Edges between nodes that are drawn: (position, from, to, net).
    edges: Vec<(usize, usize, usize, Net)>,
    /// Edges that would close a circle, by position. Above, their ends are the other way round.
    turned: BTreeSet<usize>,
    units: Vec<Unit>,
    /// By node: its unit, and its position there.
    home: Vec<(usize, usize)>,
    /// By unit: the edges that begin or end there, by their place among `edges`.
    touching: Vec<Vec<usize>>,
    /// By unit: the rows of its nodes.
    rows: Vec<Vec<usize>>,
    /// By unit: whether its rows had to be broken.
    broken: Vec<bool>,
    /// Between rows of units.
    apart: f64,
}

/// Arranges a diagram.
pub(crate) fn layout(diagram: &Diagram) -> Picture {
    let mut layout = Layout::new(diagram);
    let picture = layout.picture();
    let several = SEVERAL.contains(&picture.flaws.left_out);
    if picture.flaws == Flaws::default() || !several || !diagram.groups.is_empty() {
        return picture;
    }
    // Between calls labels are what matters: if rows that are further apart have room for more of them, so be it.
    let mut best = picture;
    for apart in APART {
        layout.apart = apart * OUTSIDE.rows;
        let wider = layout.picture();
        let of = |picture: &Picture| (picture.flaws.left_out, picture.flaws.crossed);
        let ((left, crossed), (fewest, least)) = (of(&wider), of(&best));
        if left < fewest || (left == fewest && 2 * crossed < least) {
            best = wider;
        }
        if best.flaws.left_out == 0 {
            break;
        }
    }
    best
}

impl<'a> Layout<'a> {
    fn new(diagram: &'a Diagram) -> Layout<'a> {
        let count = diagram.nodes.len();
        let mut edges = Vec::new();
        for (position, edge) in diagram.edges.iter().enumerate() {
            if let (DiagramEnd::Node(from), DiagramEnd::Node(to)) = (edge.from, edge.to)
                && from < count
                && to < count
                && from != to
            {
                let kind = match edge.kind {
                    EdgeKind::Data => 0,
                    EdgeKind::After | EdgeKind::Wait => 2,
                    EdgeKind::Order => 4,
                };
                let look = u8::from(edge.optional) + kind;
                edges.push((position, from, to, (from, look)));
            }
        }
        let pairs: Vec<(usize, usize)> =
            edges.iter().map(|(_, from, to, _)| (*from, *to)).collect();
        let mut turned = BTreeSet::new();
        for ((position, from, to, net), kept) in edges.iter_mut().zip(acyclic(count, &pairs)) {
            if !kept {
                turned.insert(*position);
                std::mem::swap(from, to);
                *net = (*from, net.1 + TURNED);
            }
        }
        let units = units(diagram, &edges);
        let mut home = vec![(0, 0); count];
        for (number, unit) in units.iter().enumerate() {
            for (position, node) in unit.nodes.iter().enumerate() {
                home[*node] = (number, position);
            }
        }
        let mut layout = Layout {
            diagram,
            faces: faces(diagram),
            edges,
            turned,
            units,
            home,
            touching: Vec::new(),
            rows: Vec::new(),
            broken: Vec::new(),
            apart: OUTSIDE.rows,
        };
        layout.find_rows();
        layout.touching = vec![Vec::new(); layout.units.len()];
        for (place, (_, from, to, _)) in layout.edges.iter().enumerate() {
            let (from, to) = (layout.home[*from].0, layout.home[*to].0);
            layout.touching[from].push(place);
            if from != to {
                layout.touching[to].push(place);
            }
        }
        layout
    }

    /// The edges that begin or end in a unit.
    fn edges_at(&self, unit: usize) -> impl Iterator<Item = &(usize, usize, usize, Net)> {
        self.touching[unit].iter().map(|place| &self.edges[*place])
    }

    /// Finds the rows of each stage. What leaves one whose rows are broken does so as one line: there is no room for many
    /// between the rows below.
    fn find_rows(&mut self) {
        let mut inside: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.units.len()];
        for (_, from, to, _) in &self.edges {
            let ((unit, from), (other, to)) = (self.home[*from], self.home[*to]);
            if unit == other {
                inside[unit].push((from, to));
            }
        }
        for (unit, inside) in self.units.iter().zip(inside) {
            let widths = unit.nodes.iter().map(|node| self.faces[*node].width);
            let widths: Vec<f64> = widths.collect();
            let (rows, is_broken) = ranks(&widths, &inside, STAGE_ROW, INSIDE.items);
            self.rows.push(rows);
            self.broken.push(is_broken);
        }
        for (_, from, to, net) in &mut self.edges {
            let unit = self.home[*from].0;
            if self.broken[unit] && unit != self.home[*to].0 {
                net.0 = self.home.len() + unit;
            }
        }
    }

    fn unit_of(&self, node: usize) -> usize {
        self.home[node].0
    }

    /// Arranges one unit. `doors` says where the lines outside would like to have its doors.
    fn arrange_unit(&self, number: usize, doors: Option<&Doors>) -> Arranged {
        let unit = &self.units[number];
        let Some((group, part)) = unit.stage else {
            return self.single(unit.nodes[0], number);
        };
        let heading = Heading::of(&self.diagram.groups[group], part);
        let here = |node: usize| self.unit_of(node) == number;
        let rows = &self.rows[number];
        let entering = |(_, from, to, _): &&(usize, usize, usize, Net)| !here(*from) && here(*to);
        let leaving = |(_, from, to, _): &&(usize, usize, usize, Net)| here(*from) && !here(*to);
        let nets = |edges: Vec<Net>| -> BTreeMap<Net, usize> {
            let distinct: BTreeSet<Net> = edges.into_iter().collect();
            distinct
                .into_iter()
                .enumerate()
                .map(|(at, net)| (net, at))
                .collect()
        };
        let entries = nets(
            self.edges_at(number)
                .filter(entering)
                .map(|edge| edge.3)
                .collect(),
        );
        let exits = nets(
            self.edges_at(number)
                .filter(leaving)
                .map(|edge| edge.3)
                .collect(),
        );
        let first = usize::from(!entries.is_empty());
        let last = rows.iter().max().map_or(0, |row| row + 1) + first;
        let mut items: Vec<Item> = (unit.nodes.iter().zip(rows))
            .map(|(node, row)| Item {
                width: self.faces[*node].width,
                height: self.faces[*node].height,
                rank: row + first,
                lean: 0.5,
            })
            .collect();
        let mut keys: Vec<f64> = match doors {
            Some(doors) => doors
                .inside
                .iter()
                .map(|place| place.x + place.width / 2.0)
                .collect(),
            None => (0..items.len()).map(|position| position as f64).collect(),
        };
        let door = |rank: usize, height: f64| Item {
            width: 0.0,
            height,
            rank,
            lean: 0.0,
        };
        let (entry_at, mut at) = (items.len(), items.len());
        for net in entries.keys() {
            items.push(door(0, heading.height));
            keys.push(doors.map_or(at as f64, |doors| doors.entries[net]));
            at += 1;
        }
        let exit_at = items.len();
        for net in exits.keys() {
            items.push(door(last, 0.0));
            keys.push(doors.map_or(at as f64, |doors| doors.exits[net]));
            at += 1;
        }
        let (mut links, mut of_edge) = (Vec::new(), Vec::new());
        let mut exit_link = BTreeMap::new();
        let mut numbers: BTreeMap<Net, usize> = BTreeMap::new();
        for (edge, from, to, net) in self.edges_at(number) {
            let (begins, ends) = match (here(*from), here(*to)) {
                (true, true) => (self.home[*from].1, self.home[*to].1),
                (false, true) => (entry_at + entries[net], self.home[*to].1),
                (true, false) => {
                    // All lines of a node leave by one door.
                    if let Some(known) = exit_link.get(&(*net, *from)) {
                        of_edge.push((*edge, *known));
                        continue;
                    }
                    exit_link.insert((*net, *from), links.len());
                    (self.home[*from].1, exit_at + exits[net])
                }
                (false, false) => continue,
            };
            let fresh = numbers.len();
            of_edge.push((*edge, links.len()));
            links.push(Link {
                net: *numbers.entry(*net).or_insert(fresh),
                from: begins,
                from_offset: 0.0,
                to: ends,
                to_offset: 0.0,
                free: here(*to),
                firm: false,
                loose: self.broken[number] && (!here(*from) || !here(*to)),
            });
        }
        let distances = Distances {
            first: if entries.is_empty() {
                INSIDE.first
            } else {
                DOORS
            },
            last: if exits.is_empty() { INSIDE.last } else { DOORS },
            ..INSIDE
        };
        let held = |rank: usize| {
            let is_door = (rank == 0 && !entries.is_empty()) || (rank == last && !exits.is_empty());
            doors.is_some() && is_door
        };
        let arrangement = arrange(&items, &links, &keys, &held, distances);
        // The heading stands left or right of all doors.
        let door_places = (entry_at..exit_at).map(|item| arrangement.places[item].0);
        let first_door = door_places.clone().fold(f64::INFINITY, f64::min);
        let last_door = door_places.fold(f64::NEG_INFINITY, f64::max);
        let wanted = heading.width + if entries.is_empty() { 0.0 } else { 8.0 };
        let (on_left, on_right) = if entries.is_empty() {
            ((wanted - arrangement.width).max(0.0), f64::INFINITY)
        } else {
            (
                (wanted - first_door).max(0.0),
                (wanted - (arrangement.width - last_door)).max(0.0),
            )
        };
        let left = PADDING + if on_left <= on_right { on_left } else { 0.0 };
        let inner_width = arrangement.width + on_left.min(on_right);
        let heading_at = if on_left <= on_right {
            PADDING - 2.0
        } else {
            PADDING + 2.0 + inner_width - heading.width
        };
        let top = if entries.is_empty() {
            heading.height + 6.0
        } else {
            0.0
        };
        let bottom = if exits.is_empty() { PADDING } else { 0.0 };
        let moved = |(x, y): &(f64, f64)| (x + left, y + top);
        let middle = |item: usize| arrangement.places[item].0 + left;
        let mut ways = BTreeMap::new();
        for (edge, link) in of_edge {
            ways.insert(edge, arrangement.routes[link].iter().map(moved).collect());
        }
        let nodes = unit.nodes.iter().enumerate().map(|(position, node)| {
            let (x, y) = moved(&arrangement.places[position]);
            Rectangle {
                x,
                y,
                width: self.faces[*node].width,
                height: self.faces[*node].height,
            }
        });
        Arranged {
            alone: false,
            lean: 0.5,
            width: inner_width + 2.0 * PADDING,
            height: arrangement
                .height
                .max(if unit.nodes.is_empty() { 1.0 } else { 0.0 })
                + top
                + bottom,
            nodes: nodes.collect(),
            entries: entries
                .iter()
                .map(|(net, at)| (*net, middle(entry_at + at)))
                .collect(),
            exits: exits
                .iter()
                .map(|(net, at)| (*net, middle(exit_at + at)))
                .collect(),
            ways,
            heading: Some((heading, heading_at)),
        }
    }

    /// A node that stands in no stage: its doors are its edges.
    fn single(&self, node: usize, number: usize) -> Arranged {
        let face = &self.faces[node];
        let middle = face.width / 2.0;
        let mut arranged = Arranged {
            alone: true,
            // Near to what reads it, or to what makes it.
            lean: match self.diagram.nodes[node].kind {
                NodeKind::Input => 1.0,
                NodeKind::Task => 0.5,
                NodeKind::Output => 0.0,
            },
            width: face.width,
            height: face.height,
            nodes: vec![Rectangle {
                x: 0.0,
                y: 0.0,
                width: face.width,
                height: face.height,
            }],
            ..Arranged::default()
        };
        for (_, from, to, net) in self.edges_at(number) {
            // What goes up does so beside what goes down.
            let door = if net.1 >= TURNED {
                middle + face.width * 0.3
            } else {
                middle
            };
            if self.unit_of(*to) == number {
                arranged.entries.insert(*net, door);
            }
            if self.unit_of(*from) == number {
                arranged.exits.insert(*net, door);
            }
        }
        arranged
    }

    /// The first and the last unit of an end.
    fn units_of(&self, end: DiagramEnd) -> Option<(usize, usize)> {
        let is_of = |unit: &Unit| match end {
            DiagramEnd::Node(node) => unit.nodes.contains(&node),
            DiagramEnd::Group(group) => unit.stage.is_some_and(|stage| stage.0 == group),
        };
        let first = self.units.iter().position(is_of)?;
        let last = self.units.iter().rposition(is_of)?;
        Some((first, last))
    }

    fn picture(&self) -> Picture {
        // Lines between units, once per net and unit; then those between whole stages.
        let mut lines: BTreeMap<(usize, Net), usize> = BTreeMap::new();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        let mut nets: Vec<Option<Net>> = Vec::new();
        for (_, from, to, net) in &self.edges {
            let (from, to) = (self.unit_of(*from), self.unit_of(*to));
            if from != to && !lines.contains_key(&(to, *net)) {
                lines.insert((to, *net), pairs.len());
                pairs.push((from, to));
                nets.push(Some(*net));
            }
        }
        let mut orders = Vec::new();
        for (position, edge) in self.diagram.edges.iter().enumerate() {
            if matches!(
                (edge.from, edge.to),
                (DiagramEnd::Node(_), DiagramEnd::Node(_))
            ) {
                continue;
            }
            if let (Some((_, from)), Some((to, _))) =
                (self.units_of(edge.from), self.units_of(edge.to))
                && from != to
            {
                orders.push((position, pairs.len()));
                pairs.push((from, to));
                nets.push(None);
            }
        }
        // Data alone closes no circle; an order that does is left out.
        let mut kept = vec![true; pairs.len()];
        for (_, order) in &orders {
            let (from, to) = pairs[*order];
            let before = (0..*order)
                .filter(|pair| kept[*pair])
                .map(|pair| pairs[pair]);
            kept[*order] = !reaches(self.units.len(), before, to, from);
        }
        let drawn: Vec<usize> = (0..pairs.len()).filter(|pair| kept[*pair]).collect();

        let mut units: Vec<Arranged> = (0..self.units.len())
            .map(|unit| self.arrange_unit(unit, None))
            .collect();
        let widths: Vec<f64> = units.iter().map(|unit| unit.width).collect();
        let edges: Vec<(usize, usize)> = drawn.iter().map(|pair| pairs[*pair]).collect();
        let (rows, _) = ranks(&widths, &edges, ROW, OUTSIDE.items);
        let apart = self.apart;
        let mut outside = outside(&units, &rows, &pairs, &nets, &drawn, None, apart);
        // Nodes without a stage have no doors that could be moved.
        let rounds = if self.diagram.groups.is_empty() { 0 } else { 2 };
        for _ in 0..rounds {
            let doors = self.doors(&units, &pairs, &nets, &drawn, &outside);
            units = doors
                .iter()
                .enumerate()
                .map(|(unit, doors)| self.arrange_unit(unit, Some(doors)))
                .collect();
            let keys: Vec<f64> = (outside.places.iter().zip(&units))
                .map(|((x, _), unit)| x + unit.width / 2.0)
                .collect();
            outside = self::outside(&units, &rows, &pairs, &nets, &drawn, Some(&keys), apart);
        }
        self.assemble(&units, &outside, &lines, &orders, &drawn)
    }

    /// Where the lines outside would like to have the doors of each unit.
    fn doors(
        &self,
        units: &[Arranged],
        pairs: &[(usize, usize)],
        nets: &[Option<Net>],
        drawn: &[usize],
        outside: &Arrangement,
    ) -> Vec<Doors> {
        let mut doors: Vec<Doors> = (units.iter())
            .map(|unit| Doors {
                inside: unit.nodes.clone(),
                entries: unit.entries.clone(),
                exits: unit.exits.clone(),
            })
            .collect();
        let mut leaving: BTreeMap<(usize, Net), (f64, f64)> = BTreeMap::new();
        for (route, pair) in drawn.iter().enumerate() {
            let (Some(net), corners) = (nets[*pair], &outside.routes[route]) else {
                continue;
            };
            let (from, to) = pairs[*pair];
            let (first, last) = (corners[0].0, corners[corners.len() - 1].0);
            let turned_last = corners.iter().rev().find(|corner| corner.0 != last);
            doors[to].entries.insert(
                net,
                turned_last.map_or(last, |corner| corner.0) - outside.places[to].0,
            );
            let turned_first = corners.iter().find(|corner| corner.0 != first);
            let sum = leaving.entry((from, net)).or_default();
            sum.0 += turned_first.map_or(first, |corner| corner.0) - outside.places[from].0;
            sum.1 += 1.0;
        }
        for ((unit, net), (sum, count)) in leaving {
            doors[unit].exits.insert(net, sum / count);
        }
        doors
    }

    fn assemble(
        &self,
        units: &[Arranged],
        outside: &Arrangement,
        lines: &BTreeMap<(usize, Net), usize>,
        orders: &[(usize, usize)],
        drawn: &[usize],
    ) -> Picture {
        let route = |pair: usize| {
            let at = drawn.binary_search(&pair).ok()?;
            Some(outside.routes[at].clone())
        };
        let inside = |unit: usize, edge: usize| {
            let (x, y) = outside.places[unit];
            let way = units[unit].ways.get(&edge)?.iter();
            Some(
                way.map(|corner| (corner.0 + x, corner.1 + y))
                    .collect::<Vec<_>>(),
            )
        };
        let mut picture = Picture {
            width: outside.width,
            height: outside.height,
            nodes: vec![Rectangle::default(); self.faces.len()],
            faces: self.faces.clone(),
            ..Picture::default()
        };
        for ((unit, arranged), (x, y)) in self.units.iter().zip(units).zip(&outside.places) {
            for (node, place) in unit.nodes.iter().zip(&arranged.nodes) {
                picture.nodes[*node] = place.moved(*x, *y);
            }
            if let Some((heading, heading_at)) = &arranged.heading {
                picture.stages.push(StageBox {
                    place: Rectangle {
                        x: *x,
                        y: *y,
                        width: arranged.width,
                        height: arranged.height,
                    },
                    heading: heading.clone(),
                    heading_at: *heading_at,
                    nodes: unit.nodes.clone(),
                });
            }
        }
        for (edge, from, to, net) in &self.edges {
            let (from, to) = (self.unit_of(*from), self.unit_of(*to));
            let mut corners = inside(from, *edge).unwrap_or_default();
            if from != to {
                let Some(between) = lines.get(&(to, *net)).and_then(|pair| route(*pair)) else {
                    continue;
                };
                corners.extend(between);
                corners.extend(inside(to, *edge).unwrap_or_default());
            }
            picture.arrows.push(Arrow {
                edge: *edge,
                corners: without_repeats(corners),
                turned: self.turned.contains(edge),
                label: None,
            });
        }
        for (edge, pair) in orders {
            if let Some(corners) = route(*pair) {
                picture.arrows.push(Arrow {
                    edge: *edge,
                    corners: without_repeats(corners),
                    turned: false,
                    label: None,
                });
            }
        }
        place_labels(self.diagram, &mut picture);
        picture
    }
}

/// Where the doors of a unit should be, seen from its left edge, and where its nodes are.
#[derive(Debug)]
struct Doors {
    inside: Vec<Rectangle>,
    entries: BTreeMap<Net, f64>,
    exits: BTreeMap<Net, f64>,
}

/// Arranges the units; in the order of `keys` where they are given.
fn outside(
    units: &[Arranged],
    rows: &[usize],
    pairs: &[(usize, usize)],
    nets: &[Option<Net>],
    drawn: &[usize],
    keys: Option<&[f64]>,
    apart: f64,
) -> Arrangement {
    let items: Vec<Item> = (units.iter().zip(rows))
        .map(|(unit, row)| Item {
            width: unit.width,
            height: unit.height,
            rank: *row,
            lean: unit.lean,
        })
        .collect();
    let mut numbers: BTreeMap<Net, usize> = BTreeMap::new();
    let links = drawn.iter().map(|pair| {
        let ((from, to), net) = (pairs[*pair], nets[*pair]);
        let offset = |unit: usize, doors: &BTreeMap<Net, f64>| match net {
            Some(net) => doors
                .get(&net)
                .map_or(0.0, |at| at - units[unit].width / 2.0),
            None => beside(units[unit].width, doors),
        };
        // Orders are nets of their own, numbered from the other end.
        let number = match net {
            Some(net) => {
                let fresh = numbers.len();
                *numbers.entry(net).or_insert(fresh)
            }
            None => usize::MAX - pair,
        };
        Link {
            net: number,
            from,
            from_offset: offset(from, &units[from].exits),
            to,
            to_offset: offset(to, &units[to].entries),
            // What goes up has a place of its own.
            free: units[to].alone && net.is_some_and(|net| net.1 < TURNED),
            firm: units[from].alone && units[to].alone,
            loose: false,
        }
    });
    let links: Vec<Link> = links.collect();
    let natural: Vec<f64> = (0..items.len()).map(|position| position as f64).collect();
    let held = |_: usize| keys.is_some();
    let distances = Distances {
        rows: apart,
        first: apart,
        last: apart,
        ..OUTSIDE
    };
    arrange(&items, &links, keys.unwrap_or(&natural), &held, distances)
}

/// A place on the edge of a unit that is not at one of its doors, seen from its middle.
fn beside(width: f64, doors: &BTreeMap<Net, f64>) -> f64 {
    let is_free = |offset: &f64| {
        let at = width / 2.0 + offset;
        doors.values().all(|door| (door - at).abs() > 14.0)
    };
    let places = [0.0, 0.25, -0.25, 0.35, -0.35, 0.42].map(|part| part * width);
    places.into_iter().find(is_free).unwrap_or(0.0)
}

/// What stands on the nodes. Where a stage has many, they are of one width, which makes columns of them.
fn faces(diagram: &Diagram) -> Vec<Face> {
    const MANY: usize = 6;
    let mut faces: Vec<Face> = diagram.nodes.iter().map(Face::of).collect();
    let mut stages: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
    let alone = |position: usize| {
        let node = &diagram.nodes[position];
        node.group.filter(|_| node.tasks == Some(1))
    };
    for (position, face) in faces.iter().enumerate() {
        if let Some(group) = alone(position) {
            let (count, width) = stages.entry(group).or_default();
            *count += 1;
            *width = width.max(face.width);
        }
    }
    for (position, face) in faces.iter_mut().enumerate() {
        if let Some((MANY.., width)) = alone(position).and_then(|group| stages.get(&group)) {
            face.width = *width;
        }
    }
    faces
}

fn without_repeats(mut corners: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let same = |a: f64, b: f64| (a - b).abs() < 0.01;
    corners.dedup_by(|a, b| same(a.0, b.0) && same(a.1, b.1));
    corners
}

/// The units of a diagram: stages in order, then nodes that stand in none.
fn units(diagram: &Diagram, edges: &[(usize, usize, usize, Net)]) -> Vec<Unit> {
    let (stages, count) = (diagram.groups.len(), diagram.nodes.len());
    let stage = |node: usize| diagram.nodes[node].group.filter(|group| *group < stages);
    // A node without a stage counts as a stage of its own.
    let place = |node: usize| stage(node).unwrap_or(stages + node);
    let pairs: Vec<(usize, usize)> = edges
        .iter()
        .map(|(_, from, to, _)| (place(*from), place(*to)))
        .collect();
    let circles = circles(stages + count, &pairs);
    let level = levels(count, edges, &|node| (place(node), circles[place(node)]));
    let mut parts: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    (0..stages).for_each(|stage| drop(parts.insert((stage, usize::MAX), Vec::new())));
    for (node, level) in level.into_iter().enumerate() {
        if let Some(stage) = stage(node) {
            parts.entry((stage, level)).or_default().push(node);
        }
    }
    let mut units = Vec::new();
    for group in 0..stages {
        let of_stage = parts.range((group, 0)..=(group, usize::MAX));
        let mut found: Vec<&Vec<usize>> = of_stage
            .map(|(_, nodes)| nodes)
            .filter(|nodes| !nodes.is_empty())
            .collect();
        let nothing = Vec::new();
        if found.is_empty() {
            found.push(&nothing);
        }
        let count = found.len();
        units.extend(found.into_iter().enumerate().map(|(part, nodes)| Unit {
            nodes: nodes.clone(),
            stage: Some((group, (count > 1).then_some((part + 1, count)))),
        }));
    }
    let single = (0..diagram.nodes.len()).filter(|node| stage(*node).is_none());
    units.extend(single.map(|node| Unit {
        nodes: vec![node],
        stage: None,
    }));
    units
}

/// Whether one comes from `from` to `to`.
fn reaches(
    count: usize,
    pairs: impl Iterator<Item = (usize, usize)>,
    from: usize,
    to: usize,
) -> bool {
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    pairs.for_each(|(from, to)| after[from].push(to));
    let (mut seen, mut pending) = (vec![false; count], vec![from]);
    while let Some(unit) = pending.pop() {
        if unit == to {
            return true;
        }
        if !std::mem::replace(&mut seen[unit], true) {
            pending.extend(&after[unit]);
        }
    }
    false
}

/// By stage, the number of the circle of stages that it is part of: stages with the same number reach each other.
fn circles(stages: usize, pairs: &[(usize, usize)]) -> Vec<usize> {
    let (mut after, mut before) = (vec![Vec::new(); stages], vec![Vec::new(); stages]);
    for (from, to) in pairs {
        after[*from].push(*to);
        before[*to].push(*from);
    }
    // In the order in which one leaves them for good, and then backwards: what is reached is the circle.
    let (mut seen, mut left) = (vec![false; stages], Vec::with_capacity(stages));
    for start in 0..stages {
        let mut path = vec![(start, 0)];
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        while let Some((stage, next)) = path.last_mut() {
            match after[*stage].get(*next).copied() {
                None => {
                    left.push(*stage);
                    path.pop();
                }
                Some(to) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[to], true) {
                        path.push((to, 0));
                    }
                }
            }
        }
    }
    let mut circles = vec![usize::MAX; stages];
    for start in left.into_iter().rev() {
        let mut pending = vec![start];
        while let Some(stage) = pending.pop() {
            if circles[stage] == usize::MAX {
                circles[stage] = start;
                pending.extend(&before[stage]);
            }
        }
    }
    circles
}

/// By node, how often one has to change stages within a circle to get to it.
fn levels(
    count: usize,
    edges: &[(usize, usize, usize, Net)],
    place: &dyn Fn(usize) -> (usize, usize),
) -> Vec<usize> {
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut open = vec![0_usize; count];
    for (_, from, to, _) in edges {
        after[*from].push(*to);
        open[*to] += 1;
    }
    let mut ready: Vec<usize> = (0..count).filter(|node| open[*node] == 0).collect();
    let mut levels = vec![0; count];
    while let Some(node) = ready.pop() {
        for next in &after[node] {
            let least = match (place(node), place(*next)) {
                ((from, circle), (to, other)) if circle == other => {
                    levels[node] + usize::from(from != to)
                }
                _ => 0,
            };
            levels[*next] = levels[*next].max(least);
            open[*next] -= 1;
            if open[*next] == 0 {
                ready.push(*next);
            }
        }
    }
    levels
}
