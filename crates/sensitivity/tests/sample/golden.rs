//! The same seed gives the same design, today and next year, here and elsewhere.
//!
//! Law: a test that fails here says that published designs can no longer be made again. Change a number only with a
//! line in the changelog.

use headwater_sensitivity::Points;
use headwater_sensitivity::sample::{
    Levels, Moat, Sampler, StepLength, Vbd, Walk, moat, unit, vbd,
};

use crate::support::{influential, nuclei};

/// FNV-1a over the bits of all values.
fn checksum(points: &Points) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325;
    for value in points.rows().flatten() {
        for byte in value.to_bits().to_le_bytes() {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    sum
}

#[test]
fn samples_of_the_unit_cube_stay_what_they_are() {
    let found = [Sampler::Mc, Sampler::Lhs, Sampler::Halton, Sampler::Sobol].map(|sampler| {
        let points = unit(sampler, 1000, 20, 42).unwrap();
        (checksum(&points), [points.row(0)[0], points.row(1)[19]])
    });
    assert_eq!(
        found,
        [
            (
                0x31b0_c161_b6d9_294d,
                [0.594109355997632, 0.9312475589210254]
            ),
            (
                0xe28d_db14_5b5b_efc5,
                [0.2697576527039992, 0.9739178517254409]
            ),
            (
                0x47d3_e437_629f_f06a,
                [0.6624390142924945, 0.2556740477824523]
            ),
            (
                0xbb63_5239_cb90_6b55,
                [0.7349627609515754, 0.8160789609106524]
            )
        ]
    );
}

#[test]
fn trajectories_stay_what_they_are() {
    let each = Levels::Each(20);
    let found = [
        (each, Walk::Random),
        (Levels::Grid, Walk::Random),
        (each, Walk::Spread),
        (Levels::Grid, Walk::Spread),
        (each, Walk::Radial),
    ]
    .map(|(levels, walk)| {
        let wanted = Moat {
            trajectories: 40,
            levels,
            walk,
            length: StepLength::Actual,
        };
        checksum(&moat::design(&nuclei(), &wanted, 42).unwrap().points)
    });
    assert_eq!(
        found,
        [
            0x99b7_1753_14d2_386c,
            0x2dec_9867_3e11_1d53,
            0x25cb_93e8_7895_ce5a,
            0xa830_4350_ace0_b07f,
            0xb817_f4bb_3020_ea9f
        ]
    );
}

#[test]
fn base_points_stay_what_they_are() {
    let found = [
        (Sampler::Mc, false),
        (Sampler::Lhs, false),
        (Sampler::Halton, false),
        (Sampler::Sobol, false),
        (Sampler::Sobol, true),
    ]
    .map(|(sampler, second_order)| {
        let wanted = Vbd {
            samples: 200,
            sampler,
            second_order,
        };
        checksum(&vbd::design(&influential(), &wanted, 42).unwrap().points)
    });
    assert_eq!(
        found,
        [
            0xebd9_6516_a40b_dec5,
            0x8405_21df_a7ab_23b9,
            0x4ff6_12c0_1605_c471,
            0x97cb_358f_fe72_1c99,
            0x0fcd_351c_cef0_f350
        ]
    );
}
