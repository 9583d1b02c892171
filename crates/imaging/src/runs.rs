//! The connected components of a binary image, as runs of pixels in rows.
//!
//! Law: [`Components`] holds every set pixel (or, of the background, every unset one) in exactly one run, runs in
//! raster order and as long as can be; two runs have the same component number exactly if their pixels are
//! connected; numbers count from 0 in raster order of a component's first pixel. The cost grows with the words
//! of the bitmap and the number of runs, not with the pixels.

use crate::{Bitmap, Connectivity};

/// Pixels `start..end` of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Run {
    /// How many pixels.
    pub(crate) fn length(self) -> u32 {
        self.end - self.start
    }
}

/// The components of an image.
#[derive(Debug)]
pub(crate) struct Components {
    runs: Vec<Run>,
    /// Where the runs of each row begin; one more than there are rows.
    rows: Vec<u32>,
    /// The component of each run.
    numbers: Vec<u32>,
    count: usize,
}

/// Which pixels are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// The set ones.
    Fore,
    /// The unset ones.
    Back,
}

impl Components {
    /// The components of an image.
    pub(crate) fn of(bitmap: &Bitmap, ground: Ground, connectivity: Connectivity) -> Components {
        let reach = u32::from(connectivity == Connectivity::Eight);
        let mut runs = Vec::new();
        let mut rows = Vec::with_capacity(bitmap.height() + 1);
        rows.push(0);
        let mut parents = Vec::new();
        let mut above = 0..0;
        for y in 0..bitmap.height() {
            let first = runs.len();
            for_each_run(bitmap, y, ground, |start, end| {
                runs.push(Run { start, end });
            });
            join(&runs, above, first, reach, &mut parents);
            above = first..runs.len();
            rows.push(runs.len() as u32);
        }
        let (numbers, count) = number(parents);
        Components {
            runs,
            rows,
            numbers,
            count,
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Calls `visit` with the row, the run and the component of each run, in raster order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(usize, Run, usize)) {
        for (y, bounds) in self.rows.windows(2).enumerate() {
            for place in bounds[0] as usize..bounds[1] as usize {
                visit(y, self.runs[place], self.numbers[place] as usize);
            }
        }
    }

    /// The runs of a row with their components.
    pub(crate) fn row(&self, y: usize) -> impl Iterator<Item = (Run, u32)> {
        let places = self.rows[y] as usize..self.rows[y + 1] as usize;
        places.map(|place| (self.runs[place], self.numbers[place]))
    }

    /// The pixels of the components for which `keep` says so.
    pub(crate) fn keep(&self, mut bitmap: Bitmap, keep: &[bool]) -> Bitmap {
        self.for_each(|y, run, number| {
            if keep[number] {
                bitmap.set_run(y, run.start as usize, run.end as usize);
            }
        });
        bitmap
    }

    /// How many pixels each has.
    pub(crate) fn areas(&self) -> Vec<u64> {
        let mut areas = vec![0; self.count];
        for (run, number) in self.runs.iter().zip(&self.numbers) {
            areas[*number as usize] += u64::from(run.length());
        }
        areas
    }
}

/// Calls `visit` with the start and the end of each run of a row.
#[inline]
pub(crate) fn for_each_run(
    bitmap: &Bitmap,
    y: usize,
    ground: Ground,
    mut visit: impl FnMut(u32, u32),
) {
    let words = bitmap.row(y);
    let invert = if ground == Ground::Back { u64::MAX } else { 0 };
    let last = bitmap.last_word();
    let mut before = 0;
    // Whether a run has begun, and where.
    let (mut open, mut start) = (false, 0);
    for (place, word) in words.iter().enumerate() {
        let mut word = word ^ invert;
        if place + 1 == words.len() {
            word &= last;
        }
        // A bit here says that its pixel differs from the one before it.
        let mut changes = word ^ (word << 1 | before);
        before = word >> 63;
        let first = (place * 64) as u32;
        if open && changes != 0 {
            visit(start, first + changes.trailing_zeros());
            changes &= changes - 1;
            open = false;
        }
        while changes != 0 {
            start = first + changes.trailing_zeros();
            changes &= changes - 1;
            if changes == 0 {
                open = true;
                break;
            }
            visit(start, first + changes.trailing_zeros());
            changes &= changes - 1;
        }
    }
    if open {
        visit(start, bitmap.width() as u32);
    }
}

/// Joins the runs from `first` on with those above them; `reach` is 1 where diagonals touch.
fn join(
    runs: &[Run],
    above: std::ops::Range<usize>,
    first: usize,
    reach: u32,
    parents: &mut Vec<u32>,
) {
    let mut upper = above.start;
    for (offset, run) in runs[first..].iter().enumerate() {
        let mut root = (first + offset) as u32;
        parents.push(root);
        while upper < above.end && runs[upper].end + reach <= run.start {
            upper += 1;
        }
        let mut touching = upper;
        while touching < above.end && runs[touching].start < run.end + reach {
            root = unite(parents, root, touching as u32);
            touching += 1;
        }
        // The last one may touch the next run of this row as well.
        upper = touching.saturating_sub(1).max(upper);
    }
}

/// The first member of the set that one belongs to; paths are halved on the way.
pub(crate) fn root(parents: &mut [u32], mut run: u32) -> u32 {
    while parents[run as usize] != run {
        let parent = parents[run as usize];
        parents[run as usize] = parents[parent as usize];
        run = parent;
    }
    run
}

/// Makes two sets one and gives its first member.
pub(crate) fn unite(parents: &mut [u32], one: u32, other: u32) -> u32 {
    let (one, other) = (root(parents, one), root(parents, other));
    let (low, high) = (one.min(other), one.max(other));
    parents[high as usize] = low;
    low
}

/// Component numbers from parents. A parent comes before its children, so one pass is enough.
fn number(mut parents: Vec<u32>) -> (Vec<u32>, usize) {
    let mut count = 0;
    for run in 0..parents.len() {
        let parent = parents[run] as usize;
        parents[run] = if parent == run {
            count += 1;
            count - 1
        } else {
            parents[parent]
        };
    }
    (parents, count as usize)
}
