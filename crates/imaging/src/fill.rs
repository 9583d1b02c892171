//! Filling of holes.
//!
//! Law: the result is set everywhere but at the unset pixels that are connected, through unset pixels, to an unset
//! pixel on the frame (the first and last row and column). Filling twice changes nothing.

use crate::runs::{Components, Ground};
use crate::{Bitmap, Connectivity};

/// Fills the holes of an image; `connectivity` is that of the background.
pub fn fill(bitmap: &Bitmap, connectivity: Connectivity) -> Bitmap {
    let background = Components::of(bitmap, Ground::Back, connectivity);
    let (width, last) = (bitmap.width() as u32, bitmap.height().saturating_sub(1));
    let mut is_hole = vec![true; background.count()];
    background.for_each(|y, run, number| {
        if y == 0 || y == last || run.start == 0 || run.end == width {
            is_hole[number] = false;
        }
    });
    background.keep(bitmap.clone(), &is_hole)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::naive;

    proptest! {
        #[test]
        fn as_the_definition_says(mask in naive::mask(), connectivity in naive::connectivity()) {
            let filled = fill(&Bitmap::from_mask(mask.view()), connectivity);
            let background = naive::inverted(&mask);
            let frame = naive::plane(mask.width(), mask.height(), |x, y| {
                let on_frame = x == 0 || y == 0 || x + 1 == mask.width() || y + 1 == mask.height();
                if on_frame && mask.row(y)[x] == 0 { 255 } else { 0 }
            });
            let outside = naive::flood(&background, &frame, connectivity);
            prop_assert_eq!(filled.to_mask(), naive::inverted(&outside));
            prop_assert_eq!(&fill(&filled, connectivity), &filled);
        }
    }
}
