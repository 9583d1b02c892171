//! Functions whose sensitivity indices are known, to try methods and settings on.
//!
//! Law: what is said of a function's indices is computed from its formula, never from a sample.
//!
//! | function | parameters | known |
//! | --- | --- | --- |
//! | [`Ishigami`] | 3 | shares of the variance, of pairs too |
//! | [`SobolG`] | as many as you like | shares of the variance, of pairs too |
//! | [`Morris`] | 20 | shares of the variance; mean and deviation of the effects of random trajectories |

use core::f64::consts::PI;

use crate::{Domain, Parameter, Space};

/// Shares of the variance, as they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Exact {
    /// The variance of the output.
    pub variance: f64,
    /// First order, per parameter.
    pub first: Vec<f64>,
    /// Total, per parameter.
    pub total: Vec<f64>,
    /// Second order, per pair: (0, 1), (0, 2) and so on.
    pub pairs: Vec<f64>,
}

/// `count` parameters `x1`, `x2` and so on over one interval.
fn cube(count: usize, low: f64, high: f64) -> Space {
    let parameters = (1..=count).map(|number| Parameter {
        name: format!("x{number}").into(),
        domain: Domain::Interval { low, high },
    });
    Space {
        parameters: parameters.collect(),
    }
}

/// sin x₁ + a sin² x₂ + b x₃⁴ sin x₁ over [−π, π]³ (Ishigami and Homma 1990).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ishigami {
    /// The weight of the second parameter.
    pub a: f64,
    /// The weight of what the first and the third do together.
    pub b: f64,
}

impl Default for Ishigami {
    /// a = 7, b = 0.1.
    fn default() -> Ishigami {
        Ishigami { a: 7.0, b: 0.1 }
    }
}

impl Ishigami {
    /// Its three parameters.
    pub fn space(&self) -> Space {
        cube(3, -PI, PI)
    }

    /// Its value at a point.
    ///
    /// # Panics
    ///
    /// If the point has fewer than three values.
    pub fn at(&self, point: &[f64]) -> f64 {
        let (one, two) = (libm::sin(point[0]), libm::sin(point[1]));
        let fourth = point[2] * point[2] * point[2] * point[2];
        one + self.a * two * two + self.b * fourth * one
    }

    /// Its shares of the variance.
    pub fn exact(&self) -> Exact {
        let fourth = PI * PI * PI * PI;
        let first = 0.5 * (1.0 + self.b * fourth / 5.0) * (1.0 + self.b * fourth / 5.0);
        let second = self.a * self.a / 8.0;
        let both = self.b * self.b * fourth * fourth * (1.0 / 18.0 - 1.0 / 50.0);
        let variance = first + second + both;
        Exact {
            variance,
            first: vec![first / variance, second / variance, 0.0],
            total: vec![
                (first + both) / variance,
                second / variance,
                both / variance,
            ],
            pairs: vec![0.0, both / variance, 0.0],
        }
    }
}

/// The product over all parameters of (|4x − 2| + a) ÷ (1 + a) over [0, 1]ᵏ (Saltelli and Sobol' 1995). The smaller its
/// a, the more a parameter matters.
#[derive(Debug, Clone, PartialEq)]
pub struct SobolG {
    /// One a per parameter; none is −1.
    pub a: Vec<f64>,
}

impl SobolG {
    /// As many parameters as there are a.
    pub fn space(&self) -> Space {
        cube(self.a.len(), 0.0, 1.0)
    }

    /// Its value at a point.
    pub fn at(&self, point: &[f64]) -> f64 {
        let factors = point.iter().zip(&self.a);
        factors
            .map(|(x, a)| ((4.0 * x - 2.0).abs() + a) / (1.0 + a))
            .product()
    }

    /// Its shares of the variance.
    pub fn exact(&self) -> Exact {
        let alone: Vec<f64> = self
            .a
            .iter()
            .map(|a| 1.0 / (3.0 * (1.0 + a) * (1.0 + a)))
            .collect();
        let all: f64 = alone.iter().map(|variance| 1.0 + variance).product();
        let variance = all - 1.0;
        let pairs = alone.iter().enumerate().flat_map(|(place, one)| {
            let others = alone[place + 1..].iter();
            others.map(move |other| one * other / variance)
        });
        Exact {
            variance,
            first: alone.iter().map(|one| one / variance).collect(),
            total: alone
                .iter()
                .map(|one| one * all / (1.0 + one) / variance)
                .collect(),
            pairs: pairs.collect(),
        }
    }
}

/// Morris's function of twenty parameters over [0, 1]²⁰ (Morris 1991): a sum of products of up to four of w₁ … w₂₀, of
/// which the first ten matter.
///
/// w is 2(x − ½), but for the third, fifth and seventh 2(1.1 x ÷ (x + 0.1) − ½). The weights of the products are those
/// of the paper: 20 for each of the first ten, −15 for pairs of the first six, −10 for triples of the first five, 5 for
/// four of the first four. The weights that the paper draws at random are here (−1)ⁱ and (−1)ⁱ⁺ʲ, and the constant is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Morris;

/// What is known of the effects of a parameter in random trajectories.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExactEffect {
    /// μ: their mean.
    pub mu: f64,
    /// σ: their standard deviation.
    pub sigma: f64,
}

impl Morris {
    /// How many parameters it has.
    pub const PARAMETERS: usize = 20;
    /// How many of them matter: the first ones.
    pub const MATTER: usize = 10;

    /// Its twenty parameters.
    pub fn space(&self) -> Space {
        cube(Self::PARAMETERS, 0.0, 1.0)
    }

    /// Its value at a point.
    ///
    /// # Panics
    ///
    /// If the point has fewer than twenty values.
    pub fn at(&self, point: &[f64]) -> f64 {
        let w: [f64; Self::PARAMETERS] = core::array::from_fn(|place| factor(place, point[place]));
        let mut sum = 0.0;
        for i in 0..Self::PARAMETERS {
            sum += weight(&[i]) * w[i];
            for j in i + 1..Self::PARAMETERS {
                sum += weight(&[i, j]) * w[i] * w[j];
            }
        }
        for i in 0..5 {
            for j in i + 1..5 {
                for l in j + 1..5 {
                    sum += weight(&[i, j, l]) * w[i] * w[j] * w[l];
                }
            }
        }
        sum + weight(&[0, 1, 2, 3]) * w[0] * w[1] * w[2] * w[3]
    }

    /// Its shares of the variance.
    pub fn exact(&self) -> Exact {
        // The means of x ÷ (x + 0.1) and of its square, by integration.
        let logarithm = libm::log(11.0);
        let mean = 1.0 - 0.1 * logarithm;
        let square = 1.0 - 0.2 * logarithm + 0.01 * (10.0 - 1.0 / 1.1);
        let moments = |place: usize| {
            if bent(place) {
                Moments {
                    mean: 2.2 * mean - 1.0,
                    variance: 2.2 * 2.2 * (square - mean * mean),
                }
            } else {
                Moments {
                    mean: 0.0,
                    variance: 1.0 / 3.0,
                }
            }
        };
        let moments = core::array::from_fn(moments);
        let parts: Vec<(Vec<usize>, f64)> = rests(&moments)
            .into_iter()
            .map(|(set, weight)| {
                let part = variance(weight, set.iter(), &moments);
                (set, part)
            })
            .collect();
        let variance: f64 = parts.iter().map(|(_, part)| part).sum();
        let share = |wanted: &dyn Fn(&[usize]) -> bool| {
            let wanted = parts.iter().filter(|(of, _)| wanted(of));
            wanted.map(|(_, part)| part).sum::<f64>() / variance
        };
        let all = 0..Self::PARAMETERS;
        let pairs = all
            .clone()
            .flat_map(|one| (one + 1..Self::PARAMETERS).map(move |other| [one, other]));
        Exact {
            variance,
            first: all.clone().map(|one| share(&|of| of == [one])).collect(),
            total: all.map(|one| share(&|of| of.contains(&one))).collect(),
            pairs: pairs.map(|pair| share(&|of| of == pair)).collect(),
        }
    }

    /// Mean and deviation of the effects in random trajectories on `levels` levels, an even number, with steps of
    /// levels ÷ (2(levels − 1)).
    pub fn effects(&self, levels: u32) -> Vec<ExactEffect> {
        let last = f64::from(levels.saturating_sub(1).max(1));
        let step = f64::from(levels) / (2.0 * last);
        let moments = |place: usize| {
            let on_levels = (0..levels).map(|level| factor(place, f64::from(level) / last));
            Moments::of(on_levels)
        };
        let moments: [Moments; Self::PARAMETERS] = core::array::from_fn(moments);
        (0..Self::PARAMETERS)
            .map(|place| {
                // The function is linear in each w, so an effect is the rise of w per step × what w is multiplied by,
                // which does not depend on w. The two are independent.
                let rises = (0..levels / 2).map(|level| {
                    let low = f64::from(level) / last;
                    (factor(place, low + step) - factor(place, low)) / step
                });
                let rise = Moments::of(rises);
                let multiplier = multiplier(place, &moments);
                let squares = (rise.variance + rise.mean * rise.mean)
                    * (multiplier.variance + multiplier.mean * multiplier.mean);
                let mu = rise.mean * multiplier.mean;
                ExactEffect {
                    mu,
                    sigma: (squares - mu * mu).max(0.0).sqrt(),
                }
            })
            .collect()
    }
}

/// Mean and variance of a random number.
#[derive(Debug, Clone, Copy)]
struct Moments {
    mean: f64,
    variance: f64,
}

impl Moments {
    /// Those of a number that is equally likely to be any of these.
    fn of(values: impl Iterator<Item = f64> + Clone) -> Moments {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let squares = values.map(|value| (value - mean) * (value - mean));
        Moments {
            mean,
            variance: squares.sum::<f64>() / count,
        }
    }
}

/// Whether w is not a straight line of x.
fn bent(place: usize) -> bool {
    matches!(place, 2 | 4 | 6)
}

/// w of Morris's function.
fn factor(place: usize, x: f64) -> f64 {
    if bent(place) {
        2.0 * (1.1 * x / (x + 0.1) - 0.5)
    } else {
        2.0 * (x - 0.5)
    }
}

/// The weight of a product in Morris's function; positions from 0, rising.
fn weight(of: &[usize]) -> f64 {
    let below = |limit: usize| of.iter().all(|&place| place < limit);
    // Positions from 1 in the paper: for one parameter the signs turn round, for two they are the same.
    let even = of
        .iter()
        .map(|place| place + 1)
        .sum::<usize>()
        .is_multiple_of(2);
    let sign = if even { 1.0 } else { -1.0 };
    match of.len() {
        1 if below(10) => 20.0,
        2 if below(6) => -15.0,
        1 | 2 => sign,
        3 if below(5) => -10.0,
        4 if below(4) => 5.0,
        _ => 0.0,
    }
}

/// All sets of parameters whose product has a weight.
fn products() -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut open: Vec<Vec<usize>> = vec![Vec::new()];
    while let Some(set) = open.pop() {
        let next = set.last().map_or(0, |last| last + 1);
        for place in next..Morris::PARAMETERS {
            let larger = [set.as_slice(), &[place]].concat();
            if weight(&larger) != 0.0 {
                found.push(larger.clone());
                open.push(larger);
            }
        }
    }
    found.sort();
    found
}

/// The weights of products of rests: with each w its mean plus a rest, the products multiply out to these. Rests have
/// mean 0, so that products of different ones are uncorrelated.
fn rests(moments: &[Moments; Morris::PARAMETERS]) -> Vec<(Vec<usize>, f64)> {
    let products = products();
    let multiplied_out = |set: &Vec<usize>| {
        let larger = products
            .iter()
            .filter(|product| set.iter().all(|place| product.contains(place)));
        let terms = larger.map(|product| {
            let others = product.iter().filter(|place| !set.contains(place));
            weight(product) * others.map(|&place| moments[place].mean).product::<f64>()
        });
        (set.clone(), terms.sum())
    };
    products.iter().map(multiplied_out).collect()
}

/// The variance of a product of rests of this weight.
fn variance<'a>(
    weight: f64,
    set: impl Iterator<Item = &'a usize>,
    moments: &[Moments; Morris::PARAMETERS],
) -> f64 {
    weight * weight * set.map(|&place| moments[place].variance).product::<f64>()
}

/// What the w of a parameter is multiplied by.
fn multiplier(of: usize, moments: &[Moments; Morris::PARAMETERS]) -> Moments {
    let mut multiplier = Moments {
        mean: 0.0,
        variance: 0.0,
    };
    for (set, weight) in rests(moments) {
        if set == [of] {
            multiplier.mean = weight;
        } else if set.contains(&of) {
            let others = set.iter().filter(|&&place| place != of);
            multiplier.variance += variance(weight, others, moments);
        }
    }
    multiplier
}
