//! Failures: retries with pauses, what a failure stops, and stopping.

use std::time::Duration;

use headwater_enact::{Action, Backoff, Ending, NothingRemembered, Options, State, Time, simulate};

use crate::support::{Flow, Play, SECOND, cores, success};

fn chain(items: usize) -> Flow {
    Flow::new()
        .items("a", items)
        .stage("P(a) -> b")
        .stage("Q(b) -> c")
}

fn retrying(retries: u32) -> Options {
    let backoff = Backoff {
        first: Duration::from_secs(2),
        longest: Duration::from_secs(5),
    };
    Options {
        retries,
        backoff,
        ..Options::default()
    }
}

#[test]
fn pauses_double_up_to_the_longest() {
    let backoff = Backoff {
        first: Duration::from_secs(2),
        longest: Duration::from_secs(60),
    };
    let pauses = [1, 2, 3, 5, 6, 40, 1000].map(|retry| backoff.pause(retry).as_secs());
    assert_eq!(pauses, [2, 4, 8, 32, 60, 60, 60]);
}

#[test]
fn a_failure_is_tried_again_after_a_pause() {
    let mut play = Play::default().fails(|address, attempt| address == "P[0]" && attempt < 3);
    let ran = chain(1).run(&retrying(3), &mut play);
    let story = [
        "P[0] 0-1 failed",
        "P[0] 3-4 failed",
        "P[0] 8-9 failed",
        "P[0] 14-15",
        "Q[0] 15-16",
    ];
    assert_eq!(ran.story(), story);
    let counts = ran.enactment.counts();
    assert_eq!(
        (
            counts.planned,
            counts.executed,
            counts.failed,
            counts.recomputed
        ),
        (2, 2, 0, 0)
    );
}

#[test]
fn retries_are_exhausted() {
    let mut play = Play::default().fails(|address, _| address == "P[0]");
    let ran = chain(1).run(&retrying(1), &mut play);
    assert_eq!(ran.story(), ["P[0] 0-1 failed", "P[0] 3-4 failed"]);
    assert_eq!(
        (ran.state("P[0]"), ran.state("Q[0]")),
        (State::Failed, State::Blocked)
    );
}

#[test]
fn the_operation_says_how_often() {
    let flow = Flow::new()
        .items("a", 1)
        .stage("P(a) -> b")
        .operation(|signature| signature.retries = Some(0));
    let ran = flow.run(&retrying(5), &mut Play::default().fails(|_, _| true));
    assert_eq!(ran.story().len(), 1);
    let flow = Flow::new()
        .items("a", 1)
        .stage("P(a) -> b")
        .operation(|signature| signature.retries = Some(2));
    let ran = flow.run(&retrying(0), &mut Play::default().fails(|_, _| true));
    assert_eq!(ran.story().len(), 3);
}

#[test]
fn what_is_no_use_is_not_tried_again() {
    let mut enactment = chain(1).opened(&retrying(5));
    let now = Time::default();
    let Action::Start(start) = enactment.next(now) else {
        panic!()
    };
    enactment
        .finished(start.task, Ending::Fatal, &[], now, &mut NothingRemembered)
        .unwrap();
    assert_eq!(enactment.next(now), Action::Finished);
    assert_eq!(enactment.counts().failed, 1);
    let blocked = enactment.blocked();
    assert_eq!(blocked.len(), 1);
    assert_eq!(blocked[0].1, start.task);
}

#[test]
fn a_failure_stops_only_its_descendants_and_keeps_its_place() {
    let flow = Flow::new()
        .items("a", 3)
        .stage("P(a) -> b")
        .stage("Q(b) -> c")
        .stage("R(a) -> r")
        .stage("T(c, r) -> t");
    let mut play = Play::default().fails(|address, _| address == "P[1]");
    let ran = flow.run(&Options::default(), &mut play);
    assert_eq!(
        ran.ran(),
        [
            "P[0]", "P[1]", "P[2]", "Q[0]", "Q[2]", "R[0]", "R[1]", "R[2]", "T[0]", "T[2]"
        ]
    );
    // It keeps its place: the third is still the third.
    assert_eq!(ran.reads("T")[2], "T[2] <- c: Q[2]; r: R[2]");
    let counts = ran.enactment.counts();
    assert_eq!((counts.executed, counts.failed, counts.blocked), (9, 1, 2));
    assert_eq!(
        counts.executed,
        counts.planned - counts.failed - counts.blocked
    );
}

#[test]
fn a_pause_does_not_hold_up_others() {
    let mut play = Play::default().fails(|address, attempt| address == "P[0]" && attempt == 0);
    let options = Options {
        capacity: cores(1).capacity,
        ..retrying(1)
    };
    let ran = chain(2).run(&options, &mut play);
    let story = [
        "P[0] 0-1 failed",
        "P[1] 1-2",
        "Q[1] 2-3",
        "P[0] 3-4",
        "Q[0] 4-5",
    ];
    assert_eq!(ran.story(), story);
}

#[test]
fn fail_fast_starts_nothing_more() {
    let options = Options {
        fail_fast: true,
        ..cores(2)
    };
    let mut play = Play::default()
        .fails(|address, _| address == "P[0]")
        .seconds(|address, _| if address == "P[1]" { 4 } else { 1 });
    let ran = chain(4).run(&options, &mut play);
    // What runs may end.
    assert_eq!(ran.story(), ["P[0] 0-1 failed", "P[1] 0-4"]);
    assert!(ran.enactment.coordinator().is_stopped());
}

#[test]
fn stop_starts_nothing_more() {
    let mut enactment = chain(4).opened(&cores(2));
    let now = Time::default();
    let Action::Start(first) = enactment.next(now) else {
        panic!()
    };
    let Action::Start(second) = enactment.next(now) else {
        panic!()
    };
    enactment.stop();
    assert_eq!(enactment.next(now), Action::Wait(None));
    enactment
        .finished(first.task, success(1, 0), &[], now, &mut NothingRemembered)
        .unwrap();
    assert_eq!(enactment.next(now), Action::Wait(None));
    // A failure is not tried again either.
    enactment
        .finished(
            second.task,
            Ending::Failure,
            &[],
            now,
            &mut NothingRemembered,
        )
        .unwrap();
    assert_eq!(enactment.next(now), Action::Finished);
    assert_eq!(enactment.counts().executed, 1);
}

#[test]
fn stop_during_a_pause() {
    let mut enactment = chain(1).opened(&retrying(3));
    let Action::Start(start) = enactment.next(Time(0)) else {
        panic!()
    };
    enactment
        .finished(
            start.task,
            Ending::Failure,
            &[],
            Time(SECOND),
            &mut NothingRemembered,
        )
        .unwrap();
    assert_eq!(
        enactment.next(Time(SECOND)),
        Action::Wait(Some(Time(3 * SECOND)))
    );
    enactment.stop();
    assert_eq!(enactment.next(Time(SECOND)), Action::Finished);
}

#[test]
fn an_end_that_is_told_twice_counts_once() {
    let mut enactment = chain(1).opened(&Options::default());
    let now = Time::default();
    let Action::Start(start) = enactment.next(now) else {
        panic!()
    };
    enactment
        .finished(start.task, success(1, 5), &[], now, &mut NothingRemembered)
        .unwrap();
    enactment
        .finished(start.task, success(1, 5), &[], now, &mut NothingRemembered)
        .unwrap();
    assert_eq!(
        (
            enactment.counts().executed,
            enactment.coordinator().memory_held()
        ),
        (1, 5)
    );
}

/// The cause of a blocked task is what failed, also when the task comes to be after the failure.
#[test]
fn a_task_of_a_later_round_names_the_failure_behind_it() {
    let flow = Flow::new()
        .one("s")
        .items("a", 1)
        .stage("P(a) -> b")
        .stage("Q(b) -> c")
        .stage("S(s) -> list*")
        .stage("T(list, c) -> t")
        .iterate("cross(list, c)")
        .output("t");
    let mut play = Play::default()
        .fails(|address, _| address == "P[0]")
        .seconds(|address, _| if address == "S" { 9 } else { 1 });
    let ran = flow.run(&Options::default(), &mut play);
    assert_eq!(ran.state("T[0-0]"), State::Blocked);
    let graph = ran.enactment.graph();
    let named = |wanted: &str| {
        graph
            .ids()
            .find(|task| crate::support::address(&ran.enactment, *task) == wanted)
            .unwrap()
    };
    assert_eq!(
        ran.enactment.coordinator().cause(named("T[1-0]")),
        Some(named("P[0]"))
    );
}

/// A task that somebody started and forgot keeps everything waiting: that is no end.
#[test]
fn a_simulation_that_cannot_go_on_says_so() {
    let flow = Flow::new().items("a", 2).stage("P(a) -> b");
    let mut enactment = flow.opened(&cores(1));
    let started = enactment.next(Time::default());
    assert!(matches!(started, Action::Start(_)), "{started:?}");
    let mut play = Play::default();
    let stuck = simulate(&mut enactment, &mut play, &mut NothingRemembered).unwrap_err();
    assert_eq!(
        stuck.to_string(),
        "nothing can go on at Time(0), and 2 tasks have not ended"
    );
}
