//! What planning a study costs, what it shares, and how evenly it spreads: merged stages and buckets.
//!
//! Law: the workflow is the seven-task segmentation of the nuclei, with the fifteen parameters of its study; designs
//! are those of `headwater study`. Time is measured in a process of its own, on one thread, from parameter sets as
//! value numbers to buckets; the middle of several runs counts. Balance is judged by list scheduling of costs that
//! the planner does not know: each task takes between 0.7 and 1.3 times what the paper measured, by a seeded draw.
//! `--quick` leaves out the million and tries fewer seeds, and says so; `--seeds N` tries as many as said.

mod balance;
mod reuse;
mod speed;
mod workflow;

use std::error::Error;
use std::process::ExitCode;

use headwater_bench::{Claims, exit_code};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, instances, sharing] = arguments.as_slice()
        && flag == speed::CHILD
    {
        return speed::child(instances, sharing);
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let given = arguments.iter().position(|argument| argument == "--seeds");
    let given = given.and_then(|place| arguments.get(place + 1)?.parse().ok());
    let seeds = given.unwrap_or(if quick { 3 } else { 10 });
    let mut claims = Claims::new("plan");
    exit_code(measure(&mut claims, quick, seeds), |()| claims.finish())
}

fn measure(claims: &mut Claims, quick: bool, seeds: u64) -> Result<(), Box<dyn Error>> {
    if quick {
        claims.note("--quick: 100,000 instances at most");
    }
    speed::measure(claims, quick)?;
    reuse::measure(claims)?;
    balance::measure(claims, seeds.max(1))
}
