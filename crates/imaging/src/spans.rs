//! The set pixels of a binary image as spans of its rows, for kernels that need not look anywhere else.
//!
//! Law: the spans of a row are in order, not empty and do not touch, and a pixel is in one of them exactly when it
//! is set.

use crate::Bitmap;
use crate::runs::{Ground, for_each_run};

/// The spans of every row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spans {
    width: usize,
    /// Where the spans of each row begin, and after the last row where they end.
    first: Vec<u32>,
    spans: Vec<(u32, u32)>,
}

impl Spans {
    /// The spans of the set pixels.
    pub fn of(bitmap: &Bitmap) -> Spans {
        let mut spans = Vec::new();
        let mut first = Vec::with_capacity(bitmap.height() + 1);
        first.push(0);
        for y in 0..bitmap.height() {
            for_each_run(bitmap, y, Ground::Fore, |start, end| {
                spans.push((start, end));
            });
            first.push(spans.len() as u32);
        }
        Spans {
            width: bitmap.width(),
            first,
            spans,
        }
    }

    /// Pixels in a row of the image.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows of the image.
    pub fn height(&self) -> usize {
        self.first.len() - 1
    }

    /// The spans of one row: first pixel, and the pixel after the last.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, y: usize) -> &[(u32, u32)] {
        &self.spans[self.first[y] as usize..self.first[y + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::View;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn spans_hold_exactly_the_set_pixels(
            width in 0usize..40,
            height in 0usize..4,
            pixels in prop::collection::vec(prop_oneof![4 => Just(0u8), 4 => Just(255), 1 => Just(7)], 160),
            flat in any::<bool>(),
        ) {
            let pixels: Vec<u8> = (0..width * height)
                .map(|at| if flat { pixels[at / 11] } else { pixels[at] })
                .collect();
            let spans = Spans::of(&Bitmap::from_mask(View::new(width, height, &pixels).unwrap()));
            prop_assert_eq!((spans.width(), spans.height()), (width, height));
            for y in 0..height {
                let mut held = vec![false; width];
                let mut free = 0;
                for &(start, end) in spans.row(y) {
                    prop_assert!(free <= start && start < end, "in order, not empty, apart");
                    held[start as usize..end as usize].fill(true);
                    free = end + 1;
                }
                let set: Vec<bool> = pixels[y * width..][..width].iter().map(|p| *p != 0).collect();
                prop_assert_eq!(held, set);
            }
        }
    }
}
