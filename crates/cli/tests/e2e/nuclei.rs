//! The nuclei example: its mask, its picture, its comparison, what runs again after a change, and slides.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use headwater_imaging::files::read_image;
use headwater_imaging::{Bitmap, Connectivity, Plane, count_components};

use crate::examples::{example, runs_once};
use crate::place::{Place, Report};

/// The first run's tasks: normalization, the seven, the picture.
const TASKS: usize = 9;

const FLOW: [&str; 4] = [
    "run",
    "nuclei/nuclei.yaml",
    "--inputs",
    "nuclei/inputs.yaml",
];

fn again(place: &Place, more: &[&str]) -> Report {
    let arguments = FLOW.iter().chain(&["--json"]).chain(more);
    let arguments: Vec<&str> = arguments.copied().collect();
    place.headwater(&arguments).ended(0).report()
}

fn mask(path: &Path) -> Plane<u8> {
    let bytes = fs::read(path).expect("a mask");
    read_image(&bytes).expect("an image").into_mask()
}

fn count(mask: &Plane<u8>) -> u64 {
    count_components(&Bitmap::from_mask(mask.view()), Connectivity::Eight)
}

#[test]
fn the_example_gives_the_mask_the_count_and_a_picture() {
    let (place, report) = runs_once("nuclei", "nuclei.yaml", TASKS);
    assert_eq!(report.values("nuclei_count")[""], 566);
    assert_eq!(report.values("status")[""], 0);
    let mask = mask(&report.files("mask")[""]);
    assert_eq!((mask.width(), mask.height()), (1024, 1024));
    let set = mask.pixels().iter().filter(|pixel| **pixel == 255).count();
    assert_eq!(set, 62_875);
    assert_eq!(count(&mask), 566);

    let tissue = read_image(&fs::read(place.path("nuclei/tissue.png")).unwrap()).unwrap();
    let picture = read_image(&fs::read(&report.files("overlay")[""]).unwrap()).unwrap();
    let (tissue, picture) = (tissue.into_colour(), picture.into_colour());
    let pairs = tissue.pixels().iter().zip(picture.pixels());
    let mut drawn = 0;
    for ((before, after), inside) in pairs.zip(mask.pixels()) {
        if before != after {
            assert_eq!((*after, *inside), ([0, 255, 0], 255), "outlines lie inside");
            drawn += 1;
        }
    }
    assert!(drawn > 10_000 && drawn < set, "{drawn} pixels of outlines");
}

#[test]
fn a_change_runs_what_depends_on_it_as_far_as_it_makes_a_difference() {
    let (place, _) = example("nuclei");
    again(&place, &[]).counts(TASKS, TASKS, 0, 0);
    // Upstream of a change a task may run to bring back bytes that were not worth keeping; beside it and after it
    // nothing runs without need.
    let check = |set: &str, runs: &[&str], does_not: &[&str]| {
        let ran = again(&place, &["--set", set]).ran();
        let has = |task: &&str| ran.iter().any(|ran| ran == task);
        assert!(runs.iter().all(&has), "{set}: {ran:?}");
        assert!(!does_not.iter().any(has), "{set}: {ran:?}");
    };
    let blood = "segment.red-blood-cells";
    let last = ["segment.final-filter", "show.overlay"];
    check("MinSizeSeg=30", &last, &[]);
    // Another background test finds the same: nothing after it runs.
    check("B=230", &[blood], &["segment.candidates", last[0], last[1]]);
    check("G1=70", &["segment.threshold", last[0], last[1]], &[]);
}

#[test]
fn what_was_brought_back_is_still_known_by_its_content() {
    let (place, _) = example("nuclei");
    let throw_away = || place.headwater(&["products", "gc", "--max", "1"]).ended(0);
    again(&place, &[]);
    throw_away();
    again(&place, &["--set", "MinSizeSeg=30"]);
    throw_away();
    // Another background test finds the same, so that what comes after it is that of before, made again.
    let report = again(&place, &["--set", "B=230"]);
    let executed: BTreeSet<String> = report.tasks("executed").into_iter().collect();
    assert_eq!(
        executed,
        BTreeSet::from(["segment.red-blood-cells".to_owned()])
    );
}

#[test]
fn a_reference_gives_dice_and_normalization_changes_the_mask() {
    let (place, folder) = example("nuclei");
    let first = again(&place, &[]);
    fs::copy(&first.files("mask")[""], folder.join("reference.png")).expect("a reference");
    place.write(
        "nuclei/inputs.yaml",
        "inputs: {tile: tissue.png, reference: reference.png}\n",
    );
    let dice = |report: &Report| report.values("dice")[""].as_f64().expect("a number");
    assert_eq!(dice(&again(&place, &[])), 1.0);
    let normalized = dice(&again(&place, &["--set", "Normalize=true"]));
    assert!(normalized > 0.3 && normalized < 1.0, "{normalized}");
}

#[test]
fn a_tile_that_cannot_be_read_is_named_with_the_reason() {
    let (place, folder) = example("nuclei");
    let whole = fs::read(folder.join("tissue.png")).expect("the tissue");
    fs::write(folder.join("tissue.png"), &whole[..whole.len() / 2]).expect("half of it");
    let ran = place.headwater(&FLOW).ended(1);
    ran.says(&["tissue.png", "damaged PNG file"]);
    let told: Vec<&str> = FLOW.iter().chain(&["--json"]).copied().collect();
    let report = place.headwater(&told).ended(1).report();
    assert_eq!(report.number("failed"), 1, "what cannot be read has failed");
    fs::write(folder.join("tissue.png"), "not a picture\n").expect("a text");
    place
        .headwater(&FLOW)
        .ended(1)
        .says(&["tissue.png", "expected PNG, JPEG or TIFF"]);
}

#[test]
fn a_slide_gives_one_mask_whatever_its_tiles() {
    let (place, _) = example("nuclei");
    let whole = mask(&again(&place, &[]).files("mask")[""]);
    place.write("slides.yaml", "inputs: {slide: nuclei/tissue.png}\n");
    let slide = |sets: &[&str]| {
        let mut arguments = vec![
            "run",
            "nuclei/slide.yaml",
            "--inputs",
            "slides.yaml",
            "--json",
        ];
        arguments.extend(sets.iter().flat_map(|set| ["--set", *set]));
        let report = place.headwater(&arguments).ended(0).report();
        let mask = mask(&report.files("mask")["0"]);
        assert_eq!(report.values("nuclei_count")["0"], count(&mask));
        mask
    };
    assert!(
        slide(&["Tile=2048"]) == whole,
        "a tile as large as the slide"
    );
    let cut = slide(&["Tile=400", "Halo=48"]);
    assert_eq!((cut.width(), cut.height()), (1024, 1024));
    let pairs = cut.pixels().iter().zip(whole.pixels());
    let agree = pairs.filter(|(one, other)| one == other).count();
    assert!(agree > 1024 * 1024 * 97 / 100, "{agree} pixels agree");
}
