//! A full disk: what was acknowledged stays, the error says what is the matter, and with room again it goes on.
//!
//! The disk is a small file system in memory. Who may not mount one is given a name space of its own by `unshare`;
//! where that is not allowed either, the test says so and is skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{bytes, check_served, keep_in, pending, record, run, scratch};
use headwater_graph::{Digest, Mode, ProductRecord, RunStatus, Scalar, Store, StoreError, Tally};

/// More than fits.
const COUNT: u64 = 2_000;
const SIZE: &str = "size=24m";

/// The part of the child, which sees the small file system at the place named.
#[test]
fn child() {
    let Ok(place) = std::env::var("HEADWATER_TEST_SMALL_DISK") else {
        return;
    };
    let place = PathBuf::from(place);
    let root = place.join("store");
    match std::env::var("HEADWATER_TEST_PART").as_deref() {
        Ok("fill") => fill(&place, &root),
        Ok("make-anew") => make_anew(&place, &root),
        _ => go_on(&root),
    }
}

/// Writes until nothing fits any more.
fn stuff(path: &Path) {
    use std::io::Write;
    let mut file = fs::File::create(path).unwrap();
    for piece in [1 << 16, 1 << 12, 1 << 6, 1] {
        while file.write_all(&vec![1; piece]).is_ok() {}
    }
}

/// Whether an error speaks of the full disk.
fn is_full(error: &StoreError) -> bool {
    error.to_string().contains("No space left on device")
}

fn check(store: &dyn Store, numbers: &[u64]) {
    let served = check_served(store, 0..COUNT);
    for number in numbers {
        assert!(
            served.binary_search(number).is_ok(),
            "{number} was acknowledged and is lost"
        );
    }
    for number in served {
        let digest = Digest::of(&bytes(number));
        assert_eq!(store.read(&digest).unwrap(), bytes(number));
        assert!(store.path(&digest).is_some());
    }
    assert_eq!(store.take_damage(), [""; 0]);
}

fn fill(place: &Path, root: &Path) {
    let filler = place.join("filler");
    fs::write(&filler, vec![1; 21 << 20]).unwrap();
    let store = headwater_remember::open(root, Mode::ReadWrite).unwrap();
    // Objects fill the disk.
    let mut kept = Vec::new();
    for start in (0..COUNT).step_by(40) {
        let (tickets, closed) = keep_in(&store, (start..start + 40).map(pending));
        kept.extend(tickets.into_iter().map(|ticket| start + ticket));
        if let Err(error) = closed {
            assert!(is_full(&error), "{error}");
            break;
        }
    }
    assert!(!kept.is_empty() && kept.len() < COUNT as usize);
    check(&*store, &kept);
    // Not a byte is left, so that records fail as well.
    stuff(&place.join("rest"));
    let mut refused = 0;
    for number in COUNT..COUNT + 300 {
        let mut pending = pending(number);
        pending.objects.clear();
        let text = Scalar::Text("x".repeat(9000).into());
        pending.record.parameters[0].1 = text;
        let (tickets, closed) = keep_in(&store, [pending]);
        if let Err(error) = closed {
            assert!(is_full(&error), "{error}");
            assert_eq!(tickets, [0; 0]);
            refused += 1;
        }
    }
    // A log that was long before takes some more.
    assert!(refused > 0);
    check(&*store, &kept);
    // Room again, in the same store.
    fs::remove_file(&filler).unwrap();
    fs::remove_file(place.join("rest")).unwrap();
    let next = kept.iter().max().unwrap() + 1;
    let (tickets, closed) = keep_in(&store, (next..next + 40).map(pending));
    closed.unwrap();
    assert_eq!(tickets.len(), 40);
    kept.extend(next..next + 40);
    check(&*store, &kept);
    let list: String = kept.iter().map(|number| format!("{number}\n")).collect();
    fs::write(place.join("kept"), list).unwrap();
}

fn go_on(root: &Path) {
    let list = fs::read_to_string(root.with_file_name("kept")).unwrap();
    let mut kept: Vec<u64> = list.lines().map(|line| line.parse().unwrap()).collect();
    let store = headwater_remember::open(root, Mode::ReadWrite).unwrap();
    check(&*store, &kept);
    let next = kept.iter().max().unwrap() + 1;
    keep_in(&store, (next..next + 40).map(pending)).1.unwrap();
    kept.extend(next..next + 40);
    check(&*store, &kept);
}

/// Records without objects that make a database of several megabytes.
fn large_records() -> Vec<ProductRecord> {
    let text = Scalar::Text("x".repeat(2000).into());
    (0..600)
        .map(|number| {
            let mut record = record(number);
            record.parameters[0].1 = text.clone();
            record
        })
        .collect()
}

/// The bytes that are left on the disk.
fn room(place: &Path) -> u64 {
    let output = Command::new("df")
        .args(["--output=avail", "-B1"])
        .arg(place)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().nth(1).unwrap().trim().parse().unwrap()
}

/// Damages a database that can still be read, and opens the store with ever more room.
fn make_anew(place: &Path, root: &Path) {
    let records = large_records();
    let recipes: Vec<_> = records.iter().map(|record| record.recipe).collect();
    for has_journal in [true, false] {
        let store = headwater_remember::open(root, Mode::ReadWrite).unwrap();
        store.register(&records).unwrap();
        store.begin_run(&run("run")).unwrap();
        store
            .end_run("run", RunStatus::Done, Tally::default(), "")
            .unwrap();
        store.remove_staging("run").unwrap();
        drop(store);
        let database = root.join("records.sqlite");
        rusqlite::Connection::open(&database)
            .unwrap()
            .execute_batch("DROP INDEX products_by_content")
            .unwrap();
        if !has_journal {
            fs::remove_file(root.join("records.journal")).unwrap();
        }
        let before = fs::read(&database).unwrap();
        let size = before.len() as u64;
        let (filler, mut refused) = (place.join("filler"), 0);
        for tenths in 0.. {
            assert!(tenths <= 40, "four times its size is enough");
            let less = room(place).saturating_sub(size * tenths / 10);
            fs::write(&filler, vec![1; less as usize]).unwrap();
            let opened = headwater_remember::open(root, Mode::ReadWrite);
            fs::remove_file(&filler).unwrap();
            match opened {
                Ok(store) => {
                    let known = store.fetch(&recipes).unwrap();
                    assert!(known.iter().all(Option::is_some), "{tenths} tenths");
                    assert_eq!(store.runs(9).unwrap().len(), 1, "{tenths} tenths");
                    assert_eq!(store.take_damage().len(), 1, "{tenths} tenths");
                    break;
                }
                Err(error) => {
                    assert!(is_full(&error), "{tenths} tenths: {error}");
                    assert!(fs::read(&database).unwrap() == before, "{tenths} tenths");
                    assert!(!root.join("records.rebuild").exists(), "{tenths} tenths");
                    refused += 1;
                }
            }
        }
        assert!(refused > 10, "{refused}");
        fs::remove_dir_all(root).unwrap();
    }
}

#[test]
fn on_a_full_disk_nothing_acknowledged_is_lost_and_with_room_it_goes_on() {
    on_a_small_disk("fill go-on");
}

#[test]
fn without_room_for_a_new_database_the_old_one_stays() {
    on_a_small_disk("make-anew");
}

/// Runs parts of the child, one after the other.
fn on_a_small_disk(parts: &str) {
    let folder = scratch();
    let place = folder.path();
    let program = std::env::current_exe().unwrap();
    // In a name space of its own, so that whatever happens the mount goes when the processes do.
    let script = r#"mount -t tmpfs -o "$1" tmpfs "$2" 2>/dev/null || exit 77
        for part in $4; do
            HEADWATER_TEST_SMALL_DISK="$2" HEADWATER_TEST_PART=$part "$3" full::child --exact --test-threads=1 || exit 1
        done"#;
    let start = |options: &[&str]| {
        Command::new("unshare")
            .args(options)
            .args(["sh", "-c", script, "sh", SIZE])
            .args([place, &program])
            .arg(parts)
            .stdin(Stdio::null())
            .output()
    };
    // As root without, and as anybody with a name space for users.
    for options in [&["-m"][..], &["-r", "-m"][..]] {
        match start(options) {
            Ok(output) if output.status.success() => return,
            Ok(output) if output.status.code() == Some(1) && !output.stdout.is_empty() => {
                panic!("{}", String::from_utf8_lossy(&output.stdout))
            }
            _ => {}
        }
    }
    println!(
        "skipped: a small file system in memory can be mounted neither as root nor by `unshare -r -m`"
    );
}
