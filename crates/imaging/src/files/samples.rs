//! From the samples of a file to the pixels of a picture.
//!
//! Law: a pixel depends on its own samples alone. Opaque pixels keep their values exactly; what is transparent is
//! laid over white. Colour of 16 bits keeps its upper 8, grey of 16 bits stays whole.

use crate::Colour;

use super::Picture;
use super::picture::Tone;

/// A number in a file.
pub(crate) trait Sample: Copy {
    /// The largest.
    const MAX: u32;
    /// As a number.
    fn get(self) -> u32;
}

impl Sample for u8 {
    const MAX: u32 = u8::MAX as u32;
    fn get(self) -> u32 {
        u32::from(self)
    }
}

impl Sample for u16 {
    const MAX: u32 = u16::MAX as u32;
    fn get(self) -> u32 {
        u32::from(self)
    }
}

/// What the first samples of a pixel mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// One sample, 0 is black.
    Grey,
    /// One sample, 0 is white.
    Negative,
    /// One sample, the index of a colour; an index beyond is black.
    Palette(Vec<Colour>),
    /// Three samples.
    Colour,
    /// Four samples, 0 is no ink.
    Cmyk,
}

impl Meaning {
    /// How many samples carry it.
    pub(crate) fn samples(&self) -> usize {
        match self {
            Meaning::Grey | Meaning::Negative | Meaning::Palette(_) => 1,
            Meaning::Colour => 3,
            Meaning::Cmyk => 4,
        }
    }
}

/// Whether and how pixels are transparent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alpha {
    /// They are not.
    None,
    /// The sample after the colour says how much of it is seen.
    Straight,
    /// The same, and the colour has been multiplied by it already.
    Multiplied,
}

/// How the samples of a pixel lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// What the first ones mean.
    pub(crate) meaning: Meaning,
    /// What the one after them means.
    pub(crate) alpha: Alpha,
    /// How many there are, those without a meaning included.
    pub(crate) samples: usize,
    /// Whether they have 16 bits.
    pub(crate) deep: bool,
}

impl Layout {
    /// What kind of picture comes of it.
    pub(crate) fn tone(&self) -> Tone {
        match self.meaning {
            Meaning::Grey | Meaning::Negative if self.deep => Tone::Deep,
            Meaning::Grey | Meaning::Negative => Tone::Grey,
            Meaning::Palette(_) | Meaning::Colour | Meaning::Cmyk => Tone::Colour,
        }
    }

    /// Puts samples into a row of a picture of this layout's [`tone`](Layout::tone), from its left edge on, as many
    /// pixels as both have.
    pub(crate) fn put_row<S: Sample>(&self, samples: &[S], picture: &mut Picture, y: usize) {
        let pixels = samples.chunks_exact(self.samples);
        match picture {
            Picture::Grey(plane) => {
                for (to, pixel) in plane.row_mut(y).iter_mut().zip(pixels) {
                    *to = eight::<S>(self.grey(pixel));
                }
            }
            Picture::Deep(plane) => {
                for (to, pixel) in plane.row_mut(y).iter_mut().zip(pixels) {
                    // A sample is at most 65,535.
                    *to = self.grey(pixel) as u16;
                }
            }
            Picture::Colour(plane) => {
                let row = plane.row_mut(y).iter_mut();
                match (&self.meaning, self.alpha, self.samples) {
                    (Meaning::Colour, Alpha::None, 3) => {
                        for (to, pixel) in row.zip(samples.as_chunks::<3>().0) {
                            *to = pixel.map(|sample| eight::<S>(sample.get()));
                        }
                    }
                    _ => {
                        for (to, pixel) in row.zip(pixels) {
                            *to = self.colour(pixel);
                        }
                    }
                }
            }
        }
    }

    fn grey<S: Sample>(&self, pixel: &[S]) -> u32 {
        let mut value = pixel[0].get();
        if self.meaning == Meaning::Negative {
            value = S::MAX - value;
        }
        self.over_white::<S>(value, pixel)
    }

    fn colour<S: Sample>(&self, pixel: &[S]) -> Colour {
        let over = |value: u32| eight::<S>(self.over_white::<S>(value, pixel));
        match &self.meaning {
            Meaning::Grey | Meaning::Negative => [eight::<S>(self.grey(pixel)); 3],
            Meaning::Colour => [pixel[0], pixel[1], pixel[2]].map(|sample| over(sample.get())),
            Meaning::Palette(colours) => {
                let colour = colours.get(pixel[0].get() as usize);
                colour.copied().unwrap_or_default()
            }
            Meaning::Cmyk => {
                let black = S::MAX - pixel[3].get();
                [pixel[0], pixel[1], pixel[2]]
                    .map(|ink| over(rounded::<S>((S::MAX - ink.get()) * black)))
            }
        }
    }

    fn over_white<S: Sample>(&self, value: u32, pixel: &[S]) -> u32 {
        let alpha = || pixel[self.meaning.samples()].get();
        match self.alpha {
            Alpha::None => value,
            Alpha::Straight => {
                let alpha = alpha();
                rounded::<S>(value * alpha + S::MAX * (S::MAX - alpha))
            }
            Alpha::Multiplied => (value + S::MAX - alpha()).min(S::MAX),
        }
    }
}

/// A product of two samples as a sample, rounded; the product of the largest still fits.
fn rounded<S: Sample>(product: u32) -> u32 {
    (product + S::MAX / 2) / S::MAX
}

/// The upper 8 bits.
fn eight<S: Sample>(value: u32) -> u8 {
    if S::MAX > 255 {
        (value >> 8) as u8
    } else {
        value as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plane;

    fn one<S: Sample>(layout: &Layout, pixel: &[S]) -> Picture {
        let mut picture = layout.tone().blank(1, 1);
        layout.put_row(pixel, &mut picture, 0);
        picture
    }

    fn layout(meaning: Meaning, alpha: Alpha, deep: bool) -> Layout {
        let samples = meaning.samples() + usize::from(alpha != Alpha::None);
        Layout {
            meaning,
            alpha,
            samples,
            deep,
        }
    }

    fn colour(colour: Colour) -> Picture {
        Picture::Colour(Plane::filled(1, 1, colour))
    }

    #[test]
    fn opaque_pixels_are_exact_and_transparent_ones_are_white() {
        let rgba = layout(Meaning::Colour, Alpha::Straight, false);
        assert_eq!(one(&rgba, &[1u8, 2, 254, 255]), colour([1, 2, 254]));
        assert_eq!(one(&rgba, &[1u8, 2, 254, 0]), colour([255, 255, 255]));
        assert_eq!(one(&rgba, &[0u8, 100, 255, 128]), colour([127, 177, 255]));
        let multiplied = layout(Meaning::Colour, Alpha::Multiplied, false);
        assert_eq!(
            one(&multiplied, &[0u8, 50, 128, 128]),
            colour([127, 177, 255])
        );
        assert_eq!(
            one(&multiplied, &[200u8, 50, 1, 100]),
            colour([255, 205, 156])
        );
        let deep = layout(Meaning::Colour, Alpha::Straight, true);
        assert_eq!(
            one(&deep, &[0xffffu16, 0x1234, 0, 0xffff]),
            colour([255, 0x12, 0])
        );
        assert_eq!(
            one(&deep, &[0xffffu16, 0x1234, 0, 0]),
            colour([255, 255, 255])
        );
    }

    #[test]
    fn grey_stays_grey_and_deep_stays_deep() {
        let deep = layout(Meaning::Grey, Alpha::None, true);
        assert_eq!(
            one(&deep, &[40_000u16]),
            Picture::Deep(Plane::filled(1, 1, 40_000))
        );
        let negative = layout(Meaning::Negative, Alpha::None, true);
        assert_eq!(
            one(&negative, &[40_000u16]),
            Picture::Deep(Plane::filled(1, 1, 25_535))
        );
        let grey = layout(Meaning::Grey, Alpha::Straight, false);
        assert_eq!(
            one(&grey, &[9u8, 255]),
            Picture::Grey(Plane::filled(1, 1, 9))
        );
    }

    #[test]
    fn inks_and_palettes_become_colours() {
        let cmyk = layout(Meaning::Cmyk, Alpha::None, false);
        assert_eq!(one(&cmyk, &[0u8, 0, 0, 0]), colour([255, 255, 255]));
        assert_eq!(one(&cmyk, &[255u8, 0, 0, 0]), colour([0, 255, 255]));
        assert_eq!(one(&cmyk, &[0u8, 0, 0, 255]), colour([0, 0, 0]));
        let palette = layout(
            Meaning::Palette(vec![[1, 2, 3], [4, 5, 6]]),
            Alpha::None,
            false,
        );
        assert_eq!(one(&palette, &[1u8]), colour([4, 5, 6]));
        assert_eq!(one(&palette, &[7u8]), colour([0, 0, 0]));
    }
}
