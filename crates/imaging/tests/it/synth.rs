//! The segmentation on synthetic tissue, whose nuclei are known.
//!
//! Law: at default parameters and default tissue the segmentation finds nearly all nuclei, as pixels and as objects.

use headwater_imaging::{Synth, SynthOptions, compare_objects, compare_pixels, objects_of};

use headwater_imaging::nuclei::{Parameters, Status, segment};

#[test]
fn nuclei_of_synthetic_tissue_are_found() {
    for seed in [1, 2, 3] {
        let tissue = Synth::new(512, 512, seed, SynthOptions::default()).unwrap();
        let (image, labels) = tissue.labelled_band(0, 512);
        let (_, reference) = tissue.band(0, 512);
        let found = segment(image.view(), &Parameters::default(), |_| {});
        assert_eq!(found.status, Status::Done);
        let pixels = compare_pixels(found.mask.view(), reference.view()).unwrap();
        let objects = compare_objects(objects_of(found.mask.view()).view(), labels.view()).unwrap();
        assert!(pixels.dice() > 0.9, "{seed}: Dice {}", pixels.dice());
        assert!(objects.f1() > 0.75, "{seed}: F1 {}", objects.f1());
        assert!(objects.mean_dice > 0.75, "{seed}: {objects:?}");
        let (_, other) = Synth::new(512, 512, seed + 100, SynthOptions::default())
            .unwrap()
            .band(0, 512);
        let chance = compare_pixels(found.mask.view(), other.view()).unwrap();
        assert!(chance.dice() < 0.3, "not by chance: {}", chance.dice());
    }
}
