//! Mutated image files against their readers, for as long as you like: `fuzz-images [--minutes N | --seed S]`.
//!
//! Law: a case is its seed. A case that breaks a reader ends the program with exit code 1 and its seed;
//! `--seed S` gives that case alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use headwater_bench::fuzz;
use headwater_imaging::files::mutate;

/// The tests run the first seeds.
const FIRST: u64 = 6_000;

fn main() -> ExitCode {
    fuzz("fuzz-images", FIRST, |seed| {
        let bytes = mutate::mutated(seed);
        let holds = catch_unwind(AssertUnwindSafe(|| mutate::exercise(&bytes))).is_ok();
        if !holds {
            eprintln!("seed {seed} breaks a reader");
        }
        holds
    })
}
