//! Images as kernels see them: a width, a height and pixels in raster order.
//!
//! Law: a [`View`] borrows and a [`Plane`] owns exactly `width × height` pixels, row after row without gaps, and
//! never more than [`MAX_PIXELS`], no side longer than [`LONGEST_SIDE`], so that a pixel's position fits in 32 bits with room for a frame around the
//! image. A binary image holds 0 and 255; a colour image holds [`Colour`]s.

use crate::room::{copied, filled, room};

/// Red, green and blue of a pixel.
pub type Colour = [u8; 3];

/// More pixels than this are not one image but a slide, to be read in tiles.
pub const MAX_PIXELS: usize = 1 << 30;

/// No side of an image has more pixels than this.
pub const LONGEST_SIDE: usize = 1 << 20;

/// What a kernel may ask for: an image with a frame of some pixels around it.
const MAX_FRAMED: usize = 2 * MAX_PIXELS;

/// Which pixels touch: the four beside, above and below, or those and the four at the corners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connectivity {
    /// Left, right, up, down.
    Four,
    /// And the diagonals.
    Eight,
}

impl Connectivity {
    /// As the parameters of the workflow say it: exactly 8 is eight, anything else is four.
    pub fn from_parameter(value: i64) -> Connectivity {
        if value == 8 {
            Connectivity::Eight
        } else {
            Connectivity::Four
        }
    }
}

/// Borrowed pixels.
#[derive(Debug, PartialEq, Eq)]
pub struct View<'a, T> {
    width: usize,
    height: usize,
    pixels: &'a [T],
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

impl<'a, T> View<'a, T> {
    /// A view of pixels; `None` when their number is not `width × height`, or an image may not be so large.
    pub fn new(width: usize, height: usize, pixels: &'a [T]) -> Option<View<'a, T>> {
        fits(width, height, pixels.len()).then_some(View {
            width,
            height,
            pixels,
        })
    }

    /// Pixels in a row.
    pub fn width(self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(self) -> usize {
        self.height
    }

    /// All pixels.
    pub fn pixels(self) -> &'a [T] {
        self.pixels
    }

    /// One row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(self, y: usize) -> &'a [T] {
        &self.pixels[y * self.width..][..self.width]
    }

    /// The rows from top to bottom, also when they are empty.
    pub fn rows(self) -> impl DoubleEndedIterator<Item = &'a [T]> {
        (0..self.height).map(move |y| self.row(y))
    }
}

/// Owned pixels.
#[derive(Debug, PartialEq, Eq)]
pub struct Plane<T> {
    width: usize,
    height: usize,
    pixels: Vec<T>,
}

impl<T> Plane<T> {
    /// A plane of pixels; `None` when their number is not `width × height`, or an image may not be so large.
    pub fn new(width: usize, height: usize, pixels: Vec<T>) -> Option<Plane<T>> {
        fits(width, height, pixels.len()).then_some(Plane {
            width,
            height,
            pixels,
        })
    }

    /// Borrows it.
    pub fn view(&self) -> View<'_, T> {
        View {
            width: self.width,
            height: self.height,
            pixels: &self.pixels,
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

    /// All pixels.
    pub fn pixels(&self) -> &[T] {
        &self.pixels
    }

    /// All pixels, to be changed.
    pub fn pixels_mut(&mut self) -> &mut [T] {
        &mut self.pixels
    }

    /// One row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, y: usize) -> &[T] {
        &self.pixels[y * self.width..][..self.width]
    }

    /// One row, to be changed.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row_mut(&mut self, y: usize) -> &mut [T] {
        &mut self.pixels[y * self.width..][..self.width]
    }

    /// A plane of what `change` makes of each pixel.
    pub(crate) fn map<U: Copy>(&self, change: impl Fn(T) -> U) -> Plane<U>
    where
        T: Copy,
    {
        let mut pixels = room(self.pixels.len());
        pixels.extend(self.pixels.iter().map(|pixel| change(*pixel)));
        Plane {
            width: self.width,
            height: self.height,
            pixels,
        }
    }

    /// The pixels alone.
    pub fn into_pixels(self) -> Vec<T> {
        self.pixels
    }
}

impl<T: Copy> Clone for Plane<T> {
    fn clone(&self) -> Self {
        Plane {
            pixels: copied(&self.pixels),
            ..*self
        }
    }
}

impl<T: Copy + Default + PartialEq> Plane<T> {
    /// A plane of one value.
    ///
    /// # Panics
    /// When it is larger than any image with a frame of some pixels around it; the sizes of images come from a
    /// [`View`] or a reader, which refuse those.
    pub fn filled(width: usize, height: usize, value: T) -> Plane<T> {
        assert!(
            width.saturating_mul(height) <= MAX_FRAMED,
            "{width} × {height} pixels are too many for one image"
        );
        Plane {
            width,
            height,
            pixels: filled(width * height, value),
        }
    }
}

fn fits(width: usize, height: usize, pixels: usize) -> bool {
    width.checked_mul(height) == Some(pixels)
        && pixels <= MAX_PIXELS
        && width.max(height) <= LONGEST_SIDE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_exactly_its_pixels() {
        assert!(View::new(2, 3, &[0u8; 6]).is_some());
        assert!(View::new(2, 3, &[0u8; 5]).is_none());
        assert!(View::new(usize::MAX, 2, &[0u8; 6]).is_none());
        assert!(View::new(LONGEST_SIDE, 1, &[0u8; LONGEST_SIDE]).is_some());
        assert!(View::new(1, LONGEST_SIDE + 1, &[0u8; LONGEST_SIDE + 1]).is_none());
        let empty = View::<u8>::new(0, 3, &[]).unwrap();
        assert_eq!(empty.rows().count(), 3, "empty rows are rows");
    }

    #[test]
    fn only_exactly_eight_is_eight() {
        for value in [-8, 0, 4, 5, 6, 7, 9, 88] {
            assert_eq!(Connectivity::from_parameter(value), Connectivity::Four);
        }
        assert_eq!(Connectivity::from_parameter(8), Connectivity::Eight);
    }
}
