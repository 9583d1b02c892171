//! What effects are divided by.
//!
//! Law: of a linear model every effect of a parameter is the rise over its whole range, however uneven its values are
//! and however long the steps; and of things without order it is the size of the change.

use headwater_sensitivity::analyze::{Bootstrap, Effect, MoatIndices, moat};
use headwater_sensitivity::sample::{self, Levels, Moat, MoatDesign, StepLength, Walk};
use headwater_sensitivity::{Domain, Parameter, Space};

use crate::support::{bootstrap, evaluate, near};

const WALKS: [Walk; 3] = [Walk::Random, Walk::Spread, Walk::Radial];

fn listed(numbers: &[f64]) -> Domain {
    Domain::Listed {
        numbers: numbers.into(),
    }
}

fn grid(low: f64, step: f64, count: u32) -> Domain {
    Domain::Grid { low, step, count }
}

fn design(domains: &[Domain], wanted: &Moat) -> MoatDesign {
    let parameter = |(place, domain): (usize, &Domain)| Parameter {
        name: format!("x{place}").into(),
        domain: domain.clone(),
    };
    let space = Space {
        parameters: domains.iter().enumerate().map(parameter).collect(),
    };
    sample::moat::design(&space, wanted, 11).expect("a design")
}

/// The number that a value of a design stands for.
fn number(domain: &Domain, value: f64) -> f64 {
    match domain {
        Domain::Listed { numbers } => numbers[value as usize],
        _ => value,
    }
}

fn effects(domains: &[Domain], wanted: &Moat, model: impl Fn(&[f64]) -> f64) -> MoatIndices {
    let design = design(domains, wanted);
    let outputs = evaluate(&design.points, |row| {
        let numbers: Vec<f64> = domains
            .iter()
            .zip(row)
            .map(|(domain, value)| number(domain, *value))
            .collect();
        model(&numbers)
    });
    moat::indices(&design, &outputs, &bootstrap(0)).expect("indices")
}

fn wanted(levels: Levels, walk: Walk, length: StepLength) -> Moat {
    Moat {
        trajectories: 24,
        levels,
        walk,
        length,
    }
}

#[test]
fn a_linear_model_has_its_slopes_whatever_the_values_are() {
    // With the range of each, and a weight.
    let parameters = [
        (listed(&[0.1, 0.2, 0.3, 0.9]), 0.8, 3.0),
        (listed(&[100.0, 1.0, 10.0]), 99.0, -0.5),
        (listed(&[4.0, 8.0]), 4.0, 2.0),
        (grid(3.0, 1.0, 4), 3.0, 1.5),
        (grid(0.5, 0.25, 7), 1.5, -4.0),
        (grid(-10.0, 10.0, 3), 20.0, 0.25),
        (Domain::Choice { count: 2 }, 1.0, -2.0),
        (
            Domain::Interval {
                low: -2.0,
                high: 6.0,
            },
            8.0,
            1.0,
        ),
    ];
    let domains: Vec<Domain> = parameters.iter().map(|known| known.0.clone()).collect();
    let model = |row: &[f64]| -> f64 {
        row.iter()
            .zip(&parameters)
            .map(|(x, known)| x * known.2)
            .sum()
    };
    for walk in WALKS {
        for levels in [
            Levels::Each(20),
            Levels::Each(6),
            Levels::Each(2),
            Levels::Grid,
        ] {
            let found = effects(&domains, &wanted(levels, walk, StepLength::Actual), model);
            for (effect, (_, range, weight)) in found.parameters.iter().zip(&parameters) {
                let slope = range * weight;
                let what = format!("{walk:?}, {levels:?}");
                near(effect.mu, slope, 1e-9, &what);
                near(effect.mu_star.value, slope.abs(), 1e-9, &what);
                near(effect.sigma, 0.0, 1e-9, &what);
                near(effect.mu_star.half_width, 0.0, 1e-9, &what);
                assert_eq!((effect.used, effect.lost, effect.no_step), (24, 0, 0));
            }
        }
    }
}

/// 20 levels: a step is 10/19 for all, so that a parameter of two values is overstated 1.9 times.
#[test]
fn nominal_effects_are_those_of_the_levels() {
    let domains = [listed(&[4.0, 8.0]), grid(0.0, 1.0, 20)];
    let model = |row: &[f64]| 0.25 * row[0] + row[1] / 19.0;
    let found = |length| {
        effects(
            &domains,
            &wanted(Levels::Each(20), Walk::Random, length),
            model,
        )
    };
    let (actual, nominal) = (found(StepLength::Actual), found(StepLength::Nominal));
    near(actual.parameters[0].mu, 1.0, 1e-12, "two values");
    near(nominal.parameters[0].mu, 1.9, 1e-12, "two values, nominal");
    // A grid that holds the levels: nothing differs, to the last bit.
    assert_eq!(actual.parameters[1], nominal.parameters[1]);
}

/// Grids that hold the levels, and intervals: the length of a step is the nominal one, to the last bit.
#[test]
fn where_values_are_levels_the_two_lengths_are_one() {
    let domains = [
        grid(2.0, 2.0, 20),
        grid(0.1, 0.1, 39),
        grid(7.0, 1.0, 58),
        Domain::Interval {
            low: -3.0,
            high: 0.1,
        },
        Domain::Interval {
            low: 0.1,
            high: 0.7,
        },
    ];
    for walk in [Walk::Random, Walk::Spread] {
        let [actual, nominal] = [StepLength::Actual, StepLength::Nominal]
            .map(|length| design(&domains, &wanted(Levels::Each(20), walk, length)));
        assert_eq!(actual, nominal);
    }
    for (levels, walk) in [
        (Levels::Grid, Walk::Random),
        (Levels::Grid, Walk::Spread),
        (Levels::Each(20), Walk::Radial),
    ] {
        let [actual, nominal] = [StepLength::Actual, StepLength::Nominal]
            .map(|length| design(&domains, &wanted(levels, walk, length)));
        assert_eq!(actual, nominal);
    }
}

/// Of four words only the first two differ: a jump of half of the positions never compares them.
#[test]
fn a_choice_whose_order_means_nothing_is_found() {
    let domains = [
        Domain::Choice { count: 4 },
        Domain::Interval {
            low: 0.0,
            high: 1.0,
        },
    ];
    for walk in WALKS {
        for levels in [Levels::Each(20), Levels::Grid] {
            for first in [
                [1.0, 0.0, 0.5, 0.5],
                [0.0, 1.0, 0.0, 1.0],
                [0.0, 0.0, 1.0, 0.0],
            ] {
                let model = |row: &[f64]| first[row[0] as usize] + 0.1 * row[1];
                let found = effects(&domains, &wanted(levels, walk, StepLength::Actual), model);
                let Effect {
                    mu,
                    mu_star,
                    sigma,
                    used,
                    ..
                } = found.parameters[0];
                assert!(mu.is_nan());
                assert!(
                    mu_star.value > 0.15 && mu_star.half_width > 0.0,
                    "{walk:?} {mu_star:?}"
                );
                assert!(sigma > 0.0 && sigma.is_finite());
                assert_eq!(used, 24);
                assert_eq!(found.ranking(), [0, 1]);
            }
        }
    }
}

#[test]
fn the_effect_of_a_choice_is_the_size_of_the_change() {
    // Every change of the word changes the output by 3, up or down.
    let domains = [Domain::Choice { count: 3 }];
    let model = |row: &[f64]| [0.0, 3.0, 0.0][row[0] as usize];
    let design = design(
        &domains,
        &wanted(Levels::Each(20), Walk::Random, StepLength::Actual),
    );
    let outputs = evaluate(&design.points, model);
    let found = moat::indices(&design, &outputs, &bootstrap(0)).expect("indices");
    let changes = outputs
        .chunks(2)
        .map(|ends| (ends[1].unwrap() - ends[0].unwrap()).abs());
    let sizes: Vec<f64> = changes.collect();
    let mean = sizes.iter().sum::<f64>() / 24.0;
    let squares: f64 = sizes.iter().map(|size| (size - mean) * (size - mean)).sum();
    near(found.parameters[0].mu_star.value, mean, 1e-12, "μ*");
    near(
        found.parameters[0].sigma,
        (squares / 23.0).sqrt(),
        1e-12,
        "σ",
    );
}

/// A parameter that never moves has no effect, and nothing is made up for it; the others are as without it.
#[test]
fn a_parameter_without_steps_has_no_effects() {
    let low = 9_007_199_254_740_992.0;
    let domains = [
        Domain::Interval {
            low: 0.0,
            high: 1.0,
        },
        listed(&[0.0, -0.0]),
        // Two numbers and nothing between: half of the steps of a radial design land where they began.
        Domain::Interval {
            low,
            high: low + 2.0,
        },
    ];
    let model = |row: &[f64]| 2.0 * row[0] + (row[2] - low);
    for walk in WALKS {
        let found = effects(
            &domains,
            &wanted(Levels::Each(20), walk, StepLength::Actual),
            model,
        );
        let [first, never, some] = found.parameters[..] else {
            panic!("three parameters");
        };
        near(first.mu, 2.0, 1e-9, "the first");
        assert_eq!((never.used, never.lost, never.no_step), (0, 0, 24));
        assert!(never.mu_star.value.is_nan() && never.sigma.is_nan());
        assert_eq!(some.used + some.no_step, 24);
        assert_eq!(found.ranking().last(), Some(&1));
        assert_eq!(found.widest(), None);
    }
}

/// Intervals and prefixes are of the effects that there are.
#[test]
fn parameters_may_have_different_numbers_of_effects() {
    let domains = [
        Domain::Choice { count: 4 },
        listed(&[0.1, 0.2, 0.3, 0.9]),
        Domain::Interval {
            low: 0.0,
            high: 1.0,
        },
    ];
    let mut design = design(
        &domains,
        &wanted(Levels::Each(20), Walk::Random, StepLength::Actual),
    );
    let outputs = evaluate(&design.points, |row| row[0] * row[1] + row[2] * row[2]);
    // Some steps of the second have no length, and some outputs are missing.
    let mut seen = 0;
    for step in design.moves.iter_mut().filter(|step| step.parameter == 1) {
        seen += 1;
        if seen % 3 == 0 {
            step.delta = 0.0;
        }
    }
    let mut holes = outputs.clone();
    holes[5] = None;
    holes[40] = None;
    let other: Vec<Option<f64>> = outputs
        .iter()
        .map(|output| output.map(|value| -value))
        .collect();
    for trajectories in [8, 12, 16, 24] {
        let prefix = design.prefix(trajectories);
        let rows = prefix.points.len();
        let tiles = [&holes[..rows], &other[..rows]];
        let found = moat::tiles(&prefix, &tiles, &Bootstrap::default()).expect("indices");
        for indices in found.each.iter().chain([&found.pooled]) {
            for effect in &indices.parameters {
                assert!(effect.mu_star.value > 0.0 && effect.mu_star.half_width > 0.0);
            }
            assert!(indices.widest().is_some());
        }
        for (place, effect) in found.pooled.parameters.iter().enumerate() {
            let all = effect.used + effect.lost + effect.no_step;
            assert_eq!(all, 2 * trajectories as usize);
            let none = if place == 1 {
                trajectories as usize / 3
            } else {
                0
            };
            assert_eq!(effect.no_step, 2 * none);
        }
    }
}
