//! Leases: one holder at a time, in all processes, and none after the holder is gone.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Case, recipe};
use headwater_graph::{Leases, Mode, Recipe, StoreError};

/// Takes a key, says so, and holds it until it is killed.
#[test]
fn holder() {
    let Ok(root) = std::env::var("HEADWATER_TEST_LEASES") else {
        return;
    };
    let store = headwater_remember::open(Path::new(&root), Mode::ReadWrite).unwrap();
    let leases = store.leases().unwrap();
    let lease = leases.take(&[recipe(1), recipe(2)]);
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\nholds {}\n", lease.is_some()).as_bytes())
        .unwrap();
    out.flush().unwrap();
    // The other end is closed only when the test is over.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn two_leases_exclude_each_other() {
    let case = Case::new();
    let (one, other) = (
        case.store.leases().unwrap(),
        case.open(Mode::ReadWrite).leases().unwrap(),
    );
    let first = one.take(&[recipe(1), recipe(2)]).unwrap();
    for leases in [&one, &other] {
        assert!(leases.take(&[recipe(1)]).is_none());
        assert!(leases.take(&[recipe(3), recipe(2)]).is_none());
    }
    // Nothing of what was refused is held.
    let third = other.take(&[recipe(3)]).unwrap();
    assert!(one.take(&[recipe(3)]).is_none());
    // It may end elsewhere than it began, and later than what it was taken from.
    drop(one);
    assert!(other.take(&[recipe(1)]).is_none());
    std::thread::spawn(move || drop(first)).join().unwrap();
    let again = other.take(&[recipe(2), recipe(1)]).unwrap();
    assert!(other.take(&[recipe(1)]).is_none());
    drop((again, third));
    assert!(other.take(&[recipe(1), recipe(2), recipe(3)]).is_some());
}

#[test]
fn a_key_may_be_named_twice_and_no_key_is_no_lease_in_the_way() {
    let case = Case::new();
    let leases = case.store.leases().unwrap();
    let lease = leases.take(&[recipe(1), recipe(1)]).unwrap();
    assert!(leases.take(&[]).is_some());
    drop(lease);
    let odd = [Recipe([0; 32]), Recipe([0xFF; 32])];
    let lease = leases.take(&odd).unwrap();
    let other = case.store.leases().unwrap();
    assert!(odd.iter().all(|key| other.take(&[*key]).is_none()));
    drop(lease);
    assert!(odd.iter().all(|key| other.take(&[*key]).is_some()));
}

#[test]
fn of_many_threads_one_gets_it() {
    let case = Case::new();
    let shared = case.store.leases().unwrap();
    let inside = std::sync::atomic::AtomicUsize::new(0);
    let taken = std::sync::atomic::AtomicUsize::new(0);
    let order = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (case, shared, inside, taken) = (&case, &shared, &inside, &taken);
            scope.spawn(move || {
                let own = case.store.leases().unwrap();
                let leases = if number % 2 == 0 { shared } else { &own };
                for _ in 0..2000 {
                    if let Some(lease) = leases.take(&[recipe(1), recipe(2)]) {
                        assert_eq!(inside.fetch_add(1, order), 0);
                        taken.fetch_add(1, order);
                        inside.fetch_sub(1, order);
                        drop(lease);
                    }
                }
            });
        }
    });
    assert!(taken.load(order) > 0);
    assert!(shared.take(&[recipe(1), recipe(2)]).is_some());
}

#[test]
fn a_killed_process_holds_nothing() {
    let case = Case::new();
    let leases = case.store.leases().unwrap();
    assert!(leases.undisturbed());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "leases::holder",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("HEADWATER_TEST_LEASES", case.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .find(|line| line.starts_with("holds "));
    assert_eq!(said.as_deref(), Some("holds true"));
    assert!(leases.take(&[recipe(2)]).is_none());
    assert!(leases.take(&[recipe(3), recipe(1)]).is_none());
    let third = leases.take(&[recipe(3)]).unwrap();
    assert!(!leases.undisturbed());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(leases.take(&[recipe(1), recipe(2)]).is_some());
    drop(third);
    assert!(!leases.undisturbed(), "it was, and stays so");
    drop(leases);
    assert!(case.store.leases().unwrap().undisturbed());
}

#[test]
fn who_was_ever_beside_another_is_disturbed() {
    let case = Case::new();
    let first = case.store.leases().unwrap();
    assert!(first.undisturbed());
    let lease = first.take(&[recipe(1)]).unwrap();
    let second = case.store.leases().unwrap();
    assert!(!first.undisturbed() && !second.undisturbed());
    drop(second);
    assert!(!first.undisturbed());
    // A lease that outlives its leases still counts as somebody.
    drop(first);
    let third = case.store.leases().unwrap();
    assert!(!third.undisturbed());
    drop((third, lease));
    let fourth = case.store.leases().unwrap();
    assert!(fourth.undisturbed());
    // A reader is nobody.
    let reader = case.open(Mode::ReadOnly);
    assert!(matches!(reader.leases(), Err(StoreError::ReadOnly)));
    assert!(fourth.undisturbed());
}

#[test]
fn leases_travel_between_threads() {
    fn check<T: Send + ?Sized>() {}
    check::<dyn Leases>();
    check::<headwater_graph::Lease>();
}
