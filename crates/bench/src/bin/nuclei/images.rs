//! The image that everything is measured on.
//!
//! Law: a mirrored image repeats its source as `BORDER_REFLECT` does, edge pixels twice. Where the reference data is
//! not at hand synthetic tissue takes its place, and the source says so.

use std::error::Error;
use std::fs;
use std::path::Path;

use headwater_imaging::files::read_image;
use headwater_imaging::{Colour, Plane, Synth, SynthOptions};

/// An image to be mirrored to any size.
pub(crate) struct Source {
    /// What it is.
    pub(crate) name: &'static str,
    image: Plane<Colour>,
}

impl Source {
    /// Stained tissue of the reference data, or synthetic tissue.
    pub(crate) fn find() -> Result<Source, Box<dyn Error>> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let path = workspace.join("../shared/oracle/nuclei/images/histo.png");
        if path.exists() {
            return Ok(Source {
                name: "the reference image histo.png",
                image: read_image(&fs::read(path)?)?.into_colour(),
            });
        }
        let synth = Synth::new(512, 512, 1, SynthOptions::default())?;
        Ok(Source {
            name: "synthetic tissue, since the reference image histo.png is not here",
            image: synth.band(0, 512).0,
        })
    }

    /// A square of it whose first pixel is the one at (`from`, `from`) of the mirrored plane.
    pub(crate) fn mirrored(&self, side: usize, from: usize) -> Plane<Colour> {
        let (width, height) = (self.image.width(), self.image.height());
        let mut image = Plane::filled(side, side, [0; 3]);
        for y in 0..side {
            let source = self.image.row(reflect(from + y, height));
            for (x, pixel) in image.row_mut(y).iter_mut().enumerate() {
                *pixel = source[reflect(from + x, width)];
            }
        }
        image
    }
}

/// The place in `0..size` that a place beyond it shows.
fn reflect(place: usize, size: usize) -> usize {
    let place = place % (2 * size);
    place.min(2 * size - 1 - place)
}
