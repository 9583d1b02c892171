//! A picture: an image of a file, whole and in memory.
//!
//! Law: [`read_image`] gives the pixels that the file holds, or an error; a file that ends early or does not hold
//! together is an error, never a picture with made-up pixels. What odd files become is in the table of the module
//! above.

use crate::{Colour, LONGEST_SIDE, MAX_PIXELS, Plane};

use super::kind::Kind;
use super::{ImageError, jpeg, png_reader, tiff};

/// The pixels of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picture {
    /// Grey of 8 bits: a photograph or a mask.
    Grey(Plane<u8>),
    /// Grey of 16 bits: mostly labels, so the numbers are those of the file.
    Deep(Plane<u16>),
    /// Colour.
    Colour(Plane<Colour>),
}

impl Picture {
    /// Pixels in a row.
    pub fn width(&self) -> usize {
        match self {
            Picture::Grey(plane) => plane.width(),
            Picture::Deep(plane) => plane.width(),
            Picture::Colour(plane) => plane.width(),
        }
    }

    /// Rows.
    pub fn height(&self) -> usize {
        match self {
            Picture::Grey(plane) => plane.height(),
            Picture::Deep(plane) => plane.height(),
            Picture::Colour(plane) => plane.height(),
        }
    }

    /// In colour: grey gives three equal channels, deep grey the upper 8 bits of them.
    pub fn into_colour(self) -> Plane<Colour> {
        match self {
            Picture::Grey(plane) => each(plane, |value| [value; 3]),
            Picture::Deep(plane) => each(plane, |value| [(value >> 8) as u8; 3]),
            Picture::Colour(plane) => plane,
        }
    }

    /// Whether all pixels are grey, also those of a picture that is stored in colour.
    pub fn is_grey(&self) -> bool {
        match self {
            Picture::Grey(_) | Picture::Deep(_) => true,
            Picture::Colour(plane) => is_grey(plane),
        }
    }

    /// As labels: grey of either depth, number for number. `None` for colour, whose pixels are no numbers, unless
    /// all its pixels are grey.
    pub fn into_labels(self) -> Option<Plane<u16>> {
        match self {
            Picture::Grey(plane) => Some(each(plane, u16::from)),
            Picture::Deep(plane) => Some(plane),
            Picture::Colour(plane) => {
                is_grey(&plane).then(|| each(plane, |[red, _, _]| u16::from(red)))
            }
        }
    }

    /// As a mask: 255 where any channel is not 0.
    pub fn into_mask(self) -> Plane<u8> {
        let mask = |set: bool| if set { 255 } else { 0 };
        match self {
            Picture::Grey(plane) => each(plane, |value| mask(value != 0)),
            Picture::Deep(plane) => each(plane, |value| mask(value != 0)),
            Picture::Colour(plane) => each(plane, |value| mask(value != [0; 3])),
        }
    }

    /// Copies a box of another picture of the same kind; all boxes lie within their pictures.
    pub(crate) fn copy(
        &mut self,
        to: (usize, usize),
        from: &Picture,
        at: (usize, usize),
        size: (usize, usize),
    ) {
        match (self, from) {
            (Picture::Grey(plane), Picture::Grey(from)) => copy(plane, to, from, at, size),
            (Picture::Deep(plane), Picture::Deep(from)) => copy(plane, to, from, at, size),
            (Picture::Colour(plane), Picture::Colour(from)) => copy(plane, to, from, at, size),
            _ => debug_assert!(false, "pictures of two kinds"),
        }
    }

    /// How much memory the pixels take.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Picture::Grey(plane) => plane.pixels().len(),
            Picture::Deep(plane) => plane.pixels().len() * 2,
            Picture::Colour(plane) => plane.pixels().len() * 3,
        }
    }
}

fn is_grey(plane: &Plane<Colour>) -> bool {
    let mut pixels = plane.pixels().iter();
    pixels.all(|[red, green, blue]| red == green && green == blue)
}

/// The kind of a picture without its pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Grey,
    Deep,
    Colour,
}

impl Tone {
    /// A picture of zeros; its size has been checked.
    pub(crate) fn blank(self, width: usize, height: usize) -> Picture {
        match self {
            Tone::Grey => Picture::Grey(Plane::filled(width, height, 0)),
            Tone::Deep => Picture::Deep(Plane::filled(width, height, 0)),
            Tone::Colour => Picture::Colour(Plane::filled(width, height, [0; 3])),
        }
    }
}

fn each<A: Copy, B>(plane: Plane<A>, change: impl Fn(A) -> B) -> Plane<B> {
    let (width, height) = (plane.width(), plane.height());
    let pixels: Vec<B> = plane.pixels().iter().map(|&value| change(value)).collect();
    Plane::new(width, height, pixels).expect("as many pixels as there were")
}

fn copy<T: Copy>(
    plane: &mut Plane<T>,
    (x, y): (usize, usize),
    from: &Plane<T>,
    (from_x, from_y): (usize, usize),
    (width, height): (usize, usize),
) {
    for row in 0..height {
        plane.row_mut(y + row)[x..x + width]
            .copy_from_slice(&from.row(from_y + row)[from_x..from_x + width]);
    }
}

/// Reads a PNG, JPEG or TIFF file (the first image of it; of an Aperio SVS that is the slide at full size).
pub fn read_image(bytes: &[u8]) -> Result<Picture, ImageError> {
    match Kind::of(bytes)? {
        Kind::Png => png_reader::read(bytes),
        Kind::Jpeg => jpeg::read(bytes),
        Kind::Tiff => tiff::read(bytes),
    }
}

/// Checks a size against what one picture may have.
pub(crate) fn check_size(width: u64, height: u64) -> Result<(), ImageError> {
    if width == 0 || height == 0 {
        return Err(ImageError::Empty { width, height });
    }
    let limit = LONGEST_SIDE as u64;
    if width.max(height) > limit {
        return Err(ImageError::TooLong {
            width,
            height,
            limit,
        });
    }
    if width.saturating_mul(height) > MAX_PIXELS as u64 {
        return Err(ImageError::TooLarge {
            width,
            height,
            limit: MAX_PIXELS as u64,
            way_out: "read it as a slide, in tiles",
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_seen_as_colour_labels_and_masks() {
        let grey = Picture::Grey(Plane::new(2, 1, vec![0, 7]).unwrap());
        assert_eq!(grey.clone().into_colour().pixels(), [[0; 3], [7; 3]]);
        assert_eq!(grey.clone().into_labels().unwrap().pixels(), [0, 7]);
        assert_eq!(grey.into_mask().pixels(), [0, 255]);
        let deep = Picture::Deep(Plane::new(2, 1, vec![0x0102, 256]).unwrap());
        assert_eq!(deep.clone().into_colour().pixels(), [[1; 3], [1; 3]]);
        assert_eq!(deep.into_mask().pixels(), [255, 255]);
        let colour = Picture::Colour(Plane::new(2, 1, vec![[5; 3], [0, 0, 1]]).unwrap());
        assert_eq!(colour.clone().into_labels(), None);
        assert_eq!(colour.into_mask().pixels(), [255, 255]);
        let even = Picture::Colour(Plane::new(1, 1, vec![[5; 3]]).unwrap());
        assert_eq!(even.into_labels().unwrap().pixels(), [5]);
    }

    #[test]
    fn sizes_are_checked_before_anything_is_made() {
        assert!(matches!(check_size(0, 5), Err(ImageError::Empty { .. })));
        assert!(matches!(
            check_size(1 << 20, 1 << 20),
            Err(ImageError::TooLarge { .. })
        ));
        assert!(check_size(100_000, 1).is_ok());
    }
}
