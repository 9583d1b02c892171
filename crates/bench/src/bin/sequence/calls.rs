//! What a call of a sequence costs besides what it computes.
//!
//! Law: bodies do next to nothing, so that what is measured is the engine: typed arguments, dependences, recipes, tasks,
//! and rounds. Short and long programs take turns.

use std::error::Error;

use headwater::sequence::{
    In, InOut, Item, Mode, Procedure, Sequence, SequenceError, SequenceOptions, Threads, procedure,
};
use headwater_bench::{Bar, Claims, median, timed};

const SHORT: usize = 100_000;
const LONG: usize = 1_000_000;
const FEW_ROUNDS: usize = 2_000;
const MANY_ROUNDS: usize = 20_000;
const TURNS: usize = 3;

type Mix = Procedure<(In<i64>, In<i64>, In<i64>, InOut<i64>)>;

fn mix() -> Mix {
    procedure("bench/mix", "1")
        .reads::<i64>("a")
        .reads::<i64>("b")
        .reads::<i64>("c")
        .updates::<i64>("d")
        .run(|(a, b, c, d): (i64, i64, i64, i64), _| Ok((a ^ b ^ c ^ d,)))
}

fn begin() -> Sequence {
    let options = SequenceOptions::new(Mode::Restrictive).forgetting();
    Sequence::with(options.on(Threads::new(1)))
}

/// Submits so many calls of four arguments; how long that takes, and how long running them all does.
fn submitted(calls: usize) -> Result<(f64, f64), SequenceError> {
    let mix = mix();
    let mut sequence = begin();
    let mut items: Vec<Item<i64>> = (0..1000).map(|number| sequence.give(number)).collect();
    let (made, submitting) = timed(|| -> Result<(), SequenceError> {
        for call in 0..calls {
            let place = |step: usize| (call * step) % 1000;
            let [a, b, c] = [7, 11, 13].map(|step| items[place(step)].clone());
            sequence.submit(&mix, (&a, &b, &c, &mut items[call % 1000]))?;
        }
        Ok(())
    });
    made?;
    let (ended, running) = timed(|| sequence.end());
    ended?;
    Ok((submitting.as_secs_f64(), running.as_secs_f64()))
}

/// Asks for a value after each of so many calls.
fn rounds(calls: usize) -> Result<f64, SequenceError> {
    let mix = mix();
    let mut sequence = begin();
    let (a, mut d) = (sequence.give(1), sequence.give(2));
    let (asked, elapsed) = timed(|| -> Result<(), SequenceError> {
        for _ in 0..calls {
            sequence.submit(&mix, (&a, &a, &a, &mut d))?;
            sequence.value(&d)?;
        }
        Ok(())
    });
    asked?;
    Ok(elapsed.as_secs_f64())
}

pub(crate) fn measure(claims: &mut Claims) -> Result<(), Box<dyn Error>> {
    let mut times: [Vec<f64>; 6] = Default::default();
    for _ in 0..TURNS {
        for (place, calls) in [(0, SHORT), (2, LONG)] {
            let (submitting, running) = submitted(calls)?;
            times[place].push(submitting / calls as f64);
            times[place + 1].push(running / calls as f64);
        }
        times[4].push(rounds(FEW_ROUNDS)? / FEW_ROUNDS as f64);
        times[5].push(rounds(MANY_ROUNDS)? / MANY_ROUNDS as f64);
    }
    let [submit, run, submit_long, run_long, round, round_long] = times.map(median);
    claims.claim(
        "submitting a call of four arguments, the million-th included",
        submit_long * 1e6,
        "µs",
        Bar::AtMost(5.0),
    );
    claims.claim(
        "submitting: time per call of 1,000,000, relative to 100,000",
        submit_long / submit,
        "",
        Bar::AtMost(2.0),
    );
    claims.claim(
        "running: time per call of 1,000,000, relative to 100,000",
        run_long / run,
        "",
        Bar::AtMost(2.0),
    );
    claims.claim(
        "a value after each call, time per round",
        round * 1e6,
        "µs",
        Bar::AtMost(50.0),
    );
    claims.claim(
        "a value after each call: time per round of 20,000, relative to 2,000",
        round_long / round,
        "",
        Bar::AtMost(1.5),
    );
    Ok(())
}
