//! The segmentation of a slide by several threads, from files to files; what is done to a tile, and how tiles become
//! a slide, is in the image library.
//!
//! Law: the result does not depend on the number of threads. Memory is that of the tiles at work, a few for each
//! thread, and of one row of tiles: a bit to a pixel for the mask, the colours for an overlay and for a file stored in
//! whole rows.
//!
//! Such a file (PNG, JPEG, TIFF in strips) is read by one thread at a time in the order of the tiles,
//! so that no row is decoded twice; of any other each thread reads its own tiles.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use headwater::Error;
use headwater_imaging::files::{ImageError, Picture, Slide, TileBox, Tiling};
use headwater_imaging::segmentation::{Job, SlideSegmentation, TileFound};
use headwater_imaging::{Colour, MAX_PIXELS, Plane};

use super::order::{Plan, in_order};
use super::outputs;
use super::segment::{Outputs, Segmented, Times, Watch, level, same_size, to_mask};
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
            Some(found) if found.is_in_rows() => {
                let bytes = found.bytes_of_tiles(tile, halo);
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
    fn path(&self) -> &Path {
        match self {
            Reader::Own(path, _) | Reader::Shared(path, _) => path,
        }
    }

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

/// What a tile is made of: the image with its halo, and the core of the reference.
struct Material {
    image: Picture,
    reference: Option<Plane<u8>>,
    /// How long it took to read them.
    seconds: f64,
}

/// A tile that was segmented.
struct Tile {
    found: TileFound,
    times: Times,
}

impl Material {
    fn read(
        level: usize,
        tile: &TileBox,
        image: &mut Reader<'_>,
        reference: Option<&mut Reader<'_>>,
    ) -> Result<Material, Error> {
        let began = Instant::now();
        let at = (tile.outer_x, tile.outer_y);
        let image = image.read(level, at, (tile.outer_width, tile.outer_height))?;
        let reference = reference.map(|file| {
            let picture = file.read(0, (tile.x, tile.y), (tile.width, tile.height))?;
            to_mask(file.path(), picture)
        });
        Ok(Material {
            image,
            reference: reference.transpose()?,
            seconds: began.elapsed().as_secs_f64(),
        })
    }

    fn segment(self, job: &Job, tile: &TileBox) -> Tile {
        let image = self.image.into_colour();
        let reference = self.reference.as_ref().map(Plane::view);
        let mut watch = Watch::default();
        let found = job
            .run_tile(tile, image, reference, |step| watch.began(step))
            .unwrap_or_else(|_| unreachable!("both were read in the size of the tile"));
        let times = Times {
            read: self.seconds,
            ..watch.times()
        };
        Tile { found, times }
    }
}

/// Why the result of a tile found no place.
enum Refused {
    /// It does not go where it was to be written.
    Misplaced(ImageError),
    /// A file could not be written.
    Unwritten(Error),
}

impl From<ImageError> for Refused {
    fn from(error: ImageError) -> Refused {
        Refused::Misplaced(error)
    }
}

impl Refused {
    fn told(self, mask: &Path) -> Error {
        match self {
            Refused::Misplaced(error) => unwritable(mask, error),
            Refused::Unwritten(error) => error,
        }
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
    let tiling = Tiling::new(width, height, tile, halo);
    let pixels = tiling.largest();
    if pixels > MAX_PIXELS as u64 {
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
        count: tiling.count(),
        threads: options.cores.number().unwrap_or_else(cores),
        reads_in_order: image.in_order() || reference.as_ref().is_some_and(Source::in_order),
    };

    let (wide, high) = (width as usize, height as usize);
    let mask_path = outputs.mask.path.clone();
    let mut mask = outputs.mask.begin::<u8>(wide, high)?;
    let picture = outputs.overlay;
    let picture = picture.map(|output| output.begin::<Colour>(wide, high));
    let mut picture = picture.transpose()?;
    let picture_rows = picture
        .as_mut()
        .map(|file| move |row: &[Colour]| file.write_row(row).map_err(Refused::Unwritten));
    let mask_rows = |row: &[u8]| mask.write_row(row).map_err(Refused::Unwritten);
    let mut result = SlideSegmentation::new(tiling, mask_rows, picture_rows);
    let mut steps = Steps::new("segment", "tile", tiling.count(), common.json);
    let mut times = Times::default();
    let place = |number: usize| {
        let tile = tiling.get(number);
        tile.unwrap_or_else(|| unreachable!("as many pieces as there are tiles"))
    };
    in_order(
        plan,
        || {
            let reference = reference.as_ref().map(Source::reader).transpose()?;
            Ok((image.reader()?, reference))
        },
        |(image, reference), number| {
            Material::read(options.level, &place(number), image, reference.as_mut())
        },
        |number, material| material.segment(job, &place(number)),
        |number, tile| {
            let began = Instant::now();
            times.add(&tile.times);
            let placed = result.place(&place(number), &tile.found);
            placed.map_err(|refused: Refused| refused.told(&mask_path))?;
            times.write += began.elapsed().as_secs_f64();
            steps.advance(1);
            Ok(())
        },
    )?;
    let finished = result.finish();
    let found = finished.map_err(|error| unwritable(&mask_path, error))?;
    let began = Instant::now();
    let mut written = vec![mask.finish()?];
    if let Some(picture) = picture {
        written.push(picture.finish()?);
    }
    outputs::appear(written)?;
    times.write += began.elapsed().as_secs_f64();
    steps.finish();
    Ok(Segmented {
        size: (width, height),
        status: found.status,
        nuclei: found.nuclei,
        foreground: found.foreground,
        times,
        agreement: reference.is_some().then_some(found.agreement),
        tiles: Some(found.tally),
    })
}
