//! When indices are known well enough.
//!
//! Law: an interval that is not known is never narrow.

use headwater_sensitivity::analyze::{Bootstrap, Effect, Estimate, MoatIndices, moat, vbd};
use headwater_sensitivity::analyze::{Share, VbdIndices};

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
        steps: 8,
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
        used: 64,
        lost: 0,
        drawn: 64,
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
fn few_are_never_enough() {
    let effect = |steps| Effect {
        steps,
        ..effects(&[estimate(4.0, 0.1)]).parameters[0]
    };
    let of = |parameters: Vec<Effect>| MoatIndices { parameters };
    assert!(of(vec![effect(8), effect(9)]).within(0.5));
    assert!(!of(vec![effect(8), effect(7)]).within(0.5));
    let share = (estimate(0.5, 0.01), estimate(0.5, 0.01));
    assert!(shares(&[share]).within(0.5));
    let few = VbdIndices {
        drawn: 63,
        ..shares(&[share])
    };
    assert!(!few.within(0.5));
}

#[test]
fn few_are_counted_by_what_is_there() {
    // Eight trajectories on two tiles: sixteen effects of eight steps. An output that is missing on both costs a step.
    let design = support::moat(3, 8, 4, 1);
    let outputs = support::evaluate(&design.points, |row| row[0]);
    let steps = |tiles: &[&[Option<f64>]]| {
        let found = moat::pooled(&design, tiles, &Bootstrap::default()).unwrap();
        let steps: Vec<usize> = found.parameters.iter().map(|effect| effect.steps).collect();
        (steps, found.enough())
    };
    assert_eq!(steps(&[&outputs, &outputs]), (vec![8; 3], true));
    let mut holes = outputs.clone();
    holes[1] = None;
    assert_eq!(steps(&[&outputs, &holes]), (vec![8; 3], true));
    let (left, enough) = steps(&[&holes, &holes]);
    assert_eq!((left.iter().sum::<usize>(), enough), (22, false));
    // The same for base points.
    let design = support::vbd(3, 64, false, (0.0, 1.0), 1);
    let outputs = support::evaluate(&design.points, |row| row[0]);
    let mut holes = outputs.clone();
    holes[3] = None;
    let drawn = |tiles: &[&[Option<f64>]]| {
        let found = vbd::pooled(&design, tiles, &Bootstrap::default()).unwrap();
        (found.drawn, found.enough())
    };
    assert_eq!(drawn(&[&outputs, &holes]), (64, true));
    assert_eq!(drawn(&[&holes, &holes]), (63, false));
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
