//! `headwater imaging`: the image library without a workflow.
//!
//! Law: an image that cannot be read and a file that cannot be written are work that failed (exit code 1), a flag that
//! does not fit and a file that is not there are wrong use (2), and what a tile came to is a result (0). Results appear
//! whole or not at all.
//!
//! | file | holds |
//! | --- | --- |
//! | `segment` | `segment`: what was asked, and what it came to |
//! | `tiled` | the same for a slide, its tiles on several threads |
//! | `synth` | `synth` |
//! | `outputs` | files that appear whole or not at all |
//! | `order` | work on several threads whose results are taken in order |
//! | `settings` | `--set` |

mod order;
mod outputs;
mod segment;
mod settings;
mod synth;
mod tiled;

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use headwater::Error;
use headwater_imaging::files::{ImageError, Slide};

use crate::arguments::Common;
use crate::arguments::imaging::ImagingCommand;

pub(crate) fn imaging(command: &ImagingCommand, common: &Common) -> Result<ExitCode, Error> {
    match command {
        ImagingCommand::Segment(options) => segment::segment(options, common),
        ImagingCommand::Synth(options) => synth::synth(options, common),
    }
}

fn wrong_use(message: String, hint: &str) -> Error {
    Error::Use {
        message,
        hint: Some(hint.to_owned()),
    }
}

/// A file that could not be read or written, as an error that ends with exit code 1.
fn failed(what: &'static str, path: &Path, error: ImageError) -> Error {
    let source = match error {
        ImageError::Io(source) => source,
        other => io::Error::other(other.to_string()),
    };
    Error::Io {
        what,
        path: path.to_path_buf(),
        source,
    }
}

fn unreadable(path: &Path, error: ImageError) -> Error {
    failed("cannot read", path, error)
}

fn unwritable(path: &Path, error: ImageError) -> Error {
    failed("cannot write", path, error)
}

/// Opens an image.
fn open(path: &Path) -> Result<Slide, Error> {
    let unreadable = |source: io::Error| Error::Io {
        what: "cannot read",
        path: path.to_path_buf(),
        source,
    };
    let wrong = |message: String, hint: &str| Err(wrong_use(message, hint));
    let shown = path.display();
    let found = match path.metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return wrong(format!("there is no file `{shown}`"), "check the path");
        }
        Err(error) => return Err(unreadable(error)),
    };
    if !found.is_file() {
        // A pipe would be waited for, and a device may never end.
        let what = if found.is_dir() {
            "a folder, not a file"
        } else {
            "not a regular file"
        };
        return wrong(
            format!("`{shown}` is {what}"),
            "name an image: PNG, JPEG or TIFF, also Aperio SVS",
        );
    }
    let file = File::open(path).map_err(unreadable)?;
    Slide::open(file).map_err(|error| self::unreadable(path, error))
}

/// How many threads there is work for.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Seconds for machines: as exact as a clock is.
fn seconds(seconds: f64) -> serde_json::Value {
    serde_json::json!((seconds * 1e6).round() / 1e6)
}
