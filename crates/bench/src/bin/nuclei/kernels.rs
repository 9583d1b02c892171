//! The kernels beside those of OpenCV and scikit-image, and the seven tasks beside four of theirs.
//!
//! Law: both sides get the same pixels and take turns; before anything is timed, their results are compared where
//! the definitions agree.

use std::error::Error;

use headwater_bench::{Bar, Claims};
use headwater_imaging::nuclei::{self, Parameters, Task};
use headwater_imaging::{
    Bitmap, Colour, Connectivity, LINE, Plane, View, distance, flood, label, open_by_octagon,
    reconstruct, watershed,
};

use crate::clock::{Moment, Taken, taken};
use crate::python::Python;

/// How often each call is made; the best counts.
const TURNS: usize = 7;
/// The same of scikit-image's reconstruction, which takes seconds.
const SLOW_TURNS: usize = 5;
/// Shares in percent: the paper's table 6, and the original program on such a tile of this size.
const PAPER: [f64; 7] = [12.03, 20.90, 6.92, 3.49, 8.02, 39.59, 9.05];
const ORIGINAL: [f64; 7] = [6.0, 15.0, 7.0, 3.0, 9.0, 50.0, 10.0];
/// Where no border rule matters: the octagon reaches 9, twice.
const MARGIN: usize = 18;

/// What the tasks hand to each other, as far as kernels are measured on it.
struct Stages {
    /// The inverted red channel.
    grey: Plane<u8>,
    /// Its opening.
    marker: Plane<u8>,
    /// The large objects.
    mask: Plane<u8>,
    /// What they are flooded from, the outside included.
    markers: Plane<i32>,
    /// Only the markers in objects.
    seeds: Plane<i32>,
    /// The image, black outside of the objects.
    tissue: Plane<Colour>,
}

/// All of this, with OpenCV if it is there.
pub(crate) fn measure(
    claims: &mut Claims,
    image: View<'_, Colour>,
    python: Option<&mut Python>,
) -> Result<(), Box<dyn Error>> {
    let Some(python) = python else {
        let mut tasks = [Taken::NEVER; 7];
        for _ in 0..TURNS {
            best_tasks(image, &mut tasks)?;
        }
        shares(claims, &tasks);
        return Ok(());
    };
    let stages = stages(image)?;
    python.load("colour", image)?;
    python.load("grey", stages.grey.view())?;
    python.load("marker", stages.marker.view())?;
    python.load("mask", stages.mask.view())?;
    python.load("markers", stages.markers.view())?;
    python.load("seeds", stages.seeds.view())?;
    python.load("tissue", stages.tissue.view())?;
    compare(image, &stages, python)?;
    claims.note(&format!(
        "each is the best of {TURNS}, by turns, one thread; seconds are the processor's, wall clock in brackets"
    ));

    let mut tasks = [Taken::NEVER; 7];
    let mut ours = [Taken::NEVER; 5];
    let mut theirs = [Taken::NEVER; 5];
    let names = [
        "opening",
        "labelling",
        "distance",
        "watershed",
        "watershed-seeds",
    ];
    for _ in 0..TURNS {
        for (place, name) in names.iter().enumerate() {
            let mine = match place {
                0 => taken(|| open_by_octagon(stages.grey.view())),
                1 => taken(|| label(&Bitmap::from_mask(stages.mask.view()), Connectivity::Eight)),
                2 => taken(|| distance(stages.mask.view())),
                3 => {
                    // Theirs floods in the markers that it is given, and so does this.
                    let labels = stages.markers.clone();
                    taken(|| flood(image, stages.mask.view(), labels))
                }
                _ => taken(|| watershed(image, stages.seeds.view())),
            };
            ours[place] = ours[place].best(mine);
            theirs[place] = theirs[place].best(python.run(name)?);
        }
        best_tasks(image, &mut tasks)?;
    }
    let what = [
        "opening by the octagon of 19 × 19",
        "labelling, from a mask of bytes to 32-bit labels",
        "exact distance transform",
        "watershed from the markers of the sixth task",
        "watershed from the markers in objects alone",
    ];
    for (place, what) in what.iter().enumerate() {
        row(
            claims,
            what,
            "OpenCV",
            ours[place],
            theirs[place],
            Bar::AtMost(1.0),
        );
    }
    for (name, connectivity) in [
        ("reconstruction-8", Connectivity::Eight),
        ("reconstruction-4", Connectivity::Four),
    ] {
        let (mut ours, mut theirs) = (Taken::NEVER, Taken::NEVER);
        for _ in 0..SLOW_TURNS {
            let (marker, mask) = (stages.marker.view(), stages.grey.view());
            ours = ours.best(taken(|| reconstruct(marker, mask, connectivity)));
            theirs = theirs.best(python.run(name)?);
        }
        claims.claim(
            &format!("grey {name}, relative to scikit-image"),
            theirs.thread / ours.thread,
            "times as fast",
            Bar::AtLeast(20.0),
        );
        claims.note(&format!(
            "the best of {SLOW_TURNS}: {} against {}",
            words(ours),
            words(theirs)
        ));
    }
    let total = |part: fn(Taken) -> f64, of: &[Taken]| of.iter().map(|taken| part(*taken)).sum();
    let sum = |of: &[Taken]| Taken {
        wall: total(|taken| taken.wall, of),
        thread: total(|taken| taken.thread, of),
    };
    row(
        claims,
        "the seven tasks",
        "OpenCV's opening, labelling, distance and watershed",
        sum(&tasks),
        sum(&theirs[..4]),
        Bar::AtMost(0.6),
    );
    shares(claims, &tasks);
    Ok(())
}

fn words(taken: Taken) -> String {
    format!("{:.1} ms ({:.1})", taken.thread * 1e3, taken.wall * 1e3)
}

fn row(claims: &mut Claims, what: &str, other: &str, ours: Taken, theirs: Taken, bar: Bar) {
    claims.claim(
        &format!("{what}, relative to {other}"),
        ours.thread / theirs.thread,
        "times the time",
        bar,
    );
    claims.note(&format!("{} against {}", words(ours), words(theirs)));
}

/// Each task's part of the whole.
fn shares(claims: &mut Claims, tasks: &[Taken; 7]) {
    let total: f64 = tasks.iter().map(|taken| taken.thread).sum();
    claims.note("task  here             here   paper  original");
    for (place, taken) in tasks.iter().enumerate() {
        claims.note(&format!(
            "t{}    {:<15}  {:>4.1}%  {:>4.1}%  {:>4.1}%",
            place + 1,
            words(*taken),
            taken.thread / total * 100.0,
            PAPER[place],
            ORIGINAL[place],
        ));
    }
}

/// One run of the seven tasks; each keeps its best.
fn best_tasks(image: View<'_, Colour>, best: &mut [Taken; 7]) -> Result<(), Box<dyn Error>> {
    let mut moments = Vec::with_capacity(Task::ALL.len() + 1);
    let made = nuclei::segment(image, &Parameters::default(), |_| {
        moments.push(Moment::now());
    });
    moments.push(Moment::now());
    if moments.len() != Task::ALL.len() + 1 || made.nuclei == 0 {
        return Err("the tile has no nuclei to be measured on".into());
    }
    // The first is the split, which is none of the seven.
    for (best, pair) in best.iter_mut().zip(moments[1..].windows(2)) {
        *best = best.best(pair[0].until(pair[1]));
    }
    Ok(())
}

/// The tasks one by one, for what lies between them.
fn stages(image: View<'_, Colour>) -> Result<Stages, Box<dyn Error>> {
    let set = Parameters::default();
    let [red, green, blue] = nuclei::split(image);
    let cells = nuclei::red_blood_cells(red.view(), green.view(), blue.view(), &set);
    let background = nuclei::reconstruct_background(red.view(), set.recon_conn);
    let grey = background.inverted;
    let opened = open_by_octagon(grey.view());
    let mut marker = Plane::filled(image.width(), image.height(), 0);
    for y in 0..image.height() {
        let row = &opened.row(y + 1)[1..=image.width()];
        for ((marker, opened), grey) in marker.row_mut(y).iter_mut().zip(row).zip(grey.row(y)) {
            // scikit-image refuses a marker above its mask, which the opening's border rule gives.
            *marker = *opened.min(grey);
        }
    }
    let difference = nuclei::threshold(
        grey.view(),
        background.reconstructed.view(),
        set.g1,
        set.fill_holes_conn,
    );
    let sizes = (set.min_size, set.max_size);
    let (cores, _) = nuclei::filter_candidates(&difference.mask, sizes);
    let found = nuclei::candidates(difference.difference.view(), &cores, &cells.mask, set.g2);
    let objects = nuclei::large_objects(&found, set.min_size_pl);
    if objects.is_empty() {
        return Err("the tile has no objects to be measured on".into());
    }
    let mask = objects.to_mask();
    let markers = nuclei::markers(&objects, set.watershed_conn);
    let (mut seeds, mut tissue) = (
        markers.clone(),
        Plane::filled(image.width(), image.height(), [0; 3]),
    );
    let pixels = seeds.pixels_mut().iter_mut().zip(tissue.pixels_mut());
    for ((seed, tissue), (mask, pixel)) in pixels.zip(mask.pixels().iter().zip(image.pixels())) {
        if *mask == 0 {
            *seed = 0;
        } else {
            *tissue = *pixel;
        }
    }
    Ok(Stages {
        grey,
        marker,
        mask,
        markers,
        seeds,
        tissue,
    })
}

/// Refuses to go on if the two sides do not compute the same.
fn compare(
    image: View<'_, Colour>,
    stages: &Stages,
    python: &mut Python,
) -> Result<(), Box<dyn Error>> {
    let differs = |what: &str| -> Result<(), Box<dyn Error>> {
        Err(format!("{what}: the two sides do not give the same").into())
    };
    let (width, height) = (image.width(), image.height());
    let opened = open_by_octagon(stages.grey.view());
    let (theirs, _) = python.result("opening")?;
    let inner = |size: usize| MARGIN..size.saturating_sub(MARGIN);
    for y in inner(height) {
        if opened.row(y + 1)[inner(width + 2)][1..][..inner(width).len()]
            != theirs[y * width..][inner(width)]
        {
            return differs("opening");
        }
    }
    let (labels, _) = label(&Bitmap::from_mask(stages.mask.view()), Connectivity::Eight);
    let theirs = python.words("labelling", "int32")?;
    let mut theirs_of = vec![0; theirs.len() + 1];
    let mut ours_of = vec![0; theirs.len() + 1];
    for (ours, theirs) in labels.pixels().iter().zip(&theirs) {
        let theirs = u32::from_le_bytes(*theirs);
        // Numbers may differ, but each stands for one of the other side.
        let there = &mut theirs_of[*ours as usize];
        let here = &mut ours_of[theirs as usize];
        if (*ours == 0) != (theirs == 0)
            || (*there | *here != 0 && (*there, *here) != (theirs, *ours))
        {
            return differs("labelling");
        }
        (*there, *here) = (theirs, *ours);
    }
    let distances = distance(stages.mask.view());
    let theirs = python.words("distance", "float32")?;
    for (ours, theirs) in distances.pixels().iter().zip(&theirs) {
        let theirs = f32::from_le_bytes(*theirs);
        if (ours - theirs).abs() > 1e-4 * ours {
            return differs("distance transform");
        }
    }
    for (name, labels) in [
        (
            "flooded",
            flood(image, stages.mask.view(), stages.markers.clone()),
        ),
        ("flooded-seeds", watershed(image, stages.seeds.view())),
    ] {
        let theirs = python.words(name, "int32")?;
        let same = labels.pixels().iter().zip(&theirs);
        // A pixel that no label reached has 0 here and LINE there.
        let wrong = same.filter(|(ours, theirs)| {
            let theirs = i32::from_le_bytes(**theirs);
            **ours != theirs && (**ours > 0 || theirs != LINE)
        });
        if wrong.count() > 0 {
            return differs("watershed");
        }
    }
    for (name, connectivity) in [
        ("reconstruction-8", Connectivity::Eight),
        ("reconstruction-4", Connectivity::Four),
    ] {
        let ours = reconstruct(stages.marker.view(), stages.grey.view(), connectivity);
        let (bytes, kind) = python.result(name)?;
        let same = match kind.as_str() {
            "uint8" => bytes == ours.pixels(),
            "float64" => {
                let theirs = bytes
                    .as_chunks::<8>()
                    .0
                    .iter()
                    .map(|eight| f64::from_le_bytes(*eight));
                ours.pixels()
                    .iter()
                    .map(|pixel| f64::from(*pixel))
                    .eq(theirs)
            }
            _ => false,
        };
        if !same {
            return differs(name);
        }
    }
    Ok(())
}
