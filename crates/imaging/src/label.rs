//! Labelling of connected components, and the filter by their area.
//!
//! Law: labels count from 1 in raster order of a component's first pixel, 0 is the background; an area is a number
//! of pixels, and the filter keeps those from its lower bound up to, and not including, its upper bound.

use crate::runs::{Components, Ground};
use crate::{Bitmap, Connectivity, Plane};

/// The label of each pixel, and how many components there are.
pub fn label(bitmap: &Bitmap, connectivity: Connectivity) -> (Plane<u32>, u32) {
    let components = Components::of(bitmap, Ground::Fore, connectivity);
    let (width, height) = (bitmap.width(), bitmap.height());
    let labels = paint(&components, width, height, |number| number as u32 + 1);
    (labels, components.count() as u32)
}

/// A plane with a value of its own for each component, and the default elsewhere.
pub(crate) fn paint<T: Copy + Default + PartialEq>(
    components: &Components,
    width: usize,
    height: usize,
    value: impl Fn(usize) -> T,
) -> Plane<T> {
    let mut plane = Plane::filled(width, height, T::default());
    components.for_each(|y, run, number| {
        plane.row_mut(y)[run.start as usize..run.end as usize].fill(value(number));
    });
    plane
}

/// How many components there are.
pub fn count_components(bitmap: &Bitmap, connectivity: Connectivity) -> u64 {
    Components::of(bitmap, Ground::Fore, connectivity).count() as u64
}

/// The components with `least <= area < below`, and how many they are.
pub fn filter_by_area(
    bitmap: &Bitmap,
    least: i64,
    below: Option<i64>,
    connectivity: Connectivity,
) -> (Bitmap, u64) {
    let components = Components::of(bitmap, Ground::Fore, connectivity);
    let mut kept = 0;
    let keep: Vec<bool> = components
        .areas()
        .iter()
        .map(|area| {
            // An image has far fewer pixels than an i64 counts.
            let area = *area as i64;
            let keep = area >= least && below.is_none_or(|below| area < below);
            kept += u64::from(keep);
            keep
        })
        .collect();
    let empty = Bitmap::empty(bitmap.width(), bitmap.height());
    (components.keep(empty, &keep), kept)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::naive;

    proptest! {
        #[test]
        fn labels_are_the_components(mask in naive::mask(), connectivity in naive::connectivity()) {
            let bitmap = Bitmap::from_mask(mask.view());
            let (labels, count) = label(&bitmap, connectivity);
            let (expected, expected_count) = naive::label(&mask, connectivity);
            prop_assert_eq!(labels, expected);
            prop_assert_eq!(count, expected_count);
            prop_assert_eq!(count_components(&bitmap, connectivity), u64::from(expected_count));
        }

        #[test]
        fn the_filter_keeps_what_lies_between_its_bounds(
            mask in naive::mask(),
            connectivity in naive::connectivity(),
            least in -1i64..8,
            below in proptest::option::of(-1i64..20),
        ) {
            let (kept, count) = filter_by_area(&Bitmap::from_mask(mask.view()), least, below, connectivity);
            let (labels, components) = naive::label(&mask, connectivity);
            let area = |label: u32| labels.pixels().iter().filter(|pixel| **pixel == label).count() as i64;
            let keeps = |label: u32| area(label) >= least && below.is_none_or(|below| area(label) < below);
            let expected = naive::plane(mask.width(), mask.height(), |x, y| {
                let label = labels.row(y)[x];
                if label != 0 && keeps(label) { 255 } else { 0 }
            });
            prop_assert_eq!(kept.to_mask(), expected);
            prop_assert_eq!(count, (1..=components).filter(|label| keeps(*label)).count() as u64);
        }
    }
}
