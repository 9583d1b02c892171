//! SIGKILL at any moment: what was acknowledged is there, and what is there is whole.
//!
//! The child is this program itself, started again with its part named in the environment. The moments of the kills
//! are random, but no verdict depends on them: the law has to hold for each. `cargo xtask crash` goes on for minutes.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::common::{
    Case, bytes, check_right, check_served, pending, recipe, run, scratch, staged,
};
use headwater_graph::{Digest, Mode, Recipe, RunStatus, Store};
use headwater_remember::Writer;

/// Kills, where no time is given.
const KILLS: u64 = 300;
/// Products that a child keeps if it is left alone.
const COUNT: u64 = 48;

/// Writes products from `first` on until it is killed, or `count` of them, and prints what is acknowledged.
#[test]
fn child() {
    let Ok(root) = std::env::var("HEADWATER_TEST_STORE") else {
        return;
    };
    let number = |name: &str| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let (first, count, id) = (
        number("HEADWATER_TEST_FIRST"),
        number("HEADWATER_TEST_COUNT"),
        number("HEADWATER_TEST_RUN"),
    );
    let store = headwater_remember::open(Path::new(&root), Mode::ReadWrite).unwrap();
    let id = format!("run-{id}");
    store.begin_run(&run(&id)).unwrap();
    let acknowledged = |tickets: &[u64]| {
        let mut lines = String::from("\n");
        for ticket in tickets {
            lines.push_str(&format!("acknowledged {ticket}\n"));
        }
        let mut out = std::io::stdout().lock();
        out.write_all(lines.as_bytes()).unwrap();
        out.flush().unwrap();
    };
    let writer = Writer::start(Arc::clone(&store), Box::new(acknowledged));
    for number in first..first + count {
        let pending = if number % 3 == 0 {
            pending(number)
        } else {
            staged(&*store, &id, number)
        };
        writer.submit(pending);
        // Small groups as well as large ones.
        if number % 7 == 0 {
            writer.flush().unwrap();
        }
    }
    writer.close().unwrap();
    store.remove_staging(&id).unwrap();
}

fn start(root: &Path, run: u64, first: u64, count: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["crash::child", "--exact", "--nocapture", "--test-threads=1"])
        .env("HEADWATER_TEST_STORE", root)
        .env("HEADWATER_TEST_RUN", run.to_string())
        .env("HEADWATER_TEST_FIRST", first.to_string())
        .env("HEADWATER_TEST_COUNT", count.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The tickets in the whole lines that were printed.
fn tickets(out: impl std::io::Read) -> Vec<u64> {
    let mut tickets = Vec::new();
    let mut lines = BufReader::new(out);
    let mut line = String::new();
    while lines.read_line(&mut line).unwrap() > 0 {
        if let Some(ticket) = line
            .strip_suffix('\n')
            .and_then(|line| line.strip_prefix("acknowledged "))
        {
            tickets.push(ticket.parse().unwrap());
        }
        line.clear();
    }
    tickets
}

/// Checks that every record of these numbers is whole; returns how many there are.
fn check_whole(store: &dyn Store, numbers: std::ops::Range<u64>) -> usize {
    let served = check_served(store, numbers);
    for number in &served {
        let digest = Digest::of(&bytes(*number));
        assert_eq!(store.read(&digest).unwrap(), bytes(*number));
        assert!(store.path(&digest).is_some());
    }
    assert_eq!(store.take_damage(), [""; 0]);
    served.len()
}

/// Starts children on the store, kills the first at some moment and the others when they are done, and checks what is
/// there; returns what was acknowledged.
fn kill_one(root: &Path, attempt: u64, first: u64, after: Duration) -> Vec<u64> {
    // Now and then another process writes as well, partly the same.
    let others = u64::from(attempt.is_multiple_of(8));
    let mut children: Vec<Child> = (0..=others)
        .map(|other| start(root, 2 * attempt + other, first + other * COUNT / 2, COUNT))
        .collect();
    let readers: Vec<_> = children
        .iter_mut()
        .map(|child| {
            let out = child.stdout.take().unwrap();
            std::thread::spawn(move || tickets(out))
        })
        .collect();
    std::thread::sleep(after);
    children[0].kill().unwrap();
    let mut acknowledged = Vec::new();
    for (other, (mut child, reader)) in children.into_iter().zip(readers).enumerate() {
        let status = child.wait().unwrap();
        let start = first + other as u64 * COUNT / 2;
        let tickets = reader.join().unwrap();
        if other > 0 {
            assert!(status.success(), "the survivor fails");
            assert_eq!(tickets.len() as u64, COUNT, "the survivor lacks something");
        }
        acknowledged.extend(tickets.into_iter().map(|ticket| start + ticket));
    }
    let store = headwater_remember::open(root, Mode::ReadWrite).unwrap();
    for other in 0..=others {
        let id = format!("run-{}", 2 * attempt + other);
        assert!(
            !store.run_folders(&id).staging.exists(),
            "the left-overs are swept"
        );
    }
    let recipes: Vec<Recipe> = acknowledged.iter().copied().map(recipe).collect();
    let known = store.known(&recipes).unwrap();
    assert!(
        known.iter().all(Option::is_some),
        "attempt {attempt}: acknowledged, and not there"
    );
    check_whole(&*store, first..first + 2 * COUNT);
    acknowledged
}

#[test]
fn a_killed_writer_loses_nothing_it_acknowledged() {
    let minutes: Option<u64> = std::env::var("HEADWATER_CRASH_MINUTES")
        .ok()
        .map(|text| text.parse().unwrap());
    let end = minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let seed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos();
    let mut folder = scratch();
    // How long a child takes if it is left alone, as a measure for the moments.
    let begun = Instant::now();
    let mut child = start(&folder.path().join("store"), 0, 0, COUNT);
    assert_eq!(tickets(child.stdout.take().unwrap()).len() as u64, COUNT);
    assert!(child.wait().unwrap().success());
    let mut whole = begun.elapsed().as_nanos() as u64;

    let (mut first, mut kept, mut cut) = (0, 0, 0);
    let mut all = BTreeSet::new();
    let mut attempt = 1;
    while end.map_or(attempt <= KILLS, |end| Instant::now() < end) {
        let random = Digest::of(format!("{seed} {attempt}").as_bytes());
        let random = u64::from_le_bytes(random.0[..8].try_into().unwrap());
        let after = Duration::from_nanos(random % whole.max(1));
        let root = folder.path().join("store");
        let acknowledged = kill_one(&root, attempt, first, after);
        kept += acknowledged.len();
        // Machines are now faster, now slower: most kills should hit something.
        if (acknowledged.len() as u64) < COUNT {
            cut += 1;
            whole += whole / 16;
        } else {
            whole -= whole / 6;
        }
        first = acknowledged
            .iter()
            .fold(first, |first, last| first.max(last + 1));
        all.extend(acknowledged);
        if attempt.is_multiple_of(50) {
            let store = headwater_remember::open(&root, Mode::ReadWrite).unwrap();
            assert!(check_whole(&*store, 0..first + 2 * COUNT) >= all.len());
        }
        // A new store from time to time, so that it is killed at its beginning and memory stays bounded.
        if attempt.is_multiple_of(100) {
            folder = scratch();
            first = 0;
            all.clear();
        }
        attempt += 1;
    }
    println!(
        "{} kills, {cut} of them in the middle; {kept} products acknowledged",
        attempt - 1
    );
    assert!(kept > 0, "the test has to see something");
}

#[test]
fn a_run_whose_process_is_killed_is_interrupted() {
    let case = Case::new();
    for attempt in 0..3 {
        let mut child = start(&case.root(), attempt, 0, 40_000);
        let out = child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || tickets(out));
        let id = format!("run-{attempt}");
        let begun = Instant::now();
        while !case.store.runs(1).unwrap().iter().any(|run| run.id == id) {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "the child does not begin"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(case.store.runs(1).unwrap()[0].status, RunStatus::Running);
        child.kill().unwrap();
        child.wait().unwrap();
        reader.join().unwrap();
        assert_eq!(
            case.store.runs(1).unwrap()[0].status,
            RunStatus::Interrupted
        );
    }
}

/// Writes zeros over a part of a file, behind the back of those who have it open.
fn damage(path: &Path, random: u64) {
    let Ok(mut file) = std::fs::OpenOptions::new().write(true).open(path) else {
        return;
    };
    let length = file.metadata().unwrap().len();
    if length > 0 {
        let at = random % length;
        file.seek(SeekFrom::Start(at)).unwrap();
        let count = (length - at).min(1 + random / 7 % 20_000);
        file.write_all(&vec![0; count as usize]).unwrap();
    }
}

#[test]
fn damage_under_the_hands_of_two_processes_loses_nothing_they_acknowledged() {
    for attempt in 0..8 {
        let folder = scratch();
        let root = folder.path().join("store");
        drop(headwater_remember::open(&root, Mode::ReadWrite).unwrap());
        let count = 10 * COUNT;
        let mut children: Vec<Child> = (0..2)
            .map(|run| start(&root, run, run * count / 2, count))
            .collect();
        let readers: Vec<_> = children
            .iter_mut()
            .map(|child| {
                let out = child.stdout.take().unwrap();
                std::thread::spawn(move || tickets(out))
            })
            .collect();
        let mut round = 0_u64;
        let mut told = 0;
        while children
            .iter_mut()
            .any(|child| child.try_wait().unwrap().is_none())
        {
            round += 1;
            let random = Digest::of(format!("{attempt} {round}").as_bytes());
            let random = u64::from_le_bytes(random.0[..8].try_into().unwrap());
            std::thread::sleep(Duration::from_millis(5 + random % 20));
            // No more than a single question is put again for.
            if round <= 4 {
                let name = ["records.sqlite", "records.sqlite-wal"][random as usize % 2];
                damage(&root.join(name), random / 2);
            }
            if round.is_multiple_of(3) {
                let store = headwater_remember::open(&root, Mode::ReadWrite).unwrap();
                check_right(&*store, 0..2 * count);
                told += store.take_damage().len();
            }
        }
        for (run, (mut child, reader)) in (0..).zip(children.into_iter().zip(readers)) {
            assert!(
                child.wait().unwrap().success(),
                "attempt {attempt}: a writer fails"
            );
            let seen = reader.join().unwrap();
            assert_eq!(seen.len() as u64, count, "attempt {attempt}");
            let store = headwater_remember::open(&root, Mode::ReadWrite).unwrap();
            check_right(&*store, run * count / 2..run * count / 2 + count);
            told += store.take_damage().len();
        }
        // Damage to an index may hide a record. The journal has all of them.
        std::fs::remove_file(root.join("records.sqlite")).unwrap();
        let store = headwater_remember::open(&root, Mode::ReadWrite).unwrap();
        let all = 0..count / 2 + count;
        assert_eq!(
            check_served(&*store, all.clone()),
            all.collect::<Vec<u64>>(),
            "attempt {attempt}"
        );
        println!("{round} rounds, {told} told");
    }
}

#[test]
fn two_processes_may_write_the_same_products() {
    let case = Case::new();
    let mut children: Vec<Child> = (0..2).map(|run| start(&case.root(), run, 0, 400)).collect();
    for child in &mut children {
        let seen = tickets(child.stdout.take().unwrap());
        assert!(child.wait().unwrap().success());
        assert_eq!(seen, (0..400).collect::<Vec<u64>>());
    }
    assert_eq!(check_whole(&*case.store, 0..500), 400);
}
