//! Erosion and dilation by the cross: a pixel and its four neighbours.
//!
//! Law: pixels outside of the image count as unset in both, so that objects are eroded along the frame. The opening
//! is the dilation of the erosion.

use crate::Bitmap;

/// Pixels that are set along with all four neighbours.
pub fn erode(bitmap: &Bitmap) -> Bitmap {
    by_cross(bitmap, |a, b| a & b)
}

/// Pixels that are set or have a neighbour that is.
pub fn dilate(bitmap: &Bitmap) -> Bitmap {
    by_cross(bitmap, |a, b| a | b)
}

/// Dilation of the erosion.
pub fn open(bitmap: &Bitmap) -> Bitmap {
    dilate(&erode(bitmap))
}

fn by_cross(bitmap: &Bitmap, combine: impl Fn(u64, u64) -> u64) -> Bitmap {
    let mut result = Bitmap::empty(bitmap.width(), bitmap.height());
    let stride = bitmap.width().div_ceil(64);
    let outside = vec![0; stride];
    let last = bitmap.last_word();
    for y in 0..bitmap.height() {
        let row = bitmap.row(y);
        let above = if y > 0 { bitmap.row(y - 1) } else { &outside };
        let below = if y + 1 < bitmap.height() {
            bitmap.row(y + 1)
        } else {
            &outside
        };
        let made = result.row_mut(y);
        for place in 0..stride {
            let word = row[place];
            let from_left = if place > 0 { row[place - 1] >> 63 } else { 0 };
            let from_right = row.get(place + 1).map_or(0, |next| next << 63);
            let beside = combine(word << 1 | from_left, word >> 1 | from_right);
            let over = combine(above[place], below[place]);
            made[place] = combine(word, combine(beside, over));
        }
        if let Some(word) = made.last_mut() {
            *word &= last;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Connectivity, naive};

    proptest! {
        #[test]
        fn as_the_definition_says(mask in naive::mask()) {
            let bitmap = Bitmap::from_mask(mask.view());
            let around = |x: usize, y: usize| -> Vec<u8> {
                let beside = naive::neighbours(&mask, x, y, Connectivity::Four);
                let mut values: Vec<u8> = beside.iter().map(|(x, y)| mask.row(*y)[*x]).collect();
                values.push(mask.row(y)[x]);
                values.resize(5, 0);
                values
            };
            let eroded = naive::plane(mask.width(), mask.height(), |x, y| {
                around(x, y).into_iter().min().unwrap_or(0)
            });
            let dilated = naive::plane(mask.width(), mask.height(), |x, y| {
                around(x, y).into_iter().max().unwrap_or(0)
            });
            prop_assert_eq!(erode(&bitmap).to_mask(), eroded);
            prop_assert_eq!(dilate(&bitmap).to_mask(), dilated);
        }
    }
}
