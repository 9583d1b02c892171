//! Measures the store: `cargo run --release -p headwater-bench --example insert [RECORDS [OBJECTS]]`.
//!
//! Law: everything is measured as the engine meets it: records pass through the writer, each batch is looked up in
//! vain first, and what is printed includes the synchronisation of the disk.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use headwater_bench::records::{recipe, record};
use headwater_graph::{
    Alias, Digest, Mode, ObjectSource, Pending, PendingObject, Recipe, RunRecord, Store,
};
use headwater_remember::Writer;

/// How many recipes the engine asks for at once.
const ROUND: u64 = 10_000;

fn report(what: &str, count: u64, since: Instant) {
    let seconds = since.elapsed().as_secs_f64();
    let rate = count as f64 / seconds;
    println!(
        "{what}: {count} in {seconds:.2} s, {:.2} µs each, {rate:.0}/s",
        seconds * 1e6 / count as f64
    );
}

/// Takes and gives back leases while so many others are held.
fn lease(store: &dyn Store, recipes: &[Recipe]) -> Result<(), Box<dyn Error>> {
    let leases = store.leases()?;
    let mut held = Vec::new();
    for others in [0, 100, 1000, 10_000, 32_000] {
        while held.len() < others.min(recipes.len()) {
            held.push(leases.take(&[recipes[held.len()]]));
        }
        let asked = &recipes[held.len()..];
        let asked = &asked[..asked.len().min(10_000)];
        let start = Instant::now();
        assert!(asked.iter().all(|key| leases.take(&[*key]).is_some()));
        report(
            &format!("leases beside {others}"),
            asked.len() as u64,
            start,
        );
    }
    let start = Instant::now();
    assert!((0..10_000).all(|_| leases.undisturbed()));
    report("undisturbed", 10_000, start);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let records: u64 = arguments
        .next()
        .map_or(Ok(1_000_000), |text| text.parse())?;
    let objects: u64 = arguments.next().map_or(Ok(5_000), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let store = headwater_remember::open(&folder.path().join(".headwater"), Mode::ReadWrite)?;

    let start = Instant::now();
    for number in 0..records {
        std::hint::black_box(record(number));
    }
    report("making records (not counted below)", records, start);
    let making = start.elapsed();

    let writer = Writer::start(Arc::clone(&store), Box::new(|_| {}));
    let start = Instant::now();
    let mut submitting = std::time::Duration::ZERO;
    let mut number = 0;
    while number < records {
        let end = (number + ROUND).min(records);
        let recipes: Vec<Recipe> = (number..end).map(recipe).collect();
        assert!(store.known(&recipes)?.iter().all(Option::is_none));
        let round = Instant::now();
        for number in number..end {
            writer.submit(Pending {
                record: record(number),
                objects: Vec::new(),
            });
        }
        submitting += round.elapsed();
        number = end;
    }
    writer.flush()?;
    report(
        "insert with a look-up in vain before",
        records,
        start + making,
    );
    println!(
        "  of which the submitting thread spent {:.2} s submitting",
        (submitting - making.min(submitting)).as_secs_f64()
    );

    for asked in [100_000.min(records), records] {
        let recipes: Vec<Recipe> = (0..asked).map(recipe).collect();
        for time in ["first", "again"] {
            let start = Instant::now();
            let known = store.known(&recipes)?;
            report(&format!("known, {time}"), asked, start);
            assert!(known.iter().all(Option::is_some));
        }
    }
    let recipes: Vec<Recipe> = (0..100_000.min(records)).map(recipe).collect();
    let start = Instant::now();
    assert!(store.fetch(&recipes)?.iter().all(Option::is_some));
    report("fetch", recipes.len() as u64, start);

    let others: Vec<Recipe> = (records..records + recipes.len() as u64)
        .map(recipe)
        .collect();
    let start = Instant::now();
    assert!(store.equal(&others)?.iter().all(Option::is_none));
    report("equal, in vain", others.len() as u64, start);
    let start = Instant::now();
    for (recipe, target) in others.iter().zip(&recipes) {
        writer.alias(Alias {
            recipe: *recipe,
            target: *target,
            run: "20260101-000000-0000".into(),
            time: 1_767_225_600,
        });
    }
    writer.flush()?;
    report("aliases", others.len() as u64, start);
    let start = Instant::now();
    assert!(store.known(&others)?.iter().all(Option::is_some));
    report("known, by alias", others.len() as u64, start);
    lease(&*store, &recipes)?;

    let run = RunRecord {
        id: "20260101-000000-0001".into(),
        workflow: "bench".into(),
        file: "bench.yaml".into(),
        started: 0,
        outputs: "outputs".into(),
        ..RunRecord::default()
    };
    store.begin_run(&run)?;
    let mut digests = Vec::new();
    let staged: Vec<_> = (0..objects)
        .map(|number| {
            let path = store.run_folders(&run.id).staging.join(number.to_string());
            let bytes = number.to_le_bytes().repeat(512);
            std::fs::write(&path, &bytes)?;
            digests.push(Digest::of(&bytes));
            Ok::<_, std::io::Error>(path)
        })
        .collect::<Result<_, _>>()?;
    let start = Instant::now();
    for (number, (digest, path)) in digests.iter().zip(staged).enumerate() {
        let object = PendingObject {
            digest: *digest,
            source: ObjectSource::Staged(path),
        };
        let record = record(records + number as u64);
        writer.submit(Pending {
            record,
            objects: vec![object],
        });
    }
    writer.flush()?;
    report("staged objects of 4 KiB", objects, start);
    let start = Instant::now();
    assert!(digests.iter().all(|digest| store.path(digest).is_some()));
    report("object path", objects, start);
    // Another run: each use is noted.
    let again = headwater_remember::open(&store.place(), Mode::ReadWrite)?;
    let start = Instant::now();
    assert!(digests.iter().all(|digest| again.path(digest).is_some()));
    report("object path, noted one by one", objects, start);
    let start = Instant::now();
    assert!(again.paths(&digests).iter().all(Option::is_some));
    report("object path, noted at once", objects, start);
    let start = Instant::now();
    let verified = again.verify(2, &|_, _| ())?;
    report(
        "objects and records verified",
        verified.objects + verified.records,
        start,
    );
    let start = Instant::now();
    store.remove_staging(&run.id)?;
    report("staging removed", objects, start);
    let start = Instant::now();
    let collected = again.collect(0, false)?;
    report("collected", collected.objects, start);
    println!("rates: {:?}", store.rates());
    writer.close()?;
    let size = std::fs::metadata(store.place().join("records.sqlite"))?.len();
    println!("database: {} bytes per record", size / records.max(1));
    Ok(())
}
