//! Functions whose indices are known.
//!
//! Law: an estimate lies within its interval of the exact value, or as near as the sampler promises.

use headwater_sensitivity::analyze::{Estimate, MoatIndices, VbdIndices, moat, vbd};
use headwater_sensitivity::functions::{Exact, Ishigami, Morris, SobolG};
use headwater_sensitivity::sample::{Levels, Moat, Sampler, StepLength, Vbd, Walk};
use headwater_sensitivity::{Space, sample};

use crate::support::{bootstrap, evaluate, near};

#[test]
fn ishigami_is_what_the_books_say() {
    let exact = Ishigami::default().exact();
    let books = [
        (exact.first, [0.3139, 0.4424, 0.0]),
        (exact.total, [0.5576, 0.4424, 0.2437]),
        (exact.pairs, [0.0, 0.2437, 0.0]),
    ];
    for (exact, book) in books {
        for (exact, book) in exact.into_iter().zip(book) {
            near(exact, book, 5e-5, "Ishigami");
        }
    }
}

#[test]
fn shares_of_two_factors_add_up() {
    let exact = SobolG { a: vec![0.0, 3.0] }.exact();
    // V = 1/3, 1/48 and their product 1/144: 52/144 in all.
    near(exact.variance, 52.0 / 144.0, 1e-12, "variance");
    near(exact.first[0], 48.0 / 52.0, 1e-12, "first");
    near(exact.total[1], 4.0 / 52.0, 1e-12, "total");
    near(exact.pairs[0], 1.0 / 52.0, 1e-12, "both");
}

/// Against 400,000 points each of a Python program written apart from this one: S1, ST, and on 20 levels μ, μ*, σ.
const MORRIS: [[f64; 5]; 11] = [
    [0.004, 0.2533, -4.79, 49.43, 60.73],
    [0.011, 0.2574, -7.49, 49.36, 60.61],
    [0.017, 0.1129, 12.76, 28.03, 41.13],
    [0.009, 0.2585, -7.37, 49.36, 60.59],
    [0.017, 0.1139, 12.81, 28.01, 41.20],
    [0.000, 0.0942, 0.72, 30.39, 37.98],
    [0.069, 0.0699, 24.42, 24.42, 20.42],
    [0.102, 0.1027, 36.20, 36.20, 5.14],
    [0.152, 0.1528, 43.80, 43.80, 5.15],
    [0.100, 0.1025, 36.19, 36.19, 5.14],
    [0.000, 0.0021, 1.80, 4.37, 5.15],
];

#[test]
fn morris_by_hand() {
    // All w are 1: 10 × 20; 15 × −15 for pairs of the first six and −7 for the others; 10 × −10; 5.
    near(Morris.at(&[1.0; 20]), -127.0, 1e-9, "at the upper end");
    // All w are −1: what has an odd number of factors turns round.
    near(Morris.at(&[0.0; 20]), -327.0, 1e-9, "at the lower end");
    // By the Python program.
    let point: Vec<f64> = (0..20)
        .map(|place| f64::from(place * 7 % 20) / 20.0)
        .collect();
    near(Morris.at(&point), 16.360_25, 1e-9, "between");
}

#[test]
fn morris_is_what_brute_force_says() {
    let exact = Morris.exact();
    let effects = Morris.effects(20);
    near(exact.variance, 1069.5, 10.0, "variance");
    for (place, [first, total, mu, _, sigma]) in MORRIS.into_iter().enumerate() {
        near(exact.first[place], first, 3e-3, "first order");
        near(exact.total[place], total, 2e-3, "total");
        near(effects[place].mu, mu, 0.4, "μ");
        near(effects[place].sigma, sigma, 0.3, "σ");
    }
}

const SAMPLERS: [Sampler; 4] = [Sampler::Mc, Sampler::Lhs, Sampler::Halton, Sampler::Sobol];

/// A function, its space and its shares.
type Known = (Space, Box<dyn Fn(&[f64]) -> f64>, Exact);

fn functions() -> [(&'static str, Known); 3] {
    let ishigami = Ishigami::default();
    let product = SobolG {
        a: vec![0.0, 1.0, 4.5, 9.0, 99.0, 99.0],
    };
    let (space, exact) = (product.space(), product.exact());
    [
        (
            "Ishigami",
            (
                ishigami.space(),
                Box::new(move |point| ishigami.at(point)),
                ishigami.exact(),
            ),
        ),
        (
            "Sobol' G",
            (space, Box::new(move |point| product.at(point)), exact),
        ),
        (
            "Morris",
            (
                Morris.space(),
                Box::new(|point| Morris.at(point)),
                Morris.exact(),
            ),
        ),
    ]
}

fn shares(
    (space, function, _): &Known,
    sampler: Sampler,
    samples: u32,
    second_order: bool,
    seed: u64,
) -> VbdIndices {
    let wanted = Vbd {
        samples,
        sampler,
        second_order,
    };
    let design = sample::vbd::design(space, &wanted, seed).expect("a design");
    let outputs = evaluate(&design.points, function);
    vbd::indices(&design, &outputs, &bootstrap(seed)).expect("indices")
}

/// How many intervals hold the exact value.
#[derive(Default)]
struct Held {
    all: usize,
    held: usize,
}

impl Held {
    /// Fails if the exact value is further away than twice the reach of the interval.
    #[track_caller]
    fn check(&mut self, found: Estimate, exact: f64, what: &str) {
        self.all += 1;
        self.held += usize::from(found.covers(exact));
        near(found.value, exact, 2.0 * found.half_width, what);
    }

    /// Fails unless at least nine of ten intervals, at 0.95, held the value.
    #[track_caller]
    fn finish(&self) {
        let Held { all, held } = self;
        assert!(held * 10 >= all * 9, "{held} of {all}");
    }
}

#[test]
fn shares_are_within_their_intervals() {
    let mut intervals = Held::default();
    for (name, known) in functions() {
        for sampler in SAMPLERS {
            let found = shares(&known, sampler, 2048, false, 11);
            for (place, share) in found.parameters.iter().enumerate() {
                let what = format!("{name}, {sampler:?}, parameter {place}");
                intervals.check(share.first, known.2.first[place], &format!("{what}, first"));
                intervals.check(share.total, known.2.total[place], &format!("{what}, total"));
                assert!(share.total.half_width < 0.15, "{what}: {share:?}");
            }
        }
    }
    intervals.finish();
}

#[test]
fn shares_of_pairs_are_within_their_intervals() {
    let mut intervals = Held::default();
    for (name, known) in functions().into_iter().take(2) {
        for sampler in SAMPLERS {
            let found = shares(&known, sampler, 2048, true, 5);
            assert_eq!(found.pairs.len(), known.2.pairs.len());
            for (pair, exact) in found.pairs.iter().zip(&known.2.pairs) {
                let what = format!("{name}, {sampler:?}, parameters {:?}", pair.parameters);
                intervals.check(pair.share, *exact, &what);
            }
        }
    }
    intervals.finish();
}

/// The root of the mean square of the errors of all first and total shares, over several seeds.
fn error(known: &Known, sampler: Sampler, samples: u32) -> f64 {
    let mut squares = Vec::new();
    for seed in 0..8 {
        let found = shares(known, sampler, samples, false, seed);
        for (place, share) in found.parameters.iter().enumerate() {
            squares.push((share.first.value - known.2.first[place]).powi(2));
            squares.push((share.total.value - known.2.total[place]).powi(2));
        }
    }
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

#[test]
fn errors_fall_with_the_number_of_base_points() {
    for (name, known) in functions().into_iter().take(2) {
        for sampler in SAMPLERS {
            let [few, many] = [128, 2048].map(|samples| error(&known, sampler, samples));
            // Sixteen times the points: a fourth of the error for random points, less for even ones.
            let bar = if sampler == Sampler::Sobol { 0.2 } else { 0.4 };
            assert!(many < bar * few, "{name}, {sampler:?}: {few} then {many}");
        }
    }
}

#[test]
fn even_points_beat_random_ones() {
    for (name, known) in functions().into_iter().take(2) {
        let [random, even] =
            [Sampler::Mc, Sampler::Sobol].map(|sampler| error(&known, sampler, 1024));
        assert!(even < 0.5 * random, "{name}: {even} and {random}");
    }
}

fn effects(walk: Walk, levels: Levels, trajectories: u32, seed: u64) -> MoatIndices {
    let wanted = Moat {
        trajectories,
        levels,
        walk,
        length: StepLength::Actual,
    };
    let design = sample::moat::design(&Morris.space(), &wanted, seed).expect("a design");
    let outputs = evaluate(&design.points, |point| Morris.at(point));
    moat::indices(&design, &outputs, &bootstrap(seed)).expect("indices")
}

#[test]
fn effects_of_random_trajectories_are_within_their_intervals() {
    let exact = Morris.effects(20);
    let found = effects(Walk::Random, Levels::Each(20), 400, 3);
    let mut intervals = Held::default();
    for (place, effect) in found.parameters.iter().enumerate() {
        let size = MORRIS[place.min(10)][3];
        intervals.check(effect.mu_star, size, &format!("μ* of parameter {place}"));
        // Four standard errors.
        let reach = 4.0 * exact[place].sigma / 20.0;
        near(effect.mu, exact[place].mu, reach, "μ");
        near(
            effect.sigma,
            exact[place].sigma,
            0.2 * exact[place].sigma,
            "σ",
        );
    }
    intervals.finish();
}

#[test]
fn errors_of_effects_fall_with_the_number_of_trajectories() {
    let exact = Morris.effects(20);
    let error = |trajectories| {
        let squares = (0..8).flat_map(|seed| {
            let found = effects(Walk::Random, Levels::Each(20), trajectories, seed);
            let parameters = found.parameters.into_iter();
            let errors = parameters
                .zip(&exact)
                .map(|(found, exact)| found.mu - exact.mu);
            errors.map(|error| error * error).collect::<Vec<f64>>()
        });
        squares.sum::<f64>().sqrt()
    };
    let (few, many) = (error(10), error(160));
    assert!(many < 0.4 * few, "{few} then {many}");
}

#[test]
fn every_walk_finds_the_parameters_that_matter() {
    for walk in [Walk::Random, Walk::Spread, Walk::Radial] {
        for levels in [4, 20] {
            let found = effects(walk, Levels::Each(levels), 20, 1);
            let mut first = found.ranking()[..Morris::MATTER].to_vec();
            first.sort_unstable();
            let expected: Vec<usize> = (0..Morris::MATTER).collect();
            assert_eq!(first, expected, "{walk:?} on {levels} levels");
            // The eighth to tenth act on their own: little deviation for their size. The first six act together.
            for effect in &found.parameters[7..10] {
                assert!(effect.sigma < 0.3 * effect.mu_star.value, "{effect:?}");
            }
            for effect in &found.parameters[..6] {
                assert!(effect.sigma > 0.7 * effect.mu_star.value, "{effect:?}");
            }
        }
    }
}
