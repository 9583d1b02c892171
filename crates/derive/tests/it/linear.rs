//! What is kept in memory grows with the number of arguments, even where dependences grow with its square.

use headwater_derive::{
    Access, Argument, CallId, ItemId, Mode, Object, Tracker, reduce, unreduced,
};
use headwater_graph::ScalarType;

const CALLS: usize = 10_000;

/// The most that may be written down: a call, and for each argument an item, a reader, a member of a phase, a wait for
/// a phase, and two dependences: an `in` is found by the next write, and finds the last one.
fn most(arguments: usize) -> usize {
    CALLS + 6 * CALLS * arguments
}

fn int(access: Access) -> Argument {
    Argument {
        access,
        object: Object::Scalar(ScalarType::Int),
        reference: None,
    }
}

fn tracked(mode: Mode, call: impl Fn(usize) -> Vec<Argument>) -> Tracker {
    let mut tracker = Tracker::new(mode);
    for place in 0..CALLS {
        tracker.call(&call(place));
    }
    tracker
}

#[test]
fn half_gives_and_half_takes() {
    let half = CALLS / 2;
    let tracker = tracked(Mode::Conservative, |place| {
        vec![int(if place < half {
            Access::Out
        } else {
            Access::In
        })]
    });
    assert!(tracker.stored() <= most(1), "{}", tracker.stored());
    let last = CallId(CALLS as u32 - 1);
    assert_eq!(tracker.scalar_dependences_of(last).count(), half);
    assert_eq!((tracker.rank(CallId(0)), tracker.rank(last)), (0, 1));
}

#[test]
fn giving_and_taking_in_turns() {
    for period in [1, 2, 7, 100] {
        let tracker = tracked(Mode::Conservative, |place| {
            let gives = place / period % 2 == 0;
            vec![int(if gives { Access::Out } else { Access::In })]
        });
        assert!(tracker.stored() <= most(1), "{}", tracker.stored());
        let last = CallId(CALLS as u32 - 1);
        assert_eq!(tracker.rank(last) as usize, (CALLS - 1) / period);
    }
}

#[test]
fn many_readers_between_two_writers() {
    for period in [1, 2, 100, CALLS] {
        let tracker = tracked(Mode::Restrictive, |place| {
            let access = if place % period == 0 {
                Access::Out
            } else {
                Access::In
            };
            (0..4)
                .map(|item| Argument::whole(access, ItemId(item)))
                .collect()
        });
        assert!(tracker.stored() <= most(4), "{}", tracker.stored());
    }
}

#[test]
fn one_item_named_over_and_over() {
    let tracker = tracked(Mode::Restrictive, |_| {
        vec![Argument::whole(Access::InOut, ItemId(0)); 4]
    });
    // A call and one dependence each; one item.
    assert_eq!(tracker.stored(), CALLS + (CALLS - 1) + 1);
}

#[test]
fn whoever_has_enough_stops() {
    // All pairs would be fifty million.
    let calls = vec![vec![Argument::whole(Access::InOut, ItemId(0))]; CALLS];
    let few: Vec<_> = unreduced(Mode::Restrictive, &calls).take(100).collect();
    assert_eq!(few.len(), 100);
    assert_eq!(few[99].to, CallId(14));
    // Calls 1 to 13 whole, and nine of the fourteen of call 14: 91 and 9.
    assert_eq!(few[99].from, CallId(8));
    assert_eq!(reduce(&few).len(), 14);
}

#[test]
fn readers_are_not_compared_with_each_other() {
    // A comparison of all pairs would look at five thousand million arguments here, to find nothing.
    let calls = vec![vec![Argument::whole(Access::In, ItemId(0)); 10]; 10 * CALLS];
    assert_eq!(unreduced(Mode::Restrictive, &calls).count(), 0);
}
