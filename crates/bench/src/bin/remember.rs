//! What the store costs: look-ups among many records, and digests of files next to b3sum.
//!
//! Law: look-ups meet a store that was just opened, and ask for other recipes each time where there are more. Digests
//! are those of files that lie in the page cache, with an empty cache of digests, and b3sum reads the same files in
//! turn, with the same number of threads. `--quick` makes a tenth of the records, `--records N` as many as said;
//! both say so.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use headwater_bench::{Bar, Claims, median, timed};
use headwater_graph::{Digest, Known, ProductRecord, Recipe, Scalar, StoredOutput};
use headwater_remember::{Mode, Pending, Store, Writer};

/// How many recipes the plan of a large run asks for.
const ASKED: u64 = 100_000;
/// How often each thing is measured; the middle counts.
const TIMES: u64 = 7;
/// Of files that changed less than two seconds ago no digest is remembered.
const SETTLED: Duration = Duration::from_millis(2_100);

fn main() -> ExitCode {
    let mut claims = Claims::new("remember");
    let folder = std::env::temp_dir().join(format!("headwater-bench-{}", std::process::id()));
    let measured = fs::create_dir_all(&folder)
        .map_err(Into::into)
        .and_then(|()| measure(&mut claims, &folder));
    let _ = fs::remove_dir_all(&folder);
    match measured {
        Ok(()) => claims.finish(),
        Err(error) => {
            eprintln!("the benchmark could not go on: {error}");
            ExitCode::from(2)
        }
    }
}

fn measure(claims: &mut Claims, folder: &Path) -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = arguments.iter().position(|word| word == "--records");
    let many = match given {
        Some(place) => {
            let number = arguments
                .get(place + 1)
                .ok_or("`--records` needs a number")?;
            number.parse::<u64>()?.max(ASKED)
        }
        None if arguments.iter().any(|word| word == "--quick") => 1_000_000,
        None => 10_000_000,
    };
    digests(claims, folder)?;
    lookups(claims, folder, ASKED, 1.0)?;
    if many != 10_000_000 {
        claims.note(&format!(
            "the bar is for 10,000,000 records; this run has {many} of them"
        ));
    }
    lookups(claims, folder, many, 3.0)
}

fn recipe(number: u64) -> Recipe {
    Recipe(Digest::of(&number.to_le_bytes()).0)
}

/// A small record: three parameters, one input, one output of eight bytes.
fn record(number: u64) -> ProductRecord {
    let inline: Arc<[u8]> = number.to_le_bytes().as_slice().into();
    let output = StoredOutput {
        digest: Digest::of(&inline),
        size: 8,
        inline: Some(inline),
        encoding: None,
    };
    ProductRecord {
        recipe: recipe(number),
        content: None,
        operation: "bench/nothing".into(),
        version: "1".into(),
        parameters: vec![
            ("first".into(), Scalar::Int(number.cast_signed())),
            ("second".into(), Scalar::Float(0.5)),
            ("third".into(), Scalar::Text("text".into())),
        ],
        inputs: vec![("in".into(), format!("{}:out", recipe(number / 4)))],
        outputs: vec![("out".into(), output)],
        wall: 1000 + number,
        cpu: 900,
        peak_memory: 0,
        run: "20260101-000000-0000".into(),
        time: 1_767_225_600,
    }
}

/// Asks a store of so many records for those of a plan.
fn lookups(
    claims: &mut Claims,
    folder: &Path,
    records: u64,
    bar: f64,
) -> Result<(), Box<dyn Error>> {
    let root = folder.join(format!("store-{records}"));
    let (built, building) = timed(|| -> Result<(), Box<dyn Error>> {
        let store = Arc::new(Store::open(&root, Mode::ReadWrite)?);
        let writer = Writer::start(store, Box::new(|_| {}));
        for number in 0..records {
            writer.submit(Pending {
                record: record(number),
                objects: Vec::new(),
            });
        }
        Ok(writer.close()?)
    });
    built?;
    let size = fs::metadata(root.join("records.sqlite"))?.len();
    let mut seconds = Vec::new();
    let mut in_vain = Vec::new();
    for time in 0..TIMES {
        // Recipes lie all over the index, whoever asks for them.
        let step = records / ASKED;
        let wanted: Vec<Recipe> = (0..ASKED)
            .map(|place| recipe(place * step + time % step))
            .collect();
        let store = Store::open(&root, Mode::ReadWrite)?;
        let (known, took) = timed(|| store.known(&wanted));
        if known?.iter().any(Option::is_none) {
            return Err("a record that was written is not there".into());
        }
        seconds.push(took.as_secs_f64());
        let absent: Vec<Recipe> = (0..ASKED)
            .map(|place| recipe(records * (time + 1) + place))
            .collect();
        let store = Store::open(&root, Mode::ReadWrite)?;
        let (known, took) = timed(|| store.known(&absent));
        if known?.iter().any(Option::is_some) {
            return Err("a record is there that nobody wrote".into());
        }
        in_vain.push(took.as_secs_f64());
    }
    claims.claim(
        &format!("look-up of {ASKED} recipes among {records} records, all known"),
        median(seconds),
        "s",
        Bar::AtMost(bar),
    );
    claims.claim(
        &format!("look-up of {ASKED} recipes among {records} records, none known"),
        median(in_vain),
        "s",
        Bar::AtMost(bar),
    );
    claims.note(&format!(
        "the middle of {TIMES}, each with a store opened anew; written in {:.1} s, {} bytes per record",
        building.as_secs_f64(),
        size / records.max(1),
    ));
    fs::remove_dir_all(&root)?;
    Ok(())
}

/// Runs b3sum on files: how long it takes, or nothing if it cannot be found.
fn b3sum(paths: &[PathBuf], threads: usize) -> Result<Option<f64>, Box<dyn Error>> {
    let mut command = Command::new("b3sum");
    command
        .args(["--num-threads", &threads.to_string()])
        .args(paths)
        .stdout(Stdio::null());
    let (status, took) = timed(|| command.status());
    match status {
        Ok(status) if status.success() => Ok(Some(took.as_secs_f64())),
        Ok(status) => Err(format!("b3sum ended with {status}").into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Digests files and compares the rate with b3sum's.
fn digests(claims: &mut Claims, folder: &Path) -> Result<(), Box<dyn Error>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let nothing = folder.join("nothing");
    fs::write(&nothing, "")?;
    if b3sum(std::slice::from_ref(&nothing), threads)?.is_none() {
        claims.note("b3sum cannot be found, so the rates of digests are not compared; it is in the package b3sum");
        return Ok(());
    }
    for (what, count, size) in [
        ("one file of 1 GiB", 1, 1usize << 30),
        ("2,000 files of 256 KiB", 2_000, 256 << 10),
    ] {
        let files = folder.join("files");
        fs::create_dir_all(&files)?;
        let mut paths = Vec::new();
        for number in 0..count {
            let path = files.join(number.to_string());
            let byte = u8::try_from(number % 251)?;
            fs::write(&path, vec![byte; size])?;
            paths.push(path);
        }
        std::thread::sleep(SETTLED);
        let (mut ours, mut theirs, mut starts) = (Vec::new(), Vec::new(), Vec::new());
        for time in 0..=TIMES {
            let root = folder.join(format!("digests-{time}"));
            let store = Store::open(&root, Mode::ReadWrite)?;
            let (digested, took) = timed(|| store.digest_files(&paths, threads));
            if digested?.len() != paths.len() {
                return Err("a file has no digest".into());
            }
            let compared = b3sum(&paths, threads)?.ok_or("b3sum is gone")?;
            let start = b3sum(std::slice::from_ref(&nothing), threads)?.ok_or("b3sum is gone")?;
            drop(store);
            fs::remove_dir_all(&root)?;
            // The first turn fills the page cache.
            if time > 0 {
                ours.push(took.as_secs_f64());
                theirs.push(compared);
                starts.push(start);
            }
        }
        fs::remove_dir_all(&files)?;
        let (ours, start) = (median(ours), median(starts));
        let theirs = (median(theirs) - start).max(f64::MIN_POSITIVE);
        let rate = |seconds: f64| (count * size) as f64 / seconds / 1e9;
        claims.claim(
            &format!("rate of digesting {what}, relative to b3sum"),
            theirs / ours,
            "times",
            Bar::AtLeast(0.8),
        );
        claims.note(&format!(
            "{:.2} GB/s against {:.2} GB/s with {threads} threads, files in the page cache, the middle of {TIMES}; \
             of b3sum's time {:.1} ms for starting are not counted",
            rate(ours),
            rate(theirs),
            start * 1e3,
        ));
    }
    Ok(())
}
