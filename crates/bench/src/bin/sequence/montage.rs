//! The mosaics of M101 by the programs of Montage: the sequence of the tutorial beside one call per image and per pair.
//!
//! Law: both sequences make the same mosaics, each time in an empty store, and take turns.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use headwater::StorePlace;
use headwater::graph::Digest;
use headwater::sequence::{
    CallState, File, Item, Mode, Sequence, SequenceOptions, SequenceReport, Threads,
};
use headwater_bench::{Bar, Claims, median};

#[path = "../../../../headwater/examples/montage/mosaic.rs"]
mod mosaic;

use mosaic::{Field, Montage, MosaicError, Mosaics};

const ROUNDS: usize = 5;
const CORES: usize = 2;

type Sequel = fn(&mut Sequence, &Montage, &Field) -> Result<Mosaics, MosaicError>;

pub(crate) fn measure(claims: &mut Claims) -> Result<(), Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("../../../shared/data/montage-m101");
    if !folder.exists() {
        claims.note("Montage: left out, there is no ../shared/data/montage-m101");
        return Ok(());
    }
    if let Some(program) = mosaic::missing_program() {
        claims.note(&format!("Montage: left out, `{program}` is not installed"));
        return Ok(());
    }
    let montage = Montage::read(&here.join("../headwater/examples/montage/montage.yaml"));
    let montage = montage.map_err(told)?;
    let field = Field::at(&folder).map_err(told)?;
    let scratch = tempfile::tempdir()?;
    let mut times: [Vec<f64>; 2] = Default::default();
    let sequels: [Sequel; 2] = [mosaic::naive, mosaic::modified];
    let mut again = 0;
    let mut made = Vec::new();
    for round in 0..ROUNDS {
        for (place, sequel) in sequels.into_iter().enumerate() {
            let store = scratch.path().join(format!("{round}-{place}"));
            let first = run(sequel, &montage, &field, &store).map_err(told)?;
            times[place].push(first.elapsed.as_secs_f64());
            let second = run(sequel, &montage, &field, &store).map_err(told)?;
            again += second.report.count(CallState::Executed);
            made.extend([first.mosaics, second.mosaics]);
            std::fs::remove_dir_all(&store)?;
        }
    }
    if made.iter().any(|mosaics| *mosaics != made[0]) {
        return Err("the two sequences made different mosaics".into());
    }
    let [naive, modified] = times.map(median);
    claims.note(&format!(
        "Montage: {} images, the tutorial's sequence {naive:.2} s, one call per image and pair {modified:.2} s",
        field.images.len()
    ));
    claims.claim(
        "Montage: one call per image and pair, relative to the tutorial's sequence, on two cores",
        naive / modified,
        "times as fast",
        Bar::AtLeast(1.5),
    );
    claims.claim(
        "Montage: calls that second runs executed",
        again as f64,
        "",
        Bar::AtMost(0.0),
    );
    Ok(())
}

/// An error with what would help.
fn told(error: MosaicError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

/// What a sequence made, by contents.
struct Ran {
    report: SequenceReport,
    elapsed: Duration,
    mosaics: [Digest; 4],
}

fn run(sequel: Sequel, montage: &Montage, field: &Field, store: &Path) -> Result<Ran, MosaicError> {
    let place = StorePlace {
        url: Some(store.to_string_lossy().into_owned()),
        read_only: false,
        ..StorePlace::default()
    };
    let options = SequenceOptions::new(Mode::Restrictive)
        .store(place)
        .on(Threads::new(CORES));
    let mut sequence = Sequence::with(options);
    let Mosaics { plain, corrected } = sequel(&mut sequence, montage, field)?;
    let report = sequence.end()?;
    let digest =
        |item: &Item<File>| -> Result<Digest, MosaicError> { Ok(report.value(item)?.digest()) };
    Ok(Ran {
        mosaics: [
            digest(&plain.image)?,
            digest(&plain.area)?,
            digest(&corrected.image)?,
            digest(&corrected.area)?,
        ],
        elapsed: report.elapsed,
        report,
    })
}
