//! The memory budget: it is kept, nothing ever gets stuck, and few intermediates are alive.

use headwater_enact::{Action, Capacity, Enactment, NothingRemembered, Options, Time};
use headwater_graph::{Resources, TaskId};
use proptest::prelude::*;

use crate::random::{Dice, Hostility, check_end, drive, random_graph};
use crate::support::{Flow, Play, address, cores, success};

fn budget(cores: u64, memory: u64) -> Options {
    let capacity = Capacity {
        memory: Some(memory),
        ..Capacity::cores(cores)
    };
    Options {
        capacity,
        ..Options::default()
    }
}

/// Every task makes one image of one unit.
fn images() -> Play {
    Play::default().memory(|_, _| 1)
}

fn chain(items: usize, stages: usize) -> Flow {
    (0..stages).fold(Flow::new().items("d0", items), |flow, stage| {
        flow.stage(&format!("P{stage}(d{stage}) -> d{}", stage + 1))
            .operation(|signature| signature.resources = Resources([("memory".into(), 1)].into()))
    })
}

#[test]
fn a_budget_of_two_images_is_enough_for_chains() {
    for workers in 1..4 {
        let ran = chain(10, 4).run(&budget(workers, 2), &mut images());
        assert_eq!(ran.enactment.counts().executed, 40);
        assert_eq!(ran.enactment.counts().recomputed, 0);
        assert!(ran.trace.peak_memory <= 2, "{}", ran.trace.peak_memory);
        // Several workers begin more chains than fit; one does not.
        assert!(workers > 1 || ran.trace.spills == 0);
    }
}

/// A mean over ten images does not fit into two: what has to wait is written out, and the mean runs alone.
#[test]
fn a_budget_of_two_images_finishes_a_synchronisation() {
    let flow = chain(10, 2)
        .stage("M(d2*) -> m")
        .wait(headwater_graph::Wait::All);
    let ran = flow.run(&budget(2, 2), &mut images());
    assert_eq!(ran.enactment.counts().executed, 21);
    assert!(ran.trace.spills > 0);
    assert_eq!(ran.enactment.counts().recomputed, 0);
}

/// Where nothing can be written out, everything still ends.
#[test]
fn a_disk_that_is_full_stops_nobody() {
    let flow = chain(5, 2)
        .stage("M(d2*) -> m")
        .wait(headwater_graph::Wait::All);
    let mut enactment = flow.opened(&budget(2, 2));
    let hostility = Hostility {
        refuses: 100,
        ..Hostility::default()
    };
    let seen = drive(
        &mut enactment,
        &mut NothingRemembered,
        &|_| 1,
        hostility,
        &mut Dice::new(5),
    );
    check_end(&enactment, &seen);
    assert!(seen.oversized > 0);
    assert_eq!(enactment.counts().executed, 11);
}

#[test]
fn a_task_larger_than_the_budget_runs_alone_and_is_marked() {
    let flow = Flow::new()
        .items("a", 2)
        .stage("P(a) -> b")
        .stage("Q(b) -> c");
    let mut enactment = flow.opened(&budget(1, 10));
    let mut marked = Vec::new();
    let now = Time::default();
    loop {
        match enactment.next(now) {
            Action::Start(start) => {
                if start.oversized {
                    assert_eq!(enactment.coordinator().running(), 1, "it runs alone");
                    marked.push(address(&enactment, start.task));
                }
                enactment
                    .finished(start.task, success(1, 50), &[], now, &mut NothingRemembered)
                    .unwrap();
            }
            Action::Spill(task) => enactment.spilled(task, true),
            Action::Materialise(task) => enactment.materialised(task, 50),
            Action::Finished => break,
            other => panic!("{other:?}"),
        }
    }
    // The first of each kind is a surprise; what is known by then is marked.
    assert_eq!(marked, ["Q[0]", "P[1]", "Q[1]"]);
}

#[test]
fn a_fan_of_chains_keeps_as_many_images_as_workers() {
    for workers in 1..5 {
        let ran = chain(50, 4).run(&cores(workers), &mut images());
        assert!(
            ran.trace.peak_memory <= 2 * workers,
            "{} with {workers}",
            ran.trace.peak_memory
        );
    }
}

/// A binary tree of depth d over 2^d leaves: depth first needs about one image per level.
#[test]
fn a_tree_keeps_as_many_images_as_it_is_deep() {
    let depth = 7;
    let mut flow = Flow::new();
    for leaf in 0..1 << depth {
        flow = flow
            .one(&format!("x{leaf}"))
            .stage(&format!("L{leaf}(x{leaf}) -> n0-{leaf}"));
    }
    for level in 1..=depth {
        for node in 0..1 << (depth - level) {
            let (below, left, right) = (level - 1, 2 * node, 2 * node + 1);
            let name =
                format!("T{level}x{node}(n{below}-{left}, n{below}-{right}) -> n{level}-{node}");
            flow = flow.stage(&name);
        }
    }
    let ran = flow.run(&cores(1), &mut images());
    assert_eq!(ran.enactment.counts().executed, (2 << depth) - 1);
    assert!(
        ran.trace.peak_memory <= depth + 2,
        "{}",
        ran.trace.peak_memory
    );
}

#[test]
fn everything_is_released_once() {
    let flow = chain(3, 3);
    let mut enactment = flow.opened(&cores(2));
    headwater_enact::simulate(&mut enactment, &mut images(), &mut NothingRemembered).unwrap();
    let mut released = Vec::new();
    enactment.take_released(&mut released);
    released.sort();
    assert_eq!(released, enactment.graph().ids().collect::<Vec<TaskId>>());
    assert_eq!(enactment.coordinator().memory_held(), 0);
}

/// Any graph, any sizes, any budget: it ends; and as long as no task had to run alone, what is declared is kept.
fn check_within_budget(seed: u64, tasks: u64, sizes: &[u64], spare: u64, workers: u64) {
    let mut dice = Dice::new(seed);
    let (graph, ids) = random_graph(&mut dice, tasks, sizes, workers);
    let declared: Vec<u64> = graph
        .ids()
        .map(|task| graph.operation_at(task).signature.resources.memory())
        .collect();
    // Every task on its own is allowed at plan time; its inputs come on top.
    let limit = sizes.iter().max().copied().unwrap_or(0) + spare;
    let mut enactment = Enactment::of_graph(graph, budget(workers, limit));
    enactment.open_graph(&ids, &mut NothingRemembered).unwrap();
    let memory = |task: TaskId| declared[task.index()];
    let hostility = Hostility {
        refuses: dice.below(2) * 50,
        ..Hostility::default()
    };
    let seen = drive(
        &mut enactment,
        &mut NothingRemembered,
        &memory,
        hostility,
        &mut dice,
    );
    check_end(&enactment, &seen);
    assert_eq!(enactment.counts().recomputed, 0);
    if seen.oversized == 0 {
        assert!(seen.peak <= limit, "{} > {limit}", seen.peak);
    }
}

/// What comes back takes its place beside what the task makes, also for the first task of its operation.
#[test]
fn inputs_that_come_back_are_counted_beside_what_is_declared() {
    check_within_budget(8210369991390276744, 11, &[3, 0, 2], 6, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_graph_finishes_within_any_budget(
        seed in any::<u64>(),
        tasks in 1u64..60,
        sizes in proptest::collection::vec(0u64..6, 1..4),
        spare in 0u64..8,
        workers in 1u64..5,
    ) {
        check_within_budget(seed, tasks, &sizes, spare, workers);
    }
}
