//! The kinds of pixels that files are written with.
//!
//! Law: a pixel kind is a number of channels and a number of bits, and a row of pixels has one form in bytes,
//! whatever the machine: samples in order, the upper byte first where asked.

use crate::Colour;

mod sealed {
    /// Only the kinds of this file exist.
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for crate::Colour {}
}

/// A pixel that can be written to a file: `u8` (grey, masks), `u16` (labels) or [`Colour`].
pub trait Pixel: sealed::Sealed + Copy + Default + 'static {
    /// Samples in a pixel.
    const CHANNELS: usize;
    /// Bits in a sample.
    const BITS: usize;
    /// Bytes in a pixel.
    const BYTES: usize = Self::CHANNELS * Self::BITS / 8;

    /// Appends pixels as bytes, the upper byte of each sample first.
    fn append_upper_first(pixels: &[Self], to: &mut Vec<u8>);

    /// Appends pixels as bytes, the lower byte of each sample first.
    fn append_lower_first(pixels: &[Self], to: &mut Vec<u8>);
}

impl Pixel for u8 {
    const CHANNELS: usize = 1;
    const BITS: usize = 8;

    fn append_upper_first(pixels: &[u8], to: &mut Vec<u8>) {
        to.extend_from_slice(pixels);
    }

    fn append_lower_first(pixels: &[u8], to: &mut Vec<u8>) {
        to.extend_from_slice(pixels);
    }
}

impl Pixel for u16 {
    const CHANNELS: usize = 1;
    const BITS: usize = 16;

    fn append_upper_first(pixels: &[u16], to: &mut Vec<u8>) {
        to.extend(pixels.iter().flat_map(|pixel| pixel.to_be_bytes()));
    }

    fn append_lower_first(pixels: &[u16], to: &mut Vec<u8>) {
        to.extend(pixels.iter().flat_map(|pixel| pixel.to_le_bytes()));
    }
}

impl Pixel for Colour {
    const CHANNELS: usize = 3;
    const BITS: usize = 8;

    fn append_upper_first(pixels: &[Colour], to: &mut Vec<u8>) {
        to.extend_from_slice(pixels.as_flattened());
    }

    fn append_lower_first(pixels: &[Colour], to: &mut Vec<u8>) {
        to.extend_from_slice(pixels.as_flattened());
    }
}
