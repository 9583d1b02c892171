//! Tests of grey reconstruction.
//!
//! Law: every result is compared with the equation applied until nothing changes, or with a flood at each level.

use super::*;
use crate::Bitmap;
use proptest::prelude::*;

/// The law as it stands: apply the equation everywhere until nothing changes.
fn naive<T: Grey>(marker: View<T>, mask: View<T>, connectivity: Connectivity) -> Vec<T> {
    let (width, height) = (mask.width(), mask.height());
    let limits = mask.pixels();
    let mut pixels: Vec<T> = marker
        .pixels()
        .iter()
        .zip(limits)
        .map(|(value, limit)| if value < limit { *value } else { *limit })
        .collect();
    loop {
        let before = pixels.clone();
        for at in 0..pixels.len() {
            let (x, y) = (at % width, at / width);
            for (other, level) in before.iter().enumerate() {
                let (across, down) = (x.abs_diff(other % width), y.abs_diff(other / width));
                let touch = match connectivity {
                    Connectivity::Four => across + down == 1,
                    Connectivity::Eight => across.max(down) == 1,
                };
                if touch && *level > pixels[at] {
                    pixels[at] = *level;
                }
            }
            if pixels[at] > limits[at] {
                pixels[at] = limits[at];
            }
        }
        if pixels == before {
            assert_eq!(pixels.len(), width * height);
            return pixels;
        }
    }
}

/// A level sees only comparisons: the images of the thresholds are reconstructed each by a flood.
fn flooded<T: Grey>(marker: View<T>, mask: View<T>, connectivity: Connectivity) -> Vec<T> {
    let (width, height) = (mask.width(), mask.height());
    let mut thresholds: Vec<T> = marker
        .pixels()
        .iter()
        .chain(mask.pixels())
        .copied()
        .collect();
    thresholds.sort_by(|a, b| a.partial_cmp(b).unwrap());
    thresholds.dedup();
    let mut pixels = vec![thresholds[0]; width * height];
    for threshold in thresholds {
        let open: Vec<bool> = mask
            .pixels()
            .iter()
            .map(|limit| *limit >= threshold)
            .collect();
        let mut reached: Vec<bool> = marker
            .pixels()
            .iter()
            .zip(&open)
            .map(|(value, open)| *open && *value >= threshold)
            .collect();
        let mut stack: Vec<usize> = (0..pixels.len()).filter(|at| reached[*at]).collect();
        while let Some(at) = stack.pop() {
            pixels[at] = threshold;
            let (x, y) = (at % width, at / width);
            for row in y.saturating_sub(1)..height.min(y + 2) {
                for column in x.saturating_sub(1)..width.min(x + 2) {
                    let other = row * width + column;
                    let straight = row == y || column == x;
                    if (straight || connectivity == Connectivity::Eight)
                        && open[other]
                        && !reached[other]
                    {
                        reached[other] = true;
                        stack.push(other);
                    }
                }
            }
        }
    }
    pixels
}

const BOTH: [Connectivity; 2] = [Connectivity::Four, Connectivity::Eight];

fn agrees<T: Grey + std::fmt::Debug>(width: usize, height: usize, marker: &[T], mask: &[T]) {
    let marker = View::new(width, height, marker).unwrap();
    let mask = View::new(width, height, mask).unwrap();
    for connectivity in BOTH {
        let found = reconstruct(marker, mask, connectivity);
        assert_eq!(
            found.pixels(),
            naive(marker, mask, connectivity),
            "{connectivity:?}, {width} × {height}"
        );
        // However little is done before it, the queue does the rest; and as on a machine without wide registers.
        for sweeps in 0..3 {
            let mut other = Plane::new(width, height, marker.pixels().to_vec()).unwrap();
            run_plain(&mut other, mask, connectivity, None, sweeps);
            assert_eq!(other, found, "{connectivity:?} after {sweeps} sweeps");
        }
        if !marker.pixels().is_empty() {
            assert_eq!(found.pixels(), flooded(marker, mask, connectivity));
        }
    }
}

/// Sizes around those of blocks, and thin ones in both directions.
fn size() -> impl Strategy<Value = (usize, usize)> {
    prop_oneof![
        4 => (0usize..12, 0usize..12),
        1 => (1usize..140, 1usize..3),
        1 => (1usize..3, 1usize..140),
        1 => (14usize..36, 1usize..7),
    ]
}

/// An image of few or many levels, or of plateaus.
fn image<T: Clone + std::fmt::Debug + 'static>(
    pixel: impl Strategy<Value = T> + Clone + 'static,
    count: usize,
) -> BoxedStrategy<Vec<T>> {
    prop_oneof![
        prop::collection::vec(pixel.clone(), count),
        (prop::collection::vec((pixel, 1usize..20), count)).prop_map(move |runs| {
            let spread = runs.into_iter().flat_map(|(value, run)| vec![value; run]);
            spread.take(count).collect()
        }),
    ]
    .boxed()
}

fn byte() -> BoxedStrategy<u8> {
    prop_oneof![0u8..4, any::<u8>(), Just(255), Just(0)].boxed()
}

fn real() -> BoxedStrategy<f32> {
    prop_oneof![
        (-3i8..4).prop_map(f32::from),
        -1e3f32..1e3,
        Just(f32::MAX),
        Just(f32::MIN),
        Just(f32::INFINITY),
        Just(f32::NEG_INFINITY),
        Just(-0.0f32),
        Just(f32::MIN_POSITIVE / 2.0),
    ]
    .boxed()
}

fn pair<T: Clone + std::fmt::Debug + 'static>(
    pixel: BoxedStrategy<T>,
) -> impl Strategy<Value = ((usize, usize), Vec<T>, Vec<T>)> {
    size().prop_flat_map(move |(width, height)| {
        let count = width * height;
        (
            Just((width, height)),
            image(pixel.clone(), count),
            image(pixel.clone(), count),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn bytes_reach_the_least_fixpoint(((width, height), marker, mask) in pair(byte())) {
        agrees(width, height, &marker, &mask);
    }

    #[test]
    fn reals_reach_the_least_fixpoint(((width, height), marker, mask) in pair(real())) {
        agrees(width, height, &marker, &mask);
    }

    /// Few bright pixels of the marker under a maze: values travel far and in all directions.
    #[test]
    fn few_sources_travel_far(
        ((width, height), maze, mask) in pair(byte()),
        sources in prop::collection::vec((any::<prop::sample::Index>(), byte()), 1..4),
    ) {
        if width * height > 0 {
            let mask: Vec<u8> = mask.iter().zip(&maze).map(|(mask, maze)| mask | ((maze & 1) * 128)).collect();
            let mut marker = vec![0; width * height];
            for (at, level) in sources {
                marker[at.index(width * height)] = level;
            }
            agrees(width, height, &marker, &mask);
            let real = |pixels: &[u8]| pixels.iter().map(|p| f32::from(*p) - 100.0).collect::<Vec<_>>();
            agrees(width, height, &real(&marker), &real(&mask));
        }
    }

    #[test]
    fn outside_of_spans_nothing_need_be_looked_at(
        ((width, height), marker, mask) in pair(real()),
        bits in prop::collection::vec(prop::bool::weighted(0.7), 500),
    ) {
        // As t6 has it: outside of some set both are as high as can be.
        let inside: Vec<u8> = (0..width * height).map(|at| u8::from(bits[at])).collect();
        let outside = |pixels: &[f32]| -> Vec<f32> {
            let pixels = pixels.iter().zip(&inside);
            pixels.map(|(pixel, inside)| if *inside == 0 { f32::MAX } else { *pixel }).collect()
        };
        let (marker, mask) = (outside(&marker), outside(&mask));
        let mask = View::new(width, height, &mask).unwrap();
        let spans = Spans::of(&Bitmap::from_mask(View::new(width, height, &inside).unwrap()));
        for connectivity in BOTH {
            let expected = naive(View::new(width, height, &marker).unwrap(), mask, connectivity);
            let mut found = Plane::new(width, height, marker.clone()).unwrap();
            reconstruct_in_spans(&mut found, mask, connectivity, &spans);
            prop_assert_eq!(found.pixels(), expected);
        }
    }

    #[test]
    fn the_queue_of_reals_gives_the_highest_first(
        first in prop::collection::vec(real(), 0..60),
        then in prop::collection::vec((0usize..4, real()), 0..60),
    ) {
        let mut levels = Radix::default();
        let mut held: Vec<f32> = Vec::new();
        for level in first {
            held.push(level);
            levels.push(level, 0);
        }
        let mut last = f32::INFINITY;
        for (pops, level) in then {
            for _ in 0..pops {
                held.sort_by(f32::total_cmp);
                let popped = levels.pop().map(|entry| entry.0);
                prop_assert_eq!(popped, held.pop());
                last = popped.unwrap_or(last);
            }
            let level = if level < last { level } else { last };
            held.push(level);
            levels.push(level, 0);
        }
        prop_assert_eq!(std::iter::from_fn(|| levels.pop()).count(), held.len());
    }
}

#[test]
fn every_tiny_image() {
    for (width, height) in [(1, 1), (1, 2), (2, 1), (1, 4), (4, 1), (2, 2)] {
        let count: usize = width * height;
        let images: Vec<Vec<u8>> = (0..3usize.pow(count as u32))
            .map(|code| {
                (0..count)
                    .map(|at| (code / 3usize.pow(at as u32) % 3) as u8)
                    .collect()
            })
            .collect();
        for marker in &images {
            for mask in &images {
                agrees(width, height, marker, mask);
            }
        }
    }
}

/// A corridor one pixel wide that winds to the centre, with walls of level 0.
fn spiral(size: usize) -> Vec<bool> {
    let mut open = vec![false; size * size];
    let (mut x, mut y, mut direction) = (0usize, 0usize, 0usize);
    let ahead = |x: usize, y: usize, direction: usize, steps: usize| {
        let (x, y) = match direction {
            0 => (x.checked_add(steps)?, y),
            1 => (x, y.checked_add(steps)?),
            2 => (x.checked_sub(steps)?, y),
            _ => (x, y.checked_sub(steps)?),
        };
        (x < size && y < size).then_some((x, y))
    };
    open[0] = true;
    let mut turns = 0;
    while turns < 2 {
        let next = ahead(x, y, direction, 1);
        let after = ahead(x, y, direction, 2);
        let free = next.is_some_and(|(x, y)| !open[y * size + x])
            && after.is_none_or(|(x, y)| !open[y * size + x]);
        match next {
            Some(next) if free => {
                (x, y) = next;
                open[y * size + x] = true;
                turns = 0;
            }
            _ => {
                direction = (direction + 1) % 4;
                turns += 1;
            }
        }
    }
    open
}

/// A spiral whose floor falls step by step, with a lower source inside than outside: a queue in order of arrival
/// raises its pixels again and again, one from the highest level down once.
#[test]
fn a_spiral_is_followed_to_its_end() {
    for size in [2, 3, 7, 40, 121] {
        let open = spiral(size);
        let steps = open.iter().filter(|open| **open).count();
        for entrance in [0, size * size - 1] {
            let mask: Vec<f32> = open.iter().map(|open| f32::from(*open)).collect();
            let mut marker = vec![0.0; size * size];
            marker[entrance] = 1.0;
            let view = View::new(size, size, &mask).unwrap();
            let found = reconstruct(
                View::new(size, size, &marker).unwrap(),
                view,
                Connectivity::Four,
            );
            let reached = found.pixels().iter().filter(|value| **value == 1.0).count();
            assert_eq!(
                reached,
                if open[entrance] { steps } else { 0 },
                "{size}, {entrance}"
            );

            let bytes: Vec<u8> = open.iter().map(|open| u8::from(*open) * 200).collect();
            let mut marker = vec![0; size * size];
            marker[entrance] = 255;
            let view = View::new(size, size, &bytes).unwrap();
            let found = reconstruct(
                View::new(size, size, &marker).unwrap(),
                view,
                Connectivity::Four,
            );
            let reached = found.pixels().iter().filter(|value| **value == 200).count();
            assert_eq!(
                reached,
                if open[entrance] { steps } else { 0 },
                "{size}, {entrance}"
            );
        }
    }
}

#[test]
fn a_falling_spiral_with_sources_everywhere() {
    let size = 61;
    let open = spiral(size);
    // Levels rise along the raster on the corridor: each turn meets levels of others.
    let mask: Vec<f32> = open
        .iter()
        .enumerate()
        .map(|(at, open)| {
            if *open {
                1e4 - (at * 7919 % 5000) as f32
            } else {
                -5.0
            }
        })
        .collect();
    let marker: Vec<f32> = mask
        .iter()
        .enumerate()
        .map(|(at, limit)| limit - (at * 31 % 97) as f32 * 40.0)
        .collect();
    let marker = View::new(size, size, &marker).unwrap();
    let mask = View::new(size, size, &mask).unwrap();
    for connectivity in BOTH {
        let found = reconstruct(marker, mask, connectivity);
        assert_eq!(found.pixels(), flooded(marker, mask, connectivity));
    }
}

#[test]
#[should_panic(expected = "cannot be reconstructed")]
fn sizes_must_agree() {
    let marker = View::new(2, 3, &[0u8; 6]).unwrap();
    reconstruct(
        marker,
        View::new(3, 2, &[0u8; 6]).unwrap(),
        Connectivity::Four,
    );
}
