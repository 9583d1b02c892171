//! The invariants of the design that the enactor keeps.

use std::collections::{BTreeMap, BTreeSet};

use headwater_enact::{Action, NothingRemembered, Options, Time, simulate};
use headwater_graph::{Recipe, Tolerance, Wait};
use proptest::prelude::*;

use crate::support::{Flow, Play, Ran, Remembers, address, cores, success, values};

/// A bit of everything.
fn flow() -> Flow {
    Flow::new()
        .items("a", 3)
        .items("b", 2)
        .table(
            &["patient", "scan"],
            &[&["ann", "s0"], &["bob", "s1"], &["ann", "s2"]],
        )
        .stage("A(a) -> x")
        .stage("B(b) -> list*")
        .stage("C(x, list) -> y")
        .iterate("cross(x, list)")
        .stage("D: t(y) -> z; u(z, y) -> w")
        .with(|stage| stage.concurrency = Some(2))
        .stage("I(scan) -> i")
        .impure()
        .stage("J(i) -> j")
        .stage("M(j*) -> m")
        .wait(Wait::Per("patient".into()))
        .stage("N(j, m) -> n")
        .after(&["A"])
        .stage("O(w*, x*) -> o")
        .wait(Wait::All)
        .with(|stage| stage.tolerate = Some(Tolerance::Percent(50.0)))
}

fn play(seed: u64, fails: bool) -> Play {
    let mix = move |address: &str| {
        address.bytes().fold(seed, |mixed, byte| {
            mixed.wrapping_mul(31).wrapping_add(u64::from(byte))
        })
    };
    Play::default()
        .seconds(move |address, attempt| 1 + mix(address).wrapping_add(u64::from(attempt)) % 7)
        .fails(move |address, _| fails && matches!(address, "A[1]" | "D.t[0-0-1]"))
}

fn story(ran: &Ran) -> (Vec<String>, headwater_enact::Trace, Vec<String>) {
    (ran.story(), ran.trace.clone(), ran.requested())
}

#[test]
fn invariant_1_the_same_calls_give_the_same_trace() {
    for seed in 0..20 {
        for fails in [false, true] {
            let options = Options {
                retries: 1,
                ..cores(1 + seed % 4)
            };
            let run = || story(&flow().run(&options, &mut play(seed, fails)));
            assert_eq!(run(), run());
        }
    }
}

/// What was planned is what is executed, less what failures stop; what is remembered is not executed.
#[test]
fn invariant_5_a_round_executes_exactly_what_its_plan_lists() {
    let flow = Flow::new()
        .items("a", 4)
        .stage("P(a) -> b")
        .stage("Q(b) -> c")
        .stage("M(c*) -> m")
        .wait(Wait::All);
    let first = flow.run_plainly();
    for keep in 0..4 {
        let kept = ["P[0]", "Q[1]", "P[2]", "Q[2]"];
        let mut recall = Remembers::from(&first, |address| kept[..=keep].contains(&address));
        let options = Options {
            remembers: true,
            ..cores(2)
        };
        let mut enactment = flow.enactment(&options);
        enactment.open(&mut recall).unwrap();
        let plan = enactment.counts();
        let planned: BTreeSet<String> = enactment
            .graph()
            .ids()
            .filter(|task| !enactment.coordinator().state(*task).is_settled())
            .map(|task| address(&enactment, task))
            .collect();
        assert_eq!((plan.planned, plan.executed), (planned.len(), 0));
        let trace = simulate(&mut enactment, &mut Play::default(), &mut recall).unwrap();
        let ran = Ran { enactment, trace };
        assert_eq!(ran.ran(), planned.into_iter().collect::<Vec<_>>());
        let counts = ran.enactment.counts();
        assert_eq!(
            (counts.planned, counts.executed, counts.recomputed),
            (plan.planned, plan.planned, 0)
        );
        assert_eq!(counts.tasks, 9);
        assert_eq!(counts.reused + counts.executed, 9);
    }
}

/// A dropped product is computed again, and both the plan and the recomputation are counted.
#[test]
fn invariant_5_recomputations_are_counted() {
    let flow = Flow::new()
        .items("a", 3)
        .stage("P(a) -> b")
        .stage("Q(b) -> c");
    let first = flow.run_plainly();
    let mut recall = Remembers::from(&first, |address| address.starts_with('P'));
    let options = Options {
        remembers: true,
        ..Options::default()
    };
    let mut play = Play::default().loses(|address, _| address == "P[1]");
    let ran = flow.run_with(&options, &mut play, &mut recall);
    let counts = ran.enactment.counts();
    assert_eq!(
        (counts.planned, counts.executed, counts.recomputed),
        (4, 4, 1)
    );
}

/// A task that is tried again is one execution of what the plan lists.
#[test]
fn invariant_5_retries_count_as_one_execution() {
    let flow = Flow::new()
        .items("a", 3)
        .stage("P(a) -> b")
        .stage("Q(b) -> c");
    let options = Options {
        retries: 2,
        ..cores(2)
    };
    let mut play = Play::default().fails(|address, attempt| match address {
        "P[0]" => attempt < 2,
        "Q[1]" => attempt < 1,
        _ => false,
    });
    let ran = flow.run(&options, &mut play);
    assert_eq!(ran.trace.tasks.len(), 9, "three attempts failed");
    let counts = ran.enactment.counts();
    assert_eq!(
        (
            counts.planned,
            counts.executed,
            counts.failed,
            counts.recomputed
        ),
        (6, 6, 0, 0)
    );
}

/// A driver written by hand, with nothing but the calls that the worker threads make, in the order in which
/// the simulator makes them, comes to the same decisions: there is only one coordinator.
#[test]
fn invariant_6_a_driver_by_hand_sees_what_the_simulator_sees() {
    let options = cores(3);
    let flow = flow();
    let simulated = flow.run(&options, &mut play(7, false));
    let mut enactment = flow.opened(&options);
    let mut play = play(7, false);
    let mut decisions = Vec::new();
    let mut under_way: BTreeMap<(u64, usize), headwater_graph::TaskId> = BTreeMap::new();
    let mut now = 0;
    loop {
        match enactment.next(Time(now)) {
            Action::Start(start) => {
                let name = address(&enactment, start.task);
                let implicit = enactment
                    .graph()
                    .operation_at(start.task)
                    .signature
                    .implicit;
                let seconds = if implicit {
                    0
                } else {
                    (play.seconds)(&name, 0)
                };
                under_way.insert(
                    (now + seconds * crate::support::SECOND, decisions.len()),
                    start.task,
                );
                decisions.push((start.task, Time(now)));
            }
            Action::Wait(None) => {
                let ((end, number), task) = under_way.pop_first().unwrap();
                now = end;
                let outputs = values(&enactment, task, 2);
                let elapsed = (end - decisions[number].1.0) / crate::support::SECOND;
                enactment
                    .finished(
                        task,
                        success(elapsed, 0),
                        &outputs,
                        Time(now),
                        &mut NothingRemembered,
                    )
                    .unwrap();
                // The simulator ends everything that is due before it asks again.
                while under_way
                    .first_key_value()
                    .is_some_and(|((end, _), _)| *end == now)
                {
                    let ((_, number), task) = under_way.pop_first().unwrap();
                    let outputs = values(&enactment, task, 2);
                    let elapsed = (now - decisions[number].1.0) / crate::support::SECOND;
                    enactment
                        .finished(
                            task,
                            success(elapsed, 0),
                            &outputs,
                            Time(now),
                            &mut NothingRemembered,
                        )
                        .unwrap();
                }
            }
            Action::Finished => break,
            other => panic!("{other:?}"),
        }
    }
    let expected: Vec<_> = simulated
        .trace
        .tasks
        .iter()
        .map(|done| (done.task, done.start))
        .collect();
    assert_eq!(decisions, expected);
}

/// What a run comes to, whatever order things happened in.
#[derive(Debug, PartialEq, Eq)]
struct Result {
    recipes: BTreeSet<Recipe>,
    executed: BTreeSet<Recipe>,
    outputs: BTreeSet<(String, String, Option<Recipe>)>,
    errors: BTreeSet<String>,
    ancestry: Vec<String>,
}

fn result(ran: &Ran) -> Result {
    let graph = ran.enactment.graph();
    let executed = ran
        .trace
        .tasks
        .iter()
        .filter(|done| done.succeeded)
        .map(|done| graph.recipe(done.task))
        .collect();
    let outputs = ran.enactment.requested().iter().map(|requested| {
        let mut recipe = None;
        requested
            .source
            .for_each_task(&mut |task| recipe = Some(graph.recipe(task)));
        (
            requested.output.to_string(),
            requested.index.to_string(),
            recipe,
        )
    });
    let expander = ran.enactment.expander().unwrap();
    let mut ancestry: Vec<String> = ran
        .enactment
        .requested()
        .iter()
        .map(|requested| {
            let found = expander.ancestry(&requested.output, &requested.index);
            format!("{}[{}] {found:?}", requested.output, requested.index)
        })
        .collect();
    ancestry.sort();
    Result {
        recipes: graph.ids().map(|task| graph.recipe(task)).collect(),
        executed,
        outputs: outputs.collect(),
        errors: ran
            .enactment
            .errors()
            .iter()
            .map(ToString::to_string)
            .collect(),
        ancestry,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn invariant_7_no_result_depends_on_the_order_of_arrival(
        seed in any::<u64>(),
        workers in 1u64..5,
        fails in any::<bool>(),
        data in any::<bool>(),
        pipelining in any::<bool>(),
        workflow in any::<bool>(),
    ) {
        let flow = flow();
        let expected = result(&flow.run(&Options::default(), &mut play(0, fails)));
        let mut options = cores(workers);
        options.parallelism = headwater_enact::Parallelism { workflow, data, pipelining };
        let found = result(&flow.run(&options, &mut play(seed, fails)));
        prop_assert_eq!(found, expected);
    }
}
