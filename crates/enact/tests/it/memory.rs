//! The memory budget: it is kept, nothing ever gets stuck, and few intermediates are alive.

use std::sync::Arc;

use headwater_enact::{Action, Capacity, Enactment, NothingRemembered, Options, Time};
use headwater_graph::{
    Context, NewTask, Operation, Outputs, Resources, Scalar, ScalarType, Signature, Source,
    TaskGraph, TaskId, Type, Value,
};
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

/// Bytes of every product of a [`working_graph`].
const PRODUCT: u64 = 100;

/// Tasks that read up to two earlier ones, and need memory in proportion to that while they run.
fn working_graph(dice: &mut Dice, tasks: u64) -> (TaskGraph, Vec<TaskId>) {
    let mut graph = TaskGraph::new();
    let mut ids: Vec<TaskId> = Vec::new();
    for number in 0..tasks {
        let reach = (ids.len() as u64).min(6);
        let inputs = dice.below(3).min(reach);
        let percent = [0, 100, 300][dice.below(3) as usize];
        let mut signature = Signature::new(&format!("op-{inputs}-{percent}"), "1")
            .output("out", Type::Any)
            .parameter("n", ScalarType::Int, None);
        for name in ["a", "b"].iter().take(inputs as usize) {
            signature = signature.input(name, Type::Any).working(name, percent);
        }
        if inputs == 0 {
            // Nothing is read that its size could be guessed from.
            signature.resources.0.insert("memory".into(), PRODUCT);
        }
        let run = |_: &[Value], _: &[Scalar], _: &mut Context| Ok(Outputs::new());
        let operation = graph.operation(&Arc::new(Operation::native(signature, run)));
        let sources: Vec<(u16, Source)> = (0..inputs as u16)
            .map(|port| {
                let task = ids[ids.len() - 1 - dice.below(reach) as usize];
                (port, Source::Product { task, port: 0 })
            })
            .collect();
        let new = NewTask {
            operation,
            parameters: &[Scalar::Int(number as i64)],
            inputs: &sources,
            address: "",
        };
        ids.push(graph.add(&new).unwrap().0);
    }
    (graph, ids)
}

/// What a task of a [`working_graph`] adds while it runs: what it makes, and what it says it needs.
fn occupied(graph: &TaskGraph, task: TaskId) -> u64 {
    let ports = &graph.operation_at(task).signature.inputs;
    let working = ports
        .iter()
        .map(|port| PRODUCT * u64::from(port.working) / 100);
    PRODUCT + working.sum::<u64>()
}

/// Runs a [`working_graph`] within `limit` bytes; gives the most that tasks and products took, and whether one had to
/// run alone.
fn run_working(seed: u64, tasks: u64, limit: u64, workers: u64) -> (u64, bool) {
    let mut dice = Dice::new(seed);
    let (graph, ids) = working_graph(&mut dice, tasks);
    let mut enactment = Enactment::of_graph(graph, budget(workers, limit));
    enactment.open_graph(&ids, &mut NothingRemembered).unwrap();
    let mut running: Vec<TaskId> = Vec::new();
    let (mut peak, mut alone) = (0, false);
    let now = Time::default();
    loop {
        let problems = enactment.coordinator().inspect(enactment.graph());
        assert!(problems.is_empty(), "{problems:?}");
        match enactment.next(now) {
            Action::Start(start) => {
                running.push(start.task);
                assert!(!start.oversized || running.len() == 1, "it runs alone");
                alone |= start.oversized;
                let graph = enactment.graph();
                let taken: u64 = running.iter().map(|task| occupied(graph, *task)).sum();
                peak = peak.max(enactment.coordinator().memory_held() + taken);
            }
            Action::Spill(task) => enactment.spilled(task, true),
            Action::Materialise(task) => enactment.materialised(task, PRODUCT),
            Action::Wait(_) => {
                let place = dice.below(running.len() as u64) as usize;
                let task = running.swap_remove(place);
                enactment
                    .finished(task, success(1, PRODUCT), &[], now, &mut NothingRemembered)
                    .unwrap();
            }
            Action::Finished => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(running.is_empty());
    assert_eq!(enactment.counts().executed, tasks as usize);
    assert_eq!(enactment.coordinator().memory_promised(), 0);
    assert_eq!(enactment.coordinator().oversized().tasks > 0, alone);
    (peak, alone)
}

#[test]
fn working_memory_is_promised_while_a_task_runs() {
    let fan = |percent| {
        let mut flow = Flow::new().items("a", 6).stage("P(a) -> b");
        flow = flow.stage("Q(b) -> c").operation(|signature| {
            signature.resources = Resources([("memory".into(), PRODUCT)].into());
            signature.inputs[0].working = percent;
        });
        let mut play = Play::default().memory(|_, _| PRODUCT);
        let ran = flow.run(&budget(3, 1000), &mut play);
        assert_eq!(ran.enactment.counts().executed, 12);
        ran.trace
    };
    // Three at once, or one after the other: two would be 2 × (100 + 100 + 500).
    assert!(fan(0).makespan < fan(500).makespan);
}

/// Of what a task makes only the part that is read counts.
#[test]
fn sizes_are_those_of_the_output_that_is_read() {
    for (told, oversized) in [(true, false), (false, true)] {
        let mut graph = TaskGraph::new();
        let run = |_: &[Value], _: &[Scalar], _: &mut Context| Ok(Outputs::new());
        let makes = Signature::new("makes", "1")
            .output("large", Type::Any)
            .output("small", Type::Any);
        let reads = Signature::new("reads", "1")
            .input("small", Type::Any)
            .output("out", Type::Any)
            .working("small", 500);
        let makes = graph.operation(&Arc::new(Operation::native(makes, run)));
        let reads = graph.operation(&Arc::new(Operation::native(reads, run)));
        let new = |operation, inputs| NewTask {
            operation,
            parameters: &[],
            inputs,
            address: "",
        };
        let (maker, _) = graph.add(&new(makes, &[])).unwrap();
        let small = Source::Product {
            task: maker,
            port: 1,
        };
        let (reader, _) = graph.add(&new(reads, &[(0, small)])).unwrap();
        // 1,000 are held; 100 are made with 500 to work with.
        let mut enactment = Enactment::of_graph(graph, budget(1, 1600));
        enactment
            .open_graph(&[reader], &mut NothingRemembered)
            .unwrap();
        let now = Time::default();
        assert!(matches!(enactment.next(now), Action::Start(start) if start.task == maker));
        if told {
            enactment.measured(maker, [900, 100].into());
        }
        enactment
            .finished(maker, success(1, 1000), &[], now, &mut NothingRemembered)
            .unwrap();
        let action = enactment.next(now);
        assert!(matches!(action, Action::Start(start) if start.oversized == oversized));
    }
}

/// What is set aside is not for tasks; an operation that declares all there is may still run, alone.
#[test]
fn what_is_set_aside_is_not_promised() {
    let mut options = budget(2, 4);
    options.capacity.aside = 2;
    let ran = chain(10, 4).run(&options, &mut images());
    assert!(ran.trace.peak_memory <= 2, "{}", ran.trace.peak_memory);
    let all = Flow::new()
        .items("a", 2)
        .stage("P(a) -> b")
        .operation(|signature| signature.resources = Resources([("memory".into(), 4)].into()));
    let ran = all.run(&options, &mut images());
    assert_eq!(ran.enactment.counts().executed, 2);
    assert_eq!(ran.enactment.coordinator().oversized().tasks, 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// What tasks need while they run counts like what they make; any budget ends.
    #[test]
    fn working_memory_stays_within_any_budget(
        seed in any::<u64>(),
        tasks in 1u64..50,
        limit in 100u64..3000,
        workers in 1u64..5,
    ) {
        let (peak, alone) = run_working(seed, tasks, limit, workers);
        prop_assert!(alone || peak <= limit, "{peak} > {limit}");
    }

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
