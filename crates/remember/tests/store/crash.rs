//! SIGKILL at any moment: what was acknowledged is there, and what is there is whole.
//!
//! The child is this program itself, started again with its part named in the environment.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{Case, bytes, pending, recipe, record, run, staged};
use headwater_graph::{Digest, Objects, Recipe, Records};
use headwater_remember::{Mode, RunStatus, Store, Writer};

/// More than a child ever gets to.
const LIMIT: u64 = 40_000;

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
    let store = Arc::new(Store::open(Path::new(&root), Mode::ReadWrite).unwrap());
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
            staged(&store, &id, number)
        };
        writer.submit(pending);
        // Small groups as well as large ones.
        if number % 97 == 0 {
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

/// Checks that every record is whole; returns how many there are.
fn check_whole(store: &Store) -> usize {
    let recipes: Vec<Recipe> = (0..LIMIT).map(recipe).collect();
    let found = store.fetch(&recipes).unwrap();
    let mut count = 0;
    for (number, found) in (0..LIMIT).zip(found) {
        let Some(found) = found else { continue };
        assert_eq!(found, record(number));
        assert_eq!(
            store.read(&Digest::of(&bytes(number))).unwrap(),
            bytes(number)
        );
        assert!(store.path(&found.outputs[0].1.digest).is_some());
        count += 1;
    }
    assert_eq!(store.take_damage(), [""; 0]);
    count
}

#[test]
fn a_killed_writer_loses_nothing_it_acknowledged() {
    let case = Case::new();
    let mut first = 0;
    let mut acknowledged_in_all = 0;
    for attempt in 0..8 {
        let mut child = start(&case.root(), attempt, first, LIMIT - first);
        let out = child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || tickets(out));
        let id = format!("run-{attempt}");
        let begun = Instant::now();
        // From the moment the run is listed, at ever other distances.
        while !case.store.runs(1).unwrap().iter().any(|run| run.id == id) {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "the child does not begin"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(case.store.runs(1).unwrap()[0].status, RunStatus::Running);
        std::thread::sleep(Duration::from_millis(attempt * attempt * 7));
        child.kill().unwrap();
        child.wait().unwrap();
        let acknowledged = reader.join().unwrap();
        assert_eq!(
            case.store.runs(1).unwrap()[0].status,
            RunStatus::Interrupted
        );

        let store = case.open(Mode::ReadWrite);
        assert!(
            !store.staging_folder(&id).exists(),
            "the left-overs are swept"
        );
        let recipes: Vec<Recipe> = acknowledged
            .iter()
            .map(|ticket| recipe(first + ticket))
            .collect();
        let kept = store.fetch(&recipes).unwrap();
        assert!(
            kept.iter().all(Option::is_some),
            "attempt {attempt}: acknowledged, and not there"
        );
        acknowledged_in_all += acknowledged.len();
        let whole = check_whole(&store);
        assert!(
            whole >= acknowledged_in_all,
            "{whole} records, {acknowledged_in_all} acknowledged"
        );
        first += acknowledged.len() as u64;
    }
    assert!(
        acknowledged_in_all > 0,
        "the test has to see something: {acknowledged_in_all}"
    );
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
    assert_eq!(check_whole(&case.store), 400);
}
