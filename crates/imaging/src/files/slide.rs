//! Slides: images too large for memory, read in parts.
//!
//! Law: a box of a level has the pixels of the file, whatever was read before; memory is that of the box and of a
//! cache with a bound in bytes. Of a TIFF the strips and tiles that the box touches are decoded, of a PNG the rows
//! from the last box on (or from the first row, when the box lies above); a JPEG is decoded whole at the start.
//!
//! Boxes read row of tiles by row of tiles, as [`tiles`](super::tiles) gives them, decode nothing twice as long as
//! the cache holds such a row.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Colour, Plane};

use super::kind::{Kind, SNIFF};
use super::picture::check_size;
use super::png_reader::PngReader;
use super::tiff::directory::{Directory, Source};
use super::tiff::image::Image;
use super::tiff::tag;
use super::{ImageError, Picture, jpeg};

/// Bytes of decoded strips and tiles that are kept unless [`Slide::with_cache`] says otherwise.
const CACHE: usize = 256 << 20;
/// Pixels of a file that can only be decoded whole: a JPEG or an interlaced PNG.
const WHOLE: u64 = 1 << 28;
/// Bytes of a band of rows that is held of a PNG.
const BAND: u64 = 1 << 30;
/// Directories of a TIFF that are looked at.
const DIRECTORIES: usize = 256;

/// Something to read a slide from.
trait Input: Read + Seek + Send {}
impl<T: Read + Seek + Send> Input for T {}

/// A size at which a slide is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Pixels in a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// How many pixels of the full size lie side by side in one of this level.
    pub downsample: f64,
    /// Size of the tiles or strips in the file, for choosing boxes that suit it.
    pub chunk: (u64, u64),
}

impl Level {
    /// Whether it is stored in whole rows, as PNG, JPEG and TIFF in strips are. Whoever reads tiles of such a file out
    /// of order decodes its rows again and again.
    pub fn is_in_rows(&self) -> bool {
        self.chunk.0 >= self.width
    }

    /// How many bytes the pixels of a row of tiles take, in colour, with their halos and what lies in strips above and
    /// below.
    pub fn bytes_of_tiles(&self, tile: u64, halo: u64) -> u64 {
        let around = halo.saturating_add(self.chunk.1).saturating_mul(2);
        let rows = tile.saturating_add(around).min(self.height);
        self.width.saturating_mul(rows.saturating_mul(3))
    }
}

/// A slide open for reading.
pub struct Slide {
    levels: Vec<Level>,
    pixels: Pixels,
}

enum Pixels {
    Tiff(Box<Tiff>),
    Rows(Box<Rows>),
    Whole(Picture),
}

struct Tiff {
    source: Source<Box<dyn Input>>,
    images: Vec<Image>,
    /// Decoded chunks by level and number, the one used last at the back.
    cache: VecDeque<((usize, u64), Picture)>,
    cached: usize,
    limit: usize,
}

/// A PNG of which a band of rows is held.
struct Rows {
    input: Shared,
    reader: PngReader<BufReader<Shared>>,
    length: u64,
    /// The first row that is held.
    top: usize,
    band: VecDeque<Picture>,
    /// Whether the reader stopped at an error, so that only a new one can go on.
    stopped: bool,
}

/// A file that several readers are made of, one after the other.
#[derive(Clone)]
struct Shared(Arc<Mutex<Box<dyn Input>>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Box<dyn Input>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.lock().read(buffer)
    }
}

impl Seek for Shared {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.lock().seek(to)
    }
}

impl Slide {
    /// Opens a TIFF (also of the big form, also Aperio SVS), PNG or JPEG file.
    pub fn open(reader: impl Read + Seek + Send + 'static) -> Result<Slide, ImageError> {
        let mut reader: Box<dyn Input> = Box::new(reader);
        let length = reader.seek(SeekFrom::End(0))?;
        reader.seek(SeekFrom::Start(0))?;
        let mut head = Vec::new();
        reader.by_ref().take(SNIFF as u64).read_to_end(&mut head)?;
        reader.seek(SeekFrom::Start(0))?;
        match Kind::of(&head)? {
            Kind::Tiff => open_tiff(reader),
            Kind::Png => open_png(reader, length),
            Kind::Jpeg => {
                let mut bytes = Vec::new();
                reader.read_to_end(&mut bytes)?;
                Ok(whole(jpeg::read_limited(&bytes, WHOLE)?))
            }
        }
    }

    /// Keeps at most so many bytes of decoded strips and tiles (the one in use besides).
    pub fn with_cache(mut self, bytes: usize) -> Slide {
        if let Pixels::Tiff(tiff) = &mut self.pixels {
            tiff.limit = bytes;
        }
        self
    }

    /// Pixels in a row at full size.
    pub fn width(&self) -> u64 {
        self.levels[0].width
    }

    /// Rows at full size.
    pub fn height(&self) -> u64 {
        self.levels[0].height
    }

    /// The sizes at which the slide is stored, the full one first; never empty.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The pixels of a box of a level, in coordinates of that level. Grey slides give grey colours.
    pub fn read(
        &mut self,
        level: usize,
        x: u64,
        y: u64,
        width: u64,
        height: u64,
    ) -> Result<Plane<Colour>, ImageError> {
        self.read_picture(level, x, y, width, height)
            .map(Picture::into_colour)
    }

    /// The same without turning grey into colour, for masks and labels.
    pub fn read_picture(
        &mut self,
        level: usize,
        x: u64,
        y: u64,
        width: u64,
        height: u64,
    ) -> Result<Picture, ImageError> {
        let found = self.levels.get(level);
        let (level_width, level_height) = found.map_or((0, 0), |level| (level.width, level.height));
        let within =
            |from: u64, size: u64, end: u64| from.checked_add(size).is_some_and(|to| to <= end);
        if found.is_none() || !within(x, width, level_width) || !within(y, height, level_height) {
            return Err(ImageError::Outside {
                level,
                levels: self.levels.len(),
                x,
                y,
                width,
                height,
                level_width,
                level_height,
            });
        }
        check_size(width, height)?;
        match &mut self.pixels {
            Pixels::Tiff(tiff) => tiff.read(level, x, y, width, height),
            Pixels::Rows(rows) => rows.read(x, y, width, height),
            Pixels::Whole(picture) => {
                let mut part = tone(picture).blank(width as usize, height as usize);
                part.copy(
                    (0, 0),
                    picture,
                    (x as usize, y as usize),
                    (width as usize, height as usize),
                );
                Ok(part)
            }
        }
    }
}

fn tone(picture: &Picture) -> super::picture::Tone {
    use super::picture::Tone;
    match picture {
        Picture::Grey(_) => Tone::Grey,
        Picture::Deep(_) => Tone::Deep,
        Picture::Colour(_) => Tone::Colour,
    }
}

fn whole(picture: Picture) -> Slide {
    let (width, height) = (picture.width() as u64, picture.height() as u64);
    Slide {
        levels: vec![Level {
            width,
            height,
            downsample: 1.0,
            chunk: (width, height),
        }],
        pixels: Pixels::Whole(picture),
    }
}

fn open_png(reader: Box<dyn Input>, length: u64) -> Result<Slide, ImageError> {
    let input = Shared(Arc::new(Mutex::new(reader)));
    let reader = PngReader::new(BufReader::new(input.clone()), length)?;
    let (width, height) = (reader.width() as u64, reader.height() as u64);
    if reader.interlaced() {
        if width * height > WHOLE {
            return Err(ImageError::TooLarge {
                width,
                height,
                limit: WHOLE,
                way_out: "this PNG is interlaced; save it without interlacing, or as a tiled TIFF",
            });
        }
        return Ok(whole(reader.read_all()?));
    }
    Ok(Slide {
        levels: vec![Level {
            width,
            height,
            downsample: 1.0,
            chunk: (width, 1),
        }],
        pixels: Pixels::Rows(Box::new(Rows {
            input,
            reader,
            length,
            top: 0,
            band: VecDeque::new(),
            stopped: false,
        })),
    })
}

impl Rows {
    fn read(&mut self, x: u64, y: u64, width: u64, height: u64) -> Result<Picture, ImageError> {
        let full = self.reader.width();
        if (full as u64 * 3).saturating_mul(height) > BAND {
            return Err(ImageError::TooLarge {
                width: full as u64,
                height,
                limit: BAND / 3,
                way_out: "a PNG is read in whole rows; ask for lower boxes, or save it as a tiled TIFF",
            });
        }
        let (from, to) = (y as usize, (y + height) as usize);
        if from < self.top || self.stopped {
            self.band.clear();
            self.top = 0;
            self.stopped = true;
            self.input.seek(SeekFrom::Start(0))?;
            self.reader = PngReader::new(BufReader::new(self.input.clone()), self.length)?;
            self.stopped = false;
        }
        while self.top < from && self.band.pop_front().is_some() {
            self.top += 1;
        }
        let tone = self.reader.tone();
        let mut spare = None;
        while self.reader.next() < to {
            let mut row = spare.take().unwrap_or_else(|| tone.blank(full, 1));
            let number = self.reader.next();
            self.stopped = true;
            self.reader.read_row(&mut row, 0)?;
            self.stopped = false;
            if number < from {
                self.top = number + 1;
                spare = Some(row);
            } else {
                self.band.push_back(row);
            }
        }
        let mut picture = tone.blank(width as usize, height as usize);
        for (row, line) in self.band.iter().take(height as usize).enumerate() {
            picture.copy((0, row), line, (x as usize, 0), (width as usize, 1));
        }
        Ok(picture)
    }
}

fn open_tiff(reader: Box<dyn Input>) -> Result<Slide, ImageError> {
    let mut source = Source::open(reader)?;
    let first = source.directory(source.first())?;
    let image = Image::new(&mut source, &first)?;
    let (width, height) = (image.width(), image.height());
    let aperio = source
        .text(&first, tag::DESCRIPTION)
        .is_ok_and(|text| text.starts_with("Aperio"));
    let mut images = vec![image];
    for directory in others(&mut source, &first) {
        // What is not understood among the smaller images is passed over: the slide can be read without it.
        let Ok(image) = Image::new(&mut source, &directory) else {
            continue;
        };
        let reduced = matches!(source.first_number(&directory, tag::SUBFILE), Ok(Some(kind)) if kind & 1 == 1);
        let smaller = images
            .last()
            .is_some_and(|last| image.width() < last.width());
        let marked = if aperio {
            image.tiled()
        } else {
            image.tiled() || reduced
        };
        if marked && smaller && same_shape((width, height), (image.width(), image.height())) {
            images.push(image);
        }
    }
    let levels = images
        .iter()
        .map(|image| Level {
            width: image.width(),
            height: image.height(),
            downsample: (width as f64 / image.width() as f64
                + height as f64 / image.height() as f64)
                / 2.0,
            chunk: image.chunk_size(),
        })
        .collect();
    Ok(Slide {
        levels,
        pixels: Pixels::Tiff(Box::new(Tiff {
            source,
            images,
            cache: VecDeque::new(),
            cached: 0,
            limit: CACHE,
        })),
    })
}

/// The directories after the first and those under it, as far as they can be read.
fn others(source: &mut Source<Box<dyn Input>>, first: &Directory) -> Vec<Directory> {
    let mut seen = vec![source.first()];
    let mut found = Vec::new();
    let under = source
        .numbers(first, tag::SUBDIRECTORIES)
        .unwrap_or_default();
    let mut waiting: VecDeque<u64> = under.into_iter().take(DIRECTORIES).collect();
    let mut next = first.next();
    while found.len() < DIRECTORIES {
        let (at, chained) = match waiting.pop_front() {
            Some(at) => (at, false),
            None => (next, true),
        };
        if chained && (at == 0 || seen.contains(&at)) {
            break;
        }
        if at == 0 || seen.contains(&at) {
            continue;
        }
        seen.push(at);
        let Ok(directory) = source.directory(at) else {
            if chained {
                break;
            }
            continue;
        };
        if chained {
            next = directory.next();
        }
        found.push(directory);
    }
    found
}

/// Whether a smaller image shows the whole of a larger one, up to rounding in its size.
fn same_shape(large: (u64, u64), small: (u64, u64)) -> bool {
    let across = large.0 as f64 / small.0 as f64;
    let down = large.1 as f64 / small.1 as f64;
    // A pixel more or less in either direction.
    let slack = (1.0 / small.0 as f64 + 1.0 / small.1 as f64).max(0.01);
    (across / down - 1.0).abs() <= slack
}

impl Tiff {
    fn read(
        &mut self,
        level: usize,
        x: u64,
        y: u64,
        width: u64,
        height: u64,
    ) -> Result<Picture, ImageError> {
        // Tiles that the file has no room for are not even counted.
        self.images[level].check_plausible(&mut self.source)?;
        let image = &self.images[level];
        let mut picture = image.tone().blank(width as usize, height as usize);
        for (number, place) in image.touched(x, y, width, height) {
            let key = (level, number);
            let chunk = match self.cache.iter().rposition(|(other, _)| *other == key) {
                Some(at) => self.cache.remove(at),
                None => None,
            };
            let chunk = match chunk {
                Some(chunk) => chunk,
                None => {
                    let chunk = self.images[level].read_chunk(&mut self.source, number)?;
                    self.cached += chunk.bytes();
                    (key, chunk)
                }
            };
            place.copy(&mut picture, &chunk.1);
            self.cache.push_back(chunk);
            while self.cached > self.limit && self.cache.len() > 1 {
                if let Some((_, old)) = self.cache.pop_front() {
                    self.cached -= old.bytes();
                }
            }
        }
        Ok(picture)
    }
}
