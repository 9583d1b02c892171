//! Rounds: lists of unknown length, impure tasks, and that nobody else waits for them.

use headwater_enact::{NothingRemembered, Options};
use headwater_graph::{Source, TaskId, Tolerance, Value, Wait};
use proptest::prelude::*;

use crate::support::{Flow, Play, Remembers, cores, index, text};

fn split() -> Flow {
    Flow::new()
        .items("a", 2)
        .stage("S(a) -> list*")
        .stage("P(list) -> b")
}

fn lengths(of: &'static [(&'static str, usize)]) -> Play {
    Play::default().length(move |address, _| {
        of.iter()
            .find(|(name, _)| *name == address)
            .map_or(2, |(_, length)| *length)
    })
}

#[test]
fn items_of_a_list_get_paths_of_their_own() {
    let ran = split().run(
        &Options::default(),
        &mut lengths(&[("S[0]", 3), ("S[1]", 1)]),
    );
    assert_eq!(
        ran.reads("P"),
        [
            "P[0-0] <- list: S[0]#0",
            "P[0-1] <- list: S[0]#1",
            "P[0-2] <- list: S[0]#2",
            "P[1-0] <- list: S[1]#0"
        ]
    );
    // Without a store the list must not be made twice, and the helper tasks are not counted.
    let counts = ran.enactment.counts();
    assert_eq!(
        (counts.tasks, counts.executed, counts.recomputed),
        (6, 6, 0)
    );
    assert_eq!(ran.enactment.rounds(), 3);
}

/// A list goes on as soon as it is there; the other one does not hold it up.
#[test]
fn a_list_is_no_barrier_for_another() {
    let mut play = Play::default().seconds(|address, _| if address == "S[0]" { 9 } else { 1 });
    let ran = split().run(&Options::default(), &mut play);
    assert_eq!((ran.start("P[1-0]"), ran.start("P[0-0]")), (1, 9));
}

#[test]
fn a_pending_list_is_no_barrier_for_an_unrelated_chain() {
    let flow = split().items("x", 1).stage("U(x) -> y").stage("V(y) -> z");
    let mut play =
        Play::default().seconds(|address, _| if address.starts_with('S') { 9 } else { 1 });
    let ran = flow.run(&Options::default(), &mut play);
    assert_eq!(
        (ran.start("U[0]"), ran.start("V[0]"), ran.start("P[0-0]")),
        (0, 1, 9)
    );
}

/// What will be combined with the items of the list is computed while the list is, and kept.
#[test]
fn a_pending_list_is_no_barrier_for_what_meets_it_later() {
    let flow = Flow::new()
        .one("a")
        .items("x", 3)
        .stage("S(a) -> list*")
        .stage("U(x) -> y")
        .stage("C(list, y) -> z")
        .iterate("cross(list, y)");
    let mut play = Play::default()
        .seconds(|address, _| if address == "S" { 9 } else { 1 })
        .memory(|_, _| 8);
    let ran = flow.run(&Options::default(), &mut play);
    assert_eq!(
        (ran.start("U[0]"), ran.start("C[0-0]"), ran.seconds()),
        (0, 9, 10)
    );
    let counts = ran.enactment.counts();
    assert_eq!((counts.executed, counts.recomputed), (1 + 3 + 6, 0));
    assert_eq!(ran.enactment.coordinator().memory_held(), 0);
}

#[test]
fn a_list_stays_one_item_for_a_list_port() {
    let flow = Flow::new()
        .items("a", 2)
        .stage("S(a) -> list*")
        .stage("P(list*) -> b");
    let ran = flow.run_plainly();
    assert_eq!(
        ran.reads("P"),
        ["P[0] <- list-all: S[0]", "P[1] <- list-all: S[1]"]
    );
    assert_eq!(ran.enactment.rounds(), 1);
}

#[test]
fn lists_from_outside_are_unfolded_at_once() {
    let flow = Flow::new().lists("a", &[2, 0, 1]).stage("P(a) -> b");
    let ran = flow.run_plainly();
    assert_eq!(
        ran.reads("P"),
        [
            "P[0-0] <- a: 'a0-0'",
            "P[0-1] <- a: 'a0-1'",
            "P[2-0] <- a: 'a2-0'"
        ]
    );
    assert_eq!(ran.enactment.rounds(), 1);
}

#[test]
fn a_list_and_its_items_in_one_stage() {
    let flow = Flow::new()
        .one("a")
        .stage("S(a) -> list*")
        .stage("P(list*, list) -> b");
    let reads = flow.run_plainly().reads("P");
    assert_eq!(
        reads,
        [
            "P[0] <- list: S#0; list-all: S",
            "P[1] <- list: S#1; list-all: S"
        ]
    );
    // `iterate` means the items.
    let flow = Flow::new()
        .one("a")
        .items("k", 2)
        .stage("S(a) -> list*")
        .stage("P(list*, list, k) -> b")
        .iterate("cross(list, k)");
    assert_eq!(
        flow.run_plainly().reads("P")[1],
        "P[0-1] <- k: 'k1'; list: S#0; list-all: S"
    );
}

#[test]
fn wait_all_flattens_a_list_per_item() {
    let flow = split().stage("M(b*) -> m").wait(Wait::All);
    let mut play = lengths(&[("S[0]", 2), ("S[1]", 3)])
        .seconds(|address, _| if address == "S[0]" { 5 } else { 1 });
    let ran = flow.run(&Options::default(), &mut play);
    assert_eq!(
        ran.reads("M"),
        ["M <- b-all: (P[0-0] P[0-1] P[1-0] P[1-1] P[1-2])"]
    );
    assert_eq!(ran.enactment.counts().recomputed, 0);
    // A synchronised port takes the items of the lists as well.
    let flow = Flow::new()
        .items("a", 2)
        .stage("S(a) -> list*")
        .stage("M(list*) -> m")
        .wait(Wait::All);
    assert_eq!(
        flow.run_plainly().reads("M"),
        ["M <- list-all: (S[0]#0 S[0]#1 S[1]#0 S[1]#1)"]
    );
}

#[test]
fn lists_of_lists_nest() {
    let flow = Flow::new()
        .one("a")
        .stage("S(a) -> list*")
        .stage("T(list) -> more*")
        .stage("P(more) -> b")
        .stage("M(b*) -> m")
        .wait(Wait::All);
    let ran = flow.run(
        &Options::default(),
        &mut lengths(&[("T[0]", 1), ("T[1]", 2)]),
    );
    assert_eq!(ran.reads("M"), ["M <- b-all: (P[0-0] P[1-0] P[1-1])"]);
    assert_eq!(ran.enactment.counts().recomputed, 0);
}

#[test]
fn an_empty_list_has_no_items() {
    let flow = split().stage("M(b*) -> m").wait(Wait::All);
    let ran = flow.run(
        &Options::default(),
        &mut lengths(&[("S[0]", 0), ("S[1]", 0)]),
    );
    assert_eq!(ran.reads("P").len(), 0);
    assert_eq!(ran.reads("M"), ["M <- b-all: ()"]);
    assert!(ran.enactment.expander().unwrap().is_complete());
}

#[test]
fn a_list_that_fails_stops_its_descendants_only() {
    let flow = split().stage("M(b*) -> m").wait(Wait::All);
    let mut play = Play::default().fails(|address, _| address == "S[0]");
    let ran = flow.run(&Options::default(), &mut play);
    assert_eq!(ran.ran(), ["P[1-0]", "P[1-1]", "S[0]", "S[1]"]);
    assert_eq!(
        ran.enactment.errors()[0].to_string(),
        "task `M.M`: 1 of 3 items of `b` failed, and 0 may; missing are 1 that were never made"
    );
    assert!(ran.enactment.expander().unwrap().is_complete());
}

#[test]
fn a_tolerant_synchronisation_goes_on_without_a_list() {
    let flow = split()
        .stage("M(b*) -> m")
        .wait(Wait::All)
        .with(|stage| stage.tolerate = Some(Tolerance::Count(2)));
    let mut play = Play::default().fails(|address, _| matches!(address, "S[0]" | "P[1-0]"));
    let mut ran = flow.run(&Options::default(), &mut play);
    assert_eq!(ran.reads("M"), ["M <- b-all: (P[1-1])"]);
    assert_eq!(
        ran.enactment.take_notes(),
        [
            "`M` goes on, but 2 of 3 items of `b` failed and are left out: `b[1-0]`, 1 that were never made"
        ]
    );
}

#[test]
fn unequal_lists_stop_their_stage_only() {
    let flow = Flow::new()
        .one("a")
        .items("k", 3)
        .stage("S(a) -> list*")
        .stage("P(list, k) -> b")
        .iterate("dot(list, k)")
        .stage("Q(k) -> c");
    let ran = flow.run_plainly();
    assert_eq!(
        ran.enactment.errors()[0].to_string(),
        "stage `P`: `list` has 2 items and `k` has 3; the first without a partner is [2] of `k`"
    );
    assert_eq!(ran.ran(), ["P[0]", "P[1]", "Q[0]", "Q[1]", "Q[2]", "S"]);
}

#[test]
fn a_remembered_list_opens_its_round_at_once() {
    let first = split().run_plainly();
    let mut recall = Remembers::from(&first, |_| true);
    let mut enactment = split().enactment(&Options {
        remembers: true,
        ..Options::default()
    });
    enactment.open(&mut recall).unwrap();
    let counts = enactment.counts();
    assert_eq!((counts.tasks, counts.planned, counts.reused), (6, 0, 6));
    assert_eq!(enactment.requested().len(), 4);
}

/// The record of the list says nothing any more: it is made again, rather than taken for empty.
#[test]
fn a_remembered_list_that_is_damaged_is_made_again() {
    let first = split().run_plainly();
    let mut recall = Remembers::from(&first, |address| address.starts_with('S'));
    recall.length = None;
    let options = Options {
        remembers: true,
        ..Options::default()
    };
    let ran = split().run_with(&options, &mut Play::default(), &mut recall);
    assert_eq!(ran.reads("P").len(), 4);
    assert_eq!(ran.enactment.counts().executed, 6);
}

#[test]
fn what_an_impure_task_makes_is_identified_by_content() {
    let flow = Flow::new()
        .items("a", 2)
        .stage("I(a) -> b")
        .impure()
        .stage("P(b) -> c");
    let ran = flow.run_plainly();
    assert_eq!(
        ran.reads("P"),
        ["P[0] <- b: 'I[0].b'", "P[1] <- b: 'I[1].b'"]
    );
    assert_eq!(ran.enactment.rounds(), 3);
    // The same content, wherever it comes from, gives the same recipe: nothing is left to do.
    let mut recall = Remembers::from(&ran, |_| true);
    let again = flow.run_with(&Options::default(), &mut Play::default(), &mut recall);
    assert_eq!(again.ran(), ["I[0]", "I[1]"]);
}

/// Inside one stage, too: otherwise a task would be taken for known although its input has changed.
#[test]
fn content_counts_inside_the_stage_of_an_impure_task() {
    let flow = || {
        Flow::new()
            .items("a", 2)
            .stage("S: get(a) -> b; read(b, a) -> c; get-more(c) -> d; sum(b, d) -> e")
            .stage("P(e) -> f")
    };
    let impure = |mut flow: Flow| {
        for signature in &mut flow.signatures {
            signature.pure = !signature.name.contains("get");
        }
        flow
    };
    let ran = impure(flow()).run_plainly();
    let reads = ran.reads("S");
    for line in [
        "S.read[0] <- a: 'a0'; b: 'S.get[0].b'",
        "S.get-more[0] <- c: S.read[0]",
        "S.sum[0] <- b: 'S.get[0].b'; d: 'S.get-more[0].d'",
    ] {
        assert!(reads.contains(&line.to_owned()), "{reads:?}");
    }
    assert_eq!(
        ran.reads("P"),
        ["P[0] <- e: S.sum[0]", "P[1] <- e: S.sum[1]"]
    );
    assert_eq!(
        ran.enactment
            .expander()
            .unwrap()
            .ancestry("f", &index(&[1]))[0]
            .1,
        index(&[1])
    );
    let mut recall = Remembers::from(&ran, |_| true);
    let again = impure(flow()).run_with(&Options::default(), &mut Play::default(), &mut recall);
    assert_eq!(
        again.ran(),
        ["S.get-more[0]", "S.get-more[1]", "S.get[0]", "S.get[1]"]
    );
    // A failure in the middle leaves the rest of the instance out, and nothing else.
    let mut play = Play::default().fails(|address, _| address == "S.get-more[1]");
    let failed = impure(flow()).run(&Options::default(), &mut play);
    assert_eq!(failed.reads("P"), ["P[0] <- e: S.sum[0]"]);
    assert!(failed.enactment.expander().unwrap().is_complete());
}

#[test]
fn an_impure_failure_is_a_missing_item() {
    let flow = Flow::new()
        .items("a", 2)
        .stage("I(a) -> b")
        .impure()
        .stage("P(b) -> c")
        .stage("M(c*) -> m")
        .wait(Wait::All);
    let mut play = Play::default().fails(|address, _| address == "I[0]");
    let ran = flow.run(&Options::default(), &mut play);
    assert_eq!(ran.ran(), ["I[0]", "I[1]", "P[1]"]);
    assert_eq!(ran.enactment.errors().len(), 1);
}

#[test]
fn an_impure_task_runs_though_nobody_reads_it() {
    let flow = Flow::new()
        .items("a", 1)
        .stage("I(a) -> b")
        .impure()
        .stage("P(a) -> c")
        .output("c");
    assert_eq!(flow.run_plainly().ran(), ["I[0]", "P[0]"]);
    let flow = Flow::new()
        .items("a", 1)
        .stage("I(a)")
        .impure()
        .stage("P(a) -> c")
        .output("c");
    assert_eq!(flow.run_plainly().ran(), ["I[0]", "P[0]"]);
}

#[test]
fn a_list_of_an_impure_task_is_unfolded_by_content() {
    let flow = Flow::new()
        .one("a")
        .stage("I(a) -> list*")
        .impure()
        .stage("P(list) -> b");
    assert_eq!(
        flow.run_plainly().reads("P"),
        ["P[0] <- list: 'I.list-0'", "P[1] <- list: 'I.list-1'"]
    );
}

/// Deeper rounds go first, so that few lists are open at a time.
#[test]
fn later_rounds_go_first() {
    let flow = Flow::new()
        .items("a", 3)
        .stage("S(a) -> list*")
        .stage("P(list) -> b");
    let ran = flow.run(&cores(1), &mut Play::default());
    let order = [
        "S[0] 0-1",
        "P[0-0] 1-2",
        "P[0-1] 2-3",
        "S[1] 3-4",
        "P[1-0] 4-5",
        "P[1-1] 5-6",
    ];
    assert_eq!(ran.story()[..6], order);
}

/// The item operation itself.
#[test]
fn picking_an_item() {
    let ran = split().run_plainly();
    let graph = ran.enactment.graph();
    let item = graph
        .ids()
        .find(|task| &*graph.operation_at(*task).signature.name == "headwater/item")
        .unwrap();
    let headwater_graph::Kind::Native(run) = &graph.operation_at(item).kind else {
        panic!()
    };
    let list = Value::List([text("x"), text("y")].into());
    let pick = |at: i64| {
        let parameters = [headwater_graph::Scalar::Int(at)];
        run.run(
            std::slice::from_ref(&list),
            &parameters,
            &mut headwater_graph::Context::default(),
        )
    };
    assert_eq!(pick(1).unwrap(), [text("y")]);
    assert_eq!(pick(2).unwrap_err().to_string(), "the list has no item 2");
    assert_eq!(pick(-1).unwrap_err().to_string(), "the list has no item -1");
    assert!(matches!(
        graph.inputs(item)[0].1,
        Source::Product {
            task: TaskId(0),
            ..
        }
    ));
}

#[test]
fn a_stage_that_leads_nowhere_makes_no_tasks() {
    let flow = split()
        .stage("Z(b) -> zz*")
        .stage("Y(zz) -> y")
        .stage("O(a) -> out")
        .output("out");
    let ran = flow.run_plainly();
    assert_eq!(ran.ran(), ["O[0]", "O[1]"]);
    assert_eq!(ran.enactment.counts().tasks, 2);
    assert_eq!(ran.enactment.rounds(), 1);
    let mut enactment = flow.enactment(&Options::default());
    enactment.open(&mut NothingRemembered).unwrap();
    assert!(enactment.expander().unwrap().is_complete());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Lists of any length, in any order of completion, give the same tasks as if they had been known.
    #[test]
    fn lists_made_and_lists_given_expand_alike(
        lengths in proptest::collection::vec(0usize..5, 1..5),
        delays in proptest::collection::vec(0u64..9, 16),
        workers in 1u64..4,
    ) {
        let made = Flow::new().items("a", lengths.len()).stage("S(a) -> list*").stage("P(list) -> b").stage("M(b*) -> m").wait(Wait::All);
        let mut turn = 0;
        let of = lengths.clone();
        let mut play = Play::default()
            .length(move |address, _| {
                let at = address.strip_prefix("S[").and_then(|rest| rest.strip_suffix(']'));
                at.map_or(0, |at| of[at.parse::<usize>().unwrap()])
            })
            .seconds(move |_, _| { turn += 1; delays[turn % delays.len()] });
        let made = made.run(&cores(workers), &mut play);
        let given = Flow::new().lists("list", &lengths).stage("P(list) -> b").stage("M(b*) -> m").wait(Wait::All);
        let given = given.run_plainly();
        prop_assert_eq!(made.reads("M"), given.reads("M"));
        prop_assert_eq!(made.enactment.counts().recomputed, 0);
    }
}
