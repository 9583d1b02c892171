//! TIFF: directories of tags, and pixels in strips or tiles.
//!
//! Law: tags are read as numbers and checked before they are used; a strip or tile is decoded by itself, so that a
//! part of a slide costs the strips and tiles that it touches. Both byte orders, the classic and the big form.

pub(crate) mod directory;
pub(crate) mod image;
mod unpack;
pub(crate) mod writer;

use std::io::Cursor;

use super::picture::check_size;
use super::{ImageError, Picture};
use directory::Source;
use image::Image;

pub(crate) const FORMAT: &str = "TIFF";

/// The numbers of the tags that are used.
pub(crate) mod tag {
    pub(crate) const SUBFILE: u16 = 254;
    pub(crate) const WIDTH: u16 = 256;
    pub(crate) const HEIGHT: u16 = 257;
    pub(crate) const BITS: u16 = 258;
    pub(crate) const COMPRESSION: u16 = 259;
    pub(crate) const PHOTOMETRIC: u16 = 262;
    pub(crate) const DESCRIPTION: u16 = 270;
    pub(crate) const STRIP_OFFSETS: u16 = 273;
    pub(crate) const SAMPLES: u16 = 277;
    pub(crate) const ROWS_PER_STRIP: u16 = 278;
    pub(crate) const STRIP_BYTES: u16 = 279;
    pub(crate) const PLANAR: u16 = 284;
    pub(crate) const PREDICTOR: u16 = 317;
    pub(crate) const PALETTE: u16 = 320;
    pub(crate) const TILE_WIDTH: u16 = 322;
    pub(crate) const TILE_HEIGHT: u16 = 323;
    pub(crate) const TILE_OFFSETS: u16 = 324;
    pub(crate) const TILE_BYTES: u16 = 325;
    pub(crate) const SUBDIRECTORIES: u16 = 330;
    pub(crate) const EXTRA_SAMPLES: u16 = 338;
    pub(crate) const SAMPLE_FORMAT: u16 = 339;
    pub(crate) const JPEG_TABLES: u16 = 347;
}

/// Reads the first image of a TIFF file.
pub(crate) fn read(bytes: &[u8]) -> Result<Picture, ImageError> {
    let mut source = Source::open(Cursor::new(bytes))?;
    let directory = source.directory(source.first())?;
    let mut image = Image::new(&mut source, &directory)?;
    check_size(image.width(), image.height())?;
    image.check_plausible(&mut source)?;
    let (width, height) = (image.width() as usize, image.height() as usize);
    let mut picture = image.tone().blank(width, height);
    for (chunk, place) in image.touched(0, 0, width as u64, height as u64) {
        let part = image.read_chunk(&mut source, chunk)?;
        place.copy(&mut picture, &part);
    }
    Ok(picture)
}
