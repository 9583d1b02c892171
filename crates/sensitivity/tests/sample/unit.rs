//! Samples of the unit cube: how even they are.
//!
//! Law: what a sampler promises of each block of points holds for every seed.

use headwater_sensitivity::Points;
use headwater_sensitivity::sample::{MOST_VALUES, SampleError, Sampler, plain, unit};

use crate::support::{grid, interval, space};

const SAMPLERS: [Sampler; 4] = [Sampler::Mc, Sampler::Lhs, Sampler::Halton, Sampler::Sobol];

fn cube(sampler: Sampler, rows: u32, dimensions: usize, seed: u64) -> Points {
    unit(sampler, rows, dimensions, seed).unwrap()
}

/// Whether exactly one of the points lies in each box, an axis being cut into so many slices.
fn one_in_each_box<'a>(
    points: impl Iterator<Item = &'a [f64]>,
    columns: &[usize],
    slices: &[usize],
) -> bool {
    let mut seen = vec![0; slices.iter().product()];
    for point in points {
        let mut number = 0;
        for (column, count) in columns.iter().zip(slices) {
            number = number * count + (point[*column] * *count as f64) as usize;
        }
        seen[number] += 1;
    }
    seen.iter().all(|count| *count == 1)
}

#[test]
fn coordinates_lie_in_the_unit_cube_and_are_spread_over_it() {
    for sampler in SAMPLERS {
        let points = cube(sampler, 2000, 7, 3);
        assert_eq!((points.len(), points.width()), (2000, 7));
        for column in 0..7 {
            let mut counts = [0_u32; 10];
            for row in points.rows() {
                assert!((0.0..1.0).contains(&row[column]));
                counts[(row[column] * 10.0) as usize] += 1;
            }
            // Six standard deviations of a count of independent draws are 80.
            assert!(
                counts.iter().all(|count| count.abs_diff(200) < 80),
                "{sampler:?} {counts:?}"
            );
        }
    }
}

#[test]
fn columns_do_not_depend_on_their_number_nor_rows_on_theirs() {
    for sampler in SAMPLERS {
        let wide = cube(sampler, 300, 9, 5);
        let narrow = cube(sampler, 300, 4, 5);
        for (wide, narrow) in wide.rows().zip(narrow.rows()) {
            assert_eq!(&wide[..4], narrow, "{sampler:?}");
        }
        if sampler != Sampler::Lhs {
            let long = cube(sampler, 5000, 4, 5);
            assert!(
                long.rows()
                    .zip(narrow.rows())
                    .all(|(one, other)| one == other),
                "{sampler:?}"
            );
        }
    }
}

#[test]
fn seeds_give_other_points_and_columns_differ() {
    for sampler in SAMPLERS {
        let (one, other) = (cube(sampler, 64, 3, 1), cube(sampler, 64, 3, 2));
        for column in 0..3 {
            assert!(
                one.rows()
                    .zip(other.rows())
                    .any(|(one, other)| one[column] != other[column]),
                "{sampler:?}"
            );
        }
        assert!(one.rows().any(|row| row[0] != row[1] && row[1] != row[2]));
    }
}

#[test]
fn a_latin_hypercube_has_one_point_in_each_slice() {
    for (rows, seed) in [(1, 0), (7, 1), (1000, 2)] {
        let points = cube(Sampler::Lhs, rows, 6, seed);
        for column in 0..6 {
            assert!(one_in_each_box(points.rows(), &[column], &[rows as usize]));
        }
    }
}

#[test]
fn blocks_of_a_scrambled_sobol_sequence_are_nets() {
    for seed in 0..5 {
        let points = cube(Sampler::Sobol, 1024, 40, seed);
        for power in [2, 5, 8] {
            let size = 1 << power;
            for block in 0..1024 / size {
                let rows = || points.rows().skip(block * size).take(size);
                for column in 0..40 {
                    assert!(one_in_each_box(rows(), &[column], &[size]), "{column}");
                }
                for first in 0..=power {
                    let slices = [1 << first, 1 << (power - first)];
                    assert!(one_in_each_box(rows(), &[0, 1], &slices), "{slices:?}");
                }
            }
        }
    }
}

#[test]
fn blocks_of_a_scrambled_halton_sequence_are_even() {
    for seed in 0..5 {
        let points = cube(Sampler::Halton, 900, 4, seed);
        for (columns, slices) in [
            (vec![0], vec![128]),
            (vec![1], vec![81]),
            (vec![2], vec![125]),
            (vec![3], vec![49]),
            (vec![0, 1], vec![8, 9]),
            (vec![0, 1, 2], vec![4, 3, 5]),
        ] {
            let size: usize = slices.iter().product();
            for block in 0..900 / size {
                let rows = points.rows().skip(block * size).take(size);
                assert!(one_in_each_box(rows, &columns, &slices), "{slices:?}");
            }
        }
    }
}

/// The mean squared error of a mean over 1,024 points, over 40 seeds.
fn squared_error(sampler: Sampler, columns: [usize; 5]) -> f64 {
    let width = columns.iter().max().unwrap() + 1;
    let seeds = 40;
    let errors = (0..seeds).map(|seed| {
        let points = cube(sampler, 1024, width, seed);
        let value = |row: &[f64]| columns.iter().map(|at| 0.5 + row[*at]).product::<f64>();
        let mean = points.rows().map(value).sum::<f64>() / 1024.0;
        (mean - 1.0).powi(2)
    });
    errors.sum::<f64>() / seeds as f64
}

#[test]
fn even_samples_integrate_far_better_than_independent_ones() {
    let columns = [0, 1, 2, 3, 4];
    let independent = squared_error(Sampler::Mc, columns);
    // In theory ((13/12)^5 - 1) / 1024 = 4.8e-4.
    assert!((3e-4..8e-4).contains(&independent), "{independent:e}");
    let better = |sampler| independent / squared_error(sampler, columns);
    let gains = [Sampler::Lhs, Sampler::Halton, Sampler::Sobol].map(better);
    println!("{gains:?}");
    assert!(
        gains[0] > 3.0 && gains[1] > 50.0 && gains[2] > 1000.0,
        "{gains:?}"
    );
}

/// Where an unscrambled Halton sequence fails: dimensions of large primes.
#[test]
fn late_dimensions_are_not_worse_than_independent_ones() {
    let columns = [195, 196, 197, 198, 199];
    let independent = squared_error(Sampler::Mc, columns);
    for sampler in [Sampler::Halton, Sampler::Sobol] {
        let error = squared_error(sampler, columns);
        assert!(error < independent, "{sampler:?} {error:e} {independent:e}");
    }
}

#[test]
fn sequences_end_at_512_dimensions_and_say_so() {
    for (sampler, name) in [(Sampler::Halton, "Halton"), (Sampler::Sobol, "Sobol'")] {
        assert!(unit(sampler, 2, 512, 0).is_ok());
        let error = unit(sampler, 2, 513, 0).unwrap_err();
        assert!(matches!(
            &error,
            SampleError::Dimensions {
                dimensions: 513,
                ..
            }
        ));
        let text = error.to_string();
        assert!(
            text.contains(name) && text.contains("at most 512"),
            "{text}"
        );
    }
    assert!(unit(Sampler::Mc, 2, 1000, 0).is_ok());
}

/// What would take terabytes is refused before anything is taken.
#[test]
fn samples_of_more_values_than_there_may_be_are_refused() {
    assert_eq!(MOST_VALUES, 268_435_456);
    for sampler in SAMPLERS {
        let error = unit(sampler, u32::MAX, 500, 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "4294967295 rows of 500 values are 2147483647500 values in all, more than the 268435456 that a design \
             may have: ask for fewer samples, or vary fewer parameters"
        );
        assert!(unit(sampler, u32::MAX, 0, 1).is_err());
        assert!(unit(sampler, u32::MAX, usize::MAX, 1).is_err());
        let space = space((0..1 << 8).map(|_| interval(0.0, 1.0)));
        let error = plain(&space, sampler, (1 << 20) + 1, 1).unwrap_err();
        let values = (1 << 28) + (1 << 8);
        assert!(
            matches!(error, SampleError::TooMany { values: found, .. } if found == values),
            "{error}"
        );
    }
}

#[test]
fn plain_samples_take_values_in_equal_shares() {
    let space = space([grid(0.1, 0.1, 0.5), interval(-2.0, 2.0)]);
    for sampler in [Sampler::Lhs, Sampler::Halton, Sampler::Sobol] {
        let points = plain(&space, sampler, 1000, 9).unwrap();
        for position in 0..5 {
            let value = space.parameters[0].domain.value(position);
            let count = points.rows().filter(|row| row[0] == value).count();
            assert!(count.abs_diff(200) <= 3, "{sampler:?} {value} {count}");
        }
        let negative = points.rows().filter(|row| row[1] < 0.0).count();
        assert!(negative.abs_diff(500) <= 3, "{sampler:?} {negative}");
    }
    assert_eq!(
        plain(&space, Sampler::Mc, 0, 1),
        Err(SampleError::Nothing { what: "samples" })
    );
}
