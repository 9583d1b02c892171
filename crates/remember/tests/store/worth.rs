//! What is worth keeping: the rule, and what it is fed with.

use crate::common::{Case, pending};
use headwater_graph::{Digest, Mode, ObjectSource, Pending, PendingObject, Rates};
use proptest::prelude::*;

fn any_rates() -> impl Strategy<Value = Rates> {
    (1e5..1e10, 1e5..1e10, 1e-6..1e-1).prop_map(|(write, read, object)| Rates {
        write,
        read,
        object,
    })
}

proptest! {
    #[test]
    fn more_reads_longer_making_and_fewer_bytes_never_speak_against_keeping(
        rates in any_rates(), reads in 0.0..100.0, seconds in 0.0..1e4, bytes in 0u64..1 << 40,
        more_reads in 0.0..100.0, more_seconds in 0.0..1e4, fewer_bytes in 0u64..1 << 40,
    ) {
        if rates.worth_keeping(reads, seconds, bytes) {
            prop_assert!(rates.worth_keeping(reads + more_reads, seconds, bytes));
            prop_assert!(rates.worth_keeping(reads, seconds + more_seconds, bytes));
            prop_assert!(rates.worth_keeping(reads, seconds, bytes.saturating_sub(fewer_bytes)));
        }
    }

    #[test]
    fn what_is_made_faster_than_read_is_never_kept(
        rates in any_rates(), reads in 0.0..100.0, bytes in 0u64..1 << 40, part in 0.0..1.0,
    ) {
        prop_assert!(!rates.worth_keeping(reads, part * rates.seconds_to_read(bytes), bytes));
    }

    #[test]
    fn what_is_made_slowly_enough_is_always_kept(
        rates in any_rates(), reads in 0.1..100.0, bytes in 0u64..1 << 40,
    ) {
        let seconds = rates.seconds_to_read(bytes) + 1.01 * rates.seconds_to_write(bytes) / reads;
        prop_assert!(rates.worth_keeping(reads, seconds, bytes));
    }
}

#[test]
fn cheap_and_large_is_dropped_and_slow_and_small_is_kept() {
    let rates = Rates::default();
    assert!(!rates.worth_keeping(1.0, 0.5, 1 << 30));
    assert!(!rates.worth_keeping(0.1, 5.0, 1 << 30));
    assert!(rates.worth_keeping(0.1, 60.0, 1000));
    assert!(rates.worth_keeping(1.0, 0.01, 1000));
    assert!(!rates.worth_keeping(f64::NAN, 1.0, 1));
}

#[test]
fn habits_are_counted_per_operation() {
    let case = Case::new();
    let store = &case.store;
    assert_eq!(store.expected_reads("a"), 1.0, "nothing is known");
    store
        .note_habits(&[("a".into(), 3, 1), ("b".into(), 0, 4), ("a".into(), 4, 2)])
        .unwrap();
    for store in [&**store, &*case.open(Mode::ReadOnly)] {
        assert_eq!(store.expected_reads("a"), 0.5);
        assert_eq!(store.expected_reads("b"), 5.0);
        assert_eq!(store.expected_reads("c"), 1.0);
    }
    store
        .note_habits(&[("a".into(), 1_000_000, 0), ("b".into(), 0, u64::MAX)])
        .unwrap();
    store.note_habits(&[("b".into(), 0, u64::MAX)]).unwrap();
    assert_eq!(
        store.expected_reads("a"),
        0.1,
        "it may be read all the same"
    );
    assert_eq!(store.expected_reads("b"), 100.0);
    assert!(case.open(Mode::ReadOnly).note_habits(&[]).is_err());
}

#[test]
fn what_was_measured_is_remembered() {
    let case = Case::new();
    let assumed = Rates::default();
    assert_eq!(case.store.rates(), assumed);
    let large = vec![7; 1 << 20];
    let object = PendingObject {
        digest: Digest::of(&large),
        source: ObjectSource::Bytes(large.clone()),
    };
    case.keep([pending(0)]);
    case.keep([Pending {
        objects: vec![object],
        ..pending(0)
    }]);
    case.store.read(&Digest::of(&large)).unwrap();
    let measured = case.store.rates();
    assert_ne!(measured.write, assumed.write);
    assert_ne!(measured.read, assumed.read);
    assert_ne!(measured.object, assumed.object);
    assert!(measured.write > 0.0 && measured.read > 0.0 && measured.object > 0.0);
    // Written down when the store is closed, to within what a whole number holds.
    let Case { folder, store } = case;
    drop(store);
    let again =
        headwater_remember::open(&folder.path().join(".headwater"), Mode::ReadOnly).unwrap();
    let kept = again.rates();
    for (kept, measured) in [
        (kept.write, measured.write),
        (kept.read, measured.read),
        (kept.object, measured.object),
    ] {
        assert!((kept / measured - 1.0).abs() < 1e-3, "{kept} {measured}");
    }
}
