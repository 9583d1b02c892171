//! Writing PNG, whole or row by row.
//!
//! Law: the pixels read back are the pixels written, and the same pixels give the same bytes on every machine.
//! [`PngRows`] holds a few rows, whatever the size of the image.

use std::io::{self, Write};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    writer: png::StreamWriter<'static, Sink<W>>,
    sink: Sink<W>,
    width: usize,
    left: u64,
    row: Vec<u8>,
    pixels: PhantomData<T>,
}

/// What the encoder writes to. The encoder keeps the end of a file to itself and drops the errors there, so the
/// first error is remembered here.
struct Sink<W>(Arc<Mutex<(W, Option<io::Error>)>>);

impl<W> Sink<W> {
    fn lock(&self) -> MutexGuard<'_, (W, Option<io::Error>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> Write for Sink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.lock();
        inner.0.write(bytes).inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                inner
                    .1
                    .get_or_insert_with(|| io::Error::new(error.kind(), error.to_string()));
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().0.flush()
    }
}

impl<W: Write + 'static, T: Pixel> PngRows<W, T> {
    /// Begins a file of `height` rows of `width` pixels.
    pub fn new(to: W, width: usize, height: usize) -> Result<PngRows<W, T>, ImageError> {
        let inner = Arc::new(Mutex::new((to, None)));
        let writer = encoder::<_, T>(Sink(Arc::clone(&inner)), width as u64, height as u64)?
            .write_header()
            .and_then(png::Writer::into_stream_writer)
            .map_err(failed)?;
        Ok(PngRows {
            writer,
            sink: Sink(inner),
            width,
            left: height as u64,
            row: Vec::with_capacity(width * T::BYTES),
            pixels: PhantomData,
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

    /// Ends the file and gives back what it was written to; an error when rows are missing.
    pub fn finish(self) -> Result<W, ImageError> {
        if self.left > 0 {
            return Err(ImageError::Misplaced {
                problem: format!("the image ends with {} rows missing", self.left),
            });
        }
        self.writer.finish().map_err(failed)?;
        let inner = Arc::into_inner(self.sink.0).ok_or_else(|| ImageError::Misplaced {
            problem: "the PNG writer did not end".to_owned(),
        })?;
        let (mut to, error) = inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = error {
            return Err(ImageError::Io(error));
        }
        to.flush()?;
        Ok(to)
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
            way_out: "PNG cannot have more in a row; write a TIFF",
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
