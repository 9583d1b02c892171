//! Confidence intervals: they hold the true value as often as they say.
//!
//! Law: seeds are fixed, so that a test never fails by chance.

use core::f64::consts::PI;

use headwater_sensitivity::Points;
use headwater_sensitivity::analyze::{Bootstrap, moat, vbd};
use headwater_sensitivity::functions::{Ishigami, Morris};
use headwater_sensitivity::sample::{MoatDesign, Move};

use crate::support::{self, bootstrap, evaluate};

const STUDIES: u64 = 200;

/// Fails unless about 95 of 100 intervals hold the value. Over 200 studies that is 190 ± 3; intervals from so few
/// points are known to be somewhat narrow.
#[track_caller]
fn about_95(held: u64, what: &str) {
    let percent = held * 100 / STUDIES;
    assert!((88..=99).contains(&percent), "{what}: {percent}%");
}

#[test]
fn intervals_of_shares_hold_the_exact_value() {
    let function = Ishigami::default();
    let exact = function.exact();
    let mut held = [[0; 3]; 2];
    for study in 0..STUDIES {
        let design = support::vbd(3, 400, false, (-PI, PI), 1000 + study);
        let outputs = evaluate(&design.points, |point| function.at(point));
        let found = vbd::indices(&design, &outputs, &bootstrap(study)).expect("indices");
        for (place, share) in found.parameters.iter().enumerate() {
            held[0][place] += u64::from(share.first.covers(exact.first[place]));
            held[1][place] += u64::from(share.total.covers(exact.total[place]));
        }
    }
    for (order, held) in ["first", "total"].iter().zip(held) {
        for (place, held) in held.into_iter().enumerate() {
            about_95(held, &format!("{order} order of parameter {place}"));
        }
    }
}

#[test]
fn intervals_of_effects_hold_the_exact_value() {
    let exact = Morris.effects(20);
    let mut held = [0; 3];
    for study in 0..STUDIES {
        let design = support::moat(20, 30, 20, 5000 + study);
        let outputs = evaluate(&design.points, |point| Morris.at(point));
        let found = moat::indices(&design, &outputs, &bootstrap(study)).expect("indices");
        // Effects of the eighth to tenth never change sign, so that μ* is μ.
        for place in 7..10 {
            let interval = found.parameters[place].mu_star;
            held[place - 7] += u64::from(interval.covers(exact[place].mu));
        }
    }
    held.into_iter().for_each(|held| about_95(held, "μ*"));
}

#[test]
fn a_higher_level_makes_wider_intervals() {
    let function = Ishigami::default();
    let design = support::vbd(3, 100, false, (-PI, PI), 1);
    let outputs = evaluate(&design.points, |point| function.at(point));
    let width = |confidence: f64| {
        let level = Bootstrap {
            confidence,
            ..bootstrap(1)
        };
        let found = vbd::indices(&design, &outputs, &level).expect("indices");
        found.parameters[0].total.half_width
    };
    let widths = [0.1, 0.5, 0.9, 0.95, 0.99, 0.9999].map(width);
    assert!(widths.is_sorted_by(|one, other| one < other), "{widths:?}");
}

/// Effects of one parameter, which are what comes out.
fn of_effects(effects: &[f64], resamples: u32) -> f64 {
    let mut points = Points::new(1);
    let mut outputs = Vec::new();
    let mut moves = Vec::new();
    for effect in effects {
        let from = points.len() as u32;
        points.push(&[0.0]);
        points.push(&[1.0]);
        outputs.extend([Some(0.0), Some(*effect)]);
        moves.push(Move {
            from,
            to: from + 1,
            parameter: 0,
            delta: 1.0,
        });
    }
    let design = MoatDesign {
        points,
        moves,
        trajectories: effects.len() as u32,
        unordered: Vec::new(),
    };
    let settings = Bootstrap {
        resamples,
        ..bootstrap(1)
    };
    let found = moat::indices(&design, &outputs, &settings).expect("indices");
    found.parameters[0].mu_star.half_width
}

#[test]
fn an_interval_lies_between_once_and_twice_students() {
    // The mean is 3 and its standard error √½; t of four degrees of freedom is 2.776.
    let student = 2.776_445_105_198 * 0.5_f64.sqrt();
    for resamples in [2, 100, 1000] {
        let found = of_effects(&[1.0, 2.0, 3.0, -4.0, 5.0], resamples);
        assert!(
            (student * (1.0 - 1e-9)..=2.0 * student).contains(&found),
            "{found}"
        );
    }
    // Most resamples of two effects have equal ones: twice the t of one degree of freedom, times half their distance.
    let found = of_effects(&[1.0, 2.0], 100);
    assert!((found - 12.706_204_736_2).abs() < 1e-6, "{found}");
    // One in eight may as well be none, or two.
    let rare = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0];
    let found = of_effects(&rare, 100);
    assert!((found - 2.0 * 2.364_624_251_593).abs() < 1e-6, "{found}");
}

#[test]
fn effects_that_do_not_differ_have_an_interval_of_no_width() {
    for effect in [0.0, 0.1, 1e-300, 1e300] {
        for count in [2, 3, 7, 10] {
            let mut effects = vec![effect; count];
            effects[1] = -effect;
            assert_eq!(of_effects(&effects, 100), 0.0, "{effect}, {count} times");
        }
    }
    assert!(of_effects(&[], 100).is_nan() && of_effects(&[1.0], 100).is_nan());
    assert!(of_effects(&[1.0, 2.0], 1).is_nan() && of_effects(&[1.0, 2.0], 0).is_nan());
}

#[test]
fn the_unit_of_effects_does_not_change_their_intervals() {
    let effects = [0.3, 1.1, 0.2, 2.9, 0.4, 0.7, 1.6, 0.1];
    let one = of_effects(&effects, 100);
    for size in [1e-300, 1e-9, 1e9, 1e300] {
        let other = of_effects(&effects.map(|effect| effect * size), 100);
        assert!((other / size / one - 1.0).abs() < 1e-9, "{size}: {other}");
    }
}
