//! The readers of image files against mutated files: none panics, and their laws hold.

use std::panic::{AssertUnwindSafe, catch_unwind};

use headwater_imaging::files::{mutate, read_image};

/// `cargo xtask fuzz` goes on after these.
const CASES: u64 = 6_000;

#[test]
fn mutated_files_break_nothing() {
    std::thread::scope(|scope| {
        for part in 0..2 {
            scope.spawn(move || {
                for seed in (part..CASES).step_by(2) {
                    let bytes = mutate::mutated(seed);
                    let done = catch_unwind(AssertUnwindSafe(|| mutate::exercise(&bytes)));
                    assert!(done.is_ok(), "seed {seed} breaks a reader");
                }
            });
        }
    });
}

#[test]
fn mutation_leaves_some_files_readable_and_most_not() {
    let readable = (0..2_000)
        .filter(|&seed| read_image(&mutate::mutated(seed)).is_ok())
        .count();
    assert!(
        (100..1_500).contains(&readable),
        "{readable} of 2,000 are readable"
    );
}

#[test]
fn each_file_of_the_corpus_is_readable_and_broken_by_an_early_end() {
    for (name, bytes) in mutate::CORPUS {
        assert!(
            read_image(bytes).is_ok(),
            "{name}: {:?}",
            read_image(bytes).err()
        );
        mutate::exercise(bytes);
        let (size, step) = (bytes.len(), 1 + bytes.len() / 400);
        for length in (0..size).step_by(step).chain(size - 40..size) {
            let cut = &bytes[..length];
            mutate::exercise(cut);
            // The tags of some TIFF files come last and the padding of others; the pixels are there or it is an error.
            if let Ok(picture) = read_image(cut) {
                assert_eq!(
                    picture,
                    read_image(bytes).unwrap(),
                    "{name} cut to {length} bytes"
                );
            }
        }
    }
}
