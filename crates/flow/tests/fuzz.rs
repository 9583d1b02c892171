//! The readers against mutated files: none panics, and their laws hold.

use std::panic::{AssertUnwindSafe, catch_unwind};

use headwater_flow::mutate;

/// The long mode is `cargo xtask fuzz`.
const CASES: u64 = 20_000;
const THREADS: u64 = 2;

#[test]
fn mutated_files_break_nothing() {
    let registry = mutate::registry();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let registry = &registry;
            scope.spawn(move || {
                for seed in (0..CASES).filter(|seed| seed % THREADS == thread) {
                    let text = mutate::mutated(seed);
                    let result =
                        catch_unwind(AssertUnwindSafe(|| mutate::exercise(&text, registry)));
                    assert!(result.is_ok(), "seed {seed} breaks a reader:\n{text}");
                }
            });
        }
    });
}

#[test]
fn invariant_1_reading_depends_on_the_text_alone() {
    let read = |seed: u64| {
        let text = mutate::mutated(seed);
        let workflow = headwater_flow::read_workflow(&text, &mutate::registry());
        let data = headwater_flow::read_data(&text, headwater_flow::DataFormat::Yaml);
        let study = headwater_flow::read_study(&text);
        format!("{workflow:?}{data:?}{study:?}")
    };
    for seed in 0..300 {
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| read(seed)).join());
        assert_eq!(Some(read(seed)), elsewhere.ok(), "seed {seed}");
    }
}
