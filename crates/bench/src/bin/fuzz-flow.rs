//! Mutated files against the readers of `flow`, for as long as you like: `fuzz-flow [--minutes N] [--seed S]`.
//!
//! Law: a case is its seed. A case that breaks a reader ends the program with exit code 1, its seed and its
//! text; `--seed S` gives that case alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use headwater_bench::fuzz;
use headwater_flow::mutate;

/// The tests run the first seeds.
const FIRST: u64 = 20_000;

fn main() -> ExitCode {
    let registry = mutate::registry();
    fuzz("fuzz-flow", FIRST, |seed| {
        let text = mutate::mutated(seed);
        let holds = catch_unwind(AssertUnwindSafe(|| mutate::exercise(&text, &registry))).is_ok();
        if !holds {
            eprintln!("seed {seed} breaks a reader; its text is\n{text}");
        }
        holds
    })
}
