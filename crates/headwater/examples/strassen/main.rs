//! Multiplies two matrices by Strassen's method: `strassen [N] [LEVELS] [--workers W] [--reuse] [--store FOLDER]`.
//!
//! Law: what it prints is what the sequence reports, and how far the product is from the classic one.

mod strassen;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::time::Instant;

use headwater::StorePlace;
use headwater::sequence::{Mode, SequenceOptions, Threads};
use strassen::{
    Temporaries, calls, classic_product, difference, example_matrix, multiply, rounding,
};

const USAGE: &str = "usage: strassen [N] [LEVELS] [--workers W] [--reuse] [--store FOLDER]";

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = SequenceOptions::new(Mode::Restrictive)
        .forgetting()
        .called("strassen");
    let mut temporaries = Temporaries::Separate;
    let mut numbers = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(USAGE);
        match argument.as_str() {
            "--workers" => options = options.on(Threads::new(value()?.parse()?)),
            "--store" => {
                options = options.store(StorePlace {
                    url: Some(value()?),
                    read_only: false,
                    ..StorePlace::default()
                });
            }
            "--reuse" => temporaries = Temporaries::Reused,
            "--help" | "-h" => {
                say(USAGE);
                return Ok(());
            }
            number => numbers.push(number.parse::<u32>().map_err(|_| USAGE)?),
        }
    }
    let (size, levels) = match numbers[..] {
        [] => (1024, 1),
        [size] => (size, 1),
        [size, levels] => (size, levels),
        _ => return Err(USAGE.into()),
    };

    let size = u64::from(size);
    let (a, b) = (example_matrix(size, 1), example_matrix(size, 2));
    let (product, report) = multiply(options, &a, &b, levels, temporaries)?;
    say(&format!(
        "levels: {levels}, which makes {} calls",
        calls(levels)
    ));
    say(&report.to_string());
    let mut spent: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    for call in &report.calls {
        let (calls, seconds) = spent.entry(&call.operation).or_default();
        *calls += 1;
        *seconds += call.ran.map_or(0.0, |(_, took)| took.as_secs_f64());
    }
    for (operation, (calls, seconds)) in spent {
        say(&format!("{operation}: {calls} calls, {seconds:.3} s"));
    }
    let began = Instant::now();
    let classic = classic_product(&a, &b)?;
    say(&format!(
        "the classic product, on one thread: {:.3} s",
        began.elapsed().as_secs_f64()
    ));
    say(&format!(
        "largest difference to it: {:.1e}; rounding alone may make {:.1e}",
        difference(&product, &classic),
        rounding(size, levels) + rounding(size, 0)
    ));
    Ok(())
}

/// Prints a line. That nobody reads it any more, as with `| head`, is no reason to fail.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
