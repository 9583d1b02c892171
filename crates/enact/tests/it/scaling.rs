//! Size: the work grows with the number of items, not faster.

use std::time::Duration;

use headwater_enact::{Action, Ending, NothingRemembered, Options, Time};
use headwater_graph::Wait;

use crate::support::{Flow, cores};

/// Runs everything as fast as the coordinator goes; returns (tasks, calls).
fn run(flow: &Flow, options: &Options) -> (usize, usize) {
    let mut enactment = flow.opened(options);
    let mut released = Vec::new();
    let mut calls = 0;
    loop {
        calls += 1;
        match enactment.next(Time::default()) {
            Action::Start(start) => {
                let outcome = Ending::Success {
                    memory: 1,
                    elapsed: Duration::from_millis(1),
                };
                enactment
                    .finished(
                        start.task,
                        outcome,
                        &[],
                        Time::default(),
                        &mut NothingRemembered,
                    )
                    .unwrap();
            }
            Action::Finished => break,
            other => panic!("{other:?}"),
        }
        enactment.take_released(&mut released);
    }
    assert_eq!(released.len(), enactment.counts().executed);
    (enactment.counts().executed, calls)
}

fn chains(items: usize) -> Flow {
    Flow::new()
        .items("a", items)
        .stage("P(a) -> b")
        .stage("Q(b) -> c")
        .stage("R(b, c) -> d")
        .stage("M(d*) -> m")
        .wait(Wait::All)
}

/// One decision per task, at any size; a quadratic step would not come to an end here.
#[test]
fn a_hundred_thousand_items() {
    for items in [1_000, 10_000, 100_000] {
        assert_eq!(
            run(&chains(items), &cores(2)),
            (3 * items + 1, 3 * items + 2)
        );
    }
}

/// The same where stages hold their instances back.
#[test]
fn fifty_thousand_items_one_at_a_time() {
    let flow = chains(50_000)
        .stage("Z(d) -> z")
        .with(|stage| stage.concurrency = Some(1));
    assert_eq!(run(&flow, &cores(2)).0, 200_001);
    let mut options = cores(2);
    options.parallelism.pipelining = false;
    options.parallelism.data = false;
    assert_eq!(run(&flow, &options).0, 200_001);
}

#[test]
fn a_cross_of_three_hundred_by_three_hundred() {
    let flow = Flow::new()
        .items("a", 300)
        .items("b", 300)
        .stage("P(a, b) -> c")
        .iterate("cross(a, b)");
    assert_eq!(run(&flow, &cores(2)).0, 90_000);
}

/// Twenty thousand outputs are asked where they come from.
#[test]
fn ancestry_of_many_outputs() {
    let flow = Flow::new()
        .items("a", 20_000)
        .stage("P(a) -> b")
        .stage("Q(b) -> c");
    let enactment = flow.opened(&Options::default());
    let expander = enactment.expander().unwrap();
    for requested in enactment.requested() {
        assert_eq!(expander.ancestry("c", &requested.index).len(), 1);
    }
}

/// A workflow of a thousand stages is read once, not once per stage.
#[test]
fn a_long_workflow() {
    let flow = (0..1_000).fold(Flow::new().items("d0", 3), |flow, stage| {
        flow.stage(&format!("P{stage}(d{stage}) -> d{}", stage + 1))
    });
    assert_eq!(run(&flow, &cores(2)).0, 3_000);
}

/// Five thousand lists that end one after the other.
#[test]
fn many_lists() {
    let flow = Flow::new()
        .items("a", 5_000)
        .stage("S(a) -> list*")
        .stage("P(list) -> b");
    let mut enactment = flow.opened(&cores(1));
    let trace = headwater_enact::simulate(
        &mut enactment,
        &mut crate::support::Play::default(),
        &mut NothingRemembered,
    );
    assert!(trace.is_ok());
    assert_eq!(enactment.counts().executed, 15_000);
}
