//! Grey reconstruction by dilation.
//!
//! Law: the result is the least image `m` with `m ≥ min(marker, mask)` and, for every pixel `p`,
//! `m(p) = min(mask(p), max(m(p), m(neighbours of p)))`. Pixels outside the image do not exist. The result is
//! unique, so it does not depend on the order in which it is found.
//!
//! Bound: linear in the number of pixels, whatever they show. Two scans over the rows carry values as far as rows
//! allow; what is left (a spiral, a staircase) is finished from a queue that is taken from the highest level down.
//! A pixel raised from there was raised by the highest level that can still reach it, so it is raised once and
//! put in the queue at most once more. The queue is made of buckets: 256 for bytes; for `f32` a radix heap over
//! the 32 bits of the ordered value, in which an entry moves at most 32 times.

use crate::{Connectivity, Plane, Spans, View};

/// A grey value that [`reconstruct`] understands: `u8`, or `f32` without NaN.
pub trait Grey: Copy + PartialOrd + Default + private::Sealed {
    /// The queue of raised pixels.
    #[doc(hidden)]
    type Levels: Levels<Self>;
}

mod private {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for f32 {}
}

impl Grey for u8 {
    type Levels = Buckets;
}

impl Grey for f32 {
    type Levels = Radix;
}

/// Pixels that may raise their neighbours, highest level first.
#[doc(hidden)]
pub trait Levels<T>: Default {
    /// Puts a pixel at a level; once something was taken, a level that is not above what was taken last.
    fn push(&mut self, level: T, position: u32);
    /// Takes a pixel of the highest level.
    fn pop(&mut self) -> Option<(T, u32)>;
}

/// One stack for each of 256 levels.
#[doc(hidden)]
pub struct Buckets {
    stacks: Vec<Vec<u32>>,
    highest: usize,
}

impl Default for Buckets {
    fn default() -> Self {
        Buckets {
            stacks: vec![Vec::new(); 256],
            highest: 0,
        }
    }
}

impl Levels<u8> for Buckets {
    fn push(&mut self, level: u8, position: u32) {
        self.highest = self.highest.max(usize::from(level));
        self.stacks[usize::from(level)].push(position);
    }

    fn pop(&mut self) -> Option<(u8, u32)> {
        loop {
            if let Some(position) = self.stacks[self.highest].pop() {
                return Some((self.highest as u8, position));
            }
            self.stacks[self.highest] = Vec::new();
            self.highest = self.highest.checked_sub(1)?;
        }
    }
}

/// A radix heap: bucket `n` holds the levels that differ from the one taken last in bit `n − 1` and none above.
#[doc(hidden)]
pub struct Radix {
    buckets: [Vec<(u32, u32)>; 33],
    /// The level taken last, as [`depth`] has it: 0 is above everything.
    last: u32,
}

impl Default for Radix {
    fn default() -> Self {
        Radix {
            buckets: std::array::from_fn(|_| Vec::new()),
            last: 0,
        }
    }
}

/// A level as a number that is smaller the higher the level is; 0 and −0 are one level.
fn depth(level: f32) -> u32 {
    let bits = (level + 0.0).to_bits();
    if bits >> 31 == 0 {
        bits ^ 0x7fff_ffff
    } else {
        bits
    }
}

/// The level of a [`depth`].
fn level(depth: u32) -> f32 {
    f32::from_bits(if depth >> 31 == 0 {
        depth ^ 0x7fff_ffff
    } else {
        depth
    })
}

fn bucket(depth: u32, last: u32) -> usize {
    (32 - (depth ^ last).leading_zeros()) as usize
}

impl Levels<f32> for Radix {
    fn push(&mut self, level: f32, position: u32) {
        let depth = depth(level);
        self.buckets[bucket(depth, self.last)].push((depth, position));
    }

    fn pop(&mut self) -> Option<(f32, u32)> {
        loop {
            if let Some((depth, position)) = self.buckets[0].pop() {
                return Some((level(depth), position));
            }
            let next = self.buckets.iter().position(|bucket| !bucket.is_empty())?;
            let mut entries = std::mem::take(&mut self.buckets[next]);
            self.last = entries.iter().map(|entry| entry.0).min()?;
            for (depth, position) in entries.drain(..) {
                self.buckets[bucket(depth, self.last)].push((depth, position));
            }
            // Its memory serves again; nothing was put back, for all share the bit that led them here.
            self.buckets[next] = entries;
        }
    }
}

/// Reconstruction of `mask` from `marker`, which is clipped to `mask`.
///
/// # Panics
/// When the sizes differ.
pub fn reconstruct<T: Grey>(
    marker: View<T>,
    mask: View<T>,
    connectivity: Connectivity,
) -> Plane<T> {
    same_size((marker.width(), marker.height()), mask);
    let mut result = Plane::filled(marker.width(), marker.height(), T::default());
    result.pixels_mut().copy_from_slice(marker.pixels());
    reconstruct_in_place(&mut result, mask, connectivity);
    result
}

/// Like [`reconstruct`], with the marker becoming the result.
///
/// # Panics
/// When the sizes differ.
pub fn reconstruct_in_place<T: Grey>(
    marker: &mut Plane<T>,
    mask: View<T>,
    connectivity: Connectivity,
) {
    same_size((marker.width(), marker.height()), mask);
    let whole = [(0, mask.width() as u32)];
    run(marker, mask, connectivity, |_| &whole);
}

/// Like [`reconstruct_in_place`] where marker and mask are equal outside of the spans: only pixels in spans are
/// raised, and the cost is that of the pixels in spans and of those beside them.
///
/// # Panics
/// When the sizes differ.
pub fn reconstruct_in_spans<T: Grey>(
    marker: &mut Plane<T>,
    mask: View<T>,
    connectivity: Connectivity,
    spans: &Spans,
) {
    same_size((marker.width(), marker.height()), mask);
    same_size((spans.width(), spans.height()), mask);
    run(marker, mask, connectivity, |y| spans.row(y));
}

fn same_size<T>(size: (usize, usize), mask: View<T>) {
    assert!(
        size == (mask.width(), mask.height()),
        "{} × {} pixels cannot be reconstructed under a mask of {} × {}",
        size.0,
        size.1,
        mask.width(),
        mask.height()
    );
}

fn run<'a, T: Grey>(
    marker: &mut Plane<T>,
    mask: View<T>,
    connectivity: Connectivity,
    spans: impl Fn(usize) -> &'a [(u32, u32)],
) {
    let (width, height) = (mask.width(), mask.height());
    if width == 0 || height == 0 {
        return;
    }
    let pixels = marker.pixels_mut();
    for y in 0..height {
        let (above, row) = pixels[..(y + 1) * width].split_at_mut(y * width);
        let above = y.checked_sub(1).map(|y| &above[y * width..]);
        for &(start, end) in spans(y) {
            let span = start as usize..end as usize;
            lift(row, mask.row(y), above, span.clone(), connectivity);
            chain_right(row, mask.row(y), span);
        }
    }
    let mut levels = T::Levels::default();
    for y in (0..height).rev() {
        let (row, below) = pixels[y * width..].split_at_mut(width);
        let below = (y + 1 < height).then(|| &mut below[..width]);
        for &(start, end) in spans(y).iter().rev() {
            let span = start as usize..end as usize;
            if let Some(below) = &below {
                lift(row, mask.row(y), Some(below), span.clone(), connectivity);
            }
            chain_left(row, mask.row(y), span.clone());
            chain_right(row, mask.row(y), span);
        }
        // Now this row cannot raise itself, nor can the one below raise it. What it can raise in the one below is
        // all that is left to do, and is done from the queue.
        if let Some(below) = below {
            for &(start, end) in spans(y + 1) {
                let span = start as usize..end as usize;
                settle(
                    below,
                    mask.row(y + 1),
                    row,
                    span,
                    connectivity,
                    |x, level| {
                        levels.push(level, ((y + 1) * width + x) as u32);
                    },
                );
            }
        }
    }
    drain(levels, pixels, mask, connectivity);
}

fn greater<T: PartialOrd>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

fn lesser<T: PartialOrd>(a: T, b: T) -> T {
    if a < b { a } else { b }
}

/// The highest of the pixels of a neighbouring row that touch pixel `x`.
fn touching<T: Grey>(other: &[T], x: usize, connectivity: Connectivity) -> T {
    match connectivity {
        Connectivity::Four => other[x],
        Connectivity::Eight => {
            let beside = &other[x.saturating_sub(1)..other.len().min(x + 2)];
            beside.iter().copied().fold(other[x], greater)
        }
    }
}

/// Raises the pixels of a span to what a neighbouring row allows, and clips them to the mask.
fn lift<T: Grey>(
    row: &mut [T],
    mask: &[T],
    other: Option<&[T]>,
    span: std::ops::Range<usize>,
    connectivity: Connectivity,
) {
    let Some(other) = other else {
        for (value, limit) in row[span.clone()].iter_mut().zip(&mask[span]) {
            *value = lesser(*value, *limit);
        }
        return;
    };
    let (mut start, mut end) = (span.start, span.end);
    if connectivity == Connectivity::Eight {
        // The first and the last pixel of a row lack a neighbour; all between have three.
        if start == 0 {
            row[0] = lesser(mask[0], greater(row[0], touching(other, 0, connectivity)));
            start = 1;
        }
        if end == row.len() && start < end {
            end -= 1;
            let value = greater(row[end], touching(other, end, connectivity));
            row[end] = lesser(mask[end], value);
        }
        if start < end {
            let count = end - start;
            let row = &mut row[start..end];
            let mask = &mask[start..end];
            let left = &other[start - 1..][..count];
            let middle = &other[start..][..count];
            let right = &other[start + 1..][..count];
            for x in 0..count {
                let touching = greater(greater(left[x], right[x]), middle[x]);
                row[x] = lesser(mask[x], greater(row[x], touching));
            }
        }
    } else {
        let row = row[start..end].iter_mut();
        for ((value, limit), other) in row.zip(&mask[start..end]).zip(&other[start..end]) {
            *value = lesser(*limit, greater(*value, *other));
        }
    }
}

/// Carries values from left to right along a span.
fn chain_right<T: Grey>(row: &mut [T], mask: &[T], span: std::ops::Range<usize>) {
    let mut carried = row[span.start.saturating_sub(1)];
    for (value, limit) in row[span.clone()].iter_mut().zip(&mask[span]) {
        carried = lesser(*limit, greater(*value, carried));
        *value = carried;
    }
}

/// Carries values from right to left along a span.
fn chain_left<T: Grey>(row: &mut [T], mask: &[T], span: std::ops::Range<usize>) {
    let mut carried = row[span.end.min(row.len() - 1)];
    for (value, limit) in row[span.clone()].iter_mut().zip(&mask[span]).rev() {
        carried = lesser(*limit, greater(*value, carried));
        *value = carried;
    }
}

/// Raises the pixels of a span that the row above can still raise, and tells of each.
fn settle<T: Grey>(
    row: &mut [T],
    mask: &[T],
    above: &[T],
    span: std::ops::Range<usize>,
    connectivity: Connectivity,
    mut raised: impl FnMut(usize, T),
) {
    for x in span {
        let value = lesser(mask[x], touching(above, x, connectivity));
        if value > row[x] {
            row[x] = value;
            raised(x, value);
        }
    }
}

/// Takes pixels from the highest level down and raises their neighbours.
fn drain<T: Grey>(
    mut levels: T::Levels,
    pixels: &mut [T],
    mask: View<T>,
    connectivity: Connectivity,
) {
    let (width, height) = (mask.width(), mask.height());
    let limits = mask.pixels();
    while let Some((level, position)) = levels.pop() {
        let at = position as usize;
        if pixels[at] != level {
            // Raised further since, and in the queue at that level too.
            continue;
        }
        let (x, y) = (at % width, at / width);
        for row in y.saturating_sub(1)..height.min(y + 2) {
            let reach = usize::from(row == y || connectivity == Connectivity::Eight);
            for column in x.saturating_sub(reach)..width.min(x + reach + 1) {
                let neighbour = row * width + column;
                let value = lesser(limits[neighbour], level);
                if value > pixels[neighbour] {
                    pixels[neighbour] = value;
                    levels.push(value, neighbour as u32);
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "reconstruct_tests.rs"]
mod tests;
