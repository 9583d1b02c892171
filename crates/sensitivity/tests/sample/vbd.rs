//! Designs for shares of the variance.
//!
//! Law: the order of rows, and values that are the domain's own.

use headwater_sensitivity::sample::{SampleError, Sampler, Vbd, VbdDesign, unit, vbd};
use headwater_sensitivity::{Domain, Points};
use proptest::prelude::*;

use crate::support::{any_space, belongs, grid, interval, space};

fn wanted(samples: u32, sampler: Sampler, second_order: bool) -> Vbd {
    Vbd {
        samples,
        sampler,
        second_order,
    }
}

#[test]
fn rows_of_a_base_point_are_mixed_of_a_and_b() {
    let space = space([interval(0.0, 1.0), interval(0.0, 1.0)]);
    let cube = unit(Sampler::Sobol, 1, 4, 7).unwrap();
    let [a1, a2, b1, b2] = *cube.row(0) else {
        panic!("four coordinates")
    };
    let first = vbd::design(&space, &wanted(1, Sampler::Sobol, false), 7).unwrap();
    let rows: Vec<&[f64]> = first.points.rows().collect();
    assert_eq!(rows, [[a1, a2], [b1, a2], [a1, b2], [b1, b2]]);
    assert_eq!(first.group(), 4);
    let second = vbd::design(&space, &wanted(1, Sampler::Sobol, true), 7).unwrap();
    let rows: Vec<&[f64]> = second.points.rows().collect();
    assert_eq!(
        rows,
        [[a1, a2], [b1, a2], [a1, b2], [a1, b2], [b1, a2], [b1, b2]]
    );
    assert_eq!(second.group(), 6);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn values_are_the_domains_own_and_rows_in_order(
        space in any_space(1, 6),
        samples in 1_u32..20,
        sampler in prop::sample::select(vec![Sampler::Mc, Sampler::Lhs, Sampler::Halton, Sampler::Sobol]),
        second_order: bool,
        seed: u64,
    ) {
        let design = vbd::design(&space, &wanted(samples, sampler, second_order), seed).unwrap();
        let k = space.len();
        let group = if second_order { 2 * k + 2 } else { k + 2 };
        prop_assert_eq!(design.points.len(), samples as usize * group);
        for row in design.points.rows() {
            for (value, parameter) in row.iter().zip(&space.parameters) {
                prop_assert!(belongs(&parameter.domain, *value), "{} {:?}", value, parameter);
            }
        }
        for first in (0..design.points.len()).step_by(group) {
            let row = |at: usize| design.points.row(first + at);
            let (a, b) = (row(0), row(group - 1));
            for i in 0..k {
                for j in 0..k {
                    prop_assert_eq!(row(1 + i)[j], if i == j { b[j] } else { a[j] });
                    if second_order {
                        prop_assert_eq!(row(1 + k + i)[j], if i == j { a[j] } else { b[j] });
                    }
                }
            }
        }
        let again = VbdDesign::from_points(design.points.clone(), k, second_order);
        prop_assert_eq!(again, Ok(design));
    }
}

fn points(width: usize, rows: &[&[f64]]) -> Points {
    let mut points = Points::new(width);
    for row in rows {
        points.push(row);
    }
    points
}

#[test]
fn own_points_that_are_no_design_are_refused() {
    let good: [&[f64]; 4] = [&[1.0, 2.0], &[3.0, 2.0], &[1.0, 4.0], &[3.0, 4.0]];
    assert!(VbdDesign::from_points(points(2, &good), 2, false).is_ok());

    let error = VbdDesign::from_points(points(2, &good), 3, false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the points have 2 columns, but there are 3 parameters"
    );
    let error = VbdDesign::from_points(points(2, &good[..3]), 2, false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "3 rows are not a multiple of 4 (A, AB_1 … AB_k, B: k+2 for k parameters)"
    );
    let swapped = [good[0], good[2], good[1], good[3]];
    let error = VbdDesign::from_points(points(2, &swapped), 2, false).unwrap_err();
    assert!(
        matches!(
            error,
            SampleError::Mixture {
                sample: 1,
                row: 2,
                column: 1,
                origin: 'B',
                ..
            }
        ),
        "{error}"
    );
    let hole = [good[0], good[1], &[f64::NAN, 4.0], good[3]];
    let error = VbdDesign::from_points(points(2, &hole), 2, false).unwrap_err();
    assert_eq!(error.to_string(), "row 3, column `1`: not a finite number");
    let error = VbdDesign::from_points(Points::new(2), 2, false).unwrap_err();
    assert_eq!(error, SampleError::Nothing { what: "samples" });
}

#[test]
fn what_cannot_be_sampled_is_refused() {
    let design = |space, samples, sampler| vbd::design(&space, &wanted(samples, sampler, false), 1);
    assert_eq!(
        design(space([]), 4, Sampler::Mc).unwrap_err(),
        SampleError::NoParameters
    );
    let error = design(
        space([interval(0.0, 1.0), interval(2.0, 1.0)]),
        4,
        Sampler::Mc,
    );
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("parameter `p1` has no values"), "{text}");
    let error = design(space([interval(0.0, 1.0)]), 0, Sampler::Mc);
    assert_eq!(error.unwrap_err(), SampleError::Nothing { what: "samples" });
    let error = design(space([interval(0.0, 1.0)]), u32::MAX, Sampler::Mc);
    assert!(matches!(error, Err(SampleError::TooMany { .. })));
    // 16,000 parameters: 256 million values for a single base point, and the second one is too much.
    let wide = || space((0..16_000).map(|_| interval(0.0, 1.0)));
    let error = design(wide(), 2, Sampler::Mc).unwrap_err();
    assert_eq!(
        error.to_string(),
        "32004 rows of 16000 values are 512064000 values in all, more than the 268435456 that a design may have: ask \
         for fewer samples, or vary fewer parameters"
    );
    let many = || space((0..257).map(|_| grid(0.0, 1.0, 3.0)));
    let error = design(many(), 4, Sampler::Sobol);
    assert!(matches!(
        error,
        Err(SampleError::Dimensions {
            dimensions: 514,
            ..
        })
    ));
    assert!(design(many(), 4, Sampler::Lhs).is_ok());
    // A single value has no share of the variance, but is no mistake.
    assert!(design(space([Domain::Choice { count: 1 }]), 4, Sampler::Mc).is_ok());
}
