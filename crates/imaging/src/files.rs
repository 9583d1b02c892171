//! Image files: pictures, slides and the files that results are written to.
//!
//! Law: what a file is follows from its bytes, never from its name. A header is believed only as far as the bytes
//! after it could carry what it claims, so that no file makes the reader ask for memory out of proportion. A file
//! that is not understood is an error that says what was found, what was expected and a way out; nothing panics.
//!
//! What odd files become:
//!
//! | in the file | read as |
//! |---|---|
//! | grey of 1, 2 or 4 bits | grey, stretched to 0 … 255 |
//! | grey of 16 bits | [`Picture::Deep`], unchanged, so that labels survive |
//! | colour of 16 bits | colour, the upper 8 bits of each |
//! | palette | its colours |
//! | alpha | laid over white; where it is opaque nothing changes |
//! | CMYK | colour, by the plain rule `r = (255 − c)(255 − k) / 255` |
//! | 32 bits, real or signed numbers | an error |
//! | orientation (EXIF, TIFF) | not followed: pixels as they are stored |
//! | several images | the first |
//!
//! Read [`picture`] first, then [`slide`].

mod error;
mod jpeg;
mod kind;
pub mod mutate;
pub mod picture;
mod pixel;
mod png_reader;
mod png_writer;
mod rows;
mod samples;
pub mod slide;
mod tiff;
mod tiles;

pub use error::ImageError;
pub use picture::{Picture, read_image};
pub use pixel::Pixel;
pub use png_writer::{PngRows, write_png};
pub use rows::{Format, RowFile};
pub use slide::{Level, Slide};
pub use tiff::writer::{Packing, TiffWriter};
pub use tiles::{TileBox, Tiling, tiles};
