//! When indices are known well enough.
//!
//! Law: an interval that is not known is never narrow.

use headwater_study::analyze::{Bootstrap, Effect, Estimate, MoatIndices, moat, vbd};
use headwater_study::analyze::{Share, VbdIndices};

use crate::support;

fn estimate(value: f64, half_width: f64) -> Estimate {
    Estimate { value, half_width }
}

fn effects(estimates: &[Estimate]) -> MoatIndices {
    let effect = |mu_star: &Estimate| Effect {
        mu: mu_star.value,
        mu_star: *mu_star,
        sigma: 0.0,
        used: 8,
        lost: 0,
        no_step: 0,
    };
    MoatIndices {
        parameters: estimates.iter().map(effect).collect(),
    }
}

fn shares(estimates: &[(Estimate, Estimate)]) -> VbdIndices {
    let share = |&(first, total): &(Estimate, Estimate)| Share { first, total };
    VbdIndices {
        parameters: estimates.iter().map(share).collect(),
        pairs: Vec::new(),
        used: 8,
        lost: 0,
        constant: false,
    }
}

#[test]
fn effects_are_measured_by_the_largest() {
    let found = effects(&[estimate(4.0, 0.5), estimate(1.0, 1.0)]);
    assert!(found.within(0.25));
    assert!(!found.within(0.249), "the small one is the wider one");
    let unknown = effects(&[estimate(4.0, 0.0), Estimate::UNKNOWN]);
    assert!(!unknown.within(0.9));
    let alone = effects(&[estimate(4.0, f64::NAN)]);
    assert!(!alone.within(0.9));
    let nothing = effects(&[estimate(0.0, 0.0), estimate(0.0, 0.0)]);
    assert!(!nothing.within(0.9), "no effect has been seen yet");
    assert!(!effects(&[]).within(0.9));
}

#[test]
fn shares_are_measured_by_themselves() {
    let found = shares(&[
        (estimate(0.5, 0.02), estimate(0.6, 0.05)),
        (estimate(0.1, 0.04), estimate(0.2, 0.01)),
    ]);
    assert!(found.within(0.05));
    assert!(!found.within(0.049), "a total share");
    let first = shares(&[(estimate(0.5, 0.07), estimate(0.6, 0.05))]);
    assert!(!first.within(0.06), "a first-order share");
    let unknown = shares(&[(estimate(0.5, 0.01), Estimate::UNKNOWN)]);
    assert!(!unknown.within(0.9));
    assert!(!shares(&[]).within(0.9));
}

#[test]
fn without_resamples_or_variance_nothing_is_known_well_enough() {
    let usual = Bootstrap::default();
    let none = Bootstrap {
        resamples: 0,
        ..usual
    };
    let design = support::moat(3, 20, 4, 1);
    let outputs = support::evaluate(&design.points, |row| row[0]);
    let found = |bootstrap| moat::indices(&design, &outputs, bootstrap).unwrap();
    assert!(found(&usual).within(0.1));
    assert!(!found(&none).within(0.9));
    let design = support::vbd(3, 4096, false, (0.0, 1.0), 1);
    let indices = |function: fn(&[f64]) -> f64, bootstrap| {
        let outputs = support::evaluate(&design.points, function);
        vbd::indices(&design, &outputs, bootstrap).unwrap()
    };
    assert!(indices(|row| row[0], &usual).within(0.1));
    assert!(!indices(|row| row[0], &none).within(0.9));
    assert!(!indices(|_| 7.0, &usual).within(0.9));
}
