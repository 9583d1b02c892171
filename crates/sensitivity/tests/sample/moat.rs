//! Designs of trajectories.
//!
//! Law: a step changes one parameter, to a value of its own, by what the design says.

use headwater_sensitivity::sample::{
    Levels, Moat, MoatDesign, SampleError, StepLength, Walk, moat,
};
use headwater_sensitivity::{Domain, Space};
use proptest::prelude::*;

use crate::support::{any_space, belongs, grid, interval, nuclei, space};

fn wanted(trajectories: u32, levels: Levels, walk: Walk) -> Moat {
    Moat {
        trajectories,
        levels,
        walk,
        length: StepLength::Actual,
    }
}

/// The same with nominal lengths.
fn nominal(trajectories: u32, levels: Levels, walk: Walk) -> Moat {
    Moat {
        length: StepLength::Nominal,
        ..wanted(trajectories, levels, walk)
    }
}

fn design(space: &Space, trajectories: u32, levels: Levels, walk: Walk, seed: u64) -> MoatDesign {
    moat::design(space, &wanted(trajectories, levels, walk), seed).unwrap()
}

/// A small space, in which the step of a trajectory can be seen in its points.
fn plane() -> Space {
    space([interval(0.0, 1.0), interval(0.0, 1.0)])
}

#[test]
fn a_trajectory_jumps_half_of_the_levels() {
    let design = design(&plane(), 50, Levels::Each(4), Walk::Random, 1);
    assert_eq!(design.points.len(), 150);
    for step in &design.moves {
        assert!((step.delta.abs() - 2.0 / 3.0).abs() < 1e-15);
        let at = step.parameter as usize;
        let (from, to) = (
            design.points.row(step.from as usize),
            design.points.row(step.to as usize),
        );
        assert!((to[at] - from[at] - step.delta).abs() < 1e-15);
    }
}

/// Starts, ends and directions of random trajectories are spread evenly over the levels.
#[test]
fn every_level_is_equally_likely_at_both_ends() {
    let trajectories = 4000;
    for (domain, levels, count) in [
        (interval(0.0, 1.0), Levels::Each(4), 4),
        (interval(0.0, 1.0), Levels::Each(20), 20),
        (grid(0.0, 1.0, 5.0), Levels::Grid, 6),
        (interval(0.0, 1.0), Levels::Grid, 20),
    ] {
        let space = space([domain.clone(), domain.clone(), domain]);
        let (_, high) = space.parameters[0].domain.bounds();
        let design = design(&space, trajectories, levels, Walk::Random, 3);
        let expected = f64::from(trajectories) / f64::from(count);
        for parameter in 0..3 {
            for row in [0, 3] {
                let mut counts = vec![0_u32; count as usize];
                for trajectory in 0..trajectories as usize {
                    let value = design.points.row(trajectory * 4 + row)[parameter];
                    counts[(value / high * f64::from(count - 1)).round() as usize] += 1;
                }
                let limit = 6.0 * expected.sqrt();
                let even = |count: &u32| (f64::from(*count) - expected).abs() < limit;
                assert!(counts.iter().all(even), "{levels:?} {counts:?}");
            }
            let steps = design.moves.iter();
            let up = steps.filter(|step| step.parameter == parameter as u32 && step.delta > 0.0);
            assert!(up.count().abs_diff(2000) < 190);
        }
        let first = design.moves.iter().step_by(3);
        let mut counts = [0_u32; 3];
        first.for_each(|step| counts[step.parameter as usize] += 1);
        assert!(
            counts.iter().all(|count| count.abs_diff(1333) < 180),
            "{counts:?}"
        );
    }
}

/// Five values: a step jumps two of them; in the middle it may go up and down.
#[test]
fn with_an_odd_number_of_values_the_middle_goes_both_ways() {
    let space = space([grid(10.0, 1.0, 14.0)]);
    let design = design(&space, 500, Levels::Grid, Walk::Random, 1);
    let mut seen = Vec::new();
    for step in &design.moves {
        let value = |row: u32| design.points.row(row as usize)[0];
        assert_eq!(step.delta.abs(), 0.5);
        assert_eq!(value(step.to) - value(step.from), 4.0 * step.delta);
        seen.push((value(step.from), value(step.to)));
    }
    seen.sort_by(|one, other| one.partial_cmp(other).unwrap());
    seen.dedup();
    let all = [
        (10., 12.),
        (11., 13.),
        (12., 10.),
        (12., 14.),
        (13., 11.),
        (14., 12.),
    ];
    assert_eq!(seen, all);
}

#[test]
fn the_first_random_trajectories_do_not_depend_on_how_many_there_are() {
    let few = design(&nuclei(), 5, Levels::Each(20), Walk::Random, 8);
    let many = design(&nuclei(), 50, Levels::Each(20), Walk::Random, 8);
    assert!(
        few.points
            .rows()
            .zip(many.points.rows())
            .all(|(one, other)| one == other)
    );
    assert_eq!(few.moves[..], many.moves[..few.moves.len()]);
}

/// The sum of squared distances of trajectories in the unit cube, each the sum over pairs of points: straight from
/// the definition.
fn spread(space: &Space, design: &MoatDesign) -> f64 {
    let unit = |row: &[f64]| -> Vec<f64> {
        let parameters = row.iter().zip(&space.parameters);
        parameters
            .map(|(value, parameter)| parameter.domain.step(parameter.domain.bounds().0, *value))
            .collect()
    };
    let points: Vec<Vec<f64>> = design.points.rows().map(unit).collect();
    let trajectories: Vec<&[Vec<f64>]> = points.chunks(space.len() + 1).collect();
    let distance = |one: &[f64], other: &[f64]| {
        let squares = one
            .iter()
            .zip(other)
            .map(|(one, other)| (one - other).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let mut sum = 0.0;
    for (position, one) in trajectories.iter().enumerate() {
        for other in &trajectories[..position] {
            let pairs = one
                .iter()
                .flat_map(|one| other.iter().map(move |other| (one, other)));
            sum += pairs
                .map(|(one, other)| distance(one, other))
                .sum::<f64>()
                .powi(2);
        }
    }
    sum
}

#[test]
fn spread_trajectories_lie_further_apart_than_random_ones() {
    let grids = nuclei();
    let cube = space((0..6).map(|_| interval(-1.0, 3.0)));
    for (space, levels, trajectories) in [
        (&grids, Levels::Grid, 10),
        (&cube, Levels::Each(4), 4),
        (&cube, Levels::Each(20), 60),
    ] {
        let random: Vec<f64> = (0..50)
            .map(|seed| {
                spread(
                    space,
                    &design(space, trajectories, levels, Walk::Random, seed),
                )
            })
            .collect();
        let best = random.iter().fold(0.0, |one: f64, other| one.max(*other));
        for seed in 0..3 {
            let design = design(space, trajectories, levels, Walk::Spread, seed);
            let reached = spread(space, &design);
            assert!(reached > best, "{levels:?}: {reached} is not above {best}");
        }
    }
}

/// Two of twenty: few enough to look at every pair.
#[test]
fn of_all_candidates_the_furthest_pair_is_chosen() {
    let space = space([interval(0.0, 1.0), interval(0.0, 1.0), interval(0.0, 1.0)]);
    for seed in 0..20 {
        let chosen = design(&space, 2, Levels::Each(6), Walk::Spread, seed);
        // The candidates are the first twenty random trajectories.
        let candidates = design(&space, 20, Levels::Each(6), Walk::Random, seed);
        let mut best = 0.0_f64;
        for one in 0..20 {
            for other in 0..one {
                let mut pair = headwater_sensitivity::Points::new(3);
                for trajectory in [one, other] {
                    (0..4).for_each(|row| pair.push(candidates.points.row(trajectory * 4 + row)));
                }
                let pair = MoatDesign {
                    points: pair,
                    moves: Vec::new(),
                    trajectories: 2,
                    unordered: Vec::new(),
                };
                best = best.max(spread(&space, &pair));
            }
        }
        let reached = spread(&space, &chosen);
        assert!(
            (reached - best).abs() < 1e-9 * best,
            "seed {seed}: {reached} of {best}"
        );
    }
}

#[test]
fn radial_steps_start_from_the_base_and_go_both_ways() {
    let space = nuclei();
    let design = design(&space, 64, Levels::Each(20), Walk::Radial, 2);
    assert_eq!(design.points.len(), 64 * 16);
    for (position, step) in design.moves.iter().enumerate() {
        let (trajectory, parameter) = (position / 15, position % 15);
        assert_eq!(step.from as usize, trajectory * 16);
        assert_eq!(step.to as usize, trajectory * 16 + 1 + parameter);
        assert_eq!(step.parameter as usize, parameter);
    }
    let up = design.moves.iter().filter(|step| step.delta > 0.0).count();
    assert!(up.abs_diff(480) < 90, "{up}");
    assert_eq!(design.stuck(), [0; 15]);
    // Base points are even: every block of 64 has each of four values 16 times.
    for value in [210.0, 220.0, 230.0, 240.0] {
        let bases = design.points.rows().step_by(16);
        assert_eq!(bases.filter(|row| row[0] == value).count(), 16);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn steps_change_one_parameter_to_a_value_of_its_own(
        space in any_space(2, 6),
        trajectories in 1_u32..8,
        half in 1_u32..12,
        own: bool,
        walk in prop::sample::select(vec![Walk::Random, Walk::Spread, Walk::Radial]),
        seed: u64,
    ) {
        let levels = if own { Levels::Grid } else { Levels::Each(2 * half) };
        let design = design(&space, trajectories, levels, walk, seed);
        let k = space.len();
        prop_assert_eq!(design.points.len(), trajectories as usize * (k + 1));
        prop_assert_eq!(design.moves.len(), trajectories as usize * k);
        prop_assert_eq!(design.trajectories, trajectories);
        for row in design.points.rows() {
            for (value, parameter) in row.iter().zip(&space.parameters) {
                prop_assert!(belongs(&parameter.domain, *value), "{} {:?}", value, parameter);
            }
        }
        for steps in design.moves.chunks(k) {
            let mut parameters: Vec<u32> = steps.iter().map(|step| step.parameter).collect();
            parameters.sort_unstable();
            prop_assert_eq!(parameters, (0..k as u32).collect::<Vec<u32>>());
        }
        for step in &design.moves {
            let (from, to) = (design.points.row(step.from as usize), design.points.row(step.to as usize));
            for at in 0..k {
                prop_assert_eq!(from[at] == to[at], at != step.parameter as usize);
            }
            let at = step.parameter as usize;
            let domain = &space.parameters[at].domain;
            let actual = domain.step(from[at], to[at]);
            prop_assert!(step.delta.abs() <= 1.0 && step.delta != 0.0);
            if domain.count().is_none() {
                prop_assert!((actual - step.delta).abs() < 1e-9, "{} {}", actual, step.delta);
            } else {
                prop_assert_eq!(actual, step.delta);
            }
        }
        // The nominal length is that of the levels, and changes nothing else.
        let mut nominal = moat::design(&space, &nominal(trajectories, levels, walk), seed).unwrap();
        for (position, step) in nominal.moves.iter_mut().enumerate() {
            let at = step.parameter as usize;
            let ends = [step.from, step.to].map(|row| design.points.row(row as usize)[at]);
            let domain = &space.parameters[at].domain;
            if !own && walk != Walk::Radial {
                let length = f64::from(half) / f64::from(2 * half - 1);
                prop_assert_eq!(step.delta.abs(), length);
            } else if let Domain::Grid { count, .. } = domain {
                let positions = ends.map(|end| f64::from(domain.position(end).unwrap()));
                let length = (positions[1] - positions[0]) / f64::from(count - 1);
                prop_assert_eq!(step.delta, length);
            }
            let actual = design.moves[position].delta;
            prop_assert_eq!(actual > 0.0, step.delta > 0.0);
            step.delta = actual;
        }
        prop_assert_eq!(&nominal, &design);
        prop_assert!(design.stuck().iter().all(|count| *count == 0));
        prop_assert_eq!(&design, &moat::design(&space, &wanted(trajectories, levels, walk), seed).unwrap());
    }
}

#[test]
fn what_cannot_be_walked_is_refused() {
    let refused = |space: &Space, trajectories, levels, walk| {
        moat::design(space, &wanted(trajectories, levels, walk), 1).unwrap_err()
    };
    let each = Levels::Each(4);
    assert_eq!(
        refused(&space([]), 4, each, Walk::Random),
        SampleError::NoParameters
    );
    for walk in [Walk::Random, Walk::Spread, Walk::Radial] {
        let fixed = space([interval(0.0, 1.0), Domain::Choice { count: 1 }]);
        assert_eq!(
            refused(&fixed, 4, each, walk).to_string(),
            "parameter `p1` has a single value, so that no step can change it: give it more values or leave it out"
        );
    }
    let fixed = space([interval(1.0, 1.0)]);
    assert!(matches!(
        refused(&fixed, 4, each, Walk::Random),
        SampleError::OneValue { .. }
    ));
    for levels in [0, 1, 5] {
        assert_eq!(
            refused(&plane(), 4, Levels::Each(levels), Walk::Random),
            SampleError::Levels { levels }
        );
    }
    assert!(matches!(
        refused(&plane(), 0, each, Walk::Random),
        SampleError::Nothing { .. }
    ));
    let wide = space((0..2000).map(|_| interval(0.0, 1.0)));
    for walk in [Walk::Random, Walk::Spread, Walk::Radial] {
        for levels in [each, Levels::Grid] {
            assert!(matches!(
                refused(&plane(), u32::MAX, levels, walk),
                SampleError::TooMany { .. }
            ));
            assert_eq!(
                refused(&wide, 2_000_000, levels, walk).to_string(),
                "4002000000 rows of 2000 values are 8004000000000 values in all, more than the 268435456 that a \
                 design may have: ask for fewer trajectories, or vary fewer parameters"
            );
        }
    }
    let many = space((0..300).map(|_| interval(0.0, 1.0)));
    assert!(matches!(
        refused(&many, 4, each, Walk::Radial),
        SampleError::Dimensions { .. }
    ));
}
