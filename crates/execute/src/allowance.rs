//! How many threads the libraries of a program may start.
//!
//! Law: a library that computes with threads starts as many as the machine has cores, unless a variable of the
//! environment says otherwise. A program is told how many cores its task has in all the variables that such libraries
//! read, so programs that run at the same time do not get in each other's way. Like `{threads}` they are no part of
//! the recipe.

use std::ffi::OsString;

/// OpenMP, the libraries of linear algebra, `NumExpr`, Accelerate, Rayon, Julia, Go and ImageMagick.
const VARIABLES: [&str; 10] = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
    "JULIA_NUM_THREADS",
    "GOMAXPROCS",
    "MAGICK_THREAD_LIMIT",
];

/// The variables for a program that may use this number of threads.
pub fn thread_allowance(threads: usize) -> impl Iterator<Item = (OsString, OsString)> {
    let number = OsString::from(threads.max(1).to_string());
    VARIABLES
        .iter()
        .map(move |name| (OsString::from(name), number.clone()))
}

/// The variables as they are in the environment of this process.
pub(crate) fn inherited_threads() -> Vec<(OsString, OsString)> {
    VARIABLES
        .iter()
        .filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)))
        .collect()
}
