//! Random workflows and graphs, driven by a driver that ends things in any order, fails them, loses them
//! and refuses to write them out, with all of the coordinator's own counts checked after every step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use headwater_enact::{
    Action, Backoff, Capacity, Enactment, Ending, Match, Options, Parallelism, Recall, State, Time,
};
use headwater_graph::{
    Context, Digest, Identity, NewTask, Operation, Outputs, Recipe, Scalar, ScalarType, Signature,
    Source, TaskGraph, TaskId, Tolerance, Type, Value, Wait,
};
use proptest::prelude::*;

use crate::support::{Flow, Remembers, values};

/// Numbers from a seed.
#[derive(Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed | 1)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit.max(1)
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// How hostile the world is, in percent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hostility {
    pub(crate) fails: u64,
    pub(crate) loses: u64,
    pub(crate) refuses: u64,
    pub(crate) spoils: u64,
}

/// What a driver saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) successes: BTreeMap<TaskId, usize>,
    pub(crate) starts: usize,
    pub(crate) oversized: usize,
    pub(crate) spills: usize,
    pub(crate) found: usize,
    pub(crate) taken: usize,
    pub(crate) spoiled: usize,
    pub(crate) peak: u64,
}

enum Pending {
    Compare(Vec<TaskId>),
    Run(TaskId),
    /// It is past the point where it could be put back.
    Body(TaskId),
    Load(TaskId),
    Spill(TaskId),
}

/// What a task makes is settled by its content key; many make the same.
fn contents(enactment: &Enactment, task: TaskId, key: &Recipe) -> Vec<Identity> {
    let outputs = &enactment.graph().operation_at(task).signature.outputs;
    let content = |port: usize| Identity::Value(Digest::of(&[key.0[0] % 3, port as u8]));
    (0..outputs.len()).map(content).collect()
}

/// Does with the outputs in memory what whoever drives an enactment has to.
fn pass_on(enactment: &mut Enactment, here: &mut BTreeSet<TaskId>) {
    let (mut shared, mut released) = (Vec::new(), Vec::new());
    enactment.take_shared(&mut shared);
    for (task, from) in shared {
        assert!(here.contains(&from), "{task} shares {from}, which is gone");
        here.insert(task);
    }
    enactment.take_released(&mut released);
    released.iter().for_each(|task| {
        here.remove(task);
    });
}

/// Some of the inputs of `reader` turn out to be no longer what was made.
fn spoil(
    enactment: &mut Enactment,
    recall: &mut dyn Recall,
    reader: TaskId,
    here: &mut BTreeSet<TaskId>,
    dice: &mut Dice,
) -> usize {
    let mut spoiled = BTreeSet::new();
    enactment.graph().for_each_input_task(reader, |input| {
        if here.contains(&input) && dice.percent(70) {
            spoiled.insert(input);
        }
    });
    for task in &spoiled {
        enactment.lost(*task, recall).unwrap();
        let state = enactment.coordinator().state(*task);
        if !matches!(state, State::Done | State::Known) {
            here.remove(task);
        }
    }
    spoiled.len()
}

/// Nobody but `reader` has to read the outputs of `task`.
fn check_alone(enactment: &Enactment, task: TaskId, reader: TaskId) {
    let (graph, coordinator) = (enactment.graph(), enactment.coordinator());
    for other in graph.ids().filter(|other| *other != reader) {
        if !coordinator.state(other).is_settled() {
            graph.for_each_input_task(other, |input| {
                assert_ne!(input, task, "{reader} takes what {other} has to read");
            });
        }
    }
}

/// Drives to the end, ending what is under way in random order; checks everything after every step.
pub(crate) fn drive(
    enactment: &mut Enactment,
    recall: &mut dyn Recall,
    memory: &dyn Fn(TaskId) -> u64,
    hostility: Hostility,
    dice: &mut Dice,
) -> Seen {
    let mut seen = Seen::default();
    let mut pending: Vec<Pending> = Vec::new();
    let mut here: BTreeSet<TaskId> = BTreeSet::new();
    let mut now = Time::default();
    // Losses must come to an end, or nothing does.
    let mut losses = 20;
    let compares = enactment.coordinator().compares();
    for _ in 0..200_000 {
        let problems = enactment.coordinator().inspect(enactment.graph());
        assert!(problems.is_empty(), "{problems:?}");
        seen.peak = seen.peak.max(enactment.coordinator().memory_held());
        pass_on(enactment, &mut here);
        match enactment.next(now) {
            Action::Start(start) => {
                enactment.graph().for_each_input_task(start.task, |input| {
                    assert!(
                        here.contains(&input),
                        "{} starts without {input}",
                        start.task
                    );
                });
                seen.starts += 1;
                seen.oversized += usize::from(start.oversized);
                pending.push(Pending::Run(start.task));
                continue;
            }
            Action::Materialise(task) => {
                pending.push(Pending::Load(task));
                continue;
            }
            Action::Spill(task) => {
                seen.spills += 1;
                pending.push(Pending::Spill(task));
                continue;
            }
            Action::Compare => {
                let mut tasks = Vec::new();
                enactment.take_comparisons(&mut tasks);
                assert!(!tasks.is_empty());
                pending.push(Pending::Compare(tasks));
                continue;
            }
            Action::Finished => {
                assert!(pending.is_empty());
                return seen;
            }
            Action::Wait(until) => {
                if pending.is_empty() {
                    now = now.max(until.expect("nothing is under way, and nothing is due: stuck"));
                    continue;
                }
            }
        }
        match pending.swap_remove(dice.below(pending.len() as u64) as usize) {
            Pending::Compare(tasks) => {
                for input in enactment.unidentified(&tasks) {
                    let key = enactment.stored_as(input);
                    let contents = contents(enactment, input, &key);
                    enactment.identify(input, contents);
                }
                for task in tasks {
                    let key = enactment.content_key(task).expect("all is identified");
                    let found = key.0[1].is_multiple_of(8).then(|| Match {
                        recipe: key,
                        outputs: contents(enactment, task, &key),
                    });
                    enactment.compared(task, Some(key), found, recall).unwrap();
                }
            }
            Pending::Run(task) => {
                let signature = &enactment.graph().operation_at(task).signature;
                let (implicit, pure) = (signature.implicit, signature.pure);
                if compares && pure && !implicit && dice.percent(15) {
                    // Another run is at it, or has done it.
                    let outcome = if dice.percent(70) {
                        Ending::Busy
                    } else {
                        Ending::Found
                    };
                    seen.found += usize::from(outcome == Ending::Found);
                    enactment.finished(task, outcome, &[], now, recall).unwrap();
                    continue;
                }
                if losses > 0 && dice.percent(hostility.spoils) {
                    // It cannot begin with what it was given.
                    losses -= 1;
                    now = now + Duration::from_millis(dice.below(40));
                    let busy = Ending::Busy;
                    enactment.finished(task, busy, &[], now, recall).unwrap();
                    seen.spoiled += spoil(enactment, recall, task, &mut here, dice);
                    continue;
                }
                pending.push(Pending::Body(task));
                if dice.percent(50) {
                    let mut inputs = Vec::new();
                    enactment.graph().for_each_input_task(task, |input| {
                        if dice.percent(70) {
                            inputs.push(input);
                        }
                    });
                    let held = enactment.coordinator().memory_held();
                    let promised = enactment.coordinator().memory_promised();
                    enactment.take_inputs(task, &mut inputs);
                    let coordinator = enactment.coordinator();
                    let freed = held - coordinator.memory_held();
                    if coordinator.memory_for_tasks() < u64::MAX {
                        assert_eq!(coordinator.memory_promised(), promised + freed);
                    }
                    for input in &inputs {
                        check_alone(enactment, *input, task);
                        assert!(here.remove(input), "{input} was not there");
                    }
                    seen.taken += inputs.len();
                }
            }
            Pending::Body(task) => {
                now = now + Duration::from_millis(dice.below(700));
                let implicit = enactment.graph().operation_at(task).signature.implicit;
                if !implicit && dice.percent(hostility.fails) {
                    let outcome = if dice.percent(20) {
                        Ending::Fatal
                    } else {
                        Ending::Failure
                    };
                    enactment.finished(task, outcome, &[], now, recall).unwrap();
                } else {
                    *seen.successes.entry(task).or_insert(0) += 1;
                    here.insert(task);
                    let elapsed = Duration::from_millis(dice.below(3));
                    let outcome = Ending::Success {
                        memory: memory(task),
                        elapsed,
                    };
                    // The length must not depend on the order of things.
                    let length = enactment.graph().recipe(task).0[0] as usize % 4;
                    let outputs = values(enactment, task, length);
                    let key = enactment.compared_by(task).copied();
                    let key = key.unwrap_or_else(|| enactment.graph().recipe(task));
                    let contents = contents(enactment, task, &key);
                    enactment.identify(task, contents);
                    enactment
                        .finished(task, outcome, &outputs, now, recall)
                        .unwrap();
                }
                if losses > 0 && dice.percent(hostility.spoils) {
                    // It has written to what it read.
                    losses -= 1;
                    seen.spoiled += spoil(enactment, recall, task, &mut here, dice);
                }
            }
            Pending::Load(task) => {
                if losses > 0 && dice.percent(hostility.loses) {
                    losses -= 1;
                    enactment.lost(task, recall).unwrap();
                } else {
                    enactment.materialised(task, memory(task));
                    here.insert(task);
                }
            }
            Pending::Spill(task) => {
                let written = !dice.percent(hostility.refuses);
                if written {
                    here.remove(&task);
                }
                enactment.spilled(task, written);
            }
        }
    }
    panic!("it does not come to an end");
}

/// What has to hold at the end of a run that was not stopped.
pub(crate) fn check_end(enactment: &Enactment, seen: &Seen) {
    let coordinator = enactment.coordinator();
    for task in enactment.graph().ids() {
        let state = coordinator.state(task);
        assert!(state.is_settled(), "{task} is {state:?}");
        let inputs_failed = !enactment.failed_inputs(task).is_empty();
        if matches!(state, State::Blocked) {
            assert!(inputs_failed, "{task} is blocked for no reason");
            let cause = coordinator.cause(task).expect("a cause");
            assert_eq!(coordinator.state(cause), State::Failed);
        }
    }
    assert_eq!(coordinator.memory_held(), 0);
    assert_eq!(coordinator.memory_promised(), 0);
    let counts = enactment.counts();
    assert_eq!((counts.left(), counts.ended()), (0, counts.planned));
    assert!(counts.planned <= counts.tasks);
    let implicit = |task: &TaskId| enactment.graph().operation_at(*task).signature.implicit;
    let successes = seen.successes.iter().filter(|(task, _)| !implicit(task));
    let again: usize = successes.map(|(_, count)| count - 1).sum();
    assert!(
        again <= counts.recomputed,
        "{again} ran again, {} were recomputed",
        counts.recomputed
    );
    for requested in enactment.requested() {
        requested.source.for_each_task(&mut |task| {
            assert_ne!(
                coordinator.state(task),
                State::Idle,
                "nobody computed {requested:?}"
            );
        });
    }
}

/// A graph whose tasks read up to three earlier ones; `operations` operations, each with a declared memory.
pub(crate) fn random_graph(
    dice: &mut Dice,
    tasks: u64,
    declared: &[u64],
    cores: u64,
) -> (TaskGraph, Vec<TaskId>) {
    let mut graph = TaskGraph::new();
    let mut ids: Vec<TaskId> = Vec::new();
    let mut operations = Vec::new();
    for (number, memory) in declared.iter().enumerate() {
        for inputs in 0..=3 {
            let mut signature = Signature::new(&format!("op{number}-{inputs}"), "1")
                .output("out", Type::Any)
                .parameter("n", ScalarType::Int, None);
            for input in 0..inputs {
                signature = signature.input(&format!("in{input}"), Type::Any);
            }
            if *memory > 0 {
                signature.resources.0.insert("memory".into(), *memory);
            }
            signature
                .resources
                .0
                .insert("cores".into(), 1 + dice.below(cores));
            signature.implicit = dice.percent(10);
            let run = |_: &[Value], _: &[Scalar], _: &mut Context| Ok(Outputs::new());
            operations.push(Arc::new(Operation::native(signature, run)));
        }
    }
    for number in 0..tasks {
        let inputs = dice.below(4).min(ids.len() as u64);
        let sources: Vec<(u16, Source)> = (0..inputs)
            .map(|port| {
                // Mostly recent ones, so that there are chains; sometimes the same one twice.
                let reach = (ids.len() as u64).min(1 + dice.below(12));
                let task = ids[ids.len() - 1 - dice.below(reach) as usize];
                (port as u16, Source::Product { task, port: 0 })
            })
            .collect();
        let operation = &operations[(dice.below(declared.len() as u64) * 4 + inputs) as usize];
        let operation = graph.operation(operation);
        let parameters = &[Scalar::Int(number as i64 % 5)];
        let new = NewTask {
            operation,
            parameters,
            inputs: &sources,
            address: "",
        };
        ids.push(graph.add(&new).unwrap().0);
    }
    (graph, ids)
}

pub(crate) fn random_options(dice: &mut Dice) -> Options {
    let remembers = dice.percent(60);
    let mut options = Options {
        capacity: Capacity::cores(1 + dice.below(4)),
        retries: dice.below(3) as u32,
        backoff: Backoff {
            first: Duration::from_millis(300),
            longest: Duration::from_secs(1),
        },
        remembers,
        compares: remembers && dice.percent(60),
        ..Options::default()
    };
    options.parallelism = Parallelism {
        workflow: dice.percent(70),
        data: dice.percent(70),
        pipelining: dice.percent(70),
    };
    if dice.percent(75) {
        options.capacity.memory = Some(dice.below(40));
    }
    options
}

/// A workflow of random stages over whatever data there is by then.
fn random_flow(dice: &mut Dice) -> Flow {
    let mut flow = Flow::new()
        .items("i0", 1 + dice.below(4) as usize)
        .items("i1", dice.below(4) as usize)
        .one("i2");
    let mut plain: Vec<String> = ["i0", "i1", "i2"].map(str::to_owned).to_vec();
    let mut lists: Vec<String> = Vec::new();
    let stages = 2 + dice.below(6);
    for number in 0..stages {
        let from_list = !lists.is_empty() && dice.percent(40);
        let pool = if from_list { &lists } else { &plain };
        let first = pool[dice.below(pool.len() as u64) as usize].clone();
        let second = plain[dice.below(plain.len() as u64) as usize].clone();
        let two = dice.percent(45) && second != first;
        let makes_list = dice.percent(25);
        let star = if makes_list { "*" } else { "" };
        let waits = dice.percent(25);
        let gather = if waits { "*" } else { "" };
        let inputs = if two {
            format!("{first}{gather}, {second}{gather}")
        } else {
            format!("{first}{gather}")
        };
        let out = format!("o{number}");
        let line = if dice.percent(30) {
            format!("s{number}: t({inputs}) -> x{number}; u(x{number}) -> {out}{star}")
        } else {
            format!("s{number}({inputs}) -> {out}{star}")
        };
        flow = flow.stage(&line);
        if dice.percent(15) {
            let at = flow.signatures.len()
                - 1
                - dice.below(2).min(flow.signatures.len() as u64 - 1) as usize;
            flow.signatures[at].pure = false;
        }
        if waits {
            flow = flow.wait(Wait::All);
            if dice.percent(40) {
                flow = flow.with(|stage| stage.tolerate = Some(Tolerance::Percent(60.0)));
            }
        } else if two {
            flow = if dice.percent(70) {
                flow.iterate(&format!("cross({first}, {second})"))
            } else {
                flow.iterate(&format!("dot({first}, {second})"))
            };
        }
        if dice.percent(20) && number > 0 {
            let before = format!("s{}", dice.below(number));
            flow = flow.after(&[&before]);
        }
        if dice.percent(20) {
            let limit = 1 + dice.below(2) as u32;
            flow = flow.with(|stage| stage.concurrency = Some(limit));
        }
        // Sometimes two stages do the same.
        if dice.percent(15) && number > 0 {
            let (earlier, last) = flow.workflow.stages.split_at_mut(number as usize);
            let twin = &earlier[dice.below(number) as usize];
            let own = last[0].tasks.len() == 1 && twin.tasks.len() == 1;
            if own
                && twin.wait == last[0].wait
                && twin.tasks[0].inputs.len() == last[0].tasks[0].inputs.len()
            {
                let port = twin.tasks[0].outputs.keys().next().unwrap().clone();
                last[0].tasks[0].operation = Arc::clone(&twin.tasks[0].operation);
                last[0].tasks[0].inputs = twin.tasks[0].inputs.clone();
                last[0].iterate = twin.iterate.clone();
                last[0].tasks[0].outputs = [(port, out.as_str().into())].into();
            }
        }
        let operation = Arc::clone(
            &flow.workflow.stages[number as usize]
                .tasks
                .last()
                .unwrap()
                .operation,
        );
        let signature = flow
            .signatures
            .iter()
            .find(|signature| signature.name == operation)
            .unwrap();
        match signature.outputs[0].port_type.element() {
            Some(_) => lists.push(out),
            None => plain.push(out),
        }
    }
    flow
}

/// How often the rarer things happened.
#[derive(Debug, Default)]
struct Coverage {
    runs: usize,
    rounds: usize,
    blocked: usize,
    recomputed: usize,
    spills: usize,
    errors: usize,
    cut_off: usize,
    found: usize,
    taken: usize,
    spoiled: usize,
}

fn play_workflow(seed: u64, coverage: &mut Coverage) {
    let mut dice = Dice::new(seed);
    let flow = random_flow(&mut dice);
    let options = random_options(&mut dice);
    let Ok(expander) = flow.expander() else {
        return;
    };
    let mut enactment = Enactment::of_workflow(expander, options.clone());
    let mut recall = Remembers {
        recipes: Default::default(),
        length: Some(2),
    };
    if enactment.open(&mut recall).is_err() {
        return;
    }
    let hostility = Hostility {
        fails: [0, 0, 15][dice.below(3) as usize],
        loses: 50,
        refuses: 20,
        spoils: [0, 20][dice.below(2) as usize],
    };
    let memory = |task: TaskId| u64::from(task.0 % 7);
    let seen = drive(&mut enactment, &mut recall, &memory, hostility, &mut dice);
    check_end(&enactment, &seen);
    assert!(
        enactment.expander().unwrap().is_complete(),
        "some stage waits for ever"
    );
    let counts = enactment.counts();
    coverage.runs += 1;
    coverage.rounds += usize::from(enactment.rounds() > 1);
    coverage.blocked += usize::from(counts.blocked > 0);
    coverage.recomputed += usize::from(counts.recomputed > 0);
    coverage.spills += usize::from(seen.spills > 0);
    coverage.cut_off += usize::from(counts.cut_off > 0);
    let is_found = |task| enactment.coordinator().is_found(task);
    coverage.found += usize::from(enactment.graph().ids().any(is_found));
    coverage.taken += usize::from(seen.taken > 0);
    coverage.spoiled += usize::from(seen.spoiled > 0);
    coverage.errors += usize::from(!enactment.errors().is_empty());
    // A second time, some of it remembered.
    let graph = enactment.graph();
    let kept = |task: &TaskId| {
        enactment.coordinator().state(*task) == State::Done
            && !graph.operation_at(*task).signature.implicit
    };
    recall.recipes = graph
        .ids()
        .filter(kept)
        .filter(|_| dice.percent(70))
        .map(|task| graph.recipe(task))
        .collect();
    // What is remembered of a list says how long it is; here that is not known, so it is made again.
    recall.length = None;
    let mut again = Enactment::of_workflow(flow.expander().unwrap(), options);
    if again.open(&mut recall).is_ok() {
        let seen = drive(&mut again, &mut recall, &memory, hostility, &mut dice);
        check_end(&again, &seen);
        assert!(again.expander().unwrap().is_complete());
    }
}

#[test]
fn random_workflows_in_a_hostile_world() {
    let mut coverage = Coverage::default();
    for seed in 0..1500u64 {
        play_workflow(0x9e37_79b9_7f4a_7c15 ^ (seed << 20), &mut coverage);
    }
    // Most of the random workflows have to make sense, and the rarer things have to happen.
    assert!(coverage.runs > 700, "{coverage:?}");
    let rare = [
        coverage.rounds,
        coverage.blocked,
        coverage.recomputed,
        coverage.spills,
        coverage.errors,
        coverage.cut_off,
        coverage.found,
        coverage.taken,
        coverage.spoiled,
    ];
    assert!(rare.iter().all(|count| *count > 20), "{coverage:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_graphs_in_a_hostile_world(seed in any::<u64>(), tasks in 1u64..60) {
        let mut dice = Dice::new(seed);
        let options = random_options(&mut dice);
        let cores = options.capacity.cores;
        let (graph, ids) = random_graph(&mut dice, tasks, &[0, 0], cores);
        let known = Remembers {
            recipes: ids.iter().filter(|_| dice.percent(20)).map(|task| graph.recipe(*task)).collect(),
            length: Some(2),
        };
        let mut recall = known;
        let wanted: Vec<TaskId> = ids.iter().rev().step_by(3).copied().collect();
        let mut enactment = Enactment::of_graph(graph, options);
        enactment.open_graph(&wanted, &mut recall).unwrap();
        let hostility = Hostility { fails: 10, loses: 30, refuses: 30, spoils: 20 };
        let memory = |task: TaskId| u64::from(task.0 % 5);
        let seen = drive(&mut enactment, &mut recall, &memory, hostility, &mut dice);
        check_end(&enactment, &seen);
    }

    /// Stopped at any moment, it finishes with what runs.
    #[test]
    fn stopping_at_any_moment(seed in any::<u64>(), tasks in 1u64..40, moment in 0u64..40) {
        let mut dice = Dice::new(seed);
        let options = random_options(&mut dice);
        let cores = options.capacity.cores;
        let (graph, ids) = random_graph(&mut dice, tasks, &[0], cores);
        let mut recall = headwater_enact::NothingRemembered;
        let mut enactment = Enactment::of_graph(graph, options);
        enactment.open_graph(&ids, &mut recall).unwrap();
        for _ in 0..moment {
            match enactment.next(Time::default()) {
                Action::Start(start) => {
                    let outcome = Ending::Success { memory: 3, elapsed: Duration::ZERO };
                    enactment.finished(start.task, outcome, &[], Time::default(), &mut recall).unwrap();
                }
                Action::Spill(task) => enactment.spilled(task, true),
                Action::Materialise(task) => enactment.materialised(task, 3),
                Action::Compare => {
                    let mut tasks = Vec::new();
                    enactment.take_comparisons(&mut tasks);
                    for task in tasks {
                        enactment.compared(task, None, None, &mut recall).unwrap();
                    }
                }
                Action::Wait(_) | Action::Finished => {}
            }
        }
        enactment.stop();
        drive(&mut enactment, &mut recall, &|_| 1, Hostility::default(), &mut dice);
    }
}
