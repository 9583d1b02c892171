//! Order without data: `after`; and how many instances at once: `concurrency`.

use headwater_enact::{Options, Parallelism};
use headwater_graph::Wait;

use crate::support::{Flow, Play, Ran, address};

fn two_chains() -> Flow {
    Flow::new()
        .items("a", 3)
        .stage("P(a) -> b")
        .stage("Q(a) -> c")
}

fn slow_p1() -> Play {
    Play::default().seconds(|address, _| if address == "P[1]" { 9 } else { 1 })
}

#[test]
fn after_pairs_items_of_common_ancestry() {
    let ran = two_chains()
        .after(&["P"])
        .run(&Options::default(), &mut slow_p1());
    assert_eq!(
        (ran.start("Q[0]"), ran.start("Q[1]"), ran.start("Q[2]")),
        (1, 9, 1)
    );
}

#[test]
fn after_waits_for_the_whole_stage_where_items_do_not_pair() {
    let flow = Flow::new()
        .items("a", 3)
        .items("x", 2)
        .stage("P(a) -> b")
        .stage("Q(x) -> c")
        .after(&["P"]);
    let ran = flow.run(&Options::default(), &mut slow_p1());
    assert_eq!((ran.start("Q[0]"), ran.start("Q[1]")), (9, 9));
    let flow = two_chains()
        .wait(Wait::No)
        .stage("M(c*) -> m")
        .wait(Wait::All)
        .after(&["P"]);
    let ran = flow.run(&Options::default(), &mut slow_p1());
    assert_eq!(ran.start("M"), 9);
}

/// Items of lists pair as they come.
#[test]
fn after_pairs_items_of_lists() {
    let flow = Flow::new()
        .items("a", 2)
        .stage("S(a) -> list*")
        .stage("P(list) -> b")
        .stage("Q(list) -> c")
        .after(&["P"]);
    let mut play = Play::default().seconds(|address, _| match address {
        "S[1]" => 9,
        "P[0-1]" => 3,
        _ => 1,
    });
    let ran = flow.run(&Options::default(), &mut play);
    assert_eq!(
        (
            ran.start("Q[0-0]"),
            ran.start("Q[0-1]"),
            ran.start("Q[1-0]")
        ),
        (2, 4, 10)
    );
}

/// An instance ends with its last task, also where an impure task delays that.
#[test]
fn after_waits_for_all_parts_of_an_instance() {
    let mut flow = Flow::new()
        .items("a", 1)
        .stage("P: get(a) -> b; read(b) -> c")
        .stage("Q(a) -> d")
        .after(&["P"]);
    flow.signatures[0].pure = false;
    assert_eq!(
        flow.run_plainly().story(),
        ["P.get[0] 0-1", "P.read[0] 1-2", "Q[0] 2-3"]
    );
}

#[test]
fn after_a_stage_whose_items_are_not_known_yet_waits_for_all_of_it() {
    let flow = Flow::new()
        .one("s")
        .stage("S(s) -> list*")
        .stage("P(list) -> b")
        .items("x", 1)
        .stage("Q(x) -> c")
        .after(&["P"]);
    let mut play = Play::default().seconds(|address, _| if address == "P[1]" { 5 } else { 1 });
    let ran = flow.run(&Options::default(), &mut play);
    assert_eq!(ran.start("Q[0]"), 6);
}

#[test]
fn a_stage_named_in_after_runs_though_nobody_reads_it() {
    let ran = two_chains().after(&["P"]).output("c").run_plainly();
    assert_eq!(ran.ran(), ["P[0]", "P[1]", "P[2]", "Q[0]", "Q[1]", "Q[2]"]);
    let ran = two_chains().output("c").run_plainly();
    assert_eq!(ran.ran(), ["Q[0]", "Q[1]", "Q[2]"]);
}

/// A failure before it does not stop what only comes after it.
#[test]
fn after_is_order_not_data() {
    let mut play = Play::default().fails(|address, _| address == "P[1]");
    let ran = two_chains()
        .after(&["P"])
        .run(&Options::default(), &mut play);
    assert_eq!(ran.enactment.counts().executed, 5);
    assert_eq!(ran.start("Q[1]"), 1);
}

#[test]
fn after_itself_is_dropped_with_a_note() {
    // Both stages compute the same thing.
    let mut flow = Flow::new()
        .items("a", 1)
        .stage("P(a) -> b")
        .stage("Q(a) -> c")
        .after(&["P"]);
    flow.workflow.stages[1].tasks[0].operation = "P-P".into();
    flow.workflow.stages[1].tasks[0].outputs = [("b".into(), "c".into())].into();
    let mut ran = flow.run_plainly();
    assert_eq!(ran.story(), ["P[0] 0-1"]);
    assert_eq!(
        ran.enactment.take_notes(),
        ["`Q[0]` comes after `P`, but they are the same computation; the order is dropped"]
    );
}

#[test]
fn after_a_stage_that_is_left_out() {
    let flow = Flow::new()
        .items("a", 1)
        .absent("z")
        .stage("P(z) -> b")
        .stage("Q(a) -> c")
        .after(&["P"]);
    assert_eq!(flow.run_plainly().story(), ["Q[0] 0-1"]);
}

/// The most instances of a stage that were under way at once: from the start of the first task of each to
/// the end of its last.
fn most_open(ran: &Ran, stage: &str) -> usize {
    let mut spans: std::collections::BTreeMap<String, (u64, u64)> =
        std::collections::BTreeMap::new();
    for done in &ran.trace.tasks {
        let name = address(&ran.enactment, done.task);
        let Some(rest) = name.strip_prefix(stage) else {
            continue;
        };
        let instance = rest.split('[').nth(1).unwrap_or("").to_owned();
        let span = spans.entry(instance).or_insert((u64::MAX, 0));
        *span = (span.0.min(done.start.0), span.1.max(done.end.0));
    }
    let open_at = |moment: u64| {
        spans
            .values()
            .filter(|(start, end)| *start <= moment && moment < *end)
            .count()
    };
    spans
        .values()
        .map(|(start, _)| open_at(*start))
        .max()
        .unwrap_or(0)
}

#[test]
fn concurrency_limits_instances() {
    for limit in 1..4 {
        let flow = Flow::new()
            .items("a", 7)
            .stage("P(a) -> b")
            .with(|stage| stage.concurrency = Some(limit))
            .stage("Q(b) -> c");
        let mut play = Play::default().seconds(|address, _| 1 + address.len() as u64 % 3);
        let ran = flow.run(&Options::default(), &mut play);
        assert_eq!(most_open(&ran, "P"), limit as usize);
        assert_eq!(ran.enactment.counts().executed, 14);
    }
}

/// An instance of several tasks is under way until its last task has ended.
#[test]
fn concurrency_counts_instances_of_several_tasks() {
    for limit in 1..4 {
        let flow = Flow::new()
            .items("a", 6)
            .stage("P: t(a) -> b; u(b) -> c; v(a) -> d; w(c, d) -> e")
            .with(|stage| stage.concurrency = Some(limit));
        let ran = flow.run_plainly();
        assert_eq!(most_open(&ran, "P."), limit as usize);
        assert_eq!(ran.seconds(), 3 * 6_u64.div_ceil(u64::from(limit)));
    }
}

#[test]
fn concurrency_lets_the_next_instance_in_after_a_failure() {
    let flow = Flow::new()
        .items("a", 4)
        .stage("P: t(a) -> b; u(b) -> c")
        .with(|stage| stage.concurrency = Some(1));
    let mut play = Play::default().fails(|address, _| matches!(address, "P.t[1]" | "P.u[2]"));
    let ran = flow.run(&Options::default(), &mut play);
    let counts = ran.enactment.counts();
    assert_eq!((counts.executed, counts.failed, counts.blocked), (5, 2, 1));
}

/// A task that all instances share belongs to the first one.
#[test]
fn concurrency_with_a_shared_task() {
    let flow = Flow::new()
        .one("k")
        .items("a", 3)
        .stage("P: t(k) -> b; u(a, b) -> c")
        .with(|stage| stage.concurrency = Some(1));
    let ran = flow.run_plainly();
    assert_eq!(ran.enactment.counts().executed, 4);
    assert_eq!(ran.seconds(), 4);
}

/// Instances take their turns in index order, whatever order their inputs come in.
#[test]
fn turns_are_in_index_order() {
    let flow = Flow::new()
        .items("a", 3)
        .stage("P(a) -> b")
        .stage("Q(b) -> c")
        .with(|stage| stage.concurrency = Some(1));
    let options = Options {
        parallelism: Parallelism {
            pipelining: false,
            ..Parallelism::default()
        },
        ..Options::default()
    };
    let mut play = Play::default().seconds(|address, _| match address {
        "P[0]" => 3,
        "P[1]" => 2,
        _ => 1,
    });
    let ran = flow.run(&options, &mut play);
    assert_eq!(
        (ran.start("Q[0]"), ran.start("Q[1]"), ran.start("Q[2]")),
        (3, 4, 5)
    );
}

/// Two stages compute the same thing, and the later one is expanded first: nothing gets stuck when a stage
/// holds back a task that it waits for itself.
#[test]
fn shared_tasks_do_not_get_stuck_without_pipelining() {
    let mut flow = Flow::new()
        .one("s")
        .items("x", 2)
        .stage("S(s) -> list*")
        .stage("A(list) -> y")
        .stage("C(x) -> u")
        .stage("B(y, u) -> z")
        .iterate("cross(y, u)")
        .stage("D(u) -> v")
        .after(&["B"]);
    // D computes what B would: make them share by giving D the operation of C.
    flow.workflow.stages[4].tasks[0].operation = "C-C".into();
    flow.workflow.stages[4].tasks[0].inputs = [("x".into(), "x".into())].into();
    flow.workflow.stages[4].tasks[0].outputs = [("u".into(), "v".into())].into();
    for (data, pipelining, workflow) in [
        (true, false, true),
        (false, false, true),
        (false, false, false),
        (false, true, false),
    ] {
        let parallelism = Parallelism {
            workflow,
            data,
            pipelining,
        };
        let ran = flow.run(
            &Options {
                parallelism,
                ..Options::default()
            },
            &mut Play::default(),
        );
        let counts = ran.enactment.counts();
        assert_eq!(counts.executed, counts.planned);
        assert_eq!(counts.executed, 1 + 2 + 2 + 4);
    }
}
