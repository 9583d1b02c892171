//! The nuclei example: its mask, its picture, its comparison, what runs again after a change, and slides.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use headwater_imaging::files::{read_image, write_png};
use headwater_imaging::{Bitmap, Colour, Connectivity, Plane, count_components};

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

/// A study of tiles with masks of their own, and one whose reference shows nothing.
#[test]
fn a_study_compares_with_masks_of_its_own_and_tells_of_a_blank_reference() {
    let (place, folder) = example("nuclei");
    fs::create_dir(folder.join("made")).expect("a folder");
    for seed in ["1", "2"] {
        let (tile, mask) = (
            format!("nuclei/made/{seed}.png"),
            format!("nuclei/made/{seed}-mask.png"),
        );
        let size = ["imaging", "synth", "--size", "96x96", "--seed", seed];
        let files = ["-o", &tile, "--mask", &mask];
        place.headwater(&[&size[..], &files[..]].concat()).ended(0);
    }
    let study = ["study", "run", "nuclei/own.yaml"];
    let short = ["--set", "method.moat.trajectories=2"];
    let ran = place.headwater(&[&study[..], &short[..]].concat()).ended(0);
    assert!(ran.stdout.contains(" over 2 items, 0 failed"), "{ran:?}");
    assert!(!ran.stderr.contains("is blank"), "{ran:?}");
    let page = fs::read_to_string(place.path("outputs/last/report.html")).expect("a report");
    assert!(page.contains("tile: 2 items; reference: 2 items"));
    let results = fs::read_to_string(place.path("outputs/last/results.json")).expect("results");
    let results: serde_json::Value = serde_json::from_str(&results).expect("JSON");
    assert_eq!(
        results["items"][1]["inputs"]["reference"],
        "made/2-mask.png"
    );
    assert_eq!(results["fixed"]["Normalize"], false);
    assert_eq!(results["fixed"]["T1"], 5.0);

    let white: Plane<Colour> = Plane::filled(60, 40, [255; 3]);
    let bytes = write_png(white.view()).expect("a PNG");
    fs::write(folder.join("made/white.png"), bytes).expect("a file");
    let blank = "headwater: 1\nstudy: blank\nworkflow: nuclei.yaml\n\
                 inputs: {tile: [made/1.png, made/white.png], reference: {output: mask, at: default}}\n\
                 parameters: [G1, G2]\nobjective: dice\nmethod: {moat: {trajectories: 2}}\n";
    fs::write(folder.join("blank.yaml"), blank).expect("a file");
    let told = "is blank for ";
    for again in [false, true] {
        let ran = place
            .headwater(&["study", "run", "nuclei/blank.yaml"])
            .ended(0);
        assert!(ran.stderr.contains(told), "{again}: {ran:?}");
        assert!(
            ran.stderr.contains("1 (made/white.png)"),
            "{again}: {ran:?}"
        );
    }
    let page = fs::read_to_string(place.path("outputs/last/report.html")).expect("a report");
    assert!(
        page.contains(told) && page.contains("reference: output mask at the default parameters")
    );
    assert!(page.contains("45*"), "a default outside its range");
}

/// Lists that belong together are told to be rows, at their place in the study.
#[test]
fn lists_that_belong_together_are_rows() {
    let (place, folder) = example("nuclei");
    let study = |inputs: &str| {
        let text = format!(
            "headwater: 1\nstudy: own\nworkflow: nuclei.yaml\n{inputs}\nobjective: dice\nmethod: {{moat: }}\n"
        );
        fs::write(folder.join("own.yaml"), text).expect("a file");
        place.headwater(&["study", "plan", "nuclei/own.yaml"])
    };
    for name in ["a.png", "b.png"] {
        fs::copy(folder.join("tissue.png"), folder.join(name)).expect("a copy");
    }
    let lists = study("inputs: {tile: [a.png, b.png], reference: [a.png, b.png]}").ended(2);
    assert!(lists.stderr.contains("own.yaml:4:1"), "{lists:?}");
    assert!(
        lists
            .stderr
            .contains("`rows: [{tile: …, reference: …}, …]`"),
        "{lists:?}"
    );
    let list = study("inputs: [{tile: a.png, reference: b.png}]").ended(2);
    assert!(
        list.stderr.contains("put the list under `rows:`"),
        "{list:?}"
    );
    let rows = study("rows: [{tile: a.png, reference: b.png}, {tile: b.png, reference: a.png}]");
    assert!(rows.ended(0).stdout.contains(" x 2 items = "));
    let twice = study("inputs: {tile: a.png}\nrows: [{tile: a.png, reference: b.png}]").ended(2);
    assert!(
        twice.stderr.contains("is given here and in the rows"),
        "{twice:?}"
    );
    let unknown = study("rows: [{tile: a.png, refrence: b.png}]").ended(2);
    assert!(
        unknown.stderr.contains("did you mean `reference`"),
        "{unknown:?}"
    );
}

/// A store that is made where nobody may expect it is told.
#[test]
fn a_new_store_away_from_the_file_is_told() {
    let (place, _) = example("nuclei");
    let run = [
        "study",
        "run",
        "nuclei/moat.yaml",
        "--set",
        "method.moat.trajectories=2",
    ];
    // Of a place that is named nobody is surprised.
    let named = place.headwater(&run).ended(0);
    assert!(!named.stderr.contains("new store"), "{named:?}");
    fs::rename(place.path(".headwater"), place.path("nuclei/.headwater")).expect("moved");
    let talk = || {
        let mut command = place.command(&run);
        let output = command.env_remove("HEADWATER_STORE").output();
        let output = output.expect("headwater can be started");
        assert!(output.status.success());
        String::from_utf8(output.stderr).expect("text")
    };
    let first = talk();
    let told = first.lines().find(|line| line.starts_with("new store: "));
    let told = told.expect("the new store is told");
    assert!(
        told.contains("nuclei/.headwater` remembers is not used from here"),
        "{told}"
    );
    assert!(!talk().contains("new store"), "it is there now");
}
