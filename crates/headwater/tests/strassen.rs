//! Strassen's multiplication as a sequence of calls: the example that comes with the crate.

#[path = "../examples/strassen/strassen.rs"]
mod strassen;

use std::path::Path;

use headwater::StorePlace;
use headwater::sequence::{CallState, Mode, SequenceOptions, SequenceReport, Threads};
use strassen::{
    Matrix, Temporaries, calls, classic_product, difference, example_matrix, multiply, rounding,
};

fn options() -> SequenceOptions {
    SequenceOptions::new(Mode::Restrictive)
        .forgetting()
        .on(Threads::new(2))
}

fn factors(size: u64) -> (Matrix, Matrix) {
    (example_matrix(size, 1), example_matrix(size, 2))
}

fn run(size: u64, levels: u32, temporaries: Temporaries) -> (Matrix, SequenceReport) {
    let (a, b) = factors(size);
    multiply(options(), &a, &b, levels, temporaries).unwrap()
}

#[test]
fn one_level_is_the_21_calls_of_the_paper_and_the_program_moves_only_the_factors_and_the_product() {
    let (product, report) = run(64, 1, Temporaries::Separate);
    assert_eq!(report.calls.len(), 21);
    assert_eq!(report.count(CallState::Executed), 21);
    let named = |name: &str| {
        let calls = report.calls.iter().map(|call| &*call.operation);
        calls.filter(|operation| *operation == name).count()
    };
    assert_eq!(named("strassen/add"), 6 + 2);
    assert_eq!(named("strassen/subtract"), 4);
    assert_eq!(named("strassen/multiply"), 7);
    assert_eq!(named("strassen/combine"), 2);
    let ranks: Vec<u32> = report.calls.iter().map(|call| call.rank).collect();
    assert!(ranks[..10].iter().all(|rank| *rank == 0), "{ranks:?}");
    assert!(ranks[10..17].iter().all(|rank| *rank == 1), "{ranks:?}");
    assert!(ranks[17..].iter().all(|rank| *rank == 2), "{ranks:?}");

    let matrix = 64 * 64 * 8;
    assert_eq!(report.traffic.given, 2 * matrix);
    assert_eq!(report.traffic.taken, matrix);
    let (a, b) = factors(64);
    let apart = difference(&product, &classic_product(&a, &b).unwrap());
    assert!(apart <= rounding(64, 1) + rounding(64, 0), "{apart:e}");
}

#[test]
fn more_levels_give_the_product_to_rounding() {
    for (size, levels) in [
        (1, 0),
        (7, 0),
        (2, 1),
        (6, 1),
        (128, 2),
        (12, 2),
        (64, 3),
        (8, 3),
    ] {
        let (product, report) = run(size, levels, Temporaries::Separate);
        assert_eq!(report.calls.len(), calls(levels), "{levels} levels");
        assert_eq!(
            report.count(CallState::Executed),
            calls(levels),
            "{levels} levels"
        );
        assert_eq!(report.traffic.given, 2 * size * size * 8);
        assert_eq!(report.traffic.taken, size * size * 8);
        let (a, b) = factors(size);
        let apart = difference(&product, &classic_product(&a, &b).unwrap());
        let allowed = rounding(size, levels) + rounding(size, 0);
        assert!(
            apart <= allowed,
            "{size}, {levels} levels: {apart:e} > {allowed:e}"
        );
    }
    assert_eq!([0, 1, 2, 3].map(calls), [1, 21, 203, 1645]);
}

#[test]
fn a_program_that_reuses_its_temporaries_gets_the_same_and_is_held_up_no_more() {
    for (size, levels) in [(32, 1), (64, 2)] {
        let (separate, before) = run(size, levels, Temporaries::Separate);
        let (reused, after) = run(size, levels, Temporaries::Reused);
        assert_eq!(separate, reused, "bit for bit");
        assert_eq!(before.calls.len(), after.calls.len());
        // What is read after it was written is the same; what is written over is a fact, and nothing that waits.
        let (before, after) = (before.dependences, after.dependences);
        assert_eq!(before.read_after_write, after.read_after_write);
        assert_eq!(before.write_after_write, 0);
        assert!(
            after.write_after_read > before.write_after_read,
            "{after:?}"
        );
    }
}

#[test]
fn a_multiplication_that_was_done_before_is_not_done_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = |temporaries| {
        let (a, b) = factors(32);
        let options = remembering(folder.path());
        multiply(options, &a, &b, 2, temporaries).unwrap()
    };
    let (first, report) = run(Temporaries::Separate);
    assert_eq!(report.count(CallState::Executed), calls(2));
    for temporaries in [Temporaries::Separate, Temporaries::Reused] {
        let (again, report) = run(temporaries);
        assert_eq!(report.count(CallState::Executed), 0, "{report}");
        assert_eq!(first, again);
    }
}

fn remembering(folder: &Path) -> SequenceOptions {
    options().store(StorePlace {
        url: Some(folder.join("store").display().to_string()),
        read_only: false,
        ..StorePlace::default()
    })
}

#[test]
fn matrices_that_cannot_be_halved_are_refused() {
    let refused = |a: &Matrix, b: &Matrix, levels| {
        let answer = multiply(options(), a, b, levels, Temporaries::Separate);
        answer.map(|_| ()).unwrap_err().to_string()
    };
    let (a, b) = factors(6);
    assert_eq!(
        refused(&a, &b, 2),
        "matrices of size 6 cannot be halved 2 times; put zeros around them, or use fewer levels"
    );
    assert_eq!(
        refused(&a, &b, 99),
        "matrices of size 6 cannot be halved 99 times; put zeros around them, or use fewer levels"
    );
    let wide = Matrix::new(&[2, 3], [0.0; 6]).unwrap();
    assert_eq!(
        refused(&wide, &wide, 1),
        "matrices of shape [2, 3] and [2, 3], where two square ones of one size are wanted"
    );
    let row = Matrix::new(&[6], [0.0; 6]).unwrap();
    assert_eq!(
        refused(&row, &row, 1),
        "an array of shape [6], where a matrix is wanted"
    );
}
