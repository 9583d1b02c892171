//! Grey reconstruction by dilation.
//!
//! Law: the result is the least image `m` with `m ≥ min(marker, mask)` and, for every pixel `p`,
//! `m(p) = min(mask(p), max(m(p), m(neighbours of p)))`. Pixels outside the image do not exist. The result is
//! unique, so it does not depend on the order in which it is found.
//!
//! Bound: linear in the number of pixels, whatever they show. Two scans over all rows and at most [`SWEEPS`] over
//! what may still rise carry values as far as rows allow; what is left (a spiral, a staircase) is finished from a
//! queue that is taken from the highest level down. A pixel raised from there was raised by the highest level that
//! can still reach it, so it is raised once and put in the queue once more at most. The queue is made of buckets:
//! 256 for bytes; for `f32` a radix heap over the 32 bits of the ordered value, in which an entry moves at most 32
//! times. Beyond marker and mask it takes two bits for each block of 16 pixels, and the queue: four bytes for each
//! pixel in it (eight for `f32`), few but in mazes.

use std::ops::Range;

use crate::wide::{Bytes, wide};
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
    /// Carries values from left to right along a span.
    #[doc(hidden)]
    fn chain_right(row: &mut [Self], mask: &[Self], span: Range<usize>);
    /// Carries values from right to left along a span.
    #[doc(hidden)]
    fn chain_left(row: &mut [Self], mask: &[Self], span: Range<usize>);
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
    #[inline(always)]
    fn chain_right(row: &mut [u8], mask: &[u8], span: Range<usize>) {
        chain_bytes_right(row, mask, span);
    }
    #[inline(always)]
    fn chain_left(row: &mut [u8], mask: &[u8], span: Range<usize>) {
        chain_bytes_left(row, mask, span);
    }
}

impl Grey for f32 {
    const LOWEST: f32 = f32::NEG_INFINITY;
    const HIGHEST: f32 = f32::INFINITY;
    type Levels = Radix;
    #[inline(always)]
    fn chain_right(row: &mut [f32], mask: &[f32], span: Range<usize>) {
        chain_right::<8, f32>(row, mask, span);
    }
    #[inline(always)]
    fn chain_left(row: &mut [f32], mask: &[f32], span: Range<usize>) {
        chain_left::<8, f32>(row, mask, span);
    }
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
    run(marker, mask, connectivity, None, SWEEPS);
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
    run(marker, mask, connectivity, Some(spans), SWEEPS);
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

wide! {
    /// Raises what can be raised within spans, or anywhere.
    fn run[T: Grey](
        marker: &mut Plane<T>,
        mask: View<'_, T>,
        connectivity: Connectivity,
        spans: Option<&Spans>,
        sweeps: usize,
    ) = run_plain
}

#[inline(always)]
fn run_plain<T: Grey>(
    marker: &mut Plane<T>,
    mask: View<'_, T>,
    connectivity: Connectivity,
    spans: Option<&Spans>,
    sweeps: usize,
) {
    let (width, height) = (mask.width(), mask.height());
    let whole = [(0, width as u32)];
    let spans = |y| spans.map_or(&whole[..], |spans| spans.row(y));
    if width == 0 || height == 0 {
        return;
    }
    let pixels = marker.pixels_mut();
    for y in 0..height {
        let (row, above) = with_neighbour(pixels, width, y, y.checked_sub(1));
        for &(start, end) in spans(y) {
            let span = start as usize..end as usize;
            lift_span(row, mask.row(y), above, span.clone(), connectivity);
            T::chain_right(row, mask.row(y), span);
        }
    }
    // From here on a row that is passed cannot raise itself, nor can the one passed before raise it. What it may
    // still raise in that one is marked, and is all that is left to do.
    let mut marks = Marks::new(width, height);
    for y in (0..height).rev() {
        let (row, below) = with_neighbour(pixels, width, y, Some(y + 1).filter(|y| *y < height));
        for &(start, end) in spans(y).iter().rev() {
            let span = start as usize..end as usize;
            if below.is_some() {
                lift_span(row, mask.row(y), below, span.clone(), connectivity);
            }
            T::chain_left(row, mask.row(y), span.clone());
            T::chain_right(row, mask.row(y), span);
        }
        if let Some(below) = below {
            for &(start, end) in spans(y + 1) {
                for block in start as usize / BLOCK..(end as usize).div_ceil(BLOCK) {
                    let pixels = block * BLOCK..width.min((block + 1) * BLOCK);
                    if raisable(below, mask.row(y + 1), row, pixels, connectivity) {
                        marks.set(y + 1, block..block + 1);
                    }
                }
            }
        }
    }
    let mut down = true;
    for _ in 0..sweeps {
        let (next, raised) = sweep(pixels, mask, connectivity, marks, down);
        marks = next;
        down = !down;
        if raised <= width * height / FEW {
            break;
        }
    }
    let mut levels = T::Levels::default();
    for y in 0..height {
        // Against the direction of the sweep to come, so that a row is seen as it was.
        let y = if down { height - 1 - y } else { y };
        let other = if down {
            y.checked_sub(1)
        } else {
            Some(y + 1).filter(|y| *y < height)
        };
        let (row, other) = with_neighbour(pixels, width, y, other);
        let Some(other) = other else { continue };
        for (at, word) in marks.words(y).iter().enumerate() {
            let mut word = *word;
            while word != 0 {
                for x in marks.take(at, &mut word) {
                    let value = lesser(mask.row(y)[x], touching(other, x, connectivity));
                    if value > row[x] {
                        row[x] = value;
                        levels.push(value, (y * width + x) as u32);
                    }
                }
            }
        }
    }
    drain(levels, pixels, mask, connectivity);
}

/// Sweeps go on while they raise more than one block in so many pixels…
const FEW: usize = 4096;
/// …and are not more than this. The queue gets the rest, however much that is.
const SWEEPS: usize = 8;

/// Passes the rows in one direction, with an eye on marked blocks alone. Gives what the sweep back has to look at,
/// and how many blocks were raised.
#[inline(always)]
fn sweep<T: Grey>(
    pixels: &mut [T],
    mask: View<T>,
    connectivity: Connectivity,
    mut marks: Marks,
    down: bool,
) -> (Marks, usize) {
    let (width, height) = (mask.width(), mask.height());
    let mut back = Marks::new(width, height);
    let mut raised = 0;
    let mut groups: Vec<Range<usize>> = Vec::new();
    for step in 1..height {
        let (y, before) = if down {
            (step, step - 1)
        } else {
            (height - 1 - step, height - step)
        };
        let (row, other) = with_neighbour(pixels, width, y, Some(before));
        let Some(other) = other else { continue };
        let limits = mask.row(y);
        groups.clear();
        for (at, word) in marks.words(y).iter().enumerate() {
            let mut word = *word;
            while word != 0 {
                let block = marks.take(at, &mut word);
                if lift_block(row, limits, other, block.clone(), connectivity) {
                    raised += 1;
                    match groups.last_mut() {
                        Some(group) if group.end == block.start => group.end = block.end,
                        _ => groups.push(block),
                    }
                }
            }
        }
        chain_groups(row, limits, &mut groups);
        for group in &groups {
            let blocks =
                group.start.saturating_sub(1) / BLOCK..(group.end + 1).min(width).div_ceil(BLOCK);
            back.set(before, blocks.clone());
            if step + 1 < height {
                marks.set(if down { y + 1 } else { y - 1 }, blocks);
            }
        }
    }
    (back, raised)
}

/// Blocks that the row above (or below) may be able to raise, one bit each.
struct Marks {
    width: usize,
    stride: usize,
    words: Vec<u64>,
}

impl Marks {
    fn new(width: usize, height: usize) -> Marks {
        let stride = width.div_ceil(BLOCK * 64);
        Marks {
            width,
            stride,
            words: vec![0; stride * height],
        }
    }

    #[inline(always)]
    fn set(&mut self, y: usize, blocks: Range<usize>) {
        for block in blocks {
            self.words[y * self.stride + block / 64] |= 1 << (block % 64);
        }
    }

    /// The marked blocks of a row from left to right, 64 to a word.
    #[inline(always)]
    fn words(&self, y: usize) -> &[u64] {
        &self.words[y * self.stride..][..self.stride]
    }

    /// The first block of a word that is not 0, which is taken from it.
    #[inline(always)]
    fn take(&self, at: usize, word: &mut u64) -> Range<usize> {
        let block = at * 64 + word.trailing_zeros() as usize;
        *word &= *word - 1;
        block * BLOCK..self.width.min((block + 1) * BLOCK)
    }
}

/// A row to be changed, and one beside it.
#[inline(always)]
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

/// Whether a neighbouring row can raise a pixel of a block.
#[inline(always)]
fn raisable<T: Grey>(
    row: &[T],
    mask: &[T],
    other: &[T],
    block: Range<usize>,
    connectivity: Connectivity,
) -> bool {
    let mut any = false;
    if connectivity == Connectivity::Four {
        let (row, mask, other) = (&row[block.clone()], &mask[block.clone()], &other[block]);
        let raises = |at: usize| lesser(mask[at], other[at]) > row[at];
        if row.len() == BLOCK {
            for at in 0..BLOCK {
                any |= raises(at);
            }
        } else {
            any = (0..row.len()).any(raises);
        }
    } else if block.len() == BLOCK && block.start > 0 && block.end < row.len() {
        let left = &other[block.start - 1..][..BLOCK];
        let middle = &other[block.start..][..BLOCK];
        let right = &other[block.start + 1..][..BLOCK];
        let (row, mask) = (&row[block.clone()], &mask[block]);
        for at in 0..BLOCK {
            let touching = greater(greater(left[at], right[at]), middle[at]);
            any |= lesser(mask[at], touching) > row[at];
        }
    } else {
        any = block
            .into_iter()
            .any(|x| lesser(mask[x], touching(other, x, connectivity)) > row[x]);
    }
    any
}

/// Raises the pixels of a block to what a neighbouring row allows, and says whether that changed any.
#[inline(always)]
fn lift_block<T: Grey>(
    row: &mut [T],
    mask: &[T],
    other: &[T],
    block: Range<usize>,
    connectivity: Connectivity,
) -> bool {
    if block.len() < BLOCK || block.start == 0 || block.end == row.len() {
        let any = raisable(row, mask, other, block.clone(), connectivity);
        lift(row, mask, Some(other), block, connectivity);
        return any;
    }
    let mut touching = piece::<BLOCK, T>(other, block.start);
    if connectivity == Connectivity::Eight {
        let (left, right) = (
            piece::<BLOCK, T>(other, block.start - 1),
            piece::<BLOCK, T>(other, block.start + 1),
        );
        for at in 0..BLOCK {
            touching[at] = greater(greater(left[at], right[at]), touching[at]);
        }
    }
    let before = piece(row, block.start);
    let lifted = clamp((before, piece(mask, block.start)), touching);
    let mut any = false;
    for at in 0..BLOCK {
        any |= lifted[at] > before[at];
    }
    if any {
        row[block].copy_from_slice(&lifted);
    }
    any
}

/// So many pixels of a row.
#[inline(always)]
fn piece<const N: usize, T: Grey>(row: &[T], start: usize) -> [T; N] {
    let mut piece = [T::LOWEST; N];
    piece.copy_from_slice(&row[start..start + N]);
    piece
}

/// Carries values along a row of which only the groups were raised since it could last raise itself. The groups
/// grow to what was raised.
#[inline(always)]
fn chain_groups<T: Grey>(row: &mut [T], mask: &[T], groups: &mut [Range<usize>]) {
    for at in 0..groups.len() {
        let group = groups[at].clone();
        let stop = groups.get(at + 1).map_or(row.len(), |next| next.start);
        T::chain_right(row, mask, group.clone());
        let mut x = group.end;
        while x < stop {
            let value = lesser(mask[x], row[x - 1]);
            if value <= row[x] {
                break;
            }
            row[x] = value;
            x += 1;
        }
        groups[at].end = x;
    }
    for at in (0..groups.len()).rev() {
        let group = groups[at].clone();
        let stop = at.checked_sub(1).map_or(0, |at| groups[at].end);
        T::chain_left(row, mask, group.clone());
        let mut x = group.start;
        while x > stop {
            let value = lesser(mask[x - 1], row[x]);
            if value <= row[x - 1] {
                break;
            }
            row[x - 1] = value;
            x -= 1;
        }
        groups[at].start = x;
    }
}

#[inline(always)]
fn greater<T: PartialOrd>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

#[inline(always)]
fn lesser<T: PartialOrd>(a: T, b: T) -> T {
    if a < b { a } else { b }
}

/// The highest of the pixels of a neighbouring row that touch pixel `x`.
#[inline(always)]
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
#[inline(always)]
fn lift<T: Grey>(
    row: &mut [T],
    mask: &[T],
    other: Option<&[T]>,
    span: Range<usize>,
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

/// Like [`lift`] for a span beyond which the marker is the mask: pixels there may be lifted too, which leaves them as
/// they are, so that short spans need not be done one pixel at a time.
#[inline(always)]
fn lift_span<T: Grey>(
    row: &mut [T],
    mask: &[T],
    other: Option<&[T]>,
    mut span: Range<usize>,
    connectivity: Connectivity,
) {
    const N: usize = 8;
    if let Some(other) = other
        && span.start > 0
        && span.len() < row.len()
    {
        while span.start < span.end && span.start + N < row.len() {
            let x = span.start;
            let mut touching = piece::<N, T>(other, x);
            if connectivity == Connectivity::Eight {
                let (left, right) = (piece::<N, T>(other, x - 1), piece::<N, T>(other, x + 1));
                for at in 0..N {
                    touching[at] = greater(greater(left[at], right[at]), touching[at]);
                }
            }
            let lifted = clamp((piece(row, x), piece(mask, x)), touching);
            row[x..x + N].copy_from_slice(&lifted);
            span.start += N;
        }
        if span.start >= span.end {
            return;
        }
    }
    lift(row, mask, other, span, connectivity);
}

/// Carries values from left to right along a span, `N` pixels at a time; those that will not change are passed over,
/// which pays because carrying is dear.
#[inline(always)]
fn chain_right<const N: usize, T: Grey>(row: &mut [T], mask: &[T], span: Range<usize>) {
    // The first pixel of a row has nothing to its left but itself.
    let mut x = span.start;
    let mut carried = row[x.saturating_sub(1)];
    while x + N <= span.end {
        let mut block = [T::LOWEST; N];
        let mut limits = block;
        block.copy_from_slice(&row[x..x + N]);
        limits.copy_from_slice(&mask[x..x + N]);
        if x == 0 || raises(&row[x - 1..][..N], &block, &limits) {
            block = carry_right(block, limits, carried);
            row[x..x + N].copy_from_slice(&block);
        }
        carried = block[N - 1];
        x += N;
    }
    for (value, limit) in row[x..span.end].iter_mut().zip(&mask[x..span.end]) {
        carried = lesser(*limit, greater(*value, carried));
        *value = carried;
    }
}

/// Carries values from right to left along a span, `N` pixels at a time.
#[inline(always)]
fn chain_left<const N: usize, T: Grey>(row: &mut [T], mask: &[T], span: Range<usize>) {
    // The last pixel of a row has nothing to its right but itself.
    let mut end = span.end;
    let mut carried = row[end.min(row.len() - 1)];
    while end >= span.start + N {
        let x = end - N;
        let mut block = [T::LOWEST; N];
        let mut limits = block;
        block.copy_from_slice(&row[x..end]);
        limits.copy_from_slice(&mask[x..end]);
        if end == row.len() || raises(&row[x + 1..][..N], &block, &limits) {
            block = carry_left(block, limits, carried);
            row[x..end].copy_from_slice(&block);
        }
        carried = block[0];
        end = x;
    }
    let rest = row[span.start..end].iter_mut().zip(&mask[span.start..end]);
    for (value, limit) in rest.rev() {
        carried = lesser(*limit, greater(*value, carried));
        *value = carried;
    }
}

/// [`chain_right`] for bytes, which are carried more quickly than looked at.
#[inline(always)]
fn chain_bytes_right(row: &mut [u8], mask: &[u8], span: Range<usize>) {
    let (row, mask) = (&mut row[..span.end], &mask[..span.end]);
    let mut x = span.start;
    let mut carried = Bytes::all(row[x.saturating_sub(1)]);
    while x + 16 <= row.len() {
        let clamps = (Bytes::read(row, x), Bytes::read(mask, x));
        let clamps = join_bytes(clamps, |low| low.on::<1>(0), |high| high.on::<1>(255));
        let clamps = join_bytes(clamps, |low| low.on::<2>(0), |high| high.on::<2>(255));
        let clamps = join_bytes(clamps, |low| low.on::<4>(0), |high| high.on::<4>(255));
        let clamps = join_bytes(clamps, |low| low.on::<8>(0), |high| high.on::<8>(255));
        let block = clamp_bytes(clamps, carried);
        block.write(row, x);
        carried = block.last();
        x += 16;
    }
    let mut carried = carried.byte();
    for (value, limit) in row[x..].iter_mut().zip(&mask[x..]) {
        carried = lesser(*limit, greater(*value, carried));
        *value = carried;
    }
}

/// [`chain_left`] for bytes, which are carried more quickly than looked at.
#[inline(always)]
fn chain_bytes_left(row: &mut [u8], mask: &[u8], span: Range<usize>) {
    let mut end = span.end;
    let mut carried = Bytes::all(row[end.min(row.len() - 1)]);
    while end >= span.start + 16 {
        let x = end - 16;
        let clamps = (Bytes::read(row, x), Bytes::read(mask, x));
        let clamps = join_bytes(clamps, |low| low.back::<1>(0), |high| high.back::<1>(255));
        let clamps = join_bytes(clamps, |low| low.back::<2>(0), |high| high.back::<2>(255));
        let clamps = join_bytes(clamps, |low| low.back::<4>(0), |high| high.back::<4>(255));
        let clamps = join_bytes(clamps, |low| low.back::<8>(0), |high| high.back::<8>(255));
        let block = clamp_bytes(clamps, carried);
        block.write(row, x);
        carried = block.first();
        end = x;
    }
    let mut carried = carried.byte();
    let rest = row[span.start..end].iter_mut().zip(&mask[span.start..end]);
    for (value, limit) in rest.rev() {
        carried = lesser(*limit, greater(*value, carried));
        *value = carried;
    }
}

/// Puts before each clamp the one that `low` and `high` move to its place.
#[inline(always)]
fn join_bytes(
    clamps: (Bytes, Bytes),
    low: impl Fn(Bytes) -> Bytes,
    high: impl Fn(Bytes) -> Bytes,
) -> (Bytes, Bytes) {
    let before = (low(clamps.0), high(clamps.1));
    (clamp_bytes(clamps, before.0), clamp_bytes(clamps, before.1))
}

#[inline(always)]
fn clamp_bytes((low, high): (Bytes, Bytes), values: Bytes) -> Bytes {
    values.max(low).min(high)
}

/// Whether a pixel beside can raise its pixel of a block.
#[inline(always)]
fn raises<const N: usize, T: Grey>(beside: &[T], block: &[T; N], limits: &[T; N]) -> bool {
    let mut any = false;
    for at in 0..N {
        any |= lesser(limits[at], beside[at]) > block[at];
    }
    any
}

/// Carries a value through a block of at most 8 pixels from left to right.
///
/// What a pixel does to a carried value, `min(limit, max(value, carried))`, is a clamp, and two clamps in a row
/// are a clamp again. So in a few steps each pixel gets the clamp of all up to itself, and the value carried in is
/// needed only at the end.
#[inline(always)]
fn carry_right<const N: usize, T: Grey>(low: [T; N], high: [T; N], carried: T) -> [T; N] {
    let mut clamps = join_right::<1, N, T>((low, high));
    clamps = join_right::<2, N, T>(clamps);
    clamps = join_right::<4, N, T>(clamps);
    clamp(clamps, [carried; N])
}

/// Carries a value through a block of at most 8 pixels from right to left.
#[inline(always)]
fn carry_left<const N: usize, T: Grey>(low: [T; N], high: [T; N], carried: T) -> [T; N] {
    let mut clamps = join_left::<1, N, T>((low, high));
    clamps = join_left::<2, N, T>(clamps);
    clamps = join_left::<4, N, T>(clamps);
    clamp(clamps, [carried; N])
}

type Clamps<T, const N: usize> = ([T; N], [T; N]);

/// Each value between its bounds.
#[inline(always)]
fn clamp<const N: usize, T: Grey>((low, high): Clamps<T, N>, mut values: [T; N]) -> [T; N] {
    for at in 0..N {
        values[at] = lesser(high[at], greater(low[at], values[at]));
    }
    values
}

/// Puts before each clamp the one that lies `STEP` to its left, or none.
#[inline(always)]
fn join_right<const STEP: usize, const N: usize, T: Grey>(clamps: Clamps<T, N>) -> Clamps<T, N> {
    if STEP >= N {
        return clamps;
    }
    let (mut low, mut high) = ([T::LOWEST; N], [T::HIGHEST; N]);
    low[STEP..].copy_from_slice(&clamps.0[..N - STEP]);
    high[STEP..].copy_from_slice(&clamps.1[..N - STEP]);
    (clamp(clamps, low), clamp(clamps, high))
}

/// Puts before each clamp the one that lies `STEP` to its right, or none.
#[inline(always)]
fn join_left<const STEP: usize, const N: usize, T: Grey>(clamps: Clamps<T, N>) -> Clamps<T, N> {
    if STEP >= N {
        return clamps;
    }
    let (mut low, mut high) = ([T::LOWEST; N], [T::HIGHEST; N]);
    low[..N - STEP].copy_from_slice(&clamps.0[STEP..]);
    high[..N - STEP].copy_from_slice(&clamps.1[STEP..]);
    (clamp(clamps, low), clamp(clamps, high))
}

/// Pixels of a row that are looked at together.
const BLOCK: usize = 16;

/// Takes pixels from the highest level down and raises their neighbours.
#[inline(never)]
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
