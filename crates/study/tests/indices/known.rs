//! Functions whose indices are known.
//!
//! Law: an estimate lies within its interval of the exact value, or as near as the sampler promises.

use headwater_study::functions::{Ishigami, Morris, SobolG};

use crate::support::near;

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
