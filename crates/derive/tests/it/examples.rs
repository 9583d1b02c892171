//! Programs whose dependences are worked out by hand.

use headwater_derive::{
    Access, Argument, CallId, Dependence, ItemId, Kind, Mode, Object, Subject, Tracker, reduce,
    unreduced,
};
use headwater_graph::ScalarType;

use Access::{In, InOut, Out};

const X: ItemId = ItemId(0);
const Y: ItemId = ItemId(1);
const Z: ItemId = ItemId(2);

fn whole(access: Access, item: ItemId) -> Argument {
    Argument::whole(access, item)
}

fn scalar(access: Access, scalar: ScalarType, reference: Option<ItemId>) -> Argument {
    Argument {
        access,
        object: Object::Scalar(scalar),
        reference,
    }
}

fn int(access: Access) -> Argument {
    scalar(access, ScalarType::Int, None)
}

/// From, to, kind.
type Edge = (u32, u32, Kind);

fn edge(one: Dependence) -> Edge {
    (one.from.0, one.to.0, one.kind)
}

fn tracked(mode: Mode, calls: &[Vec<Argument>]) -> Tracker {
    let mut tracker = Tracker::new(mode);
    for call in calls {
        tracker.call(call);
    }
    tracker
}

fn track(mode: Mode, calls: &[Vec<Argument>]) -> Vec<Edge> {
    tracked(mode, calls).dependences().map(edge).collect()
}

fn pairs(mode: Mode, calls: &[Vec<Argument>]) -> Vec<Edge> {
    unreduced(mode, calls).map(edge).collect()
}

/// The two reductions, which are the same.
fn left(mode: Mode, calls: &[Vec<Argument>]) -> Vec<Edge> {
    let all: Vec<Dependence> = unreduced(mode, calls).collect();
    let found: Vec<Dependence> = tracked(mode, calls).dependences().collect();
    let left = reduce(&all);
    assert_eq!(reduce(&found), left);
    left.into_iter().map(edge).collect()
}

/// return_int_vector, vpass_int, iqsort, int_vector_add5.
fn paper() -> Vec<Vec<Argument>> {
    let (given, vector, sum) = (ItemId(0), ItemId(1), ItemId(2));
    let n = scalar(In, ScalarType::Int, Some(ItemId(3)));
    vec![
        vec![whole(In, given), n, whole(Out, vector)],
        vec![whole(InOut, vector), n],
        vec![whole(InOut, vector), n],
        vec![n, whole(In, vector), whole(Out, sum)],
    ]
}

#[test]
fn the_example_of_the_paper_ends_as_a_chain() {
    use Kind::Raw;
    let chain = [(0, 1, Raw), (1, 2, Raw), (2, 3, Raw)];
    let figure_6 = [
        (0, 1, Raw),
        (0, 2, Raw),
        (1, 2, Raw),
        (0, 3, Raw),
        (1, 3, Raw),
        (2, 3, Raw),
    ];
    for mode in [Mode::Optimistic, Mode::Conservative, Mode::Restrictive] {
        assert_eq!(track(mode, &paper()), chain);
        assert_eq!(pairs(mode, &paper()), figure_6);
        assert_eq!(left(mode, &paper()), chain);
        let tracker = tracked(mode, &paper());
        let ranks = [0, 1, 2, 3].map(|call| tracker.rank(CallId(call)));
        assert_eq!(ranks, [0, 1, 2, 3]);
    }
}

#[test]
fn order_goes_exactly_if_a_path_implies_it() {
    let first = vec![whole(In, Z), whole(InOut, X)];
    let last = vec![whole(InOut, Y), whole(InOut, Z)];
    let joined = [
        first.clone(),
        vec![whole(InOut, Y), whole(Out, X)],
        last.clone(),
    ];
    let waw = (0, 1, Kind::Waw);
    let war = (0, 2, Kind::War);
    let raw = (1, 2, Kind::Raw);
    assert_eq!(track(Mode::Restrictive, &joined), [waw, war, raw]);
    assert_eq!(left(Mode::Restrictive, &joined), [waw, raw]);
    let apart = [first, vec![whole(Out, X)], last];
    assert_eq!(track(Mode::Restrictive, &apart), [waw, war]);
    assert_eq!(left(Mode::Restrictive, &apart), [waw, war]);
}

#[test]
fn data_stays_even_if_a_path_implies_the_order() {
    // 0 writes x and y, 1 makes z from x, 2 needs y and z.
    let calls = [
        vec![whole(Out, X), whole(Out, Y)],
        vec![whole(In, X), whole(Out, Z)],
        vec![whole(In, Y), whole(In, Z)],
    ];
    let all = [(0, 1, Kind::Raw), (0, 2, Kind::Raw), (1, 2, Kind::Raw)];
    assert_eq!(track(Mode::Restrictive, &calls), all);
    assert_eq!(left(Mode::Restrictive, &calls), all);
}

#[test]
fn implied_order_goes_where_data_stays() {
    // As before, and 2 also overwrites what 0 reads.
    let other = ItemId(3);
    let calls = [
        vec![whole(Out, X), whole(Out, Y), whole(In, other)],
        vec![whole(In, X), whole(Out, Z)],
        vec![whole(In, Y), whole(In, Z), whole(Out, other)],
    ];
    let all = [
        (0, 1, Kind::Raw),
        (0, 2, Kind::Raw),
        (0, 2, Kind::War),
        (1, 2, Kind::Raw),
    ];
    assert_eq!(track(Mode::Restrictive, &calls), all);
    let raw = [all[0], all[1], all[3]];
    assert_eq!(left(Mode::Restrictive, &calls), raw);
    // Without the one between, the two calls have both.
    let calls = [calls[0].clone(), calls[2].clone()];
    let both = [(0, 1, Kind::Raw), (0, 1, Kind::War)];
    assert_eq!(left(Mode::Restrictive, &calls), both);
}

#[test]
fn each_access_after_each_other() {
    use Kind::{Raw, War, Waw};
    let table = [
        (In, In, None),
        (In, Out, Some(War)),
        (In, InOut, Some(War)),
        (Out, In, Some(Raw)),
        (Out, Out, Some(Waw)),
        (Out, InOut, Some(Raw)),
        (InOut, In, Some(Raw)),
        (InOut, Out, Some(Waw)),
        (InOut, InOut, Some(Raw)),
    ];
    for (earlier, later, kind) in table {
        let calls = [vec![whole(earlier, X)], vec![whole(later, X)]];
        let expected: Vec<Edge> = kind.into_iter().map(|kind| (0, 1, kind)).collect();
        assert_eq!(track(Mode::Optimistic, &calls), expected);
        assert_eq!(pairs(Mode::Optimistic, &calls), expected);
    }
}

#[test]
fn only_readers_since_the_last_write_come_before_the_next() {
    let calls = [
        vec![whole(In, X)],
        vec![whole(In, X)],
        vec![whole(InOut, X)],
        vec![whole(In, X)],
        vec![whole(Out, X)],
        vec![whole(Out, X)],
    ];
    let found = [
        (0, 2, Kind::War),
        (1, 2, Kind::War),
        (2, 3, Kind::Raw),
        (2, 4, Kind::Waw),
        (3, 4, Kind::War),
        (4, 5, Kind::Waw),
    ];
    assert_eq!(track(Mode::Restrictive, &calls), found);
    // The overwriting is implied by the reading in between.
    let mut without = found.to_vec();
    without.remove(3);
    assert_eq!(left(Mode::Restrictive, &calls), without);
}

#[test]
fn an_item_that_a_call_names_twice_is_one_access() {
    let calls = [
        vec![whole(Out, X)],
        vec![whole(In, X), whole(Out, X), whole(In, X)],
        vec![whole(In, X), whole(In, X)],
        vec![whole(Out, X), whole(Out, X)],
    ];
    let found = [
        (0, 1, Kind::Raw),
        (1, 2, Kind::Raw),
        (1, 3, Kind::Waw),
        (2, 3, Kind::War),
    ];
    assert_eq!(track(Mode::Restrictive, &calls), found);
}

#[test]
fn two_items_are_two_reasons() {
    let calls = [
        vec![whole(Out, Y), whole(Out, X), whole(In, Z)],
        vec![whole(In, X), whole(Out, Z), whole(InOut, Y)],
    ];
    let tracker = tracked(Mode::Restrictive, &calls);
    let found = tracker.dependences_of(CallId(1)).iter();
    let found: Vec<(Kind, Subject)> = found.map(|one| (one.kind, one.subject)).collect();
    let item = Subject::Item;
    assert_eq!(
        found,
        [
            (Kind::Raw, item(X)),
            (Kind::Raw, item(Y)),
            (Kind::War, item(Z)),
        ]
    );
    assert_eq!(tracker.dependences_of(CallId(0)), []);
}

#[test]
fn scalars_by_mode() {
    let n = |access| scalar(access, ScalarType::Int, Some(X));
    let by_reference = [vec![n(Out)], vec![n(In)], vec![n(Out)]];
    let (raw, war, waw) = ((0, 1, Kind::Raw), (1, 2, Kind::War), (0, 2, Kind::Waw));
    let (give, take) = ((0, 1, Kind::Scalar), (1, 2, Kind::Scalar));
    assert_eq!(track(Mode::Optimistic, &by_reference), []);
    assert_eq!(track(Mode::Restrictive, &by_reference), [raw, waw, war]);
    assert_eq!(
        track(Mode::Conservative, &by_reference),
        [raw, give, waw, war, take]
    );
    let by_value = [vec![int(Out)], vec![int(In)], vec![int(Out)]];
    assert_eq!(track(Mode::Optimistic, &by_value), []);
    assert_eq!(track(Mode::Restrictive, &by_value), []);
    assert_eq!(track(Mode::Conservative, &by_value), [give, take]);
    // Another type is another matter.
    let mixed = [
        vec![int(Out)],
        vec![scalar(In, ScalarType::Float, None)],
        vec![int(In)],
    ];
    assert_eq!(track(Mode::Conservative, &mixed), [(0, 2, Kind::Scalar)]);
}

#[test]
fn scalars_come_in_phases() {
    // Two that give, two that take, one that does both, another one, one that gives.
    let calls = [
        vec![int(Out)],
        vec![int(Out)],
        vec![int(In)],
        vec![int(In)],
        vec![int(In), int(Out)],
        vec![int(InOut)],
        vec![int(Out)],
    ];
    let found = [
        (0, 2),
        (1, 2),
        (0, 3),
        (1, 3),
        (2, 4),
        (3, 4),
        (4, 5),
        (5, 6),
    ];
    let found = found.map(|(from, to)| (from, to, Kind::Scalar));
    assert_eq!(track(Mode::Conservative, &calls), found);
    assert_eq!(left(Mode::Conservative, &calls), found);
    let tracker = tracked(Mode::Conservative, &calls);
    let ranks: Vec<u32> = (0..7).map(|call| tracker.rank(CallId(call))).collect();
    assert_eq!(ranks, [0, 0, 1, 1, 2, 3, 4]);
}

#[test]
fn a_late_member_raises_the_ranks_after_its_phase() {
    // The second that gives is at the end of a chain; the one that takes comes after it.
    let calls = [
        vec![whole(InOut, X)],
        vec![whole(InOut, X)],
        vec![int(Out)],
        vec![int(Out), whole(InOut, X)],
        vec![int(Out)],
        vec![int(In)],
    ];
    let tracker = tracked(Mode::Conservative, &calls);
    let ranks: Vec<u32> = (0..6).map(|call| tracker.rank(CallId(call))).collect();
    assert_eq!(ranks, [0, 1, 0, 2, 0, 3]);
}
