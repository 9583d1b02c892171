//! The tasks but the sixth.
//!
//! Law: each is a function of its arguments that leaves them as they are; images of one call have one size. Binary
//! images go from task to task as bitmaps.

use super::{Parameters, Status};
use crate::{
    Bitmap, Colour, Connectivity, Plane, View, count_components, fill, filter_by_area, open,
    open_by_octagon, reconstruct_in_place, select,
};

/// What the first task gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedBloodCells {
    /// The pixels of red blood cells.
    pub mask: Bitmap,
    /// Whether the tile is background.
    pub status: Status,
}

/// What the second task gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Background {
    /// The red channel, inverted.
    pub inverted: Plane<u8>,
    /// What is left of it without the nuclei.
    pub reconstructed: Plane<u8>,
}

/// What the third task gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// By how much a pixel stands out from the background.
    pub difference: Plane<u8>,
    /// Where that is much, and holes.
    pub mask: Bitmap,
}

/// Red, green and blue, each for itself.
pub fn split(image: View<'_, Colour>) -> [Plane<u8>; 3] {
    let mut channels = [0, 1, 2].map(|_| Plane::filled(image.width(), image.height(), 0));
    let [red, green, blue] = &mut channels;
    let outputs = red.pixels_mut().iter_mut();
    let outputs = outputs.zip(green.pixels_mut()).zip(blue.pixels_mut());
    for (((red, green), blue), pixel) in outputs.zip(image.pixels()) {
        [*red, *green, *blue] = *pixel;
    }
    channels
}

/// t1: whether the tile is background, and which pixels are red blood cells.
pub fn red_blood_cells(
    red: View<'_, u8>,
    green: View<'_, u8>,
    blue: View<'_, u8>,
    parameters: &Parameters,
) -> RedBloodCells {
    let (width, height) = (red.width(), red.height());
    let nothing = |status| RedBloodCells {
        mask: Bitmap::empty(width, height),
        status,
    };
    let status = background_status(red, green, blue, parameters);
    if status != Status::Done {
        return nothing(status);
    }
    let seeds = redder_than(red, green, parameters.t1);
    if seeds.is_empty() {
        return nothing(Status::Done);
    }
    let cells = select(&redder_than(red, green, parameters.t2), &seeds);
    let redder = Bitmap::from_rows(width, height, |y, row| {
        for ((bit, red), blue) in row.iter_mut().zip(red.row(y)).zip(blue.row(y)) {
            *bit = u8::from(red > blue);
        }
    });
    RedBloodCells {
        mask: cells.combine(&redder, |cell, redder| cell & redder),
        status: Status::Done,
    }
}

/// Whether so many pixels are bright that there is no tissue to speak of.
fn background_status(
    red: View<'_, u8>,
    green: View<'_, u8>,
    blue: View<'_, u8>,
    parameters: &Parameters,
) -> Status {
    // A byte can count to 255, so that this many pixels are added up without widening.
    const PIECE: usize = 240;
    let pieces = red.pixels().chunks(PIECE).zip(green.pixels().chunks(PIECE));
    let pieces = pieces.zip(blue.pixels().chunks(PIECE));
    let bright: u64 = pieces
        .map(|((red, green), blue)| {
            let pixels = red.iter().zip(green).zip(blue);
            let count: u8 = pixels
                .map(|((red, green), blue)| {
                    u8::from(*red > parameters.r)
                        & u8::from(*green > parameters.g)
                        & u8::from(*blue > parameters.b)
                })
                .sum();
            u64::from(count)
        })
        .sum();
    let share = f64::from(bright as f32 / red.pixels().len() as f32);
    if share >= 0.99 {
        Status::Background
    } else if share >= 0.9 {
        Status::LikelyBackground
    } else {
        Status::Done
    }
}

/// The pixels whose red is more than `times` their green.
///
/// For a given green the quotient grows with red, so that a table of the least red for each green decides. Most pixels
/// of stained tissue need not be looked up: the divisor is not below green, and rounding keeps to one side of an
/// integer, so that a quotient above `times` is one of a red above the integer part of `times` by green.
fn redder_than(red: View<'_, u8>, green: View<'_, u8>, times: f32) -> Bitmap {
    let quotient = |red: u16, green: u8| f32::from(red) / (f32::from(green) + f32::EPSILON);
    let mut least = [0u16; 256];
    for (least, green) in least.iter_mut().zip(0..=u8::MAX) {
        *least = (0..=255)
            .find(|red| quotient(*red, green) > times)
            .unwrap_or(256);
    }
    // No product of more than this matters.
    let whole = times.clamp(0.0, 255.0) as u16;
    Bitmap::from_rows(red.width(), red.height(), |y, row| {
        let pixels = red.row(y).chunks(64).zip(green.row(y).chunks(64));
        for (row, (red, green)) in row.chunks_mut(64).zip(pixels) {
            let pixels = red.iter().zip(green);
            let may_pass = pixels.fold(times < 0.0, |any, (red, green)| {
                any | (u16::from(*red) > whole * u16::from(*green))
            });
            if may_pass {
                for ((bit, red), green) in row.iter_mut().zip(red).zip(green) {
                    *bit = u8::from(u16::from(*red) >= least[usize::from(*green)]);
                }
            }
        }
    })
}

/// t2: the inverted red channel, and its background by opening and reconstruction.
pub fn reconstruct_background(red: View<'_, u8>, connectivity: Connectivity) -> Background {
    let (width, height) = (red.width(), red.height());
    let mut inverted = Plane::filled(width, height, 0);
    for (inverted, red) in inverted.pixels_mut().iter_mut().zip(red.pixels()) {
        *inverted = !*red;
    }
    let opened = open_by_octagon(inverted.view());
    let mut marker = Plane::filled(width, height, 0);
    for y in 0..height {
        let row = &opened.row(y + 1)[1..=width];
        marker.row_mut(y).copy_from_slice(row);
    }
    raise_frame(&mut marker, opened.view(), inverted.view(), connectivity);
    drop(opened);
    reconstruct_in_place(&mut marker, inverted.view(), connectivity);
    Background {
        inverted,
        reconstructed: marker,
    }
}

/// Gives each pixel on the frame what its neighbours outside of the image have, as far as the image allows.
fn raise_frame(
    marker: &mut Plane<u8>,
    opened: View<'_, u8>,
    image: View<'_, u8>,
    connectivity: Connectivity,
) {
    let (width, height) = (image.width(), image.height());
    if width == 0 || height == 0 {
        return;
    }
    let mut raise = |x: usize, y: usize| {
        let mut highest = 0;
        for dy in 0..3 {
            for dx in 0..3 {
                // Positions in the larger frame of `opened`, where the image begins at 1.
                let (u, v) = (x + dx, y + dy);
                let outside = u == 0 || v == 0 || u > width || v > height;
                let touches = connectivity == Connectivity::Eight || dx == 1 || dy == 1;
                if outside && touches {
                    highest = highest.max(opened.row(v)[u]);
                }
            }
        }
        let pixel = &mut marker.row_mut(y)[x];
        *pixel = (*pixel).max(highest).min(image.row(y)[x]);
    };
    for x in 0..width {
        raise(x, 0);
        raise(x, height - 1);
    }
    for y in 0..height {
        raise(0, y);
        raise(width - 1, y);
    }
}

/// t3: what stands out from the background, and the parts of it that do so by more than `threshold`, filled.
pub fn threshold(
    inverted: View<'_, u8>,
    reconstructed: View<'_, u8>,
    threshold: u8,
    connectivity: Connectivity,
) -> Difference {
    let mut difference = Plane::filled(inverted.width(), inverted.height(), 0);
    let pixels = inverted.pixels().iter().zip(reconstructed.pixels());
    for (difference, (inverted, background)) in difference.pixels_mut().iter_mut().zip(pixels) {
        *difference = inverted.saturating_sub(*background);
    }
    let above = Bitmap::from_pixels(difference.view(), |pixel| pixel > threshold);
    let mask = fill(&above, connectivity);
    Difference { difference, mask }
}

/// t4: the objects of a size from the first bound up to below the second.
pub fn filter_candidates(mask: &Bitmap, sizes: (i64, i64)) -> (Bitmap, Status) {
    let (kept, count) = filter_by_area(mask, sizes.0, Some(sizes.1), Connectivity::Eight);
    let status = if count == 0 {
        Status::Nothing
    } else {
        Status::Done
    };
    (kept, status)
}

/// t5: what stands out by more than `threshold` around the seeds, without red blood cells, filled and opened.
pub fn candidates(
    difference: View<'_, u8>,
    seeds: &Bitmap,
    red_blood_cells: &Bitmap,
    threshold: u8,
) -> Bitmap {
    let above = Bitmap::from_pixels(difference, |pixel| pixel > threshold);
    let selected = select(&above, seeds);
    let without = selected.combine(red_blood_cells, |pixel, cell| pixel & !cell);
    open(&fill(&without, Connectivity::Four))
}

/// t7: the objects of the right size, filled, and how many there are.
pub fn final_filter(
    mask: &Bitmap,
    sizes: (i64, i64),
    connectivity: Connectivity,
) -> (Bitmap, Status, u64) {
    let (kept, count) = filter_by_area(mask, sizes.0, Some(sizes.1), Connectivity::Four);
    if count == 0 {
        return (kept, Status::Nothing, 0);
    }
    let filled = fill(&kept, connectivity);
    let nuclei = count_components(&filled, Connectivity::Eight);
    (filled, Status::Done, nuclei)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_decides_as_the_quotient_does() {
        let side = 256;
        let red = Plane::new(
            side,
            side,
            (0..=u8::MAX).cycle().take(side * side).collect(),
        )
        .unwrap();
        let green: Vec<u8> = (0..side * side).map(|place| (place / side) as u8).collect();
        let green = Plane::new(side, side, green).unwrap();
        for times in [
            -1.0, -0.0, 0.3, 1.0, 2.5, 3.999_999, 4.0, 5.0, 7.5, 255.0, 256.0, 1e7, 3e9,
        ] {
            let set = redder_than(red.view(), green.view(), times);
            for y in 0..side {
                for x in 0..side {
                    let quotient = x as f32 / (y as f32 + f32::EPSILON);
                    assert_eq!(set.get(x, y), quotient > times, "{x} / {y} > {times}");
                }
            }
        }
    }
}
