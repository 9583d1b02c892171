//! The segmentation of a slide, tile by tile.
//!
//! Law: each tile is an image of its own, with its halo; a pixel of the mask comes from the tile whose core it lies
//! in. The result does not depend on the number of threads. Memory is that of the tiles at work, a few for each
//! thread, and of one row of tiles: a bit to a pixel for the mask, the colours for an overlay and for a file stored in
//! whole rows.
//!
//! Such a file (PNG, JPEG, TIFF in strips) is read by one thread at a time in the order of the tiles,
//! so that no row is decoded twice; of any other each thread reads its own tiles.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use headwater::Error;
use headwater_imaging::files::{ImageError, Picture, Slide, TileBox, tiles};
use headwater_imaging::nuclei::Status;
use headwater_imaging::{Colour, MAX_PIXELS, Mosaic, PixelAgreement, Plane, View};

use super::order::{Plan, in_order};
use super::outputs::{self, Writing};
use super::segment::{
    Found, Job, Outputs, STATUSES, Segmented, Tally, Times, agreement, level, one, same_size,
    to_mask,
};
use super::{cores, open, unreadable, unwritable, wrong_use};
use crate::arguments::Common;
use crate::arguments::imaging::Segment;
use crate::progress::Steps;

/// Bytes of decoded parts of a file that a thread keeps.
const CACHE: usize = 64 << 20;

/// A file that several threads read.
enum Source {
    /// Each for itself.
    Each(PathBuf),
    /// One after another.
    Shared(PathBuf, Mutex<Slide>),
}

/// What a thread reads with.
enum Reader<'a> {
    Own(&'a Path, Box<Slide>),
    Shared(&'a Path, &'a Mutex<Slide>),
}

impl Source {
    fn new(path: &Path, level: usize, slide: Slide, (tile, halo): (u64, u64)) -> Source {
        let path = path.to_path_buf();
        match slide.levels().get(level) {
            Some(found) if found.chunk.0 >= found.width => {
                // A row of tiles, and what lies in strips above and below.
                let rows = tile + 2 * halo + 2 * found.chunk.1;
                let bytes = found.width.saturating_mul(3 * rows.min(found.height));
                let slide = slide.with_cache(CACHE.max(bytes as usize));
                Source::Shared(path, Mutex::new(slide))
            }
            _ => Source::Each(path),
        }
    }

    fn in_order(&self) -> bool {
        matches!(self, Source::Shared(..))
    }

    fn reader(&self) -> Result<Reader<'_>, Error> {
        Ok(match self {
            Source::Each(path) => Reader::Own(path, Box::new(open(path)?.with_cache(CACHE))),
            Source::Shared(path, slide) => Reader::Shared(path, slide),
        })
    }
}

impl Reader<'_> {
    fn read(
        &mut self,
        level: usize,
        (x, y): (u64, u64),
        (width, height): (u64, u64),
    ) -> Result<Picture, Error> {
        let (path, read) = match self {
            Reader::Own(path, slide) => (*path, slide.read_picture(level, x, y, width, height)),
            Reader::Shared(path, slide) => {
                let mut slide = slide.lock().unwrap_or_else(PoisonError::into_inner);
                (*path, slide.read_picture(level, x, y, width, height))
            }
        };
        read.map_err(|error| unreadable(path, error))
    }
}

/// What a tile gives.
struct Tile {
    found: Found,
    times: Times,
    agreement: Option<PixelAgreement>,
}

/// The part of a tile with its halo that is its core.
fn core<T: Copy>(tile: &TileBox, outer: &Plane<T>) -> Vec<T> {
    let (left, top) = tile.inset();
    let (left, top) = (left as usize, top as usize);
    let mut pixels = Vec::with_capacity((tile.width * tile.height) as usize);
    for y in 0..tile.height as usize {
        pixels.extend_from_slice(&outer.row(top + y)[left..left + tile.width as usize]);
    }
    pixels
}

fn compare(tile: &TileBox, mask: &Plane<u8>, reference: &Plane<u8>) -> PixelAgreement {
    let mask = core(tile, mask);
    let mask = View::new(tile.width as usize, tile.height as usize, &mask)
        .unwrap_or_else(|| unreachable!("as many pixels as the core has"));
    agreement(mask, reference.view())
}

/// The picture of a slide from the pictures of its tiles, one row of tiles at a time.
struct Drawing {
    writing: Writing<Colour>,
    width: usize,
    band: Vec<Colour>,
}

impl Drawing {
    fn place(&mut self, tile: &TileBox, drawn: &Plane<Colour>) -> Result<(), Error> {
        self.band.resize(self.width * tile.height as usize, [0; 3]);
        let core = core(tile, drawn);
        let rows = self.band.chunks_exact_mut(self.width);
        for (row, part) in rows.zip(core.chunks_exact(tile.width as usize)) {
            row[tile.x as usize..][..part.len()].copy_from_slice(part);
        }
        if tile.x + tile.width == self.width as u64 {
            self.writing
                .write_rows(self.band.chunks_exact(self.width))?;
        }
        Ok(())
    }
}

pub(super) fn segment(
    options: &Segment,
    common: &Common,
    job: &Job,
    outputs: Outputs,
    slide: Slide,
    tile: u64,
) -> Result<Segmented, Error> {
    let (width, height) = level(options, &slide)?;
    let halo = options.halo;
    let boxes: Vec<TileBox> = tiles(width, height, tile, halo).collect();
    let largest = boxes
        .iter()
        .map(|tile| tile.outer_width * tile.outer_height);
    if let Some(pixels) = largest.max().filter(|&pixels| pixels > MAX_PIXELS as u64) {
        return Err(wrong_use(
            format!("--tile {tile} --halo {halo}: {pixels} pixels are too many for a tile"),
            "choose smaller ones, such as --tile 4096 --halo 64",
        ));
    }
    let image = Source::new(&options.image, options.level, slide, (tile, halo));
    let reference = match options.reference.as_deref() {
        Some(path) => {
            let slide = open(path)?;
            same_size(path, (slide.width(), slide.height()), (width, height))?;
            Some(Source::new(path, 0, slide, (tile, 0)))
        }
        None => None,
    };
    let plan = Plan {
        count: boxes.len(),
        threads: options.cores.number().unwrap_or_else(cores),
        reads_in_order: image.in_order() || reference.as_ref().is_some_and(Source::in_order),
    };

    let (wide, high) = (width as usize, height as usize);
    let mask_path = outputs.mask.path.clone();
    let mut writing = outputs.mask.begin::<u8>(wide, high)?;
    let drawing = outputs
        .overlay
        .map(|output| output.begin::<Colour>(wide, high));
    let mut drawing = drawing.transpose()?.map(|writing| Drawing {
        writing,
        width: wide,
        band: Vec::new(),
    });
    // What the writer says is more than what the mosaic can pass on.
    let mut refused = None;
    let mut mosaic = Mosaic::new(width, height, tile, |row: &[u8]| {
        writing.write_row(row).map_err(|error| {
            let told = ImageError::Misplaced {
                problem: error.to_string(),
            };
            refused = Some(error);
            told
        })
    });
    let mut steps = Steps::new("segment", "tile", boxes.len(), common.json);
    let mut times = Times::default();
    let mut tally = Tally::default();
    let mut all = PixelAgreement {
        first: 0,
        second: 0,
        both: 0,
    };
    let done = in_order(
        plan,
        || {
            let reference = reference.as_ref().map(Source::reader).transpose()?;
            Ok((image.reader()?, reference))
        },
        |(image, reference), number| {
            let began = Instant::now();
            let tile = &boxes[number];
            let at = (tile.outer_x, tile.outer_y);
            let image = image.read(options.level, at, (tile.outer_width, tile.outer_height))?;
            let reference = reference.as_mut();
            let reference =
                reference.map(|file| file.read(0, (tile.x, tile.y), (tile.width, tile.height)));
            let reference = match (reference.transpose()?, options.reference.as_deref()) {
                (Some(picture), Some(path)) => Some(to_mask(path, picture)?),
                _ => None,
            };
            Ok((image, reference, began.elapsed().as_secs_f64()))
        },
        |number, (image, reference, read)| {
            let mut times = Times {
                read,
                ..Times::default()
            };
            let found = one(job, image.into_colour(), &mut times);
            let agreement = reference.map(|reference| {
                let mask = &found.segmentation.mask;
                compare(&boxes[number], mask, &reference)
            });
            Tile {
                found,
                times,
                agreement,
            }
        },
        |number, result| {
            let began = Instant::now();
            let tile = &boxes[number];
            let segmentation = &result.found.segmentation;
            times.add(&result.times);
            for (status, count) in STATUSES.iter().zip(&mut tally) {
                *count += u64::from(*status == segmentation.status);
            }
            if let Some(agreement) = result.agreement {
                all.first += agreement.first;
                all.second += agreement.second;
                all.both += agreement.both;
            }
            mosaic
                .place(tile, segmentation.mask.view())
                .map_err(|error| unwritable(&mask_path, error))?;
            if let (Some(drawing), Some(drawn)) = (&mut drawing, &result.found.drawn) {
                drawing.place(tile, drawn)?;
            }
            times.write += began.elapsed().as_secs_f64();
            steps.advance(1);
            Ok(())
        },
    );
    let counts = done.and_then(|()| {
        mosaic
            .finish()
            .map_err(|error| unwritable(&mask_path, error))
    });
    let counts = match (counts, refused) {
        (Err(_), Some(refused)) => return Err(refused),
        (counts, _) => counts?,
    };
    let began = Instant::now();
    let mut written = vec![writing.finish()?];
    if let Some(drawing) = drawing {
        written.push(drawing.writing.finish()?);
    }
    outputs::appear(written)?;
    times.write += began.elapsed().as_secs_f64();
    steps.finish();
    Ok(Segmented {
        size: (width, height),
        status: furthest(&tally),
        nuclei: counts.nuclei,
        foreground: counts.foreground,
        times,
        agreement: reference.is_some().then_some(all),
        tiles: Some(tally),
    })
}

/// The status of the tile that got furthest.
fn furthest(tally: &Tally) -> Status {
    let [done, background, likely, nothing] = tally.map(|count| count > 0);
    match (done, nothing, likely, background) {
        (true, ..) | (_, false, false, false) => Status::Done,
        (_, true, ..) => Status::Nothing,
        (_, _, true, _) => Status::LikelyBackground,
        _ => Status::Background,
    }
}
