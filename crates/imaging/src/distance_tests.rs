//! Tests of the distance transform.
//!
//! Law: every result is compared with the nearest of all zero pixels, and every root with the midpoints around it.

use super::*;
use proptest::prelude::*;

/// The law as it stands.
fn naive(mask: View<u8>) -> Vec<u64> {
    let (width, height) = (mask.width() as i64, mask.height() as i64);
    let pixels = mask.pixels();
    let zeros: Vec<(i64, i64)> = (0..width * height)
        .filter(|at| pixels[*at as usize] == 0)
        .map(|at| (at % width, at / width))
        .collect();
    (0..width * height)
        .map(|at| {
            let square = |(x, y): &(i64, i64)| (at % width - x).pow(2) + (at / width - y).pow(2);
            zeros
                .iter()
                .map(square)
                .min()
                .map_or(u64::MAX, |square| square as u64)
        })
        .collect()
}

/// The nearest `f32` to the root of `square`, by comparing squares of midpoints alone.
fn exact_root(square: u64) -> f32 {
    // A value of `f32` times 2³⁰ is an integer here if it is at least 1/64.
    let scaled = |value: f64| (value * 2f64.powi(30)) as u128;
    let target = u128::from(square) << 60;
    let mut guess = (square as f64).sqrt() as f32;
    loop {
        let above = (f64::from(guess) + f64::from(guess.next_up())) / 2.0;
        let below = (f64::from(guess) + f64::from(guess.next_down())) / 2.0;
        if square == 0 {
            return 0.0;
        } else if scaled(above).pow(2) < target {
            guess = guess.next_up();
        } else if scaled(below).pow(2) > target {
            guess = guess.next_down();
        } else {
            // No integer below 2⁶⁰ has a midpoint for a root unless it is the midpoint's square, and then even wins.
            if scaled(above).pow(2) == target && guess.to_bits() % 2 == 1 {
                guess = guess.next_up();
            } else if scaled(below).pow(2) == target && guess.to_bits() % 2 == 1 {
                guess = guess.next_down();
            }
            return guess;
        }
    }
}

fn agrees(width: usize, height: usize, pixels: &[u8]) {
    let mask = View::new(width, height, pixels).unwrap();
    let squares = naive(mask);
    assert_eq!(
        squared_distance(mask).pixels(),
        squares,
        "{width} × {height}"
    );
    let roots = |outside: f32| -> Vec<f32> {
        let root = |square: &u64| match *square {
            0 => outside,
            u64::MAX => f32::MAX,
            square => exact_root(square),
        };
        squares.iter().map(root).collect()
    };
    assert_eq!(distance(mask).pixels(), roots(0.0));
    assert_eq!(distance_or_max(mask).pixels(), roots(f32::MAX));
}

#[test]
fn every_tiny_mask() {
    for (width, height) in [
        (0, 0),
        (0, 3),
        (3, 0),
        (1, 1),
        (1, 2),
        (2, 1),
        (1, 7),
        (7, 1),
        (3, 3),
        (2, 4),
    ] {
        for code in 0..1u32 << (width * height) {
            let pixels: Vec<u8> = (0..width * height)
                .map(|at| (code >> at & 1) as u8 * 255)
                .collect();
            agrees(width, height, &pixels);
        }
    }
}

/// From dense noise to a few zero pixels in a wide plain, so that distances stay near or go far.
fn masks() -> impl Strategy<Value = (usize, usize, Vec<u8>)> {
    let size = prop_oneof![
        2 => (1usize..24, 1usize..24),
        1 => (1usize..400, 1usize..4),
        1 => (1usize..4, 1usize..400),
        1 => (60usize..140, 60usize..140),
    ];
    (size, 0usize..60).prop_flat_map(|((width, height), zeros)| {
        let count = width * height;
        let few =
            prop::collection::vec(any::<prop::sample::Index>(), zeros / 8).prop_map(move |zeros| {
                let mut pixels = vec![255; count];
                for zero in zeros {
                    pixels[zero.index(count)] = 0;
                }
                pixels
            });
        let noise = prop::collection::vec(prop_oneof![Just(0u8), Just(255), Just(1)], count);
        // Rows of a plain that are zero up to a random column: long runs with gaps of all kinds.
        let slopes = prop::collection::vec(0..=width, height).prop_map(move |edges| {
            let row = |edge: usize| (0..width).map(move |x| if x < edge { 0 } else { 7 });
            edges.into_iter().flat_map(row).collect()
        });
        (
            Just(width),
            Just(height),
            prop_oneof![2 => few, 1 => noise, 1 => slopes],
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn it_is_the_nearest_zero_pixel((width, height, pixels) in masks()) {
        agrees(width, height, &pixels);
    }

    #[test]
    fn wide_registers_change_nothing((width, height, pixels) in masks(), outside in any::<f32>()) {
        let finish = Root { outside };
        let (mut work, mut plain_work) = (Work::new(width), Work::new(width));
        let (mut gaps, mut plain_gaps) = (vec![u16::NONE; width], vec![u16::NONE; width]);
        for y in 0..height {
            let row = &pixels[y * width..][..width];
            let above = gaps.clone();
            step_down(&mut gaps, &above, row);
            step_down_plain(&mut plain_gaps, &above, row);
            prop_assert_eq!(&gaps, &plain_gaps);
            let (mut up, mut plain_up) = (above.clone(), above);
            step_up(&mut up, &gaps, row);
            step_up_plain(&mut plain_up, &gaps, row);
            prop_assert_eq!(&up, &plain_up);
            let (mut out, mut plain_out) = (vec![0.0; width], vec![0.0; width]);
            finish_row(&mut work, &up, row, finish, &mut out);
            finish_row_plain(&mut plain_work, &up, row, finish, &mut plain_out);
            let bits = |row: &[f32]| row.iter().map(|pixel| pixel.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&out), bits(&plain_out));
        }
    }

    #[test]
    fn roots_are_correctly_rounded(bits in 1u32..60, square in any::<u64>(), near in -1i64..2) {
        let square = square >> (64 - bits);
        prop_assert_eq!(root(square), exact_root(square));
        // Beside the square of a number, and beside that of a midpoint where that is an integer.
        let number = square.isqrt();
        let beside = (number * number).saturating_add_signed(near);
        prop_assert_eq!(root(beside), exact_root(beside));
        let half = (number << 1 | 1) << 1;
        let middle = (half * half / 4).saturating_add_signed(near);
        prop_assert_eq!(root(middle), exact_root(middle));
    }
}

/// Squares of midpoints, and the integers on both sides, over all sizes where that can go wrong.
#[test]
fn roots_beside_midpoints_are_correctly_rounded() {
    for shift in 0..6 {
        for step in 0..2000u64 {
            let midpoint = ((1u64 << 24) + step * 8388 + (step & 1) + 1) | 1;
            let square = (midpoint << shift).pow(2);
            for square in [square - 1, square, square + 1] {
                assert_eq!(root(square), exact_root(square), "{square}");
            }
            // The same for midpoints with a fraction, whose squares lie between integers.
            let fraction = ((midpoint as u128).pow(2) >> (2 * shift)) as u64;
            for square in [fraction, fraction + 1] {
                assert_eq!(root(square), exact_root(square), "{square}");
            }
        }
    }
}

#[test]
fn strips_of_a_hundred_thousand_pixels() {
    const LONG: usize = 100_000;
    for zeros in [
        &[0][..],
        &[LONG - 1],
        &[50_000],
        &[0, LONG - 1],
        &[10, 11, 90_000],
    ] {
        let mut pixels = vec![255u8; LONG];
        for zero in zeros {
            pixels[*zero] = 0;
        }
        let expected: Vec<f32> = (0..LONG)
            .map(|at| zeros.iter().map(|zero| at.abs_diff(*zero)).min().unwrap() as f32)
            .collect();
        for (width, height) in [(LONG, 1), (1, LONG)] {
            let mask = View::new(width, height, &pixels).unwrap();
            assert_eq!(
                distance(mask).pixels(),
                expected,
                "{width} × {height}, {zeros:?}"
            );
        }
    }
    for (width, height) in [(LONG, 1), (1, LONG)] {
        let found = distance(View::new(width, height, &vec![9; LONG]).unwrap());
        assert!(found.pixels().iter().all(|distance| *distance == f32::MAX));
    }
}

#[test]
fn two_rows_of_a_hundred_thousand_pixels() {
    const LONG: usize = 100_000;
    let mut pixels = vec![255u8; 2 * LONG];
    pixels[0] = 0;
    for tall in [false, true] {
        let at = |along: usize, across: usize| {
            if tall {
                along * 2 + across
            } else {
                across * LONG + along
            }
        };
        let (width, height) = if tall { (2, LONG) } else { (LONG, 2) };
        let found = squared_distance(View::new(width, height, &pixels).unwrap());
        let roots = distance(View::new(width, height, &pixels).unwrap());
        for along in 0..LONG {
            for across in 0..2 {
                let square = (along * along + across) as u64;
                assert_eq!(found.pixels()[at(along, across)], square);
                assert_eq!(roots.pixels()[at(along, across)], exact_root(square));
            }
        }
    }
}

#[test]
fn a_tile_with_one_zero_pixel_in_a_corner() {
    let size = 700;
    for (across, down) in [(0, 0), (size - 1, 0), (0, size - 1), (size - 1, size - 1)] {
        let mut pixels = vec![255u8; size * size];
        pixels[down * size + across] = 0;
        let found = squared_distance(View::new(size, size, &pixels).unwrap());
        for (at, found) in found.pixels().iter().enumerate() {
            let (x, y) = ((at % size).abs_diff(across), (at / size).abs_diff(down));
            assert_eq!(*found, (x * x + y * y) as u64);
        }
    }
}

/// Zero pixels on a circle, so that every parabola stays in the envelope.
#[test]
fn a_wide_disc() {
    let size = 240i64;
    let pixels: Vec<u8> = (0..size * size)
        .map(|at| {
            let (x, y) = (at % size - 120, at / size - 120);
            u8::from(x * x + y * y < 110 * 110)
        })
        .collect();
    let mask = View::new(size as usize, size as usize, &pixels).unwrap();
    let found = squared_distance(mask);
    for at in [
        0,
        120 * size + 120,
        120 * size + 11,
        60 * size + 70,
        121 * size + 180,
        200 * size + 90,
    ] {
        let (x, y) = (at % size, at / size);
        let zeros = (0..size * size).filter(|zero| pixels[*zero as usize] == 0);
        let nearest = zeros
            .map(|zero| (zero % size - x).pow(2) + (zero / size - y).pow(2))
            .min();
        assert_eq!(
            Some(found.pixels()[at as usize] as i64),
            nearest,
            "{x}, {y}"
        );
    }
}
