//! A study of 160,000 parameter sets: the same study again, and questions about it.
//!
//! Law: the study is that of the example with 10,000 trajectories, on a tile of 16 × 16 pixels, so that what is measured
//! is the engine and not the images. The same run is asked about by the library, as the command line does.

use std::error::Error;
use std::fs;
use std::path::Path;

use headwater::StorePlace;
use headwater_bench::{Bar, Claims, timed};

use crate::{child, memory, sharing};

/// Pixels on a side.
const SIDE: usize = 16;

/// How often the study is run again; the quickest counts.
const AGAIN: usize = 3;

/// Claims on a large study.
pub(crate) fn measure(
    claims: &mut Claims,
    folder: &Path,
    quick: bool,
) -> Result<(), Box<dyn Error>> {
    let place = folder.join("large");
    fs::create_dir_all(&place)?;
    fs::copy(
        sharing::examples().join("nuclei.yaml"),
        place.join("nuclei.yaml"),
    )?;
    memory::tile(&place.join("tissue.png"), SIDE)?;
    let trajectories = if quick { 1_000 } else { 10_000 };
    let study = fs::read_to_string(sharing::examples().join("moat.yaml"))?;
    let wanted = format!("trajectories: {trajectories}");
    let study = study.replace("trajectories: 40", &wanted);
    if !study.contains(&wanted) {
        return Err("the example has another number of trajectories".into());
    }
    let file = place.join("study.yaml");
    fs::write(&file, study)?;
    let run = || child::run(child::CONTENT, &file, &place, None, &[]);
    let first = run()?;
    let mut best = run()?;
    for _ in 1..AGAIN {
        let ran = run()?;
        if ran.values != first.values || ran.executed(None) > 0 {
            return Err("the study again has other values, or executes something".into());
        }
        if ran.seconds < best.seconds {
            best = ran;
        }
    }
    claims.note(&format!(
        "{} sets: {:.2} s, and again {:.2} s; processor {:.2} s and {:.2} s",
        first.values.len(),
        first.seconds,
        best.seconds,
        first.processor,
        best.processor
    ));
    if !quick {
        claims.claim(
            "a study of 160,000 sets again",
            best.seconds / first.seconds,
            "of the first time",
            Bar::AtMost(0.2),
        );
    }
    let store = StorePlace {
        url: Some(place.join("store").display().to_string()),
        read_only: true,
        ..StorePlace::default()
    };
    let store = headwater::open_store(&store, &place)?;
    let (diff, took) = timed(|| headwater::diff_runs(&*store, "last~1", "last"));
    if diff?.different > 0 {
        return Err("two runs of the same study differ".into());
    }
    claims.note(&format!(
        "what differs between two of the runs is told in {:.2} s",
        took.as_secs_f64()
    ));
    if !quick {
        claims.claim(
            "telling what differs between two runs of 160,000 sets",
            took.as_secs_f64() / first.seconds,
            "of the first run",
            Bar::AtMost(0.5),
        );
    }
    Ok(())
}
