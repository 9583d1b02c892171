//! What the kernels are held against in tests: definitions written down as plainly as can be, and random images.
//!
//! Law: nothing here shares code with a kernel.

use proptest::prelude::*;

use crate::{Connectivity, Plane};

/// A plane from a function of the position.
pub(crate) fn plane<T: Clone>(
    width: usize,
    height: usize,
    pixel: impl Fn(usize, usize) -> T,
) -> Plane<T> {
    let pixels = (0..height)
        .flat_map(|y| (0..width).map(move |x| (x, y)))
        .map(|(x, y)| pixel(x, y))
        .collect();
    Plane::new(width, height, pixels).unwrap()
}

/// Sizes from 0 × 0 and 1 × 1, some of them wider than a word, some of them strips.
pub(crate) fn size() -> impl Strategy<Value = (usize, usize)> {
    prop_oneof![
        12 => (1usize..14, 1usize..14),
        1 => (0usize..3, 0usize..3),
        2 => (1usize..200, 1usize..4),
        2 => (1usize..4, 1usize..200),
        2 => (60usize..70, 1usize..20),
    ]
}

/// A random mask with few, half or most pixels set, or none, or all.
pub(crate) fn mask() -> impl Strategy<Value = Plane<u8>> {
    size().prop_flat_map(|(width, height)| mask_of(width, height))
}

/// Two masks of one size.
pub(crate) fn two_masks() -> impl Strategy<Value = (Plane<u8>, Plane<u8>)> {
    size().prop_flat_map(|(width, height)| (mask_of(width, height), mask_of(width, height)))
}

fn mask_of(width: usize, height: usize) -> impl Strategy<Value = Plane<u8>> {
    let share = prop_oneof![Just(0u8), Just(25), Just(128), Just(230), Just(255)];
    (share, proptest::collection::vec(0u8..255, width * height)).prop_map(move |(share, noise)| {
        plane(width, height, |x, y| {
            if noise[y * width + x] < share { 255 } else { 0 }
        })
    })
}

/// A random grey image with `levels` levels.
pub(crate) fn grey(levels: u8) -> impl Strategy<Value = Plane<u8>> {
    size().prop_flat_map(move |(width, height)| {
        proptest::collection::vec(0..levels, width * height)
            .prop_map(move |pixels| Plane::new(width, height, pixels).unwrap())
    })
}

/// Four or eight.
pub(crate) fn connectivity() -> impl Strategy<Value = Connectivity> {
    prop_oneof![Just(Connectivity::Four), Just(Connectivity::Eight)]
}

/// The neighbours that lie in the image.
pub(crate) fn neighbours<T>(
    plane: &Plane<T>,
    x: usize,
    y: usize,
    connectivity: Connectivity,
) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (dx, dy) in [
        (-1, 0),
        (1, 0),
        (0, -1),
        (0, 1),
        (-1, -1),
        (1, -1),
        (-1, 1),
        (1, 1),
    ] {
        if connectivity == Connectivity::Four && dx != 0 && dy != 0 {
            continue;
        }
        let (x, y) = (x as i64 + dx, y as i64 + dy);
        if x >= 0 && y >= 0 && x < plane.width() as i64 && y < plane.height() as i64 {
            found.push((x as usize, y as usize));
        }
    }
    found
}

/// 255 where a mask is 0, and the other way round.
pub(crate) fn inverted(mask: &Plane<u8>) -> Plane<u8> {
    plane(mask.width(), mask.height(), |x, y| 255 - mask.row(y)[x])
}

/// The pixels of a mask that can be reached from seeds in it.
pub(crate) fn flood(mask: &Plane<u8>, seeds: &Plane<u8>, connectivity: Connectivity) -> Plane<u8> {
    let mut reached = plane(mask.width(), mask.height(), |_, _| 0);
    let mut open: Vec<(usize, usize)> = Vec::new();
    for y in 0..mask.height() {
        for x in 0..mask.width() {
            if seeds.row(y)[x] != 0 && mask.row(y)[x] != 0 {
                open.push((x, y));
                reached.row_mut(y)[x] = 255;
            }
        }
    }
    while let Some((x, y)) = open.pop() {
        for (x, y) in neighbours(mask, x, y, connectivity) {
            if mask.row(y)[x] != 0 && reached.row(y)[x] == 0 {
                reached.row_mut(y)[x] = 255;
                open.push((x, y));
            }
        }
    }
    reached
}

/// Labels 1, 2, … in raster order of the first pixel.
pub(crate) fn label(mask: &Plane<u8>, connectivity: Connectivity) -> (Plane<u32>, u32) {
    let mut labels = plane(mask.width(), mask.height(), |_, _| 0);
    let mut count = 0;
    for y in 0..mask.height() {
        for x in 0..mask.width() {
            if mask.row(y)[x] == 0 || labels.row(y)[x] != 0 {
                continue;
            }
            count += 1;
            let seed = plane(mask.width(), mask.height(), |u, v| {
                if (u, v) == (x, y) { 255 } else { 0 }
            });
            let component = flood(mask, &seed, connectivity);
            for (label, pixel) in labels.pixels_mut().iter_mut().zip(component.pixels()) {
                if *pixel != 0 {
                    *label = count;
                }
            }
        }
    }
    (labels, count)
}
