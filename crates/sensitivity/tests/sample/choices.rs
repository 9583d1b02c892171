//! Choices without order, and lists of numbers, in designs of trajectories.
//!
//! Law: a choice of three or more things compares any two of them, whatever the levels are, and no other parameter is
//! moved by that. What stands in a list of numbers is in the order of the numbers.

use headwater_sensitivity::sample::{Levels, Moat, MoatDesign, StepLength, Walk, moat};
use headwater_sensitivity::{Domain, Space};

use crate::support::{grid, interval, space};

const WALKS: [Walk; 3] = [Walk::Random, Walk::Spread, Walk::Radial];

fn design(space: &Space, trajectories: u32, levels: Levels, walk: Walk, seed: u64) -> MoatDesign {
    let wanted = Moat {
        trajectories,
        levels,
        walk,
        length: StepLength::Actual,
    };
    moat::design(space, &wanted, seed).unwrap()
}

/// Some parameters of which the second and the fourth are these.
fn among(second: Domain, fourth: Domain) -> Space {
    space([
        grid(5.0, 5.0, 80.0),
        second,
        interval(0.0, 1.0),
        fourth,
        Domain::Choice { count: 2 },
    ])
}

/// FNV-1a over the bits of the columns of some parameters.
fn checksum(design: &MoatDesign, columns: &[usize]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325;
    for row in design.points.rows() {
        for byte in columns
            .iter()
            .flat_map(|column| row[*column].to_bits().to_le_bytes())
        {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    sum
}

/// The columns of all others, as they were when a choice was walked through like a grid of its positions.
#[test]
fn a_choice_without_order_moves_no_other_parameter() {
    let stepped = among(grid(0.0, 1.0, 3.0), grid(0.0, 1.0, 4.0));
    let chosen = among(Domain::Choice { count: 4 }, Domain::Choice { count: 5 });
    let mut sums = Vec::new();
    for walk in WALKS {
        for levels in [Levels::Each(20), Levels::Each(4), Levels::Grid] {
            let before = design(&stepped, 30, levels, walk, 42);
            let now = design(&chosen, 30, levels, walk, 42);
            for (before, now) in before.points.rows().zip(now.points.rows()) {
                for column in [0, 2, 4] {
                    assert_eq!(before[column].to_bits(), now[column].to_bits());
                }
            }
            for (before, now) in before.moves.iter().zip(&now.moves) {
                assert_eq!(
                    (before.from, before.to, before.parameter),
                    (now.from, now.to, now.parameter)
                );
                if ![1, 3].contains(&now.parameter) {
                    assert_eq!(before.delta.to_bits(), now.delta.to_bits());
                }
            }
            sums.push(checksum(&now, &[0, 2, 4]));
        }
    }
    // Made by version 0.1.0.
    assert_eq!(sums, GOLDEN);
}

/// Every pair comes about as often, in both directions.
#[test]
fn a_choice_without_order_compares_all_pairs() {
    let chosen = among(Domain::Choice { count: 4 }, Domain::Choice { count: 3 });
    for walk in WALKS {
        for levels in [Levels::Each(20), Levels::Each(2), Levels::Grid] {
            let design = design(&chosen, 1200, levels, walk, 5);
            assert_eq!(design.unordered, [false, true, false, true, false]);
            for (parameter, count) in [(1, 4), (3, 3)] {
                let mut pairs = vec![vec![0_u32; count]; count];
                for step in design
                    .moves
                    .iter()
                    .filter(|step| step.parameter == parameter)
                {
                    let value = |row: u32| design.points.row(row as usize)[parameter as usize];
                    pairs[value(step.from) as usize][value(step.to) as usize] += 1;
                    assert_eq!(step.delta, 1.0);
                }
                let expected = 1200.0 / (count * (count - 1)) as f64;
                for (from, row) in pairs.iter().enumerate() {
                    for (to, found) in row.iter().enumerate() {
                        let wanted = if from == to { 0.0 } else { expected };
                        let off = (f64::from(*found) - wanted).abs();
                        assert!(off <= 6.0 * wanted.sqrt(), "{walk:?} {levels:?}: {pairs:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_design_with_choices_begins_with_the_smaller_one() {
    let chosen = among(Domain::Choice { count: 4 }, Domain::Choice { count: 7 });
    for walk in [Walk::Random, Walk::Radial] {
        for levels in [Levels::Each(20), Levels::Grid] {
            let many = design(&chosen, 50, levels, walk, 9);
            let few = design(&chosen, 8, levels, walk, 9);
            assert_eq!(many.prefix(8), few);
        }
    }
    // Nor do the choices of one parameter depend on those of another.
    let other = among(Domain::Choice { count: 4 }, grid(0.0, 1.0, 3.0));
    let [one, other] =
        [chosen, other].map(|space| design(&space, 20, Levels::Each(20), Walk::Random, 9));
    for (one, other) in one.points.rows().zip(other.points.rows()) {
        assert_eq!(one[1], other[1]);
    }
}

#[test]
fn numbers_in_a_list_are_in_their_own_order() {
    let listed = |numbers: &[f64]| Domain::Listed {
        numbers: numbers.into(),
    };
    let rising = [0.1, 0.2, 0.3, 0.9];
    let mixed = [0.9, 0.2, 0.1, 0.3];
    for walk in [Walk::Random, Walk::Spread] {
        for levels in [Levels::Each(20), Levels::Grid] {
            let [one, other] = [rising, mixed].map(|numbers| {
                let space = among(listed(&numbers), grid(0.0, 1.0, 3.0));
                let design = design(&space, 20, levels, walk, 3);
                let values = design.points.rows();
                let values: Vec<f64> = values.map(|row| numbers[row[1] as usize]).collect();
                (values, design.moves)
            });
            // The same numbers and the same steps, however they are listed.
            assert_eq!(one, other);
        }
    }
}

/// Between neighbouring numbers there is nothing: a step of a narrow interval is as long as the way between those it takes.
#[test]
fn a_step_of_an_interval_too_narrow_for_numbers_is_the_way_that_it_takes() {
    let low = 1e16;
    let space = space([interval(low, low + 2.0), interval(0.0, 1.0)]);
    for walk in WALKS {
        let design = design(&space, 64, Levels::Each(20), walk, 1);
        for step in design.moves.iter().filter(|step| step.parameter == 0) {
            let value = |row: u32| design.points.row(row as usize)[0];
            assert_eq!(step.delta, (value(step.to) - value(step.from)) / 2.0);
        }
    }
}

/// Of the columns of the three other parameters, by walk and levels.
const GOLDEN: [u64; 9] = [
    0x72a6_a85d_84c2_3f79,
    0x2acd_f283_5291_f2ef,
    0x0ed5_96cb_4dac_9d86,
    0xcb92_30e1_615c_ffc7,
    0x8cde_6311_f216_4cfa,
    0xcd12_4d6a_8691_4d91,
    0x4db5_5450_59f4_7463,
    0x4db5_5450_59f4_7463,
    0x4db5_5450_59f4_7463,
];
