//! Strassen's multiplication as a sequence of calls, beside its products alone on two threads.
//!
//! Law: both sides do the same products with the same kernel, and take turns. What is compared is what the second core
//! brings: to the sequence, with its sums, its copies and its engine; and to two threads that share nothing but memory.

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use headwater::sequence::{Mode, SequenceOptions, Threads};
use headwater_bench::{Bar, Claims, median, timed};

#[path = "../../../../headwater/examples/strassen/strassen.rs"]
mod example;

use example::{Matrix, Temporaries, classic_product, difference, example_matrix, rounding};

const SIZE: u64 = 2048;
const LEVELS: u32 = 2;
const ROUNDS: usize = 9;

pub(crate) fn measure(claims: &mut Claims) -> Result<(), Box<dyn Error>> {
    let (a, b) = (example_matrix(SIZE, 1), example_matrix(SIZE, 2));
    let leaf = SIZE >> LEVELS;
    let factors = (example_matrix(leaf, 3), example_matrix(leaf, 4));
    let products = 7_usize.pow(LEVELS);
    let mut times: [Vec<f64>; 5] = Default::default();
    let mut worst: f64 = 0.0;
    let classic = classic_product(&a, &b)?;
    for _ in 0..ROUNDS {
        times[0].push(alone(&factors, products, 1)?);
        times[1].push(alone(&factors, products, 2)?);
        for (place, workers, temporaries) in [
            (2, 1, Temporaries::Separate),
            (3, 2, Temporaries::Separate),
            (4, 2, Temporaries::Reused),
        ] {
            let (product, elapsed) = sequence(&a, &b, workers, temporaries)?;
            times[place].push(elapsed.as_secs_f64());
            worst = worst.max(difference(&product, &classic));
        }
    }
    let [one, two, by_one, by_two, reusing] = times.map(median);
    let (threads, calls) = (one / two, by_one / by_two);
    claims.note(&format!(
        "n = {SIZE}, {LEVELS} levels, {} calls: {products} products take {one:.3} s on one thread and {two:.3} s on two; \
         the sequence {by_one:.3} s and {by_two:.3} s, with temporaries written again and again {reusing:.3} s",
        example::calls(LEVELS)
    ));
    claims.note(&format!(
        "largest difference to the classic product: {worst:.1e}"
    ));
    claims.note(&format!(
        "two threads: {threads:.2} times as fast; the sequence on two: {calls:.2} times"
    ));
    claims.claim(
        "Strassen: speed-up of the sequence by a second core, relative to that of its products on two threads",
        calls / threads,
        "",
        Bar::AtLeast(0.9),
    );
    claims.claim(
        "Strassen: speed-up where the program reuses its temporaries, relative to where it does not",
        by_two / reusing,
        "",
        Bar::AtLeast(0.9),
    );
    claims.claim(
        "Strassen: largest difference to the classic product, relative to what rounding may make",
        worst / (rounding(SIZE, LEVELS) + rounding(SIZE, 0)),
        "",
        Bar::AtMost(1.0),
    );
    Ok(())
}

/// How long the products take on so many threads.
fn alone(
    factors: &(Matrix, Matrix),
    products: usize,
    threads: usize,
) -> Result<f64, Box<dyn Error>> {
    let work = |share: usize| -> Result<(), String> {
        for _ in 0..share {
            let product = classic_product(&factors.0, &factors.1);
            black_box(product.map_err(|error| error.to_string())?);
        }
        Ok(())
    };
    let (ended, elapsed) = timed(|| {
        std::thread::scope(|scope| {
            let mut left = products;
            let mut others = Vec::new();
            for waiting in (2..=threads).rev() {
                let share = left / waiting;
                left -= share;
                others.push(scope.spawn(move || work(share)));
            }
            let own = work(left);
            let others = others.into_iter().map(|other| other.join());
            let others: Result<Vec<_>, _> = others.collect();
            (own, others.is_ok())
        })
    });
    ended.0?;
    if ended.1 {
        Ok(elapsed.as_secs_f64())
    } else {
        Err("a thread panicked".into())
    }
}

/// The product, and how long the sequence took.
fn sequence(
    a: &Matrix,
    b: &Matrix,
    workers: usize,
    temporaries: Temporaries,
) -> Result<(Matrix, Duration), Box<dyn Error>> {
    let options = SequenceOptions::new(Mode::Restrictive)
        .forgetting()
        .on(Threads::new(workers));
    let (product, report) = example::multiply(options, a, b, LEVELS, temporaries)?;
    Ok((product, report.elapsed))
}
