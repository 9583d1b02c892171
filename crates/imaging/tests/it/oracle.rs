//! The segmentation against masks and intermediate images of the reference implementation: not a pixel differs.

use std::collections::BTreeMap;
use std::fs;

use headwater_imaging::nuclei::{self, Parameters, Status};
use headwater_imaging::{Colour, Connectivity, Plane, View, filter_by_area};

use crate::shared::{colour, grey, shared};

/// How many pixels differ.
fn differing(one: View<'_, u8>, other: View<'_, u8>) -> usize {
    assert_eq!((one.width(), one.height()), (other.width(), other.height()));
    let pixels = one.pixels().iter().zip(other.pixels());
    pixels.filter(|(one, other)| one != other).count()
}

#[test]
fn every_case_gives_the_mask_status_and_count_of_the_reference() {
    let Some(oracle) = shared("oracle/nuclei") else {
        return;
    };
    let cases = fs::read_to_string(oracle.join("cases.jsonl")).unwrap();
    let mut images: BTreeMap<String, Plane<Colour>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in cases.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |field: &str| case[field].as_str().unwrap().to_owned();
        let name = text("image");
        let image = images
            .entry(name.clone())
            .or_insert_with(|| colour(&oracle.join(format!("images/{name}.png"))));
        let mut parameters = Parameters::default();
        for (parameter, value) in case["params"].as_object().unwrap() {
            parameters.set(parameter, value.as_f64().unwrap()).unwrap();
        }
        let made = nuclei::segment(image.view(), &parameters, |_| {});
        let mask = grey(&oracle.join(text("mask")));
        let expected = (
            0,
            case["status"].as_i64().unwrap(),
            case["nuclei"].as_u64().unwrap(),
            case["foreground"].as_u64().unwrap(),
        );
        let found = (
            differing(made.mask.view(), mask.view()),
            made.status.code(),
            made.nuclei,
            made.foreground,
        );
        if found != expected {
            wrong.push(format!(
                "{name} {}: (pixels, status, nuclei, foreground) are {found:?}, not {expected:?}",
                text("set")
            ));
        }
    }
    assert_eq!(cases.lines().count(), 163);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_stage_gives_the_image_of_the_reference() {
    let Some(oracle) = shared("oracle/nuclei") else {
        return;
    };
    let image = colour(&oracle.join("images/histo.png"));
    let parameters = Parameters::default();
    let check = |stage: &str, made: View<'_, u8>| {
        let expected = grey(&oracle.join(format!("stages/histo-{stage}.png")));
        assert_eq!(differing(made, expected.view()), 0, "stage {stage}");
    };
    let [red, green, blue] = nuclei::split(image.view());
    let cells = nuclei::red_blood_cells(red.view(), green.view(), blue.view(), &parameters);
    check("002", cells.mask.to_mask().view());
    let background = nuclei::reconstruct_background(red.view(), parameters.recon_conn);
    check("004", background.reconstructed.view());
    let difference = nuclei::threshold(
        background.inverted.view(),
        background.reconstructed.view(),
        parameters.g1,
        parameters.fill_holes_conn,
    );
    check("005", difference.difference.view());
    check("007", difference.mask.to_mask().view());
    let sizes = (parameters.min_size, parameters.max_size);
    let (seeds, status) = nuclei::filter_candidates(&difference.mask, sizes);
    assert_eq!(status, Status::Done);
    check("008", seeds.to_mask().view());
    let found = nuclei::candidates(
        difference.difference.view(),
        &seeds,
        &cells.mask,
        parameters.g2,
    );
    check("013", found.to_mask().view());
    let large = nuclei::large_objects(&found, parameters.min_size_pl);
    check("015", large.to_mask().view());
    let separated = nuclei::separate(
        image.view(),
        &found,
        parameters.min_size_pl,
        parameters.watershed_conn,
    );
    check("021", separated.to_mask().view());
    let (unfilled, _) = filter_by_area(
        &separated,
        parameters.min_size_seg,
        Some(parameters.max_size_seg),
        Connectivity::Four,
    );
    check("023", unfilled.to_mask().view());
}
