//! Mutated image files against their readers, for as long as you like: `fuzz-images [--minutes N | --seed S]`.
//!
//! Law: a case is its seed. A case that breaks a reader ends the program with exit code 1 and its seed;
//! `--seed S` gives that case alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use headwater_imaging::files::mutate;

/// How many cases run between two looks at the clock.
const BATCH: u64 = 1_000;
/// The tests run the first seeds; the long mode goes on after them.
const FIRST: u64 = 6_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().ok();
    let (minutes, only) = match words.as_slice() {
        [] => (1, None),
        ["--minutes", minutes] if number(minutes).is_some_and(|minutes| minutes > 0) => {
            (number(minutes).unwrap_or(1), None)
        }
        ["--seed", seed] if number(seed).is_some() => (0, number(seed)),
        _ => {
            eprintln!("usage: fuzz-images [--minutes N | --seed S]");
            return ExitCode::from(2);
        }
    };
    let run = |seed: u64| {
        let bytes = mutate::mutated(seed);
        match catch_unwind(AssertUnwindSafe(|| mutate::exercise(&bytes))) {
            Ok(()) => true,
            Err(_) => {
                eprintln!("seed {seed} breaks a reader");
                false
            }
        }
    };
    if let Some(seed) = only {
        return if run(seed) {
            println!("seed {seed} breaks nothing");
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    let mut seed = FIRST;
    while Instant::now() < end {
        for _ in 0..BATCH {
            if !run(seed) {
                return ExitCode::FAILURE;
            }
            seed += 1;
        }
    }
    println!("{} cases, none breaks a reader", seed - FIRST);
    ExitCode::SUCCESS
}
