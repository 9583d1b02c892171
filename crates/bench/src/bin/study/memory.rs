//! What a study of a large tile holds when it may hold 1 GiB.
//!
//! Law: what counts is the most that the process of the run ever had resident, code and all. The tile is synthetic
//! tissue of a fixed seed.

use std::error::Error;
use std::fs;
use std::path::Path;

use headwater_bench::{Bar, Claims};
use headwater_imaging::files::PngRows;
use headwater_imaging::{Colour, Synth, SynthOptions};

use crate::{child, sharing};

/// Pixels on a side of the tile, and rows that are made at once.
const SIDE: usize = 4096;
const BAND: usize = 256;
/// What the run is allowed.
const LIMIT: u64 = 1 << 30;

/// Claims on memory.
pub(crate) fn measure(
    claims: &mut Claims,
    folder: &Path,
    quick: bool,
) -> Result<(), Box<dyn Error>> {
    let place = folder.join("large");
    fs::create_dir_all(&place)?;
    for file in ["nuclei.yaml", "moat.yaml"] {
        fs::copy(sharing::examples().join(file), place.join(file))?;
    }
    tile(&place.join("tissue.png"), SIDE)?;
    let trajectories = if quick { 2 } else { 4 };
    let settings = [format!("method.moat.trajectories={trajectories}")];
    let study = place.join("moat.yaml");
    let ran = child::run(child::CONTENT, &study, &place, Some(LIMIT), &settings)?;
    let gibibytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    claims.claim(
        &format!("most memory of a study of a tile of {SIDE} × {SIDE} with --memory 1GiB"),
        gibibytes(ran.memory),
        "GiB",
        Bar::AtMost(1.0),
    );
    claims.note(&format!(
        "{} sets, {} tasks executed, {} of them again, in {:.1} s; the highest resident memory of the \
         process",
        ran.values.len(),
        ran.executed(None) + ran.facts.recomputed,
        ran.facts.recomputed,
        ran.seconds,
    ));
    Ok(())
}

/// Makes a square tile.
pub(crate) fn tile(path: &Path, side: usize) -> Result<(), Box<dyn Error>> {
    let synth = Synth::new(side, side, 1, SynthOptions::default())?;
    let mut rows = PngRows::<_, Colour>::new(fs::File::create(path)?, side, side)?;
    for from in (0..side).step_by(BAND) {
        let (image, _) = synth.band(from, BAND.min(side - from));
        for y in 0..image.height() {
            rows.write_row(image.row(y))?;
        }
    }
    rows.finish()?;
    Ok(())
}
