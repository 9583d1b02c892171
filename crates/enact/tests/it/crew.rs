//! Many nodes in virtual time: what they get done, and what becomes of it when some are lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use headwater_enact::crew::{
    Crew, CrewRules, CrewTrace, DataId, NodeFacts, NodeId, Order, SimulatedNode, Trouble, Unit,
    UnitId, simulate_crew,
};
use headwater_enact::{Done, Enactment, NothingRemembered, Options, Start, Time, World};
use headwater_graph::{
    Context, External, Identity, NewTask, Operation, Outputs, Scalar, ScalarType, Signature,
    Source, TaskGraph, TaskId, Type, Value, value_digest,
};
use proptest::prelude::*;

fn operation(signature: Signature) -> Arc<Operation> {
    let run = |_: &[Value], _: &[Scalar], _: &mut Context| Ok(Outputs::new());
    Arc::new(Operation::native(signature, run))
}

/// Chains of tasks, which begin with one task that all of them share if `shared`.
fn chains(count: usize, length: usize, shared: bool) -> (Enactment, Vec<TaskId>) {
    let mut graph = TaskGraph::new();
    let signature = Signature::new("step", "1")
        .input("from", Type::Text)
        .output("to", Type::Text)
        .parameter("number", ScalarType::Int, None);
    let step = graph.operation(&operation(signature));
    let value = Value::Text("start".into());
    let start = graph.external(External {
        identity: Identity::Value(value_digest(&value)),
        value,
    });
    let mut add = |source: Source, number: usize| {
        let new = NewTask {
            operation: step,
            parameters: &[Scalar::Int(number as i64)],
            inputs: &[(0, source)],
            address: "",
        };
        graph.add(&new).expect("it fits").0
    };
    let from = |task| Source::Product { task, port: 0 };
    let first = shared.then(|| add(start.clone(), 0));
    let mut wanted = Vec::new();
    for chain in 0..count {
        let mut source = first.map_or_else(|| start.clone(), from);
        let mut last = None;
        for place in 0..length {
            let task = add(source, 1 + chain * length + place);
            source = from(task);
            last = Some(task);
        }
        wanted.extend(last);
    }
    let mut enactment = Enactment::of_graph(graph, Options::default());
    enactment
        .open_graph(&wanted, &mut NothingRemembered)
        .expect("it can be planned");
    (enactment, wanted)
}

/// Tasks take between one and two times a time, by their number; outputs have some bytes.
struct Steady {
    time: Duration,
    bytes: u64,
}

impl World for Steady {
    fn run(&mut self, enactment: &Enactment, start: &Start) -> Done {
        let recipe = enactment.graph().recipe(start.task);
        let share = f64::from(recipe.0[0]) / 255.0;
        Done {
            duration: self.time.mul_f64(1.0 + share),
            outputs: Some(vec![Value::Text("x".into())]),
            memory: self.bytes,
        }
    }
}

fn second(number: u64) -> Time {
    Time(number * 1_000_000_000)
}

fn run(enactment: &mut Enactment, nodes: &[SimulatedNode], world: &mut dyn World) -> CrewTrace {
    let rules = CrewRules::default();
    let ran = simulate_crew(enactment, nodes, rules, world, &mut NothingRemembered);
    let trace = ran.expect("it comes to its end");
    let tally = enactment.counts();
    assert_eq!((tally.failed, tally.blocked, tally.left()), (0, 0, 0));
    trace
}

fn efficiency(trace: &CrewTrace, cores: u64) -> f64 {
    trace.busy.as_secs_f64() / (trace.makespan.0 as f64 / 1e9 * cores as f64)
}

const SECONDS: Steady = Steady {
    time: Duration::from_secs(1),
    bytes: 1_000_000,
};

#[test]
fn four_sixty_four_and_many_nodes_are_kept_busy() {
    for (nodes, cores) in [(4, 2), (64, 4), (256, 4)] {
        let chains_each = 12;
        let (mut enactment, _) = chains(nodes * cores * chains_each, 3, true);
        let all: Vec<_> = (0..nodes)
            .map(|_| SimulatedNode::new(cores as u64))
            .collect();
        let trace = run(&mut enactment, &all, &mut { SECONDS });
        assert_eq!(trace.begun, nodes * cores * chains_each * 3 + 1);
        assert_eq!((trace.lost, trace.late), (0, 0));
        let efficiency = efficiency(&trace, (nodes * cores) as u64);
        assert!(efficiency > 0.9, "{nodes} nodes: {efficiency}");
    }
}

#[test]
fn what_one_task_makes_is_read_where_it_is() {
    let (mut enactment, _) = chains(64, 10, false);
    let nodes: Vec<_> = (0..8).map(|_| SimulatedNode::new(2)).collect();
    // A gigabyte, which takes as long as a task.
    let mut world = Steady {
        time: Duration::from_secs(1),
        bytes: 1_000_000_000,
    };
    let trace = run(&mut enactment, &nodes, &mut world);
    let read = 64 * 9 * 1_000_000_000_u64;
    assert!(
        trace.moved * 5 < read,
        "{} of {read} bytes moved",
        trace.moved
    );
}

#[test]
fn a_node_that_dies_costs_what_it_had_and_what_nobody_else_has() {
    for when in [1, 3, 10, 40] {
        let (mut enactment, _) = chains(64, 5, false);
        let mut nodes: Vec<_> = (0..4).map(|_| SimulatedNode::new(2)).collect();
        nodes[1].troubles.push(Trouble::Dies(second(when)));
        let trace = run(&mut enactment, &nodes, &mut { SECONDS });
        assert!(
            trace.lost <= 4,
            "at most what runs and what comes next: {}",
            trace.lost
        );
        // Chains that were there are begun anew, as far as they are still needed.
        let again = trace.begun - 64 * 5;
        assert!(
            again <= trace.lost + 4 * 5,
            "{again} begun again after {when} s"
        );
    }
}

#[test]
fn a_node_that_is_cut_off_or_stands_still_is_replaced_and_may_come_back() {
    let span = (second(5), second(60));
    for trouble in [
        Trouble::CutOff(span.0, span.1),
        Trouble::Stands(span.0, span.1),
    ] {
        let (mut enactment, _) = chains(200, 2, false);
        let mut nodes: Vec<_> = (0..4).map(|_| SimulatedNode::new(2)).collect();
        nodes[0].troubles.push(trouble);
        let trace = run(&mut enactment, &nodes, &mut { SECONDS });
        assert_eq!(
            trace.ended,
            enactment.counts().executed + trace.ended - 400,
            "{trouble:?}"
        );
        assert!(
            trace.lost > 0 && trace.lost <= 4,
            "{trouble:?}: {}",
            trace.lost
        );
        // Three nodes have most of the work while the fourth is away.
        assert!(
            trace.makespan < second(110),
            "{trouble:?}: {:?}",
            trace.makespan
        );
    }
}

#[test]
fn a_slow_node_gets_less_and_is_not_waited_for() {
    let (mut enactment, _) = chains(100, 1, false);
    let mut nodes: Vec<_> = (0..4).map(|_| SimulatedNode::new(1)).collect();
    nodes[3].power = 0.1;
    let trace = run(&mut enactment, &nodes, &mut { SECONDS });
    // At 3.1 times the power of one, 100 tasks of 1.5 s take 48 s; one may be with the slow node at the end.
    assert!(trace.makespan < second(75), "{:?}", trace.makespan);
}

#[test]
fn no_task_is_killed_by_the_end_of_a_pilot() {
    let (mut enactment, _) = chains(300, 1, false);
    let mut nodes = Vec::new();
    for number in 0..12_u64 {
        let mut node = SimulatedNode::new(2);
        node.joins = second(number * 20);
        node.facts.until = Some(second(number * 20 + 100));
        nodes.push(node);
    }
    let trace = run(&mut enactment, &nodes, &mut { SECONDS });
    assert_eq!((trace.killed, trace.lost, trace.begun), (0, 0, 300));
}

fn facts(cores: u64) -> NodeFacts {
    SimulatedNode::new(cores).facts
}

fn unit(id: u64) -> Unit {
    Unit {
        id: UnitId(id),
        cores: 1,
        memory: 0,
        others: BTreeMap::new(),
        cost: Duration::from_secs(1),
        reads: Vec::new(),
    }
}

#[test]
fn what_a_node_does_not_have_it_does_not_get() {
    let mut crew = Crew::new(CrewRules::default());
    let now = Time::default();
    let plain = crew.joined(facts(4), now);
    let with = crew.joined(
        NodeFacts {
            others: [("gpu".into(), 1)].into(),
            memory: Some(1 << 30),
            ..facts(1)
        },
        now,
    );
    let gpu = Unit {
        others: [("gpu".into(), 1)].into(),
        ..unit(1)
    };
    let wide = Unit {
        cores: 3,
        memory: 1 << 40,
        ..unit(2)
    };
    let impossible = Unit {
        cores: 5,
        ..unit(3)
    };
    for unit in [gpu, wide, impossible] {
        crew.submit(unit);
    }
    assert_eq!(crew.next(now), Some(Order::Assign(with, UnitId(1))));
    assert_eq!(crew.next(now), Some(Order::Assign(plain, UnitId(2))));
    assert_eq!(crew.next(now), None);
    assert!(crew.can_be_done(UnitId(1)) && !crew.can_be_done(UnitId(3)));
    // One that declines is not asked again.
    assert!(!crew.declined(with, UnitId(1)));
    assert_eq!(crew.next(now), None);
}

#[test]
fn an_idle_node_gets_what_a_busy_one_has_not_begun() {
    let mut crew = Crew::new(CrewRules::default());
    let now = Time::default();
    let first = crew.joined(facts(1), now);
    crew.submit(unit(1));
    crew.submit(unit(2));
    assert_eq!(crew.next(now), Some(Order::Assign(first, UnitId(1))));
    assert_eq!(crew.next(now), Some(Order::Assign(first, UnitId(2))));
    let second = crew.joined(facts(1), now);
    assert_eq!(crew.next(now), Some(Order::Retract(first, UnitId(2))));
    assert_eq!(crew.next(now), None, "it was asked once");
    crew.returned(first, UnitId(2));
    assert_eq!(crew.next(now), Some(Order::Assign(second, UnitId(2))));
    // What it says of a unit that it gave back is not heard.
    assert!(!crew.ended(first, UnitId(2)) && crew.ended(second, UnitId(2)));
    assert!(crew.ended(first, UnitId(1)) && !crew.ended(first, UnitId(1)));
}

#[test]
fn silence_is_noticed_and_what_was_there_is_given_back() {
    let mut crew = Crew::new(CrewRules::default());
    let node = crew.joined(facts(1), Time::default());
    let other = crew.joined(facts(1), Time::default());
    crew.has(node, DataId(7));
    crew.has(node, DataId(8));
    crew.has(other, DataId(8));
    crew.submit(unit(1));
    assert_eq!(crew.next(second(1)), Some(Order::Assign(node, UnitId(1))));
    crew.heard(other, second(14));
    assert_eq!(crew.next(second(15)), None);
    let due = crew.due().expect("it is waited for");
    assert!(due > second(15) && due < second(16));
    assert_eq!(crew.next(due), Some(Order::Expire(node)));
    let loss = crew.lost(node);
    assert_eq!((loss.units, loss.data), (vec![UnitId(1)], vec![DataId(7)]));
    assert_eq!(crew.counts(), (0, 0));
    assert_eq!(crew.holders(DataId(8)), [other]);
    assert_eq!(crew.lost(NodeId(99)).units, []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happens to nodes, as long as one stays everything is done, and each task counts once.
    #[test]
    fn everything_is_done_as_long_as_one_node_stays(
        count in 1_usize..30,
        length in 1_usize..5,
        shared: bool,
        troubles in prop::collection::vec((0_u64..40, 1_u64..60, 0_u8..4, 1_u64..4), 0..6),
    ) {
        let (mut enactment, _) = chains(count, length, shared);
        let mut nodes = vec![SimulatedNode::new(1)];
        for (from, length, kind, cores) in troubles {
            let mut node = SimulatedNode::new(cores);
            let (from, until) = (second(from), second(from + length));
            match kind {
                0 => node.troubles.push(Trouble::Dies(from)),
                1 => node.troubles.push(Trouble::CutOff(from, until)),
                2 => node.troubles.push(Trouble::Stands(from, until)),
                _ => node.joins = from,
            }
            nodes.push(node);
        }
        let trace = run(&mut enactment, &nodes, &mut { SECONDS });
        let tasks = count * length + usize::from(shared);
        prop_assert_eq!(enactment.counts().executed, tasks);
        prop_assert!(trace.begun >= tasks);
        // The same again is the same.
        let (mut again, _) = chains(count, length, shared);
        prop_assert_eq!(run(&mut again, &nodes, &mut { SECONDS }), trace);
    }
}
