//! Designs that grow: what is evaluated already stays in use.
//!
//! Law: where a sampler or a walk says that it extends, a design of more groups and the same seed begins with the
//! smaller one, bit for bit; so its prefixes, and what is found at them, are those of smaller designs.

use headwater_sensitivity::analyze::{self, Bootstrap};
use headwater_sensitivity::functions::Ishigami;
use headwater_sensitivity::sample::{
    self, Levels, Moat, MoatDesign, SampleError, Sampler, StepLength, Vbd, VbdDesign, Walk,
};
use headwater_sensitivity::{Points, Space, prefixes};
use proptest::prelude::*;

use crate::support::{any_space, nuclei};

const SAMPLERS: [Sampler; 4] = [Sampler::Mc, Sampler::Lhs, Sampler::Halton, Sampler::Sobol];
const WALKS: [Walk; 3] = [Walk::Random, Walk::Spread, Walk::Radial];

fn vbd(space: &Space, samples: u32, sampler: Sampler, second_order: bool, seed: u64) -> VbdDesign {
    let wanted = Vbd {
        samples,
        sampler,
        second_order,
    };
    sample::vbd::design(space, &wanted, seed).unwrap()
}

fn moat(space: &Space, trajectories: u32, levels: Levels, walk: Walk, seed: u64) -> MoatDesign {
    let wanted = Moat {
        trajectories,
        levels,
        walk,
        length: StepLength::Actual,
    };
    sample::moat::design(space, &wanted, seed).unwrap()
}

fn evaluate(points: &Points) -> Vec<Option<f64>> {
    let function = Ishigami::default();
    points.rows().map(|row| Some(function.at(row))).collect()
}

proptest! {
    #[test]
    fn samples_begin_with_smaller_ones(
        space in any_space(1, 5),
        small in 1_u32..70,
        more in 0_u32..200,
        second_order: bool,
        seed: u64,
    ) {
        for sampler in SAMPLERS.into_iter().filter(|sampler| sampler.extends()) {
            let large = vbd(&space, small + more, sampler, second_order, seed);
            let whole = vbd(&space, small, sampler, second_order, seed);
            prop_assert_eq!(large.prefix(small), whole, "{:?}", sampler);
            let rows = sample::plain(&space, sampler, small + more, seed).unwrap();
            let fewer = sample::plain(&space, sampler, small, seed).unwrap();
            prop_assert!(rows.rows().zip(fewer.rows()).all(|(one, other)| one == other));
        }
    }

    #[test]
    fn trajectories_begin_with_fewer_ones(
        space in any_space(2, 6),
        small in 1_u32..70,
        more in 0_u32..200,
        levels in prop_oneof![Just(Levels::Each(20)), Just(Levels::Each(4)), Just(Levels::Grid)],
        seed: u64,
    ) {
        for walk in WALKS.into_iter().filter(|walk| walk.extends()) {
            let large = moat(&space, small + more, levels, walk, seed);
            let whole = moat(&space, small, levels, walk, seed);
            prop_assert_eq!(large.prefix(small), whole, "{:?}", walk);
        }
    }

    #[test]
    fn a_prefix_is_a_design_of_its_own(
        space in any_space(2, 4),
        all in 1_u32..60,
        first in 0_u32..80,
        walk in prop::sample::select(WALKS.to_vec()),
        sampler in prop::sample::select(SAMPLERS.to_vec()),
        second_order: bool,
        seed: u64,
    ) {
        let kept = first.min(all);
        let whole = moat(&space, all, Levels::Grid, walk, seed);
        let part = whole.prefix(first);
        prop_assert_eq!(whole.group(), space.len() + 1);
        prop_assert_eq!(part.trajectories, kept);
        prop_assert_eq!(part.points.len(), kept as usize * whole.group());
        prop_assert_eq!(part.moves.len(), kept as usize * space.len());
        prop_assert_eq!(&part.moves[..], &whole.moves[..part.moves.len()]);
        prop_assert_eq!(part.prefix(first), part);
        let whole = vbd(&space, all, sampler, second_order, seed);
        let part = whole.prefix(first);
        prop_assert_eq!((part.samples, part.second_order), (kept, second_order));
        prop_assert_eq!(part.points.len(), kept as usize * whole.group());
        prop_assert!(part.points.rows().zip(whole.points.rows()).all(|(one, other)| one == other));
        let again = VbdDesign::from_points(part.points.clone(), space.len(), second_order);
        if kept == 0 {
            prop_assert_eq!(again, Err(SampleError::Nothing { what: "samples" }));
        } else {
            prop_assert_eq!(again.unwrap(), part);
        }
    }
}

#[test]
fn latin_hypercubes_and_trajectories_far_apart_cannot_be_continued() {
    let space = nuclei();
    for sampler in SAMPLERS {
        let large = vbd(&space, 40, sampler, false, 1);
        let begins = large.prefix(20) == vbd(&space, 20, sampler, false, 1);
        assert_eq!(begins, sampler.extends(), "{sampler:?}");
    }
    for walk in WALKS {
        let large = moat(&space, 20, Levels::Each(20), walk, 1);
        let begins = large.prefix(10) == moat(&space, 10, Levels::Each(20), walk, 1);
        assert_eq!(begins, walk.extends(), "{walk:?}");
    }
}

/// Designs made by hand may have steps between any two rows; a prefix has those that it has both ends of.
#[test]
fn steps_that_lead_out_of_a_prefix_are_left_out() {
    let mut design = moat(&nuclei(), 3, Levels::Each(20), Walk::Random, 1);
    design.moves[0].to = 40;
    design.moves[1].from = 16;
    let prefix = design.prefix(1);
    assert_eq!((prefix.points.len(), prefix.moves.len()), (16, 13));
    assert_eq!(prefix.moves, design.moves[2..15]);
}

#[test]
fn indices_of_a_prefix_are_those_of_a_design_of_so_many_groups() {
    let space = Ishigami::default().space();
    let bootstrap = Bootstrap::default();
    let (groups, seed) = (100, 3);
    for walk in [Walk::Random, Walk::Radial] {
        let large = moat(&space, groups, Levels::Each(20), walk, seed);
        let outputs = evaluate(&large.points);
        for prefix in prefixes(groups) {
            let part = large.prefix(prefix);
            let known = &outputs[..part.points.len()];
            let found = analyze::moat::indices(&part, known, &bootstrap).unwrap();
            let alone = moat(&space, prefix, Levels::Each(20), walk, seed);
            let outputs = evaluate(&alone.points);
            let expected = analyze::moat::indices(&alone, &outputs, &bootstrap).unwrap();
            assert_eq!(found, expected, "{walk:?} {prefix}");
            assert_eq!(found.parameters[0].used, prefix as usize);
        }
    }
    for sampler in [Sampler::Mc, Sampler::Halton, Sampler::Sobol] {
        let large = vbd(&space, groups, sampler, true, seed);
        let outputs = evaluate(&large.points);
        for prefix in prefixes(groups) {
            let part = large.prefix(prefix);
            let known = &outputs[..part.points.len()];
            let found = analyze::vbd::indices(&part, known, &bootstrap).unwrap();
            let alone = vbd(&space, prefix, sampler, true, seed);
            let outputs = evaluate(&alone.points);
            let expected = analyze::vbd::indices(&alone, &outputs, &bootstrap).unwrap();
            assert_eq!(found, expected, "{sampler:?} {prefix}");
            assert_eq!(found.used, prefix as usize);
        }
    }
}
