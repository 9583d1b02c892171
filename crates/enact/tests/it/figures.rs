//! The execution diagrams of the paper, as it draws them.

use std::time::Duration;

use headwater_enact::{NothingRemembered, Options, Parallelism, diagram, simulate};
use headwater_graph::{Index, Wait};

use crate::support::{Flow, parallelism};

/// Figure 2: P1 feeds P2 and P3.
fn figure_2() -> Flow {
    Flow::new()
        .items("d", 3)
        .stage("P1(d) -> a")
        .stage("P2(a) -> b")
        .stage("P3(a) -> c")
}

fn draw(
    flow: &Flow,
    options: &Options,
    seconds: impl Fn(&str, u32) -> u64,
    stages: &[&str],
) -> String {
    let mut enactment = flow.opened(options);
    let mut world = |stage: &str, index: &Index| {
        Duration::from_secs(seconds(stage, index.0.first().copied().unwrap_or(0)))
    };
    let trace = simulate(&mut enactment, &mut world, &mut NothingRemembered).unwrap();
    diagram(&enactment, &trace, stages, Duration::from_secs(1))
}

const STAGES: [&str; 3] = ["P1", "P2", "P3"];

#[test]
fn figure_4_not_pipelined() {
    let drawn = draw(&figure_2(), &parallelism(false, false), |_, _| 1, &STAGES);
    insta::assert_snapshot!(drawn, @"
    P3 | X  | X  | X  | D0 | D1 | D2 |
    P2 | X  | X  | X  | D0 | D1 | D2 |
    P1 | D0 | D1 | D2 | X  | X  | X  |
    ");
}

#[test]
fn figure_5_pipelined() {
    let drawn = draw(&figure_2(), &parallelism(false, true), |_, _| 1, &STAGES);
    insta::assert_snapshot!(drawn, @"
    P3 | X  | D0 | D1 | D2 |
    P2 | X  | D0 | D1 | D2 |
    P1 | D0 | D1 | D2 | X  |
    ");
}

#[test]
fn figure_6_a_synchronisation() {
    let flow = Flow::new()
        .items("d", 3)
        .stage("P1(d) -> a")
        .stage("P2(a) -> b")
        .stage("mean(b*) -> m")
        .wait(Wait::All);
    let drawn = draw(
        &flow,
        &parallelism(false, true),
        |_, _| 1,
        &["mean", "P1", "P2"],
    );
    insta::assert_snapshot!(drawn, @"
    P2   | X  | D0 | D1 | D2 | X   |
    P1   | D0 | D1 | D2 | X  | X   |
    mean | X  | X  | X  | X  | all |
    ");
}

/// D0 takes two units in P1, D1 three in P2; everything else takes one.
fn varying(stage: &str, item: u32) -> u64 {
    match (stage, item) {
        ("P1", 0) => 2,
        ("P2", 1) => 3,
        _ => 1,
    }
}

#[test]
fn figure_9_data_parallel_takes_5_units() {
    let drawn = draw(&figure_2(), &parallelism(true, false), varying, &STAGES);
    insta::assert_snapshot!(drawn, @"
    P3 | X        | X  | D0 D1 D2 | X  | X  |
    P2 | X        | X  | D0 D1 D2 | D1 | D1 |
    P1 | D0 D1 D2 | D0 | X        | X  | X  |
    ");
}

#[test]
fn figure_10_pipelining_wins_even_then_with_4_units() {
    let drawn = draw(&figure_2(), &parallelism(true, true), varying, &STAGES);
    insta::assert_snapshot!(drawn, @"
    P3 | X        | D1 D2 | D0    | X  |
    P2 | X        | D1 D2 | D0 D1 | D1 |
    P1 | D0 D1 D2 | D0    | X     | X  |
    ");
}

/// Without workflow parallelism P2 and P3 take turns.
#[test]
fn figure_5_without_workflow_parallelism() {
    let parallelism = Parallelism {
        workflow: false,
        data: false,
        pipelining: true,
    };
    let options = Options {
        parallelism,
        ..Options::default()
    };
    let drawn = draw(&figure_2(), &options, |_, _| 1, &STAGES);
    insta::assert_snapshot!(drawn, @"
    P3 | X  | X  | D0 | X  | D1 | X  | D2 |
    P2 | X  | D0 | X  | D1 | X  | D2 | X  |
    P1 | D0 | D1 | D2 | X  | X  | X  | X  |
    ");
}
