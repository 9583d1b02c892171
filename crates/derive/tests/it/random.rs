//! Random programs: the crate and the comparison of all pairs agree.

use headwater_derive::{
    Access, Argument, CallId, Dependence, ItemId, Kind, Mode, Object, Tracker, reduce, unreduced,
};
use headwater_graph::ScalarType;
use proptest::prelude::*;

use crate::reference::{Calls, all_pairs, closure, effective, longest_paths, reduced};

/// Items below this are no scalars; then come two of one type and one of another.
const WHOLE: u32 = 4;

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![
        3 => Just(Access::In),
        1 => Just(Access::Out),
        1 => Just(Access::InOut),
    ]
}

/// An argument: an item, or a scalar that is passed by value.
fn argument() -> impl Strategy<Value = Argument> {
    let reference = prop_oneof![
        4 => (0..WHOLE + 3).prop_map(Some),
        1 => Just(None),
    ];
    let scalar = prop_oneof![Just(ScalarType::Int), Just(ScalarType::Text)];
    (access(), reference, scalar).prop_map(|(access, reference, by_value)| Argument {
        access,
        object: match reference {
            Some(item) if item < WHOLE => Object::Whole,
            Some(item) if item < WHOLE + 2 => Object::Scalar(ScalarType::Int),
            Some(_) => Object::Scalar(ScalarType::Text),
            None => Object::Scalar(by_value),
        },
        reference: reference.map(ItemId),
    })
}

fn program(most: usize) -> impl Strategy<Value = (Mode, Calls)> {
    let mode = prop_oneof![
        Just(Mode::Optimistic),
        Just(Mode::Conservative),
        Just(Mode::Restrictive),
    ];
    let call = prop::collection::vec(argument(), 0..=5);
    (mode, prop::collection::vec(call, 0..=most))
}

/// Programs in which order hardly comes from items: nearly all of it from scalars that are passed by value.
fn scalars(most: usize) -> impl Strategy<Value = (Mode, Calls)> {
    let scalar = prop_oneof![Just(ScalarType::Float), Just(ScalarType::Bool)];
    let by_value = (access(), scalar).prop_map(|(access, scalar)| Argument {
        access,
        object: Object::Scalar(scalar),
        reference: None,
    });
    let whole = (access(), 0..3 * most as u32)
        .prop_map(|(access, item)| Argument::whole(access, ItemId(item)));
    let call = prop::collection::vec(prop_oneof![by_value, whole], 0..=2);
    (
        Just(Mode::Conservative),
        prop::collection::vec(call, 0..=most),
    )
}

fn tracked(mode: Mode, calls: &[Vec<Argument>]) -> Tracker {
    let mut tracker = Tracker::new(mode);
    for (place, call) in calls.iter().enumerate() {
        assert_eq!(tracker.call(call), CallId(place as u32));
    }
    tracker
}

fn raw(dependences: &[Dependence]) -> Vec<Dependence> {
    let raw = dependences.iter().filter(|one| one.kind == Kind::Raw);
    raw.copied().collect()
}

/// Everything that has to hold of a program.
fn check(mode: Mode, calls: &Calls) -> Result<(), TestCaseError> {
    let all = all_pairs(mode, calls);
    prop_assert_eq!(&unreduced(mode, calls).collect::<Vec<_>>(), &all);

    let tracker = tracked(mode, calls);
    let mut found: Vec<Dependence> = tracker.dependences().collect();
    found.sort();
    let unique = found.windows(2).all(|pair| pair[0] < pair[1]);
    prop_assert!(unique, "each once");
    prop_assert_eq!(raw(&found), effective(mode, calls, &all));
    for one in &found {
        prop_assert!(all.binary_search(one).is_ok(), "{:?} is made up", one);
    }
    let order = closure(calls.len(), &all);
    prop_assert_eq!(&closure(calls.len(), &found), &order);

    let ranks: Vec<u32> = (0..calls.len() as u32)
        .map(|call| tracker.rank(CallId(call)))
        .collect();
    prop_assert_eq!(ranks, longest_paths(calls.len(), &all));

    let left = reduced(mode, calls, &all);
    prop_assert_eq!(&closure(calls.len(), &left), &order);
    prop_assert_eq!(raw(&left), effective(mode, calls, &all));
    prop_assert_eq!(&reduce(&all), &left);
    prop_assert_eq!(&reduce(&found), &left);
    prop_assert_eq!(&reduce(&left), &left);
    let mixed: Vec<Dependence> = all.iter().rev().chain(&found).copied().collect();
    prop_assert_eq!(&reduce(&mixed), &left);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn agrees_with_all_pairs((mode, calls) in program(40)) {
        check(mode, &calls)?;
    }

    #[test]
    fn agrees_with_all_pairs_where_order_is_that_of_scalars((mode, calls) in scalars(40)) {
        check(mode, &calls)?;
    }

    #[test]
    fn what_is_known_of_a_call_never_changes((mode, calls) in program(12)) {
        let whole = tracked(mode, &calls);
        let mut growing = Tracker::new(mode);
        for (place, call) in calls.iter().enumerate() {
            growing.call(call);
            prop_assert_eq!(growing.calls(), place + 1);
            for earlier in (0..=place as u32).map(CallId) {
                prop_assert_eq!(growing.rank(earlier), whole.rank(earlier));
                let found = growing.dependences_of(earlier);
                prop_assert_eq!(found, whole.dependences_of(earlier));
                prop_assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert!(found.iter().all(|one| one.to == earlier));
                let scalars = growing.scalar_dependences_of(earlier);
                prop_assert!(scalars.eq(whole.scalar_dependences_of(earlier)));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    // More calls than are followed at once.
    #[test]
    fn agrees_with_all_pairs_in_long_programs((mode, calls) in program(220)) {
        check(mode, &calls)?;
    }

    #[test]
    fn agrees_with_all_pairs_in_long_programs_of_scalars((mode, calls) in scalars(220)) {
        check(mode, &calls)?;
    }
}
