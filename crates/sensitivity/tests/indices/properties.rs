//! What must not change indices, and what must.
//!
//! Law: each property holds for random functions on random designs.

use headwater_sensitivity::Points;
use headwater_sensitivity::analyze::{MoatIndices, VbdIndices, moat, vbd};
use headwater_sensitivity::sample::{MoatDesign, VbdDesign};
use proptest::prelude::*;

use crate::support::{self, Random, bootstrap, evaluate, near};

/// A function with effects, curvature and interactions of all sizes and signs.
fn function(parameters: usize, seed: u64) -> impl Fn(&[f64]) -> f64 {
    let mut random = Random(seed);
    let weights: Vec<f64> = (0..parameters * parameters)
        .map(|_| random.unit() * 4.0 - 2.0)
        .collect();
    move |point| {
        let mut sum = 0.3;
        for i in 0..parameters {
            sum += weights[i] * point[i];
            for j in 0..parameters {
                sum += weights[i * parameters + j] * point[i] * point[j] * point[j];
            }
        }
        sum
    }
}

fn scaled(outputs: &[Option<f64>], factor: f64, shift: f64) -> Vec<Option<f64>> {
    let change = |output: &Option<f64>| output.map(|value| value * factor + shift);
    outputs.iter().map(change).collect()
}

fn moat_indices(seed: u64, parameters: usize) -> (MoatDesign, Vec<Option<f64>>, MoatIndices) {
    let design = support::moat(parameters, 8, 6, seed);
    let outputs = evaluate(&design.points, function(parameters, seed));
    let indices = moat::indices(&design, &outputs, &bootstrap(seed)).expect("indices");
    (design, outputs, indices)
}

fn vbd_indices(seed: u64, parameters: usize) -> (VbdDesign, Vec<Option<f64>>, VbdIndices) {
    let design = support::vbd(parameters, 24, true, (-1.0, 1.0), seed);
    let outputs = evaluate(&design.points, function(parameters, seed));
    let indices = vbd::indices(&design, &outputs, &bootstrap(seed)).expect("indices");
    (design, outputs, indices)
}

/// All shares, with their intervals.
fn all(indices: &VbdIndices) -> Vec<[f64; 2]> {
    let shares = indices.parameters.iter();
    shares
        .flat_map(|share| [share.first, share.total])
        .chain(indices.pairs.iter().map(|pair| pair.share))
        .map(|share| [share.value, share.half_width])
        .collect()
}

fn same_shares(found: &VbdIndices, expected: &VbdIndices) {
    let (found, expected) = (all(found), all(expected));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        near(found[0], expected[0], 1e-9, "share");
        near(found[1], expected[1], 1e-9, "interval");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_order_of_steps_does_not_matter(seed: u64, parameters in 1_usize..8) {
        let (mut design, outputs, expected) = moat_indices(seed, parameters);
        Random(seed).shuffle(&mut design.moves);
        let found = moat::indices(&design, &outputs, &bootstrap(seed)).expect("indices");
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_step_backwards_is_the_same_step(seed: u64, parameters in 1_usize..8) {
        let (mut design, outputs, expected) = moat_indices(seed, parameters);
        for step in &mut design.moves {
            (step.from, step.to, step.delta) = (step.to, step.from, -step.delta);
        }
        let found = moat::indices(&design, &outputs, &bootstrap(seed)).expect("indices");
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn effects_scale_with_the_output(seed: u64, parameters in 1_usize..8, factor in -9.0_f64..9.0) {
        let (design, outputs, before) = moat_indices(seed, parameters);
        let outputs = scaled(&outputs, factor, 3.0);
        let after = moat::indices(&design, &outputs, &bootstrap(seed)).expect("indices");
        let size = factor.abs();
        for (after, before) in after.parameters.iter().zip(&before.parameters) {
            near(after.mu, before.mu * factor, 1e-9, "μ");
            near(after.mu_star.value, before.mu_star.value * size, 1e-9, "μ*");
            near(after.sigma, before.sigma * size, 1e-9, "σ");
            near(after.mu_star.half_width, before.mu_star.half_width * size, 1e-9, "interval");
            prop_assert!(after.mu.abs() <= after.mu_star.value * (1.0 + 1e-12));
        }
    }

    #[test]
    fn shares_do_not_depend_on_scale_and_shift(
        seed: u64, parameters in 1_usize..6, factor in 0.1_f64..9.0, shift in -100.0..100.0,
    ) {
        let (design, outputs, before) = vbd_indices(seed, parameters);
        for factor in [factor, -factor] {
            let outputs = scaled(&outputs, factor, shift);
            let after = vbd::indices(&design, &outputs, &bootstrap(seed)).expect("indices");
            same_shares(&after, &before);
        }
    }

    #[test]
    fn the_order_of_base_points_does_not_matter(seed: u64, parameters in 1_usize..6) {
        let (design, outputs, before) = vbd_indices(seed, parameters);
        let rows = 2 * parameters + 2;
        let mut order: Vec<usize> = (0..24).collect();
        Random(seed).shuffle(&mut order);
        let mut points = Points::new(parameters);
        let mut moved = Vec::new();
        for row in order.iter().flat_map(|base| base * rows..(base + 1) * rows) {
            points.push(design.points.row(row));
            moved.push(outputs[row]);
        }
        let after = vbd::indices(&VbdDesign { points, ..design }, &moved, &bootstrap(seed));
        for (after, before) in all(&after.expect("indices")).iter().zip(all(&before)) {
            near(after[0], before[0], 1e-9, "share");
        }
    }

    #[test]
    fn a_parameter_that_does_nothing_has_no_effect(seed: u64, parameters in 1_usize..6) {
        let ignorant = |width: usize| {
            let inner = function(width - 1, seed);
            move |point: &[f64]| inner(&point[1..])
        };
        let design = support::vbd(parameters + 1, 24, false, (-1.0, 1.0), seed);
        let outputs = evaluate(&design.points, ignorant(parameters + 1));
        let found = vbd::indices(&design, &outputs, &bootstrap(seed)).expect("indices");
        let share = found.parameters[0];
        for zero in [share.first.value, share.first.half_width, share.total.value, share.total.half_width] {
            prop_assert_eq!(zero, 0.0);
        }
        let design = support::moat(parameters + 1, 8, 6, seed);
        let outputs = evaluate(&design.points, ignorant(parameters + 1));
        let found = moat::indices(&design, &outputs, &bootstrap(seed)).expect("indices");
        let effect = found.parameters[0];
        prop_assert_eq!([effect.mu, effect.mu_star.value, effect.sigma, effect.mu_star.half_width], [0.0; 4]);
    }

    #[test]
    fn tiles_that_say_the_same_say_it_together(seed: u64, parameters in 1_usize..6) {
        let (design, outputs, one) = vbd_indices(seed, parameters);
        let twice = scaled(&outputs, -2.0, 7.0);
        let constant = vec![Some(0.1); outputs.len()];
        let found = vbd::tiles(&design, &[&outputs, &twice, &constant], &bootstrap(seed)).expect("indices");
        // Shares of each tile are the same, so those of all are; what does not vary has no say.
        same_shares(&found.pooled, &one);
        prop_assert_eq!(&found.each[0], &one);
        prop_assert!(found.each[2].constant && !found.pooled.constant);
        prop_assert_eq!(found.pooled.used, 72);

        let (design, outputs, one) = moat_indices(seed, parameters);
        let turned = scaled(&outputs, -1.0, 7.0);
        let found = moat::tiles(&design, &[&outputs, &turned], &bootstrap(seed)).expect("indices");
        prop_assert_eq!(&found.each[0], &one);
        for (pooled, one) in found.pooled.parameters.iter().zip(&one.parameters) {
            near(pooled.mu, 0.0, 1e-9, "μ cancels");
            near(pooled.mu_star.value, one.mu_star.value, 1e-9, "μ* does not");
            near(pooled.mu_star.half_width, one.mu_star.half_width, 1e-9, "the same steps tell nothing new");
            prop_assert_eq!(pooled.used, 2 * one.used);
        }
    }

    #[test]
    fn pooled_shares_are_weighted_by_variance(seed: u64, parameters in 1_usize..6) {
        let design = support::vbd(parameters, 24, true, (-1.0, 1.0), seed);
        let one = evaluate(&design.points, function(parameters, seed));
        let other = evaluate(&design.points, function(parameters, seed.wrapping_add(1)));
        let found = vbd::tiles(&design, &[&one, &other], &bootstrap(seed)).expect("indices");
        // The variance of the rows A and B, computed apart.
        let rows = 2 * parameters + 2;
        let weight = |outputs: &[Option<f64>]| {
            let ends = |row: &usize| [0, rows - 1].contains(&(row % rows));
            let ends: Vec<f64> = (0..outputs.len()).filter(ends).filter_map(|row| outputs[row]).collect();
            let mean = ends.iter().sum::<f64>() / ends.len() as f64;
            ends.iter().map(|end| (end - mean) * (end - mean)).sum::<f64>()
        };
        let (heavy, light) = (weight(&one), weight(&other));
        let parts = all(&found.each[0]).into_iter().zip(all(&found.each[1]));
        for (pooled, (one, other)) in all(&found.pooled).iter().zip(parts) {
            let expected = (one[0] * heavy + other[0] * light) / (heavy + light);
            near(pooled[0], expected, 1e-9, "share");
        }
    }
}

#[test]
fn a_tile_keeps_the_base_points_that_another_lost() {
    let design = support::vbd(3, 24, false, (-1.0, 1.0), 1);
    let outputs = evaluate(&design.points, function(3, 1));
    let mut holes = outputs.clone();
    holes[7] = None;
    let found = vbd::tiles(&design, &[&outputs, &holes], &bootstrap(1)).expect("indices");
    assert_eq!((found.pooled.used, found.pooled.lost), (47, 1));
    let both = found.each[0].parameters[0].total.value..=found.each[1].parameters[0].total.value;
    let (low, high) = (both.start().min(*both.end()), both.start().max(*both.end()));
    let pooled = found.pooled.parameters[0].total.value;
    assert!(low < pooled && pooled < high, "{low} {pooled} {high}");
}

#[test]
fn the_seed_is_all_that_intervals_depend_on() {
    let (design, outputs, one) = vbd_indices(3, 4);
    let again = vbd::indices(&design, &outputs, &bootstrap(3)).expect("indices");
    let other = vbd::indices(&design, &outputs, &bootstrap(4)).expect("indices");
    assert_eq!(again, one);
    assert_ne!(other, one);
    for (other, one) in all(&other).iter().zip(all(&one)) {
        assert_eq!(other[0], one[0]);
        // Quantiles of 100 resamples: within a half of one another.
        near(other[1] / one[1], 1.0, 0.5, "interval");
    }
}
