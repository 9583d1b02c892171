//! The exact Euclidean distance of every set pixel to the nearest pixel that is not set.
//!
//! Law: `squared_distance` is the least of `dx² + dy²` over the zero pixels of the image, an exact integer; zero
//! pixels have 0; where the image has no zero pixel every pixel has the greatest value of its type. `distance` is
//! the correctly rounded square root of that integer. What lies outside the image is not a zero pixel.
//!
//! Bound: linear. Two sweeps over the rows give each pixel the distance to the nearest zero pixel of its column.
//! Then, row by row: where that leaves distances below [`REACH`], the columns to the left and right are tried
//! outwards, many pixels at a time, until no farther one can win; for the others the lower envelope of the
//! columns' parabolas is built over the run of set pixels and the zero pixels at its ends, because no column
//! beyond a zero pixel of the same row can be nearer than that pixel. Beyond mask and result it takes two bytes
//! for each pixel (four in images of 65,535 rows and more) and a few rows.
//!
//! Rounding: an integer below 2²⁴ is an `f32`, and the square root of an `f32` is correctly rounded. From there to
//! 2⁵² the root is taken in `f64` and rounded to `f32`. That rounds twice, which is wrong only if the first
//! rounding lands on a midpoint `k·2ᵉ` of two `f32` (2²⁴ ≤ k < 2²⁵) that is not the root itself. But an integer
//! `n` other than the midpoint's square differs from it by at least 2²ᵉ for e < 0, where the square is a multiple
//! of that, and by at least 1 for e ≥ 0; so the root differs from the midpoint by about 2ᵉ/2k > 2ᵉ⁻²⁷, or by
//! 2⁻ᵉ/2k > 2⁻ᵉ⁻²⁷ with e ≤ 1 below 2⁵², more than the 2ᵉ⁻²⁹ that the first rounding moves it. From 2⁵² up the
//! root is an integer root of at least 27 bits, with a last bit that says whether something is left over.

use crate::wide::wide;
use crate::{Plane, View};

/// Distances up to this are found by trying; the squares of greater ones need not fit 16 bits.
const REACH: usize = 48;
/// Pixels tried together.
const LANES: usize = 16;
/// Stands for a column whose zero pixel is too far to matter within [`REACH`].
const FAR: i16 = 128;

/// The distance to the nearest zero pixel: 0 at zero pixels, `f32::MAX` everywhere if there is none.
pub fn distance(mask: View<u8>) -> Plane<f32> {
    transform(mask, Root { outside: 0.0 })
}

/// Like [`distance`], with `f32::MAX` at zero pixels too: as the separation of touching nuclei wants it.
pub fn distance_or_max(mask: View<u8>) -> Plane<f32> {
    transform(mask, Root { outside: f32::MAX })
}

/// The square of the distance to the nearest zero pixel: 0 at zero pixels, `u64::MAX` everywhere if there is none.
pub fn squared_distance(mask: View<u8>) -> Plane<u64> {
    transform(mask, Square)
}

/// What becomes of a squared distance.
trait Finish: Copy {
    type Pixel: Copy + Default + PartialEq;
    /// Where the image has no zero pixel.
    fn nowhere(self) -> Self::Pixel;
    /// At a zero pixel.
    fn outside(self) -> Self::Pixel;
    /// Of pixels at most [`REACH`] away, zero pixels among them.
    fn near(self, squares: [i16; LANES]) -> [Self::Pixel; LANES];
    /// Of set pixels in a row, the first `across` columns right of one whose squared gap is `square`.
    fn far(self, across: i64, square: i64, out: &mut [Self::Pixel]);
}

#[derive(Clone, Copy)]
struct Square;

impl Finish for Square {
    type Pixel = u64;
    fn nowhere(self) -> u64 {
        u64::MAX
    }
    fn outside(self) -> u64 {
        0
    }
    #[inline(always)]
    fn near(self, squares: [i16; LANES]) -> [u64; LANES] {
        squares.map(|square| square as u64)
    }
    fn far(self, across: i64, square: i64, out: &mut [u64]) {
        for (across, out) in (across..).zip(out) {
            *out = (across * across + square) as u64;
        }
    }
}

#[derive(Clone, Copy)]
struct Root {
    outside: f32,
}

impl Finish for Root {
    type Pixel = f32;
    fn nowhere(self) -> f32 {
        f32::MAX
    }
    fn outside(self) -> f32 {
        self.outside
    }
    #[inline(always)]
    fn near(self, squares: [i16; LANES]) -> [f32; LANES] {
        let mut roots = [0.0; LANES];
        for lane in 0..LANES {
            let root = f32::from(squares[lane]).sqrt();
            roots[lane] = if squares[lane] == 0 {
                self.outside
            } else {
                root
            };
        }
        roots
    }
    #[inline(always)]
    fn far(self, across: i64, square: i64, out: &mut [f32]) {
        let last = across + out.len() as i64;
        let widest = across.abs().max(last.abs());
        if widest < 1 << 12 && widest * widest + square < 1 << 24 {
            // Every number on the way is an integer below 2²⁴: exact.
            let (across, square) = (across as i32, square as f32);
            for (step, out) in (0i32..).zip(out) {
                let across = (across + step) as f32;
                *out = (across * across + square).sqrt();
            }
        } else {
            for (across, out) in (across..).zip(out) {
                *out = root((across * across + square) as u64);
            }
        }
    }
}

/// The correctly rounded square root; see the module for why.
fn root(square: u64) -> f32 {
    if square < 1 << 24 {
        (square as f32).sqrt()
    } else if square < 1 << 52 {
        (square as f64).sqrt() as f32
    } else {
        let floor = square.isqrt();
        (floor << 1 | u64::from(floor * floor != square)) as f32 * 0.5
    }
}

/// The distance to a zero pixel in the same column.
trait Gap: Copy + Ord + Default {
    /// The column has no zero pixel, or none yet.
    const NONE: Self;
    /// One more, or none if there was none, for a set pixel; 0 for a zero pixel.
    fn step(self, pixel: u8) -> Self;
    fn far(self) -> i16;
    fn get(self) -> i64;
}

impl Gap for u16 {
    const NONE: u16 = u16::MAX;
    #[inline(always)]
    fn step(self, pixel: u8) -> u16 {
        // Without a branch, so that many are done at once.
        self.saturating_add(1) & (i16::from(pixel).wrapping_neg() >> 15) as u16
    }
    #[inline(always)]
    fn far(self) -> i16 {
        self.min(FAR as u16) as i16
    }
    #[inline(always)]
    fn get(self) -> i64 {
        i64::from(self)
    }
}

impl Gap for u32 {
    const NONE: u32 = u32::MAX;
    #[inline(always)]
    fn step(self, pixel: u8) -> u32 {
        self.saturating_add(1) & (i32::from(pixel).wrapping_neg() >> 31) as u32
    }
    #[inline(always)]
    fn far(self) -> i16 {
        self.min(FAR as u32) as i16
    }
    #[inline(always)]
    fn get(self) -> i64 {
        i64::from(self)
    }
}

fn transform<F: Finish>(mask: View<u8>, finish: F) -> Plane<F::Pixel> {
    let (width, height) = (mask.width(), mask.height());
    if !mask.pixels().contains(&0) {
        return Plane::filled(width, height, finish.nowhere());
    }
    let mut result = Plane::filled(width, height, finish.outside());
    if height < usize::from(u16::MAX) {
        sweep::<u16, F>(mask, finish, &mut result);
    } else {
        sweep::<u32, F>(mask, finish, &mut result);
    }
    result
}

/// The sweeps down and up; each row is finished as soon as the second has passed it.
fn sweep<G: Gap, F: Finish>(mask: View<u8>, finish: F, result: &mut Plane<F::Pixel>) {
    let (width, height) = (mask.width(), mask.height());
    let mut gaps = vec![G::default(); width * height];
    let none = vec![G::NONE; width];
    for y in 0..height {
        let (above, row) = gaps[..(y + 1) * width].split_at_mut(y * width);
        let above = if y == 0 {
            &none[..]
        } else {
            &above[(y - 1) * width..]
        };
        step_down(row, above, mask.row(y));
    }
    let mut below = none;
    let mut work = Work::new(width);
    for y in (0..height).rev() {
        let pixels = mask.row(y);
        let row = &gaps[y * width..][..width];
        step_up(&mut below, row, pixels);
        finish_row(&mut work, &below, pixels, finish, result.row_mut(y));
    }
}

wide! {
    /// From a row of gaps upwards to the next lower one. Not part of its caller, where it is not done many at once.
    #[inline(never)]
    fn step_down[G: Gap](row: &mut [G], above: &[G], pixels: &[u8]) = step_down_plain
}

#[inline(always)]
fn step_down_plain<G: Gap>(row: &mut [G], above: &[G], pixels: &[u8]) {
    let count = row.len().min(above.len()).min(pixels.len());
    let (row, above, pixels) = (&mut row[..count], &above[..count], &pixels[..count]);
    for x in 0..count {
        row[x] = above[x].step(pixels[x]);
    }
}

wide! {
    /// From a row of gaps to the next higher one, where the gaps upwards are known.
    #[inline(never)]
    fn step_up[G: Gap](row: &mut [G], upwards: &[G], pixels: &[u8]) = step_up_plain
}

#[inline(always)]
fn step_up_plain<G: Gap>(row: &mut [G], upwards: &[G], pixels: &[u8]) {
    let count = row.len().min(upwards.len()).min(pixels.len());
    let (row, upwards, pixels) = (&mut row[..count], &upwards[..count], &pixels[..count]);
    for x in 0..count {
        row[x] = row[x].step(pixels[x]).min(upwards[x]);
    }
}

/// One parabola of the lower envelope.
#[derive(Clone, Copy)]
struct Part {
    /// The column of its lowest point.
    column: i64,
    /// How low that is.
    square: i64,
    /// The first column where it is the lowest of all.
    start: i64,
}

wide! {
    /// The distances of a row.
    fn finish_row[G: Gap, F: Finish](
        work: &mut Work,
        gaps: &[G],
        pixels: &[u8],
        finish: F,
        out: &mut [F::Pixel],
    ) = finish_row_plain
}

#[inline(always)]
fn finish_row_plain<G: Gap, F: Finish>(
    work: &mut Work,
    gaps: &[G],
    pixels: &[u8],
    finish: F,
    out: &mut [F::Pixel],
) {
    work.finish_row(gaps, pixels, finish, out);
}

/// Memory for a row.
struct Work {
    /// The squares of the gaps, none above that of [`FAR`], between margins of [`REACH`] and more.
    squares: Vec<i16>,
    envelope: Vec<Part>,
}

impl Work {
    fn new(width: usize) -> Work {
        Work {
            squares: vec![FAR * FAR; REACH + width + LANES + REACH],
            envelope: Vec::new(),
        }
    }

    #[inline(always)]
    fn finish_row<G: Gap, F: Finish>(
        &mut self,
        gaps: &[G],
        pixels: &[u8],
        finish: F,
        out: &mut [F::Pixel],
    ) {
        let width = gaps.len();
        for (square, gap) in self.squares[REACH..].iter_mut().zip(gaps) {
            let far = gap.far();
            *square = far * far;
        }
        let mut x = 0;
        while x < width {
            let count = LANES.min(width - x);
            let mut block = [0; LANES];
            copy(&mut block[..count], &pixels[x..x + count]);
            if block == [0; LANES] {
                x += count;
                continue;
            }
            let best = self.near(x);
            copy(&mut out[x..x + count], &finish.near(best)[..count]);
            let mut deep = [false; LANES];
            for lane in 0..LANES {
                deep[lane] = (best[lane] > (REACH * REACH) as i16) & (block[lane] != 0);
            }
            x += count;
            if deep != [false; LANES] {
                let deep = deep
                    .iter()
                    .position(|deep| *deep)
                    .map_or(x, |lane| x - count + lane);
                let zero = pixels[..deep].iter().rposition(|pixel| *pixel == 0);
                let start = zero.map_or(0, |zero| zero + 1);
                let zero = pixels[deep..].iter().position(|pixel| *pixel == 0);
                let end = zero.map_or(width, |zero| deep + zero);
                self.deep(gaps, start, end, finish, out);
                x = end;
            }
        }
    }

    /// The squared distances of a block of pixels, right where they are at most the square of [`REACH`].
    #[inline(always)]
    fn near(&self, x: usize) -> [i16; LANES] {
        let window = &self.squares[x..][..REACH + LANES + REACH];
        let mut best: [i16; LANES] = std::array::from_fn(|lane| window[REACH + lane]);
        for reach in 1..=REACH {
            let square = (reach * reach) as i16;
            // Not even a zero pixel at this reach would be nearer.
            if best
                .iter()
                .fold(true, |done, best| done & (*best <= square))
            {
                break;
            }
            let left = &window[REACH - reach..][..LANES];
            let right = &window[REACH + reach..][..LANES];
            for lane in 0..LANES {
                best[lane] = best[lane].min(left[lane].min(right[lane]) + square);
            }
        }
        best
    }

    /// The squared distances of a whole run of set pixels.
    fn deep<G: Gap, F: Finish>(
        &mut self,
        gaps: &[G],
        start: usize,
        end: usize,
        finish: F,
        out: &mut [F::Pixel],
    ) {
        let envelope = &mut self.envelope;
        envelope.clear();
        let first = start.saturating_sub(1);
        let last = gaps.len().min(end + 1);
        for (column, gap) in (first..last).zip(&gaps[first..last]) {
            if *gap == G::NONE {
                continue;
            }
            let (column, square) = (column as i64, gap.get() * gap.get());
            let mut from = first as i64;
            while let Some(top) = envelope.last() {
                let (near, far) = (top.start - column, top.start - top.column);
                if near * near + square < far * far + top.square {
                    // Lower already where the last one begins, hence everywhere from there.
                    envelope.pop();
                    continue;
                }
                let rise = column * column - top.column * top.column + square - top.square;
                from = quotient(rise, 2 * (column - top.column)) + 1;
                break;
            }
            if from < last as i64 {
                envelope.push(Part {
                    column,
                    square,
                    start: from,
                });
            }
        }
        for (at, part) in envelope.iter().enumerate() {
            let stop = envelope
                .get(at + 1)
                .map_or(end as i64, |next| next.start.min(end as i64));
            let begin = part.start.max(start as i64);
            if begin < stop {
                let out = &mut out[begin as usize..stop as usize];
                finish.far(begin - part.column, part.square, out);
            }
        }
    }
}

/// Copies a block; a whole one, as most are, without asking how long it is.
#[inline(always)]
fn copy<T: Copy>(to: &mut [T], from: &[T]) {
    match (to.first_chunk_mut::<LANES>(), from.first_chunk::<LANES>()) {
        (Some(to), Some(from)) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}

/// The quotient of two numbers that are not negative; most fit 32 bits, where division is quick.
fn quotient(dividend: i64, divisor: i64) -> i64 {
    match (u32::try_from(dividend), u32::try_from(divisor)) {
        (Ok(dividend), Ok(divisor)) => i64::from(dividend / divisor),
        _ => dividend / divisor,
    }
}

#[cfg(test)]
#[path = "distance_tests.rs"]
mod tests;
