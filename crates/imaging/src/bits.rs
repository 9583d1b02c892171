//! Binary images, one bit to a pixel.
//!
//! Law: bit `x % 64` of word `x / 64` of a row is the pixel at `x`; the bits of a row's last word beyond the width
//! are zero. [`Bitmap::from_mask`] and [`Bitmap::to_mask`] are inverse on masks of 0 and 255.

use crate::{Plane, View};

/// A binary image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bitmap {
    width: usize,
    height: usize,
    /// Words in a row.
    stride: usize,
    words: Vec<u64>,
}

/// The eight pixels, 0 or 255, that the bits of a byte stand for.
const SPREAD: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][bit] = 255;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

impl Bitmap {
    /// An image without a set pixel.
    pub fn empty(width: usize, height: usize) -> Bitmap {
        let stride = width.div_ceil(64);
        Bitmap {
            width,
            height,
            stride,
            words: vec![0; stride * height],
        }
    }

    /// An image from its rows: `set` is given the number of a row and one byte per pixel of it, all zero, and makes
    /// those of set pixels 1.
    pub fn from_rows(width: usize, height: usize, mut set: impl FnMut(usize, &mut [u8])) -> Bitmap {
        let mut bitmap = Bitmap::empty(width, height);
        let mut row = vec![0; bitmap.stride * 64];
        for y in 0..height {
            set(y, &mut row[..width]);
            for (word, pixels) in bitmap.row_mut(y).iter_mut().zip(row.chunks_exact(64)) {
                *word = pack(pixels);
            }
            row[..width].fill(0);
        }
        bitmap
    }

    /// The pixels for which `is_set` holds.
    pub fn from_pixels<T: Copy>(pixels: View<'_, T>, is_set: impl Fn(T) -> bool) -> Bitmap {
        Bitmap::from_rows(pixels.width(), pixels.height(), |y, row| {
            for (bit, pixel) in row.iter_mut().zip(pixels.row(y)) {
                *bit = u8::from(is_set(*pixel));
            }
        })
    }

    /// The pixels that are not zero.
    pub fn from_mask(mask: View<'_, u8>) -> Bitmap {
        Bitmap::from_pixels(mask, |pixel| pixel != 0)
    }

    /// 255 where a pixel is set, 0 elsewhere.
    pub fn to_mask(&self) -> Plane<u8> {
        let mut mask = Plane::filled(self.width, self.height, 0);
        for y in 0..self.height {
            // What is zero already need not be written.
            self.unpack(y, mask.row_mut(y), |word| word != 0);
        }
        mask
    }

    /// Writes a row of the mask: 255 where a pixel is set, 0 elsewhere.
    pub(crate) fn unpack_row(&self, y: usize, row: &mut [u8]) {
        self.unpack(y, row, |_| true);
    }

    fn unpack(&self, y: usize, row: &mut [u8], wanted: impl Fn(u64) -> bool) {
        for (word, pixels) in self.row(y).iter().zip(row.chunks_mut(64)) {
            if wanted(*word) {
                for (byte, eight) in word.to_le_bytes().iter().zip(pixels.chunks_mut(8)) {
                    let spread = &SPREAD[usize::from(*byte)];
                    // Nearly always there are eight, and eight bytes are one number.
                    match eight.first_chunk_mut() {
                        Some(eight) => *eight = *spread,
                        None => eight.copy_from_slice(&spread[..eight.len()]),
                    }
                }
            }
        }
    }

    /// Pixels in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The words of a row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, y: usize) -> &[u64] {
        &self.words[y * self.stride..][..self.stride]
    }

    /// The words of a row, to be changed. Bits beyond the width have to stay zero.
    pub(crate) fn row_mut(&mut self, y: usize) -> &mut [u64] {
        &mut self.words[y * self.stride..][..self.stride]
    }

    /// Whether a pixel is set; one outside is not.
    pub fn get(&self, x: usize, y: usize) -> bool {
        x < self.width && y < self.height && self.row(y)[x / 64] >> (x % 64) & 1 == 1
    }

    /// How many pixels are set.
    pub fn count(&self) -> u64 {
        self.words
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Sets the pixels of a row from `start` up to `end`.
    pub(crate) fn set_run(&mut self, y: usize, start: usize, end: usize) {
        for_each_word(start, end, |word, bits| {
            self.words[y * self.stride + word] |= bits;
        });
    }

    /// Sets the pixels that are set in a smaller image, whose first pixel comes to lie at (`x`, `y`).
    ///
    /// # Panics
    /// When it does not lie within.
    pub(crate) fn set_from(&mut self, x: usize, y: usize, part: &Bitmap) {
        assert!(
            x + part.width <= self.width && y + part.height <= self.height,
            "a part lies within the whole"
        );
        let (first, shift) = (x / 64, x % 64);
        for row in 0..part.height {
            let words = &mut self.words[(y + row) * self.stride..][..self.stride];
            for (place, word) in part.row(row).iter().enumerate() {
                words[first + place] |= word << shift;
                // What is shifted out is zero wherever there is no next word.
                let rest = word.checked_shr(64 - shift as u32).unwrap_or(0);
                if rest != 0 {
                    words[first + place + 1] |= rest;
                }
            }
        }
    }

    /// Whether some pixel of a row from `start` up to `end` is set.
    pub(crate) fn any_in_run(&self, y: usize, start: usize, end: usize) -> bool {
        let row = self.row(y);
        let mut any = 0;
        for_each_word(start, end, |word, bits| any |= row[word] & bits);
        any != 0
    }

    /// Combines it, pixel by pixel, with another one of its size. `combine` has to give zero for two zeros.
    ///
    /// # Panics
    /// When the sizes differ.
    #[must_use]
    pub fn combine(mut self, other: &Bitmap, combine: impl Fn(u64, u64) -> u64) -> Bitmap {
        assert_eq!(
            (self.width, self.height),
            (other.width, other.height),
            "images of one size"
        );
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word = combine(*word, *other);
        }
        self
    }

    /// The bits of the last word of a row that stand for pixels.
    pub(crate) fn last_word(&self) -> u64 {
        match self.width % 64 {
            0 => u64::MAX,
            pixels => (1 << pixels) - 1,
        }
    }
}

/// The words, with the bits in them, that make up a run.
fn for_each_word(start: usize, end: usize, mut visit: impl FnMut(usize, u64)) {
    if start >= end {
        return;
    }
    let (first, last) = (start / 64, (end - 1) / 64);
    let from = u64::MAX << (start % 64);
    let to = u64::MAX >> (63 - (end - 1) % 64);
    if first == last {
        visit(first, from & to);
        return;
    }
    visit(first, from);
    for word in first + 1..last {
        visit(word, u64::MAX);
    }
    visit(last, to);
}

/// 64 bytes of 0 or 1 as the bits of a word.
///
/// The product moves the lowest bit of byte `i` to bit `56 + i`, and no two terms of it meet.
#[inline]
pub(crate) fn pack(pixels: &[u8]) -> u64 {
    let (eights, _) = pixels.as_chunks::<8>();
    eights.iter().enumerate().fold(0, |word, (place, eight)| {
        let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word | bits << (8 * place)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::naive;

    proptest! {
        #[test]
        fn a_mask_survives_the_way_there_and_back(mask in naive::mask()) {
            let bitmap = Bitmap::from_mask(mask.view());
            prop_assert_eq!(bitmap.to_mask(), mask.clone());
            let set = mask.pixels().iter().filter(|pixel| **pixel != 0).count();
            prop_assert_eq!(bitmap.count(), set as u64);
            prop_assert_eq!(bitmap.is_empty(), set == 0);
            for y in 0..mask.height() {
                for x in 0..mask.width() {
                    prop_assert_eq!(bitmap.get(x, y), mask.row(y)[x] != 0);
                }
            }
        }

        #[test]
        fn a_part_is_set_where_it_is_put(mask in naive::mask(), x in 0usize..130, y in 0usize..4, more in 0usize..70) {
            let part = Bitmap::from_mask(mask.view());
            let mut whole = Bitmap::empty(x + mask.width() + more, y + mask.height() + 1);
            whole.set_from(x, y, &part);
            prop_assert_eq!(whole.count(), part.count());
            for v in 0..mask.height() {
                for u in 0..mask.width() {
                    prop_assert_eq!(whole.get(x + u, y + v), part.get(u, v));
                }
            }
        }

        #[test]
        fn a_run_is_its_pixels(width in 1usize..200, from in 0usize..200, to in 0usize..200) {
            let (start, end) = (from.min(width), to.min(width));
            let mut bitmap = Bitmap::empty(width, 2);
            bitmap.set_run(1, start, end);
            for x in 0..width {
                prop_assert!(!bitmap.get(x, 0));
                prop_assert_eq!(bitmap.get(x, 1), (start..end).contains(&x));
                prop_assert_eq!(bitmap.any_in_run(1, x, x + 1), (start..end).contains(&x));
            }
        }
    }
}
