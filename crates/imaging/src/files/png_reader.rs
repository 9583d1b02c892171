//! Reading PNG, whole or row by row.
//!
//! Law: rows come from top to bottom as the file holds them, with palettes and small depths expanded; the last row is
//! given only if the file is whole up to its end mark. Memory is a few rows, and for an interlaced file the picture.

use std::io::{BufRead, Cursor, Seek};

use png::{BitDepth, ColorType, DecodingError, Limits, Transformations};

use super::picture::{Tone, check_size};
use super::samples::{Alpha, Layout, Meaning};
use super::{ImageError, Picture};

const FORMAT: &str = "PNG";

/// What a byte of deflated data can become at most.
pub(crate) const DEFLATE_RATIO: u64 = 1_032;

/// What the decoder may hold besides its rows: names, profiles and the like.
const EXTRA: usize = 16 << 20;

/// A PNG file, from which rows are taken.
pub(crate) struct PngReader<R: BufRead + Seek> {
    reader: png::Reader<R>,
    layout: Layout,
    width: usize,
    height: usize,
    next: usize,
    deep: Vec<u16>,
}

impl<R: BufRead + Seek> PngReader<R> {
    /// Reads what comes before the pixels; `bytes` is the length of the file.
    pub(crate) fn new(mut from: R, bytes: u64) -> Result<PngReader<R>, ImageError> {
        // The decoder would only say that the sizes are wrong.
        if let Some((width, height)) = stated_size(from.fill_buf()?)
            && (width == 0 || height == 0)
        {
            return Err(ImageError::Empty { width, height });
        }
        let mut decoder = png::Decoder::new(from);
        decoder.set_transformations(Transformations::EXPAND);
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        let (width, height, bits) = {
            let info = decoder.read_header_info().map_err(damaged)?;
            let (width, height) = (u64::from(info.width), u64::from(info.height));
            (width, height, info.bits_per_pixel() as u64)
        };
        let row = (width * bits).div_ceil(8) + 1;
        if row.saturating_mul(height) > bytes.saturating_mul(DEFLATE_RATIO) {
            return Err(ImageError::Implausible {
                format: FORMAT,
                width,
                height,
                bytes,
            });
        }
        // Eight bytes are the largest pixel; a few rows are held at a time.
        let rows = usize::try_from(width)
            .unwrap_or(usize::MAX)
            .saturating_mul(8 * 8);
        decoder.set_limits(Limits {
            bytes: rows.saturating_add(EXTRA),
        });
        let reader = decoder.read_info().map_err(damaged)?;
        if let Some(frame) = reader.info().frame_control
            && (u64::from(frame.width), u64::from(frame.height)) != (width, height)
        {
            return Err(ImageError::damaged(
                FORMAT,
                "its first frame is not of the size of the image",
            ));
        }
        let (colour, depth) = reader.output_color_type();
        let (meaning, alpha) = match colour {
            ColorType::Grayscale => (Meaning::Grey, Alpha::None),
            ColorType::GrayscaleAlpha => (Meaning::Grey, Alpha::Straight),
            ColorType::Rgb => (Meaning::Colour, Alpha::None),
            ColorType::Rgba => (Meaning::Colour, Alpha::Straight),
            ColorType::Indexed => {
                return Err(ImageError::damaged(
                    FORMAT,
                    "a palette image has no palette",
                ));
            }
        };
        Ok(PngReader {
            layout: Layout {
                meaning,
                alpha,
                samples: colour.samples(),
                deep: depth == BitDepth::Sixteen,
            },
            reader,
            // Both are less than 2³¹.
            width: width as usize,
            height: height as usize,
            next: 0,
            deep: Vec::new(),
        })
    }

    /// Pixels in a row.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub(crate) fn height(&self) -> usize {
        self.height
    }

    /// What kind of picture it is.
    pub(crate) fn tone(&self) -> Tone {
        self.layout.tone()
    }

    /// Whether rows come in passes, so that only the whole picture can be had.
    pub(crate) fn interlaced(&self) -> bool {
        self.reader.info().interlaced
    }

    /// The row that [`PngReader::read_row`] gives next.
    pub(crate) fn next(&self) -> usize {
        self.next
    }

    /// Puts the next row of a file that is not interlaced into row `y` of a picture.
    pub(crate) fn read_row(&mut self, picture: &mut Picture, y: usize) -> Result<(), ImageError> {
        let Some(row) = self.reader.next_row().map_err(damaged)? else {
            return Err(ImageError::damaged(FORMAT, "rows are missing"));
        };
        put(&self.layout, row.data(), &mut self.deep, picture, y);
        self.next += 1;
        if self.next == self.height {
            self.reader.finish().map_err(damaged)?;
        }
        Ok(())
    }

    /// The whole picture; no row has been taken yet.
    pub(crate) fn read_all(mut self) -> Result<Picture, ImageError> {
        check_size(self.width as u64, self.height as u64)?;
        let mut picture = self.tone().blank(self.width, self.height);
        if !self.interlaced() {
            for y in 0..self.height {
                self.read_row(&mut picture, y)?;
            }
            return Ok(picture);
        }
        let Some(size) = self.reader.output_buffer_size() else {
            return Err(ImageError::damaged(FORMAT, "its size cannot be counted"));
        };
        let mut whole = vec![0; size];
        let frame = self.reader.next_frame(&mut whole).map_err(damaged)?;
        for (y, row) in whole
            .chunks_exact(frame.line_size)
            .take(self.height)
            .enumerate()
        {
            put(&self.layout, row, &mut self.deep, &mut picture, y);
        }
        self.reader.finish().map_err(damaged)?;
        Ok(picture)
    }
}

fn put(layout: &Layout, row: &[u8], deep: &mut Vec<u16>, picture: &mut Picture, y: usize) {
    if layout.deep {
        deep.clear();
        deep.extend(
            row.as_chunks::<2>()
                .0
                .iter()
                .map(|&pair| u16::from_be_bytes(pair)),
        );
        layout.put_row(deep, picture, y);
    } else {
        layout.put_row(row, picture, y);
    }
}

/// Reads a PNG file.
pub(crate) fn read(bytes: &[u8]) -> Result<Picture, ImageError> {
    PngReader::new(Cursor::new(bytes), bytes.len() as u64)?.read_all()
}

/// The size in the header of a file that begins like this.
fn stated_size(head: &[u8]) -> Option<(u64, u64)> {
    let number = |at: usize| {
        let bytes = head.get(at..at + 4)?.try_into().ok()?;
        Some(u64::from(u32::from_be_bytes(bytes)))
    };
    (head.get(12..16)? == b"IHDR").then_some((number(16)?, number(20)?))
}

fn damaged(error: DecodingError) -> ImageError {
    match error {
        DecodingError::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            ImageError::damaged(FORMAT, "it ends too early")
        }
        DecodingError::IoError(error) => ImageError::Io(error),
        DecodingError::LimitsExceeded => {
            ImageError::damaged(FORMAT, "its parts need more memory than they should")
        }
        DecodingError::Format(error) => {
            // What the decoder says of a wrong sum is for its authors.
            let words = error.to_string();
            let words = if words.contains("CRC") {
                "a check sum is wrong".to_owned()
            } else {
                words
            };
            ImageError::damaged(FORMAT, words)
        }
        DecodingError::Parameter(error) => ImageError::damaged(FORMAT, error.to_string()),
    }
}
