//! Writing PNG, whole or row by row.
//!
//! Law: the pixels read back are the pixels written, and the same pixels give the same bytes on every machine.
//! [`PngRows`] holds a few rows, whatever the size of the image.

use std::io::Write;

use png::{BitDepth, ColorType, DeflateCompression, EncodingError, Filter};

use crate::View;

use super::{ImageError, Pixel};

/// The pixels as a PNG file.
pub fn write_png<T: Pixel>(view: View<'_, T>) -> Result<Vec<u8>, ImageError> {
    let mut file = Vec::new();
    let mut writer = encoder::<_, T>(&mut file, view.width() as u64, view.height() as u64)?
        .write_header()
        .map_err(failed)?;
    let mut data = Vec::with_capacity(view.pixels().len() * T::BYTES);
    T::append_upper_first(view.pixels(), &mut data);
    writer.write_image_data(&data).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(file)
}

/// A PNG file that is written row by row.
pub struct PngRows<W: Write + 'static, T: Pixel> {
    writer: png::StreamWriter<'static, W>,
    width: usize,
    left: u64,
    row: Vec<u8>,
    pixels: std::marker::PhantomData<T>,
}

impl<W: Write + 'static, T: Pixel> PngRows<W, T> {
    /// Begins a file of `height` rows of `width` pixels.
    pub fn new(to: W, width: usize, height: usize) -> Result<PngRows<W, T>, ImageError> {
        let writer = encoder::<_, T>(to, width as u64, height as u64)?
            .write_header()
            .and_then(png::Writer::into_stream_writer)
            .map_err(failed)?;
        Ok(PngRows {
            writer,
            width,
            left: height as u64,
            row: Vec::with_capacity(width * T::BYTES),
            pixels: std::marker::PhantomData,
        })
    }

    /// Writes the next row.
    pub fn write_row(&mut self, row: &[T]) -> Result<(), ImageError> {
        if row.len() != self.width || self.left == 0 {
            return Err(ImageError::Misplaced {
                problem: format!(
                    "a row of {} pixels where {} rows of {} pixels are still to come",
                    row.len(),
                    self.left,
                    self.width
                ),
            });
        }
        self.row.clear();
        T::append_upper_first(row, &mut self.row);
        self.writer.write_all(&self.row)?;
        self.left -= 1;
        Ok(())
    }

    /// Ends the file; an error when rows are missing.
    pub fn finish(self) -> Result<(), ImageError> {
        if self.left > 0 {
            return Err(ImageError::Misplaced {
                problem: format!("the image ends with {} rows missing", self.left),
            });
        }
        self.writer.finish().map_err(failed)
    }
}

fn encoder<W: Write, T: Pixel>(
    to: W,
    width: u64,
    height: u64,
) -> Result<png::Encoder<'static, W>, ImageError> {
    if width == 0 || height == 0 {
        return Err(ImageError::Empty { width, height });
    }
    let limit = i32::MAX as u64;
    if width > limit || height > limit {
        return Err(ImageError::TooLarge {
            width,
            height,
            limit,
            way_out: "PNG has at most so many in a row; write a TIFF",
        });
    }
    let mut encoder = png::Encoder::new(to, width as u32, height as u32);
    encoder.set_color(if T::CHANNELS == 3 {
        ColorType::Rgb
    } else {
        ColorType::Grayscale
    });
    encoder.set_depth(if T::BITS == 16 {
        BitDepth::Sixteen
    } else {
        BitDepth::Eight
    });
    encoder.set_deflate_compression(DeflateCompression::FdeflateUltraFast);
    encoder.set_filter(if T::CHANNELS == 3 {
        Filter::Paeth
    } else {
        Filter::Up
    });
    Ok(encoder)
}

fn failed(error: EncodingError) -> ImageError {
    match error {
        EncodingError::IoError(error) => ImageError::Io(error),
        EncodingError::Format(error) => ImageError::Misplaced {
            problem: error.to_string(),
        },
        EncodingError::Parameter(error) => ImageError::Misplaced {
            problem: error.to_string(),
        },
        EncodingError::LimitsExceeded => ImageError::Misplaced {
            problem: "the image is too large for the PNG writer".to_owned(),
        },
    }
}
