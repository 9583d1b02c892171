//! Outputs that are missing, not finite, or all the same.
//!
//! Law: what is lost is as though it had never been drawn, to the last bit; and nothing panics.

use headwater_sensitivity::Points;
use headwater_sensitivity::analyze::{AnalyzeError, Bootstrap, moat, vbd};
use headwater_sensitivity::functions::{Morris, SobolG};
use headwater_sensitivity::sample::{MoatDesign, Move, VbdDesign};

use crate::support::{self, bootstrap, evaluate};

fn product() -> SobolG {
    SobolG {
        a: vec![0.0, 1.0, 9.0],
    }
}

#[test]
fn a_base_point_with_a_missing_row_was_never_drawn() {
    for second_order in [false, true] {
        let design = support::vbd(3, 50, second_order, (0.0, 1.0), 4);
        let rows = design.points.len() / 50;
        let outputs = evaluate(&design.points, |point| product().at(point));
        let mut holes = outputs.clone();
        // A row of each sort, and all ways of not being a number.
        let broken = [
            (3, 0, None),
            (7, rows - 1, Some(f64::NAN)),
            (20, 2, Some(f64::INFINITY)),
            (49, rows - 2, Some(f64::NEG_INFINITY)),
        ];
        for (base, row, output) in broken {
            holes[base * rows + row] = output;
        }
        let kept = |base: usize| !broken.iter().any(|hole| hole.0 == base);
        let mut points = Points::new(3);
        let mut rest = Vec::new();
        for row in (0..design.points.len()).filter(|row| kept(row / rows)) {
            points.push(design.points.row(row));
            rest.push(outputs[row]);
        }
        let without = VbdDesign {
            points,
            samples: 46,
            second_order,
        };
        let found = vbd::indices(&design, &holes, &bootstrap(5)).expect("indices");
        let mut expected = vbd::indices(&without, &rest, &bootstrap(5)).expect("indices");
        assert_eq!((found.used, found.lost), (46, 4));
        assert_eq!((expected.used, expected.lost), (46, 0));
        expected.lost = 4;
        assert_eq!(found, expected);
    }
}

#[test]
fn an_effect_counts_if_both_its_ends_are_there() {
    let design = support::moat(20, 6, 4, 8);
    let outputs = evaluate(&design.points, |point| Morris.at(point));
    // The first point of a trajectory is the end of one step, the third of two.
    let mut holes = outputs.clone();
    holes[21] = None;
    holes[2] = Some(f64::NAN);
    let broken = |step: &Move| [21, 2].contains(&step.from) || [21, 2].contains(&step.to);
    let mut without = design.clone();
    without.moves.retain(|step| !broken(step));
    assert_eq!(without.moves.len(), design.moves.len() - 3);
    let found = moat::indices(&design, &holes, &bootstrap(5)).expect("indices");
    let mut expected = moat::indices(&without, &outputs, &bootstrap(5)).expect("indices");
    for step in design.moves.iter().filter(|step| broken(step)) {
        expected.parameters[step.parameter as usize].lost += 1;
    }
    assert_eq!(found, expected);
    let lost: usize = found.parameters.iter().map(|effect| effect.lost).sum();
    assert_eq!(lost, 3);
}

/// Two parameters; three effects of the first, one of the second, of which the outputs are 0, 1, 3, 9.
fn short() -> MoatDesign {
    let mut points = Points::new(3);
    (0..4).for_each(|row| points.push(&[f64::from(row), 0.0, 0.0]));
    let step = |from, to, parameter, delta| Move {
        from,
        to,
        parameter,
        delta,
    };
    MoatDesign {
        points,
        moves: vec![
            step(0, 1, 0, 0.5),
            step(1, 2, 0, -0.5),
            step(2, 3, 1, 0.5),
            step(0, 3, 0, 0.0),
        ],
        trajectories: 1,
        unordered: Vec::new(),
    }
}

#[test]
fn effects_by_hand() {
    let outputs = [0.0, 1.0, 3.0, 9.0].map(Some);
    let found = moat::indices(&short(), &outputs, &bootstrap(0)).expect("indices");
    let [first, second, third] = found.parameters[..] else {
        panic!("three parameters");
    };
    // Effects 2 and −4; the step of no length has none.
    assert_eq!((first.mu, first.mu_star.value), (-1.0, 3.0));
    assert!((first.sigma - 18.0_f64.sqrt()).abs() < 1e-12);
    assert!(first.mu_star.half_width > 0.0);
    assert_eq!((first.used, first.lost, first.no_step), (2, 0, 1));
    // One effect has a size, but neither deviation nor interval.
    assert_eq!((second.mu, second.mu_star.value), (12.0, 12.0));
    assert!(second.sigma.is_nan() && second.mu_star.half_width.is_nan());
    // None has nothing.
    assert!(third.mu.is_nan() && third.mu_star.value.is_nan() && third.sigma.is_nan());
    assert_eq!((third.used, third.lost), (0, 0));
    assert_eq!(found.ranking(), [1, 0, 2]);
}

#[test]
fn without_variance_no_share_is_a_number() {
    let design = support::vbd(3, 20, true, (0.0, 1.0), 1);
    // A sum of tenths is not exact, so that the mean is not the value itself.
    for value in [0.1, 0.0, -1e300, 5e-324] {
        let outputs = vec![Some(value); design.points.len()];
        let found = vbd::indices(&design, &outputs, &bootstrap(0)).expect("indices");
        assert!(found.constant, "{value}");
        assert_eq!(found.used, 20);
        let shares = found.parameters.iter();
        let mut all = shares
            .flat_map(|share| [share.first, share.total])
            .chain(found.pairs.iter().map(|pair| pair.share));
        assert!(all.all(|share| share.value.is_nan() && share.half_width.is_nan()));
    }
    let outputs = evaluate(&design.points, |point| product().at(point));
    let found = vbd::indices(&design, &outputs, &bootstrap(0)).expect("indices");
    assert!(!found.constant);
}

#[test]
fn few_base_points_are_no_accident() {
    let design = support::vbd(2, 1, false, (0.0, 1.0), 1);
    let outputs = [0.0, 1.0, 2.0, 3.0].map(Some);
    let found = vbd::indices(&design, &outputs, &bootstrap(0)).expect("indices");
    // V = 2.25, B − mean = 1.5, AB − A = 1 and 2.
    assert!((found.parameters[0].first.value - 1.5 / 2.25).abs() < 1e-12);
    assert!((found.parameters[1].total.value - 2.0 / 2.25).abs() < 1e-12);
    assert!(found.parameters[0].first.half_width.is_nan());
    let found = vbd::indices(&design, &[None; 4], &bootstrap(0)).expect("indices");
    assert_eq!((found.used, found.lost, found.constant), (0, 1, false));
    assert!(found.parameters[0].first.value.is_nan());
    let empty = support::vbd(2, 0, false, (0.0, 1.0), 1);
    let found = vbd::indices(&empty, &[], &bootstrap(0)).expect("indices");
    assert_eq!((found.used, found.lost), (0, 0));
}

#[test]
fn large_and_small_outputs_lose_nothing() {
    let design = support::vbd(3, 60, true, (0.0, 1.0), 3);
    let outputs = evaluate(&design.points, |point| product().at(point));
    let expected = vbd::indices(&design, &outputs, &bootstrap(1)).expect("indices");
    for power in [-900, 900] {
        let factor = 2.0_f64.powi(power);
        let scaled: Vec<Option<f64>> = outputs
            .iter()
            .map(|output| output.map(|value| value * factor))
            .collect();
        let found = vbd::indices(&design, &scaled, &bootstrap(1)).expect("indices");
        assert_eq!(found, expected, "2^{power}");
    }
}

#[test]
fn mistakes_are_named() {
    let design = support::vbd(3, 10, false, (0.0, 1.0), 1);
    let outputs = vec![Some(1.0); 50];
    let error = vbd::indices(&design, &outputs[..49], &bootstrap(0)).expect_err("too few");
    assert_eq!(
        error.to_string(),
        "tile 1 has 49 outputs for the 50 points of the design: give one for each point, in the order of the points, \
         and a missing one as missing"
    );
    let mut other = design.clone();
    other.second_order = true;
    let error = vbd::indices(&other, &outputs, &bootstrap(0)).expect_err("another design");
    assert_eq!(
        error.to_string(),
        "a design of 10 base points and 3 parameters with second order has 80 points, this one has 50: was it made \
         without second order?"
    );
    for confidence in [0.0, 1.0, -1.0, f64::NAN] {
        let level = Bootstrap {
            confidence,
            ..Bootstrap::default()
        };
        let error = vbd::indices(&design, &outputs, &level).expect_err("no level");
        assert!(matches!(error, AnalyzeError::Confidence(_)), "{error}");
    }
    let many = Bootstrap {
        resamples: u32::MAX,
        ..Bootstrap::default()
    };
    let error = vbd::indices(&design, &outputs, &many).expect_err("too many");
    assert_eq!(error, AnalyzeError::Resamples(u32::MAX));
    let mut design = short();
    design.moves[1].to = 4;
    let error = moat::indices(&design, &[None; 4], &bootstrap(0)).expect_err("out of the design");
    assert_eq!(
        error.to_string(),
        "step 1 goes from point 1 to point 4 by parameter 0 (all counted from 0), but the design has 4 points and 3 \
         parameters"
    );
}
