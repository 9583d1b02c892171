//! An image of a TIFF file: where its strips or tiles are and what their samples mean.
//!
//! Law: the tags of an image are checked together once; after that a chunk, which is a strip or a tile, becomes a
//! picture of its part of the image or an error. Long strips that are not compressed are read in shorter pieces.
//! A chunk that the file leaves out is white in a colour image and 0 in a grey one.

use std::io::{Read, Seek};

use super::directory::{Directory, Source};
use super::unpack::{Compression, undo_differences_8, undo_differences_16};
use super::{FORMAT, tag};
use crate::Plane;
use crate::files::jpeg::{self, Reading};
use crate::files::picture::Tone;
use crate::files::samples::{Alpha, Layout, Meaning};
use crate::files::{ImageError, Picture};

/// Bytes of samples in a chunk at most.
const MOST_BYTES: u64 = 512 << 20;
/// Bytes of samples that a chunk without data may stand for.
const MOST_ABSENT: u64 = 16 << 20;
/// Pieces of long strips have about so many bytes.
const PIECE: u64 = 1 << 20;

/// Tables and padding that a packed chunk may have besides.
const SLACK: u64 = 1 << 16;

/// Where chunks are in the file.
struct Places {
    offsets: Vec<u64>,
    counts: Vec<u64>,
}

/// An image of a file.
pub(crate) struct Image {
    directory: Directory,
    /// Whether the data was found to be enough for the image.
    plausible: bool,
    width: u64,
    height: u64,
    tiled: bool,
    /// Size of a strip or tile.
    chunk: (u64, u64),
    /// Rows of a piece; those of a strip or tile unless strips are cut up.
    piece: u64,
    compression: Compression,
    differences: bool,
    bits: u64,
    planar: bool,
    layout: Layout,
    ycbcr: bool,
    tables: Vec<u8>,
    places: Option<Places>,
}

/// Which pixels of a chunk go where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkPart {
    to: (usize, usize),
    at: (usize, usize),
    size: (usize, usize),
}

impl ChunkPart {
    /// Copies the pixels.
    pub(crate) fn copy(self, to: &mut Picture, chunk: &Picture) {
        to.copy(self.to, chunk, self.at, self.size);
    }
}

impl Image {
    /// Reads and checks the tags of an image, all but the lists of its chunks.
    pub(crate) fn new<R: Read + Seek>(
        source: &mut Source<R>,
        directory: &Directory,
    ) -> Result<Image, ImageError> {
        let mut number = |tag: u16, otherwise: u64| {
            Ok::<u64, ImageError>(source.first_number(directory, tag)?.unwrap_or(otherwise))
        };
        let (width, height) = (number(tag::WIDTH, 0)?, number(tag::HEIGHT, 0)?);
        if width == 0 || height == 0 {
            return Err(ImageError::Empty { width, height });
        }
        let compression = Compression::from_number(number(tag::COMPRESSION, 1)?)?;
        let bits = number(tag::BITS, 1)?;
        let samples = number(tag::SAMPLES, 1)?;
        let photometric = number(tag::PHOTOMETRIC, 1)?;
        let predictor = number(tag::PREDICTOR, 1)?;
        let planar = number(tag::PLANAR, 1)? == 2 && samples > 1;
        let sample_format = number(tag::SAMPLE_FORMAT, 1)?;
        let tiled = directory.has(tag::TILE_OFFSETS);
        let chunk = if tiled {
            (number(tag::TILE_WIDTH, 0)?, number(tag::TILE_HEIGHT, 0)?)
        } else {
            (width, number(tag::ROWS_PER_STRIP, height)?.min(height))
        };
        let unsupported = |found: String| Err(ImageError::unsupported(FORMAT, found));
        if width > u64::from(u32::MAX) || height > u64::from(u32::MAX) {
            return Err(ImageError::damaged(
                FORMAT,
                format!("a size of {width} × {height}"),
            ));
        }
        if !matches!(sample_format, 1 | 4) {
            let name = if sample_format == 2 { "signed" } else { "real" };
            return unsupported(format!("{name} numbers as samples"));
        }
        if !matches!(bits, 1 | 2 | 4 | 8 | 16) {
            return unsupported(format!("samples of {bits} bits"));
        }
        if source
            .numbers(directory, tag::BITS)?
            .iter()
            .any(|&other| other != bits)
        {
            return unsupported("samples of different numbers of bits".to_owned());
        }
        let differences = match predictor {
            1 => false,
            2 if bits >= 8 => true,
            _ => return unsupported(format!("predictor {predictor} at {bits} bits")),
        };
        let meaning = match photometric {
            0 => Meaning::Negative,
            1 => Meaning::Grey,
            2 => Meaning::Colour,
            3 if bits <= 8 => {
                Meaning::Palette(palette(&source.numbers(directory, tag::PALETTE)?, bits)?)
            }
            5 => Meaning::Cmyk,
            6 if compression == Compression::Jpeg => Meaning::Colour,
            6 => return unsupported("YCbCr colours that are not JPEG".to_owned()),
            other => return unsupported(format!("colours of kind {other}")),
        };
        if samples < meaning.samples() as u64 || samples > 64 {
            return Err(ImageError::damaged(
                FORMAT,
                format!("{samples} samples per pixel with colours of kind {photometric}"),
            ));
        }
        let extra = source.first_number(directory, tag::EXTRA_SAMPLES)?;
        let alpha = match extra {
            Some(1) if samples > meaning.samples() as u64 => Alpha::Multiplied,
            Some(2) if samples > meaning.samples() as u64 => Alpha::Straight,
            _ => Alpha::None,
        };
        if compression == Compression::Jpeg && bits != 8 {
            return unsupported(format!("JPEG of {bits} bits"));
        }
        let (chunk_width, chunk_height) = chunk;
        let row_bytes = chunk_width
            .saturating_mul(samples)
            .saturating_mul(bits)
            .div_ceil(8);
        let mut piece = chunk_height;
        if compression == Compression::None && !tiled {
            piece = chunk_height.min((PIECE / row_bytes.max(1)).max(1));
        }
        // Samples of fewer bits take a byte each when unpacked.
        let unpacked = chunk_width
            .saturating_mul(samples)
            .saturating_mul(bits.max(8) / 8);
        if chunk_width == 0 || chunk_height == 0 || unpacked.saturating_mul(piece) > MOST_BYTES {
            return Err(ImageError::Unsupported {
                format: FORMAT,
                found: format!("strips or tiles of {chunk_width} × {chunk_height} pixels"),
                way_out: "save it with tiles of 256 × 256".to_owned(),
            });
        }
        Ok(Image {
            width,
            height,
            tiled,
            chunk,
            piece,
            compression,
            differences,
            bits,
            planar,
            layout: Layout {
                meaning,
                alpha,
                samples: samples as usize,
                deep: bits == 16,
            },
            ycbcr: photometric == 6,
            tables: source.data(directory, tag::JPEG_TABLES)?,
            places: None,
            directory: directory.clone(),
            plausible: false,
        })
    }

    /// Pixels in a row.
    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    /// Rows.
    pub(crate) fn height(&self) -> u64 {
        self.height
    }

    /// Whether it has tiles rather than strips.
    pub(crate) fn tiled(&self) -> bool {
        self.tiled
    }

    /// What kind of picture it is.
    pub(crate) fn tone(&self) -> Tone {
        self.layout.tone()
    }

    /// The size of tiles, or of strips.
    pub(crate) fn chunk_size(&self) -> (u64, u64) {
        self.chunk
    }

    fn across(&self) -> u64 {
        self.width.div_ceil(self.chunk.0)
    }

    fn down(&self) -> u64 {
        self.height.div_ceil(self.chunk.1)
    }

    fn pieces(&self) -> u64 {
        self.chunk.1.div_ceil(self.piece)
    }

    /// The upper edge and the number of rows of chunks whose row is this one; only rows of the image.
    fn rows(&self, row: u64) -> (u64, u64) {
        let (strip, piece) = (row / self.pieces(), row % self.pieces());
        let within = piece * self.piece;
        let top = strip * self.chunk.1 + within;
        let rows = self.piece.min(self.chunk.1 - within);
        (top, rows.min(self.height.saturating_sub(top)))
    }

    /// The chunks that a box touches, each with what of it goes where in a picture of the box. The box lies within
    /// the image and is not larger than a picture may be.
    pub(crate) fn touched(&self, x: u64, y: u64, width: u64, height: u64) -> Vec<(u64, ChunkPart)> {
        let mut touched = Vec::new();
        if width == 0 || height == 0 {
            return touched;
        }
        let row_of = |y: u64| y / self.chunk.1 * self.pieces() + y % self.chunk.1 / self.piece;
        for row in row_of(y)..=row_of(y + height - 1) {
            let (top, rows) = self.rows(row);
            let (upper, lower) = (top.max(y), (top + rows).min(y + height));
            for column in x / self.chunk.0..=(x + width - 1) / self.chunk.0 {
                let left = column * self.chunk.0;
                let (from, to) = (left.max(x), (left + self.chunk.0).min(x + width));
                if lower <= upper || to <= from {
                    continue;
                }
                let place = ChunkPart {
                    to: ((from - x) as usize, (upper - y) as usize),
                    at: ((from - left) as usize, (upper - top) as usize),
                    size: ((to - from) as usize, (lower - upper) as usize),
                };
                touched.push((row * self.across() + column, place));
            }
        }
        touched
    }

    fn places<R: Read + Seek>(&mut self, source: &mut Source<R>) -> Result<&Places, ImageError> {
        if self.places.is_none() {
            let (offsets, counts) = if self.tiled {
                (tag::TILE_OFFSETS, tag::TILE_BYTES)
            } else {
                (tag::STRIP_OFFSETS, tag::STRIP_BYTES)
            };
            let offsets = source.numbers(&self.directory, offsets)?;
            let mut counts = source.numbers(&self.directory, counts)?;
            let planes = if self.planar {
                self.layout.samples as u64
            } else {
                1
            };
            let expected = self
                .across()
                .saturating_mul(self.down())
                .saturating_mul(planes);
            if counts.is_empty() && offsets.len() == 1 {
                // Old writers left it out for a single strip.
                counts = vec![source.length().saturating_sub(offsets[0])];
            }
            if (offsets.len() as u64) < expected || (counts.len() as u64) < expected {
                return Err(ImageError::damaged(
                    FORMAT,
                    format!(
                        "{} strips or tiles in lists of {} and {} entries",
                        expected,
                        offsets.len(),
                        counts.len()
                    ),
                ));
            }
            self.places = Some(Places { offsets, counts });
        }
        match &self.places {
            Some(places) => Ok(places),
            None => Err(ImageError::damaged(FORMAT, "no strips or tiles")),
        }
    }

    /// Checks that the data of all chunks together could hold the whole image.
    pub(crate) fn check_plausible<R: Read + Seek>(
        &mut self,
        source: &mut Source<R>,
    ) -> Result<(), ImageError> {
        if self.plausible {
            return Ok(());
        }
        let bits = self.bits * self.layout.samples as u64;
        let needed = self
            .width
            .saturating_mul(bits)
            .div_ceil(8)
            .saturating_mul(self.height);
        let (ratio, length) = (self.compression.ratio(), source.length());
        let places = self.places(source)?;
        // A chunk that is left out stands for blank pixels and needs no data.
        let absent = places.counts.iter().filter(|&&count| count == 0).count() as u64;
        let bytes = places
            .counts
            .iter()
            .fold(0, |sum: u64, &count| sum.saturating_add(count.min(length)));
        if needed
            > bytes
                .saturating_mul(ratio)
                .saturating_add(absent.saturating_mul(MOST_ABSENT))
        {
            return Err(ImageError::Implausible {
                format: FORMAT,
                width: self.width,
                height: self.height,
                bytes,
            });
        }
        self.plausible = true;
        Ok(())
    }

    /// Decodes a chunk. It has the width of a strip or tile, also where that reaches beyond the image, and the rows
    /// that lie in the image.
    pub(crate) fn read_chunk<R: Read + Seek>(
        &mut self,
        source: &mut Source<R>,
        chunk: u64,
    ) -> Result<Picture, ImageError> {
        let (row, column) = (chunk / self.across(), chunk % self.across());
        let (_, rows) = self.rows(row);
        let (strip, piece) = (row / self.pieces(), row % self.pieces());
        let index = strip * self.across() + column;
        let per_plane = self.across() * self.down();
        let planes = if self.planar { self.layout.samples } else { 1 };
        let upper_first = source.upper_first();
        let mut parts = Vec::with_capacity(planes);
        for plane in 0..planes as u64 {
            let (mut offset, mut count) = {
                let places = self.places(source)?;
                let at = (plane * per_plane + index) as usize;
                (places.offsets[at], places.counts[at])
            };
            if count == 0 {
                return self.absent(rows);
            }
            if self.pieces() > 1 {
                let row_bytes = self.row_bytes();
                let skipped = piece * self.piece * row_bytes;
                offset = offset.saturating_add(skipped);
                count = count.saturating_sub(skipped).min(rows * row_bytes);
            }
            // Packing never makes things much larger; what more is claimed belongs to others.
            let count = count.min((rows * self.row_bytes()).saturating_mul(4) + SLACK);
            let packed = source.bytes(offset, count)?;
            parts.push(if self.compression == Compression::Jpeg {
                let visible = self.chunk.0.min(self.width - column * self.chunk.0);
                self.jpeg(&packed, visible, rows)?
            } else {
                self.samples(packed, rows, upper_first)?
            });
        }
        let samples = if planes == 1 {
            parts.swap_remove(0)
        } else {
            interleave(&parts)
        };
        let mut picture = self.tone().blank(self.chunk.0 as usize, rows as usize);
        let per_row = self.chunk.0 as usize * self.layout.samples;
        match samples {
            Samples::Eight(samples) => {
                for (y, row) in samples
                    .chunks_exact(per_row)
                    .take(rows as usize)
                    .enumerate()
                {
                    self.layout.put_row(row, &mut picture, y);
                }
            }
            Samples::Sixteen(samples) => {
                for (y, row) in samples
                    .chunks_exact(per_row)
                    .take(rows as usize)
                    .enumerate()
                {
                    self.layout.put_row(row, &mut picture, y);
                }
            }
        }
        Ok(picture)
    }

    fn absent(&self, rows: u64) -> Result<Picture, ImageError> {
        let samples = self.chunk.0 * rows * self.layout.samples as u64;
        if samples.saturating_mul(self.bits.max(8) / 8) > MOST_ABSENT {
            return Err(ImageError::damaged(
                FORMAT,
                "a large strip or tile has no data",
            ));
        }
        let (width, rows) = (self.chunk.0 as usize, rows as usize);
        Ok(match self.tone() {
            Tone::Colour => Picture::Colour(Plane::filled(width, rows, [255; 3])),
            tone => tone.blank(width, rows),
        })
    }

    /// Samples of a pixel within a chunk.
    fn chunk_samples(&self) -> usize {
        if self.planar { 1 } else { self.layout.samples }
    }

    fn row_bytes(&self) -> u64 {
        (self.chunk.0 * self.chunk_samples() as u64 * self.bits).div_ceil(8)
    }

    fn samples(
        &self,
        packed: Vec<u8>,
        rows: u64,
        upper_first: bool,
    ) -> Result<Samples, ImageError> {
        let size = rows * self.row_bytes();
        if size > (packed.len() as u64).saturating_mul(self.compression.ratio()) {
            return Err(ImageError::damaged(
                FORMAT,
                "a strip or tile ends too early",
            ));
        }
        let mut bytes = self.compression.unpack(packed, size as usize)?;
        let per_pixel = self.chunk_samples();
        let per_row = self.chunk.0 as usize * per_pixel;
        if self.bits == 16 {
            let join = if upper_first {
                u16::from_be_bytes
            } else {
                u16::from_le_bytes
            };
            let mut samples: Vec<u16> = bytes
                .as_chunks::<2>()
                .0
                .iter()
                .map(|&pair| join(pair))
                .collect();
            if self.differences {
                samples
                    .chunks_exact_mut(per_row)
                    .for_each(|row| undo_differences_16(row, per_pixel));
            }
            return Ok(Samples::Sixteen(samples));
        }
        if self.bits == 8 {
            if self.differences {
                bytes
                    .chunks_exact_mut(per_row)
                    .for_each(|row| undo_differences_8(row, per_pixel));
            }
            return Ok(Samples::Eight(bytes));
        }
        let most = (1u8 << self.bits) - 1;
        let scale = if matches!(self.layout.meaning, Meaning::Palette(_)) {
            1
        } else {
            255 / most
        };
        let per_byte = 8 / self.bits as usize;
        let mut samples = Vec::with_capacity(per_row * rows as usize);
        for row in bytes.chunks_exact(self.row_bytes() as usize) {
            samples.extend((0..per_row).map(|at| {
                let shift = 8 - self.bits as usize * (at % per_byte + 1);
                (row[at / per_byte] >> shift & most) * scale
            }));
        }
        Ok(Samples::Eight(samples))
    }

    /// Decodes a JPEG chunk of which so many pixels and rows lie in the image.
    fn jpeg(&self, packed: &[u8], visible: u64, rows: u64) -> Result<Samples, ImageError> {
        let reading = if self.ycbcr {
            Reading::Marked
        } else {
            Reading::Raw
        };
        // Tables come first, without their end mark; the stream follows without its begin mark.
        let joined;
        let stream = match (
            self.tables.strip_suffix(b"\xff\xd9"),
            packed.strip_prefix(b"\xff\xd8"),
        ) {
            (Some(tables), Some(rest)) => {
                joined = [tables, rest].concat();
                joined.as_slice()
            }
            _ => packed,
        };
        // A stream may be padded to whole blocks.
        let limit = (self.chunk.0 + 64) * (self.chunk.1 + 64);
        let decoded = jpeg::decode(stream, reading, limit)?;
        let channels = self.chunk_samples();
        if decoded.channels != channels
            || (decoded.width as u64) < visible
            || (decoded.height as u64) < rows
        {
            return Err(ImageError::damaged(
                FORMAT,
                format!(
                    "a JPEG of {} × {} pixels with {} channels in a strip or tile of {} × {} with {channels}",
                    decoded.width, decoded.height, decoded.channels, self.chunk.0, rows
                ),
            ));
        }
        if decoded.width as u64 == self.chunk.0 {
            return Ok(Samples::Eight(decoded.samples));
        }
        let per_row = self.chunk.0 as usize * channels;
        let mut samples = vec![0; per_row * rows as usize];
        let used = per_row.min(decoded.width * channels);
        for (to, from) in samples
            .chunks_exact_mut(per_row)
            .zip(decoded.samples.chunks_exact(decoded.width * channels))
        {
            to[..used].copy_from_slice(&from[..used]);
        }
        Ok(Samples::Eight(samples))
    }
}

/// Samples of a chunk.
enum Samples {
    Eight(Vec<u8>),
    Sixteen(Vec<u16>),
}

/// Planes become pixels; the planes are of one kind and one length.
fn interleave(planes: &[Samples]) -> Samples {
    fn join<T: Copy + Default>(planes: &[&Vec<T>]) -> Vec<T> {
        let length = planes.iter().map(|plane| plane.len()).min().unwrap_or(0);
        let mut joined = vec![T::default(); length * planes.len()];
        for (number, plane) in planes.iter().enumerate() {
            for (to, &from) in joined
                .iter_mut()
                .skip(number)
                .step_by(planes.len())
                .zip(plane.iter())
            {
                *to = from;
            }
        }
        joined
    }
    let eight: Vec<&Vec<u8>> = planes
        .iter()
        .filter_map(|plane| match plane {
            Samples::Eight(samples) => Some(samples),
            Samples::Sixteen(_) => None,
        })
        .collect();
    if eight.len() == planes.len() {
        return Samples::Eight(join(&eight));
    }
    let sixteen: Vec<&Vec<u16>> = planes
        .iter()
        .filter_map(|plane| match plane {
            Samples::Sixteen(samples) => Some(samples),
            Samples::Eight(_) => None,
        })
        .collect();
    Samples::Sixteen(join(&sixteen))
}

/// The colours of a palette: all reds, all greens, all blues, of 16 bits each.
fn palette(numbers: &[u64], bits: u64) -> Result<Vec<crate::Colour>, ImageError> {
    let count = 1usize << bits;
    if numbers.len() < 3 * count {
        return Err(ImageError::damaged(
            FORMAT,
            "a palette image has no whole palette",
        ));
    }
    // Some writers put 8 bits where 16 belong.
    let shift = if numbers.iter().all(|&number| number < 256) {
        0
    } else {
        8
    };
    let part = |at: usize| (numbers[at] >> shift) as u8;
    Ok((0..count)
        .map(|at| [part(at), part(count + at), part(2 * count + at)])
        .collect())
}
