//! Selection of components by seeds.
//!
//! Law: the result is the union of the 8-connected components of an image that hold at least one pixel of the
//! seeds; a seed outside of every component selects nothing.

use crate::runs::{Components, Ground};
use crate::{Bitmap, Connectivity};

/// The components of `bitmap` that a pixel of `seeds` lies in.
///
/// # Panics
/// When the sizes differ.
pub fn select(bitmap: &Bitmap, seeds: &Bitmap) -> Bitmap {
    let (width, height) = (bitmap.width(), bitmap.height());
    assert_eq!(
        (width, height),
        (seeds.width(), seeds.height()),
        "images of one size"
    );
    let components = Components::of(bitmap, Ground::Fore, Connectivity::Eight);
    let mut is_hit = vec![false; components.count()];
    components.for_each(|y, run, number| {
        if !is_hit[number] {
            is_hit[number] = seeds.any_in_run(y, run.start as usize, run.end as usize);
        }
    });
    components.keep(Bitmap::empty(width, height), &is_hit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::naive;

    proptest! {
        #[test]
        fn a_component_with_a_seed_is_flooded_from_it((mask, seeds) in naive::two_masks()) {
            let selected = select(&Bitmap::from_mask(mask.view()), &Bitmap::from_mask(seeds.view()));
            let within = naive::plane(mask.width(), mask.height(), |x, y| {
                mask.row(y)[x] & seeds.row(y)[x]
            });
            prop_assert_eq!(selected.to_mask(), naive::flood(&mask, &within, Connectivity::Eight));
        }
    }
}
