//! Mosaics of a field of the sky, plain and with matched backgrounds, made by the programs of Montage.
//!
//! ```sh
//! cargo run --release -p headwater --example montage -- FOLDER [--naive]
//! ```
//!
//! The folder has images `rawdir/*.fits` and the header of the mosaic, `template.hdr`. What is made is remembered in
//! the nearest `.headwater`, or where `HEADWATER_STORE` says: a second run executes nothing.

mod mosaic;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use headwater::sequence::{File, Mode, Sequence, SequenceOptions};
use mosaic::{Field, Montage, MosaicError};

const USAGE: &str = "\
usage: montage FOLDER [--naive]

Makes plain.fits and corrected.fits, with their areas, of the images FOLDER/rawdir/*.fits as FOLDER/template.hdr says.
One program is called per image and per pair of images; with --naive, programs that go through all images themselves.";

fn main() -> ExitCode {
    headwater::init();
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    let count = arguments.len();
    if arguments
        .iter()
        .any(|flag| flag == "--help" || flag == "-h")
    {
        say(USAGE);
        return ExitCode::SUCCESS;
    }
    arguments.retain(|argument| argument != "--naive");
    let naive = arguments.len() < count;
    let [folder] = arguments.as_slice() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match make(Path::new(folder), naive) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            if let MosaicError::Programs(headwater::Error::File {
                file,
                text,
                diagnostics,
            }) = &error
            {
                let shown = headwater::render(diagnostics, &file.to_string_lossy(), text, false);
                eprintln!("{shown}");
            }
            if let Some(hint) = error.hint() {
                eprintln!("  help: {hint}");
            }
            ExitCode::FAILURE
        }
    }
}

fn make(folder: &Path, naive: bool) -> Result<(), MosaicError> {
    let field = Field::at(folder)?;
    let operations = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/montage/montage.yaml");
    let montage = Montage::read(&operations)?;
    let name = if naive { "montage, naive" } else { "montage" };
    let options = SequenceOptions::new(Mode::Restrictive).called(name);
    let mut sequence = Sequence::with(options);
    let build = if naive {
        mosaic::naive
    } else {
        mosaic::modified
    };
    let mosaics = build(&mut sequence, &montage, &field)?;
    let report = sequence.end()?;
    say(&report.to_string());
    for (item, name) in [
        (&mosaics.plain.image, "plain.fits"),
        (&mosaics.plain.area, "plain_area.fits"),
        (&mosaics.corrected.image, "corrected.fits"),
        (&mosaics.corrected.area, "corrected_area.fits"),
    ] {
        let path = write(&report.value(item)?, name)?;
        say(&path.display().to_string());
    }
    Ok(())
}

/// Prints a line. That nobody reads it any more, as with `| head`, is no reason to fail.
fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Writes a mosaic to the current folder, unless another file has its name.
fn write(file: &File, name: &str) -> Result<PathBuf, MosaicError> {
    let path = PathBuf::from(name);
    let written = file.read().and_then(|bytes| match fs::read(&path) {
        Ok(there) if there == bytes => Ok(()),
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::write(&path, bytes),
    });
    written.map_err(|error| MosaicError::Missing {
        message: format!("cannot write `{name}`: {error}"),
        hint: "run this in a folder of its own, where you may write",
    })?;
    Ok(path)
}
