//! Grey opening by the octagon of 19 × 19 pixels.
//!
//! The octagon holds the offsets with `|dx| <= 9`, `|dy| <= 9` and `|dx| + |dy| <= 14`, 321 in all. It is the sum of a
//! square of 11 × 11 and a diamond of radius 4, so that an erosion by it is 18 minima of whole rows instead of 320: the
//! square by doubling along rows and then along columns (2, 4, 8, 11 pixels), the diamond as the cross, then the four
//! points at distance 1, then the four at distance 2. Rows go through these steps one after another in small rings, so
//! that all of it stays in the nearest cache.
//!
//! Law: [`erosion`] is the minimum over the pixels of the image under the octagon, 255 where there is none; the
//! opening's element may be centred up to 9 pixels outside of the image, and its result is given on the image and the
//! ring of one pixel around it. (Why it is so stands with the workflow: the reference implementation does it.)

use crate::{Plane, View};

/// How far the octagon reaches.
const REACH: usize = 9;

/// Opening of an image by the octagon, on a frame that is one pixel larger on each side: the pixel `(x, y)` of the image
/// is at `(x + 1, y + 1)`.
pub fn open_by_octagon(image: View<'_, u8>) -> Plane<u8> {
    let mut eroded = erosion(image, REACH as isize);
    // A dilation is an erosion in the negative; nothing outside of the frame counts.
    invert(&mut eroded);
    let mut opened = erosion(eroded.view(), 1 - REACH as isize);
    invert(&mut opened);
    opened
}

fn invert(plane: &mut Plane<u8>) {
    for pixel in plane.pixels_mut() {
        *pixel = !*pixel;
    }
}

/// Erosion of an image by the octagon, on a frame that is `grow` pixels larger on each side (smaller, if negative).
/// Pixels outside of the image do not count.
fn erosion(image: View<'_, u8>, grow: isize) -> Plane<u8> {
    let larger = |size: usize| size.saturating_add_signed(2 * grow);
    let (width, height) = (larger(image.width()), larger(image.height()));
    let mut result = Plane::filled(width, height, 255);
    if width == 0 || height == 0 {
        return result;
    }
    let mut steps = Steps::new(width);
    // Row `r` of the steps is row `r - REACH - grow` of the image; the result for row `y` comes `2 * REACH` later.
    for r in 0..height + 2 * REACH {
        let y = r as isize - REACH as isize - grow;
        let source = usize::try_from(y)
            .ok()
            .filter(|y| *y < image.height())
            .map(|y| image.row(y));
        steps.push(r, source, grow);
        if r >= 2 * REACH {
            steps.finish(r, result.row_mut(r - 2 * REACH));
        }
    }
    result
}

/// Rows of one step, by their number modulo the size of the ring.
struct Ring {
    rows: Vec<u8>,
    width: usize,
}

/// More than any step looks back.
const RING: usize = 16;

impl Ring {
    fn new(width: usize) -> Ring {
        Ring {
            rows: vec![255; width * RING],
            width,
        }
    }

    fn row(&self, number: usize) -> &[u8] {
        &self.rows[number % RING * self.width..][..self.width]
    }

    fn row_mut(&mut self, number: usize) -> &mut [u8] {
        &mut self.rows[number % RING * self.width..][..self.width]
    }
}

/// The steps of an erosion, each with its latest rows. A row is as wide as the result and [`REACH`] more on each side.
///
/// Row `r` of a step covers the rows of the step before it from `r` down to `r` plus its extent, so that no number is
/// ever negative; numbers are shifted together at the end.
struct Steps {
    square: [Ring; 5],
    cross: Ring,
    near: Ring,
    scratch: [Vec<u8>; 2],
}

impl Steps {
    fn new(width: usize) -> Steps {
        let padded = width + 2 * REACH;
        let ring = || Ring::new(padded);
        Steps {
            square: [ring(), ring(), ring(), ring(), ring()],
            cross: ring(),
            near: ring(),
            scratch: [vec![255; padded], vec![255; padded]],
        }
    }

    /// Takes row `r`; `None` is a row outside of the image.
    fn push(&mut self, r: usize, source: Option<&[u8]>, grow: isize) {
        let [ones, twos, fours, eights, elevens] = &mut self.square;
        match source {
            Some(source) => {
                let [one, other] = &mut self.scratch;
                place(source, one, REACH as isize + grow);
                along(one, other, 1);
                along(other, one, 2);
                along(one, other, 4);
                // Eleven pixels from each; the centre is five further on.
                let made = ones.row_mut(r);
                along(other, one, 3);
                made.fill(255);
                let inner = made.len() - 10;
                made[5..5 + inner].copy_from_slice(&one[..inner]);
                one.fill(255);
            }
            None => ones.row_mut(r).fill(255),
        }
        if r >= 1 {
            least(twos.row_mut(r - 1), ones.row(r - 1), ones.row(r));
        }
        if r >= 3 {
            least(fours.row_mut(r - 3), twos.row(r - 3), twos.row(r - 1));
        }
        if r >= 7 {
            least(eights.row_mut(r - 7), fours.row(r - 7), fours.row(r - 3));
        }
        if r >= 10 {
            least(
                elevens.row_mut(r - 10),
                eights.row(r - 10),
                eights.row(r - 7),
            );
        }
        if r >= 12 {
            let k = r - 12;
            let rows = [elevens.row(k), elevens.row(k + 1), elevens.row(k + 2)];
            five(self.cross.row_mut(k), rows);
        }
        if r >= 14 {
            let k = r - 14;
            let rows = [
                self.cross.row(k),
                self.cross.row(k + 1),
                self.cross.row(k + 2),
            ];
            four(self.near.row_mut(k), rows, 1);
        }
    }

    /// The row of the result that is complete with row `r`.
    fn finish(&mut self, r: usize, result: &mut [u8]) {
        let k = r - 18;
        let (above, middle, below) = (self.near.row(k), self.near.row(k + 2), self.near.row(k + 4));
        let width = result.len();
        let (above, below) = (&above[REACH..][..width], &below[REACH..][..width]);
        let (left, right) = (&middle[REACH - 2..][..width], &middle[REACH + 2..][..width]);
        for (x, pixel) in result.iter_mut().enumerate() {
            *pixel = above[x].min(below[x]).min(left[x]).min(right[x]);
        }
    }
}

/// Puts a row into a wider one (or its middle into a narrower one), `shift` pixels from its left end.
fn place(source: &[u8], target: &mut [u8], shift: isize) {
    let (from, to) = match usize::try_from(shift) {
        Ok(shift) => (0, shift),
        Err(_) => (shift.unsigned_abs(), 0),
    };
    let length = source.len().saturating_sub(from).min(target.len() - to);
    target[to..to + length].copy_from_slice(&source[from..from + length]);
}

/// The minimum of each pixel and the one `step` further on; nothing lies beyond the end.
fn along(source: &[u8], target: &mut [u8], step: usize) {
    let both = source.len() - step;
    least(&mut target[..both], &source[..both], &source[step..]);
    target[both..].copy_from_slice(&source[both..]);
}

fn least(target: &mut [u8], one: &[u8], other: &[u8]) {
    for ((target, one), other) in target.iter_mut().zip(one).zip(other) {
        *target = (*one).min(*other);
    }
}

/// The minimum over the cross; the first and last pixel, which nobody looks at, are left out.
fn five(target: &mut [u8], [above, middle, below]: [&[u8]; 3]) {
    let inner = target.len() - 2;
    let target = &mut target[1..][..inner];
    let (above, below) = (&above[1..][..inner], &below[1..][..inner]);
    let (left, right) = (&middle[..inner], &middle[2..][..inner]);
    let middle = &middle[1..][..inner];
    for (x, pixel) in target.iter_mut().enumerate() {
        let beside = left[x].min(right[x]).min(middle[x]);
        *pixel = above[x].min(below[x]).min(beside);
    }
}

/// The minimum over the four points at a distance; the pixels nearer to the ends, which nobody looks at, are left out.
fn four(target: &mut [u8], [above, middle, below]: [&[u8]; 3], distance: usize) {
    let inner = target.len() - 2 * distance;
    let target = &mut target[distance..][..inner];
    let (above, below) = (&above[distance..][..inner], &below[distance..][..inner]);
    let (left, right) = (&middle[..inner], &middle[2 * distance..][..inner]);
    for (x, pixel) in target.iter_mut().enumerate() {
        *pixel = above[x].min(below[x]).min(left[x].min(right[x]));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::naive;

    fn octagon() -> Vec<(isize, isize)> {
        let offsets = (-9isize..=9).flat_map(|dy| (-9isize..=9).map(move |dx| (dx, dy)));
        offsets
            .filter(|(dx, dy)| dx.abs() + dy.abs() <= 14)
            .collect()
    }

    #[test]
    fn the_octagon_has_321_points() {
        assert_eq!(octagon().len(), 321);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn as_the_definition_says(image in naive::grey(250)) {
            let (width, height) = (image.width() as isize, image.height() as isize);
            let erosion = |x: isize, y: isize| {
                let under = octagon().into_iter().map(|(dx, dy)| (x + dx, y + dy));
                under
                    .filter(|(x, y)| *x >= 0 && *y >= 0 && *x < width && *y < height)
                    .map(|(x, y)| image.row(y as usize)[x as usize])
                    .min()
                    .unwrap_or(255)
            };
            let eroded = naive::plane(image.width() + 18, image.height() + 18, |x, y| {
                erosion(x as isize - 9, y as isize - 9)
            });
            let expected = naive::plane(image.width() + 2, image.height() + 2, |x, y| {
                let under = octagon().into_iter().map(|(dx, dy)| (x as isize + 8 + dx, y as isize + 8 + dy));
                under
                    .filter(|(x, y)| *x >= 0 && *y >= 0 && *x < width + 18 && *y < height + 18)
                    .map(|(x, y)| eroded.row(y as usize)[x as usize])
                    .max()
                    .unwrap_or(0)
            });
            prop_assert_eq!(open_by_octagon(image.view()), expected);
        }
    }
}
