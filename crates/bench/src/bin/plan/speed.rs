//! How long planning takes, and how much memory.
//!
//! Law: a run is a process of its own, so that its highest memory is that of one plan. It has one thread, and its time
//! is the processor's, since others may use the machine too; on an idle machine the clock on the wall says the same.

use std::error::Error;
use std::process::{Command, ExitCode};

use headwater_bench::{Bar, Claims, median, processor_seconds, resident};
use headwater_merge::{Compact, CostBalanced, Merge, Tree};
use headwater_sensitivity::sample::moat::{self, Levels, Moat, StepLength, Walk};

use crate::workflow;

/// The flag of a run.
pub(crate) const CHILD: &str = "--one-plan";
/// For how many workers.
const WORKERS: usize = 256;
/// How often a plan is made; the middle counts.
const TIMES: usize = 5;

/// Makes one plan and prints the time of its steps in seconds, and the highest memory in bytes.
pub(crate) fn child(instances: &str, sharing: &str) -> ExitCode {
    let Ok(instances) = instances.parse::<usize>() else {
        return ExitCode::from(2);
    };
    let sharing = workflow::sharing(sharing);
    let space = workflow::space();
    let wanted = Moat {
        trajectories: instances.div_ceil(space.len() + 1) as u32,
        levels: Levels::Each(20),
        walk: Walk::Random,
        length: StepLength::Actual,
    };
    let Ok(design) = moat::design(&space, &wanted, 42) else {
        return ExitCode::from(2);
    };
    let sets = workflow::sets(&space, &design.points, instances);
    drop(design);
    let template = workflow::template(&space);
    let ((mut compact, weights), first) = timed(|| {
        let compact = Compact::new(&template, &sets);
        let weights = workflow::weights(&compact);
        (compact, weights)
    });
    let stages = workflow::stages(&mut compact);
    let (tree, second) = timed(|| Tree::new(&stages));
    let algorithm = CostBalanced::new(WORKERS, None, sharing);
    let (buckets, third) = timed(|| algorithm.merge(&stages, &tree, &weights));
    let times = [first, second, third].map(|time| time.to_string());
    println!("{} {} {}", times.join(" "), resident().1, buckets.len());
    ExitCode::SUCCESS
}

/// How many seconds of the processor `work` takes, and what it gives.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let began = processor_seconds();
    let result = work();
    (result, processor_seconds() - began)
}

/// (stage level, tree, buckets, memory), each the middle of several runs.
fn plan(instances: usize, sharing: &str, times: usize) -> Result<[f64; 4], Box<dyn Error>> {
    let mut runs: [Vec<f64>; 4] = Default::default();
    for _ in 0..times {
        let mut command = Command::new(std::env::current_exe()?);
        let output = command
            .args([CHILD, &instances.to_string(), sharing])
            .output()?;
        let text = String::from_utf8(output.stdout)?;
        let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
        let numbers = numbers?;
        let [first, second, third, memory, _] = numbers.as_slice() else {
            return Err(format!("a plan of {instances} instances said `{text}`").into());
        };
        for (run, number) in runs.iter_mut().zip([first, second, third, memory]) {
            run.push(*number);
        }
    }
    Ok(runs.map(median))
}

/// Seconds in all.
fn seconds(run: &[f64; 4]) -> f64 {
    run[..3].iter().sum()
}

/// Claims on time and memory.
pub(crate) fn measure(claims: &mut Claims, quick: bool) -> Result<(), Box<dyn Error>> {
    for sharing in ["chain", "graph"] {
        let small = plan(10_000, sharing, TIMES)?;
        let what = format!("10,000 instances for {WORKERS} workers, {sharing} sharing");
        claims.claim(&what, 1e3 * seconds(&small), "ms", Bar::AtMost(50.0));
        let middle = plan(100_000, sharing, TIMES)?;
        let large = if quick {
            None
        } else {
            Some(plan(1_000_000, sharing, 3)?)
        };
        for (instances, run) in [("10,000", &small), ("100,000", &middle)]
            .into_iter()
            .chain(large.as_ref().map(|large| ("1,000,000", large)))
        {
            let [first, second, third, memory] = run;
            claims.note(&format!(
                "{instances}: stage level {:.1} ms, reuse tree {:.1} ms, buckets {:.1} ms, {:.0} MiB",
                1e3 * first,
                1e3 * second,
                1e3 * third,
                memory / 1_048_576.0
            ));
        }
        if let Some(large) = large {
            let what = format!("1,000,000 instances, {sharing} sharing");
            claims.claim(&what, seconds(&large), "s", Bar::AtMost(5.0));
            let what = format!("memory for 1,000,000 instances, {sharing} sharing");
            claims.claim(&what, large[3] / 1_073_741_824.0, "GiB", Bar::AtMost(2.0));
            let growth = seconds(&large) / seconds(&middle);
            let what = format!("growth from 100,000 to 1,000,000, {sharing} sharing");
            claims.claim(&what, growth, "times", Bar::AtMost(12.0));
        }
    }
    Ok(())
}
