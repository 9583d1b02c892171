//! Cores and other counters are respected, and nobody starves.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_enact::{
    Action, Capacity, Enactment, Ending, NothingRemembered, Options, State, Time, simulate,
};
use headwater_graph::{Resources, TaskId};
use proptest::prelude::*;

use crate::support::{Flow, Play, Ran, Remembers, cores, success};

fn needs(list: &[(&str, u64)]) -> Resources {
    Resources(
        list.iter()
            .map(|(name, count)| ((*name).into(), *count))
            .collect(),
    )
}

/// The most of a counter that was taken at any moment.
fn most_taken(ran: &Ran, counter: &str) -> u64 {
    let graph = ran.enactment.graph();
    let need = |task: TaskId| {
        let resources = &graph.operation_at(task).signature.resources;
        let default = u64::from(counter == "cores");
        resources.0.get(counter).copied().unwrap_or(default)
    };
    let mut changes: BTreeMap<u64, i64> = BTreeMap::new();
    for done in ran.trace.tasks.iter().filter(|done| done.start < done.end) {
        *changes.entry(done.start.0).or_insert(0) += need(done.task) as i64;
        *changes.entry(done.end.0).or_insert(0) -= need(done.task) as i64;
    }
    let mut taken = 0;
    let mut most = 0;
    for change in changes.values() {
        taken += change;
        most = most.max(taken);
    }
    most as u64
}

#[test]
fn cores_are_used_fully_and_never_exceeded() {
    let flow = Flow::new().items("a", 6).stage("P(a) -> b");
    for count in 1..5 {
        let ran = flow.run(&cores(count), &mut Play::default());
        assert_eq!(most_taken(&ran, "cores"), count);
        assert_eq!(ran.seconds(), 6_u64.div_ceil(count));
    }
}

/// A task of four cores waits while small ones run, but they may not overtake it for ever.
#[test]
fn a_task_of_many_cores_does_not_starve() {
    let flow = Flow::new()
        .items("a", 40)
        .one("k")
        .stage("B(k) -> c")
        .operation(|signature| signature.resources = needs(&[("cores", 4)]))
        .stage("S(a) -> b");
    let mut play = Play::default().seconds(|address, _| 1 + address.len() as u64 % 3);
    let ran = flow.run(&cores(4), &mut play);
    assert_eq!(most_taken(&ran, "cores"), 4);
    assert!(ran.start("B") < 4, "it began at {}", ran.start("B"));
}

#[test]
fn other_counters_are_respected_and_hold_up_nobody_else() {
    let flow = Flow::new()
        .items("a", 4)
        .stage("G(a) -> b")
        .operation(|signature| signature.resources = needs(&[("gpu", 1)]))
        .stage("S(a) -> c");
    let mut options = Options::default();
    options.capacity.others.insert("gpu".into(), 2);
    let ran = flow.run(&options, &mut Play::default());
    assert_eq!(most_taken(&ran, "gpu"), 2);
    assert_eq!((ran.start("S[3]"), ran.seconds()), (0, 2));
}

#[test]
fn what_the_machine_does_not_have_is_refused_before_anything_runs() {
    let check = |resources: &[(&str, u64)], capacity: Capacity, message: &str, hint: &str| {
        let flow = Flow::new()
            .items("a", 1)
            .stage("P(a) -> b")
            .operation(|signature| signature.resources = needs(resources));
        let mut enactment = flow.enactment(&Options {
            capacity,
            ..Options::default()
        });
        let error = enactment.open(&mut NothingRemembered).unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.hint().unwrap().as_str()),
            (message, hint)
        );
    };
    check(
        &[("cores", 5)],
        Capacity::cores(4),
        "operation `P-P` asks for 5 of `cores`, but there is 4",
        "lower `cores` in `resources:`, or raise -j",
    );
    check(
        &[("memory", 101)],
        Capacity {
            memory: Some(100),
            ..Capacity::unlimited()
        },
        "operation `P-P` asks for 101 of `memory`, but there is 100",
        "lower `memory` in `resources:`, or raise --memory",
    );
    check(
        &[("gpu", 1)],
        Capacity::unlimited(),
        "operation `P-P` asks for 1 of `gpu`, but there is 0",
        "say how much there is with --resource gpu=N",
    );
}

/// A machine that is too small for a task can still use what a larger one remembered; if that is lost after
/// all, the task fails instead of waiting for ever.
#[test]
fn what_is_remembered_need_not_fit_the_machine() {
    let flow = Flow::new()
        .items("a", 1)
        .stage("P(a) -> b")
        .operation(|signature| signature.resources = needs(&[("cores", 5)]));
    let first = flow.run(&cores(8), &mut Play::default());
    let mut recall = Remembers::from(&first, |_| true);
    let mut enactment = flow.enactment(&Options {
        remembers: true,
        ..cores(4)
    });
    enactment.open(&mut recall).unwrap();
    let now = Time::default();
    assert_eq!(enactment.next(now), Action::Finished);
    let task = enactment.graph().ids().next().unwrap();
    enactment.lost(task, &mut recall).unwrap();
    assert_eq!(enactment.next(now), Action::Finished);
    assert_eq!(enactment.coordinator().state(task), State::Failed);
}

#[test]
fn the_longest_branch_goes_first() {
    let flow = Flow::new()
        .one("a")
        .stage("S(a) -> s")
        .stage("L1(a) -> x")
        .stage("L2(x) -> y")
        .stage("L3(y) -> z")
        .stage("J(s, z) -> j");
    let ran = flow.run(&cores(1), &mut Play::default());
    assert_eq!(
        ran.story(),
        ["L1 0-1", "L2 1-2", "L3 2-3", "S 3-4", "J 4-5"]
    );
}

/// Drives by hand, with batches.
fn drive_in_batches(enactment: &mut Enactment, workers: usize) -> (usize, usize) {
    let (mut largest, mut started) = (0, 0);
    let now = Time::default();
    loop {
        let mut batch = Vec::new();
        match enactment.next(now) {
            Action::Start(start) => {
                batch.push(start);
                enactment.ride_along(start.task, workers, &mut batch);
            }
            Action::Finished => return (largest, started),
            other => panic!("{other:?}"),
        }
        largest = largest.max(batch.len());
        started += batch.len();
        for start in batch {
            assert_eq!(enactment.coordinator().state(start.task), State::Running);
            let outcome = Ending::Success {
                memory: 0,
                elapsed: Duration::from_micros(1),
            };
            enactment
                .finished(start.task, outcome, &[], now, &mut NothingRemembered)
                .unwrap();
            assert_eq!(
                enactment.coordinator().inspect(enactment.graph()),
                Vec::<String>::new()
            );
        }
    }
}

#[test]
fn quick_tasks_ride_along() {
    let flow = Flow::new()
        .items("a", 200)
        .stage("P(a) -> b")
        .stage("Q(b) -> c");
    let mut enactment = flow.opened(&cores(2));
    let (largest, started) = drive_in_batches(&mut enactment, 2);
    assert_eq!(started, 400);
    assert!((2..=64).contains(&largest), "{largest}");
    // Not where a stage counts its instances.
    let flow = Flow::new()
        .items("a", 200)
        .stage("P(a) -> b")
        .with(|stage| stage.concurrency = Some(200));
    let mut enactment = flow.opened(&cores(2));
    assert_eq!(drive_in_batches(&mut enactment, 2), (1, 200));
}

#[test]
fn nobody_rides_along_with_a_slow_task() {
    let flow = Flow::new().items("a", 100).stage("P(a) -> b");
    let mut enactment = flow.opened(&cores(2));
    for _ in 0..3 {
        let Action::Start(start) = enactment.next(Time::default()) else {
            panic!()
        };
        let mut batch = vec![start];
        enactment.ride_along(start.task, 2, &mut batch);
        assert_eq!(batch.len(), 1);
        enactment
            .finished(
                start.task,
                success(1, 0),
                &[],
                Time::default(),
                &mut NothingRemembered,
            )
            .unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_counter_is_ever_exceeded(
        items in 1usize..8,
        core_needs in proptest::collection::vec(0u64..4, 3),
        gpu_needs in proptest::collection::vec(0u64..3, 3),
        delays in proptest::collection::vec(1u64..9, 16),
        capacity in 3u64..7,
    ) {
        let mut flow = Flow::new().items("d0", items);
        for (stage, (core_need, gpu_need)) in core_needs.iter().zip(&gpu_needs).enumerate() {
            flow = flow
                .stage(&format!("P{stage}(d{stage}) -> d{}", stage + 1))
                .operation(|signature| signature.resources = needs(&[("cores", *core_need), ("gpu", *gpu_need)]));
        }
        let mut options = cores(capacity);
        options.capacity.others.insert("gpu".into(), 2);
        let mut turn = 0;
        let mut play = Play::default().seconds(move |_, _| { turn += 1; delays[turn % delays.len()] });
        let mut enactment = flow.opened(&options);
        let trace = simulate(&mut enactment, &mut play, &mut NothingRemembered).unwrap();
        let ran = Ran { enactment, trace };
        prop_assert_eq!(ran.enactment.counts().executed, items * 3);
        prop_assert!(most_taken(&ran, "cores") <= capacity);
        prop_assert!(most_taken(&ran, "gpu") <= 2);
    }
}
