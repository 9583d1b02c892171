//! How often intervals hold the true value, on functions whose indices are known.
//!
//! Law: seeds are fixed, so that a coverage is one number and a test never fails by chance. An interval is judged as it
//! is told: index ± half-width. The true μ* is the mean size of an effect over the design's own distribution, from many
//! other seeds; the true shares come from the formula. Averages are over the parameters that have an effect.

use headwater_sensitivity::Space;
use headwater_sensitivity::analyze::{Bootstrap, Estimate, moat, vbd};
use headwater_sensitivity::functions::{Exact, Ishigami, Morris, SobolG};
use headwater_sensitivity::sample::{self, Levels, Moat, Sampler, StepLength, Vbd, Walk};

use crate::support::{bootstrap, evaluate};

/// How many seeds a coverage is counted over.
const SEEDS: u64 = 200;

/// At least so many of a hundred intervals at 95 % hold the true value, on average over the parameters.
const LEAST: f64 = 90.0;

type Function = Box<dyn Fn(&[f64]) -> f64>;

/// A function, its space and its shares.
struct Known {
    name: &'static str,
    space: Space,
    at: Function,
    exact: Exact,
}

fn functions() -> [Known; 4] {
    let ishigami = Ishigami::default();
    let product = |name, a: &[f64]| {
        let function = SobolG { a: a.to_vec() };
        Known {
            name,
            space: function.space(),
            exact: function.exact(),
            at: Box::new(move |point| function.at(point)),
        }
    };
    [
        Known {
            name: "Ishigami",
            space: ishigami.space(),
            exact: ishigami.exact(),
            at: Box::new(move |point| ishigami.at(point)),
        },
        product("Sobol' G, 6", &[0.0, 1.0, 4.5, 9.0, 99.0, 99.0]),
        product("Sobol' G, 8", &[0.0, 0.5, 3.0, 9.0, 99.0, 99.0, 99.0, 99.0]),
        Known {
            name: "Morris",
            space: Morris.space(),
            exact: Morris.exact(),
            at: Box::new(|point| Morris.at(point)),
        },
    ]
}

/// How many intervals hold the true value, how wide they are, and how the index itself varies.
#[derive(Default, Clone, Copy)]
struct Held {
    held: u64,
    all: u64,
    width: f64,
    sum: f64,
    squares: f64,
}

impl Held {
    fn count(&mut self, found: Estimate, truth: f64) {
        self.all += 1;
        self.held += u64::from(found.covers(truth));
        self.width += found.half_width;
        self.sum += found.value;
        self.squares += found.value * found.value;
    }

    fn percent(&self) -> f64 {
        100.0 * self.held as f64 / self.all as f64
    }

    fn mean_width(&self) -> f64 {
        self.width / self.all as f64
    }

    /// The standard deviation of the index over the seeds.
    fn deviation(&self) -> f64 {
        let count = self.all as f64;
        let mean = self.sum / count;
        (self.squares / count - mean * mean).sqrt()
    }
}

/// The mean over parameters, and the least.
fn over_parameters(held: &[Held]) -> (f64, f64) {
    let counted: Vec<f64> = held
        .iter()
        .filter(|held| held.all > 0)
        .map(Held::percent)
        .collect();
    let least = counted.iter().copied().fold(f64::INFINITY, f64::min);
    (counted.iter().sum::<f64>() / counted.len() as f64, least)
}

/// The coverage of S1 and of ST, by parameter.
fn shares(known: &Known, sampler: Sampler, samples: u32, interval: &Bootstrap) -> [Vec<Held>; 2] {
    let mut held = [(); 2].map(|()| vec![Held::default(); known.space.len()]);
    let wanted = Vbd {
        samples,
        sampler,
        second_order: false,
    };
    for seed in 0..SEEDS {
        let design = sample::vbd::design(&known.space, &wanted, seed).expect("a design");
        let outputs = evaluate(&design.points, &known.at);
        let interval = Bootstrap { seed, ..*interval };
        let found = vbd::indices(&design, &outputs, &interval).expect("indices");
        for (place, share) in found.parameters.iter().enumerate() {
            for (held, (found, exact)) in held.iter_mut().zip([
                (share.first, known.exact.first[place]),
                (share.total, known.exact.total[place]),
            ]) {
                if exact > 1e-9 {
                    held[place].count(found, exact);
                }
            }
        }
    }
    held
}

fn effects(known: &Known, wanted: &Moat, interval: &Bootstrap) -> Vec<Estimate> {
    let design = sample::moat::design(&known.space, wanted, interval.seed).expect("a design");
    let outputs = evaluate(&design.points, &known.at);
    let found = moat::indices(&design, &outputs, interval).expect("indices");
    found.parameters.iter().map(|found| found.mu_star).collect()
}

/// The mean size of the effects over so many designs with other seeds.
fn true_effects(known: &Known, wanted: &Moat, designs: u64) -> Vec<f64> {
    let mut means = vec![0.0; known.space.len()];
    for seed in 0..designs {
        let none = Bootstrap {
            resamples: 0,
            ..bootstrap(1_000_000 + seed)
        };
        for (mean, found) in means.iter_mut().zip(effects(known, wanted, &none)) {
            *mean += found.value / designs as f64;
        }
    }
    means
}

/// The coverage of μ*, by parameter.
fn sizes(known: &Known, wanted: &Moat, truth: &[f64], interval: &Bootstrap) -> Vec<Held> {
    let mut held = vec![Held::default(); known.space.len()];
    for seed in 0..SEEDS {
        let interval = Bootstrap { seed, ..*interval };
        let found = effects(known, wanted, &interval);
        for ((held, found), truth) in held.iter_mut().zip(found).zip(truth) {
            held.count(found, *truth);
        }
    }
    held
}

const SAMPLERS: [Sampler; 4] = [Sampler::Sobol, Sampler::Mc, Sampler::Lhs, Sampler::Halton];

fn walk(walk: Walk, trajectories: u32) -> Moat {
    Moat {
        trajectories,
        levels: Levels::Each(20),
        walk,
        length: StepLength::Actual,
    }
}

/// Fails unless intervals hold the true value as often as they should.
#[track_caller]
fn check(held: &[Held], what: &str) {
    let (mean, least) = over_parameters(held);
    assert!(
        mean >= LEAST,
        "{what}: {mean:.1} % (of one parameter {least:.1} %)"
    );
}

#[test]
fn from_eight_trajectories_on_mu_star_is_held() {
    for known in functions() {
        for way in [Walk::Random, Walk::Spread] {
            let wanted = walk(way, 8);
            let truth = true_effects(&known, &wanted, 500);
            let held = sizes(&known, &wanted, &truth, &Bootstrap::default());
            check(&held, &format!("{}, {way:?}, 8 trajectories", known.name));
        }
    }
}

#[test]
fn from_64_base_points_on_shares_are_held() {
    for known in functions() {
        for sampler in SAMPLERS {
            let [first, total] = shares(&known, sampler, 64, &Bootstrap::default());
            let what = format!("{}, {sampler:?}, 64 base points", known.name);
            check(&first, &format!("{what}, S1"));
            check(&total, &format!("{what}, ST"));
        }
    }
}

/// With many independent points the interval is what it would be if the distribution of the index were known.
#[test]
fn intervals_are_not_wider_than_they_need_be() {
    let known = &functions()[0];
    let [first, total] = shares(known, Sampler::Mc, 512, &Bootstrap::default());
    for held in first.iter().chain(&total).filter(|held| held.all > 0) {
        let ratio = held.mean_width() / (1.96 * held.deviation());
        assert!((0.9..1.2).contains(&ratio), "{ratio}");
    }
}

/// Prints the tables of the decision record on intervals.
#[test]
#[ignore = "takes minutes, and prints how often intervals hold the true value for all designs, samplers and sizes"]
fn tables() {
    for known in functions() {
        for way in [Walk::Random, Walk::Spread, Walk::Radial] {
            for trajectories in [2, 4, 8, 10, 16, 40] {
                let wanted = walk(way, trajectories);
                let truth = true_effects(&known, &wanted, u64::from(4000 / trajectories));
                let held = sizes(&known, &wanted, &truth, &Bootstrap::default());
                let (mean, least) = over_parameters(&held);
                println!(
                    "{} | {way:?} | {trajectories} | {mean:.1} | {least:.1} | {:.2}",
                    known.name,
                    held[0].mean_width() / truth[0],
                );
            }
        }
        for sampler in SAMPLERS {
            for samples in [16, 32, 64, 128, 256, 512, 1024, 2048] {
                let held = shares(&known, sampler, samples, &Bootstrap::default());
                let [first, total] = held.each_ref().map(|held| over_parameters(held));
                println!(
                    "{} | {sampler:?} | {samples} | {:.1} | {:.1} | {:.1} | {:.1} | {:.3} | {:.3}",
                    known.name,
                    first.0,
                    first.1,
                    total.0,
                    total.1,
                    held[0][0].mean_width(),
                    held[1][0].mean_width(),
                );
            }
        }
    }
}
