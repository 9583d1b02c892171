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
use std::time::Duration;

use headwater_bench::records::{recipe, record};
use headwater_bench::{Bar, Claims, exit_code, median, timed};
use headwater_graph::{Mode, Pending, Recipe};
use headwater_remember::Writer;

/// How many recipes the plan of a large run asks for.
const ASKED: u64 = 100_000;
/// How often each look-up is measured; the middle counts.
const TIMES: u64 = 7;
/// How often files are digested by turns; the middle of the ratios counts, since others may use the machine too.
const TURNS: usize = 21;
/// Of files that changed less than two seconds ago no digest is remembered.
const SETTLED: Duration = Duration::from_millis(2_100);

fn main() -> ExitCode {
    let mut claims = Claims::new("remember");
    let folder = std::env::temp_dir().join(format!("headwater-bench-{}", std::process::id()));
    let measured = fs::create_dir_all(&folder)
        .map_err(Into::into)
        .and_then(|()| measure(&mut claims, &folder));
    let _ = fs::remove_dir_all(&folder);
    exit_code(measured, |()| claims.finish())
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

/// Asks a store of so many records for those of a plan.
fn lookups(
    claims: &mut Claims,
    folder: &Path,
    records: u64,
    bar: f64,
) -> Result<(), Box<dyn Error>> {
    let root = folder.join(format!("store-{records}"));
    let (built, building) = timed(|| -> Result<(), Box<dyn Error>> {
        let store = headwater_remember::open(&root, Mode::ReadWrite)?;
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
        let store = headwater_remember::open(&root, Mode::ReadWrite)?;
        let (known, took) = timed(|| store.known(&wanted));
        if known?.iter().any(Option::is_none) {
            return Err("a record that was written is not there".into());
        }
        seconds.push(took.as_secs_f64());
        let absent: Vec<Recipe> = (0..ASKED)
            .map(|place| recipe(records * (time + 1) + place))
            .collect();
        let store = headwater_remember::open(&root, Mode::ReadWrite)?;
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
    let mut starts = Vec::new();
    for _ in 0..TURNS {
        let Some(start) = b3sum(std::slice::from_ref(&nothing), threads)? else {
            claims.note("b3sum cannot be found, so the rates of digests are not compared; install the package b3sum");
            return Ok(());
        };
        starts.push(start);
    }
    let version = Command::new("b3sum").arg("--version").output()?;
    claims.compared_with(String::from_utf8_lossy(&version.stdout).trim());
    // What can be subtracted for sure.
    let start = starts.into_iter().fold(f64::INFINITY, f64::min);
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
        let (mut ratios, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        for turn in 0..=TURNS {
            let root = folder.join(format!("digests-{turn}"));
            let store = headwater_remember::open(&root, Mode::ReadWrite)?;
            let (digested, took) = timed(|| store.digest_files(&paths, threads));
            if digested?.len() != paths.len() {
                return Err("a file has no digest".into());
            }
            drop(store);
            fs::remove_dir_all(&root)?;
            let compared = b3sum(&paths, threads)?.ok_or("b3sum is gone")?;
            // The first turn fills the page cache.
            if turn > 0 {
                let compared = (compared - start).max(f64::MIN_POSITIVE);
                ratios.push(compared / took.as_secs_f64());
                ours.push(took.as_secs_f64());
                theirs.push(compared);
            }
        }
        fs::remove_dir_all(&files)?;
        let rate = |seconds: f64| (count * size) as f64 / seconds / 1e9;
        claims.claim(
            &format!("rate of digesting {what}, relative to b3sum"),
            median(ratios),
            "times",
            Bar::AtLeast(0.8),
        );
        claims.note(&format!(
            "the middle of {TURNS} turns with {threads} threads, files in the page cache; {:.2} GB/s against {:.2} GB/s, \
             without the {:.1} ms that b3sum takes to start",
            rate(median(ours)),
            rate(median(theirs)),
            start * 1e3,
        ));
    }
    Ok(())
}
