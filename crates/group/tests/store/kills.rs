//! Many processes with the same work on one store, some of them killed: each product is made once, and nothing is lost.
//!
//! The children are this program itself, started again with their part named in the environment. The moments of the
//! kills are random, but no verdict depends on them. `HEADWATER_TEST_KILLS=1000` has more of them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use headwater_graph::{Digest, Store};

use crate::common::{bytes, keep_in, pending, recipe, record};
use crate::server::{self, Server};

/// Processes at a time.
const PROCESSES: usize = 8;
/// Kills, where no number is given.
const KILLS: u64 = 60;
/// Products for each kill.
const EACH: u64 = 6;

/// Numbers that nobody foresees; the seed is printed.
struct Chance(u64);

impl Chance {
    fn new() -> Chance {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        eprintln!("seed {}", now.as_nanos() as u64);
        Chance(now.as_nanos() as u64 | 1)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// Makes products until all are known.
#[test]
fn child() {
    let Ok(url) = std::env::var("HEADWATER_TEST_GROUP") else {
        return;
    };
    let of = |name: &str| std::env::var(name).unwrap();
    let count: u64 = of("HEADWATER_TEST_COUNT").parse().unwrap();
    let store = crate::open(Path::new(&of("HEADWATER_TEST_FRONT")), &url);
    let mut log = File::options()
        .append(true)
        .open(of("HEADWATER_TEST_LOG"))
        .unwrap();
    // One write each, so that lines of several processes do not mix.
    let mut tell = |word: &str, number: u64| {
        let line = format!("{word} {number} {}\n", std::process::id());
        log.write_all(line.as_bytes()).unwrap();
    };
    let leases = store.leases().unwrap();
    let mut chance = Chance::new();
    let is_known = |number| store.known(&[recipe(number)]).unwrap()[0].is_some();
    let first = chance.below(count);
    loop {
        let mut open = 0;
        for number in (first..count).chain(0..first) {
            if is_known(number) {
                continue;
            }
            open += 1;
            let Some(lease) = leases.take(&[recipe(number)]) else {
                continue;
            };
            if is_known(number) {
                continue;
            }
            tell("begins", number);
            std::thread::sleep(Duration::from_millis(chance.below(4)));
            keep_in(&store, [pending(number)]).1.unwrap();
            let waiting = store.behind().unwrap().settle(Duration::from_secs(60));
            assert_eq!(waiting.products, 0);
            tell("made", number);
            drop(lease);
        }
        if open == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn start(url: &str, front: &Path, log: &Path, count: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["kills::child", "--exact", "--nocapture", "--test-threads=1"])
        .env("HEADWATER_TEST_GROUP", url)
        .env("HEADWATER_TEST_FRONT", front)
        .env("HEADWATER_TEST_LOG", log)
        .env("HEADWATER_TEST_COUNT", count.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Has eight processes make the same products while some are killed, and something else happens besides. Says how often
/// each product was begun and made.
fn overlap(server: &Server, kills: u64, mut besides: impl FnMut(u64)) -> BTreeMap<u64, (u64, u64)> {
    let database = server.database();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    File::create(&log).unwrap();
    let count = EACH * kills.max(20);
    let url = database.url("ann");
    let front = |slot: usize| folder.path().join(format!("front-{slot}"));
    let begin = |slot: usize| start(&url, &front(slot), &log, count);
    let mut children: Vec<Child> = (0..PROCESSES).map(begin).collect();
    let mut chance = Chance::new();
    for kill in 0..kills {
        std::thread::sleep(Duration::from_millis(20 + chance.below(80)));
        let slot = chance.below(PROCESSES as u64) as usize;
        let _ = children[slot].kill();
        children[slot].wait().unwrap();
        children[slot] = begin(slot);
        besides(kill);
    }
    for child in &mut children {
        assert!(
            child.wait().unwrap().success(),
            "a process that was left alone failed"
        );
    }
    // Somebody who has seen nothing of it finds everything.
    let fresh = crate::open(&folder.path().join("fresh"), &database.url("rea"));
    check(&*fresh, count);
    let mut counted: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for line in fs::read_to_string(&log).unwrap().lines() {
        let mut words = line.split(' ');
        let (word, number) = (words.next().unwrap(), words.next().unwrap());
        let entry = counted.entry(number.parse().unwrap()).or_default();
        match word {
            "begins" => entry.0 += 1,
            _ => entry.1 += 1,
        }
    }
    counted
}

fn check(store: &dyn Store, count: u64) {
    for number in 0..count {
        let found = store.fetch(&[recipe(number)]).unwrap().pop().unwrap();
        assert_eq!(found, Some(record(number)), "{number}");
        let digest = Digest::of(&bytes(number));
        assert_eq!(store.read(&digest).unwrap(), bytes(number), "{number}");
    }
    assert_eq!(store.take_damage(), [""; 0]);
}

fn kills() -> u64 {
    let said = std::env::var("HEADWATER_TEST_KILLS").ok();
    said.and_then(|text| text.parse().ok()).unwrap_or(KILLS)
}

#[test]
fn killed_processes_lose_nothing_and_make_nothing_twice() {
    let Some(server) = server::shared() else {
        return;
    };
    let kills = kills();
    let counted = overlap(server, kills, |_| {});
    for (number, (begun, made)) in &counted {
        assert!(
            *made <= 1,
            "{number} was made {made} times by processes that were alive"
        );
        assert!(*begun >= 1, "{number}");
    }
    // Each kill can interrupt one process, and that one was making one product at most.
    let again: u64 = counted.values().map(|(begun, _)| begun - 1).sum();
    assert!(
        again <= kills,
        "{again} were begun again after {kills} kills"
    );
}

#[test]
fn the_server_may_die_too() {
    let Some(server) = Server::start() else {
        return;
    };
    let counted = overlap(&server, 12, |kill| {
        if kill % 4 == 3 {
            server.kill();
            std::thread::sleep(Duration::from_millis(300));
            server.begin();
        }
    });
    // Without the server nobody knows what the others do.
    assert!(!counted.is_empty());
}
