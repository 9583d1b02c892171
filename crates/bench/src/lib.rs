//! What all benchmark programs share: one line per claim, and an exit code; and what the fuzzers share.
//!
//! Law: a claim is a measured figure against a bar; a ratio is taken between two measurements of the same
//! run. A benchmark program ends with 1 if any of its claims falls short.

pub mod python;
pub mod records;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::json;

/// The exit code of a benchmark: what `done` makes of its end, or 2 where it could not go on.
pub fn exit_code<T>(
    measured: Result<T, impl std::fmt::Display>,
    done: impl FnOnce(T) -> ExitCode,
) -> ExitCode {
    match measured {
        Ok(end) => done(end),
        Err(error) => {
            eprintln!("the benchmark could not go on: {error}");
            ExitCode::from(2)
        }
    }
}

/// Which side of the bar is good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// The figure has to be at most this.
    AtMost(f64),
    /// The figure has to be at least this.
    AtLeast(f64),
}

/// The claims of one program.
#[derive(Debug)]
pub struct Claims {
    name: &'static str,
    json: bool,
    rows: Vec<serde_json::Value>,
    notes: Vec<String>,
    compared: Vec<String>,
    more: serde_json::Map<String, serde_json::Value>,
    failed: usize,
}

impl Claims {
    /// Reads `--json` from the command line.
    pub fn new(name: &'static str) -> Claims {
        Claims {
            name,
            json: std::env::args().any(|argument| argument == "--json"),
            rows: Vec::new(),
            notes: Vec::new(),
            compared: Vec::new(),
            more: serde_json::Map::new(),
            failed: 0,
        }
    }

    /// One claim: what, the measured figure, its unit, and the bar.
    pub fn claim(&mut self, what: &str, measured: f64, unit: &str, bar: Bar) {
        let (holds, sign, limit) = match bar {
            Bar::AtMost(limit) => (measured <= limit, "≤", limit),
            Bar::AtLeast(limit) => (measured >= limit, "≥", limit),
        };
        self.failed += usize::from(!holds);
        self.rows.push(json!({
            "claim": what, "measured": measured, "unit": unit, "bar": format!("{sign} {limit}"), "holds": holds,
        }));
        if !self.json {
            let verdict = if holds { "holds" } else { "FALLS SHORT" };
            println!("{what}: {measured:.3} {unit} (bar {sign} {limit}) {verdict}");
        }
    }

    /// A figure without a bar.
    pub fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
        if !self.json {
            println!("  {text}");
        }
    }

    /// What Headwater is compared with, with its version: `SALib 1.6.0`.
    pub fn compared_with(&mut self, program: &str) {
        self.compared.push(program.to_owned());
        if !self.json {
            println!("  compared with {program}");
        }
    }

    /// Something that `--json` prints beside the claims.
    pub fn attach(&mut self, name: &str, value: serde_json::Value) {
        self.more.insert(name.to_owned(), value);
    }

    /// Prints what is left to print.
    pub fn finish(self) -> ExitCode {
        if self.json {
            let mut told = self.more;
            told.insert("bench".to_owned(), self.name.into());
            told.insert("compared_with".to_owned(), self.compared.into());
            told.insert("claims".to_owned(), self.rows.into());
            told.insert("notes".to_owned(), self.notes.into());
            told.insert("failed".to_owned(), self.failed.into());
            println!("{}", serde_json::Value::Object(told));
        } else if self.failed > 0 {
            println!("{} of {} claims fall short", self.failed, self.rows.len());
        } else {
            println!("all {} claims hold", self.rows.len());
        }
        ExitCode::from(u8::from(self.failed > 0))
    }
}

/// How long `work` takes, and what it gives.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let result = work();
    (result, began.elapsed())
}

/// Seconds of the processor that this process has used, in all its threads.
pub fn processor_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writing, and the call does nothing else.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    match failed {
        0 => time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9,
        _ => f64::NAN,
    }
}

/// Resident memory of this process in bytes: (now, at its highest).
pub fn resident() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace()
            .nth(1)?
            .parse::<u64>()
            .ok()
            .map(|kilobytes| kilobytes * 1024)
    };
    (field("VmRSS:").unwrap_or(0), field("VmHWM:").unwrap_or(0))
}

/// The middle one of several measurements; of an even number, the upper middle.
pub fn median(mut measurements: Vec<f64>) -> f64 {
    measurements.sort_by(f64::total_cmp);
    measurements
        .get(measurements.len() / 2)
        .copied()
        .unwrap_or(f64::NAN)
}

/// Runs the cases of a fuzzer for as long as its command line says: `[--minutes N | --seed S]`. A case is its seed;
/// `holds` says whether all is well with it and has told why if not. The tests run the seeds before `first`, the long
/// mode goes on after them.
pub fn fuzz(name: &str, first: u64, holds: impl Fn(u64) -> bool) -> ExitCode {
    /// How many cases run between two looks at the clock.
    const BATCH: u64 = 1_000;
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
            eprintln!("usage: {name} [--minutes N | --seed S]");
            return ExitCode::from(2);
        }
    };
    if let Some(seed) = only {
        return if holds(seed) {
            println!("seed {seed} breaks nothing");
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    let mut seed = first;
    while Instant::now() < end {
        for _ in 0..BATCH {
            if !holds(seed) {
                return ExitCode::FAILURE;
            }
            seed += 1;
        }
    }
    println!("{} cases, none breaks a reader", seed - first);
    ExitCode::SUCCESS
}
