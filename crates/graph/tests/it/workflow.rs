//! Workflows: names, order, what is needed.

use headwater_graph::{DataOrigin, Index, OutputBinding, Tolerance, Type, Wait};

use crate::support::{input, stage, task, workflow};

#[test]
fn index_paths_are_written_with_dashes() {
    let check =
        |positions: &[u32], text: &str| assert_eq!(Index::from(positions).to_string(), text);
    check(&[], "");
    check(&[3], "3");
    check(&[3, 1, 0], "3-1-0");
    assert_eq!(
        Index::root().join(&[2]).join(&[5, 1]),
        Index::from([2, 5, 1].as_slice())
    );
    // Lexicographic by position, not by text.
    assert!(Index::from([2].as_slice()) < Index::from([10].as_slice()));
    assert!(Index::from([2].as_slice()) < Index::from([2, 0].as_slice()));
}

#[test]
fn tolerance() {
    let check = |tolerance: Tolerance, failed: usize, expected: usize, allows: bool| {
        assert_eq!(
            tolerance.allows(failed, expected),
            allows,
            "{tolerance}: {failed} of {expected}"
        );
    };
    check(Tolerance::Count(2), 2, 10, true);
    check(Tolerance::Count(2), 3, 10, false);
    check(Tolerance::Percent(2.0), 2, 100, true);
    check(Tolerance::Percent(2.0), 3, 100, false);
    check(Tolerance::Percent(0.0), 0, 0, true);
    check(Tolerance::Percent(50.0), 1, 3, true);
    check(Tolerance::Percent(50.0), 2, 3, false);
}

fn diamond() -> headwater_graph::Workflow {
    workflow(
        vec![input("a", Type::Text)],
        vec![
            stage(
                "join",
                vec![task("join", "op", "l=left r=right", "out=end")],
            ),
            stage("right", vec![task("t", "op", "in=start", "out=right")]),
            stage("left", vec![task("t", "op", "in=start", "out=left")]),
            stage("start", vec![task("t", "op", "in=a", "out=start")]),
        ],
    )
}

#[test]
fn stages_are_ordered_by_who_reads_what() {
    assert_eq!(diamond().stage_order(), Ok(vec![3, 1, 2, 0]));
    let mut ordered = diamond();
    ordered.stages[1].after = vec!["left".into()];
    assert_eq!(ordered.stage_order(), Ok(vec![3, 2, 1, 0]));
    ordered.stages[1].after.clear();
    ordered.stages[1].wait = Wait::Stages(vec!["left".into()]);
    assert_eq!(ordered.stage_order(), Ok(vec![3, 2, 1, 0]));
}

#[test]
fn a_cycle_is_given_as_one_cycle() {
    let mut cyclic = diamond();
    cyclic.stages[3].after = vec!["join".into()];
    let cycle = cyclic.stage_order().unwrap_err();
    // join → start → right or left → join, whichever; each comes after the one before.
    let predecessors = cyclic.predecessors();
    for (place, stage) in cycle.iter().enumerate() {
        let next = cycle[(place + 1) % cycle.len()];
        assert!(predecessors[next].contains(stage), "{cycle:?}");
    }
    assert_eq!(cycle.len(), 3);
}

#[test]
fn origins_and_wanted() {
    let flow = diamond();
    let origins = flow.origins();
    assert_eq!(origins["a"], DataOrigin::Input(0));
    assert_eq!(origins["left"], DataOrigin::Task { stage: 2, task: 0 });
    assert_eq!(
        flow.wanted(),
        [OutputBinding {
            name: "end".into(),
            data: "end".into()
        }]
    );
    assert_eq!(flow.stage_index("left"), Some(2));
    assert_eq!(flow.data_predecessors()[0], [1, 2]);
}

#[test]
fn what_is_needed_follows_from_what_is_wanted() {
    let mut flow = diamond();
    let needed = |flow: &headwater_graph::Workflow| flow.needed_stages(|_| false);
    assert_eq!(needed(&flow), [true; 4]);
    flow.outputs = vec![OutputBinding {
        name: "x".into(),
        data: "left".into(),
    }];
    assert_eq!(needed(&flow), [false, false, true, true]);
    flow.stages[2].after = vec!["right".into()];
    assert_eq!(needed(&flow), [false, true, true, true]);
    flow.stages[2].after.clear();
    // Something that runs anyway.
    assert_eq!(flow.needed_stages(|task| &*task.name == "join"), [true; 4]);
}

#[test]
fn ten_thousand_stages_are_ordered_at_once() {
    let stages = (0..10_000)
        .rev()
        .map(|number| {
            let (from, to) = (format!("in=d{number}"), format!("out=d{}", number + 1));
            stage(&format!("s{number}"), vec![task("t", "op", &from, &to)])
        })
        .collect();
    let flow = workflow(vec![input("d0", Type::Text)], stages);
    let expected: Vec<usize> = (0..10_000).rev().collect();
    assert_eq!(flow.stage_order(), Ok(expected));
    assert!(flow.needed_stages(|_| false).iter().all(|needed| *needed));
}
