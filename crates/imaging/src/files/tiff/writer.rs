//! Writing a tiled TIFF of any size.
//!
//! Law: tiles go to the file as they come, in any order; only their places are kept, 16 bytes a tile. The file is of
//! the big form, its directory comes last, and the same tiles in the same order give the same bytes on every machine.

use std::io::{Seek, SeekFrom, Write};
use std::marker::PhantomData;

use fdeflate::Compressor;

use super::tag;
use crate::View;
use crate::files::{ImageError, Pixel};

/// Whether tiles are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// As they are.
    Plain,
    /// By deflate, after differences along the rows for colour and labels.
    Deflate,
}

/// A tiled TIFF file that is written piece by piece.
pub struct TiffWriter<W: Write + Seek, T: Pixel> {
    to: W,
    /// Where the next byte goes.
    end: u64,
    width: u64,
    height: u64,
    tile: u64,
    packing: Packing,
    /// Offset and length of each tile; an offset of 0 is a tile that has not come yet.
    places: Vec<(u64, u64)>,
    raw: Vec<u8>,
    pixels: PhantomData<T>,
}

impl<W: Write + Seek, T: Pixel> TiffWriter<W, T> {
    /// Begins a file of `width × height` pixels at the beginning of `to`, in tiles of `tile × tile` pixels. The
    /// format wants a multiple of 16; 256 is usual.
    pub fn new(
        mut to: W,
        width: u64,
        height: u64,
        tile: u64,
        packing: Packing,
    ) -> Result<Self, ImageError> {
        if width == 0 || height == 0 {
            return Err(ImageError::Empty { width, height });
        }
        let limit = u64::from(u32::MAX);
        if width > limit || height > limit {
            return Err(ImageError::TooLarge {
                width,
                height,
                limit,
                way_out: "TIFF cannot have more in a row",
            });
        }
        if tile == 0 || !tile.is_multiple_of(16) || tile > 1 << 14 {
            return Err(ImageError::Misplaced {
                problem: format!(
                    "tiles of {tile} × {tile} pixels: expected a multiple of 16 up to 16,384"
                ),
            });
        }
        let count = width.div_ceil(tile) * height.div_ceil(tile);
        if count > 1 << 28 {
            return Err(ImageError::Misplaced {
                problem: format!("{count} tiles are too many; choose larger ones"),
            });
        }
        to.seek(SeekFrom::Start(0))?;
        // Little end first, the big form, offsets of 8 bytes; where the directory is follows at the end.
        to.write_all(b"II\x2b\0\x08\0\0\0\0\0\0\0\0\0\0\0")?;
        Ok(TiffWriter {
            to,
            end: 16,
            width,
            height,
            tile,
            packing,
            places: vec![(0, 0); count as usize],
            raw: Vec::new(),
            pixels: PhantomData,
        })
    }

    /// Writes the pixels of a box whose corner is at (`x`, `y`): both multiples of the tile size, and so are width
    /// and height unless the box reaches the edge of the image. A tile that is written twice is an error.
    pub fn write(&mut self, x: u64, y: u64, pixels: View<'_, T>) -> Result<(), ImageError> {
        let (width, height) = (pixels.width() as u64, pixels.height() as u64);
        let (right, lower) = (x.saturating_add(width), y.saturating_add(height));
        let fits = |from: u64, to: u64, end: u64| {
            from.is_multiple_of(self.tile)
                && to <= end
                && (to == end || to.is_multiple_of(self.tile))
        };
        if !fits(x, right, self.width) || !fits(y, lower, self.height) {
            return Err(ImageError::Misplaced {
                problem: format!(
                    "a box of {width} × {height} pixels at ({x}, {y}) does not consist of whole tiles of {} pixels of \
                     an image of {} × {}",
                    self.tile, self.width, self.height
                ),
            });
        }
        for top in (y..lower).step_by(self.tile as usize) {
            for left in (x..right).step_by(self.tile as usize) {
                let at =
                    (top / self.tile * self.width.div_ceil(self.tile) + left / self.tile) as usize;
                if self.places[at].0 != 0 {
                    return Err(ImageError::Misplaced {
                        problem: format!("the tile at ({left}, {top}) has been written before"),
                    });
                }
                self.gather(pixels, (left - x) as usize, (top - y) as usize);
                self.places[at] = self.put()?;
            }
        }
        Ok(())
    }

    /// Takes the pixels of a tile, the last ones repeated where the image ends.
    fn gather(&mut self, pixels: View<'_, T>, left: usize, top: usize) {
        let tile = self.tile as usize;
        let (width, height) = (
            (pixels.width() - left).min(tile),
            (pixels.height() - top).min(tile),
        );
        self.raw.clear();
        for row in 0..tile {
            let row = &pixels.row(top + row.min(height - 1))[left..left + width];
            T::append_lower_first(row, &mut self.raw);
            for _ in width..tile {
                T::append_lower_first(&row[width - 1..], &mut self.raw);
            }
        }
    }

    /// Writes the tile that was gathered; gives its offset and length.
    fn put(&mut self) -> Result<(u64, u64), ImageError> {
        let packed;
        let bytes = match self.packing {
            Packing::Plain => self.raw.as_slice(),
            Packing::Deflate => {
                if differences::<T>() {
                    let row = self.tile as usize * T::BYTES;
                    self.raw
                        .chunks_exact_mut(row)
                        .for_each(make_differences::<T>);
                }
                let mut compressor = Compressor::new(Vec::with_capacity(self.raw.len() / 2))?;
                compressor.write_data(&self.raw)?;
                packed = compressor.finish()?;
                packed.as_slice()
            }
        };
        self.to.write_all(bytes)?;
        let place = (self.end, bytes.len() as u64);
        self.end += place.1;
        Ok(place)
    }

    /// Writes the directory and gives the file back. An error when a tile is missing.
    pub fn finish(mut self) -> Result<W, ImageError> {
        let across = self.width.div_ceil(self.tile);
        if let Some(missing) = self.places.iter().position(|&(offset, _)| offset == 0) {
            let (x, y) = (
                missing as u64 % across * self.tile,
                missing as u64 / across * self.tile,
            );
            return Err(ImageError::Misplaced {
                problem: format!("the tile at ({x}, {y}) was never written"),
            });
        }
        let (offsets, counts): (Vec<u64>, Vec<u64>) = self.places.iter().copied().unzip();
        let offsets = self.list(&offsets)?;
        let counts = self.list(&counts)?;
        let one = |value: u64| (3, 1, value);
        let bits = (0..T::CHANNELS).fold(0, |field, channel| {
            field | (T::BITS as u64) << (16 * channel)
        });
        let deflated = self.packing == Packing::Deflate;
        // Tag, type (3 has 2 bytes, 4 has 4, 16 has 8), number of values, value or place; in the order of the tags.
        let tags: [(u16, (u16, u64, u64)); 12] = [
            (tag::WIDTH, (4, 1, self.width)),
            (tag::HEIGHT, (4, 1, self.height)),
            (tag::BITS, (3, T::CHANNELS as u64, bits)),
            (tag::COMPRESSION, one(if deflated { 8 } else { 1 })),
            (tag::PHOTOMETRIC, one(if T::CHANNELS == 3 { 2 } else { 1 })),
            (tag::SAMPLES, one(T::CHANNELS as u64)),
            (tag::PLANAR, one(1)),
            (
                tag::PREDICTOR,
                one(if deflated && differences::<T>() { 2 } else { 1 }),
            ),
            (tag::TILE_WIDTH, (4, 1, self.tile)),
            (tag::TILE_HEIGHT, (4, 1, self.tile)),
            (tag::TILE_OFFSETS, (16, self.places.len() as u64, offsets)),
            (tag::TILE_BYTES, (16, self.places.len() as u64, counts)),
        ];
        self.align()?;
        let directory = self.end;
        let mut bytes = (tags.len() as u64).to_le_bytes().to_vec();
        for (tag, (kind, count, value)) in tags {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend(count.to_le_bytes());
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend(0u64.to_le_bytes());
        self.to.write_all(&bytes)?;
        self.to.seek(SeekFrom::Start(8))?;
        self.to.write_all(&directory.to_le_bytes())?;
        self.to.seek(SeekFrom::End(0))?;
        self.to.flush()?;
        Ok(self.to)
    }

    /// Writes a list and gives its place, or the value itself if there is one alone.
    fn list(&mut self, values: &[u64]) -> Result<u64, ImageError> {
        if let [value] = values {
            return Ok(*value);
        }
        self.align()?;
        let place = self.end;
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        self.to.write_all(&bytes)?;
        self.end += bytes.len() as u64;
        Ok(place)
    }

    /// Lists and directories begin at multiples of 8.
    fn align(&mut self) -> Result<(), ImageError> {
        let padding = self.end.next_multiple_of(8) - self.end;
        self.to.write_all(&[0; 8][..padding as usize])?;
        self.end += padding;
        Ok(())
    }
}

/// Whether differences along a row are smaller than the values: not for masks.
fn differences<T: Pixel>() -> bool {
    T::BYTES > 1
}

/// Puts differences in place of the samples of a row, from its end.
fn make_differences<T: Pixel>(row: &mut [u8]) {
    if T::BITS == 16 {
        let sample = |row: &[u8], at: usize| u16::from_le_bytes([row[at], row[at + 1]]);
        for at in (T::BYTES..row.len()).step_by(2).rev() {
            let difference = sample(row, at).wrapping_sub(sample(row, at - T::BYTES));
            row[at..at + 2].copy_from_slice(&difference.to_le_bytes());
        }
    } else {
        for at in (T::CHANNELS..row.len()).rev() {
            row[at] = row[at].wrapping_sub(row[at - T::CHANNELS]);
        }
    }
}
