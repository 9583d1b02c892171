//! Demand goes backwards from what is wanted: what is remembered is not computed, and what only led there
//! neither.

use headwater_enact::{
    Action, Capacity, Enactment, Ending, NothingRemembered, Options, State, Time,
};

use crate::support::{Flow, Play, Ran, Remembers, address, success, values};

fn chain() -> Flow {
    Flow::new()
        .items("a", 1)
        .stage("P(a) -> b")
        .stage("Q(b) -> c")
        .stage("R(c) -> d")
}

fn remembering() -> Options {
    Options {
        remembers: true,
        ..Options::default()
    }
}

/// Runs with everything of an earlier run remembered for which `keep` says so.
fn again(flow: &Flow, keep: impl Fn(&str) -> bool, play: &mut Play) -> Ran {
    let first = flow.run_plainly();
    let mut recall = Remembers::from(&first, keep);
    flow.run_with(&remembering(), play, &mut recall)
}

#[test]
fn everything_remembered_executes_nothing() {
    let ran = again(&chain(), |_| true, &mut Play::default());
    assert_eq!(ran.story(), Vec::<String>::new());
    let counts = ran.enactment.counts();
    assert_eq!(
        (counts.tasks, counts.planned, counts.executed, counts.reused),
        (3, 0, 0, 3)
    );
    assert_eq!(ran.requested(), ["d[0] = R[0]"]);
}

/// Everything but the last product is gone: still nothing to do.
#[test]
fn what_only_led_to_something_remembered_is_not_executed() {
    let ran = again(&chain(), |address| address == "R[0]", &mut Play::default());
    assert_eq!(ran.story(), Vec::<String>::new());
    assert_eq!(
        (ran.state("P[0]"), ran.state("R[0]")),
        (State::Idle, State::Known)
    );
}

#[test]
fn the_last_parameter_changed_one_task() {
    let ran = again(&chain(), |address| address != "R[0]", &mut Play::default());
    assert_eq!(ran.story(), ["R[0] 0-1"]);
    let counts = ran.enactment.counts();
    assert_eq!((counts.planned, counts.executed, counts.reused), (1, 1, 2));
}

#[test]
fn changed_and_deleted_the_shortest_chain() {
    let ran = again(&chain(), |address| address == "P[0]", &mut Play::default());
    assert_eq!(ran.story(), ["Q[0] 0-1", "R[0] 1-2"]);
}

#[test]
fn known_inputs_are_brought_back_only_when_they_are_needed() {
    let first = chain().run_plainly();
    let mut recall = Remembers::from(&first, |address| address != "R[0]");
    let mut enactment = chain().enactment(&remembering());
    enactment.open(&mut recall).unwrap();
    let now = Time::default();
    let Action::Materialise(task) = enactment.next(now) else {
        panic!("Q has to come back")
    };
    assert_eq!(address(&enactment, task), "Q[0]");
    assert_eq!(enactment.next(now), Action::Wait(None));
    enactment.materialised(task, 7);
    assert_eq!(enactment.coordinator().memory_held(), 7);
    let Action::Start(start) = enactment.next(now) else {
        panic!("R has to start")
    };
    assert_eq!(address(&enactment, start.task), "R[0]");
    enactment
        .finished(start.task, success(1, 0), &[], now, &mut recall)
        .unwrap();
    assert_eq!(enactment.next(now), Action::Finished);
    assert_eq!(enactment.coordinator().memory_held(), 0);
}

#[test]
fn a_lost_product_is_computed_again_and_nothing_else() {
    let flow = chain().stage("S(c) -> e");
    let mut play = Play::default().loses(|address, _| address == "Q[0]");
    let ran = again(
        &flow,
        |address| matches!(address, "P[0]" | "Q[0]"),
        &mut play,
    );
    assert_eq!(ran.story(), ["Q[0] 0-1", "R[0] 1-2", "S[0] 1-2"]);
    let counts = ran.enactment.counts();
    assert_eq!(
        (
            counts.tasks,
            counts.planned,
            counts.executed,
            counts.recomputed
        ),
        (4, 3, 3, 1)
    );
}

#[test]
fn a_lost_chain_is_computed_again_from_what_is_left() {
    let mut play = Play::default().loses(|address, _| matches!(address, "P[0]" | "Q[0]"));
    let ran = again(&chain(), |address| address != "R[0]", &mut play);
    assert_eq!(ran.story(), ["P[0] 0-1", "Q[0] 1-2", "R[0] 2-3"]);
    assert_eq!(ran.enactment.counts().recomputed, 2);
}

/// The same product at two ports of a task.
#[test]
fn a_lost_product_that_is_read_twice() {
    let mut flow = Flow::new()
        .items("a", 1)
        .stage("P(a) -> b")
        .stage("Q(b, bb) -> c")
        .output("c");
    flow.workflow.stages[1].tasks[0]
        .inputs
        .insert("bb".into(), "b".into());
    for keep in ["P[0]", "none"] {
        let mut play = Play::default().loses(|_, _| true);
        let ran = again(&flow, |address| address == keep, &mut play);
        assert_eq!(ran.story(), ["P[0] 0-1", "Q[0] 1-2"]);
    }
    // The task that reads twice is itself the lost one.
    let flow = flow.stage("R(c) -> d").output("d");
    let mut play = Play::default().loses(|_, _| true);
    let ran = again(&flow, |address| address != "R[0]", &mut play);
    assert_eq!(ran.story(), ["P[0] 0-1", "Q[0] 1-2", "R[0] 2-3"]);
}

/// What is lost needs something that failed before: it is blocked, and so is its reader.
#[test]
fn a_lost_product_whose_maker_cannot_run_any_more() {
    let flow = Flow::new()
        .items("a", 1)
        .stage("W(a) -> w")
        .stage("X(w) -> x")
        .stage("V(w) -> v")
        .stage("R(x, v) -> r")
        .output("r");
    // X is remembered, V is not; W has to run for V and fails.
    let mut play = Play::default()
        .fails(|address, _| address == "W[0]")
        .loses(|_, _| true);
    let ran = again(&flow, |address| address == "X[0]", &mut play);
    assert_eq!(
        (ran.state("W[0]"), ran.state("V[0]"), ran.state("R[0]")),
        (State::Failed, State::Blocked, State::Blocked)
    );
    let counts = ran.enactment.counts();
    assert_eq!((counts.failed, counts.blocked, counts.executed), (1, 2, 0));
}

/// Two tasks read the same product. One finds it changed while the other runs, and by the time it would be made
/// again another run has made it: the other goes on with what it was given, and nobody fetches anything for it.
#[test]
fn a_product_lost_under_a_running_reader_may_be_found() {
    let flow = Flow::new()
        .items("a", 1)
        .stage("P(a) -> b")
        .stage("Q(b) -> c")
        .stage("R(b) -> d");
    let options = Options {
        capacity: Capacity::cores(3),
        ..remembering()
    };
    let mut enactment = flow.opened(&options);
    let now = Time::default();
    let started = |enactment: &mut Enactment| match enactment.next(now) {
        Action::Start(start) => start.task,
        other => panic!("{other:?}"),
    };
    let mut recall = NothingRemembered;
    let shared = started(&mut enactment);
    let outputs = values(&enactment, shared, 1);
    enactment
        .finished(shared, success(1, 1), &outputs, now, &mut recall)
        .unwrap();
    let readers = [started(&mut enactment), started(&mut enactment)];
    enactment.lost(shared, &mut recall).unwrap();
    assert_eq!(started(&mut enactment), shared);
    enactment
        .finished(shared, Ending::Found, &[], now, &mut recall)
        .unwrap();
    for reader in readers {
        let problems = enactment.coordinator().inspect(enactment.graph());
        assert!(problems.is_empty(), "{problems:?}");
        assert!(matches!(enactment.next(now), Action::Wait(None)));
        let outputs = values(&enactment, reader, 1);
        enactment
            .finished(reader, success(1, 1), &outputs, now, &mut recall)
            .unwrap();
    }
    assert!(matches!(enactment.next(now), Action::Finished));
    assert_eq!(enactment.counts().executed, 3);
}

/// A stage that runs one instance at a time, whose shared task is lost while another instance has its turn.
#[test]
fn a_lost_shared_task_does_not_wait_for_its_own_reader() {
    let flow = Flow::new()
        .one("k")
        .items("a", 2)
        .stage("S: t(k) -> b; u(a, b) -> c")
        .with(|stage| stage.concurrency = Some(1));
    let mut play = Play::default().loses(|_, _| true);
    let ran = again(
        &flow,
        |address| matches!(address, "S.t[0]" | "S.u[0]"),
        &mut play,
    );
    assert_eq!(ran.story(), ["S.t[0] 0-1", "S.u[1] 1-2"]);
}

#[test]
fn only_what_is_wanted_runs() {
    let flow = chain().stage("X(b) -> x").output("c");
    let ran = flow.run_plainly();
    assert_eq!(ran.ran(), ["P[0]", "Q[0]"]);
    assert_eq!(
        (ran.enactment.counts().tasks, ran.enactment.counts().reused),
        (2, 0)
    );
}

/// An output that nobody wants does not count as reused.
#[test]
fn a_task_of_a_needed_stage_that_nobody_needs() {
    let flow = Flow::new()
        .items("a", 1)
        .stage("S: t(a) -> b; u(a) -> c")
        .output("b");
    let ran = flow.run_plainly();
    assert_eq!(ran.ran(), ["S.t[0]"]);
    assert_eq!(
        (ran.enactment.counts().tasks, ran.enactment.counts().reused),
        (1, 0)
    );
}

#[test]
fn an_input_may_be_an_output() {
    let ran = Flow::new()
        .items("a", 2)
        .stage("P(a) -> b")
        .output("a")
        .run_plainly();
    assert_eq!(ran.requested(), ["a[0] = 'a0'", "a[1] = 'a1'"]);
    assert_eq!(ran.enactment.counts().tasks, 0);
}
