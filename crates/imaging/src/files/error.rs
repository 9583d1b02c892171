//! What can be wrong with an image file.
//!
//! Law: a message says what was found, what was expected, and what the user can do about it.

use std::io;

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// Not an image that is known here.
    #[error("this is {found}: expected PNG, JPEG or TIFF (also Aperio SVS); {way_out}")]
    NotAnImage {
        /// What the bytes look like.
        found: String,
        /// What to do.
        way_out: String,
    },
    /// A known format with something that is not read here.
    #[error("{format} with {found}: not supported; {way_out}")]
    Unsupported {
        /// The format of the file.
        format: &'static str,
        /// What it has.
        found: String,
        /// What to do.
        way_out: String,
    },
    /// The file breaks the rules of its format, or ends too early.
    #[error(
        "damaged {format} file: {problem}; get a fresh copy, or save it again with another program"
    )]
    Damaged {
        /// The format of the file.
        format: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// No pixels.
    #[error("an image of {width} × {height} pixels has nothing in it: expected at least 1 × 1")]
    Empty {
        /// Pixels in a row.
        width: u64,
        /// Rows.
        height: u64,
    },
    /// More than may be held at once.
    #[error("{width} × {height} pixels are more than the {limit} that are held at once; {way_out}")]
    TooLarge {
        /// Pixels in a row.
        width: u64,
        /// Rows.
        height: u64,
        /// How many pixels are allowed here.
        limit: u64,
        /// What to do.
        way_out: &'static str,
    },
    /// Longer than any image.
    #[error(
        "{width} × {height} pixels: no side may have more than {limit}; cut the image into shorter pieces"
    )]
    TooLong {
        /// Pixels in a row.
        width: u64,
        /// Rows.
        height: u64,
        /// How many pixels a side may have.
        limit: u64,
    },
    /// A header that promises more than its file can hold.
    #[error(
        "{format} header claims {width} × {height} pixels, which the {bytes} bytes of data cannot hold: the file is damaged, or made to exhaust memory"
    )]
    Implausible {
        /// The format of the file.
        format: &'static str,
        /// Pixels in a row.
        width: u64,
        /// Rows.
        height: u64,
        /// How much data there is.
        bytes: u64,
    },
    /// A part of a slide that is not there.
    #[error(
        "the box at ({x}, {y}) of {width} × {height} pixels is not within level {level} of the slide, which has {levels} levels, this one of {level_width} × {level_height} pixels"
    )]
    Outside {
        /// The level asked for.
        level: usize,
        /// How many levels there are.
        levels: usize,
        /// Left edge.
        x: u64,
        /// Upper edge.
        y: u64,
        /// Pixels in a row.
        width: u64,
        /// Rows.
        height: u64,
        /// Width of that level, 0 if there is none.
        level_width: u64,
        /// Height of that level, 0 if there is none.
        level_height: u64,
    },
    /// Pixels that do not go where they were to be written.
    #[error("cannot write: {problem}")]
    Misplaced {
        /// What does not fit.
        problem: String,
    },
    /// The operating system could not read or write.
    #[error("reading or writing an image failed: {0}")]
    Io(#[from] io::Error),
}

impl ImageError {
    /// The file breaks the rules of its format.
    pub(crate) fn damaged(format: &'static str, problem: impl Into<String>) -> ImageError {
        ImageError::Damaged {
            format,
            problem: problem.into(),
        }
    }

    /// Something that is not read here, with the usual way out.
    pub(crate) fn unsupported(format: &'static str, found: impl Into<String>) -> ImageError {
        ImageError::Unsupported {
            format,
            found: found.into(),
            way_out: "convert it to 8-bit RGB or grey PNG or TIFF".to_owned(),
        }
    }
}
