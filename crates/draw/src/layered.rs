//! Rows of things, and lines between them: who stands left of whom, and where exactly.
//!
//! Law: things in a row keep their distance, and lines are oblique between rows alone; within a row they go straight
//! down, at a place of their own. So nothing covers anything, whatever the order turned out to be. The same things give
//! the same picture.

use std::collections::{HashMap, HashSet};

/// Something that takes room. One without width is a place that lines pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) rank: usize,
    /// Where it stands in a row that is higher: 0 is at the top, 1 at the bottom.
    pub(crate) lean: f64,
}

/// A line, downwards. Lines of one net run together as long as they can.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) net: usize,
    pub(crate) from: usize,
    /// From the middle of the item.
    pub(crate) from_offset: f64,
    pub(crate) to: usize,
    pub(crate) to_offset: f64,
    /// It may end anywhere on its item; the offset is found.
    pub(crate) free: bool,
    /// It pulls strongly at what it joins, where that is in neighbouring rows.
    pub(crate) firm: bool,
    /// It pulls at nothing: one of so many that what it joins cannot stand below each other.
    pub(crate) loose: bool,
}

/// Distances.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Distances {
    /// Between items.
    pub(crate) items: f64,
    /// Between a line and whatever is beside it.
    pub(crate) lines: f64,
    /// Between rows.
    pub(crate) rows: f64,
    /// Below the first row.
    pub(crate) first: f64,
    /// Above the last row.
    pub(crate) last: f64,
    /// Between lines that end at one item, at most.
    pub(crate) ends: f64,
}

/// What stands where.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrangement {
    /// Left and upper edge of each item.
    pub(crate) places: Vec<(f64, f64)>,
    /// The corners of each line.
    pub(crate) routes: Vec<Vec<(f64, f64)>>,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// How often all rows are put in order, and into place.
const ROUNDS: usize = 12;
/// How strongly a loose line pulls at what it joins, and a thing that nothing pulls at keeps its place.
const LOOSE: f64 = 0.0002;
const STAY: f64 = 0.05;
/// How strongly a firm one does.
const FIRM: f64 = 6.0;
/// Bends that are smaller are taken out.
const SMALL_BEND: f64 = 14.0;
/// Beyond that many vertices neighbours are not tried the other way round.
const SMALL: usize = 4000;

/// A thing in a row: an item, or the place where a line passes.
#[derive(Debug, Clone, Copy)]
struct Vertex {
    /// Loose lines pass here.
    loose: bool,
    rank: usize,
    width: f64,
    line: bool,
}

/// A piece of a line between two rows.
#[derive(Debug, Clone, Copy)]
struct Piece {
    upper: usize,
    upper_offset: f64,
    lower: usize,
    lower_offset: f64,
    weight: f64,
    /// The link that it is the end of.
    link: usize,
}

struct Rows {
    vertices: Vec<Vertex>,
    pieces: Vec<Piece>,
    /// By vertex: pieces that come from above, and that go down.
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    rows: Vec<Vec<usize>>,
    /// By vertex: its place in its row.
    place: Vec<usize>,
    /// By link: the vertices that it passes, both ends included.
    ways: Vec<Vec<usize>>,
}

/// Arranges items. `keys` says what is left of what to begin with; rows that are `held` stay like that.
pub(crate) fn arrange(
    items: &[Item],
    links: &[Link],
    keys: &[f64],
    held: &dyn Fn(usize) -> bool,
    distances: Distances,
) -> Arrangement {
    let mut rows = Rows::new(items, links, keys);
    rows.put_in_order(held);
    let mut links = links.to_vec();
    rows.spread_ends(&mut links, distances.ends);
    let x = rows.coordinates(distances);
    rows.arrangement(items, &links, &x, distances)
}

impl Rows {
    fn new(items: &[Item], links: &[Link], keys: &[f64]) -> Rows {
        let count = items.iter().map(|item| item.rank + 1).max().unwrap_or(0);
        let vertex = |item: &Item| Vertex {
            loose: false,
            rank: item.rank,
            width: item.width,
            line: item.width == 0.0,
        };
        let mut vertices: Vec<Vertex> = items.iter().map(vertex).collect();
        let mut keys = keys.to_vec();
        let mut pieces: Vec<Piece> = Vec::new();
        let mut ways = Vec::with_capacity(links.len());
        // By net: the vertices that its lines pass so far, by row.
        let mut passed: HashMap<(usize, usize), usize> = HashMap::new();
        let mut joined = HashSet::new();
        // By net and item: the longest way from there so far, without its end. Others begin alike.
        let mut longest: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
        for (number, link) in links.iter().enumerate() {
            let first = items[link.from].rank + 1;
            let long = longest.entry((link.net, link.from)).or_default();
            if long.is_empty() {
                long.push(link.from);
            }
            for rank in first + long.len() - 1..items[link.to].rank {
                let fresh = vertices.len();
                let next = *passed.entry((link.net, rank)).or_insert(fresh);
                if next == fresh {
                    vertices.push(Vertex {
                        loose: link.loose,
                        rank,
                        width: 0.0,
                        line: true,
                    });
                    keys.push((keys[link.from] + keys[link.to]) / 2.0);
                }
                let last = long[long.len() - 1];
                if joined.insert((last, next)) {
                    let weight = if vertices[last].line {
                        8.0
                    } else if link.loose {
                        LOOSE
                    } else {
                        2.0
                    };
                    pieces.push(Piece {
                        upper: last,
                        upper_offset: match long.len() {
                            1 => link.from_offset,
                            _ => 0.0,
                        },
                        lower: next,
                        lower_offset: 0.0,
                        weight,
                        link: usize::MAX,
                    });
                }
                long.push(next);
            }
            let mut way = long[..items[link.to].rank.saturating_sub(first) + 1].to_vec();
            let last = way[way.len() - 1];
            let offset = match way.len() {
                1 => link.from_offset,
                _ => 0.0,
            };
            pieces.push(Piece {
                upper: last,
                upper_offset: offset,
                lower: link.to,
                lower_offset: link.to_offset,
                weight: if link.loose {
                    LOOSE
                } else if vertices[last].line {
                    2.0
                } else if link.firm {
                    FIRM
                } else {
                    1.0
                },
                link: number,
            });
            way.push(link.to);
            ways.push(way);
        }
        let (mut above, mut below) = (
            vec![Vec::new(); vertices.len()],
            vec![Vec::new(); vertices.len()],
        );
        for (number, piece) in pieces.iter().enumerate() {
            above[piece.lower].push(number);
            below[piece.upper].push(number);
        }
        let mut rows = vec![Vec::new(); count];
        for (number, vertex) in vertices.iter().enumerate() {
            rows[vertex.rank].push(number);
        }
        for row in &mut rows {
            row.sort_by(|a, b| keys[*a].total_cmp(&keys[*b]).then(a.cmp(b)));
            // Loose lines go down the middle.
            let (loose, mut others): (Vec<usize>, Vec<usize>) =
                row.iter().partition(|vertex| vertices[**vertex].loose);
            let middle = others.len() / 2;
            others.splice(middle..middle, loose);
            *row = others;
        }
        let place = vec![0; vertices.len()];
        let mut rows = Rows {
            vertices,
            pieces,
            above,
            below,
            rows,
            place,
            ways,
        };
        (0..count).for_each(|rank| rows.number(rank));
        rows
    }

    fn number(&mut self, rank: usize) {
        for (place, vertex) in self.rows[rank].iter().enumerate() {
            self.place[*vertex] = place;
        }
    }

    /// Where an end of a piece is among the ends in its row.
    fn end(&self, vertex: usize, offset: f64) -> f64 {
        let width = self.vertices[vertex].width.max(1.0);
        self.place[vertex] as f64 + (offset / width).clamp(-0.49, 0.49)
    }

    fn upper_end(&self, piece: usize) -> f64 {
        self.end(self.pieces[piece].upper, self.pieces[piece].upper_offset)
    }

    fn lower_end(&self, piece: usize) -> f64 {
        self.end(self.pieces[piece].lower, self.pieces[piece].lower_offset)
    }

    /// How many pieces cross between a row and the next.
    fn crossings_below(&self, rank: usize) -> u64 {
        let pieces = self.rows[rank]
            .iter()
            .flat_map(|vertex| &self.below[*vertex]);
        let mut ends: Vec<(f64, f64)> = pieces
            .map(|piece| (self.upper_end(*piece), self.lower_end(*piece)))
            .collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut lower: Vec<f64> = ends.iter().map(|end| end.1).collect();
        lower.sort_by(f64::total_cmp);
        // Inversions, by a tree of sums.
        let mut tree = vec![0_u64; lower.len() + 1];
        let mut crossings = 0;
        for (seen, (_, end)) in ends.iter().enumerate() {
            let position = lower.partition_point(|other| other <= end);
            let (mut not_larger, mut at) = (0, position);
            while at > 0 {
                not_larger += tree[at];
                at &= at - 1;
            }
            crossings += seen as u64 - not_larger;
            let mut at = position.max(1);
            while at < tree.len() {
                tree[at] += 1;
                at += at & at.wrapping_neg();
            }
        }
        crossings
    }

    fn crossings(&self) -> u64 {
        (1..self.rows.len())
            .map(|rank| self.crossings_below(rank - 1))
            .sum()
    }

    fn put_in_order(&mut self, held: &dyn Fn(usize) -> bool) {
        let count = self.rows.len();
        let mut best = (self.crossings(), self.rows.clone());
        for round in 0..ROUNDS {
            if best.0 == 0 {
                break;
            }
            let downwards = round % 2 == 0;
            for step in 1..count {
                let rank = if downwards { step } else { count - 1 - step };
                if !held(rank) {
                    self.sort_by_neighbours(rank, downwards);
                }
            }
            if self.vertices.len() <= SMALL {
                self.swap_neighbours(held);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
            }
        }
        self.rows = best.1;
        (0..count).for_each(|rank| self.number(rank));
    }

    /// Sorts a row by the mean place of what its vertices are joined to, in the row above or below.
    fn sort_by_neighbours(&mut self, rank: usize, from_above: bool) {
        let mean = |vertex: usize| {
            let pieces = if from_above {
                &self.above[vertex]
            } else {
                &self.below[vertex]
            };
            let ends = pieces.iter().map(|piece| {
                if from_above {
                    self.upper_end(*piece)
                } else {
                    self.lower_end(*piece)
                }
            });
            if pieces.is_empty() {
                None
            } else {
                Some(ends.sum::<f64>() / pieces.len() as f64)
            }
        };
        let row = &self.rows[rank];
        let keys: Vec<Option<f64>> = row.iter().map(|vertex| mean(*vertex)).collect();
        // What is joined to nothing stays where it is; the others take the places that are left.
        let mut joined: Vec<(f64, usize)> = (keys.iter().zip(row))
            .filter_map(|(key, vertex)| Some(((*key)?, *vertex)))
            .collect();
        joined.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut joined = joined.into_iter().map(|(_, vertex)| vertex);
        let sorted = row.iter().zip(&keys).map(|(vertex, key)| match key {
            Some(_) => joined.next().unwrap_or(*vertex),
            None => *vertex,
        });
        self.rows[rank] = sorted.collect();
        self.number(rank);
    }

    /// Exchanges neighbours wherever that means fewer crossings.
    fn swap_neighbours(&mut self, held: &dyn Fn(usize) -> bool) {
        for rank in (0..self.rows.len()).filter(|rank| !held(*rank)) {
            for left in 1..self.rows[rank].len() {
                let (a, b) = (self.rows[rank][left - 1], self.rows[rank][left]);
                let (as_is, swapped) = self.pair_crossings(a, b);
                if swapped < as_is {
                    self.rows[rank].swap(left - 1, left);
                    (self.place[a], self.place[b]) = (left, left - 1);
                }
            }
        }
    }

    /// How many pieces of two neighbours cross each other, as they are and exchanged.
    fn pair_crossings(&self, a: usize, b: usize) -> (u64, u64) {
        let mut found = (0, 0);
        let mut count = |left: &[usize], right: &[usize], upwards: bool| {
            for one in left {
                for other in right {
                    let (one, other) = if upwards {
                        (self.upper_end(*one), self.upper_end(*other))
                    } else {
                        (self.lower_end(*one), self.lower_end(*other))
                    };
                    found.0 += u64::from(one > other);
                    found.1 += u64::from(one < other);
                }
            }
        };
        count(&self.above[a], &self.above[b], true);
        count(&self.below[a], &self.below[b], false);
        found
    }

    /// Lets lines that end at one item arrive beside each other, in the order in which they come.
    fn spread_ends(&mut self, links: &mut [Link], most: f64) {
        for vertex in 0..self.vertices.len() {
            let mut ends: Vec<usize> = self.above[vertex].clone();
            ends.retain(|piece| {
                links
                    .get(self.pieces[*piece].link)
                    .is_some_and(|link| link.free)
            });
            ends.sort_by(|a, b| {
                self.upper_end(*a)
                    .total_cmp(&self.upper_end(*b))
                    .then(a.cmp(b))
            });
            let room = (self.vertices[vertex].width - 24.0).max(0.0);
            let gap = (room / ends.len().max(1) as f64).min(most);
            for (position, piece) in ends.iter().enumerate() {
                let offset = gap * (position as f64 - (ends.len() - 1) as f64 / 2.0);
                self.pieces[*piece].lower_offset = offset;
                links[self.pieces[*piece].link].to_offset = offset;
            }
        }
    }

    /// How far apart the middles of two neighbours are at least.
    fn apart(&self, left: usize, right: usize, distances: Distances) -> f64 {
        let (left, right) = (self.vertices[left], self.vertices[right]);
        let gap = if left.line || right.line {
            distances.lines
        } else {
            distances.items
        };
        (left.width + right.width) / 2.0 + gap
    }

    /// The middle of every vertex.
    fn coordinates(&self, distances: Distances) -> Vec<f64> {
        let mut x = vec![0.0; self.vertices.len()];
        for row in &self.rows {
            for pair in row.windows(2) {
                x[pair[1]] = x[pair[0]] + self.apart(pair[0], pair[1], distances);
            }
            // Around 0, so that no side is favoured.
            let middle = row.last().map_or(0.0, |last| x[*last] / 2.0);
            row.iter().for_each(|vertex| x[*vertex] -= middle);
        }
        let count = self.rows.len();
        for round in 0..2 * ROUNDS {
            let both = round >= ROUNDS;
            let downwards = round % 2 == 0;
            for step in 0..count {
                let rank = if downwards { step } else { count - 1 - step };
                self.pull(
                    rank,
                    both || downwards,
                    both || !downwards,
                    &mut x,
                    distances,
                );
            }
        }
        self.straighten(&mut x, distances);
        x
    }

    /// Moves a row to where the rows above or below it want to have it: as near to the wishes as the distances allow,
    /// in the sense of least squares.
    fn pull(&self, rank: usize, above: bool, below: bool, x: &mut [f64], distances: Distances) {
        let row = &self.rows[rank];
        // Blocks of vertices that stand as close as they may: (sum of weighted wishes, sum of weights, how many).
        let mut blocks: Vec<(f64, f64, usize)> = Vec::with_capacity(row.len());
        let mut shift = 0.0;
        let mut shifts = Vec::with_capacity(row.len());
        for (position, vertex) in row.iter().enumerate() {
            if position > 0 {
                shift += self.apart(row[position - 1], *vertex, distances);
            }
            shifts.push(shift);
            let (mut sum, mut weight) = (0.0, 0.0);
            let mut wish = |wished: f64, heavy: f64| {
                sum += wished * heavy;
                weight += heavy;
            };
            if above {
                for piece in self.above[*vertex].iter().map(|piece| &self.pieces[*piece]) {
                    wish(
                        x[piece.upper] + piece.upper_offset - piece.lower_offset,
                        piece.weight,
                    );
                }
            }
            if below {
                for piece in self.below[*vertex].iter().map(|piece| &self.pieces[*piece]) {
                    wish(
                        x[piece.lower] + piece.lower_offset - piece.upper_offset,
                        piece.weight,
                    );
                }
            }
            if weight < STAY {
                sum += x[*vertex] * STAY;
                weight += STAY;
            }
            blocks.push((sum - shift * weight, weight, 1));
            while let [.., left, right] = blocks.as_slice()
                && left.0 / left.1 > right.0 / right.1
            {
                let merged = (left.0 + right.0, left.1 + right.1, left.2 + right.2);
                blocks.truncate(blocks.len() - 2);
                blocks.push(merged);
            }
        }
        let mut position = 0;
        for (sum, weight, count) in blocks {
            for _ in 0..count {
                x[row[position]] = sum / weight + shifts[position];
                position += 1;
            }
        }
    }

    /// How far a vertex may go to the left and to the right before it comes too near to its neighbours.
    fn room(&self, vertex: usize, x: &[f64], distances: Distances) -> (f64, f64) {
        let row = &self.rows[self.vertices[vertex].rank];
        let position = self.place[vertex];
        let left = position.checked_sub(1).map(|left| row[left]);
        let right = row.get(position + 1).copied();
        (
            left.map_or(f64::NEG_INFINITY, |left| {
                x[left] + self.apart(left, vertex, distances)
            }),
            right.map_or(f64::INFINITY, |right| {
                x[right] - self.apart(vertex, right, distances)
            }),
        )
    }

    /// Takes bends out of lines where there is room.
    fn straighten(&self, x: &mut [f64], distances: Distances) {
        for _ in 0..2 {
            self.straighten_long(x, distances);
            for row in self.rows.iter().skip(1) {
                row.iter()
                    .for_each(|vertex| self.straighten_end(*vertex, true, x, distances));
            }
            for row in self.rows.iter().rev().skip(1) {
                row.iter()
                    .for_each(|vertex| self.straighten_end(*vertex, false, x, distances));
            }
        }
    }

    /// Puts the places that a long line passes below each other.
    fn straighten_long(&self, x: &mut [f64], distances: Distances) {
        let next = |vertex: usize| {
            let mut below = self.below[vertex]
                .iter()
                .map(|piece| self.pieces[*piece].lower);
            below.find(|lower| self.is_passed(*lower))
        };
        let follows = |vertex: usize| {
            let mut above = self.above[vertex]
                .iter()
                .map(|piece| self.pieces[*piece].upper);
            above.any(|upper| self.is_passed(upper))
        };
        for start in
            (0..self.vertices.len()).filter(|vertex| self.is_passed(*vertex) && !follows(*vertex))
        {
            let mut chain = vec![start];
            while let Some(vertex) = next(chain[chain.len() - 1]) {
                chain.push(vertex);
            }
            let rooms = chain.iter().map(|vertex| self.room(*vertex, x, distances));
            let (least, most) = rooms.fold((f64::NEG_INFINITY, f64::INFINITY), |found, room| {
                (found.0.max(room.0), found.1.min(room.1))
            });
            if least <= most {
                // Where its ends are, as far as there is room.
                let above = self.above[start].iter().map(|piece| {
                    let piece = &self.pieces[*piece];
                    x[piece.upper] + piece.upper_offset
                });
                let below = self.below[chain[chain.len() - 1]].iter().map(|piece| {
                    let piece = &self.pieces[*piece];
                    x[piece.lower] + piece.lower_offset
                });
                let ends: Vec<f64> = above.chain(below).collect();
                let middle =
                    chain.iter().map(|vertex| x[*vertex]).sum::<f64>() / chain.len() as f64;
                let near = ends.into_iter().map(|end| end.clamp(least, most));
                let by_distance =
                    |a: &f64, b: &f64| (a - middle).abs().total_cmp(&(b - middle).abs());
                let wished = near
                    .min_by(by_distance)
                    .filter(|end| (end - middle).abs() < SMALL_BEND);
                let wished = wished.unwrap_or(middle).clamp(least, most);
                chain.iter().for_each(|vertex| x[*vertex] = wished);
            }
        }
    }

    fn is_passed(&self, vertex: usize) -> bool {
        self.vertices[vertex].line
            && !self.above[vertex].is_empty()
            && !self.below[vertex].is_empty()
    }

    /// Takes a small bend out of a line that begins or ends at a vertex.
    fn straighten_end(&self, vertex: usize, from_above: bool, x: &mut [f64], distances: Distances) {
        let wish = |piece: &usize| {
            let piece = &self.pieces[*piece];
            if vertex == piece.lower {
                x[piece.upper] + piece.upper_offset - piece.lower_offset
            } else {
                x[piece.lower] + piece.lower_offset - piece.upper_offset
            }
        };
        let is_straight = |piece: &usize| (wish(piece) - x[vertex]).abs() < 0.5;
        let (toward, away) = if from_above {
            (&self.above[vertex], &self.below[vertex])
        } else {
            (&self.below[vertex], &self.above[vertex])
        };
        let others_are_straight = toward.iter().chain(away).any(is_straight);
        let by_distance =
            |a: &f64, b: &f64| (a - x[vertex]).abs().total_cmp(&(b - x[vertex]).abs());
        let Some(wished) = toward.iter().map(wish).min_by(by_distance) else {
            return;
        };
        let (least, most) = self.room(vertex, x, distances);
        let fits = least <= wished && wished <= most;
        if fits && !others_are_straight && (wished - x[vertex]).abs() <= SMALL_BEND {
            x[vertex] = wished;
        }
    }

    fn arrangement(
        &self,
        items: &[Item],
        links: &[Link],
        x: &[f64],
        distances: Distances,
    ) -> Arrangement {
        let count = self.rows.len();
        let mut heights = vec![0.0_f64; count];
        for item in items {
            heights[item.rank] = heights[item.rank].max(item.height);
        }
        // Long ways to the side need some height, or the lines lie on each other.
        let mut sideways = vec![0.0_f64; count];
        for piece in &self.pieces {
            let way = x[piece.upper] + piece.upper_offset - x[piece.lower] - piece.lower_offset;
            let rank = self.vertices[piece.upper].rank;
            sideways[rank] = sideways[rank].max(way.abs());
        }
        let mut bands = Vec::with_capacity(count);
        let mut y = 0.0;
        for (rank, height) in heights.iter().enumerate() {
            bands.push((y, y + height));
            let base = match rank {
                0 => distances.first,
                _ if rank + 2 == count => distances.last,
                _ => distances.rows,
            };
            y += height + base + (sideways[rank] / 10.0).min(distances.rows);
        }
        let half = |vertex: &Vertex| vertex.width / 2.0;
        let left = self
            .vertices
            .iter()
            .zip(x)
            .map(|(vertex, x)| x - half(vertex));
        let left = left.fold(f64::INFINITY, f64::min);
        let right = self
            .vertices
            .iter()
            .zip(x)
            .map(|(vertex, x)| x + half(vertex));
        let right = right.fold(f64::NEG_INFINITY, f64::max);
        let left = if left.is_finite() { left } else { 0.0 };
        let top = |item: &Item| {
            let (top, bottom) = bands[item.rank];
            top + (bottom - top - item.height) * item.lean
        };
        let places = items.iter().zip(x);
        let places = places.map(|(item, x)| (x - item.width / 2.0 - left, top(item)));
        let routes = links.iter().zip(&self.ways).map(|(link, way)| {
            let mut corners = Vec::with_capacity(2 * way.len());
            for (position, vertex) in way.iter().enumerate() {
                let (mut begins, mut ends) = bands[self.vertices[*vertex].rank];
                let mut at = x[*vertex] - left;
                if position == 0 {
                    at += link.from_offset;
                    begins = top(&items[link.from]) + items[link.from].height;
                } else if position + 1 == way.len() {
                    at += link.to_offset;
                    ends = top(&items[link.to]);
                }
                corners.push((at, begins));
                if ends > begins {
                    corners.push((at, ends));
                }
            }
            corners
        });
        Arrangement {
            routes: routes.collect(),
            places: places.collect(),
            width: if right.is_finite() { right - left } else { 0.0 },
            height: bands.last().map_or(0.0, |band| band.1),
        }
    }
}
