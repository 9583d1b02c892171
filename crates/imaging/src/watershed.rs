//! Marker flooding on colour: labels grow from their markers over the cheapest steps of colour, and where two of
//! them meet a line is left.
//!
//! Law: the cost between two pixels is the greatest difference of a channel. A pixel without a label waits in the
//! queue of its cost as soon as a pixel beside it, above or below has a label, and the first to wait in the cheapest
//! queue is decided next: one label among its four neighbours becomes its own, two different ones make it [`LINE`].
//! A decided label lets its neighbours wait in the order left, right, up, down. Outside the image there is line.
//!
//! Pixels without a marker that are not connected through such pixels never see each other's order of waiting:
//! whichever of the two is decided first, what one region of them does is the same. So every region is flooded by
//! itself, while its pixels are near at hand.

use crate::bits::pack;
use crate::{Bitmap, Colour, Plane, View};

/// The label of a pixel where two labels met.
pub const LINE: i32 = -1;

/// The label of a pixel while it waits.
const WAITING: i32 = -2;

/// Floods a colour image from markers: above 0 is a label, anything else has none yet. Gives the labels, [`LINE`]
/// where two met, and 0 where no label came.
///
/// # Panics
/// When the two are not of one size.
pub fn watershed(image: View<Colour>, markers: View<i32>) -> Plane<i32> {
    same_size(image, markers);
    let mut labels = Plane::filled(markers.width(), markers.height(), 0);
    labels.pixels_mut().copy_from_slice(markers.pixels());
    let regions = Regions::of(&mut labels);
    let pixels = image.pixels();
    let colour = |position: usize| pixels[position];
    regions.flood(&mut labels, pixels, colour, colour);
    labels
}

/// Floods like [`watershed`], in the labels themselves and with an image that is black where `inside` is 0. Quickest
/// when every pixel there has a label.
///
/// # Panics
/// When the three are not of one size.
pub fn flood(image: View<Colour>, inside: View<u8>, mut labels: Plane<i32>) -> Plane<i32> {
    same_size(image, labels.view());
    same_size(inside, labels.view());
    let regions = Regions::of(&mut labels);
    let all_inside = regions.lie_in(inside);
    regions.flood_inside(image, inside, all_inside, &mut labels);
    labels
}

/// Floods like [`flood`], without a look at each label and each pixel: `marked` is set where there is a label, all
/// other labels are 0, and `objects` is set where `inside` is not 0.
///
/// # Panics
/// When they are not of one size.
pub(crate) fn flood_marked(
    image: View<Colour>,
    (objects, inside): (&Bitmap, View<u8>),
    marked: &Bitmap,
    mut labels: Plane<i32>,
) -> Plane<i32> {
    same_size(image, labels.view());
    same_size(inside, labels.view());
    for bitmap in [objects, marked] {
        assert!(
            bitmap.width() == labels.width() && bitmap.height() == labels.height(),
            "bits and pixels of one image"
        );
    }
    debug_assert_eq!(&Bitmap::from_mask(inside), objects);
    debug_assert_eq!(
        &Bitmap::from_pixels(labels.view(), |label| label > 0),
        marked
    );
    let regions = Regions::without(marked);
    let all_inside = (0..labels.height()).all(|y| {
        let rows = objects.row(y).iter().zip(marked.row(y));
        let both = |(objects, marked): (&u64, &u64)| objects | marked;
        rows.clone()
            .take(labels.width() / 64)
            .all(|row| both(row) == u64::MAX)
            && rows
                .skip(labels.width() / 64)
                .all(|row| both(row) == last_bits(labels.width()))
    });
    regions.flood_inside(image, inside, all_inside, &mut labels);
    labels
}

/// The bits of the pixels in the last word of a row, if that is not full.
fn last_bits(width: usize) -> u64 {
    (1 << (width % 64)) - 1
}

fn same_size<A, B>(one: View<A>, other: View<B>) {
    assert!(
        one.width() == other.width() && one.height() == other.height(),
        "{} × {} and {} × {} pixels are not one image",
        one.width(),
        one.height(),
        other.width(),
        other.height()
    );
}

/// "There is no other."
const NONE: u32 = u32::MAX;

/// Pixels of a row, none of which has a label, between two that have one.
struct Run {
    row: u32,
    start: u32,
    end: u32,
    /// An earlier run of the same region, or the run itself.
    parent: u32,
    /// The following run of the same region in raster order.
    next: u32,
}

/// The pixels without a label, as runs in raster order.
struct Regions {
    runs: Vec<Run>,
}

impl Regions {
    /// Finds them, and sets all labels that are none to 0.
    fn of(labels: &mut Plane<i32>) -> Regions {
        let mut regions = Regions { runs: Vec::new() };
        let words = labels.width() / 64 + 1;
        let mut bare = vec![0; words * 64];
        let mut above = 0;
        for y in 0..labels.height() {
            let first = regions.runs.len();
            find_bare(labels.row_mut(y), &mut bare);
            regions.find_runs(y as u32, bare.chunks_exact(64).map(pack));
            regions.join(above, first);
            above = first;
        }
        regions.link();
        regions
    }

    /// Finds them where a bitmap is not set.
    fn without(marked: &Bitmap) -> Regions {
        let mut regions = Regions { runs: Vec::new() };
        let width = marked.width();
        let full = width / 64;
        let mut above = 0;
        for y in 0..marked.height() {
            let first = regions.runs.len();
            let row = marked.row(y);
            let bare = row[..full].iter().map(|word| !word);
            // A last word that ends with a 0, be there such a word in the bitmap or not.
            let last = !row.get(full).copied().unwrap_or(0) & last_bits(width);
            regions.find_runs(y as u32, bare.chain([last]));
            regions.join(above, first);
            above = first;
        }
        regions.link();
        regions
    }

    /// Finds the runs of a row from the bits of its pixels without a label. There is at least one more, which is 0.
    fn find_runs(&mut self, row: u32, bare: impl Iterator<Item = u64>) {
        let mut start = 0;
        let mut before = 0;
        for (word, bits) in bare.enumerate() {
            // A bit wherever something starts or, every other time, ends.
            let mut changes = bits ^ (bits << 1 | before);
            before = bits >> 63;
            while changes != 0 {
                let bit = changes.trailing_zeros();
                let change = word as u32 * 64 + bit;
                if bits >> bit & 1 == 1 {
                    start = change;
                } else {
                    let parent = self.runs.len() as u32;
                    self.runs.push(Run {
                        row,
                        start,
                        end: change,
                        parent,
                        next: NONE,
                    });
                }
                changes &= changes - 1;
            }
        }
    }

    /// Joins the runs of the last row, from `first`, with those of an earlier one, from `above`, if they touch.
    fn join(&mut self, mut above: usize, first: usize) {
        let mut run = first;
        while above < first && run < self.runs.len() {
            let (upper, lower) = (&self.runs[above], &self.runs[run]);
            let upper_ends_first = upper.end <= lower.end;
            if upper.start < lower.end && lower.start < upper.end {
                let (one, other) = (self.root(above as u32), self.root(run as u32));
                self.runs[one.max(other) as usize].parent = one.min(other);
            }
            if upper_ends_first {
                above += 1;
            } else {
                run += 1;
            }
        }
    }

    /// The first run known of the region of a run.
    fn root(&mut self, mut run: u32) -> u32 {
        loop {
            let parent = self.runs[run as usize].parent;
            if parent == run {
                return run;
            }
            let grandparent = self.runs[parent as usize].parent;
            self.runs[run as usize].parent = grandparent;
            run = grandparent;
        }
    }

    /// Strings the runs of each region together in raster order, from the run that is its own parent.
    fn link(&mut self) {
        let mut last: Vec<u32> = (0..self.runs.len() as u32).collect();
        for run in 0..self.runs.len() {
            // The parent came earlier, so that its own parent is the first of the region by now.
            let first = self.runs[self.runs[run].parent as usize].parent;
            self.runs[run].parent = first;
            if first as usize != run {
                self.runs[last[first as usize] as usize].next = run as u32;
                last[first as usize] = run as u32;
            }
        }
    }

    /// The runs of a region from its first on.
    fn region<'a>(&'a self, first: &'a Run) -> impl Iterator<Item = &'a Run> {
        std::iter::successors(Some(first), |run| self.runs.get(run.next as usize))
    }

    /// Whether every pixel without a label is set in a binary image.
    fn lie_in(&self, image: View<u8>) -> bool {
        self.runs.iter().all(|run| {
            let row = &image.row(run.row as usize)[run.start as usize..run.end as usize];
            row.iter().fold(true, |set, &pixel| set & (pixel != 0))
        })
    }

    /// Floods an image that is black where `inside` is 0. `all_inside` says that this is nowhere in the regions.
    fn flood_inside(
        &self,
        image: View<Colour>,
        inside: View<u8>,
        all_inside: bool,
        labels: &mut Plane<i32>,
    ) {
        let pixels = image.pixels();
        let set = inside.pixels();
        let colour = |position: usize| pixels[position];
        let masked = |position: usize| {
            if set[position] == 0 {
                [0; 3]
            } else {
                pixels[position]
            }
        };
        // Only markers give a pixel its first cost; later steps are between pixels that had no label.
        if all_inside {
            self.flood(labels, pixels, masked, colour);
        } else {
            self.flood(labels, pixels, masked, masked);
        }
    }

    /// Floods region after region. `first_colour` is asked for the colours next to markers, `colour` for those of
    /// pixels without a marker alone; both look at `image`.
    fn flood(
        &self,
        labels: &mut Plane<i32>,
        image: &[Colour],
        first_colour: impl Fn(usize) -> Colour,
        colour: impl Fn(usize) -> Colour,
    ) {
        let grid = Grid::new(labels.width(), labels.height());
        let labels = labels.pixels_mut();
        let mut queues = Queues::new();
        for (index, first) in self.runs.iter().enumerate() {
            if first.parent as usize != index {
                continue;
            }
            let mut pixels = 0;
            for run in self.region(first) {
                let row = run.row as usize * grid.width;
                let (start, end) = (row + run.start as usize, row + run.end as usize);
                pixels += end - start;
                fetch(labels, start + 3 * grid.width);
                fetch(image, start + 3 * grid.width);
                let (top, bottom) = (start < grid.width, start >= grid.last_row);
                for position in start..end {
                    // Within the run there is no label on either side.
                    let may_begin = position == start
                        || position + 1 == end
                        || !top && labels[position - grid.width] > 0
                        || !bottom && labels[position + grid.width] > 0;
                    if may_begin {
                        begin(&grid, labels, &mut queues, position, &first_colour);
                    }
                }
            }
            while let Some(position) = queues.pop() {
                if pixels > NEAR {
                    let soon = queues.soon();
                    for ahead in [soon.wrapping_sub(grid.width), soon, soon + grid.width] {
                        fetch(labels, ahead);
                        fetch(image, ahead);
                    }
                }
                decide(&grid, labels, &mut queues, position, &colour);
            }
        }
    }
}

/// A region of no more pixels than this stays near by itself.
const NEAR: usize = 1 << 14;

/// Asks for a pixel to be brought near, on machines that can be asked. There need be no such pixel.
#[inline]
fn fetch<T>(pixels: &[T], position: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let pixel = pixels.as_ptr().wrapping_add(position);
        // SAFETY: every x86-64 has the instruction, and it is a hint that reads nothing and faults at no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(pixel.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (pixels, position);
}

/// Finds the pixels of a row without a label, and sets their labels to 0. `bare` has a byte for each pixel, and at
/// least one more, which is 0.
fn find_bare(labels: &mut [i32], bare: &mut [u8]) {
    let mut signs = 0;
    for (bare, &label) in bare.iter_mut().zip(labels.iter()) {
        *bare = u8::from(label <= 0);
        signs |= label;
    }
    if signs < 0 {
        labels.iter_mut().for_each(|label| *label = (*label).max(0));
    }
}

/// The greatest difference of a channel.
#[inline]
fn cost(one: Colour, other: Colour) -> u8 {
    let [red, green, blue] = [0, 1, 2].map(|channel| one[channel].abs_diff(other[channel]));
    red.max(green).max(blue)
}

/// Lets a pixel without a label wait if it has a neighbour with one.
#[inline]
fn begin(
    grid: &Grid,
    labels: &mut [i32],
    queues: &mut Queues,
    position: usize,
    colour: impl Fn(usize) -> Colour,
) {
    let around = grid.around(labels, position);
    if around.iter().all(|&(_, label)| label <= 0) {
        return;
    }
    let own = colour(position);
    let mut least = u8::MAX;
    for (neighbour, label) in around {
        if label > 0 {
            least = least.min(cost(own, colour(neighbour)));
        }
    }
    labels[position] = WAITING;
    queues.push(least, position);
}

/// Gives a pixel that has waited its label, and lets its neighbours wait.
#[inline]
fn decide(
    grid: &Grid,
    labels: &mut [i32],
    queues: &mut Queues,
    position: usize,
    colour: impl Fn(usize) -> Colour,
) {
    let around = grid.around(labels, position);
    let greatest = around.iter().fold(0, |most, &(_, label)| most.max(label));
    // Less one and without a sign, everything that is no label is above all labels.
    let least = around.iter().fold(u32::MAX, |least, &(_, label)| {
        least.min((label as u32).wrapping_sub(1))
    });
    if least.wrapping_add(1) != greatest as u32 {
        labels[position] = LINE;
        return;
    }
    labels[position] = greatest;
    let mut bare = (0..4).fold(0u32, |bare, side| {
        bare | u32::from(around[side].1 == 0) << side
    });
    if bare == 0 {
        return;
    }
    let own = colour(position);
    while bare != 0 {
        let neighbour = around[bare.trailing_zeros() as usize & 3].0;
        labels[neighbour] = WAITING;
        queues.push(cost(own, colour(neighbour)), neighbour);
        bare &= bare - 1;
    }
}

/// Where the neighbours of a pixel are.
struct Grid {
    width: usize,
    /// Positions from here on are in the last row.
    last_row: usize,
    /// The least number that, times the width, is 2⁶⁴ or more (0 for a width of 1). A position below 2³² is a
    /// multiple of the width exactly when its product with this, modulo 2⁶⁴, is less than this.
    inverse: u64,
}

impl Grid {
    fn new(width: usize, height: usize) -> Grid {
        Grid {
            width,
            last_row: width * height.saturating_sub(1),
            inverse: (u64::MAX / width.max(1) as u64).wrapping_add(1),
        }
    }

    /// Whether a row starts at a position (that of the end included).
    #[inline]
    fn starts_row(&self, position: usize) -> bool {
        (position as u64).wrapping_mul(self.inverse) <= self.inverse.wrapping_sub(1)
    }

    /// The four neighbours and their labels: left, right, up, down. Outside is line.
    #[inline]
    fn around(&self, labels: &[i32], position: usize) -> [(usize, i32); 4] {
        let [first, last] = [position, position + 1].map(|position| self.starts_row(position));
        let (top, bottom) = (position < self.width, position >= self.last_row);
        if first | last | top | bottom {
            let seen = |outside: bool, neighbour: usize| {
                if outside {
                    (position, LINE)
                } else {
                    (neighbour, labels[neighbour])
                }
            };
            [
                seen(first, position.wrapping_sub(1)),
                seen(last, position + 1),
                seen(top, position.wrapping_sub(self.width)),
                seen(bottom, position + self.width),
            ]
        } else {
            [
                position - 1,
                position + 1,
                position - self.width,
                position + self.width,
            ]
            .map(|neighbour| (neighbour, labels[neighbour]))
        }
    }
}

/// A place in a queue.
#[derive(Clone, Copy)]
struct QueuePlace {
    position: u32,
    next: u32,
}

/// One queue for each cost, first in, first out. The last place of a queue is always a free one.
struct Queues {
    places: Vec<QueuePlace>,
    /// The first of the places that are in no queue.
    unused: u32,
    heads: [u32; 256],
    tails: [u32; 256],
    /// One bit for each queue in which something waits.
    filled: [u64; 4],
    /// No cheaper queue has any.
    level: usize,
}

impl Queues {
    fn new() -> Queues {
        let own = std::array::from_fn(|cost| cost as u32);
        Queues {
            places: vec![
                QueuePlace {
                    position: 0,
                    next: NONE
                };
                256
            ],
            unused: NONE,
            heads: own,
            tails: own,
            filled: [0; 4],
            level: 0,
        }
    }

    #[inline]
    fn push(&mut self, cost: u8, position: usize) {
        let place = self.unused;
        let next = if place == NONE {
            self.places.push(QueuePlace {
                position: 0,
                next: NONE,
            });
            self.places.len() as u32 - 1
        } else {
            self.unused = self.places[place as usize].next;
            place
        };
        let tail = &mut self.tails[usize::from(cost)];
        self.places[*tail as usize] = QueuePlace {
            position: position as u32,
            next,
        };
        *tail = next;
        self.filled[usize::from(cost / 64)] |= 1 << (cost % 64);
        if usize::from(cost) < self.level {
            self.level = usize::from(cost);
        }
    }

    /// A pixel that may soon be taken: the third of the queue taken from last, if it has so many.
    #[inline]
    fn soon(&self) -> usize {
        let mut place = self.places[self.heads[self.level] as usize];
        for _ in 0..2 {
            place = *self.places.get(place.next as usize).unwrap_or(&place);
        }
        place.position as usize
    }

    /// Takes the first of the cheapest queue.
    #[inline]
    fn pop(&mut self) -> Option<usize> {
        while self.heads[self.level] == self.tails[self.level] {
            self.filled[self.level / 64] &= !(1 << (self.level % 64));
            let word = self.filled.iter().position(|&word| word != 0)?;
            self.level = word * 64 + self.filled[word].trailing_zeros() as usize;
        }
        let head = self.heads[self.level];
        let place = self.places[head as usize];
        self.heads[self.level] = place.next;
        self.places[head as usize].next = self.unused;
        self.unused = head;
        Some(place.position as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// The definition word for word: arrays padded by one pixel, one queue for all regions.
    fn naive(width: usize, height: usize, colours: &[Colour], markers: &[i32]) -> Vec<i32> {
        let mut colour = vec![vec![[0; 3]; width + 2]; height + 2];
        let mut label = vec![vec![-1; width + 2]; height + 2];
        for y in 0..height {
            for x in 0..width {
                colour[y + 1][x + 1] = colours[y * width + x];
                label[y + 1][x + 1] = markers[y * width + x];
            }
        }
        let price = |(ax, ay): (usize, usize), (bx, by): (usize, usize)| {
            (0..3)
                .map(|c| (i32::from(colour[ay][ax][c]) - i32::from(colour[by][bx][c])).abs())
                .max()
                .unwrap() as usize
        };
        let beside = |(x, y): (usize, usize)| [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)];
        let mut queues = vec![VecDeque::new(); 256];
        for y in 1..=height {
            for x in 1..=width {
                if label[y][x] != 0 {
                    continue;
                }
                let least = beside((x, y))
                    .into_iter()
                    .filter(|&(nx, ny)| label[ny][nx] > 0)
                    .map(|neighbour| price((x, y), neighbour))
                    .min();
                if let Some(least) = least {
                    queues[least].push_back((x, y));
                    label[y][x] = -2;
                }
            }
        }
        while let Some((x, y)) = queues.iter_mut().find_map(VecDeque::pop_front) {
            let mut seen: Vec<i32> = beside((x, y)).map(|(nx, ny)| label[ny][nx]).into();
            seen.retain(|&label| label > 0);
            seen.dedup();
            if seen.iter().any(|&label| label != seen[0]) {
                label[y][x] = -1;
                continue;
            }
            label[y][x] = seen[0];
            for (nx, ny) in beside((x, y)) {
                if label[ny][nx] == 0 {
                    queues[price((x, y), (nx, ny))].push_back((nx, ny));
                    label[ny][nx] = -2;
                }
            }
        }
        (1..=height)
            .flat_map(|y| label[y][1..=width].to_vec())
            .collect()
    }

    fn flooded(width: usize, height: usize, colours: &[Colour], markers: &[i32]) -> Vec<i32> {
        let image = View::new(width, height, colours).unwrap();
        watershed(image, View::new(width, height, markers).unwrap()).into_pixels()
    }

    #[derive(Debug, Clone)]
    struct Case {
        width: usize,
        height: usize,
        colours: Vec<Colour>,
        inside: Vec<u8>,
        markers: Vec<i32>,
    }

    /// Few grey levels, so that many wait at one cost; markers from rare to everywhere, some of them in blocks.
    fn case() -> impl Strategy<Value = Case> {
        (
            prop_oneof![4 => 0usize..20, 1 => 60usize..140],
            0usize..14,
            1u8..=4,
            0u8..=40,
            1i32..=5,
            any::<bool>(),
        )
            .prop_flat_map(|(width, height, levels, step, labels, blocks)| {
                let size = width * height;
                let level = (0..levels).prop_map(move |level| level * step);
                let weight = prop_oneof![Just(1u32), Just(10), Just(100)];
                (
                    prop::collection::vec([level.clone(), level.clone(), level], size),
                    prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], size),
                    weight.prop_flat_map(move |weight| {
                        prop::collection::vec(
                            prop_oneof![weight => Just(0), 10 => 1..=labels],
                            size,
                        )
                    }),
                )
                    .prop_map(move |(colours, inside, mut markers)| {
                        if blocks {
                            for position in 0..size {
                                let (x, y) = (position % width, position / width);
                                markers[position] = markers[y / 3 * 3 * width + x / 5 * 5];
                            }
                        }
                        Case {
                            width,
                            height,
                            colours,
                            inside,
                            markers,
                        }
                    })
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        #[test]
        fn floods_as_defined(case in case()) {
            let Case { width, height, colours, markers, .. } = case;
            prop_assert_eq!(
                flooded(width, height, &colours, &markers),
                naive(width, height, &colours, &markers)
            );
        }

        #[test]
        fn what_is_not_inside_is_black(case in case(), all_marked in any::<bool>()) {
            let Case { width, height, colours, inside, mut markers } = case;
            let mut black = colours.clone();
            for position in 0..inside.len() {
                if inside[position] == 0 {
                    black[position] = [0; 3];
                    if all_marked {
                        markers[position] = 7;
                    }
                }
            }
            let labels = flood(
                View::new(width, height, &colours).unwrap(),
                View::new(width, height, &inside).unwrap(),
                Plane::new(width, height, markers.clone()).unwrap(),
            );
            let expected = naive(width, height, &black, &markers);
            prop_assert_eq!(labels.pixels(), &expected[..]);
            let inside = View::new(width, height, &inside).unwrap();
            let markers = Plane::new(width, height, markers).unwrap();
            let labels = flood_marked(
                View::new(width, height, &colours).unwrap(),
                (&Bitmap::from_mask(inside), inside),
                &Bitmap::from_pixels(markers.view(), |label| label > 0),
                markers,
            );
            prop_assert_eq!(labels.pixels(), &expected[..]);
        }
    }

    #[test]
    fn every_small_size_floods_as_defined() {
        let mut state = 1u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        for width in 0..=9 {
            for height in 0..=9 {
                for _ in 0..20 {
                    let colours: Vec<Colour> = (0..width * height)
                        .map(|_| [0; 3].map(|_: u8| (random(3) * 100) as u8))
                        .collect();
                    let markers: Vec<i32> = (0..width * height)
                        .map(|_| (random(12) as i32 - 8).max(0))
                        .collect();
                    assert_eq!(
                        flooded(width, height, &colours, &markers),
                        naive(width, height, &colours, &markers),
                        "{width} × {height}, {colours:?}, {markers:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_region_that_is_not_near_floods_as_defined() {
        let (width, height) = (197, 131);
        let size = width * height;
        assert!(size > NEAR + 100, "one region of more pixels than are near");
        let mut state = 7u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        for levels in [2, 5, 250] {
            let colours: Vec<Colour> = (0..size)
                .map(|_| [0; 3].map(|_: u8| random(levels) as u8))
                .collect();
            let mut markers = vec![0; size];
            for label in 1..=100 {
                markers[random(size as u32) as usize] = label;
            }
            let expected = naive(width, height, &colours, &markers);
            assert!(expected.contains(&LINE));
            assert!(
                flooded(width, height, &colours, &markers) == expected,
                "{levels} levels"
            );
        }
    }

    #[test]
    fn what_is_not_there_may_be_asked_for() {
        for position in [0, 2, 3, 1 << 30, usize::MAX, usize::MAX / 2] {
            fetch(&[1u8, 2, 3], position);
            fetch::<i32>(&[], position);
        }
    }

    #[test]
    fn without_markers_nothing_is_reached() {
        assert_eq!(flooded(3, 2, &[[9; 3]; 6], &[0; 6]), [0; 6]);
    }

    #[test]
    fn where_all_is_marker_nothing_changes() {
        let markers = [1, 2, 3, 3, 2, 1];
        assert_eq!(flooded(3, 2, &[[9; 3]; 6], &markers), markers);
    }

    #[test]
    fn one_marker_takes_all() {
        let colours: Vec<Colour> = (0..35).map(|i| [i * 7, 255 - i, i % 3]).collect();
        let mut markers = [0; 35];
        markers[17] = i32::MAX;
        assert_eq!(flooded(7, 5, &colours, &markers), [i32::MAX; 35]);
    }

    #[test]
    fn touching_markers_have_a_line_only_where_they_meet_anew() {
        let markers = [1, 2, 0, 0];
        assert_eq!(flooded(2, 2, &[[0; 3]; 4], &markers), [1, 2, 1, LINE]);
    }

    #[test]
    fn numbers_below_zero_are_no_markers() {
        let markers = [1, LINE, WAITING, i32::MIN, 2];
        assert_eq!(
            flooded(5, 1, &[[0; 3]; 5], &markers),
            flooded(5, 1, &[[0; 3]; 5], &[1, 0, 0, 0, 2])
        );
    }

    #[test]
    fn cheap_steps_come_first() {
        // Both markers could walk to the bright pixel; the flat side gets there before the steep one.
        let grey = [0, 0, 0, 0, 90, 200].map(|level| [0, level, 0]);
        assert_eq!(
            flooded(6, 1, &grey, &[1, 0, 0, 0, 0, 2]),
            [1, 1, 1, 1, LINE, 2]
        );
        let grey = [0, 0, 90, 200, 200, 200].map(|level| [0, level, 0]);
        assert_eq!(
            flooded(6, 1, &grey, &[1, 0, 0, 0, 0, 2]),
            [1, 1, LINE, 2, 2, 2]
        );
    }

    #[test]
    fn rows_start_at_multiples_of_the_width() {
        for width in [1, 2, 3, 7, 255, 256, 1000, 65_537, 1 << 30] {
            let grid = Grid::new(width, 3);
            for row in [0, 1, 2, 3, 1000, (1 << 30) / width] {
                let start = row * width;
                assert!(grid.starts_row(start), "{start} in rows of {width}");
                if width > 1 {
                    assert!(
                        !grid.starts_row(start + 1),
                        "{start} + 1 in rows of {width}"
                    );
                    assert!(
                        !grid.starts_row(start + width - 1),
                        "before {start} + {width}"
                    );
                }
            }
        }
    }
}
