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
    /// Nothing is below.
    const LOWEST: Self;
    /// Nothing is above.
    const HIGHEST: Self;
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
    const LOWEST: u8 = u8::MIN;
    const HIGHEST: u8 = u8::MAX;
    type Levels = Buckets;
}

impl Grey for f32 {
    const LOWEST: f32 = f32::NEG_INFINITY;
    const HIGHEST: f32 = f32::INFINITY;
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
        let (row, above) = with_neighbour(pixels, width, y, y.checked_sub(1));
        for &(start, end) in spans(y) {
            let span = start as usize..end as usize;
            lift(row, mask.row(y), above, span.clone(), connectivity);
            chain_right(row, mask.row(y), span);
        }
    }
    // From here on a row that is passed cannot raise itself, nor can the one passed before raise it. What it can
    // raise in that one is all that is left to do.
    let enough = width * height / FEW;
    let mut left = Vec::new();
    for y in (0..height).rev() {
        let (row, below) = with_neighbour(pixels, width, y, Some(y + 1).filter(|y| *y < height));
        for &(start, end) in spans(y).iter().rev() {
            let span = start as usize..end as usize;
            if below.is_some() {
                lift(row, mask.row(y), below, span.clone(), connectivity);
            }
            chain_left(row, mask.row(y), span.clone());
            chain_right(row, mask.row(y), span);
        }
        if let Some(below) = below.filter(|_| left.len() <= enough) {
            note(
                &mut left,
                y + 1,
                below,
                mask,
                row,
                spans(y + 1),
                connectivity,
            );
        }
    }
    let mut down = true;
    let mut groups = Vec::new();
    for sweep in 1..=SWEEPS {
        if left.len() <= enough {
            break;
        }
        left.clear();
        // The last one has to tell all.
        let enough = if sweep == SWEEPS { usize::MAX } else { enough };
        for step in 1..height {
            let (y, before) = if down {
                (step, step - 1)
            } else {
                (height - 1 - step, height - step)
            };
            let (row, other) = with_neighbour(pixels, width, y, Some(before));
            let Some(other) = other else { continue };
            groups.clear();
            for &(start, end) in spans(y) {
                let span = start as usize..end as usize;
                lift_groups(row, mask.row(y), other, span, connectivity, &mut groups);
            }
            if groups.is_empty() {
                continue;
            }
            chain_groups(row, mask.row(y), &groups);
            if left.len() <= enough {
                note(
                    &mut left,
                    before,
                    other,
                    mask,
                    row,
                    spans(before),
                    connectivity,
                );
            }
        }
        down = !down;
    }
    let mut levels = T::Levels::default();
    for (y, x) in left {
        let (y, x) = (y as usize, x as usize);
        let other = if down { y - 1 } else { y + 1 };
        let (row, other) = with_neighbour(pixels, width, y, Some(other));
        let end = block_end(x, width, width, connectivity);
        for x in x..end {
            let touching = other.map_or(row[x], |other| touching(other, x, connectivity));
            let value = lesser(mask.row(y)[x], touching);
            if value > row[x] {
                row[x] = value;
                levels.push(value, (y * width + x) as u32);
            }
        }
    }
    drain(levels, pixels, mask, connectivity);
}

/// One block in so many pixels may be left to the queue.
const FEW: usize = 2048;
/// Sweeps that are tried before the queue gets the rest, however much that is.
const SWEEPS: usize = 8;

/// A row to be changed, and one beside it.
fn with_neighbour<T>(
    pixels: &mut [T],
    width: usize,
    y: usize,
    other: Option<usize>,
) -> (&mut [T], Option<&[T]>) {
    let (before, rest) = pixels.split_at_mut(y * width);
    let (row, after) = rest.split_at_mut(width);
    let other = other.map(|other| {
        if other < y {
            &before[other * width..][..width]
        } else {
            &after[(other - y - 1) * width..][..width]
        }
    });
    (row, other)
}

/// Where the block that begins at `x` ends. With eight neighbours the first and the last pixel of a row, which
/// lack some, are blocks of their own.
fn block_end(x: usize, span_end: usize, width: usize, connectivity: Connectivity) -> usize {
    if connectivity == Connectivity::Four {
        span_end.min(x + BLOCK)
    } else if x == 0 || x + 1 == width {
        x + 1
    } else {
        span_end.min(x + BLOCK).min(width - 1)
    }
}

/// Whether a neighbouring row can raise a pixel of a block.
fn raisable<T: Grey>(
    row: &[T],
    mask: &[T],
    other: &[T],
    block: std::ops::Range<usize>,
    connectivity: Connectivity,
) -> bool {
    let (x, count) = (block.start, block.len());
    let (row_block, limits) = (&row[block.clone()], &mask[block.clone()]);
    let mut any = false;
    if connectivity == Connectivity::Four {
        let other = &other[block];
        if count == BLOCK {
            for at in 0..BLOCK {
                any |= lesser(limits[at], other[at]) > row_block[at];
            }
        } else {
            for at in 0..count {
                any |= lesser(limits[at], other[at]) > row_block[at];
            }
        }
    } else if x == 0 || x + 1 == row.len() {
        any = lesser(limits[0], touching(other, x, connectivity)) > row_block[0];
    } else {
        let left = &other[x - 1..][..count];
        let middle = &other[x..][..count];
        let right = &other[x + 1..][..count];
        let raises = |at: usize| {
            let touching = greater(greater(left[at], right[at]), middle[at]);
            lesser(limits[at], touching) > row_block[at]
        };
        if count == BLOCK {
            for at in 0..BLOCK {
                any |= raises(at);
            }
        } else {
            for at in 0..count {
                any |= raises(at);
            }
        }
    }
    any
}

/// Notes the blocks of a row that a neighbouring row can raise.
fn note<T: Grey>(
    left: &mut Vec<(u32, u32)>,
    y: usize,
    row: &[T],
    mask: View<T>,
    other: &[T],
    spans: &[(u32, u32)],
    connectivity: Connectivity,
) {
    for &(start, end) in spans {
        let mut x = start as usize;
        while x < end as usize {
            let block = x..block_end(x, end as usize, row.len(), connectivity);
            x = block.end;
            if raisable(row, mask.row(y), other, block.clone(), connectivity) {
                left.push((y as u32, block.start as u32));
            }
        }
    }
}

/// Raises the blocks of a span that a neighbouring row can raise, and tells of the groups of such blocks.
fn lift_groups<T: Grey>(
    row: &mut [T],
    mask: &[T],
    other: &[T],
    span: std::ops::Range<usize>,
    connectivity: Connectivity,
    groups: &mut Vec<std::ops::Range<usize>>,
) {
    let mut x = span.start;
    while x < span.end {
        let block = x..block_end(x, span.end, row.len(), connectivity);
        x = block.end;
        if raisable(row, mask, other, block.clone(), connectivity) {
            lift(row, mask, Some(other), block.clone(), connectivity);
            match groups.last_mut() {
                Some(group) if group.end == block.start => group.end = block.end,
                _ => groups.push(block),
            }
        }
    }
}

/// Carries values along a row of which only the groups were raised since it could last raise itself.
fn chain_groups<T: Grey>(row: &mut [T], mask: &[T], groups: &[std::ops::Range<usize>]) {
    for (at, group) in groups.iter().enumerate() {
        chain_right(row, mask, group.clone());
        let stop = groups.get(at + 1).map_or(row.len(), |next| next.start);
        for x in group.end..stop {
            let value = lesser(mask[x], row[x - 1]);
            if value <= row[x] {
                break;
            }
            row[x] = value;
        }
    }
    for (at, group) in groups.iter().enumerate().rev() {
        chain_left(row, mask, group.clone());
        let stop = at.checked_sub(1).map_or(0, |at| groups[at].end);
        for x in (stop..group.start).rev() {
            let value = lesser(mask[x], row[x + 1]);
            if value <= row[x] {
                break;
            }
            row[x] = value;
        }
    }
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
    let (blocks, rest) = row[span.clone()].as_chunks_mut::<BLOCK>();
    let (limits, rest_limits) = mask[span].as_chunks::<BLOCK>();
    for (block, limits) in blocks.iter_mut().zip(limits) {
        *block = carry_right(*block, *limits, carried);
        carried = block[BLOCK - 1];
    }
    for (value, limit) in rest.iter_mut().zip(rest_limits) {
        carried = lesser(*limit, greater(*value, carried));
        *value = carried;
    }
}

/// Carries values from right to left along a span.
fn chain_left<T: Grey>(row: &mut [T], mask: &[T], span: std::ops::Range<usize>) {
    let mut carried = row[span.end.min(row.len() - 1)];
    let (rest, blocks) = row[span.clone()].as_rchunks_mut::<BLOCK>();
    let (rest_limits, limits) = mask[span].as_rchunks::<BLOCK>();
    for (block, limits) in blocks.iter_mut().zip(limits).rev() {
        *block = carry_left(*block, *limits, carried);
        carried = block[0];
    }
    for (value, limit) in rest.iter_mut().zip(rest_limits).rev() {
        carried = lesser(*limit, greater(*value, carried));
        *value = carried;
    }
}

/// Pixels of a row that are worked on together.
const BLOCK: usize = 16;

/// Carries a value through a block from left to right.
///
/// What a pixel does to a carried value, `min(limit, max(value, carried))`, is a clamp, and two clamps in a row
/// are a clamp again. So in four steps each pixel gets the clamp of all up to itself, and the value carried in is
/// needed only at the end.
#[inline]
fn carry_right<T: Grey>(low: [T; BLOCK], high: [T; BLOCK], carried: T) -> [T; BLOCK] {
    let clamps = join_right::<1, T>((low, high));
    let clamps = join_right::<2, T>(clamps);
    let clamps = join_right::<4, T>(clamps);
    clamp(join_right::<8, T>(clamps), [carried; BLOCK])
}

/// Carries a value through a block from right to left.
#[inline]
fn carry_left<T: Grey>(low: [T; BLOCK], high: [T; BLOCK], carried: T) -> [T; BLOCK] {
    let clamps = join_left::<1, T>((low, high));
    let clamps = join_left::<2, T>(clamps);
    let clamps = join_left::<4, T>(clamps);
    clamp(join_left::<8, T>(clamps), [carried; BLOCK])
}

type Clamps<T> = ([T; BLOCK], [T; BLOCK]);

/// Each value between its bounds.
#[inline(always)]
fn clamp<T: Grey>((low, high): Clamps<T>, mut values: [T; BLOCK]) -> [T; BLOCK] {
    for at in 0..BLOCK {
        values[at] = lesser(high[at], greater(low[at], values[at]));
    }
    values
}

/// Puts before each clamp the one that lies `STEP` to its left, or none.
#[inline(always)]
fn join_right<const STEP: usize, T: Grey>((low, high): Clamps<T>) -> Clamps<T> {
    let (mut before_low, mut before_high) = ([T::LOWEST; BLOCK], [T::HIGHEST; BLOCK]);
    before_low[STEP..].copy_from_slice(&low[..BLOCK - STEP]);
    before_high[STEP..].copy_from_slice(&high[..BLOCK - STEP]);
    (
        clamp((low, high), before_low),
        clamp((low, high), before_high),
    )
}

/// Puts before each clamp the one that lies `STEP` to its right, or none.
#[inline(always)]
fn join_left<const STEP: usize, T: Grey>((low, high): Clamps<T>) -> Clamps<T> {
    let (mut before_low, mut before_high) = ([T::LOWEST; BLOCK], [T::HIGHEST; BLOCK]);
    before_low[..BLOCK - STEP].copy_from_slice(&low[STEP..]);
    before_high[..BLOCK - STEP].copy_from_slice(&high[STEP..]);
    (
        clamp((low, high), before_low),
        clamp((low, high), before_high),
    )
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
