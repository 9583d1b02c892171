//! Repair of the lines between labels, so that labels do not touch across a corner of a line.
//!
//! Law: a pixel that is not line becomes line when the pixel above it is line and, on the left or on the right, the
//! pixel beside it is line and the one above that is not. All of this is asked of the lines as they were before any
//! repair, and outside the image there is line.

use crate::{Bitmap, LINE, Plane, View};

/// The labels with their lines repaired.
pub fn repair_lines(labels: View<i32>) -> Plane<i32> {
    let mut repaired = Plane::filled(labels.width(), labels.height(), 0);
    let mut lines = Lines::new(labels.width());
    for y in 0..labels.height() {
        let row = labels.row(y);
        lines.advance(row);
        for ((to, &label), line) in repaired
            .row_mut(y)
            .iter_mut()
            .zip(row)
            .zip(lines.repaired())
        {
            *to = if line == 0 { label } else { LINE };
        }
    }
    repaired
}

/// The binary image without the repaired lines of the labels.
///
/// # Panics
/// When the two are not of one size.
pub fn without_lines(image: View<u8>, labels: View<i32>) -> Bitmap {
    assert!(
        image.width() == labels.width() && image.height() == labels.height(),
        "{} × {} and {} × {} pixels are not one image",
        image.width(),
        image.height(),
        labels.width(),
        labels.height()
    );
    let mut lines = Lines::new(labels.width());
    Bitmap::from_rows(labels.width(), labels.height(), |y, row| {
        lines.advance(labels.row(y));
        for ((to, &pixel), line) in row.iter_mut().zip(image.row(y)).zip(lines.repaired()) {
            *to = u8::from(pixel != 0) & !line;
        }
    })
}

/// Where there is line (255, else 0) in a row and in the row above it, each with a pixel of the outside at both ends.
struct Lines {
    above: Vec<u8>,
    here: Vec<u8>,
}

impl Lines {
    /// Above the first row.
    fn new(width: usize) -> Lines {
        Lines {
            above: vec![255; width + 2],
            here: vec![255; width + 2],
        }
    }

    /// Goes to the next row.
    fn advance(&mut self, labels: &[i32]) {
        std::mem::swap(&mut self.above, &mut self.here);
        for (line, &label) in self.here[1..].iter_mut().zip(labels) {
            *line = if label == LINE { 255 } else { 0 };
        }
    }

    /// Where there is line in the row after the repair.
    fn repaired(&self) -> impl Iterator<Item = u8> {
        let width = self.here.len() - 2;
        let [left, here, right] = [0, 1, 2].map(|from| &self.here[from..][..width]);
        let [above_left, above, above_right] = [0, 1, 2].map(|from| &self.above[from..][..width]);
        (0..width).map(move |x| {
            let corner = (left[x] & !above_left[x]) | (right[x] & !above_right[x]);
            here[x] | (above[x] & corner)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition word for word, on labels padded by one pixel of line.
    fn naive(width: usize, height: usize, labels: &[i32]) -> Vec<i32> {
        let mut padded = vec![vec![-1; width + 2]; height + 2];
        for y in 0..height {
            for x in 0..width {
                padded[y + 1][x + 1] = labels[y * width + x];
            }
        }
        let mut repaired = labels.to_vec();
        for y in 1..=height {
            for x in 1..=width {
                let left = padded[y - 1][x - 1] != -1 && padded[y][x - 1] == -1;
                let right = padded[y - 1][x + 1] != -1 && padded[y][x + 1] == -1;
                if padded[y][x] != -1 && padded[y - 1][x] == -1 && (left || right) {
                    repaired[(y - 1) * width + x - 1] = -1;
                }
            }
        }
        repaired
    }

    fn case() -> impl Strategy<Value = (usize, usize, Vec<i32>, Vec<u8>)> {
        (0usize..40, 0usize..12).prop_flat_map(|(width, height)| {
            (
                Just(width),
                Just(height),
                prop::collection::vec(prop_oneof![Just(LINE), 0..3], width * height),
                prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], width * height),
            )
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        #[test]
        fn repairs_as_defined((width, height, labels, image) in case()) {
            let expected = naive(width, height, &labels);
            let view = View::new(width, height, &labels).unwrap();
            let repaired = repair_lines(view);
            prop_assert_eq!(repaired.pixels(), &expected);
            let rest = without_lines(View::new(width, height, &image).unwrap(), view);
            let masked: Vec<u8> = image
                .iter()
                .zip(expected)
                .map(|(&pixel, label)| if pixel != 0 && label != -1 { 255 } else { 0 })
                .collect();
            prop_assert_eq!(rest.to_mask().into_pixels(), masked);
        }
    }

    fn repaired(width: usize, height: usize, labels: &[i32]) -> Vec<i32> {
        repair_lines(View::new(width, height, labels).unwrap()).into_pixels()
    }

    #[test]
    fn a_corner_of_a_line_is_filled() {
        let labels = [
            1, LINE, 2, //
            LINE, 2, 2, //
            2, 2, 2,
        ];
        let expected = [
            1, LINE, 2, //
            LINE, LINE, 2, //
            2, 2, 2,
        ];
        assert_eq!(repaired(3, 3, &labels), expected);
    }

    #[test]
    fn a_repaired_pixel_calls_for_no_further_repair() {
        // The middle becomes line; if that counted, the pixel below it would as well.
        let labels = [
            2, LINE, 1, //
            2, 1, LINE, //
            LINE, 1, 1,
        ];
        let expected = [
            2, LINE, 1, //
            2, LINE, LINE, //
            LINE, 1, 1,
        ];
        assert_eq!(repaired(3, 3, &labels), expected);
    }

    #[test]
    fn the_outside_is_line() {
        // At the right border the outside is line beside a pixel, but above that as well.
        assert_eq!(repaired(1, 2, &[LINE, 1]), [LINE, 1]);
        assert_eq!(repaired(2, 1, &[LINE, 1]), [LINE, 1]);
        assert_eq!(repaired(2, 2, &[1, LINE, LINE, 1]), [1, LINE, LINE, LINE]);
    }
}
