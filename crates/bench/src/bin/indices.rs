//! Sobol' indices with bootstrap intervals beside SALib.
//!
//! Law: both sides read the same outputs in the same run, each on one thread, and only the analysis is timed.

use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use headwater_bench::python::{SALIB, scratch};
use headwater_bench::{Bar, Claims, exit_code, median, timed};
use headwater_sensitivity::analyze::{Bootstrap, VbdIndices, vbd};
use headwater_sensitivity::functions::SobolG;
use headwater_sensitivity::sample::{self, Sampler, Vbd, VbdDesign};
use serde_json::Value;

/// Reads a file of outputs; prints seconds of each run, indices and intervals.
const SCRIPT: &str = "
import json, sys, time
import numpy
from SALib.analyze import sobol

path, parameters, resamples, runs = sys.argv[1], *map(int, sys.argv[2:])
outputs = numpy.fromfile(path, '<f8')
problem = {
    'num_vars': parameters,
    'names': [str(place) for place in range(parameters)],
    'bounds': [[0, 1]] * parameters,
}
seconds = []
for _ in range(runs):
    began = time.perf_counter()
    found = sobol.analyze(problem, outputs, calc_second_order=False, num_resamples=resamples)
    seconds.append(time.perf_counter() - began)
print(json.dumps({'seconds': seconds, **{name: list(found[name]) for name in ('S1', 'ST', 'S1_conf', 'ST_conf')}}))
";

const SAMPLES: u32 = 16_384;
const PARAMETERS: usize = 8;
const BOOTSTRAP: Bootstrap = Bootstrap {
    resamples: 100,
    confidence: 0.95,
    seed: 1,
};
/// How often each side is measured; the middle one counts.
const OUR_RUNS: usize = 25;
const THEIR_RUNS: usize = 5;

fn main() -> ExitCode {
    let mut claims = Claims::new("indices");
    exit_code(measure(&mut claims), |()| claims.finish())
}

fn measure(claims: &mut Claims) -> Result<(), Box<dyn Error>> {
    let function = SobolG {
        a: vec![0.0, 0.5, 1.0, 2.0, 4.5, 9.0, 30.0, 99.0],
    };
    let wanted = Vbd {
        samples: SAMPLES,
        sampler: Sampler::Sobol,
        second_order: false,
    };
    let design = sample::vbd::design(&function.space(), &wanted, 1)?;
    let outputs: Vec<f64> = design.points.rows().map(|row| function.at(row)).collect();
    let (ours, seconds) = own(&design, &outputs)?;
    claims.note(&format!(
        "{SAMPLES} base points, {PARAMETERS} parameters, {} resamples: {:.2} ms",
        BOOTSTRAP.resamples,
        seconds * 1e3
    ));
    let python = match SALIB.python(|note| claims.note(note)) {
        Ok(python) => python,
        Err(message) => {
            claims.note(&format!("skipped: the comparison with SALib ({message})"));
            return Ok(());
        }
    };
    let theirs = salib(&python, &outputs)?;
    let their_seconds = median(numbers(&theirs, "seconds")?);
    claims.compared_with("SALib 1.6.0");
    claims.note(&format!("SALib: {:.1} ms", their_seconds * 1e3));
    claims.claim(
        "Sobol' indices with intervals, speed of SALib = 1",
        their_seconds / seconds,
        "times",
        Bar::AtLeast(20.0),
    );
    compare(claims, &ours, &theirs)
}

/// Our indices, and the seconds that they take.
fn own(design: &VbdDesign, outputs: &[f64]) -> Result<(VbdIndices, f64), Box<dyn Error>> {
    let outputs: Vec<Option<f64>> = outputs.iter().copied().map(Some).collect();
    let indices = vbd::indices(design, &outputs, &BOOTSTRAP)?;
    let mut seconds = Vec::new();
    for _ in 0..OUR_RUNS {
        let (again, taken) = timed(|| vbd::indices(design, &outputs, &BOOTSTRAP));
        if again? != indices {
            return Err("two runs differ".into());
        }
        seconds.push(taken.as_secs_f64());
    }
    Ok((indices, median(seconds)))
}

fn salib(python: &Path, outputs: &[f64]) -> Result<Value, Box<dyn Error>> {
    let file = scratch()?.join("outputs");
    let bytes: Vec<u8> = outputs
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    std::fs::write(&file, bytes)?;
    let run = Command::new(python)
        .args(["-c", SCRIPT])
        .arg(&file)
        .args(
            [PARAMETERS, BOOTSTRAP.resamples as usize, THEIR_RUNS].map(|number| number.to_string()),
        )
        .env("OMP_NUM_THREADS", "1")
        .stderr(Stdio::inherit())
        .output()?;
    std::fs::remove_file(file)?;
    if !run.status.success() {
        return Err("SALib failed; what it said stands above".into());
    }
    Ok(serde_json::from_slice(&run.stdout)?)
}

fn numbers(answer: &Value, name: &str) -> Result<Vec<f64>, Box<dyn Error>> {
    let list = answer[name].as_array().ok_or("not a list")?;
    let numbers = list
        .iter()
        .map(|value| value.as_f64().ok_or("not a number"));
    Ok(numbers.collect::<Result<_, _>>()?)
}

/// That the indices are the same, and the intervals about as wide.
fn compare(claims: &mut Claims, ours: &VbdIndices, theirs: &Value) -> Result<(), Box<dyn Error>> {
    let estimates = || {
        let shares = ours.parameters.iter();
        let first = shares.clone().map(|share| share.first);
        first.chain(shares.map(|share| share.total))
    };
    let both = |one: &str, other: &str| -> Result<Vec<f64>, Box<dyn Error>> {
        Ok([numbers(theirs, one)?, numbers(theirs, other)?].concat())
    };
    let values = both("S1", "ST")?;
    let differences = estimates()
        .zip(&values)
        .map(|(ours, theirs)| (ours.value - theirs).abs());
    claims.claim(
        "largest difference of an index from SALib's, 1e-9 = 1",
        differences.fold(0.0, f64::max) * 1e9,
        "",
        Bar::AtMost(1.0),
    );
    let widths = both("S1_conf", "ST_conf")?;
    let ratios = estimates()
        .zip(&widths)
        .map(|(ours, theirs)| ours.half_width / theirs);
    let (narrow, wide) = ratios.fold((f64::INFINITY, 0.0_f64), |(low, high), ratio| {
        (low.min(ratio), high.max(ratio))
    });
    claims.note(&format!(
        "intervals are {narrow:.2} to {wide:.2} times as wide as SALib's (both from random draws)"
    ));
    Ok(())
}
