//! Designs made by hand, and small conveniences.
//!
//! Law: nothing here uses the samplers of the crate, so that indices are tested apart from them.

use headwater_sensitivity::Points;
use headwater_sensitivity::analyze::Bootstrap;
use headwater_sensitivity::sample::{MoatDesign, Move, VbdDesign};

/// Random numbers: a linear congruential generator with the constants of Knuth's MMIX, upper bits only.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// In [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as f64 / 4_294_967_296.0
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.unit() * count as f64) as usize
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Base points drawn independently, in [low, high]ᵏ.
pub(crate) fn vbd(
    parameters: usize,
    samples: u32,
    second_order: bool,
    (low, high): (f64, f64),
    seed: u64,
) -> VbdDesign {
    let mut random = Random(seed);
    let mut points = Points::new(parameters);
    for _ in 0..samples {
        let mut draw = || -> Vec<f64> {
            (0..parameters)
                .map(|_| low + (high - low) * random.unit())
                .collect()
        };
        let (a, b) = (draw(), draw());
        let with = |row: &[f64], other: &[f64], place: usize| {
            let mut row = row.to_vec();
            row[place] = other[place];
            row
        };
        points.push(&a);
        (0..parameters).for_each(|place| points.push(&with(&a, &b, place)));
        if second_order {
            (0..parameters).for_each(|place| points.push(&with(&b, &a, place)));
        }
        points.push(&b);
    }
    VbdDesign {
        points,
        samples,
        second_order,
    }
}

/// Random trajectories in the unit cube.
pub(crate) fn moat(parameters: usize, trajectories: u32, levels: u32, seed: u64) -> MoatDesign {
    let mut random = Random(seed);
    let delta = f64::from(levels) / (2.0 * f64::from(levels - 1));
    let mut points = Points::new(parameters);
    let mut moves = Vec::new();
    for _ in 0..trajectories {
        let mut order: Vec<usize> = (0..parameters).collect();
        random.shuffle(&mut order);
        let mut ups = Vec::new();
        let mut point: Vec<f64> = (0..parameters)
            .map(|_| {
                let low = random.below(levels as usize / 2) as f64 / f64::from(levels - 1);
                ups.push(random.unit() < 0.5);
                if ups[ups.len() - 1] { low } else { low + delta }
            })
            .collect();
        points.push(&point);
        for parameter in order {
            let delta = if ups[parameter] { delta } else { -delta };
            point[parameter] += delta;
            let from = points.len() as u32 - 1;
            points.push(&point);
            moves.push(Move {
                from,
                to: from + 1,
                parameter: parameter as u32,
                delta,
            });
        }
    }
    MoatDesign {
        points,
        moves,
        trajectories,
        unordered: Vec::new(),
    }
}

/// The outputs of a function at all points.
pub(crate) fn evaluate(points: &Points, function: impl Fn(&[f64]) -> f64) -> Vec<Option<f64>> {
    points.rows().map(|row| Some(function(row))).collect()
}

/// 100 resamples at 0.95.
pub(crate) fn bootstrap(seed: u64) -> Bootstrap {
    Bootstrap {
        seed,
        ..Bootstrap::default()
    }
}

/// Fails unless two numbers differ by at most this much, or are both not numbers.
#[track_caller]
pub(crate) fn near(found: f64, expected: f64, tolerance: f64, what: &str) {
    let same = (found - expected).abs() <= tolerance || (found.is_nan() && expected.is_nan());
    assert!(same, "{what}: {found}, expected {expected} ± {tolerance}");
}
