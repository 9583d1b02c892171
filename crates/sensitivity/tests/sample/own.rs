//! Own points as designs of trajectories.
//!
//! Law: what a design says of its points can be found again from the points.

use headwater_sensitivity::sample::{
    Levels, Moat, MoatDesign, SampleError, StepLength, Walk, moat,
};
use headwater_sensitivity::{Points, Space};
use proptest::prelude::*;

use crate::support::{any_space, grid, interval, space};

fn points(width: usize, rows: &[&[f64]]) -> Points {
    let mut points = Points::new(width);
    rows.iter().for_each(|row| points.push(row));
    points
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn steps_are_found_again(
        space in any_space(2, 6),
        trajectories in 1_u32..8,
        half in 1_u32..12,
        own: bool,
        radial: bool,
        nominal: bool,
        seed: u64,
    ) {
        // A radial design of one parameter is a chain as well, and its steps would be taken for nominal ones.
        let own = own || radial;
        let levels = if own { Levels::Grid } else { Levels::Each(2 * half) };
        let walk = if radial { Walk::Radial } else { Walk::Random };
        let length = if nominal { StepLength::Nominal } else { StepLength::Actual };
        let wanted = Moat { trajectories, levels, walk, length };
        let design = moat::design(&space, &wanted, seed).unwrap();
        let found = MoatDesign::from_points(&space, design.points.clone(), levels, length).unwrap();
        prop_assert_eq!(found.trajectories, trajectories);
        prop_assert_eq!(&found.points, &design.points);
        prop_assert_eq!(&found.unordered, &design.unordered);
        prop_assert_eq!(found.moves.len(), design.moves.len());
        for (found, made) in found.moves.iter().zip(&design.moves) {
            prop_assert_eq!((found.from, found.to, found.parameter), (made.from, made.to, made.parameter));
            let discrete = space.parameters[made.parameter as usize].domain.count().is_some();
            if discrete || (nominal && !own) {
                prop_assert_eq!(found.delta.to_bits(), made.delta.to_bits());
            } else {
                prop_assert!((found.delta - made.delta).abs() < 1e-9);
            }
        }
    }
}

/// `SALib.sample.morris.sample`, version 1.6.0, with 3 trajectories, 4 levels and seed 11.
#[test]
fn samples_of_salib_are_designs() {
    let space = space([
        interval(0.0, 1.0),
        interval(-2.0, 2.0),
        interval(10.0, 20.0),
    ]);
    let rows: [&[f64]; 12] = [
        &[0.33333333333333337, 2.0, 10.0],
        &[0.33333333333333337, -0.6666666666666665, 10.0],
        &[1.0, -0.6666666666666665, 10.0],
        &[1.0, -0.6666666666666665, 16.666666666666664],
        &[0.6666666666666666, -0.6666666666666665, 10.0],
        &[0.0, -0.6666666666666665, 10.0],
        &[0.0, -0.6666666666666665, 16.666666666666664],
        &[0.0, 2.0, 16.666666666666664],
        &[0.0, -2.0, 13.333333333333334],
        &[0.0, 0.6666666666666665, 13.333333333333334],
        &[0.0, 0.6666666666666665, 20.0],
        &[0.6666666666666666, 0.6666666666666665, 20.0],
    ];
    let with =
        |levels, length| MoatDesign::from_points(&space, points(3, &rows), levels, length).unwrap();
    let design = with(Levels::Each(4), StepLength::Nominal);
    let step = 2.0 / 3.0;
    let found: Vec<(u32, u32, f64)> = design
        .moves
        .iter()
        .map(|one| (one.from, one.parameter, one.delta))
        .collect();
    let expected = [
        (0, 1, -step),
        (1, 0, step),
        (2, 2, step),
        (4, 0, -step),
        (5, 2, step),
        (6, 1, step),
        (8, 1, step),
        (9, 2, step),
        (10, 0, step),
    ];
    assert_eq!(found, expected);
    assert_eq!(design.trajectories, 3);
    assert_eq!(design.stuck(), [0, 0, 0]);
    for levels in [Levels::Each(4), Levels::Grid] {
        let actual = with(levels, StepLength::Actual);
        for (actual, nominal) in actual.moves.iter().zip(&design.moves) {
            assert!((actual.delta - nominal.delta).abs() < 1e-12);
        }
    }
}

/// Three parameters of few values.
fn coarse() -> Space {
    space([
        grid(0.0, 1.0, 3.0),
        grid(0.0, 1.0, 3.0),
        grid(0.0, 1.0, 3.0),
    ])
}

/// Made elsewhere with a smaller step, and rounded: two of the steps land where they came from.
#[test]
fn steps_without_change_have_no_length_unless_lengths_are_nominal() {
    let rows: [&[f64]; 4] = [
        &[0.0, 1.0, 2.0],
        &[0.0, 1.0, 2.0],
        &[0.0, 3.0, 2.0],
        &[0.0, 3.0, 2.0],
    ];
    let found =
        |levels, length| MoatDesign::from_points(&coarse(), points(3, &rows), levels, length);
    let design = found(Levels::Each(4), StepLength::Nominal).unwrap();
    let parameters: Vec<u32> = design.moves.iter().map(|step| step.parameter).collect();
    assert_eq!(parameters, [0, 1, 2]);
    assert!(design.moves.iter().all(|step| step.delta == 2.0 / 3.0));
    assert_eq!(design.stuck(), [1, 0, 1]);
    let design = found(Levels::Each(4), StepLength::Actual).unwrap();
    let steps: Vec<(u32, f64)> = design
        .moves
        .iter()
        .map(|step| (step.parameter, step.delta))
        .collect();
    assert_eq!(steps, [(0, 0.0), (1, 2.0 / 3.0), (2, 0.0)]);
    assert_eq!(design.stuck(), [1, 0, 1]);

    let error = found(Levels::Grid, StepLength::Actual).unwrap_err();
    assert_eq!(
        error.to_string(),
        "trajectory 1: from row 1 to row 2 0 parameters change; a step changes exactly one"
    );
}

#[test]
fn own_points_that_are_no_trajectories_are_refused() {
    let space = space([interval(0.0, 3.0), interval(0.0, 3.0)]);
    let refused = |rows: &[&[f64]]| {
        MoatDesign::from_points(&space, points(2, rows), Levels::Each(4), StepLength::Actual)
            .unwrap_err()
    };
    let good: [&[f64]; 3] = [&[0.0, 0.0], &[2.0, 0.0], &[2.0, 2.0]];
    let twice = [good[0], good[1], good[2], good[0], good[2], good[1]];
    assert_eq!(
        refused(&twice),
        SampleError::Step {
            trajectory: 2,
            row: 4,
            changed: 2
        }
    );
    assert_eq!(
        refused(&[good[0], good[1], &[3.0, 0.0]]).to_string(),
        "trajectory 1: the step from row 2 to row 3 changes `p0` once more; each parameter changes once in a trajectory"
    );
    assert_eq!(
        refused(&good[..2]).to_string(),
        "2 rows are not a multiple of 3 (a trajectory has a row more than there are parameters)"
    );
    assert_eq!(
        refused(&[good[0], good[1], &[2.0, f64::INFINITY]]).to_string(),
        "row 3, column `p1`: not a finite number"
    );
    assert_eq!(
        refused(&[]),
        SampleError::Nothing {
            what: "trajectories"
        }
    );
    let wide = MoatDesign::from_points(
        &space,
        points(1, &[&[1.0]]),
        Levels::Grid,
        StepLength::Actual,
    );
    assert!(matches!(
        wide,
        Err(SampleError::Width {
            found: 1,
            expected: 2
        })
    ));
    let level = MoatDesign::from_points(
        &space,
        points(2, &good),
        Levels::Each(1),
        StepLength::Actual,
    );
    assert_eq!(level, Err(SampleError::Levels { levels: 1 }));
}
